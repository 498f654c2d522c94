package exec

import (
	"encoding/binary"
	"math"

	"streamlab/columnar"
)

// A value of a state key is encoded so that the order of the bytes is the order of the values, and so that a
// key is the encodings of its columns one behind the other: the encoding of the first columns is a prefix of
// that of all. Nulls come first, NaN last, as Spark sorts them.
//
//	u8 0 a null, else 1 and then
//	whole numbers, times, dates: big endian, the sign bit turned, in their own width
//	float, double: big endian, all bits turned of negative ones, else the sign bit; zeros alike, NaNs alike
//	boolean: u8; decimal: 16 bytes big endian, the sign bit turned
//	string, binary: the bytes, each 0 as 0 255, then 0 0
//	struct: its fields; array and map: per element 1 and the element (key, then value), then 0

const keyEnd = 0

// AppendKey appends the encoding of row i of a vector.
func AppendKey(b []byte, v *columnar.Vec, i int) []byte {
	if v.IsNull(i) {
		return append(b, 0)
	}
	return appendKeyValue(append(b, 1), v, v.Row(i))
}

func appendKeyValue(b []byte, v *columnar.Vec, i int) []byte {
	switch v.Phys {
	case columnar.PBool:
		if v.Bool(i) {
			return append(b, 1)
		}
		return append(b, 0)
	case columnar.PI8:
		return append(b, uint8(v.I8[i])^1<<7)
	case columnar.PI16:
		return binary.BigEndian.AppendUint16(b, uint16(v.I16[i])^1<<15)
	case columnar.PI32:
		return binary.BigEndian.AppendUint32(b, uint32(v.I32[i])^1<<31)
	case columnar.PI64:
		return binary.BigEndian.AppendUint64(b, uint64(v.I64[i])^1<<63)
	case columnar.PF32:
		x := v.F32[i]
		if x != x {
			return append(b, 255, 255, 255, 255)
		}
		if x == 0 {
			x = 0
		}
		n := math.Float32bits(x)
		if n>>31 != 0 {
			n = ^n
		} else {
			n |= 1 << 31
		}
		return binary.BigEndian.AppendUint32(b, n)
	case columnar.PF64:
		x := v.F64[i]
		if x != x {
			return append(b, 255, 255, 255, 255, 255, 255, 255, 255)
		}
		n := math.Float64bits(x)
		if x == 0 {
			n = 0
		}
		if n>>63 != 0 {
			n = ^n
		} else {
			n |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(b, n)
	case columnar.PDec:
		d := v.Dec[i]
		b = binary.BigEndian.AppendUint64(b, uint64(d.HighBits())^1<<63)
		return binary.BigEndian.AppendUint64(b, d.LowBits())
	case columnar.PBytes:
		for _, c := range v.Bytes(i) {
			if b = append(b, c); c == 0 {
				b = append(b, 255)
			}
		}
		return append(b, 0, keyEnd)
	case columnar.PList, columnar.PMap:
		for j := int(v.Off[i]); j < int(v.Off[i+1]); j++ {
			b = append(b, 1)
			for _, k := range v.Kids {
				b = AppendKey(b, k, j)
			}
		}
		return append(b, keyEnd)
	case columnar.PStruct:
		for _, k := range v.Kids {
			b = AppendKey(b, k, i)
		}
	}
	return b
}

// rowSize is what the values of a row take as plain bytes: their width, and of texts and lists 4 bytes for
// the length.
func rowSize(vs []columnar.Vec, i int) (n int) {
	for k := range vs {
		n += valueSize(&vs[k], i)
	}
	return n
}

func valueSize(v *columnar.Vec, i int) int {
	if v.IsNull(i) {
		return 1
	}
	i = v.Row(i)
	switch v.Phys {
	case columnar.PBool, columnar.PI8:
		return 1
	case columnar.PI16:
		return 2
	case columnar.PI32, columnar.PF32:
		return 4
	case columnar.PI64, columnar.PF64:
		return 8
	case columnar.PDec:
		return 16
	case columnar.PBytes:
		return 4 + len(v.Bytes(i))
	case columnar.PList, columnar.PMap:
		n := 4
		for j := int(v.Off[i]); j < int(v.Off[i+1]); j++ {
			for _, k := range v.Kids {
				n += valueSize(k, j)
			}
		}
		return n
	}
	n := 0
	for _, k := range v.Kids {
		n += valueSize(k, i)
	}
	return n
}
