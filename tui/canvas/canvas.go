// Package canvas is a grid of cells that screens draw into and that becomes lines of a terminal once
// per change. Drawing is cheap (no strings are joined), clipped (a View cannot be left) and knows no
// colours: a cell has a role, and a Theme says what a role looks like.
package canvas

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"streamlab/internal/safe"
)

// cell is one place of the grid. An empty text is a blank; width 0 marks the right half of a wide
// character, which belongs to the cell before it.
type cell struct {
	text  string
	width int8
	style Style
}

var blank = cell{width: 1}

// A Canvas is a grid of cells. It is not safe for concurrent use.
type Canvas struct {
	w, h  int
	cells []cell
	ascii bool
	plain bool
	focus int // row of the cursor the keys act on; -1: none was drawn
	spots []Spot
}

// New makes an empty canvas.
func New(w, h int) *Canvas {
	c := &Canvas{}
	c.Reset(w, h)
	return c
}

// Reset empties the canvas and gives it a size. Memory is kept.
func (c *Canvas) Reset(w, h int) {
	c.w, c.h = max(w, 0), max(h, 0)
	n := c.w * c.h
	if cap(c.cells) < n {
		c.cells = make([]cell, n)
	}
	c.cells = c.cells[:n]
	for i := range c.cells {
		c.cells[i] = blank
	}
	c.focus = -1
	clear(c.spots) // what they would call is not kept alive
	c.spots = c.spots[:0]
}

// SetASCII makes the symbols of the program's own drawing plain ASCII.
func (c *Canvas) SetASCII(on bool) { c.ascii = on }

// SetPlain leaves out all lines between and around panes, and asks charts for numbers: for screen readers.
func (c *Canvas) SetPlain(on bool) { c.plain = on }

// FocusRow is the row that was last drawn as the one the keys act on; -1 if none was.
func (c *Canvas) FocusRow() int { return c.focus }

// View is the whole canvas.
func (c *Canvas) View() View { return View{c: c, W: c.w, H: c.h} }

// set puts one grapheme; halves of wide characters that lose their other half become blanks.
func (c *Canvas) set(x, y int, text string, width int8, st Style) {
	i := y*c.w + x
	if c.cells[i].width == 0 && x > 0 {
		c.cells[i-1] = cell{width: 1, style: c.cells[i-1].style}
	}
	last := x + int(width) - 1
	if c.cells[y*c.w+last].width == 2 && last+1 < c.w {
		c.cells[y*c.w+last+1] = cell{width: 1, style: c.cells[y*c.w+last+1].style}
	}
	c.cells[i] = cell{text, width, st}
	if width == 2 {
		c.cells[i+1] = cell{"", 0, st}
	}
}

// Text gives the rows as plain text, blanks at the end trimmed. It is what golden frames hold.
func (c *Canvas) Text() string {
	var b strings.Builder
	for y := range c.h {
		row := c.cells[y*c.w : (y+1)*c.w]
		end := c.w
		for end > 0 && row[end-1].text == "" && row[end-1].width == 1 {
			end--
		}
		for _, e := range row[:end] {
			switch {
			case e.width == 0:
			case e.text == "":
				b.WriteByte(' ')
			default:
				b.WriteString(e.text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A Run is a part of a row in one style. Text has no control characters.
type Run struct {
	X, Width int // in cells
	Text     string
	Style    Style
}

// Runs gives the runs of a row from left to right, for other pictures than a terminal's. Blank cells in a
// style that shows nothing are left out at the ends of a run; a cell whose width programs disagree about is
// a run of its own.
func (c *Canvas) Runs(y int) (out []Run) {
	if y < 0 || y >= c.h {
		return nil
	}
	row := c.cells[y*c.w : (y+1)*c.w]
	for x := 0; x < c.w; x++ {
		e := &row[x]
		if e.width == 0 || e.text == "" && e.style&(Reverse|Underline) == 0 {
			continue
		}
		r := Run{X: x, Style: e.style}
		for x < c.w {
			e := &row[x]
			if e.width == 0 {
				x++
				continue
			}
			if e.style != r.Style || unsure(e) && r.Width > 0 {
				break
			}
			if e.text == "" {
				r.Text += " "
			} else {
				r.Text += e.text
			}
			r.Width += int(e.width)
			x += int(e.width)
			if unsure(e) {
				break
			}
		}
		x--
		if r.Style&(Reverse|Underline) == 0 {
			t := strings.TrimRight(r.Text, " ")
			r.Width -= len(r.Text) - len(t)
			r.Text = t
		}
		out = append(out, r)
	}
	return out
}

// At is the text of a cell; "" is a blank or the right half of a wide character.
func (c *Canvas) At(x, y int) string {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return ""
	}
	return c.cells[y*c.w+x].text
}

// Size is the width and height in cells.
func (c *Canvas) Size() (w, h int) { return c.w, c.h }

// Encode gives the frame as terminal text, one string a row. A row that does not fill its line ends by
// erasing the rest of it.
//
// Terminals and libraries disagree about the width of many characters. After every cell that is wide
// or holds more than one code point the cursor is sent to its column, so that only that cell can look
// odd and everything to the right of it stays in place.
func (c *Canvas) Encode(t *Theme) []string {
	out := make([]string, c.h)
	var b strings.Builder
	for y := range c.h {
		b.Reset()
		b.Grow(2 * c.w)
		row := c.cells[y*c.w : (y+1)*c.w]
		end := c.w
		for end > 0 && row[end-1].text == "" && row[end-1].width == 1 && t.flat(row[end-1].style) {
			end--
		}
		var cur string
		for x := 0; x < end; x++ {
			e := &row[x]
			if e.width == 0 {
				continue
			}
			if sgr := t.sgr(e.style); sgr != cur {
				b.WriteString("\x1b[0")
				b.WriteString(sgr)
				b.WriteByte('m')
				cur = sgr
			}
			if e.text == "" {
				b.WriteByte(' ')
				continue
			}
			b.WriteString(e.text)
			if unsure(e) && x+int(e.width) < c.w {
				b.WriteString("\x1b[")
				b.WriteString(strconv.Itoa(x + int(e.width) + 1))
				b.WriteByte('G')
			}
		}
		if cur != "" {
			b.WriteString("\x1b[0m")
		}
		if end < c.w {
			b.WriteString("\x1b[K")
		}
		out[y] = b.String()
	}
	return out
}

// unsure reports whether terminals may disagree about the width of a cell.
func unsure(e *cell) bool {
	if e.width != 1 {
		return true
	}
	if len(e.text) == 1 {
		return false
	}
	n := 0
	for _, r := range e.text {
		if n++; n > 1 {
			return true
		}
		// Our own symbols are safe; letters of other scripts that join their neighbours are not.
		if r >= 0x0590 && r < 0x2000 || r > 0xffff {
			return true
		}
	}
	return false
}

// A View is a rectangle of a canvas. Coordinates count from its corner; whatever lies outside is
// clipped. The zero View draws nothing.
type View struct {
	c    *Canvas
	x, y int
	W, H int
}

// Sub is a rectangle inside v, clipped to it.
func (v View) Sub(x, y, w, h int) View {
	if x < 0 {
		w, x = w+x, 0
	}
	if y < 0 {
		h, y = h+y, 0
	}
	return View{v.c, v.x + x, v.y + y, max(0, min(w, v.W-x)), max(0, min(h, v.H-y))}
}

// Put writes text at x, y and returns the column after it. What does not fit is clipped; a wide
// character that would be halved becomes a blank.
func (v View) Put(x, y int, text safe.Line, st Style) int {
	return v.put(x, y, v.W, text, st)
}

func (v View) put(x, y, end int, text safe.Line, st Style) int {
	if v.c == nil || y < 0 || y >= v.H {
		return x + safe.Width(text)
	}
	if text == "▸" {
		v.c.focus = v.y + y
	}
	s := string(text)
	for len(s) > 0 {
		if c := s[0]; c >= 0x20 && c < 0x7f && (len(s) == 1 || s[1] < 0x80) {
			if x >= 0 && x < end {
				if c == ' ' {
					v.c.set(v.x+x, v.y+y, "", 1, st)
				} else {
					v.c.set(v.x+x, v.y+y, s[:1], 1, st)
				}
			}
			x, s = x+1, s[1:]
			continue
		}
		g, w := first(s)
		if g == "" {
			break
		}
		s = s[len(g):]
		switch {
		case w <= 0:
			continue // a mark without a letter
		case w > 2:
			g, w = "�", 1
		}
		if v.c.ascii && w == 1 {
			g = toASCII(g)
		}
		switch {
		case x < 0 || x >= end:
		case x+w > end:
			v.c.set(v.x+x, v.y+y, "", 1, st)
		default:
			v.c.set(v.x+x, v.y+y, g, int8(w), st)
		}
		x += w
	}
	return x
}

// first is the first grapheme of s and its width. Arrows, lines, blocks and shapes, of which most of
// our own drawing consists, need no look into the tables.
func first(s string) (string, int) {
	if len(s) >= 3 && s[0] == 0xe2 && s[1] >= 0x94 && s[1] <= 0x97 && (len(s) == 3 || s[3] < 0x80 || s[3] == 0xe2 && len(s) > 4 && s[4] >= 0x94 && s[4] <= 0x97) {
		return s[:3], 1
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

// Fit writes text into w cells from x, cut with "…" if it is longer.
func (v View) Fit(x, y, w int, text safe.Line, st Style) {
	w = min(w, v.W-x)
	if w <= 0 {
		return
	}
	v.put(x, y, x+w, safe.Cut(text, w), st)
}

// Right writes text so that it ends before column end, cut to w cells.
func (v View) Right(end, y, w int, text safe.Line, st Style) {
	text = safe.Cut(text, w)
	v.Put(end-safe.Width(text), y, text, st)
}

// Plain reports whether charts are to be numbers and lines to be left out.
func (v View) Plain() bool { return v.c != nil && v.c.plain }

// HLine repeats a one-cell symbol n times to the right.
func (v View) HLine(x, y, n int, symbol safe.Line, st Style) {
	if v.Plain() {
		return
	}
	for i := range n {
		if x+i >= v.W {
			return
		}
		v.Put(x+i, y, symbol, st)
	}
}

// VLine repeats a one-cell symbol n times downwards.
func (v View) VLine(x, y, n int, symbol safe.Line, st Style) {
	if v.Plain() {
		return
	}
	for i := range n {
		v.Put(x, y+i, symbol, st)
	}
}

// Clear blanks the view.
func (v View) Clear() {
	for y := range v.H {
		v.Blank(0, y, v.W, Text)
	}
}

// Blank writes n blanks.
func (v View) Blank(x, y, n int, st Style) {
	for i := range n {
		if x+i >= 0 && x+i < v.W && y >= 0 && y < v.H && v.c != nil {
			v.c.set(v.x+x+i, v.y+y, "", 1, st)
		}
	}
}

// Paint adds the attributes of st to n cells, and its role if it has one: the cursor over a row.
func (v View) Paint(x, y, n int, st Style) {
	if v.c == nil || y < 0 || y >= v.H {
		return
	}
	if st&Cursor != 0 {
		v.c.focus = v.y + y
	}
	for i := max(x, 0); i < min(x+n, v.W); i++ {
		e := &v.c.cells[(v.y+y)*v.c.w+v.x+i]
		if st.role() != 0 {
			e.style = e.style&^roleMask | st
		} else {
			e.style |= st
		}
	}
}

var asciiTwins = map[string]string{
	"▶": ">", "▸": ">", "■": "#", "✗": "x", "✓": "v", "◌": ".", "↻": "@", "‖": "=", "●": "o", "◐": "d",
	"▲": "^", "│": "|", "┃": "|", "─": "-", "━": "=", "…": "~", "·": ".", "→": ">", "←": "<", "↑": "^",
	"↓": "v", "┏": "+", "┓": "+", "┗": "+", "┛": "+", "▁": ".", "▂": ":", "▃": "-", "▄": "=", "▅": "+",
	"▆": "*", "▇": "#", "█": "%", "░": ".", "▒": ":", "▓": "*", "›": ">", "–": "-", "−": "-", "▏": "|",
	"⇄": "=", "⟨": "<", "⟩": ">",
}

func toASCII(g string) string {
	if len(g) == 1 {
		return g
	}
	if a, ok := asciiTwins[g]; ok {
		return a
	}
	return g
}
