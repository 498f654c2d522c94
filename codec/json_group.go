package codec

import (
	"math/bits"
	"slices"
	"unsafe"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Reading one record after the other is a chain: where a value lies is known once the value before has been passed
// over, and the core waits for each link, some thirty cycles a field. Records that are written alike are therefore read
// as a group, field by field: the first field of all of them, then the second of all. The links of different records do
// not depend on each other, so that the core works on several at once; and what a field needs, its text before the
// value and its column, is looked up once for the group. What is read is the same, and so is what is refused: a record
// that does not fit ends its group, and is read alone.
//
// Where records end is found first, by their line ends. That needs no care: a record is taken only if its fields, which
// cannot hold a line end, fill it to the byte.

const (
	mostGroup  = 128      // records
	leastGroup = 8        // smaller groups are not worth while
	groupBytes = 24 << 10 // what is read field by field should stay in the first cache
	// aloneFor is how many records are read one by one when groups keep ending early.
	aloneFor = 256
)

type jsonGroup struct {
	size  int // how many records the next group has at most
	alone int // how many records are read one by one before that
	tried int
	each  int // bytes of a record with its line end, as far as known
	from  int // the place of the first mark
	plain [mostMarks]uint64
	ends  [mostMarks]uint64
	start [mostGroup + 1]int // where records begin
	at    [mostGroup]int     // where each record has been read to
	nulls [mostGroup / 64]uint64
	holds bool // nulls has any

	date    [2]uint64 // the first eleven bytes of the time read last, and what its day begins with
	dayFrom int64
}

// group reads records from at on, field by field, as Run does it one by one. It returns where the next record begins,
// which is at if none could be read so.
func (d *jsonDecoder) group(at, until, rows int) int {
	g := &d.together
	if g.alone > 0 {
		g.alone--
		return at
	}
	g.size = max(g.size, leastGroup)
	fields := d.plan.guess[:d.plan.usual]
	if len(fields) == 0 || !d.plan.groups() {
		return at
	}
	n := min(g.size, rows-d.row)
	if n < leastGroup {
		return at
	}
	if n = d.lines(at, until, n, d.plan.least); n < leastGroup {
		g.alone = leastGroup
		return at
	}
	d.roomFor(n)
	g.tried = n
	p := unsafe.Pointer(unsafe.SliceData(d.s))
	for f := range fields {
		if n = d.field(p, &fields[f], g.at[:n]); n == 0 {
			break
		}
	}
	for r, i := range g.at[:n] {
		end := g.start[r+1] - 1 // of the line
		if d.s[end-1] == '\r' {
			end--
		}
		if i+1 != end || d.s[i] != '}' {
			n = r
			break
		}
	}
	for f := range fields {
		if c := fields[f].col; c != nil {
			c.cut(d.row+n, d.row+g.tried)
		}
	}
	d.row += n
	switch {
	case n == g.tried:
		g.size = min(2*g.size, mostGroup)
	case n < leastGroup && g.size == leastGroup:
		g.alone = aloneFor
	default:
		g.size = max(g.size/2, leastGroup)
		g.alone = 1 // the one that did not fit
	}
	if n > 0 {
		d.misses = 0
	}
	return g.start[n]
}

// lines finds up to n records that begin at at and before until, are whole, and have at least so many bytes; none of
// shorter ones fits. It leaves the marks of their bytes.
func (d *jsonDecoder) lines(at, until, n, least int) int {
	g, s := &d.together, d.s
	g.each = max(g.each, least)
	blocks := (min(n*(g.each+g.each/8), groupBytes, len(s)-at) + markBlock - 1) / markBlock
	marks(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), at), blocks, &g.plain, &g.ends)
	g.plain[blocks], g.ends[blocks] = 0, 0
	g.from = at
	last := at + blocks*markBlock
	k := 0
search:
	for k < n && at < until && s[at] == '{' {
		end := at + least
		for {
			if end >= last {
				break search
			}
			m := marksFrom(&g.ends, end-g.from) // one is enough as a rule
			if end += bits.TrailingZeros64(m); m != 0 {
				break
			}
		}
		g.start[k], g.at[k] = at, at+1
		at = end + 1
		k++
	}
	g.start[k] = at
	if k > 0 {
		g.each = (at-g.from)/k + 1
	}
	if k < n {
		g.each = min(2*g.each, groupBytes/leastGroup)
	}
	return k
}

// textEnd gives the place of the first byte from i on that is not plain; 64 bytes further on if it is not that near.
func (g *jsonGroup) textEnd(i int) int {
	return i + bits.TrailingZeros64(marksFrom(&g.plain, i-g.from))
}

// field reads one field of the records that stand at the places at, and moves those behind the values. It returns
// how many records fitted, from the first one on.
func (d *jsonDecoder) field(p unsafe.Pointer, f *guess, at []int) (n int) {
	g := &d.together
	if len(f.glue) == 0 {
		return 0
	}
	if n = f.pass(p, at, len(d.s)); n == 0 {
		return 0
	}
	at = at[:n]
	c := f.col
	switch f.read {
	case asNothing:
		return d.passes(p, at)
	case asLong:
		n = readWhole(d, p, at, c, c.i64)
	case asInt:
		n = readWhole(d, p, at, c, c.i32)
	case asDouble:
		n = d.doubles(p, at, c)
	case asText:
		n = d.texts(p, at, c)
	case asBool:
		n = d.bools(p, at, c)
	case asTime:
		if c.t.Kind == types.Timestamp && d.r.tsFormat == nil {
			n = d.times(p, at, c)
			break
		}
		fallthrough
	default:
		for r, i := range at {
			if at[r] = d.other(c, r, i); at[r] < 0 {
				return r
			}
		}
		return n
	}
	c.fill(d.row, n, &g.nulls)
	if g.holds {
		g.nulls, g.holds = [mostGroup / 64]uint64{}, false
	}
	return n
}

// pass moves the places behind the text before the values as far as it is there.
func (f *guess) pass(p unsafe.Pointer, at []int, end int) int {
	w0, m0, w1, m1, n := f.word[0], f.mask[0], f.word[1], f.mask[1], len(f.glue)
	if n > 16 {
		for r, i := range at {
			if (load(p, i)^w0)&m0|(load(p, i+8)^w1)&m1 != 0 || !f.long(p, i, end) {
				return r
			}
			at[r] = i + n
		}
		return len(at)
	}
	for r, i := range at {
		if (load(p, i)^w0)&m0|(load(p, i+8)^w1)&m1 != 0 {
			return r
		}
		at[r] = i + n
	}
	return len(at)
}

// other reads a value that is not written in the common form into row d.row+r of c, or passes over it if c is nil. It
// returns the place behind it, -1 if it does not fit.
func (d *jsonDecoder) other(c *column, r, i int) int {
	if d.plainly != nil {
		return d.plainOther(c, d.row+r, i)
	}
	d.i, d.deep, d.fail = i, 0, nil
	v := fits
	if c == nil {
		v = d.skip()
	} else {
		v = d.value(c, d.row+r)
	}
	if v != fits {
		return -1
	}
	return d.i
}

// otherOf is other for a column whose rows are filled together: it notes the nulls.
func (d *jsonDecoder) otherOf(c *column, r, i int) int {
	i = d.other(c, r, i)
	if row := d.row + r; i >= 0 && c.valid[row>>6]>>(uint(row)&63)&1 == 0 {
		d.together.nulls[r>>6] |= 1 << (r & 63)
		d.together.holds = true
	}
	return i
}

// passes passes over values that nobody asks for.
func (d *jsonDecoder) passes(p unsafe.Pointer, at []int) int {
	switch b := *(*byte)(unsafe.Add(p, at[0])); {
	case b == '"':
		g := &d.together
		for r, i := range at {
			j := g.textEnd(i + 1)
			if *(*byte)(unsafe.Add(p, i)) == '"' && *(*byte)(unsafe.Add(p, j)) == '"' {
				at[r] = j + 1
			} else if at[r] = d.passOther(p, i); at[r] < 0 {
				return r
			}
		}
	case b-'0' <= 9:
		for r, i := range at {
			x := load(p, i) ^ zeros
			n := bits.TrailingZeros64(notDigits(x)) >> 3
			if n == 0 || n > 7 || byte(x) == 0 && n > 1 {
				if at[r] = d.passOther(p, i); at[r] < 0 {
					return r
				}
				continue
			}
			i += n
			if *(*byte)(unsafe.Add(p, i)) == '.' {
				n = bits.TrailingZeros64(notDigits(load(p, i+1)^zeros)) >> 3
				if n == 0 || n > 7 {
					if at[r] = d.passOther(p, at[r]); at[r] < 0 {
						return r
					}
					continue
				}
				i += n + 1
			}
			if !behind(*(*byte)(unsafe.Add(p, i))) {
				if at[r] = d.passOther(p, at[r]); at[r] < 0 {
					return r
				}
				continue
			}
			at[r] = i
		}
	default:
		for r, i := range at {
			x := load(p, i)
			t, f := count(uint32(x) == wordTrue), count(x&0xff_ffff_ffff == wordFalse)
			if t|f == 0 {
				if at[r] = d.passOther(p, i); at[r] < 0 {
					return r
				}
				continue
			}
			at[r] = i + 5 - t
		}
	}
	return len(at)
}

func (d *jsonDecoder) passOther(p unsafe.Pointer, i int) int {
	if j := passValue(p, i, load(p, i)); j > 0 {
		return j
	}
	return d.other(nil, 0, i)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readWhole reads integers.
func readWhole[T int32 | int64](d *jsonDecoder, p unsafe.Pointer, at []int, c *column, out []T) int {
	out = out[d.row:][:len(at)]
	for r, i := range at {
		x := load(p, i) ^ zeros
		n := bits.TrailingZeros64(notDigits(x)) >> 3
		if n == 0 || n > 7 || byte(x) == 0 && n > 1 {
			// Longer ones, up to 16 digits.
			v, n := uint64(0), 0
			if byte(x) != 0 {
				v, n = digitsAt(p, i)
			}
			if n == 0 || n > 16 || int64(T(v)) != int64(v) {
				if at[r] = d.otherOf(c, r, i); at[r] < 0 {
					return r
				}
				continue
			}
			out[r], at[r] = T(v), i+n
			continue
		}
		out[r] = T(eightDigits(x << (uint(64-8*n) & 63)))
		at[r] = i + n
	}
	return len(at)
}

// doubles reads numbers as DOUBLE.
func (d *jsonDecoder) doubles(p unsafe.Pointer, at []int, c *column) int {
	out := c.f64[d.row:][:len(at)]
	for r, i := range at {
		// Of up to eight bytes the point is taken out: what is left are the digits of a whole number.
		x := load(p, i) ^ zeros
		m := notDigits(x)
		n := bits.TrailingZeros64(m) >> 3 // digits before the point
		if n != 0 && n < 7 && (byte(x) != 0 || n == 1) && byte(x>>(8*uint(n)&63)) == '.'^'0' {
			keep := uint64(1)<<(8*uint(n)&63) - 1
			x = x&keep | x>>8&^keep
			all := bits.TrailingZeros64(notDigits(x)|1<<63) >> 3
			if all < 7 && all > n && behind(byte(x>>(8*uint(all)&63))^'0') {
				out[r] = float64(eightDigits(x<<(uint(64-8*all)&63))) / pow10f[all-n]
				at[r] = i + all + 1
				continue
			}
		}
		f, j := doubleAt(p, i)
		if j == 0 {
			if at[r] = d.otherOf(c, r, i); at[r] < 0 {
				return r
			}
			continue
		}
		out[r], at[r] = f, j
	}
	return len(at)
}

// doubleAt reads a number of up to 15 digits and gives the place behind it; 0 if it is written otherwise.
func doubleAt(p unsafe.Pointer, i int) (f float64, end int) {
	negative := *(*byte)(unsafe.Add(p, i)) == '-'
	if negative {
		i++
	}
	u, n := digitsAt(p, i)
	if n == 0 || n > 15 || n > 1 && *(*byte)(unsafe.Add(p, i)) == '0' {
		return 0, 0
	}
	f = float64(u)
	i += n
	if *(*byte)(unsafe.Add(p, i)) == '.' {
		w, m := digitsAt(p, i+1)
		if m == 0 || n+m > 15 {
			return 0, 0
		}
		f = float64(u*uint64(pow10i[m])+w) / pow10f[m]
		i += 1 + m
	}
	if !behind(*(*byte)(unsafe.Add(p, i))) {
		return 0, 0
	}
	if negative {
		f = -f
	}
	return f, i
}

// texts reads texts.
func (d *jsonDecoder) texts(p unsafe.Pointer, at []int, c *column) int {
	g := &d.together
	c.begin(d.row)
	c.data = slices.Grow(c.data, 16*len(at)+16)
	off := c.off[d.row+1:][:len(at)]
	data, used := unsafe.Pointer(unsafe.SliceData(c.data)), len(c.data)
	for r, i := range at {
		end := g.textEnd(i + 1)
		n := end - i - 1
		if n <= 16 && *(*byte)(unsafe.Add(p, i)) == '"' && *(*byte)(unsafe.Add(p, end)) == '"' {
			x, y := load(p, i+1), load(p, i+9)
			store(data, used, x)
			store(data, used+8, y)
			used += n
			off[r] = int32(used)
			at[r] = end + 1
			continue
		}
		c.data, c.filled = c.data[:used], d.row+r
		if at[r] = d.otherOf(c, r, i); at[r] < 0 {
			return r
		}
		c.begin(d.row + r + 1) // of a null
		c.data = slices.Grow(c.data, 16*(len(at)-r))
		data, used = unsafe.Pointer(unsafe.SliceData(c.data)), len(c.data)
	}
	c.data, c.filled = c.data[:used], d.row+len(at)
	return len(at)
}

// bools reads true and false, which come in any order, without a branch for either.
func (d *jsonDecoder) bools(p unsafe.Pointer, at []int, c *column) int {
	for r, i := range at {
		x := load(p, i)
		t, f := count(uint32(x) == wordTrue), count(x&0xff_ffff_ffff == wordFalse)
		row := uint(d.row + r)
		if t|f == 0 {
			if at[r] = d.otherOf(c, r, i); at[r] < 0 {
				return r
			}
			continue
		}
		w := &c.bits[row>>6]
		*w = *w&^(1<<(row&63)) | uint64(t)<<(row&63)
		at[r] = i + 5 - t
	}
	return len(at)
}

// times reads timestamps in the form yyyy-MM-ddTHH:mm:ss, perhaps with a fraction of up to six digits and a Z. Days
// are those of the record before as a rule.
func (d *jsonDecoder) times(p unsafe.Pointer, at []int, c *column) int {
	g := &d.together
	out := c.i64[d.row:][:len(at)]
	const (
		days   = 0xffffff                   // of the second word: the last of the date
		marks  = 0xff<<40 | days            // and the colon
		colon  = ':'<<40 ^ zeros&(0xff<<40) // of a word ^ zeros
		digits = 0xffff<<48 | 0xffff<<24    // hours and minutes
	)
	for r, i := range at {
		x, y, z := load(p, i+1), load(p, i+9), load(p, i+17)
		t := (y ^ zeros) & digits
		s := (z ^ zeros) & 0xffff00
		ok := x == g.date[0] && y&days == g.date[1] && byte(z) == ':' && y>>40&0xff == ':' && notDigits(t)|notDigits(s) == 0 &&
			*(*byte)(unsafe.Add(p, i)) == '"'
		t, s = t*10+t>>8, s*10+s>>8
		hh, mm, ss := t>>24&0xff, t>>48&0xff, s>>8&0xff
		j := i + 20
		us := uint64(0)
		if z>>24&0xff == '.' {
			w := load(p, i+21) ^ zeros
			n := bits.TrailingZeros64(notDigits(w)) >> 3
			ok = ok && n > 0 && n <= 6
			us = eightDigits(w<<(uint(64-8*n)&63)) * micros[n&7]
			j = i + 21 + n
		}
		zulu := *(*byte)(unsafe.Add(p, j)) == 'Z'
		if zulu {
			j++
		}
		if !ok || !zulu && d.plainly != nil || hh > 23 || mm > 59 || ss > 59 || *(*byte)(unsafe.Add(p, j)) != '"' {
			if at[r] = d.otherOf(c, r, i); at[r] < 0 {
				return r
			}
			if plainEnd(p, i+1) >= i+20 { // it may be the first one of a day
				if t, ok := timestampParts(d.s[i+1 : i+20]); ok && t.hasDate && !t.hasZone {
					g.date, g.dayFrom = [2]uint64{x, y & days}, t.days*day
				}
			}
			continue
		}
		v := g.dayFrom + int64(hh)*hour + int64(mm)*minute + int64(ss)*second + int64(us)
		if !zulu {
			v = d.clock.Instant(v)
		}
		out[r], at[r] = v, j+1
	}
	return len(at)
}

// micros is what a digit behind so many others of a second's fraction is worth, in microseconds.
var micros = [8]uint64{1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1, 0}

// fill marks n rows from row on, without the nulls.
func (c *column) fill(row, n int, nulls *[mostGroup / 64]uint64) {
	for k := 0; k < n; k += 64 {
		set := ^nulls[k>>6]
		if n-k < 64 {
			set &= 1<<(n-k) - 1
		}
		at := uint(row+k) & 63
		w := (row + k) >> 6
		c.valid[w] |= set << at
		if high := set >> (63 - at) >> 1; high != 0 {
			c.valid[w+1] |= high
		}
	}
}

// cut takes back rows from row to end, which were written by number.
func (c *column) cut(row, end int) {
	switch {
	case row == end:
	case c.phys == columnar.PBytes:
		if c.filled > row {
			c.filled, c.data = row, c.data[:c.off[row]]
		}
	case len(c.kids) > 0:
		for r := end - 1; r >= row; r-- {
			c.forget(r)
		}
		return
	}
	for r := row; r < end; r++ {
		c.setNull(r)
	}
}
