package screen

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/widget"
)

// Inspector looks into one batch: its operators from source to sink, the rows that leave each of them, and why
// a row is there, was sent, is held back or was dropped. A row can be followed through all stages.
type Inspector struct {
	sh     *Shared
	tracer Tracer
	name   string
	id     int64

	of      int64 // batch that trace or err belong to; -1: none yet
	trace   *Trace
	err     *errs.Error
	rows    int // asked for; 0 is the usual measure
	waiting bool
	known   int64 // newest recorded batch when recording was asked for; -1: none

	pane   inspectorPane
	chosen bool // the user has chosen a stage or a row
	zoom   bool
	why    whyView
	stages widget.List
	grids  []*traceRows // by stage
	brief  bool         // notes of stages are short, for want of room
	find   string

	followed *RowRef
	marked   map[int]map[int64]bool // rows with ●
	partial  bool                   // more rows are followed than are kept
}

type inspectorPane uint8

const (
	stagePane inspectorPane = iota
	rowPane
	reasonPane
	panes
)

// manyRows is how many rows of a stage are kept when all are asked for.
const manyRows = 100_000

// NewBatch makes the screen for a batch: the inspector, or, with a workbench that cannot trace, its report.
func NewBatch(sh *Shared, query string, id int64) Screen {
	if t, ok := sh.Bench.(Tracer); ok {
		return &Inspector{sh: sh, tracer: t, name: query, id: id, of: -1, known: -1}
	}
	return NewReport(sh, query, id)
}

// Scope implements Screen, as do the methods below.
func (s *Inspector) Scope() Scope     { return InTrace }
func (s *Inspector) Crumb() safe.Line { return text(s.name) + f(" › batch %d", s.id) }

// Wake implements Screen.
func (s *Inspector) Wake() Effect {
	s.sh.Focus = s.name
	if s.waiting {
		if list := s.tracer.Traced(s.name); len(list) > 0 && list[len(list)-1] > s.known {
			s.waiting, s.id = false, list[len(list)-1]
		}
	}
	if s.of == s.id {
		return Effect{}
	}
	s.of, s.trace, s.err, s.grids, s.rows, s.chosen = s.id, nil, nil, nil, 0, false
	s.unfollow()
	return s.load(nil)
}

func (s *Inspector) unfollow() { s.followed, s.marked, s.partial = nil, nil, false }

// load traces the batch on a goroutine of its own.
func (s *Inspector) load(follow *RowRef) Effect {
	tracer, name, id := s.tracer, s.name, s.id
	o := TraceOptions{Rows: s.rows}
	if follow != nil {
		o.Follow = []RowRef{*follow}
	}
	show := s.trace == nil // rows that are there are better than the first of them once more
	return Effect{Jobs: []Job{{Slot: "trace", What: f("running batch %d again", id), Parts: func(ctx context.Context, part func(func() Effect)) func() Effect {
		if show {
			o.Partial = func(t *Trace) {
				part(func() Effect {
					if s.id == id {
						s.took(t, nil)
					}
					return Effect{}
				})
			}
		}
		t, err := tracer.Trace(ctx, name, id, o)
		return func() Effect {
			if s.id == id {
				s.took(t, AsError(err))
			}
			return Effect{}
		}
	}}}}
}

// took shows a trace; the stage and the places in the rows stay if it is of the same batch.
func (s *Inspector) took(t *Trace, err *errs.Error) {
	old := s.grids
	s.trace, s.err, s.grids = t, err, nil
	if t == nil {
		return
	}
	for i := range t.Stages {
		s.grids = append(s.grids, newTraceRows(t, i))
	}
	if len(old) == len(s.grids) {
		for i := range old {
			s.grids[i].at(old[i].current())
		}
	}
	if !s.chosen && !t.Partial {
		s.begin()
	}
	if s.followed != nil && !t.Partial {
		s.mark(*s.followed)
	}
}

// begin goes to where reading begins: to the first row that was dropped as late, since that is what one opens such a
// batch for; else to the last stage with state, else to the sink.
func (s *Inspector) begin() {
	for i := range s.trace.Stages {
		for _, r := range s.trace.Stages[i].Rows {
			if strings.HasPrefix(r.Mark, "late") {
				s.stages.To(i, len(s.trace.Stages))
				s.grids[i].at(r.N)
				return
			}
		}
	}
	s.stages.To(s.first(), len(s.trace.Stages))
}

// first is the last stage with state, else the sink.
func (s *Inspector) first() int {
	for i := len(s.trace.Stages) - 1; i >= 0; i-- {
		switch s.trace.Stages[i].Kind {
		case "aggregate", "join", "dedup", "code":
			return i
		}
	}
	return len(s.trace.Stages) - 1
}

// grid is the rows of the chosen stage; nil if there is no trace.
func (s *Inspector) grid() *traceRows {
	if s.trace == nil || len(s.grids) == 0 {
		return nil
	}
	s.stages.To(s.stages.Cursor, len(s.grids))
	return s.grids[s.stages.Cursor]
}

func (s *Inspector) mark(r RowRef) {
	s.followed, s.marked = &r, s.trace.Follow(r)
	s.partial = !s.trace.keeps(s.marked)
	for i, g := range s.grids {
		if i != r.Stage {
			g.toFirst(s.marked[i])
		}
	}
}

// takes gives the keys to a pane and reports whether it had them.
func (s *Inspector) takes(p inspectorPane) func() bool {
	return func() bool {
		s.chosen = true
		return takes(&s.pane, p)()
	}
}

// follow marks the row under the cursor, its ancestors and its descendants, or unmarks them.
func (s *Inspector) follow() Effect {
	g := s.grid()
	if g == nil || g.len() == 0 {
		return Effect{}
	}
	if s.trace.Partial {
		return Effect{Toast: "the batch is still being run: rows can be followed when it is through"}
	}
	r := RowRef{s.stages.Cursor, g.current()}
	if s.followed != nil && *s.followed == r {
		s.unfollow()
		return Effect{}
	}
	s.mark(r)
	if s.partial {
		return s.load(&r) // some of them are behind the sample
	}
	return Effect{}
}

// step goes to another batch of the query.
func (s *Inspector) step(a Action) Effect {
	q := s.sh.Query(s.name)
	if q == nil || len(q.Progress) == 0 {
		return Effect{}
	}
	d := 1
	if a == PrevBatch || a == PrevNotable {
		d = -1
	}
	for j := near(q, s.id, d); j >= 0 && j < len(q.Progress); j += d {
		if a == PrevBatch || a == NextBatch || notable(q, j) {
			s.id, s.waiting = q.Progress[j].BatchID, false
			return s.Wake()
		}
	}
	return Effect{Toast: noBatch(q, a)}
}

// near is the place of the first report in direction d from a batch.
func near(q *QuerySnapshot, id int64, d int) int {
	if d > 0 {
		for j := range q.Progress {
			if q.Progress[j].BatchID > id {
				return j
			}
		}
		return len(q.Progress)
	}
	for j := len(q.Progress) - 1; j >= 0; j-- {
		if q.Progress[j].BatchID < id {
			return j
		}
	}
	return -1
}

// Handle implements Screen.
func (s *Inspector) Handle(a Action) Effect {
	switch a {
	case Back:
		if s.zoom {
			s.zoom = false
			return Effect{}
		}
		return Effect{Pop: true}
	case PrevBatch, NextBatch, PrevNotable, NextNotable:
		return s.step(a)
	case TraceNext:
		return s.record()
	case TraceAll:
		if s.trace == nil {
			return Effect{}
		}
		s.rows = manyRows
		e := s.load(s.followed)
		e.Toast = "reading up to 100,000 rows of each stage"
		return e
	case OpenCheckpoint:
		return Effect{Tab: 2, Push: NewCheckpoint(s.sh, s.name, s.id)}
	case Enter:
		if s.trace == nil && s.sh.Busy == "" { // it was cancelled, or failed
			s.err = nil
			return s.load(nil)
		}
	case OpenReport:
		return Effect{Push: NewReport(s.sh, s.name, s.id)}
	}
	if e, ok := s.handleRows(a); ok {
		return e
	}
	if q := s.sh.Query(s.name); q != nil {
		e, _ := steer(s.sh, a, q)
		return e
	}
	return Effect{}
}

// handleRows does what needs a trace.
func (s *Inspector) handleRows(a Action) (Effect, bool) {
	g := s.grid()
	if g == nil {
		return Effect{}, false
	}
	s.chosen = true
	switch a {
	case NextPane:
		s.pane = (s.pane + 1) % panes
	case PrevPane:
		s.pane = (s.pane + panes - 1) % panes
	case Zoom:
		s.zoom = !s.zoom
	case Filter:
		return Effect{Input: &Prompt{Title: "Find a row", Label: "text in any cell", Text: s.find,
			Done: func(t string) Effect { s.find = t; return s.next(1) }}}, true
	case FindNext:
		return s.next(1), true
	case FindPrev:
		return s.next(-1), true
	case Enter:
		if s.pane == stagePane && !s.zoom {
			s.pane = rowPane
			return Effect{}, true
		}
		return s.follow(), true
	case Look:
		return s.look(), true
	case Copy:
		return Effect{Copy: &Clip{s.whyText(), "why this row"}}, true
	case CopyAll:
		return g.CopyAll(), true
	default:
		switch {
		case s.pane == stagePane && !s.zoom:
			return Effect{}, move(&s.stages, a, len(s.grids))
		case s.pane == reasonPane && !s.zoom:
			return Effect{}, s.why.move(a)
		}
		return Effect{}, g.Handle(a)
	}
	return Effect{}, true
}

// record asks for the next batch to be recorded while it runs.
func (s *Inspector) record() Effect {
	q := s.sh.Query(s.name)
	if q == nil || !q.State.Active() {
		return Effect{Toast: "the query does not run: start it, then t records its next batch"}
	}
	s.known = -1
	if list := s.tracer.Traced(s.name); len(list) > 0 {
		s.known = list[len(list)-1]
	}
	if err := s.tracer.TraceNext(s.name); err != nil {
		return Effect{Error: AsError(err)}
	}
	s.waiting = true
	return Effect{Toast: "the next batch is recorded and shown here"}
}

func (s *Inspector) next(d int) Effect {
	if g := s.grid(); g == nil || !g.Find(s.find, d) {
		return Effect{Toast: notFound(s.find)}
	}
	s.pane = rowPane
	return Effect{}
}

// look shows the cell under the cursor, and below it what there is to say of its row.
func (s *Inspector) look() Effect {
	g := s.grid()
	c, col, ok := g.Cell()
	if !ok {
		return Effect{}
	}
	t := c.Text
	if c.Null {
		t = "NULL"
	}
	return Effect{View: &Viewer{Title: text(col.Name) + f(" · row %d of ", g.current()+1) + text(s.trace.Stages[s.stages.Cursor].Kind),
		Text: t + "\n\n" + s.whyText()}}
}

// whyText is what the pane says, as text, with all of the rows that the row came from.
func (s *Inspector) whyText() string {
	g := s.grid()
	if g == nil || g.len() == 0 {
		return ""
	}
	if s.trace.Partial {
		return ""
	}
	out := ""
	for _, r := range s.trace.Why(s.stages.Cursor, g.place()) {
		out += r.About + ": " + r.Text + "\n"
	}
	for i, p := range s.trace.Stages[s.stages.Cursor].Rows[g.place()].From {
		if i == 0 {
			out += "\n"
		}
		for k, c := range s.trace.Stages[p.Stage].Values.Rows[p.Row] {
			if k > 0 {
				out += "  "
			}
			if c.Null {
				out += "NULL"
			} else {
				out += c.Text
			}
		}
		out += "\n"
	}
	return out
}

// Disabled implements Screen.
func (s *Inspector) Disabled(a Action) safe.Line {
	q := s.sh.Query(s.name)
	switch a {
	case TraceNext:
		if q == nil || !q.State.Active() {
			return "the query does not run"
		}
	case TraceAll, Zoom, NextPane, PrevPane, Filter, FindNext, FindPrev, Look, CopyAll:
		if s.trace == nil {
			return "the rows of this batch are not there"
		}
	case Enter, Copy:
		if s.trace == nil && s.err != nil {
			return "the rows of this batch are not there"
		}
	}
	return disabled(a, q)
}
