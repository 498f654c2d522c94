package expr

import (
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
)

var decZero decimal128.Num

func decValues(v *columnar.Vec) []decimal128.Num { return v.Dec }

// pow10 holds 10^0 … 10^38.
var pow10 = func() (p [39]decimal128.Num) {
	p[0] = decimal128.FromI64(1)
	ten := decimal128.FromI64(10)
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1].Mul(ten)
	}
	return p
}()

var pow10Big = func() (p [80]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
}()

// decAbs is the magnitude as two words.
func decAbs(n decimal128.Num) (hi, lo uint64, neg bool) {
	hi, lo = uint64(n.HighBits()), n.LowBits()
	if n.HighBits() < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
		return hi, lo, true
	}
	return hi, lo, false
}

func decSigned(hi, lo uint64, neg bool) decimal128.Num {
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return decimal128.New(int64(hi), lo)
}

// decFits reports whether n has at most p digits.
func decFits(n decimal128.Num, p int32) bool {
	hi, lo, _ := decAbs(n)
	l := pow10[p]
	lh, ll := uint64(l.HighBits()), l.LowBits()
	return hi < lh || hi == lh && lo < ll
}

func decIsInt64(n decimal128.Num) bool { return n.HighBits() == int64(n.LowBits())>>63 }

// decMulPow multiplies by 10^k; false if the product has more than 38 digits.
func decMulPow(n decimal128.Num, k int32) (decimal128.Num, bool) {
	if k == 0 || n == decZero {
		return n, true
	}
	if k > 38 {
		return decZero, false
	}
	hi, lo, neg := decAbs(n)
	p := pow10[k]
	ph, pl := uint64(p.HighBits()), p.LowBits()
	if hi != 0 && ph != 0 {
		return decZero, false
	}
	rh, rl := bits.Mul64(lo, pl)
	h1, l1 := bits.Mul64(hi, pl)
	h2, l2 := bits.Mul64(lo, ph)
	if h1 != 0 || h2 != 0 {
		return decZero, false
	}
	var c1, c2 uint64
	rh, c1 = bits.Add64(rh, l1, 0)
	rh, c2 = bits.Add64(rh, l2, 0)
	if c1|c2 != 0 || rh>>63 != 0 {
		return decZero, false
	}
	r := decSigned(rh, rl, neg)
	return r, decFits(r, 38)
}

// decDivPow divides by 10^k, halves away from zero.
func decDivPow(n decimal128.Num, k int32) decimal128.Num {
	if k == 0 {
		return n
	}
	if k > 38 {
		return decZero
	}
	hi, lo, neg := decAbs(n)
	// Divide in steps of at most 10^19, which fit a word; only the last digit cut decides the rounding.
	var rem uint64
	for k > 1 {
		s := min(k-1, 19)
		hi, lo, _ = div128(hi, lo, pow10[s].LowBits())
		k -= s
	}
	hi, lo, rem = div128(hi, lo, 10)
	if rem >= 5 {
		var c uint64
		lo, c = bits.Add64(lo, 1, 0)
		hi += c
	}
	return decSigned(hi, lo, neg)
}

// decTruncPow divides by 10^k towards zero.
func decTruncPow(n decimal128.Num, k int32) decimal128.Num {
	hi, lo, neg := decAbs(n)
	for k > 0 {
		s := min(k, 19)
		hi, lo, _ = div128(hi, lo, pow10[s].LowBits())
		k -= s
	}
	return decSigned(hi, lo, neg)
}

func div128(hi, lo, d uint64) (qh, ql, rem uint64) {
	qh, rem = hi/d, hi%d
	ql, rem = bits.Div64(rem, lo, d)
	return qh, ql, rem
}

// decRescale changes the scale, rounding half up; false if the result does not fit precision p.
func decRescale(n decimal128.Num, from, to, p int32) (decimal128.Num, bool) {
	ok := true
	if to > from {
		n, ok = decMulPow(n, to-from)
	} else {
		n = decDivPow(n, from-to)
	}
	return n, ok && decFits(n, p)
}

// decBig reads n into b.
func decBig(b *big.Int, n decimal128.Num) *big.Int {
	hi, lo, neg := decAbs(n)
	b.SetUint64(hi)
	b.Lsh(b, 64)
	var l big.Int
	l.SetUint64(lo)
	b.Or(b, &l)
	if neg {
		b.Neg(b)
	}
	return b
}

// bigDec is b as a number of at most p digits.
func bigDec(b *big.Int, p int32) (decimal128.Num, bool) {
	if b.CmpAbs(pow10Big[p]) >= 0 {
		return decZero, false
	}
	var words [2]uint64
	var abs big.Int
	abs.Abs(b)
	words[0] = new(big.Int).And(&abs, maxWord).Uint64()
	words[1] = abs.Rsh(&abs, 64).Uint64()
	return decSigned(words[1], words[0], b.Sign() < 0), true
}

var maxWord = new(big.Int).SetUint64(^uint64(0))

// bigDivHalfUp sets q to a/b rounded half away from zero.
func bigDivHalfUp(q, a, b *big.Int) {
	var r big.Int
	q.QuoRem(a, b, &r)
	r.Abs(&r)
	r.Lsh(&r, 1)
	if r.CmpAbs(b) >= 0 {
		if (a.Sign() < 0) != (b.Sign() < 0) {
			q.Sub(q, big.NewInt(1))
		} else {
			q.Add(q, big.NewInt(1))
		}
	}
}

// appendDecimal prints n with scale digits behind the point.
func appendDecimal(dst []byte, n decimal128.Num, scale int32) []byte {
	hi, lo, neg := decAbs(n)
	var digits [48]byte
	i := len(digits)
	for hi != 0 {
		var rem uint64
		hi, lo, rem = div128(hi, lo, 1e18)
		for range 18 {
			i--
			digits[i] = '0' + byte(rem%10)
			rem /= 10
		}
	}
	for lo != 0 {
		i--
		digits[i] = '0' + byte(lo%10)
		lo /= 10
	}
	if i == len(digits) {
		neg = false
	}
	for len(digits)-i <= int(scale) {
		i--
		digits[i] = '0'
	}
	if neg {
		dst = append(dst, '-')
	}
	point := len(digits) - int(scale)
	dst = append(dst, digits[i:point]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, digits[point:]...)
	}
	return dst
}

// appendBigDecimal prints an unscaled big number.
func appendBigDecimal(dst []byte, n *big.Int, scale int32) []byte {
	s := new(big.Int).Abs(n).String()
	for len(s) <= int(scale) {
		s = "0" + s
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
	}
	dst = append(dst, s[:len(s)-int(scale)]...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, s[len(s)-int(scale):]...)
	}
	return dst
}

// parsedDecimal is a text taken apart: digits d[0..n) times 10^exp.
type parsedDecimal struct {
	neg    bool
	digits [80]byte // without leading zeros; further digits only count for exp
	n      int
	exp    int
}

// parse reads sign, digits, point and exponent.
func (d *parsedDecimal) parse(s []byte) bool {
	*d = parsedDecimal{}
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		d.neg = s[i] == '-'
		i++
	}
	seen, point := false, false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		seen = true
		if point {
			d.exp--
		}
		if c == '0' && d.n == 0 {
			continue
		}
		if d.n < len(d.digits) {
			d.digits[d.n] = c - '0'
			d.n++
		} else {
			d.exp++
		}
	}
	if !seen {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, err := strconv.Atoi(string(s[i+1:]))
		if err != nil || e > 1<<20 || e < -(1<<20) {
			return false
		}
		d.exp += e
		i = len(s)
	}
	return i == len(s)
}

// at gives the number with the scale, rounded half up; false if it has more than p digits.
func (d *parsedDecimal) at(p, scale int32) (decimal128.Num, bool) {
	shift := d.exp + int(scale) // append this many zeros, or cut this many digits
	keep := d.n + min(shift, 0)
	if d.n == 0 || keep < 0 {
		return decZero, true
	}
	if keep+max(shift, 0) > 38+1 {
		return decZero, false
	}
	var hi, lo uint64
	push := func(c byte) {
		var h uint64
		h, lo = bits.Mul64(lo, 10)
		hi = hi*10 + h
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(c), 0)
		hi += carry
	}
	if keep+max(shift, 0) > 38 {
		return decZero, false
	}
	for i := range keep {
		push(d.digits[i])
	}
	for range max(shift, 0) {
		push(0)
	}
	if shift < 0 && d.digits[keep] >= 5 {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	n := decSigned(hi, lo, d.neg)
	return n, decFits(n, p)
}

// decFromF64 is the decimal of the shortest digits of f, as Spark takes doubles; false if it does not fit.
// f is finite.
func decFromF64(f float64, bitSize int, p, scale int32) (decimal128.Num, bool) {
	var buf [32]byte
	var d parsedDecimal
	if !d.parse(strconv.AppendFloat(buf[:0], f, 'e', -1, bitSize)) {
		return decZero, false
	}
	return d.at(p, scale)
}

// decToF64 is the nearest double.
func decToF64(n decimal128.Num, scale int32) float64 {
	if decIsInt64(n) {
		i := int64(n.LowBits())
		if i < 1<<53 && i > -1<<53 && scale <= 22 {
			return float64(i) / f64Pow10[scale]
		}
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(appendDecimal(buf[:0], n, scale)), 64)
	return f
}

var f64Pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// decToI64 cuts the fraction; false if the rest does not fit.
func decToI64(n decimal128.Num, scale int32) (int64, bool) {
	n = decTruncPow(n, scale)
	return int64(n.LowBits()), decIsInt64(n)
}

func newBig() *big.Int { return new(big.Int) }
