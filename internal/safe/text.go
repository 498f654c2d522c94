// Package safe makes text from outside fit for a terminal. A value read from Kafka may hold an escape
// sequence that rewrites the screen, sets the clipboard or answers a question nobody asked; a file name
// may run from right to left over the border of its column. Whatever a terminal would obey is replaced
// by something it only shows.
//
// The drawing layer takes Line and nothing else, so text cannot reach the screen without passing here.
// Constants in the program convert to Line by themselves, which is what we want: those we wrote.
package safe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A Line is one line of text without control functions. Make it with Text, Lines or a constant.
type Line string

// Ellipsis ends text that was cut.
const Ellipsis = "…"

// Text makes one line of s. Control characters become pictures (␛, ␊), invisible and direction
// changing characters their code in brackets (⟨202E⟩), bytes that are not UTF-8 the replacement
// character, tabs four spaces. With limit > 0 the line is cut to limit cells and ends in "…" if it was
// longer; the work is bounded by limit, not by the length of s.
func Text(s string, limit int) Line {
	if limit > 0 {
		// A cell never takes more than a few dozen bytes of honest text: the rest is not looked at.
		if most := limit*32 + 64; len(s) > most {
			for most > 0 && !utf8.RuneStart(s[most]) {
				most--
			}
			return cut(clean(s[:most]), limit, true)
		}
	}
	l := clean(s)
	if limit <= 0 {
		return l
	}
	return cut(l, limit, false)
}

// Lines makes one line of each line of s. "\r\n" ends a line as "\n" does; a final line end adds no
// empty line.
func Lines(s string) []Line {
	if s == "" {
		return nil
	}
	s = strings.TrimSuffix(s, "\n")
	parts := strings.Split(s, "\n")
	out := make([]Line, len(parts))
	for i, p := range parts {
		out[i] = Text(strings.TrimSuffix(p, "\r"), 0)
	}
	return out
}

// Width is the number of cells of l.
func Width(l Line) int {
	if plain(string(l)) {
		return len(l)
	}
	return ansi.StringWidth(string(l))
}

// Cut shortens l to n cells, with "…" at the end if something went.
func Cut(l Line, n int) Line { return cut(l, n, false) }

func cut(l Line, n int, more bool) Line {
	if n <= 0 {
		return ""
	}
	if plain(string(l)) {
		switch {
		case len(l) > n:
			return l[:n-1] + Ellipsis
		case more && len(l) == n:
			return l[:n-1] + Ellipsis
		case more:
			return l + Ellipsis
		}
		return l
	}
	if more {
		l += Ellipsis
	}
	if ansi.StringWidth(string(l)) <= n {
		return l
	}
	return Line(ansi.Truncate(string(l), n, Ellipsis))
}

// plain reports whether s is printable ASCII only.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

func clean(s string) Line {
	if plain(s) {
		return Line(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	marks := 0 // combining marks in a row
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if unicode.Is(unicode.M, r) {
			// A letter under a tower of accents would grow over its neighbours above and below.
			if marks++; marks > 6 {
				continue
			}
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\t':
			b.WriteString("    ")
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case r < 0x7f:
			b.WriteByte(byte(r))
		case r < 0xa0, hidden(r):
			b.WriteRune('⟨')
			h := strings.ToUpper(strconv.FormatInt(int64(r), 16))
			b.WriteString("0000"[min(len(h), 4):])
			b.WriteString(h)
			b.WriteRune('⟩')
		default:
			b.WriteRune(r)
		}
	}
	return Line(b.String())
}

// hidden reports characters that show nothing themselves but change what is shown: directions, joins,
// line ends, tags, private use and code points that are none.
func hidden(r rune) bool {
	switch {
	case r == 0x2028, r == 0x2029, r == 0xfeff, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xfff9 && r <= 0xfffc:
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r < 0x600 && r != 0xad:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs)
}

// A Secret prints as stars, whatever verb is used. The value is had by Reveal alone.
type Secret struct{ value string }

// NewSecret hides value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal gives the value back.
func (s Secret) Reveal() string { return s.value }

// String hides the value.
func (s Secret) String() string { return "****" }

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "safe.Secret(****)" }

// MarshalText hides the value from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte("****"), nil }

var secretWords = []string{"password", "passwd", "secret", "token", "credential", "apikey", "api_key",
	"access_key", "accesskey", "private", "sasl.jaas"}

// Redact gives value, or stars if the option's name says that it is a secret.
func Redact(option, value string) string {
	o := strings.ToLower(option)
	for _, w := range secretWords {
		if strings.Contains(o, w) {
			return "****"
		}
	}
	return value
}
