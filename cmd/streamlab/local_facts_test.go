//go:build cgo

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/tui/screen"
)

// What a query reads is said in words: format, name, where, and how many partitions the last offsets had.
func TestSourceWords(t *testing.T) {
	opts := func(kv ...string) sources.Options {
		o := sources.Options{}
		for i := 0; i < len(kv); i += 2 {
			o[kv[i]] = kv[i+1]
		}
		return o
	}
	for _, c := range []struct {
		reads  []engine.Read
		ends   []string
		source string
		limit  string
	}{
		{[]engine.Read{{Name: "clicks", Format: "rate", Options: opts("rowsPerSecond", "20000")}}, nil, "rate clicks", "20.0k/s"},
		{[]engine.Read{{Name: "rate", Format: "rate"}}, nil, "rate", "1/s"},
		{[]engine.Read{{Name: "clicks", Format: "kafka", Options: opts("subscribe", "clicks", "maxOffsetsPerTrigger", "5000")}},
			[]string{`{"clicks":{"0":1,"1":2,"2":3,"3":4}}`}, "kafka clicks, 4 partitions", "5,000 offsets a batch"},
		{[]engine.Read{{Name: "c", Format: "kafka", Options: opts("subscribe", "clicks")}}, []string{"null"}, "kafka c, topic clicks", ""},
		{[]engine.Read{{Name: "in", Format: "json", Path: "/lab/data/in", Options: opts("maxfilespertrigger", "1")}}, nil, "json in, data/in", "1 file a batch"},
		{[]engine.Read{{Name: "in", Format: "csv", Path: "/else/in"}, {Name: "m", Format: "memory"}}, nil, "csv in, /else/in and memory m", ""},
	} {
		f := &queryFacts{reads: c.reads}
		if got := f.sourceWords("/lab", c.ends); got != c.source {
			t.Errorf("source %q, want %q", got, c.source)
		}
		if got := f.limitWords(); got != c.limit {
			t.Errorf("limit %q, want %q", got, c.limit)
		}
	}
}

func TestTriggerWords(t *testing.T) {
	for in, want := range map[string]string{"processingTime 500ms": "500 ms", "processingTime 1m30s": "90 s", "continuous 1s": "continuous 1 s",
		"availableNow": "availableNow", "as fast as possible": "as fast as possible"} {
		if got := triggerWords(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A batch is slow beside those before it; batches without rows do not count, and a few milliseconds are not felt.
func TestSlowBatchesAreNoted(t *testing.T) {
	var ps []screen.Progress
	add := func(ms int, rows int64) {
		d := time.Duration(ms) * time.Millisecond
		ps = append(ps, screen.Progress{Duration: d, RowsIn: rows, Phases: []screen.Phase{{Name: "walCommit", Took: d / 10}, {Name: "addBatch", Took: d * 9 / 10}}})
	}
	for range 6 {
		add(100, 10)
		add(1, 0)
	}
	add(199, 10) // not twice
	add(300, 10)
	noteSlow(ps)
	for i, p := range ps {
		want := ""
		if i == len(ps)-1 {
			want = "slow: addBatch"
		}
		if p.Note != want {
			t.Errorf("batch %d: note %q, want %q", i, p.Note, want)
		}
	}
	quick := []screen.Progress{}
	for i := range 8 {
		quick = append(quick, screen.Progress{Duration: time.Duration(1+40*(i/7)) * time.Millisecond, RowsIn: 1})
	}
	noteSlow(quick)
	if quick[7].Note != "" {
		t.Error("41 ms after 1 ms is nothing that one feels")
	}
}

// Queries that name no format have a sink all the same, and its promise.
func TestEverySinkHasAName(t *testing.T) {
	b := opened(t, `
sources: {lines: {format: text, path: in}}
queries:
  - {queryName: a, from: lines, foreachBatch: [SELECT 1], start: false}
  - {queryName: b, from: lines, foreach: {command: [cat]}, start: false}
  - {queryName: c, from: lines, toTable: out, start: false, options: {checkpointLocation: chk}}
  - {queryName: d, from: lines, path: files, start: false, options: {checkpointLocation: chk2}}
  - {queryName: e, from: lines, format: memory, start: false}
`)
	want := []string{"foreachBatch at-least-once", "foreach at-least-once", "delta exactly-once", "parquet exactly-once", "memory none"}
	for i, q := range b.Queries() {
		if got := q.Sink + " " + q.Promise; got != want[i] {
			t.Errorf("%s: %q, want %q", q.Name, got, want[i])
		}
	}
}

// Spark's file sink does not say how many rows it wrote; the screens show what it was handed, now and after a
// restart, and the report stays Spark's.
func TestSinksThatDoNotCountHaveRowsOut(t *testing.T) {
	b := opened(t, pastLab)
	b.settle(t, "q")
	for run := range 2 {
		ps := b.Queries()[0].Progress
		if len(ps) != 3 {
			t.Fatalf("run %d: %d batches", run, len(ps))
		}
		for _, p := range ps {
			if p.RowsOut != p.RowsIn || p.RowsIn == 0 || !strings.Contains(strings.ReplaceAll(p.JSON(), " ", ""), `"numOutputRows":-1`) {
				t.Errorf("run %d, batch %d: %d in, %d out, %s", run, p.BatchID, p.RowsIn, p.RowsOut, p.JSON())
			}
		}
		b = b.reopened(t, true)
	}
}

// A failed query shows the batch in which it failed, whose offsets are written, not the one before.
func TestTheBatchThatFailedIsShown(t *testing.T) {
	b := opened(t, `
sources: {m: {format: memory, schema: "s STRING", options: {maxPushesPerTrigger: 1}, rows: [[["1"]], [["x"]]]}}
queries: [{queryName: q, sql: "SELECT CAST(s AS INT) AS n FROM m", format: console, options: {checkpointLocation: chk}}]
`)
	if err := b.w.Query("q").AwaitTermination(context.Background()); !errs.Has(err, "CAST_INVALID_INPUT") {
		t.Fatal(err)
	}
	s := b.Queries()[0]
	if s.State != screen.Failed || s.BatchID != 1 || s.Last().BatchID != 0 {
		t.Errorf("%v in batch %d, reported %d", s.State, s.BatchID, s.Last().BatchID)
	}
}
