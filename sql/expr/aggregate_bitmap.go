package expr

import (
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// bitmapBytes is the size of the bitmaps of Spark's bitmap functions: 32,768 bits.
const bitmapBytes = 4096

func bitmapFunctions() []Function {
	f := func(name, doc string, build func(c *Call) (*AggregateCall, error)) Function {
		return Function{Name: name, Kind: AggregateFunction, Signature: name + "(a)", Doc: doc, Portable: true,
			BuildAggregate: func(c *Call) (*AggregateCall, error) { return finishAggregate(c, build) }}
	}
	return []Function{
		f("bitmap_construct_agg", "Bitmap with the bits at the positions set.", func(c *Call) (*AggregateCall, error) {
			return buildBitmap(c, types.Of(types.BigInt))
		}),
		f("bitmap_or_agg", "Bits set in one of the bitmaps.", func(c *Call) (*AggregateCall, error) {
			return buildBitmap(c, types.Of(types.Binary))
		}),
		f("bitmap_and_agg", "Bits set in all of the bitmaps.", func(c *Call) (*AggregateCall, error) {
			return buildBitmap(c, types.Of(types.Binary))
		}),
	}
}

func buildBitmap(c *Call, t types.DataType) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	x, ok := ImplicitCast(c.Args[0], t, c.Conf)
	if !ok || t.Kind == types.Binary && c.Args[0].Type().Kind != types.Binary {
		return nil, WrongType(aggText(c.Name, c.Args, c.Distinct), 0, quoted(t.SQL()), c.Args[0])
	}
	return c.aggregate([]Expr{x}, types.Of(types.Binary), false, func() Aggregate { return &bitmapAgg{and: c.Name == "bitmap_and_agg"} }), nil
}

// bitmapAgg keeps the bitmap in the arena; its argument is a position or a bitmap.
type bitmapAgg struct {
	and   bool // starts with all bits set
	zeros []byte
}

func (*bitmapAgg) Width() int  { return columnar.RefWidth }
func (*bitmapAgg) Refs() []int { return []int{0} }

func (a *bitmapAgg) bits(r *columnar.Records, off int, g uint32) []byte {
	rec := r.At(g)
	if b := r.Load(rec, off); b != nil {
		return b
	}
	if a.zeros == nil {
		a.zeros = make([]byte, bitmapBytes)
		for i := range a.zeros {
			if a.and {
				a.zeros[i] = 0xff
			}
		}
	}
	r.Store(rec, off, a.zeros)
	return r.Load(rec, off)
}

func (a *bitmapAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		b := a.bits(r, off, groups[k])
		if a.and { // what a shorter bitmap does not have is zero
			x := v.Bytes(i)
			for j := range b {
				if j < len(x) {
					b[j] &= x[j]
				} else {
					b[j] = 0
				}
			}
			continue
		}
		if v.Phys == columnar.PBytes {
			for j, x := range v.Bytes(i)[:min(bitmapBytes, len(v.Bytes(i)))] {
				b[j] |= x
			}
			continue
		}
		p := v.I64[v.Row(i)]
		if p < 0 || p >= 8*bitmapBytes {
			return errs.New("INVALID_BITMAP_POSITION", "bitPosition", sqlValue(v, i, Conf{}), "bitmapNumBits", bitmapBytes*8, "bitmapNumBytes", bitmapBytes)
		}
		b[p/8] |= 1 << (p % 8)
	}
	return nil
}

func (a *bitmapAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		if b := from.Load(from.At(fromGroups[k]), fromOff); b != nil {
			dst := a.bits(into, off, g)
			for i, x := range b {
				if a.and {
					dst[i] &= x
				} else {
					dst[i] |= x
				}
			}
		}
	}
	return nil
}

func (a *bitmapAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Binary), len(groups))
	for k, g := range groups {
		out.Data = append(out.Data, a.bits(r, off, g)...)
		out.Off[k+1] = int32(len(out.Data))
	}
	return nil
}
