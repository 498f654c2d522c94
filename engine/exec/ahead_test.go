package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// Several workers give the same rows in the same order as one, and count the same.
func TestWorkersKeepOrder(t *testing.T) {
	s := stream(t, 1, "k BIGINT, v BIGINT")
	even, err := expr.Build("<", []expr.Expr{col(s, "v"), intLit(40)}, ansi)
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]plan.Node{
		"filter": &plan.Filter{Child: s, Cond: even},
		"dedup":  &plan.Dedup{Child: s, Cols: []int{0, 1}},
		"groups": aggregateOf(t, s, []expr.Expr{col(s, "k")}, -1, count(), &expr.Call{Name: "first", Args: []expr.Expr{col(s, "v")}}),
	}
	var parts []columnar.Partition
	x := uint64(7)
	for range 23 {
		k, v := columnar.NewVec(s.Out[0].Type, 1000), columnar.NewVec(s.Out[1].Type, 1000)
		for i := range k.I64 {
			x = x*6364136223846793005 + 1442695040888963407
			k.I64[i], v.I64[i] = int64(x>>40)%500, int64(x>>33)%97
		}
		parts = append(parts, columnar.Batches{List: []arrow.RecordBatch{columnar.RecordOf(s.Out, []*columnar.Vec{k, v}, columnar.AllRows(1000))}})
	}
	for name, n := range plans {
		var first string
		for _, workers := range []int{1, 2, 5} {
			p, err := Build(n, Conf{Expr: ansi, Mode: "update", Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			task := &Task{Inputs: [][]columnar.Partition{parts}}
			if err := p.Bind(task); err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, part := range p.Partitions(context.Background(), task) {
				for rb, err := range part.Rows(context.Background()) {
					if err != nil {
						t.Fatal(err)
					}
					rows = append(rows, show([]arrow.RecordBatch{rb}, p.Schema())...)
				}
			}
			if err := p.Finish(context.Background(), task); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(task.Counters.ScanRows, " ", strings.Join(rows, "\n"))
			if first == "" {
				first = got
			} else if got != first {
				t.Errorf("%s: %d workers give other rows than one", name, workers)
			}
		}
	}
}

// Who waits for a part works on the next one meanwhile.
func TestReaderComputesWhileItWaits(t *testing.T) {
	begun, other := make(chan struct{}), make(chan int, 1)
	a := runAhead("test", 2, []int{1}, func(w, p int) (int, error) {
		if p == 1 {
			other <- w
			return p, nil
		}
		close(begun)
		w = <-other // of the part that comes after
		return 100 + w, nil
	})
	defer a.stop()
	<-begun
	for p, want := range []int{107, 1} {
		got, mine, err := a.take(7, p)
		if got != want || mine || err != nil {
			t.Errorf("part %d: %d, mine %v, %v; want %d", p, got, mine, err, want)
		}
	}
}
