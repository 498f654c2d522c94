package expr

import (
	"math"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Vectors are ARRAY<FLOAT>. Sums run in single precision as Spark's do, so that results agree to the last
// digit; a NULL element makes the result NULL.

var (
	tFloat = types.Of(types.Float)
)

func vectorFunctions() []Function {
	pair := func(name, doc string, f func(a, b []float32) (float32, bool)) Function {
		return fn(name+"(array1, array2)", doc, func(c *Call) (Expr, error) {
			if err := c.wantVectors(2, 2); err != nil {
				return nil, err
			}
			return vectorPair(c, f), nil
		})
	}
	return []Function{
		pair("vector_inner_product", "Sum of the products of two vectors' elements.", func(a, b []float32) (s float32, ok bool) {
			for i := range a {
				s += a[i] * b[i]
			}
			return s, true
		}),
		pair("vector_l2_distance", "Euclidean distance of two vectors.", func(a, b []float32) (float32, bool) {
			s := float32(0)
			for i := range a {
				d := a[i] - b[i]
				s += d * d
			}
			return float32(math.Sqrt(float64(s))), true
		}),
		pair("vector_cosine_similarity", "Cosine of the angle between two vectors; null where one is zero.", func(a, b []float32) (float32, bool) {
			var ab, aa, bb float32
			for i := range a {
				ab += a[i] * b[i]
				aa += a[i] * a[i]
				bb += b[i] * b[i]
			}
			n := float32(math.Sqrt(float64(aa) * float64(bb)))
			return ab / n, n != 0
		}),
		fn("vector_norm(vector[, degree])", "Length of a vector: degree 1, 2 (default) or infinity.", func(c *Call) (Expr, error) { return buildNorm(c, false) }),
		fn("vector_normalize(vector[, degree])", "A vector divided by its norm; null if that is zero.", func(c *Call) (Expr, error) { return buildNorm(c, true) }),
		vectorAggregate("vector_sum", "Sum of vectors, element by element; vectors with a null are left out.", false),
		vectorAggregate("vector_avg", "Mean of vectors, element by element; vectors with a null are left out.", true),
	}
}

// wantVectors checks that the first n of lo to hi arguments are vectors.
func (c *Call) wantVectors(n, hi int) error {
	if err := c.Arity(n, hi); err != nil {
		return err
	}
	for i, a := range c.Args[:n] {
		if t := a.Type(); t.Kind != types.Array || t.Elem.Kind != types.Float {
			return WrongType(c.Text(), i, `"ARRAY<FLOAT>"`, a)
		}
	}
	return nil
}

// floats are the elements of row i of an ARRAY<FLOAT>; false if one is NULL.
func floats(v *columnar.Vec, i int) ([]float32, bool) {
	i = v.Row(i)
	from, to := int(v.Off[i]), int(v.Off[i+1])
	k := v.Kids[0]
	for j := from; j < to && k.Valid != nil; j++ {
		if k.IsNull(j) {
			return nil, false
		}
	}
	return k.F32[from:to], true
}

func dimensionMismatch(name string, l, r int) error {
	return errs.New("VECTOR_DIMENSION_MISMATCH", "functionName", types.Quote(name), "leftDim", l, "rightDim", r)
}

func vectorPair(c *Call, f func(a, b []float32) (float32, bool)) Expr {
	name := c.Name
	e := Strict(name, tFloat, c.Args, c.Text(), fixedRows(func(v *columnar.Vec) []float32 { return v.F32 }, func(r *row) (float32, error) {
		va, vb := r.args[0], r.args[1]
		i, j := va.Row(r.i), vb.Row(r.i)
		if la, lb := int(va.Off[i+1]-va.Off[i]), int(vb.Off[j+1]-vb.Off[j]); la != lb {
			return 0, dimensionMismatch(name, la, lb)
		}
		a, ok := floats(va, r.i)
		b, ok2 := floats(vb, r.i)
		if !ok || !ok2 {
			return 0, errNull
		}
		x, ok := f(a, b)
		if !ok {
			return 0, errNull
		}
		return x, nil
	}))
	e.Null = true
	return e
}

func buildNorm(c *Call, divide bool) (Expr, error) {
	call := *c
	c = &call
	c.copyArgs()
	if len(c.Args) == 1 {
		c.Args = append(c.Args, FloatLit(2))
	}
	if err := c.wantVectors(1, 2); err != nil {
		return nil, err
	}
	text, name := c.Text(), c.Name
	if k := c.Args[1].Type().Kind; k != types.Float {
		if k != types.Null {
			return nil, WrongType(text, 1, `"FLOAT"`, c.Args[1])
		}
		c.Args[1] = CastTo(c.Args[1], tFloat, c.Conf)
	}
	norm := func(r *row) ([]float32, float32, error) {
		degree := r.args[1].F32[r.args[1].Row(r.i)]
		if degree != 1 && degree != 2 && !math.IsInf(float64(degree), 1) {
			return nil, 0, errs.New("INVALID_VECTOR_NORM_DEGREE", "functionName", types.Quote(name), "degree", FloatLit(degree).String())
		}
		v, ok := floats(r.args[0], r.i)
		if !ok {
			return nil, 0, errNull
		}
		s := float32(0)
		for _, x := range v {
			a := x
			if a < 0 {
				a = -a
			}
			switch degree {
			case 1:
				s += a
			case 2:
				s += x * x
			default:
				s = max(s, a)
			}
		}
		if degree == 2 {
			s = float32(math.Sqrt(float64(s)))
		}
		return v, s, nil
	}
	if !divide {
		e := Strict(name, tFloat, c.Args, text, fixedRows(func(v *columnar.Vec) []float32 { return v.F32 }, func(r *row) (float32, error) {
			_, s, err := norm(r)
			return s, err
		}))
		e.Null = true
		return e, nil
	}
	e := Strict(name, types.ArrayOf(tFloat, false), c.Args, text, valueRows(func(r *row, a *Appender) error {
		v, s, err := norm(r)
		if err != nil {
			return err
		}
		if s == 0 && len(v) > 0 {
			return errNull
		}
		for _, x := range v {
			a.Kid(0).appendF32(x / s)
		}
		a.End()
		return nil
	}))
	e.Null = true
	return e, nil
}

func (a *Appender) appendF32(x float32) {
	a.v.F32 = append(a.v.F32, x)
	a.mark(true)
}

func vectorAggregate(name, doc string, mean bool) Function {
	return Function{Name: name, Kind: AggregateFunction, Signature: name + "(array)", Doc: doc, Portable: true,
		BuildAggregate: func(c *Call) (*AggregateCall, error) {
			return finishAggregate(c, func(c *Call) (*AggregateCall, error) {
				if err := c.wantVectors(1, 1); err != nil {
					return nil, err
				}
				return c.aggregate(c.Args, types.ArrayOf(tFloat, false), true, func() Aggregate { return &vectorAgg{name: name, mean: mean} }), nil
			})
		}}
}

// vectorAgg keeps the count and the sums, or the running means, in the arena: a float64 count, then the
// elements as float32 bits.
type vectorAgg struct {
	name string
	mean bool
	buf  []byte
}

func (*vectorAgg) Width() int  { return columnar.RefWidth }
func (*vectorAgg) Refs() []int { return []int{0} }

func (a *vectorAgg) state(b []byte) (n uint64, v []float32) {
	if len(b) < 8 {
		return 0, nil
	}
	n = le64(b)
	for i := 8; i+4 <= len(b); i += 4 {
		v = append(v, math.Float32frombits(uint32(b[i])|uint32(b[i+1])<<8|uint32(b[i+2])<<16|uint32(b[i+3])<<24))
	}
	return n, v
}

func le64(b []byte) (n uint64) {
	for i := range 8 {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}

func (a *vectorAgg) store(r *columnar.Records, off int, g uint32, n uint64, v []float32) {
	a.buf = a.buf[:0]
	for i := range 8 {
		a.buf = append(a.buf, byte(n>>(8*i)))
	}
	for _, x := range v {
		u := math.Float32bits(x)
		a.buf = append(a.buf, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	r.Store(r.At(g), off, a.buf)
}

func (a *vectorAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		i := sel.At(k)
		if args[0].IsNull(i) {
			continue
		}
		v, ok := floats(args[0], i)
		if !ok {
			continue
		}
		n, sum := a.state(r.Load(r.At(groups[k]), off))
		if err := a.fold(&n, &sum, 1, v); err != nil {
			return err
		}
		a.store(r, off, groups[k], n, sum)
	}
	return nil
}

// fold adds m vectors whose sum, or mean, is v.
func (a *vectorAgg) fold(n *uint64, sum *[]float32, m uint64, v []float32) error {
	if *n == 0 {
		*n, *sum = m, append([]float32{}, v...)
		return nil
	}
	if len(v) != len(*sum) {
		return dimensionMismatch(a.name, len(*sum), len(v))
	}
	*n += m
	for i, x := range v {
		if a.mean {
			(*sum)[i] += (x - (*sum)[i]) * (float32(m) / float32(*n))
		} else {
			(*sum)[i] += x
		}
	}
	return nil
}

func (a *vectorAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		m, v := a.state(from.Load(from.At(fromGroups[k]), fromOff))
		if m == 0 {
			continue
		}
		n, sum := a.state(into.Load(into.At(g), off))
		if err := a.fold(&n, &sum, m, v); err != nil {
			return err
		}
		a.store(into, off, g, n, sum)
	}
	return nil
}

func (a *vectorAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(types.ArrayOf(tFloat, false), 0)
	app := NewAppender(out)
	for _, g := range groups {
		n, v := a.state(r.Load(r.At(g), off))
		if n == 0 {
			app.AppendNull()
			continue
		}
		for _, x := range v {
			app.Kid(0).appendF32(x)
		}
		app.End()
	}
	app.Finish()
	return nil
}
