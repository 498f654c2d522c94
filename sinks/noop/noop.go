// Package noop is the sink that reads every row and writes nothing: for benchmarks. It promises nothing.
package noop

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/internal/safego"
	"streamlab/sinks"
	"streamlab/sources"
)

type sink struct{ rows int64 }

// New makes the sink; it takes any schema and mode.
func New(def sinks.Def) (sinks.Sink, error) { return &sink{rows: -1}, nil }

// Options is empty: there are none.
func Options() []sources.OptionDoc { return nil }

// AddBatch reads all partitions, each on a goroutine of its own, since no order is to be kept.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	if len(b.Parts) <= 1 {
		n := int64(0)
		err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
			n += rb.NumRows()
			return nil
		})
		s.rows = n
		return err
	}
	counts := make([]int64, len(b.Parts))
	handles := make([]*safego.Handle, len(b.Parts))
	for i := range b.Parts {
		one := b
		one.Parts = b.Parts[i : i+1]
		handles[i] = safego.Go("noop", func() error {
			return sinks.Each(ctx, one, func(_ int, rb arrow.RecordBatch) error {
				counts[i] += rb.NumRows()
				return nil
			})
		})
	}
	var first error
	s.rows = 0
	for i, h := range handles {
		if err := h.Wait(); err != nil && first == nil {
			first = err
		}
		s.rows += counts[i]
	}
	return first
}

func (s *sink) Close() error         { return nil }
func (s *sink) Description() string  { return "NoopTable" }
func (s *sink) NumOutputRows() int64 { return s.rows }
