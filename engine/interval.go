package engine

import (
	"math"
	"strings"
	"time"

	"streamlab/errs"
)

var unitMicros = map[string]int64{
	"week": 7 * 86400e6, "day": 86400e6, "hour": 3600e6, "minute": 60e6, "second": 1e6, "millisecond": 1e3, "microsecond": 1,
}

// ParseInterval reads the interval texts of triggers (SparkIntervalUtils.stringToInterval, which is not
// the parser of SQL): "10 seconds", "interval 1 minute -5 seconds", any number of units added up.
// An interval longer than a time.Duration is the longest. Errors: INVALID_INTERVAL_FORMAT.*, _LEGACY_ERROR_TEMP_3262 where months are left, NEGATIVE_TRIGGER_INTERVAL.
func ParseInterval(text string) (time.Duration, error) {
	input := text
	fail := func(sub string, params ...any) error {
		return errs.New("INVALID_INTERVAL_FORMAT."+sub, append([]any{"input", input}, params...)...)
	}
	s := strings.ToLower(strings.TrimSpace(text))
	if s == "" {
		return 0, fail("INPUT_IS_EMPTY")
	}
	if rest, ok := strings.CutPrefix(s, "interval"); ok {
		if rest == "" {
			return 0, fail("INPUT_IS_EMPTY")
		}
		if !isSpace(rest[0]) {
			return 0, fail("INVALID_PREFIX", "prefix", firstWord(s))
		}
		s = strings.TrimSpace(rest)
		if s == "" {
			return 0, fail("INPUT_IS_EMPTY")
		}
	}
	var months, micros int64
	for s != "" {
		word := firstWord(s)
		negative, signed := false, false
		if s[0] == '+' || s[0] == '-' {
			negative, signed = s[0] == '-', true
			s = strings.TrimLeft(s[1:], " \t\n\r\f\v")
			if s == "" {
				return 0, fail("MISSING_NUMBER", "word", word)
			}
		}
		i := 0
		var whole int64
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			if whole > (math.MaxInt64-9)/10 {
				return 0, fail("ARITHMETIC_EXCEPTION")
			}
			whole = whole*10 + int64(s[i]-'0')
			i++
		}
		number := firstWord(s)
		var fraction int64 // nanoseconds
		hasFraction := false
		if i < len(s) && s[i] == '.' {
			hasFraction = true
			scale := int64(1e8)
			j := i + 1
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				if scale == 0 {
					return 0, fail("INVALID_PRECISION", "value", number)
				}
				fraction += int64(s[j]-'0') * scale
				scale /= 10
				j++
			}
			if i == 0 && j == 1 && (j >= len(s) || !isSpace(s[j])) {
				return 0, fail("UNRECOGNIZED_NUMBER", "number", number)
			}
			i = j
		} else if i == 0 {
			if signed {
				return 0, fail("INVALID_VALUE", "value", number)
			}
			return 0, fail("UNRECOGNIZED_NUMBER", "number", number)
		}
		if i < len(s) && !isSpace(s[i]) {
			return 0, fail("INVALID_VALUE", "value", number)
		}
		s = strings.TrimLeft(s[i:], " \t\n\r\f\v")
		if s == "" {
			return 0, fail("MISSING_UNIT", "word", number)
		}
		unit := firstWord(s)
		s = strings.TrimLeft(s[len(unit):], " \t\n\r\f\v")
		name := strings.TrimSuffix(unit, "s")
		if hasFraction && name != "second" {
			if _, ok := unitMicros[name]; ok || name == "year" || name == "month" {
				return 0, fail("INVALID_FRACTION", "unit", unit)
			}
		}
		sign := int64(1)
		if negative {
			sign = -1
		}
		switch name {
		case "year":
			months += sign * whole * 12
		case "month":
			months += sign * whole
		default:
			m, ok := unitMicros[name]
			if !ok {
				return 0, fail("INVALID_UNIT", "unit", unit)
			}
			if whole > math.MaxInt64/m {
				return 0, fail("ARITHMETIC_EXCEPTION")
			}
			micros += sign * (whole*m + fraction/1000)
		}
	}
	if months != 0 {
		return 0, errs.New("_LEGACY_ERROR_TEMP_3262", "interval", input)
	}
	if micros < 0 {
		return 0, errs.New("NEGATIVE_TRIGGER_INTERVAL", "interval", input)
	}
	return time.Duration(min(micros/1000, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, nil
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func firstWord(s string) string {
	for i := 0; i < len(s); i++ {
		if isSpace(s[i]) {
			return s[:i]
		}
	}
	return s
}
