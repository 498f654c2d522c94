//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/store"
	"streamlab/tui/screen"
)

// What ran before this process began is in the checkpoints: their reports fill the lists of batches, so that a
// restart forgets nothing. They are read beside the loop, since a checkpoint takes a while to open.

// keptReports is how many batches of a query the screens list.
const keptReports = 120

// past is what is known of a query from before its newest run.
type past struct {
	version int64
	reports []screen.Progress      // oldest first
	run     *engine.StreamingQuery // a run that has ended and whose reports are among them; nil: none
}

// readPasts reads the reports of all queries of the lab on a goroutine of its own.
func (b *localLab) readPasts(ctx context.Context) {
	names := b.w.Names()
	b.reading = safego.Go("reports of earlier runs", func() error {
		for _, n := range names {
			if ctx.Err() != nil {
				return nil
			}
			b.readPast(n)
		}
		return nil
	})
}

// stopAllLooking closes the checkpoints that somebody looks at: what comes next may start queries, or other processes.
func (b *localLab) stopAllLooking() error {
	if b.reading != nil {
		_ = b.reading.Wait() // it has no error of its own
	}
	for _, n := range b.w.Names() {
		if q := b.w.Query(n); q == nil || !q.IsActive() {
			if err := b.stopLooking(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPast reads the reports of one query. A checkpoint that is not there, or cannot be read, has none: the screens
// of checkpoints say why.
func (b *localLab) readPast(query string) {
	dir, err := b.w.Checkpoint(query)
	if err != nil || dir == "" || !exists(dir) {
		b.setPast(query, nil)
		return
	}
	cp, _, done, err := b.at(query)
	if err != nil {
		return
	}
	defer done()
	b.setPast(query, storedReports(cp))
}

// setPast keeps the reports of a query.
func (b *localLab) setPast(query string, reports []screen.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pasts == nil {
		b.pasts = map[string]past{}
	}
	x := past{version: b.pasts[query].version + 1, reports: reports}
	if q := b.w.Query(query); q != nil && !q.IsActive() {
		x.run = q
	}
	b.pasts[query] = x
}

// storedReports are the newest reports that a checkpoint keeps, oldest first.
func storedReports(cp *store.Checkpoint) (out []screen.Progress) {
	from, to := cp.Retained()
	for n := max(from, to-keptReports+1); n <= to; n++ {
		if raw, ok := cp.Progress(n); ok {
			if p, ok := storedProgress(raw); ok {
				p.RowsOut = rowsOut(cp, p)
				out = append(out, p)
			}
		}
	}
	return out
}

// before puts what is known from before in front of the reports of a run: batches with lower numbers only, since a
// run that began anew counts from 0 again.
func (x past) before(run *engine.StreamingQuery, now []screen.Progress) []screen.Progress {
	if x.run == run && x.version > 0 {
		return x.reports
	}
	old, first := x.reports, int64(math.MaxInt64)
	if len(now) > 0 {
		first = now[0].BatchID
	}
	var out []screen.Progress
	for _, p := range old {
		if p.BatchID < first {
			out = append(out, p)
		}
	}
	out = append(out, now...)
	return out[max(0, len(out)-keptReports):]
}

// rowsOut is what the sink says it wrote in a batch or, where it does not say, what the commit says it was handed;
// -1 if neither is known.
func rowsOut(cp *store.Checkpoint, p screen.Progress) int64 {
	if p.RowsOut >= 0 {
		return p.RowsOut
	}
	if c, ok, err := cp.Commits(p.BatchID); err == nil && ok && c.Sent != nil {
		return *c.Sent
	}
	return -1
}

// storedProgress reads a report as Spark writes it; false if it is none.
func storedProgress(raw []byte) (screen.Progress, bool) {
	var r struct {
		BatchID       int64                          `json:"batchId"`
		Timestamp     time.Time                      `json:"timestamp"`
		BatchDuration int64                          `json:"batchDuration"`
		Rows          int64                          `json:"numInputRows"`
		In            float64                        `json:"inputRowsPerSecond"`
		Out           float64                        `json:"processedRowsPerSecond"`
		DurationMs    map[string]int64               `json:"durationMs"`
		EventTime     map[string]string              `json:"eventTime"`
		Operators     []engine.StateOperatorProgress `json:"stateOperators"`
		Sink          struct {
			Rows *int64 `json:"numOutputRows"`
		} `json:"sink"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return screen.Progress{}, false
	}
	p := screen.Progress{BatchID: r.BatchID, Time: r.Timestamp, Duration: time.Duration(r.BatchDuration) * time.Millisecond, RowsIn: r.Rows,
		RowsOut: -1, InputRate: r.In, ProcessRate: r.Out, JSON: func() string { return string(raw) }}
	if r.Sink.Rows != nil {
		p.RowsOut = *r.Sink.Rows
	}
	p.Phases, p.Operators = phasesOf(r.DurationMs), operatorsOf(r.Operators)
	p.Watermark, p.EventMax = eventTimes(r.EventTime)
	return p, true
}

// phasesOf are the phases of a batch, in the order in which they run.
func phasesOf(ms map[string]int64) (out []screen.Phase) {
	for _, k := range []string{"latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitOffsets"} {
		if n, ok := ms[k]; ok {
			out = append(out, screen.Phase{Name: k, Took: time.Duration(n) * time.Millisecond})
		}
	}
	return out
}

func operatorsOf(list []engine.StateOperatorProgress) (out []screen.OperatorProgress) {
	for _, o := range list {
		out = append(out, screen.OperatorProgress{Name: o.OperatorName, RowsTotal: o.NumRowsTotal, RowsUpdated: o.NumRowsUpdated,
			RowsRemoved: o.NumRowsRemoved, DroppedByWatermark: o.NumRowsDroppedByWatermark, MemoryBytes: o.MemoryUsedBytes})
	}
	return out
}

// eventTimes are watermark and greatest event time of a report; zero are those that it has not.
func eventTimes(times map[string]string) (watermark, greatest time.Time) {
	if t, err := time.Parse(engine.TimestampLayout, times["watermark"]); err == nil && t.UnixMilli() > 0 {
		watermark = t
	}
	if t, err := time.Parse(engine.TimestampLayout, times["max"]); err == nil {
		greatest = t
	}
	return watermark, greatest
}

// rowsAgain are the rows that a batch sends to its sink when it is run again: for batches of which the rows were
// not kept, as those of an earlier run.
func (b *localLab) rowsAgain(ctx context.Context, query string, batch int64, limit int) (screen.Result, error) {
	began := time.Now()
	t, err := b.Trace(ctx, query, batch, screen.TraceOptions{Rows: limit})
	if err != nil {
		if exitOf(err) == 4 || errs.Has(err, "TRACE_NOT_REPLAYABLE") {
			err = errs.Wrap(err, "ROWS_NOT_KEPT", "batch", batch)
		}
		return screen.Result{}, err
	}
	s := &t.Stages[len(t.Stages)-1]
	r := s.Values
	r.Batch, r.Took, r.Note = batch, time.Since(began), "run again to see them"
	r.Rows = r.Rows[:min(len(r.Rows), limit)]
	r.Columns = append([]screen.Column(nil), r.Columns...)
	for i := range r.Columns {
		r.Columns[i].HideDay, r.Columns[i].Grouped = "", false // these are the rows themselves
	}
	r.Total, r.More = s.Out, s.Out > int64(len(r.Rows))
	return r, nil
}
