package expr

import (
	"fmt"

	"streamlab/errs"
	"streamlab/sql/types"
)

// elementBuilder is for functions of an array and an element that give an array. strict ones are null where
// the element is.
func elementBuilder(name, strict string, f func(r *row, a *Appender) error) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		call, err := c.ofArray(2, 2, false)
		if err != nil {
			return nil, err
		}
		if err := call.sameElement(1); err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		if strict != "" {
			return Strict(name, t, call.Args, c.Text(), valueRows(f)), nil
		}
		t = types.ArrayOf(*t.Elem, t.ContainsNull || call.Args[1].Nullable())
		return NewScalar(name, t, call.Args[0].Nullable(), call.Args, c.Text(), valueRows(f)), nil
	}
}

func buildArrayInsert(c *Call) (Expr, error) {
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := c.Text()
	if c.Args[0].Type().Kind != types.Array {
		return nil, c.diffElement(2)
	}
	if k := c.Args[1].Type(); !k.IsIntegral() {
		return nil, WrongType(text, 1, `"INT"`, c.Args[1])
	}
	call.Args[1] = CastTo(c.Args[1], tInt, c.Conf)
	if err := call.sameElement(2); err != nil {
		return nil, err
	}
	t := types.ArrayOf(*call.Args[0].Type().Elem, true)
	return NewScalar("array_insert", t, call.Args[0].Nullable() || call.Args[1].Nullable(), call.Args, text, valueRows(func(r *row, a *Appender) error {
		if r.null(0) || r.null(1) {
			return errNull
		}
		v, from, to := r.elements(0)
		n, pos := to-from, int(r.i32(1))
		kid := a.Kid(0)
		put := func() { kid.Append(r.args[2], r.i) }
		switch {
		case pos == 0:
			return errs.New("INVALID_INDEX_OF_ZERO")
		case pos > 0:
			for j := range max(n, pos-1) {
				if j == pos-1 {
					put()
				}
				if j < n {
					kid.Append(v, from+j)
				} else {
					kid.AppendNull()
				}
			}
			if pos-1 >= n {
				put()
			}
		case -pos > n+1:
			put()
			for range -pos - n - 1 {
				kid.AppendNull()
			}
			appendElements(a, r, 0)
		default:
			at := n + pos + 1
			for j := range n {
				if j == at {
					put()
				}
				kid.Append(v, from+j)
			}
			if at == n {
				put()
			}
		}
		a.End()
		return nil
	})), nil
}

// arrayToArray is for functions of one array that give an array of the same type.
func arrayToArray(compact bool, f func(r *row, a *Appender) error) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		call, err := c.ofArray(1, 1, true)
		if err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		if compact {
			t = types.ArrayOf(*t.Elem, false)
		}
		var k Kernel
		if f != nil {
			k = valueRows(f)
		}
		return Strict(c.Name, t, call.Args, c.Text(), k), nil
	}
}

func buildArrayJoin(c *Call) (Expr, error) {
	call, err := c.ofArray(2, 3, true)
	if err != nil {
		return nil, err
	}
	text := c.Text()
	t := call.Args[0].Type()
	if !t.Elem.IsAtomic() && t.Elem.Kind != types.Null {
		return nil, WrongType(text, 0, `"ARRAY<STRING>"`, call.Args[0])
	}
	call.Args[0] = CastTo(call.Args[0], types.ArrayOf(tString, t.ContainsNull), c.Conf)
	for i := 1; i < len(call.Args); i++ {
		if err := call.need(text, i, tString); err != nil {
			return nil, err
		}
	}
	return Strict("array_join", tString, call.Args, text, bytesRows(func(r *row, dst []byte) ([]byte, error) {
		v, from, to := r.elements(0)
		first := true
		for j := from; j < to; j++ {
			null := v.IsNull(j)
			if null && len(r.args) < 3 {
				continue
			}
			if !first {
				dst = append(dst, r.bytes(1)...)
			}
			first = false
			if err := fitsText(int64(len(dst))); err != nil {
				return dst, err
			}
			if null {
				dst = append(dst, r.bytes(2)...)
			} else {
				dst = append(dst, v.Bytes(j)...)
			}
		}
		return dst, nil
	})), nil
}

func buildFlatten(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	if t.Kind != types.Array || t.Elem.Kind != types.Array {
		return nil, WrongType(c.Text(), 0, `"ARRAY" of "ARRAY"`, c.Args[0])
	}
	s := Strict("flatten", *t.Elem, c.Args, "", valueRows(func(r *row, a *Appender) error {
		v, from, to := r.elements(0)
		for j := from; j < to; j++ {
			if v.IsNull(j) {
				return errNull
			}
		}
		for j := from; j < to; j++ {
			p := v.Row(j)
			for q := v.Off[p]; q < v.Off[p+1]; q++ {
				a.Kid(0).Append(v.Kids[0], int(q))
			}
		}
		a.End()
		return nil
	}))
	s.Null = s.Null || t.ContainsNull
	return s, nil
}

func buildSlice(c *Call) (Expr, error) {
	call, err := c.ofArray(3, 3, true)
	if err != nil {
		return nil, err
	}
	text := c.Text()
	for i := 1; i < 3; i++ {
		if err := call.need(text, i, tInt); err != nil {
			return nil, err
		}
	}
	return Strict("slice", call.Args[0].Type(), call.Args, text, valueRows(func(r *row, a *Appender) error {
		v, from, to := r.elements(0)
		start, n := int(r.i32(1)), int(r.i32(2))
		switch {
		case start == 0:
			return errs.New("INVALID_PARAMETER_VALUE.START", "functionName", "`slice`", "parameter", "`start`")
		case n < 0:
			return errs.New("INVALID_PARAMETER_VALUE.LENGTH", "functionName", "`slice`", "parameter", "`length`", "length", n)
		case start < 0:
			start += to - from
		default:
			start--
		}
		if start >= 0 {
			for j := from + start; j < to && j < from+start+n; j++ {
				a.Kid(0).Append(v, j)
			}
		}
		a.End()
		return nil
	})), nil
}

func buildShuffle(c *Call) (Expr, error) {
	call, err := c.ofArray(1, 2, true)
	if err != nil {
		return nil, err
	}
	arr := call.Args[0]
	e, err := randomCall(c, "shuffle", arr.Type(), callText("shuffle", c.Args[:1]), 1, func(g randomRow) Kernel {
		var idx []int32
		return valueRows(func(r *row, a *Appender) error {
			v, from, to := r.elements(0)
			idx = idx[:0]
			for j := from; j < to; j++ {
				idx = append(idx, int32(j))
			}
			for j := len(idx) - 1; j > 0; j-- {
				k := int(g.at(r, uint64(j)) % uint64(j+1))
				idx[j], idx[k] = idx[k], idx[j]
			}
			for _, j := range idx {
				a.Kid(0).Append(v, int(j))
			}
			a.End()
			return nil
		})
	})
	if s, ok := e.(*Scalar); ok {
		s.Args, s.NullIfAnyNull, s.Null = []Expr{arr}, true, arr.Nullable()
	}
	return e, err
}

func buildArraysZip(c *Call) (Expr, error) {
	call := *c
	call.copyArgs()
	text := c.Text()
	fields := make([]types.Field, len(call.Args))
	for i := range call.Args {
		if err := call.needArray(text, i, true); err != nil {
			return nil, err
		}
		n := nameOf(c.Args[i])
		if n == "" {
			n = fmt.Sprint(i)
		}
		fields[i] = types.Field{Name: n, Type: *call.Args[i].Type().Elem, Nullable: true}
	}
	s := Strict("arrays_zip", types.ArrayOf(types.StructOf(fields...), false), call.Args, text, valueRows(func(r *row, a *Appender) error {
		n := 0
		for k := range r.args {
			from, to := r.list(k)
			n = max(n, to-from)
		}
		st := a.Kid(0)
		for j := range n {
			for k := range r.args {
				v, from, to := r.elements(k)
				if from+j < to {
					st.Kid(k).Append(v, from+j)
				} else {
					st.Kid(k).AppendNull()
				}
			}
			st.End()
		}
		a.End()
		return nil
	}))
	s.Extra = types.Schema(fields).DDL()
	return s, nil
}
