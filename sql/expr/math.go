package expr

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func mathFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	double := func(name, doc string, f func(x float64) float64) {
		add(fn(name+"(expr)", doc, func(c *Call) (Expr, error) {
			return upperName(sig{in: "d", out: tDouble, total: true, k: unaryF64(f)}.build(c))
		}))
	}
	double("sqrt", "Square root.", math.Sqrt)
	double("cbrt", "Cube root.", math.Cbrt)
	double("exp", "e to the power of the argument.", math.Exp)
	double("expm1", "exp(x) - 1.", math.Expm1)
	double("sin", "Sine.", math.Sin)
	double("cos", "Cosine.", math.Cos)
	double("tan", "Tangent.", math.Tan)
	double("cot", "Cotangent.", func(x float64) float64 { return 1 / math.Tan(x) })
	double("sec", "Secant.", func(x float64) float64 { return 1 / math.Cos(x) })
	double("csc", "Cosecant.", func(x float64) float64 { return 1 / math.Sin(x) })
	double("asin", "Arc sine.", math.Asin)
	double("acos", "Arc cosine.", math.Acos)
	double("atan", "Arc tangent.", math.Atan)
	double("sinh", "Hyperbolic sine.", math.Sinh)
	double("cosh", "Hyperbolic cosine.", math.Cosh)
	double("tanh", "Hyperbolic tangent.", math.Tanh)
	double("asinh", "Inverse hyperbolic sine.", math.Asinh)
	double("acosh", "Inverse hyperbolic cosine.", math.Acosh)
	double("atanh", "Inverse hyperbolic tangent.", math.Atanh)
	double("degrees", "Radians as degrees.", func(x float64) float64 { return x * (180 / math.Pi) })
	double("radians", "Degrees as radians.", func(x float64) float64 { return x / 180 * math.Pi })
	add(fn("signum(expr)", "-1, 0 or 1.", func(c *Call) (Expr, error) { return upperName(buildSign(c)) }))
	add(fn("sign(expr)", "-1, 0 or 1.", buildSign))
	add(fn("rint(expr)", "The nearest whole number, to the even one halfway.", sig{in: "d", out: tDouble, total: true, k: unaryF64(math.RoundToEven)}.build))
	two := func(name, doc string, upper bool, f func(x, y float64) float64) {
		add(fn(name+"(expr1, expr2)", doc, func(c *Call) (Expr, error) {
			e, err := sig{in: "dd", out: tDouble, total: true, k: binaryF64(f)}.build(c)
			if upper {
				return upperName(e, err)
			}
			return e, err
		}))
	}
	two("pow", "The first argument to the power of the second.", false, powJava)
	two("power", "The first argument to the power of the second.", true, powJava)
	two("hypot", "Length of a vector.", true, math.Hypot)
	two("atan2", "Angle of a point.", true, func(y, x float64) float64 { return math.Atan2(y+0, x+0) })
	two("nanvl", "The first argument, or the second if it is NaN.", false, nil)
	out[len(out)-1].Build = buildNaNVL
	add(fn("isnan(expr)", "Whether a number is NaN; false for null.", func(c *Call) (Expr, error) {
		e, err := sig{in: "d", out: tBoolean, loose: true, k: boolRows(func(r *row) (bool, error) {
			return !r.null(0) && math.IsNaN(r.f64(0)), nil
		})}.build(c)
		if s, ok := e.(*Scalar); ok {
			s.Null = false
		}
		return e, err
	}))
	log := func(name, doc string, upper bool, least float64, f func(x float64) float64) {
		add(fn(name+"(expr)", doc+" Null outside its domain.", func(c *Call) (Expr, error) {
			e, err := sig{in: "d", out: tDouble, null: true, k: f64Rows(func(r *row) (float64, error) {
				x := r.f64(0)
				if x <= least {
					return 0, errNull
				}
				return f(x), nil
			})}.build(c)
			if upper {
				return upperName(e, err)
			}
			return e, err
		}))
	}
	log("ln", "Natural logarithm.", false, 0, math.Log)
	log("log2", "Logarithm to base 2.", true, 0, func(x float64) float64 {
		if f, e := math.Frexp(x); f == 0.5 {
			return float64(e - 1)
		}
		return math.Log(x) / math.Ln2
	})
	log("log10", "Logarithm to base 10.", true, 0, math.Log10)
	log("log1p", "ln(1 + x).", true, -1, math.Log1p)
	add(fn("log([base, ]expr)", "Logarithm to a base, natural by default. Null outside its domain.", func(c *Call) (Expr, error) {
		if err := c.Arity(1, 2); err != nil {
			return nil, err
		}
		call := *c
		natural := len(c.Args) == 1
		if natural {
			e := DoubleLit(math.E)
			e.Text = "E()"
			call.Args = []Expr{e, c.Args[0]}
		}
		return upperName(sig{in: "dd", out: tDouble, null: true, k: f64Rows(func(r *row) (float64, error) {
			b, x := r.f64(0), r.f64(1)
			switch {
			case b <= 0 || x <= 0:
				return 0, errNull
			case natural:
				return math.Log(x), nil
			}
			return math.Log(x) / math.Log(b), nil
		})}.build(&call))
	}))
	constant := func(name string, v float64) {
		add(fn(name+"()", "The constant "+name+".", func(c *Call) (Expr, error) {
			if err := c.Arity(0, 0); err != nil {
				return nil, err
			}
			l := DoubleLit(v)
			l.Text = map[string]string{"e": "E()", "pi": "PI()"}[name]
			return l, nil
		}))
	}
	constant("e", math.E)
	constant("pi", math.Pi)
	add(fn("round(expr[, d])", "Rounded to d decimals, half away from zero.", roundBuilder(halfUp)))
	add(fn("bround(expr[, d])", "Rounded to d decimals, half to even.", roundBuilder(halfEven)))
	add(fn("ceil(expr[, d])", "The least number not below, of d decimals.", roundBuilder(up)), "ceiling")
	add(fn("floor(expr[, d])", "The greatest number not above, of d decimals.", roundBuilder(down)))
	add(fn("factorial(n)", "n!, null outside 0 to 20.", sig{in: "i", out: tBigInt, null: true, k: i64Rows(func(r *row) (int64, error) {
		n := r.i32(0)
		if n < 0 || n > 20 {
			return 0, errNull
		}
		f := int64(1)
		for i := int64(2); i <= int64(n); i++ {
			f *= i
		}
		return f, nil
	})}.build))
	add(fn("conv(num, from, to)", "A number's text from one base to another.", buildConv))
	add(fn("width_bucket(value, min, max, num)", "The bucket of an equal-width histogram.", buildWidthBucket))
	add(fn("bit_count(expr)", "Number of bits set.", func(c *Call) (Expr, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		t := c.Args[0].Type()
		args := c.Args
		switch {
		case t.IsIntegral() || t.Kind == types.Boolean:
		case t.Kind == types.Null:
			args = []Expr{CastTo(c.Args[0], tBigInt, c.Conf)}
		default:
			return nil, WrongType(c.Text(), 0, `("INTEGRAL" or "BOOLEAN")`, c.Args[0])
		}
		return Strict("bit_count", tInt, args, c.Text(), i32Rows(func(r *row) (int32, error) { return int32(bits.OnesCount64(uint64(r.integral(0)))), nil })), nil
	}))
	add(fn("bit_get(expr, pos)", "The bit at a position from the right.", func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if !c.Args[0].Type().IsIntegral() {
			if err := call.need(c.Text(), 0, tBigInt); err != nil {
				return nil, err
			}
		}
		if err := call.need(c.Text(), 1, tInt); err != nil {
			return nil, err
		}
		size := map[types.Kind]int32{types.TinyInt: 8, types.SmallInt: 16, types.Int: 32, types.BigInt: 64}[call.Args[0].Type().Kind]
		name := types.Quote(c.Name)
		return Strict(c.Name, types.Of(types.TinyInt), call.Args, c.Text(), i8Rows(func(r *row) (int8, error) {
			p := r.i32(1)
			if p < 0 || p >= size {
				return 0, errs.New("INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE", "functionName", name, "parameter", "`pos`", "upper", size, "invalidValue", p)
			}
			return int8(r.integral(0) >> uint(p) & 1), nil
		})), nil
	}), "getbit")
	add(fn("bitmap_bit_position(n)", "Place of n within its bitmap of 32768.", sig{in: "l", out: tBigInt, total: true, k: i64i64(func(x int64) int64 {
		if x > 0 {
			return (x - 1) % 32768
		}
		return -x % 32768
	})}.build))
	add(fn("bitmap_bucket_number(n)", "Number of n's bitmap of 32768.", sig{in: "l", out: tBigInt, total: true, k: i64i64(func(x int64) int64 {
		if x > 0 {
			return 1 + (x-1)/32768
		}
		return x / 32768
	})}.build))
	add(fn("bitmap_count(bin)", "Number of bits set.", sig{in: "b", out: tBigInt, k: bytesToBigInt(func(s []byte) int64 {
		n := 0
		for _, b := range s {
			n += bits.OnesCount8(b)
		}
		return int64(n)
	})}.build))
	return out
}

func powJava(x, y float64) float64 {
	if (x == 1 || x == -1) && math.IsInf(y, 0) || x == 1 && math.IsNaN(y) {
		return math.NaN()
	}
	return math.Pow(x, y)
}

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func buildSign(c *Call) (Expr, error) {
	if len(c.Args) == 1 {
		switch k := c.Args[0].Type().Kind; k {
		case types.YearMonth, types.DayTime:
			return Strict("sign", tDouble, c.Args, c.Text(), f64Rows(func(r *row) (float64, error) { return signOf(float64(r.integral(0))), nil })), nil
		}
	}
	return sig{in: "d", out: tDouble, total: true, k: unaryF64(signOf)}.build(c)
}

// rounding says which way to round.
type rounding uint8

const (
	halfUp rounding = iota
	halfEven
	up
	down
)

// roundBuilder builds round, bround, ceil and floor.
func roundBuilder(mode rounding) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if (mode == up || mode == down) && len(c.Args) > 2 {
			return nil, wrongArity(c.Name, "2", len(c.Args))
		}
		if err := c.Arity(1, 2); err != nil {
			return nil, err
		}
		nearest := mode == halfUp || mode == halfEven
		call := *c
		call.copyArgs()
		scaled := len(c.Args) == 2
		if nearest && !scaled {
			call.Args = append(call.Args, IntLit(0))
		}
		text := call.Text()
		if !nearest && !scaled && c.Name != "ceiling" {
			text = map[rounding]string{up: "CEIL", down: "FLOOR"}[mode] + "(" + c.Args[0].String() + ")"
		}
		places, nullScale := int32(0), false
		if scaled {
			if k := call.Args[1].Type().Kind; !nearest && (k != types.Int || !Foldable(call.Args[1])) {
				return nil, errs.New("NON_FOLDABLE_ARGUMENT", "funcName", types.Quote(c.Name), "paramName", "`scale`", "paramType", `"INT"`)
			}
			if err := call.need(text, 1, tInt); err != nil {
				return nil, err
			}
			l, err := Const(call.Args[1], c.Conf)
			if err != nil {
				return nil, err
			}
			if l == nil {
				return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", "`scale`",
					"inputType", `"INT"`, "inputExpr", quoted(c.Args[1].String()))
			}
			if nullScale = l.Value.IsNull(0); !nullScale {
				places = l.Value.I32[0]
			}
		}
		a := call.Args[0]
		t := a.Type()
		switch {
		case t.Kind == types.Null && !nearest && !scaled:
			return &Literal{Value: NullLit(tBigInt).Value, Text: text}, nil
		case !t.IsNumeric():
			x, ok := ImplicitCast(a, tDouble, c.Conf)
			if !ok {
				return nil, WrongType(text, 0, `"NUMERIC"`, a)
			}
			a, t = x, tDouble
			if !nearest && scaled { // Spark asks for a decimal of its widest kind
				t = types.DecimalOf(38, 18)
				a = CastTo(call.Args[0], t, c.Conf)
			}
		}
		if !nearest && scaled && t.Kind != types.Decimal {
			d := types.DecimalOf(30, 15)
			switch {
			case t.IsIntegral():
				d = decimalFor(t)
			case t.Kind == types.Float:
				d = types.DecimalOf(14, 7)
			}
			a, t = CastTo(a, d, c.Conf), d
		}
		e := roundExpr(call.Name, a, t, places, mode, text, c.Conf.ANSI)
		if nullScale {
			return &Literal{Value: NullLit(e.Type()).Value, Text: text}, nil
		}
		return e, nil
	}
}

func roundExpr(name string, a Expr, t types.DataType, places int32, mode rounding, text string, ansi bool) Expr {
	nearest := mode == halfUp || mode == halfEven
	var s *Scalar
	switch {
	case t.Kind == types.Decimal:
		scale := max(0, min(places, t.Scale))
		p := t.Precision - t.Scale + 1 + scale
		if places < 0 {
			p = max(t.Precision-t.Scale+1, -places+1)
		}
		out := boundedDecimal(p, scale)
		s = Strict(name, out, []Expr{a}, text, fixedRows(decValues, func(r *row) (decimal128.Num, error) {
			v := r.args[0]
			n, ok := roundDecimal(v.Dec[v.Row(r.i)], t.Scale, places, scale, mode)
			if !ok || !decFits(n, out.Precision) {
				if ansi {
					return n, decimalOverflow(string(appendDecimal(nil, v.Dec[v.Row(r.i)], t.Scale)), out)
				}
				return n, errNull
			}
			return n, nil
		}))
	case !nearest && t.IsIntegral():
		s = Strict(name, tBigInt, []Expr{a}, text, i64Rows(func(r *row) (int64, error) { return r.integral(0), nil }))
	case !nearest:
		s = Strict(name, tBigInt, []Expr{a}, text, i64Rows(func(r *row) (int64, error) {
			x := floatAt(r)
			if mode == up {
				return saturate(math.Ceil(x)), nil
			}
			return saturate(math.Floor(x)), nil
		}))
	case t.IsIntegral():
		s = Strict(name, t, []Expr{a}, text, roundIntegral(t, places, mode, ansi))
	case t.Kind == types.Float:
		s = Strict(name, t, []Expr{a}, text, fixedRows(func(v *columnar.Vec) []float32 { return v.F32 }, func(r *row) (float32, error) {
			return float32(roundFloat(floatAt(r), places, mode, 32)), nil
		}))
	default:
		s = Strict(name, t, []Expr{a}, text, f64Rows(func(r *row) (float64, error) { return roundFloat(r.f64(0), places, mode, 64), nil }))
	}
	s.Extra = strconv.Itoa(int(places)) + "/" + strconv.Itoa(int(mode))
	return s
}

func floatAt(r *row) float64 {
	v := r.args[0]
	if v.Phys == columnar.PF32 {
		return float64(v.F32[v.Row(r.i)])
	}
	return v.F64[v.Row(r.i)]
}

func saturate(x float64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// roundDecimal rounds n of scale from to a number of places and gives it at scale to.
func roundDecimal(n decimal128.Num, from, places, to int32, mode rounding) (decimal128.Num, bool) {
	if places >= from {
		return decMulPow(n, to-from)
	}
	places = max(places, -80) // farther than the digits of a decimal reach all places are alike
	drop := from - places
	b := n.BigInt()
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(drop)), nil)
	q, m := new(big.Int).QuoRem(b, p, new(big.Int))
	if m.Sign() != 0 {
		away := false
		switch mode {
		case up:
			away = m.Sign() > 0
		case down:
			away = m.Sign() < 0
		default:
			cmp := m.CmpAbs(new(big.Int).Sub(p, new(big.Int).Abs(m)))
			away = cmp > 0 || cmp == 0 && (mode == halfUp || q.Bit(0) == 1)
		}
		if away {
			q.Add(q, big.NewInt(int64(m.Sign())))
		}
	}
	if k := to - places; k > 0 {
		q.Mul(q, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(k)), nil))
	}
	return bigDec(q, 38)
}

func roundIntegral(t types.DataType, places int32, mode rounding, ansi bool) Kernel {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch t.Kind {
	case types.TinyInt:
		lo, hi = math.MinInt8, math.MaxInt8
	case types.SmallInt:
		lo, hi = math.MinInt16, math.MaxInt16
	case types.Int:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	one := func(x int64) (int64, error) {
		if places >= 0 {
			return x, nil
		}
		d, ok := roundDecimal(decimal128.FromI64(x), 0, places, 0, mode)
		if !ok || !decIsInt64(d) || int64(d.LowBits()) < lo || int64(d.LowBits()) > hi {
			if ansi {
				return 0, errs.New("ARITHMETIC_OVERFLOW", "message", "Overflow", "alternative", "", "config", `"spark.sql.ansi.enabled"`)
			}
		}
		return int64(d.LowBits()), nil
	}
	switch t.Kind {
	case types.TinyInt:
		return i8Rows(func(r *row) (int8, error) { x, err := one(r.integral(0)); return int8(x), err })
	case types.SmallInt:
		return fixedRows(func(v *columnar.Vec) []int16 { return v.I16 }, func(r *row) (int16, error) { x, err := one(r.integral(0)); return int16(x), err })
	case types.Int:
		return i32Rows(func(r *row) (int32, error) { x, err := one(r.integral(0)); return int32(x), err })
	}
	return i64Rows(func(r *row) (int64, error) { return one(r.integral(0)) })
}

// roundFloat rounds the shortest decimal text of a number, as Spark does.
func roundFloat(x float64, places int32, mode rounding, bitSize int) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], math.Abs(x), 'e', -1, bitSize)
	e := 0
	for s[e] != 'e' {
		e++
	}
	exp, _ := strconv.Atoi(string(s[e+1:]))
	digits := s[:1]
	if e > 2 {
		digits = append(digits, s[2:e]...) // moves the digits over the point
	}
	keep := exp + 1 + int(places)
	if keep >= len(digits) {
		return x
	}
	if keep < 0 {
		return math.Copysign(0, x) * 0
	}
	next := digits[keep]
	away := next > '5' || next == '5' && (mode == halfUp || keep+1 < len(digits) || keep > 0 && (digits[keep-1]-'0')&1 == 1)
	n := 0.0
	var out [40]byte
	text := append(out[:0], '0')
	text = append(text, digits[:keep]...)
	if away {
		i := len(text) - 1
		for text[i] == '9' {
			text[i] = '0'
			i--
		}
		text[i]++
	}
	text = append(text, 'e')
	text = strconv.AppendInt(text, int64(exp+1-keep), 10)
	n, _ = strconv.ParseFloat(bytesView(text), bitSize)
	if n == 0 {
		return 0
	}
	return math.Copysign(n, x)
}

func buildConv(c *Call) (Expr, error) {
	ansi := c.Conf.ANSI
	return sig{in: "sii", out: tString, null: true, k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
		s := r.bytes(0)
		for len(s) > 0 && s[0] == ' ' {
			s = s[1:]
		}
		for len(s) > 0 && s[len(s)-1] == ' ' {
			s = s[:len(s)-1]
		}
		from, to := r.i32(1), r.i32(2)
		abs := to
		if abs < 0 {
			abs = -abs
		}
		if from < 2 || from > 36 || abs < 2 || abs > 36 || len(s) == 0 {
			return dst, errNull
		}
		negative := s[0] == '-'
		if negative {
			s = s[1:]
		}
		n := uint64(0)
	digits:
		for _, b := range s {
			d := uint64(36)
			switch {
			case b >= '0' && b <= '9':
				d = uint64(b - '0')
			case b >= 'a' && b <= 'z':
				d = uint64(b-'a') + 10
			case b >= 'A' && b <= 'Z':
				d = uint64(b-'A') + 10
			}
			if d >= uint64(from) {
				break digits
			}
			hi, lo := bits.Mul64(n, uint64(from))
			sum, carry := bits.Add64(lo, d, 0)
			if hi != 0 || carry != 0 {
				if ansi {
					return dst, errs.New("ARITHMETIC_OVERFLOW", "message", "Overflow in function conv()", "alternative", "", "config", `"spark.sql.ansi.enabled"`)
				}
				n = math.MaxUint64
				break digits
			}
			n = sum
		}
		if negative {
			n = -n
		}
		if to < 0 && int64(n) < 0 {
			dst = append(dst, '-')
			n = -n
		}
		return appendUint(dst, n, uint64(abs)), nil
	})}.build(c)
}

func buildWidthBucket(c *Call) (Expr, error) {
	if err := c.Arity(4, 4); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := c.Text()
	k := c.Args[0].Type().Kind
	interval := k == types.YearMonth || k == types.DayTime
	for i := 0; i < 3; i++ {
		if interval {
			if c.Args[i].Type().Kind != k {
				return nil, WrongType(text, i, quoted(c.Args[0].Type().SQL()), c.Args[i])
			}
			continue
		}
		if err := call.need(text, i, tDouble); err != nil {
			return nil, err
		}
	}
	if err := call.need(text, 3, tBigInt); err != nil {
		return nil, err
	}
	s := Strict("width_bucket", tBigInt, call.Args, text, i64Rows(func(r *row) (int64, error) {
		var v, lo, hi float64
		if interval {
			v, lo, hi = float64(r.integral(0)), float64(r.integral(1)), float64(r.integral(2))
		} else {
			v, lo, hi = r.f64(0), r.f64(1), r.f64(2)
		}
		n := r.i64(3)
		if n <= 0 || n == math.MaxInt64 || math.IsNaN(v) || lo == hi || math.IsNaN(lo) || math.IsInf(lo, 0) || math.IsNaN(hi) || math.IsInf(hi, 0) {
			return 0, errNull
		}
		if lo > hi {
			v, lo, hi = -v, -lo, -hi
		}
		switch {
		case v < lo:
			return 0, nil
		case v >= hi:
			return n + 1, nil
		}
		return int64(float64(n)*(v-lo)/(hi-lo)) + 1, nil
	}))
	s.Null = true
	return s, nil
}

// buildNaNVL keeps FLOAT if both are.
func buildNaNVL(c *Call) (Expr, error) {
	if k, ok := floatOrNull(c.Args); ok && k > 0 {
		call := *c
		call.copyArgs()
		for i := range call.Args {
			call.Args[i] = CastTo(call.Args[i], types.Of(types.Float), c.Conf)
		}
		at := func(r *row, k int) float32 { v := r.args[k]; return v.F32[v.Row(r.i)] }
		return NewScalar("nanvl", types.Of(types.Float), true, call.Args, c.Text(), fixedRows(func(v *columnar.Vec) []float32 { return v.F32 }, func(r *row) (float32, error) {
			return orIfNaN(r, at)
		})), nil
	}
	return sig{in: "dd", out: tDouble, loose: true, null: true, k: f64Rows(func(r *row) (float64, error) {
		return orIfNaN(r, (*row).f64)
	})}.build(c)
}

// floatOrNull counts the FLOAT arguments of two; ok is false where there is something else than them and null.
func floatOrNull(args []Expr) (n int, ok bool) {
	for _, a := range args {
		switch a.Type().Kind {
		case types.Float:
			n++
		case types.Null:
		default:
			return n, false
		}
	}
	return n, len(args) == 2
}

func orIfNaN[T float32 | float64](r *row, at func(r *row, k int) T) (T, error) {
	k := 0
	if !r.null(0) && math.IsNaN(float64(at(r, 0))) {
		k = 1
	}
	if r.null(k) {
		return 0, errNull
	}
	return at(r, k), nil
}
