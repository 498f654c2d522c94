package expr

import (
	"math"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/xpath"
	"streamlab/sql/types"
)

// xpathFunctions take values out of XML texts. The path is constant; an empty path or text gives NULL.
func xpathFunctions() []Function {
	f := func(name, doc string, out types.DataType, k func(eval func(r *row) (xpath.Value, error)) Kernel) Function {
		return fn(name+"(xml, xpath)", doc, func(c *Call) (Expr, error) { return buildXPath(c, out, k) })
	}
	number := func(eval func(r *row) (xpath.Value, error)) Kernel {
		return f64Rows(func(r *row) (float64, error) {
			v, err := eval(r)
			return v.Number(), err
		})
	}
	return []Function{
		f("xpath", "The texts of the nodes that a path finds; null for elements.", tStrings, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return valueRows(func(r *row, a *Appender) error {
				v, err := eval(r)
				if err != nil {
					return err
				}
				if v.Kind != 'n' {
					return errs.New("INVALID_PARAMETER_VALUE", "parameter", "`xpath`", "functionName", "`xpath`", "expected", "a path that gives nodes")
				}
				for _, n := range v.Nodes {
					if n.Kind == xpath.Element || n.Kind == xpath.Root {
						a.Kid(0).AppendNull()
					} else {
						a.Kid(0).AppendBytes([]byte(n.Data))
					}
				}
				a.End()
				return nil
			})
		}),
		f("xpath_string", "The text of the first node that a path finds.", tString, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return bytesRows(func(r *row, dst []byte) ([]byte, error) {
				v, err := eval(r)
				if err != nil {
					return dst, err
				}
				return append(dst, v.Text()...), nil
			})
		}),
		f("xpath_boolean", "Whether a path finds a node or is true.", tBoolean, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return boolRows(func(r *row) (bool, error) {
				v, err := eval(r)
				return v.Bool(), err
			})
		}),
		f("xpath_double", "The number that a path gives; NaN if it is none.", tDouble, number),
		f("xpath_number", "The number that a path gives; NaN if it is none.", tDouble, number),
		f("xpath_float", "The number that a path gives; NaN if it is none.", tFloat, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return fixedRows(func(v *columnar.Vec) []float32 { return v.F32 }, func(r *row) (float32, error) {
				v, err := eval(r)
				return float32(v.Number()), err
			})
		}),
		f("xpath_long", "The number that a path gives without its fraction; 0 if it is none.", tBigInt, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return i64Rows(func(r *row) (int64, error) {
				v, err := eval(r)
				return saturated(v.Number()), err
			})
		}),
		f("xpath_int", "The number that a path gives without its fraction; 0 if it is none.", tInt, func(eval func(r *row) (xpath.Value, error)) Kernel {
			return i32Rows(func(r *row) (int32, error) {
				v, err := eval(r)
				return int32(min(max(saturated(v.Number()), math.MinInt32), math.MaxInt32)), err
			})
		}),
		f("xpath_short", "The number that a path gives without its fraction; 0 if it is none.", types.Of(types.SmallInt), func(eval func(r *row) (xpath.Value, error)) Kernel {
			return fixedRows(func(v *columnar.Vec) []int16 { return v.I16 }, func(r *row) (int16, error) {
				v, err := eval(r)
				return int16(min(max(saturated(v.Number()), math.MinInt32), math.MaxInt32)), err
			})
		}),
	}
}

// saturated cuts the fraction; NaN is 0 and what does not fit the nearest that does.
func saturated(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

func buildXPath(c *Call, out types.DataType, k func(eval func(r *row) (xpath.Value, error)) Kernel) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if t := c.Args[0].Type().Kind; (t == types.String || t == types.Null) && !Foldable(c.Args[1]) && c.Args[1].Type().IsAtomic() {
		return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(c.Text()), "inputName", "`path`",
			"inputType", `"STRING"`, "inputExpr", quoted(c.Args[1].String()))
	}
	for i, a := range c.Args {
		if t := a.Type().Kind; t != types.String && t != types.Null {
			return nil, WrongType(c.Text(), i, `"STRING"`, a)
		}
		call.Args[i] = CastTo(a, tString, c.Conf)
	}
	if !Foldable(c.Args[1]) {
		return nil, errs.New("DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", quoted(c.Text()), "inputName", "`path`",
			"inputType", `"STRING"`, "inputExpr", quoted(c.Args[1].String()))
	}
	name := c.Name
	s := Strict(name, out, call.Args, c.Text(), nil)
	s.Null = true
	s.Fresh = func() Kernel {
		var path *xpath.Path
		text := ""
		return k(func(r *row) (xpath.Value, error) {
			if len(r.bytes(0)) == 0 || len(r.bytes(1)) == 0 {
				return xpath.Value{}, errNull
			}
			bad := func(parameter string, err error) error {
				return errs.New("INVALID_PARAMETER_VALUE", "parameter", types.Quote(parameter), "functionName", types.Quote(name), "expected", err.Error())
			}
			if p := string(r.bytes(1)); path == nil || p != text {
				compiled, err := xpath.Compile(p)
				if err != nil {
					return xpath.Value{}, bad("xpath", err)
				}
				path, text = compiled, p
			}
			doc, err := xpath.Parse(string(r.bytes(0)))
			if err != nil {
				return xpath.Value{}, bad("xml", err)
			}
			return path.Eval(doc), nil
		})
	}
	return s, nil
}
