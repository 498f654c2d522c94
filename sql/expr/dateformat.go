package expr

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
)

// A dateFormat is a compiled pattern of java.time's DateTimeFormatter, as far as Spark lets it through. It
// prints and reads without allocating.
type dateFormat struct {
	text   string
	items  []dateItem
	legacy bool        // of SimpleDateFormat instead
	before *dateFormat // how Spark 2.4 would read it, under the policy Exception
}

// dateItem is a run of one pattern letter, a literal ('\” with text), or an optional part's '[' or ']'.
type dateItem struct {
	letter byte
	n      int
	text   string
	// reserve is the digits that numbers right behind this one need: a number of open width leaves them.
	reserve int
}

const docroot = "https://spark.apache.org/docs/latest"

// maxLetters is how often a letter may stand in a row.
func maxLetters(c byte) int {
	switch c {
	case 'y':
		return 6
	case 'M', 'L', 'E', 'Q', 'q', 'z', 'G':
		return 4
	case 'd', 'H', 'k', 'K', 'h', 'm', 's', 'V':
		return 2
	case 'D':
		return 3
	case 'F', 'a':
		return 1
	case 'S':
		return 9
	case 'O':
		return 4
	case 'X', 'x', 'Z':
		return 5
	}
	return 0
}

// weekBased is the first letter outside of quotes that stands for years and days of weeks; "" if there is none. Quotes
// divide a pattern into parts, and a part with letters that nobody knows ends the search, as that is found first.
func weekBased(text string) string {
	for k, part := range strings.Split(text, "'") {
		if k%2 != 0 {
			continue
		}
		if i := strings.IndexAny(part, "YWwuec"); i >= 0 {
			return part[i : i+1]
		}
		if strings.ContainsAny(part, "ABnNp") {
			break
		}
	}
	return ""
}

// compileDateFormat reads a pattern. Some letters are only for printing.
func compileDateFormat(text string, parsing bool) (*dateFormat, error) {
	f := &dateFormat{text: text}
	unrecognised := func() error {
		// What the formatter of old Spark would have taken is told apart.
		if _, err := compileLegacyFormat(text); err == nil {
			return errs.New("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION", "pattern", quoteSQL(text),
				"config", `"spark.sql.legacy.timeParserPolicy"`, "docroot", docroot)
		}
		if c := weekBased(text); c != "" {
			return errs.New("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN", "c", c)
		}
		return errs.New("INVALID_DATETIME_PATTERN.WITH_SUGGESTION", "pattern", quoteSQL(text), "docroot", docroot)
	}
	literal := func(s string) {
		if n := len(f.items); n > 0 && f.items[n-1].letter == '\'' {
			f.items[n-1].text += s
			return
		}
		f.items = append(f.items, dateItem{letter: '\'', text: s})
	}
	if weekBased(text) != "" {
		return nil, unrecognised()
	}
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(text) && text[i+n] == c {
				n++
			}
			i += n
			switch {
			case strings.IndexByte("ABnNp", c) >= 0 || parsing && strings.IndexByte("Qq", c) >= 0:
				return nil, errs.New("INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER", "c", string(c), "pattern", text)
			case n > maxLetters(c) || parsing && (c == 'E' || c == 'F') || c == 'V' && n != 2 || c == 'O' && n != 1 && n != 4:
				return nil, unrecognised()
			}
			f.items = append(f.items, dateItem{letter: c, n: n})
		case c == '\'':
			if i+1 < len(text) && text[i+1] == '\'' {
				literal("'")
				i += 2
				continue
			}
			end := -1
			part := ""
			for j := i + 1; j < len(text); j++ {
				if text[j] == '\'' {
					if j+1 < len(text) && text[j+1] == '\'' {
						j++
					} else {
						end = j
						break
					}
				}
				part += text[j : j+1]
			}
			if end < 0 {
				return nil, errs.New("INVALID_DATETIME_PATTERN.WITH_SUGGESTION", "pattern", quoteSQL(text), "docroot", docroot)
			}
			literal(part)
			i = end + 1
		case c == '[':
			depth++
			f.items = append(f.items, dateItem{letter: c})
			i++
		case c == ']':
			if depth--; depth < 0 {
				return nil, errs.New("INVALID_DATETIME_PATTERN.WITH_SUGGESTION", "pattern", quoteSQL(text), "docroot", docroot)
			}
			f.items = append(f.items, dateItem{letter: c})
			i++
		case c == '{' || c == '}' || c == '#':
			return nil, unrecognised()
		default:
			literal(text[i : i+1])
			i++
		}
	}
	for i := range f.items {
		if lo, hi := f.items[i].width(); hi > lo {
			for _, next := range f.items[i+1:] {
				lo, hi := next.width()
				if lo == 0 || lo != hi {
					break
				}
				f.items[i].reserve += lo
			}
		}
	}
	return f, nil
}

// width is the least and most digits a number takes; 0, 0 for what is no number.
func (it dateItem) width() (lo, hi int) {
	switch it.letter {
	case 'y':
		if it.n == 2 {
			return 2, 2
		}
		return it.n, 19
	case 'M', 'L':
		if it.n > 2 {
			return 0, 0
		}
	case 'D':
		switch it.n {
		case 2:
			return 2, 3
		case 3:
			return 3, 3
		}
		return 1, 19
	case 'd', 'H', 'k', 'K', 'h', 'm', 's':
	default:
		return 0, 0
	}
	if it.n == 2 {
		return 2, 2
	}
	return 1, 19
}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
	"November", "December"}
var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// weekday counts from Sunday = 0.
func weekday(days int64) int { return int(floorMod(days+4, 7)) }

func dayOfYear(days int64) int {
	y, _, _ := civil(days)
	return int(days-daysOf(y, 1, 1)) + 1
}

func padInt(dst []byte, n int64, width int) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	for d := digitsOf(n); d < width; d++ {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

// appendTo prints an instant in a zone; without a zone (TIMESTAMP_NTZ) us is local time.
func (f *dateFormat) appendTo(dst []byte, us int64, zone *time.Location) []byte {
	if f.legacy {
		return f.appendLegacy(dst, us, zone)
	}
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
		switch it.letter {
		case '\'':
			dst = append(dst, it.text...)
		case 'y':
			era := y
			if era <= 0 {
				era = 1 - era
			}
			switch {
			case it.n == 2:
				dst = append2(dst, int(era%100))
			case it.n >= 4 && digitsOf(era) > it.n:
				dst = padInt(append(dst, '+'), era, it.n)
			default:
				dst = padInt(dst, era, it.n)
			}
		case 'M', 'L':
			dst = appendNamed(dst, it.n, int64(m), monthNames[m-1])
		case 'd':
			dst = padInt(dst, int64(d), it.n)
		case 'D':
			dst = padInt(dst, int64(dayOfYear(days)), it.n)
		case 'F':
			dst = padInt(dst, int64((d-1)%7+1), 1)
		case 'E':
			name := dayNames[weekday(days)]
			if it.n < 4 {
				name = name[:3]
			}
			dst = append(dst, name...)
		case 'H':
			dst = padInt(dst, hour, it.n)
		case 'k':
			dst = padInt(dst, (hour+23)%24+1, it.n)
		case 'K':
			dst = padInt(dst, hour%12, it.n)
		case 'h':
			dst = padInt(dst, (hour+11)%12+1, it.n)
		case 'a':
			dst = append(dst, "AMPM"[hour/12*2:hour/12*2+2]...)
		case 'm':
			dst = padInt(dst, tod/microsPerMinute%60, it.n)
		case 's':
			dst = padInt(dst, tod/microsPerSecond%60, it.n)
		case 'S':
			frac := tod % microsPerSecond * 1000
			for k, unit := 0, int64(100_000_000); k < it.n; k, unit = k+1, unit/10 {
				dst = append(dst, '0'+byte(frac/unit%10))
			}
		case 'Q', 'q':
			q := int64(m+2) / 3
			switch it.n {
			case 3:
				dst = append(dst, 'Q', '0'+byte(q))
			case 4:
				dst = append(dst, [...]string{"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"}[q-1]...)
			default:
				dst = padInt(dst, q, it.n)
			}
		case 'G':
			name := "AD"
			switch {
			case it.n == 4 && y > 0:
				name = "Anno Domini"
			case it.n == 4:
				name = "Before Christ"
			case y <= 0:
				name = "BC"
			}
			dst = append(dst, name...)
		case 'z':
			name, _ := time.Unix(floorDiv(us, microsPerSecond), 0).In(zone).Zone()
			if it.n == 4 {
				name = zoneFullName(name, zone)
			} else if name != "" && (name[0] == '+' || name[0] == '-') {
				name = zone.String()
			}
			dst = append(dst, name...)
		case 'V':
			dst = append(dst, zone.String()...)
		case 'O':
			dst = appendGMT(dst, offset, it.n == 4)
		case 'Z':
			switch it.n {
			case 4:
				dst = appendGMT(dst, offset, true)
			case 5:
				dst = appendOffset(dst, offset, 5, true)
			default:
				dst = appendOffset(dst, offset, 2, false)
			}
		case 'X', 'x':
			dst = appendOffset(dst, offset, it.n, it.letter == 'X')
		}
	}
	return dst
}

func appendNamed(dst []byte, n int, v int64, name string) []byte {
	switch n {
	case 3:
		return append(dst, name[:3]...)
	case 4:
		return append(dst, name...)
	}
	return padInt(dst, v, n)
}

func appendGMT(dst []byte, offset int, full bool) []byte {
	dst = append(dst, "GMT"...)
	if offset == 0 {
		return dst
	}
	if full {
		return appendOffset(dst, offset, 3, false)
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = strconv.AppendInt(append(dst, sign), int64(offset/3600), 10)
	if m := offset / 60 % 60; m != 0 {
		dst = append2(append(dst, ':'), m)
	}
	return dst
}

// appendOffset prints in style 1 +hh[mm], 2 +hhmm, 3 +hh:mm, 4 +hhmm[ss], 5 +hh:mm[:ss].
func appendOffset(dst []byte, offset, style int, z bool) []byte {
	if offset == 0 && z {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = append2(append(dst, sign), offset/3600)
	m, s := offset/60%60, offset%60
	colon := style == 3 || style == 5
	if style > 1 || m != 0 {
		if colon {
			dst = append(dst, ':')
		}
		dst = append2(dst, m)
	}
	if style > 3 && s != 0 {
		if colon {
			dst = append(dst, ':')
		}
		dst = append2(dst, s)
	}
	return dst
}

// zoneFullName knows the full names of the zones people print; others show their id.
func zoneFullName(short string, zone *time.Location) string {
	full := map[string]string{"UTC": "Coordinated Universal Time", "GMT": "Greenwich Mean Time", "EST": "Eastern Standard Time",
		"EDT": "Eastern Daylight Time", "CST": "Central Standard Time", "CDT": "Central Daylight Time", "MST": "Mountain Standard Time",
		"MDT": "Mountain Daylight Time", "PST": "Pacific Standard Time", "PDT": "Pacific Daylight Time", "CET": "Central European Standard Time",
		"CEST": "Central European Summer Time", "IST": "India Standard Time", "JST": "Japan Standard Time", "BST": "British Summer Time",
		"EET": "Eastern European Standard Time", "EEST": "Eastern European Summer Time", "WET": "Western European Standard Time",
		"WEST": "Western European Summer Time"}
	if n, ok := full[short]; ok {
		return n
	}
	return zone.String()
}

// dateParts is what reading found.
type dateParts struct {
	year, month, day, doy      int64
	hasYear, hasDoy, bc        bool
	hour, minute, second, frac int64
	hour12                     bool   // hour is 0..11
	ap                         int    // 1 AM, 2 PM
	invalid                    string // the first number that its field cannot have
	zone                       *time.Location
}

// parse reads a text. A failure says where, in Java's words.
func (f *dateFormat) parse(s []byte) (p dateParts, problem string) {
	if f.legacy {
		return f.parseLegacy(s)
	}
	p = dateParts{year: 1970, month: 1, day: 1}
	pos, fail := f.parseItems(s, 0, f.items, &p)
	switch {
	case fail >= 0:
		return p, fmt.Sprintf("Text '%s' could not be parsed at index %d", s, charIndex(s, fail))
	case pos < len(s):
		return p, fmt.Sprintf("Text '%s' could not be parsed, unparsed text found at index %d", s, charIndex(s, pos))
	}
	if p.invalid != "" {
		return p, fmt.Sprintf("Text '%s' could not be parsed: %s", s, p.invalid)
	}
	if p.bc {
		p.year = 1 - p.year
	}
	if p.hour12 && p.ap == 2 {
		p.hour += 12
	}
	if p.hasDoy {
		days := daysOf(p.year, 1, 1) + p.doy - 1
		y, m, d := civil(days)
		if y != p.year {
			return p, fmt.Sprintf("Text '%s' could not be parsed: Invalid date 'DayOfYear 366' as '%d' is not a leap year", s, p.year)
		}
		p.month, p.day = int64(m), int64(d)
	}
	if p.day > int64(daysIn(p.year, int(p.month))) {
		if p.month == 2 && p.day == 29 {
			return p, fmt.Sprintf("Text '%s' could not be parsed: Invalid date 'February 29' as '%d' is not a leap year", s, p.year)
		}
		return p, fmt.Sprintf("Text '%s' could not be parsed: Invalid date '%s %d'", s, strings.ToUpper(monthNames[p.month-1]), p.day)
	}
	return p, ""
}

func charIndex(s []byte, i int) int { return countRunes(s[:min(i, len(s))]) }

// parseItems gives the place after the items, or in fail where reading stopped (-1: nowhere).
func (f *dateFormat) parseItems(s []byte, pos int, items []dateItem, p *dateParts) (end, fail int) {
	for i := 0; i < len(items); i++ {
		it := &items[i]
		switch it.letter {
		case '[':
			depth, j := 1, i+1
			for ; j < len(items) && depth > 0; j++ {
				switch items[j].letter {
				case '[':
					depth++
				case ']':
					depth--
				}
			}
			inner := items[i+1 : j]
			if depth == 0 {
				inner = items[i+1 : j-1]
			}
			q := *p
			if end, bad := f.parseItems(s, pos, inner, &q); bad < 0 {
				pos, *p = end, q
			}
			i = j - 1
			continue
		case ']':
			continue
		case '\'':
			if len(s)-pos < len(it.text) || !bytes.EqualFold(s[pos:pos+len(it.text)], []byte(it.text)) {
				return pos, pos
			}
			pos += len(it.text)
			continue
		}
		n := it.parse(s[pos:], p)
		if n < 0 {
			return pos, pos
		}
		pos += n
	}
	return pos, -1
}

func digitRun(s []byte, most int) int {
	n := 0
	for n < len(s) && n < most && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// number is the part that a field of digits sets and the values it may have, nil if it sets none. It notes what
// the field says of other parts.
func (p *dateParts) number(letter byte) (to *int64, lo, hi int64) {
	switch letter {
	case 'y':
		p.hasYear = true
		return &p.year, 1, 999999999
	case 'M', 'L':
		return &p.month, 1, 12
	case 'd':
		return &p.day, 1, 31
	case 'D':
		p.hasDoy = true
		return &p.doy, 1, 366
	case 'H':
		p.hour12 = false
		return &p.hour, 0, 23
	case 'k':
		return &p.hour, 1, 24
	case 'K':
		p.hour12 = true
		return &p.hour, 0, 11
	case 'h':
		p.hour12 = true
		return &p.hour, 1, 12
	case 'm':
		return &p.minute, 0, 59
	case 's':
		return &p.second, 0, 59
	}
	return nil, 0, 0
}

// wrap makes 0 of the last hour where hours count from 1.
func (p *dateParts) wrap(letter byte) {
	switch letter {
	case 'k':
		p.hour %= 24
	case 'h':
		p.hour %= 12
	}
}

// parse reads one item and gives its length, or -1.
func (it *dateItem) parse(s []byte, p *dateParts) int {
	if lo, hi := it.width(); lo > 0 {
		sign := 0
		if it.letter == 'y' && it.n != 2 && len(s) > 0 && s[0] == '+' && it.n >= 4 {
			sign = 1
		}
		n := digitRun(s[sign:], hi+it.reserve)
		if it.reserve > 0 && hi > lo {
			n = max(lo, n-it.reserve)
		}
		n = min(n, hi)
		if n < lo || digitRun(s[sign:], n) < n || n > 18 {
			return -1
		}
		if it.letter == 'y' && it.n >= 4 && (sign == 0) != (n <= it.n) {
			return -1
		}
		v := int64(0)
		for _, c := range s[sign : sign+n] {
			v = v*10 + int64(c-'0')
		}
		in := func(dst *int64, lo, hi int64) int {
			if v < lo || v > hi {
				if p.invalid == "" {
					p.invalid = it.outOfRange(v, lo, hi)
				}
				v = lo
			}
			*dst = v
			return sign + n
		}
		if it.letter == 'y' && it.n == 2 {
			v += 2000
		}
		if to, lo, hi := p.number(it.letter); to != nil {
			n := in(to, lo, hi)
			p.wrap(it.letter)
			return n
		}
	}
	switch it.letter {
	case 'M', 'L':
		for i, name := range monthNames {
			if it.n == 3 {
				name = name[:3]
			}
			if len(s) >= len(name) && strings.EqualFold(bytesView(s[:len(name)]), name) {
				p.month = int64(i + 1)
				return len(name)
			}
		}
	case 'a':
		if len(s) >= 2 && (s[1] == 'M' || s[1] == 'm') {
			switch s[0] {
			case 'A', 'a':
				p.ap = 1
				return 2
			case 'P', 'p':
				p.ap = 2
				return 2
			}
		}
	case 'S':
		n := digitRun(s, it.n)
		if n == 0 {
			return -1
		}
		p.frac = 0
		for i := range 9 {
			p.frac *= 10
			if i < n {
				p.frac += int64(s[i] - '0')
			}
		}
		return n
	case 'G':
		for _, era := range [...]struct {
			name string
			bc   bool
		}{{"Anno Domini", false}, {"Before Christ", true}, {"AD", false}, {"BC", true}} {
			if len(s) >= len(era.name) && strings.EqualFold(bytesView(s[:len(era.name)]), era.name) {
				p.bc = era.bc
				return len(era.name)
			}
		}
	case 'X', 'x', 'Z', 'O':
		if len(s) > 0 && (s[0] == 'Z' || s[0] == 'z') && (it.letter == 'X' || it.letter == 'Z' && it.n == 5) {
			p.zone = time.UTC
			return 1
		}
		skip := 0
		if it.letter == 'O' || it.letter == 'Z' && it.n == 4 {
			if len(s) < 3 || !strings.EqualFold(bytesView(s[:3]), "GMT") {
				return -1
			}
			p.zone, skip = time.UTC, 3
			if len(s) == 3 || s[3] != '+' && s[3] != '-' {
				return 3
			}
		}
		sec, n := readOffset(s[skip:], it)
		if n < 0 {
			return -1
		}
		p.zone = time.UTC
		if sec != 0 {
			p.zone = time.FixedZone(formatOffset(sec), sec)
		}
		return skip + n
	case 'V', 'z':
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' ||
			strings.IndexByte("/_+-:~.", s[n]) >= 0) {
			n++
		}
		for ; n > 0; n-- {
			if z, ok := ParseZone(string(s[:n])); ok {
				p.zone = z
				return n
			}
		}
	}
	return -1
}

// outOfRange says that a field cannot have a number, in Java's words.
func (it *dateItem) outOfRange(v, lo, hi int64) string {
	names := map[byte]string{'y': "YearOfEra", 'M': "MonthOfYear", 'L': "MonthOfYear", 'd': "DayOfMonth", 'D': "DayOfYear", 'H': "HourOfDay",
		'k': "ClockHourOfDay", 'K': "HourOfAmPm", 'h': "ClockHourOfAmPm", 'm': "MinuteOfHour", 's': "SecondOfMinute"}
	values := fmt.Sprintf("%d - %d", lo, hi)
	switch it.letter {
	case 'd':
		values = "1 - 28/31"
	case 'D':
		values = "1 - 365/366"
	}
	return fmt.Sprintf("Invalid value for %s (valid values %s): %d", names[it.letter], values, v)
}

// readOffset reads +hh, +hhmm, +hh:mm with optional seconds, as the item's length asks.
func readOffset(s []byte, it *dateItem) (sec, n int) {
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return 0, -1
	}
	colon := it.n == 3 && it.letter != 'Z' || it.n == 5 || it.n == 4 && (it.letter == 'Z' || it.letter == 'O')
	var parts [3]int
	pos, count := 1, 0
	for count < 3 {
		at := pos
		if count > 0 && colon {
			if at >= len(s) || s[at] != ':' {
				break
			}
			at++
		}
		w := digitRun(s[at:], 2)
		if it.letter == 'O' && it.n == 1 && count == 0 && w == 1 {
			parts[0], pos, count = int(s[at]-'0'), at+1, 1
			colon = true
			continue
		}
		if w < 2 {
			break
		}
		parts[count] = int(s[at]-'0')*10 + int(s[at+1]-'0')
		count, pos = count+1, at+2
		if count == 2 && it.n < 4 {
			break
		}
	}
	if count == 0 || count == 1 && !(it.n == 1) || parts[0] > 18 || parts[1] > 59 || parts[2] > 59 {
		return 0, -1
	}
	sec = parts[0]*3600 + parts[1]*60 + parts[2]
	if s[0] == '-' {
		sec = -sec
	}
	return sec, pos
}

func (p *dateParts) days() int64 { return daysOf(p.year, int(p.month), int(p.day)) }

// local is the time read, in microseconds of no zone.
func (p *dateParts) local() int64 {
	return p.days()*microsPerDay + p.hour*microsPerHour + p.minute*microsPerMinute + p.second*microsPerSecond + p.frac/1000
}

// instant is the time read in its own zone, or in the session's.
func (p *dateParts) instant(session *time.Location) int64 {
	if p.zone != nil {
		return InstantOf(p.local(), p.zone)
	}
	return InstantOf(p.local(), session)
}

// dateFormats caches the compiled patterns of a kernel.
type dateFormats struct {
	parsing bool
	policy  TimeParser
	last    *dateFormat
	all     map[string]*dateFormat
}

func (c *dateFormats) get(text []byte) (*dateFormat, error) {
	if c.last != nil && c.last.text == string(text) {
		return c.last, nil
	}
	if f, ok := c.all[string(text)]; ok {
		c.last = f
		return f, nil
	}
	f, err := formatFor(string(text), c.parsing, c.policy)
	if err != nil {
		return nil, err
	}
	if c.all == nil || len(c.all) > 1000 {
		c.all = map[string]*dateFormat{}
	}
	c.all[f.text], c.last = f, f
	return f, nil
}
