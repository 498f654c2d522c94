package screen

import (
	"context"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Batches is the history of one query: charts of its rates, durations and state, and a table of its
// batches.
type Batches struct {
	sh   *Shared
	name string
	list widget.List
	at   int64 // batch under the cursor, so that new batches do not move it; -1: the newest
}

// NewBatches makes the screen for a query.
func NewBatches(sh *Shared, query string) *Batches { return &Batches{sh: sh, name: query, at: -1} }

// Scope implements Screen, as do the methods below.
func (s *Batches) Scope() Scope                { return InBatches }
func (s *Batches) Crumb() safe.Line            { return text(s.name) + " › batches" }
func (s *Batches) Wake() Effect                { s.sh.Focus = s.name; return Effect{} }
func (s *Batches) Disabled(a Action) safe.Line { return disabled(a, s.sh.Query(s.name)) }

// index is the place of the cursor in q.Progress.
func (s *Batches) index(q *QuerySnapshot) int {
	n := len(q.Progress)
	if s.at < 0 {
		return n - 1
	}
	for i := range q.Progress {
		if q.Progress[i].BatchID >= s.at {
			return i
		}
	}
	return n - 1
}

// Handle implements Screen.
func (s *Batches) Handle(a Action) Effect {
	q := s.sh.Query(s.name)
	if q == nil {
		return Effect{Pop: a == Back}
	}
	n := len(q.Progress)
	if n > 0 {
		i := s.index(q)
		s.list.To(n-1-i, n)
		switch a {
		case PrevBatch:
			a = Down
		case NextBatch:
			a = Up
		case PrevNotable, NextNotable:
			d := 1
			if a == PrevNotable {
				d = -1
			}
			for j := i + d; j >= 0 && j < n; j += d {
				if notable(q, j) {
					s.at = q.Progress[j].BatchID
					return Effect{}
				}
			}
			return Effect{Toast: "no other notable batch is kept"}
		}
		if move(&s.list, a, n) {
			s.at = q.Progress[n-1-s.list.Cursor].BatchID
			if s.list.Cursor == 0 {
				s.at = -1 // at the top the newest batch is followed
			}
			return Effect{}
		}
		p := &q.Progress[i]
		switch a {
		case Enter, OpenBatch:
			return Effect{Push: NewBatch(s.sh, s.name, p.BatchID)}
		case Copy:
			return copyProgress(p)
		case OpenCheckpoint:
			return Effect{Tab: 2, Push: NewCheckpoint(s.sh, s.name, p.BatchID)}
		}
	}
	if a == Back {
		return Effect{Pop: true}
	}
	e, _ := steer(s.sh, a, q)
	return e
}

var batchCols = []widget.Col{
	{Title: "BATCH", Width: 6, Right: true},
	{Title: "TIME", Width: 8, Rank: 3},
	{Title: "ROWS IN", Width: 11, Right: true, Rank: 1},
	{Title: "OUT", Width: 9, Right: true, Rank: 2},
	{Title: "IN r/s", Width: 8, Right: true, Rank: 4},
	{Title: "PROC r/s", Width: 8, Right: true, Rank: 5},
	{Title: "DUR", Width: 8, Right: true, Rank: 1},
	{Title: "STATE", Width: 10, Right: true, Rank: 6},
	{Title: "LATE", Width: 6, Right: true, Rank: 3},
	{Title: "WATERMARK", Width: 9, Rank: 7},
	{Title: "NOTE", Width: 4, Grow: true, Rank: 8},
}

// Draw implements Screen.
func (s *Batches) Draw(v canvas.View) {
	q := s.sh.Query(s.name)
	if q == nil {
		rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), "", true)
		empty(v.Sub(0, 1, v.W, v.H), "This query is not in the lab any more. esc goes back.")
		return
	}
	n := len(q.Progress)
	if n == 0 {
		rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), "0", true)
		empty(v.Sub(0, 1, v.W, v.H), noBatchYet(q))
		return
	}
	ch := max(5, min(12, v.H/3))
	s.list.To(n-1-s.index(q), n)
	from, to := s.list.Window(n, v.H-ch-2)
	rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), s.list.Shown(n)+" batches kept", true)
	s.drawCharts(v.Sub(0, 1, v.W, ch-1), q)
	y := ch
	ws := widget.Layout(batchCols, v.W-3, 1)
	rule(v, 0, y, v.W, "", "", false)
	clickLines(v, y+2, to-from, nil, func(_, line int) bool {
		id := q.Progress[n-1-from-line].BatchID
		again := q.Progress[s.index(q)].BatchID == id
		if s.at = id; from+line == 0 {
			s.at = -1 // as with the keys: at the top the newest batch is followed
		}
		return again
	})
	widget.Header(v, 2, y+1, 1, batchCols, ws, canvas.Muted)
	for i := from; i < to; i++ {
		p := &q.Progress[n-1-i]
		yy := y + 2 + i - from
		widget.Row(v, 2, yy, 1, batchCols, ws, func(c int) (safe.Line, canvas.Style) {
			switch c {
			case 0:
				return f("%d", p.BatchID), canvas.Text
			case 1:
				return s.sh.Clock(p.Time), canvas.Muted
			case 2:
				return widget.Count(p.RowsIn), canvas.Text
			case 3:
				return widget.Count(p.RowsOut), canvas.Text
			case 4:
				return widget.Rate(p.InputRate), canvas.Text
			case 5:
				return widget.Rate(p.ProcessRate), canvas.Text
			case 6:
				st := canvas.Text
				if q.TriggerEvery > 0 && p.Duration > q.TriggerEvery {
					st = canvas.Warn
				}
				return widget.Took(p.Duration), st
			case 7:
				if len(p.Operators) == 0 {
					return "-", canvas.Muted
				}
				return widget.Count(p.StateRows()), canvas.Text
			case 8:
				if p.Late() > 0 {
					return widget.Count(p.Late()), canvas.Warn
				}
				return "0", canvas.Muted
			case 9:
				return s.sh.EventTime(p.Watermark), canvas.Muted
			}
			return batchNote(p), canvas.Warn
		})
		if i == s.list.Cursor {
			v.Put(0, yy, "▸", canvas.Accent|canvas.Bold)
			v.Paint(2, yy, v.W-2, canvas.Cursor)
		}
	}
}

func (s *Batches) drawCharts(v canvas.View, q *QuerySnapshot) {
	in, proc, dur := series(q)
	state := make([]float64, len(q.Progress))
	hasState := false
	for i := range q.Progress {
		state[i] = float64(q.Progress[i].StateRows())
		hasState = hasState || len(q.Progress[i].Operators) > 0
	}
	p := q.Last()
	top := 0.0
	for i := range in {
		top = atLeast(atLeast(top, in[i]), proc[i])
	}
	type chart struct {
		label, value safe.Line
		vals         []float64
		top          float64
		st           canvas.Style
	}
	cs := []chart{
		{"in", widget.Rate(p.InputRate) + " r/s", in, top, canvas.Accent},
		{"proc", widget.Rate(p.ProcessRate) + " r/s", proc, top, canvas.OK},
		{"dur", widget.Took(p.Duration), dur, 0, canvas.Warn},
	}
	if hasState {
		cs = append(cs, chart{"state", widget.Plural(p.StateRows(), "key"), state, 0, canvas.Accent})
	}
	w := (v.W - 1) / len(cs)
	for i, c := range cs {
		x := 1 + i*w
		v.Put(x, 0, c.label, canvas.Muted)
		v.Fit(x+safe.Width(c.label)+1, 0, w-safe.Width(c.label)-3, c.value, canvas.Text)
		widget.Bars(v.Sub(x, 1, w-2, v.H-1), c.vals, c.top, c.st)
	}
}

// Batch is one batch of a query: where its time went, what its state did, and rows it sent to the sink.
type Batch struct {
	sh    *Shared
	name  string
	id    int64
	grid  *Grid
	err   *errs.Error
	of    int64 // batch that grid or err belong to
	find  string
	ready bool
}

// NewReport makes the screen for the report of a batch.
func NewReport(sh *Shared, query string, id int64) *Batch {
	return &Batch{sh: sh, name: query, id: id, of: -1}
}

// Scope implements Screen, as do the methods below.
func (s *Batch) Scope() Scope     { return InBatch }
func (s *Batch) Crumb() safe.Line { return text(s.name) + f(" › batch %d", s.id) }

// Wake implements Screen.
func (s *Batch) Wake() Effect {
	s.sh.Focus = s.name
	if s.of == s.id || s.sh.Bench == nil {
		return Effect{}
	}
	s.of, s.ready = s.id, false
	return s.load()
}

func (s *Batch) load() Effect {
	name, id, bench := s.name, s.id, s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "rows", What: "reading rows", Run: func(ctx context.Context) func() Effect {
		r, err := bench.BatchRows(ctx, name, id, 1000)
		return func() Effect {
			if s.id != id {
				return Effect{}
			}
			s.grid, s.err, s.ready = nil, AsError(err), true
			if err == nil {
				s.grid = NewGrid(r)
			}
			return Effect{}
		}
	}}}}
}

// progress is the batch's place in the snapshot; -1 if it is not kept.
func (s *Batch) progress(q *QuerySnapshot) int {
	if q != nil {
		for i := range q.Progress {
			if q.Progress[i].BatchID == s.id {
				return i
			}
		}
	}
	return -1
}

// Handle implements Screen.
func (s *Batch) Handle(a Action) Effect {
	q := s.sh.Query(s.name)
	i := s.progress(q)
	switch a {
	case Back:
		return Effect{Pop: true}
	case PrevBatch, NextBatch, PrevNotable, NextNotable:
		if q == nil || len(q.Progress) == 0 {
			return Effect{}
		}
		d := 1
		if a == PrevBatch || a == PrevNotable {
			d = -1
		}
		for j := i + d; j >= 0 && j < len(q.Progress); j += d {
			if a == PrevBatch || a == NextBatch || notable(q, j) {
				s.id = q.Progress[j].BatchID
				return s.Wake()
			}
		}
		return Effect{Toast: noBatch(q, a)}
	case OpenCheckpoint:
		return Effect{Tab: 2, Push: NewCheckpoint(s.sh, s.name, s.id)}
	case Filter:
		return Effect{Input: &Prompt{Title: "Find a row", Label: "text in any cell", Text: s.find,
			Done: func(t string) Effect { s.find = t; return s.next(1) }}}
	case FindNext:
		return s.next(1)
	case FindPrev:
		return s.next(-1)
	}
	if s.grid != nil {
		switch a {
		case Enter, Look:
			return s.grid.Open()
		case Copy:
			if _, _, ok := s.grid.Cell(); ok {
				return s.grid.CopyCell()
			}
		case CopyAll:
			return s.grid.CopyAll()
		}
		if s.grid.Handle(a) {
			return Effect{}
		}
	}
	if a == Copy && i >= 0 {
		return copyProgress(&q.Progress[i])
	}
	if q != nil {
		e, _ := steer(s.sh, a, q)
		return e
	}
	return Effect{}
}

func (s *Batch) next(d int) Effect {
	if s.grid == nil || !s.grid.Find(s.find, d) {
		return Effect{Toast: notFound(s.find)}
	}
	return Effect{}
}

// Disabled implements Screen.
func (s *Batch) Disabled(a Action) safe.Line { return disabled(a, s.sh.Query(s.name)) }

// Draw implements Screen.
func (s *Batch) Draw(v canvas.View) {
	q := s.sh.Query(s.name)
	i := s.progress(q)
	note := safe.Line("")
	if i >= 0 {
		note = s.sh.Millis(q.Progress[i].Time)
		if n := batchNote(&q.Progress[i]); n != "" {
			note = n + " · " + note
		}
	}
	rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), note, true)
	y := 1
	if i < 0 {
		v.Fit(2, y+1, v.W-4, "The progress report of this batch is not kept any more.", canvas.Muted)
		y += 3
	} else {
		p := &q.Progress[i]
		y = s.drawReport(v, y, q, p, i)
	}
	rest := v.Sub(0, y, v.W, v.H-y)
	title := f("rows of batch %d", s.id)
	if q != nil {
		title += " → " + text(q.Sink)
	}
	rows := safe.Line("")
	if s.grid != nil {
		rows = s.grid.Shown()
		if n := text(s.grid.res.Note); n != "" {
			rows = n + " · " + rows
		}
	} else if s.sh.Busy != "" {
		rows = text(s.sh.Busy) + " …"
	}
	rule(rest, 0, 0, v.W, title, rows, false)
	body := rest.Sub(0, 1, v.W, rest.H-1)
	switch {
	case s.err != nil:
		DrawCard(body, 1, s.err)
	case s.grid != nil && len(s.grid.res.Rows) == 0:
		empty(body, "This batch sent no rows to the sink. A batch may run only to move the watermark or to close windows.")
	case s.grid != nil:
		s.grid.Draw(body, true)
	}
}

// drawReport is the upper part: counts, phases, stateful operators.
func (s *Batch) drawReport(v canvas.View, y int, q *QuerySnapshot, p *Progress, i int) int {
	put := func(label, t safe.Line) {
		v.Put(1, y, label, canvas.Muted)
		v.Fit(12, y, v.W-13, t, canvas.Text)
		y++
	}
	if v.H >= 30 {
		y++
	}
	out := "→ " + widget.Count(p.RowsOut) + " out"
	if p.RowsOut < 0 {
		out = "(out: not known)"
	}
	put("rows", widget.Count(p.RowsIn)+" in "+out+"   "+widget.Rate(p.InputRate)+" r/s in, "+
		widget.Rate(p.ProcessRate)+" r/s processed")
	wm := "none"
	if !p.Watermark.IsZero() {
		wm = string(s.sh.EventClock(p.Watermark))
		if i > 0 && !q.Progress[i-1].Watermark.IsZero() {
			if d := p.Watermark.Sub(q.Progress[i-1].Watermark); d > 0 {
				wm += string("   moved by " + widget.Words(d) + " before this batch")
			}
		}
	}
	put("watermark", safe.Text(wm, 0))
	ps := parts(*p)
	put("time", widget.Took(p.Duration))
	widget.PhaseBar(v, 22, y-1, max(10, v.W-26), ps, canvas.Accent)
	if total(ps) > 0 {
		x := 22
		for _, part := range ps {
			t := part.Name + " " + f("%d", part.Took.Milliseconds())
			if x+safe.Width(t)+3 > v.W {
				break
			}
			v.Put(x, y, part.Shade, canvas.Accent)
			v.Put(x+2, y, t, canvas.Muted)
			x += safe.Width(t) + 4
		}
		y++
	}
	if len(p.Operators) > 0 {
		if v.H >= 30 {
			y++
		}
		ws := widget.Layout(operatorCols, min(v.W-2, 92), 1)
		widget.Header(v, 1, y, 1, operatorCols, ws, canvas.Muted)
		y++
		for k, o := range p.Operators {
			if y > v.H-6 {
				v.Put(1, y, f("… %d more operators", len(p.Operators)-k), canvas.Muted)
				y++
				break
			}
			widget.Row(v, 1, y, 1, operatorCols, ws, func(c int) (safe.Line, canvas.Style) {
				switch c {
				case 0:
					return f("%d ", k) + text(o.Name), canvas.Text
				case 1:
					return widget.Count(o.RowsTotal), canvas.Text
				case 2:
					return widget.Count(o.RowsUpdated), canvas.Text
				case 3:
					return widget.Count(o.RowsRemoved), canvas.Text
				case 4:
					if o.DroppedByWatermark > 0 {
						return widget.Count(o.DroppedByWatermark), canvas.Warn
					}
					return "0", canvas.Muted
				}
				return widget.Bytes(o.MemoryBytes), canvas.Text
			})
			y++
		}
	}
	if v.H >= 30 {
		y++
	}
	return y
}

var operatorCols = []widget.Col{
	{Title: "STATEFUL OPERATOR", Width: 18, Grow: true},
	{Title: "KEYS", Width: 11, Right: true},
	{Title: "UPDATED", Width: 10, Right: true, Rank: 1},
	{Title: "REMOVED", Width: 10, Right: true, Rank: 2},
	{Title: "LATE", Width: 8, Right: true},
	{Title: "MEMORY", Width: 9, Right: true},
}
