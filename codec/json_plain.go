package codec

import (
	"encoding/binary"
	"unicode/utf8"

	"streamlab/sql/types"
)

// A PlainJSON reads records in the form in which programs write them: an object of numbers, plain texts, true,
// false and null, with values nested at will where nobody asks for them. Of every other record it says nothing;
// what reads all of JSON must then do it. Both give the same values for what a PlainJSON accepts, since it
// accepts only forms on which nobody disagrees: no escapes, no numbers with an exponent or too many digits, no
// times but yyyy-MM-ddTHH:mm:ss.S…Z.
//
// It belongs to one goroutine.
type PlainJSON struct {
	byName    map[string]int
	order     []plainName // of the fields of the records so far
	relearned int         // names that were replaced in order
	kinds     []types.Kind
	Values    []PlainValue // of the record read last, one a field
}

// plainName is a name in quotes with its colon, as it stood in a record, and the field it names; -1: none.
type plainName struct {
	text       string
	field      int
	head, tail uint64 // of the text, the first and the last eight bytes; shorter texts are in head alone
	mask       uint64 // the bytes of head that count
}

func newPlainName(text []byte, field int) plainName {
	n := plainName{text: string(text), field: field, mask: ^uint64(0)}
	var b [8]byte
	copy(b[:], text)
	n.head = binary.LittleEndian.Uint64(b[:])
	if len(text) < 8 {
		n.mask = 1<<(8*len(text)) - 1
		return n
	}
	n.tail = binary.LittleEndian.Uint64(text[len(text)-8:])
	return n
}

// stands says whether the name stands at i. Names of up to sixteen bytes are compared as two numbers.
func (n *plainName) stands(s []byte, i int) bool {
	size := len(n.text)
	if len(s)-i < 8 || len(s)-i < size {
		return false // so near the end that it is looked up
	}
	if (binary.LittleEndian.Uint64(s[i:])^n.head)&n.mask != 0 {
		return false
	}
	switch {
	case size <= 8:
		return true
	case binary.LittleEndian.Uint64(s[i+size-8:]) != n.tail:
		return false
	}
	return size <= 16 || string(s[i+8:i+size-8]) == n.text[8:size-8]
}

// A PlainValue is the value of a field; if Null is set, the rest means nothing.
type PlainValue struct {
	Null bool
	I64  int64   // integers; 1 is true; days of a DATE; microseconds of a TIMESTAMP
	F64  float64 // DOUBLE
	Text []byte  // STRING; aliases the record
}

// NewPlainJSON reads the fields with the given names and types; nil if one of the types is not among those that
// are read here, or a name comes twice.
func NewPlainJSON(fields []types.Field) *PlainJSON {
	p := &PlainJSON{byName: make(map[string]int, len(fields)), Values: make([]PlainValue, len(fields))}
	for i, f := range fields {
		switch f.Type.Kind {
		case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Double, types.String, types.Boolean, types.Date, types.Timestamp:
		default:
			return nil
		}
		if _, twice := p.byName[f.Name]; twice {
			return nil
		}
		p.byName[f.Name] = i
		p.kinds = append(p.kinds, f.Type.Kind)
	}
	return p
}

// Read reads a record into Values; not ok says nothing about the record. What follows the object is not looked
// at, as JSON functions do it.
func (p *PlainJSON) Read(s []byte) (ok bool) {
	if len(s) == 0 || s[0] != '{' {
		return false
	}
	for i := range p.Values {
		p.Values[i].Null = true
	}
	i := blanks(s, 1)
	if i < len(s) && s[i] == '}' {
		return true
	}
	for k := 0; ; k++ {
		field := -1
		if k < len(p.order) && p.order[k].stands(s, i) {
			n := &p.order[k] // records of one source nearly always have their fields in the same order
			i, field = i+len(n.text), n.field
		} else {
			end := plainText(s, i)
			if end < 0 || end >= len(s) || s[end] != ':' { // a blank before the colon is rare
				return false
			}
			if f, known := p.byName[string(s[i+1:end-1])]; known {
				field = f
			}
			if k >= len(p.order) || p.order[k].text != string(s[i:end+1]) { // else too near the end
				p.learn(k, s[i:end+1], field)
			}
			i = end + 1
		}
		i = blanks(s, i)
		if field < 0 {
			i = plainSkip(s, i, 0)
		} else {
			i = p.value(s, i, field)
		}
		if i < 0 {
			return false
		}
		if i = blanks(s, i); i >= len(s) {
			return false
		}
		switch s[i] {
		case ',':
			i = blanks(s, i+1)
		case '}':
			return true
		default:
			return false
		}
	}
}

// learn keeps a name for the next records.
func (p *PlainJSON) learn(k int, text []byte, field int) {
	switch {
	case k == len(p.order) && k < maxPlainNames:
		p.order = append(p.order, newPlainName(text, field))
	case k < len(p.order) && p.relearned < maxRelearned: // records that differ for ever are looked up by name
		p.relearned++
		p.order[k] = newPlainName(text, field)
	}
}

const (
	maxPlainNames = 256
	maxRelearned  = 10_000
)

// blanks gives the place of the next byte that is no blank.
func blanks(s []byte, i int) int {
	if i < len(s) && s[i] > ' ' {
		return i
	}
	return moreBlanks(s, i)
}

func moreBlanks(s []byte, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// plainText gives the place behind the text in double quotes at i; -1 if there is none or it has escapes.
func plainText(s []byte, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	from := i + 1
	j := scanPlain(s, from)
	if j < len(s) && s[j] == '"' {
		return j + 1
	}
	for ; j < len(s); j++ { // not ASCII, perhaps
		switch c := s[j]; {
		case c == '"':
			if !utf8.Valid(s[from:j]) {
				return -1
			}
			return j + 1
		case c < ' ' || c == '\\':
			return -1
		}
	}
	return -1
}

// plainSkip gives the place behind the value at i; -1 if it is written in an unusual way.
func plainSkip(s []byte, i, deep int) int {
	if i >= len(s) || deep > 64 {
		return -1
	}
	switch c := s[i]; c {
	case '"':
		return plainText(s, i)
	case 't':
		return plainWord(s, i, "true")
	case 'f':
		return plainWord(s, i, "false")
	case 'n':
		return plainWord(s, i, "null")
	case '{', '[':
		end := c + 2 // '{' and '}', '[' and ']' are two apart
		if i = blanks(s, i+1); i < len(s) && s[i] == end {
			return i + 1
		}
		for {
			if c == '{' {
				if i = plainText(s, i); i < 0 || i >= len(s) || s[i] != ':' {
					return -1
				}
				i = blanks(s, i+1)
			}
			if i = plainSkip(s, i, deep+1); i < 0 {
				return -1
			}
			if i = blanks(s, i); i >= len(s) {
				return -1
			}
			switch s[i] {
			case ',':
				i = blanks(s, i+1)
			case end:
				return i + 1
			default:
				return -1
			}
		}
	}
	if s[i] == '-' {
		i++
	}
	n := plainDigits(s, i)
	if n == 0 || n > 1 && s[i] == '0' {
		return -1
	}
	if i += n; i < len(s) && s[i] == '.' {
		if n = plainDigits(s, i+1); n == 0 {
			return -1
		}
		i += n + 1
	}
	if !ends(s, i) {
		return -1
	}
	return i
}

func plainDigits(s []byte, i int) int {
	n := 0
	for i+n < len(s) && s[i+n]-'0' <= 9 {
		n++
	}
	return n
}

func plainWord(s []byte, i int, word string) int {
	end := i + len(word)
	if end > len(s) || string(s[i:end]) != word || !ends(s, end) {
		return -1
	}
	return end
}

// value reads the value of a field and gives the place behind it; -1 if it is not plain or does not fit.
func (p *PlainJSON) value(s []byte, i, field int) int {
	if i >= len(s) {
		return -1
	}
	v := &p.Values[field]
	if s[i] == 'n' {
		*v = PlainValue{Null: true} // of equal names the last one counts
		return plainWord(s, i, "null")
	}
	v.Null = false
	kind := p.kinds[field]
	switch kind {
	case types.String, types.Timestamp, types.Date:
		end := plainText(s, i)
		if end < 0 {
			return -1
		}
		ok := true
		switch t := s[i+1 : end-1]; kind {
		case types.String:
			v.Text = t
		case types.Timestamp:
			v.I64, ok = plainInstant(t)
		default:
			v.I64, ok = plainDate(t)
		}
		if !ok {
			return -1
		}
		return end
	case types.Boolean:
		v.I64 = 0
		if s[i] == 't' {
			v.I64 = 1
			return plainWord(s, i, "true")
		}
		return plainWord(s, i, "false")
	}
	negative := s[i] == '-'
	if negative {
		i++
	}
	from, m := i, uint64(0)
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		m = m*10 + uint64(s[i]-'0')
	}
	digits, fraction := i-from, 0
	if digits == 0 || digits > 1 && s[from] == '0' {
		return -1
	}
	if kind != types.Double {
		n := int64(m)
		if negative {
			n = -n
		}
		if digits > 18 || !ends(s, i) || !kind.Holds(n) {
			return -1
		}
		v.I64 = n
		return i
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			m = m*10 + uint64(s[i]-'0')
			fraction++
		}
		if fraction == 0 {
			return -1
		}
	}
	if digits+fraction > 15 || !ends(s, i) { // up to 15 digits the division is exact to the last bit
		return -1
	}
	if v.F64 = float64(m); fraction > 0 {
		v.F64 /= pow10f[fraction]
	}
	if negative {
		v.F64 = -v.F64
	}
	return i
}

// plainInstant reads yyyy-MM-ddTHH:mm:ss, perhaps a fraction of up to six digits, and Z.
func plainInstant(s []byte) (int64, bool) {
	n := len(s) - 1
	if n < 19 || n == 20 || n > 26 || s[n] != 'Z' || s[10] != 'T' || n > 19 && s[19] != '.' {
		return 0, false
	}
	us, utc, ok := plainTimestamp(s)
	return us, ok && utc
}

// plainDate reads yyyy-MM-dd.
func plainDate(s []byte) (int64, bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y1, y2, m, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
	if y1|y2|m|d < 0 || m < 1 || m > 12 || d < 1 || d > 28 { // the longer days are for those who know months
		return 0, false
	}
	return DayNumber(int64(y1)*100+int64(y2), m, d), true
}
