package exec

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// rowsBuffer collects rows of chunks as vectors of its own.
type rowsBuffer struct {
	schema types.Schema
	cols   []*columnar.Vec
	n      int
}

func newRowsBuffer(s types.Schema) *rowsBuffer {
	b := &rowsBuffer{schema: s, cols: make([]*columnar.Vec, len(s))}
	for i, f := range s {
		b.cols[i] = columnar.NewVec(f.Type, 0)
	}
	return b
}

func (b *rowsBuffer) add(vs []columnar.Vec, sel columnar.Sel) {
	for i := range b.cols {
		appendVec(b.cols[i], &vs[i], sel)
	}
	b.n += sel.N
}

// reserve makes room for n rows in the columns of fixed width of an empty buffer.
func (b *rowsBuffer) reserve(n int) {
	for _, c := range b.cols {
		reserveVec(c, n)
	}
}

func reserveVec(v *columnar.Vec, n int) {
	switch v.Phys {
	case columnar.PI32:
		v.I32 = slices.Grow(v.I32, max(0, n-len(v.I32)))
	case columnar.PI64:
		v.I64 = slices.Grow(v.I64, max(0, n-len(v.I64)))
	case columnar.PF64:
		v.F64 = slices.Grow(v.F64, max(0, n-len(v.F64)))
	case columnar.PBytes:
		v.Off = slices.Grow(v.Off, max(0, n+1-len(v.Off)))
	case columnar.PStruct:
		for _, k := range v.Kids {
			reserveVec(k, n)
		}
	}
}

// clear begins anew in the same memory: for a buffer whose rows have been copied on. Columns that are far too
// big for the rows that were there are given back.
func (b *rowsBuffer) clear() {
	for i, f := range b.schema {
		if b.n < fewRows && roomy(b.cols[i]) {
			b.cols[i] = columnar.NewVec(f.Type, 0)
		} else {
			b.cols[i].Reset(f.Type, 0)
		}
	}
	b.n = 0
}

// roomy says that a vector could hold many more rows, or bytes, than fewRows.
func roomy(v *columnar.Vec) bool {
	const many = 4 * fewRows
	return cap(v.I64) > many || cap(v.I32) > many || cap(v.F64) > many || cap(v.Dec) > many || cap(v.Off) > many ||
		cap(v.Data) > many*shortBytes || cap(v.I16)+cap(v.I8)+cap(v.F32) > many || slices.ContainsFunc(v.Kids, roomy)
}

// vecs are the rows collected so far, sharing the buffer.
func (b *rowsBuffer) vecs() []columnar.Vec {
	out := make([]columnar.Vec, len(b.cols))
	for i, c := range b.cols {
		out[i] = *c
	}
	return out
}

// record hands the rows over as a record batch and begins anew.
func (b *rowsBuffer) record(s *arrow.Schema) arrow.RecordBatch {
	rb := columnar.Record(s, b.cols, columnar.AllRows(b.n))
	for i, f := range b.schema {
		b.cols[i] = columnar.NewVec(f.Type, 0)
	}
	b.n = 0
	return rb
}

// appendVec appends the selected rows of src to dst, which owns its memory. Types are equal, except that
// src may be all null.
func appendVec(dst, src *columnar.Vec, sel columnar.Sel) {
	n, m := dst.Len, sel.N
	if m == 0 {
		return
	}
	appendValid(dst, src, sel)
	dst.Len = n + m
	if src.Phys == columnar.PNull {
		appendZero(dst, n, m)
		return
	}
	switch dst.Phys {
	case columnar.PBool:
		dst.Bits = growBits(dst.Bits, n+m)
		for k := range m {
			i := src.Row(sel.At(k))
			dst.Bits[(n+k)>>6] |= (src.Bits[i>>6] >> (uint(i) & 63) & 1) << (uint(n+k) & 63)
		}
	case columnar.PI8:
		dst.I8 = appendVals(dst.I8, src.I8, src.Const, sel)
	case columnar.PI16:
		dst.I16 = appendVals(dst.I16, src.I16, src.Const, sel)
	case columnar.PI32:
		dst.I32 = appendVals(dst.I32, src.I32, src.Const, sel)
	case columnar.PI64:
		dst.I64 = appendVals(dst.I64, src.I64, src.Const, sel)
	case columnar.PF32:
		dst.F32 = appendVals(dst.F32, src.F32, src.Const, sel)
	case columnar.PF64:
		dst.F64 = appendVals(dst.F64, src.F64, src.Const, sel)
	case columnar.PDec:
		dst.Dec = appendVals(dst.Dec, src.Dec, src.Const, sel)
	case columnar.PBytes:
		at := dst.Off[n]
		if sel.All && !src.Const {
			lo, hi := src.Off[0], src.Off[m]
			dst.Data = grow(dst.Data, int(at+hi-lo))
			copy(dst.Data[at:], src.Data[lo:hi])
			dst.Off = grow(dst.Off, n+1+m)
			for k, o := range src.Off[1 : m+1] {
				dst.Off[n+1+k] = at + o - lo
			}
			return
		}
		dst.Off = grow(dst.Off, n+1+m)
		off := dst.Off[n+1:]
		sum := at
		for k := range off {
			i := src.Row(sel.At(k))
			sum += src.Off[i+1] - src.Off[i]
			off[k] = sum
		}
		dst.Data = grow(dst.Data, int(sum))
		for k, end := range off {
			i := src.Row(sel.At(k))
			copy(dst.Data[at:end], src.Data[src.Off[i]:src.Off[i+1]])
			at = end
		}
	case columnar.PList, columnar.PMap:
		var idx []int32
		at := dst.Off[n]
		for k := range m {
			i := src.Row(sel.At(k))
			for j := src.Off[i]; j < src.Off[i+1]; j++ {
				idx = append(idx, j)
			}
			at += src.Off[i+1] - src.Off[i]
			dst.Off = append(dst.Off, at)
		}
		inner := columnar.Sel{Idx: idx, N: len(idx)}
		for c := range dst.Kids {
			appendVec(dst.Kids[c], src.Kids[c], inner)
		}
	case columnar.PStruct:
		inner := sel
		if src.Const {
			inner = columnar.Sel{Idx: make([]int32, m), N: m}
		}
		for c := range dst.Kids {
			appendVec(dst.Kids[c], src.Kids[c], inner)
		}
	}
}

func appendVals[T any](dst, src []T, constant bool, sel columnar.Sel) []T {
	switch {
	case constant:
		v := src[0]
		for range sel.N {
			dst = append(dst, v)
		}
	case sel.All:
		dst = append(dst, src[:sel.N]...)
	default:
		n := len(dst)
		dst = grow(dst, n+sel.N)
		out := dst[n:]
		idx := sel.Idx[:len(out)]
		for k, i := range idx {
			out[k] = src[i]
		}
	}
	return dst
}

// grow gives s length n, doubling its room; new values are undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	t := make([]T, n, max(n, 2*cap(s)))
	copy(t, s)
	return t
}

// growBits gives a bitmap room for n bits; bits that were not there before are zero.
func growBits(b []uint64, n int) []uint64 {
	for len(b) < columnar.Words(n) {
		b = append(b, 0)
	}
	return b
}

func appendValid(dst, src *columnar.Vec, sel columnar.Sel) {
	n, m := dst.Len, sel.N
	if dst.Phys == columnar.PNull {
		return
	}
	if src.Phys != columnar.PNull && src.Valid == nil {
		if dst.Valid != nil {
			dst.Valid = growBits(dst.Valid, n+m)
			for k := n; k < n+m; k++ {
				columnar.SetBit(dst.Valid, k)
			}
		}
		return
	}
	if dst.Valid == nil {
		dst.Valid = growBits(make([]uint64, 0, columnar.Words(n+m)), n+m)
		for k := range n {
			columnar.SetBit(dst.Valid, k)
		}
	} else {
		dst.Valid = growBits(dst.Valid, n+m)
	}
	if src.Phys == columnar.PNull {
		return
	}
	for k := range m {
		i := src.Row(sel.At(k))
		dst.Valid[(n+k)>>6] |= (src.Valid[i>>6] >> (uint(i) & 63) & 1) << (uint(n+k) & 63)
	}
}

// appendZero gives dst values under m nulls that follow n rows.
func appendZero(dst *columnar.Vec, n, m int) {
	switch dst.Phys {
	case columnar.PBool:
		dst.Bits = growBits(dst.Bits, n+m)
	case columnar.PI8:
		dst.I8 = append(dst.I8, make([]int8, m)...)
	case columnar.PI16:
		dst.I16 = append(dst.I16, make([]int16, m)...)
	case columnar.PI32:
		dst.I32 = append(dst.I32, make([]int32, m)...)
	case columnar.PI64:
		dst.I64 = append(dst.I64, make([]int64, m)...)
	case columnar.PF32:
		dst.F32 = append(dst.F32, make([]float32, m)...)
	case columnar.PF64:
		dst.F64 = append(dst.F64, make([]float64, m)...)
	case columnar.PDec:
		for range m {
			dst.Dec = append(dst.Dec, decZero)
		}
	case columnar.PBytes, columnar.PList, columnar.PMap:
		for range m {
			dst.Off = append(dst.Off, dst.Off[n])
		}
	case columnar.PStruct:
		null := columnar.Vec{Phys: columnar.PNull, Len: m}
		for _, k := range dst.Kids {
			appendVec(k, &null, columnar.AllRows(m))
		}
	}
}

// nullVec is a vector of n nulls of type t.
func nullVec(t types.DataType, n int) *columnar.Vec {
	v := columnar.NewVec(t, 0)
	null := columnar.Vec{Phys: columnar.PNull, Len: n}
	appendVec(v, &null, columnar.AllRows(n))
	return v
}
