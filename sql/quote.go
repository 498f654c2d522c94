package sql

import "strings"

// QuoteName writes one part of a name so that it reads back as that part: in back quotes unless it is a
// plain word without a meaning in the grammar.
func QuoteName(s string) string {
	if s != "" && !IsKeyword(strings.ToUpper(s)) && plainWord(s) {
		return s
	}
	return "`" + strings.ReplaceAll(s, "`", "``") + "`"
}

func plainWord(s string) bool {
	l := lexer{text: s}
	t := l.next()
	return t.Kind == Word && t.End == len(s) && len(s) > 0
}

// QuoteNames writes a name of several parts.
func QuoteNames(parts []string) string {
	out := make([]string, len(parts))
	for i, s := range parts {
		out[i] = QuoteName(s)
	}
	return strings.Join(out, ".")
}

// quoteString writes a string literal that reads back as s under the default settings.
func quoteString(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (s[i+1] == '%' || s[i+1] == '_'): // the backslash stays
			b.WriteByte(c)
		case c == '\\' || c == '\'':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == 0:
			b.WriteString(`\u0000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
