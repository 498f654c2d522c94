package codec

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
)

var pow10f = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22}

var pow10i = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// ParseDecimal reads a decimal number with optional sign, point and exponent as DECIMAL(precision, scale),
// rounding half up. ok is false if the text is no number or the number does not fit.
func ParseDecimal(s []byte, precision, scale int32) (d decimal128.Num, ok bool) {
	i, negative := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	m, digits, fraction, point := int64(0), 0, int32(0), false
	start := i
	for ; i < len(s); i++ {
		c := s[i] - '0'
		if c <= 9 {
			if m != 0 || c != 0 {
				digits++
			}
			if digits > 18 {
				break
			}
			m = m*10 + int64(c)
			if point {
				fraction++
			}
		} else if s[i] == '.' && !point {
			point = true
		} else {
			break
		}
	}
	if i == len(s) && i > start && !(point && i == start+1) {
		if fraction > scale {
			if fraction-scale > 18 {
				m = 0
			} else {
				f := pow10i[fraction-scale]
				q, r := m/f, m%f
				if r >= f-r {
					q++
				}
				m = q
			}
			fraction = scale
		}
		up := scale - fraction
		if up <= 18 && (up == 0 || m <= math.MaxInt64/pow10i[up]) {
			m *= pow10i[up]
			if precision < 19 && m >= pow10i[min(precision, 18)] {
				return d, false
			}
			if negative {
				m = -m
			}
			return decimal128.FromI64(m), true
		}
	}
	return slowDecimal(s, precision, scale)
}

func slowDecimal(s []byte, precision, scale int32) (d decimal128.Num, ok bool) {
	i := 0
	negative := false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		negative = s[i] == '-'
		i++
	}
	var digits []byte
	exp, point, seen := int64(0), false, false
	for ; i < len(s); i++ {
		if c := s[i]; c-'0' <= 9 {
			seen = true
			digits = append(digits, c)
			if point {
				exp--
			}
		} else if c == '.' && !point {
			point = true
		} else {
			break
		}
	}
	if !seen {
		return d, false
	}
	if i < len(s) {
		if s[i] != 'e' && s[i] != 'E' {
			return d, false
		}
		e, err := strconv.ParseInt(string(s[i+1:]), 10, 32)
		if err != nil {
			return d, false
		}
		exp += e
	}
	b, good := new(big.Int).SetString(string(digits), 10)
	if !good {
		return d, false
	}
	if b.Sign() == 0 {
		return d, true
	}
	up := exp + int64(scale)
	switch {
	case up > 80 || int64(len(digits))+up < -1:
		if up > 80 {
			return d, false
		}
		return d, true
	case up >= 0:
		b.Mul(b, new(big.Int).Exp(big.NewInt(10), big.NewInt(up), nil))
	default:
		f := new(big.Int).Exp(big.NewInt(10), big.NewInt(-up), nil)
		r := new(big.Int)
		b.QuoRem(b, f, r)
		if r.Lsh(r, 1).Cmp(f) >= 0 {
			b.Add(b, big.NewInt(1))
		}
	}
	if b.Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)) >= 0 {
		return d, false
	}
	if negative {
		b.Neg(b)
	}
	return decimal128.FromBigInt(b), true
}

// AppendDecimal prints an unscaled number with scale digits behind the point.
func AppendDecimal(dst []byte, n decimal128.Num, scale int32) []byte {
	var text []byte
	if n.HighBits() == int64(n.LowBits())>>63 && int64(n.LowBits()) != math.MinInt64 {
		v := int64(n.LowBits())
		if v < 0 {
			dst = append(dst, '-')
			v = -v
		}
		var buf [20]byte
		text = strconv.AppendInt(buf[:0], v, 10)
	} else {
		b := n.BigInt()
		if b.Sign() < 0 {
			dst = append(dst, '-')
			b.Neg(b)
		}
		text = b.Append(nil, 10)
	}
	if scale <= 0 {
		return append(dst, text...)
	}
	if pad := int(scale) + 1 - len(text); pad > 0 {
		dst = append(dst, '0', '.')
		for ; pad > 1; pad-- {
			dst = append(dst, '0')
		}
		return append(dst, text...)
	}
	cut := len(text) - int(scale)
	dst = append(dst, text[:cut]...)
	return append(append(dst, '.'), text[cut:]...)
}

// AppendDouble prints a floating-point number as Java does: plain from 0.001 to below 10,000,000, else with
// an exponent.
func AppendDouble(dst []byte, f float64, bitSize int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			return append(dst, "-0.0"...)
		}
		return append(dst, "0.0"...)
	}
	a := math.Abs(f)
	if a >= 1e-3 && a < 1e7 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, bitSize)
		for _, c := range dst[start:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	var buf [32]byte
	s := columnar.AppendScientific(buf[:0], a, bitSize)
	if f < 0 {
		dst = append(dst, '-')
	}
	point := false
	e := 0
	for s[e] != 'e' {
		point = point || s[e] == '.'
		e++
	}
	dst = append(dst, s[:e]...)
	if !point {
		dst = append(dst, ".0"...)
	}
	dst = append(dst, 'E')
	exp := s[e+1:]
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	exp = exp[1:]
	for len(exp) > 1 && exp[0] == '0' {
		exp = exp[1:]
	}
	return append(dst, exp...)
}
