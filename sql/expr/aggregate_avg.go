package expr

import (
	"math/big"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// sumDecimal: low word, high word, flags (1 seen, 2 overflow).
type sumDecimal struct {
	out types.DataType
	try bool // overflow is NULL
}

func (*sumDecimal) Width() int  { return 24 }
func (*sumDecimal) Refs() []int { return nil }

func loadDec(p unsafe.Pointer) decimal128.Num {
	return decimal128.New(*at[int64](p, 8), *at[uint64](p, 0))
}

func storeDec(p unsafe.Pointer, n decimal128.Num) {
	*at[uint64](p, 0), *at[int64](p, 8) = n.LowBits(), n.HighBits()
}

// fits38 reports whether the sum of two numbers of at most 38 digits has no more.
func addDec(x, y decimal128.Num) (decimal128.Num, bool) {
	r := x.Add(y)
	// Two numbers below 10^38 may exceed 127 bits together: then the sign is wrong.
	if (x.Sign() < 0) == (y.Sign() < 0) && x != decZero && y != decZero && (r.Sign() < 0) != (x.Sign() < 0) {
		return r, false
	}
	return r, decFits(r, 38)
}

func (a *sumDecimal) add(p unsafe.Pointer, x decimal128.Num) error {
	s := loadDec(p)
	r, ok := addDec(s, x)
	if ok {
		ok = decFits(r, a.out.Precision)
	}
	*at[int64](p, 16) |= 1
	if !ok {
		if !a.try {
			var b, c big.Int
			b.Add(decBig(&b, s), decBig(&c, x))
			return decimalOverflow(string(appendBigDecimal(nil, &b, a.out.Scale)), a.out)
		}
		*at[int64](p, 16) |= 2
		return nil
	}
	storeDec(p, r)
	return nil
}

func (a *sumDecimal) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		if err := a.add(r.Ptr(groups[k], off), v.Dec[v.Row(i)]); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumDecimal) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		q := from.Ptr(fromGroups[k], fromOff)
		flags := *at[int64](q, 16)
		if flags == 0 {
			continue
		}
		p := into.Ptr(g, off)
		*at[int64](p, 16) |= flags
		if err := a.add(p, loadDec(q)); err != nil {
			return err
		}
	}
	return nil
}

func (a *sumDecimal) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.out, len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		if *at[int64](p, 16) != 1 {
			SetNull(out, k)
		}
		out.Dec[k] = loadDec(p)
	}
	return nil
}

func buildAvg(c *Call) (*AggregateCall, error) {
	x, err := summable(c)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	try := c.Name == "try_avg"
	switch {
	case t.Kind == types.Decimal:
		out := boundedDecimal(t.Precision+4, t.Scale+4)
		sum := &sumDecimal{out: types.DecimalOf(min(38, t.Precision+10), t.Scale), try: try || !c.Conf.ANSI}
		return c.aggregate([]Expr{x}, out, true, func() Aggregate {
			return &avgAgg{sum: sum, out: out, finish: finishDecimal(sum.out.Scale, out, sum.try)}
		}), nil
	case t.IsInterval():
		out := types.Of(t.Kind)
		sum := &sumAgg{out: t, try: try, check: true}
		return c.aggregate([]Expr{x}, out, true, func() Aggregate {
			return &avgAgg{sum: sum, out: out, finish: finishInterval}
		}), nil
	}
	x = CastTo(x, types.Of(types.Double), c.Conf)
	return c.aggregate([]Expr{x}, types.Of(types.Double), true, func() Aggregate { return avgDouble{} }), nil
}

// avgDouble: sum, count.
type avgDouble struct{}

func (avgDouble) Width() int  { return 16 }
func (avgDouble) Refs() []int { return nil }

func (avgDouble) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	if v.Phys == columnar.PNull {
		return nil
	}
	if sel.All && v.Valid == nil && !v.Const {
		for k, x := range v.F64[:sel.N] {
			p := r.Ptr(groups[k], off)
			*at[float64](p, 0) += x
			*at[int64](p, 8)++
		}
		return nil
	}
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		p := r.Ptr(groups[k], off)
		*at[float64](p, 0) += v.F64[v.Row(i)]
		*at[int64](p, 8)++
	}
	return nil
}

func (avgDouble) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		p, q := into.Ptr(g, off), from.Ptr(fromGroups[k], fromOff)
		*at[float64](p, 0) += *at[float64](q, 0)
		*at[int64](p, 8) += *at[int64](q, 8)
	}
	return nil
}

func (avgDouble) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.Of(types.Double), len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		n := *at[int64](p, 8)
		if n == 0 {
			SetNull(out, k)
			out.F64[k] = 0
			continue
		}
		out.F64[k] = *at[float64](p, 0) / float64(n)
	}
	return nil
}

// avgAgg is the part of a sum, then the count.
type avgAgg struct {
	sum    Aggregate
	out    types.DataType
	finish func(p unsafe.Pointer, n int64, out *columnar.Vec, k int) error
}

func (a *avgAgg) Width() int  { return a.sum.Width() + 8 }
func (a *avgAgg) Refs() []int { return nil }

func (a *avgAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	if err := a.sum.Update(r, off, groups, args, sel); err != nil {
		return err
	}
	return countAgg{}.Update(r, off+a.sum.Width(), groups, args, sel)
}

func (a *avgAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	if err := a.sum.Merge(into, off, groups, from, fromOff, fromGroups); err != nil {
		return err
	}
	return countAgg{}.Merge(into, off+a.sum.Width(), groups, from, fromOff+a.sum.Width(), fromGroups)
}

func (a *avgAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.out, len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		n := *at[int64](p, uintptr(a.sum.Width()))
		if n == 0 {
			SetNull(out, k)
			continue
		}
		if err := a.finish(p, n, out, k); err != nil {
			return err
		}
	}
	return nil
}

func finishDecimal(scale int32, t types.DataType, try bool) func(p unsafe.Pointer, n int64, out *columnar.Vec, k int) error {
	return func(p unsafe.Pointer, n int64, out *columnar.Vec, k int) error {
		if *at[int64](p, 16)&2 != 0 {
			SetNull(out, k)
			return nil
		}
		var x, y, q big.Int
		decBig(&x, loadDec(p))
		y.SetInt64(n)
		if up := t.Scale - scale; up >= 0 {
			x.Mul(&x, pow10Big[up])
		} else {
			y.Mul(&y, pow10Big[-up])
		}
		bigDivHalfUp(&q, &x, &y)
		d, ok := bigDec(&q, t.Precision)
		if !ok {
			if try {
				SetNull(out, k)
				return nil
			}
			return decimalOverflow(string(appendBigDecimal(nil, &q, t.Scale)), t)
		}
		out.Dec[k] = d
		return nil
	}
}

func finishInterval(p unsafe.Pointer, n int64, out *columnar.Vec, k int) error {
	if *at[int64](p, 8) != 1 {
		SetNull(out, k)
		return nil
	}
	var q big.Int
	bigDivHalfUp(&q, big.NewInt(*at[int64](p, 0)), big.NewInt(n))
	putI64(out, k, q.Int64())
	return nil
}

// ---- bits and booleans

type bitsAgg struct {
	t  types.DataType
	op byte // & | ^
}

func buildBits(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	x := c.Args[0]
	switch x.Type().Kind {
	case types.Null:
		x = CastTo(x, types.Of(types.Int), c.Conf)
	case types.String:
		x = CastTo(x, types.Of(types.BigInt), c.Conf)
	}
	if !x.Type().IsIntegral() {
		return nil, WrongType(aggText(c.Name, c.Args, c.Distinct), 0, `"INTEGRAL"`, c.Args[0])
	}
	op := map[string]byte{"bit_and": '&', "bit_or": '|', "bit_xor": '^'}[c.Name]
	t := x.Type()
	return c.aggregate([]Expr{x}, t, true, func() Aggregate { return &bitsAgg{t, op} }), nil
}

func (*bitsAgg) Width() int  { return 16 }
func (*bitsAgg) Refs() []int { return nil }

func (a *bitsAgg) fold(p unsafe.Pointer, x int64) {
	s, seen := at[int64](p, 0), at[int64](p, 8)
	switch {
	case *seen == 0:
		*s, *seen = x, 1
	case a.op == '&':
		*s &= x
	case a.op == '|':
		*s |= x
	default:
		*s ^= x
	}
}

func (a *bitsAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		if i := sel.At(k); !v.IsNull(i) {
			a.fold(r.Ptr(groups[k], off), i64At(v, v.Row(i)))
		}
	}
	return nil
}

func (a *bitsAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		if q := from.Ptr(fromGroups[k], fromOff); *at[int64](q, 8) != 0 {
			a.fold(into.Ptr(g, off), *at[int64](q, 0))
		}
	}
	return nil
}

func (a *bitsAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return (&minMaxInt{t: a.t}).Result(r, off, groups, out)
}

func buildBool(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	x := c.Args[0]
	switch k := x.Type().Kind; {
	case k == types.Boolean:
	case k == types.Null, k == types.String:
		x = CastTo(x, types.Of(types.Boolean), c.Conf)
	default:
		return nil, WrongType(aggText(c.Name, c.Args, c.Distinct), 0, `"BOOLEAN"`, x)
	}
	greatest := c.Name == "bool_or" || c.Name == "some" || c.Name == "any"
	return c.aggregate([]Expr{x}, types.Of(types.Boolean), true, func() Aggregate {
		return &boolAgg{bitsAgg{types.Of(types.Boolean), map[bool]byte{true: '|', false: '&'}[greatest]}}
	}), nil
}

type boolAgg struct{ bitsAgg }

func (a *boolAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) {
			continue
		}
		x := int64(0)
		if v.Bool(i) {
			x = 1
		}
		a.fold(r.Ptr(groups[k], off), x)
	}
	return nil
}

func (a *boolAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.t, len(groups))
	for k, g := range groups {
		p := r.Ptr(g, off)
		if *at[int64](p, 8) == 0 {
			SetNull(out, k)
		} else if *at[int64](p, 0) != 0 {
			columnar.SetBit(out.Bits, k)
		}
	}
	return nil
}

func unexpectedNull(text, name string) error {
	return errs.New("DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", quoted(text), "exprName", name)
}

func nonFoldable(text, name, inputType string, e Expr) error {
	return errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", name,
		"inputType", inputType, "inputExpr", quoted(e.String()))
}

func valueOutOfRange(text, name, valueRange, current string) error {
	return errs.New("DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", quoted(text), "exprName", name,
		"valueRange", valueRange, "currentValue", current)
}
