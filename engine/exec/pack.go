package exec

import (
	"encoding/binary"
	"math"
)

// A column of words in a segment is packed to the width that its values need: counts, ids, times and flags of
// neighbouring groups are alike, and most of what a state writes is these. That is worth more than it costs, as
// every byte is written several times over: to the log, to a table, to its compaction.
//
//	u8: width in bytes of what is written of each value, 0, 1, 2, 4 or 8, and flags
//	columnSteps: u64 the first value; the others are steps from one to the next
//	u64 the least value or step, as a signed number; missing with width 8
//	columnScaled: u64 a common divisor of the differences to the least one
//	the differences, divided
//
// Values of width 8 are themselves, and there are no flags.
const (
	columnSteps  = 1 << 4
	columnScaled = 1 << 5
)

// widthOf is the number of bytes for numbers up to span.
func widthOf(span uint64) int {
	switch {
	case span == 0:
		return 0
	case span < 1<<8:
		return 1
	case span < 1<<16:
		return 2
	case span < 1<<32:
		return 4
	}
	return 8
}

// packColumn appends a column to b. It uses vs up.
func packColumn(b []byte, vs []uint64) []byte {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	down, up := int64(math.MaxInt64), int64(math.MinInt64) // of the steps
	var last uint64
	for i, v := range vs {
		least, most = min(least, int64(v)), max(most, int64(v))
		if step := int64(v - last); i > 0 {
			down, up = min(down, step), max(up, step)
		}
		last = v
	}
	if len(vs) == 0 {
		least, most = 0, 0
	}
	base, span := uint64(least), uint64(most)-uint64(least)
	width, flags := widthOf(span), byte(0)
	if steps := uint64(up) - uint64(down); len(vs) > 8 && width > 0 && widthOf(steps) < width {
		// A step may wrap, and so may their span: what matters is that adding them up gives the values again.
		b = append(b, 0)
		at := len(b) - 1
		b = binary.LittleEndian.AppendUint64(b, vs[0])
		for i := len(vs) - 1; i > 0; i-- {
			vs[i] -= vs[i-1]
		}
		vs, base, width, flags = vs[1:], uint64(down), widthOf(steps), columnSteps
		return packDifferences(b, at, vs, base, steps, width, flags)
	}
	b = append(b, 0)
	return packDifferences(b, len(b)-1, vs, base, span, width, flags)
}

// packDifferences appends values as their differences to base, none of which is over span, and sets the byte at.
func packDifferences(b []byte, at int, vs []uint64, base, span uint64, width int, flags byte) []byte {
	scale := uint64(1)
	if width > 1 && width < 8 {
		scale = divisor(vs, base)
		if w := widthOf(span / scale); (width-w)*len(vs) > 8 {
			width, flags = w, flags|columnScaled
		} else {
			scale = 1
		}
	}
	b[at] = byte(width) | flags
	if width != 8 {
		b = binary.LittleEndian.AppendUint64(b, base)
	} else {
		base = 0
	}
	if scale > 1 {
		b = binary.LittleEndian.AppendUint64(b, scale)
		for i, v := range vs {
			vs[i] = (v - base) / scale
		}
		base = 0
	}
	from := len(b)
	need := from + width*len(vs)
	if cap(b) < need {
		b = append(b, make([]byte, need-from)...)
	} else {
		b = b[:need]
	}
	out := b[from:]
	switch width {
	case 1:
		for i, v := range vs {
			out[i] = byte(v - base)
		}
	case 2:
		for i, v := range vs {
			binary.LittleEndian.PutUint16(out[i*2:], uint16(v-base))
		}
	case 4:
		for i, v := range vs {
			binary.LittleEndian.PutUint32(out[i*4:], uint32(v-base))
		}
	case 8:
		for i, v := range vs {
			binary.LittleEndian.PutUint64(out[i*8:], v)
		}
	}
	return b
}

// divisor is the greatest common divisor of the differences to base; 1 if they are all 0.
func divisor(vs []uint64, base uint64) uint64 {
	g := uint64(0)
	for _, v := range vs {
		for x := v - base; x != 0; {
			g, x = x, g%x
		}
		if g == 1 {
			return 1
		}
	}
	return max(g, 1)
}

// unpackColumn fills vs from the column at the head of b and gives what follows it; ok is false if b is too
// short or no column. A column that is not packed is plain words.
func unpackColumn(vs []uint64, b []byte, packed bool) (rest []byte, ok bool) {
	head := byte(8)
	if packed {
		if len(b) == 0 {
			return nil, false
		}
		head, b = b[0], b[1:]
	}
	word := func() (v uint64) {
		if ok = len(b) >= 8; ok {
			v, b = binary.LittleEndian.Uint64(b), b[8:]
		}
		return v
	}
	ok = true
	width, base, scale := int(head&0xf), uint64(0), uint64(1)
	if head == 8 {
		return unpackWidth(vs, b, width, 0)
	}
	steps := head&columnSteps != 0
	if steps {
		if len(vs) == 0 {
			return nil, false
		}
		if vs[0] = word(); !ok {
			return nil, false
		}
	}
	if base = word(); !ok {
		return nil, false
	}
	if head&columnScaled != 0 {
		if scale = word(); !ok {
			return nil, false
		}
	}
	to := vs
	if steps {
		to = vs[1:]
	}
	if scale == 1 {
		b, ok = unpackWidth(to, b, width, base)
	} else if b, ok = unpackWidth(to, b, width, 0); ok {
		for i := range to {
			to[i] = base + to[i]*scale
		}
	}
	if ok && steps {
		for i := 1; i < len(vs); i++ {
			vs[i] += vs[i-1]
		}
	}
	return b, ok
}

// unpackWidth fills vs with numbers of a width, each added to base.
func unpackWidth(vs []uint64, b []byte, width int, base uint64) (rest []byte, ok bool) {
	if len(b) < width*len(vs) {
		return nil, false
	}
	in := b[:width*len(vs)]
	switch width {
	case 0:
		for i := range vs {
			vs[i] = base
		}
	case 1:
		for i, d := range in {
			vs[i] = base + uint64(d)
		}
	case 2:
		for i := range vs {
			vs[i] = base + uint64(binary.LittleEndian.Uint16(in[i*2:]))
		}
	case 4:
		for i := range vs {
			vs[i] = base + uint64(binary.LittleEndian.Uint32(in[i*4:]))
		}
	case 8:
		for i := range vs {
			vs[i] = base + binary.LittleEndian.Uint64(in[i*8:])
		}
	default:
		return nil, false
	}
	return b[width*len(vs):], true
}
