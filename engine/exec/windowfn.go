package exec

import (
	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// windowOp computes window functions over static rows: it takes all rows, sorts them by partition and order,
// and computes one column per call, partition by partition.
type windowOp struct {
	child  operator
	node   *plan.Window
	in     types.Schema
	prog   *expr.Program // partition, order, arguments and filters
	np     int           // partition expressions
	args   []int         // of each call: its first argument among the program's results
	filter []int         // of each call: its aggregate's FILTER, -1
	buf    *rowsBuffer
	idx    []int32
	out    []*columnar.Vec
}

func (b *builder) window(x *plan.Window) (operator, error) {
	if x.Streaming() && b.conf.Mode != "" {
		return nil, refuse("window functions over streams")
	}
	child, err := b.build(x.Child)
	if err != nil {
		return nil, err
	}
	o := &windowOp{child: child, node: x, in: x.Child.Schema(), np: len(x.Partition)}
	var es []expr.Expr
	for _, p := range x.Partition {
		es = append(es, expr.CollationKey(p))
	}
	for _, ord := range expr.CollationOrder(x.Order) {
		es = append(es, ord.Child)
	}
	for _, c := range x.Calls {
		o.args = append(o.args, len(es))
		f := -1
		if c.Aggregate != nil {
			if c.Aggregate.Distinct {
				return nil, refuse("DISTINCT in a window function")
			}
			es = append(es, c.Aggregate.Args...)
			if c.Aggregate.Filter != nil {
				f = len(es)
				es = append(es, c.Aggregate.Filter)
			}
		} else {
			es = append(es, c.Args...)
		}
		o.filter = append(o.filter, f)
	}
	o.prog, err = expr.Compile(es, o.in, b.conf.Expr)
	return o, err
}

func (o *windowOp) open(r *run) (int, error) {
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	o.buf = newRowsBuffer(o.in)
	var keys []*columnar.Vec
	for p := range parts {
		o.prog.Begin(r.exprTask(p))
		err := o.child.part(r, 0, p, func(c *chunk) error {
			vs, err := o.prog.Eval(c.cols, c.sel)
			if err != nil {
				return err
			}
			if keys == nil {
				for _, v := range vs {
					keys = append(keys, columnar.NewVec(v.Type, 0))
				}
			}
			for i, v := range vs {
				appendVec(keys[i], v, c.sel)
			}
			o.buf.add(c.cols, c.sel)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	n := o.buf.n
	o.idx, o.out = nil, nil
	if n == 0 {
		return 0, nil
	}
	orders := make([]expr.Ordering, o.np, o.np+len(o.node.Order))
	for i := range orders {
		orders[i].NullsFirst = true
	}
	orders = append(orders, o.node.Order...)
	o.idx = sortIndex(keys[:len(orders)], orders, n)
	sorted := make([]*columnar.Vec, len(keys))
	for i, k := range keys {
		sorted[i] = new(columnar.Vec)
		gatherRows(sorted[i], k, o.idx)
	}
	for range o.node.Calls {
		o.out = append(o.out, nil)
	}
	for i, c := range o.node.Calls {
		o.out[i] = columnar.NewVec(c.Out, 0)
	}
	for from := 0; from < n; {
		to := from + 1
		for to < n && compareRows(sorted[:o.np], orders[:o.np], from, to) == 0 {
			to++
		}
		w := &windowPart{o: o, from: from, to: to, keys: sorted, orders: orders}
		w.findPeers()
		for i, c := range o.node.Calls {
			if err := w.call(i, c); err != nil {
				return 0, err
			}
		}
		from = to
	}
	return 1, nil
}

func (o *windowOp) part(r *run, w, p int, to emit) error {
	cols := make([]columnar.Vec, len(o.in)+len(o.out))
	for from := 0; from < len(o.idx); from += columnar.Slice {
		end := min(from+columnar.Slice, len(o.idx))
		for i := range o.in {
			gatherRows(&cols[i], o.buf.cols[i], o.idx[from:end])
		}
		for i, v := range o.out {
			cols[len(o.in)+i] = v.View(from, end)
		}
		if err := to(&chunk{cols: cols, sel: columnar.AllRows(end - from)}); err != nil {
			return err
		}
	}
	return nil
}

// windowPart is one partition: sorted rows from..to-1.
type windowPart struct {
	o        *windowOp
	from, to int
	keys     []*columnar.Vec
	orders   []expr.Ordering
	peer     []int // of each row: first row of its peers, relative to from
	peerEnd  []int
}

func (w *windowPart) findPeers() {
	n := w.to - w.from
	w.peer, w.peerEnd = make([]int, n), make([]int, n)
	np := w.o.np
	for i := 0; i < n; {
		j := i + 1
		for j < n && compareRows(w.keys[np:len(w.orders)], w.orders[np:], w.from+i, w.from+j) == 0 {
			j++
		}
		for k := i; k < j; k++ {
			w.peer[k], w.peerEnd[k] = i, j
		}
		i = j
	}
}

func (w *windowPart) call(i int, c *plan.WindowCall) error {
	n := w.to - w.from
	out := w.o.out[i]
	args := w.keys[w.o.args[i]:]
	if c.Aggregate != nil {
		return w.aggregate(i, c, out, args[:len(c.Aggregate.Args)])
	}
	ints := func(f func(k int) int) {
		v := columnar.NewVec(types.Of(types.Int), n)
		for k := range n {
			v.I32[k] = int32(f(k))
		}
		appendVec(out, v, columnar.AllRows(n))
	}
	doubles := func(f func(k int) float64) {
		v := columnar.NewVec(types.Of(types.Double), n)
		for k := range n {
			v.F64[k] = f(k)
		}
		appendVec(out, v, columnar.AllRows(n))
	}
	switch c.Name {
	case "row_number":
		ints(func(k int) int { return k + 1 })
	case "rank":
		ints(func(k int) int { return w.peer[k] + 1 })
	case "dense_rank":
		d := 0
		ints(func(k int) int {
			if w.peer[k] == k {
				d++
			}
			return d
		})
	case "percent_rank":
		doubles(func(k int) float64 {
			if n == 1 {
				return 0
			}
			return float64(w.peer[k]) / float64(n-1)
		})
	case "cume_dist":
		doubles(func(k int) float64 { return float64(w.peerEnd[k]) / float64(n) })
	case "ntile":
		b := max(1, int(args[0].I32[args[0].Row(w.from)]))
		size, more := n/b, n%b
		ints(func(k int) int {
			if k < more*(size+1) {
				return k/(size+1) + 1
			}
			return more + (k-more*(size+1))/max(size, 1) + 1
		})
	case "lag", "lead":
		w.shifted(c, out, args)
	case "nth_value":
		return w.nth(c, out, args)
	default:
		return refuse("window function " + c.Name)
	}
	return nil
}

// shifted is lag and lead: the argument some rows away, or the default where there is no such row.
func (w *windowPart) shifted(c *plan.WindowCall, out *columnar.Vec, args []*columnar.Vec) {
	n := w.to - w.from
	x := args[0]
	for k := range n {
		row := w.from + k
		d := int(args[1].I32[args[1].Row(row)])
		if c.Name == "lag" {
			d = -d
		}
		at := k + d
		if c.IgnoreNulls && d != 0 {
			step := 1
			if d < 0 {
				step, d = -1, -d
			}
			at = k
			for d > 0 {
				at += step
				if at < 0 || at >= n {
					break
				}
				if !x.IsNull(w.from + at) {
					d--
				}
			}
		}
		if at >= 0 && at < n {
			appendVec(out, x, oneRow(w.from+at))
		} else {
			appendVec(out, args[2], oneRow(row))
		}
	}
}

func oneRow(i int) columnar.Sel { return columnar.Sel{Idx: []int32{int32(i)}, N: 1} }

func (w *windowPart) nth(c *plan.WindowCall, out *columnar.Vec, args []*columnar.Vec) error {
	x := args[0]
	null := columnar.Vec{Phys: columnar.PNull, Len: 1}
	for k := range w.to - w.from {
		lo, hi, err := w.frame(c, k)
		if err != nil {
			return err
		}
		left := int(args[1].I32[args[1].Row(w.from+k)])
		at := -1
		for j := lo; j < hi; j++ {
			if c.IgnoreNulls && x.IsNull(w.from+j) {
				continue
			}
			if left--; left == 0 {
				at = j
				break
			}
		}
		if at < 0 {
			appendVec(out, &null, columnar.AllRows(1))
		} else {
			appendVec(out, x, oneRow(w.from+at))
		}
	}
	return nil
}

// aggregate computes an aggregate over each row's frame. A frame that begins where the last one began and
// ends later is continued; others are computed anew.
func (w *windowPart) aggregate(i int, c *plan.WindowCall, out *columnar.Vec, args []*columnar.Vec) error {
	n := w.to - w.from
	a := c.Aggregate.New()
	rec := columnar.NewRecords(max(a.Width(), 8))
	var idx []int32
	var groups []uint32
	var cond *columnar.Vec
	if f := w.o.filter[i]; f >= 0 {
		cond = w.keys[f]
	}
	g, start, end := uint32(0), -1, -1
	one := columnar.NewVec(c.Out, 0)
	for k := range n {
		lo, hi, err := w.frame(c, k)
		if err != nil {
			return err
		}
		hi = max(lo, hi)
		if lo == start && hi == end {
			appendVec(out, one, columnar.AllRows(1))
			continue
		}
		from := end
		if lo != start || hi < end || end < 0 {
			rec.Truncate()
			g, from = rec.Add(), lo
		}
		start, end = lo, hi
		idx, groups = idx[:0], groups[:0]
		for j := from; j < hi; j++ {
			if cond != nil && (cond.IsNull(w.from+j) || !cond.Bool(w.from+j)) {
				continue
			}
			idx, groups = append(idx, int32(w.from+j)), append(groups, g)
		}
		if len(idx) > 0 {
			if err := a.Update(rec, 0, groups, args, columnar.Sel{Idx: idx, N: len(idx)}); err != nil {
				return err
			}
		}
		if err := a.Result(rec, 0, []uint32{g}, one); err != nil {
			return err
		}
		appendVec(out, one, columnar.AllRows(1))
	}
	return nil
}

// frame is the rows [lo, hi) of the partition that row k sees.
func (w *windowPart) frame(c *plan.WindowCall, k int) (lo, hi int, err error) {
	n := w.to - w.from
	if lo, err = w.bound(c, c.Frame.From, k, false); err != nil {
		return
	}
	hi, err = w.bound(c, c.Frame.To, k, true)
	return max(0, min(lo, n)), max(0, min(hi, n)), err
}

func (w *windowPart) bound(c *plan.WindowCall, b plan.Bound, k int, end bool) (int, error) {
	n := w.to - w.from
	switch b.Kind {
	case plan.UnboundedPreceding:
		return 0, nil
	case plan.UnboundedFollowing:
		return n, nil
	case plan.CurrentRow:
		switch {
		case c.Frame.Rows && end:
			return k + 1, nil
		case c.Frame.Rows:
			return k, nil
		case end:
			return w.peerEnd[k], nil
		}
		return w.peer[k], nil
	}
	d, ok := constant(b.Offset)
	if !ok {
		if _, err := expr.Const(b.Offset, expr.Conf{ANSI: true}); err != nil { // its cast fails for all rows
			return 0, err
		}
		return 0, refuse("a frame bound that is no constant")
	}
	if b.Kind == plan.Preceding {
		d = -d
	}
	if c.Frame.Rows {
		at := k + int(d)
		if end {
			at++
		}
		return at, nil
	}
	key := w.keys[w.o.np]
	ord := w.orders[w.o.np]
	if key.IsNull(w.from + k) {
		if end {
			return w.peerEnd[k], nil
		}
		return w.peer[k], nil
	}
	if key.Type.Kind == types.Date && b.Offset.Type().IsIntegral() {
		d *= 86_400_000_000
	}
	if ord.Desc {
		d = -d
	}
	v, ok := numberAt(key, w.from+k)
	if !ok {
		return 0, refuse("RANGE frames over this type of order key")
	}
	limit := v + d
	// rows are in order: step from the current one
	inside := func(j int) bool {
		if key.IsNull(w.from + j) {
			return false
		}
		x, _ := numberAt(key, w.from+j)
		if end != ord.Desc {
			return x <= limit
		}
		return x >= limit
	}
	if end {
		at := 0
		for at < n && (key.IsNull(w.from+at) && ord.NullsFirst || inside(at)) {
			at++
		}
		return at, nil
	}
	at := n
	for at > 0 && (key.IsNull(w.from+at-1) && !ord.NullsFirst || inside(at-1)) {
		at--
	}
	return at, nil
}

// constant is the value of a frame offset: a number, microseconds of an interval, or days for dates.
func constant(e expr.Expr) (float64, bool) {
	p, err := expr.Compile([]expr.Expr{e}, nil, expr.Conf{})
	if err != nil {
		return 0, false
	}
	vs, err := p.Eval(nil, columnar.AllRows(1))
	if err != nil || vs[0].IsNull(0) {
		return 0, false
	}
	return numberAt(vs[0], 0)
}

func numberAt(v *columnar.Vec, i int) (float64, bool) {
	i = v.Row(i)
	switch v.Phys {
	case columnar.PI8:
		return float64(v.I8[i]), true
	case columnar.PI16:
		return float64(v.I16[i]), true
	case columnar.PI32:
		f := float64(v.I32[i])
		if v.Type.Kind == types.Date {
			f *= 86_400_000_000
		}
		return f, true
	case columnar.PI64:
		return float64(v.I64[i]), true
	case columnar.PF32:
		return float64(v.F32[i]), true
	case columnar.PF64:
		return v.F64[i], true
	case columnar.PDec:
		return v.Dec[i].ToFloat64(v.Type.Scale), true
	}
	return 0, false
}
