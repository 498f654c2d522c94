package expr

import (
	"net/url"
	"strings"

	"streamlab/errs"
)

func urlFunctions() []Function {
	decode := func(try bool) Kernel {
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			out, ok := appendURLDecoded(dst, r.bytes(0))
			switch {
			case ok:
				return out, nil
			case try:
				return dst, errNull
			}
			return dst, errs.New("CANNOT_DECODE_URL", "url", string(r.bytes(0)))
		})
	}
	parse := func(try bool) func(c *Call) (Expr, error) {
		return sig{in: "sss", min: 2, out: tString, null: true, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			return parseURLRow(r, dst, try)
		})}.build
	}
	return []Function{
		fn("url_encode(str)", "Form encoding: blanks become +, other characters %XX.", sig{in: "s", out: tString, k: bytesToBytes(appendURLEncoded)}.build),
		fn("url_decode(str)", "Undoes form encoding.", sig{in: "s", out: tString, k: decode(false)}.build),
		fn("try_url_decode(str)", "As url_decode, null for bad text.", sig{in: "s", out: tString, null: true, k: decode(true)}.build),
		fn("parse_url(url, part[, key])", "HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO of a URL.", parse(false)),
		fn("try_parse_url(url, part[, key])", "As parse_url, null for a bad URL.", parse(true)),
	}
}

func appendURLEncoded(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '*':
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

func appendURLDecoded(dst, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+':
			dst = append(dst, ' ')
		case '%':
			if i+2 >= len(s) || hexValue(s[i+1]) < 0 || hexValue(s[i+2]) < 0 {
				return dst, false
			}
			dst = append(dst, byte(hexValue(s[i+1])<<4|hexValue(s[i+2])))
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst, true
}

func parseURLRow(r *row, dst []byte, try bool) ([]byte, error) {
	text := string(r.bytes(0))
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " <>\"{}|\\^`") {
		if try {
			return dst, errNull
		}
		return dst, errs.New("INVALID_URL", "url", text)
	}
	part := string(r.bytes(1))
	some := func(s string) ([]byte, error) {
		if s == "" {
			return dst, errNull
		}
		return append(dst, s...), nil
	}
	if len(r.args) > 2 && part != "QUERY" {
		return dst, errNull
	}
	switch part {
	case "HOST":
		return some(u.Hostname())
	case "PATH":
		return append(dst, u.EscapedPath()...), nil
	case "QUERY":
		if len(r.args) < 3 {
			return some(u.RawQuery)
		}
		key := string(r.bytes(2)) + "="
		for _, p := range strings.Split(u.RawQuery, "&") {
			if v, ok := strings.CutPrefix(p, key); ok {
				return append(dst, v...), nil
			}
		}
		return dst, errNull
	case "REF":
		return some(u.EscapedFragment())
	case "PROTOCOL":
		return some(u.Scheme)
	case "FILE":
		dst = append(dst, u.EscapedPath()...)
		if u.RawQuery != "" {
			dst = append(append(dst, '?'), u.RawQuery...)
		}
		return dst, nil
	case "AUTHORITY":
		if u.User != nil {
			return append(dst, u.User.String()+"@"+u.Host...), nil
		}
		return some(u.Host)
	case "USERINFO":
		if u.User == nil {
			return dst, errNull
		}
		return append(dst, u.User.String()...), nil
	}
	return dst, errNull
}
