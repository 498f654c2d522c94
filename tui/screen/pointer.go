package screen

import (
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// clickRows makes n lines of v from y on answer to a click: they are the rows of a list from row first on. focus gives
// the list the keys and reports whether it had them; nil: it always has.
func clickRows(v canvas.View, y, n int, l *widget.List, first int, focus func() bool) {
	clickLines(v, y, n, focus, func(_, line int) bool {
		was := l.Cursor
		l.Cursor = first + line
		return was == l.Cursor
	})
}

// clickLines is clickRows for what is no list: pick chooses what stands in a cell, and reports whether just that was
// chosen before.
func clickLines(v canvas.View, y, n int, focus func() bool, pick func(x, line int) bool) {
	if focus == nil {
		focus = func() bool { return true }
	}
	v.Spot(0, y, v.W, n, canvas.Spot{
		Focus: func() { focus() },
		Pick: func(x, line int) bool {
			had := focus()
			return pick(x, line) && had
		},
	})
}

// focusable makes a whole view give the keys to its pane, for the wheel and for a click beside what can be chosen.
func focusable(v canvas.View, focus func() bool) {
	v.Spot(0, 0, v.W, v.H, canvas.Spot{Focus: func() { focus() }})
}

// takes is a focus function for a screen whose panes have numbers.
func takes[P comparable](pane *P, mine P) func() bool {
	return func() bool {
		had := *pane == mine
		*pane = mine
		return had
	}
}
