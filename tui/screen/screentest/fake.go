// Package screentest is a workbench that runs nothing: five queries with fixed numbers, a gallery, a
// checkpoint, a table. Screens are tested on it, and pictures of them are drawn from it. The same calls
// give the same answers at any time.
package screentest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// Now is the moment the fake stands at.
var Now = time.Date(2026, 1, 5, 12, 40, 59, 0, time.UTC)

// Bench is the fake. Safe for concurrent use.
type Bench struct {
	mu      sync.Mutex
	now     time.Time
	queries []*screen.QuerySnapshot
	events  []screen.Event
	lab     screen.LabInfo
	Done    []screen.Command // what was asked for
	Closed  bool

	Predictions []screen.Prediction
	kept
	tried []screen.CrashResult
	recorded
	desk

	pages, released int // of the state, see StatePage
	broken          map[string]*screen.CheckpointInfo
}

// Break makes the checkpoint of a query answer with info instead.
func (b *Bench) Break(query string, info *screen.CheckpointInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.broken = map[string]*screen.CheckpointInfo{}
	}
	b.broken[query] = info
}

// New makes the fake of the shop example.
func New() *Bench {
	b := &Bench{now: Now, lab: screen.LabInfo{Name: "shop-demo", Title: "shop example",
		Path: "/labs/shop/lab.yaml", Folder: "./shop-demo"}}
	b.queries = []*screen.QuerySnapshot{
		query("clicks_1m", "foreachBatch", "update", screen.Running, 1841, 998_200, 182, 120),
		query("orders_dedup", "delta", "append", screen.Running, 307, 1_200, 94, 60),
		query("rides_join", "kafka", "append", screen.Running, 512, 840, 310, 60),
		query("top_pages", "memory", "complete", screen.Stopped, 88, 3_000, 40, 30),
		query("late_events", "console", "append", screen.Failed, 17, 3_000, 20, 16),
	}
	c := b.queries[0]
	c.Source, c.Limit, c.Trigger, c.TriggerEvery = "kafka clicks, 4 partitions", "1M/s", "500 ms", 500*time.Millisecond
	c.Promise = "at-least-once"
	c.Memory = screen.Memory{Held: 236 << 20, State: 212 << 20, Budget: 1536 << 20}
	b.queries[1].Memory = screen.Memory{Held: 9 << 20, State: 2 << 20, Budget: 1536 << 20, Away: 2_104_512}
	b.queries[2].Memory = screen.Memory{Held: 1400 << 20, State: 1338 << 20, Budget: 1536 << 20, Limited: true}
	c.Watermark, c.WatermarkDelay = Now.Add(-11*time.Second), 10*time.Second
	b.queries[1].Watermark, b.queries[1].WatermarkDelay = Now.Add(-10*time.Minute), 10*time.Minute
	b.queries[2].Watermark, b.queries[2].WatermarkDelay = Now.Add(-32*time.Second), 30*time.Second
	b.queries[3].Trigger, b.queries[3].Grows = "as fast as possible", true
	late := b.queries[4]
	late.Watermark, late.WatermarkDelay = Now.Add(-2*time.Hour), 2*time.Hour
	late.Promise = "at-least-once"
	late.Error = errs.Wrap(fmt.Errorf("row {device: dev-07, event: open, ts: null} at source offset 40,118"),
		"NOT_NULL_ASSERT_VIOLATION", "walkedTypePath", "ts").
		At(errs.Pos{File: "lab.yaml", Line: 31, Col: 22, Length: 2}).
		WithExcerpt("    sql: SELECT ts, device, event FROM events").
		WithHint("filter nulls before the sink, or allow null in the schema")
	b.addEvents()
	return b
}

// query makes a snapshot with n progress reports around a rate (rows/s) and a duration (ms).
func query(name, sink, mode string, st screen.State, last int64, rate float64, ms int, n int) *screen.QuerySnapshot {
	q := &screen.QuerySnapshot{
		Version: 1, Name: name, ID: "7c1e9f3a-0d5b-4b7e-9f44-2a1f6f0c8e11", RunID: "b2a4d6c8-1111-4222-8333-944455556666",
		State: st, Message: "Processing new data", Since: Now.Add(-12*time.Minute - 4*time.Second),
		Source: "rate", Sink: sink, Mode: mode, Trigger: "1 s", TriggerEvery: time.Second,
		Promise: "exactly-once", BatchID: last,
	}
	if st == screen.Stopped || st == screen.Failed {
		q.Message = ""
	}
	seed := uint32(last)*2654435761 + 17
	rnd := func(k int) int { // small, fixed, the same everywhere
		seed = seed*1664525 + 1013904223
		return int(seed>>16) % k
	}
	keys := int64(1_204_880)
	if rate < 100_000 {
		keys = 8_812
	}
	for i := range n {
		id := last - int64(n-1-i)
		p := screen.Progress{
			BatchID: id, Time: Now.Add(-time.Duration(n-i) * 500 * time.Millisecond),
			Duration: time.Duration(ms-20+rnd(40)) * time.Millisecond,
			RowsIn:   int64(rate/2) - int64(rnd(1000)) + 20, RowsOut: 820 + int64(rnd(200)),
			InputRate: rate * (0.8 + float64(rnd(40))/100), ProcessRate: rate * (0.85 + float64(rnd(40))/100),
			Watermark: Now.Add(-11*time.Second - time.Duration(n-1-i)*500*time.Millisecond),
		}
		p.EventMax = p.Watermark.Add(10*time.Second + time.Duration(i*37%11)*200*time.Millisecond)
		if i == n-1 {
			p.Duration, p.InputRate, p.ProcessRate = time.Duration(ms)*time.Millisecond, rate, rate*1.02
			p.RowsIn = int64(rate / 2)
		}
		if i == n-10 && name == "clicks_1m" {
			p.Duration, p.Note = 411*time.Millisecond, "slow: foreachBatch"
		}
		if i == n-14 && name == "clicks_1m" {
			p.Retried = true
		}
		d := p.Duration
		p.Phases = []screen.Phase{
			{Name: "latestOffset", Took: d / 90}, {Name: "queryPlanning", Took: d / 20}, {Name: "walCommit", Took: d / 13},
			{Name: "addBatch", Took: d * 81 / 100}, {Name: "commitOffsets", Took: d / 20},
		}
		if mode != "append" || name != "late_events" {
			op := screen.OperatorProgress{Name: "stateStoreSave", RowsTotal: keys - int64(n-1-i)*412,
				RowsUpdated: 1_012, MemoryBytes: 212 << 20}
			if i%8 == 7 || i == n-1 && name == "clicks_1m" {
				op.DroppedByWatermark = 37
			}
			p.Operators = []screen.OperatorProgress{op}
		}
		js := fmt.Sprintf(`{"batchId":%d,"numInputRows":%d}`, p.BatchID, p.RowsIn)
		p.JSON = func() string { return js }
		q.Progress = append(q.Progress, p)
	}
	return q
}

func (b *Bench) addEvents() {
	add := func(ago time.Duration, l screen.Level, q string, batch int64, msg string) {
		b.events = append(b.events, screen.Event{Seq: int64(len(b.events) + 1), Time: Now.Add(-ago), Level: l,
			Query: q, Batch: batch, Message: msg})
	}
	add(191*time.Second, screen.Info, "workspace", -1, "checkpoint store opened, 3 checkpoints")
	add(179*time.Second, screen.Info, "workspace", -1, "lab.yaml read, 0 problems")
	add(108*time.Second, screen.Info, "orders_dedup", 307, "delta version 307 committed")
	add(48*time.Second, screen.Warn, "orders_dedup", 307, "kafka partition 2 moved to another broker, retried")
	add(29*time.Second, screen.Info, "rides_join", 500, "state bases at 500: 88,120 keys, 14 MiB, 212 ms")
	add(8*time.Second, screen.Error, "late_events", 17, "batch 17: column ts is null in dev-07")
	b.events[len(b.events)-1].Err = b.queries[4].Error
	add(7*time.Second, screen.Info, "late_events", 17, "stopped; offsets 17 written, commit missing")
	add(5*time.Second, screen.Warn, "clicks_1m", 1839, "37 late groups dropped, older than 12:40:43")
	add(2*time.Second, screen.Info, "clicks_1m", 1840, "batch 1840 committed, 1,003 rows out")
	add(time.Second, screen.Info, "clicks_1m", 1841, "batch 1841 committed, 1,012 rows out")
}

// SetLab replaces what the lab says of itself, steps included.
func (b *Bench) SetLab(l screen.LabInfo) { b.mu.Lock(); b.lab = l; b.mu.Unlock() }

// SetQueries replaces all snapshots.
func (b *Bench) SetQueries(qs []*screen.QuerySnapshot) { b.mu.Lock(); b.queries = qs; b.mu.Unlock() }

// Lab implements screen.Workbench, as do the methods below.
func (b *Bench) Lab() screen.LabInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	info := b.lab
	if b.Disk != "" && b.Disk != b.Adopted {
		info.Changed = b.Disk
	}
	return info
}

func (b *Bench) Queries() []*screen.QuerySnapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*screen.QuerySnapshot(nil), b.queries...)
}

func (b *Bench) Events(after int64) ([]screen.Event, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := int64(len(b.events))
	if after >= n {
		return nil, n
	}
	return b.events[after:n:n], n
}

// Advance runs one batch of every active query, at a later moment.
func (b *Bench) Advance(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
	for i, q := range b.queries {
		if q.State == screen.Running {
			b.queries[i] = b.batch(q)
		}
	}
}

func (b *Bench) batch(old *screen.QuerySnapshot) *screen.QuerySnapshot {
	q := *old
	q.Version++
	q.BatchID++
	b.record(q.Name, q.BatchID)
	p := q.Last()
	p.BatchID = q.BatchID
	p.Time = b.now
	k := float64(q.BatchID*7919%100) / 100
	p.InputRate = 900_000 + 200_000*k
	p.ProcessRate = 950_000 + 150_000*k
	p.RowsIn = int64(p.InputRate / 2)
	p.Duration = time.Duration(120+100*k) * time.Millisecond
	q.Progress = append(append([]screen.Progress(nil), q.Progress[max(0, len(q.Progress)-119):]...), p)
	if !q.Watermark.IsZero() {
		q.Watermark = b.now.Add(-q.WatermarkDelay - time.Second)
	}
	b.events = append(b.events, screen.Event{Seq: int64(len(b.events) + 1), Time: b.now, Level: screen.Info,
		Query: q.Name, Batch: q.BatchID, Message: fmt.Sprintf("batch %d committed", q.BatchID)})
	return &q
}

func (b *Bench) Do(_ context.Context, c screen.Command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Done = append(b.Done, c)
	if c.Verb == screen.RunStep {
		steps := append([]screen.Step(nil), b.lab.Steps...)
		if c.Step < len(steps) {
			steps[c.Step].State, steps[c.Step].Found, steps[c.Step].Said = screen.StepSeen, "6 rows, as expected", c.Arg
		}
		b.lab.Steps = steps
		return nil
	}
	for i, q := range b.queries {
		if c.Query != "" && q.Name != c.Query {
			continue
		}
		n := *q
		n.Version++
		switch c.Verb {
		case screen.Start, screen.Restart, screen.StartFresh:
			n.State, n.Since, n.Error, n.Message = screen.Running, b.now, nil, "Waiting for next trigger"
		case screen.StopAfterBatch, screen.StopNow:
			n.State, n.Message = screen.Stopped, ""
		case screen.RunOneBatch:
			n = *b.batch(&n)
		default:
			return errs.New("UNSUPPORTED_FEATURE", "feature", string(c.Verb))
		}
		b.queries[i] = &n
	}
	return nil
}

func (b *Bench) Query(_ context.Context, sql string, limit int) (screen.Result, error) {
	low := strings.ToLower(sql)
	if !strings.HasPrefix(strings.TrimSpace(low), "select") {
		return screen.Result{}, errs.New("UNSUPPORTED_FEATURE", "feature", "statements that write")
	}
	r := screen.Result{Columns: []screen.Column{{Name: "page", Type: "text"}, {Name: "n", Type: "int", Right: true}},
		Total: 412, Took: 3 * time.Millisecond, Batch: 88}
	pages := []string{"/home", "/cart", "/search?q=shoes", "/item/1182", "/item/77", "/checkout", "/login", "/help"}
	for i := range min(412, limit) {
		p := fmt.Sprintf("/item/%d", 300+i)
		if i < len(pages) {
			p = pages[i]
		}
		r.Rows = append(r.Rows, []screen.Cell{{Text: p}, {Text: fmt.Sprint(918221 / (i + 1))}})
	}
	return r, nil
}

func (b *Bench) Catalog(context.Context) ([]screen.Table, error) {
	cols := []screen.Column{{Name: "window_start", Type: "text"}, {Name: "page", Type: "text"},
		{Name: "count", Type: "int"}, {Name: "_batch_id", Type: "int"}}
	return []screen.Table{
		{Name: "top_pages", Kind: "memory", Rows: 412, Columns: cols},
		{Name: "scores", Kind: "memory", Rows: 48_210, Columns: cols[1:3]},
		{Name: "scores_latest", Kind: "memory", Rows: 1_012},
		{Name: "batches", Kind: "view", Rows: -1, Columns: []screen.Column{{Name: "query", Type: "text"}, {Name: "rows_in", Type: "int"}}}, {Name: "events", Kind: "view", Rows: -1},
	}, nil
}

func (b *Bench) find(name string) *screen.QuerySnapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queries {
		if q.Name == name {
			return q
		}
	}
	return nil
}

func (b *Bench) Checkpoint(_ context.Context, name string) (*screen.CheckpointInfo, error) {
	b.mu.Lock()
	broken := b.broken[name]
	b.mu.Unlock()
	if broken != nil {
		return broken, nil
	}
	q := b.find(name)
	if q == nil {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "a checkpoint of "+name)
	}
	c := &screen.CheckpointInfo{Query: name, Location: "./shop-demo/.streamlab/checkpoints/" + name,
		InUse: q.State.Active(), Bytes: 212 << 20,
		Restart: fmt.Sprintf("Batch %d runs again with exactly these offsets: they are written, the commit is not. "+
			"%s may see it twice, so make its write depend on the batch id.", q.BatchID, q.Sink)}
	if len(q.Last().Operators) > 0 {
		c.Operators = []screen.StateOperator{{ID: 0, Name: "stateStoreSave", Store: "default", Rows: q.Last().StateRows()}}
	}
	for id := max(0, q.BatchID-99); id <= q.BatchID; id++ {
		c.Batches = append(c.Batches, screen.BatchMark{ID: id, Offsets: true, Commit: id < q.BatchID,
			Bases: id%10 == 4, Retried: id == q.BatchID-13})
	}
	return c, nil
}

func (b *Bench) CheckpointBatch(_ context.Context, name string, id int64) (*screen.CheckpointBatch, error) {
	q := b.find(name)
	if q == nil {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "a checkpoint of "+name)
	}
	c := &screen.CheckpointBatch{ID: id, Written: Now.Add(-882 * time.Millisecond), HasCommit: id < q.BatchID,
		LateBefore: Now.Add(-13 * time.Second), ClosesUpTo: Now.Add(-12 * time.Second), StateVersion: -1,
		Sources: []screen.SourceOffset{{Source: "kafka clicks", Start: `{"clicks":{"0":4550248,"1":4550249}}`,
			End: `{"clicks":{"0":4675028,"1":4675030}}`, Rows: 499_120,
			Parts: []string{"p0 4,675,028 (+124,780)", "p1 4,675,030 (+124,781)", "p2 4,675,026 (+124,779)", "p3 4,675,027 (+124,780)"}}},
		Conf: []screen.KeyValue{{Key: "spark.sql.shuffle.partitions", Value: "8"}},
		OffsetsText: "v1\n{\"batchWatermarkMs\":1767616847000,\"batchTimestampMs\":1767616858118,\"conf\":{}}\n" +
			"{\"clicks\":{\"0\":4675028,\"1\":4675030}}",
	}
	if c.HasCommit {
		c.StateVersion, c.Committed = id+1, Now.Add(-700*time.Millisecond)
		c.CommitText = "v1\n{\"nextBatchWatermarkMs\":1767616847500}"
	}
	return c, nil
}

func (b *Bench) State(_ context.Context, _ string, batch int64, _ int, filter string, limit int) (screen.Result, error) {
	r := screen.Result{Columns: []screen.Column{{Name: "window_start"}, {Name: "page"}, {Name: "count", Right: true}},
		Total: 1_204_468, More: true, Batch: batch}
	names := []string{"/home", "/home/kids", "/home/garden", "/home/new", "/home/sale", "/home/tools"}
	for i := range min(limit, 300) {
		p := fmt.Sprintf("/home/%d", 142+7*i)
		if i < len(names) {
			p = names[i]
		}
		if strings.Contains(p, filter) {
			r.Rows = append(r.Rows, []screen.Cell{{Text: "12:40:00"}, {Text: p}, {Text: fmt.Sprint(18064 / (i + 1))}})
		}
	}
	return r, nil
}

func (b *Bench) BatchRows(_ context.Context, _ string, batch int64, limit int) (screen.Result, error) {
	r := screen.Result{Columns: []screen.Column{{Name: "window_start", Type: "timestamp"}, {Name: "page", Type: "string"},
		{Name: "count", Type: "bigint", Right: true}}, Total: 1_012, Batch: batch, Note: "replayed", More: limit < 1012}
	pages := []string{"/home", "/cart", "/search", "/checkout", "/item/1182", "/item/77"}
	for i := range min(limit, 1012) {
		p := fmt.Sprintf("/item/%d", 60333+37*i)
		if i < len(pages) {
			p = pages[i]
		}
		c := screen.Cell{Text: fmt.Sprint(18221 / (i + 1))}
		if i == 7 {
			c = screen.Cell{Null: true}
		}
		r.Rows = append(r.Rows, []screen.Cell{{Text: "12:40:00"}, {Text: p}, c})
	}
	return r, nil
}

const table = `+-------------------+------+-----------+--------+
|                 ts|device|      event|lateness|
+-------------------+------+-----------+--------+
|2026-01-05 10:12:00|dev-00|       open|   2h 0m|
|2026-01-05 10:12:07|dev-01|      close|   2h 3m|
|2026-01-05 10:12:14|dev-02| two\nlines|   2h 6m|
+-------------------+------+-----------+--------+
`

func (b *Bench) Console(name string) screen.Console {
	if name != "late_events" {
		return screen.Console{}
	}
	c := screen.Console{Version: 1, Dropped: 12_040}
	for id := 10; id <= 16; id++ {
		text := fmt.Sprintf("-------------------------------------------\nBatch: %d\n-------------------------------------------\n%s\n", id, table)
		c.Lines = append(c.Lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	}
	return c
}

func (b *Bench) Explain(_ context.Context, name string) (string, error) {
	return "== Physical Plan ==\nWriteToDataSourceV2 " + name + "\n+- HashAggregate(keys=[window, page], functions=[count(1)])\n" +
		"   +- StateStoreSave [window, page], 0, update\n      +- StateStoreRestore [window, page]\n" +
		"         +- EventTimeWatermark ts, 10 seconds\n            +- MicroBatchScan kafka clicks\n", nil
}

func (b *Bench) Close(context.Context) error { b.mu.Lock(); b.Closed = true; b.mu.Unlock(); return nil }

// Gallery is the fake gallery.
type Gallery struct{}

// Labs implements screen.Gallery, as do the methods below.
func (Gallery) Labs(context.Context) ([]screen.LabEntry, error) {
	l := func(title string, min int, teaches string) screen.LabEntry {
		return screen.LabEntry{Path: "/labs/" + strings.ReplaceAll(title, " ", "-") + "/lab.yaml", Title: title, Minutes: min, Teaches: teaches}
	}
	es := []screen.LabEntry{
		l("first stream", 5, "what one batch is"),
		l("output modes", 10, "append, update, complete side by side"),
		l("event time and watermarks", 10, "late rows, when state goes"),
		l("crash and restart", 10, "offsets, commits, what runs twice"),
		l("read a checkpoint", 8, "follow one key through its history"),
		l("stream joins", 12, "two streams, two watermarks"),
		l("deduplication", 8, "keys kept, keys forgotten"),
		l("foreachBatch done right", 10, "idempotent writes by batch id"),
		l("from laptop to cluster", 10, "ship the same file to Spark"),
		l("shop example", 0, "4 queries, 1M rows per second"),
	}
	for i, area := range []string{"first stream", "output modes", "event time", "checkpoints and restarts", "checkpoints and restarts", "joins",
		"state", "sinks and promises", "sinks and promises", ""} {
		es[i].Lesson.Area = area
	}
	// Of one group what stands together.
	es[5], es[6] = es[6], es[5]
	es[0].Done, es[1].Done, es[0].Started = true, true, true
	es[2].About = "You will send rows out of order and see which ones count."
	es[2].Steps = []string{"send 3 rows in order", "send one row that is late but allowed",
		"send one row that is too late", "watch the window close", "change the delay and run it again"}
	es[2].Uses = []string{"memory source you feed by hand", "2-minute window, 1-minute watermark", "memory sink, update mode"}
	return es, nil
}

func (Gallery) Open(_ context.Context, path string) (screen.Workbench, error) {
	if strings.Contains(path, "missing") {
		return nil, errs.New("PATH_NOT_FOUND", "path", path)
	}
	b := New()
	b.lab.Path = path
	if strings.Contains(path, "event-time") {
		b.lab.Name, b.lab.Title = "event-time", "event time and watermarks"
		b.lab.Lesson = screen.Lesson{Area: "event time", Goal: "Know which rows count, which are dropped, and when state goes.",
			Trap: "A row older than the watermark is dropped.",
			Why:  "It is dropped if its window is closed. An open window takes older rows.", Next: "crash-and-restart"}
		b.lab.Steps = []screen.Step{
			{Title: "send 3 rows in order", Why: "A watermark follows the newest event time.", Do: "feed: 3 rows"},
			{Title: "send one row that is late but allowed", Why: "Rows behind the watermark's delay still count.",
				Predict: "Will the count of its window change?", Answer: "Yes: its window is still open."},
			{Title: "send one row that is too late"}, {Title: "watch the window close"},
			{Title: "change the delay and run it again"}}
	}
	return b, nil
}

// Templates implements screen.Maker, as does New.
func (Gallery) Templates() []screen.Template {
	return []screen.Template{{Name: "rate", About: "rows from the clock"}, {Name: "csv"}, {Name: "file"}, {Name: "kafka"}, {Name: "delta"}}
}

func (Gallery) New(_ context.Context, template, folder string) (string, error) {
	if template == "nope" {
		return "", errs.New("NO_SUCH_LAB", "name", template, "known", "rate csv file kafka delta")
	}
	return folder + "/" + template + ".yaml", nil
}

func (Gallery) Reset(context.Context, string) error { return nil }
