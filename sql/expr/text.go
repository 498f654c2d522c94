package expr

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Style says how values inside a text are written.
type Style uint8

// The styles of texts.
const (
	CastStyle Style = iota // CAST(x AS STRING): null inside arrays is null
	ShowStyle              // show and the console sink: NULL, binary as [1F 2A]
)

// AppendText prints row i of v in a style. A null prints as null or NULL; CAST never asks for a top-level
// one.
func AppendText(dst []byte, v *columnar.Vec, i int, zone *time.Location, style Style) []byte {
	if v.IsNull(i) {
		if style == ShowStyle {
			return append(dst, "NULL"...)
		}
		return append(dst, "null"...)
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
		return appendDecimal(dst, v.Dec[i], v.Type.Scale)
	case types.Float:
		return AppendDouble(dst, float64(v.F32[i]), 32)
	case types.Double:
		return AppendDouble(dst, v.F64[i], 64)
	case types.String:
		return append(dst, v.Bytes(i)...)
	case types.Binary:
		if style == ShowStyle {
			return appendHexBytes(dst, v.Bytes(i))
		}
		return appendValidUTF8(dst, v.Bytes(i))
	case types.Variant:
		return append(dst, v.Bytes(i)...)
	case types.Date:
		return AppendDate(dst, int64(v.I32[i]))
	case types.Timestamp:
		return AppendTimestamp(dst, LocalMicros(v.I64[i], zone))
	case types.TimestampNTZ:
		return AppendTimestamp(dst, v.I64[i])
	case types.Time:
		return appendTimeOfDay(dst, v.I64[i]/1000)
	case types.YearMonth:
		return appendYearMonth(dst, v.I32[i], v.Type)
	case types.DayTime:
		return appendDayTime(dst, v.I64[i], v.Type)
	case types.Calendar:
		return appendCalendar(dst, v.Kids[0].I32[i], v.Kids[1].I32[i], v.Kids[2].I64[i])
	case types.Array:
		dst = append(dst, '[')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ", "...)
			}
			dst = AppendText(dst, v.Kids[0], int(j), zone, style)
		}
		return append(dst, ']')
	case types.Map:
		dst = append(dst, '{')
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			if j > v.Off[i] {
				dst = append(dst, ", "...)
			}
			dst = AppendText(dst, v.Kids[0], int(j), zone, style)
			dst = append(dst, " -> "...)
			dst = AppendText(dst, v.Kids[1], int(j), zone, style)
		}
		return append(dst, '}')
	case types.Struct:
		dst = append(dst, '{')
		for c, k := range v.Kids {
			if c > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendText(dst, k, i, zone, style)
		}
		return append(dst, '}')
	}
	return dst
}

func appendHexBytes(dst, b []byte) []byte {
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

func appendValidUTF8(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// AppendDouble prints a floating-point number as Spark does: the shortest digits that read back, plain from
// 0.001 to below 10,000,000, else with an exponent.
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
	e := 0
	for s[e] != 'e' {
		e++
	}
	mantissa, exp := s[:e], s[e+1:]
	point := false
	for _, c := range mantissa {
		point = point || c == '.'
	}
	dst = append(dst, mantissa...)
	if !point {
		dst = append(dst, ".0"...)
	}
	dst = append(dst, 'E')
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	exp = exp[1:]
	for len(exp) > 1 && exp[0] == '0' {
		exp = exp[1:]
	}
	return append(dst, exp...)
}

// civil gives the proleptic Gregorian date of a day since 1970-01-01.
func civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	y := yoe + era*400
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := doy - (153*mp+2)/5 + 1
	m := mp + 3
	if m > 12 {
		m -= 12
	}
	if m <= 2 {
		y++
	}
	return y, int(m), int(d)
}

// daysOf is the day number of a proleptic Gregorian date, the inverse of civil.
func daysOf(year int64, month, day int) int64 {
	y, m := year, int64(month)
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

const (
	microsPerSecond = 1_000_000
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
	microsPerDay    = 24 * microsPerHour
)

func append2(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }

func appendYear(dst []byte, y int64) []byte {
	switch {
	case y > 9999:
		dst = append(dst, '+')
		return strconv.AppendInt(dst, y, 10)
	case y < 0:
		dst = append(dst, '-')
		y = -y
	}
	if y < 1000 {
		dst = append(dst, "000"[:3-min(2, digitsOf(y)-1)]...)
	}
	return strconv.AppendInt(dst, y, 10)
}

func digitsOf(n int64) int {
	d := 1
	for n >= 10 {
		n /= 10
		d++
	}
	return d
}

// AppendDate prints a day since 1970-01-01 as yyyy-MM-dd.
func AppendDate(dst []byte, days int64) []byte {
	y, m, d := civil(days)
	dst = appendYear(dst, y)
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d)
}

// AppendTimestamp prints microseconds of local time as yyyy-MM-dd HH:mm:ss[.ffffff].
func AppendTimestamp(dst []byte, local int64) []byte {
	day := floorDiv(local, microsPerDay)
	dst = AppendDate(dst, day)
	return appendTimeOfDay(append(dst, ' '), local-day*microsPerDay)
}

func appendTimeOfDay(dst []byte, us int64) []byte {
	dst = append2(dst, int(us/microsPerHour))
	dst = append2(append(dst, ':'), int(us/microsPerMinute%60))
	dst = append2(append(dst, ':'), int(us/microsPerSecond%60))
	return appendFraction(dst, us%microsPerSecond)
}

// appendFraction prints .ffffff without trailing zeros, nothing for 0.
func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for d := int64(100000); us > 0; d /= 10 {
		dst = append(dst, '0'+byte(us/d))
		us %= d
	}
	return dst
}

// LocalMicros is the local time of an instant in a zone, in microseconds since 1970-01-01T00:00 of no zone.
func LocalMicros(us int64, zone *time.Location) int64 {
	if zone == nil || zone == time.UTC {
		return us
	}
	sec := floorDiv(us, microsPerSecond)
	_, off := time.Unix(sec, 0).In(zone).Zone()
	return us + int64(off)*microsPerSecond
}

// InstantOf is the instant of a local time in a zone: in a gap the time moves forward by the gap, in an
// overlap the earlier instant is taken.
func InstantOf(local int64, zone *time.Location) int64 {
	if zone == nil || zone == time.UTC {
		return local
	}
	sec := floorDiv(local, microsPerSecond)
	// The offset before a transition, which is what Java takes for gaps and overlaps alike.
	_, before := time.Unix(sec-86400, 0).In(zone).Zone()
	for _, off := range [...]int{before, offsetAt(sec+86400, zone), offsetAt(sec-int64(before), zone)} {
		if offsetAt(sec-int64(off), zone) == off {
			return local - int64(off)*microsPerSecond
		}
	}
	return local - int64(before)*microsPerSecond
}

func offsetAt(sec int64, zone *time.Location) int {
	_, off := time.Unix(sec, 0).In(zone).Zone()
	return off
}

func appendYearMonth(dst []byte, months int32, t types.DataType) []byte {
	m := int64(months)
	dst = append(dst, "INTERVAL '"...)
	if m < 0 {
		dst = append(dst, '-')
		m = -m
	}
	switch {
	case t.From == types.Year && t.To == types.Year:
		dst = strconv.AppendInt(dst, m/12, 10)
	case t.From == types.Month:
		dst = strconv.AppendInt(dst, m, 10)
	default:
		dst = strconv.AppendInt(dst, m/12, 10)
		dst = strconv.AppendInt(append(dst, '-'), m%12, 10)
	}
	return append(append(dst, "' "...), strings.TrimPrefix(t.SQL(), "INTERVAL ")...)
}

func appendDayTime(dst []byte, us int64, t types.DataType) []byte {
	dst = append(dst, "INTERVAL '"...)
	u := uint64(us)
	if us < 0 {
		dst = append(dst, '-')
		u = -u
	}
	units := [...]uint64{microsPerDay, microsPerHour, microsPerMinute, microsPerSecond}
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
	return append(append(dst, "' "...), strings.TrimPrefix(t.SQL(), "INTERVAL ")...)
}

func appendCalendar(dst []byte, months, days int32, us int64) []byte {
	start := len(dst)
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(append(dst, ' '), unit...)
	}
	part(int64(months/12), "years")
	part(int64(months%12), "months")
	part(int64(days), "days")
	part(us/microsPerHour, "hours")
	part(us%microsPerHour/microsPerMinute, "minutes")
	if s := us % microsPerMinute; s != 0 {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if s < 0 {
			dst = append(dst, '-')
			s = -s
		}
		dst = strconv.AppendInt(dst, s/microsPerSecond, 10)
		dst = appendFraction(dst, s%microsPerSecond)
		dst = append(dst, " seconds"...)
	}
	if len(dst) == start {
		dst = append(dst, "0 seconds"...)
	}
	return dst
}

// literalText prints a literal as generated column names and errors show it.
func literalText(v *columnar.Vec, zone *time.Location) string {
	if v.IsNull(0) {
		return "NULL"
	}
	switch v.Type.Kind {
	case types.Binary:
		const hex = "0123456789ABCDEF"
		b := []byte("X'")
		for _, c := range v.Bytes(0) {
			b = append(b, hex[c>>4], hex[c&15])
		}
		return string(append(b, '\''))
	case types.Date, types.Timestamp, types.TimestampNTZ, types.Time:
		name := map[types.Kind]string{types.Date: "DATE", types.Timestamp: "TIMESTAMP",
			types.TimestampNTZ: "TIMESTAMP_NTZ", types.Time: "TIME"}[v.Type.Kind]
		return name + " '" + string(AppendText(nil, v, 0, zone, CastStyle)) + "'"
	case types.Decimal:
		return decimalLiteralText(v)
	case types.Calendar:
		return "INTERVAL '" + string(AppendText(nil, v, 0, zone, CastStyle)) + "'"
	}
	return string(AppendText(nil, v, 0, zone, CastStyle))
}

// decimalLiteralText is Java's: plain unless the value is below 10^-6.
func decimalLiteralText(v *columnar.Vec) string {
	n, scale := v.Dec[0], v.Type.Scale
	plain := string(appendDecimal(nil, n, scale))
	digits := strings.TrimLeft(strings.Trim(string(appendDecimal(nil, n, 0)), "-"), "0")
	if digits == "" {
		digits = "0"
	}
	exp := len(digits) - 1 - int(scale)
	if exp >= -6 || scale == 0 {
		return plain
	}
	out := digits[:1]
	if len(digits) > 1 {
		out += "." + digits[1:]
	}
	if n.Sign() < 0 {
		out = "-" + out
	}
	return out + "E" + strconv.Itoa(exp)
}

func (l *Literal) String() string {
	if l.Text != "" || l.Value.Type.Kind == types.String {
		if l.Text == "" && !l.Value.IsNull(0) {
			return string(l.Value.Bytes(0))
		}
		if l.Text != "" {
			return l.Text
		}
	}
	return literalText(l.Value, nil)
}
