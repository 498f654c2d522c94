package engine

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// What is kept of a batch are the first rows of the plan, whichever partition is read first.
func TestSamplesAreInTheOrderOfPartitions(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rows := func(from, n int) arrow.RecordBatch {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range n {
			b.Append(int64(from + i))
		}
		return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(n))
	}
	sizes := []int{3, 0, 600, 700, 5}
	for run := range 20 {
		var s samples
		s.begin(7)
		for _, part := range rand.New(rand.NewSource(int64(run))).Perm(len(sizes)) {
			half := sizes[part] / 2
			s.add(7, part, rows(part*1000, half))
			s.add(7, part, rows(part*1000+half, sizes[part]-half))
		}
		q := &StreamingQuery{driver: &driver{}}
		q.driver.samples.ring[7] = s.ring[7]
		kept, total, ok := q.BatchRows(7)
		var got []int64
		for _, rb := range kept {
			got = append(got, rb.Column(0).(*array.Int64).Int64Values()...)
		}
		var want []int64
		for part, n := range sizes {
			for i := range n {
				if len(want) < keptRows {
					want = append(want, int64(part*1000+i))
				}
			}
		}
		if !ok || total != 1308 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("run %d: %d of %d rows, other than the first in order", run, len(got), total)
		}
	}
}
