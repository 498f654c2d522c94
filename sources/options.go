package sources

import (
	"math"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
)

// Text gives an option or its default.
func (o Options) Text(name, def string) string {
	if v, ok := o.Get(name); ok {
		return v
	}
	return def
}

// Bool reads an option that is true or false in any letter case. Error: INVALID_OPTION.
func (o Options) Bool(name string, def bool) (bool, error) {
	v, ok := o.Get(name)
	if !ok {
		return def, nil
	}
	switch {
	case equalFold(v, "true"):
		return true, nil
	case equalFold(v, "false"):
		return false, nil
	}
	return def, Invalid(name, v, "must be 'true' or 'false'")
}

// Int reads an integer of at least least. Error: INVALID_OPTION.
func (o Options) Int(name string, def, least int64) (int64, error) {
	v, ok := o.Get(name)
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return def, Invalid(name, v, "must be an integer")
	}
	if n < least {
		switch least {
		case 1:
			return def, Invalid(name, v, "must be a positive integer")
		case 0:
			return def, Invalid(name, v, "must be a non-negative integer")
		}
		return def, Invalid(name, v, "must be at least "+strconv.FormatInt(least, 10))
	}
	return n, nil
}

// Int32 reads an integer of at least least that has 32 bits, as all of Kafka's settings do. Error: INVALID_OPTION.
func (o Options) Int32(name string, def, least int64) (int64, error) {
	n, err := o.Int(name, def, least)
	if err == nil && n > math.MaxInt32 {
		v, _ := o.Get(name)
		return def, Invalid(name, v, "must be at most "+strconv.Itoa(math.MaxInt32))
	}
	return n, err
}

var timeUnits = map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// Duration reads digits and a unit (us ms s m min h d, any letter case); a bare number takes unit. Error:
// INVALID_OPTION.
func (o Options) Duration(name string, def, unit time.Duration) (time.Duration, error) {
	v, ok := o.Get(name)
	if !ok {
		return def, nil
	}
	s := strings.ToLower(strings.TrimSpace(v))
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err == nil && i < len(s) {
		unit, ok = timeUnits[s[i:]]
	}
	if err != nil || i < len(s) && !ok {
		return def, Invalid(name, v, "must be a number with a unit: us, ms, s, m, min, h or d")
	}
	if d := time.Duration(n) * unit; d/unit == time.Duration(n) {
		return d, nil
	}
	return def, Invalid(name, v, "is too long")
}

// Bytes reads a positive number of bytes with an optional binary suffix k, m, g or t. Error: INVALID_OPTION.
func (o Options) Bytes(name string, def int64) (int64, error) {
	v, ok := o.Get(name)
	if !ok {
		return def, nil
	}
	s := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(v)), "b")
	shift := 0
	if s != "" {
		if i := strings.IndexByte("kmgt", s[len(s)-1]); i >= 0 {
			shift, s = 10*(i+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return def, Invalid(name, v, "must be a positive integer of bytes")
	}
	return n << shift, nil
}

// Invalid is the error of an option with a bad value.
func Invalid(name, value, requirement string) error {
	return errs.New("INVALID_OPTION", "option", name, "value", value, "requirement", requirement)
}
