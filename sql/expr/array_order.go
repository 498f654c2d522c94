package expr

import (
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

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

func setBuilder(name string) func(c *Call) (Expr, error) {
	return func(c *Call) (Expr, error) {
		if err := c.Arity(2, 2); err != nil {
			return nil, err
		}
		a, b := c.Args[0].Type(), c.Args[1].Type()
		t, ok := TightestCommonType(a, b)
		if a.Kind != types.Array || b.Kind != types.Array || !ok || widened(*a.Elem, *b.Elem, *t.Elem) {
			return nil, errs.New("DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES", "sqlExpr", quoted(c.Text()), "functionName", types.Quote(name),
				"arrayType", `"ARRAY"`, "leftType", quoted(a.SQL()), "rightType", quoted(b.SQL()))
		}
		if !Orderable(t) {
			return nil, invalidOrdering(c, c.Text(), *t.Elem)
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
		call, err := c.ofArray(1, 1, true)
		if err != nil {
			return nil, err
		}
		t := call.Args[0].Type()
		if !Orderable(t) {
			return nil, invalidOrdering(c, c.Text(), *t.Elem)
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

func (s *byPlace) Len() int { return len(s.idx) }

func (s *byPlace) Less(i, j int) bool { return s.less(s.idx[i], s.idx[j]) }

func (s *byPlace) Swap(i, j int) { s.idx[i], s.idx[j] = s.idx[j], s.idx[i] }

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
	if order := call.Args[1]; order.Type().Kind == types.String { // no text is taken for true or false here
		return nil, WrongType(text, 1, `"BOOLEAN"`, order)
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
