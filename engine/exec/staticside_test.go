package exec

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// counted is a table that counts its scans and has the version that a test gives it.
type counted struct {
	rb      arrow.RecordBatch
	s       types.Schema
	version string
	scans   int
}

func (c *counted) Schema() types.Schema { return c.s }

func (c *counted) Version(context.Context) (string, error) { return c.version, nil }

func (c *counted) Scan(context.Context, catalog.Scan) ([]columnar.Partition, error) {
	c.scans++
	return []columnar.Partition{columnar.Batches{Name: "counted", List: []arrow.RecordBatch{c.rb}}}, nil
}

func TestTheStaticSideIsBuiltOncePerVersion(t *testing.T) {
	s := schemaOf(t, "k INT, name STRING")
	table := &counted{rb: rowsOf(t, s, "1|one", "2|two"), s: s, version: "1"}
	in := stream(t, 1, "k INT")
	for _, c := range []struct {
		side  plan.Node
		scans int // after four batches, the third with a new version
	}{
		{&plan.Scan{Name: "t", Table: table, Out: s}, 2},
		{&plan.Filter{Child: &plan.Scan{Name: "t", Table: table, Out: s}, Cond: perBatch(t)}, 4},
	} {
		table.scans = 0
		j := &plan.Join{Kind: plan.LeftOuter, Left: in, Right: c.side, LeftKeys: []expr.Expr{col(in, "k")}, RightKeys: []expr.Expr{&expr.Column{Index: 0, Field: s[0]}},
			Out: append(append(types.Schema{}, in.Out...), nullable(s)...)}
		x := newPlayer(t, j, "append", false)
		x.alone = true
		for i, want := range []string{"1|1|one", "1|1|one", "1|1|uno", "1|1|uno"} {
			if i == 2 {
				table.version, table.rb = table.version+"'", rowsOf(t, s, "1|uno", "2|due")
			}
			if rows, _ := x.run(rowsOf(t, in.Out, "1")); len(rows) != 1 || rows[0] != want {
				t.Errorf("batch %d: %v, want %s", i, rows, want)
			}
		}
		if table.scans != c.scans {
			t.Errorf("%d scans, want %d", table.scans, c.scans)
		}
		table.rb = rowsOf(t, s, "1|one", "2|two")
	}
}

// perBatch is a condition that holds, and may not in the next batch.
func perBatch(t *testing.T) expr.Expr {
	t.Helper()
	now, err := expr.Build("current_date", nil, ansi)
	if err != nil {
		t.Fatal(err)
	}
	e, err := expr.Build("isnotnull", []expr.Expr{now}, ansi)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
