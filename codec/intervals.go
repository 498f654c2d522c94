package codec

import (
	"bytes"
	"math"
	"strings"

	"streamlab/sql/types"
)

var intervalUnits = [...]string{"DAY", "HOUR", "MINUTE", "SECOND"}

// ParseInterval reads an interval as JSON and CSV files hold it: the SQL literal INTERVAL '1 02:03:04' DAY TO
// SECOND of exactly the type's units, or what stands between its quotes. The value is in microseconds, or in
// months for year-month intervals.
func ParseInterval(text []byte, t types.DataType) (int64, bool) {
	s := trim(text)
	if len(s) > 8 && strings.EqualFold(string(s[:8]), "INTERVAL") {
		rest := trim(s[8:])
		negative := false
		if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
			negative = rest[0] == '-'
			rest = trim(rest[1:])
		}
		if len(rest) < 2 || rest[0] != '\'' {
			return 0, false
		}
		end := bytes.IndexByte(rest[1:], '\'')
		if end < 0 || !strings.EqualFold(strings.Join(strings.Fields(string(rest[end+2:])), " "), intervalSuffix(t)) {
			return 0, false
		}
		v, ok := parseIntervalBody(rest[1:end+1], t)
		if negative {
			v = -v
		}
		return v, ok
	}
	return parseIntervalBody(s, t)
}

func intervalSuffix(t types.DataType) string {
	units := intervalUnits[:]
	if t.Kind == types.YearMonth {
		units = []string{"YEAR", "MONTH"}
	}
	if t.From == t.To {
		return units[t.From]
	}
	return units[t.From] + " TO " + units[t.To]
}

func parseIntervalBody(s []byte, t types.DataType) (int64, bool) {
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	sign := func(v int64, ok bool) (int64, bool) {
		if negative {
			v = -v
		}
		return v, ok
	}
	if t.Kind == types.YearMonth {
		v, rest, ok := intervalNumber(s)
		if !ok {
			return 0, false
		}
		switch {
		case t.From == types.Month:
		case t.To == types.Year:
			v *= 12
		default:
			if len(rest) == 0 || rest[0] != '-' {
				return 0, false
			}
			m, r, ok := intervalNumber(rest[1:])
			if !ok || m > 11 {
				return 0, false
			}
			v, rest = v*12+m, r
		}
		return sign(v, len(rest) == 0 && v <= math.MaxInt32)
	}
	sizes := [...]int64{86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000}
	limits := [...]int64{106_751_991, 23, 59, 59}
	seps := [...]byte{0, ' ', ':', ':'}
	total := int64(0)
	for u := t.From; u <= t.To; u++ {
		if u > t.From {
			if len(s) == 0 || s[0] != seps[u] {
				return 0, false
			}
			s = s[1:]
		}
		v, rest, ok := intervalNumber(s)
		if !ok || u > t.From && v > limits[u] || v > math.MaxInt64/sizes[u] {
			return 0, false
		}
		s = rest
		total += v * sizes[u]
		if u == types.Second && len(s) > 1 && s[0] == '.' {
			frac, digits := int64(0), 0
			for s = s[1:]; len(s) > 0 && s[0]-'0' <= 9; s = s[1:] {
				if digits++; digits <= 6 {
					frac = frac*10 + int64(s[0]-'0')
				}
			}
			if digits == 0 || digits > 9 {
				return 0, false
			}
			for ; digits < 6; digits++ {
				frac *= 10
			}
			total += frac
		}
		if total < 0 {
			return 0, false
		}
	}
	return sign(total, len(s) == 0)
}

func intervalNumber(s []byte) (v int64, rest []byte, ok bool) {
	i := 0
	for i < len(s) && s[i]-'0' <= 9 && i < 18 {
		v = v*10 + int64(s[i]-'0')
		i++
	}
	return v, s[i:], i > 0
}

// setInterval reads an interval into row r of c.
func setInterval(c *column, r int, text []byte) bool {
	v, ok := ParseInterval(text, c.t)
	if !ok {
		return false
	}
	if c.t.Kind == types.YearMonth {
		c.i32[r] = int32(v)
	} else {
		c.i64[r] = v
	}
	c.set(r)
	return true
}
