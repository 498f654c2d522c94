package screentest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/widget"
)

var _ screen.Tracer = (*Bench)(nil)

// recorded is which batches were recorded, and of which query the next one will be.
type recorded struct {
	traced    map[string][]int64
	traceNext map[string]bool
}

var tracePages = []string{"/home", "/cart", "/home", "/item/77", "/home", "/login", "/home", "/cart"}

// Trace implements screen.Tracer, as do the methods below: batches of five stages, the rows of /home sampled
// among others, one of them late. Batches of orders_dedup whose number ends in 5 have no rows, late_events cannot
// be run again.
func (b *Bench) Trace(ctx context.Context, query string, batch int64, o screen.TraceOptions) (*screen.Trace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q := b.find(query)
	if q == nil {
		return nil, errs.New("LAB_NO_QUERY", "name", query)
	}
	b.mu.Lock()
	live := false
	for _, n := range b.traced[query] {
		live = live || n == batch
	}
	b.mu.Unlock()
	switch {
	case batch < q.BatchID-99:
		return nil, errs.New("TRACE_PURGED", "batch", batch, "kept", 100, "from", q.BatchID-99, "to", q.BatchID)
	case query == "late_events" && !live:
		return nil, errs.New("TRACE_NOT_REPLAYABLE", "batch", batch, "source", "sensors", "format", "socket")
	case query == "orders_dedup" && batch%10 == 5:
		return emptyTrace(batch), nil
	}
	n := 40
	if o.Rows > 0 {
		n = 400
	}
	if o.Partial != nil {
		o.Partial(Coming(batch))
	}
	t := fullTrace(batch, n)
	t.Live = live
	return t, nil
}

// Coming is the trace of a batch of which the first rows have come.
func Coming(batch int64) *screen.Trace {
	t := fullTrace(batch, 12)
	t.Partial, t.RowsIn = true, 24_576
	for i := range t.Stages {
		s := &t.Stages[i]
		s.In, s.Out, s.Took = min(s.In, 24_576), min(s.Out, 24_576), s.Took/20
		s.Values.Total = s.Out
		if s.Kind == "aggregate" || s.Kind == "sink" {
			s.In, s.Out, s.Note, s.Values.Rows, s.Values.Total, s.Rows = 0, 0, "", nil, 0, nil
		}
	}
	return t
}

func emptyTrace(batch int64) *screen.Trace {
	t := fullTrace(batch, 0)
	t.RowsIn, t.RowsThen = 0, 0
	t.Closes = Now.Add(-12 * time.Second)
	for i := range t.Stages {
		s := &t.Stages[i]
		if s.In > 0 {
			s.In = 0
		}
		s.Out, s.Note, s.Values.Rows, s.Values.Total, s.Rows = 0, "", nil, 0, nil
	}
	return t
}

// lateRow is the row of the source whose window had ended when it came.
const lateRow = 11

// fullTrace has n rows of the source kept. Every row of a group is made of the rows with its page.
func fullTrace(batch int64, n int) *screen.Trace {
	t := &screen.Trace{Batch: batch, RowsIn: 499_120, RowsThen: 499_120}
	stage := func(kind, detail, note string, in, out int64, ms int, columns ...screen.Column) *screen.TraceStage {
		s := screen.TraceStage{Kind: kind, Detail: detail, Note: note, In: in, Out: out, Took: time.Duration(ms) * time.Millisecond,
			Values: screen.Result{Columns: columns, Total: out}}
		if len(t.Stages) > 0 {
			s.Below = []int{len(t.Stages) - 1}
		}
		t.Stages = append(t.Stages, s)
		return &t.Stages[len(t.Stages)-1]
	}
	add := func(s *screen.TraceStage, r screen.TraceRow, cells ...string) {
		r.N, r.Emitted = int64(len(s.Rows)), true
		var row []screen.Cell
		for _, c := range cells {
			row = append(row, screen.Cell{Text: c})
		}
		s.Values.Rows, s.Rows = append(s.Values.Rows, row), append(s.Rows, r)
	}
	ts, page, country := screen.Column{Name: "ts"}, screen.Column{Name: "page"}, screen.Column{Name: "country"}
	at := func(i int) string {
		if i == lateRow {
			return "12:39:41.595"
		}
		return Now.Add(-time.Duration(20-i%17)*time.Second + time.Duration(i*137%1000)*time.Millisecond).UTC().Format("15:04:05.000")
	}
	src := stage("source", "kafka clicks", "offsets 18,200,991 → 18,700,111", -1, 499_120, 21, ts, page, country)
	for i := range n {
		c, mark := "DE", ""
		if i%5 == 2 {
			c, mark = "FR", "left out"
		}
		add(src, screen.TraceRow{Mark: mark}, at(i), tracePages[i%8], c)
	}
	fil := stage("filter", "country = 'DE'", "", 499_120, 61_004, 8, ts, page)
	for i := range n {
		if i%5 != 2 {
			add(fil, screen.TraceRow{FromAll: 1, From: []screen.RowPlace{{Stage: 0, Row: i}}}, at(i), tracePages[i%8])
		}
	}
	evt := stage("event time", "ts, delay 10 s", "watermark 12:40:47 → 12:40:48", 61_004, 61_004, 1, ts, page)
	for i, row := range fil.Values.Rows {
		mark := ""
		if fil.Rows[i].From[0].Row == lateRow {
			mark = "late, dropped"
		}
		add(evt, screen.TraceRow{Mark: mark, FromAll: 1, From: []screen.RowPlace{{Stage: 1, Row: i}}}, row[0].Text, row[1].Text)
	}
	num := func(name string) screen.Column { return screen.Column{Name: name, Right: true, Grouped: true} }
	agg := stage("aggregate", "window, page: count(1)", "37 late rows dropped, 1,204,468 → 1,204,880 keys", 61_004, 1_012, 104,
		screen.Column{Name: "window"}, page, num("count"), num("was"), num("change"))
	groups := []string{"/home", "/cart", "/search", "/checkout", "/item/1182", "/item/77", "/login"}
	for g := range min(40, n) {
		p := fmt.Sprintf("/item/%d", 60333+37*g)
		if g < len(groups) {
			p = groups[g]
		}
		r := screen.TraceRow{}
		for i, row := range evt.Values.Rows {
			if row[1].Text == p && evt.Rows[i].Mark == "" {
				r.From, r.FromAll = append(r.From, screen.RowPlace{Stage: 2, Row: i}), r.FromAll+1
			}
		}
		if r.FromAll > 0 {
			r.FromAll += 146
		}
		was := fmt.Sprint(18064 / (g + 1))
		if g%4 == 3 {
			was = "new"
		}
		add(agg, r, "12:40:00", p, fmt.Sprint(18221/(g+1)), was, fmt.Sprintf("+%d", 157/(g+1)))
	}
	snk := stage("sink", "foreachBatch", "2 statements ok", 1_012, 1_012, 14, screen.Column{Name: "window"}, page, num("count"))
	for g, row := range agg.Values.Rows {
		add(snk, screen.TraceRow{FromAll: 1, From: []screen.RowPlace{{Stage: 3, Row: g}}}, row[0].Text, row[1].Text, row[2].Text)
	}
	t.Follow = func(r screen.RowRef) map[int]map[int64]bool { return follow(t, r) }
	t.Why = func(stage, row int) []screen.Reason { return why(t, stage, row) }
	return t
}

// follow goes down and up by From.
func follow(t *screen.Trace, r screen.RowRef) map[int]map[int64]bool {
	out := map[int]map[int64]bool{}
	add := func(s, row int) bool {
		if out[s] == nil {
			out[s] = map[int64]bool{}
		}
		was := out[s][int64(row)]
		out[s][int64(row)] = true
		return !was
	}
	var down func(s, row int)
	down = func(s, row int) {
		for _, p := range t.Stages[s].Rows[row].From {
			if add(p.Stage, p.Row) {
				down(p.Stage, p.Row)
			}
		}
	}
	add(r.Stage, int(r.N))
	down(r.Stage, int(r.N))
	above := map[screen.RowPlace]bool{{Stage: r.Stage, Row: int(r.N)}: true}
	for s := r.Stage + 1; s < len(t.Stages); s++ {
		for row := range t.Stages[s].Rows {
			for _, p := range t.Stages[s].Rows[row].From {
				if above[p] {
					above[screen.RowPlace{Stage: s, Row: row}] = true
					add(s, row)
				}
			}
		}
	}
	return out
}

// grouped writes a count as the screens do.
func grouped(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return string(widget.Count(n))
}

func why(t *screen.Trace, stage, row int) []screen.Reason {
	s := &t.Stages[stage]
	cells := s.Values.Rows[row]
	switch {
	case s.Kind == "aggregate":
		return []screen.Reason{{About: "state key", Text: "(" + cells[0].Text + ", " + cells[1].Text + ")"}, {About: "before", Text: grouped(cells[3].Text)},
			{About: "after", Text: grouped(cells[2].Text)},
			{About: "came from", Text: fmt.Sprintf("%d rows of 3 event time", s.Rows[row].FromAll)},
			{About: "emitted", Text: "yes: update mode sends every group that changed in this batch"},
			{About: "in append", Text: "not yet: it waits until the watermark passes 12:41:00 (now 12:40:48)"}, {About: "then", Text: "goes on to 5 sink"}}
	case strings.HasPrefix(s.Rows[row].Mark, "late"):
		return []screen.Reason{{About: "came from", Text: fmt.Sprintf("row %d of 2 filter", row+1)}, {About: "then",
			Text: "dropped as late by 4 aggregate: 12:40:00 is not after the late bound 12:40:47, where batch 1839 moved it"}}
	case s.Rows[row].Mark != "":
		return []screen.Reason{{About: "then", Text: "left out: country = 'DE' is not true"}}
	case s.Kind == "sink":
		return []screen.Reason{{About: "came from", Text: fmt.Sprintf("row %d of 4 aggregate", row+1)}, {About: "then", Text: "sent to the sink"}}
	}
	return []screen.Reason{{About: "then", Text: fmt.Sprintf("goes on to %d %s", stage+2, t.Stages[stage+1].Kind)}}
}

func (b *Bench) TraceNext(query string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.traceNext == nil {
		b.traceNext = map[string]bool{}
	}
	b.traceNext[query] = true
	return nil
}

func (b *Bench) Traced(query string) []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int64(nil), b.traced[query]...)
}

// record notes that a batch of a query was recorded, if that was asked for. The caller holds mu.
func (b *Bench) record(query string, batch int64) {
	if !b.traceNext[query] {
		return
	}
	delete(b.traceNext, query)
	if b.traced == nil {
		b.traced = map[string][]int64{}
	}
	b.traced[query] = append(b.traced[query], batch)
}
