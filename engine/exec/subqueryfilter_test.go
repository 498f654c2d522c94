package exec

import (
	"testing"

	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// TestScansFilterByAScalarSubquery counts the rows that a scan passes on when a condition compares with the value
// of a subquery, which is another one in each batch.
func TestScansFilterByAScalarSubquery(t *testing.T) {
	s := schemaOf(t, "k INT")
	number := &counted{s: s}
	sub := &plan.SingleRow{Child: &plan.Scan{Name: "t", Table: number, Out: s}, Out: s}
	of := func(format string) *plan.Scan {
		in := schemaOf(t, "k INT, v STRING")
		return &plan.Scan{Name: "s", Stream: catalog.NewStream(1, "s", format, in, nil), Out: in}
	}
	value := &expr.Column{Index: 2, Field: s[0]}
	wider := expr.CastTo(expr.CastTo(value, types.Of(types.BigInt), ansi), types.Of(types.Int), ansi)
	for _, c := range []struct {
		format  string
		filters bool
		with    expr.Expr
		read    [2]int64
	}{
		{"json", false, value, [2]int64{2, 1}},
		{"json", true, value, [2]int64{2, 1}},
		{"json", false, wider, [2]int64{4, 4}}, // computed with
		{"memory", false, value, [2]int64{4, 4}},
	} {
		in := of(c.format)
		var left plan.Node = in
		if c.filters {
			left = &plan.Filter{Child: in, Cond: build(t, "isnotnull", col(in, "k"))}
		}
		j := &plan.Join{Kind: plan.Inner, Left: left, Right: sub, Residual: build(t, "<=", col(in, "k"), c.with),
			Out: append(append(types.Schema{}, in.Out...), s...)}
		x := newPlayer(t, j, "append", false)
		x.alone = true
		for i, most := range []string{"2", "1"} {
			number.rb = rowsOf(t, s, most)
			rows, counts := x.run(rowsOf(t, in.Out, "1|a", "2|b", "3|c", "null|n"))
			if counts.ScanRows[0] != c.read[i] || len(rows) != 2-i {
				t.Errorf("%s, filter %v, %s, batch %d: %d rows read, want %d; gives %v", c.format, c.filters, c.with,
					i, counts.ScanRows[0], c.read[i], rows)
			}
		}
	}
}

// build is a call of a function.
func build(t *testing.T, name string, args ...expr.Expr) expr.Expr {
	t.Helper()
	e, err := expr.Build(name, args, ansi)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
