// Package columnar holds rows as columns: vectors and selections for kernels, Arrow record batches for
// everything that passes between operators, and flat records for keyed state.
//
// A Vec is one column of a slice of rows, seen without interfaces, so that a kernel is a plain loop over a
// plain Go slice. A Sel says which rows of the vectors count; filters shrink the Sel and copy nothing.
// Vectors made from Arrow share its memory and must not be written to; vectors made by kernels belong to
// the worker that made them and are valid until its next evaluation.
package columnar

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/sql/types"
)

// Physical is how the values of a vector lie in memory.
type Physical uint8

// The physical kinds and the fields of Vec that hold their values.
const (
	PNull   Physical = iota // no values at all: every row is null (Valid is not looked at)
	PBool                   // Bits
	PI8                     // I8
	PI16                    // I16
	PI32                    // I32: INT, DATE, YEAR-MONTH intervals
	PI64                    // I64: BIGINT, TIMESTAMP, TIMESTAMP_NTZ, TIME, DAY-TIME intervals
	PF32                    // F32
	PF64                    // F64
	PDec                    // Dec: DECIMAL of every precision, unscaled
	PBytes                  // Off, Data: STRING, BINARY, VARIANT
	PList                   // Off, Kids[0]
	PMap                    // Off, Kids[0] keys, Kids[1] values
	PStruct                 // Kids; CalendarInterval is a struct of months I32, days I32, micros I64
)

// PhysicalOf says how values of a type lie in memory.
func PhysicalOf(t types.DataType) Physical {
	switch t.Kind {
	case types.Null:
		return PNull
	case types.Boolean:
		return PBool
	case types.TinyInt:
		return PI8
	case types.SmallInt:
		return PI16
	case types.Int, types.Date, types.YearMonth:
		return PI32
	case types.BigInt, types.Timestamp, types.TimestampNTZ, types.Time, types.DayTime:
		return PI64
	case types.Float:
		return PF32
	case types.Double:
		return PF64
	case types.Decimal:
		return PDec
	case types.String, types.Binary, types.Variant:
		return PBytes
	case types.Array:
		return PList
	case types.Map:
		return PMap
	default:
		return PStruct
	}
}

// Vec is a column of Len rows. Exactly the value slices that Phys names are set, each of at least Len
// entries (Off: Len+1; bitmaps: (Len+63)/64 words, bit i of word i/64 is row i, bits beyond Len undefined).
//
// A Const vector has Len 1 and stands for any number of rows: its row 0 is the value of every row.
// Values under a null are defined (zero where kernels made them) but mean nothing.
type Vec struct {
	Type  types.DataType
	Phys  Physical
	Const bool
	Len   int
	Valid []uint64 // nil: no nulls

	Bits []uint64
	I8   []int8
	I16  []int16
	I32  []int32
	I64  []int64
	F32  []float32
	F64  []float64
	Dec  []decimal128.Num
	Off  []int32 // lists and bytes: row i is [Off[i], Off[i+1]); need not start at 0
	Data []byte
	Kids []*Vec // children are addressed by position in Off for lists and maps, by row for structs

	// Coded may be set beside Off and Data by whoever read the values out of a dictionary; see Codes.
	Coded *Coded
}

// IsNull reports whether row i is null. Not for inner loops.
func (v *Vec) IsNull(i int) bool {
	if v.Phys == PNull {
		return true
	}
	if v.Const {
		i = 0
	}
	return v.Valid != nil && v.Valid[i>>6]>>(uint(i)&63)&1 == 0
}

// Bool is the value of row i of a PBool vector.
func (v *Vec) Bool(i int) bool {
	if v.Const {
		i = 0
	}
	return v.Bits[i>>6]>>(uint(i)&63)&1 != 0
}

// Bytes is the value of row i of a PBytes vector; it aliases Data.
func (v *Vec) Bytes(i int) []byte {
	if v.Const {
		i = 0
	}
	return v.Data[v.Off[i]:v.Off[i+1]:v.Off[i+1]]
}

// Row maps a row number to a position: 0 for constants.
func (v *Vec) Row(i int) int {
	if v.Const {
		return 0
	}
	return i
}

// HasNulls reports whether any of the rows is null; it looks at words, not rows.
func (v *Vec) HasNulls() bool {
	if v.Phys == PNull {
		return true
	}
	if v.Valid == nil {
		return false
	}
	n := v.Len
	for i := 0; i < n>>6; i++ {
		if v.Valid[i] != ^uint64(0) {
			return true
		}
	}
	if r := uint(n) & 63; r != 0 {
		m := uint64(1)<<r - 1
		return v.Valid[n>>6]&m != m
	}
	return false
}

// Words is the length of a bitmap over n rows.
func Words(n int) int { return (n + 63) >> 6 }

// SetBit sets bit i.
func SetBit(b []uint64, i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// ClearBit clears bit i.
func ClearBit(b []uint64, i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// GetBit reads bit i.
func GetBit(b []uint64, i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }

// Sel is the rows that count, in ascending order. All means rows 0..N-1 and Idx is not looked at;
// otherwise they are Idx[:N].
type Sel struct {
	Idx []int32
	N   int
	All bool
}

// AllRows selects rows 0..n-1.
func AllRows(n int) Sel { return Sel{N: n, All: true} }

// At is the k-th selected row. Not for inner loops: branch on All once and range over Idx.
func (s Sel) At(k int) int {
	if s.All {
		return k
	}
	return int(s.Idx[k])
}
