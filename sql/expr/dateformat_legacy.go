package expr

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
)

// A TimeParser is spark.sql.legacy.timeParserPolicy: which formatter patterns of dates and times are for.
type TimeParser uint8

// The policies. Under Exception a text that only the formatter of Spark 2.4 could read is an error that says so.
const (
	CorrectedParser TimeParser = iota
	LegacyParser
	ExceptionParser
)

// legacyLetters are those of Java's SimpleDateFormat, by which Spark 2.4 formatted.
const legacyLetters = "GyYMLwWDdFEuaHkKhmsSzZX"

// twoDigitYears is how many years before this one a year of two digits may lie.
const twoDigitYears = 80

// compileLegacyFormat reads a pattern of SimpleDateFormat. Texts read by it may go on behind the pattern, numbers
// may have fewer or more digits than letters, and blanks may stand before a field.
func compileLegacyFormat(text string) (*dateFormat, error) {
	f := &dateFormat{text: text, legacy: true}
	bad := func() error {
		return errs.New("INVALID_DATETIME_PATTERN.WITH_SUGGESTION", "pattern", quoteSQL(text), "docroot", docroot)
	}
	literal := func(s string) {
		if n := len(f.items); n > 0 && f.items[n-1].letter == '\'' {
			f.items[n-1].text += s
			return
		}
		f.items = append(f.items, dateItem{letter: '\'', text: s})
	}
	quoted := false
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'' && i+1 < len(text) && text[i+1] == '\'':
			literal("'")
			i += 2
		case c == '\'':
			quoted = !quoted
			i++
		case !quoted && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			n := 1
			for i+n < len(text) && text[i+n] == c {
				n++
			}
			if strings.IndexByte(legacyLetters, c) < 0 || c == 'X' && n > 3 {
				return nil, bad()
			}
			f.items = append(f.items, dateItem{letter: c, n: n})
			i += n
		default:
			literal(text[i : i+1])
			i++
		}
	}
	if quoted {
		return nil, bad()
	}
	return f, nil
}

// appendLegacy prints as SimpleDateFormat does: numbers filled with zeros to the count of letters, weeks from
// Sunday, milliseconds for S.
func (f *dateFormat) appendLegacy(dst []byte, us int64, zone *time.Location) []byte {
	if zone == nil {
		zone = time.UTC
	}
	local := LocalMicros(us, zone)
	offset := int((local - us) / microsPerSecond)
	days := floorDiv(local, microsPerDay)
	tod := local - days*microsPerDay
	y, m, d := civil(days)
	hour := tod / microsPerHour
	for i := range f.items {
		it := &f.items[i]
		number := func(v int64) { dst = padInt(dst, v, it.n) }
		switch it.letter {
		case '\'':
			dst = append(dst, it.text...)
		case 'y', 'Y':
			v := y
			if it.letter == 'Y' {
				v, _ = weekOfYear(days)
			}
			if v <= 0 {
				v = 1 - v
			}
			if it.n == 2 {
				dst = append2(dst, int(v%100))
				continue
			}
			number(v)
		case 'M', 'L':
			dst = appendNamed(dst, min(it.n, 4), int64(m), monthNames[m-1])
		case 'w':
			_, w := weekOfYear(days)
			number(w)
		case 'W':
			first := days - int64(d) + 1
			number((int64(d)-1+int64(weekday(first)))/7 + 1)
		case 'D':
			number(int64(dayOfYear(days)))
		case 'd':
			number(int64(d))
		case 'F':
			number(int64((d-1)/7 + 1))
		case 'E':
			name := dayNames[weekday(days)]
			if it.n < 4 {
				name = name[:3]
			}
			dst = append(dst, name...)
		case 'u':
			number(int64((weekday(days)+6)%7 + 1))
		case 'a':
			dst = append(dst, "AMPM"[hour/12*2:hour/12*2+2]...)
		case 'H':
			number(hour)
		case 'k':
			number((hour+23)%24 + 1)
		case 'K':
			number(hour % 12)
		case 'h':
			number((hour+11)%12 + 1)
		case 'm':
			number(tod / microsPerMinute % 60)
		case 's':
			number(tod / microsPerSecond % 60)
		case 'S':
			number(tod % microsPerSecond / 1000)
		case 'G':
			if y > 0 {
				dst = append(dst, "AD"...)
			} else {
				dst = append(dst, "BC"...)
			}
		case 'z':
			name, _ := time.Unix(floorDiv(us, microsPerSecond), 0).In(zone).Zone()
			if it.n >= 4 {
				name = zoneFullName(name, zone)
			}
			dst = append(dst, name...)
		case 'Z':
			dst = appendOffset(dst, offset, 2, false)
		case 'X':
			if it.n == 1 && offset != 0 {
				dst = appendOffset(dst, offset/3600*3600, 1, true)
			} else {
				dst = appendOffset(dst, offset, it.n, true)
			}
		}
	}
	return dst
}

// weekOfYear is the week, from 1, and the year it counts to: weeks begin on Sunday, and the first is that of
// January 1.
func weekOfYear(days int64) (year, week int64) {
	y, _, _ := civil(days)
	start := func(y int64) int64 {
		first := daysOf(y, 1, 1)
		return first - int64(weekday(first))
	}
	if next := start(y + 1); days >= next {
		return y + 1, (days-next)/7 + 1
	}
	return y, (days-start(y))/7 + 1
}

// parseLegacy reads as SimpleDateFormat does when it is not lenient. What follows the pattern is not looked at.
func (f *dateFormat) parseLegacy(s []byte) (p dateParts, problem string) {
	p = dateParts{year: 1970, month: 1, day: 1}
	if f.readLegacy(s, &p) {
		return p, ""
	}
	return p, fmt.Sprintf("Unparseable date: %q", s)
}

func (f *dateFormat) readLegacy(s []byte, p *dateParts) bool {
	pos, week, day, wday := 0, int64(0), false, -1
	for i := range f.items {
		it := &f.items[i]
		if it.letter == '\'' {
			if !bytes.HasPrefix(s[pos:], []byte(it.text)) {
				return false
			}
			pos += len(it.text)
			continue
		}
		for pos < len(s) && (s[pos] == ' ' || s[pos] == '\t') {
			pos++
		}
		most := len(s)
		if i+1 < len(f.items) && f.items[i+1].letter != '\'' { // a field follows at once: the letters count
			most = it.n
		}
		var n int
		switch {
		case it.letter == 'E':
			n, wday = nameIn(s[pos:], dayNames[:])
		case (it.letter == 'M' || it.letter == 'L') && it.n > 2:
			var m int
			n, m = nameIn(s[pos:], monthNames[:])
			p.month = int64(m + 1)
		case it.letter == 'Z' || it.letter == 'z' || it.letter == 'X':
			n = legacyZone(s[pos:], it, p)
		case it.letter == 'a' || it.letter == 'G':
			n = it.parse(s[pos:], p)
		default:
			var v int64
			if v, n = legacyNumber(s[pos:], most); n <= 0 {
				return false
			}
			switch it.letter {
			case 'w':
				week = v
			case 'd', 'D':
				day = true
			}
			if !it.setLegacy(v, n, p) {
				return false
			}
		}
		if n <= 0 {
			return false
		}
		pos += n
	}
	if p.bc {
		p.year = 1 - p.year
	}
	if p.hour12 && p.ap == 2 {
		p.hour += 12
	}
	if p.hasDoy {
		y, m, d := civil(daysOf(p.year, 1, 1) + p.doy - 1)
		if y != p.year {
			return false
		}
		p.month, p.day = int64(m), int64(d)
	}
	if week > 0 && !day && p.month == 1 {
		first := daysOf(p.year, 1, 1)
		y, m, d := civil(first - int64(weekday(first)) + 7*(week-1))
		p.year, p.month, p.day = y, int64(m), int64(d)
	}
	if p.day > int64(daysIn(p.year, int(p.month))) {
		return false
	}
	if p.year == 1582 && p.month == 10 && p.day > 4 && p.day < 15 { // the days that the calendar left out
		return false
	}
	return wday < 0 || weekday(p.days()) == wday
}

// setLegacy takes the number of a field, written with n digits; false if the field cannot have it.
func (it *dateItem) setLegacy(v int64, n int, p *dateParts) bool {
	set := func(to *int64, lo, hi int64) bool {
		*to = v
		return v >= lo && v <= hi
	}
	letter := it.letter
	if letter == 'Y' {
		letter = 'y'
	}
	if letter == 'y' && it.n <= 2 && n == 2 {
		first := int64(time.Now().Year()) - twoDigitYears
		v += first / 100 * 100
		if v < first {
			v += 100
		}
	}
	if to, lo, hi := p.number(letter); to != nil {
		ok := set(to, lo, hi)
		p.wrap(letter)
		return ok
	}
	switch letter {
	case 'S':
		ok := set(&p.frac, 0, 999)
		p.frac *= 1_000_000
		return ok
	case 'w':
		return v >= 1 && v <= 53
	case 'W':
		return v >= 0 && v <= 6
	case 'F':
		return v >= 1 && v <= 5
	}
	return v >= 1 && v <= 7 // u
}

func legacyNumber(s []byte, most int) (v int64, n int) {
	n = digitRun(s, min(most, 18))
	v, _ = strconv.ParseInt(bytesView(s[:n]), 10, 64)
	return v, n
}

// nameIn finds the longest of names, or their first three letters, that the text begins with.
func nameIn(s []byte, names []string) (n, at int) {
	at = -1
	for i, name := range names {
		for _, t := range [...]string{name, name[:3]} {
			if len(t) > n && len(s) >= len(t) && strings.EqualFold(bytesView(s[:len(t)]), t) {
				n, at = len(t), i
			}
		}
	}
	return n, at
}

// legacyZone reads a zone: an offset in any of the ways, or a name.
func legacyZone(s []byte, it *dateItem, p *dateParts) int {
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		for _, n := range []int{3, 2, 1} {
			o := dateItem{letter: 'X', n: n}
			if w := o.parse(s, p); w > 0 {
				return w
			}
		}
		return -1
	}
	if it.letter == 'X' {
		if len(s) > 0 && s[0] == 'Z' {
			p.zone = time.UTC
			return 1
		}
		return -1
	}
	o := dateItem{letter: 'z', n: 1}
	return o.parse(s, p)
}

// formatFor compiles a pattern for a policy. Patterns of TIMESTAMP_NTZ and TIME have no legacy.
func formatFor(text string, parsing bool, policy TimeParser) (*dateFormat, error) {
	if policy == LegacyParser {
		return compileLegacyFormat(text)
	}
	f, err := compileDateFormat(text, parsing)
	if err == nil && policy == ExceptionParser {
		f.before, _ = compileLegacyFormat(text)
	}
	return f, err
}

// conflict is the error under the policy Exception of a text that this format cannot read although the
// formatter of Spark 2.4 could; else nil.
func (f *dateFormat) conflict(s []byte) error {
	if f.before == nil {
		return nil
	}
	if _, problem := f.before.parseLegacy(s); problem != "" {
		return nil
	}
	return errs.New("INCONSISTENT_BEHAVIOR_CROSS_VERSION.PARSE_DATETIME_BY_NEW_PARSER", "datetime", "'"+string(s)+"'",
		"config", `"spark.sql.legacy.timeParserPolicy"`)
}
