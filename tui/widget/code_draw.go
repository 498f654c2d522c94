package widget

import (
	"strconv"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// A Span is a part of a line, in bytes, that looks different from plain text.
type Span struct {
	From, To int
	Style    canvas.Style
}

// A Highlighter finds the spans of a line. state is what the line before it left open (a comment, a
// string, a block of another language); it gives the state behind the line. State 0 is the start of the
// text. Spans ascend and do not overlap. It must be a function of its arguments: answers are kept.
type Highlighter func(state uint64, line string) (spans []Span, next uint64)

// A Mark is a sign in the gutter of a line.
type Mark struct {
	Symbol safe.Line
	Style  canvas.Style
}

// A Gutter says what stands in front of the lines.
type Gutter uint8

// The gutters.
const (
	NoGutter Gutter = iota
	Numbers         // "  1 "
	Signs           // "✗  1  ": signs, then numbers
)

// look is how a Code is shown. Only lines that were on the screen have been looked at by the
// highlighter, and those before them.
type look struct {
	top, left, height int
	hl                Highlighter
	states            []uint64 // before each line, as far as known: states[0] is 0
	spans             [][]Span // of lines 0 to len(spans)-1
}

// changed forgets what is known of line i and those behind it.
func (k *look) changed(i int) {
	if len(k.spans) > i {
		k.spans = k.spans[:i]
	}
	if len(k.states) > i+1 {
		k.states = k.states[:i+1]
	}
}

// Highlight sets the highlighter; nil for none.
func (c *Code) Highlight(h Highlighter) {
	c.look.hl = h
	c.look.states, c.look.spans = nil, nil
}

// spansOf gives the spans of a line. The lines above it are looked at once.
func (c *Code) spansOf(i int) []Span {
	k := &c.look
	if k.hl == nil {
		return nil
	}
	if len(k.states) == 0 {
		k.states = append(k.states, 0)
	}
	for n := len(k.spans); n <= i; n++ {
		s, next := k.hl(k.states[n], c.lines[n])
		k.spans = append(k.spans, s)
		k.states = append(k.states[:n+1], next)
	}
	return k.spans[i]
}

// Top is the first line on the screen.
func (c *Code) Top() int { return c.look.top }

// ShowAt scrolls so that line i is the first on the screen.
func (c *Code) ShowAt(i int) { c.look.top = max(0, min(i, c.Len()-1)) }

// CursorAt is the cell of the cursor in the view of the last Draw, without the gutter's width.
func (c *Code) CursorAt(g Gutter) (x, y int) {
	c.fix()
	x = cells(c.lines[c.at.Line][:c.at.Byte]) - c.look.left
	return x + c.gutter(g), c.at.Line - c.look.top
}

func (c *Code) gutter(g Gutter) int {
	switch g {
	case Numbers:
		return max(3, len(strconv.Itoa(c.Len()))) + 1
	case Signs:
		return max(2, len(strconv.Itoa(c.Len()))) + 4
	}
	return 0
}

// Draw draws the lines that fit into v; with active the cursor too. marks gives the sign of a line for
// the gutter Signs; it may be nil.
func (c *Code) Draw(v canvas.View, g Gutter, active bool, marks func(line int) (Mark, bool)) {
	c.fix()
	k := &c.look
	k.height = v.H
	if c.at.Line < k.top {
		k.top = c.at.Line
	}
	if c.at.Line >= k.top+v.H {
		k.top = c.at.Line - v.H + 1
	}
	k.top = max(0, min(k.top, len(c.lines)-v.H)) // nothing below the text while there is something above
	x0 := c.gutter(g)
	text := v.Sub(x0, 0, v.W-x0, v.H)
	c.scroll(text.W)
	for i := k.top; i < min(len(c.lines), k.top+v.H); i++ {
		y := i - k.top
		st := canvas.Muted
		if i == c.at.Line && active {
			st = canvas.Text
		}
		switch g {
		case Numbers:
			v.Right(x0-1, y, x0-1, safe.Line(strconv.Itoa(i+1)), st)
		case Signs:
			v.Right(x0-2, y, x0-4, safe.Line(strconv.Itoa(i+1)), st)
			if marks != nil {
				if m, ok := marks(i); ok {
					v.Put(0, y, m.Symbol, m.Style)
				}
			}
		}
		c.drawLine(text, y, i)
	}
	if active {
		x := cells(c.lines[c.at.Line][:c.at.Byte]) - k.left
		text.Paint(x, c.at.Line-k.top, 1, canvas.Cursor)
	}
}

// scroll moves the window sideways so that the cursor stays in it, with some of what is around it.
func (c *Code) scroll(w int) {
	k := &c.look
	x := cells(c.lines[c.at.Line][:c.at.Byte])
	margin := min(8, max(0, w/4))
	switch {
	case x < w:
		k.left = 0 // the start of lines tells most
	case x-margin < k.left:
		k.left = max(0, x-margin)
	}
	if x >= k.left+w {
		k.left = x - w + 1 + margin
	}
}

// drawLine draws the part of a line that is in the window. A line that goes on ends in a sign.
func (c *Code) drawLine(v canvas.View, y, i int) {
	l := c.lines[i]
	if most := (c.look.left + v.W) * 32; len(l) > most { // what cannot be seen is not measured
		l = l[:most]
	}
	x := -c.look.left
	at := 0
	put := func(to int, st canvas.Style) {
		if to = min(to, len(l)); to > at {
			x = v.Put(x, y, safe.Text(l[at:to], 0), st)
			at = to
		}
	}
	for _, s := range c.spansOf(i) {
		put(s.From, canvas.Text)
		put(s.To, s.Style)
		if x > v.W {
			break
		}
	}
	if x <= v.W {
		put(len(l), canvas.Text)
	}
	if x > v.W && v.W > 1 {
		v.Put(v.W-1, y, "…", canvas.Muted)
	}
	if c.look.left > 0 && len(l) > 0 {
		v.Put(0, y, "…", canvas.Muted)
	}
}

// GutterWidth is the number of cells in front of the text.
func (c *Code) GutterWidth(g Gutter) int { return c.gutter(g) }

// CellsOf is where a part of a line is drawn: its first cell, and how many. It may lie outside the view.
func (c *Code) CellsOf(from, to Place, g Gutter) (x, n int) {
	c.fix()
	l := c.Line(from.Line)
	x = cells(l[:min(from.Byte, len(l))])
	return x - c.look.left + c.gutter(g), cells(l[:min(to.Byte, len(l))]) - x
}
