package expr

import (
	"unicode"
	"unicode/utf8"

	"streamlab/errs"
	"streamlab/sql/types"
)

// soundexCodes has the digit of each letter: '7' is ignored without separating, '0' separates.
const soundexCodes = "01230127022455012623017202"

func appendSoundex(dst, s []byte) []byte {
	upper := func(b byte) byte {
		if b >= 'a' && b <= 'z' {
			return b - 32
		}
		return b
	}
	if len(s) == 0 {
		return dst
	}
	first := upper(s[0])
	if first < 'A' || first > 'Z' {
		return append(dst, s...)
	}
	code := [4]byte{first, '0', '0', '0'}
	last, n := soundexCodes[first-'A'], 1
	for _, b := range s[1:] {
		b = upper(b)
		if b < 'A' || b > 'Z' {
			last = '0'
			continue
		}
		d := soundexCodes[b-'A']
		if d == '7' {
			continue
		}
		if d != '0' && d != last {
			code[n] = d
			if n++; n == 4 {
				break
			}
		}
		last = d
	}
	return append(dst, code[:]...)
}

// levenshteinKernel keeps the rows of the distance matrix between calls.
func levenshteinKernel() Kernel {
	var a, b []rune
	var prev, cur []int32
	return i32Rows(func(r *row) (int32, error) {
		a, b = appendRunes(a[:0], r.bytes(0)), appendRunes(b[:0], r.bytes(1))
		prev, cur = prev[:0], cur[:0]
		for j := range len(b) + 1 {
			prev, cur = append(prev, int32(j)), append(cur, 0)
		}
		for i, x := range a {
			cur[0] = int32(i + 1)
			for j, y := range b {
				cost := int32(1)
				if x == y {
					cost = 0
				}
				cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
			}
			prev, cur = cur, prev
		}
		d := prev[len(b)]
		if len(r.args) > 2 && d > r.i32(2) {
			return -1, nil
		}
		return d, nil
	})
}

func appendRunes(dst []rune, s []byte) []rune {
	for len(s) > 0 {
		c, w := utf8.DecodeRune(s)
		dst = append(dst, c)
		s = s[w:]
	}
	return dst
}

// digitOf is the value of a decimal digit of any script; the digits of a script follow each other from zero on.
func digitOf(c rune) (int, bool) {
	if c >= '0' && c <= '9' {
		return int(c - '0'), true
	}
	if c < utf8.RuneSelf || !unicode.IsDigit(c) {
		return 0, false
	}
	n := 0
	for n < 9 && unicode.IsDigit(c-1-rune(n)) {
		n++
	}
	return n % 10, true
}

func luhn(s []byte) bool {
	sum := 0
	for k, rest := 0, s; len(rest) > 0; k++ {
		c, w := utf8.DecodeLastRune(rest)
		rest = rest[:len(rest)-w]
		d, ok := digitOf(c)
		if !ok {
			return false
		}
		if k&1 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return len(s) > 0 && sum%10 == 0
}

func buildMask(c *Call) (Expr, error) {
	if err := c.Arity(1, 5); err != nil {
		return nil, err
	}
	c2 := *c
	c = &c2
	c.copyArgs()
	c.fill(5, []Expr{StringLit("X"), StringLit("x"), StringLit("n"), NullLit(tString)})
	text := c.Text()
	names := []string{"", "upperChar", "lowerChar", "digitChar", "otherChar"}
	for i := range c.Args {
		if k := c.Args[i].Type().Kind; i > 0 && k != types.String && k != types.Null {
			return nil, WrongType(text, i, `"STRING"`, c.Args[i])
		}
		if err := c.need(text, i, tString); err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		if !Foldable(c.Args[i]) {
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", types2Name(names[i]),
				"inputType", quoted("STRING"), "inputExpr", quoted(c.Args[i].String()))
		}
		if s, ok := constText(c.Args[i], c.Conf); ok && countRunes([]byte(s)) != 1 {
			return nil, errs.New("DATATYPE_MISMATCH.INPUT_SIZE_NOT_ONE", "sqlExpr", quoted(text), "exprName", names[i])
		}
	}
	return NewScalar("mask", tString, c.Args[0].Nullable(), c.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if r.null(0) {
			return dst, errNull
		}
		s := r.bytes(0)
		for len(s) > 0 {
			x, w := utf8.DecodeRune(s)
			class := 4
			switch {
			case unicode.IsUpper(x):
				class = 1
			case unicode.IsLower(x):
				class = 2
			case unicode.IsDigit(x):
				class = 3
			}
			if r.null(class) {
				dst = append(dst, s[:w]...)
			} else {
				dst = append(dst, r.bytes(class)...)
			}
			s = s[w:]
		}
		return dst, nil
	})), nil
}

func types2Name(n string) string { return "`" + n + "`" }

// sentencesRow splits at ends of sentences and at everything that is no letter or digit.
func sentencesRow(r *row, a *Appender) error {
	s := r.bytes(0)
	sentence := a.Kid(0)
	words, start := 0, -1
	word := func(end int) {
		if start >= 0 {
			sentence.Kid(0).AppendBytes(s[start:end])
			words++
			start = -1
		}
	}
	stop := false
	for i := 0; i < len(s); {
		c, w := utf8.DecodeRune(s[i:])
		switch {
		case unicode.IsLetter(c) || unicode.IsDigit(c) || (c == '\'' || c == '_') && start >= 0:
			if stop && words > 0 && start < 0 && !unicode.IsLower(c) { // a small letter goes on with the sentence
				sentence.End()
				words = 0
			}
			stop = false
			if start < 0 {
				start = i
			}
		default:
			word(i)
			stop = stop || c == '!' || c == '?' || c == '.' || c == '。'
		}
		i += w
	}
	word(len(s))
	if words > 0 {
		sentence.End()
	}
	a.End()
	return nil
}
