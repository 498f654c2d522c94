package screen

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Output is what a query sends to its sink: the text of a console sink exactly as Spark prints it, or
// the rows of the newest batch of another sink.
type Output struct {
	sh     *Shared
	name   string
	con    Console
	top    int // first line shown; -1 follows the end
	shift  int
	frozen bool
	find   string
	height int

	frozenAt int64 // batch that was the newest when the screen was frozen

	full    bool               // cells of the console are not truncated
	whole   map[int64][]string // tables with whole cells, by batch
	shown   []string           // lines with them, of shownOf and shownN tables
	shownOf int64
	shownN  int

	grid *Grid
	err  *errs.Error
	of   int64
	pin  int64 // batch that was chosen; -1: the newest
}

// NewOutput makes the screen for a query.
func NewOutput(sh *Shared, query string) *Output {
	return &Output{sh: sh, name: query, top: -1, of: -1, pin: -1}
}

// Scope implements Screen, as do the methods below.
func (s *Output) Scope() Scope                { return InOutput }
func (s *Output) Crumb() safe.Line            { return text(s.name) + " › output" }
func (s *Output) Disabled(a Action) safe.Line { return disabled(a, s.sh.Query(s.name)) }

func (s *Output) console() bool {
	q := s.sh.Query(s.name)
	return q != nil && strings.EqualFold(q.Sink, "console")
}

// Wake implements Screen.
func (s *Output) Wake() Effect {
	q := s.sh.Query(s.name)
	if q == nil || s.sh.Bench == nil || s.frozen {
		return Effect{}
	}
	s.sh.Focus = s.name
	if s.console() {
		s.con = s.sh.Bench.Console(s.name)
		if s.full {
			return s.readWhole()
		}
		return Effect{}
	}
	id := q.Last().BatchID
	if s.pin >= 0 {
		id = s.pin
	}
	if id < 0 || id == s.of {
		return Effect{}
	}
	s.of = id
	name, bench := s.name, s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "rows", What: "reading rows", Run: func(ctx context.Context) func() Effect {
		r, err := bench.BatchRows(ctx, name, id, 1000)
		return func() Effect {
			s.err = AsError(err)
			if err == nil {
				s.grid = NewGrid(r).keepPlace(s.grid)
			}
			return Effect{}
		}
	}}}}
}

// Handle implements Screen.
func (s *Output) Handle(a Action) Effect {
	n := len(s.lines())
	switch a {
	case Back:
		return Effect{Pop: true}
	case Freeze:
		s.frozen = !s.frozen
		if q := s.sh.Query(s.name); s.frozen && q != nil {
			s.frozenAt = q.Last().BatchID
		}
		if !s.frozen {
			s.top = -1
		}
		return s.Wake()
	case Filter:
		return Effect{Input: &Prompt{Title: "Find in the output", Label: "text", Text: s.find,
			Done: func(t string) Effect { s.find = t; return s.next(1) }}}
	case FindNext:
		return s.next(1)
	case FindPrev:
		return s.next(-1)
	}
	if !s.console() {
		if s.grid != nil {
			switch a {
			case Enter:
				if q := s.sh.Query(s.name); q != nil && strings.EqualFold(q.Sink, "memory") {
					return s.ask()
				}
				return s.grid.Open()
			case Look:
				return s.grid.Open()
			case PrevBatch, NextBatch:
				return s.step(a == NextBatch)
			case Truncate:
				return Effect{Toast: "cells are whole here: space opens one"}
			case Copy:
				return s.grid.CopyCell()
			case CopyAll:
				return s.grid.CopyAll()
			}
			if s.grid.Handle(a) {
				return Effect{}
			}
		}
	} else {
		page := max(1, s.height-1)
		switch a {
		case Up:
			s.scroll(-1)
		case Down:
			s.scroll(1)
		case PageUp:
			s.scroll(-page)
		case PageDown:
			s.scroll(page)
		case HalfUp:
			s.scroll(-page / 2)
		case HalfDown:
			s.scroll(page / 2)
		case First:
			s.top = 0
		case Last:
			s.top = -1
		case Left:
			s.shift = max(0, s.shift-8)
		case Right:
			s.shift += 8
		case PrevBatch, NextBatch:
			s.jump(a == NextBatch)
		case Truncate:
			return s.untruncate()
		case Enter:
			if q := s.sh.Query(s.name); q != nil && q.Error != nil {
				if q.BatchID < 0 { // it has not come to one
					return Effect{Error: q.Error}
				}
				return Effect{Push: NewBatch(s.sh, s.name, q.BatchID)}
			}
			return Effect{}
		case Copy:
			return s.copyBatch()
		default:
			goto steering
		}
		s.top = min(s.top, n)
		return Effect{}
	}
steering:
	if q := s.sh.Query(s.name); q != nil {
		e, _ := steer(s.sh, a, q)
		return e
	}
	return Effect{}
}

// ask shows the whole table of a memory sink in the tab SQL.
func (s *Output) ask() Effect {
	return Effect{Statement: `SELECT * FROM "` + strings.ReplaceAll(s.name, `"`, `""`) + `"`}
}

// step chooses the batch before or after the one that is shown.
func (s *Output) step(forward bool) Effect {
	q := s.sh.Query(s.name)
	if q == nil {
		return Effect{}
	}
	last := q.Last().BatchID
	to := s.of - 1
	if forward {
		to = s.of + 1
	}
	switch {
	case to < 0:
		return Effect{Toast: "this is the first batch"}
	case to > last:
		return Effect{Toast: "this is the newest batch"}
	}
	if s.pin = to; to == last {
		s.pin = -1
	}
	return s.Wake()
}

// first is the first line shown.
func (s *Output) first() int {
	end := max(0, len(s.lines())-s.height)
	if s.top < 0 {
		return end
	}
	return min(s.top, end)
}

func (s *Output) scroll(d int) {
	s.top = max(0, s.first()+d)
	if s.top >= len(s.lines())-s.height {
		s.top = -1
	}
}

func isBatchLine(l string) bool { return strings.HasPrefix(l, "Batch: ") }

func (s *Output) jump(forward bool) {
	at := s.first() + 1
	if forward {
		for i := at + 1; i < len(s.lines()); i++ {
			if isBatchLine(s.lines()[i]) {
				s.top = i - 1
				return
			}
		}
		s.top = -1
		return
	}
	for i := min(at-1, len(s.lines())-1); i >= 0; i-- {
		if isBatchLine(s.lines()[i]) {
			s.top = max(0, i-1)
			return
		}
	}
	s.top = 0
}

func (s *Output) next(d int) Effect {
	if !s.console() {
		if s.grid == nil || !s.grid.Find(s.find, d) {
			return Effect{Toast: notFound(s.find)}
		}
		return Effect{}
	}
	n := len(s.lines())
	for k := 1; k <= n; k++ {
		i := ((s.first()+d*k)%n + n) % n
		if strings.Contains(strings.ToLower(s.lines()[i]), strings.ToLower(s.find)) {
			s.top = i
			return Effect{}
		}
	}
	return Effect{Toast: notFound(s.find)}
}

// copyBatch copies the block of the last batch that begins on or before the last shown line.
func (s *Output) copyBatch() Effect {
	n := len(s.lines())
	for i := min(n, s.first()+s.height) - 1; i >= 0; i-- {
		if !isBatchLine(s.lines()[i]) {
			continue
		}
		end := n
		for j := i + 2; j < n; j++ {
			if isBatchLine(s.lines()[j]) {
				end = j - 1
				break
			}
		}
		return Effect{Copy: &Clip{strings.Join(s.lines()[max(0, i-1):end], "\n") + "\n", text(s.lines()[i])}}
	}
	return Effect{Toast: "nothing to copy"}
}

// Draw implements Screen.
func (s *Output) Draw(v canvas.View) {
	q := s.sh.Query(s.name)
	if q == nil {
		rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), "", true)
		empty(v.Sub(0, 1, v.W, v.H), "This query is not in the lab any more. esc goes back.")
		return
	}
	foot := 0
	if q.Error != nil && s.console() {
		foot = 2
	}
	s.height = v.H - 1 - foot
	note := text(q.Sink) + " sink"
	if w := s.where(q); s.console() && w != "" {
		note += " · " + w
	} else if b := q.Last().BatchID; b >= 0 && !s.console() {
		if s.pin >= 0 {
			note += f(" · batch %d of", s.pin)
		} else {
			note += " · batch"
		}
		note += f(" %d", b)
	}
	if s.full {
		note += " · not truncated"
	}
	if s.frozen {
		note += " · " + s.frozenWord(q)
	}
	if !s.console() {
		if s.grid != nil {
			note += " · " + s.grid.Shown()
			if n := s.grid.res.Note; n != "" {
				note += " · " + text(n)
			}
		}
		rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), note, true)
		top := drawWarning(v, 1, warningLines(q, v.W, 3))
		body := v.Sub(0, top, v.W, v.H-top)
		switch {
		case s.err != nil:
			DrawCard(body, 1, s.err)
		case s.grid == nil:
			empty(body, "No batch has sent rows yet.")
		default:
			s.grid.click(body, nil)
			s.grid.Draw(body, true)
		}
		return
	}
	n := len(s.lines())
	from := s.first()
	if s.con.Dropped > 0 {
		note = widget.Count(s.con.Dropped) + " lines not kept · " + note
	}
	rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), note, true)
	if n == 0 {
		empty(v.Sub(0, 1, v.W, v.H), "The console sink has printed nothing yet.")
	}
	again := map[int]bool{}
	for _, b := range blocks(s.lines(), q.Temporary) {
		again[b.from+1] = b.replay
	}
	body := v.Sub(1, 1, v.W-2, s.height)
	find := strings.ToLower(s.find)
	for i := from; i < min(n, from+s.height); i++ {
		l := s.lines()[i]
		st := canvas.Text
		switch {
		case isBatchLine(l):
			st = canvas.Accent | canvas.Bold
		case strings.HasPrefix(l, "-----"):
			st = canvas.Muted
		}
		body.Put(-s.shift, i-from, safe.Text(l, 4000), st)
		if again[i] {
			body.Right(body.W, i-from, 8, "(replay)", canvas.Warn)
		}
		if find != "" && strings.Contains(strings.ToLower(l), find) {
			body.Paint(0, i-from, body.W, canvas.Match)
		}
	}
	if q.Error != nil {
		y := v.H - 1
		v.Put(1, y, "✗", canvas.Error)
		what, e := safe.Line("failed: "), q.Error
		if q.BatchID >= 0 {
			what = f("batch %d failed: ", q.BatchID)
		}
		if inner := causeOfEnd(e); inner != nil {
			e = inner
		}
		v.Fit(3, y, v.W-24, what+safe.Text(firstLines(e.Message(), 1), 200), canvas.Error)
		v.Right(v.W-1, y, 18, "enter open", canvas.Muted)
	}
}

// Plan is the plan of a query, its promise and who it is.
type Plan struct {
	sh   *Shared
	name string
	text []safe.Line
	rows []safe.Line // text, wrapped to width
	raw  string
	err  *errs.Error
	list widget.List
	// width the rows are wrapped to; 0: not yet
	width int
	run   string // run the text belongs to
	have  bool
}

// NewPlan makes the screen for a query.
func NewPlan(sh *Shared, query string) *Plan { return &Plan{sh: sh, name: query} }

// Scope implements Screen, as do the methods below.
func (s *Plan) Scope() Scope                { return InPlan }
func (s *Plan) Crumb() safe.Line            { return text(s.name) + " › plan" }
func (s *Plan) Disabled(a Action) safe.Line { return disabled(a, s.sh.Query(s.name)) }

// Wake implements Screen.
func (s *Plan) Wake() Effect {
	q := s.sh.Query(s.name)
	if q == nil || s.sh.Bench == nil || s.have && s.run == q.RunID {
		return Effect{}
	}
	s.sh.Focus = s.name
	s.have, s.run = true, q.RunID
	name, bench := s.name, s.sh.Bench
	return Effect{Jobs: []Job{{Slot: "plan", What: "explaining", Run: func(ctx context.Context) func() Effect {
		t, err := bench.Explain(ctx, name)
		return func() Effect {
			s.raw, s.text, s.err, s.width = t, safe.Lines(t), AsError(err), 0
			return Effect{}
		}
	}}}}
}

// Handle implements Screen.
func (s *Plan) Handle(a Action) Effect {
	switch {
	case a == Back:
		return Effect{Pop: true}
	case a == Copy:
		return Effect{Copy: &Clip{s.raw, "plan"}}
	case move(&s.list, a, len(s.rows)):
		return Effect{}
	}
	if q := s.sh.Query(s.name); q != nil {
		e, _ := steer(s.sh, a, q)
		return e
	}
	return Effect{}
}

// wrap lays the text out on w cells: what a line has more goes on below it, further to the right.
func (s *Plan) wrap(w int) {
	if s.width == w {
		return
	}
	s.width, s.rows = w, nil
	for _, l := range s.text {
		lead := len(l) - len(strings.TrimLeft(string(l), " :|+-"))
		hang := safe.Line(strings.Repeat(" ", min(lead+4, w/2)))
		for safe.Width(l) > w {
			head := strings.TrimSuffix(string(safe.Cut(l, w)), safe.Ellipsis)
			if at := strings.LastIndexByte(head, ' '); at > max(lead, len(hang)) {
				head = head[:at]
			}
			s.rows = append(s.rows, safe.Line(head))
			l = hang + safe.Line(strings.TrimLeft(string(l[len(head):]), " "))
		}
		s.rows = append(s.rows, l)
	}
}

// Draw implements Screen.
func (s *Plan) Draw(v canvas.View) {
	q := s.sh.Query(s.name)
	s.wrap(v.W - 3)
	rule(v, 0, 0, v.W, "Queries › "+s.Crumb(), s.list.Shown(len(s.rows))+" lines", true)
	if q == nil {
		return
	}
	y := 1
	put := func(label, t safe.Line) {
		v.Put(1, y, label, canvas.Muted)
		v.Fit(12, y, v.W-13, t, canvas.Text)
		y++
	}
	put("id", text(q.ID))
	if q.RunID != "" {
		put("run id", text(q.RunID))
	}
	put("source", text(q.Source))
	put("sink", text(q.Sink)+", "+text(q.Mode)+" mode")
	put("trigger", text(q.Trigger))
	promise := text(q.Promise)
	if promise == "none" {
		promise = "none: after a crash rows may come again, or not at all"
	}
	put("promise", promise)
	rule(v, 0, y, v.W, "plan", "", false)
	body := v.Sub(0, y+1, v.W, v.H-y-1)
	if s.err != nil {
		DrawCard(body, 1, s.err)
		return
	}
	from, to := s.list.Window(len(s.rows), body.H)
	for i := from; i < to; i++ {
		body.Fit(2, i-from, body.W-3, s.rows[i], canvas.Text)
		if i == s.list.Cursor {
			body.Put(0, i-from, "▸", canvas.Accent|canvas.Bold)
		}
	}
}
