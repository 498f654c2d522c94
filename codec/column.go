package codec

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// column builds one column. Rows are written by number; a row that is not written is null. Values of a row
// may be written again as long as no later row is: the last one counts.
type column struct {
	t     types.DataType
	phys  columnar.Physical
	cap   int // rows there is room for
	valid []uint64

	bits   []uint64
	i8     []int8
	i16    []int16
	i32    []int32
	i64    []int64
	f32    []float32
	f64    []float64
	dec    []decimal128.Num
	off    []int32
	data   []byte
	filled int // bytes, lists, maps: off[:filled+1] is set
	n      int // of a child of a list or map: rows used
	kids   []*column
	hint   int         // bytes: how much data the last rows had, when they were many
	object *objectPlan // JSON: how the fields of a struct lie in the text
	name   string
}

func newColumn(name string, t types.DataType) *column {
	c := &column{name: name, t: t, phys: columnar.PhysicalOf(t)}
	switch c.phys {
	case columnar.PList:
		c.kids = []*column{newColumn("element", *t.Elem)}
	case columnar.PMap:
		c.kids = []*column{newColumn("key", *t.Key), newColumn("value", *t.Elem)}
	case columnar.PStruct:
		for _, f := range t.Fields {
			c.kids = append(c.kids, newColumn(f.Name, f.Type))
		}
		c.object = newObjectPlan(c.kids, -1)
	}
	return c
}

func regrow[T any](s []T, n int) []T {
	out := make([]T, n)
	copy(out, s)
	return out
}

// grow makes room for rows rows.
func (c *column) grow(rows int) {
	if rows <= c.cap {
		return
	}
	c.valid = regrow(c.valid, columnar.Words(rows))
	switch c.phys {
	case columnar.PBool:
		c.bits = regrow(c.bits, columnar.Words(rows))
	case columnar.PI8:
		c.i8 = regrow(c.i8, rows)
	case columnar.PI16:
		c.i16 = regrow(c.i16, rows)
	case columnar.PI32:
		c.i32 = regrow(c.i32, rows)
	case columnar.PI64:
		c.i64 = regrow(c.i64, rows)
	case columnar.PF32:
		c.f32 = regrow(c.f32, rows)
	case columnar.PF64:
		c.f64 = regrow(c.f64, rows)
	case columnar.PDec:
		c.dec = regrow(c.dec, rows)
	case columnar.PBytes:
		c.off = regrow(c.off, rows+1)
		if c.data == nil {
			c.data = make([]byte, 0, max(rows*8, c.hint))
		}
	case columnar.PList, columnar.PMap:
		c.off = regrow(c.off, rows+1)
	case columnar.PStruct:
		for _, k := range c.kids {
			k.grow(rows)
		}
	}
	c.cap = rows
}

func (c *column) set(r int) { c.valid[r>>6] |= 1 << (uint(r) & 63) }

func (c *column) setNull(r int) { c.valid[r>>6] &^= 1 << (uint(r) & 63) }

// forget makes row r, the last one written, null through and through, so that it can be written anew.
func (c *column) forget(r int) {
	c.setNull(r)
	switch c.phys {
	case columnar.PBytes:
		if c.filled >= r && c.off != nil {
			c.filled, c.data = r, c.data[:c.off[r]]
		}
	case columnar.PList, columnar.PMap:
		if c.filled >= r && c.off != nil { // also a value that was begun and not finished
			c.truncate(int(c.off[r]))
			c.filled = r
		}
	case columnar.PStruct:
		for _, k := range c.kids {
			k.forget(r)
		}
	}
}

// truncate drops the children from row n on.
func (c *column) truncate(n int) {
	for _, k := range c.kids {
		for r := k.n - 1; r >= n; r-- {
			k.forget(r)
		}
		k.n = n
	}
}

// begin prepares a bytes, list or map column for the value of row r.
func (c *column) begin(r int) {
	if c.filled != r {
		c.catchUp(r)
	}
}

// catchUp is begin for a row that is not the next one.
func (c *column) catchUp(r int) {
	if c.filled > r {
		c.forget(r)
		return
	}
	end := int32(len(c.data))
	if c.phys != columnar.PBytes {
		end = int32(c.kids[0].n)
	}
	for c.filled < r {
		c.filled++
		c.off[c.filled] = end
	}
}

// finish ends the value of row r that begin began and that was appended to data or to the children.
func (c *column) finish(r int) {
	if c.phys == columnar.PBytes {
		c.off[r+1] = int32(len(c.data))
	} else {
		c.off[r+1] = int32(c.kids[0].n)
	}
	c.filled = r + 1
	c.set(r)
}

func (c *column) setBytes(r int, b []byte) {
	c.begin(r)
	c.data = append(c.data, b...)
	c.off[r+1] = int32(len(c.data))
	c.filled = r + 1
	c.set(r)
}

func (c *column) setBool(r int, v bool) {
	if v {
		c.bits[r>>6] |= 1 << (uint(r) & 63)
	} else {
		c.bits[r>>6] &^= 1 << (uint(r) & 63)
	}
	c.set(r)
}

// next adds a row to a child of a list or map and returns its number.
func (c *column) next() int {
	r := c.n
	if r >= c.cap {
		c.grow(max(64, 2*c.cap))
	}
	c.n++
	return r
}

// take gives the first n rows away as a vector and leaves the column empty.
func (c *column) take(n int) *columnar.Vec {
	v := c.view(n)
	if v.Valid != nil { // a record that was given up may have left values
		c.zeroNulls(v.Valid, n)
	}
	hint := 0
	if n >= 4096 && c.phys == columnar.PBytes {
		hint = len(c.data) + len(c.data)/8
	}
	kids := c.kids
	for i, k := range kids {
		if c.phys == columnar.PStruct {
			v.Kids[i] = k.take(n)
		} else {
			v.Kids[i] = k.take(k.n)
		}
	}
	*c = column{name: c.name, t: c.t, phys: c.phys, kids: kids, object: c.object, hint: hint}
	return v
}

// lend shows the first n rows as a vector that is valid until reuse.
func (c *column) lend(n int) *columnar.Vec {
	v := c.view(n)
	if v.Valid != nil {
		c.zeroNulls(v.Valid, n)
	}
	for i, k := range c.kids {
		if c.phys == columnar.PStruct {
			v.Kids[i] = k.lend(n)
		} else {
			v.Kids[i] = k.lend(k.n)
		}
	}
	return v
}

// reuse empties the column, which has n rows, and keeps its room.
func (c *column) reuse(n int) {
	clear(c.valid[:min(columnar.Words(n), len(c.valid))])
	c.filled, c.data = 0, c.data[:0]
	for _, k := range c.kids {
		if c.phys == columnar.PStruct {
			k.reuse(n)
		} else {
			k.reuse(k.n)
			k.n = 0
		}
	}
}

// zeroNulls clears what an earlier use has left under the nulls.
func (c *column) zeroNulls(valid []uint64, n int) {
	for w, x := range valid {
		for null := ^x; null != 0; null &= null - 1 {
			r := w<<6 + bits.TrailingZeros64(null)
			if r >= n {
				return
			}
			switch c.phys {
			case columnar.PBool:
				c.bits[w] &^= null & -null
			case columnar.PI8:
				c.i8[r] = 0
			case columnar.PI16:
				c.i16[r] = 0
			case columnar.PI32:
				c.i32[r] = 0
			case columnar.PI64:
				c.i64[r] = 0
			case columnar.PF32:
				c.f32[r] = 0
			case columnar.PF64:
				c.f64[r] = 0
			case columnar.PDec:
				c.dec[r] = decimal128.Num{}
			}
		}
	}
}

// view is the first n rows as a vector that shares the column's memory, without its children.
func (c *column) view(n int) *columnar.Vec {
	v := new(columnar.Vec)
	c.show(v, n)
	return v
}

// show is view in a vector that is there.
func (c *column) show(v *columnar.Vec, n int) {
	*v = columnar.Vec{Type: c.t, Phys: c.phys, Len: n}
	if c.cap < n {
		c.grow(n)
	}
	if set := countBits(c.valid, n); set < n {
		v.Valid = c.valid[:columnar.Words(n):columnar.Words(n)]
	}
	switch c.phys {
	case columnar.PBytes, columnar.PList, columnar.PMap:
		if c.off == nil {
			c.off = make([]int32, n+1)
		}
		c.begin(n)
	}
	switch c.phys {
	case columnar.PBool:
		v.Bits = c.bits[:columnar.Words(n)]
	case columnar.PI8:
		v.I8 = c.i8[:n]
	case columnar.PI16:
		v.I16 = c.i16[:n]
	case columnar.PI32:
		v.I32 = c.i32[:n]
	case columnar.PI64:
		v.I64 = c.i64[:n]
	case columnar.PF32:
		v.F32 = c.f32[:n]
	case columnar.PF64:
		v.F64 = c.f64[:n]
	case columnar.PDec:
		v.Dec = c.dec[:n]
	case columnar.PBytes:
		v.Off, v.Data = c.off[:n+1], c.data
	case columnar.PList, columnar.PMap:
		v.Off = c.off[:n+1]
	}
	if len(c.kids) > 0 {
		v.Kids = make([]*columnar.Vec, len(c.kids))
	}
}

func countBits(b []uint64, n int) int {
	t := 0
	for i := 0; i < n>>6; i++ {
		t += bits.OnesCount64(b[i])
	}
	if r := uint(n) & 63; r != 0 {
		t += bits.OnesCount64(b[n>>6] & (1<<r - 1))
	}
	return t
}
