package screen

import (
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// whyView is where the pane with the reasons of a row stands. It begins at the top of every row.
type whyView struct {
	top   int
	of    RowRef
	lines int // of the row, at the last drawing
	room  int
}

// move scrolls; false if a does not.
func (w *whyView) move(a Action) bool {
	page := max(1, w.room-1)
	switch a {
	case Up:
		w.top--
	case Down:
		w.top++
	case PageUp:
		w.top -= page
	case PageDown:
		w.top += page
	case HalfUp:
		w.top -= max(1, page/2)
	case HalfDown:
		w.top += max(1, page/2)
	case First:
		w.top = 0
	case Last:
		w.top = w.lines
	default:
		return false
	}
	w.top = max(0, min(w.top, w.lines-w.room))
	return true
}

// whyLine is a line of the pane: what it is about, and the text.
type whyLine struct {
	about, text safe.Line
	whole       safe.Line // instead of both
	st          canvas.Style
}

const (
	followHint   safe.Line = "enter follow"
	reasonColumn int       = 13 // where the texts begin
	fewOrigins   int       = 6  // rows that are listed in the pane; space shows all
)

// drawWhy explains the row under the cursor, below a rule. What does not fit is reached by tab and the arrows.
func (s *Inspector) drawWhy(v canvas.View, more safe.Line, spaced bool) {
	head := 1 + btoi(spaced)
	body := v.Sub(1, head, v.W-1, v.H-head)
	if !spaced {
		body = v.Sub(0, head, v.W, v.H-head)
	}
	lines := s.whyLines(body.W, spaced)
	at := RowRef{s.stages.Cursor, s.grid().current()}
	if s.why.of != at {
		s.why.of, s.why.top = at, 0
	}
	s.why.lines, s.why.room = len(lines), body.H
	s.why.top = max(0, min(s.why.top, len(lines)-body.H))
	note := followHint + more
	if over := len(lines) - body.H; over > 0 {
		note = f("%d–%d of %d lines, tab ↓", s.why.top+1, s.why.top+body.H, len(lines))
	}
	rule(v, 0, 0, v.W, "why this row", note, s.pane == reasonPane && !s.zoom)
	for y, l := range lines[s.why.top:min(len(lines), s.why.top+body.H)] {
		if l.whole != "" {
			body.Fit(1, y, body.W-2, l.whole, l.st)
			continue
		}
		body.Fit(1, y, reasonColumn-2, l.about, canvas.Muted)
		body.Fit(reasonColumn, y, body.W-reasonColumn-1, l.text, l.st)
	}
}

// whyLines lays the reasons out on w cells.
func (s *Inspector) whyLines(w int, spaced bool) (out []whyLine) {
	g := s.grid()
	if s.trace.Partial {
		return s.plainLines("The batch still runs. What became of a row is known at its end.", w)
	}
	if g.len() == 0 {
		return s.plainLines("No row is chosen: none leaves this stage.", w)
	}
	rs := s.trace.Why(s.stages.Cursor, g.place())
	if !spaced {
		rs = fewer(rs)
	}
	for k, r := range rs {
		if spaced && k > 0 && (r.About == "came from" || r.About == "emitted" || r.About == "then") {
			out = append(out, whyLine{})
		}
		st := canvas.Text
		if r.About == "then" {
			st |= canvas.Bold
		}
		for i, l := range widget.Wrap(text(r.Text), w-reasonColumn-1) {
			x := whyLine{text: l, st: st}
			if i == 0 {
				x.about = text(r.About)
			}
			out = append(out, x)
		}
		if r.About == "came from" && spaced {
			out = append(out, s.originLines()...)
		}
	}
	return out
}

// plainLines are a sentence about no row.
func (s *Inspector) plainLines(t safe.Line, w int) (out []whyLine) {
	for _, l := range widget.Wrap(t, w-2) {
		out = append(out, whyLine{whole: l, st: canvas.Muted})
	}
	return out
}

// originLines are the first rows that the row came from.
func (s *Inspector) originLines() (out []whyLine) {
	row := &s.trace.Stages[s.stages.Cursor].Rows[s.grid().place()]
	if row.FromAll < 2 || len(row.From) == 0 {
		return nil
	}
	shown := min(len(row.From), fewOrigins)
	for _, p := range row.From[:shown] {
		l := safe.Line(" ")
		for c, cell := range s.trace.Stages[p.Stage].Values.Rows[p.Row] {
			w := min(s.grids[p.Stage].widths[c], 40)
			l += " " + padded(s.grids[p.Stage].cell(c, cell, w), w) + " "
		}
		out = append(out, whyLine{text: l, st: canvas.Muted})
	}
	if left := row.FromAll - int64(shown); left > 0 {
		out = append(out, whyLine{text: "  … " + widget.Count(left) + " more, space to open", st: canvas.Muted})
	}
	return out
}

// padded fills a text up to w cells.
func padded(t safe.Line, w int) safe.Line {
	for safe.Width(t) < w {
		t += " "
	}
	return t
}
