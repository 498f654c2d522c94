package codec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Pattern is a date and time pattern of Spark (yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]), ready to parse and print.
// It is immutable. The letters are y u M L d D E a H k K h m s S n(no) V z O X x Z and G as AD.
type Pattern struct {
	text  string
	items []item
}

type item struct {
	letter   byte // 0: literal text; '[' and ']': an optional part
	count    int
	text     string
	end      int  // of '[': index of its ']'
	adjacent bool // a number follows at once, so this one has exactly count digits
}

// ParsePattern compiles a pattern. The error's text says what is wrong with it.
func ParsePattern(text string) (*Pattern, error) {
	p := &Pattern{text: text}
	var open []int
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'':
			if i+1 < len(text) && text[i+1] == '\'' {
				p.items = append(p.items, item{text: "'"})
				i += 2
				continue
			}
			var b strings.Builder
			j := i + 1
			for ; ; j++ {
				if j >= len(text) {
					return nil, errors.New("a quote is not closed")
				}
				if text[j] == '\'' {
					if j+1 < len(text) && text[j+1] == '\'' {
						j++
					} else {
						break
					}
				}
				b.WriteByte(text[j])
			}
			p.items = append(p.items, item{text: b.String()})
			i = j + 1
		case c == '[':
			open = append(open, len(p.items))
			p.items = append(p.items, item{letter: '['})
			i++
		case c == ']':
			if len(open) == 0 {
				return nil, errors.New("] without [")
			}
			p.items[open[len(open)-1]].end = len(p.items)
			open = open[:len(open)-1]
			p.items = append(p.items, item{letter: ']'})
			i++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			j := i
			for j < len(text) && text[j] == c {
				j++
			}
			if err := checkLetter(c, j-i); err != nil {
				return nil, err
			}
			p.items = append(p.items, item{letter: c, count: j - i})
			i = j
		default:
			p.items = append(p.items, item{text: string(c)})
			i++
		}
	}
	if len(open) > 0 {
		return nil, errors.New("[ without ]")
	}
	for i := range p.items[:max(0, len(p.items)-1)] {
		p.items[i].adjacent = p.items[i].numeric() && p.items[i+1].numeric()
	}
	return p, nil
}

func checkLetter(c byte, n int) error {
	most := map[byte]int{'y': 6, 'u': 6, 'M': 5, 'L': 5, 'd': 2, 'D': 3, 'E': 5, 'a': 1, 'H': 2, 'k': 2, 'K': 2, 'h': 2, 'm': 2,
		's': 2, 'S': 9, 'V': 2, 'z': 4, 'O': 4, 'X': 5, 'x': 5, 'Z': 5, 'G': 4, 'Q': 4, 'q': 4}[c]
	if most == 0 {
		return fmt.Errorf("the letter %c is not known", c)
	}
	if n > most {
		return fmt.Errorf("%d letters %c are too many", n, c)
	}
	return nil
}

func (it item) numeric() bool {
	switch it.letter {
	case 'y', 'u', 'd', 'D', 'H', 'k', 'K', 'h', 'm', 's', 'S':
		return true
	case 'M', 'L':
		return it.count <= 2
	}
	return false
}

func (p *Pattern) String() string { return p.text }

// fields is what a parse found.
type fields struct {
	year                   int64
	month, dayOfMonth      int
	dayOfYear              int
	hour, minute, second   int
	hour12, half           int // -1: not given
	micros                 int64
	zone                   *time.Location
	offset                 int
	hasZone, fixed, hasDay bool
}

func newFields() fields { return fields{year: 1970, month: 1, dayOfMonth: 1, hour12: -1, half: -1} }

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
	"November", "December"}
var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

func name(full string, count int) string {
	switch {
	case count == 4:
		return full
	case count == 5:
		return full[:1]
	}
	return full[:3]
}

func number(s string, least, most int) (n int64, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && s[i]-'0' <= 9 {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	return n, s[i:], i >= least
}

// parse reads items [from, to) of the pattern from s.
func (p *Pattern) parse(s string, from, to int, f *fields) (rest string, ok bool) {
	for k := from; k < to; k++ {
		it := p.items[k]
		least, most := it.count, it.count
		if it.count == 1 && !it.adjacent {
			most = 19
		}
		var n int64
		switch it.letter {
		case 0:
			if s, ok = strings.CutPrefix(s, it.text); !ok {
				return s, false
			}
			continue
		case '[':
			trial := *f
			if r, ok := p.parse(s, k+1, it.end, &trial); ok {
				s, *f = r, trial
			}
			k = it.end
			continue
		case ']':
			continue
		case 'y', 'u':
			negative := false
			if s != "" && (s[0] == '-' || s[0] == '+') {
				negative = s[0] == '-'
				s = s[1:]
			}
			if it.count == 2 {
				if n, s, ok = number(s, 2, 2); !ok {
					return s, false
				}
				n += 2000
			} else {
				if !it.adjacent {
					most = 6
				}
				if n, s, ok = number(s, least, most); !ok {
					return s, false
				}
			}
			if negative {
				n = -n
			}
			f.year, f.hasDay = n, true
		case 'M', 'L':
			f.hasDay = true
			if it.count >= 3 {
				found := false
				for i, m := range monthNames {
					if w := name(m, it.count); len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
						f.month, s, found = i+1, s[len(w):], true
						break
					}
				}
				if !found {
					return s, false
				}
				continue
			}
			if n, s, ok = number(s, least, min(most, 2)); !ok || n < 1 || n > 12 {
				return s, false
			}
			f.month = int(n)
		case 'd':
			if n, s, ok = number(s, least, min(most, 2)); !ok || n < 1 || n > 31 {
				return s, false
			}
			f.dayOfMonth, f.hasDay = int(n), true
		case 'D':
			if n, s, ok = number(s, least, 3); !ok || n < 1 || n > 366 {
				return s, false
			}
			f.dayOfYear, f.hasDay = int(n), true
		case 'E':
			found := false
			for _, d := range dayNames {
				if w := name(d, it.count); len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
					s, found = s[len(w):], true
					break
				}
			}
			if !found {
				return s, false
			}
		case 'G':
			if s, ok = strings.CutPrefix(s, "AD"); !ok {
				return s, false
			}
		case 'a':
			switch {
			case len(s) >= 2 && strings.EqualFold(s[:2], "AM"):
				f.half = 0
			case len(s) >= 2 && strings.EqualFold(s[:2], "PM"):
				f.half = 1
			default:
				return s, false
			}
			s = s[2:]
		case 'H', 'k', 'K', 'h', 'm', 's':
			if n, s, ok = number(s, least, min(most, 2)); !ok {
				return s, false
			}
			limit := map[byte][2]int64{'H': {0, 23}, 'k': {1, 24}, 'K': {0, 11}, 'h': {1, 12}, 'm': {0, 59}, 's': {0, 59}}[it.letter]
			if n < limit[0] || n > limit[1] {
				return s, false
			}
			switch it.letter {
			case 'H', 'k':
				f.hour = int(n % 24)
			case 'K', 'h':
				f.hour12 = int(n % 12)
			case 'm':
				f.minute = int(n)
			default:
				f.second = int(n)
			}
		case 'S':
			before := s
			if _, s, ok = number(s, 1, it.count); !ok { // a fraction may be shorter than the pattern
				return s, false
			}
			f.micros = 0
			scale := int64(100_000)
			for _, c := range []byte(before[:len(before)-len(s)]) {
				f.micros += int64(c-'0') * scale
				scale /= 10
			}
		case 'V', 'z', 'O', 'X', 'x', 'Z':
			i := 0
			for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i]-'0' <= 9 || strings.IndexByte("+-:/_", s[i]) >= 0) {
				i++
			}
			off, fixed, loc, good := parseZone(s[:i])
			if !good || (it.letter == 'x' || it.letter == 'Z' && it.count < 4) && s[0] == 'Z' {
				return s, false
			}
			f.offset, f.fixed, f.zone, f.hasZone = off, fixed, loc, true
			s = s[i:]
		default:
			return s, false
		}
	}
	return s, true
}

func (p *Pattern) local(b []byte) (f fields, local int64, ok bool) {
	f = newFields()
	rest, ok := p.parse(string(b), 0, len(p.items), &f)
	if !ok || rest != "" {
		return f, 0, false
	}
	if f.hour12 >= 0 {
		f.hour = f.hour12
		if f.half == 1 {
			f.hour += 12
		}
	}
	if f.dayOfMonth > daysOfMonth(f.year, f.month) {
		return f, 0, false
	}
	days := DayNumber(f.year, f.month, f.dayOfMonth)
	if f.dayOfYear > 0 {
		days = DayNumber(f.year, 1, 1) + int64(f.dayOfYear) - 1
	}
	if days < -106_751_991 || days > 106_751_990 {
		return f, 0, false
	}
	return f, days*day + int64(f.hour)*hour + int64(f.minute)*minute + int64(f.second)*second + f.micros, true
}

// Date reads a date.
func (p *Pattern) Date(b []byte) (int32, bool) {
	_, local, ok := p.local(b)
	return int32(floorDiv(local, day)), ok
}

// Local reads a timestamp without zone; a zone in the text is not allowed.
func (p *Pattern) Local(b []byte) (int64, bool) {
	f, local, ok := p.local(b)
	return local, ok && !f.hasZone
}

// Timestamp reads a timestamp; without a zone it is local time of the clock.
func (p *Pattern) Timestamp(b []byte, c *Clock) (int64, bool) {
	f, local, ok := p.local(b)
	switch {
	case !ok:
		return 0, false
	case f.fixed:
		return local - int64(f.offset)*second, true
	case f.hasZone:
		return InstantOf(local, f.zone), true
	}
	return c.Instant(local), true
}

// Append prints local microseconds; offset is that of the zone in seconds, zone its name.
func (p *Pattern) Append(dst []byte, local int64, offset int, zone string) []byte {
	days := floorDiv(local, day)
	y, m, d := Civil(days)
	us := local - days*day
	for _, it := range p.items {
		switch it.letter {
		case 0:
			dst = append(dst, it.text...)
		case 'y', 'u':
			if it.count == 2 {
				dst = appendPadded(dst, ((y%100)+100)%100, 2)
			} else {
				if y > 9999 && it.count >= 4 {
					dst = append(dst, '+')
				}
				dst = appendPadded(dst, y, it.count)
			}
		case 'M', 'L':
			if it.count >= 3 {
				dst = append(dst, name(monthNames[m-1], it.count)...)
			} else {
				dst = appendPadded(dst, int64(m), it.count)
			}
		case 'Q', 'q':
			dst = appendPadded(dst, int64(m+2)/3, min(it.count, 2))
		case 'd':
			dst = appendPadded(dst, int64(d), it.count)
		case 'D':
			dst = appendPadded(dst, days-DayNumber(y, 1, 1)+1, it.count)
		case 'E':
			dst = append(dst, name(dayNames[((days+4)%7+7)%7], it.count)...)
		case 'G':
			dst = append(dst, "AD"...)
		case 'a':
			dst = append(dst, [...]string{"AM", "PM"}[us/(12*hour)]...)
		case 'H':
			dst = appendPadded(dst, us/hour, it.count)
		case 'k':
			dst = appendPadded(dst, (us/hour+23)%24+1, it.count)
		case 'K':
			dst = appendPadded(dst, us/hour%12, it.count)
		case 'h':
			dst = appendPadded(dst, (us/hour+11)%12+1, it.count)
		case 'm':
			dst = appendPadded(dst, us/minute%60, it.count)
		case 's':
			dst = appendPadded(dst, us/second%60, it.count)
		case 'S':
			digits := appendPadded(nil, us%second*1000, 9)
			dst = append(dst, digits[:it.count]...)
		case 'V', 'z':
			dst = append(dst, zone...)
		case 'O':
			dst = append(dst, "GMT"...)
			if offset != 0 {
				dst = appendOffset(dst, offset, it.count == 4, true)
			}
		case 'X', 'x', 'Z':
			dst = it.appendZone(dst, offset)
		}
	}
	return dst
}

func (it item) appendZone(dst []byte, offset int) []byte {
	if it.letter == 'Z' {
		switch {
		case it.count == 4:
			dst = append(dst, "GMT"...)
			if offset != 0 {
				dst = appendOffset(dst, offset, true, true)
			}
			return dst
		case it.count == 5 && offset == 0:
			return append(dst, 'Z')
		}
		return appendOffset(dst, offset, true, it.count == 5)
	}
	if it.letter == 'X' && offset == 0 {
		return append(dst, 'Z')
	}
	return appendOffset(dst, offset, it.count > 1, it.count == 3 || it.count == 5)
}

func appendOffset(dst []byte, offset int, minutes, colon bool) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = appendTwo(append(dst, sign), offset/3600)
	if minutes || offset/60%60 != 0 {
		if colon {
			dst = append(dst, ':')
		}
		dst = appendTwo(dst, offset/60%60)
	}
	return dst
}

func appendPadded(dst []byte, n int64, width int) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	for limit, w := int64(10), 1; w < width; w++ {
		if n < limit {
			for ; w < width; w++ {
				dst = append(dst, '0')
			}
			break
		}
		limit *= 10
	}
	return strconv.AppendInt(dst, n, 10)
}
