package expr

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// jsonRules says which deviations from JSON are allowed.
type jsonRules struct {
	noSingleQuotes bool
	unquotedNames  bool
	leadingZeros   bool
	comments       bool
	noNaN          bool
	backslashAny   bool
	controlChars   bool
}

// A jsonScanner walks over JSON text without building anything. Its methods take a place and give the place
// behind what they read, or -1.
type jsonScanner struct {
	s     []byte
	rules jsonRules
	depth int
	// doubles says that appendCompact writes numbers that are not whole as DOUBLE does.
	doubles bool
}

// maxJSONDepth bounds nesting, as Spark's reader does.
const maxJSONDepth = 1000

func (j *jsonScanner) space(i int) int {
	for i < len(j.s) {
		switch c := j.s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '/' && j.rules.comments && i+1 < len(j.s) && j.s[i+1] == '/':
			for i < len(j.s) && j.s[i] != '\n' {
				i++
			}
		case c == '/' && j.rules.comments && i+1 < len(j.s) && j.s[i+1] == '*':
			i += 2
			for i+1 < len(j.s) && !(j.s[i] == '*' && j.s[i+1] == '/') {
				i++
			}
			i = min(i+2, len(j.s))
		default:
			return i
		}
	}
	return i
}

// skip checks the value at i, which is no space.
func (j *jsonScanner) skip(i int) int {
	if i >= len(j.s) {
		return -1
	}
	switch c := j.s[i]; c {
	case '{', '[':
		if j.depth >= maxJSONDepth {
			return -1
		}
		j.depth++
		var end int
		if c == '{' {
			end = j.members(i, nil)
		} else {
			end = j.items(i, nil)
		}
		j.depth--
		return end
	case '"', '\'':
		return j.text(i)
	case 't':
		return j.word(i, "true")
	case 'f':
		return j.word(i, "false")
	case 'n':
		return j.word(i, "null")
	}
	return j.number(i)
}

func (j *jsonScanner) word(i int, w string) int {
	if len(j.s)-i < len(w) || string(j.s[i:i+len(w)]) != w {
		return -1
	}
	i += len(w)
	if i < len(j.s) && (j.s[i] >= 'a' && j.s[i] <= 'z' || j.s[i] >= 'A' && j.s[i] <= 'Z' || j.s[i] >= '0' && j.s[i] <= '9' || j.s[i] == '_') {
		return -1
	}
	return i
}

// text skips a string with its quotes.
func (j *jsonScanner) text(i int) int {
	q := j.s[i]
	if q == '\'' && j.rules.noSingleQuotes {
		return -1
	}
	for i++; i < len(j.s); i++ {
		for i < len(j.s) && j.s[i] != q && j.s[i] != '\\' && j.s[i] >= 0x20 { // most bytes
			i++
		}
		if i == len(j.s) {
			return -1
		}
		switch c := j.s[i]; {
		case c == q:
			return i + 1
		case c == '\\':
			i++
			if i >= len(j.s) {
				return -1
			}
			switch j.s[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for k := 1; k <= 4; k++ {
					if i+k >= len(j.s) || hexValue(j.s[i+k]) < 0 {
						return -1
					}
				}
				i += 4
			case '\'':
				if q != '\'' && !j.rules.backslashAny {
					return -1
				}
			default:
				if !j.rules.backslashAny {
					return -1
				}
			}
		case c < 0x20 && !j.rules.controlChars:
			return -1
		}
	}
	return -1
}

func (j *jsonScanner) number(i int) int {
	start := i
	if i < len(j.s) && (j.s[i] == '-' || j.s[i] == '+') {
		if j.s[i] == '+' && (j.rules.noNaN || i+1 >= len(j.s) || j.s[i+1] != 'I') {
			return -1
		}
		i++
	}
	if !j.rules.noNaN && i < len(j.s) && (j.s[i] == 'N' || j.s[i] == 'I') {
		for _, w := range [...]string{"NaN", "Infinity", "INF"} {
			if e := j.word(i, w); e > 0 {
				return e
			}
		}
		return -1
	}
	n := digitRun(j.s[i:], len(j.s))
	if n == 0 || n > 1 && j.s[i] == '0' && !j.rules.leadingZeros {
		return -1
	}
	i += n
	if i < len(j.s) && j.s[i] == '.' {
		n = digitRun(j.s[i+1:], len(j.s))
		if n == 0 {
			return -1
		}
		i += n + 1
	}
	if i < len(j.s) && (j.s[i] == 'e' || j.s[i] == 'E') {
		i++
		if i < len(j.s) && (j.s[i] == '-' || j.s[i] == '+') {
			i++
		}
		if n = digitRun(j.s[i:], len(j.s)); n == 0 {
			return -1
		}
		i += n
	}
	if i < len(j.s) {
		switch c := j.s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '.':
			return -1
		}
	}
	if i == start {
		return -1
	}
	return i
}

// members walks over the object at i; f gets the places of each name (with quotes, if any) and value and
// may stop the walk by returning false.
func (j *jsonScanner) members(i int, f func(name, nameEnd, value, valueEnd int) bool) int {
	i = j.space(i + 1)
	if i < len(j.s) && j.s[i] == '}' {
		return i + 1
	}
	for i < len(j.s) {
		name := i
		var nameEnd int
		switch {
		case j.s[i] == '"' || j.s[i] == '\'':
			nameEnd = j.text(i)
		case j.rules.unquotedNames:
			nameEnd = i
			for nameEnd < len(j.s) && (j.s[nameEnd] == '_' || j.s[nameEnd] == '$' || j.s[nameEnd] >= 0x80 || j.s[nameEnd] >= '0' && j.s[nameEnd] <= '9' ||
				j.s[nameEnd] >= 'a' && j.s[nameEnd] <= 'z' || j.s[nameEnd] >= 'A' && j.s[nameEnd] <= 'Z') {
				nameEnd++
			}
			if nameEnd == i {
				return -1
			}
		default:
			return -1
		}
		if nameEnd < 0 {
			return -1
		}
		i = j.space(nameEnd)
		if i >= len(j.s) || j.s[i] != ':' {
			return -1
		}
		value := j.space(i + 1)
		end := j.skip(value)
		if end < 0 {
			return -1
		}
		if f != nil && !f(name, nameEnd, value, end) {
			return end
		}
		i = j.space(end)
		if i >= len(j.s) {
			return -1
		}
		switch j.s[i] {
		case ',':
			i = j.space(i + 1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
	return -1
}

// items walks over the array at i; f gets the places of each value.
func (j *jsonScanner) items(i int, f func(value, valueEnd int) bool) int {
	i = j.space(i + 1)
	if i < len(j.s) && j.s[i] == ']' {
		return i + 1
	}
	for i < len(j.s) {
		end := j.skip(i)
		if end < 0 {
			return -1
		}
		if f != nil && !f(i, end) {
			return end
		}
		i = j.space(end)
		if i >= len(j.s) {
			return -1
		}
		switch j.s[i] {
		case ',':
			i = j.space(i + 1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
	return -1
}

// appendUnquoted appends the content of a string or name that was checked before.
func appendUnquoted(dst, s []byte) []byte {
	if len(s) == 0 || s[0] != '"' && s[0] != '\'' {
		return append(dst, s...)
	}
	s = s[1 : len(s)-1]
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		i++
		switch s[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(s[i+1:])
			i += 4
			if r >= 0xD800 && r < 0xDC00 && i+6 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
				if lo := hex4(s[i+3:]); lo >= 0xDC00 && lo < 0xE000 {
					r = (r-0xD800)<<10 + lo - 0xDC00 + 0x10000
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}

func hex4(s []byte) rune {
	return rune(hexValue(s[0])<<12 | hexValue(s[1])<<8 | hexValue(s[2])<<4 | hexValue(s[3]))
}

// appendQuoted writes a JSON string.
func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}

// appendCompact writes the value at i without blanks; it was checked before. With doubles numbers that are not whole
// come as DOUBLE prints them.
func (j *jsonScanner) appendCompact(dst []byte, i, end int) []byte {
	switch j.s[i] {
	case '{':
		dst = append(dst, '{')
		first := true
		j.members(i, func(name, nameEnd, value, valueEnd int) bool {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			var buf [64]byte
			dst = appendQuoted(dst, appendUnquoted(buf[:0], j.s[name:nameEnd]))
			dst = j.appendCompact(append(dst, ':'), value, valueEnd)
			return true
		})
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		first := true
		j.items(i, func(value, valueEnd int) bool {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = j.appendCompact(dst, value, valueEnd)
			return true
		})
		return append(dst, ']')
	case '"', '\'':
		var buf [128]byte
		return appendQuoted(dst, appendUnquoted(buf[:0], j.s[i:end]))
	}
	if raw := j.s[i:end]; j.doubles && bytes.ContainsAny(raw, ".eE") {
		if f, ok := parseJSONFloat(raw, false, true, false); ok && !math.IsInf(f, 0) {
			return AppendDouble(dst, f, 64)
		}
	}
	return append(dst, j.s[i:end]...)
}

// isNull reports whether the value at i is null.
func (j *jsonScanner) isNull(i int) bool { return j.s[i] == 'n' }

func parseIntBytes(s []byte) (int64, bool) {
	n, err := strconv.ParseInt(bytesView(s), 10, 64)
	return n, err == nil
}
