package columnar

import (
	"math"
	"math/big"
	"strconv"
)

// AppendScientific appends a finite number above 0 as digits and exponent, "1.25e-07", with the digits that
// Java's Double.toString and Float.toString (bitSize 32) give in their long form. Those are the shortest
// that read back, but for three old habits, kept by Java until 19: whole numbers below 2^63 lose only the
// digits that are surely noise, a power of two is held to a quarter of the distance to its neighbours, and
// no number has less than two digits where one is not exact.
func AppendScientific(dst []byte, f float64, bitSize int) []byte {
	bits, least := 53, -1074
	if bitSize == 32 {
		bits, least = 24, -149
	}
	frac, exp := math.Frexp(f) // f = frac * 2^exp, frac from 0.5
	exp--
	if f < 1<<63 && f == math.Trunc(f) {
		return appendWhole(dst, int64(f), exp-bits)
	}
	if frac == 0.5 {
		return appendPower(dst, f, math.Ldexp(1, max(exp-bits+1, least)), bitSize)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bitSize)
	if dst[start+1] == 'e' {
		dst = strconv.AppendFloat(dst[:start], f, 'e', 1, 64)
	}
	return dst
}

// appendWhole prints a whole number without as many digits as 2^(over-1) has behind its first.
func appendWhole(dst []byte, n int64, over int) []byte {
	drop := 0
	if p := over - 1; p > 1 {
		drop = int(float64(p) * math.Log10(2))
	}
	exp := 0
	for range drop {
		up := n % 10
		n /= 10
		exp++
		if exp == drop && up >= 5 {
			n++
		}
	}
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
	exp += len(digits) - 1
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, "e+"...)
	return strconv.AppendInt(dst, int64(exp), 10)
}

// appendPower prints a power of two with the fewest digits, two at least, that are nearer than a quarter of
// step, the distance to the next number.
func appendPower(dst []byte, f, step float64, bitSize int) []byte {
	exact := new(big.Rat).SetFloat64(f)
	near := new(big.Rat).SetFloat64(step)
	near.Quo(near, big.NewRat(4, 1))
	start := len(dst)
	for n := 1; ; n++ {
		dst = strconv.AppendFloat(dst[:start], f, 'e', n, 64)
		d, _ := new(big.Rat).SetString(string(dst[start:]))
		if d.Sub(d, exact); n > 24 || d.Abs(d).Cmp(near) < 0 {
			return dst
		}
	}
}
