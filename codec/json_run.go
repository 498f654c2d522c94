package codec

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Most records of a file are written alike. Where that is so a record is read by comparing the text between the
// values with what stood there before, and the values in their common form, eight bytes at a time. Whatever
// is different is left to the code that knows all of JSON, from there on.
//
// Words are loaded without looking at the end of the block: it has pad zeros behind it. What a word is loaded
// at always follows bytes that were matched, none of which is zero, so that it lies in the block or at its end.
const pad = 2 * glueBytes

// Run reads records from s[at:] on as long as they are objects that fit and end with their line, without looking
// for the ends of the lines before: nothing that it accepts can hold a line end. It stops before a record that
// begins at until or behind it, and when there are rows rows. It returns where the next record begins, which
// says nothing about that record: Record has to read it. s must have pad zeros behind its end.
func (d *jsonDecoder) Run(s []byte, at, until, rows int) int {
	o := &d.r.json
	if o.comments || o.controlChars || o.anyEscape {
		return at
	}
	d.s, d.padded = s, true
	p := unsafe.Pointer(unsafe.SliceData(s))
	for at < until && d.row < rows && d.misses <= maxMisses && *(*byte)(unsafe.Add(p, at)) == '{' {
		if next := d.group(at, until, rows); next > at {
			at = next
			continue
		}
		d.room()
		d.i, d.fail, d.deep, d.crossed = at+1, nil, 0, false
		v := d.object(d.plan, d.cols, d.row)
		next := d.i
		if v == fits && !d.crossed && next < len(s) {
			if s[next] == '\r' && next+1 < len(s) {
				next++
			}
			if s[next] == '\n' {
				d.misses = 0
				d.row++
				at = next + 1
				continue
			}
		}
		d.misses++
		for _, c := range d.cols {
			c.forget(d.row)
		}
		break
	}
	d.padded = false
	return at
}

// maxMisses is after how many records in a row Run gives up: of a file that is written otherwise each record
// would be read twice.
const maxMisses = 16

func load(p unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

// notDigits marks the high bit of bytes that are no digits, of x ^ zeros; bytes above the first such one may be
// marked wrongly.
func notDigits(x uint64) uint64 { return (x + ones*0x76 | x) & highs }

const zeros = ones * '0'

// eightDigits is the number that eight digits are, the first in the lowest byte, each as 0 to 9.
func eightDigits(x uint64) uint64 {
	const mask = 0x000000FF000000FF
	x = x*10 + x>>8
	return (x&mask*(100+1000000<<32) + x>>16&mask*(1+10000<<32)) >> 32
}

// notPlain marks the bytes that are quotes, backslashes, control characters or not ASCII; bytes above the first
// such one may be marked wrongly.
func notPlain(x uint64) uint64 {
	q := x ^ ones*'"'
	b := x ^ ones*'\\'
	return ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x | x) & highs
}

// plainEnd finds the first byte from i on that is not plain.
func plainEnd(p unsafe.Pointer, i int) int {
	for {
		if m := notPlain(load(p, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
}

// digitsAt reads up to 16 digits at i and says how many there are; more than 16 are 17.
func digitsAt(p unsafe.Pointer, i int) (v uint64, n int) {
	x := load(p, i) ^ zeros
	m := notDigits(x)
	if m != 0 {
		n = bits.TrailingZeros64(m) >> 3
		return eightDigits(x << (uint(64-8*n) & 63)), n // of no digits anything
	}
	v = eightDigits(x)
	x = load(p, i+8) ^ zeros
	if m = notDigits(x); m == 0 {
		if load(p, i+16)&0xff-'0' <= 9 {
			return 0, 17
		}
		return v*1e8 + eightDigits(x), 16
	}
	n = bits.TrailingZeros64(m) >> 3
	if n == 0 {
		return v, 8
	}
	return v*uint64(pow10i[n]) + eightDigits(x<<(uint(64-8*n)&63)), 8 + n
}

// behind says whether the byte ends a number or word in the common way.
func behind(b byte) bool { return b == ',' || b == '}' }

// steps reads the fields of an object as long as they come as they did in the records before. It returns the number
// k of fields that were read, with d.i where the last of them ends. A value that does not fit has v say so.
func (d *jsonDecoder) steps(plan *objectPlan, r int) (k int, v verdict) {
	p := unsafe.Pointer(unsafe.SliceData(d.s))
	i := d.i
	for guesses := plan.guess; k < len(guesses); k++ {
		g := &guesses[k]
		if (load(p, i)^g.word[0])&g.mask[0]|(load(p, i+8)^g.word[1])&g.mask[1] != 0 {
			break
		}
		if n := len(g.glue); n > 16 {
			if !g.long(p, i, len(d.s)) {
				break
			}
		} else if n == 0 {
			break
		}
		i += len(g.glue)
		x := load(p, i)
		c := g.col
		switch g.read {
		case asNothing:
			if j := passValue(p, i, x); j > 0 {
				i = j
				continue
			}
		case asText:
			if byte(x) != '"' {
				break
			}
			j := plainEnd(p, i+1)
			if *(*byte)(unsafe.Add(p, j)) != '"' {
				break
			}
			n := j - i - 1
			if free := cap(c.data) - len(c.data); c.filled != r || n > 16 || free < 16 {
				c.setBytes(r, unsafe.Slice((*byte)(unsafe.Add(p, i+1)), n))
				i = j + 1
				continue
			}
			to := unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.data)), len(c.data))
			store(to, 0, load(p, i+1))
			store(to, 8, load(p, i+9))
			c.data = c.data[:len(c.data)+n]
			c.filled = r + 1
			c.off[c.filled] = int32(len(c.data))
			c.set(r)
			i = j + 1
			continue
		case asLong, asInt:
			j := i
			if byte(x) == '-' {
				j++
			}
			u, n := digitsAt(p, j)
			end := j + n
			if n == 0 || n > 16 || n > 1 && *(*byte)(unsafe.Add(p, j)) == '0' || !behind(*(*byte)(unsafe.Add(p, end))) {
				break
			}
			m := int64(u)
			if j > i {
				m = -m
			}
			if g.read == asLong {
				c.i64[r] = m
			} else if m == int64(int32(m)) {
				c.i32[r] = int32(m)
			} else {
				break
			}
			c.set(r)
			i = end
			continue
		case asDouble:
			j := i
			if byte(x) == '-' {
				j++
			}
			u, n := digitsAt(p, j)
			end := j + n
			if n == 0 || n > 15 || n > 1 && *(*byte)(unsafe.Add(p, j)) == '0' {
				break
			}
			f := float64(u)
			if *(*byte)(unsafe.Add(p, end)) == '.' {
				w, m := digitsAt(p, end+1)
				if m == 0 || n+m > 15 {
					break
				}
				f = float64(u*uint64(pow10i[m])+w) / pow10f[m]
				end += 1 + m
			}
			if !behind(*(*byte)(unsafe.Add(p, end))) {
				break
			}
			if j > i {
				f = -f
			}
			c.f64[r] = f
			c.set(r)
			i = end
			continue
		case asTime:
			if byte(x) != '"' {
				break
			}
			j := plainEnd(p, i+1)
			if *(*byte)(unsafe.Add(p, j)) != '"' || !d.setDatetime(c, r, d.s[i+1:j]) {
				break
			}
			i = j + 1
			continue
		case asBool:
			if uint32(x) == wordTrue && behind(byte(x>>32)) {
				c.setBool(r, true)
				i += 4
				continue
			}
			if x&0xff_ffff_ffff == wordFalse && behind(byte(x>>40)) {
				c.setBool(r, false)
				i += 5
				continue
			}
		}
		d.i = i
		if c == nil {
			v = d.skip()
		} else {
			v = d.value(c, r)
		}
		if i = d.i; v != fits {
			return k + 1, v
		}
	}
	d.i = i
	return k, fits
}

const (
	wordTrue  = 't' | 'r'<<8 | 'u'<<16 | 'e'<<24
	wordFalse = 'f' | 'a'<<8 | 'l'<<16 | 's'<<24 | 'e'<<32
	wordNull  = 'n' | 'u'<<8 | 'l'<<16 | 'l'<<24
)

// long compares the rest of a glue of more than 16 bytes with the text at i.
func (g *guess) long(p unsafe.Pointer, i, end int) bool {
	if (load(p, i+16)^g.word[2])&g.mask[2]|(load(p, i+24)^g.word[3])&g.mask[3] != 0 {
		return false
	}
	n := len(g.glue)
	return n <= glueBytes || end-i >= n &&
		string(unsafe.Slice((*byte)(unsafe.Add(p, i+glueBytes)), n-glueBytes)) == string(g.glue[glueBytes:])
}

// passValue passes over a value in the common form, of which x is the first word; 0 if it is of another form.
func passValue(p unsafe.Pointer, i int, x uint64) int {
	switch b := byte(x); {
	case b == '"':
		if j := plainEnd(p, i+1); *(*byte)(unsafe.Add(p, j)) == '"' {
			return j + 1
		}
	case uint32(x) == wordTrue || uint32(x) == wordNull:
		if behind(byte(x >> 32)) {
			return i + 4
		}
	case x&0xff_ffff_ffff == wordFalse:
		if behind(byte(x >> 40)) {
			return i + 5
		}
	case b-'0' <= 9 || b == '-':
		if b == '-' {
			i++
		}
		j := passDigits(p, i)
		if j == i || j > i+1 && *(*byte)(unsafe.Add(p, i)) == '0' {
			return 0
		}
		if *(*byte)(unsafe.Add(p, j)) == '.' {
			k := passDigits(p, j+1)
			if k == j+1 {
				return 0
			}
			j = k
		}
		if behind(*(*byte)(unsafe.Add(p, j))) {
			return j
		}
	}
	return 0
}

func passDigits(p unsafe.Pointer, i int) int {
	for {
		if m := notDigits(load(p, i) ^ zeros); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
}

func store(p unsafe.Pointer, i int, x uint64) {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(p, i))[:], x)
}
