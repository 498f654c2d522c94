package columnar

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"streamlab/sql/types"
)

// FromArrow sees an Arrow array as a vector of type t. Values are shared, bitmaps too where they start at
// a word; the vector lives as long as the array is reachable, which its slices see to.
func FromArrow(a arrow.Array, t types.DataType) *Vec {
	v := new(Vec)
	v.SetArrow(a, t)
	return v
}

// SetArrow is FromArrow into an existing vector, whose bitmap buffers are reused when a copy is needed.
func (v *Vec) SetArrow(a arrow.Array, t types.DataType) {
	d := a.Data()
	n, off := d.Len(), d.Offset()
	*v = Vec{Type: t, Phys: PhysicalOf(t), Len: n}
	if v.Phys == PNull || a.DataType().ID() == arrow.NULL {
		v.Phys = PNull
		return
	}
	bufs := d.Buffers()
	if a.NullN() > 0 && len(bufs) > 0 && bufs[0] != nil {
		v.Valid = words(bufs[0].Bytes(), off, n)
	}
	switch v.Phys {
	case PBool:
		v.Bits = words(bufs[1].Bytes(), off, n)
	case PI8:
		v.I8 = values[int8](bufs[1], off, n)
	case PI16:
		v.I16 = values[int16](bufs[1], off, n)
	case PI32:
		v.I32 = values[int32](bufs[1], off, n)
	case PI64:
		v.I64 = values[int64](bufs[1], off, n)
	case PF32:
		v.F32 = values[float32](bufs[1], off, n)
	case PF64:
		v.F64 = values[float64](bufs[1], off, n)
	case PDec:
		v.Dec = values[decimal128.Num](bufs[1], off, n)
	case PBytes:
		v.Off = offsets(bufs[1], off, n)
		if bufs[2] != nil {
			v.Data = bufs[2].Bytes()
		}
	case PList:
		v.Off = offsets(bufs[1], off, n)
		v.Kids = []*Vec{FromArrow(array.MakeFromData(d.Children()[0]), *t.Elem)}
	case PMap:
		v.Off = offsets(bufs[1], off, n)
		kv := array.MakeFromData(d.Children()[0]).(*array.Struct)
		v.Kids = []*Vec{FromArrow(kv.Field(0), *t.Key), FromArrow(kv.Field(1), *t.Elem)}
	case PStruct:
		s := a.(*array.Struct)
		v.Kids = make([]*Vec, s.NumField())
		for i := range v.Kids {
			v.Kids[i] = FromArrow(s.Field(i), kidType(t, i))
		}
	}
}

func kidType(t types.DataType, i int) types.DataType {
	if t.Kind == types.Calendar {
		if i == 2 {
			return types.Of(types.BigInt)
		}
		return types.Of(types.Int)
	}
	return t.Fields[i].Type
}

func values[T any](b *memory.Buffer, off, n int) []T {
	if b == nil || b.Len() == 0 || n == 0 {
		return make([]T, n)
	}
	var z T
	bs := b.Bytes()
	return unsafe.Slice((*T)(unsafe.Pointer(&bs[0])), len(bs)/int(unsafe.Sizeof(z)))[off : off+n : off+n]
}

func offsets(b *memory.Buffer, off, n int) []int32 {
	if b == nil || b.Len() == 0 {
		return make([]int32, n+1)
	}
	bs := b.Bytes()
	return unsafe.Slice((*int32)(unsafe.Pointer(&bs[0])), len(bs)/4)[off : off+n+1 : off+n+1]
}

// words gives bits [off, off+n) as words. Arrow buffers are padded to 64 bytes by its allocators, but not
// every producer does so; a bitmap that is unaligned or too short is copied.
func words(b []byte, off, n int) []uint64 {
	w := Words(n)
	if n == 0 {
		return nil
	}
	if off&63 == 0 {
		start := off >> 3
		if uintptr(unsafe.Pointer(&b[0]))&7 == 0 && cap(b) >= start+w*8 {
			b = b[:cap(b)]
			return unsafe.Slice((*uint64)(unsafe.Pointer(&b[start])), w)
		}
	}
	out := make([]uint64, w)
	dst := unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), w*8)
	bitutil.CopyBitmap(b, off, n, dst, 0)
	return out
}

// ToArrow makes an Arrow array of the selected rows of v. When the selection is all rows of a vector that
// is not constant the values are shared: the caller must not write to v afterwards.
func ToArrow(v *Vec, sel Sel) arrow.Array {
	if !v.Const && sel.All && sel.N == v.Len {
		return array.MakeFromData(v.data(v.Len))
	}
	g := new(Vec)
	Gather(g, v, sel)
	return array.MakeFromData(g.data(sel.N))
}

func (v *Vec) data(n int) arrow.ArrayData {
	t := v.Type.Arrow()
	if v.Phys == PNull {
		if v.Type.Kind == types.Null {
			return array.NewData(arrow.Null, n, []*memory.Buffer{nil}, nil, n, 0)
		}
		w := NewVec(v.Type, n)
		w.Valid = make([]uint64, Words(n))
		return w.data(n)
	}
	nulls := 0
	var valid *memory.Buffer
	if v.Valid != nil {
		valid = bytesOf(v.Valid)
		nulls = n - bitutil.CountSetBits(valid.Bytes(), 0, n)
		if nulls == 0 {
			valid = nil
		}
	}
	var bufs []*memory.Buffer
	var kids []arrow.ArrayData
	switch v.Phys {
	case PBool:
		bufs = []*memory.Buffer{valid, bytesOf(v.Bits)}
	case PI8:
		bufs = []*memory.Buffer{valid, bytesOf(v.I8[:n])}
	case PI16:
		bufs = []*memory.Buffer{valid, bytesOf(v.I16[:n])}
	case PI32:
		bufs = []*memory.Buffer{valid, bytesOf(v.I32[:n])}
	case PI64:
		bufs = []*memory.Buffer{valid, bytesOf(v.I64[:n])}
	case PF32:
		bufs = []*memory.Buffer{valid, bytesOf(v.F32[:n])}
	case PF64:
		bufs = []*memory.Buffer{valid, bytesOf(v.F64[:n])}
	case PDec:
		bufs = []*memory.Buffer{valid, bytesOf(v.Dec[:n])}
	case PBytes:
		bufs = []*memory.Buffer{valid, bytesOf(v.Off[:n+1]), memory.NewBufferBytes(v.Data)}
	case PList:
		bufs = []*memory.Buffer{valid, bytesOf(v.Off[:n+1])}
		kids = []arrow.ArrayData{v.Kids[0].data(v.Kids[0].Len)}
	case PMap:
		bufs = []*memory.Buffer{valid, bytesOf(v.Off[:n+1])}
		k, e := v.Kids[0].data(v.Kids[0].Len), v.Kids[1].data(v.Kids[1].Len)
		st := t.(*arrow.MapType).Elem()
		kids = []arrow.ArrayData{array.NewData(st, v.Kids[0].Len, []*memory.Buffer{nil}, []arrow.ArrayData{k, e}, 0, 0)}
	case PStruct:
		bufs = []*memory.Buffer{valid}
		for _, k := range v.Kids {
			kids = append(kids, k.data(n))
		}
	default:
		panic(fmt.Sprintf("columnar: no Arrow form of physical kind %d", v.Phys))
	}
	return array.NewData(t, n, bufs, kids, nulls, 0)
}

func bytesOf[T any](s []T) *memory.Buffer {
	if len(s) == 0 {
		return memory.NewBufferBytes(nil)
	}
	var z T
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(z))))
}

// NewVec makes a vector of n rows of zero values without nulls; bytes and lists are empty.
func NewVec(t types.DataType, n int) *Vec {
	v := &Vec{}
	v.Reset(t, n)
	return v
}

// Reset makes v a vector of n rows of type t, reusing its buffers. Values are undefined (bitmaps and
// offsets are zero), Valid is nil.
func (v *Vec) Reset(t types.DataType, n int) {
	v.Type, v.Phys, v.Len, v.Const, v.Valid = t, PhysicalOf(t), n, false, nil
	switch v.Phys {
	case PBool:
		v.Bits = zeroed(v.Bits, Words(n))
	case PI8:
		v.I8 = sized(v.I8, n)
	case PI16:
		v.I16 = sized(v.I16, n)
	case PI32:
		v.I32 = sized(v.I32, n)
	case PI64:
		v.I64 = sized(v.I64, n)
	case PF32:
		v.F32 = sized(v.F32, n)
	case PF64:
		v.F64 = sized(v.F64, n)
	case PDec:
		v.Dec = sized(v.Dec, n)
	case PBytes:
		v.Off, v.Data = zeroed(v.Off, n+1), v.Data[:0]
	case PList, PMap:
		v.Off = zeroed(v.Off, n+1)
		want := []types.DataType{*t.Elem}
		if v.Phys == PMap {
			want = []types.DataType{*t.Key, *t.Elem}
		}
		v.resetKids(want, 0)
	case PStruct:
		if t.Kind == types.Calendar {
			v.resetKids([]types.DataType{types.Of(types.Int), types.Of(types.Int), types.Of(types.BigInt)}, n)
			return
		}
		want := make([]types.DataType, len(t.Fields))
		for i, f := range t.Fields {
			want[i] = f.Type
		}
		v.resetKids(want, n)
	}
}

func (v *Vec) resetKids(ts []types.DataType, n int) {
	if len(v.Kids) != len(ts) {
		v.Kids = make([]*Vec, len(ts))
		for i := range ts {
			v.Kids[i] = new(Vec)
		}
	}
	for i, t := range ts {
		v.Kids[i].Reset(t, n)
	}
}

// MakeValid gives v a bitmap of its own with all rows valid.
func (v *Vec) MakeValid(n int) {
	v.Valid = make([]uint64, Words(n))
	for i := range v.Valid {
		v.Valid[i] = ^uint64(0)
	}
}

func sized[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n)
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) >= n {
		s = s[:n]
		clear(s)
		return s
	}
	return make([]T, n)
}

// RecordOf makes a record batch of the selected rows of vectors that lie under schema.
func RecordOf(s types.Schema, vs []*Vec, sel Sel) arrow.RecordBatch {
	return Record(s.Arrow(), vs, sel)
}

// Record is RecordOf with the Arrow schema made once by the caller.
func Record(s *arrow.Schema, vs []*Vec, sel Sel) arrow.RecordBatch {
	cols := make([]arrow.Array, len(vs))
	for i, v := range vs {
		cols[i] = ToArrow(v, sel)
	}
	return array.NewRecordBatch(s, cols, int64(sel.N))
}

// Vectors sees the columns of a record batch as vectors.
func Vectors(rb arrow.RecordBatch, s types.Schema) []Vec {
	vs := make([]Vec, len(s))
	for i := range vs {
		vs[i].SetArrow(rb.Column(i), s[i].Type)
	}
	return vs
}

// View sees rows [from, to) of v, sharing its values; bitmaps are copied unless from is a multiple of 64.
func (v *Vec) View(from, to int) Vec {
	w := *v
	if v.Const {
		return w
	}
	n := to - from
	w.Len = n
	if v.Valid != nil {
		w.Valid = slideBits(v.Valid, from, n)
	}
	switch v.Phys {
	case PBool:
		w.Bits = slideBits(v.Bits, from, n)
	case PI8:
		w.I8 = v.I8[from:to:to]
	case PI16:
		w.I16 = v.I16[from:to:to]
	case PI32:
		w.I32 = v.I32[from:to:to]
	case PI64:
		w.I64 = v.I64[from:to:to]
	case PF32:
		w.F32 = v.F32[from:to:to]
	case PF64:
		w.F64 = v.F64[from:to:to]
	case PDec:
		w.Dec = v.Dec[from:to:to]
	case PBytes, PList, PMap:
		w.Off = v.Off[from : to+1 : to+1]
	case PStruct:
		w.Kids = make([]*Vec, len(v.Kids))
		for i, k := range v.Kids {
			kv := k.View(from, to)
			w.Kids[i] = &kv
		}
	}
	return w
}

func slideBits(b []uint64, from, n int) []uint64 {
	if from&63 == 0 {
		return b[from>>6 : from>>6+Words(n)]
	}
	out := make([]uint64, Words(n))
	sh := uint(from) & 63
	src := b[from>>6:]
	for i := range out {
		out[i] = src[i] >> sh
		if i+1 < len(src) {
			out[i] |= src[i+1] << (64 - sh)
		}
	}
	return out
}
