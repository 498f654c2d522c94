//go:build cgo

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/tui/screen"
)

var _ screen.Tracer = (*localLab)(nil)

// Trace runs a batch of a query again: by its run, or, if it has none that is open, from the checkpoint on disk.
func (b *localLab) Trace(ctx context.Context, query string, batch int64, o screen.TraceOptions) (*screen.Trace, error) {
	eo := engine.TraceOptions{Rows: o.Rows}
	if o.Partial != nil {
		eo.Partial = func(t *engine.Trace) {
			if x, err := shownTrace(t, nil); err == nil {
				o.Partial(x)
			}
		}
	}
	for _, r := range o.Follow {
		eo.Follow = append(eo.Follow, engine.Ref{Stage: r.Stage, N: r.N})
	}
	if q := b.w.Query(query); q != nil && q.IsActive() {
		t, err := q.Replay(ctx, batch, eo)
		return shownTrace(t, err)
	}
	gone := func(err error) error { // a checkpoint that ended with its query, or what was seen of it before it had batches
		if q := b.w.Query(query); err != nil && q != nil && q.Snapshot().Temporary {
			return errs.Wrap(err, "TRACE_TEMPORARY", "name", query, "batch", batch)
		}
		return err
	}
	cp, _, done, err := b.at(query)
	if err != nil {
		return nil, gone(err)
	}
	defer done()
	w, err := b.w.Writer(ctx, query)
	if err != nil {
		return nil, err
	}
	t, err := w.Replay(ctx, cp, batch, eo)
	return shownTrace(t, gone(err))
}

// TraceNext records the next batch of a running query.
func (b *localLab) TraceNext(query string) error {
	q := b.w.Query(query)
	if q == nil || !q.IsActive() {
		return errs.New("TRACE_NOT_RUNNING", "name", query)
	}
	q.TraceNext()
	return nil
}

// Traced lists the recorded batches of the newest run.
func (b *localLab) Traced(query string) []int64 {
	if q := b.w.Query(query); q != nil {
		return q.Traced()
	}
	return nil
}

// cellClock prints times as the cells of rows do, without a date that all of them have.
func cellClock(hide string) engine.TimeText {
	return func(us int64) string {
		return strings.TrimPrefix(time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.999999"), hide+" ")
	}
}

// shownTrace puts a trace into the screens' words.
func shownTrace(t *engine.Trace, err error) (*screen.Trace, error) {
	if err != nil {
		return nil, err
	}
	t.HideDay = t.Day()
	clock := cellClock(t.HideDay)
	out := &screen.Trace{Day: t.HideDay, Batch: t.Batch, Partial: t.Partial, Live: t.Live, RowsIn: t.RowsNow, RowsThen: t.RowsThen,
		Follow: func(r screen.RowRef) map[int]map[int64]bool {
			return t.Trace.Follow(engine.Ref{Stage: r.Stage, N: r.N})
		},
		Why: func(stage, row int) []screen.Reason {
			var out []screen.Reason
			for _, r := range t.Why(stage, row, clock) {
				out = append(out, screen.Reason{About: r.About, Text: r.Text})
			}
			return out
		}}
	if t.EvictMs > 0 {
		out.Closes = timeOf(t.EvictMs)
	}
	for i := range t.Stages {
		out.Stages = append(out.Stages, shownStage(t, i, clock))
	}
	return out, nil
}

func shownStage(t *engine.Trace, i int, clock engine.TimeText) screen.TraceStage {
	s := &t.Stages[i]
	out := screen.TraceStage{Kind: s.Kind, Detail: s.Detail, Note: t.Note(i, clock), In: s.In, Out: s.Out, Took: s.Took, Below: s.Below}
	if len(s.Below) == 0 {
		out.In = -1
	}
	if s.Kind == "sink" {
		out.Detail = t.SinkName
	}
	out.Values = shownValues(t, i)
	for _, n := range s.Fates {
		out.Values.Total += n
	}
	for _, r := range s.Rows {
		x := screen.TraceRow{N: r.N, Emitted: r.Emitted, Mark: fateMark(r.Fate), FromAll: r.FromAll}
		for _, f := range r.From {
			if at := t.Row(f); at >= 0 {
				x.From = append(x.From, screen.RowPlace{Stage: f.Stage, Row: at})
			}
		}
		out.Rows = append(out.Rows, x)
	}
	return out
}

// fateMark is the word behind a row to which something happened.
func fateMark(f exec.Fate) string {
	switch f {
	case exec.FateLate:
		return "late, dropped"
	case exec.FateFiltered, exec.FateBeyond, exec.FateNoTime, exec.FateEmpty, exec.FateNullKey:
		return "left out"
	case exec.FateDuplicate:
		return "duplicate"
	case exec.FateHeld:
		return "held back"
	case exec.FateWaiting:
		return "waiting"
	case exec.FateUnmatched:
		return "no partner"
	}
	return ""
}

// shownValues are the kept rows as cells; groups have what their first result was, and by how much it changed.
func shownValues(t *engine.Trace, i int) screen.Result {
	s := &t.Stages[i]
	r := screen.Result{Batch: t.Batch}
	for _, f := range s.Schema {
		r.Columns = append(r.Columns, screen.Column{Name: f.Name, Right: f.Type.IsNumeric(), HideDay: t.DayIn(f.Type)})
	}
	groups := s.Before != nil && len(s.Schema) > s.Keys
	if groups {
		for c := s.Keys; c < len(s.Schema); c++ {
			r.Columns[c].Grouped = r.Columns[c].Right
		}
		n := s.Schema[s.Keys].Type.IsNumeric()
		r.Columns = append(r.Columns, screen.Column{Name: "was", Right: n, Grouped: n}, screen.Column{Name: "change", Right: true, Grouped: true})
	}
	if s.Values == nil {
		return r
	}
	vs := columnar.Vectors(s.Values, s.Schema)
	cells, before := t.Cells(i), t.Before(i)
	for k, texts := range cells {
		row := make([]screen.Cell, len(texts), len(texts)+2)
		for c, text := range texts {
			row[c] = screen.Cell{Text: engine.ShortCell(s.Schema[c].Type, text), Null: vs[c].IsNull(k)}
		}
		if groups {
			was, change := "?", ""
			switch {
			case s.Rows[k].New:
				was, change = "new", plus("0", texts[s.Keys])
			case s.Rows[k].Known:
				was, change = before[k][s.Keys], plus(before[k][s.Keys], texts[s.Keys])
			}
			row = append(row, screen.Cell{Text: was}, screen.Cell{Text: change})
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// plus is the difference of two whole numbers with a sign; "" of other texts.
func plus(was, now string) string {
	a, err := strconv.ParseInt(was, 10, 64)
	b, err2 := strconv.ParseInt(now, 10, 64)
	if err != nil || err2 != nil {
		return ""
	}
	if a == b {
		return "0"
	}
	return fmt.Sprintf("%+d", b-a)
}
