package engine_test

import (
	"context"
	"testing"

	"streamlab/engine"
	"streamlab/store"
)

// BenchmarkStatePage times the first page of a state of 1,200,000 keys, as the checkpoint screen asks for it: an
// inspector that has read nothing before.
func BenchmarkStatePage(b *testing.B) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", 600_000).Option("startTimestamp", 0).Load()
	if err := df.CreateOrReplaceTempView("r"); err != nil {
		b.Fatal(err)
	}
	if df, err = s.SQL(ctx, "SELECT value, count(*) AS n FROM r GROUP BY value"); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir() + "/c"
	w := df.WriteStream().OutputMode("update").Format("noop").Option("checkpointLocation", dir)
	for range 2 {
		q, err := w.Trigger(engine.Once()).Start(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := q.AwaitTermination(ctx); err != nil {
			b.Fatal(err)
		}
	}
	cp, err := store.Open(dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer cp.Close()
	page := func(b *testing.B, x *engine.Inspector, q engine.StateQuery) {
		q.Batch, q.Store, q.N = 1, "default", 200
		p, err := x.Page(ctx, cp, q)
		if err != nil || p.Total != 1_200_000 || len(p.Rows) == 0 {
			b.Fatalf("%d rows of %d, %v", len(p.Rows), p.Total, err)
		}
	}
	for _, c := range []struct {
		name string
		q    engine.StateQuery
	}{{"first", engine.StateQuery{}}, {"last", engine.StateQuery{From: 1_199_900}}, {"text", engine.StateQuery{Filter: "77777"}}, {"condition", engine.StateQuery{Filter: "value > 1199998"}}, {"key", engine.StateQuery{Filter: "[777777]"}}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				x, err := w.Inspect()
				if err != nil {
					b.Fatal(err)
				}
				page(b, x, c.q)
			}
		})
		if c.name == "first" {
			continue
		}
		b.Run(c.name+" after the first", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x, err := w.Inspect()
				if err != nil {
					b.Fatal(err)
				}
				page(b, x, engine.StateQuery{})
				b.StartTimer()
				page(b, x, c.q)
			}
		})
	}
}
