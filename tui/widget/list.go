package widget

import (
	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// A List is the cursor and scroll of any number of rows. Rows are not kept: whoever draws asks for the
// window. The zero List is at the first row.
type List struct {
	Cursor int
	top    int
	height int // of the last window: what a page is
}

// Move moves the cursor by n rows in a list of total rows.
func (l *List) Move(n, total int) { l.Cursor = clamp(l.Cursor+n, total) }

// To moves the cursor to row i.
func (l *List) To(i, total int) { l.Cursor = clamp(i, total) }

// Page is the number of rows last shown, at least 1.
func (l *List) Page() int { return max(l.height, 1) }

func clamp(i, total int) int { return max(0, min(i, total-1)) }

// Window gives the rows [from, to) to show on height lines so that the cursor is among them.
func (l *List) Window(total, height int) (from, to int) {
	l.height = height
	l.Cursor = clamp(l.Cursor, total)
	if l.Cursor < l.top {
		l.top = l.Cursor
	}
	if l.Cursor >= l.top+height {
		l.top = l.Cursor - height + 1
	}
	l.top = max(0, min(l.top, total-height))
	return l.top, min(l.top+height, total)
}

// Shown says which rows are on the screen: "1–23 of 1,012", or the number alone if all are.
func (l *List) Shown(total int) safe.Line {
	if total <= l.height || l.height == 0 {
		return Count(int64(total))
	}
	return Count(int64(l.top+1)) + "–" + Count(int64(min(l.top+l.height, total))) + " of " + Count(int64(total))
}

// A Col is a column of a table.
type Col struct {
	Title safe.Line
	Width int  // cells; with Grow the least
	Right bool // numbers
	Grow  bool // takes what is left; one column of a table
	Rank  int  // when space is short the highest ranks go first; 0 stays
}

// Layout chooses the columns that fit into w cells, gap cells apart, and their widths (0: left out).
func Layout(cols []Col, w, gap int) []int {
	ws := make([]int, len(cols))
	on := make([]bool, len(cols))
	need, grow := -gap, -1
	for i, c := range cols {
		on[i] = true
		ws[i] = c.Width
		need += c.Width + gap
		if c.Grow {
			grow = i
		}
	}
	for need > w {
		worst := -1
		for i, c := range cols {
			if on[i] && c.Rank > 0 && (worst < 0 || c.Rank >= cols[worst].Rank) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		on[worst] = false
		need -= ws[worst] + gap
		ws[worst] = 0
	}
	switch {
	case grow >= 0 && on[grow] && need < w:
		ws[grow] += w - need
	case need > w && grow >= 0:
		ws[grow] = max(1, ws[grow]-(need-w))
	}
	return ws
}

// Header draws the titles of a table.
func Header(v canvas.View, x, y, gap int, cols []Col, ws []int, st canvas.Style) {
	Row(v, x, y, gap, cols, ws, func(i int) (safe.Line, canvas.Style) { return cols[i].Title, st })
}

// Row draws one row; cell is asked for shown columns only.
func Row(v canvas.View, x, y, gap int, cols []Col, ws []int, cell func(i int) (safe.Line, canvas.Style)) {
	for i, c := range cols {
		if ws[i] == 0 {
			continue
		}
		text, st := cell(i)
		if c.Right {
			v.Right(x+ws[i], y, ws[i], text, st)
		} else {
			v.Fit(x, y, ws[i], text, st)
		}
		x += ws[i] + gap
	}
}
