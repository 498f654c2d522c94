package expr

import (
	"streamlab/columnar"
)

// Appender builds a vector of any type value by value. It is for nested and rare values: kernels over plain
// types write their slices themselves.
type Appender struct {
	v    *columnar.Vec
	n    int
	kids []*Appender
	null bool
}

// NewAppender makes v, whose type is set, an empty vector that grows. Finish ends it.
func NewAppender(v *columnar.Vec) *Appender {
	a := &Appender{v: v}
	v.Const, v.Len, v.Valid = false, 0, nil
	v.Phys = columnar.PhysicalOf(v.Type)
	switch v.Phys {
	case columnar.PBool:
		v.Bits = v.Bits[:0]
	case columnar.PI8:
		v.I8 = v.I8[:0]
	case columnar.PI16:
		v.I16 = v.I16[:0]
	case columnar.PI32:
		v.I32 = v.I32[:0]
	case columnar.PI64:
		v.I64 = v.I64[:0]
	case columnar.PF32:
		v.F32 = v.F32[:0]
	case columnar.PF64:
		v.F64 = v.F64[:0]
	case columnar.PDec:
		v.Dec = v.Dec[:0]
	case columnar.PBytes:
		v.Off, v.Data = append(v.Off[:0], 0), v.Data[:0]
	case columnar.PList, columnar.PMap:
		v.Reset(v.Type, 0)
		v.Off = append(v.Off[:0], 0)
	case columnar.PStruct:
		v.Reset(v.Type, 0)
	}
	switch v.Phys {
	case columnar.PList, columnar.PMap, columnar.PStruct:
		for _, k := range v.Kids {
			a.kids = append(a.kids, NewAppender(k))
		}
	}
	return a
}

// Len is the number of values so far.
func (a *Appender) Len() int { return a.n }

func (a *Appender) mark(valid bool) {
	if !valid && !a.null {
		a.null = true
		a.v.Valid = make([]uint64, columnar.Words(a.n+1))
		for i := range a.v.Valid {
			a.v.Valid[i] = ^uint64(0)
		}
	}
	if a.null {
		if w := columnar.Words(a.n + 1); w > len(a.v.Valid) {
			a.v.Valid = append(a.v.Valid, 0)
		}
		if valid {
			columnar.SetBit(a.v.Valid, a.n)
		} else {
			columnar.ClearBit(a.v.Valid, a.n)
		}
	}
	a.n++
}

// AppendNull adds a null.
func (a *Appender) AppendNull() {
	v := a.v
	switch v.Phys {
	case columnar.PBool:
		if columnar.Words(a.n+1) > len(v.Bits) {
			v.Bits = append(v.Bits, 0)
		}
	case columnar.PI8:
		v.I8 = append(v.I8, 0)
	case columnar.PI16:
		v.I16 = append(v.I16, 0)
	case columnar.PI32:
		v.I32 = append(v.I32, 0)
	case columnar.PI64:
		v.I64 = append(v.I64, 0)
	case columnar.PF32:
		v.F32 = append(v.F32, 0)
	case columnar.PF64:
		v.F64 = append(v.F64, 0)
	case columnar.PDec:
		v.Dec = append(v.Dec, decZero)
	case columnar.PBytes:
		v.Off = append(v.Off, int32(len(v.Data)))
	case columnar.PList, columnar.PMap:
		v.Off = append(v.Off, int32(a.kids[0].n))
	case columnar.PStruct:
		for _, k := range a.kids {
			k.AppendNull()
		}
	}
	a.mark(false)
}

// Append adds row i of src, which is of the same type.
func (a *Appender) Append(src *columnar.Vec, i int) {
	if src.IsNull(i) {
		a.AppendNull()
		return
	}
	i = src.Row(i)
	v := a.v
	switch v.Phys {
	case columnar.PBool:
		if columnar.Words(a.n+1) > len(v.Bits) {
			v.Bits = append(v.Bits, 0)
		}
		if src.Bool(i) {
			columnar.SetBit(v.Bits, a.n)
		}
	case columnar.PI8:
		v.I8 = append(v.I8, src.I8[i])
	case columnar.PI16:
		v.I16 = append(v.I16, src.I16[i])
	case columnar.PI32:
		v.I32 = append(v.I32, src.I32[i])
	case columnar.PI64:
		v.I64 = append(v.I64, src.I64[i])
	case columnar.PF32:
		v.F32 = append(v.F32, src.F32[i])
	case columnar.PF64:
		v.F64 = append(v.F64, src.F64[i])
	case columnar.PDec:
		v.Dec = append(v.Dec, src.Dec[i])
	case columnar.PBytes:
		v.Data = append(v.Data, src.Data[src.Off[i]:src.Off[i+1]]...)
		v.Off = append(v.Off, int32(len(v.Data)))
	case columnar.PList, columnar.PMap:
		for j := src.Off[i]; j < src.Off[i+1]; j++ {
			for c, k := range a.kids {
				k.Append(src.Kids[c], int(j))
			}
		}
		v.Off = append(v.Off, int32(a.kids[0].n))
	case columnar.PStruct:
		for c, k := range a.kids {
			k.Append(src.Kids[c], i)
		}
	}
	a.mark(true)
}

// AppendBytes adds a STRING or BINARY value.
func (a *Appender) AppendBytes(b []byte) {
	a.v.Data = append(a.v.Data, b...)
	a.v.Off = append(a.v.Off, int32(len(a.v.Data)))
	a.mark(true)
}

// AppendI64 adds a value of a 64-bit type.
func (a *Appender) AppendI64(x int64) {
	a.v.I64 = append(a.v.I64, x)
	a.mark(true)
}

// AppendI32 adds a value of a 32-bit type.
func (a *Appender) AppendI32(x int32) {
	a.v.I32 = append(a.v.I32, x)
	a.mark(true)
}

// AppendF64 adds a DOUBLE.
func (a *Appender) AppendF64(x float64) {
	a.v.F64 = append(a.v.F64, x)
	a.mark(true)
}

// Kid is the appender of child c: elements of a list, keys and values of a map, fields of a struct. After
// the children have got their values, End ends the list, map or struct.
func (a *Appender) Kid(c int) *Appender { return a.kids[c] }

// End adds the list, map or struct whose parts were appended to the kids since the last value.
func (a *Appender) End() {
	if a.v.Phys != columnar.PStruct {
		a.v.Off = append(a.v.Off, int32(a.kids[0].n))
	}
	a.mark(true)
}

// Finish sets the lengths; the vector may then be read.
func (a *Appender) Finish() {
	a.v.Len = a.n
	for _, k := range a.kids {
		k.Finish()
	}
}

// AppendBoolean adds a BOOLEAN.
func (a *Appender) AppendBoolean(b bool) { a.appendBool(b) }
