package expr

import (
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func mapFunctions() []Function {
	return []Function{
		fn("map(key, value, ...)", "A map of the arguments.", buildMap),
		fn("map_keys(map)", "The keys.", mapPart(0)),
		fn("map_values(map)", "The values.", mapPart(1)),
		fn("map_entries(map)", "The entries as an array of structs.", buildMapEntries),
		fn("map_contains_key(map, key)", "Whether the key is there.", buildMapContainsKey),
		fn("map_concat(map, ...)", "The entries of all maps.", buildMapConcat),
		fn("map_from_arrays(keys, values)", "A map of two arrays.", buildMapFromArrays),
		fn("map_from_entries(array)", "A map of an array of pairs.", buildMapFromEntries),
		fn("str_to_map(text[, pairDelim[, keyValueDelim]])", "A map of a text of pairs; delimiters are regular expressions.", buildStrToMap),
	}
}

// A mapMaker collects the entries of one map, checks the keys, and appends it.
type mapMaker struct {
	set     valueSet
	values  []setValue
	lastWin bool
}

func (m *mapMaker) begin(ctx *EvalContext) {
	m.set.reset()
	m.values = m.values[:0]
	m.lastWin = ctx.Conf.LastMapKeyWins
}

func (m *mapMaker) put(k *columnar.Vec, i int, v *columnar.Vec, j int) error {
	if k.IsNull(i) {
		return errs.New("NULL_MAP_KEY")
	}
	slot, hash, found := m.set.find(k, i)
	if !found {
		m.set.vals = append(m.set.vals, setValue{k, i, hash})
		m.set.slots[slot] = int32(len(m.set.vals))
		m.values = append(m.values, setValue{v: v, i: j})
		return nil
	}
	if !m.lastWin {
		return errs.New("DUPLICATED_MAP_KEY", "key", string(AppendText(nil, k, i, nil, CastStyle)), "mapKeyDedupPolicy", `"spark.sql.mapKeyDedupPolicy"`)
	}
	m.values[m.set.slots[slot]-1] = setValue{v: v, i: j}
	return nil
}

func (m *mapMaker) end(a *Appender) {
	for n, k := range m.set.vals {
		a.Kid(0).Append(k.v, k.i)
		a.Kid(1).Append(m.values[n].v, m.values[n].i)
	}
	a.End()
}

func mapScalar(name string, t types.DataType, args []Expr, text string, f func(m *mapMaker, r *row) error) *Scalar {
	s := Strict(name, t, args, text, nil)
	s.Fresh = func() Kernel {
		var m mapMaker
		return valueRows(func(r *row, a *Appender) error {
			m.begin(r.ctx)
			if err := f(&m, r); err != nil {
				return err
			}
			m.end(a)
			return nil
		})
	}
	return s
}

func buildMap(c *Call) (Expr, error) {
	if len(c.Args)%2 != 0 {
		return nil, wrongArity(c.Name, "2n (n > 0)", len(c.Args))
	}
	text := c.Text()
	var ks, vs []Expr
	for i, a := range c.Args {
		if i%2 == 0 {
			ks = append(ks, a)
		} else {
			vs = append(vs, a)
		}
	}
	kt, ok := CommonTypeAll(ks, c.Conf)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.CREATE_MAP_KEY_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", "`map`", "dataType", typeList(ks, true))
	}
	vt, ok := CommonTypeAll(vs, c.Conf)
	if !ok {
		return nil, errs.New("DATATYPE_MISMATCH.CREATE_MAP_VALUE_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", "`map`", "dataType", typeList(vs, true))
	}
	if containsKind(kt, types.Map) || containsKind(kt, types.Variant) {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE", "sqlExpr", quoted(text), "keyType", quoted(kt.SQL()))
	}
	var args []Expr
	for i := range ks {
		args = append(args, CastTo(ks[i], kt, c.Conf), CastTo(vs[i], vt, c.Conf))
	}
	s := mapScalar("map", types.MapOf(kt, vt, anyNullable(vs)), args, text, func(m *mapMaker, r *row) error {
		for k := 0; k < len(r.args); k += 2 {
			if err := m.put(r.args[k], r.i, r.args[k+1], r.i); err != nil {
				return err
			}
		}
		return nil
	})
	s.NullIfAnyNull, s.Null = false, false
	return s, nil
}

func (c *Call) needMap(text string, i int, nullToo bool) error {
	switch t := c.Args[i].Type(); {
	case t.Kind == types.Map:
		return nil
	case t.Kind == types.Null && nullToo:
		c.Args[i] = CastTo(c.Args[i], types.MapOf(tNull, tNull, true), c.Conf)
		return nil
	}
	return WrongType(text, i, `"MAP"`, c.Args[i])
}

func mapPart(part int) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if err := call.needMap(c.Text(), 0, true); err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		out := types.ArrayOf(*t.Key, false)
		if part == 1 {
			out = types.ArrayOf(*t.Elem, t.ContainsNull)
		}
		return Strict(c.Name, out, call.Args, c.Text(), valueRows(func(r *row, a *Appender) error {
			from, to := r.list(0)
			for j := from; j < to; j++ {
				a.Kid(0).Append(r.args[0].Kids[part], j)
			}
			a.End()
			return nil
		})), nil
	}
}

func buildMapEntries(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if err := call.needMap(c.Text(), 0, true); err != nil {
		return nil, err
	}
	t := call.Args[0].Type()
	out := types.ArrayOf(types.StructOf(types.Field{Name: "key", Type: *t.Key}, types.Field{Name: "value", Type: *t.Elem, Nullable: t.ContainsNull}), false)
	return Strict(c.Name, out, call.Args, c.Text(), valueRows(func(r *row, a *Appender) error {
		from, to := r.list(0)
		st := a.Kid(0)
		for j := from; j < to; j++ {
			st.Kid(0).Append(r.args[0].Kids[0], j)
			st.Kid(1).Append(r.args[0].Kids[1], j)
			st.End()
		}
		a.End()
		return nil
	})), nil
}

func buildMapContainsKey(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	t, k := c.Args[0].Type(), c.Args[1].Type()
	if k.Kind == types.Null {
		return nil, nullTypeError(c)
	}
	bad := errs.New("DATATYPE_MISMATCH.MAP_FUNCTION_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name),
		"dataType", `"MAP"`, "leftType", quoted(t.SQL()), "rightType", quoted(k.SQL()))
	if t.Kind != types.Map {
		return nil, bad
	}
	ct, ok := TightestCommonType(*t.Key, k)
	if !ok {
		return nil, bad
	}
	args := []Expr{CastTo(c.Args[0], types.MapOf(ct, *t.Elem, t.ContainsNull), c.Conf), CastTo(c.Args[1], ct, c.Conf)}
	return Strict(c.Name, tBoolean, args, c.Text(), boolRows(func(r *row) (bool, error) {
		v, from, to := r.elements(0)
		for j := from; j < to; j++ {
			if Compare(v, r.args[1], j, r.i) == 0 {
				return true, nil
			}
		}
		return false, nil
	})), nil
}

func buildMapConcat(c *Call) (Expr, error) {
	text := c.Text()
	t := types.MapOf(tString, tString, false)
	if len(c.Args) > 0 {
		var ok bool
		t, ok = CommonTypeAll(c.Args, c.Conf)
		for _, a := range c.Args {
			ok = ok && a.Type().Kind == types.Map
		}
		for _, a := range c.Args { // a text that becomes a number may be NULL, which no key is
			if ok && a.Type().Key.Kind == types.String && t.Key.Kind != types.String {
				return nil, diffTypes("map_concat", text, c.Args, false)
			}
		}
		if !ok {
			l := make([]string, len(c.Args))
			for i, a := range c.Args {
				l[i] = quoted(a.Type().SQL())
			}
			return nil, errs.New("DATATYPE_MISMATCH.MAP_CONCAT_DIFF_TYPES", "sqlExpr", quoted(text), "functionName", "`map_concat`",
				"dataType", "["+strings.Join(l, ", ")+"]")
		}
	}
	return mapScalar("map_concat", t, CastAll(c.Args, t, c.Conf), text, func(m *mapMaker, r *row) error {
		for k, v := range r.args {
			from, to := r.list(k)
			for j := from; j < to; j++ {
				if err := m.put(v.Kids[0], j, v.Kids[1], j); err != nil {
					return err
				}
			}
		}
		return nil
	}), nil
}

func buildMapFromArrays(c *Call) (Expr, error) {
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	for i := range call.Args {
		if err := call.needArray(c.Text(), i, true); err != nil {
			return nil, err
		}
	}
	k, v := call.Args[0].Type(), call.Args[1].Type()
	return mapScalar("map_from_arrays", types.MapOf(*k.Elem, *v.Elem, v.ContainsNull), call.Args, c.Text(), func(m *mapMaker, r *row) error {
		ks, from, to := r.elements(0)
		vs, from2, to2 := r.elements(1)
		if to-from != to2-from2 {
			return errs.New("_LEGACY_ERROR_TEMP_2128")
		}
		for j := range to - from {
			if err := m.put(ks, from+j, vs, from2+j); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

func buildMapFromEntries(c *Call) (Expr, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	t := c.Args[0].Type()
	if t.Kind != types.Array || t.Elem.Kind != types.Struct || len(t.Elem.Fields) != 2 {
		return nil, WrongType(c.Text(), 0, `"ARRAY" of pair "STRUCT"`, c.Args[0])
	}
	fs := t.Elem.Fields
	s := mapScalar("map_from_entries", types.MapOf(fs[0].Type, fs[1].Type, fs[1].Nullable), c.Args, c.Text(), func(m *mapMaker, r *row) error {
		v, from, to := r.elements(0)
		for j := from; j < to; j++ {
			if v.IsNull(j) {
				return errNull
			}
			p := v.Row(j)
			if err := m.put(v.Kids[0], p, v.Kids[1], p); err != nil {
				return err
			}
		}
		return nil
	})
	s.Null = s.Null || t.ContainsNull
	return s, nil
}

func buildStrToMap(c *Call) (Expr, error) {
	e, err := sig{in: "sss", min: 1, defaults: []Expr{StringLit(","), StringLit(":")}, out: types.MapOf(tString, tString, true)}.build(c)
	s, ok := e.(*Scalar)
	if !ok {
		return e, err
	}
	s.Fresh = func() Kernel {
		var m mapMaker
		pairs, colons := patterns{function: "str_to_map"}, patterns{function: "str_to_map"}
		keys, values := columnar.NewVec(tString, 0), columnar.NewVec(tString, 0)
		return valueRows(func(r *row, a *Appender) error {
			p, err := pairs.get(r.bytes(1))
			if err != nil {
				return err
			}
			q, err := colons.get(r.bytes(2))
			if err != nil {
				return err
			}
			ks, vs := NewAppender(keys), NewAppender(values)
			text, start := r.bytes(0), 0
			pair := func(s []byte) error {
				loc, err := q.first(s)
				if err != nil {
					return err
				}
				if loc == nil || loc[1] == 0 {
					ks.AppendBytes(s)
					vs.AppendNull()
				} else {
					ks.AppendBytes(s[:loc[0]])
					vs.AppendBytes(s[loc[1]:])
				}
				return nil
			}
			err = p.each(text, 0, func(loc []int) error {
				if loc[1] == 0 || loc[0] == loc[1] && loc[0] == len(text) {
					return nil
				}
				s := text[start:loc[0]]
				start = loc[1]
				return pair(s)
			})
			if err == nil {
				err = pair(text[start:])
			}
			if err != nil {
				return err
			}
			ks.Finish()
			vs.Finish()
			m.begin(r.ctx)
			for j := range keys.Len {
				if err := m.put(keys, j, values, j); err != nil {
					return err
				}
			}
			m.end(a)
			return nil
		})
	}
	return s, nil
}
