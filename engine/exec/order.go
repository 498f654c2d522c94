package exec

import (
	"bytes"
	"cmp"
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// sorter orders all rows. The sort is stable, so equal rows stay in the order of their parts.
type sorter struct {
	child  operator
	in     types.Schema
	orders []expr.Ordering
	prog   *expr.Program
	local  bool
	rows   []sortedRows
	tap    *tap // nil: untraced
}

type sortedRows struct {
	buf *rowsBuffer
	idx []int32
}

func newSorter(child operator, orders []expr.Ordering, in types.Schema, c expr.Conf, local bool) (*sorter, error) {
	orders = expr.CollationOrder(orders)
	es := make([]expr.Expr, len(orders))
	for i, o := range orders {
		es[i] = o.Child
	}
	p, err := expr.Compile(es, in, c)
	return &sorter{child: child, in: in, orders: orders, prog: p, local: local}, err
}

func (o *sorter) open(r *run) (int, error) {
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	o.rows = o.rows[:0]
	keys := make(types.Schema, len(o.orders))
	for i, x := range o.orders {
		keys[i].Type = x.Child.Type()
	}
	var buf, kbuf *rowsBuffer
	var came []rowID
	finish := func() {
		o.rows = append(o.rows, sortedRows{buf, sortIndex(kbuf.cols, o.orders, buf.n)})
		if o.tap != nil {
			o.tap.reordered(came, o.rows[len(o.rows)-1].idx)
			came = nil
		}
	}
	for p := range parts {
		if buf == nil || o.local {
			if buf != nil {
				finish()
			}
			buf, kbuf = newRowsBuffer(o.in), newRowsBuffer(keys)
		}
		o.prog.Begin(r.exprTask(p))
		err := o.child.part(r, 0, p, func(c *chunk) error {
			ks, err := o.prog.Eval(c.cols, c.sel)
			if err != nil {
				return err
			}
			for i, k := range ks {
				appendVec(kbuf.cols[i], k, c.sel)
			}
			buf.add(c.cols, c.sel)
			if o.tap != nil {
				came = o.tap.took(came, c.sel, FatePassed)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if buf != nil {
		finish()
	}
	return len(o.rows), nil
}

func (o *sorter) part(r *run, w, p int, to emit) error {
	return pushIndex(o.rows[p].buf.cols, o.rows[p].idx, to)
}

// pushIndex pushes rows of columns in the order of idx; -1 is a row of nulls.
func pushIndex(cols []*columnar.Vec, idx []int32, to emit) error {
	out := make([]columnar.Vec, len(cols))
	for len(idx) > 0 {
		n := min(len(idx), columnar.Slice)
		for i, c := range cols {
			columnar.GatherIdx(&out[i], c, idx[:n])
		}
		if err := to(&chunk{cols: out, sel: columnar.AllRows(n)}); err != nil {
			return err
		}
		idx = idx[n:]
	}
	return nil
}

// sortIndex orders rows 0..n-1 by keys.
func sortIndex(keys []*columnar.Vec, orders []expr.Ordering, n int) []int32 {
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = int32(i)
	}
	sort.SliceStable(idx, func(x, y int) bool { return compareRows(keys, orders, int(idx[x]), int(idx[y])) < 0 })
	return idx
}

func compareRows(keys []*columnar.Vec, orders []expr.Ordering, x, y int) int {
	for k, v := range keys {
		nx, ny := v.IsNull(x), v.IsNull(y)
		if nx || ny {
			if nx && ny {
				continue
			}
			if nx == orders[k].NullsFirst {
				return -1
			}
			return 1
		}
		if c := compareValues(v, x, y); c != 0 {
			if orders[k].Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// compareValues orders two values of a vector as Spark does: NaN is above all numbers, -0.0 equals 0.0,
// nested nulls come first.
func compareValues(v *columnar.Vec, x, y int) int {
	x, y = v.Row(x), v.Row(y)
	switch v.Phys {
	case columnar.PBool:
		a, b := v.Bool(x), v.Bool(y)
		switch {
		case a == b:
			return 0
		case b:
			return -1
		}
		return 1
	case columnar.PI8:
		return cmp.Compare(v.I8[x], v.I8[y])
	case columnar.PI16:
		return cmp.Compare(v.I16[x], v.I16[y])
	case columnar.PI32:
		return cmp.Compare(v.I32[x], v.I32[y])
	case columnar.PI64:
		return cmp.Compare(v.I64[x], v.I64[y])
	case columnar.PF32:
		return compareFloats(float64(v.F32[x]), float64(v.F32[y]))
	case columnar.PF64:
		return compareFloats(v.F64[x], v.F64[y])
	case columnar.PDec:
		return v.Dec[x].Cmp(v.Dec[y])
	case columnar.PBytes:
		return bytes.Compare(v.Bytes(x), v.Bytes(y))
	case columnar.PList:
		i, j := int(v.Off[x]), int(v.Off[y])
		for i < int(v.Off[x+1]) && j < int(v.Off[y+1]) {
			if c := compareNested(v.Kids[0], i, j); c != 0 {
				return c
			}
			i, j = i+1, j+1
		}
		return cmp.Compare(v.Off[x+1]-v.Off[x], v.Off[y+1]-v.Off[y])
	case columnar.PStruct:
		for _, k := range v.Kids {
			if c := compareNested(k, x, y); c != 0 {
				return c
			}
		}
	}
	return 0
}

func compareNested(v *columnar.Vec, x, y int) int {
	nx, ny := v.IsNull(x), v.IsNull(y)
	switch {
	case nx && ny:
		return 0
	case nx:
		return -1
	case ny:
		return 1
	}
	return compareValues(v, x, y)
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b, a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

// expand pushes each row once per projection.
type expand struct {
	child operator
	kids  []*project
}

func newExpand(child operator, lists [][]expr.Expr, in types.Schema, c expr.Conf) (*expand, error) {
	o := &expand{child: child}
	for _, es := range lists {
		p, err := newProject(nil, es, in, c)
		if err != nil {
			return nil, err
		}
		o.kids = append(o.kids, p)
	}
	return o, nil
}

func (o *expand) open(r *run) (int, error) { return o.child.open(r) }

func (o *expand) part(r *run, w, p int, to emit) error {
	progs := make([]*expr.Program, len(o.kids))
	for i, k := range o.kids {
		x, err := k.programs.get(w)
		if err != nil {
			return err
		}
		progs[i] = *x
		progs[i].Begin(r.exprTask(p))
	}
	var out chunk
	return o.child.part(r, w, p, func(c *chunk) error {
		for _, prog := range progs {
			vs, err := prog.Eval(c.cols, c.sel)
			if err != nil {
				return err
			}
			out.cols = out.cols[:0]
			for _, v := range vs {
				out.cols = append(out.cols, *v)
			}
			out.sel = c.sel
			if err := to(&out); err != nil {
				return err
			}
		}
		return nil
	})
}

// rangeScan yields numbers.
type rangeScan struct{ start, end, step int64 }

func newRangeScan(start, end, step int64) *rangeScan { return &rangeScan{start, end, step} }

func (o *rangeScan) open(r *run) (int, error) { return 1, nil }

func (o *rangeScan) part(r *run, w, p int, to emit) error {
	v := columnar.NewVec(types.Of(types.BigInt), columnar.Slice)
	x, done := o.start, o.step > 0 && o.start >= o.end || o.step < 0 && o.start <= o.end
	for !done {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := 0
		v.I64 = v.I64[:columnar.Slice]
		for n < columnar.Slice && !done {
			v.I64[n] = x
			n++
			next := x + o.step
			done = o.step > 0 && (next >= o.end || next < x) || o.step < 0 && (next <= o.end || next > x)
			x = next
		}
		v.Len, v.I64 = n, v.I64[:n]
		if err := to(&chunk{cols: []columnar.Vec{*v}, sel: columnar.AllRows(n)}); err != nil {
			return err
		}
	}
	return nil
}

// singleRow checks that its child yields at most one row.
type singleRow struct {
	child  operator
	schema types.Schema
	pos    errs.Pos // of the subquery in the text
	buf    *rowsBuffer
}

func (o *singleRow) open(r *run) (int, error) {
	if err := o.fill(r); err != nil {
		return 0, &subqueryError{err}
	}
	return 1, nil
}

// fill computes the row.
func (o *singleRow) fill(r *run) error {
	n, err := o.child.open(r)
	if err != nil {
		return err
	}
	o.buf = newRowsBuffer(o.schema)
	for p := range n {
		err := o.child.part(r, 0, p, func(c *chunk) error {
			o.buf.add(c.cols, c.sel)
			if o.buf.n > 1 {
				return errs.New("SCALAR_SUBQUERY_TOO_MANY_ROWS").At(o.pos)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if o.buf.n == 0 {
		null := columnar.Vec{Phys: columnar.PNull, Len: 1}
		for _, c := range o.buf.cols {
			appendVec(c, &null, columnar.AllRows(1))
		}
		o.buf.n = 1
	}
	return nil
}

func (o *singleRow) part(r *run, w, p int, to emit) error { return pushRows(o.buf.vecs(), 1, to) }

// sample keeps rows by a random number that depends on seed, part and place of the row.
type sample struct {
	child     operator
	low, high float64
	seed      int64
}

func (o *sample) open(r *run) (int, error) { return o.child.open(r) }

func (o *sample) part(r *run, w, p int, to emit) error {
	n := uint64(0)
	var idx []int32
	return o.child.part(r, w, p, func(c *chunk) error {
		idx = idx[:0]
		for k := range c.sel.N {
			x := mix(mix(uint64(o.seed), uint64(p)), n)
			n++
			if f := float64(x>>11) / (1 << 53); f >= o.low && f < o.high {
				idx = append(idx, int32(c.sel.At(k)))
			}
		}
		if len(idx) == 0 {
			return nil
		}
		return to(&chunk{cols: c.cols, sel: columnar.Sel{Idx: idx, N: len(idx)}})
	})
}

// setOp is INTERSECT or EXCEPT: counts of equal rows of both sides.
type setOp struct {
	left, right operator
	node        *plan.SetOp
	buf         *rowsBuffer
	idx         []int32
}

func newSetOp(l, r operator, n *plan.SetOp) *setOp { return &setOp{left: l, right: r, node: n} }

func (o *setOp) open(r *run) (int, error) {
	ts := make([]types.DataType, len(o.node.Out))
	for i, f := range o.node.Out {
		ts[i] = f.Type
	}
	lay := newLayout(ts, true)
	t, e := newTable(lay, 16), newEncoder(lay) // rows of the right side; flag of rows already out
	at := t.extraAt()
	cols := make([]*columnar.Vec, len(ts))
	var groups []uint32
	visit := func(op operator, each func(c *chunk)) error {
		n, err := op.open(r)
		if err != nil {
			return err
		}
		for p := range n {
			err := op.part(r, 0, p, func(c *chunk) error {
				for i := range cols {
					cols[i] = &c.cols[i]
				}
				e.encode(cols, c.sel)
				groups = grow(groups[:0], c.sel.N)
				t.upsert(e, groups)
				each(c)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := visit(o.right, func(c *chunk) {
		for _, g := range groups {
			*(*int64)(t.rec.Ptr(g, at))++
		}
	})
	if err != nil {
		return 0, err
	}
	o.buf, o.idx = newRowsBuffer(o.node.Out), o.idx[:0]
	err = visit(o.left, func(c *chunk) {
		base := int32(o.buf.n)
		o.buf.add(c.cols, c.sel)
		for k, g := range groups {
			left, out := (*int64)(t.rec.Ptr(g, at)), (*int64)(t.rec.Ptr(g, at+8))
			keep := false
			switch {
			case o.node.All:
				keep = (*left > 0) != o.node.Except
				if *left > 0 {
					*left--
				}
			case *out == 0:
				keep = (*left > 0) != o.node.Except
				*out = 1
			}
			if keep {
				o.idx = append(o.idx, base+int32(k))
			}
		}
	})
	return 1, err
}

func (o *setOp) part(r *run, w, p int, to emit) error { return pushIndex(o.buf.cols, o.idx, to) }
