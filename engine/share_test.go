package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"streamlab/engine"
	"streamlab/sinks"
)

// Queries that share one read of a folder give what they give when each reads for itself, whatever columns
// they need, however many files a micro-batch takes, and whichever of them stops and goes on later.
func TestSharedReadsChangeNoResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "share")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		files := rapid.IntRange(1, 6).Draw(t, "files")
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			var b strings.Builder
			for r := range rapid.IntRange(0, 5).Draw(t, "rows") {
				fmt.Fprintf(&b, "{\"a\":%d,\"b\":\"%d\",\"c\":%d}\n", i*10+r, r, r%2)
			}
			if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("%d.json", i)), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		queries := rapid.SliceOfN(rapid.SampledFrom([]string{"SELECT a FROM s", "SELECT b, a FROM s WHERE c = 1", "SELECT c FROM s",
			"SELECT * FROM s", "SELECT x.a, y.b FROM s x JOIN s y ON x.a = y.a"}), 2, 4).Draw(t, "queries")
		limit := rapid.IntRange(1, 3).Draw(t, "maxFilesPerTrigger")
		batches := rapid.SliceOfN(rapid.IntRange(1, 4), len(queries), len(queries)).Draw(t, "batches of the first run")
		alone := shareRun(t, dir, "alone", false, limit, queries, batches)
		together := shareRun(t, dir, "together", true, limit, queries, batches)
		for i := range queries {
			if alone[i] != together[i] {
				t.Fatalf("%s\nalone    %s\ntogether %s", queries[i], alone[i], together[i])
			}
		}
	})
}

func shareRun(t *rapid.T, dir, name string, share bool, limit int, queries []string, batches []int) []string {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: dir, Workspace: filepath.Join(dir, name), Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if df := s.ReadStream().Format("json").Schema("a BIGINT, b STRING, c BIGINT").Option("maxFilesPerTrigger", limit).Register("s", "in"); df.Err() != nil {
		t.Fatal(df.Err())
	}
	var frames []*engine.DataFrame
	for _, q := range queries {
		df, err := s.SQL(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, df)
	}
	if share {
		s.ShareReads(frames, nil)
	}
	var mu sync.Mutex
	rows := make([][]string, len(queries))
	for round := range 2 { // the second round is a restart that reads the rest
		var running []*engine.StreamingQuery
		for i, df := range frames {
			w := df.WriteStream().Trigger(engine.AvailableNow()).Option("checkpointLocation", filepath.Join(name, fmt.Sprint("chk", i))).
				EachBatch(func(ctx context.Context, b sinks.Batch) error {
					for _, p := range b.Parts {
						for rb, err := range p.Rows(ctx) {
							if err != nil {
								return err
							}
							mu.Lock()
							for r := range int(rb.NumRows()) {
								line := ""
								for c := range rb.Columns() {
									line += rb.Column(c).ValueStr(r) + " "
								}
								rows[i] = append(rows[i], line)
							}
							mu.Unlock()
						}
					}
					return nil
				})
			if round == 0 {
				w = w.MaxBatches(batches[i])
			}
			q, err := w.Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			running = append(running, q)
		}
		for _, q := range running {
			if err := q.AwaitTermination(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := make([]string, len(rows))
	for i := range rows {
		sort.Strings(rows[i])
		out[i] = strings.Join(rows[i], "; ")
	}
	return out
}

// A shared read is one: with as many queries as there are, the source is read once.
func TestSharedReadsReadOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprint(i, ".json")), []byte("{\"a\":1}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ReadStream().Format("json").Schema("a BIGINT").Option("maxFilesPerTrigger", 1).Register("s", "in")
	var frames []*engine.DataFrame
	for range 3 {
		frames = append(frames, must(t, s, "SELECT a FROM s"))
	}
	s.ShareReads(frames, nil)
	for i, df := range frames {
		q, err := df.WriteStream().Format("noop").Trigger(engine.AvailableNow()).Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(ctx); err != nil {
			t.Fatal(err)
		}
		m := q.LastProgress().Sources[0].Metrics
		want := fmt.Sprint(4 * i)
		for _, p := range q.RecentProgress() {
			if p.Sources[0].Metrics["sharedPartitionsReused"] != "" {
				m = p.Sources[0].Metrics
			}
		}
		if m["sharedPartitionsRead"] != "4" || m["sharedPartitionsReused"] != want {
			t.Errorf("query %d: %v, want 4 read and %s reused", i, m, want)
		}
	}
}
