package expr

import (
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func logicFunctions() []Function {
	op := func(name, sig, doc string, hidden bool, build func(c *Call) (Expr, error)) Function {
		return Function{Name: name, Signature: sig, Doc: doc, Portable: true, Hidden: hidden, Build: build}
	}
	fs := []Function{
		op("and", "a AND b", "True if both are.", true, buildLogic),
		op("or", "a OR b", "True if one is.", true, buildLogic),
		op("not", "NOT a", "True if a is false.", true, buildNot),
		op("!", "! a", "True if a is false.", true, buildNot),
		op("isnull", "isnull(a)", "Whether a is NULL.", false, buildIsNull),
		op("isnotnull", "isnotnull(a)", "Whether a is not NULL.", false, buildIsNull),
		op("istrue", "a IS TRUE", "Whether a is true.", true, buildIsTrue),
		op("isfalse", "a IS FALSE", "Whether a is false.", true, buildIsTrue),
		op("between", "a BETWEEN low AND high", "Whether a lies in a range, ends included.", true, buildBetween),
		op("in", "a IN (b, ...)", "Whether a equals one of the others.", true, buildIn),
	}
	for _, name := range []string{"=", "==", "<=>", "<", "<=", ">", ">=", "!=", "<>"} {
		fs = append(fs, op(name, "a "+name+" b", "Compares.", true, buildComparison))
	}
	fs = append(fs, op("equal_null", "equal_null(a, b)", "Compares; NULLs are equal.", false, func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		e, err := buildComparison(&Call{Name: "<=>", Args: c.Args, Conf: c.Conf})
		if s, ok := e.(*Scalar); ok {
			s.Text = c.Text()
		}
		return e, err
	}))
	return fs
}

// boolean casts an operand of AND, OR and NOT: NULL, and strings under ANSI.
func boolean(e Expr, c Conf) (Expr, bool) {
	t := e.Type()
	if t.Kind == types.Boolean {
		return e, true
	}
	if t.Kind == types.Null || t.Kind == types.String && c.ANSI {
		return CastTo(e, types.Of(types.Boolean), c), true
	}
	return e, false
}

// textBesideText says that two operands are texts, or one is and the other NULL: only beside a BOOLEAN a text becomes one.
func textBesideText(l, r types.DataType) bool {
	return (l.Kind == types.String || l.Kind == types.Null) && (r.Kind == types.String || r.Kind == types.Null) &&
		(l.Kind == types.String || r.Kind == types.String)
}

func buildLogic(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	word, kind := "AND", LazyAnd
	if c.Name == "or" {
		word, kind = "OR", LazyOr
	}
	text := opText(word, c.Args)
	l, ok1 := boolean(c.Args[0], c.Conf)
	r, ok2 := boolean(c.Args[1], c.Conf)
	if lt, rt := c.Args[0].Type(), c.Args[1].Type(); !ok1 || !ok2 || textBesideText(lt, rt) {
		if !lt.Equal(rt) && !textBesideText(lt, rt) {
			return nil, errs.New("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "sqlExpr", quoted(text),
				"left", quoted(lt.SQL()), "right", quoted(rt.SQL()))
		}
		if lt.Kind == types.Null {
			lt = rt
		}
		return nil, errs.New("DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE", "sqlExpr", quoted(text), "inputType", `"BOOLEAN"`,
			"actualDataType", quoted(lt.SQL()))
	}
	return &Lazy{Kind: kind, Name: c.Name, Out: types.Of(types.Boolean), Null: l.Nullable() || r.Nullable(),
		Args: []Expr{l, r}, Text: text}, nil
}

func buildNot(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	text := "(NOT " + c.Args[0].String() + ")"
	a, ok := boolean(c.Args[0], c.Conf)
	if !ok {
		return nil, WrongType(text, 0, `"BOOLEAN"`, c.Args[0])
	}
	s := Strict("not", types.Of(types.Boolean), []Expr{a}, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			src := args[0].Bits
			for w := range dst.Bits {
				dst.Bits[w] = ^src[w]
			}
			return nil
		})
	s.Total = true
	return s, nil
}

func buildIsNull(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	want, text := true, "("+c.Args[0].String()+" IS NULL)"
	if c.Name == "isnotnull" {
		want, text = false, "("+c.Args[0].String()+" IS NOT NULL)"
	}
	return NewScalar(c.Name, types.Of(types.Boolean), false, c.Args, text,
		func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			a := args[0]
			switch {
			case a.Phys == columnar.PNull:
				fillBits(dst.Bits, want)
			case a.Valid == nil:
				fillBits(dst.Bits, !want)
			default:
				for w := range dst.Bits {
					if want {
						dst.Bits[w] = ^a.Valid[w]
					} else {
						dst.Bits[w] = a.Valid[w]
					}
				}
			}
			return nil
		}), nil
}

func fillBits(bits []uint64, v bool) {
	if !v {
		clear(bits)
		return
	}
	for i := range bits {
		bits[i] = ^uint64(0)
	}
}

func buildIsTrue(c *Call) (Expr, error) {
	a, ok := boolean(c.Args[0], c.Conf)
	if !ok {
		return nil, WrongType("("+c.Args[0].String()+" <=> true)", 0, `"BOOLEAN"`, c.Args[0])
	}
	return Build("<=>", []Expr{a, BoolLit(c.Name == "istrue")}, c.Conf)
}

func buildBetween(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	text := callText("between", c.Args)
	x := c.Args[0]
	side := func(op string, bound Expr) (Expr, error) {
		e, err := Build(op, []Expr{x, bound}, c.Conf)
		if err != nil { // Spark computes x once, and its errors see where it is used
			shared := NullLit(x.Type())
			shared.Text = "commonexpressionref()"
			_, err = Build(op, []Expr{shared, bound}, c.Conf)
		}
		return e, err
	}
	lo, err := side(">=", c.Args[1])
	if err != nil {
		return nil, err
	}
	hi, err := side("<=", c.Args[2])
	if err != nil {
		return nil, err
	}
	return &Lazy{Kind: LazyAnd, Name: "between", Out: types.Of(types.Boolean), Null: lo.Nullable() || hi.Nullable(),
		Args: []Expr{lo, hi}, Text: text}, nil
}

// typeList prints types as DATA_DIFF_TYPES does: ["INT", "DATE"] or ("INT" or "DATE").
func typeList(es []Expr, brackets bool) string {
	l := make([]string, len(es))
	for i, e := range es {
		l[i] = quoted(e.Type().SQL())
	}
	if brackets {
		return "[" + strings.Join(l, ", ") + "]"
	}
	return "(" + strings.Join(l, " or ") + ")"
}

// diffTypes is DATATYPE_MISMATCH.DATA_DIFF_TYPES for arguments without a common type.
func diffTypes(function, text string, es []Expr, brackets bool) error {
	return errs.New("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", "`"+function+"`",
		"dataType", typeList(es, brackets))
}

func buildIn(c *Call) (Expr, error) {
	if err := c.Arity(1, -1); err != nil {
		return nil, err
	}
	l := make([]string, 0, len(c.Args))
	for _, a := range c.Args[1:] {
		l = append(l, a.String())
	}
	text := "(" + c.Args[0].String() + " IN (" + strings.Join(l, ", ") + "))"
	t := c.Args[0].Type()
	for _, a := range c.Args[1:] {
		var ok bool
		if c.Conf.ANSI {
			t, ok = CommonType(t, a.Type())
		} else {
			t, ok = legacyInType(t, a.Type())
		}
		if !ok {
			return nil, diffTypes("in", text, c.Args, true)
		}
	}
	if !Orderable(t) {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(text), "functionName", "`in`",
			"dataType", quoted(t.SQL()))
	}
	if l, ok := c.Args[0].(*Literal); ok && l.Value.IsNull(0) && len(c.Args) > 1 { // the entries are not looked at
		return &Literal{Value: NullLit(types.Of(types.Boolean)).Value, Text: text}, nil
	}
	args := CastAll(c.Args, t, c.Conf)
	lazy := false
	for i, a := range args[1:] {
		if cast, ok := a.(*Cast); ok && Foldable(cast) {
			if l, err := Const(cast, c.Conf); err == nil && l != nil {
				l.Text = cast.String()
				args[i+1] = l
			} else {
				lazy = true // it must not fail before an earlier entry was compared
			}
		}
	}
	if lazy {
		var all Expr
		for _, a := range args[1:] {
			eq := compareExpr("=", args[0], a, "")
			if all == nil {
				all = eq
				continue
			}
			all = &Lazy{Kind: LazyOr, Name: "in", Out: types.Of(types.Boolean), Null: anyNullable(args), Args: []Expr{all, eq}, Text: text}
		}
		return all, nil
	}
	s := NewScalar("in", types.Of(types.Boolean), anyNullable(args), args, text, inKernel)
	if len(args) > 3 {
		s.Fresh = newInSet
	}
	return s, nil
}

// newInSet makes a kernel that looks values up in a set when the entries are constants of a simple type.
func newInSet() Kernel {
	var ints map[int64]struct{}
	var texts map[string]struct{}
	ready, usable, hasNull := false, false, false
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		a := args[0]
		if !ready {
			ready, usable = true, true
			ints, texts = map[int64]struct{}{}, map[string]struct{}{}
			for _, b := range args[1:] {
				switch {
				case !b.Const:
					usable = false
				case b.IsNull(0):
					hasNull = true
				case b.Phys >= columnar.PI8 && b.Phys <= columnar.PI64:
					ints[i64At(b, 0)] = struct{}{}
				case b.Phys == columnar.PBytes:
					texts[string(b.Bytes(0))] = struct{}{}
				default:
					usable = false
				}
			}
		}
		if !usable || a.Phys == columnar.PNull {
			return inKernel(ctx, dst, args, sel)
		}
		bytesLike := a.Phys == columnar.PBytes
		for k := range sel.N {
			i := sel.At(k)
			if a.IsNull(i) {
				SetNull(dst, i)
				continue
			}
			var ok bool
			if bytesLike {
				_, ok = texts[string(a.Bytes(i))]
			} else {
				_, ok = ints[i64At(a, a.Row(i))]
			}
			switch {
			case ok:
				columnar.SetBit(dst.Bits, i)
			case hasNull:
				SetNull(dst, i)
			}
		}
		return nil
	}
}

func legacyInType(a, b types.DataType) (types.DataType, bool) { return nested(a, b, legacyCommon) }

// inKernel compares the first argument with the others; NULL if none is equal and one is NULL.
func inKernel(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
	a := args[0]
	hasNull := false
	for _, b := range args[1:] {
		hasNull = hasNull || b.Const && b.IsNull(0)
	}
	for k := range sel.N {
		i := sel.At(k)
		if a.IsNull(i) {
			SetNull(dst, i)
			continue
		}
		found, null := false, hasNull
		for _, b := range args[1:] {
			if b.IsNull(i) {
				null = true
				continue
			}
			if Compare(a, b, i, i) == 0 {
				found = true
				break
			}
		}
		switch {
		case found:
			columnar.SetBit(dst.Bits, i)
		case null:
			SetNull(dst, i)
		}
	}
	return nil
}
