package exec

import (
	"encoding/binary"
	"math"
)

// A column of words in a segment is packed to the width that its values need: counts, ids and flags of
// neighbouring groups are alike, and most of what a state writes is these. That is worth more than it costs, as
// every byte is written several times over: to the log, to a table, to its compaction.
//
//	u8 width: bytes of each value; columnConst, or columnPlain
//	u64 least value, as a signed number; missing with columnPlain
//	the differences to it, width bytes each; nothing with columnConst
const (
	columnConst = 0 // all values are the least one
	columnPlain = 8
)

// packColumn appends a column to b.
func packColumn(b []byte, vs []uint64) []byte {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range vs {
		least, most = min(least, int64(v)), max(most, int64(v))
	}
	if len(vs) == 0 {
		least, most = 0, 0
	}
	base := uint64(least)
	width := columnPlain
	switch span := uint64(most) - base; {
	case span == 0:
		width = columnConst
	case span < 1<<8:
		width = 1
	case span < 1<<16:
		width = 2
	case span < 1<<32:
		width = 4
	}
	b = append(b, byte(width))
	if width != columnPlain {
		b = binary.LittleEndian.AppendUint64(b, base)
	}
	at := len(b)
	need := at + width*len(vs)
	if cap(b) < need {
		b = append(b, make([]byte, need-at)...)
	} else {
		b = b[:need]
	}
	out := b[at:]
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
	case columnPlain:
		for i, v := range vs {
			binary.LittleEndian.PutUint64(out[i*8:], v)
		}
	}
	return b
}

// unpackColumn fills vs from the column at the head of b and gives what follows it; ok is false if b is too
// short or no column. A column that is not packed is plain words.
func unpackColumn(vs []uint64, b []byte, packed bool) (rest []byte, ok bool) {
	width, base := columnPlain, uint64(0)
	if packed {
		if len(b) == 0 {
			return nil, false
		}
		width = int(b[0])
		if b = b[1:]; width != columnPlain {
			if len(b) < 8 {
				return nil, false
			}
			base, b = binary.LittleEndian.Uint64(b), b[8:]
		}
	}
	if len(b) < width*len(vs) {
		return nil, false
	}
	in := b[:width*len(vs)]
	switch width {
	case columnConst:
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
	case columnPlain:
		for i := range vs {
			vs[i] = binary.LittleEndian.Uint64(in[i*8:])
		}
	default:
		return nil, false
	}
	return b[width*len(vs):], true
}
