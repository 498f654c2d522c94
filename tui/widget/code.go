package widget

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"streamlab/internal/safe"
)

// A Place is where something is in a Code: a line from 0 on, and a byte of it that begins a grapheme.
type Place struct{ Line, Byte int }

func (p Place) before(q Place) bool { return p.Line < q.Line || p.Line == q.Line && p.Byte < q.Byte }

// A Code is a text of many lines that is edited: a lab file, a statement. It has a cursor and no
// selection. Every change goes through one function that replaces a part of the text, so the log of
// those replacements is the undo: it holds what was taken out and put in, never the whole text.
//
// Changes that follow each other as one hand movement (letters of a word, a row of backspaces) are one
// step of the undo. Nothing is forgotten: undo leads back to the text of Set.
//
// The zero Code is empty. A Code is not safe for concurrent use.
type Code struct {
	// ReadOnly refuses changes by keys; Replace works all the same.
	ReadOnly bool
	// Indent makes Enter begin a line as far to the right as the one before.
	Indent bool

	lines []string
	at    Place
	want  int // column that up and down try to keep; -1: that of the cursor

	log     []change // done, oldest first
	undone  []change // taken back, oldest last
	step    int      // number of the newest step
	joining string   // kind of the newest change if the next of its kind belongs to it
	open    int      // depth of Together

	version int64 // rises with every change of the text

	look
}

// change is one replacement: at from, what was taken out became what was put in.
type change struct {
	from     Place
	out, in  string
	step     int
	cur, end Place // cursor before and after
}

// Set replaces everything, forgets the undo, and puts the cursor at the start.
func (c *Code) Set(text string) {
	c.lines = split(text)
	c.at, c.want = Place{}, -1
	c.log, c.undone, c.joining, c.open = nil, nil, "", 0
	c.version++
	c.look.changed(0)
	c.look.top, c.look.left = 0, 0
}

// split makes lines of a text; line ends of other systems become ours.
func split(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	return strings.Split(text, "\n")
}

func (c *Code) fix() {
	if len(c.lines) == 0 {
		c.lines, c.want = []string{""}, -1
	}
}

// Text gives the whole text, lines separated by line feeds.
func (c *Code) Text() string { return strings.Join(c.lines, "\n") }

// Version differs whenever Text differs. It is not the number of changes.
func (c *Code) Version() int64 { return c.version }

// Len is the number of lines, at least 1.
func (c *Code) Len() int { return max(1, len(c.lines)) }

// Line gives a line; "" for one that does not exist.
func (c *Code) Line(i int) string {
	if i < 0 || i >= len(c.lines) {
		return ""
	}
	return c.lines[i]
}

// Cursor is where the cursor is.
func (c *Code) Cursor() Place { c.fix(); return c.at }

// Go moves the cursor, to the nearest place that exists.
func (c *Code) Go(p Place) {
	c.fix()
	c.at, c.want, c.joining = c.near(p), -1, ""
}

// GoEnd moves the cursor behind the last character.
func (c *Code) GoEnd() { c.Go(Place{len(c.lines), 0}); c.Go(Place{c.at.Line, 1 << 30}) }

func (c *Code) near(p Place) Place {
	if p.Line < 0 {
		return Place{}
	}
	if p.Line >= len(c.lines) {
		p = Place{len(c.lines) - 1, 1 << 30}
	}
	l := c.lines[p.Line]
	p.Byte = max(0, min(p.Byte, len(l)))
	if p.Byte < len(l) { // not inside a grapheme
		if b := before(l, p.Byte); b < p.Byte && after(l, b) != p.Byte {
			p.Byte = b
		}
	}
	return p
}

// Column turns characters of a line, from 0 on, into a Place: problems count in characters.
func (c *Code) Column(line, chars int) Place {
	l := c.Line(line)
	for i := range l {
		if chars == 0 {
			return Place{line, i}
		}
		chars--
	}
	return Place{line, len(l)}
}

// Chars is the number of characters of the cursor's line before it.
func (c *Code) Chars() int { c.fix(); return utf8.RuneCountInString(c.lines[c.at.Line][:c.at.Byte]) }

// AtEnd reports whether nothing but blanks follows the cursor.
func (c *Code) AtEnd() bool {
	c.fix()
	if strings.TrimSpace(c.lines[c.at.Line][c.at.Byte:]) != "" {
		return false
	}
	for _, l := range c.lines[c.at.Line+1:] {
		if strings.TrimSpace(l) != "" {
			return false
		}
	}
	return true
}

// Word is the letters before the cursor that belong to one name.
func (c *Code) Word() string {
	c.fix()
	s := c.lines[c.at.Line][:c.at.Byte]
	return s[wordStart(s):]
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordStart(s string) int {
	for len(s) > 0 {
		r, n := utf8.DecodeLastRuneInString(s)
		if !isWord(r) {
			break
		}
		s = s[:len(s)-n]
	}
	return len(s)
}

// Complete puts a word in the place of that before the cursor.
func (c *Code) Complete(word string) {
	w := c.Word()
	c.joining = ""
	c.replace(Place{c.at.Line, c.at.Byte - len(w)}, c.at, word, "")
}

// Replace puts text in the place of what is between from and to, as one step of the undo. The cursor
// goes behind the text.
func (c *Code) Replace(from, to Place, text string) {
	c.fix()
	c.joining = ""
	from, to = c.near(from), c.near(to)
	if to.before(from) {
		from, to = to, from
	}
	c.replace(from, to, text, "")
}

// Together makes all changes of f one step of the undo.
func (c *Code) Together(f func()) {
	c.fix()
	if c.open == 0 {
		c.step++
		c.joining = ""
	}
	c.open++
	f()
	c.open--
}

// replace is the only function that changes the text. kind joins it with the change before.
func (c *Code) replace(from, to Place, text, kind string) {
	out := c.between(from, to)
	parts := split(text)
	text = strings.Join(parts, "\n")
	if out == text {
		c.at, c.want = c.put(from, to, parts), -1
		return
	}
	cur := c.at
	if c.open == 0 && (kind == "" || kind != c.joining) {
		c.step++
	}
	c.joining = kind
	c.undone = nil
	end := c.put(from, to, parts)
	c.at, c.want = end, -1
	n := len(c.log)
	if kind == "type" && n > 0 && c.log[n-1].step == c.step && c.log[n-1].end == from && out == "" {
		c.log[n-1].in += text // a word is one change, however long
		c.log[n-1].end = end
		return
	}
	c.log = append(c.log, change{from: from, out: out, in: text, step: c.step, cur: cur, end: end})
}

// between is the text between two places.
func (c *Code) between(from, to Place) string {
	if from.Line == to.Line {
		return c.lines[from.Line][from.Byte:to.Byte]
	}
	var b strings.Builder
	b.WriteString(c.lines[from.Line][from.Byte:])
	for _, l := range c.lines[from.Line+1 : to.Line] {
		b.WriteByte('\n')
		b.WriteString(l)
	}
	b.WriteByte('\n')
	b.WriteString(c.lines[to.Line][:to.Byte])
	return b.String()
}

// put replaces without a log and gives the place behind.
func (c *Code) put(from, to Place, parts []string) Place {
	c.version++
	head, tail := c.lines[from.Line][:from.Byte], c.lines[to.Line][to.Byte:]
	last := len(parts) - 1
	end := Place{from.Line + last, len(parts[last])}
	if last == 0 {
		end.Byte += len(head)
		c.lines[from.Line] = head + parts[0] + tail
		if to.Line > from.Line {
			c.lines = slices.Delete(c.lines, from.Line+1, to.Line+1)
		}
	} else {
		parts = slices.Clone(parts)
		parts[0] = head + parts[0]
		parts[last] += tail
		c.lines = slices.Replace(c.lines, from.Line, to.Line+1, parts...)
	}
	c.look.changed(from.Line)
	return end
}

// Undo takes the newest step back; false if there is none.
func (c *Code) Undo() bool {
	n := len(c.log)
	if n == 0 {
		return false
	}
	c.joining = ""
	step := c.log[n-1].step
	for n > 0 && c.log[n-1].step == step {
		ch := c.log[n-1]
		c.put(ch.from, ending(ch.from, ch.in), strings.Split(ch.out, "\n"))
		c.at, c.want = ch.cur, -1
		c.undone = append(c.undone, ch)
		n--
	}
	c.log = c.log[:n]
	return true
}

// Redo does again what Undo took back last; false if nothing was, or the text changed since.
func (c *Code) Redo() bool {
	n := len(c.undone)
	if n == 0 {
		return false
	}
	c.joining = ""
	step := c.undone[n-1].step
	for n > 0 && c.undone[n-1].step == step {
		ch := c.undone[n-1]
		c.put(ch.from, ending(ch.from, ch.out), strings.Split(ch.in, "\n"))
		c.at, c.want = ch.end, -1
		c.log = append(c.log, ch)
		n--
	}
	c.undone = c.undone[:n]
	return true
}

// ending is where text ends that begins at from.
func ending(from Place, text string) Place {
	n := strings.Count(text, "\n")
	if n == 0 {
		return Place{from.Line, from.Byte + len(text)}
	}
	return Place{from.Line + n, len(text) - strings.LastIndexByte(text, '\n') - 1}
}

// cells is the width of a text as it is drawn.
func cells(s string) int { return safe.Width(safe.Text(s, 0)) }

// byteAt is the byte of a line that cell x falls on.
func byteAt(s string, x int) int {
	i := 0
	for i < len(s) {
		g, _ := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		if g == "" {
			break
		}
		if x -= cells(g); x < 0 {
			break
		}
		i += len(g)
	}
	return i
}
