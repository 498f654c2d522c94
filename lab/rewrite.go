package lab

import (
	"strings"
	"unicode/utf8"

	"streamlab/errs"
)

// The edits of this file are the few that fixes are made of. Each gives nil where it does not know how: a
// candidate without edits is no candidate.

func (v *value) entry(key string) (entry, bool) {
	if v != nil {
		for _, e := range v.keys {
			if e.key == key {
				return e, true
			}
		}
	}
	return entry{}, false
}

// setKey gives key of a mapping a value that fits on one line.
func (p *page) setKey(m *value, key, text string) []Edit {
	if m == nil || m.kind != mapKind {
		return nil
	}
	if e, ok := m.entry(key); ok {
		x, ok := p.extentOf(e, m.flow)
		if !ok {
			return nil
		}
		return []Edit{{x.value, x.end, p.spaced(x) + text}}
	}
	return p.addKey(m, key, text)
}

// spaced is the space that a value needs in front when it takes the place of a block on the next line.
func (p *page) spaced(x extent) string {
	if p.text[x.value-1] == ':' {
		return " "
	}
	return ""
}

// addKey puts a key behind the last one of a mapping. Lines of text after the first are indented as they stand,
// counted from the key.
func (p *page) addKey(m *value, key, text string) []Edit {
	if m == nil || len(m.keys) == 0 {
		return nil
	}
	last, ok := p.extentOf(m.keys[len(m.keys)-1], m.flow)
	if !ok {
		return nil
	}
	sep := " "
	if strings.HasPrefix(text, "\n") {
		sep = ""
	}
	if m.flow {
		if strings.Contains(text, "\n") {
			return nil
		}
		return []Edit{{last.end, last.end, ", " + key + ":" + sep + text}}
	}
	indent := "\n" + strings.Repeat(" ", p.column(last.key))
	return []Edit{{last.end, last.end, indent + key + ":" + sep + strings.ReplaceAll(text, "\n", indent)}}
}

// dropKey takes a key out of a mapping; nil if it is not there, or the only one.
func (p *page) dropKey(m *value, key string) []Edit {
	if m == nil || len(m.keys) < 2 {
		return nil
	}
	for i, e := range m.keys {
		if e.key != key {
			continue
		}
		x, ok := p.extentOf(e, m.flow)
		if !ok {
			return nil
		}
		if i+1 < len(m.keys) { // up to the next key, whose place it takes
			next := p.offset(m.keys[i+1].pos)
			return []Edit{{x.key, next, ""}}
		}
		before, ok := p.extentOf(m.keys[i-1], m.flow)
		if !ok {
			return nil
		}
		return []Edit{{before.end, x.end, ""}}
	}
	return nil
}

// setIn gives a key of a mapping inside a mapping a value, and makes the inner one if it is missing.
func (p *page) setIn(m *value, outer, key, text string) []Edit {
	if e, ok := m.entry(outer); ok && e.val.kind == mapKind && len(e.val.keys) > 0 {
		return p.setKey(e.val, key, text)
	}
	return p.setKey(m, outer, "{"+key+": "+text+"}")
}

// setScalar writes another text where a scalar stands.
func (p *page) setScalar(m *value, key, text string) []Edit {
	if e, ok := m.entry(key); !ok || e.val.kind != scalarKind {
		return nil
	}
	return p.setKey(m, key, yamlText(text))
}

// rename gives an entry of a mapping another key.
func (p *page) rename(pos errs.Pos, to string) []Edit {
	at := p.offset(pos)
	if at < 0 || at >= len(p.text) {
		return nil
	}
	end := p.skipScalar(at, true)
	return []Edit{{at, end, to}}
}

// splice is a change inside the value of a key: the bytes from up to to of the value become text. A value that
// does not stand in the file as it is (folded, escaped) is written anew.
func (p *page) splice(m *value, key string, from, to int, text string) []Edit {
	e, ok := m.entry(key)
	if !ok || e.val.kind != scalarKind || from < 0 || to < from || to > len(e.val.scalar) {
		return nil
	}
	v := e.val
	changed := v.scalar[:from] + text + v.scalar[to:]
	if v.block {
		if a, b := p.inBlock(v, from), p.inBlock(v, to); a >= 0 && b >= a && p.sameLines(v, a, b, from, to) {
			return []Edit{{a, b, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", v.indent))}}
		}
	} else if x, ok := p.extentOf(e, m.flow); ok {
		raw := string(p.text[x.value:x.end])
		switch {
		case raw == v.scalar && plainFits(changed, m.flow):
			return []Edit{{x.value + from, x.value + to, text}}
		case raw == `"`+v.scalar+`"` && !strings.ContainsAny(text, "\"\\\n"):
			return []Edit{{x.value + 1 + from, x.value + 1 + to, text}}
		}
	}
	if strings.Contains(strings.TrimRight(changed, "\n"), "\n") && !m.flow {
		return p.setKey(m, key, block(changed, p.column(p.offset(e.pos))))
	}
	return p.setKey(m, key, yamlText(strings.TrimRight(changed, "\n")))
}

// block writes a text of several lines as a literal block below a key in the column.
func block(text string, column int) string {
	indent := "\n" + strings.Repeat(" ", column+2)
	return "|" + indent + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", indent)
}

// inBlock is where a byte of a literal block's value lies in the file; -1 if nowhere.
func (p *page) inBlock(v *value, at int) int {
	line := strings.Count(v.scalar[:at], "\n")
	start := strings.LastIndexByte(v.scalar[:at], '\n') + 1
	n := v.pos.Line - 1 + line
	if n >= len(p.lines) {
		return -1
	}
	return p.lines[n] + v.indent + at - start
}

// sameLines makes sure that the file has what the value has.
func (p *page) sameLines(v *value, a, b, from, to int) bool {
	if b > len(p.text) {
		return false
	}
	raw := strings.ReplaceAll(string(p.text[a:b]), "\n"+strings.Repeat(" ", v.indent), "\n")
	return raw == v.scalar[from:to]
}

// plainFits tells whether a text may stand without quotes.
func plainFits(s string, flow bool) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") ||
		strings.ContainsAny(s, "\n\t") || !utf8.ValidString(s) || strings.ContainsRune("!&*-?|>@`'\"%{}[],#=<", rune(s[0])) {
		return false
	}
	return !flow || !strings.ContainsAny(s, ",[]{}:")
}

// yamlText writes a text as a YAML scalar on one line.
func yamlText(s string) string {
	if plainFits(s, true) {
		return s
	}
	if strings.ContainsAny(s, "\n\t\r") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s) + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
