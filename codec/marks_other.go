//go:build !amd64

package codec

import "unsafe"

func marks(p unsafe.Pointer, blocks int, plain, lines *[mostMarks]uint64) {
	marksPlain(p, blocks, plain, lines)
}
