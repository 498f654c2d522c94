package expr

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// ParseCalendarInterval reads "[interval] n unit [n unit …]", as intervals in texts are written everywhere:
// 10 minutes, interval -1 day 2.5 seconds. Errors are INVALID_INTERVAL_FORMAT.
func ParseCalendarInterval(text string) (months, days int32, micros int64, err error) {
	bad := func(sub string, params ...any) error {
		return errs.New("INVALID_INTERVAL_FORMAT."+sub, append([]any{"input", text}, params...)...)
	}
	s := strings.ToLower(string(trimText([]byte(text))))
	if s == "" {
		return 0, 0, 0, bad("INPUT_IS_EMPTY")
	}
	words := strings.FieldsFunc(s, func(c rune) bool { return c <= ' ' })
	if words[0] == "interval" {
		words = words[1:]
		if len(words) == 0 {
			return 0, 0, 0, bad("INPUT_IS_EMPTY")
		}
	} else if strings.HasPrefix(words[0], "interval") {
		return 0, 0, 0, bad("INVALID_PREFIX", "prefix", words[0])
	}
	overflow := func() error { return bad("ARITHMETIC_EXCEPTION") }
	for i := 0; i < len(words); {
		number := words[i]
		i++
		for (number == "-" || number == "+") && i < len(words) {
			number += words[i]
			i++
		}
		whole, frac, hasFrac, ok := splitNumber(number)
		if !ok {
			return 0, 0, 0, bad("INVALID_VALUE", "value", number)
		}
		if i == len(words) {
			return 0, 0, 0, bad("MISSING_UNIT", "word", number)
		}
		unit := words[i]
		i++
		singular := strings.TrimSuffix(unit, "s")
		if hasFrac && singular != "second" {
			if !knownUnit(singular) {
				return 0, 0, 0, bad("INVALID_UNIT", "unit", unit)
			}
			return 0, 0, 0, bad("INVALID_FRACTION", "unit", unit)
		}
		switch singular {
		case "year", "month":
			if singular == "year" {
				if whole > math.MaxInt32/12 || whole < math.MinInt32/12 {
					return 0, 0, 0, overflow()
				}
				whole *= 12
			}
			sum := int64(months) + whole
			if sum != int64(int32(sum)) {
				return 0, 0, 0, overflow()
			}
			months = int32(sum)
		case "week", "day":
			if singular == "week" {
				if whole > math.MaxInt32/7 || whole < math.MinInt32/7 {
					return 0, 0, 0, overflow()
				}
				whole *= 7
			}
			sum := int64(days) + whole
			if sum != int64(int32(sum)) {
				return 0, 0, 0, overflow()
			}
			days = int32(sum)
		default:
			per, ok := unitMicros[singular]
			if !ok {
				return 0, 0, 0, bad("INVALID_UNIT", "unit", unit)
			}
			us, ok := mulI64(whole, per)
			if ok {
				us, ok = addI64(us, frac)
			}
			if ok {
				micros, ok = addI64(micros, us)
			}
			if !ok {
				return 0, 0, 0, overflow()
			}
		}
	}
	return months, days, micros, nil
}

var unitMicros = map[string]int64{"hour": microsPerHour, "minute": microsPerMinute, "second": microsPerSecond,
	"millisecond": 1000, "microsecond": 1}

func knownUnit(u string) bool {
	switch u {
	case "year", "month", "week", "day":
		return true
	}
	return unitMicros[u] != 0
}

// splitNumber reads [+-]digits[.digits]; frac is in millionths with the sign, cut after six digits.
func splitNumber(s string) (whole, frac int64, hasFrac, ok bool) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	digits := 0
	for ; digits < len(s) && s[digits] >= '0' && s[digits] <= '9'; digits++ {
		m, in := mulI64(whole, 10)
		if in {
			m, in = addI64(m, -int64(s[digits]-'0'))
		}
		if !in {
			return 0, 0, false, false
		}
		whole = m // negative, so that the least number fits
	}
	s = s[digits:]
	if s != "" && s[0] == '.' {
		hasFrac = true
		s = s[1:]
		n := 0
		scale := int64(100000)
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			frac += int64(s[n]-'0') * scale
			scale /= 10
			n++
		}
		if n > 9 || n == 0 && digits == 0 {
			return 0, 0, false, false
		}
		s = s[n:]
	} else if digits == 0 {
		return 0, 0, false, false
	}
	if s != "" {
		return 0, 0, false, false
	}
	if !neg {
		if whole == math.MinInt64 {
			return 0, 0, false, false
		}
		return -whole, frac, hasFrac, true
	}
	return whole, -frac, hasFrac, true
}

func addI64(a, b int64) (int64, bool) {
	r := a + b
	return r, (a^r)&(b^r) >= 0
}

func subI64(a, b int64) (int64, bool) {
	r := a - b
	return r, (a^b)&(a^r) >= 0
}

func mulI64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	ua, ub := uint64(a), uint64(b)
	if a < 0 {
		ua = -ua
	}
	if b < 0 {
		ub = -ub
	}
	hi, lo := bits.Mul64(ua, ub)
	if hi != 0 {
		return a * b, false
	}
	if (a < 0) != (b < 0) {
		return a * b, lo <= 1<<63
	}
	return a * b, lo < 1<<63
}

// intervalFormat is the text of a type's fields as errors show them, e.g. "d h:m:s.n".
func intervalFormats(t types.DataType) (format, unit string) {
	unit = strings.TrimPrefix(t.SQL(), "INTERVAL ")
	if t.Kind == types.YearMonth {
		switch {
		case t.From != t.To:
			return "[+|-]y-m", unit
		case t.From == types.Year:
			return "[+|-]y", unit
		}
		return "[+|-]m", unit
	}
	f := "[+|-]"
	letters := [...]string{"d", "h", "m", "s.n"}
	for i := t.From; i <= t.To; i++ {
		if i > t.From {
			f += string(" ::"[i-1])
		}
		f += letters[i]
	}
	return f, unit
}

// ParseInterval reads a year-month or day-time interval of type t: the literal's text ("1 02:03:04") or the
// whole literal ("INTERVAL '1 02:03:04' DAY TO SECOND"). Months or microseconds.
func ParseInterval(text []byte, t types.DataType) (int64, error) {
	s := string(trimText(text))
	_, unit := intervalFormats(t)
	body, neg := s, false
	if len(s) > 8 && strings.EqualFold(s[:8], "interval") && (s[8] == ' ' || s[8] == '\t') {
		rest := strings.TrimSpace(s[8:])
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			neg = rest[0] == '-'
			rest = rest[1:]
		}
		end := strings.LastIndexByte(rest, '\'')
		if strings.HasPrefix(rest, "'") && end > 0 &&
			strings.EqualFold(strings.Join(strings.Fields(rest[end+1:]), " "), unit) {
			body = rest[1:end]
		} else {
			body = "?"
		}
	}
	v, ok, overflow := parseIntervalFields(body, t)
	if ok && neg {
		v = -v
	}
	if !ok && t.Kind == types.YearMonth && t.From != t.To && yearsAndMonths.MatchString(body) {
		return 0, errs.New("INVALID_INTERVAL_FORMAT.INTERVAL_PARSING", "input", body, "interval", "year-month")
	}
	if !ok || overflow {
		return 0, unmatchedInterval(string(text), t)
	}
	return v, nil
}

func unmatchedInterval(text string, t types.DataType) error {
	kind, condition := "day-time", "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE"
	if t.Kind == types.YearMonth {
		kind, condition = "year-month", "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING"
	}
	format, unit := intervalFormats(t)
	return errs.New(condition, "input", text, "intervalStr", kind,
		"supportedFormat", "`"+format+"`, `INTERVAL [+|-]'"+format+"' "+unit+"`", "typeName", t.Simple())
}

// ParseIntervalLiteral reads the text of INTERVAL 'text' FROM [TO TO]. Errors are those of literals.
func ParseIntervalLiteral(text string, t types.DataType) (int64, error) {
	s := string(trimText([]byte(text)))
	if msg := fieldOutOfRange(s, t); msg != "" {
		return 0, errs.New("_LEGACY_ERROR_TEMP_0063", "msg", msg)
	}
	v, ok, overflow := parseIntervalFields(s, t)
	if overflow {
		return 0, errs.New("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION")
	}
	if ok {
		return v, nil
	}
	if t.Kind == types.YearMonth && yearsAndMonths.MatchString(s) {
		return 0, errs.New("INVALID_INTERVAL_FORMAT.INTERVAL_PARSING", "input", text, "interval", "year-month")
	}
	return 0, unmatchedInterval(text, t)
}

// yearsAndMonths is the form of a year-month interval, whose months may be too many.
var yearsAndMonths = regexp.MustCompile(`^[+-]?\d+-\d+$`)

// fieldOutOfRange looks for a number that is too large for its field in a day-time text of the right form and
// says so in the words of Spark's check; "" if there is none.
func fieldOutOfRange(s string, t types.DataType) string {
	if t.Kind == types.YearMonth {
		return ""
	}
	s = strings.TrimLeft(s, "+-")
	fields := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ':' })
	if len(fields) != int(t.To-t.From)+1 {
		return ""
	}
	names := [...]string{"day", "hour", "minute", "second"}
	limits := [...]int64{math.MaxInt64 / microsPerDay, 23, 59, 59}
	if t.From > types.Day { // the first field may be as large as fits
		limits[t.From] = math.MaxInt64 / [...]int64{microsPerDay, microsPerHour, microsPerMinute, microsPerSecond}[t.From]
	}
	for i, f := range fields {
		n, frac, _, ok := splitNumber(f)
		unit := int(t.From) + i
		if !ok || frac != 0 && unit != int(types.Second) {
			return ""
		}
		if n > limits[unit] {
			return fmt.Sprintf("requirement failed: %s %d outside range [0, %d]", names[unit], n, limits[unit])
		}
	}
	return ""
}

// parseIntervalFields reads the fields of t from s: the first as large as it fits, others in range.
func parseIntervalFields(s string, t types.DataType) (v int64, ok, overflow bool) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	field := func() (int64, bool) {
		n := 0
		var x int64
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			m, in := mulI64(x, 10)
			if in {
				m, in = addI64(m, int64(s[n]-'0'))
			}
			if !in {
				overflow = true
			}
			x = m
			n++
		}
		s = s[n:]
		return x, n > 0
	}
	accept := func(c byte) bool {
		if s != "" && s[0] == c {
			s = s[1:]
			return true
		}
		return false
	}
	if t.Kind == types.YearMonth {
		a, ok := field()
		if !ok {
			return 0, false, false
		}
		m := a
		if t.From == types.Year {
			if a > math.MaxInt32/12+1 {
				overflow = true
			}
			m = a * 12
		}
		if t.From != t.To {
			if !accept('-') {
				return 0, false, false
			}
			b, ok := field()
			if !ok || b > 11 {
				return 0, false, false
			}
			m += b
		}
		if s != "" {
			return 0, false, false
		}
		if neg {
			m = -m
		}
		if m != int64(int32(m)) {
			overflow = true
		}
		return m, true, overflow
	}
	units := [...]int64{microsPerDay, microsPerHour, microsPerMinute, microsPerSecond}
	limits := [...]int64{math.MaxInt64, 23, 59, 59}
	for f := t.From; f <= t.To; f++ {
		if f > t.From && !accept(" ::"[f-1]) {
			return 0, false, false
		}
		if f > t.From && f == types.Hour {
			s = strings.TrimLeft(s, " ")
		}
		x, ok := field()
		if !ok || f > t.From && x > limits[f] {
			return 0, false, false
		}
		us, in := mulI64(x, units[f])
		if in {
			v, in = addI64(v, us)
		}
		overflow = overflow || !in
		if f == types.Second && accept('.') {
			n := 0
			scale := int64(100000)
			for n < len(s) && s[n] >= '0' && s[n] <= '9' {
				v += int64(s[n]-'0') * scale
				scale /= 10
				n++
			}
			if n > 9 {
				return 0, false, false
			}
			s = s[n:]
		}
	}
	if s != "" {
		return 0, false, false
	}
	if neg {
		v = -v
	}
	return v, true, overflow
}
