package codec

import (
	"strconv"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// AppendDisplay prints row i of v as Spark's show does: null as NULL at any depth, binary as [1F 2A], arrays
// as [1, 2], structs as {1, a}, maps as {k -> v}, timestamps in zone.
func AppendDisplay(dst []byte, v *columnar.Vec, i int, zone *time.Location) []byte {
	if v.IsNull(i) {
		return append(dst, "NULL"...)
	}
	i = v.Row(i)
	switch v.Type.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, v.Bool(i))
	case types.TinyInt:
		return strconv.AppendInt(dst, int64(v.I8[i]), 10)
	case types.SmallInt:
		return strconv.AppendInt(dst, int64(v.I16[i]), 10)
	case types.Int:
		return strconv.AppendInt(dst, int64(v.I32[i]), 10)
	case types.BigInt:
		return strconv.AppendInt(dst, v.I64[i], 10)
	case types.Decimal:
		return AppendDecimal(dst, v.Dec[i], v.Type.Scale)
	case types.Float:
		return AppendDouble(dst, float64(v.F32[i]), 32)
	case types.Double:
		return AppendDouble(dst, v.F64[i], 64)
	case types.String, types.Variant:
		return append(dst, v.Bytes(i)...)
	case types.Binary:
		return appendHex(dst, v.Bytes(i))
	case types.Date:
		return AppendDate(dst, int64(v.I32[i]))
	case types.Timestamp:
		return AppendTimestamp(dst, LocalMicros(v.I64[i], zone))
	case types.TimestampNTZ:
		return AppendTimestamp(dst, v.I64[i])
	case types.Time:
		return AppendTime(dst, v.I64[i]/1000)
	case types.YearMonth, types.DayTime, types.Calendar:
		return AppendInterval(dst, v, i)
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ", "...)
			}
			dst = AppendDisplay(dst, v.Kids[0], int(j), zone)
		}
		return append(dst, ']')
	case types.Map:
		dst = append(dst, '{')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ", "...)
			}
			dst = AppendDisplay(dst, v.Kids[0], int(j), zone)
			dst = append(dst, " -> "...)
			dst = AppendDisplay(dst, v.Kids[1], int(j), zone)
		}
		return append(dst, '}')
	case types.Struct:
		dst = append(dst, '{')
		for c, k := range v.Kids {
			if c > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendDisplay(dst, k, i, zone)
		}
		return append(dst, '}')
	}
	return dst
}

func appendHex(dst, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '[')
	for k, c := range b {
		if k > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, hex[c>>4], hex[c&15])
	}
	return append(dst, ']')
}

// AppendInterval prints an interval as SQL writes it: INTERVAL '1-2' YEAR TO MONTH; a calendar interval as
// "1 years 2 days".
func AppendInterval(dst []byte, v *columnar.Vec, i int) []byte {
	t := v.Type
	switch t.Kind {
	case types.YearMonth:
		m := int64(v.I32[i])
		dst = append(dst, "INTERVAL '"...)
		if m < 0 {
			dst = append(dst, '-')
			m = -m
		}
		switch {
		case t.To == types.Year:
			dst = strconv.AppendInt(dst, m/12, 10)
		case t.From == types.Month:
			dst = strconv.AppendInt(dst, m, 10)
		default:
			dst = strconv.AppendInt(dst, m/12, 10)
			dst = strconv.AppendInt(append(dst, '-'), m%12, 10)
		}
	case types.DayTime:
		us := v.I64[i]
		u := uint64(us)
		dst = append(dst, "INTERVAL '"...)
		if us < 0 {
			dst = append(dst, '-')
			u = -u
		}
		units := [...]uint64{uint64(day), uint64(hour), uint64(minute), uint64(second)}
		for f := t.From; f <= t.To; f++ {
			n := u / units[f]
			u %= units[f]
			if f > t.From {
				dst = append(dst, " ::"[f-1])
			}
			if f > types.Day && n < 10 {
				dst = append(dst, '0')
			}
			dst = strconv.AppendUint(dst, n, 10)
			if f == types.Second {
				dst = appendFraction(dst, int64(u))
			}
		}
	default:
		return appendCalendar(dst, int64(v.Kids[0].I32[i]), int64(v.Kids[1].I32[i]), v.Kids[2].I64[i])
	}
	return append(append(dst, "' "...), strings.TrimPrefix(t.SQL(), "INTERVAL ")...)
}

func appendCalendar(dst []byte, months, days, us int64) []byte {
	start := len(dst)
	unit := func(n int64, name string) {
		if n != 0 {
			if len(dst) > start {
				dst = append(dst, ' ')
			}
			dst = strconv.AppendInt(dst, n, 10)
			dst = append(append(dst, ' '), name...)
		}
	}
	unit(months/12, "years")
	unit(months%12, "months")
	unit(days, "days")
	unit(us/hour, "hours")
	unit(us%hour/minute, "minutes")
	if s := us % minute; s != 0 {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if s < 0 {
			dst = append(dst, '-')
			s = -s
		}
		dst = strconv.AppendInt(dst, s/second, 10)
		dst = append(appendFraction(dst, s%second), " seconds"...)
	}
	if len(dst) == start {
		dst = append(dst, "0 seconds"...)
	}
	return dst
}
