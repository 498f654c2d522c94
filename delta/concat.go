package delta

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// concat joins one column of several batches.
func concat(batches []arrow.RecordBatch, c int, t types.DataType) (*columnar.Vec, error) {
	if len(batches) == 0 {
		return columnar.NewVec(t, 0), nil
	}
	if len(batches) == 1 {
		return columnar.FromArrow(batches[0].Column(c), t), nil
	}
	list := make([]arrow.Array, len(batches))
	for i, b := range batches {
		list[i] = b.Column(c)
	}
	a, err := array.Concatenate(list, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return columnar.FromArrow(a, t), nil
}
