package codec

import (
	"encoding/binary"
	"math/bits"

	"streamlab/errs"
)

// A hybrid reads numbers of a few bits each, as Parquet keeps levels and the numbers of dictionary values: runs of
// one number, and runs of numbers packed bit by bit.
type hybrid struct {
	in    []byte // with pagePad bytes behind them
	size  int    // of in, without the bytes behind
	at    int
	width int

	repeated int    // numbers left of a run of value
	value    uint32 // may be too great for its width
	packed   int    // numbers left of a run that is packed
	bit      int    // where the next one begins
}

// pagePad is how many bytes can be read behind those of a page.
const pagePad = 16

var errLevels = errs.New("PARQUET_CORRUPT", "reason", "levels or numbers of values end before their page")

// begin starts with the first size bytes of in.
func (h *hybrid) begin(in []byte, size, width int) {
	*h = hybrid{in: in, size: size, width: width}
}

// run reads the head of the next run.
func (h *hybrid) run() error {
	for {
		head, n := binary.Uvarint(h.in[h.at:h.size])
		if n <= 0 || head >= 1<<32 {
			return errLevels
		}
		h.at += n
		if head&1 == 0 {
			bytes := (h.width + 7) / 8
			if h.at+bytes > h.size {
				return errLevels
			}
			h.value = 0
			for i := range bytes {
				h.value |= uint32(h.in[h.at+i]) << (8 * i)
			}
			h.at += bytes
			h.repeated = int(head >> 1)
		} else {
			h.packed, h.bit = int(head>>1)*8, 8*h.at
			bytes := int(head>>1) * h.width
			if left := h.size - h.at; bytes > left { // some writers leave out what nobody needs
				bytes = left
				if h.width > 0 {
					h.packed = 8 * left / h.width
				}
			}
			h.at += bytes
		}
		if h.repeated > 0 || h.packed > 0 {
			return nil
		}
	}
}

// same reports that the next n numbers are a run of v, and passes over them if so.
func (h *hybrid) same(v uint32, n int) bool {
	if h.repeated == 0 && h.packed == 0 && h.run() != nil {
		return false // the error comes again when the numbers are read
	}
	if h.repeated < n || h.value != v {
		return false
	}
	h.repeated -= n
	return true
}

// read fills dst with the next numbers. Error: PARQUET_CORRUPT.
func (h *hybrid) read(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case h.repeated > 0:
			n := min(h.repeated, len(dst))
			v := h.value
			for i := range dst[:n] {
				dst[i] = v
			}
			h.repeated -= n
			dst = dst[n:]
		case h.packed > 0:
			n := min(h.packed, len(dst))
			unpack(dst[:n], h.in, h.bit, h.width)
			h.packed -= n
			h.bit += n * h.width
			dst = dst[n:]
		default:
			if err := h.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip passes over n numbers. Error: PARQUET_CORRUPT.
func (h *hybrid) skip(n int) error {
	for n > 0 {
		switch {
		case h.repeated > 0:
			k := min(h.repeated, n)
			h.repeated -= k
			n -= k
		case h.packed > 0:
			k := min(h.packed, n)
			h.packed -= k
			h.bit += k * h.width
			n -= k
		default:
			if err := h.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpack reads numbers of width bits, up to 32, from a bit of in on. in has eight bytes behind the last one.
func unpack(dst []uint32, in []byte, bit, width int) {
	mask := uint64(1)<<width - 1
	if width <= 8 && bit&7 == 0 { // eight numbers lie in one word
		at := bit >> 3
		for ; len(dst) >= 8; dst = dst[8:] {
			x := binary.LittleEndian.Uint64(in[at:])
			d := (*[8]uint32)(dst)
			d[0] = uint32(x & mask)
			d[1] = uint32(x >> width & mask)
			d[2] = uint32(x >> (2 * width) & mask)
			d[3] = uint32(x >> (3 * width) & mask)
			d[4] = uint32(x >> (4 * width) & mask)
			d[5] = uint32(x >> (5 * width) & mask)
			d[6] = uint32(x >> (6 * width) & mask)
			d[7] = uint32(x >> (7 * width) & mask)
			at += width
		}
		bit = 8 * at
	}
	for i := range dst {
		dst[i] = uint32(binary.LittleEndian.Uint64(in[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
}

// packHigh makes a run of what old writers packed from the highest bit of a byte down, n numbers of width bits.
// The second result is how many bytes they were.
func packHigh(in []byte, n, width int) ([]byte, int, error) {
	size := (n*width + 7) / 8
	if size > len(in) {
		return nil, 0, errLevels
	}
	out := binary.AppendUvarint(nil, uint64((n+7)/8)<<1|1)
	head := len(out)
	out = append(out, make([]byte, (n+7)/8*width+pagePad)...)
	for i := range n * width { // bit by bit: such files are old and few
		k, in8 := i%width, in[i>>3]
		if in8>>(7-i&7)&1 == 1 {
			to := i - k + width - 1 - k
			out[head+to>>3] |= 1 << (to & 7)
		}
	}
	return out, size, nil
}

// bitsFor is how many bits levels up to most need.
func bitsFor(most int16) int { return bits.Len16(uint16(most)) }
