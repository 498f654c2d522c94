package screentest

import (
	"context"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// CrashPlan implements screen.CrashBench with fixed answers, as does Crash.
func (b *Bench) CrashPlan() screen.CrashPlan {
	b.mu.Lock()
	defer b.mu.Unlock()
	return screen.CrashPlan{
		Sinks: []screen.CrashSink{
			{Key: "file", Title: "files (json)", Promise: "exactly-once"},
			{Key: "delta", Title: "delta", Promise: "exactly-once"},
			{Key: "foreachBatch", Title: "foreachBatch · not idempotent", Promise: "at-least-once", Twin: "idempotent"},
			{Key: "idempotent", Title: "foreachBatch · idempotent by batch id", Promise: "exactly-once", Twin: "foreachBatch"},
		},
		Points: []screen.CrashPoint{
			{Name: "plan.begin", Stage: 1, Where: "before it asks the sources"},
			{Name: "plan.after_wal", Stage: 2, Where: "after the offsets were written"},
			{Name: "exec.end", Stage: 3, Where: "after the last row"},
			{Name: "sink.stage.mid", Stage: 4, Where: "while the sink writes"},
			{Name: "sink.commit.after", Stage: 4, Where: "after the sink wrote"},
			{Name: "commit.after", Stage: 5, Where: "after the commit was written"},
		},
		Tried: b.tried[:len(b.tried):len(b.tried)],
	}
}

func (b *Bench) Crash(_ context.Context, sink, point string) (*screen.CrashResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sink == "delta" && point == "plan.begin" {
		return nil, errs.New("LAB_NO_CRASH", "query", "copies", "point", point, "reason", "it ended by itself: the point was not passed")
	}
	r := screen.CrashResult{Sink: sink, Point: point, Batch: 8, SourceRows: 1000, SinkRows: 1000, Promise: "exactly-once", Kept: true,
		Records: []string{`offsets/8  {"p0":900}  written 12:40:58.118`, `commits/7  {"nextBatchWatermarkMs":0}`, "commits/8  missing",
			"state      version 8, after batch 7"},
		Why:        "The restart ran the same batch again, and the sink had 100 of its rows. It knew the batch by its number, so nothing was written twice.",
		Checkpoint: "clicks_1m"}
	r.Rows = []screen.CrashRow{
		{Run: 1, Batch: 7, From: 700, To: 800, Log: "new", SinkRows: 100, Commit: "yes"},
		{Run: 2, Batch: 8, From: 800, To: 900, Log: "new", SinkRows: 100, Commit: "crashed before this"},
		{Run: 3, Batch: 8, From: 800, To: 900, Log: "reused", Commit: "yes"},
		{Run: 3, Batch: 9, From: 900, To: 1000, Log: "new", SinkRows: 100, Commit: "yes"},
	}
	if sink == "foreachBatch" && point == "sink.commit.after" {
		r.Rows[2].SinkRows, r.SinkRows, r.Duplicates, r.Promise = 100, 1100, 100, "at-least-once"
		r.Why = "The offsets were written and the commit was not, so the restart ran the same batch again. The sink had 100 of its rows, and took 100 more. Make the write depend on the batch id, then crash it again: i"
		for v := range int64(40) {
			r.Doubled = append(r.Doubled, 800+v)
		}
	}
	if sink == "foreachBatch" && point == "sink.stage.mid" {
		r = screen.CrashResult{Sink: sink, Point: point, NotPassed: true}
	}
	b.tried = append(b.tried, r)
	return &r, nil
}
