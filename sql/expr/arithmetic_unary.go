package expr

import (
	"math"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func buildNegate(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	text := c.Text()
	if c.Name != "negative" {
		text = "(- " + c.Args[0].String() + ")"
	}
	return signed(c, "negative", text, true)
}

func buildPositive(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	text := "(+ " + c.Args[0].String() + ")"
	a := c.Args[0]
	if a.Type().Kind == types.String {
		a = CastTo(a, types.Of(types.Double), c.Conf)
	}
	t := a.Type()
	if !t.IsNumeric() && !t.IsInterval() && t.Kind != types.Null {
		return nil, WrongType(text, 0, numericOrInterval, c.Args[0])
	}
	if t.Kind == types.Null {
		a = CastTo(a, types.Of(types.Double), c.Conf)
		t = a.Type()
	}
	s := Strict("positive", t, []Expr{a}, text, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		return copyRows(ctx, dst, args[0], sel)
	})
	return s, nil
}

const numericOrInterval = `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")`

func buildAbs(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	return signed(c, "abs", c.Text(), false)
}

// signed builds -x (always) or abs(x) (of negative values only).
func signed(c *Call, name, text string, always bool) (Expr, error) {
	a := c.Args[0]
	if k := a.Type().Kind; k == types.String || k == types.Null {
		a = CastTo(a, types.Of(types.Double), c.Conf)
	}
	t := a.Type()
	required := numericOrInterval
	if !always {
		required = `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH")`
	}
	if !t.IsNumeric() && !t.IsInterval() || t.Kind == types.Calendar && !always {
		return nil, WrongType(text, 0, required, c.Args[0])
	}
	var k Kernel
	check := c.Conf.ANSI || t.IsInterval()
	switch columnar.PhysicalOf(t) {
	case columnar.PI8:
		k = negateKernel(func(v *columnar.Vec) []int8 { return v.I8 }, always, check)
	case columnar.PI16:
		k = negateKernel(func(v *columnar.Vec) []int16 { return v.I16 }, always, check)
	case columnar.PI32:
		k = negateKernel(func(v *columnar.Vec) []int32 { return v.I32 }, always, check)
	case columnar.PI64:
		k = negateKernel(func(v *columnar.Vec) []int64 { return v.I64 }, always, check)
	case columnar.PF32:
		k = func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			for n := range sel.N {
				i := sel.At(n)
				if x := args[0].F32[i]; always {
					dst.F32[i] = -x
				} else {
					dst.F32[i] = float32(math.Abs(float64(x)))
				}
			}
			return nil
		}
	case columnar.PF64:
		f := math.Abs
		if always {
			f = func(x float64) float64 { return -x }
		}
		k = unaryF64(f)
	case columnar.PDec:
		k = func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			for n := range sel.N {
				i := sel.At(n)
				if x := args[0].Dec[i]; always || x.Sign() < 0 {
					dst.Dec[i] = x.Negate()
				} else {
					dst.Dec[i] = x
				}
			}
			return nil
		}
	default: // calendar interval
		k = func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			for n := range sel.N {
				i := sel.At(n)
				dst.Kids[0].I32[i], dst.Kids[1].I32[i], dst.Kids[2].I64[i] =
					-args[0].Kids[0].I32[i], -args[0].Kids[1].I32[i], -args[0].Kids[2].I64[i]
			}
			return nil
		}
	}
	s := Strict(name, t, []Expr{a}, text, k)
	if !c.Conf.ANSI {
		s.Extra = "legacy"
	}
	return s, nil
}

func negateKernel[T integer](get func(*columnar.Vec) []T, always, check bool) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		x, out := get(args[0]), get(dst)
		for k := range sel.N {
			i := sel.At(k)
			v := x[i]
			if always || v < 0 {
				if check && v == -v && v != 0 {
					if args[0].Type.IsInterval() {
						return errs.New("ARITHMETIC_OVERFLOW", "message", "overflow", "alternative", "", "config", `"spark.sql.ansi.enabled"`)
					}
					return overflowError("overflow", "")
				}
				v = -v
			}
			out[i] = v
		}
		return nil
	}
}

func buildBitwise(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	text := opText(c.Name, c.Args)
	l, r := c.Args[0], c.Args[1]
	side := func(e, o Expr) Expr {
		switch k := e.Type().Kind; {
		case k == types.Null && o.Type().Kind == types.Null:
			return CastTo(e, types.Of(types.Int), c.Conf)
		case k == types.Null && o.Type().IsIntegral():
			return CastTo(e, o.Type(), c.Conf)
		case k == types.String && o.Type().IsIntegral() && c.Conf.ANSI:
			return CastTo(e, types.Of(types.BigInt), c.Conf)
		}
		return e
	}
	l, r = side(l, r), side(r, l)
	lt, rt := l.Type(), r.Type()
	if !lt.IsIntegral() || !rt.IsIntegral() {
		return nil, arithmetic{op: c.Name, conf: c.Conf, text: text}.mismatch(c.Args[0], c.Args[1])
	}
	t := lt
	if rt.Kind > t.Kind {
		t = rt
	}
	op := c.Name
	s := Strict(op, t, []Expr{CastTo(l, t, c.Conf), CastTo(r, t, c.Conf)}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			a, b := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				x, y := i64At(a, a.Row(i)), i64At(b, b.Row(i))
				switch op {
				case "&":
					x &= y
				case "|":
					x |= y
				default:
					x ^= y
				}
				putI64(dst, i, x)
			}
			return nil
		})
	s.Total = true
	return s, nil
}

func buildBitNot(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	text := "~" + c.Args[0].String()
	a := c.Args[0]
	if a.Type().Kind == types.Null {
		a = CastTo(a, types.Of(types.Int), c.Conf)
	}
	if !a.Type().IsIntegral() { // a text, too
		return nil, WrongType(text, 0, `"INTEGRAL"`, c.Args[0])
	}
	s := Strict("~", a.Type(), []Expr{a}, text, func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		for k := range sel.N {
			i := sel.At(k)
			putI64(dst, i, ^i64At(args[0], i))
		}
		return nil
	})
	s.Total = true
	return s, nil
}

func buildShift(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	text := c.Text()
	if c.Name[0] != 's' {
		text = opText(c.Name, c.Args)
	}
	a, n := c.Args[0], c.Args[1]
	switch k := a.Type().Kind; {
	case k == types.BigInt || k == types.Int:
	case k == types.TinyInt || k == types.SmallInt || k == types.Null || k == types.String || a.Type().IsNumeric():
		a = CastTo(a, types.Of(types.Int), c.Conf)
	default:
		return nil, WrongType(text, 0, `("INT" or "BIGINT")`, a)
	}
	count, ok := ImplicitCast(n, types.Of(types.Int), c.Conf)
	if !ok {
		return nil, WrongType(text, 1, `"INT"`, n)
	}
	op := map[string]string{"shiftleft": "<<", "shiftright": ">>", "shiftrightunsigned": ">>>"}[c.Name]
	if op == "" {
		op = c.Name
	}
	s := Strict(op, a.Type(), []Expr{a, count}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			x, y := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				v, s := i64At(x, x.Row(i)), uint(y.I32[y.Row(i)])
				if x.Phys == columnar.PI32 {
					s &= 31
					switch op {
					case "<<":
						v = int64(int32(v) << s)
					case ">>":
						v >>= s
					default:
						v = int64(int32(uint32(v) >> s))
					}
				} else {
					s &= 63
					switch op {
					case "<<":
						v <<= s
					case ">>":
						v >>= s
					default:
						v = int64(uint64(v) >> s)
					}
				}
				putI64(dst, i, v)
			}
			return nil
		})
	s.Total = true
	return s, nil
}
