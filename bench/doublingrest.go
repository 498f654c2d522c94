package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"streamlab/engine"
)

const (
	doublingHistory = 120             // batches run before; the long history has ten times as many
	doublingSeen    = 1_000           // files read before; the other folder has ten times as many
	doublingNew     = 40              // files that come one by one
	doublingSettle  = 4 * time.Second // until a query is at rest: three without a batch
	doublingRest    = 5 * time.Second
)

// besideState are the lines of the budget whose size is none of state.
func besideState() []doubled {
	all := []doubled{idleDoubled(), filesDoubled()}
	for _, h := range []struct{ name, format, mode, sql string }{
		{"offset and commit logs, progress", "noop", "update", "SELECT mod(value, 100) g, count(*) n FROM numbers GROUP BY mod(value, 100)"},
		{"file sink log", "json", "append", "SELECT value FROM numbers"},
		{"Delta commit", "delta", "append", "SELECT value FROM numbers"},
		{"memory sink", "memory", "append", "SELECT value FROM numbers"},
	} {
		run := func(ctx context.Context, dir string, batches int) ([]float64, error) {
			s, err := engine.NewSession(engine.Config{Dir: dir})
			if err != nil {
				return nil, err
			}
			defer s.Close()
			if err := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", 10).Load().CreateOrReplaceTempView("numbers"); err != nil {
				return nil, err
			}
			df, err := s.SQL(ctx, h.sql)
			if err != nil {
				return nil, err
			}
			var out []string
			if h.format == "json" || h.format == "delta" {
				out = []string{filepath.Join(dir, "out")}
			}
			if h.format == "memory" {
				if err := s.Conf().Set("streamlab.memory.resume", "true"); err != nil {
					return nil, err
				}
			}
			return runBatches(ctx, s, df, h.mode, h.format, filepath.Join(dir, "chk"), batches, out...)
		}
		all = append(all, doubled{name: h.name, axis: "history", small: doublingHistory, unit: "ms", floor: 0.1,
			prepare: func(ctx context.Context, _ Probing, dir string, size int64) error {
				_, err := run(ctx, dir, int(size))
				return err
			},
			measure: func(ctx context.Context, _ Probing, dir string, _ int64) (float64, error) {
				ms, err := run(ctx, dir, doublingRuns)
				if err != nil {
					return 0, err
				}
				return percentile(ms[doublingSkip:], 0.5), nil
			}})
	}
	return all
}

// idleDoubled is the CPU of a query that has its state and waits for files.
func idleDoubled() doubled {
	start := func(ctx context.Context, dir string, trigger engine.Trigger) (*engine.Session, *engine.StreamingQuery, error) {
		s, err := engine.NewSession(engine.Config{Dir: dir})
		if err != nil {
			return nil, nil, err
		}
		in := s.ReadStream().Format("json").Schema("k BIGINT").Load(filepath.Join(dir, "in"))
		df := in.GroupBy("k").Agg("count(*) AS n")
		q, err := df.WriteStream().OutputMode("update").Format("noop").Trigger(trigger).
			Option("checkpointLocation", filepath.Join(dir, "chk")).Start(ctx)
		if err != nil {
			s.Close()
			return nil, nil, err
		}
		return s, q, nil
	}
	return doubled{name: "idle query, CPU", axis: "state", small: doublingState, unit: "%", floor: 0.5,
		prepare: func(ctx context.Context, _ Probing, dir string, size int64) error {
			if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
				return err
			}
			var b []byte
			for i := range size {
				b = fmt.Appendf(b, "{\"k\":%d}\n", i)
			}
			if err := os.WriteFile(filepath.Join(dir, "in", "all.json"), b, 0o644); err != nil {
				return err
			}
			s, q, err := start(ctx, dir, engine.AvailableNow())
			if err != nil {
				return err
			}
			defer s.Close()
			return q.AwaitTermination(ctx)
		},
		measure: func(ctx context.Context, _ Probing, dir string, _ int64) (float64, error) {
			s, q, err := start(ctx, dir, engine.ProcessingTime(0))
			if err != nil {
				return 0, err
			}
			defer s.Close()
			<-time.After(doublingSettle) // recovered, and at rest
			cpu, began := cpuSeconds(), time.Now()
			<-time.After(doublingRest)
			share := 100 * (cpuSeconds() - cpu) / time.Since(began).Seconds()
			return share, q.Stop()
		}}
}

// filesDoubled is a new file in a folder whose files were read.
func filesDoubled() doubled {
	start := func(ctx context.Context, dir string) (*engine.Session, *engine.StreamingQuery, error) {
		s, err := engine.NewSession(engine.Config{Dir: dir})
		if err != nil {
			return nil, nil, err
		}
		q, err := s.ReadStream().Format("text").Load(filepath.Join(dir, "in")).WriteStream().Format("noop").
			Option("checkpointLocation", filepath.Join(dir, "chk")).Start(ctx)
		if err != nil {
			s.Close()
			return nil, nil, err
		}
		return s, q, nil
	}
	next := func(ctx context.Context, q *engine.StreamingQuery) error { return q.ProcessAllAvailable(ctx) }
	return doubled{name: "file source, one new file", axis: "files", small: doublingSeen, unit: "ms", floor: 0.1,
		prepare: func(ctx context.Context, _ Probing, dir string, size int64) error {
			if err := makeFiles(filepath.Join(dir, "in"), int(size)); err != nil {
				return err
			}
			s, q, err := start(ctx, dir)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := next(ctx, q); err != nil {
				return err
			}
			return q.Stop()
		},
		measure: func(ctx context.Context, _ Probing, dir string, _ int64) (float64, error) {
			s, q, err := start(ctx, dir)
			if err != nil {
				return 0, err
			}
			defer s.Close()
			if err := next(ctx, q); err != nil {
				return 0, err
			}
			var ms []float64
			for i := range doublingNew {
				name := filepath.Join(dir, "in", fmt.Sprintf("new-%d-%05d.txt", time.Now().UnixNano(), i))
				if err := os.WriteFile(name+"._COPYING_", []byte("one more\n"), 0o644); err != nil {
					return 0, err
				}
				if err := os.Rename(name+"._COPYING_", name); err != nil {
					return 0, err
				}
				if err := next(ctx, q); err != nil {
					return 0, err
				}
				if g := q.LastProgress(); g != nil && g.NumInputRows > 0 {
					ms = append(ms, g.TriggerMs())
				}
			}
			if len(ms) < doublingNew/2 {
				return 0, fmt.Errorf("%d of %d files made a batch", len(ms), doublingNew)
			}
			return percentile(ms, 0.5), q.Stop()
		}}
}
