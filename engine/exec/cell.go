package exec

import (
	"bytes"
	"encoding/binary"
	"math"
	"sort"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
)

var decZero decimal128.Num

// A cell is one value as bytes: 0 for null, else 1 and the value, numbers little endian, texts and lists
// with their length first. It carries values whose width is not fixed: nested keys and rows in state.
// A normal cell has one NaN, no negative zero, and maps in the order of their keys, so that equal values
// have equal bytes.
func appendCell(b []byte, v *columnar.Vec, i int, normal bool) []byte {
	if v.IsNull(i) {
		return append(b, 0)
	}
	b = append(b, 1)
	i = v.Row(i)
	switch v.Phys {
	case columnar.PBool:
		if v.Bool(i) {
			return append(b, 1)
		}
		return append(b, 0)
	case columnar.PI8:
		return append(b, byte(v.I8[i]))
	case columnar.PI16:
		return binary.LittleEndian.AppendUint16(b, uint16(v.I16[i]))
	case columnar.PI32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.I32[i]))
	case columnar.PI64:
		return binary.LittleEndian.AppendUint64(b, uint64(v.I64[i]))
	case columnar.PF32:
		return binary.LittleEndian.AppendUint32(b, f32bits(v.F32[i], normal))
	case columnar.PF64:
		return binary.LittleEndian.AppendUint64(b, f64bits(v.F64[i], normal))
	case columnar.PDec:
		b = binary.LittleEndian.AppendUint64(b, v.Dec[i].LowBits())
		return binary.LittleEndian.AppendUint64(b, uint64(v.Dec[i].HighBits()))
	case columnar.PBytes:
		s := v.Bytes(i)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		return append(b, s...)
	case columnar.PList:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Off[i+1]-v.Off[i]))
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			b = appendCell(b, v.Kids[0], int(j), normal)
		}
	case columnar.PMap:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Off[i+1]-v.Off[i]))
		start := len(b)
		var cuts []int
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			b = appendCell(b, v.Kids[0], int(j), normal)
			b = appendCell(b, v.Kids[1], int(j), normal)
			cuts = append(cuts, len(b))
		}
		if normal && len(cuts) > 1 {
			entries := make([][]byte, len(cuts))
			from := start
			for k, to := range cuts {
				entries[k] = bytes.Clone(b[from:to])
				from = to
			}
			sort.Slice(entries, func(x, y int) bool { return bytes.Compare(entries[x], entries[y]) < 0 })
			b = append(b[:start], bytes.Join(entries, nil)...)
		}
	case columnar.PStruct:
		for _, k := range v.Kids {
			b = appendCell(b, k, i, normal)
		}
	}
	return b
}

func f32bits(f float32, normal bool) uint32 {
	if normal {
		if f == 0 {
			return 0
		}
		if f != f {
			return 0x7fc00000
		}
	}
	return math.Float32bits(f)
}

func f64bits(f float64, normal bool) uint64 {
	if normal {
		if f == 0 {
			return 0
		}
		if f != f {
			return 0x7ff8000000000000
		}
	}
	return math.Float64bits(f)
}

// readCell appends the value at the head of b to v and returns what follows it.
func readCell(v *columnar.Vec, b []byte) []byte {
	if b[0] == 0 {
		null := columnar.Vec{Phys: columnar.PNull, Len: 1}
		appendVec(v, &null, columnar.AllRows(1))
		return b[1:]
	}
	b = b[1:]
	n := v.Len
	v.Len++
	if v.Valid != nil {
		v.Valid = growBits(v.Valid, n+1)
		columnar.SetBit(v.Valid, n)
	}
	switch v.Phys {
	case columnar.PBool:
		v.Bits = growBits(v.Bits, n+1)
		if b[0] != 0 {
			columnar.SetBit(v.Bits, n)
		}
		return b[1:]
	case columnar.PI8:
		v.I8 = append(v.I8, int8(b[0]))
		return b[1:]
	case columnar.PI16:
		v.I16 = append(v.I16, int16(binary.LittleEndian.Uint16(b)))
		return b[2:]
	case columnar.PI32:
		v.I32 = append(v.I32, int32(binary.LittleEndian.Uint32(b)))
		return b[4:]
	case columnar.PI64:
		v.I64 = append(v.I64, int64(binary.LittleEndian.Uint64(b)))
		return b[8:]
	case columnar.PF32:
		v.F32 = append(v.F32, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		return b[4:]
	case columnar.PF64:
		v.F64 = append(v.F64, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return b[8:]
	case columnar.PDec:
		v.Dec = append(v.Dec, decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)))
		return b[16:]
	case columnar.PBytes:
		m := binary.LittleEndian.Uint32(b)
		v.Data = append(v.Data, b[4:4+m]...)
		v.Off = append(v.Off, int32(len(v.Data)))
		return b[4+m:]
	case columnar.PList, columnar.PMap:
		m := binary.LittleEndian.Uint32(b)
		b = b[4:]
		for range m {
			for _, k := range v.Kids {
				b = readCell(k, b)
			}
		}
		v.Off = append(v.Off, int32(v.Kids[0].Len))
	case columnar.PStruct:
		for _, k := range v.Kids {
			b = readCell(k, b)
		}
	}
	return b
}
