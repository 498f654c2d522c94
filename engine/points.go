package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/internal/fault"
)

// points puts the crash points exec.first_row and exec.end around the rows of a micro-batch. A sink pulls its
// rows, so both lie inside its AddBatch. Without faults parts come back as they are.
func points(parts []columnar.Partition) []columnar.Partition {
	if !fault.Active() {
		return parts
	}
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		out[i] = pointed{Partition: p, last: i == len(parts)-1}
	}
	return out
}

type pointed struct {
	columnar.Partition
	last bool
}

func (p pointed) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		first := true
		for rb, err := range p.Partition.Rows(ctx) {
			if first && err == nil && rb.NumRows() > 0 {
				first = false
				err = fault.Point("exec.first_row")
			}
			if !yield(rb, err) {
				return
			}
		}
		if p.last {
			if err := fault.Point("exec.end"); err != nil {
				yield(nil, err)
			}
		}
	}
}
