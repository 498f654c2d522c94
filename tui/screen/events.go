package screen

import (
	"path/filepath"
	"strings"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// Events is tab 5: one ordered list of what happened to queries and to the program.
type Events struct {
	sh     *Shared
	list   widget.List
	at     int64 // number of the event under the cursor; -1 follows the newest
	level  Level
	only   string
	filter string

	shown []int // indexes of the shown events
	key   eventsKey
}

type eventsKey struct {
	last         int64
	n            int
	level        Level
	only, filter string
}

// NewEvents makes the screen.
func NewEvents(sh *Shared) *Events { return &Events{sh: sh, at: -1, level: Info} }

// Scope implements Screen, as do the methods below.
func (s *Events) Scope() Scope     { return InEvents }
func (s *Events) Crumb() safe.Line { return "Events" }
func (s *Events) Wake() Effect     { return Effect{} }

// rows filters the events; the answer is kept until something changes.
func (s *Events) rows() []int {
	log := &s.sh.Events
	k := eventsKey{log.last, log.Len(), s.level, s.only, s.filter}
	if k == s.key && s.shown != nil {
		return s.shown
	}
	s.key = k
	s.shown = s.shown[:0]
	fl := strings.ToLower(s.filter)
	for i := range log.Len() {
		e := log.At(i)
		if e.Level < s.level || s.only != "" && e.Query != s.only ||
			fl != "" && !strings.Contains(strings.ToLower(e.Query+" "+e.Message), fl) {
			continue
		}
		s.shown = append(s.shown, i)
	}
	if s.shown == nil {
		s.shown = []int{}
	}
	return s.shown
}

// place puts the list's cursor on the event at, newest first.
func (s *Events) place() {
	rows := s.rows()
	n := len(rows)
	if s.at < 0 || n == 0 {
		s.list.To(0, n)
		return
	}
	for i, r := range rows {
		if s.sh.Events.At(r).Seq >= s.at {
			s.list.To(n-1-i, n)
			return
		}
	}
	s.list.To(0, n)
}

// event is the one under the cursor; nil if there is none.
func (s *Events) event() *Event {
	s.place()
	rows := s.rows()
	if len(rows) == 0 {
		return nil
	}
	return s.sh.Events.At(rows[len(rows)-1-s.list.Cursor])
}

// Handle implements Screen.
func (s *Events) Handle(a Action) Effect {
	s.place()
	rows := s.rows()
	n := len(rows)
	if move(&s.list, a, n) {
		if n > 0 {
			s.at = s.sh.Events.At(rows[n-1-s.list.Cursor]).Seq
		}
		if s.list.Cursor == 0 {
			s.at = -1
		}
		return Effect{}
	}
	switch a {
	case LevelUp:
		s.level = min(s.level+1, Error)
		return Effect{}
	case LevelDown:
		s.level = max(s.level, 1) - 1
		return Effect{}
	case Freeze:
		if s.at < 0 {
			if e := s.event(); e != nil {
				s.at = e.Seq
			}
		} else {
			s.at = -1
		}
		return Effect{}
	case Filter:
		return Effect{Input: &Prompt{Title: "Filter events", Label: "text in query or message", Text: s.filter,
			Done: func(t string) Effect { s.filter = t; return Effect{} }}}
	case Back:
		s.filter, s.only = "", ""
		return Effect{}
	}
	e := s.event()
	if e == nil {
		return Effect{}
	}
	switch a {
	case OnlyQuery:
		if s.only != "" {
			s.only = ""
		} else {
			s.only = e.Query
		}
	case Enter:
		return s.follow(e)
	case ShowError, Look:
		if e.Err != nil {
			return Effect{Error: e.Err}
		}
		return Effect{View: &Viewer{Title: "event", Text: e.Message}}
	case EditQuery:
		if q := s.sh.Query(e.Query); q != nil {
			r := editQuery(s.sh, q)
			r.Tab = 1
			return r
		}
	case OpenBatch, OpenBatches:
		if s.sh.Query(e.Query) != nil && e.Batch >= 0 {
			return Effect{Tab: 1, Push: NewBatch(s.sh, e.Query, e.Batch)}
		}
		return Effect{Toast: "this event belongs to no batch"}
	case OpenCheckpoint:
		if s.sh.Query(e.Query) != nil {
			return Effect{Tab: 2, Push: NewCheckpoint(s.sh, e.Query, e.Batch)}
		}
	case Copy:
		t := string(s.sh.Millis(e.Time)) + " " + e.Level.String() + " " + e.Query + " " + e.Message
		if e.Err != nil {
			t += "\n" + CardText(e.Err)
		}
		return Effect{Copy: &Clip{t, "event"}}
	}
	return Effect{}
}

// follow goes to what an event is about: its batch, else the place in the lab file that an error points to, else
// the error, else the batches of its query.
func (s *Events) follow(e *Event) Effect {
	q := s.sh.Query(e.Query)
	switch {
	case q != nil && e.Batch >= 0:
		return Effect{Tab: 1, Push: NewBatch(s.sh, e.Query, e.Batch)}
	case e.Err != nil && !e.Err.Pos.IsZero() && s.sh.wright() != nil && filepath.Base(e.Err.Pos.File) == filepath.Base(s.sh.Lab.Path):
		return Effect{Tab: 1, Push: NewFile(s.sh, s.sh.Lab.Path, e.Query, e.Err.Pos)}
	case e.Err != nil:
		return Effect{Error: e.Err}
	case q != nil:
		return Effect{Tab: 1, Push: NewBatches(s.sh, e.Query)}
	}
	return Effect{View: &Viewer{Title: "event", Text: e.Message}}
}

// Disabled implements Screen.
func (s *Events) Disabled(a Action) safe.Line {
	switch a {
	case OpenBatch, OpenBatches, OpenCheckpoint, OnlyQuery, EditQuery:
		if e := s.event(); e == nil || s.sh.Query(e.Query) == nil {
			return "no event of a query is chosen"
		}
	}
	return ""
}

// Draw implements Screen.
func (s *Events) Draw(v canvas.View) {
	rows := s.rows()
	n := len(rows)
	s.place()
	foot := 6
	if v.H >= 30 {
		foot = 9
	}
	level := safe.Line(s.level.String())
	if s.level < Error {
		level += " and above"
	}
	only := safe.Line("all queries")
	if s.only != "" {
		only = "only " + text(s.only)
	}
	follow := safe.Line("following")
	if s.at >= 0 {
		follow = "held"
	}
	note := level + " · " + only + " · " + follow
	if s.filter != "" {
		note = "/" + safe.Text(s.filter, 16) + " · " + note
	}
	rule(v, 0, 0, v.W, "Events", note, true)
	v.Put(1, 1, "TIME         LEVEL QUERY         MESSAGE", canvas.Muted)
	h := v.H - 2 - foot
	from, to := s.list.Window(n, h)
	if n == 0 {
		empty(v.Sub(0, 2, v.W, h), "Nothing happened yet at this level. - shows more.")
	}
	clickLines(v, 2, to-from, nil, func(_, line int) bool {
		again := s.list.Cursor == from+line
		if s.list.Cursor, s.at = from+line, s.sh.Events.At(rows[n-1-from-line]).Seq; from+line == 0 {
			s.at = -1
		}
		return again
	})
	for i := from; i < to; i++ {
		e := s.sh.Events.At(rows[n-1-i])
		y := 2 + i - from
		st := levelStyle(e.Level)
		v.Put(1, y, s.sh.Millis(e.Time), canvas.Muted)
		v.Put(14, y, safe.Line(e.Level.String()), st)
		v.Fit(20, y, 13, text(e.Query), canvas.Text)
		v.Fit(34, y, v.W-35, text(e.Message), canvas.Text)
		if i == s.list.Cursor {
			v.Put(0, y, "▸", canvas.Accent|canvas.Bold)
			v.Paint(1, y, v.W-1, canvas.Cursor)
		}
	}
	e := s.event()
	d := v.Sub(0, v.H-foot, v.W, foot)
	if e == nil {
		rule(d, 0, 0, v.W, "detail", "", false)
		return
	}
	rule(d, 0, 0, v.W, "detail", s.sh.Millis(e.Time), false)
	if e.Err != nil {
		DrawCard(d.Sub(0, 1, d.W, d.H-1), 0, e.Err)
		return
	}
	place := text(e.Query)
	if e.Batch >= 0 {
		place += f(", batch %d", e.Batch)
	}
	d.Fit(1, 1, d.W-2, place, canvas.Muted)
	for i, l := range widget.Wrap(safe.Text(e.Message, 800), d.W-2) {
		d.Put(1, 2+i, l, canvas.Text)
	}
}
