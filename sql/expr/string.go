package expr

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

const maxInt32 = 1<<31 - 1

func stringFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	text := func(in string, k Kernel) func(c *Call) (Expr, error) { return sig{in: in, out: tString, k: k}.build }

	add(fn("concat(expr1, ...)", "Joins texts, binaries or arrays; null if one is null.", buildConcat))
	add(fn("concat_ws(sep, expr, ...)", "Joins texts and the elements of arrays of texts with a separator; skips nulls.", buildConcatWS))
	add(fn("substring(str, pos[, len])", "The part from position pos (from 1, negative from the end) of len characters.",
		sig{in: "xii", min: 2, defaults: []Expr{IntLit(maxInt32)}, k: bytesRows(substringRow)}.build), "substr")
	add(fn("left(str, len)", "The first len characters.", sig{in: "xi", k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return appendSlice(dst, r, 0, int64(max(r.i32(1), 0))), nil
	})}.build))
	add(fn("right(str, len)", "The last len characters.", sig{in: "si", out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s, n := r.bytes(0), r.i32(1)
		if n <= 0 {
			return dst, nil
		}
		i := len(s)
		for ; n > 0 && i > 0; n-- {
			_, w := utf8.DecodeLastRune(s[:i])
			i -= w
		}
		return append(dst, s[i:]...), nil
	})}.build))
	add(fn("length(expr)", "Characters of a text, bytes of a binary.", sig{in: "x", out: tInt, k: i32Rows(func(r *row) (int32, error) {
		if r.args[0].Type.Kind == types.Binary {
			return int32(len(r.bytes(0))), nil
		}
		return int32(countRunes(r.bytes(0))), nil
	})}.build), "char_length", "character_length", "len")
	add(fn("octet_length(expr)", "Bytes of a text or binary.", sig{in: "x", out: tInt, k: bytesToInt(func(s []byte) int32 { return int32(len(s)) })}.build))
	add(fn("bit_length(expr)", "Bits of a text or binary.", sig{in: "x", out: tInt, k: bytesToInt(func(s []byte) int32 { return 8 * int32(len(s)) })}.build))
	add(fn("upper(str)", "Upper case.", text("s", bytesToBytes(appendUpper))), "ucase")
	add(fn("lower(str)", "Lower case.", text("s", bytesToBytes(appendLower))), "lcase")
	add(fn("initcap(str)", "Upper case for the first letter of each word, lower for the others; blanks separate words.", text("s", bytesToBytes(appendInitcap))))
	add(fn("reverse(expr)", "A text or an array backwards.", buildReverse))
	add(fn("repeat(str, n)", "The text n times.", text("si", bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s, n := r.bytes(0), max(0, r.i32(1))
		if len(s) == 0 {
			return dst, nil
		}
		if err := fitsText(int64(len(dst)) + int64(len(s))*int64(n)); err != nil {
			return dst, err
		}
		for range n {
			dst = append(dst, s...)
		}
		return dst, nil
	}))))
	add(fn("space(n)", "n blanks.", text("i", bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if err := fitsText(int64(len(dst)) + int64(max(0, r.i32(0)))); err != nil {
			return dst, err
		}
		for range r.i32(0) {
			dst = append(dst, ' ')
		}
		return dst, nil
	}))))
	add(fn("btrim(str[, trimStr])", "Without the leading and trailing characters that are in trimStr, by default blanks.", trimBuilder("btrim", true, true, false)))
	add(fn("trim(str)", "Without leading and trailing blanks; trim(trimStr, str) is TRIM(BOTH trimStr FROM str).", trimBuilder("BOTH", true, true, true)))
	add(fn("ltrim(str)", "Without leading blanks; ltrim(trimStr, str) names the characters.", trimBuilder("LEADING", true, false, true)))
	add(fn("rtrim(str)", "Without trailing blanks; rtrim(trimStr, str) names the characters.", trimBuilder("TRAILING", false, true, true)))
	add(fn("lpad(str, len[, pad])", "Filled at the left to len characters, or cut.", padBuilder(true)))
	add(fn("rpad(str, len[, pad])", "Filled at the right to len characters, or cut.", padBuilder(false)))
	add(fn("split_part(str, delimiter, n)", "The n-th part, counted from 1 or negative from the end; '' if there is none.", sig{in: "ssi", out: tString, k: bytesRows(splitPartRow)}.build))
	add(fn("substring_index(str, delim, count)", "What is before the count-th delimiter, or after it from the right if negative.", text("ssi", bytesRows(substringIndexRow))))
	find := func(sub, s []byte, pos int32) int32 {
		if pos < 1 {
			return 0
		}
		from := runeOffset(s, int64(pos)-1)
		if len(sub) == 0 {
			return 1
		}
		i := bytes.Index(s[from:], sub)
		if i < 0 {
			return 0
		}
		return int32(countRunes(s[:from+i])) + 1
	}
	add(fn("instr(str, substr)", "Position of the first occurrence, 0 if there is none.", sig{in: "ss", out: tInt, k: i32Rows(func(r *row) (int32, error) {
		return find(r.bytes(1), r.bytes(0), 1), nil
	})}.build))
	add(fn("locate(substr, str[, pos])", "Position of the first occurrence from pos on, 0 if there is none.",
		sig{in: "ssi", min: 2, defaults: []Expr{IntLit(1)}, out: tInt, loose: true, k: i32Rows(func(r *row) (int32, error) {
			if r.null(2) {
				return 0, nil
			}
			if r.null(0) || r.null(1) {
				return 0, errNull
			}
			return find(r.bytes(0), r.bytes(1), r.i32(2)), nil
		})}.build), "position")
	add(fn("replace(str, search[, replace])", "Every occurrence of search replaced.",
		sig{in: "sss", min: 2, defaults: []Expr{StringLit("")}, out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			s, old := r.bytes(0), r.bytes(1)
			if len(old) == 0 {
				return append(dst, s...), nil
			}
			for {
				i := bytes.Index(s, old)
				if i < 0 {
					return append(dst, s...), nil
				}
				if err := fitsText(int64(len(dst) + i + len(r.bytes(2)))); err != nil {
					return dst, err
				}
				dst = append(append(dst, s[:i]...), r.bytes(2)...)
				s = s[i+len(old):]
			}
		})}.build))
	add(fn("translate(str, from, to)", "Each character of from replaced by the one at its place in to, or dropped.", text("sss", bytesRows(translateRow))))
	add(fn("overlay(str, replace, pos[, len])", "str with len characters from pos on replaced.",
		sig{in: "xxii", min: 3, defaults: []Expr{IntLit(-1)}, extra: sameText, k: bytesRows(overlayRow)}.build))
	prefix := func(f func(a, b []byte) bool) func(c *Call) (Expr, error) {
		return sig{in: "xx", out: tBoolean, k: bytesBytesToBool(f)}.build
	}
	add(fn("startswith(left, right)", "Whether left begins with right.", prefix(bytes.HasPrefix)))
	add(fn("endswith(left, right)", "Whether left ends with right.", prefix(bytes.HasSuffix)))
	add(fn("contains(left, right)", "Whether right is inside left.", prefix(bytes.Contains)))
	add(fn("ascii(str)", "Code point of the first character, 0 for ''.", sig{in: "s", out: tInt, k: bytesToInt(func(s []byte) int32 {
		if len(s) == 0 {
			return 0
		}
		c, _ := utf8.DecodeRune(s)
		return c
	})}.build))
	add(fn("chr(n)", "The character of code point n modulo 256.", text("l", bytesRows(func(r *row, dst []byte) ([]byte, error) {
		n := r.i64(0)
		if n < 0 {
			return dst, nil
		}
		return utf8.AppendRune(dst, rune(n&0xff)), nil
	}))), "char")
	add(fn("find_in_set(str, list)", "Position of str in a list separated by commas, 0 if it is not there.", sig{in: "ss", out: tInt, k: i32Rows(findInSetRow)}.build))
	add(fn("elt(n, expr1, ...)", "The n-th of the arguments after n.", buildElt))
	add(fn("soundex(str)", "Soundex code.", text("s", bytesToBytes(appendSoundex))))
	add(fn("levenshtein(a, b[, limit])", "Edit distance; -1 if it is above the limit.", sig{in: "ssi", min: 2, out: tInt, fresh: levenshteinKernel}.build))
	add(fn("luhn_check(str)", "Whether the digits pass the Luhn check.", sig{in: "s", out: tBoolean, k: boolRows(func(r *row) (bool, error) { return luhn(r.bytes(0)), nil })}.build))
	add(fn("quote(str)", "Between single quotes, quotes inside escaped by a backslash.", text("s", bytesToBytes(func(dst, s []byte) []byte {
		dst = append(dst, '\'')
		for _, b := range s {
			if b == '\'' {
				dst = append(dst, '\\')
			}
			dst = append(dst, b)
		}
		return append(dst, '\'')
	}))))
	mask := fn("mask(str[, upperChar, lowerChar, digitChar, otherChar])", "Letters and digits replaced by one character a class; null keeps a class.", buildMask)
	mask.Params = []string{"str", "upperChar", "lowerChar", "digitChar", "otherChar"}
	add(mask)
	add(fn("sentences(str[, lang[, country]])", "Words of each sentence.", sig{in: "sss", min: 1, defaults: []Expr{StringLit(""), StringLit("")},
		out: types.ArrayOf(types.ArrayOf(tString, false), false), k: valueRows(sentencesRow)}.build))
	add(fn("is_valid_utf8(str)", "Whether the bytes are UTF-8.", sig{in: "x", out: tBoolean, k: boolRows(func(r *row) (bool, error) { return utf8.Valid(r.bytes(0)), nil })}.build))
	add(fn("make_valid_utf8(str)", "Bad bytes replaced by U+FFFD.", text("x", bytesToBytes(appendValidUTF8))))
	add(fn("validate_utf8(str)", "The text, or an error if it is not UTF-8.", text("x", bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s := r.bytes(0)
		if utf8.Valid(s) {
			return append(dst, s...), nil
		}
		var shown []byte
		const hex = "0123456789ABCDEF"
		for _, b := range s {
			shown = append(shown, '\\', 'x', hex[b>>4], hex[b&15])
		}
		return dst, errs.New("INVALID_UTF8_STRING", "str", string(shown))
	}))))
	add(fn("try_validate_utf8(str)", "The text, or null if it is not UTF-8.", sig{in: "x", out: tString, null: true, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if !utf8.Valid(r.bytes(0)) {
			return dst, errNull
		}
		return append(dst, r.bytes(0)...), nil
	})}.build))
	add(fn("collation(expr)", "Name of the text's collation.", func(c *Call) (Expr, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		if k := c.Args[0].Type().Kind; k != types.String && k != types.Null {
			return nil, WrongType(c.Text(), 0, `"STRING"`, c.Args[0])
		}
		name := c.Args[0].Type().Collation
		if name == "" {
			name = "UTF8_BINARY"
		}
		lit := StringLit("SYSTEM.BUILTIN." + name)
		lit.Text = c.Text()
		return lit, nil
	}))
	return out
}

func countRunes(s []byte) int {
	n := 0
	for _, b := range s {
		if b&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// runeOffset is the byte position of character n, at most len(s).
func runeOffset(s []byte, n int64) int {
	if n <= 0 {
		return 0
	}
	if n >= int64(len(s)) {
		if int64(countRunes(s)) <= n {
			return len(s)
		}
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		i++
		for i < len(s) && s[i]&0xC0 == 0x80 {
			i++
		}
	}
	return i
}

// appendSlice appends characters (bytes of a binary) [from, to) of argument 0.
func appendSlice(dst []byte, r *row, from, to int64) []byte {
	s := r.bytes(0)
	if from < 0 {
		from = 0
	}
	if to <= from {
		return dst
	}
	if r.args[0].Type.Kind == types.Binary {
		n := int64(len(s))
		return append(dst, s[min(from, n):min(to, n)]...)
	}
	a := runeOffset(s, from)
	return append(dst, s[a:a+runeOffset(s[a:], to-from)]...)
}

func substringRow(r *row, dst []byte) ([]byte, error) {
	pos, n := int64(r.i32(1)), int64(r.i32(2))
	start := pos
	switch {
	case pos > 0:
		start--
	case pos < 0:
		if r.args[0].Type.Kind == types.Binary {
			start += int64(len(r.bytes(0)))
		} else {
			start += int64(countRunes(r.bytes(0)))
		}
	}
	return appendSlice(dst, r, start, start+n), nil
}

func isASCII(s []byte) bool {
	for _, b := range s {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// upperFull holds the upper-case forms of more than one character that words of living languages need.
func upperFull(c rune) string {
	switch c {
	case 'ß':
		return "SS"
	case 'ŉ':
		return "ʼN"
	case 'ǰ':
		return "J̌"
	case 'ﬀ':
		return "FF"
	case 'ﬁ':
		return "FI"
	case 'ﬂ':
		return "FL"
	case 'ﬃ':
		return "FFI"
	case 'ﬄ':
		return "FFL"
	case 'ﬅ', 'ﬆ':
		return "ST"
	case 'և':
		return "ԵՒ"
	case 'ΐ':
		return "Ϊ́"
	case 'ΰ':
		return "Ϋ́"
	}
	return ""
}

func appendUpper(dst, s []byte) []byte {
	if isASCII(s) {
		n := len(dst)
		dst = append(dst, s...)
		for i, b := range dst[n:] {
			if b >= 'a' && b <= 'z' {
				dst[n+i] = b - 32
			}
		}
		return dst
	}
	for len(s) > 0 {
		c, w := utf8.DecodeRune(s)
		if full := upperFull(c); full != "" {
			dst = append(dst, full...)
		} else if c == utf8.RuneError && w == 1 {
			dst = append(dst, s[0])
		} else {
			dst = utf8.AppendRune(dst, unicode.ToUpper(c))
		}
		s = s[w:]
	}
	return dst
}

func appendLower(dst, s []byte) []byte {
	if isASCII(s) {
		n := len(dst)
		dst = append(dst, s...)
		for i, b := range dst[n:] {
			if b >= 'A' && b <= 'Z' {
				dst[n+i] = b + 32
			}
		}
		return dst
	}
	letterBefore := false
	for len(s) > 0 {
		c, w := utf8.DecodeRune(s)
		switch {
		case c == utf8.RuneError && w == 1:
			dst = append(dst, s[0])
		case c == 'İ':
			dst = append(dst, "i̇"...)
		case c == 'Σ':
			next, _ := utf8.DecodeRune(s[w:])
			if letterBefore && !unicode.IsLetter(next) {
				dst = append(dst, "ς"...)
			} else {
				dst = append(dst, "σ"...)
			}
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(c))
		}
		letterBefore = unicode.IsLetter(c)
		s = s[w:]
	}
	return dst
}

func appendInitcap(dst, s []byte) []byte {
	start := true
	for len(s) > 0 {
		c, w := utf8.DecodeRune(s)
		if start {
			if c == 'ß' { // the one letter of Latin-1 whose title form is two letters
				dst = append(dst, "Ss"...)
			} else {
				dst = utf8.AppendRune(dst, unicode.ToTitle(unicode.ToLower(c)))
			}
		} else {
			dst = appendLower(dst, s[:w])
		}
		start = c == ' '
		s = s[w:]
	}
	return dst
}

func appendReverse(dst, s []byte) []byte {
	for len(s) > 0 {
		_, w := utf8.DecodeLastRune(s)
		dst = append(dst, s[len(s)-w:]...)
		s = s[:len(s)-w]
	}
	return dst
}

// sameText says that a text and bytes do not go together in the first two arguments.
func sameText(c *Call) error {
	a, b := c.Args[0].Type(), c.Args[1].Type()
	if (a.Kind == types.Binary) == (b.Kind == types.Binary) || a.Kind == types.Null || b.Kind == types.Null {
		return nil
	}
	name := func(t types.DataType) string {
		if t.Kind == types.Binary {
			return `"BINARY"`
		}
		return `"STRING"`
	}
	return errs.New("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name),
		"dataType", "("+name(a)+" or "+name(b)+")")
}

func buildReverse(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	if c.Args[0].Type().Kind == types.Array {
		return Strict("reverse", c.Args[0].Type(), c.Args, "", valueRows(func(r *row, a *Appender) error {
			from, to := r.list(0)
			for j := to - 1; j >= from; j-- {
				a.Kid(0).Append(r.args[0].Kids[0], j)
			}
			a.End()
			return nil
		})), nil
	}
	if c.Args[0].Type().Kind == types.Binary {
		return Strict("reverse", tBinary, c.Args, "", bytesToBytes(func(dst, s []byte) []byte {
			for i := len(s) - 1; i >= 0; i-- {
				dst = append(dst, s[i])
			}
			return dst
		})), nil
	}
	return sig{in: "s", out: tString, k: bytesToBytes(appendReverse)}.build(c)
}

// trimBuilder is for trim and its kin. swapped: the characters come first when two arguments are given, and
// the call prints as TRIM(where chars FROM str).
func trimBuilder(where string, left, right, swapped bool) func(c *Call) (Expr, error) {
	k := bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s := r.bytes(0)
		set := blank
		if len(r.args) > 1 {
			set = r.bytes(1)
		}
		for left && len(s) > 0 {
			_, w := utf8.DecodeRune(s)
			if !bytes.Contains(set, s[:w]) {
				break
			}
			s = s[w:]
		}
		for right && len(s) > 0 {
			_, w := utf8.DecodeLastRune(s)
			if !bytes.Contains(set, s[len(s)-w:]) {
				break
			}
			s = s[:len(s)-w]
		}
		return append(dst, s...), nil
	})
	return func(c *Call) (Expr, error) {
		if len(c.Args) == 2 && swapped {
			d := *c
			d.Args = []Expr{c.Args[1], c.Args[0]}
			text := "TRIM(" + where + " " + c.Args[0].String() + " FROM " + c.Args[1].String() + ")"
			e, err := sig{in: "ss", out: tString, k: k}.build(&d)
			if bad := errs.As(err); bad != nil && bad.Params["sqlExpr"] != "" {
				bad.Params["sqlExpr"] = quoted(text)
			}
			if s, ok := e.(*Scalar); ok {
				s.Text = text
			}
			return e, err
		}
		return sig{in: "ss", min: 1, out: tString, k: k}.build(c)
	}
}

var blank = []byte{' '}

func padBuilder(left bool) func(c *Call) (Expr, error) {
	k := bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s, n, pad := r.bytes(0), int(r.i32(1)), r.bytes(2)
		if n <= 0 {
			return dst, nil
		}
		count := countRunes
		if r.args[0].Type.Kind == types.Binary {
			count = func(b []byte) int { return len(b) }
		}
		if err := fitsText(int64(len(dst)) + int64(n)*int64(max(1, len(pad)))); err != nil {
			return dst, err
		}
		have := count(s)
		if have >= n {
			return appendSlice(dst, r, 0, int64(n)), nil
		}
		fill := func(dst []byte) []byte {
			per := count(pad)
			missing := n - have
			if per == 0 {
				return dst
			}
			for ; missing >= per; missing -= per {
				dst = append(dst, pad...)
			}
			if r.args[0].Type.Kind == types.Binary {
				return append(dst, pad[:missing]...)
			}
			return append(dst, pad[:runeOffset(pad, int64(missing))]...)
		}
		if left {
			return append(fill(dst), s...), nil
		}
		return fill(append(dst, s...)), nil
	})
	return func(c *Call) (Expr, error) {
		var pad Expr = StringLit(" ")
		if len(c.Args) > 0 && c.Args[0].Type().Kind == types.Binary {
			if len(c.Args) == 3 && c.Args[2].Type().Kind != types.Binary { // bytes are filled with bytes only
				return sig{in: "sis", out: tString, k: k}.build(c)
			}
			pad = BinaryLit([]byte{0})
		}
		return sig{in: "xix", min: 2, defaults: []Expr{pad}, k: k}.build(c)
	}
}

func splitPartRow(r *row, dst []byte) ([]byte, error) {
	s, sep, n := r.bytes(0), r.bytes(1), int(r.i32(2))
	if n == 0 {
		return dst, errs.New("INVALID_INDEX_OF_ZERO")
	}
	if len(sep) == 0 {
		if n == 1 || n == -1 {
			return append(dst, s...), nil
		}
		return dst, nil
	}
	if n < 0 {
		n += bytes.Count(s, sep) + 2
		if n <= 0 {
			return dst, nil
		}
	}
	for {
		i := bytes.Index(s, sep)
		if n--; n == 0 {
			if i < 0 {
				i = len(s)
			}
			return append(dst, s[:i]...), nil
		}
		if i < 0 {
			return dst, nil
		}
		s = s[i+len(sep):]
	}
}

func substringIndexRow(r *row, dst []byte) ([]byte, error) {
	s, d, n := r.bytes(0), r.bytes(1), int(r.i32(2))
	if n == 0 || len(d) == 0 {
		return dst, nil
	}
	if n > 0 {
		end := 0
		for ; n > 0; n-- {
			i := bytes.Index(s[end:], d)
			if i < 0 {
				return append(dst, s...), nil
			}
			end += i + len(d)
		}
		return append(dst, s[:end-len(d)]...), nil
	}
	start := len(s)
	for ; n < 0; n++ {
		i := bytes.LastIndex(s[:min(start+len(d)-1, len(s))], d)
		if start == len(s) {
			i = bytes.LastIndex(s, d)
		}
		if i < 0 {
			return append(dst, s...), nil
		}
		start = i
	}
	return append(dst, s[start+len(d):]...), nil
}

func translateRow(r *row, dst []byte) ([]byte, error) {
	s, from, to := r.bytes(0), r.bytes(1), r.bytes(2)
	for len(s) > 0 {
		_, w := utf8.DecodeRune(s)
		i := bytes.Index(from, s[:w])
		if i < 0 {
			dst = append(dst, s[:w]...)
		} else if p := runeOffset(to, int64(countRunes(from[:i]))); p < len(to) {
			_, tw := utf8.DecodeRune(to[p:])
			dst = append(dst, to[p:p+tw]...)
		}
		s = s[w:]
	}
	return dst, nil
}

func overlayRow(r *row, dst []byte) ([]byte, error) {
	in, rep := r.bytes(0), r.bytes(1)
	pos, n := int64(r.i32(2)), int64(r.i32(3))
	if n < 0 {
		n = int64(countRunes(rep))
		if r.args[1].Type.Kind == types.Binary {
			n = int64(len(rep))
		}
	}
	dst = appendSlice(dst, r, 0, pos-1)
	dst = append(dst, rep...)
	// The rest is substring(in, pos + n), with its rule for positions of 0 and below.
	start := pos + n
	switch {
	case start > 0:
		start--
	case start < 0:
		start += int64(countRunes(in))
	}
	return appendSlice(dst, r, start, maxInt32), nil
}

func findInSetRow(r *row) (int32, error) {
	s, list := r.bytes(0), r.bytes(1)
	if bytes.IndexByte(s, ',') >= 0 {
		return 0, nil
	}
	for n := int32(1); ; n++ {
		i := bytes.IndexByte(list, ',')
		if i < 0 {
			if bytes.Equal(list, s) {
				return n, nil
			}
			return 0, nil
		}
		if bytes.Equal(list[:i], s) {
			return n, nil
		}
		list = list[i+1:]
	}
}

func buildConcat(c *Call) (Expr, error) {
	c2 := *c
	c = &c2
	c.copyArgs()
	text := c.Text()
	arrays, binaries := 0, 0
	for _, a := range c.Args {
		switch a.Type().Kind {
		case types.Array:
			arrays++
		case types.Binary:
			binaries++
		}
	}
	if arrays > 0 {
		t, ok := CommonTypeAll(c.Args, c.Conf)
		for _, a := range c.Args {
			ok = ok && a.Type().Kind == types.Array
		}
		if !ok {
			list := ""
			for i, a := range c.Args {
				if i > 0 {
					list += " or "
				}
				k := a.Type()
				if k.Kind == types.Null {
					k = tString
				}
				list += quoted(k.SQL())
			}
			return nil, errs.New("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", "`concat`", "dataType", "("+list+")")
		}
		c.Args = CastAll(c.Args, t, c.Conf)
		return Strict("concat", t, c.Args, text, valueRows(func(r *row, a *Appender) error {
			for k := range r.args {
				from, to := r.list(k)
				for j := from; j < to; j++ {
					a.Kid(0).Append(r.args[k].Kids[0], j)
				}
			}
			a.End()
			return nil
		})), nil
	}
	out := tString
	if binaries == len(c.Args) && binaries > 0 {
		out = tBinary
	}
	for i := range c.Args {
		if out.Kind == types.Binary {
			break
		}
		if c.Args[i].Type().Kind == types.Binary {
			c.Args[i] = CastTo(c.Args[i], tString, c.Conf)
			continue
		}
		if err := c.need(text, i, tString); err != nil {
			return nil, WrongType(text, i, `("STRING" or "BINARY" or "ARRAY")`, c.Args[i])
		}
	}
	return Strict("concat", out, c.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		for k := range r.args {
			dst = append(dst, r.bytes(k)...)
		}
		return dst, nil
	})), nil
}

func buildConcatWS(c *Call) (Expr, error) {
	if err := c.Arity(1, -1); err != nil {
		return nil, err
	}
	c2 := *c
	c = &c2
	c.copyArgs()
	text := c.Text()
	for i, a := range c.Args {
		if i > 0 && a.Type().Kind == types.Array {
			c.Args[i] = CastTo(a, types.ArrayOf(tString, a.Type().ContainsNull), c.Conf)
			continue
		}
		if err := c.need(text, i, tString); err != nil {
			if i > 0 {
				err = WrongType(text, i, `("ARRAY<STRING>" or "STRING")`, c.Args[i])
			}
			return nil, err
		}
	}
	return NewScalar("concat_ws", tString, c.Args[0].Nullable(), c.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if r.null(0) {
			return dst, errNull
		}
		sep, first := r.bytes(0), true
		put := func(b []byte) {
			if !first {
				dst = append(dst, sep...)
			}
			first = false
			dst = append(dst, b...)
		}
		for k := 1; k < len(r.args); k++ {
			if r.null(k) {
				continue
			}
			if r.args[k].Phys != columnar.PList {
				put(r.bytes(k))
				continue
			}
			from, to := r.list(k)
			for j := from; j < to; j++ {
				if e := r.args[k].Kids[0]; !e.IsNull(j) {
					put(e.Bytes(j))
				}
			}
		}
		return dst, nil
	})), nil
}

// noText says that the arguments of elt behind the first are not all texts or all bytes: it lists them all.
func noText(text string, args []Expr) error {
	var of, kinds []string
	for _, a := range args[1:] {
		of, kinds = append(of, quoted(a.String())), append(kinds, quoted(a.Type().SQL()))
	}
	return errs.New("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", quoted(text), "paramIndex", "second...",
		"requiredType", `"STRING" or "BINARY"`, "inputSql", strings.Join(of, ","), "inputType", strings.Join(kinds, ","))
}

func buildElt(c *Call) (Expr, error) {
	if err := c.Arity(2, -1); err != nil {
		return nil, err
	}
	c2 := *c
	c = &c2
	c.copyArgs()
	text := c.Text()
	if err := c.need(text, 0, tInt); err != nil {
		return nil, err
	}
	binary := true
	for i := 1; i < len(c.Args); i++ {
		if err := c.needText(text, i); err != nil {
			return nil, noText(text, c.Args)
		}
		binary = binary && c.Args[i].Type().Kind == types.Binary
	}
	for i := 1; i < len(c.Args) && !binary; i++ {
		c.Args[i] = CastTo(c.Args[i], tString, c.Conf)
	}
	ansi := c.Conf.ANSI
	return NewScalar("elt", c.Args[1].Type(), true, c.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		if r.null(0) {
			return dst, errNull
		}
		n := int(r.i32(0))
		if n < 1 || n >= len(r.args) {
			if ansi {
				return dst, errs.New("INVALID_ARRAY_INDEX", "indexValue", n, "arraySize", len(r.args)-1)
			}
			return dst, errNull
		}
		if r.null(n) {
			return dst, errNull
		}
		return append(dst, r.bytes(n)...), nil
	})), nil
}

// bytesView is the text of bytes without a copy; it must not outlive them.
func bytesView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
