package expr

import (
	"encoding/hex"
	"fmt"
	"math"
	"os/user"
	"strings"
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func miscFunctions() []Function {
	constant := func(text, value string) func(c *Call) (Expr, error) {
		return func(c *Call) (Expr, error) {
			if err := c.Arity(0, 0); err != nil {
				return nil, err
			}
			l := StringLit(value)
			l.Text = text
			if text == "" {
				l.Text = c.Text()
			}
			return l, nil
		}
	}
	who := "user"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	out := []Function{
		fn("typeof(expr)", "Name of the argument's type.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			name := c.Args[0].Type().Simple()
			if !aggregates(c.Args[0]) { // not evaluated, so it cannot fail
				l := StringLit(name)
				l.Text = c.Text()
				return l, nil
			}
			// The argument stays below: typeof(sum(x)) is still an aggregation.
			return NewScalar("typeof", tString, false, c.Args, c.Text(), func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				for k := range sel.N {
					dst.Data = append(dst.Data, name...)
					dst.Off[sel.At(k)+1] = int32(len(dst.Data))
				}
				return nil
			}), nil
		}),
		fn("version()", "The version of Spark whose behaviour this is.", constant("", "4.2.0 streamlab")),
		fn("current_user()", "Name of the user.", constant("", who)),
		fn("user()", "Name of the user.", constant("current_user()", who)),
		fn("session_user()", "Name of the user.", constant("", who)),
		fn("current_catalog()", "Name of the catalog.", constant("", "spark_catalog")),
		fn("current_schema()", "Name of the schema.", constant("", "default")),
		fn("current_database()", "Name of the schema.", constant("current_schema()", "default")),
		fn("input_file_name()", "The file a row came from, '' if none.", constant("", "")),
		fn("input_file_block_start()", "Where the block of the file that a row came from begins, -1 if none.", noBlock),
		fn("input_file_block_length()", "Length of the block of the file that a row came from, -1 if none.", noBlock),
		fn("current_path()", "The schemas in which names are looked for.", constant("", "system.builtin,system.session,spark_catalog.default")),
		fn("is_valid_variant(v)", "Whether a VARIANT is well-formed; here each one is.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			if err := wantVariant(c, 0); err != nil {
				return nil, err
			}
			return Strict("is_valid_variant", tBoolean, c.Args, c.Text(), boolRows(func(*row) (bool, error) { return true, nil })), nil
		}),
		fn("assert_true(cond[, message])", "Null, or an error if the condition is not true.", buildAssertTrue),
		fn("raise_error(message)", "An error.", func(c *Call) (Expr, error) {
			if err := c.Arity(1, 1); err != nil {
				return nil, err
			}
			call := *c
			call.copyArgs()
			if err := call.need(c.Text(), 0, tString); err != nil {
				return nil, err
			}
			text := "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, " + c.Args[0].String() + "))"
			s := NewScalar("raise_error", tNull, true, call.Args, text, effectRows(func(r *row) error {
				if r.null(0) {
					return raised("null")
				}
				return raised(string(r.bytes(0)))
			}))
			s.Effect = true
			return s, nil
		}),
		fn("monotonically_increasing_id()", "A number that grows from row to row, unique among partitions.", counted("monotonically_increasing_id", tBigInt, "",
			i64Rows(func(r *row) (int64, error) { return int64(r.ctx.Task.Partition)<<33 + r.ctx.Base + int64(r.i), nil }))),
		fn("spark_partition_id()", "Number of the partition.", counted("spark_partition_id", tInt, "SPARK_PARTITION_ID()",
			i32Rows(func(r *row) (int32, error) { return int32(r.ctx.Task.Partition), nil }))),
		fn("uuid()", "A random UUID.", func(c *Call) (Expr, error) {
			if err := c.Arity(0, 1); err != nil {
				return nil, err
			}
			return randomCall(c, "uuid", tString, "uuid()", 0, func(g randomRow) Kernel {
				return bytesRows(func(r *row, dst []byte) ([]byte, error) {
					a, b := g.at(r, 0), g.at(r, 1)
					a = a&^0xf000 | 0x4000
					b = b&^(3<<62) | 1<<63
					var raw [16]byte
					for i := range 8 {
						raw[i], raw[8+i] = byte(a>>(56-8*i)), byte(b>>(56-8*i))
					}
					for i, part := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
						if i > 0 {
							dst = append(dst, '-')
						}
						dst = hex.AppendEncode(dst, raw[part[0]:part[1]])
					}
					return dst, nil
				})
			})
		}),
		fn("randn([seed])", "A random number of the standard normal distribution.", randomDouble(func(g randomRow, r *row) float64 {
			u := 1 - unitFloat(g.at(r, 0))
			return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*unitFloat(g.at(r, 1)))
		})),
		fn("uniform(min, max[, seed])", "A random number between two.", buildUniform),
		fn("randstr(length[, seed])", "A random text of letters and digits.", buildRandStr),
	}
	return append(out, synonyms(fn("rand([seed])", "A random number from 0 to below 1.", randomDouble(func(g randomRow, r *row) float64 {
		return unitFloat(g.at(r, 0))
	})), "random")...)
}

// effectRows is a kernel that only may fail; its rows stay null.
func effectRows(f func(r *row) error) Kernel {
	return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		r := row{ctx: ctx, args: args}
		for k := range sel.N {
			r.i = sel.At(k)
			if err := f(&r); err != nil {
				return err
			}
		}
		return nil
	}
}

func raised(message string) error {
	return errs.New("USER_RAISED_EXCEPTION", "errorMessage", message)
}

func buildAssertTrue(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	call.fill(2, []Expr{StringLit("'" + c.Args[0].String() + "' is not true!")})
	text := call.Text()
	raise := "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, " + call.Args[1].String() + "))"
	if k := c.Args[0].Type().Kind; k != types.Boolean && k != types.Null { // the condition of an IF
		return nil, WrongType("(IF("+c.Args[0].String()+", NULL, "+raise+"))", 0, `"BOOLEAN"`, c.Args[0])
	}
	if err := call.need(text, 0, tBoolean); err != nil {
		return nil, err
	}
	if err := call.need(text, 1, tString); err != nil {
		m := call.Args[1]
		return nil, errs.New("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", quoted(raise), "paramIndex", "second",
			"requiredType", `"MAP<STRING, STRING>"`, "inputSql", quoted("map(errorMessage, "+m.String()+")"),
			"inputType", quoted(types.MapOf(tString, m.Type(), true).SQL()))
	}
	s := NewScalar("assert_true", tNull, true, call.Args, text, effectRows(func(r *row) error {
		if !r.null(0) && r.bool(0) {
			return nil
		}
		if r.null(1) {
			return raised("null")
		}
		return raised(string(r.bytes(1)))
	}))
	s.Effect = true
	return s, nil
}

// counted is a function of the row's number.
func counted(name string, t types.DataType, text string, k Kernel) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(0, 0); err != nil {
			return nil, err
		}
		s := NewScalar(name, t, false, nil, text, k)
		s.Nondeterministic = true
		return s, nil
	}
}

// randomRow gives random words by seed, partition and row, so that a batch computed again gives the same.
type randomRow struct {
	seed  int64
	given bool // by the user; else the task's is mixed in
}

func (g randomRow) at(r *row, n uint64) uint64 {
	x := uint64(g.seed) * xxPrime1
	if !g.given {
		x += uint64(r.ctx.Task.Seed) * xxPrime3
	}
	x += uint64(r.ctx.Task.Partition) * xxPrime2
	x ^= uint64(r.ctx.Base+int64(r.i)) * xxPrime4
	x += n * xxPrime5
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func unitFloat(x uint64) float64 { return float64(x>>11) / (1 << 53) }

var randomCalls atomic.Int64

// randomCall makes a random function whose seed, if given, is the argument after the first n.
func randomCall(c *Call, name string, t types.DataType, text string, n int, kernel func(g randomRow) Kernel) (Expr, error) {
	g := randomRow{seed: randomCalls.Add(1)}
	if len(c.Args) > n {
		l, err := Const(c.Args[n], c.Conf)
		if err != nil {
			return nil, err
		}
		switch {
		case l == nil && n == 0: // rand and randn
			return nil, errs.New("SEED_EXPRESSION_IS_UNFOLDABLE", "exprWithSeed", quoted(c.Text()), "seedExpr", quoted(c.Args[n].String()))
		case l == nil:
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(c.Text()), "inputName", "`seed`",
				"inputType", `("INT" or "BIGINT")`, "inputExpr", quoted(c.Args[n].String()))
		case l.Value.IsNull(0):
			g = randomRow{given: true}
		case l.Type().IsIntegral():
			g = randomRow{seed: integralAt(l.Value, 0), given: true}
		default:
			return nil, WrongType(c.Text(), n, `("INT" or "BIGINT")`, c.Args[n])
		}
	}
	s := NewScalar(name, t, false, nil, text, kernel(g))
	s.Nondeterministic, s.Extra = true, fmt.Sprint(g)
	return s, nil
}

func randomDouble(f func(g randomRow, r *row) float64) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(0, 1); err != nil {
			return nil, err
		}
		return randomCall(c, c.Name, tDouble, strings.Replace(c.Text(), "random(", "rand(", 1), 0, func(g randomRow) Kernel {
			return f64Rows(func(r *row) (float64, error) { return f(g, r), nil })
		})
	}
}

func buildUniform(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	text := c.Text()
	var bounds [2]*Literal
	t := types.Of(types.Int)
	for i := range bounds {
		l, err := Const(c.Args[i], c.Conf)
		if err != nil {
			return nil, err
		}
		if l == nil && c.Args[i].Type().IsNumeric() {
			return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(text), "inputName", [...]string{"`min`", "`max`"}[i],
				"inputType", "integer or floating-point", "inputExpr", quoted(c.Args[i].String()))
		}
		if l == nil || !l.Type().IsNumeric() && l.Type().Kind != types.Null {
			return nil, WrongType(text, i, `"NUMERIC"`, c.Args[i])
		}
		if i == 0 {
			t = l.Type()
		} else if u, ok := TightestCommonType(t, l.Type()); ok {
			t = u
		}
		bounds[i] = l
	}
	var lo, hi float64
	for i, p := range [...]*float64{&lo, &hi} {
		l, err := Const(CastTo(bounds[i], tDouble, c.Conf), c.Conf)
		if err != nil {
			return nil, err
		}
		if l.Value.IsNull(0) {
			return &Literal{Value: NullLit(t).Value, Text: text}, nil
		}
		*p = l.Value.F64[0]
	}
	if hi < lo {
		lo, hi = hi, lo
	}
	e, err := randomCall(c, "uniform", tDouble, text, 2, func(g randomRow) Kernel {
		return f64Rows(func(r *row) (float64, error) { return lo + unitFloat(g.at(r, 0))*(hi-lo), nil })
	})
	if err != nil || t.Kind == types.Double {
		return e, err
	}
	return CastTo(e, t, Conf{}), nil
}

func buildRandStr(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	n, ok := constInt(c.Args[0], c.Conf)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(c.Text()), "inputName", "`length`",
			"inputType", "integer", "inputExpr", quoted(c.Args[0].String()))
	}
	if n < 0 {
		return nil, errs.New("INVALID_PARAMETER_VALUE.LENGTH", "functionName", "`randstr`", "parameter", "`length`", "length", n)
	}
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return randomCall(c, "randstr", tString, c.Text(), 1, func(g randomRow) Kernel {
		return bytesRows(func(r *row, dst []byte) ([]byte, error) {
			if err := fitsText(int64(len(dst)) + int64(n)); err != nil {
				return dst, err
			}
			for k := range uint64(n) {
				dst = append(dst, alphabet[g.at(r, k)%uint64(len(alphabet))])
			}
			return dst, nil
		})
	})
}

// noBlock is what functions about the block of a file give where no file is read.
func noBlock(c *Call) (Expr, error) {
	if err := c.Arity(0, 0); err != nil {
		return nil, err
	}
	l := BigIntLit(-1)
	l.Text = c.Text()
	return l, nil
}
