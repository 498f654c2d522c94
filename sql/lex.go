package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// TokenKind says what a token is.
type TokenKind uint8

// The kinds.
const (
	EOF     TokenKind = iota
	Word              // identifier or keyword as written
	Quoted            // `name`: Text is the name
	String            // '…' or "…": Text is the value
	Number            // digits with an optional suffix
	Symbol            // operator or punctuation
	Comment           // only Lex gives these
	Bad               // a character that begins nothing, or an unclosed quote
)

// Token is one word of the text.
type Token struct {
	Kind TokenKind
	Span
	Text  string // value of strings and quoted names, else as written
	Upper string // of words and numbers, for keyword tests
}

// Lex divides text into tokens, comments included, the last one EOF. It never fails: what is no token is Bad.
func Lex(text string) []Token {
	return lexAll(text, Options{})
}

func lexAll(text string, opts Options) []Token {
	l := lexer{text: text, opts: opts}
	out := make([]Token, 0, len(text)/4+1)
	for {
		t := l.next()
		out = append(out, t)
		if t.Kind == EOF {
			return out
		}
	}
}

type lexer struct {
	text string
	pos  int
	opts Options
}

// symbols of more than one character. Shifts are not here: types close with >>, so the parser puts shifts
// together. */ is one as in Spark, where it ends a hint, and so is never an operator.
var symbols = []string{"<=>", "||", "|>", "::", "->", "=>", "==", "!=", "<>", "<=", ">=", "!>", "!<", "*/"}

func (l *lexer) next() Token {
	s := l.text
	for l.pos < len(s) {
		c := s[l.pos]
		if c == ' ' || c >= '\t' && c <= '\r' {
			l.pos++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRuneInString(s[l.pos:])
		if !unicode.IsSpace(r) && r != 0x200b && r != 0xfeff {
			break
		}
		l.pos += n
	}
	start := l.pos
	tok := func(k TokenKind, end int, text string) Token {
		l.pos = end
		t := Token{Kind: k, Span: Span{start, end}, Text: text}
		if k == Word {
			t.Upper = strings.ToUpper(text)
		}
		return t
	}
	if start >= len(s) {
		return tok(EOF, start, "")
	}
	c := s[start]
	switch {
	case strings.HasPrefix(s[start:], "--"):
		end := start
		for end < len(s) && s[end] != '\n' {
			if s[end] == '\\' && end+1 < len(s) && s[end+1] == '\n' {
				end++
			}
			end++
		}
		return tok(Comment, end, s[start:end])
	case strings.HasPrefix(s[start:], "/*"):
		depth, end := 0, start
		for end < len(s) {
			switch {
			case strings.HasPrefix(s[end:], "/*"):
				depth++
				end += 2
			case strings.HasPrefix(s[end:], "*/"):
				depth--
				end += 2
			default:
				end++
			}
			if depth == 0 {
				return tok(Comment, end, s[start:end])
			}
		}
		return tok(Bad, len(s), s[start:])
	case c == '`':
		return l.quoted(start)
	case c == '"' && l.opts.DoubleQuotedIdentifiers:
		return l.quoted(start)
	case c == '\'' || c == '"':
		return l.str(start, start, l.opts.EscapedStringLiterals)
	case (c == 'r' || c == 'R') && start+1 < len(s) && (s[start+1] == '\'' || s[start+1] == '"'):
		return l.str(start, start+1, true)
	case c >= '0' && c <= '9' || c == '.' && start+1 < len(s) && s[start+1] >= '0' && s[start+1] <= '9':
		return l.number(start)
	case isLetter(s[start:]):
		end := start
		for end < len(s) && isWordByte(s[end:]) {
			_, n := utf8.DecodeRuneInString(s[end:])
			end += n
		}
		return tok(Word, end, s[start:end])
	}
	for _, y := range symbols {
		if strings.HasPrefix(s[start:], y) {
			if y == "*/" && strings.HasPrefix(s[start+2:], "*") { // a product before a comment: 2*/*c*/3
				continue
			}
			return tok(Symbol, start+len(y), y)
		}
	}
	if strings.IndexByte("+-*/%~&|^=<>!()[]{},.;:?@$", c) >= 0 {
		return tok(Symbol, start+1, s[start:start+1])
	}
	_, n := utf8.DecodeRuneInString(s[start:])
	return tok(Bad, start+n, s[start:start+n])
}

// quoted reads an identifier in back quotes or, where the setting says so, double quotes.
func (l *lexer) quoted(start int) Token {
	s := l.text
	q := s[start]
	var b strings.Builder
	for i := start + 1; i < len(s); i++ {
		if s[i] == q {
			if i+1 == len(s) || s[i+1] != q {
				l.pos = i + 1
				return Token{Kind: Quoted, Span: Span{start, i + 1}, Text: b.String()}
			}
			i++
		}
		b.WriteByte(s[i])
	}
	l.pos = len(s)
	return Token{Kind: Bad, Span: Span{start, len(s)}, Text: s[start:]}
}

func isLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 && unicode.IsLetter(r)
}

func isWordByte(s string) bool { return s[0] >= '0' && s[0] <= '9' || isLetter(s) }

// number reads digits, fraction, exponent and a suffix (L, S, Y, D, F, BD). Digits that run into letters are
// an identifier, as in Spark: 1a.
func (l *lexer) number(start int) Token {
	s := l.text
	i := start
	digits := func() {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
	}
	digits()
	dot := false
	if i < len(s) && s[i] == '.' {
		dot = true
		i++
		digits()
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			i = j
			digits()
		}
	}
	for _, suffix := range []string{"BD", "L", "S", "Y", "D", "F"} {
		if len(s)-i >= len(suffix) && strings.EqualFold(s[i:i+len(suffix)], suffix) &&
			(i+len(suffix) == len(s) || !isWordByte(s[i+len(suffix):])) {
			i += len(suffix)
			break
		}
	}
	kind := Number
	if i < len(s) && isWordByte(s[i:]) && !dot {
		for i < len(s) && isWordByte(s[i:]) {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
		}
		kind = Word
	}
	l.pos = i
	t := Token{Kind: kind, Span: Span{start, i}, Text: s[start:i]}
	t.Upper = strings.ToUpper(t.Text)
	return t
}

// str reads a string that opens at quote; start is where the token begins.
func (l *lexer) str(start, quote int, raw bool) Token {
	s := l.text
	q := s[quote]
	var b strings.Builder
	doubled, before := -1, 0 // index of the last doubled quote, and the value up to it
	for i := quote + 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == q:
			if i+1 < len(s) && s[i+1] == q {
				doubled, before = i, b.Len()
				b.WriteByte(q)
				i++
				continue
			}
			l.pos = i + 1
			return Token{Kind: String, Span: Span{start, i + 1}, Text: b.String()}
		case c == '\\' && !raw && i+1 < len(s):
			i = unescape(s, i, &b)
		default:
			b.WriteByte(c)
		}
	}
	if doubled >= 0 { // what is unclosed is the string that begins there: 'a''b is 'a' and then 'b
		l.pos = doubled + 1
		return Token{Kind: String, Span: Span{start, doubled + 1}, Text: b.String()[:before]}
	}
	l.pos = len(s)
	return Token{Kind: Bad, Span: Span{start, len(s)}, Text: s[start:]}
}

// unescape reads the escape at s[i] (a backslash that is not last) and returns the index of its last byte.
func unescape(s string, i int, b *strings.Builder) int {
	hex := func(from, n int) (rune, bool) {
		if from+n > len(s) {
			return 0, false
		}
		var r rune
		for _, c := range []byte(s[from : from+n]) {
			switch {
			case c >= '0' && c <= '9':
				r = r<<4 | rune(c-'0')
			case c >= 'a' && c <= 'f':
				r = r<<4 | rune(c-'a'+10)
			case c >= 'A' && c <= 'F':
				r = r<<4 | rune(c-'A'+10)
			default:
				return 0, false
			}
		}
		return r, true
	}
	c := s[i+1]
	switch c {
	case '0', '1', '2', '3':
		if i+3 < len(s) && s[i+2] >= '0' && s[i+2] <= '7' && s[i+3] >= '0' && s[i+3] <= '7' {
			b.WriteRune(rune(c-'0')<<6 | rune(s[i+2]-'0')<<3 | rune(s[i+3]-'0'))
			return i + 3
		}
		if c == '0' {
			b.WriteByte(0)
			return i + 1
		}
	case 'u':
		if r, ok := hex(i+2, 4); ok {
			if r >= 0xd800 && r < 0xdc00 && i+11 < len(s) && s[i+6] == '\\' && s[i+7] == 'u' {
				if lo, ok := hex(i+8, 4); ok && lo >= 0xdc00 && lo < 0xe000 {
					b.WriteRune((r-0xd800)<<10 + (lo - 0xdc00) + 0x10000)
					return i + 11
				}
			}
			b.WriteRune(r)
			return i + 5
		}
	case 'U':
		if r, ok := hex(i+2, 8); ok {
			b.WriteRune(r)
			return i + 9
		}
	case 'b':
		b.WriteByte('\b')
		return i + 1
	case 'n':
		b.WriteByte('\n')
		return i + 1
	case 'r':
		b.WriteByte('\r')
		return i + 1
	case 't':
		b.WriteByte('\t')
		return i + 1
	case 'Z':
		b.WriteByte(26)
		return i + 1
	case '%', '_':
		b.WriteByte('\\')
		b.WriteByte(c)
		return i + 1
	}
	r, n := utf8.DecodeRuneInString(s[i+1:])
	b.WriteRune(r)
	return i + n
}
