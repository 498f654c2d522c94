package engine_test

import (
	"context"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
)

// badEnd is a sink that panics when it is closed.
type badEnd struct{}

func (badEnd) AddBatch(ctx context.Context, b sinks.Batch) error { return nil }
func (badEnd) Close() error                                      { panic("no") }

// Whoever waits for a query is told of its end, also when closing its sink panics.
func TestAPanicWhileClosingEndsTheQuery(t *testing.T) {
	ctx := context.Background()
	s := numbered(t, [][]any{{1}})
	q, err := must(t, s, "SELECT v FROM n").WriteStream().Trigger(engine.AvailableNow()).Sink(badEnd{}, "bad").Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); !errs.Has(err, "STREAM_FAILED") || !errs.Has(err, "INTERNAL_ERROR") {
		t.Errorf("%v", err)
	}
	if q.IsActive() {
		t.Error("the query is still active")
	}
}
