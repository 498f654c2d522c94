package screen

import (
	"strings"

	"streamlab/sql"
	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// What a line of SQL leaves open for the next: a quote, or comments within comments.
const (
	openSingle  uint64 = 1 + iota // '
	openDouble                    // "
	openBack                      // `
	openComment                   // the first of as many as are open
)

// highlightSQL colours a line with the engine's own lexer: what it takes for a keyword, a string or a
// mistake is coloured as one. A line that begins within something is read with its opener in front.
func highlightSQL(state uint64, line string) ([]widget.Span, uint64) {
	head := ""
	switch {
	case state == openSingle:
		head = "'"
	case state == openDouble:
		head = `"`
	case state == openBack:
		head = "`"
	case state >= openComment:
		head = strings.Repeat("/*", int(min(state-openComment, 100))+1)
	}
	var out []widget.Span
	state = 0
	for _, t := range sql.Lex(head + line) {
		from, to := max(0, t.Start-len(head)), t.End-len(head)
		var st canvas.Style
		switch t.Kind {
		case sql.Word:
			if sql.IsKeyword(t.Upper) {
				st = canvas.Accent | canvas.Bold
			}
		case sql.String:
			st = canvas.OK
		case sql.Number:
			st = canvas.Warn
		case sql.Comment:
			st = canvas.Muted
		case sql.Bad:
			st = canvas.Error
			if s, style := opens(head+line, t); s != 0 {
				state, st = s, style
			}
		}
		if st != canvas.Text && to > from {
			out = append(out, widget.Span{From: from, To: to, Style: st})
		}
	}
	return out, state
}

// opens tells what an unfinished token leaves open, and how it looks.
func opens(line string, t sql.Token) (uint64, canvas.Style) {
	text := line[t.Start:]
	switch {
	case strings.HasPrefix(text, "/*"):
		depth := 0
		for i := 0; i+1 < len(text); i++ {
			switch text[i : i+2] {
			case "/*":
				depth++
				i++
			case "*/":
				depth--
				i++
			}
		}
		return openComment + uint64(max(0, depth-1)), canvas.Muted
	case t.End < len(line):
		return 0, canvas.Error // a character that begins nothing
	case text[0] == '`':
		return openBack, canvas.Text
	case text[0] == '"', len(text) > 1 && text[1] == '"' && (text[0]|0x20) == 'r':
		return openDouble, canvas.OK
	case text[0] == '\'', len(text) > 1 && text[1] == '\'' && (text[0]|0x20) == 'r':
		return openSingle, canvas.OK
	}
	return 0, canvas.Error
}

// The state between lines of a lab file: what SQL leaves open in the low byte, then whether a block
// scalar is open, whether it is SQL, and how far its key is indented.
const (
	inBlock     = 1 << 8
	inSQL       = 1 << 9
	indentShift = 16
)

// highlightLab colours a line of a lab file: keys, comments, texts in quotes, and SQL where SQL stands.
func highlightLab(state uint64, line string) ([]widget.Span, uint64) {
	body := strings.TrimLeft(line, " ")
	indent := uint64(len(line) - len(body))
	if state&inBlock != 0 {
		if body == "" || indent > state>>indentShift {
			if state&inSQL == 0 {
				return nil, state
			}
			spans, open := highlightSQL(state&0xff, line)
			return spans, state&^0xff | open&0xff
		}
	}
	var out []widget.Span
	add := func(from, to int, st canvas.Style) {
		if to > from {
			out = append(out, widget.Span{From: from, To: to, Style: st})
		}
	}
	at := len(line) - len(body)
	for strings.HasPrefix(body, "- ") {
		at, body = at+2, body[2:]
		rest := strings.TrimLeft(body, " ")
		at, body = at+len(body)-len(rest), rest
	}
	key := ""
	if n := keyEnd(body); n >= 0 {
		key = strings.Trim(body[:n], `"'`)
		add(at, at+n, canvas.Accent)
		indent = uint64(at)
		rest := strings.TrimLeft(body[n+1:], " ")
		at, body = len(line)-len(rest), rest
	}
	isSQL := key == "sql" || key == "foreachBatch"
	switch value := strings.TrimRight(comment(body), " "); {
	case strings.HasPrefix(body, "#"):
		add(at, len(line), canvas.Muted)
	case len(value) > 0 && (value[0] == '|' || value[0] == '>') && strings.Trim(value[1:], "+-0123456789") == "":
		state = inBlock | indent<<indentShift
		if isSQL || key == "" || sqlViews(line, key) {
			state |= inSQL
		}
		add(at+len(value), len(line), canvas.Muted)
		return out, state
	case isSQL && value != "" && value[0] != '"' && value[0] != '\'' && value[0] != '[' && value[0] != '{':
		spans, _ := highlightSQL(0, value)
		for _, s := range spans {
			add(at+s.From, at+s.To, s.Style)
		}
		add(at+len(value), len(line), canvas.Muted)
	default:
		plainYAML(body, at, add)
	}
	return out, 0
}

// sqlViews takes a block under a key of its own choosing for SQL: under views a name stands for SQL.
func sqlViews(line, key string) bool {
	return !strings.Contains(" about teaches lesson why do predict answer note text why ", " "+key+" ")
}

// keyEnd is where the key of a line ends, at its colon; -1 if it has none.
func keyEnd(s string) int {
	if s == "" || strings.ContainsRune("#[{|>&*!", rune(s[0])) {
		return -1
	}
	if s[0] == '"' || s[0] == '\'' {
		if n := strings.IndexByte(s[1:], s[0]); n >= 0 && strings.HasPrefix(s[n+2:], ":") {
			return n + 2
		}
		return -1
	}
	for i := 0; i < len(s); i++ {
		if s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ') {
			return i
		}
		if s[i] == '#' && i > 0 && s[i-1] == ' ' {
			return -1
		}
	}
	return -1
}

// comment is a value without the comment behind it.
func comment(s string) string {
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:", s[i-1]) >= 0):
			quote = c
		case c == '#' && (i == 0 || s[i-1] == ' '):
			return s[:i]
		}
	}
	return s
}

// plainYAML colours a value: texts in quotes, numbers, true and false, a comment, keys of {a: b}.
func plainYAML(s string, at int, add func(from, to int, st canvas.Style)) {
	value := comment(s)
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case c == '"' || c == '\'':
			j := i + 1
			for j < len(value) && value[j] != c {
				if c == '"' && value[j] == '\\' {
					j++
				}
				j++
			}
			j = min(j+1, len(value))
			add(at+i, at+j, canvas.OK)
			i = j
		case strings.IndexByte(" ,[]{}:", c) >= 0:
			i++
		default:
			j := i
			for j < len(value) && strings.IndexByte(",[]{}", value[j]) < 0 && !(value[j] == ':' && (j+1 == len(value) || value[j+1] == ' ')) {
				j++
			}
			word := strings.TrimRight(value[i:j], " ")
			switch {
			case j < len(value) && value[j] == ':':
				add(at+i, at+j, canvas.Accent)
			case word == "true" || word == "false" || word == "null":
				add(at+i, at+i+len(word), canvas.Warn)
			case strings.Trim(word, "0123456789.-") == "" && word != "":
				add(at+i, at+i+len(word), canvas.Warn)
			}
			i = max(j, i+1)
		}
	}
	add(at+len(value), at+len(s), canvas.Muted)
}
