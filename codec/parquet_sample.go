package codec

import (
	"hash/maphash"
	"math"

	"streamlab/columnar"
)

const (
	sampleRows = 2048
	sampleMin  = 256 // fewer values say nothing
)

// varied reports that most of a column's first values are different from each other: a dictionary of them
// would cost more than it saves. at are rows of the vector, negative ones nothing.
func varied(v *columnar.Vec, at []int32) bool {
	switch v.Phys {
	case columnar.PI32:
		return mostlyDistinct(at, func(k int32) uint64 { return uint64(v.I32[k]) })
	case columnar.PI64:
		return mostlyDistinct(at, func(k int32) uint64 { return uint64(v.I64[k]) })
	case columnar.PF32:
		return mostlyDistinct(at, func(k int32) uint64 { return uint64(math.Float32bits(v.F32[k])) })
	case columnar.PF64:
		return mostlyDistinct(at, func(k int32) uint64 { return math.Float64bits(v.F64[k]) })
	case columnar.PDec:
		return mostlyDistinct(at, func(k int32) uint64 { return v.Dec[k].LowBits() })
	case columnar.PBytes:
		return mostlyDistinct(at, func(k int32) uint64 { return maphash.Bytes(sampleSeed, v.Bytes(int(k))) })
	}
	return false
}

var sampleSeed = maphash.MakeSeed() // two texts with one hash make the estimate hardly worse

func mostlyDistinct(at []int32, value func(int32) uint64) bool {
	const slots = 2 * sampleRows // a power of two
	var table [slots]uint64
	var used [slots / 64]uint64
	n, distinct := 0, 0
	for _, k := range at {
		if k < 0 || n == sampleRows {
			continue
		}
		n++
		x := value(k)
		h := x * 0x9e3779b97f4a7c15 >> 32 % slots
		for used[h/64]>>(h%64)&1 == 1 && table[h] != x {
			h = (h + 1) % slots
		}
		if used[h/64]>>(h%64)&1 == 0 {
			used[h/64] |= 1 << (h % 64)
			table[h] = x
			distinct++
		}
	}
	return n >= sampleMin && distinct > n/2
}
