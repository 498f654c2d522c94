package expr

import (
	"math"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func distinctSketchFunctions() []Function {
	return []Function{
		sketchFunction("hll_sketch_agg(expr[, lgConfigK])", "HLL sketch of the distinct values, in DataSketches' layout.", func(c *Call) (*AggregateCall, error) {
			return buildDistinctSketch(c, "lgConfigK", "HLL_INVALID_LG_K", "HLL_K_MUST_BE_CONSTANT", 4, 21, `("INT" or "BIGINT" or "STRING" or "BINARY")`,
				func(lg int) (func() sketch, func(b []byte) (sketch, error)) {
					return func() sketch { return &hllSketch{lgK: lg} }, decodeHLL(c.Name)
				})
		}),
		sketchFunction("hll_union_agg(sketch[, allowDifferentLgConfigK])", "Union of HLL sketches.", func(c *Call) (*AggregateCall, error) {
			return buildSketchUnion(c, BoolLit(false), decodeHLL(c.Name), &hllSketch{lgK: 12}, func(flag *Literal) func(into, s sketch) error {
				return sameLgK(c.Name, flag != nil && !flag.Value.IsNull(0) && flag.Value.Bool(0))
			})
		}),
		fn("hll_sketch_estimate(sketch)", "Estimated number of distinct values of an HLL sketch.", func(c *Call) (Expr, error) {
			return buildSketchEstimate(c, func(b []byte) (float64, error) {
				s, err := decodeHLL(c.Name)(b)
				if err != nil {
					return 0, err
				}
				return s.(*hllSketch).estimate(), nil
			})
		}),
		fn("hll_union(first, second[, allowDifferentLgConfigK])", "Union of two HLL sketches.", func(c *Call) (Expr, error) {
			return buildSketchPair(c, BoolLit(false), func(a, b []byte, flag *row) ([]byte, error) {
				x, err := decodeHLL(c.Name)(a)
				if err != nil {
					return nil, err
				}
				y, err := decodeHLL(c.Name)(b)
				if err != nil {
					return nil, err
				}
				if err := sameLgK(c.Name, flag.args[2].Bool(flag.args[2].Row(flag.i)))(x, y); err != nil {
					return nil, err
				}
				if err := x.merge(y); err != nil {
					return nil, err
				}
				return x.encode(nil), nil
			})
		}),
		sketchFunction("theta_sketch_agg(expr[, lgNomEntries])", "Theta sketch of the distinct values, in a layout of streamlab's own.", func(c *Call) (*AggregateCall, error) {
			return buildDistinctSketch(c, "lgNomEntries", "SKETCH_INVALID_LG_NOM_ENTRIES", "SKETCH_LG_NOM_ENTRIES_MUST_BE_CONSTANT", 4, 26,
				`("ARRAY<INT>" or "ARRAY<BIGINT>" or "BINARY" or "DOUBLE" or "FLOAT" or "INT" or "BIGINT" or "STRING")`,
				func(lg int) (func() sketch, func(b []byte) (sketch, error)) {
					return func() sketch { return &thetaSketch{lgN: lg, theta: thetaAll} }, decodeTheta(c.Name)
				})
		}),
		sketchFunction("theta_union_agg(sketch[, lgNomEntries])", "Union of theta sketches.", func(c *Call) (*AggregateCall, error) {
			return buildSketchUnion(c, IntLit(12), decodeTheta(c.Name), &thetaSketch{lgN: 12, theta: thetaAll}, func(*Literal) func(into, s sketch) error {
				return func(into, s sketch) error { return nil }
			})
		}),
		sketchFunction("theta_intersection_agg(sketch)", "Intersection of theta sketches.", func(c *Call) (*AggregateCall, error) {
			if err := c.wantSketch(1, 1); err != nil {
				return nil, err
			}
			name := c.Name
			return c.aggregate(c.Args, tBinary, false, func() Aggregate {
				return &sketchAgg{out: tBinary, empty: func() sketch { return &thetaIntersection{f: name} },
					decode: func(b []byte) (sketch, error) {
						s, err := decodeTheta(name)(b)
						if err != nil {
							return nil, err
						}
						return &thetaIntersection{s.(*thetaSketch), name}, nil
					}, result: encoded}
			}), nil
		}),
		fn("theta_sketch_estimate(sketch)", "Estimated number of distinct values of a theta sketch.", func(c *Call) (Expr, error) {
			return buildSketchEstimate(c, func(b []byte) (float64, error) {
				s, err := decodeTheta(c.Name)(b)
				if err != nil {
					return 0, err
				}
				return s.(*thetaSketch).estimate(), nil
			})
		}),
		fn("theta_union(first, second[, lgNomEntries])", "Union of two theta sketches.", func(c *Call) (Expr, error) {
			return buildSketchPair(c, IntLit(12), thetaPair(c.Name, func(x, y *thetaSketch) { _ = x.merge(y) }))
		}),
		fn("theta_intersection(first, second)", "Intersection of two theta sketches.", func(c *Call) (Expr, error) {
			return buildSketchPair(c, nil, thetaPair(c.Name, func(x, y *thetaSketch) { x.keep(y, false) }))
		}),
		fn("theta_difference(first, second)", "What the first theta sketch has and the second has not.", func(c *Call) (Expr, error) {
			return buildSketchPair(c, nil, thetaPair(c.Name, func(x, y *thetaSketch) { x.keep(y, true) }))
		}),
	}
}

func thetaPair(name string, f func(x, y *thetaSketch)) func(a, b []byte, r *row) ([]byte, error) {
	return func(a, b []byte, r *row) ([]byte, error) {
		x, err := decodeTheta(name)(a)
		if err != nil {
			return nil, err
		}
		y, err := decodeTheta(name)(b)
		if err != nil {
			return nil, err
		}
		t := x.(*thetaSketch)
		if len(r.args) == 3 {
			n := int(r.args[2].I32[r.args[2].Row(r.i)])
			if n < 4 || n > 26 {
				return nil, errs.New("SKETCH_INVALID_LG_NOM_ENTRIES", "function", types.Quote(name), "min", 4, "max", 26, "value", n)
			}
			t.lgN = n
		}
		f(t, y.(*thetaSketch))
		return t.encode(nil), nil
	}
}

func sameLgK(name string, allowed bool) func(into, s sketch) error {
	return func(into, s sketch) error {
		x, y := into.(*hllSketch), s.(*hllSketch)
		if x.lgK != y.lgK && !allowed {
			return errs.New("HLL_UNION_DIFFERENT_LG_K", "left", x.lgK, "right", y.lgK, "function", types.Quote(name))
		}
		return nil
	}
}

// wantSketch checks a first argument of BINARY.
func (c *Call) wantSketch(lo, hi int) error {
	if err := c.Arity(lo, hi); err != nil {
		return err
	}
	call := *c
	if k := c.Args[0].Type().Kind; k != types.Binary && k != types.Null {
		return WrongType(call.Text(), 0, `"BINARY"`, c.Args[0])
	}
	return nil
}

func buildDistinctSketch(c *Call, parameter, rangeCondition, constCondition string, lo, hi int, required string,
	make func(lg int) (func() sketch, func(b []byte) (sketch, error))) (*AggregateCall, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	args := append([]Expr{}, c.Args...)
	if len(args) == 1 {
		args = append(args, IntLit(12))
	}
	text := aggText(c.Name, args, c.Distinct)
	t := args[0].Type()
	numbers := t.Kind == types.Double || t.Kind == types.Float || t.Kind == types.Array && (t.Elem.Kind == types.Int || t.Elem.Kind == types.BigInt)
	switch {
	case t.IsIntegral(), t.Kind == types.String, t.Kind == types.Binary, t.Kind == types.Null, numbers && c.Name == "theta_sketch_agg":
	default:
		return nil, WrongType(text, 0, required, args[0])
	}
	l, err := Const(args[1], c.Conf)
	if err != nil {
		return nil, err
	}
	if l == nil || !l.Type().IsIntegral() || l.Value.IsNull(0) {
		return nil, errs.New(constCondition, "function", types.Quote(c.Name))
	}
	lg := int(integralAt(l.Value, 0))
	empty, decode := make(lg)
	if lg < lo || lg > hi {
		failed := errs.New(rangeCondition, "function", types.Quote(c.Name), "min", lo, "max", hi, "value", lg)
		empty, decode = nil, func([]byte) (sketch, error) { return nil, failed }
		a := c.aggregate(args[:1], tBinary, false, func() Aggregate { return failingAgg{failed} })
		a.Text = text
		return a, nil
	}
	a := c.aggregate(args[:1], tBinary, false, func() Aggregate {
		return &sketchAgg{out: tBinary, empty: empty, decode: decode, result: encoded}
	})
	a.Text = text
	return a, nil
}

// failingAgg fails when it runs: for constants that Spark looks at only then.
type failingAgg struct{ err error }

func (failingAgg) Width() int  { return 8 }
func (failingAgg) Refs() []int { return nil }
func (f failingAgg) Update(*columnar.Records, int, []uint32, []*columnar.Vec, columnar.Sel) error {
	return f.err
}
func (f failingAgg) Merge(*columnar.Records, int, []uint32, *columnar.Records, int, []uint32) error {
	return f.err
}
func (f failingAgg) Result(*columnar.Records, int, []uint32, *columnar.Vec) error { return f.err }

func buildSketchUnion(c *Call, def *Literal, decode func(b []byte) (sketch, error), none sketch,
	check func(flag *Literal) func(into, s sketch) error) (*AggregateCall, error) {
	if err := c.wantSketch(1, 2); err != nil {
		return nil, err
	}
	args := append([]Expr{}, c.Args...)
	if len(args) == 1 {
		args = append(args, def)
	}
	l, err := Const(args[1], c.Conf)
	if err != nil {
		return nil, err
	}
	same := check(l)
	a := c.aggregate(args[:1], tBinary, false, func() Aggregate {
		return &sketchAgg{out: tBinary, empty: func() sketch { return &unionOf{read: decode, check: same} },
			decode: func(b []byte) (sketch, error) {
				s, err := decode(b)
				return &unionOf{s, decode, same}, err
			}, result: func(s sketch, a *Appender) error {
				if u := s.(*unionOf); u.sketch != nil {
					return encoded(u.sketch, a)
				}
				return encoded(none, a)
			}}
	})
	a.Text = aggText(c.Name, args, c.Distinct)
	return a, nil
}

func buildSketchEstimate(c *Call, estimate func(b []byte) (float64, error)) (Expr, error) {
	if err := c.wantSketch(1, 1); err != nil {
		return nil, err
	}
	arg := CastTo(c.Args[0], tBinary, c.Conf)
	return Strict(c.Name, tBigInt, []Expr{arg}, c.Text(), i64Rows(func(r *row) (int64, error) {
		e, err := estimate(r.bytes(0))
		return int64(math.Round(e)), err
	})), nil
}

func buildSketchPair(c *Call, def *Literal, f func(a, b []byte, r *row) ([]byte, error)) (Expr, error) {
	hi := 3
	if def == nil {
		hi = 2
	}
	if err := c.wantSketch(2, hi); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if len(call.Args) == 2 && def != nil {
		call.Args = append(call.Args, def)
	}
	text := call.Text()
	if k := c.Args[1].Type().Kind; k != types.Binary && k != types.Null {
		return nil, WrongType(text, 1, `"BINARY"`, c.Args[1])
	}
	for i := range 2 {
		call.Args[i] = CastTo(call.Args[i], tBinary, c.Conf)
	}
	if def != nil {
		if err := call.need(text, 2, def.Type()); err != nil {
			return nil, err
		}
	}
	return Strict(c.Name, tBinary, call.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		b, err := f(r.bytes(0), r.bytes(1), r)
		return append(dst, b...), err
	})), nil
}
