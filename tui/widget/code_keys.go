package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Handle takes a key; false if the key means nothing here. The keys are those of readline where they
// are free, and ctrl+_ and ctrl+y for undo and redo.
func (c *Code) Handle(k Key) bool {
	c.fix()
	if c.move(k.Name) {
		c.joining = ""
		return true
	}
	switch k.Name {
	case "backspace", "delete", "ctrl+d", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+_", "ctrl+y", "enter", "tab", "shift+tab":
	default:
		if k.Text == "" {
			return false
		}
	}
	if c.ReadOnly {
		return true
	}
	l := c.lines[c.at.Line]
	switch k.Name {
	case "backspace":
		if p := c.left(c.at); p != c.at {
			// Between the blanks that indent a line one key takes a whole level.
			if in := l[:c.at.Byte]; c.Indent && in != "" && strings.Trim(in, " ") == "" {
				p.Byte = (len(in) - 1) / 2 * 2
			}
			c.replace(p, c.at, "", "rub")
		}
	case "delete", "ctrl+d":
		if p := c.right(c.at); p != c.at {
			c.replace(c.at, p, "", "del")
		}
	case "ctrl+w":
		c.replace(c.wordLeft(c.at), c.at, "", "")
	case "ctrl+u":
		c.replace(Place{c.at.Line, 0}, c.at, "", "")
	case "ctrl+k":
		to := Place{c.at.Line, len(l)}
		if c.at == to { // the line end itself, so that a few of these take lines away
			to = c.right(c.at)
		}
		c.replace(c.at, to, "", "kill")
	case "ctrl+_":
		c.Undo()
	case "ctrl+y":
		c.Redo()
	case "enter":
		in := ""
		if c.Indent {
			in = l[:len(l)-len(strings.TrimLeft(l, " "))]
			in = in[:min(len(in), c.at.Byte)]
			if t := strings.TrimRight(l[:c.at.Byte], " "); strings.HasSuffix(t, ":") || strings.HasSuffix(t, "|") {
				in += "  "
			}
		}
		c.replace(c.at, c.at, "\n"+in, "")
	case "tab":
		n := 2 - cells(l[:c.at.Byte])%2
		c.replace(c.at, c.at, strings.Repeat(" ", n), "")
	case "shift+tab":
		n := min(2, len(l)-len(strings.TrimLeft(l, " ")))
		p := Place{c.at.Line, max(0, c.at.Byte-n)}
		c.replace(Place{c.at.Line, 0}, Place{c.at.Line, n}, "", "")
		c.at = c.near(p)
	default:
		kind := "type"
		if k.Name == "" || utf8.RuneCountInString(k.Text) != 1 {
			kind = "" // a paste is a step of its own
		} else if r, _ := utf8.DecodeRuneInString(k.Text); unicode.IsSpace(r) {
			kind = "space"
		}
		c.replace(c.at, c.at, k.Text, kind)
		if kind == "space" {
			c.joining = "" // a word begins a step of its own
		}
	}
	return true
}

// move does the keys that only move.
func (c *Code) move(key string) bool {
	l := c.lines[c.at.Line]
	switch key {
	case "left":
		c.at = c.left(c.at)
	case "right":
		c.at = c.right(c.at)
	case "ctrl+left":
		c.at = c.wordLeft(c.at)
	case "ctrl+right":
		c.at = c.wordRight(c.at)
	case "home", "ctrl+a":
		// First to where the text of the line begins, then to its start.
		in := len(l) - len(strings.TrimLeft(l, " "))
		if c.at.Byte == in {
			in = 0
		}
		c.at.Byte = in
	case "end", "ctrl+e":
		c.at.Byte = len(l)
	case "ctrl+home":
		c.at = Place{}
	case "ctrl+end":
		c.at = Place{len(c.lines) - 1, len(c.lines[len(c.lines)-1])}
	case "up":
		return c.vertical(-1)
	case "down":
		return c.vertical(1)
	case "pgup":
		return c.vertical(-max(1, c.look.height-1))
	case "pgdown":
		return c.vertical(max(1, c.look.height-1))
	default:
		return false
	}
	c.want = -1
	return true
}

// vertical moves by n lines and keeps the column. At the first and last line it goes to the end of it.
func (c *Code) vertical(n int) bool {
	if c.want < 0 {
		c.want = cells(c.lines[c.at.Line][:c.at.Byte])
	}
	to := c.at.Line + n
	switch {
	case to < 0 && c.at.Line == 0:
		c.at.Byte = 0
		return true
	case to >= len(c.lines) && c.at.Line == len(c.lines)-1:
		c.at.Byte = len(c.lines[c.at.Line])
		return true
	}
	to = max(0, min(to, len(c.lines)-1))
	c.at = Place{to, byteAt(c.lines[to], c.want)}
	return true
}

// left and right are the places one character away; at the ends of the text the same place.
func (c *Code) left(p Place) Place {
	switch {
	case p.Byte > 0:
		p.Byte = before(c.lines[p.Line], p.Byte)
	case p.Line > 0:
		p = Place{p.Line - 1, len(c.lines[p.Line-1])}
	}
	return p
}

func (c *Code) right(p Place) Place {
	switch {
	case p.Byte < len(c.lines[p.Line]):
		p.Byte = after(c.lines[p.Line], p.Byte)
	case p.Line+1 < len(c.lines):
		p = Place{p.Line + 1, 0}
	}
	return p
}

// wordLeft and wordRight are the places at the next start and end of a word; over a line end they stop.
func (c *Code) wordLeft(p Place) Place {
	if p.Byte == 0 {
		return c.left(p)
	}
	s := c.lines[p.Line][:p.Byte]
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	if i := wordStart(s); i < len(s) {
		s = s[:i]
	} else {
		s = strings.TrimRightFunc(s, func(r rune) bool { return !isWord(r) && !unicode.IsSpace(r) })
	}
	return c.near(Place{p.Line, len(s)})
}

func (c *Code) wordRight(p Place) Place {
	l := c.lines[p.Line]
	if p.Byte == len(l) {
		return c.right(p)
	}
	s := strings.TrimLeftFunc(l[p.Byte:], unicode.IsSpace)
	if t := strings.TrimLeftFunc(s, isWord); t != s {
		s = t
	} else {
		s = strings.TrimLeftFunc(s, func(r rune) bool { return !isWord(r) && !unicode.IsSpace(r) })
	}
	return Place{p.Line, len(l) - len(s)}
}
