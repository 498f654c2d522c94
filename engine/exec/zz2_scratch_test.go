package exec

import (
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

func TestScratch2(t *testing.T) {
	if os.Getenv("Q") == "" {
		t.Skip()
	}
	cat := catalog.New(nil)
	s := schemaOf(t, "k INT")
	cat.Register("x", catalog.Relation{Stream: catalog.NewStream(1, "x", "memory", s, nil)})
	cat.Register("d", catalog.Relation{Table: &catalog.Memory{S: s, List: columnar.Batches{List: []arrow.RecordBatch{rowsOf(t, s, "1", "2")}}}})
	n, err := plan.AnalyzeText(os.Getenv("Q"), cat, plan.Conf{Expr: ansi})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(plan.Explain(n))
	n = plan.Optimize(n)
	t.Log(plan.Explain(n))
	p := newPlayer(t, n, "update", false)
	rows, c := p.run(rowsOf(t, s, "1", "2", "2", "3"))
	t.Log(rows, c)
}
