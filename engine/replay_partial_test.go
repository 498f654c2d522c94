package engine_test

import (
	"context"
	"io"
	"testing"

	"streamlab/engine"
	"streamlab/sinks"
)

// What is known of a batch that is still being run again is consistent: rows of the source come first and grow, a
// part shares nothing with what comes after it, and nothing can be followed in it.
func TestReplayShowsRowsAsTheyCome(t *testing.T) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Out: io.Discard, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", 100_000).Option("startTimestamp", 0).Register("r")
	if err := df.CreateOrReplaceTempView("r"); err != nil {
		t.Fatal(err)
	}
	q, err := s.SQL(ctx, "SELECT mod(value, 100) AS k, count(*) AS n FROM r GROUP BY mod(value, 100)")
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan int64, 1000)
	run, err := q.WriteStream().OutputMode("update").EachBatch(func(_ context.Context, b sinks.Batch) error { ran <- b.ID; return nil }).Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for <-ran < 1 { // so that batch 0 is committed
	}
	var parts []*engine.Trace
	whole, err := run.Replay(ctx, 0, engine.TraceOptions{Rows: 50, Partial: func(t *engine.Trace) { parts = append(parts, t) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(parts) == 0 {
		t.Fatal("nothing was shown before the end")
	}
	last := int64(0)
	for _, p := range parts {
		if !p.Partial || p.RowsNow < last || p.RowsNow > whole.RowsNow || len(p.Stages) != len(whole.Stages) {
			t.Errorf("%d rows after %d of %d, %d stages", p.RowsNow, last, whole.RowsNow, len(p.Stages))
		}
		last = p.RowsNow
		if got, want := len(p.Cells(0)), len(whole.Cells(0)); got == 0 || got > want {
			t.Errorf("%d rows of the source, at the end %d", got, want)
		}
		if n := len(p.Follow(engine.Ref{Stage: 0, N: 0})); n != 0 {
			t.Errorf("%d stages are followed in a part", n)
		}
		for i := range p.Cells(0) {
			if p.Cells(0)[i][0] != whole.Cells(0)[i][0] {
				t.Fatalf("row %d is %v, at the end %v", i, p.Cells(0)[i], whole.Cells(0)[i])
			}
		}
	}
	if whole.Partial || whole.RowsNow != 100_000 {
		t.Errorf("the whole: partial %v, %d rows", whole.Partial, whole.RowsNow)
	}
}
