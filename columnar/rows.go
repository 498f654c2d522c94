package columnar

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// MaxBatch is the most rows a record batch between operators has.
const MaxBatch = 65536

// Slice is the number of rows kernels work on at a time, so that a few columns stay in cache.
const Slice = 2048

// Rows is a sequence of record batches (at most MaxBatch rows each) that share one schema. It is read
// once; an error ends it. Batches are immutable and are left to the garbage collector.
type Rows = iter.Seq2[arrow.RecordBatch, error]

type untilError struct{}

// UntilError is a context for reading partitions: one whose rows cannot all be computed gives those before the
// row that fails, and then the error. Without it rows that were to come in the same batch as the failing one may
// be missing.
func UntilError(ctx context.Context) context.Context {
	return context.WithValue(ctx, untilError{}, true)
}

// WantsUntilError tells whether ctx comes from UntilError.
func WantsUntilError(ctx context.Context) bool { return ctx.Value(untilError{}) != nil }

// A Partition is a part of a relation that can be read independently of the others. Rows may be called
// again and gives the same rows in the same order.
type Partition interface {
	Rows(ctx context.Context) Rows
	String() string // shown in plans and logs, e.g. "events-3[120,480)"
}

// A Lender is a Partition that can show its rows without giving them away, so that the memory of a few rows is
// enough for all and stays in the core's cache. Lend calls give with rows in the order of Rows, all columns of
// one length n; they are valid until give returns, and must not be written to. An error of give ends it and is
// returned as it is.
type Lender interface {
	Partition
	Lend(ctx context.Context, give func(cols []*Vec, n int) error) error
}

// Batches is a Partition over batches held in memory.
type Batches struct {
	Name string
	List []arrow.RecordBatch
}

// Rows yields the batches in order.
func (b Batches) Rows(ctx context.Context) Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, rb := range b.List {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(rb, nil) {
				return
			}
		}
	}
}

func (b Batches) String() string { return b.Name }

// Fail is a sequence that ends at once with err.
func Fail(err error) Rows {
	return func(yield func(arrow.RecordBatch, error) bool) { yield(nil, err) }
}
