package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// clickFocuses is how soon after the focus has come to the window a click is the one that brought it. Such a click was
// meant for the window, not for what happened to be below the pointer.
const clickFocuses = 100 * time.Millisecond

// mouseMsg does what the mouse asks for, once it is on. Nothing is done that a key would not do: the wheel moves the
// cursor of the pane below the pointer, a click chooses, a second one opens, and a hint of the last line is its key.
func (m *model) mouseMsg(msg tea.MouseMsg) tea.Cmd {
	if !m.mouse || m.tooSmall() {
		return nil
	}
	switch {
	case msg.Button == tea.MouseButtonWheelUp:
		return m.wheel(msg, "up")
	case msg.Button == tea.MouseButtonWheelDown:
		return m.wheel(msg, "down")
	case msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress:
		if at := m.clock(); !m.focused.IsZero() && at.Sub(m.focused) < clickFocuses {
			return nil
		}
		return m.click(msg.X, msg.Y)
	}
	return nil
}

func (m *model) wheel(msg tea.MouseMsg, key string) tea.Cmd {
	m.dirty = true
	if s, _, _ := m.cv.SpotAt(msg.X, msg.Y); s != nil && s.Focus != nil {
		s.Focus()
	}
	if n := len(m.over); n > 0 {
		if o, ok := m.over[n-1].(*viewer); ok {
			o.scroll(key) // a text has no cursor: it goes by three lines, as texts do elsewhere
			o.scroll(key)
		}
	}
	return m.key(widget.Key{Name: key})
}

func (m *model) click(x, y int) tea.Cmd {
	m.dirty = true
	if len(m.over) == 0 && y == 0 {
		for i, r := range m.tabPlaces() {
			if x >= r[0] && x < r[1] {
				if i == m.tab && len(m.tabs[i]) > 1 {
					m.cut(1) // as its digit does: back to its root
				}
				m.setTab(i)
				return m.wake()
			}
		}
		return nil
	}
	if len(m.over) == 0 && y == m.h-1 {
		for _, h := range m.hints {
			if x >= h.from && x < h.to {
				return m.key(widget.Key{Name: h.key})
			}
		}
		return nil
	}
	s, dx, dy := m.cv.SpotAt(x, y)
	switch {
	case s == nil:
	case s.Pick == nil && s.Focus != nil:
		s.Focus()
	case s.Pick != nil && s.Pick(dx, dy):
		return m.key(widget.Key{Name: "enter"})
	}
	return m.wake()
}

// clickRows makes n lines of an overlay from y on answer to a click: they are the rows of a list from row first on.
func clickRows(v canvas.View, y, n int, l *widget.List, first int) {
	v.Spot(0, y, v.W, n, canvas.Spot{Pick: func(_, line int) bool {
		again := l.Cursor == first+line
		l.Cursor = first + line
		return again
	}})
}

// A keyHint is a place of the last line that stands for a key.
type keyHint struct {
	from, to int
	key      string
}

// hinted remembers where the hint of a binding stands. Two keys that share a hint, such as "[ ] batch", have a half of
// it each.
func (m *model) hinted(x int, b *Binding, k, label safe.Line) {
	end := x + safe.Width(k) + 1 + safe.Width(label)
	if first, second, ok := pair(k); ok && m.keys.lookup(b.Scope, second) != nil {
		mid := x + safe.Width(safe.Line(first)) + 1
		m.hints = append(m.hints, keyHint{x, mid, first}, keyHint{mid, end, second})
		return
	}
	m.hints = append(m.hints, keyHint{x, end, b.Keys[0]})
}

// pair splits keys that stand beside each other in a hint.
func pair(k safe.Line) (first, second string, ok bool) {
	names := map[string]string{"←": "left", "→": "right"}
	var a, b []rune
	at := &a
	for _, r := range string(k) {
		if r == ' ' {
			if at == &b {
				return "", "", false
			}
			at = &b
			continue
		}
		*at = append(*at, r)
	}
	first, second = string(a), string(b)
	if n := names[first]; n != "" {
		first = n
	}
	if n := names[second]; n != "" {
		second = n
	}
	return first, second, first != "" && second != ""
}
