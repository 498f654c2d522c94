package expr

import (
	"math"
	"strconv"
	"strings"

	"streamlab/columnar"
	"streamlab/sql/types"
)

func (a *Appender) appendBool(b bool) {
	v := a.v
	if columnar.Words(a.n+1) > len(v.Bits) {
		v.Bits = append(v.Bits, 0)
	}
	if b {
		columnar.SetBit(v.Bits, a.n)
	}
	a.mark(true)
}

func (a *Appender) appendFloat(f float64) {
	if a.v.Phys == columnar.PF32 {
		a.v.F32 = append(a.v.F32, float32(f))
		a.mark(true)
		return
	}
	a.AppendF64(f)
}

func parseJSONFloat(raw []byte, text, number, single bool) (float64, bool) {
	if text || number && len(raw) > 0 && (raw[len(raw)-1] > '9') {
		switch string(raw) {
		case "NaN":
			return math.NaN(), true
		case "Infinity", "+Infinity", "INF", "+INF":
			return math.Inf(1), true
		case "-Infinity", "-INF":
			return math.Inf(-1), true
		}
		return 0, false
	}
	if !number {
		return 0, false
	}
	bits := 64
	if single {
		bits = 32
	}
	f, err := strconv.ParseFloat(bytesView(raw), bits)
	return f, err == nil || math.IsInf(f, 0)
}

// appendParsed reads a text as CAST does, without the words that only literals know, and appends it; a nil
// appender only checks. False if it does not fit.
func appendParsed(t types.DataType, s []byte, c Conf, a *Appender) bool {
	switch t.Kind {
	case types.Boolean:
		b := false
		switch {
		case strings.EqualFold(bytesView(s), "true"):
			b = true
		case !strings.EqualFold(bytesView(s), "false"):
			return false
		}
		if a != nil {
			a.appendBool(b)
		}
		return true
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		n, ok := parseIntBytes(s)
		if !ok || !t.Kind.Holds(n) {
			return false
		}
		if a != nil {
			a.appendIntegral(n)
		}
		return true
	case types.Float, types.Double:
		f, ok := parseJSONFloat(s, false, true, t.Kind == types.Float)
		if ok && a != nil {
			a.appendFloat(f)
		}
		return ok
	case types.Decimal:
		var d parsedDecimal
		if !d.parse(s) {
			return false
		}
		n, ok := d.at(t.Precision, t.Scale)
		if ok && a != nil {
			a.v.Dec = append(a.v.Dec, n)
			a.mark(true)
		}
		return ok
	case types.String, types.Binary:
		if a != nil {
			a.AppendBytes(s)
		}
		return true
	case types.Date:
		d, ok := ParseDate(s)
		if ok && a != nil {
			a.AppendI32(d)
		}
		return ok
	case types.Timestamp:
		us, ok := ParseTimestamp(s, c.Zone, 0)
		if ok && a != nil {
			a.AppendI64(us)
		}
		return ok
	case types.TimestampNTZ:
		us, ok := ParseTimestampNTZ(s, true)
		if ok && a != nil {
			a.AppendI64(us)
		}
		return ok
	case types.Time:
		ns, ok := ParseTimeOfDay(s)
		if ok && a != nil {
			a.AppendI64(ns)
		}
		return ok
	case types.YearMonth, types.DayTime:
		n, err := ParseInterval(s, t)
		if err == nil && a != nil {
			a.appendIntegral(n)
		}
		return err == nil
	case types.Calendar:
		m, d, us, err := ParseCalendarInterval(string(s))
		if err == nil && a != nil {
			a.Kid(0).AppendI32(m)
			a.Kid(1).AppendI32(d)
			a.Kid(2).AppendI64(us)
			a.End()
		}
		return err == nil
	case types.Null:
		if a != nil {
			a.AppendNull()
		}
		return true
	}
	return false
}
