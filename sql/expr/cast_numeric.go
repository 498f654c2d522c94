package expr

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/sql/types"
)

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type number interface {
	integer | ~float32 | ~float64
}

// convert casts values that always fit (or wrap).
func convert[F, T number](dst []T, src []F, sel columnar.Sel) {
	if sel.All {
		src = src[:sel.N]
		dst = dst[:len(src)]
		for i, x := range src {
			dst[i] = T(x)
		}
		return
	}
	for _, i := range sel.Idx[:sel.N] {
		dst[i] = T(src[i])
	}
}

// convertFrom casts numbers of src to the number type of dst without checks.
func convertFrom[F number](dst *columnar.Vec, src []F, sel columnar.Sel) {
	switch dst.Phys {
	case columnar.PI8:
		convert(dst.I8, src, sel)
	case columnar.PI16:
		convert(dst.I16, src, sel)
	case columnar.PI32:
		convert(dst.I32, src, sel)
	case columnar.PI64:
		convert(dst.I64, src, sel)
	case columnar.PF32:
		convert(dst.F32, src, sel)
	case columnar.PF64:
		convert(dst.F64, src, sel)
	}
}

func convertNumbers(dst, src *columnar.Vec, sel columnar.Sel) {
	switch src.Phys {
	case columnar.PI8:
		convertFrom(dst, src.I8, sel)
	case columnar.PI16:
		convertFrom(dst, src.I16, sel)
	case columnar.PI32:
		convertFrom(dst, src.I32, sel)
	case columnar.PI64:
		convertFrom(dst, src.I64, sel)
	case columnar.PF32:
		convertFrom(dst, src.F32, sel)
	case columnar.PF64:
		convertFrom(dst, src.F64, sel)
	}
}

// i64At reads an integral value of any width. Not for hot loops.
func i64At(v *columnar.Vec, i int) int64 {
	switch v.Phys {
	case columnar.PI8:
		return int64(v.I8[i])
	case columnar.PI16:
		return int64(v.I16[i])
	case columnar.PI32:
		return int64(v.I32[i])
	}
	return v.I64[i]
}

func putI64(v *columnar.Vec, i int, x int64) {
	switch v.Phys {
	case columnar.PI8:
		v.I8[i] = int8(x)
	case columnar.PI16:
		v.I16[i] = int16(x)
	case columnar.PI32:
		v.I32[i] = int32(x)
	case columnar.PI64:
		v.I64[i] = x
	}
}

func f64At(v *columnar.Vec, i int) float64 {
	if v.Phys == columnar.PF32 {
		return float64(v.F32[i])
	}
	return v.F64[i]
}

// integralRange is the range of an integral type.
func integralRange(k types.Kind) (lo, hi int64) {
	switch k {
	case types.TinyInt:
		return math.MinInt8, math.MaxInt8
	case types.SmallInt:
		return math.MinInt16, math.MaxInt16
	case types.Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func castToIntegral(from, to types.DataType, p castPolicy) caster {
	lo, hi := integralRange(to.Kind)
	overflow := func(dst, src *columnar.Vec, i int) error {
		return p.failed(dst, i, func() error { return castOverflow(sqlValue(src, i, p.conf), from, to) })
	}
	switch {
	case from.IsIntegral() && from.Kind <= to.Kind:
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			convertNumbers(dst, src, sel)
			return nil
		}}
	case from.IsIntegral():
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			convertNumbers(dst, src, sel)
			if !p.ansi && !p.try {
				return nil
			}
			for k := range sel.N {
				i := sel.At(k)
				if x := i64At(src, i); x < lo || x > hi {
					if err := overflow(dst, src, i); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	case from.IsFractional():
		flo, fhi := float64(lo), float64(hi)
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				f := f64At(src, i)
				if p.ansi || p.try {
					// Java compares floor(x) <= max and ceil(x) >= min.
					if !(math.Floor(f) <= fhi && math.Ceil(f) >= flo) {
						if err := overflow(dst, src, i); err != nil {
							return err
						}
						continue
					}
				}
				putI64(dst, i, javaLong(f, to.Kind))
			}
			return nil
		}}
	case from.Kind == types.Decimal:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				x, ok := decToI64(src.Dec[i], from.Scale)
				if (!ok || x < lo || x > hi) && (p.ansi || p.try) {
					if err := overflow(dst, src, i); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.Boolean:
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				x := int64(0)
				if src.Bool(i) {
					x = 1
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.String:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				s := src.Bytes(i)
				x, ok := parseIntegral(s, !p.ansi && !p.try)
				if !ok || x < lo || x > hi {
					if err := p.failed(dst, i, func() error { return castInvalidText(s, to) }); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.Timestamp:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				x := floorDiv(src.I64[i], microsPerSecond)
				if x < lo || x > hi {
					if err := overflow(dst, src, i); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.Time:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				x := src.I64[i] / 1e9
				if x < lo || x > hi {
					if err := overflow(dst, src, i); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.YearMonth, from.Kind == types.DayTime:
		unit := intervalUnitSize(from)
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				x := i64At(src, i) / unit
				if x < lo || x > hi {
					if !p.try { // with ANSI off, too
						return castOverflow(sqlValue(src, i, p.conf), from, to)
					}
					SetNull(dst, i)
					continue
				}
				putI64(dst, i, x)
			}
			return nil
		}}
	case from.Kind == types.Variant:
		return castFromVariant(to, p)
	}
	// DATE with ANSI off.
	return caster{run: allNull}
}

func allNull(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		SetNull(dst, sel.At(k))
	}
	return nil
}

// intervalUnitSize is the size of the last unit of an interval type, in months or microseconds.
func intervalUnitSize(t types.DataType) int64 {
	if t.Kind == types.YearMonth {
		if t.To == types.Year {
			return 12
		}
		return 1
	}
	return [...]int64{microsPerDay, microsPerHour, microsPerMinute, microsPerSecond}[t.To]
}

// javaLong is Java's conversion: NaN is 0, too large numbers saturate, first to INT for the narrow types.
func javaLong(f float64, k types.Kind) int64 {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if k != types.BigInt {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	switch {
	case math.IsNaN(f):
		return 0
	case f >= float64(hi):
		return hi
	case f <= float64(lo):
		return lo
	}
	return int64(f)
}

// parseIntegral reads sign and digits; fraction says that a fraction is allowed and cut.
func parseIntegral(s []byte, fraction bool) (int64, bool) {
	s = trimText(s)
	if len(s) == 0 {
		return 0, false
	}
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg = s[0] == '-'
		s = s[1:]
	}
	var x int64
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		d := int64(s[n] - '0')
		if x < (math.MinInt64+d)/10 {
			return 0, false
		}
		x = x*10 - d
		n++
	}
	rest := s[n:]
	if fraction && len(rest) > 0 && rest[0] == '.' {
		rest = rest[1:]
		if n == 0 && len(rest) == 0 {
			return 0, false
		}
		for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
			rest = rest[1:]
		}
		n = 1
	}
	if n == 0 || len(rest) > 0 {
		return 0, false
	}
	if neg {
		return x, true
	}
	return -x, x != math.MinInt64
}

// parseDouble reads a number as Java does, or the names of NaN and the infinities in any case.
func parseDouble(s []byte, bitSize int) (float64, bool) {
	s = trimText(s)
	if len(s) == 0 {
		return 0, false
	}
	body, neg := s, false
	if body[0] == '+' || body[0] == '-' {
		neg = body[0] == '-'
		body = body[1:]
	}
	if len(body) == 0 {
		return 0, false
	}
	switch c := body[0] | 0x20; {
	case c == 'n' || c == 'i':
		switch {
		case asciiEqualFold(body, "nan"):
			return math.NaN(), true
		case asciiEqualFold(body, "inf"), asciiEqualFold(body, "infinity"):
			if neg {
				return math.Inf(-1), true
			}
			return math.Inf(1), true
		}
		return 0, false
	}
	hex := len(body) > 1 && body[0] == '0' && body[1]|0x20 == 'x'
	for _, c := range body {
		ok := c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-' || c|0x20 >= 'a' && c|0x20 <= 'f' ||
			hex && (c|0x20 == 'x' || c|0x20 == 'p')
		if !ok {
			return 0, false
		}
	}
	if last := s[len(s)-1] | 0x20; last == 'd' || last == 'f' {
		if !hex || indexByte(s, 'p') >= 0 || indexByte(s, 'P') >= 0 {
			s = s[:len(s)-1]
		}
	}
	f, err := strconv.ParseFloat(string(s), bitSize)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func asciiEqualFold(s []byte, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func castToFloating(from, to types.DataType, p castPolicy) caster {
	bitSize := 64
	if to.Kind == types.Float {
		bitSize = 32
	}
	put := func(dst *columnar.Vec, i int, f float64) {
		if bitSize == 32 {
			dst.F32[i] = float32(f)
		} else {
			dst.F64[i] = f
		}
	}
	switch {
	case from.IsIntegral(), from.IsFractional():
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			convertNumbers(dst, src, sel)
			return nil
		}}
	case from.Kind == types.Decimal:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				put(dst, i, decToF64(src.Dec[i], from.Scale))
			}
			return nil
		}}
	case from.Kind == types.Boolean:
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				f := 0.0
				if src.Bool(i) {
					f = 1
				}
				put(dst, i, f)
			}
			return nil
		}}
	case from.Kind == types.String:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				s := src.Bytes(i)
				f, ok := parseDouble(s, bitSize)
				if !ok {
					if err := p.failed(dst, i, func() error { return castInvalidText(s, to) }); err != nil {
						return err
					}
					continue
				}
				put(dst, i, f)
			}
			return nil
		}}
	case from.Kind == types.Timestamp:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				put(dst, i, float64(src.I64[i])/microsPerSecond)
			}
			return nil
		}}
	case from.Kind == types.Variant:
		return castFromVariant(to, p)
	}
	return caster{run: allNull}
}

func castToDecimal(from, to types.DataType, p castPolicy) caster {
	overflow := func(dst, src *columnar.Vec, i int, value func() string) error {
		return p.failed(dst, i, func() error { return decimalOverflow(value(), to) })
	}
	text := func(src *columnar.Vec, i int) func() string {
		return func() string { return string(AppendText(nil, src, i, p.conf.Zone, CastStyle)) }
	}
	fromScaled := func(get func(src *columnar.Vec, i int) decimal128.Num, scale int32) caster {
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				n := get(src, i)
				d, ok := decRescale(n, scale, to.Scale, to.Precision)
				if !ok {
					if err := overflow(dst, src, i, func() string { return string(appendDecimal(nil, n, scale)) }); err != nil {
						return err
					}
					continue
				}
				dst.Dec[i] = d
			}
			return nil
		}}
	}
	switch {
	case from.IsIntegral():
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return decimal128.FromI64(i64At(src, i)) }, 0)
	case from.Kind == types.Decimal:
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return src.Dec[i] }, from.Scale)
	case from.Kind == types.Timestamp:
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return decimal128.FromI64(src.I64[i]) }, 6)
	case from.Kind == types.Time:
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return decimal128.FromI64(src.I64[i]) }, 9)
	case from.Kind == types.Boolean:
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num {
			if src.Bool(i) {
				return decimal128.FromI64(1)
			}
			return decZero
		}, 0)
	case from.Kind == types.YearMonth, from.Kind == types.DayTime:
		if from.Kind == types.DayTime && from.To == types.Second {
			return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return decimal128.FromI64(src.I64[i]) }, 6)
		}
		unit := intervalUnitSize(from)
		return fromScaled(func(src *columnar.Vec, i int) decimal128.Num { return decimal128.FromI64(i64At(src, i) / unit) }, 0)
	case from.IsFractional():
		const bitSize = 64 // a FLOAT counts as the double it equals
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				f := f64At(src, i)
				if math.IsNaN(f) || math.IsInf(f, 0) {
					SetNull(dst, i)
					continue
				}
				d, ok := decFromF64(f, bitSize, to.Precision, to.Scale)
				if !ok {
					err := overflow(dst, src, i, func() string { return strconv.FormatFloat(f, 'f', -1, bitSize) })
					if err != nil {
						return err
					}
					continue
				}
				dst.Dec[i] = d
			}
			return nil
		}}
	case from.Kind == types.String:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			var d parsedDecimal
			for k := range sel.N {
				i := sel.At(k)
				s := src.Bytes(i)
				if !d.parse(trimText(s)) {
					if err := p.failed(dst, i, func() error { return castInvalidText(s, to) }); err != nil {
						return err
					}
					continue
				}
				n, ok := d.at(to.Precision, to.Scale)
				if !ok {
					if err := overflow(dst, src, i, text(src, i)); err != nil {
						return err
					}
					continue
				}
				dst.Dec[i] = n
			}
			return nil
		}}
	case from.Kind == types.Variant:
		return castFromVariant(to, p)
	}
	return caster{run: allNull}
}

func castToBoolean(from, to types.DataType, p castPolicy) caster {
	switch {
	case from.IsIntegral():
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				if i := sel.At(k); i64At(src, i) != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}}
	case from.IsFractional():
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				if i := sel.At(k); f64At(src, i) != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}}
	case from.Kind == types.Decimal:
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				if i := sel.At(k); src.Dec[i] != decZero {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}}
	case from.Kind == types.Timestamp:
		return caster{total: true, run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				if i := sel.At(k); src.I64[i] != 0 {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}}
	case from.Kind == types.String:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				s := src.Bytes(i)
				b, ok := parseBoolean(s)
				if !ok {
					if err := p.failed(dst, i, func() error { return castInvalidText(s, to) }); err != nil {
						return err
					}
				} else if b {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}}
	case from.Kind == types.Variant:
		return castFromVariant(to, p)
	}
	return caster{run: allNull}
}

func parseBoolean(s []byte) (value, ok bool) {
	s = trimText(s)
	for _, w := range [...]string{"t", "true", "y", "yes", "1"} {
		if asciiEqualFold(s, w) {
			return true, true
		}
	}
	for _, w := range [...]string{"f", "false", "n", "no", "0"} {
		if asciiEqualFold(s, w) {
			return false, true
		}
	}
	return false, false
}
