// Package foreach hands batches to functions of the program: a Writer per partition, or one function per
// batch. Both are at-least-once: a batch that comes again is handed over again, and its rows may lie in other
// partitions then.
package foreach

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/safego"
	"streamlab/sinks"
)

// A Writer takes the rows of one partition of one batch.
type Writer interface {
	// Open is called first, also for a partition without rows. False skips the rows; Close(nil) is still
	// called. After an error Close is not called.
	Open(partition int, epoch int64) (bool, error)
	// Process takes some rows. After an error no more come, and Close gets the error.
	Process(rb arrow.RecordBatch) error
	// Close gets the writer's own error, else nil: also where the rows could not all be computed, as Spark tells
	// its writers of Python. The rows before the one that failed were handed over then, and the query fails.
	Close(err error) error
}

// An Aborter is a Writer that wants to know that its rows could not all be computed: Abort is called instead of
// Close then, with FOREACH_WRITER_ABORTED and the reason inside.
type Aborter interface{ Abort(err error) error }

type writerSink struct{ make func() Writer }

// New makes a sink that makes a fresh Writer for every partition of every batch. Partitions are written one
// after the other. Errors of a Writer that are no conditions arrive as FOREACH_USER_FUNCTION_ERROR.
func New(make func() Writer) sinks.Sink { return &writerSink{make} }

func (s *writerSink) Close() error         { return nil }
func (s *writerSink) Description() string  { return "ForeachWriterTable" }
func (s *writerSink) NumOutputRows() int64 { return -1 }

func (s *writerSink) AddBatch(ctx context.Context, b sinks.Batch) error {
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	for i, p := range b.Parts {
		if err := s.partition(ctx, i, b.ID, p); err != nil {
			return err
		}
		if err := fault.Point("sink.stage.mid"); err != nil {
			return err
		}
	}
	return fault.Point("sink.commit.after")
}

// call runs a function of the user: a panic is its error too.
func call(name string, f func() error) error {
	err := safego.Call("foreach "+name, f)
	if err == nil || errs.As(err) != nil && !errs.Has(err, "INTERNAL_ERROR") {
		return err
	}
	return errs.Wrap(err, "FOREACH_USER_FUNCTION_ERROR", "reason", err.Error())
}

func (s *writerSink) partition(ctx context.Context, i int, epoch int64, p columnar.Partition) error {
	w := s.make()
	wanted := false
	if err := call("open", func() (err error) {
		wanted, err = w.Open(i, epoch)
		return err
	}); err != nil {
		return err
	}
	if !wanted {
		return call("close", func() error { return w.Close(nil) })
	}
	for rb, err := range p.Rows(columnar.UntilError(ctx)) {
		if err != nil {
			_ = call("close", func() error {
				if a, ok := w.(Aborter); ok {
					return a.Abort(errs.Wrap(err, "FOREACH_WRITER_ABORTED"))
				}
				return w.Close(nil)
			})
			return err
		}
		if rb.NumRows() == 0 {
			continue
		}
		if err := call("process", func() error { return w.Process(rb) }); err != nil {
			_ = call("close", func() error { return w.Close(err) })
			return err
		}
	}
	return call("close", func() error { return w.Close(nil) })
}

type batchSink struct {
	f func(ctx context.Context, b sinks.Batch) error
}

// Batch makes a sink that calls f once per batch, also without rows. The rows are computed once, before the
// call, so that f may read the partitions as often as it likes, or not at all. An error that is no condition
// arrives as FOREACH_BATCH_USER_FUNCTION_ERROR.
func Batch(f func(ctx context.Context, b sinks.Batch) error) sinks.Sink { return &batchSink{f} }

func (s *batchSink) Close() error         { return nil }
func (s *batchSink) Description() string  { return "ForeachBatchSink" }
func (s *batchSink) NumOutputRows() int64 { return -1 }

func (s *batchSink) AddBatch(ctx context.Context, b sinks.Batch) error {
	kept := make([]columnar.Partition, len(b.Parts))
	for i, p := range b.Parts {
		list := columnar.Batches{Name: p.String()}
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return err
			}
			list.List = append(list.List, rb)
		}
		kept[i] = list
	}
	b.Parts = kept
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	err := safego.Call("foreachBatch", func() error { return s.f(ctx, b) })
	if err == nil {
		return fault.Point("sink.commit.after")
	}
	if errs.As(err) != nil && !errs.Has(err, "INTERNAL_ERROR") {
		return err
	}
	return errs.Wrap(err, "FOREACH_BATCH_USER_FUNCTION_ERROR", "reason", err.Error())
}
