package columnar

import (
	"encoding/binary"
	"sync"
)

// A Dictionary numbers the texts of a column of which many are the same, so that whoever works with them can work
// with small numbers. It numbers the texts of a vector when somebody asks for them, see Vec.Codes, and gives up when
// they turn out to be mostly different. The zero value is an empty one. Safe for concurrent use.
type Dictionary struct {
	mu      sync.Mutex
	id      uint64
	numbers map[string]uint32
	bound   int // a power of two that is not less than the values
	rows    int // that were numbered since the first value
	off     bool
	recent  *[recentTexts]recentText
}

// mostValues is how many values a dictionary has. One that is full begins anew if each of them came often, on average,
// and else gives up.
const (
	mostValues  = 4096
	timesOften  = 64
	leastBound  = 16
	recentTexts = 256
)

// recentText is a text by its ends with its number: most texts that repeat are found without hashing.
type recentText struct {
	lo, hi uint64 // of up to sixteen bytes all of it, of more the first and the last eight
	size   uint32 // and one; 0: none
	number uint32
	text   string // if it is longer than sixteen bytes
}

// Code lets the dictionary number the texts of v for whoever asks. v is of bytes and without nulls, else nothing
// happens; its offsets and texts must not change as long as v or a part of it is in use. c is where the numbers will
// be: nobody may use it any more for another vector.
func (d *Dictionary) Code(v *Vec, c *Coded) {
	v.Coded = nil
	if v.Phys != PBytes || v.Const || v.Valid != nil || v.Len == 0 || len(v.Off) <= v.Len {
		return
	}
	*c = Coded{Off: v.Off[:v.Len+1], Codes: c.Codes[:0], by: d, data: v.Data}
	v.Coded = c
}

// number makes the codes.
func (c *Coded) number() {
	d := c.by
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(c.Off) - 1
	if cap(c.Codes) < n {
		c.Codes = make([]uint32, n)
	}
	codes := c.Codes[:n]
	if !d.fill(codes, c.Off, c.data) {
		if d.off || d.rows < mostValues*timesOften {
			d.off, d.numbers, d.recent = true, nil, nil
			c.Codes = nil
			return
		}
		d.forget()
		if !d.fill(codes, c.Off, c.data) {
			d.off = true
			c.Codes = nil
			return
		}
	}
	c.Codes, c.Values, c.Dictionary = codes, d.bound, d.id
}

func (d *Dictionary) forget() {
	d.id, d.numbers, d.bound, d.rows, d.recent = NextDictionary(), map[string]uint32{}, leastBound, 0, new([recentTexts]recentText)
}

// fill numbers texts; false if there are too many.
func (d *Dictionary) fill(codes []uint32, off []int32, data []byte) bool {
	if d.off {
		return false
	}
	if d.numbers == nil {
		d.forget()
	}
	from, recent := off[0], d.recent
	for i, to := range off[1:] {
		n := uint32(to - from)
		lo, hi := ends(data, int(from), int(n))
		at := &recent[((lo^hi*mulEnds)*mulEnds+uint64(n))*mulEnds>>56]
		if at.lo == lo && at.hi == hi && at.size == n+1 && (n <= 16 || at.text == string(data[from:to])) {
			codes[i] = at.number
			from = to
			continue
		}
		text := data[from:to]
		number, ok := d.numbers[string(text)]
		if !ok {
			if len(d.numbers) == mostValues {
				return false
			}
			number = uint32(len(d.numbers))
			d.numbers[string(text)] = number
			if len(d.numbers) > d.bound {
				d.bound *= 2
			}
		}
		*at = recentText{lo: lo, hi: hi, size: n + 1, number: number}
		if n > 16 {
			at.text = string(text)
		}
		codes[i] = number
		from = to
	}
	d.rows += len(codes)
	return true
}

const mulEnds = 0x9e3779b97f4a7c15

// endMasks are of the two words of a text of up to sixteen bytes.
var endMasks = func() (m [17][2]uint64) {
	for n := range m {
		m[n] = [2]uint64{1<<(8*uint(min(n, 8))) - 1, 1<<(8*uint(max(n, 8)-8)) - 1}
	}
	return m
}()

// ends are the bytes of a text of n bytes as two numbers, if there are up to sixteen, or else its first and last eight.
func ends(b []byte, from, n int) (lo, hi uint64) {
	le := binary.LittleEndian
	switch {
	case n > 16:
		return le.Uint64(b[from:]), le.Uint64(b[from+n-8:])
	case from+16 <= len(b):
		p, m := b[from:from+16:from+16], &endMasks[n]
		return le.Uint64(p) & m[0], le.Uint64(p[8:]) & m[1]
	}
	var t [16]byte
	copy(t[:], b[from:from+n])
	return le.Uint64(t[:]), le.Uint64(t[8:])
}
