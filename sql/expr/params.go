package expr

import (
	"errors"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// row is one row of a kernel's arguments. Kernels get the same row again and again with another i.
type row struct {
	ctx  *EvalContext
	args []*columnar.Vec
	i    int
}

func (r *row) null(k int) bool    { return r.args[k].IsNull(r.i) }
func (r *row) bytes(k int) []byte { return r.args[k].Bytes(r.i) }
func (r *row) bool(k int) bool    { return r.args[k].Bool(r.i) }
func (r *row) i32(k int) int32    { v := r.args[k]; return v.I32[v.Row(r.i)] }
func (r *row) i64(k int) int64    { v := r.args[k]; return v.I64[v.Row(r.i)] }
func (r *row) f64(k int) float64  { v := r.args[k]; return v.F64[v.Row(r.i)] }

// list gives the bounds of a list or map in its children.
func (r *row) list(k int) (from, to int) {
	v := r.args[k]
	i := v.Row(r.i)
	return int(v.Off[i]), int(v.Off[i+1])
}

// integral is the value of any integral argument.
func (r *row) integral(k int) int64 { return integralAt(r.args[k], r.i) }

func integralAt(v *columnar.Vec, i int) int64 {
	i = v.Row(i)
	switch v.Phys {
	case columnar.PI8:
		return int64(v.I8[i])
	case columnar.PI16:
		return int64(v.I16[i])
	case columnar.PI32:
		return int64(v.I32[i])
	case columnar.PBool:
		if v.Bool(i) {
			return 1
		}
		return 0
	}
	return v.I64[i]
}

// errNull is what a row function returns to make its row null.
var errNull = errors.New("null")

// bytesRows makes a kernel of a function that appends a row's STRING or BINARY to dst.
func bytesRows(f func(r *row, dst []byte) ([]byte, error)) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		for k := range sel.N {
			r.i = sel.At(k)
			n := len(dst.Data)
			out, err := f(&r, dst.Data)
			switch err {
			case nil:
				if int64(len(out)) > maxVector {
					return tooLarge()
				}
				dst.Data = out
			case errNull:
				dst.Data = dst.Data[:n]
				SetNull(dst, r.i)
			default:
				return err
			}
			dst.Off[r.i+1] = int32(len(dst.Data))
		}
		return nil
	}
}

func fixedRows[T any](get func(*columnar.Vec) []T, f func(r *row) (T, error)) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		out := get(dst)
		for k := range sel.N {
			r.i = sel.At(k)
			x, err := f(&r)
			if err == errNull {
				SetNull(dst, r.i)
			} else if err != nil {
				return err
			}
			out[r.i] = x
		}
		return nil
	}
}

func i8Rows(f func(r *row) (int8, error)) Kernel {
	return fixedRows(func(v *columnar.Vec) []int8 { return v.I8 }, f)
}

func i32Rows(f func(r *row) (int32, error)) Kernel {
	return fixedRows(func(v *columnar.Vec) []int32 { return v.I32 }, f)
}

func i64Rows(f func(r *row) (int64, error)) Kernel {
	return fixedRows(func(v *columnar.Vec) []int64 { return v.I64 }, f)
}

func f64Rows(f func(r *row) (float64, error)) Kernel {
	return fixedRows(func(v *columnar.Vec) []float64 { return v.F64 }, f)
}

func boolRows(f func(r *row) (bool, error)) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		for k := range sel.N {
			r.i = sel.At(k)
			x, err := f(&r)
			switch {
			case err == errNull:
				SetNull(dst, r.i)
			case err != nil:
				return err
			case x:
				columnar.SetBit(dst.Bits, r.i)
			}
		}
		return nil
	}
}

// valueRows makes a kernel of a function that appends exactly one value of any type, or nothing and errNull.
func valueRows(f func(r *row, a *Appender) error) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		n := dst.Len
		a := NewAppender(dst)
		for k := range sel.N {
			r.i = sel.At(k)
			for a.Len() < r.i {
				a.AppendNull()
			}
			if err := f(&r, a); err == errNull {
				a.AppendNull()
			} else if err != nil {
				return err
			}
			if err := a.fits(); err != nil {
				return err
			}
		}
		for a.Len() < n {
			a.AppendNull()
		}
		a.Finish()
		return nil
	}
}

// fn makes an entry of the function table; the name is what stands before the bracket of the signature.
func fn(signature, doc string, build func(c *Call) (Expr, error)) Function {
	name, _, _ := strings.Cut(signature, "(")
	return Function{Name: name, Signature: signature, Doc: doc, Portable: true, Build: build}
}

// synonyms gives the function once more under other names.
func synonyms(f Function, names ...string) []Function {
	out := []Function{f}
	for _, n := range names {
		g := f
		_, rest, _ := strings.Cut(f.Signature, "(")
		g.Name, g.Signature = n, n+"("+rest
		out = append(out, g)
	}
	return out
}

// sig describes a function whose parameters each take one type. in has a letter a parameter:
//
//	s STRING  b BINARY  i INT  l BIGINT  d DOUBLE  D DATE  t TIMESTAMP  n TIMESTAMP_NTZ  B BOOLEAN
//	x STRING or BINARY, kept as it is  a any type
type sig struct {
	in       string
	min      int    // arguments needed; 0 is all
	defaults []Expr // for the arguments left out, from the last parameter backwards
	out      types.DataType
	name     string // printed instead of the function's name
	null     bool   // may be null where no argument is
	total    bool
	loose    bool // not strict: the kernel looks at nulls itself
	extra    func(c *Call) error
	k        Kernel
	fresh    func() Kernel
}

var (
	tString    = types.Of(types.String)
	tBinary    = types.Of(types.Binary)
	tInt       = types.Of(types.Int)
	tBigInt    = types.Of(types.BigInt)
	tDouble    = types.Of(types.Double)
	tBoolean   = types.Of(types.Boolean)
	tDate      = types.Of(types.Date)
	tTimestamp = types.Of(types.Timestamp)
	tNTZ       = types.Of(types.TimestampNTZ)
	tVariant   = types.Of(types.Variant)
	tNull      = types.Of(types.Null)
	tTime      = types.Of(types.Time)
	tStrings   = types.ArrayOf(tString, true)
)

func paramType(letter byte) types.DataType {
	switch letter {
	case 's':
		return tString
	case 'b':
		return tBinary
	case 'i':
		return tInt
	case 'l':
		return tBigInt
	case 'd':
		return tDouble
	case 'D':
		return tDate
	case 't':
		return tTimestamp
	case 'n':
		return tNTZ
	case 'B':
		return tBoolean
	}
	return tNull
}

// need converts argument i to a type or says that it cannot.
func (c *Call) need(text string, i int, t types.DataType) error {
	a, ok := ImplicitCast(c.Args[i], t, c.Conf)
	if !ok {
		if from := c.Args[i].Type(); from.Kind == types.Time && t.IsDatetime() { // asked for as a cast, which there is not
			return errs.New("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "sqlExpr", quoted(c.Args[i].String()),
				"srcType", quoted(from.SQL()), "targetType", quoted(t.SQL()))
		}
		return WrongType(text, i, quoted(t.SQL()), c.Args[i])
	}
	c.Args[i] = a
	return nil
}

// needText keeps BINARY and makes everything else STRING.
func (c *Call) needText(text string, i int) error {
	if k := c.Args[i].Type().Kind; k == types.String || k == types.Binary {
		return nil
	}
	a, ok := ImplicitCast(c.Args[i], tString, c.Conf)
	if !ok {
		return WrongType(text, i, `("STRING" or "BINARY")`, c.Args[i])
	}
	c.Args[i] = a
	return nil
}

// copyArgs keeps the caller's arguments as they are while the builder changes them.
func (c *Call) copyArgs() { c.Args = append([]Expr{}, c.Args...) }

// fill appends the defaults of the arguments that were left out of n.
func (c *Call) fill(n int, defaults []Expr) {
	for len(c.Args) < n {
		c.Args = append(c.Args, defaults[len(defaults)-(n-len(c.Args))])
	}
}

func (s sig) build(c *Call) (Expr, error) {
	lo := s.min
	if lo == 0 {
		lo = len(s.in)
	}
	if err := c.Arity(lo, len(s.in)); err != nil {
		return nil, err
	}
	call := *c
	c = &call
	c.copyArgs()
	if len(s.defaults) > 0 {
		c.fill(len(s.in), s.defaults)
	}
	name := c.Name
	if s.name != "" {
		name = s.name
	}
	text := callText(name, c.Args)
	if s.extra != nil {
		if err := s.extra(c); err != nil {
			return nil, err
		}
	}
	for i := range c.Args {
		switch l := s.in[i]; l {
		case 'a':
		case 'x':
			if err := c.needText(text, i); err != nil {
				return nil, err
			}
		default:
			if err := c.need(text, i, paramType(l)); err != nil {
				return nil, err
			}
		}
	}
	out := s.out
	if out.Kind == types.Null { // the type of the first argument
		out = c.Args[0].Type()
	}
	e := NewScalar(c.Name, out, s.null || anyNullable(c.Args), c.Args, text, s.k)
	e.NullIfAnyNull, e.Total, e.Fresh = !s.loose, s.total, s.fresh
	if s.name != "" {
		e.Name = s.name
	}
	return e, nil
}

// constText is the text of a constant STRING argument; ok is false if it is null or not constant.
func constText(e Expr, c Conf) (text string, ok bool) {
	l, err := Const(e, c)
	if err != nil || l == nil || l.Value.IsNull(0) || l.Value.Phys != columnar.PBytes {
		return "", false
	}
	return string(l.Value.Bytes(0)), true
}

// constInt is the value of a constant integral argument.
func constInt(e Expr, c Conf) (n int64, ok bool) {
	l, err := Const(e, c)
	if err != nil || l == nil || l.Value.IsNull(0) || !l.Value.Type.IsIntegral() {
		return 0, false
	}
	return integralAt(l.Value, 0), true
}

// upperName prints the function in upper case, as Spark does for its mathematical functions.
func upperName(e Expr, err error) (Expr, error) {
	if s, ok := e.(*Scalar); ok {
		name, rest, _ := strings.Cut(s.Text, "(")
		s.Text = strings.ToUpper(name) + "(" + rest
	}
	return e, err
}
