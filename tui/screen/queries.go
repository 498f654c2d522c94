package screen

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Queries is the root of tab 1: the list of queries and a live look at the one under the cursor.
type Queries struct {
	sh      *Shared
	list    widget.List
	batches widget.List
	pane    int // 0 list, 1 last batches
	zoom    bool
	sortCol int
	desc    bool
	filter  string
	follow  string // the cursor stays on this query, wherever sorting puts it

	latest    Result // of the query under the cursor, on large screens
	latestOf  string
	latestAt  int64
	latestErr bool
	asked     time.Time
}

// NewQueries makes the screen.
func NewQueries(sh *Shared) *Queries { return &Queries{sh: sh} }

// Scope implements Screen, as do the methods below.
func (s *Queries) Scope() Scope     { return InQueries }
func (s *Queries) Crumb() safe.Line { return "Queries" }

var queryCols = []widget.Col{
	{Title: "NAME", Width: 14, Grow: true},
	{Title: "SINK", Width: 13, Rank: 6},
	{Title: "MODE", Width: 8, Rank: 7},
	{Title: "IN r/s", Width: 9, Right: true, Rank: 1},
	{Title: "PROC r/s", Width: 8, Right: true, Rank: 5},
	{Title: "BATCH", Width: 6, Right: true, Rank: 4},
	{Title: "DUR", Width: 6, Right: true, Rank: 2},
	{Title: "WM", Width: 5, Right: true, Rank: 3},
	{Title: "MEMORY", Width: 8, Right: true, Rank: 8},
}

var sortNames = [...]safe.Line{"name", "sink", "mode", "in", "proc", "batch", "dur", "wm", "memory"}

// shown is the queries after filter and sort.
func (s *Queries) shown() []*QuerySnapshot {
	qs := make([]*QuerySnapshot, 0, len(s.sh.Queries))
	f := strings.ToLower(s.filter)
	for _, q := range s.sh.Queries {
		if f == "" || strings.Contains(strings.ToLower(q.Name+" "+q.State.String()+" "+q.Source+" "+q.Sink), f) {
			qs = append(qs, q)
		}
	}
	if s.sortCol == 0 && !s.desc {
		return qs // the order of the lab file is the order its author wants to be read in
	}
	sort.SliceStable(qs, func(i, j int) bool {
		a, b := qs[i], qs[j]
		if s.desc {
			a, b = b, a
		}
		pa, pb := a.Last(), b.Last()
		switch s.sortCol {
		case 0:
			return a.Name < b.Name
		case 1:
			return a.Sink < b.Sink
		case 2:
			return a.Mode < b.Mode
		case 3:
			return pa.InputRate < pb.InputRate
		case 4:
			return pa.ProcessRate < pb.ProcessRate
		case 5:
			return a.BatchID < b.BatchID
		case 6:
			return pa.Duration < pb.Duration
		case 8:
			return a.Memory.Held < b.Memory.Held
		}
		return a.Watermark.Before(b.Watermark)
	})
	return qs
}

// at is the query under the cursor; nil if there is none.
func (s *Queries) at() *QuerySnapshot {
	qs := s.shown()
	if s.follow != "" {
		for i, q := range qs {
			if q.Name == s.follow {
				s.list.Cursor = i
				return q
			}
		}
	}
	if len(qs) == 0 {
		return nil
	}
	s.list.To(s.list.Cursor, len(qs))
	return qs[s.list.Cursor]
}

// Wake implements Screen: on large screens the newest output is read after each batch, at most once a
// second.
func (s *Queries) Wake() Effect {
	q := s.at()
	if q == nil {
		return Effect{}
	}
	s.sh.Focus = q.Name
	last := q.Last().BatchID
	if s.sh.Class != L || last < 0 || s.latestOf == q.Name && s.latestAt == last ||
		s.latestOf == q.Name && s.sh.Now.Sub(s.asked) < time.Second {
		return Effect{}
	}
	if s.latestOf != q.Name {
		s.latest, s.latestErr = Result{}, false
	}
	s.latestOf, s.latestAt, s.asked = q.Name, last, s.sh.Now
	name, bench := q.Name, s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "latest", Run: func(ctx context.Context) func() Effect {
		r, err := bench.BatchRows(ctx, name, last, 50)
		return func() Effect {
			if s.latestOf == name {
				s.latest, s.latestErr = r, err != nil
			}
			return Effect{}
		}
	}}}}
}

// Typing is never: the filter is a prompt.
func (s *Queries) Handle(a Action) Effect {
	qs := s.shown()
	q := s.at()
	switch a {
	case NextPane, PrevPane:
		s.pane = 1 - s.pane
		return Effect{}
	case SortLeft, SortRight:
		d := 1
		if a == SortLeft {
			d = len(queryCols) - 1
		}
		s.sortCol = (s.sortCol + d) % len(queryCols)
		return Effect{}
	case SortFlip:
		s.desc = !s.desc
		return Effect{}
	case Filter:
		return Effect{Input: &Prompt{Title: "Filter queries", Label: "name, state, source or sink",
			Text: s.filter, Done: func(t string) Effect { s.filter = t; return Effect{} }}}
	case Back:
		if s.filter != "" {
			s.filter = ""
		} else {
			s.pane = 0
		}
		return Effect{}
	case Zoom:
		s.zoom = !s.zoom
		return Effect{}
	case StartAll:
		return Effect{Do: &Command{Verb: Start}, Toast: "starting all queries"}
	case StopAll:
		return Effect{Do: &Command{Verb: StopAfterBatch}, Toast: "stopping all queries after their batches"}
	case ReloadLab:
		return reload(s.sh)
	case NewQuery:
		return chooseTemplate(s.sh)
	}
	if q == nil {
		return Effect{}
	}
	if s.pane == 1 {
		n := len(q.Progress)
		if move(&s.batches, a, n) {
			return Effect{}
		}
		if p := s.batchAt(q); p != nil {
			switch a {
			case Enter:
				return Effect{Push: NewBatch(s.sh, q.Name, p.BatchID)}
			case Copy:
				return copyProgress(p)
			}
		}
	} else if move(&s.list, a, len(qs)) {
		s.follow = qs[s.list.Cursor].Name
		s.sh.Focus = s.follow
		s.batches = widget.List{}
		return s.Wake()
	}
	if e, ok := steer(s.sh, a, q); ok {
		return e
	}
	switch a {
	case EditQuery:
		return editQuery(s.sh, q)
	case Enter, OpenBatches:
		if q.Error != nil && a == Enter && q.State == Failed {
			return Effect{Error: q.Error}
		}
		return Effect{Push: NewBatches(s.sh, q.Name)}
	case NextBatch, PrevBatch:
		if len(q.Progress) > 0 {
			return Effect{Push: NewBatch(s.sh, q.Name, q.Last().BatchID)}
		}
	case Copy:
		if q.Error != nil {
			return Effect{Copy: &Clip{CardText(q.Error), "error"}}
		}
		if len(q.Progress) > 0 {
			p := q.Last()
			return copyProgress(&p)
		}
	}
	return Effect{}
}

func copyProgress(p *Progress) Effect {
	if p.JSON == nil {
		return Effect{Toast: "this batch kept no progress report"}
	}
	return Effect{Copy: &Clip{p.JSON(), f("progress of batch %d", p.BatchID)}}
}

// batchAt is the progress under the cursor of the list of batches, in which the newest comes first.
func (s *Queries) batchAt(q *QuerySnapshot) *Progress {
	n := len(q.Progress)
	if n == 0 {
		return nil
	}
	s.batches.To(s.batches.Cursor, n)
	return &q.Progress[n-1-s.batches.Cursor]
}

// steer does the actions that concern one query and are the same on every screen that shows one.
func steer(sh *Shared, a Action, q *QuerySnapshot) (Effect, bool) {
	switch a {
	case StartStop:
		if q.State.Active() {
			if q.State == Stopping {
				return Effect{Toast: text(q.Name) + " stops after its batch; K stops it at once"}, true
			}
			return Effect{Do: &Command{Verb: StopAfterBatch, Query: q.Name},
				Toast: text(q.Name) + " stops after this batch"}, true
		}
		return Effect{Do: &Command{Verb: Start, Query: q.Name}, Toast: text(q.Name) + " starts"}, true
	case OneBatch:
		return Effect{Do: &Command{Verb: RunOneBatch, Query: q.Name}, Toast: text(q.Name) + " runs one batch"}, true
	case RestartQuery:
		return Effect{Do: &Command{Verb: Restart, Query: q.Name}, Toast: text(q.Name) + " restarts"}, true
	case StopAtOnce:
		what := f("batch %d will run again", max(q.BatchID, 0))
		if q.Promise == "at-least-once" {
			what += "; " + text(q.Sink) + " may see it twice"
		}
		return Effect{Ask: &Question{
			Title: "Stop " + text(q.Name) + " at once?",
			Lines: []safe.Line{"It does not finish its batch.", what + "."},
			Verb:  "stop now",
			Yes: func() Effect {
				return Effect{Do: &Command{Verb: StopNow, Query: q.Name}, Toast: text(q.Name) + " stopped"}
			},
		}}, true
	case Fresh:
		return askAfresh(sh, q.Name, func(sink safe.Line) *Question { return freshQuestion(q.Name, sink) }), true
	case OpenOutput:
		return Effect{Push: NewOutput(sh, q.Name)}, true
	case OpenModes:
		return Effect{Push: NewModesLab(sh, q.Name)}, true
	case OpenCharts:
		return Effect{Push: NewCharts(sh, q.Name)}, true
	case OpenPlan:
		return Effect{Push: NewPlan(sh, q.Name)}, true
	case OpenCheckpoint:
		return Effect{Tab: 2, Push: NewCheckpoint(sh, q.Name, -1)}, true
	case OpenBatch:
		if len(q.Progress) > 0 {
			return Effect{Push: NewBatch(sh, q.Name, q.Last().BatchID)}, true
		}
		return Effect{Toast: "no batch has run yet"}, true
	case ShowError:
		if q.Error != nil {
			return Effect{Error: q.Error}, true
		}
	}
	return Effect{}, false
}

// Disabled implements Screen.
func (s *Queries) Disabled(a Action) safe.Line {
	q := s.at()
	switch a {
	case StartAll, StopAll, ReloadLab:
		if s.sh.Bench == nil {
			return "no lab is open"
		}
		if _, ok := s.sh.Bench.(Adopter); a == ReloadLab && (!ok || s.sh.wright() == nil) {
			return "this lab has no file here"
		}
		return ""
	case SortLeft, SortRight, SortFlip, Filter, NextPane, PrevPane, Zoom, Back:
		return ""
	}
	return disabled(a, q)
}

// disabled says why an action on a query cannot apply.
func disabled(a Action, q *QuerySnapshot) safe.Line {
	if q == nil {
		switch a {
		case StartStop, OneBatch, RestartQuery, StopAtOnce, OpenOutput, OpenPlan, OpenCharts, OpenModes, OpenCheckpoint, OpenBatches,
			OpenBatch, ShowError:
			return "no query is chosen"
		}
		return ""
	}
	switch a {
	case StopAtOnce:
		if !q.State.Active() {
			return "it does not run"
		}
	case Fresh:
		if q.State.Active() {
			return "stop the query first"
		}
	case OneBatch:
		if q.State == Stopping || q.State == Starting {
			return safe.Line("it is " + q.State.String())
		}
	case ShowError:
		if q.Error == nil {
			return "it has no error"
		}
	case OpenBatch, NextBatch, PrevBatch:
		if len(q.Progress) == 0 {
			return "no batch has run yet"
		}
	}
	return ""
}

// Draw implements Screen.
func (s *Queries) Draw(v canvas.View) {
	if s.sh.Bench == nil {
		rule(v, 0, 0, v.W, "Queries", "", true)
		empty(v.Sub(0, 1, v.W, v.H-1), "No lab is open.", "Press 4 to choose one.")
		return
	}
	q := s.at()
	if len(s.sh.Queries) == 0 {
		rule(v, 0, 0, v.W, "Queries", "0", true)
		empty(v.Sub(0, 1, v.W, v.H-1), "No query in this lab.", "4 opens another lab.")
		return
	}
	switch {
	case q == nil || s.zoom && s.pane == 0:
		s.drawList(v)
		if q == nil {
			empty(v.Sub(0, 2, v.W, v.H-2), "No query matches the filter. esc shows all.")
		}
	case s.zoom:
		s.drawDetail(v, q)
	case s.sh.Class == S:
		h := 2 + max(1, min(len(s.shown()), max(3, v.H-17)))
		s.drawList(v.Sub(0, 0, v.W, h))
		y := h
		if v.H-h >= 15 {
			y++
		}
		s.drawDetail(v.Sub(0, y, v.W, v.H-y), q)
	case s.sh.Class == M:
		w := 37
		if v.W >= 150 {
			w = 52
		}
		left := v.Sub(0, 0, w, v.H)
		h := 2 + max(5, min(len(s.shown()), v.H/2-4))
		s.drawList(left.Sub(0, 0, w, h))
		s.drawEvents(left.Sub(0, h+1, w, v.H-h-1))
		divider(v, w, 0, v.H)
		s.drawDetail(v.Sub(w+1, 0, v.W-w-1, v.H), q)
	default:
		w := v.W * 91 / 200
		left := v.Sub(0, 0, w, v.H)
		h := 2 + max(5, min(len(s.shown()), v.H/4))
		s.drawList(left.Sub(0, 0, w, h))
		rest := v.H - h - 1
		out := rest * 2 / 5
		s.drawLatest(left.Sub(0, h+1, w, out), q)
		ph := 12
		ev := rest - out - ph
		s.drawEvents(left.Sub(0, h+1+out, w, ev))
		s.drawPhases(left.Sub(0, h+1+out+ev, w, ph), q)
		divider(v, w, 0, v.H)
		s.drawDetail(v.Sub(w+1, 0, v.W-w-1, v.H), q)
	}
}

func (s *Queries) drawList(v canvas.View) {
	qs := s.shown()
	arrow := safe.Line("↑")
	if s.desc {
		arrow = "↓"
	}
	v.Clear()
	from, to := s.list.Window(len(qs), v.H-2)
	note := s.list.Shown(len(qs)) + " · " + sortNames[s.sortCol] + " " + arrow
	if s.filter != "" {
		note = "filter " + safe.Text(s.filter, 16) + " · " + note
	}
	rule(v, 0, 0, v.W, "Queries", note, s.pane == 0)
	cols := queryCols
	if v.Plain() { // the state stands before the name
		cols = slices.Clone(cols)
		cols[0].Width += 9
	}
	ws := widget.Layout(cols, v.W-4, 1)
	widget.Header(v, 3, 1, 1, cols, ws, canvas.Muted)
	focusable(v, takes(&s.pane, 0))
	clickLines(v, 2, to-from, takes(&s.pane, 0), func(_, line int) bool {
		name := qs[from+line].Name
		again := s.follow == name || s.follow == "" && s.list.Cursor == from+line
		if !again {
			s.batches = widget.List{}
		}
		s.list.Cursor, s.follow, s.sh.Focus = from+line, name, name
		return again
	})
	for i := from; i < to; i++ {
		q := qs[i]
		y := 2 + i - from
		m, mst := mark(q.State)
		cur := i == s.list.Cursor
		if cur {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
		}
		v.Put(1, y, m, mst)
		p := q.Last()
		active := q.State.Active() && p.BatchID >= 0
		widget.Row(v, 3, y, 1, cols, ws, func(c int) (safe.Line, canvas.Style) {
			switch c {
			case 0:
				name, st := text(q.Name), canvas.Text
				if v.Plain() {
					name = safe.Line(q.State.String()) + " " + name // no symbol stands alone
				}
				if q.State == Failed {
					st = canvas.Error
				}
				return name, st
			case 1:
				return text(q.Sink), canvas.Muted
			case 2:
				return text(q.Mode), canvas.Muted
			case 5:
				if q.BatchID < 0 {
					return "-", canvas.Muted
				}
				return f("%d", q.BatchID), canvas.Text
			case 7:
				if q.Watermark.IsZero() {
					return "-", canvas.Muted
				}
				return widget.Short(max(0, s.sh.Now.Sub(q.Watermark))), canvas.Text
			case 8:
				if !active || q.Memory.Held == 0 {
					return "-", canvas.Muted
				}
				if q.Memory.Limited {
					return widget.Bytes(q.Memory.Held), canvas.Warn
				}
				return widget.Bytes(q.Memory.Held), canvas.Text
			}
			if !active {
				return "-", canvas.Muted
			}
			if q.Quiet(s.sh.Now) {
				p.InputRate, p.ProcessRate = 0, 0
			}
			switch c {
			case 3:
				return widget.Rate(p.InputRate), canvas.Text
			case 4:
				return widget.Rate(p.ProcessRate), canvas.Text
			}
			return widget.Short(p.Duration), canvas.Text
		})
		if cur && s.pane == 0 {
			v.Paint(3, y, v.W-3, canvas.Cursor)
		}
	}
}

func (s *Queries) drawEvents(v canvas.View) {
	if v.H < 2 {
		return
	}
	v.Clear()
	log := &s.sh.Events
	rule(v, 0, 0, v.W, "events", "5 all", false)
	y := 1
	wide := v.W >= 60
	for i := log.Len() - 1; i >= 0 && y < v.H; i-- {
		e := log.At(i)
		if e.Level < Info {
			continue
		}
		st := levelStyle(e.Level)
		v.Put(1, y, s.sh.Clock(e.Time), canvas.Muted)
		if wide {
			v.Put(10, y, safe.Line(e.Level.String()), st)
			v.Fit(16, y, 13, text(e.Query), canvas.Text)
			lines := widget.Wrap(text(e.Message), v.W-31)
			for k, l := range lines {
				if k == eventLines || y >= v.H {
					break
				}
				if k == eventLines-1 && len(lines) > eventLines {
					l = safe.Cut(l, v.W-33) + " …"
				}
				v.Put(30, y, l, canvas.Text)
				y++
			}
			continue
		}
		if y+1 >= v.H {
			break
		}
		v.Fit(10, y, v.W-11, text(e.Query), canvas.Muted)
		x := 5
		switch e.Level {
		case Warn:
			v.Put(3, y+1, "!", st)
		case Error:
			v.Put(3, y+1, "✗", st)
		}
		y++
		lines := widget.Wrap(text(e.Message), v.W-x-1)
		for k, l := range lines {
			if k == eventLines || y >= v.H {
				break
			}
			if k == eventLines-1 && len(lines) > eventLines {
				l = safe.Cut(l, v.W-x-3) + " …" // tab 5 has the rest
			}
			v.Put(x, y, l, canvas.Text)
			y++
		}
	}
}

// eventLines is how many lines an event may take beside the queries.
const eventLines = 3

func levelStyle(l Level) canvas.Style {
	switch l {
	case Warn:
		return canvas.Warn
	case Error:
		return canvas.Error
	case Debug:
		return canvas.Muted
	}
	return canvas.Text
}

func (s *Queries) drawLatest(v canvas.View, q *QuerySnapshot) {
	v.Clear()
	note := safe.Line("")
	if s.latestAt >= 0 && s.latestOf == q.Name && !s.latestErr {
		note = f("batch %d", s.latestAt) + rowsOf(s.latest)
	}
	rule(v, 0, 0, v.W, "latest output of "+text(q.Name), note, false)
	body := v.Sub(0, 1, v.W, v.H-1)
	switch {
	case s.latestOf != q.Name: // the rows that are here are another query's
		if q.Last().BatchID < 0 {
			empty(body, "No output yet.")
		}
	case s.latestErr:
		empty(body, "The rows of this batch cannot be shown. o opens the output.")
	case len(s.latest.Columns) == 0:
		empty(body, "No output yet.")
	default:
		g := NewGrid(oneDay(s.latest))
		g.plain = true
		g.Draw(body, false)
	}
}

func rowsOf(r Result) safe.Line {
	if r.Total < 0 {
		return ""
	}
	return " · " + widget.Plural(r.Total, "row")
}
