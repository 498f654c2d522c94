package expr

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"streamlab/errs"
	"streamlab/sql/types"
)

func encodeFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	add(fn("base64(bin)", "Base64 text, lines of 76 characters ended by CR LF.", sig{in: "b", out: tString, k: bytesToBytes(appendBase64)}.build))
	add(fn("unbase64(str)", "The bytes of a base64 text; characters outside the alphabet are skipped.", sig{in: "s", out: tBinary, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		out, ok := appendUnbase64(dst, r.bytes(0))
		if !ok {
			return dst, errs.New("INTERNAL_ERROR", "message", "Last unit does not have enough valid bits")
		}
		return out, nil
	})}.build))
	add(fn("hex(expr)", "Hexadecimal digits of a number, text or binary.", buildHex))
	add(fn("unhex(str)", "The bytes of hexadecimal digits, null if it has other characters.", sig{in: "s", out: tBinary, null: true, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		out, ok := appendUnhex(dst, r.bytes(0))
		if !ok {
			return dst, errNull
		}
		return out, nil
	})}.build))
	add(fn("bin(n)", "Binary digits of a BIGINT.", sig{in: "l", out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return appendUint(dst, uint64(r.i64(0)), 2), nil
	})}.build))
	add(fn("encode(str, charset)", "The bytes of a text in a charset.", sig{in: "ss", out: tBinary, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return encodeText(dst, r.bytes(0), string(r.bytes(1)))
	})}.build))
	add(fn("decode(bin, charset)", "The text of bytes in a charset; with more arguments decode(expr, search, result, ..., default).", buildDecode))
	add(fn("to_binary(str[, fmt])", "Bytes of a text in format hex, utf-8 or base64.", toBinaryBuilder(false)))
	add(fn("try_to_binary(str[, fmt])", "As to_binary, null for bad text.", toBinaryBuilder(true)))
	return out
}

func appendUint(dst []byte, n uint64, base uint64) []byte {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var buf [64]byte
	i := len(buf)
	for {
		i--
		buf[i] = digits[n%base]
		if n /= base; n == 0 {
			return append(dst, buf[i:]...)
		}
	}
}

func appendBase64(dst, s []byte) []byte {
	for len(s) > 57 {
		dst = append(base64.StdEncoding.AppendEncode(dst, s[:57]), '\r', '\n')
		s = s[57:]
	}
	return base64.StdEncoding.AppendEncode(dst, s)
}

func base64Value(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}

// appendUnbase64 decodes as a MIME decoder: what is not of the alphabet is skipped, '=' ends.
func appendUnbase64(dst, s []byte) ([]byte, bool) {
	acc, n := 0, 0
	for _, c := range s {
		if c == '=' {
			break
		}
		v := base64Value(c)
		if v < 0 {
			continue
		}
		acc = acc<<6 | v
		if n++; n == 4 {
			dst = append(dst, byte(acc>>16), byte(acc>>8), byte(acc))
			acc, n = 0, 0
		}
	}
	switch n {
	case 1:
		return dst, false
	case 2:
		dst = append(dst, byte(acc>>4))
	case 3:
		dst = append(dst, byte(acc>>10), byte(acc>>2))
	}
	return dst, true
}

func appendHex(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range s {
		dst = append(dst, hex[c>>4], hex[c&15])
	}
	return dst
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func appendUnhex(dst, s []byte) ([]byte, bool) {
	i := 0
	if len(s)&1 == 1 {
		v := hexValue(s[0])
		if v < 0 {
			return dst, false
		}
		dst, i = append(dst, byte(v)), 1
	}
	for ; i < len(s); i += 2 {
		a, b := hexValue(s[i]), hexValue(s[i+1])
		if a < 0 || b < 0 {
			return dst, false
		}
		dst = append(dst, byte(a<<4|b))
	}
	return dst, true
}

func buildHex(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	switch c.Args[0].Type().Kind {
	case types.String, types.Binary:
		return Strict("hex", tString, c.Args, "", bytesToBytes(appendHex)), nil
	}
	call := *c
	call.copyArgs()
	a, ok := ImplicitCast(c.Args[0], tBigInt, c.Conf)
	if !ok {
		if a, ok = ImplicitCast(c.Args[0], tString, c.Conf); !ok {
			return nil, WrongType(c.Text(), 0, `("BIGINT" or "BINARY" or "STRING")`, c.Args[0])
		}
		return Strict("hex", tString, []Expr{a}, c.Text(), bytesToBytes(appendHex)), nil
	}
	return Strict("hex", tString, []Expr{a}, c.Text(), bytesRows(func(r *row, dst []byte) ([]byte, error) {
		return appendUint(dst, uint64(r.i64(0)), 16), nil
	})), nil
}

const charsets = "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"

func badCharset(function, name string) error {
	return errs.New("INVALID_PARAMETER_VALUE.CHARSET", "functionName", types.Quote(function), "charset", name,
		"parameter", "`charset`", "charsets", charsets)
}

func badCoding(function, name string) error {
	return errs.New("MALFORMED_CHARACTER_CODING", "function", types.Quote(function), "charset", name)
}

func encodeText(dst, s []byte, charset string) ([]byte, error) {
	cs := strings.ToLower(charset)
	switch cs {
	case "utf-8":
		return append(dst, s...), nil
	case "iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32":
	default:
		return dst, badCharset("encode", charset)
	}
	if cs == "utf-16" {
		dst = append(dst, 0xFE, 0xFF)
	}
	unit := func(u uint16) {
		if cs == "utf-16le" {
			dst = append(dst, byte(u), byte(u>>8))
		} else {
			dst = append(dst, byte(u>>8), byte(u))
		}
	}
	for len(s) > 0 {
		c, w := utf8.DecodeRune(s)
		s = s[w:]
		switch cs {
		case "iso-8859-1", "us-ascii":
			if c > 0xFF || cs == "us-ascii" && c > 0x7F {
				return dst, badCoding("encode", charset)
			}
			dst = append(dst, byte(c))
		case "utf-32":
			dst = append(dst, byte(c>>24), byte(c>>16), byte(c>>8), byte(c))
		default:
			if c >= 0x10000 {
				hi, lo := utf16.EncodeRune(c)
				unit(uint16(hi))
				unit(uint16(lo))
			} else {
				unit(uint16(c))
			}
		}
	}
	return dst, nil
}

func decodeText(dst, s []byte, charset string) ([]byte, error) {
	cs := strings.ToLower(charset)
	bad := badCoding("decode", charset)
	switch cs {
	case "utf-8":
		if !utf8.Valid(s) {
			return dst, bad
		}
		return append(dst, s...), nil
	case "iso-8859-1", "us-ascii":
		for _, b := range s {
			if cs == "us-ascii" && b > 0x7F {
				return dst, bad
			}
			dst = utf8.AppendRune(dst, rune(b))
		}
		return dst, nil
	case "utf-32":
		if len(s)%4 != 0 {
			return dst, bad
		}
		for ; len(s) > 0; s = s[4:] {
			c := rune(uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3]))
			if !utf8.ValidRune(c) {
				return dst, bad
			}
			dst = utf8.AppendRune(dst, c)
		}
		return dst, nil
	case "utf-16", "utf-16be", "utf-16le":
	default:
		return dst, badCharset("decode", charset)
	}
	little := cs == "utf-16le"
	if cs == "utf-16" && len(s) >= 2 {
		if s[0] == 0xFE && s[1] == 0xFF {
			s = s[2:]
		} else if s[0] == 0xFF && s[1] == 0xFE {
			s, little = s[2:], true
		}
	}
	if len(s)%2 != 0 {
		return dst, bad
	}
	unit := func(i int) rune {
		if little {
			return rune(s[i]) | rune(s[i+1])<<8
		}
		return rune(s[i])<<8 | rune(s[i+1])
	}
	for i := 0; i < len(s); i += 2 {
		c := unit(i)
		if utf16.IsSurrogate(c) {
			if i+4 > len(s) {
				return dst, bad
			}
			i += 2
			if c = utf16.DecodeRune(c, unit(i)); c == utf8.RuneError {
				return dst, bad
			}
		}
		dst = utf8.AppendRune(dst, c)
	}
	return dst, nil
}

func buildDecode(c *Call) (Expr, error) {
	if len(c.Args) < 2 {
		return nil, wrongArity(c.Name, "2", len(c.Args))
	}
	if len(c.Args) == 2 {
		return sig{in: "bs", out: tString, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			return decodeText(dst, r.bytes(0), string(r.bytes(1)))
		})}.build(c)
	}
	// decode(v, k1, r1, ..., default): NULL matches NULL.
	var branches []Branch
	var els Expr
	rest := c.Args[1:]
	for len(rest) >= 2 {
		cond, err := Build("<=>", []Expr{c.Args[0], rest[0]}, c.Conf)
		if err != nil {
			return nil, err
		}
		branches = append(branches, Branch{Cond: cond, Value: rest[1]})
		rest = rest[2:]
	}
	els = NullLit(tString) // without a default, which so takes part in the type
	if len(rest) == 1 {
		els = rest[0]
	}
	e, err := NewCase(branches, els, c.Conf)
	if l, ok := e.(*Lazy); ok {
		l.Text = c.Text()
	}
	return e, err
}

func toBinaryBuilder(try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, 2); err != nil {
			return nil, err
		}
		text := c.Text()
		format := "hex"
		if len(c.Args) == 2 {
			if !Foldable(c.Args[1]) {
				return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`fmt`",
					"inputType", `"STRING"`, "inputExpr", quoted(c.Args[1].String()))
			}
			f, ok := constText(c.Args[1], c.Conf)
			if !ok && c.Args[1].Nullable() {
				return &Literal{Value: NullLit(tBinary).Value, Text: text}, nil
			}
			format = strings.ToLower(f)
			switch format {
			case "hex", "utf-8", "utf8", "base64":
			default:
				if try {
					return &Literal{Value: NullLit(tBinary).Value, Text: text}, nil
				}
				return nil, errs.New("DATATYPE_MISMATCH.INVALID_ARG_VALUE", "sqlExpr", quoted(text), "inputName", "fmt",
					"requireType", `case-insensitive "STRING"`, "validValues", "'hex', 'utf-8', 'utf8', or 'base64'", "inputValue", "'"+f+"'")
			}
		}
		k := bytesRows(func(r *row, dst []byte) ([]byte, error) {
			s := r.bytes(0)
			out, ok := dst, true
			switch format {
			case "hex":
				out, ok = appendUnhex(dst, s)
			case "base64":
				if ok = strictBase64(s); ok {
					out, ok = appendUnbase64(dst, s)
				}
			default:
				out = append(dst, s...)
			}
			switch {
			case ok:
				return out, nil
			case try:
				return dst, errNull
			}
			return dst, errs.New("CONVERSION_INVALID_INPUT", "str", "'"+string(s)+"'", "fmt", "'"+strings.ToUpper(format)+"'",
				"targetType", `"BINARY"`, "suggestion", "`try_to_binary`")
		})
		call := *c
		call.Args = c.Args[:1:1]
		e, err := sig{in: "s", out: tBinary, null: try, k: k}.build(&call)
		if s, ok := e.(*Scalar); ok {
			s.Text, s.Extra = text, format
		}
		return e, err
	}
}

// strictBase64 checks the alphabet and the padding; white space is allowed.
func strictBase64(s []byte) bool {
	n, pad := 0, 0
	for _, c := range s {
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
		case c == '=':
			pad++
		case base64Value(c) < 0 || pad > 0:
			return false
		default:
			n++
		}
	}
	return (n+pad)%4 == 0 && pad <= 2 || pad == 0 && n%4 != 1
}
