package expr

import (
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are known wherever the program runs

	"streamlab/sql/types"
)

// trimText cuts white space and control characters at both ends, which casts ignore.
func trimText(s []byte) []byte {
	for len(s) > 0 && (s[0] <= ' ' || s[0] == 0x7f) {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] <= ' ' || s[len(s)-1] == 0x7f) {
		s = s[:len(s)-1]
	}
	return s
}

// ParseDate reads a date as CAST does: [+-]yyyy[-m[m][-d[d]]], after a full date anything behind a blank or T.
func ParseDate(s []byte) (days int32, ok bool) {
	d, rest, full, ok := parseDatePart(trimText(s))
	if !ok || len(rest) > 0 && !(full && (rest[0] == ' ' || rest[0] == 'T')) {
		return 0, false
	}
	if d < -1<<31 || d > 1<<31-1 {
		return 0, false
	}
	return int32(d), true
}

// parseDatePart reads the date at the start of s; full says that it had month and day.
func parseDatePart(s []byte) (days int64, rest []byte, full, ok bool) {
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	year, n := int64(0), 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' && n < 8 {
		year = year*10 + int64(s[n]-'0')
		n++
	}
	if n < 4 || n > 7 {
		return 0, nil, false, false
	}
	if neg {
		year = -year
	}
	s = s[n:]
	month, day := 1, 1
	if len(s) > 0 && s[0] == '-' {
		if month, s, ok = twoDigits(s[1:]); !ok {
			return 0, nil, false, false
		}
		if len(s) > 0 && s[0] == '-' {
			if day, s, ok = twoDigits(s[1:]); !ok {
				return 0, nil, false, false
			}
			full = true
		}
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, nil, false, false
	}
	return daysOf(year, month, day), s, full, true
}

func twoDigits(s []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(s) && i < 3 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i == 1 || i == 2
}

func daysIn(year int64, month int) int {
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

// parsedTime is a timestamp text taken apart.
type parsedTime struct {
	days     int64
	hasDate  bool
	us       int64 // of the day
	zone     *time.Location
	hasZone  bool
	zoneText string
}

func parseTimestampParts(s []byte) (p parsedTime, ok bool) {
	s = trimText(s)
	if len(s) == 0 {
		return p, false
	}
	rest := s
	if colon := indexByte(s, ':'); colon > 0 && colon <= 2 && allDigits(s[:colon]) || s[0] == 'T' {
		if s[0] == 'T' {
			rest = s[1:]
		}
	} else {
		var full bool
		p.days, rest, full, ok = parseDatePart(s)
		if !ok {
			return p, false
		}
		p.hasDate = true
		if len(rest) == 0 {
			return p, true
		}
		if !full || rest[0] != ' ' && rest[0] != 'T' {
			return p, false
		}
		rest = rest[1:]
		if len(rest) == 0 {
			return p, true
		}
	}
	var h, m, sec int
	if h, rest, ok = twoDigits(rest); !ok {
		return p, false
	}
	if len(rest) > 0 && rest[0] == ':' {
		if m, rest, ok = twoDigits(rest[1:]); !ok {
			return p, false
		}
		if len(rest) > 0 && rest[0] == ':' {
			if sec, rest, ok = twoDigits(rest[1:]); !ok {
				return p, false
			}
			if len(rest) > 0 && rest[0] == '.' {
				rest = rest[1:]
				scale := int64(100000)
				for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
					p.us += int64(rest[0]-'0') * scale
					scale /= 10
					rest = rest[1:]
				}
			}
		}
	} else if !p.hasDate {
		return p, false
	}
	if h > 23 || m > 59 || sec > 59 {
		return p, false
	}
	p.us += int64(h)*microsPerHour + int64(m)*microsPerMinute + int64(sec)*microsPerSecond
	rest = trimText(rest)
	if len(rest) == 0 {
		return p, true
	}
	p.hasZone = true
	p.zoneText = string(rest)
	if p.zone, ok = ParseZone(p.zoneText); !ok {
		return p, false
	}
	return p, true
}

func indexByte(s []byte, c byte) int {
	for i, x := range s {
		if x == c {
			return i
		}
	}
	return -1
}

func allDigits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}

// ParseTimestamp reads a TIMESTAMP as CAST does; zone is the session's, for texts without one. now is the
// batch time, whose date a text with only a time of day takes.
func ParseTimestamp(s []byte, zone *time.Location, now int64) (us int64, ok bool) {
	p, ok := parseTimestampParts(s)
	if !ok {
		return 0, false
	}
	if !p.hasDate {
		if now == 0 {
			now = time.Now().UnixMicro()
		}
		p.days = floorDiv(LocalMicros(now, zone), microsPerDay)
	}
	if p.hasZone {
		zone = p.zone
	}
	local, ok := localMicros(p)
	return InstantOf(local, zone), ok
}

// localMicros counts from the epoch to a reading of the clock; ok is false where 64 bits do not hold it.
func localMicros(p parsedTime) (us int64, ok bool) {
	if p.days > 106751991 || p.days < -106751992 {
		return 0, false
	}
	if p.days < 0 { // so that the sum of the two does not pass through what does not fit
		us = (p.days+1)*microsPerDay + (p.us - microsPerDay)
		return us, us < 0
	}
	us = p.days*microsPerDay + p.us
	return us, us >= 0
}

// ParseTimestampNTZ reads a TIMESTAMP_NTZ as CAST does; a zone is ignored unless refuseZone.
func ParseTimestampNTZ(s []byte, refuseZone bool) (us int64, ok bool) {
	p, ok := parseTimestampParts(s)
	if !ok || !p.hasDate || refuseZone && p.hasZone {
		return 0, false
	}
	return localMicros(p)
}

// ParseTimeOfDay reads a TIME: h[h]:m[m][:s[s][.fraction]], on the clock of twelve hours with AM or PM behind it;
// nanoseconds of the day.
func ParseTimeOfDay(s []byte) (nanos int64, ok bool) {
	s, half := cutHalfOfDay(trimText(s))
	p, ok := parseTimestampParts(s)
	if !ok || p.hasDate || p.hasZone {
		return 0, false
	}
	if half == 0 {
		return p.us * 1000, true
	}
	h := p.us / microsPerHour
	if h < 1 || h > 12 {
		return 0, false
	}
	p.us -= h * microsPerHour
	h %= 12
	if half == 'P' {
		h += 12
	}
	return (p.us + h*microsPerHour) * 1000, true
}

// cutHalfOfDay takes AM or PM off the end of a trimmed text, in either case; half is A, P or 0.
func cutHalfOfDay(s []byte) (rest []byte, half byte) {
	n := len(s)
	if n < 3 || s[n-1]|0x20 != 'm' {
		return s, 0
	}
	if half = s[n-2] &^ 0x20; half != 'A' && half != 'P' {
		return s, 0
	}
	return trimText(s[:n-2]), half
}

// HasZone reports whether a timestamp text names a time zone.
func HasZone(s []byte) bool {
	p, ok := parseTimestampParts(s)
	return ok && p.hasZone
}

var zoneCache sync.Map // name → *time.Location

// Short names of zones that Java keeps and the tz database does not have.
var shortZones = map[string]string{"PST": "America/Los_Angeles", "CST": "America/Chicago", "EST": "-05:00",
	"MST": "-07:00", "HST": "-10:00", "ACT": "Australia/Darwin", "AET": "Australia/Sydney",
	"AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo",
	"BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CTT": "Asia/Shanghai",
	"EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
	"JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi",
	"PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh"}

// ParseZone finds a time zone: Z, UTC, offsets with or without UTC or GMT in front, regions, Java's short
// names.
func ParseZone(name string) (*time.Location, bool) {
	if z, ok := zoneCache.Load(name); ok {
		return z.(*time.Location), true
	}
	z, ok := findZone(name)
	if ok {
		zoneCache.Store(name, z)
	}
	return z, ok
}

func findZone(name string) (*time.Location, bool) {
	switch name {
	case "Z", "UTC", "GMT", "UT":
		return time.UTC, true
	case "", "Local":
		return nil, false
	}
	off := name
	for _, p := range []string{"UTC", "GMT", "UT"} {
		if strings.HasPrefix(name, p) {
			off = name[len(p):]
			break
		}
	}
	if off[0] == '+' || off[0] == '-' {
		sec, ok := parseOffset(off)
		if !ok {
			return nil, false
		}
		if sec == 0 {
			return time.UTC, true
		}
		return time.FixedZone(formatOffset(sec), sec), true
	}
	if s, ok := shortZones[name]; ok {
		return findZone(s)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	return z, true
}

func formatOffset(sec int) string {
	sign := byte('+')
	if sec < 0 {
		sign, sec = '-', -sec
	}
	b := append2([]byte{sign}, sec/3600)
	b = append2(append(b, ':'), sec/60%60)
	if sec%60 != 0 {
		b = append2(append(b, ':'), sec%60)
	}
	return string(b)
}

// parseOffset reads +h, +hh, +h:mm, +hhmm, +hh:mm:ss; seconds within ±18 hours.
func parseOffset(s string) (int, bool) {
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	s = s[1:]
	var parts [3]int
	if !strings.Contains(s, ":") {
		if len(s) == 4 || len(s) == 6 {
			s = s[:2] + ":" + s[2:4] + map[bool]string{true: ":" + s[4:], false: ""}[len(s) == 6]
		} else if len(s) > 2 {
			return 0, false
		}
	}
	fields := strings.Split(s, ":")
	if len(fields) > 3 {
		return 0, false
	}
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil || len(f) > 2 || len(f) == 0 || n < 0 || i > 0 && n > 59 {
			return 0, false
		}
		parts[i] = n
	}
	sec := parts[0]*3600 + parts[1]*60 + parts[2]
	if sec > 18*3600 {
		return 0, false
	}
	return sign * sec, true
}

// SpecialDay reads epoch, now, today, tomorrow, yesterday: days from the day of the batch and whether the
// text is the epoch or now. Only literals take them.
func SpecialDay(s string, t types.Kind, zone *time.Location, now int64) (value int64, ok bool) {
	word := strings.ToLower(strings.TrimSpace(s))
	today := floorDiv(LocalMicros(now, zone), microsPerDay)
	var day int64
	switch word {
	case "epoch":
		return 0, t == types.Date || t == types.Timestamp || t == types.TimestampNTZ
	case "now":
		switch t {
		case types.Date:
			return today, true
		case types.TimestampNTZ:
			return LocalMicros(now, zone), true
		}
		return now, true
	case "today":
		day = today
	case "tomorrow":
		day = today + 1
	case "yesterday":
		day = today - 1
	default:
		return 0, false
	}
	switch t {
	case types.Date:
		return day, true
	case types.TimestampNTZ:
		return day * microsPerDay, true
	}
	return InstantOf(day*microsPerDay, zone), true
}
