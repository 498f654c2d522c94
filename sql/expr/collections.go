package expr

import (
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
		if s, ok := e.(*Scalar); ok && err == nil {
			if !Orderable(s.Type()) {
				return nil, invalidOrdering(c, c.Text(), *s.Type().Elem)
			}
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

// ofArray is a copy of a call of least to most arguments, the first an array as needArray wants it.
func (c *Call) ofArray(least, most int, nullToo bool) (Call, error) {
	if err := c.Arity(least, most); err != nil {
		return *c, err
	}
	call := *c
	call.copyArgs()
	return call, call.needArray(c.Text(), 0, nullToo)
}

func nullTypeError(c *Call) error {
	return errs.New("DATATYPE_MISMATCH.NULL_TYPE", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name))
}

func (c *Call) diffElement(k int) error {
	return errs.New("DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(c.Name),
		"dataType", `"ARRAY"`, "leftType", quoted(c.Args[0].Type().SQL()), "rightType", quoted(c.Args[k].Type().SQL()))
}

// widened says that t is a decimal that is wider than both of two types. The functions of arrays go no further than
// one of the types that they are given.
func widened(a, b, t types.DataType) bool {
	if t.Kind != types.Decimal || t.Equal(a) || t.Equal(b) {
		return false
	}
	return a.IsNumeric() && b.IsNumeric()
}

// sameElement casts an array and an element (argument k) to fit each other.
func (c *Call) sameElement(k int) error {
	elem := *c.Args[0].Type().Elem
	t, ok := TightestCommonType(elem, c.Args[k].Type())
	if !ok || widened(elem, c.Args[k].Type(), t) {
		return c.diffElement(k)
	}
	c.Args[0] = CastTo(c.Args[0], types.ArrayOf(t, c.Args[0].Type().ContainsNull), c.Conf)
	c.Args[k] = CastTo(c.Args[k], t, c.Conf)
	return nil
}
