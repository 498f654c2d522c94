package lab

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"streamlab/errs"
)

// page is the text of a lab as bytes, for edits: it finds where keys and values begin and end.
type page struct {
	text  []byte
	lines []int // where each line begins
}

func newPage(text []byte) *page {
	p := &page{text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	return p
}

// offset is where a place in characters lies in bytes; -1 if the text has no such place.
func (p *page) offset(pos errs.Pos) int {
	if pos.Line < 1 || pos.Line > len(p.lines) {
		return -1
	}
	at := p.lines[pos.Line-1]
	for range pos.Col - 1 {
		if at >= len(p.text) || p.text[at] == '\n' {
			break
		}
		_, n := utf8.DecodeRune(p.text[at:])
		at += n
	}
	return at
}

// lineEnd is the offset of the line break, or of the end of the text, at or after at.
func (p *page) lineEnd(at int) int {
	if i := bytes.IndexByte(p.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(p.text)
}

// column is how many bytes stand in front of at in its line.
func (p *page) column(at int) int { return at - (bytes.LastIndexByte(p.text[:at], '\n') + 1) }

// extent is where an entry of a mapping lies: its key begins at key, the value goes from value to end. The
// value of a block that begins on the next line begins right after the colon.
type extent struct {
	key, value, end int
	flow            bool
}

// extentOf finds an entry. ok is false for texts that it does not understand, such as a complex key.
func (p *page) extentOf(e entry, flow bool) (x extent, ok bool) {
	x.key, x.flow = p.offset(e.pos), flow
	if x.key < 0 || x.key >= len(p.text) {
		return x, false
	}
	at := p.skipScalar(x.key, true)
	if at >= len(p.text) || p.text[at] != ':' {
		return x, false
	}
	x.value = at + 1
	for x.value < len(p.text) && (p.text[x.value] == ' ' || p.text[x.value] == '\t') {
		x.value++
	}
	if flow {
		x.end = p.flowEnd(x.value)
	} else {
		x.end = p.blockEnd(x.key, at+1, e.val.kind == listKind)
	}
	if x.value < len(p.text) && p.text[x.value] == '\n' || x.value > x.end {
		x.value = at + 1
	}
	x.end = max(x.end, x.value)
	return x, true
}

// skipScalar is the offset behind a scalar on one line; of a key without quotes, that of the colon.
func (p *page) skipScalar(at int, key bool) int {
	if q := p.text[at]; q == '\'' || q == '"' {
		for i := at + 1; i < len(p.text); i++ {
			switch {
			case p.text[i] == '\\' && q == '"':
				i++
			case p.text[i] == q && q == '\'' && i+1 < len(p.text) && p.text[i+1] == q:
				i++
			case p.text[i] == q:
				return i + 1
			}
		}
		return len(p.text)
	}
	for i := at; i < len(p.text); i++ {
		if c := p.text[i]; c == '\n' || c == ':' && key && (i+1 == len(p.text) || strings.IndexByte(" \t\r\n", p.text[i+1]) >= 0) {
			return i
		}
	}
	return len(p.text)
}

// flowEnd is where a value inside braces or brackets ends.
func (p *page) flowEnd(at int) int {
	depth, last := 0, at
	for i := at; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case '\'', '"':
			if i == at || strings.IndexByte(" ,:[{\n", p.text[i-1]) >= 0 {
				i = p.skipScalar(i, false) - 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return last
			}
			depth--
		case ',':
			if depth == 0 {
				return last
			}
		case ' ', '\t', '\r', '\n':
			continue
		}
		last = i + 1
	}
	return last
}

// blockEnd is where an entry ends whose key begins at key: before the first line that is not indented deeper.
// Blank lines and comments at its end do not belong to it.
func (p *page) blockEnd(key, at int, list bool) int {
	indent := p.column(key)
	end := p.contentEnd(at)
	for next := p.lineEnd(at) + 1; next < len(p.text); next = p.lineEnd(next) + 1 {
		line := p.text[next:p.lineEnd(next)]
		body := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(body)) == 0 {
			continue
		}
		deep := len(line) - len(body)
		if deep <= indent && !(list && deep == indent && (bytes.HasPrefix(body, []byte("- ")) || string(body) == "-")) {
			break
		}
		if body[0] == '#' && deep <= indent {
			continue
		}
		end = next + len(bytes.TrimRight(line, " \t\r"))
	}
	return end
}

// contentEnd is where the content of a line ends that may close with a comment; the line begins at or before
// at. In a text between quotes a # is no comment.
func (p *page) contentEnd(at int) int {
	end := p.lineEnd(at)
	i := at
	for i < end && (p.text[i] == ' ' || p.text[i] == '\t') {
		i++
	}
	for ; i < end; i++ {
		if c := p.text[i]; c == '\'' || c == '"' {
			if j := p.skipScalar(i, false); strings.IndexByte(" ,:[{\t", p.text[i-1]) >= 0 && j <= end {
				i = j - 1
			}
		} else if c == '#' && (p.text[i-1] == ' ' || p.text[i-1] == '\t') {
			end = i
		}
	}
	return at + len(bytes.TrimRight(p.text[at:end], " \t\r"))
}
