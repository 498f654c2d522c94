package codec

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasAVX2 = cpu.X86.HasAVX2

// marksAVX2 is marksPlain of one block or more for cores that have AVX2; blocks is how many there are.
//
//go:noescape
func marksAVX2(p *byte, blocks int, plain, lines *uint64)

func marks(p unsafe.Pointer, blocks int, plain, lines *[mostMarks]uint64) {
	if hasAVX2 && blocks > 0 {
		marksAVX2((*byte)(p), blocks, &plain[0], &lines[0])
		return
	}
	marksPlain(p, blocks, plain, lines)
}
