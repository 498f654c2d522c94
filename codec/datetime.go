package codec

import (
	"strconv"
	"strings"
	"time"
)

const (
	second = int64(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Civil gives the proleptic Gregorian date of a day since 1970-01-01.
func Civil(days int64) (year int64, month, dayOfMonth int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	year, month, dayOfMonth = yoe+era*400, int(mp)+3, int(doy-(153*mp+2)/5)+1
	if month > 12 {
		month -= 12
		year++
	}
	return
}

// DayNumber is the day since 1970-01-01 of a proleptic Gregorian date, the inverse of Civil.
func DayNumber(year int64, month, dayOfMonth int) int64 {
	m := int64(month)
	if m <= 2 {
		year--
		m += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := (153*(m-3)+2)/5 + int64(dayOfMonth) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func daysOfMonth(year int64, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func trim(s []byte) []byte {
	for len(s) > 0 && (s[0] <= ' ' || s[0] == 0x7f) {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] <= ' ' || s[len(s)-1] == 0x7f) {
		s = s[:len(s)-1]
	}
	return s
}

// two reads two digits; -1 if they are none.
func two(s []byte, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

// ParseDate reads a date as CAST does: spaces around, [+-]yyyy[-m[-d]], and anything behind a full date and a
// blank or T.
func ParseDate(s []byte) (days int32, ok bool) {
	d, rest, full, ok := datePart(trim(s))
	if !ok || len(rest) > 0 && !(full && (rest[0] == ' ' || rest[0] == 'T')) || d < -1<<31 || d > 1<<31-1 {
		return 0, false
	}
	return int32(d), true
}

func datePart(s []byte) (days int64, rest []byte, full, ok bool) {
	if len(s) >= 10 && s[4] == '-' && s[7] == '-' { // yyyy-MM-dd
		c, y, m, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
		if c|y|m|d >= 0 && (len(s) == 10 || s[10]-'0' > 9) {
			year := int64(c)*100 + int64(y)
			if m < 1 || m > 12 || d < 1 || d > 28 && d > daysOfMonth(year, m) {
				return 0, nil, false, false
			}
			return DayNumber(year, m, d), s[10:], true, true
		}
	}
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	year, n := int64(0), 0
	for n < len(s) && s[n]-'0' <= 9 && n < 8 {
		year = year*10 + int64(s[n]-'0')
		n++
	}
	if n < 4 || n > 7 {
		return 0, nil, false, false
	}
	if negative {
		year = -year
	}
	s = s[n:]
	m, d := 1, 1
	if len(s) > 0 && s[0] == '-' {
		if m, s, ok = oneOrTwo(s[1:]); !ok {
			return 0, nil, false, false
		}
		if len(s) > 0 && s[0] == '-' {
			if d, s, ok = oneOrTwo(s[1:]); !ok {
				return 0, nil, false, false
			}
			full = true
		}
	}
	if m < 1 || m > 12 || d < 1 || d > daysOfMonth(year, m) {
		return 0, nil, false, false
	}
	return DayNumber(year, m, d), s, full, true
}

func oneOrTwo(s []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(s) && i < 3 && s[i]-'0' <= 9 {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i == 1 || i == 2
}

// A Clock gives what timestamps without a zone or date lack. Location is cached for fixed offsets.
type Clock struct {
	Zone *time.Location
	Now  func() time.Time

	utc     bool
	lastDay int64 // the local day that lastOff was found for
	lastOff int64 // microseconds; valid all day long
	known   bool
}

// NewClock makes a clock of a zone (nil is UTC). A Clock belongs to one goroutine.
func NewClock(zone *time.Location, now func() time.Time) *Clock {
	if zone == nil {
		zone = time.UTC
	}
	if now == nil {
		now = time.Now
	}
	return &Clock{Zone: zone, Now: now, utc: zone == time.UTC || zone.String() == "UTC"}
}

// Instant gives the microseconds since the epoch of a local time.
func (c *Clock) Instant(local int64) int64 {
	if c.utc {
		return local
	}
	d := floorDiv(local, day)
	if c.known && d == c.lastDay {
		return local - c.lastOff
	}
	a, b := offsetAt(d*86400-86400, c.Zone), offsetAt(d*86400+2*86400, c.Zone)
	if a == b { // no change near: the whole day has one offset
		c.known, c.lastDay, c.lastOff = true, d, int64(a)*second
		return local - c.lastOff
	}
	return InstantOf(local, c.Zone)
}

func offsetAt(sec int64, zone *time.Location) int {
	_, off := time.Unix(sec, 0).In(zone).Zone()
	return off
}

// InstantOf is the instant of a local time in a zone: in a gap the time moves forward by the gap, in an
// overlap the earlier instant is taken.
func InstantOf(local int64, zone *time.Location) int64 {
	sec := floorDiv(local, second)
	before := offsetAt(sec-86400, zone)
	for _, off := range [...]int{before, offsetAt(sec+86400, zone)} {
		if offsetAt(sec-int64(off), zone) == off {
			return local - int64(off)*second
		}
	}
	return local - int64(before)*second
}

// LocalMicros is the local time of an instant in a zone.
func LocalMicros(us int64, zone *time.Location) int64 {
	if zone == nil || zone == time.UTC {
		return us
	}
	return us + int64(offsetAt(floorDiv(us, second), zone))*second
}

// ParseTimestamp reads a timestamp as CAST does. Without a zone it is local time of the clock's zone; a time
// alone is today's.
func (c *Clock) ParseTimestamp(s []byte) (us int64, ok bool) {
	if us, utc, ok := plainTimestamp(s); ok {
		if utc || c.utc {
			return us, true
		}
		return c.Instant(us), true
	}
	p, ok := timestampParts(s)
	if !ok {
		return 0, false
	}
	zone := c.Zone
	if p.hasZone && !p.fixed {
		zone = p.zone
	}
	if !p.hasDate {
		now := c.Now().UnixMicro()
		if p.fixed {
			now += int64(p.offset) * second
		} else {
			now = LocalMicros(now, zone)
		}
		p.days = floorDiv(now, day)
	}
	local, ok := localMicros(p)
	switch {
	case !ok:
		return 0, false
	case p.fixed:
		return local - int64(p.offset)*second, true
	case p.hasZone:
		return InstantOf(local, zone), true
	}
	return c.Instant(local), true
}

// plainTimestamp reads yyyy-MM-ddTHH:mm:ss[.fff…][Z], which nearly all texts are. Not ok says nothing.
func plainTimestamp(s []byte) (local int64, utc, ok bool) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, false, false
	}
	y1, y2, mo, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
	h, mi, sec := two(s, 11), two(s, 14), two(s, 17)
	if y1|y2|mo|d|h|mi|sec < 0 || mo < 1 || mo > 12 || d < 1 || d > 28 || h > 23 || mi > 59 || sec > 59 {
		return 0, false, false
	}
	us := int64(0)
	i := 19
	if i < len(s) && s[i] == '.' {
		i++
		for scale := second / 10; i < len(s) && s[i]-'0' <= 9; i++ {
			us += int64(s[i]-'0') * scale
			scale /= 10
		}
	}
	if i < len(s) {
		if s[i] != 'Z' || i+1 != len(s) {
			return 0, false, false
		}
		utc = true
	}
	days := DayNumber(int64(y1)*100+int64(y2), mo, d)
	return days*day + int64(h)*hour + int64(mi)*minute + int64(sec)*second + us, utc, true
}

// ParseTimestampNTZ reads a timestamp without a zone; a text with a zone or without a date is none.
func ParseTimestampNTZ(s []byte) (us int64, ok bool) {
	p, ok := timestampParts(s)
	if !ok || p.hasZone || !p.hasDate {
		return 0, false
	}
	return localMicros(p)
}

func localMicros(p timeParts) (int64, bool) {
	if p.days < -106_751_991 || p.days > 106_751_990 {
		return 0, false
	}
	return p.days*day + p.us, true
}

type timeParts struct {
	days    int64
	us      int64 // of the day
	hasDate bool
	hasZone bool
	fixed   bool // the zone is offset seconds
	offset  int
	zone    *time.Location
}

func timestampParts(s []byte) (p timeParts, ok bool) {
	// yyyy-MM-dd?HH:mm:ss[.f{1,9}][Z]
	if len(s) >= 19 && s[4] == '-' && s[7] == '-' && (s[10] == 'T' || s[10] == ' ') && s[13] == ':' && s[16] == ':' {
		y1, y2, mo, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
		h, mi, sec := two(s, 11), two(s, 14), two(s, 17)
		if y1|y2|mo|d|h|mi|sec >= 0 {
			year := int64(y1)*100 + int64(y2)
			if mo < 1 || mo > 12 || d < 1 || d > 28 && d > daysOfMonth(year, mo) || h > 23 || mi > 59 || sec > 59 {
				return p, false
			}
			p.days, p.hasDate = DayNumber(year, mo, d), true
			p.us = int64(h)*hour + int64(mi)*minute + int64(sec)*second
			i := 19
			if i < len(s) && s[i] == '.' {
				i++
				for scale := second / 10; i < len(s) && s[i]-'0' <= 9; i++ {
					p.us += int64(s[i]-'0') * scale
					scale /= 10
				}
			}
			if i == len(s) {
				return p, true
			}
			if s[i] == 'Z' && i+1 == len(s) {
				p.hasZone, p.fixed = true, true
				return p, true
			}
			return zonePart(p, s[i:])
		}
	}
	return timestampSlow(s)
}

func timestampSlow(s []byte) (p timeParts, ok bool) {
	s = trim(s)
	if len(s) == 0 {
		return p, false
	}
	rest := s
	if s[0] == 'T' || len(s) > 1 && s[1] == ':' || len(s) > 2 && s[2] == ':' {
		if s[0] == 'T' {
			rest = s[1:]
		}
	} else {
		var full bool
		if p.days, rest, full, ok = datePart(s); !ok {
			return p, false
		}
		p.hasDate = true
		if len(rest) == 0 {
			return p, true
		}
		if !full || rest[0] != ' ' && rest[0] != 'T' {
			return p, false
		}
		if rest = rest[1:]; len(rest) == 0 {
			return p, true
		}
	}
	var h, mi, sec int
	if h, rest, ok = oneOrTwo(rest); !ok {
		return p, false
	}
	if len(rest) > 0 && rest[0] == ':' {
		if mi, rest, ok = oneOrTwo(rest[1:]); !ok {
			return p, false
		}
		if len(rest) > 0 && rest[0] == ':' {
			if sec, rest, ok = oneOrTwo(rest[1:]); !ok {
				return p, false
			}
			if len(rest) > 0 && rest[0] == '.' {
				rest = rest[1:]
				for scale := second / 10; len(rest) > 0 && rest[0]-'0' <= 9; rest = rest[1:] {
					p.us += int64(rest[0]-'0') * scale
					scale /= 10
				}
			}
		}
	} else if !p.hasDate && s[0] != 'T' {
		return p, false
	}
	if h > 23 || mi > 59 || sec > 59 {
		return p, false
	}
	p.us += int64(h)*hour + int64(mi)*minute + int64(sec)*second
	if len(rest) == 0 {
		return p, true
	}
	return zonePart(p, rest)
}

func zonePart(p timeParts, s []byte) (timeParts, bool) {
	text := strings.TrimSpace(string(s))
	off, fixed, loc, ok := parseZone(text)
	if !ok {
		return p, false
	}
	p.hasZone, p.fixed, p.offset, p.zone = true, fixed, off, loc
	return p, true
}

// parseZone reads Z, UTC, GMT, UT with or without an offset, an offset (+h, +hh, +hh:mm[:ss], +hhmm) or a
// region.
func parseZone(s string) (offset int, fixed bool, loc *time.Location, ok bool) {
	switch s {
	case "":
		return
	case "Z", "UTC", "GMT", "UT", "z":
		return 0, true, nil, true
	}
	o := s
	for _, prefix := range []string{"UTC", "GMT", "UT"} {
		if r, cut := strings.CutPrefix(s, prefix); cut && r != "" && (r[0] == '+' || r[0] == '-') {
			o = r
			break
		}
	}
	if o[0] == '+' || o[0] == '-' {
		sign := 1
		if o[0] == '-' {
			sign = -1
		}
		parts := strings.Split(o[1:], ":")
		if len(parts) == 1 && len(o) > 3 {
			digits := o[1:]
			parts = nil
			for len(digits) >= 2 {
				parts = append(parts, digits[:2])
				digits = digits[2:]
			}
			if digits != "" {
				return 0, false, nil, false
			}
		}
		if len(parts) > 3 {
			return 0, false, nil, false
		}
		total, unit := 0, 3600
		for i, t := range parts {
			n, err := strconv.Atoi(t)
			if err != nil || len(t) > 2 || n < 0 || i > 0 && n > 59 || t[0] == '+' {
				return 0, false, nil, false
			}
			total += n * unit
			unit /= 60
		}
		if total > 18*3600 {
			return 0, false, nil, false
		}
		return sign * total, true, nil, true
	}
	l, err := time.LoadLocation(s)
	if err != nil || s == "Local" {
		return 0, false, nil, false
	}
	return 0, false, l, true
}

func appendTwo(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }

func appendYear(dst []byte, y int64) []byte {
	switch {
	case y > 9999:
		dst = append(dst, '+')
	case y < 0:
		dst = append(dst, '-')
		y = -y
	}
	for limit := int64(1000); limit > y && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, y, 10)
}

// AppendDate prints a day since 1970-01-01 as yyyy-MM-dd.
func AppendDate(dst []byte, days int64) []byte {
	y, m, d := Civil(days)
	dst = appendTwo(append(appendYear(dst, y), '-'), m)
	return appendTwo(append(dst, '-'), d)
}

// AppendTimestamp prints local microseconds as yyyy-MM-dd HH:mm:ss, with the fraction that is not zero.
func AppendTimestamp(dst []byte, local int64) []byte {
	d := floorDiv(local, day)
	return AppendTime(append(AppendDate(dst, d), ' '), local-d*day)
}

// AppendTime prints microseconds of a day as HH:mm:ss, with the fraction that is not zero.
func AppendTime(dst []byte, us int64) []byte {
	dst = appendTwo(dst, int(us/hour))
	dst = appendTwo(append(dst, ':'), int(us/minute%60))
	dst = appendTwo(append(dst, ':'), int(us/second%60))
	return appendFraction(dst, us%second)
}

func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for scale := second / 10; us > 0; scale /= 10 {
		dst = append(dst, '0'+byte(us/scale))
		us %= scale
	}
	return dst
}
