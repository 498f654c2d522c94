package exec

import (
	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// timeWindow appends the windows that a row's time is in. For windows that do not overlap no row is copied;
// otherwise a chunk is pushed once for each of the windows that begin at or before the row's time, newest
// first.
type timeWindow struct {
	child    operator
	node     *plan.TimeWindow
	programs perWorker[*expr.Program]
}

func newTimeWindow(child operator, n *plan.TimeWindow, c expr.Conf) (*timeWindow, error) {
	o := &timeWindow{child: child, node: n}
	o.programs.make = func() (*expr.Program, error) { return expr.Compile([]expr.Expr{n.Time}, n.Child.Schema(), c) }
	_, err := o.programs.get(0)
	return o, err
}

func (o *timeWindow) open(r *run) (int, error) { return o.child.open(r) }

func (o *timeWindow) part(r *run, w, p int, to emit) error {
	x, err := o.programs.get(w)
	if err != nil {
		return err
	}
	prog := *x
	prog.Begin(r.exprTask(p))
	size, slide := o.node.Size, o.node.Slide
	n := (size + slide - 1) / slide
	win := o.node.Out[len(o.node.Out)-1].Type
	var last, idx []int32
	var starts []int64
	base := columnar.Vec{Type: win, Phys: columnar.PStruct}
	bounds := [2]columnar.Vec{}
	for i := range bounds {
		bounds[i] = columnar.Vec{Type: win.Fields[i].Type, Phys: columnar.PI64}
	}
	base.Kids = []*columnar.Vec{&bounds[0], &bounds[1]}
	var out chunk
	return o.child.part(r, w, p, func(c *chunk) error {
		ts, err := prog.Eval(c.cols, c.sel)
		if err != nil || c.sel.N == 0 {
			return err
		}
		t := ts[0]
		rows := c.sel.At(c.sel.N-1) + 1
		starts = grow(starts[:0], rows)
		idx = idx[:0]
		// Event times are nearly sorted: the window of the row before is tried first.
		from := int64(1)
		until := int64(0)
		for k := range c.sel.N {
			i := c.sel.At(k)
			if t.IsNull(i) {
				continue
			}
			v := t.I64[t.Row(i)]
			if v < from || v >= until {
				from = v - floorMod(v-o.node.Start, slide)
				until = from + slide
			}
			starts[i] = from
			idx = append(idx, int32(i))
		}
		out.cols = append(append(out.cols[:0], c.cols...), base)
		for j := range n {
			sel := columnar.Sel{Idx: idx, N: len(idx)}
			if len(idx) == c.sel.N {
				sel = c.sel
			}
			if j > 0 {
				for _, i := range idx {
					starts[i] -= slide
				}
			}
			if size%slide != 0 {
				last = last[:0]
				for _, i := range idx {
					if v := t.I64[t.Row(int(i))]; starts[i] <= v && v < starts[i]+size {
						last = append(last, i)
					}
				}
				sel = columnar.Sel{Idx: last, N: len(last)}
			}
			if sel.N == 0 {
				continue
			}
			s, e := &bounds[0], &bounds[1]
			s.Len, s.I64 = rows, starts
			e.Len, e.I64 = rows, grow(e.I64[:0], rows)
			for i, v := range starts {
				e.I64[i] = v + size
			}
			out.cols[len(out.cols)-1].Len = rows
			out.sel = sel
			if err := to(&out); err != nil {
				return err
			}
		}
		return nil
	})
}

func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// sessionStart appends [time, time+gap) and drops rows without one.
type sessionStart struct {
	child    operator
	node     *plan.SessionWindow
	programs perWorker[*expr.Program]
}

func newSessionStart(child operator, n *plan.SessionWindow, c expr.Conf) (*sessionStart, error) {
	end, err := expr.Build("+", []expr.Expr{n.Time, n.Gap}, c)
	if err != nil {
		return nil, err
	}
	o := &sessionStart{child: child, node: n}
	o.programs.make = func() (*expr.Program, error) {
		return expr.Compile([]expr.Expr{n.Time, end}, n.Child.Schema(), c)
	}
	_, err = o.programs.get(0)
	return o, err
}

func (o *sessionStart) open(r *run) (int, error) { return o.child.open(r) }

func (o *sessionStart) part(r *run, w, p int, to emit) error {
	x, err := o.programs.get(w)
	if err != nil {
		return err
	}
	prog := *x
	prog.Begin(r.exprTask(p))
	win := o.node.Out[len(o.node.Out)-1].Type
	var idx []int32
	var start, end []int64
	return o.child.part(r, w, p, func(c *chunk) error {
		ts, err := prog.Eval(c.cols, c.sel)
		if err != nil || c.sel.N == 0 {
			return err
		}
		rows := c.sel.At(c.sel.N-1) + 1
		start, end = grow(start[:0], rows), grow(end[:0], rows)
		idx = idx[:0]
		for k := range c.sel.N {
			i := c.sel.At(k)
			if ts[0].IsNull(i) || ts[1].IsNull(i) {
				continue
			}
			start[i], end[i] = ts[0].I64[ts[0].Row(i)], ts[1].I64[ts[1].Row(i)]
			if end[i] > start[i] {
				idx = append(idx, int32(i))
			}
		}
		if len(idx) == 0 {
			return nil
		}
		v := columnar.Vec{Type: win, Phys: columnar.PStruct, Len: rows, Kids: []*columnar.Vec{
			{Type: win.Fields[0].Type, Phys: columnar.PI64, Len: rows, I64: start},
			{Type: win.Fields[1].Type, Phys: columnar.PI64, Len: rows, I64: end}}}
		return to(&chunk{cols: append(append([]columnar.Vec{}, c.cols...), v), sel: columnar.Sel{Idx: idx, N: len(idx)}})
	})
}

var _ = types.Of
