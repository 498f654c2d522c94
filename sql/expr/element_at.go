package expr

import (
	"fmt"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func elementSearch(contains bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		text := c.Text()
		a, e := c.Args[0].Type(), c.Args[1].Type()
		if a.Kind == types.Null || e.Kind == types.Null {
			if !contains && a.Kind != types.Null {
				return Strict(c.Name, tBigInt, call.Args, text, i64Rows(func(r *row) (int64, error) { return 0, errNull })), nil
			}
			return nil, nullTypeError(c)
		}
		if err := call.needArray(text, 0, false); err != nil {
			return nil, err
		}
		if err := call.sameElement(1); err != nil {
			return nil, err
		}
		if t := call.Args[0].Type(); !Orderable(t) {
			return nil, invalidOrdering(c, text, *t.Elem)
		}
		if !contains {
			return Strict("array_position", tBigInt, call.Args, text, i64Rows(func(r *row) (int64, error) {
				v, from, to := r.elements(0)
				for j := from; j < to; j++ {
					if !v.IsNull(j) && Compare(v, r.args[1], j, r.i) == 0 {
						return int64(j-from) + 1, nil
					}
				}
				return 0, nil
			})), nil
		}
		s := Strict("array_contains", tBoolean, call.Args, text, boolRows(func(r *row) (bool, error) {
			v, from, to := r.elements(0)
			null := false
			for j := from; j < to; j++ {
				if v.IsNull(j) {
					null = true
				} else if Compare(v, r.args[1], j, r.i) == 0 {
					return true, nil
				}
			}
			if null {
				return false, errNull
			}
			return false, nil
		}))
		s.Null = s.Null || a.ContainsNull
		return s, nil
	}
}

func sizeBuilder(maps bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		t := c.Args[0].Type()
		if !maps || t.Kind == types.Null {
			if err := call.needArray(c.Text(), 0, true); err != nil {
				return nil, err
			}
		} else if t.Kind != types.Array && t.Kind != types.Map {
			return nil, WrongType(c.Text(), 0, `("ARRAY" or "MAP")`, c.Args[0])
		}
		legacy := maps && !c.Conf.ANSI
		e := NewScalar(c.Name, tInt, !legacy && c.Args[0].Nullable(), call.Args, c.Text(), i32Rows(func(r *row) (int32, error) {
			if r.null(0) {
				if legacy {
					return -1, nil
				}
				return 0, errNull
			}
			from, to := r.list(0)
			return int32(to - from), nil
		}))
		if legacy {
			e.Extra = "legacy"
		}
		return e, nil
	}
}

func elementAtBuilder(try bool) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		text := c.Text()
		t := c.Args[0].Type()
		switch t.Kind {
		case types.Map:
			to, ok := TightestCommonType(*t.Key, c.Args[1].Type())
			if key := CastTo(c.Args[1], *t.Key, c.Conf); ok && to.Equal(*t.Key) || t.Key.Kind == types.Null && c.Args[1].Type().Kind != types.Null {
				return mapItem(c.Args[0], key, text), nil
			}
			key, ok := ImplicitCast(c.Args[1], *t.Key, c.Conf)
			if !ok || (t.Key.Kind == types.String) != (c.Args[1].Type().Kind == types.String) {
				return nil, errs.New("DATATYPE_MISMATCH.MAP_FUNCTION_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", types.Quote(c.Name),
					"dataType", `"MAP"`, "leftType", quoted(t.SQL()), "rightType", quoted(c.Args[1].Type().SQL()))
			}
			return mapItem(c.Args[0], key, text), nil
		case types.Array:
		default:
			return nil, WrongType(text, 0, `("ARRAY" or "MAP")`, c.Args[0])
		}
		if k := c.Args[1].Type(); !k.IsIntegral() || k.Kind == types.BigInt {
			return nil, WrongType(text, 1, `"INT"`, c.Args[1])
		}
		ansi := c.Conf.ANSI && !try
		s := arrayIndex(c.Name, c.Args[0], CastTo(c.Args[1], tInt, c.Conf), text, func(j, n int64) (int64, error) {
			switch {
			case j == 0:
				return 0, errs.New("INVALID_INDEX_OF_ZERO")
			case j > n || j < -n:
				if ansi {
					return 0, errs.New("INVALID_ARRAY_INDEX_IN_ELEMENT_AT", "indexValue", j, "arraySize", n)
				}
				return -1, nil
			case j < 0:
				return n + j, nil
			}
			return j - 1, nil
		})
		s.Extra = fmt.Sprint(ansi)
		return s, nil
	}
}

func buildGet(c *Call) (Expr, error) {
	call, err := c.ofArray(2, 2, false)
	if err != nil {
		return nil, err
	}
	if err := call.need(c.Text(), 1, tInt); err != nil {
		return nil, err
	}
	return arrayIndex("get", call.Args[0], call.Args[1], c.Text(), func(j, n int64) (int64, error) {
		if j < 0 || j >= n {
			return -1, nil
		}
		return j, nil
	}), nil
}

// arrayIndex picks an element; at maps an index and the array's size to the place from 0, or -1 for null.
func arrayIndex(name string, a, index Expr, text string, at func(j, n int64) (int64, error)) *Scalar {
	s := NewScalar(name, *a.Type().Elem, true, []Expr{a, index}, text, nil)
	s.NullIfAnyNull = true
	s.Fresh = func() Kernel {
		var idx []int32
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			a, ix := args[0], args[1]
			idx = resetIndex(idx, dst.Len)
			for k := range sel.N {
				i := sel.At(k)
				r := a.Row(i)
				j, err := at(i64At(ix, ix.Row(i)), int64(a.Off[r+1]-a.Off[r]))
				if err != nil {
					return err
				}
				if j >= 0 {
					idx[i] = a.Off[r] + int32(j)
				}
			}
			pickRows(dst, a.Kids[0], idx)
			return nil
		}
	}
	return s
}
