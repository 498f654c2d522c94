package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

func groupBench(b *testing.B, ddl string, groups, rows int) (*Plan, []columnar.Partition) {
	s := schemaOf(b, ddl)
	scan := &plan.Scan{Stream: catalog.NewStream(1, "s", "memory", s, nil), Out: s}
	sum, err := expr.BuildAggregate(&expr.Call{Name: "sum", Args: []expr.Expr{col(scan, "v")}, Conf: ansi})
	if err != nil {
		b.Fatal(err)
	}
	cnt, err := expr.BuildAggregate(&expr.Call{Name: "count", Args: []expr.Expr{intLit(1)}, Conf: ansi})
	if err != nil {
		b.Fatal(err)
	}
	n := &plan.Aggregate{Child: scan, Keys: []expr.Expr{col(scan, "k")}, Session: -1, Calls: []*expr.AggregateCall{cnt, sum},
		Out: types.Schema{s[0], {Name: "c", Type: cnt.Out}, {Name: "s", Type: sum.Out, Nullable: true}}}
	p, err := Build(n, Conf{Expr: ansi, Mode: "update", Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	var parts []columnar.Partition
	per := min(rows, 65536)
	x := uint64(1)
	for from := 0; from < rows; from += per {
		k, v := columnar.NewVec(s[0].Type, 0), columnar.NewVec(s[1].Type, per)
		for i := range per {
			x = x*6364136223846793005 + 1442695040888963407
			id := int64(x>>33) % int64(groups)
			if k.Phys == columnar.PI64 {
				k.I64 = append(k.I64, id)
			} else {
				k.Data = fmt.Appendf(k.Data, "key-%08d", id)
				k.Off = append(k.Off, int32(len(k.Data)))
			}
			v.I64[i] = int64(i)
		}
		k.Len = per
		parts = append(parts, columnar.Batches{List: []arrow.RecordBatch{columnar.RecordOf(s, []*columnar.Vec{k, v}, columnar.AllRows(per))}})
	}
	return p, parts
}

func runOnce(b *testing.B, p *Plan, batch int64, parts []columnar.Partition) {
	t := &Task{Batch: batch, Inputs: [][]columnar.Partition{parts}}
	if err := p.Bind(t); err != nil {
		b.Fatal(err)
	}
	for _, x := range p.Partitions(context.Background(), t) {
		for _, err := range x.Rows(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := p.Finish(context.Background(), t); err != nil {
		b.Fatal(err)
	}
	for _, s := range p.stateful {
		s.settle()
	}
}

func BenchmarkGroup(b *testing.B) {
	for _, ddl := range []string{"k BIGINT, v BIGINT", "k STRING, v BIGINT"} {
		for _, groups := range []int{1000, 1000000} {
			b.Run(fmt.Sprintf("%s/%d", ddl[2:5], groups), func(b *testing.B) {
				const rows = 1 << 20
				p, parts := groupBench(b, ddl, groups, rows)
				i := int64(0)
				for b.Loop() {
					runOnce(b, p, i, parts)
					i++
				}
				b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds()/1e6, "Mrows/s")
			})
		}
	}
}

func BenchmarkOneRow(b *testing.B) {
	p, parts := groupBench(b, "k STRING, v BIGINT", 1, 1)
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		runOnce(b, p, i, parts)
		i++
	}
}
