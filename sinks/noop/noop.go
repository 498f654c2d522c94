// Package noop is the sink that reads every row and writes nothing: for benchmarks. It promises nothing.
package noop

import (
	"context"
	"runtime"
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/internal/safego"
	"streamlab/sinks"
	"streamlab/sources"
)

type sink struct{ rows int64 }

// New makes the sink; it takes any schema and mode.
func New(def sinks.Def) (sinks.Sink, error) { return &sink{rows: -1}, nil }

// Options is empty: there are none.
func Options() []sources.OptionDoc { return nil }

// AddBatch reads all partitions on as many goroutines as there are cores, since no order is to be kept.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	var next, rows atomic.Int64
	var failed atomic.Bool
	read := func() error {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(b.Parts) {
				return nil
			}
			if err := readPart(ctx, b.Parts[i], &rows); err != nil {
				failed.Store(true)
				return err
			}
		}
		return nil
	}
	var first error
	if n := min(len(b.Parts), runtime.GOMAXPROCS(0)); n <= 1 {
		first = read()
	} else {
		handles := make([]*safego.Handle, n)
		for i := range handles {
			handles[i] = safego.Go("noop", read)
		}
		for _, h := range handles {
			if err := h.Wait(); err != nil && first == nil {
				first = err
			}
		}
	}
	s.rows = rows.Load()
	return first
}

// readPart adds the rows of a part to rows.
func readPart(ctx context.Context, p columnar.Partition, rows *atomic.Int64) error {
	if l, ok := p.(columnar.Lender); ok {
		return l.Lend(ctx, func(_ []*columnar.Vec, n int) error {
			rows.Add(int64(n))
			return nil
		})
	}
	for rb, err := range p.Rows(ctx) {
		if err != nil {
			return err
		}
		rows.Add(rb.NumRows())
	}
	return nil
}

// Borrows says that rows may be lent: nothing is kept.
func (s *sink) Borrows() {}

func (s *sink) Close() error         { return nil }
func (s *sink) Description() string  { return "NoopTable" }
func (s *sink) NumOutputRows() int64 { return s.rows }
