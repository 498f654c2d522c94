package widget

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"streamlab/internal/safe"
	"streamlab/tui/canvas"
)

// A Key is one key press or one paste.
type Key struct {
	Name string // "enter", "ctrl+r", "a"; empty for a paste
	Text string // what it types; empty for keys that type nothing
}

// An Editor is a few lines of text with a cursor. The zero Editor is empty. With Single it is one line
// and Enter is not its business.
type Editor struct {
	Single bool
	lines  []string
	row    int
	col    int // in bytes of the line, always before a grapheme
	top    int
	undo   []string
}

// Text gives the text, lines separated by line feeds.
func (e *Editor) Text() string { return strings.Join(e.lines, "\n") }

// Set replaces the text and puts the cursor at its end.
func (e *Editor) Set(text string) {
	if e.Single {
		text = strings.NewReplacer("\n", " ", "\r", "").Replace(text)
	}
	e.lines = strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	e.row = len(e.lines) - 1
	e.col = len(e.lines[e.row])
}

// AtEnd reports whether the cursor is behind the last character that is not a blank.
func (e *Editor) AtEnd() bool {
	e.fix()
	rest := e.lines[e.row][e.col:] + strings.Join(e.lines[e.row+1:], "")
	return strings.TrimSpace(rest) == ""
}

// Lines is the number of lines.
func (e *Editor) Lines() int { return max(1, len(e.lines)) }

// Word is the letters before the cursor.
func (e *Editor) Word() string {
	e.fix()
	s := e.lines[e.row][:e.col]
	i := strings.LastIndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if i < 0 {
		return s
	}
	_, n := first(s[i:])
	return s[i+n:]
}

// Complete replaces the letters before the cursor.
func (e *Editor) Complete(word string) {
	w := e.Word()
	e.remember()
	l := e.lines[e.row]
	e.lines[e.row] = l[:e.col-len(w)] + word + l[e.col:]
	e.col += len(word) - len(w)
}

func first(s string) (string, int) {
	for _, r := range s {
		return string(r), len(string(r))
	}
	return "", 0
}

func (e *Editor) fix() {
	if len(e.lines) == 0 {
		e.lines = []string{""}
	}
	e.row = max(0, min(e.row, len(e.lines)-1))
	e.col = max(0, min(e.col, len(e.lines[e.row])))
	for e.col > 0 && e.col < len(e.lines[e.row]) && e.lines[e.row][e.col]&0xc0 == 0x80 {
		e.col--
	}
}

func (e *Editor) remember() {
	if len(e.undo) > 200 {
		e.undo = e.undo[100:]
	}
	e.undo = append(e.undo, e.Text())
}

// Handle takes a key; false if the key means nothing to an editor.
func (e *Editor) Handle(k Key) bool {
	e.fix()
	l := e.lines[e.row]
	switch k.Name {
	case "left":
		if e.col > 0 {
			e.col = before(l, e.col)
		} else if e.row > 0 {
			e.row--
			e.col = len(e.lines[e.row])
		}
	case "right":
		if e.col < len(l) {
			e.col = after(l, e.col)
		} else if e.row+1 < len(e.lines) {
			e.row, e.col = e.row+1, 0
		}
	case "up", "down":
		if e.Single {
			return false
		}
		d := 1
		if k.Name == "up" {
			d = -1
		}
		if e.row+d < 0 || e.row+d >= len(e.lines) {
			return false
		}
		x := ansi.StringWidth(l[:e.col])
		e.row += d
		e.col = at(e.lines[e.row], x)
	case "home", "ctrl+a":
		e.col = 0
	case "end", "ctrl+e":
		e.col = len(l)
	case "backspace":
		switch {
		case e.col > 0:
			e.remember()
			b := before(l, e.col)
			e.lines[e.row] = l[:b] + l[e.col:]
			e.col = b
		case e.row > 0:
			e.remember()
			prev := e.lines[e.row-1]
			e.lines = append(e.lines[:e.row], e.lines[e.row+1:]...)
			e.row--
			e.lines[e.row], e.col = prev+l, len(prev)
		}
	case "delete", "ctrl+d":
		switch {
		case e.col < len(l):
			e.remember()
			e.lines[e.row] = l[:e.col] + l[after(l, e.col):]
		case e.row+1 < len(e.lines):
			e.remember()
			e.lines[e.row] += e.lines[e.row+1]
			e.lines = append(e.lines[:e.row+1], e.lines[e.row+2:]...)
		}
	case "ctrl+w":
		e.remember()
		i := strings.LastIndexFunc(strings.TrimRightFunc(l[:e.col], unicode.IsSpace), unicode.IsSpace) + 1
		e.lines[e.row], e.col = l[:i]+l[e.col:], i
	case "ctrl+u":
		e.remember()
		e.lines[e.row], e.col = l[e.col:], 0
	case "ctrl+k":
		e.remember()
		e.lines[e.row] = l[:e.col]
	case "ctrl+_":
		if n := len(e.undo); n > 0 {
			last := e.undo[n-1]
			e.undo = e.undo[:n-1]
			e.Set(last)
		}
	case "enter":
		if e.Single {
			return false
		}
		e.insert("\n")
	default:
		if k.Text == "" {
			return false
		}
		e.insert(k.Text)
	}
	return true
}

func (e *Editor) insert(text string) {
	e.remember()
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if e.Single {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	l := e.lines[e.row]
	parts := strings.Split(l[:e.col]+text, "\n")
	tail := l[e.col:]
	rest := append([]string(nil), e.lines[e.row+1:]...)
	e.lines = append(append(e.lines[:e.row], parts...), rest...)
	e.row += len(parts) - 1
	e.col = len(e.lines[e.row])
	e.lines[e.row] += tail
}

// before and after are the places one grapheme to the left and right.
func before(s string, col int) int {
	i := 0
	for i < col {
		g, _ := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		if g == "" || i+len(g) >= col {
			break
		}
		i += len(g)
	}
	return i
}

func after(s string, col int) int {
	g, _ := ansi.FirstGraphemeCluster(s[col:], ansi.GraphemeWidth)
	return min(len(s), col+max(1, len(g)))
}

// at is the place of cell x in s.
func at(s string, x int) int {
	i := 0
	for i < len(s) && x > 0 {
		g, w := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		if g == "" {
			break
		}
		i += len(g)
		x -= w
	}
	return i
}

// Draw draws the editor; with active its cursor too. numbers adds line numbers in front. style gives
// the styles of a line, one per byte, or nil.
func (e *Editor) Draw(v canvas.View, active, numbers bool, style func(line string) []canvas.Style) {
	e.fix()
	if e.row < e.top {
		e.top = e.row
	}
	if e.row >= e.top+v.H {
		e.top = e.row - v.H + 1
	}
	e.top = max(0, min(e.top, len(e.lines)-1))
	x0 := 0
	if numbers {
		x0 = 4
	}
	cur := safe.Width(safe.Text(e.lines[e.row][:e.col], 0))
	shift := max(0, cur-(v.W-x0-1))
	text := v.Sub(x0, 0, v.W-x0, v.H)
	for i := e.top; i < len(e.lines) && i-e.top < v.H; i++ {
		y := i - e.top
		if numbers {
			v.Right(3, y, 3, Count(int64(i+1)), canvas.Muted)
		}
		dx := 0
		if i == e.row {
			dx = shift
		}
		l := e.lines[i]
		if style == nil {
			text.Put(-dx, y, safe.Text(l, 0), canvas.Text)
		} else {
			sts := style(l)
			x := -dx
			for a := 0; a < len(l); {
				b := a + 1
				for b < len(l) && (sts[b] == sts[a] || l[b]&0xc0 == 0x80) {
					b++
				}
				x = text.Put(x, y, safe.Text(l[a:b], 0), sts[a])
				a = b
			}
		}
		if active && i == e.row {
			text.Paint(cur-dx, y, 1, canvas.Cursor)
		}
	}
}
