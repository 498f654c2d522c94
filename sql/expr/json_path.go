package expr

import "strings"

// jsonPath is a parsed path of get_json_object.
type jsonPath struct {
	text  string
	ok    bool
	steps []jsonStep
	wild  bool
	both  bool // names in brackets may stand in double quotes, too
}

type jsonStep struct {
	name  string
	index int // -1: by name; -2: every element; -3: every value of an object
}

func (p *jsonPath) parse(text []byte) bool {
	if p.text == string(text) && p.text != "" {
		return p.ok
	}
	*p = jsonPath{text: string(text), both: p.both}
	s := p.text
	if s == "" || s[0] != '$' {
		return false
	}
	s = s[1:]
	for s != "" {
		switch {
		case strings.HasPrefix(s, ".*"):
			p.steps, p.wild, s = append(p.steps, jsonStep{index: -3}), true, s[2:]
		case s[0] == '.':
			n := 1
			for n < len(s) && s[n] != '.' && s[n] != '[' {
				n++
			}
			if n == 1 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{s[1:n], -1}), s[n:]
		case strings.HasPrefix(s, "[*]"):
			p.steps, p.wild, s = append(p.steps, jsonStep{index: -2}), true, s[3:]
		case strings.HasPrefix(s, "['"), p.both && strings.HasPrefix(s, `["`):
			n := strings.Index(s, s[1:2]+"]")
			if n < 3 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{s[2:n], -1}), s[n+2:]
		case s[0] == '[':
			n := strings.IndexByte(s, ']')
			if n < 0 {
				return false
			}
			i, ok := parseIntBytes([]byte(s[1:n]))
			if !ok || i < 0 {
				return false
			}
			p.steps, s = append(p.steps, jsonStep{"", int(i)}), s[n+1:]
		default:
			return false
		}
	}
	p.ok = true
	return true
}

// extract appends what the path finds.
func (p *jsonPath) extract(sc *jsonScanner, dst []byte) ([]byte, bool) {
	i := sc.space(0)
	end := sc.skip(i)
	if end < 0 {
		return dst, false
	}
	if !p.wild {
		for _, st := range p.steps {
			at, atEnd := st.find(sc, i)
			if at < 0 {
				return dst, false
			}
			i, end = at, atEnd
		}
		switch sc.s[i] {
		case 'n':
			return dst, false
		case '"', '\'':
			return appendUnquoted(dst, sc.s[i:end]), true
		}
		return sc.appendCompact(dst, i, end), true
	}
	start, hits := len(dst), 0
	dst = append(dst, '[')
	var walk func(i, end int, steps []jsonStep)
	walk = func(i, end int, steps []jsonStep) {
		if len(steps) == 0 {
			if hits > 0 {
				dst = append(dst, ',')
			}
			hits++
			dst = sc.appendCompact(dst, i, end)
			return
		}
		switch st := steps[0]; st.index {
		case -2:
			if sc.s[i] == '[' {
				sc.items(i, func(v, e int) bool { walk(v, e, steps[1:]); return true })
			}
		case -3:
		default:
			if at, e := st.find(sc, i); at >= 0 {
				walk(at, e, steps[1:])
			}
		}
	}
	walk(i, end, p.steps)
	switch hits {
	case 0:
		return dst[:start], false
	case 1: // one hit is not wrapped
		return append(dst[:start], dst[start+1:]...), true
	}
	return append(dst, ']'), true
}

func (st jsonStep) find(sc *jsonScanner, i int) (at, end int) {
	at = -1
	switch {
	case st.index >= 0 && sc.s[i] == '[':
		n := 0
		sc.items(i, func(v, e int) bool {
			if n == st.index {
				at, end = v, e
				return false
			}
			n++
			return true
		})
	case st.index == -1 && sc.s[i] == '{':
		var buf [64]byte
		sc.members(i, func(name, nameEnd, v, e int) bool {
			if string(appendUnquoted(buf[:0], sc.s[name:nameEnd])) == st.name {
				at, end = v, e
				return false
			}
			return true
		})
	}
	return at, end
}
