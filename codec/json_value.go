package codec

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"streamlab/sql/types"
)

// value reads the value at d.i into row r of c. Common forms are read in place; whatever looks different is
// scanned as a token first.
func (d *jsonDecoder) value(c *column, r int) verdict {
	s, i := d.s, d.i
	if i >= len(s) {
		return broken
	}
	b := s[i]
	if b == 'n' {
		if !d.literal("null") {
			return broken
		}
		c.setNull(r)
		return fits
	}
	start := i
	switch c.t.Kind {
	case types.BigInt, types.Int, types.SmallInt, types.TinyInt:
		return d.integer(c, r)
	case types.Double, types.Float:
		return d.double(c, r)
	case types.String:
		switch {
		case b == '"':
			return d.text(c, r)
		case b == '{' || b == '[':
			return d.nested(c, r)
		case b == '\'':
			t, ok := d.str()
			if !ok {
				return broken
			}
			c.setBytes(r, t)
			return fits
		}
		if v := d.skip(); v != fits {
			return v
		}
		c.setBytes(r, s[start:d.i])
		return fits
	case types.Timestamp, types.TimestampNTZ, types.Date:
		return d.datetime(c, r)
	case types.Boolean:
		if b == 't' && d.literal("true") {
			c.setBool(r, true)
			return fits
		}
		if b == 'f' && d.literal("false") {
			c.setBool(r, false)
			return fits
		}
	case types.Decimal:
		t, ok := d.scalarText()
		if !ok {
			break
		}
		if t == nil {
			return broken
		}
		n, good := ParseDecimal(t, c.t.Precision, c.t.Scale)
		if !good {
			return d.misfits(c, r, start)
		}
		c.dec[r] = n
		c.set(r)
		return fits
	case types.Binary:
		if b == '"' || b == '\'' {
			t, ok := d.str()
			if !ok {
				return broken
			}
			c.begin(r)
			out, err := base64.StdEncoding.AppendDecode(c.data, t)
			if err != nil {
				return d.misfits(c, r, start)
			}
			c.data = out
			c.finish(r)
			return fits
		}
	case types.DayTime, types.YearMonth:
		if b == '"' || b == '\'' {
			t, ok := d.str()
			if !ok {
				return broken
			}
			if !setInterval(c, r, t) {
				return d.misfits(c, r, start)
			}
			return fits
		}
	case types.Array:
		if b == '[' {
			d.i++
			return d.list(c, r)
		}
	case types.Map:
		if b == '{' {
			d.i++
			return d.mapping(c, r)
		}
	case types.Struct:
		if b == '{' {
			d.i++
			for _, k := range c.kids {
				k.forget(r) // an equal key before this one
			}
			c.set(r)
			return d.object(c.object, c.kids, r)
		}
	}
	if v := d.skip(); v != fits {
		return v
	}
	return d.misfits(c, r, start)
}

// literal reads a word; nothing of it may follow.
func (d *jsonDecoder) literal(word string) bool {
	s := d.s[d.i:]
	if len(s) < len(word) || string(s[:len(word)]) != word {
		return false
	}
	if len(s) > len(word) && wordByte(s[len(word)]) {
		return false
	}
	d.i += len(word)
	return true
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '.' ||
		c == '-' || c == '+' || c >= 0x80
}

func ends(s []byte, i int) bool {
	return i >= len(s) || s[i] == ',' || s[i] == '}' || s[i] == ']' || s[i] <= ' '
}

func (d *jsonDecoder) integer(c *column, r int) verdict {
	s, i := d.s, d.i
	start := i
	negative := false
	if s[i] == '-' {
		negative = true
		i++
	}
	from := i
	v := int64(0)
	for i < len(s) {
		b := s[i] - '0'
		if b > 9 {
			break
		}
		v = v*10 + int64(b)
		i++
	}
	n := i - from
	if n == 0 || n > 18 || !ends(s, i) || n > 1 && s[from] == '0' {
		return d.integerSlow(c, r, start)
	}
	if negative {
		v = -v
	}
	d.i = i
	return d.setInt(c, r, v, start)
}

func (d *jsonDecoder) setInt(c *column, r int, v int64, start int) verdict {
	switch c.t.Kind {
	case types.BigInt:
		c.i64[r] = v
	case types.Int:
		if v != int64(int32(v)) {
			return d.misfits(c, r, start)
		}
		c.i32[r] = int32(v)
	case types.SmallInt:
		if v != int64(int16(v)) {
			return d.misfits(c, r, start)
		}
		c.i16[r] = int16(v)
	default: // Spark takes bytes up to 255 and wraps them
		if v < -128 || v > 255 {
			return d.misfits(c, r, start)
		}
		c.i8[r] = int8(v)
	}
	c.set(r)
	return fits
}

func (d *jsonDecoder) integerSlow(c *column, r, start int) verdict {
	if v := d.skip(); v != fits {
		return v
	}
	v, err := strconv.ParseInt(string(d.s[start:d.i]), 10, 64)
	if err != nil || d.s[start] == '+' {
		return d.misfits(c, r, start)
	}
	return d.setInt(c, r, v, start)
}

func (d *jsonDecoder) double(c *column, r int) verdict {
	s, i := d.s, d.i
	start := i
	negative := false
	if s[i] == '-' {
		negative = true
		i++
	}
	from := i
	m, digits := uint64(0), 0
	for i < len(s) {
		b := s[i] - '0'
		if b > 9 {
			break
		}
		m = m*10 + uint64(b)
		i++
	}
	digits = i - from
	fraction := 0
	if digits > 0 && i < len(s) && s[i] == '.' {
		i++
		p := i
		for i < len(s) {
			b := s[i] - '0'
			if b > 9 {
				break
			}
			m = m*10 + uint64(b)
			i++
		}
		fraction = i - p
		if fraction == 0 {
			digits = 99
		}
		digits += fraction
	}
	if digits == 0 || digits > 15 || !ends(s, i) || i-from > 1 && s[from] == '0' && s[from+1] != '.' {
		return d.doubleSlow(c, r, start)
	}
	d.i = i
	if c.t.Kind == types.Float {
		// Rounding twice is not exact; floats are rare enough for the exact way.
		f, _ := strconv.ParseFloat(string(s[start:i]), 32)
		c.f32[r] = float32(f)
		c.set(r)
		return fits
	}
	f := float64(m)
	if fraction > 0 {
		f /= pow10f[fraction]
	}
	if negative {
		f = -f
	}
	c.f64[r] = f
	c.set(r)
	return fits
}

func (d *jsonDecoder) doubleSlow(c *column, r, start int) verdict {
	var f float64
	size := 64
	if c.t.Kind == types.Float {
		size = 32
	}
	if b := d.s[start]; b == '"' || b == '\'' {
		t, ok := d.str()
		if !ok {
			return broken
		}
		switch string(t) {
		case "NaN":
			f = math.NaN()
		case "Infinity", "+INF", "+Infinity":
			f = math.Inf(1)
		case "-Infinity", "-INF":
			f = math.Inf(-1)
		default:
			return d.misfits(c, r, start)
		}
		if !d.r.json.nonNumeric {
			return d.misfits(c, r, start)
		}
	} else {
		if v := d.skip(); v != fits {
			return v
		}
		switch t := d.s[start:d.i]; string(t) {
		case "NaN":
			f = math.NaN()
		case "Infinity", "+Infinity", "INF", "+INF":
			f = math.Inf(1)
		case "-Infinity", "-INF":
			f = math.Inf(-1)
		default:
			if b != '-' && b-'0' > 9 {
				return d.misfits(c, r, start)
			}
			f, _ = strconv.ParseFloat(string(t), size)
		}
	}
	if size == 32 {
		c.f32[r] = float32(f)
	} else {
		c.f64[r] = f
	}
	c.set(r)
	return fits
}

// datetime reads dates and timestamps.
func (d *jsonDecoder) datetime(c *column, r int) verdict {
	start := d.i
	if b := d.s[start]; b != '"' && b != '\'' {
		if v := d.skip(); v != fits {
			return v
		}
		if c.t.Kind == types.Timestamp {
			if n, err := strconv.ParseInt(string(d.s[start:d.i]), 10, 64); err == nil && n == n*1_000_000/1_000_000 {
				c.i64[r] = n * 1_000_000
				c.set(r)
				return fits
			}
		}
		return d.misfits(c, r, start)
	}
	t, ok := d.str()
	if !ok {
		return broken
	}
	if !d.setDatetime(c, r, t) {
		return d.misfits(c, r, start)
	}
	return fits
}

// setDatetime reads a text as the date or timestamp that c holds; CSV shares it.
func (d *rowsOf) setDatetime(c *column, r int, t []byte) (ok bool) {
	switch c.t.Kind {
	case types.Date:
		var v int32
		if p := d.r.dateFormat; p != nil {
			v, ok = p.Date(t)
		} else {
			v, ok = ParseDate(t)
		}
		if ok {
			c.i32[r] = v
		}
	case types.Timestamp:
		var v int64
		if p := d.r.tsFormat; p != nil {
			v, ok = p.Timestamp(t, d.clock)
		} else {
			v, ok = d.clock.ParseTimestamp(t)
		}
		if ok {
			c.i64[r] = v
		}
	default:
		var v int64
		if p := d.r.ntzFormat; p != nil {
			v, ok = p.Local(t)
		} else {
			v, ok = ParseTimestampNTZ(t)
		}
		if ok {
			c.i64[r] = v
		}
	}
	if ok {
		c.set(r)
	}
	return ok
}

// text reads a text in double quotes into a column of texts.
func (d *jsonDecoder) text(c *column, r int) verdict {
	s := d.s
	from := d.i + 1
	j := scanPlain(s, from)
	if j < len(s) && s[j] == '"' {
		d.i = j + 1
		c.setBytes(r, s[from:j])
		return fits
	}
	t, ok := d.str()
	if !ok {
		return broken
	}
	c.setBytes(r, t)
	return fits
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scanPlain finds the first byte from i on that is a quote, a backslash, a control character or not ASCII.
func scanPlain(s []byte, i int) int {
	for i+8 <= len(s) {
		x := binary.LittleEndian.Uint64(s[i:])
		q := x ^ ones*'"'
		b := x ^ ones*'\\'
		m := ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x | x) & highs
		if m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 && s[i] < 0x80 {
		i++
	}
	return i
}

// str reads a text in either quote. The result aliases the record or d.buf. Not ok: broken.
func (d *jsonDecoder) str() ([]byte, bool) {
	s := d.s
	if d.i >= len(s) {
		return nil, false
	}
	quote := s[d.i]
	if quote == '\'' && !d.r.json.singleQuotes {
		return nil, false
	}
	from := d.i + 1
	i := from
	ascii := true
	for i < len(s) {
		if ascii && quote == '"' {
			i = scanPlain(s, i)
			if i >= len(s) {
				return nil, false
			}
		}
		switch b := s[i]; {
		case b == quote:
			d.i = i + 1
			t := s[from:i]
			return t, ascii || utf8.Valid(t)
		case b == '\\':
			return d.escaped(quote, from, i)
		case b < 0x20 && !d.r.json.controlChars:
			return nil, false
		case b >= 0x80:
			ascii = false
		}
		i++
	}
	return nil, false
}

// escaped goes on with a text that has a backslash at i.
func (d *jsonDecoder) escaped(quote byte, from, i int) ([]byte, bool) {
	s := d.s
	out := append(d.buf[:0], s[from:i]...)
	for i < len(s) {
		b := s[i]
		switch {
		case b == quote:
			d.i = i + 1
			d.buf = out
			return out, utf8.Valid(out)
		case b < 0x20 && !d.r.json.controlChars:
			return nil, false
		case b != '\\':
			out = append(out, b)
			i++
			continue
		}
		if i++; i >= len(s) {
			return nil, false
		}
		switch e := s[i]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			u, ok := hex4(s, i+1)
			if !ok {
				return nil, false
			}
			i += 4
			if utf16.IsSurrogate(u) {
				low, ok := rune(-1), false
				if i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					low, ok = hex4(s, i+3)
				}
				if pair := utf16.DecodeRune(u, low); ok && pair != utf8.RuneError {
					u = pair
					i += 6
				} else {
					u = '?' // as the JVM writes a lone surrogate
				}
			}
			out = utf8.AppendRune(out, u)
		case '\'':
			if !d.r.json.singleQuotes && !d.r.json.anyEscape {
				return nil, false
			}
			out = append(out, e)
		default:
			if !d.r.json.anyEscape {
				return nil, false
			}
			out = append(out, e)
		}
		i++
	}
	return nil, false
}

func hex4(s []byte, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	v := rune(0)
	for _, b := range s[i : i+4] {
		switch {
		case b >= '0' && b <= '9':
			v = v<<4 | rune(b-'0')
		case b >= 'a' && b <= 'f':
			v = v<<4 | rune(b-'a'+10)
		case b >= 'A' && b <= 'F':
			v = v<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// scalarText reads a number, or a text in quotes, as text: not ok if something else stands there, nil if it
// is broken.
func (d *jsonDecoder) scalarText() ([]byte, bool) {
	switch b := d.s[d.i]; {
	case b == '"' || b == '\'':
		t, ok := d.str()
		if !ok {
			return nil, true
		}
		if t == nil {
			t = []byte{}
		}
		return t, true
	case b == '-' || b-'0' <= 9:
		start := d.i
		if d.skip() != fits {
			return nil, true
		}
		return d.s[start:d.i], true
	}
	return nil, false
}

// skip passes over a value, which must be JSON.
func (d *jsonDecoder) skip() verdict {
	s := d.s
	if d.i >= len(s) {
		return broken
	}
	switch b := s[d.i]; {
	case b == '"':
		if j := scanPlain(s, d.i+1); j < len(s) && s[j] == '"' {
			d.i = j + 1
			return fits
		}
		if _, ok := d.str(); !ok {
			return broken
		}
		return fits
	case b == '\'':
		if _, ok := d.str(); !ok {
			return broken
		}
		return fits
	case b == '-' || b == '+' || b-'0' <= 9:
		return d.skipNumber()
	case b == '{' || b == '[':
		return d.skipNested(b)
	case b == 't':
		return d.word("true")
	case b == 'f':
		return d.word("false")
	case b == 'n':
		return d.word("null")
	case b == 'N' && d.r.json.nonNumeric:
		return d.word("NaN")
	case b == 'I' && d.r.json.nonNumeric:
		if d.literal("Infinity") {
			return fits
		}
		return d.word("INF")
	}
	return broken
}

func (d *jsonDecoder) word(w string) verdict {
	if d.literal(w) {
		return fits
	}
	return broken
}

func (d *jsonDecoder) skipNumber() verdict {
	s, i := d.s, d.i
	if s[i] == '-' || s[i] == '+' {
		plus := s[i] == '+'
		if d.r.json.nonNumeric && i+1 < len(s) && (s[i+1] == 'I' || s[i+1] == 'N') {
			d.i++
			if d.literal("Infinity") || d.literal("INF") {
				return fits
			}
			return broken
		}
		if plus {
			return broken
		}
		i++
	}
	from := i
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	if i == from || s[from] == '0' && i-from > 1 && !d.r.json.leadingZeros {
		return broken
	}
	if i < len(s) && s[i] == '.' {
		p := i + 1
		for i = p; i < len(s) && s[i]-'0' <= 9; i++ {
		}
		if i == p {
			return broken
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		p := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		if i == p {
			return broken
		}
	}
	if i < len(s) && wordByte(s[i]) {
		return broken
	}
	d.i = i
	return fits
}

func (d *jsonDecoder) skipNested(open byte) verdict {
	if d.deep++; d.deep > maxDepth {
		return broken
	}
	defer func() { d.deep-- }()
	d.i++
	d.space()
	end := open + 2 // '{' and '}', '[' and ']' are two apart
	if d.i < len(d.s) && d.s[d.i] == end {
		d.i++
		return fits
	}
	for {
		if open == '{' {
			if _, ok := d.key(); !ok {
				return broken
			}
		}
		d.space()
		if v := d.skip(); v != fits {
			return v
		}
		d.space()
		if d.i >= len(d.s) {
			return broken
		}
		switch d.s[d.i] {
		case ',':
			d.i++
			d.space()
		case end:
			d.i++
			return fits
		default:
			return broken
		}
	}
}
