package expr

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
)

// Values in arenas, state rows and keys are bytes: a byte 1 and the value, or a byte 0 for null. Numbers are
// little-endian of their width, bytes and lists follow their length as uvarint, structs are their fields.
// The encoding is prefix-free and does not keep order.

// EncodeValue appends row i of v.
func EncodeValue(dst []byte, v *columnar.Vec, i int) []byte { return encodeValue(dst, v, i, false) }

// EncodeKey is EncodeValue for keys: values that are equal in SQL have equal bytes (-0.0 becomes 0.0, all
// NaN are one).
func EncodeKey(dst []byte, v *columnar.Vec, i int) []byte { return encodeValue(dst, v, i, true) }

// EncodeRow appends row i of every vector.
func EncodeRow(dst []byte, vs []*columnar.Vec, i int) []byte {
	for _, v := range vs {
		dst = encodeValue(dst, v, i, false)
	}
	return dst
}

// EncodeKeyRow appends row i of every vector as key.
func EncodeKeyRow(dst []byte, vs []*columnar.Vec, i int) []byte {
	for _, v := range vs {
		dst = encodeValue(dst, v, i, true)
	}
	return dst
}

func encodeValue(dst []byte, v *columnar.Vec, i int, key bool) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	i = v.Row(i)
	dst = append(dst, 1)
	switch v.Phys {
	case columnar.PBool:
		if v.Bool(i) {
			return append(dst, 1)
		}
		return append(dst, 0)
	case columnar.PI8:
		return append(dst, byte(v.I8[i]))
	case columnar.PI16:
		return binary.LittleEndian.AppendUint16(dst, uint16(v.I16[i]))
	case columnar.PI32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.I32[i]))
	case columnar.PI64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.I64[i]))
	case columnar.PF32:
		f := v.F32[i]
		if key {
			f = float32(canonical(float64(f)))
		}
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	case columnar.PF64:
		f := v.F64[i]
		if key {
			f = canonical(f)
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	case columnar.PDec:
		dst = binary.LittleEndian.AppendUint64(dst, v.Dec[i].LowBits())
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Dec[i].HighBits()))
	case columnar.PBytes:
		b := v.Data[v.Off[i]:v.Off[i+1]]
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		return append(dst, b...)
	case columnar.PList, columnar.PMap:
		dst = binary.AppendUvarint(dst, uint64(v.Off[i+1]-v.Off[i]))
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			for _, k := range v.Kids {
				dst = encodeValue(dst, k, int(j), key)
			}
		}
	case columnar.PStruct:
		for _, k := range v.Kids {
			dst = encodeValue(dst, k, i, key)
		}
	}
	return dst
}

// canonical is the one form of zero and NaN.
func canonical(f float64) float64 {
	if f == 0 {
		return 0
	}
	if f != f {
		return math.NaN()
	}
	return f
}

func truncated() error {
	return errs.New("INTERNAL_ERROR", "message", "encoded row is cut short or of another type")
}

// Decode appends one encoded value to the vector that a builds and gives the bytes behind it. Bytes that do not
// hold a value of the type are an error.
func (a *Appender) Decode(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, truncated()
	}
	if b[0] == 0 {
		a.AppendNull()
		return b[1:], nil
	}
	b = b[1:]
	v := a.v
	width := fixedWidth(v.Phys)
	if len(b) < width {
		return nil, truncated()
	}
	switch v.Phys {
	case columnar.PBool:
		if columnar.Words(a.n+1) > len(v.Bits) {
			v.Bits = append(v.Bits, 0)
		}
		if b[0] != 0 {
			columnar.SetBit(v.Bits, a.n)
		}
	case columnar.PI8:
		v.I8 = append(v.I8, int8(b[0]))
	case columnar.PI16:
		v.I16 = append(v.I16, int16(binary.LittleEndian.Uint16(b)))
	case columnar.PI32:
		v.I32 = append(v.I32, int32(binary.LittleEndian.Uint32(b)))
	case columnar.PI64:
		v.I64 = append(v.I64, int64(binary.LittleEndian.Uint64(b)))
	case columnar.PF32:
		v.F32 = append(v.F32, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case columnar.PF64:
		v.F64 = append(v.F64, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case columnar.PDec:
		v.Dec = append(v.Dec, decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)))
	case columnar.PBytes:
		n, k := binary.Uvarint(b)
		if k <= 0 || uint64(len(b)-k) < n {
			return nil, truncated()
		}
		a.AppendBytes(b[k : k+int(n)])
		return b[k+int(n):], nil
	case columnar.PList, columnar.PMap:
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) {
			return nil, truncated()
		}
		b = b[k:]
		for range n {
			for _, kid := range a.kids {
				var err error
				if b, err = kid.Decode(b); err != nil {
					return nil, err
				}
			}
		}
		a.End()
		return b, nil
	case columnar.PStruct:
		for _, kid := range a.kids {
			var err error
			if b, err = kid.Decode(b); err != nil {
				return nil, err
			}
		}
		a.End()
		return b, nil
	}
	a.mark(true)
	return b[width:], nil
}

func fixedWidth(p columnar.Physical) int {
	switch p {
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
	}
	return 0
}

// DecodeRow appends one encoded row, a value to each appender, and gives the bytes behind it.
func DecodeRow(as []*Appender, b []byte) ([]byte, error) {
	for i, a := range as {
		var err error
		if b, err = a.Decode(b); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	return b, nil
}
