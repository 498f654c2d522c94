package codec

import "unsafe"

// Marks are a bit for each byte of a text, found for 64 bytes at once: where texts and lines can end. Behind a place
// the next one is then found by counting zeros instead of looking at bytes.
const (
	markBlock = 64  // bytes
	mostMarks = 512 // words of marks, a power of two
)

// marksPlain fills the words of plain and of lines for so many blocks of 64 bytes from p on: plain has the bytes that
// cannot stand in a text as they are, quotes, backslashes, control characters, and those that are not ASCII; lines has
// the line feeds.
func marksPlain(p unsafe.Pointer, blocks int, plain, lines *[mostMarks]uint64) {
	const sevens = ^uint64(highs)
	zero := func(x uint64) uint64 { return ^((x&sevens + sevens) | x) & highs } // exact for each byte
	for b := range blocks {
		var m, l uint64
		for k := range 8 {
			x := load(p, b*markBlock+8*k)
			bad := zero(x^ones*'"') | zero(x^ones*'\\') | ^(x&(ones*0x60)+sevens)&highs | x&highs
			m |= gather(bad) << (8 * k)
			l |= gather(zero(x^ones*'\n')) << (8 * k)
		}
		plain[b&(mostMarks-1)], lines[b&(mostMarks-1)] = m, l
	}
}

// gather puts the high bits of eight bytes side by side, the first one lowest.
func gather(x uint64) uint64 { return x >> 7 * 0x0102040810204080 >> 56 }

// marksFrom is the marks of 64 bytes from byte i on. The word behind those that are looked at must be set.
func marksFrom(marks *[mostMarks]uint64, i int) uint64 {
	w, sh := uint(i)>>6, uint(i)&63
	return marks[w%mostMarks]>>sh | marks[(w+1)%mostMarks]<<1<<(63-sh)
}
