package expr

import (
	"fmt"
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func collectionFunctions() []Function {
	var out []Function
	add := func(f Function, names ...string) { out = append(out, synonyms(f, names...)...) }
	add(fn("array(expr, ...)", "An array of the arguments.", buildArray))
	add(fn("array_contains(array, value)", "Whether the value is in the array; null if not found and a null is there.", elementSearch(true)))
	add(fn("array_position(array, element)", "Position of the first such element, 0 if there is none.", elementSearch(false)))
	add(fn("array_remove(array, element)", "The array without such elements.", elementBuilder("array_remove", "UNEXPECTED", func(r *row, a *Appender) error {
		v, from, to := r.elements(0)
		for j := from; j < to; j++ {
			if v.IsNull(j) || Compare(v, r.args[1], j, r.i) != 0 {
				a.Kid(0).Append(v, j)
			}
		}
		a.End()
		return nil
	})))
	add(fn("array_append(array, element)", "The array with an element added.", elementBuilder("array_append", "", func(r *row, a *Appender) error {
		if r.null(0) {
			return errNull
		}
		appendElements(a, r, 0)
		a.Kid(0).Append(r.args[1], r.i)
		a.End()
		return nil
	})))
	add(fn("array_prepend(array, element)", "The array with an element in front.", elementBuilder("array_prepend", "", func(r *row, a *Appender) error {
		if r.null(0) {
			return errNull
		}
		a.Kid(0).Append(r.args[1], r.i)
		appendElements(a, r, 0)
		a.End()
		return nil
	})))
	add(fn("array_insert(array, pos, element)", "The array with an element put at a position.", buildArrayInsert))
	add(fn("array_compact(array)", "The array without nulls.", arrayToArray(true, func(r *row, a *Appender) error {
		v, from, to := r.elements(0)
		for j := from; j < to; j++ {
			if !v.IsNull(j) {
				a.Kid(0).Append(v, j)
			}
		}
		a.End()
		return nil
	})))
	add(fn("array_distinct(array)", "The elements without repetitions.", func(c *Call) (Expr, error) {
		e, err := arrayToArray(false, nil)(c)
		if s, ok := e.(*Scalar); ok {
			s.Kernel = nil
			s.Fresh = func() Kernel {
				var set valueSet
				return valueRows(func(r *row, a *Appender) error {
					set.reset()
					v, from, to := r.elements(0)
					for j := from; j < to; j++ {
						if set.add(v, j) {
							a.Kid(0).Append(v, j)
						}
					}
					a.End()
					return nil
				})
			}
		}
		return e, err
	}))
	add(fn("array_union(array1, array2)", "The elements of both without repetitions.", setBuilder("array_union")))
	add(fn("array_intersect(array1, array2)", "The elements that are in both, without repetitions.", setBuilder("array_intersect")))
	add(fn("array_except(array1, array2)", "The elements of the first that are not in the second, without repetitions.", setBuilder("array_except")))
	add(fn("arrays_overlap(array1, array2)", "Whether a non-null element is in both.", setBuilder("arrays_overlap")))
	add(fn("array_max(array)", "The greatest element.", extremeBuilder(1)))
	add(fn("array_min(array)", "The least element.", extremeBuilder(-1)))
	add(fn("sort_array(array[, ascending])", "Sorted; nulls first, or last when descending.", buildSortArray))
	add(fn("array_join(array, delimiter[, nullReplacement])", "The elements as one text; nulls are skipped or replaced.", buildArrayJoin))
	add(fn("array_repeat(element, count)", "The element count times.", func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if err := call.need(c.Text(), 1, tInt); err != nil {
			return nil, err
		}
		t := types.ArrayOf(c.Args[0].Type(), c.Args[0].Nullable())
		return NewScalar("array_repeat", t, c.Args[1].Nullable(), call.Args, c.Text(), valueRows(func(r *row, a *Appender) error {
			if r.null(1) {
				return errNull
			}
			n := max(0, r.i32(1))
			if err := fitsArray("array_repeat", uint64(n)); err != nil {
				return err
			}
			for k := range n {
				if k%checkEvery == 0 {
					if err := a.fits(); err != nil {
						return err
					}
				}
				a.Kid(0).Append(r.args[0], r.i)
			}
			a.End()
			return nil
		})), nil
	}))
	add(fn("flatten(array)", "The elements of the arrays in an array.", buildFlatten))
	add(fn("slice(array, start, length)", "length elements from start on, counted from 1 or from the end.", buildSlice))
	add(fn("shuffle(array[, seed])", "The elements in random order.", buildShuffle))
	add(fn("sequence(start, stop[, step])", "The values from start to stop.", buildSequence))
	add(fn("arrays_zip(array1, ...)", "An array of structs of the n-th elements.", buildArraysZip))
	add(fn("size(expr)", "Number of elements of an array or map.", sizeBuilder(true)), "cardinality")
	add(fn("array_size(array)", "Number of elements.", sizeBuilder(false)))
	add(fn("element_at(collection, key)", "The element at a position from 1, or the value of a key.", elementAtBuilder(false)))
	add(fn("try_element_at(collection, key)", "As element_at, null where the array is too short.", elementAtBuilder(true)))
	add(fn("get(array, index)", "The element at an index from 0, null outside.", buildGet))
	add(fn("struct(expr, ...)", "A struct of the arguments.", buildStruct))
	add(fn("named_struct(name, value, ...)", "A struct of names and values.", buildNamedStruct))
	return out
}

// elements is the children of a list argument and the bounds of the row in them.
func (r *row) elements(k int) (v *columnar.Vec, from, to int) {
	from, to = r.list(k)
	return r.args[k].Kids[0], from, to
}

func appendElements(a *Appender, r *row, k int) {
	v, from, to := r.elements(k)
	for j := from; j < to; j++ {
		a.Kid(0).Append(v, j)
	}
}

// A valueSet holds values of vectors by place, for one row at a time.
type valueSet struct {
	slots []int32 // of an open table: index into vals + 1
	vals  []setValue
}

type setValue struct {
	v    *columnar.Vec
	i    int
	hash uint64
}

func (s *valueSet) reset() {
	clear(s.slots)
	s.vals = s.vals[:0]
}

func (s *valueSet) find(v *columnar.Vec, i int) (slot int, hash uint64, found bool) {
	if len(s.slots) < 2*(len(s.vals)+1) {
		s.slots = make([]int32, max(16, 2*len(s.slots)))
		for k, x := range s.vals {
			j := int(x.hash) & (len(s.slots) - 1)
			for s.slots[j] != 0 {
				j = (j + 1) & (len(s.slots) - 1)
			}
			s.slots[j] = int32(k + 1)
		}
	}
	hash = XXHash64(v, i, 42)
	for slot = int(hash) & (len(s.slots) - 1); s.slots[slot] != 0; slot = (slot + 1) & (len(s.slots) - 1) {
		x := s.vals[s.slots[slot]-1]
		if x.hash == hash && Compare(x.v, v, x.i, i) == 0 {
			return slot, hash, true
		}
	}
	return slot, hash, false
}

// add reports whether the value is new.
func (s *valueSet) add(v *columnar.Vec, i int) bool {
	slot, hash, found := s.find(v, i)
	if found {
		return false
	}
	s.vals = append(s.vals, setValue{v, i, hash})
	s.slots[slot] = int32(len(s.vals))
	return true
}

func (s *valueSet) has(v *columnar.Vec, i int) bool {
	_, _, found := s.find(v, i)
	return found
}

func buildArray(c *Call) (Expr, error) {
	t, ok := CommonTypeAll(c.Args, c.Conf)
	if !ok {
		return nil, diffTypes("array", c.Text(), c.Args, false)
	}
	args := CastAll(c.Args, t, c.Conf)
	return NewScalar("array", types.ArrayOf(t, anyNullable(args)), false, args, c.Text(), valueRows(func(r *row, a *Appender) error {
		for _, v := range r.args {
			a.Kid(0).Append(v, r.i)
		}
		a.End()
		return nil
	})), nil
}

// needArray checks that argument i is an array. A bare NULL becomes an array of VOID if it may.
func (c *Call) needArray(text string, i int, nullToo bool) error {
	t := c.Args[i].Type()
	switch {
	case t.Kind == types.Array:
		return nil
	case t.Kind == types.Null && nullToo:
		c.Args[i] = CastTo(c.Args[i], types.ArrayOf(tNull, true), c.Conf)
		return nil
	}
	return WrongType(text, i, `"ARRAY"`, c.Args[i])
}

func nullTypeError(c *Call) error {
	return errs.New("DATATYPE_MISMATCH.NULL_TYPE", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name))
}

func (c *Call) diffElement(k int) error {
	return errs.New("DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name),
		"dataType", `"ARRAY"`, "leftType", quoted(c.Args[0].Type().SQL()), "rightType", quoted(c.Args[k].Type().SQL()))
}

// sameElement casts an array and an element (argument k) to fit each other.
func (c *Call) sameElement(k int) error {
	elem := *c.Args[0].Type().Elem
	t, ok := TightestCommonType(elem, c.Args[k].Type())
	if !ok {
		return c.diffElement(k)
	}
	c.Args[0] = CastTo(c.Args[0], types.ArrayOf(t, c.Args[0].Type().ContainsNull), c.Conf)
	c.Args[k] = CastTo(c.Args[k], t, c.Conf)
	return nil
}

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

// elementBuilder is for functions of an array and an element that give an array. strict ones are null where
// the element is.
func elementBuilder(name, strict string, f func(r *row, a *Appender) error) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if err := call.needArray(c.Text(), 0, false); err != nil {
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
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if err := call.needArray(c.Text(), 0, true); err != nil {
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

func setBuilder(name string) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		a, b := c.Args[0].Type(), c.Args[1].Type()
		t, ok := TightestCommonType(a, b)
		if a.Kind != types.Array || b.Kind != types.Array || !ok {
			return nil, errs.New("DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(name),
				"arrayType", `"ARRAY"`, "leftType", quoted(a.SQL()), "rightType", quoted(b.SQL()))
		}
		args := CastAll(c.Args, t, c.Conf)
		out := t
		if name == "arrays_overlap" {
			out = tBoolean
		}
		s := Strict(name, out, args, c.Text(), nil)
		if name == "arrays_overlap" {
			s.Null = s.Null || t.ContainsNull
			s.Fresh = func() Kernel {
				var set valueSet
				return boolRows(func(r *row) (bool, error) {
					set.reset()
					v, from, to := r.elements(0)
					null := false
					for j := from; j < to; j++ {
						set.add(v, j)
						null = null || v.IsNull(j)
					}
					w, from2, to2 := r.elements(1)
					for j := from2; j < to2; j++ {
						if w.IsNull(j) {
							null = true
						} else if set.has(w, j) {
							return true, nil
						}
					}
					if null && from < to && from2 < to2 {
						return false, errNull
					}
					return false, nil
				})
			}
			return s, nil
		}
		s.Fresh = func() Kernel {
			var seen, other valueSet
			return valueRows(func(r *row, a *Appender) error {
				seen.reset()
				other.reset()
				v, from, to := r.elements(0)
				w, from2, to2 := r.elements(1)
				if name != "array_union" {
					for j := from2; j < to2; j++ {
						other.add(w, j)
					}
				}
				for j := from; j < to; j++ {
					if (name == "array_union" || other.has(v, j) == (name == "array_intersect")) && seen.add(v, j) {
						a.Kid(0).Append(v, j)
					}
				}
				for j := from2; name == "array_union" && j < to2; j++ {
					if seen.add(w, j) {
						a.Kid(0).Append(w, j)
					}
				}
				a.End()
				return nil
			})
		}
		return s, nil
	}
}

func invalidOrdering(c *Call, text string, t types.DataType) error {
	return errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(text), "functionName", types.Quote(c.Name), "dataType", quoted(t.SQL()))
}

func extremeBuilder(sign int) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(1, 1); err != nil {
			return nil, err
		}
		call := *c
		call.copyArgs()
		if err := call.needArray(c.Text(), 0, true); err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		if !Orderable(t) {
			return nil, invalidOrdering(c, c.Text(), t)
		}
		s := Strict(c.Name, *t.Elem, call.Args, c.Text(), nil)
		s.Null = true
		s.Fresh = func() Kernel {
			var idx []int32
			return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
				a := args[0]
				v := a.Kids[0]
				idx = resetIndex(idx, dst.Len)
				for k := range sel.N {
					i := sel.At(k)
					r := a.Row(i)
					for j := a.Off[r]; j < a.Off[r+1]; j++ {
						if !v.IsNull(int(j)) && (idx[i] < 0 || Compare(v, v, int(j), int(idx[i])) == sign) {
							idx[i] = j
						}
					}
				}
				pickRows(dst, v, idx)
				return nil
			}
		}
		return s, nil
	}
}

// byPlace sorts places of a vector.
type byPlace struct {
	idx  []int32
	less func(a, b int32) bool
}

func (s *byPlace) Len() int           { return len(s.idx) }
func (s *byPlace) Less(i, j int) bool { return s.less(s.idx[i], s.idx[j]) }
func (s *byPlace) Swap(i, j int)      { s.idx[i], s.idx[j] = s.idx[j], s.idx[i] }

func buildSortArray(c *Call) (Expr, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	call.fill(2, []Expr{BoolLit(true)})
	text := call.Text()
	if err := call.needArray(text, 0, true); err != nil {
		return nil, err
	}
	t := call.Args[0].Type()
	if !Orderable(t) {
		return nil, invalidOrdering(c, text, t)
	}
	if err := call.need(text, 1, tBoolean); err != nil {
		return nil, err
	}
	s := Strict("sort_array", t, call.Args, text, nil)
	s.Fresh = func() Kernel {
		var by byPlace
		return valueRows(func(r *row, a *Appender) error {
			v, from, to := r.elements(0)
			by.idx = by.idx[:0]
			for j := from; j < to; j++ {
				by.idx = append(by.idx, int32(j))
			}
			sign := 1
			if !r.bool(1) {
				sign = -1
			}
			by.less = func(x, y int32) bool { return sign*Compare(v, v, int(x), int(y)) < 0 }
			sort.Stable(&by)
			for _, j := range by.idx {
				a.Kid(0).Append(v, int(j))
			}
			a.End()
			return nil
		})
	}
	return s, nil
}

func buildArrayJoin(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := c.Text()
	if err := call.needArray(text, 0, true); err != nil {
		return nil, err
	}
	t := call.Args[0].Type()
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
	if err := c.Arity(3, 3); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	text := c.Text()
	if err := call.needArray(text, 0, true); err != nil {
		return nil, err
	}
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
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if err := call.needArray(c.Text(), 0, true); err != nil {
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
			key, ok := ImplicitCast(c.Args[1], *t.Key, c.Conf)
			if !ok {
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
		s := arrayIndex(c.Name, c.Args[0], CastTo(c.Args[1], tInt, c.Conf), text, func(j, n int32) (int32, error) {
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
	if err := c.Arity(2, 2); err != nil {
		return nil, err
	}
	call := *c
	call.copyArgs()
	if err := call.needArray(c.Text(), 0, false); err != nil {
		return nil, err
	}
	if err := call.need(c.Text(), 1, tInt); err != nil {
		return nil, err
	}
	return arrayIndex("get", call.Args[0], call.Args[1], c.Text(), func(j, n int32) (int32, error) {
		if j < 0 || j >= n {
			return -1, nil
		}
		return j, nil
	}), nil
}

// arrayIndex picks an element; at maps an index and the array's size to the place from 0, or -1 for null.
func arrayIndex(name string, a, index Expr, text string, at func(j, n int32) (int32, error)) *Scalar {
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
				j, err := at(ix.I32[ix.Row(i)], a.Off[r+1]-a.Off[r])
				if err != nil {
					return err
				}
				if j >= 0 {
					idx[i] = a.Off[r] + j
				}
			}
			pickRows(dst, a.Kids[0], idx)
			return nil
		}
	}
	return s
}

// nameOf is the name of a struct's field made of an expression; "" if it has none.
func nameOf(e Expr) string {
	switch x := e.(type) {
	case *Alias:
		return x.Name
	case *Column:
		return x.Field.Name
	case *LambdaVar:
		return x.Name
	case *Scalar:
		if x.Name == "getfield" || x.Name == "getarraystructfields" {
			for i := len(x.Text) - 1; i >= 0; i-- {
				if x.Text[i] == '.' {
					return x.Text[i+1:]
				}
			}
			return x.Text
		}
	}
	return ""
}

func buildStruct(c *Call) (Expr, error) {
	fields := make([]types.Field, len(c.Args))
	for i, a := range c.Args {
		n := nameOf(a)
		if n == "" {
			n = fmt.Sprintf("col%d", i+1)
		}
		fields[i] = types.Field{Name: n, Type: a.Type(), Nullable: a.Nullable()}
	}
	return structExpr("struct", fields, c.Args, c.Text()), nil
}

func structExpr(name string, fields []types.Field, args []Expr, text string) Expr {
	s := NewScalar(name, types.StructOf(fields...), false, args, text, valueRows(func(r *row, a *Appender) error {
		for k, v := range r.args {
			a.Kid(k).Append(v, r.i)
		}
		a.End()
		return nil
	}))
	s.Extra = types.Schema(fields).DDL()
	return s
}

func buildNamedStruct(c *Call) (Expr, error) {
	if len(c.Args)%2 != 0 {
		return nil, wrongArity(c.Name, "2n (n > 0)", len(c.Args))
	}
	var fields []types.Field
	var values []Expr
	var bad []string
	for i := 0; i < len(c.Args); i += 2 {
		n, ok := constText(c.Args[i], c.Conf)
		if !ok || c.Args[i].Type().Kind != types.String {
			bad = append(bad, quoted(c.Args[i].String()))
		}
		v := c.Args[i+1]
		fields = append(fields, types.Field{Name: n, Type: v.Type(), Nullable: v.Nullable()})
		values = append(values, v)
	}
	if bad != nil {
		return nil, errs.New("DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", "sqlExpr", quoted(c.Text()), "inputExprs", fmt.Sprint(bad))
	}
	return structExpr("named_struct", fields, values, c.Text()), nil
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
