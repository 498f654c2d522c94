package expr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func operatorFunctions() []Function {
	op := func(name, sig, doc string, build func(c *Call) (Expr, error)) Function {
		return Function{Name: name, Signature: sig, Doc: doc, Portable: true, Hidden: true, Build: build}
	}
	try := func(name, op, doc string) Function {
		return Function{Name: name, Signature: name + "(a, b)", Doc: doc, Portable: true, Build: func(c *Call) (Expr, error) {
			return buildTry(c, op)
		}}
	}
	return []Function{
		op("+", "a + b", "Adds numbers, intervals, or an interval to a date or timestamp.", buildArithmetic),
		op("-", "a - b", "Subtracts; negates with one operand.", buildArithmetic),
		op("*", "a * b", "Multiplies numbers, or an interval by a number.", buildArithmetic),
		op("/", "a / b", "Divides; integers give a DOUBLE.", buildArithmetic),
		op("%", "a % b", "Remainder with the sign of the dividend.", buildArithmetic),
		op("div", "a div b", "Whole part of a division, as BIGINT.", buildArithmetic),
		{Name: "mod", Signature: "mod(a, b)", Doc: "Remainder with the sign of the dividend.", Portable: true, Build: buildArithmetic},
		{Name: "pmod", Signature: "pmod(a, b)", Doc: "Remainder that is never negative for a positive divisor.", Portable: true, Build: buildArithmetic},
		op("&", "a & b", "Bits set in both.", buildBitwise),
		op("|", "a | b", "Bits set in either.", buildBitwise),
		op("^", "a ^ b", "Bits set in one.", buildBitwise),
		op("~", "~a", "All bits inverted.", buildBitNot),
		op("<<", "a << n", "Shifts left.", buildShift),
		op(">>", "a >> n", "Shifts right keeping the sign.", buildShift),
		op(">>>", "a >>> n", "Shifts right filling with zeros.", buildShift),
		{Name: "shiftleft", Signature: "shiftleft(a, n)", Doc: "Shifts left.", Portable: true, Build: buildShift},
		{Name: "shiftright", Signature: "shiftright(a, n)", Doc: "Shifts right keeping the sign.", Portable: true, Build: buildShift},
		{Name: "shiftrightunsigned", Signature: "shiftrightunsigned(a, n)", Doc: "Shifts right filling with zeros.", Portable: true, Build: buildShift},
		{Name: "negative", Signature: "negative(a)", Doc: "Changes the sign.", Portable: true, Build: buildNegate},
		{Name: "positive", Signature: "positive(a)", Doc: "Gives its argument.", Portable: true, Build: buildPositive},
		op("unary+", "+a", "Gives its argument.", buildPositive),
		op("unary-", "-a", "Changes the sign.", buildNegate),
		{Name: "abs", Signature: "abs(a)", Doc: "The value without its sign.", Portable: true, Build: buildAbs},
		try("try_add", "+", "Adds; NULL on overflow."),
		try("try_subtract", "-", "Subtracts; NULL on overflow."),
		try("try_multiply", "*", "Multiplies; NULL on overflow."),
		try("try_divide", "/", "Divides; NULL on division by zero."),
		try("try_mod", "%", "Remainder; NULL on division by zero."),
		op("||", "a || b", "Joins strings, binaries or arrays.", func(c *Call) (Expr, error) {
			return BuildCall(&Call{Name: "concat", Args: c.Args, Conf: c.Conf})
		}),
	}
}

// arithmetic describes one operation while it is built.
type arithmetic struct {
	op   string // + - * / % div pmod
	try  bool   // NULL instead of an error
	conf Conf
	text string
}

func opText(name string, args []Expr) string {
	switch name {
	case "mod", "pmod":
		return callText(name, args)
	}
	return "(" + args[0].String() + " " + name + " " + args[1].String() + ")"
}

func buildArithmetic(c *Call) (Expr, error) {
	if (c.Name == "-" || c.Name == "+") && len(c.Args) == 1 {
		if c.Name == "-" {
			return buildNegate(c)
		}
		return buildPositive(c)
	}
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	a := arithmetic{op: c.Name, conf: c.Conf, text: opText(c.Name, c.Args)}
	if c.Name == "mod" {
		a.op = "%"
	}
	return a.build(c.Args[0], c.Args[1])
}

func buildTry(c *Call, op string) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	a := arithmetic{op: op, try: true, conf: c.Conf, text: opText(op, c.Args)} // as errors show it
	e, err := a.build(c.Args[0], c.Args[1])
	if s, ok := e.(*Scalar); ok && err == nil {
		s.Null = true
		s.Extra += "try"
		s.Text = c.Text()
	}
	return e, err
}

func (a arithmetic) build(l, r Expr) (Expr, error) {
	if err := a.refused(l, r); err != nil {
		return nil, err
	}
	if e, done, err := a.buildTemporal(l, r); done {
		return e, err
	}
	l, r = a.coerceStrings(l, r)
	lt, rt := l.Type(), r.Type()
	if lt.Kind == types.Null && (rt.Kind == types.Null || rt.Kind == types.Decimal && a.op == "/") {
		t := types.Of(types.Double)
		if a.op == "div" {
			t = types.Of(types.BigInt)
		}
		l, r = CastTo(l, t, a.conf), CastTo(r, t, a.conf)
		lt, rt = t, t
	}
	if lt.Kind == types.Null && rt.IsNumeric() {
		l = CastTo(l, rt, a.conf)
		lt = rt
	}
	if rt.Kind == types.Null && lt.IsNumeric() {
		r = CastTo(r, lt, a.conf)
		rt = lt
	}
	if !lt.IsNumeric() || !rt.IsNumeric() {
		return nil, a.mismatch(l, r)
	}
	if a.op == "div" && (lt.IsFractional() || rt.IsFractional()) {
		return nil, a.mismatch(l, r)
	}
	switch {
	case lt.IsFractional() || rt.IsFractional():
		t := types.Of(types.Double)
		floats := lt.Kind == types.Float && (rt.Kind == types.Float || rt.IsIntegral() && !a.conf.ANSI) ||
			rt.Kind == types.Float && lt.IsIntegral() && !a.conf.ANSI // without ANSI an integer is no wider than a FLOAT
		if floats && a.op != "/" {
			t = types.Of(types.Float)
		}
		return a.floating(CastTo(l, t, a.conf), CastTo(r, t, a.conf), t), nil
	case lt.Kind == types.Decimal || rt.Kind == types.Decimal:
		return a.decimal(a.toDecimal(l, rt), a.toDecimal(r, lt)), nil
	}
	if a.op == "/" {
		t := types.Of(types.Double)
		return a.floating(CastTo(l, t, a.conf), CastTo(r, t, a.conf), t), nil
	}
	t := lt
	if rt.Kind > lt.Kind {
		t = rt
	}
	if a.op == "div" {
		t = types.Of(types.BigInt)
	}
	return a.integral(CastTo(l, t, a.conf), CastTo(r, t, a.conf), t), nil
}

// coerceStrings casts a string beside a number: to BIGINT beside an integer, else to DOUBLE; with ANSI off
// always to DOUBLE.
func (a arithmetic) coerceStrings(l, r Expr) (Expr, Expr) {
	side := func(s, o Expr) Expr {
		if s.Type().Kind != types.String {
			return s
		}
		t := types.Of(types.Double)
		switch {
		case !a.conf.ANSI:
			if !o.Type().IsNumeric() && o.Type().Kind != types.String && o.Type().Kind != types.Null {
				return s
			}
		case o.Type().IsIntegral():
			t = types.Of(types.BigInt)
		case o.Type().IsNumeric():
		default:
			return s
		}
		e := CastTo(s, t, a.conf)
		if x, ok := e.(*Cast); ok && a.try { // a text that is no number is NULL, too
			x.Mode = Try
		}
		return e
	}
	return side(l, r), side(r, l)
}

// toDecimal makes an operand of decimal arithmetic a decimal: integer literals of the digits they have.
func (a arithmetic) toDecimal(e Expr, other types.DataType) Expr {
	t := e.Type()
	if t.Kind == types.Decimal {
		return e
	}
	if l, ok := e.(*Literal); ok && t.Kind != types.TinyInt && !l.Value.IsNull(0) {
		p := int32(1)
		x := i64At(l.Value, 0)
		for x/10 != 0 {
			x /= 10
			p++
		}
		return CastTo(e, types.DecimalOf(p, 0), a.conf)
	}
	return CastTo(e, decimalFor(t), a.conf)
}

// mismatch is the error for operands an operation does not take.
func (a arithmetic) mismatch(l, r Expr) error {
	if err := a.numbersRefused(l, r); err != nil {
		return err
	}
	lt, rt := l.Type(), r.Type()
	return errs.New("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "sqlExpr", quoted(a.text), "left", quoted(lt.SQL()), "right", quoted(rt.SQL()))
}

func arithmeticInputs(op string) string {
	switch op {
	case "+", "-":
		return `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")`
	case "/":
		return `("DOUBLE" or "DECIMAL")`
	case "div":
		return `("BIGINT" or "DECIMAL" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`
	}
	if op == "&" || op == "|" || op == "^" {
		return `"INTEGRAL"`
	}
	return `"NUMERIC"`
}

func divideByZero(op string) error {
	if op == "%" || op == "pmod" {
		return errs.New("REMAINDER_BY_ZERO", "config", `"spark.sql.ansi.enabled"`)
	}
	return errs.New("DIVIDE_BY_ZERO", "config", `"spark.sql.ansi.enabled"`)
}

func (a arithmetic) overflow() error {
	f := map[string]string{"+": "try_add", "-": "try_subtract", "*": "try_multiply"}[a.op]
	return overflowError("overflow", f)
}

func overflowError(message, function string) error {
	alternative := ""
	if function != "" {
		alternative = " Use '" + function + "' to tolerate overflow and return NULL instead."
	}
	return errs.New("ARITHMETIC_OVERFLOW", "message", message, "alternative", alternative, "config", `"spark.sql.ansi.enabled"`)
}

func (a arithmetic) strict(l, r Expr, t types.DataType, k Kernel) *Scalar {
	s := Strict(a.op, t, []Expr{l, r}, a.text, k)
	if !a.conf.ANSI {
		s.Extra = "legacy"
	}
	return s
}

func (a arithmetic) integral(l, r Expr, t types.DataType) Expr {
	var k Kernel
	switch t.Kind {
	case types.TinyInt:
		k = integralKernel(a, func(v *columnar.Vec) []int8 { return v.I8 })
	case types.SmallInt:
		k = integralKernel(a, func(v *columnar.Vec) []int16 { return v.I16 })
	case types.Int:
		k = integralKernel(a, func(v *columnar.Vec) []int32 { return v.I32 })
	default:
		k = integralKernel(a, func(v *columnar.Vec) []int64 { return v.I64 })
	}
	s := a.strict(l, r, t, k)
	switch a.op {
	case "+", "-", "*":
		s.Total = true // the kernel looks at Valid when a value overflows
	default:
		s.Null = s.Null || !a.conf.ANSI
	}
	return s
}

// constant spreads: index masks make a constant operand's position 0 for every row.
func rowMask(v *columnar.Vec) int {
	if v.Const {
		return 0
	}
	return -1
}

func integralKernel[T integer](a arithmetic, get func(*columnar.Vec) []T) Kernel {
	check := a.conf.ANSI || a.try
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		x, y, out := get(args[0]), get(args[1]), get(dst)
		mx, my := rowMask(args[0]), rowMask(args[1])
		var bad T
		switch a.op {
		case "+":
			switch {
			case sel.All && my == 0 && mx != 0:
				c := y[0]
				x := x[:sel.N]
				out := out[:len(x)]
				for i, v := range x {
					r := v + c
					bad |= (v ^ r) & (c ^ r)
					out[i] = r
				}
			case sel.All && mx != 0:
				x := x[:sel.N]
				y, out := y[:len(x)], out[:len(x)]
				for i, v := range x {
					w := y[i]
					r := v + w
					bad |= (v ^ r) & (w ^ r)
					out[i] = r
				}
			default:
				for k := range sel.N {
					i := sel.At(k)
					v, w := x[i&mx], y[i&my]
					r := v + w
					bad |= (v ^ r) & (w ^ r)
					out[i] = r
				}
			}
		case "-":
			switch {
			case sel.All && my == 0 && mx != 0:
				c := y[0]
				x := x[:sel.N]
				out := out[:len(x)]
				for i, v := range x {
					r := v - c
					bad |= (v ^ c) & (v ^ r)
					out[i] = r
				}
			default:
				for k := range sel.N {
					i := sel.At(k)
					v, w := x[i&mx], y[i&my]
					r := v - w
					bad |= (v ^ w) & (v ^ r)
					out[i] = r
				}
			}
		case "*":
			if sel.All && my == 0 && mx != 0 {
				bad = mulConst(out[:sel.N], x[:sel.N], y[0])
				break
			}
			for k := range sel.N {
				i := sel.At(k)
				v, w := x[i&mx], y[i&my]
				r := v * w
				if !mulFits(v, w, r) {
					bad = -1
				}
				out[i] = r
			}
		default:
			return divideIntegral(a, dst, x, y, out, mx, my, sel)
		}
		if bad >= 0 || !check {
			return nil
		}
		for k := range sel.N {
			i := sel.At(k)
			if dst.Valid != nil && !columnar.GetBit(dst.Valid, i) {
				continue
			}
			v, w := x[i&mx], y[i&my]
			var over bool
			switch a.op {
			case "+":
				over = (v^out[i])&(w^out[i]) < 0
			case "-":
				over = (v^w)&(v^out[i]) < 0
			default:
				over = !mulFits(v, w, out[i])
			}
			if !over {
				continue
			}
			if a.try {
				SetNull(dst, i)
				continue
			}
			if dst.Phys == columnar.PI8 || dst.Phys == columnar.PI16 {
				name := map[string]string{"+": "`try_add`", "-": "`try_subtract`", "*": "`try_multiply`"}[a.op]
				return errs.New("BINARY_ARITHMETIC_OVERFLOW", "value1", shortText(int64(v)), "symbol", a.op,
					"value2", shortText(int64(w)), "functionName", name)
			}
			return a.overflow()
		}
		return nil
	}
}

func shortText(x int64) string { return string(sqlShort(x)) }

func sqlShort(x int64) []byte {
	v := constVec(types.Of(types.SmallInt))
	v.I16[0] = int16(x)
	return []byte(sqlValue(v, 0, Conf{}))
}

func mulFits[T integer](v, w, r T) bool {
	p, ok := mulI64(int64(v), int64(w))
	return ok && p == int64(r)
}

// mulConst multiplies by a constant; the result is negative if a product did not fit.
func mulConst[T integer](out, x []T, c T) (bad T) {
	if c == 0 || c == 1 {
		for i, v := range x {
			out[i] = v * c
		}
		return 0
	}
	// The product fits exactly if x lies within ±max/|c|.
	one := T(1)
	for one > 0 {
		one <<= 1
	}
	limit := (one - 1) / c
	if limit < 0 {
		limit = -limit
	}
	out = out[:len(x)]
	for i, v := range x {
		out[i] = v * c
		bad |= (limit - v) | (v + limit)
	}
	if bad < 0 {
		bad = 0
		for i, v := range x { // the least number may still fit
			if !mulFits(v, c, out[i]) {
				bad = -1
			}
		}
	}
	return bad
}

func divideIntegral[T integer](a arithmetic, dst *columnar.Vec, x, y, out []T, mx, my int, sel columnar.Sel) error {
	for k := range sel.N {
		i := sel.At(k)
		v, w := x[i&mx], y[i&my]
		if w == 0 {
			if a.conf.ANSI && !a.try {
				return divideByZero(a.op)
			}
			SetNull(dst, i)
			continue
		}
		switch a.op {
		case "div":
			if w == -1 {
				out[i] = -v
				if v == -v && v != 0 && a.conf.ANSI {
					return overflowError("Overflow in integral divide", "try_divide")
				}
				continue
			}
			out[i] = v / w
		case "%":
			if w == -1 {
				out[i] = 0
				continue
			}
			out[i] = v % w
		default: // pmod
			if w == -1 {
				out[i] = 0
				continue
			}
			r := v % w
			if r < 0 {
				r = (r + w) % w
			}
			out[i] = r
		}
	}
	return nil
}

func (a arithmetic) floating(l, r Expr, t types.DataType) Expr {
	var k Kernel
	if t.Kind == types.Float {
		k = floatKernel(a, func(v *columnar.Vec) []float32 { return v.F32 })
	} else {
		k = floatKernel(a, func(v *columnar.Vec) []float64 { return v.F64 })
	}
	s := a.strict(l, r, t, k)
	switch a.op {
	case "+", "-", "*":
		s.Total = true
	default:
		s.Null = s.Null || !a.conf.ANSI
	}
	return s
}

func floatKernel[T float32 | float64](a arithmetic, get func(*columnar.Vec) []T) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		x, y, out := get(args[0]), get(args[1]), get(dst)
		mx, my := rowMask(args[0]), rowMask(args[1])
		if sel.All && mx != 0 && my == 0 {
			x, c := x[:sel.N], y[0]
			out := out[:len(x)]
			switch a.op {
			case "+":
				for i, v := range x {
					out[i] = v + c
				}
				return nil
			case "-":
				for i, v := range x {
					out[i] = v - c
				}
				return nil
			case "*":
				for i, v := range x {
					out[i] = v * c
				}
				return nil
			case "/":
				if c != 0 {
					for i, v := range x {
						out[i] = v / c
					}
					return nil
				}
			}
		}
		if sel.All && mx != 0 && my != 0 {
			x := x[:sel.N]
			y, out := y[:len(x)], out[:len(x)]
			switch a.op {
			case "+":
				for i, v := range x {
					out[i] = v + y[i]
				}
				return nil
			case "-":
				for i, v := range x {
					out[i] = v - y[i]
				}
				return nil
			case "*":
				for i, v := range x {
					out[i] = v * y[i]
				}
				return nil
			}
		}
		for k := range sel.N {
			i := sel.At(k)
			v, w := x[i&mx], y[i&my]
			switch a.op {
			case "+":
				out[i] = v + w
				continue
			case "-":
				out[i] = v - w
				continue
			case "*":
				out[i] = v * w
				continue
			}
			if w == 0 {
				if a.conf.ANSI && !a.try {
					return divideByZero(a.op)
				}
				SetNull(dst, i)
				continue
			}
			switch a.op {
			case "/":
				out[i] = v / w
			case "%":
				out[i] = T(math.Mod(float64(v), float64(w)))
			default:
				r := T(math.Mod(float64(v), float64(w)))
				if r < 0 {
					r = T(math.Mod(float64(r+w), float64(w)))
				}
				out[i] = r
			}
		}
		return nil
	}
}

// decimalResult is the type of an operation on two decimals.
func (a arithmetic) decimalResult(x, y types.DataType) types.DataType {
	p1, s1, p2, s2 := x.Precision, x.Scale, y.Precision, y.Scale
	var p, s int32
	switch a.op {
	case "+", "-":
		s = max(s1, s2)
		p = max(p1-s1, p2-s2) + s + 1
	case "*":
		p, s = p1+p2+1, s1+s2
	case "/":
		if a.conf.CutDecimals {
			i := min(38, p1-s1+s2)
			s = min(38, max(6, s1+p2+1))
			if over := i + s - 38; over > 0 {
				s -= over/2 + 1
				return types.DecimalOf(38, s)
			}
			return boundedDecimal(i+s, s)
		}
		s = max(6, s1+p2+1)
		p = p1 - s1 + s2 + s
	default:
		s = max(s1, s2)
		p = min(p1-s1, p2-s2) + s
	}
	if a.conf.CutDecimals {
		return boundedDecimal(p, s)
	}
	return adjustedDecimal(p, s)
}

func (a arithmetic) decimal(l, r Expr) Expr {
	lt, rt := l.Type(), r.Type()
	t := a.decimalResult(lt, rt)
	if a.op == "div" {
		t = types.Of(types.BigInt)
	}
	s := a.strict(l, r, t, nil)
	s.Null = s.Null || !a.conf.ANSI
	s.Fresh = func() Kernel {
		d := &decimalOp{a: a, s1: lt.Scale, s2: rt.Scale, t: t}
		return d.kernel
	}
	return s
}

// decimalOp computes an operation on decimals: in words where numbers are small, else in big numbers that
// it keeps for the next row.
type decimalOp struct {
	a       arithmetic
	s1, s2  int32
	t       types.DataType
	x, y, z big.Int
}

func (d *decimalOp) kernel(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
	x, y := args[0].Dec, args[1].Dec
	mx, my := rowMask(args[0]), rowMask(args[1])
	for k := range sel.N {
		i := sel.At(k)
		v, w := x[i&mx], y[i&my]
		switch d.a.op {
		case "/", "%", "div", "pmod":
			if w == decZero {
				if d.a.conf.ANSI && !d.a.try {
					return divideByZero(d.a.op)
				}
				SetNull(dst, i)
				continue
			}
		}
		if d.a.op == "div" {
			d.scaled(v, w)
			d.z.Quo(&d.x, &d.y)
			dst.I64[i] = d.z.Int64() // the low bits of what is longer, as Spark's
			if !d.z.IsInt64() && d.z.Sign() < 0 {
				dst.I64[i] = -int64(new(big.Int).Abs(&d.z).Uint64())
			}
			continue
		}
		n, ok := d.fast(v, w)
		if !ok {
			var scale int32
			scale, n, ok = d.slow(v, w)
			if !ok {
				if d.a.conf.ANSI && !d.a.try {
					return decimalOverflow(string(appendBigDecimal(nil, &d.z, scale)), d.t)
				}
				SetNull(dst, i)
				continue
			}
		}
		dst.Dec[i] = n
	}
	return nil
}

// fast computes with numbers of up to 63 bits; false if it cannot or the result does not fit.
func (d *decimalOp) fast(v, w decimal128.Num) (decimal128.Num, bool) {
	if !decIsInt64(v) || !decIsInt64(w) {
		return decZero, false
	}
	a, b := int64(v.LowBits()), int64(w.LowBits())
	switch d.a.op {
	case "+", "-":
		s := max(d.s1, d.s2)
		if s != d.t.Scale || s-d.s1 > 18 || s-d.s2 > 18 {
			return decZero, false
		}
		a, ok1 := mulI64(a, int64(pow10[s-d.s1].LowBits()))
		b, ok2 := mulI64(b, int64(pow10[s-d.s2].LowBits()))
		if !ok1 || !ok2 {
			return decZero, false
		}
		var ok bool
		if d.a.op == "+" {
			a, ok = addI64(a, b)
		} else {
			a, ok = subI64(a, b)
		}
		n := decimal128.FromI64(a)
		return n, ok && decFits(n, d.t.Precision)
	case "*":
		if d.s1+d.s2 != d.t.Scale {
			return decZero, false
		}
		n := decimal128.FromI64(a).Mul(decimal128.FromI64(b)) // 63 × 63 bits always fit
		return n, decFits(n, d.t.Precision)
	case "/":
		up := d.t.Scale + d.s2 - d.s1
		if up < 0 {
			return decZero, false
		}
		n, ok := decMulPow(v, up)
		if !ok {
			return decZero, false
		}
		hi, lo, neg := decAbs(n)
		div := uint64(b)
		if b < 0 {
			div, neg = -div, !neg
		}
		hi, lo, rem := div128(hi, lo, div)
		if rem >= div-rem {
			lo++
			if lo == 0 {
				hi++
			}
		}
		n = decSigned(hi, lo, neg)
		return n, decFits(n, d.t.Precision)
	}
	return decZero, false
}

// scaled reads both operands into x and y with the larger scale.
func (d *decimalOp) scaled(v, w decimal128.Num) int32 {
	decBig(&d.x, v)
	decBig(&d.y, w)
	s := max(d.s1, d.s2)
	d.x.Mul(&d.x, pow10Big[s-d.s1])
	d.y.Mul(&d.y, pow10Big[s-d.s2])
	return s
}

// slow computes exactly in big numbers and rounds to the result's scale; z holds the exact value of scale.
func (d *decimalOp) slow(v, w decimal128.Num) (scale int32, n decimal128.Num, ok bool) {
	switch d.a.op {
	case "+":
		scale = d.scaled(v, w)
		d.z.Add(&d.x, &d.y)
	case "-":
		scale = d.scaled(v, w)
		d.z.Sub(&d.x, &d.y)
	case "*":
		scale = d.s1 + d.s2
		d.z.Mul(decBig(&d.x, v), decBig(&d.y, w))
	case "/":
		// Spark divides with 39 digits of scale before it rounds.
		scale = 39
		decBig(&d.x, v)
		decBig(&d.y, w)
		up := scale + d.s2 - d.s1
		if up >= 0 {
			d.x.Mul(&d.x, pow10Big[up])
		} else {
			d.y.Mul(&d.y, pow10Big[-up])
		}
		bigDivHalfUp(&d.z, &d.x, &d.y)
	default:
		scale = d.scaled(v, w)
		d.z.Rem(&d.x, &d.y)
		if d.a.op == "pmod" && d.z.Sign() < 0 {
			d.z.Add(&d.z, &d.y)
			d.z.Rem(&d.z, &d.y)
		}
	}
	switch {
	case scale < d.t.Scale:
		d.x.Mul(&d.z, pow10Big[d.t.Scale-scale])
	case scale > d.t.Scale:
		bigDivHalfUp(&d.x, &d.z, pow10Big[scale-d.t.Scale])
	default:
		d.x.Set(&d.z)
	}
	n, ok = bigDec(&d.x, d.t.Precision)
	return scale, n, ok
}
