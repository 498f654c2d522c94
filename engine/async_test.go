package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks/foreach"
	"streamlab/store"
)

// stepClock moves when a batch was written, and never makes anyone wait.
type stepClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) Wait(ctx context.Context, _ time.Duration, _ <-chan struct{}) error {
	return ctx.Err()
}

func (c *stepClock) add(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// valueLog writes "batch:first-last" for every batch.
type valueLog struct {
	clock *stepClock
	log   *[]string
	fails int64 // batch whose rows are refused
	batch int64
	from  int64
	to    int64
}

func (w *valueLog) Open(_ int, batch int64) (bool, error) {
	w.batch, w.from, w.to = batch, -1, -1
	return true, nil
}

func (w *valueLog) Process(rb arrow.RecordBatch) error {
	if w.batch == w.fails {
		return errors.New("no")
	}
	for _, v := range rb.Column(0).(*array.Int64).Int64Values() {
		if w.from < 0 {
			w.from = v
		}
		w.to = v
	}
	return nil
}

func (w *valueLog) Close(err error) error {
	if err == nil {
		*w.log = append(*w.log, fmt.Sprintf("%d:%d-%d", w.batch, w.from, w.to))
		w.clock.add(600 * time.Millisecond)
	}
	return nil
}

// asyncRun starts a query of ten rows a batch and gives what it wrote.
func asyncRun(t *testing.T, dir string, batches int, fails int64, options map[string]string) (log []string, files string) {
	t.Helper()
	ctx := context.Background()
	clock := &stepClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s, err := engine.NewSession(engine.Config{Dir: dir, Clock: clock, Conf: map[string]string{"streamlab.durability": "process"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate-micro-batch").Option("rowsPerBatch", 10).Option("numPartitions", 1).Load().SelectExpr("value")
	q, err := df.WriteStream().Option("checkpointLocation", "chk").Options(options).MaxBatches(batches).
		Foreach(func() foreach.Writer { return &valueLog{clock: clock, log: &log, fails: fails} }).Start(ctx)
	if err == nil {
		err = q.AwaitTermination(ctx)
	}
	if err != nil && fails < 0 {
		t.Fatal(err)
	}
	cp, err := store.Open(filepath.Join(dir, "chk"), store.Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	var names []string
	for name := range cp.Files(0) {
		if strings.HasPrefix(name, "offsets/") || strings.HasPrefix(name, "commits/") {
			names = append(names, strings.TrimSuffix(strings.Replace(name, "offsets/", "o", 1), ""))
		}
	}
	return log, strings.ReplaceAll(strings.Join(names, " "), "commits/", "c")
}

// Records are written once in a second, a batch takes 600 ms: every other batch has one. What has none comes
// again after the restart.
func TestAsyncProgressRecordsNowAndThen(t *testing.T) {
	dir := t.TempDir()
	async := map[string]string{"asyncProgressTrackingEnabled": "true"}
	check := func(what string, log []string, files, wantLog, wantFiles string) {
		t.Helper()
		if got := strings.Join(log, " "); got != wantLog || files != wantFiles {
			t.Errorf("%s\n  wrote %s\n  want  %s\n  files %s\n  want  %s", what, got, wantLog, files, wantFiles)
		}
	}
	log, files := asyncRun(t, dir, 4, -1, async)
	check("first run", log, files, "0:0-9 1:10-19 2:20-29 3:30-39", "o2 c2 o0 c0")
	log, files = asyncRun(t, dir, 3, -1, async)
	check("restart", log, files, "3:30-39 4:40-49 5:50-59", "o5 c5 o3 c3 o2 c2 o0 c0")
	// The offsets of 8 are recorded, its rows are not: after the restart they come with those of 7.
	log, files = asyncRun(t, dir, 9, 8, async)
	check("a batch that fails", log, files, "6:60-69 7:70-79", "o8 o6 c6 o5 c5 o3 c3 o2 c2 o0 c0")
	log, files = asyncRun(t, dir, 2, -1, map[string]string{"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "0"})
	check("every batch", log, files, "8:70-89 9:90-99", "o9 c9 o8 c8 o6 c6 o5 c5 o3 c3 o2 c2 o0 c0")
	log, files = asyncRun(t, dir, 2, -1, nil)
	check("switched off", log, files, "10:100-109 11:110-119", "o11 c11 o10 c10 o9 c9 o8 c8 o6 c6 o5 c5 o3 c3 o2 c2 o0 c0")
}

func TestAsyncProgressIsRefused(t *testing.T) {
	ctx := context.Background()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	df := s.ReadStream().Format("rate").Load()
	w := func(d *engine.DataFrame, format string) *engine.DataStreamWriter {
		return d.WriteStream().Format(format).Option("asyncProgressTrackingEnabled", true).Option("checkpointLocation", "chk")
	}
	for _, c := range []struct {
		w    *engine.DataStreamWriter
		path string
		want string
	}{
		{w(df, "json"), "out", "the sink json"},
		{w(df, "delta"), "out", "the sink delta"},
		{w(df, "noop").Trigger(engine.Once()), "", "the trigger once"},
		{w(df, "noop").Trigger(engine.AvailableNow()), "", "the trigger availableNow"},
		{w(df.GroupBy("value").Agg("count(*) AS n"), "noop").OutputMode("update"), "", "a query that keeps state"},
	} {
		err := c.w.Check(c.path)
		if e := errs.As(err); e == nil || e.Condition != "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED" || e.Params["reason"] != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// State is found by the query's own goroutine, as in Spark.
	q, err := w(df.GroupBy("value").Agg("count(*) AS n"), "noop").OutputMode("update").Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); !errs.Has(err, "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED") {
		t.Errorf("state: %v", err)
	}
}
