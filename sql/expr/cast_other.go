package expr

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func castToString(from types.DataType, p castPolicy) caster {
	if from.Kind == types.String {
		return caster{run: copyRows}
	}
	if from.Kind == types.Variant {
		return castFromVariant(types.Of(types.String), p)
	}
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		for k := range sel.N {
			i := sel.At(k)
			dst.Data = AppendText(dst.Data, src, i, p.conf.Zone, CastStyle)
			dst.Off[i+1] = int32(len(dst.Data))
		}
		return nil
	}}
}

func castToBinary(from, to types.DataType, p castPolicy) caster {
	switch {
	case from.Kind == types.String, from.Kind == types.Binary:
		return caster{run: copyRows}
	case from.Kind == types.Variant:
		return castFromVariant(to, p)
	}
	width := map[types.Kind]int{types.TinyInt: 1, types.SmallInt: 2, types.Int: 4, types.BigInt: 8}[from.Kind]
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		var b [8]byte
		for k := range sel.N {
			i := sel.At(k)
			binary.BigEndian.PutUint64(b[:], uint64(i64At(src, i)))
			dst.Data = append(dst.Data, b[8-width:]...)
			dst.Off[i+1] = int32(len(dst.Data))
		}
		return nil
	}}
}

func castToDatetime(from, to types.DataType, p castPolicy) caster {
	zone := p.conf.Zone
	simple := func(f func(dst, src *columnar.Vec, i int)) caster {
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				f(dst, src, sel.At(k))
			}
			return nil
		}}
	}
	parsed := func(f func(ctx *EvalContext, dst *columnar.Vec, i int, s []byte) bool) caster {
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				s := src.Bytes(i)
				if !f(ctx, dst, i, s) {
					if err := p.failed(dst, i, func() error { return castInvalidText(s, to) }); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	}
	now := func(ctx *EvalContext, f func(now int64) (int64, bool)) (int64, bool) { return f(ctx.Task.NowMicros) }
	if from.Kind == types.Variant {
		return castFromVariant(to, p)
	}
	switch to.Kind {
	case types.Date:
		switch from.Kind {
		case types.String:
			return parsed(func(ctx *EvalContext, dst *columnar.Vec, i int, s []byte) (ok bool) {
				dst.I32[i], ok = ParseDate(s)
				if !ok && specialWord(s) {
					var v int64
					v, ok = now(ctx, func(n int64) (int64, bool) { return SpecialDay(string(s), types.Date, zone, n) })
					dst.I32[i] = int32(v)
				}
				return ok
			})
		case types.Timestamp:
			return simple(func(dst, src *columnar.Vec, i int) {
				dst.I32[i] = int32(floorDiv(LocalMicros(src.I64[i], zone), microsPerDay))
			})
		}
		return simple(func(dst, src *columnar.Vec, i int) { dst.I32[i] = int32(floorDiv(src.I64[i], microsPerDay)) })
	case types.TimestampNTZ:
		switch from.Kind {
		case types.String:
			return parsed(func(ctx *EvalContext, dst *columnar.Vec, i int, s []byte) (ok bool) {
				dst.I64[i], ok = ParseTimestampNTZ(s, false)
				if !ok && specialWord(s) {
					dst.I64[i], ok = now(ctx, func(n int64) (int64, bool) { return SpecialDay(string(s), types.TimestampNTZ, zone, n) })
				}
				return ok
			})
		case types.Date:
			return simple(func(dst, src *columnar.Vec, i int) { dst.I64[i] = int64(src.I32[i]) * microsPerDay })
		}
		return simple(func(dst, src *columnar.Vec, i int) { dst.I64[i] = LocalMicros(src.I64[i], zone) })
	case types.Time:
		switch from.Kind {
		case types.String:
			return parsed(func(ctx *EvalContext, dst *columnar.Vec, i int, s []byte) (ok bool) {
				dst.I64[i], ok = ParseTimeOfDay(s)
				return ok
			})
		}
		unit := int64(1)
		for range 9 - to.Precision {
			unit *= 10
		}
		return simple(func(dst, src *columnar.Vec, i int) { dst.I64[i] = src.I64[i] / unit * unit })
	}
	switch { // TIMESTAMP
	case from.Kind == types.String:
		return parsed(func(ctx *EvalContext, dst *columnar.Vec, i int, s []byte) (ok bool) {
			dst.I64[i], ok = ParseTimestamp(s, zone, ctx.Task.NowMicros)
			if !ok && specialWord(s) {
				dst.I64[i], ok = now(ctx, func(n int64) (int64, bool) { return SpecialDay(string(s), types.Timestamp, zone, n) })
			}
			return ok
		})
	case from.Kind == types.Date:
		return simple(func(dst, src *columnar.Vec, i int) { dst.I64[i] = InstantOf(int64(src.I32[i])*microsPerDay, zone) })
	case from.Kind == types.TimestampNTZ:
		return simple(func(dst, src *columnar.Vec, i int) { dst.I64[i] = InstantOf(src.I64[i], zone) })
	case from.Kind == types.Boolean:
		return simple(func(dst, src *columnar.Vec, i int) {
			dst.I64[i] = 0
			if src.Bool(i) {
				dst.I64[i] = 1
			}
		})
	case from.IsIntegral():
		return simple(func(dst, src *columnar.Vec, i int) {
			x := i64At(src, i)
			us, ok := mulI64(x, microsPerSecond)
			if !ok {
				us = math.MaxInt64
				if x < 0 {
					us = math.MinInt64
				}
			}
			dst.I64[i] = us
		})
	case from.Kind == types.Decimal:
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				n, ok := src.Dec[i], true
				if from.Scale > 6 {
					n = decTruncPow(n, from.Scale-6)
				} else {
					n, ok = decMulPow(n, 6-from.Scale)
				}
				if !ok || !decIsInt64(n) {
					if err := p.failed(dst, i, func() error { return castOverflow(sqlValue(src, i, p.conf), from, to) }); err != nil {
						return err
					}
					continue
				}
				dst.I64[i] = int64(n.LowBits())
			}
			return nil
		}}
	}
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error { // floating point
		for k := range sel.N {
			i := sel.At(k)
			f := f64At(src, i)
			us := f * microsPerSecond
			switch {
			case math.IsNaN(f) || math.IsInf(f, 0):
				if err := p.failed(dst, i, func() error {
					return castInvalid(string(AppendText(nil, src, i, nil, CastStyle)), from, to)
				}); err != nil {
					return err
				}
			case (p.ansi || p.try) && !(math.Floor(us) <= math.MaxInt64 && math.Ceil(us) >= math.MinInt64):
				if err := p.failed(dst, i, func() error {
					return castOverflow(string(AppendDouble(nil, us, 64))+"D", types.Of(types.Double), types.Of(types.BigInt))
				}); err != nil {
					return err
				}
			default:
				dst.I64[i] = javaLong(us, types.BigInt)
			}
		}
		return nil
	}}
}

// specialWord reports texts that may name a day.
func specialWord(s []byte) bool {
	s = trimText(s)
	return len(s) >= 3 && s[0] >= 'A' && s[len(s)-1] >= 'A'
}

func castToInterval(from, to types.DataType, p castPolicy) caster {
	if to.Kind == types.Calendar {
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			for k := range sel.N {
				i := sel.At(k)
				m, d, us, err := ParseCalendarInterval(string(src.Bytes(i)))
				if err != nil {
					SetNull(dst, i)
					continue
				}
				dst.Kids[0].I32[i], dst.Kids[1].I32[i], dst.Kids[2].I64[i] = m, d, us
			}
			return nil
		}}
	}
	unit := intervalUnitSize(to)
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if to.Kind == types.YearMonth {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		for k := range sel.N {
			i := sel.At(k)
			switch {
			case from.Kind == types.String:
				v, err := ParseInterval(src.Bytes(i), to)
				if err != nil {
					if p.try {
						SetNull(dst, i)
						continue
					}
					return err
				}
				putI64(dst, i, v)
			case from.IsIntegral():
				v, ok := mulI64(i64At(src, i), unit)
				if !ok || v < lo || v > hi {
					if err := p.intervalOverflow(dst, src, i, to); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, v)
			case from.Kind == types.Decimal:
				b := decBig(newBig(), src.Dec[i])
				b.Mul(b, newBig().SetInt64(unit))
				bigDivHalfUp(b, newBig().Set(b), pow10Big[from.Scale])
				if !b.IsInt64() || b.Int64() < lo || b.Int64() > hi {
					if err := p.intervalOverflow(dst, src, i, to); err != nil {
						return err
					}
					continue
				}
				putI64(dst, i, b.Int64())
			default:
				v := i64At(src, i)
				putI64(dst, i, v/unit*unit)
				if to.Kind == types.DayTime && to.To == types.Second {
					putI64(dst, i, v)
				}
			}
		}
		return nil
	}}
}

func (p castPolicy) intervalOverflow(dst, src *columnar.Vec, i int, to types.DataType) error {
	if p.try {
		SetNull(dst, i)
		return nil
	}
	return castOverflow(sqlValue(src, i, p.conf), src.Type, to)
}

// VARIANT values are held as JSON text.

func castToVariant(from, to types.DataType, p castPolicy) caster {
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		for k := range sel.N {
			i := sel.At(k)
			dst.Data = appendVariant(dst.Data, src, i, p.conf)
			dst.Off[i+1] = int32(len(dst.Data))
		}
		return nil
	}}
}

func appendVariant(dst []byte, v *columnar.Vec, i int, c Conf) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Float, types.Double, types.Variant:
		return AppendText(dst, v, i, c.Zone, CastStyle)
	case types.Decimal:
		start := len(dst)
		dst = appendDecimal(dst, v.Dec[i], v.Type.Scale)
		if v.Type.Scale > 0 {
			for dst[len(dst)-1] == '0' && len(dst)-1 > start {
				dst = dst[:len(dst)-1]
			}
			if dst[len(dst)-1] == '.' {
				dst = dst[:len(dst)-1]
			}
		}
		return dst
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ',')
			}
			dst = appendVariant(dst, v.Kids[0], int(j), c)
		}
		return append(dst, ']')
	}
	return appendJSONText(dst, AppendText(nil, v, i, c.Zone, CastStyle))
}

// appendJSONText writes a text as a JSON string.
func appendJSONText(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// castFromVariant reads a scalar out of the JSON text and casts it as a string.
func castFromVariant(to types.DataType, p castPolicy) caster {
	if !to.IsAtomic() {
		s := variantTo(NullLit(types.Of(types.Variant)), nullableType(to), p.try, "", p.conf).(*Scalar)
		k := s.Fresh()
		return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
			return k(ctx, dst, []*columnar.Vec{src}, sel)
		}}
	}
	text := columnar.NewVec(types.Of(types.String), 0)
	// What cannot be cast comes out as NULL, and is an error with or without ANSI.
	lenient := p
	lenient.ansi, lenient.try = false, false
	inner := newCaster(types.Of(types.String), to, lenient)
	return caster{run: func(ctx *EvalContext, dst, src *columnar.Vec, sel columnar.Sel) error {
		text.Reset(types.Of(types.String), dst.Len)
		keep := make([]int32, 0, sel.N)
		for k := range sel.N {
			i := sel.At(k)
			b := src.Bytes(i)
			if string(b) == "null" {
				SetNull(dst, i)
				continue
			}
			if len(b) > 1 && b[0] == '"' {
				if s, err := strconv.Unquote(string(b)); err == nil {
					text.Data = append(text.Data, s...)
				} else {
					text.Data = append(text.Data, b[1:len(b)-1]...)
				}
			} else if to.Kind == types.Binary && !p.try {
				return errs.New("INVALID_VARIANT_CAST", "value", string(b), "dataType", quoted(to.SQL()))
			} else {
				text.Data = appendPlainVariant(text.Data, b, to)
			}
			text.Off[i+1] = int32(len(text.Data))
			keep = append(keep, int32(i))
		}
		closeGaps(text)
		if err := inner.run(ctx, dst, text, columnar.Sel{Idx: keep, N: len(keep)}); err != nil || p.try {
			return err
		}
		for _, i := range keep {
			if dst.IsNull(int(i)) {
				return errs.New("INVALID_VARIANT_CAST", "value", string(src.Bytes(int(i))), "dataType", quoted(to.SQL()))
			}
		}
		return nil
	}}
}

// appendPlainVariant appends a number or boolean as the text that a cast to the type reads: numbers are false where
// they are 0 and seconds of a TIMESTAMP, booleans are 1 and 0, and neither is a date.
func appendPlainVariant(dst, b []byte, to types.DataType) []byte {
	word := b[0] == 't' || b[0] == 'f'
	n, err := strconv.ParseFloat(string(b), 64)
	switch {
	case to.Kind == types.String, word && to.Kind == types.Boolean:
		return append(dst, b...)
	case word && to.IsNumeric():
		if b[0] == 't' {
			return append(dst, '1')
		}
		return append(dst, '0')
	case err == nil && to.Kind == types.Boolean:
		return strconv.AppendBool(dst, n != 0)
	case err == nil && to.Kind == types.Timestamp:
		return append(time.UnixMicro(int64(n*1e6)).UTC().AppendFormat(dst, "2006-01-02 15:04:05.999999"), 'Z')
	case to.IsNumeric():
		return append(dst, b...)
	}
	return append(dst, '?') // is none of these types
}
