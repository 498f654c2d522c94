package exec

import (
	"math"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// panes folds rows of sliding windows. Windows of a size that begin every slide overlap; their times are cut
// into panes as wide as the greatest common divisor of both, and a row is folded once, into the pane that it
// lies in, instead of once into each of size/slide windows. When the rows of a unit of work have been read, each
// pane is merged into its windows: the partial table then holds the groups that single rows would have made,
// so state, late groups and counters do not know the difference.
type panes struct {
	below  operator // what the window operator reads
	node   *plan.TimeWindow
	window int       // place of the window among the keys
	g      *grouping // the windows' other keys, then the pane's start
	whole  *grouping // without the window: all panes of the other keys
	width  int64
}

// last is the start of the last window that holds the pane at a time.
func (p *panes) last(at int64) int64 {
	if p.width == p.node.Slide {
		return at
	}
	return at - floorMod(at-p.node.Start, p.node.Slide)
}

// first is the start of the first window that holds the pane at a time.
func (p *panes) first(at int64) int64 {
	at += p.width - p.node.Size
	if p.width == p.node.Slide {
		return at
	}
	return at + floorMod(p.node.Start-at, p.node.Slide)
}

// openFrom is the start of the first window that ends after a time.
func (p *panes) openFrom(end int64) int64 {
	if end == longAgo {
		return longAgo
	}
	at := end - p.node.Size + 1
	return at + floorMod(p.node.Start-at, p.node.Slide)
}

// closedTo is the start of the last window that ends at or before a time.
func (p *panes) closedTo(end int64) int64 {
	at := end - p.node.Size
	return at - floorMod(at-p.node.Start, p.node.Slide)
}

// longAgo is before every time.
const longAgo = math.MinInt64

// unordered lists aggregates whose result does not depend on the order of the rows.
var unordered = map[string]bool{"count": true, "count_if": true, "sum": true, "avg": true, "mean": true, "min": true, "max": true,
	"bool_and": true, "bool_or": true, "every": true, "some": true, "any": true, "bit_and": true, "bit_or": true, "bit_xor": true,
	"approx_count_distinct": true}

// newPanes says how to fold an aggregation over child by panes; nil if it must be done row by row: windows
// that do not overlap, keys or arguments that look at the window, aggregates that mind the order.
func newPanes(x *plan.Aggregate, child operator, c expr.Conf) *panes {
	if t, traced := child.(*tap); traced {
		child = t.child
	}
	tw, ok := child.(*timeWindow)
	if !ok || tw.node.Size <= tw.node.Slide || x.Session >= 0 {
		return nil
	}
	at := len(tw.node.Out) - 1
	p := &panes{below: tw.child, node: tw.node, window: -1, width: gcd(tw.node.Size, tw.node.Slide)}
	var keys []expr.Expr
	for i, k := range x.Keys {
		if col, isCol := k.(*expr.Column); isCol && col.Index == at {
			if p.window >= 0 {
				return nil
			}
			p.window = i
			continue
		}
		if looksAt(k, at) {
			return nil
		}
		keys = append(keys, k)
	}
	if p.window < 0 || !expr.Deterministic(tw.node.Time) {
		return nil
	}
	for _, call := range x.Calls {
		if !unordered[call.Name] || call.Distinct || looksAt(call.Filter, at) {
			return nil
		}
		for _, a := range call.Args {
			if looksAt(a, at) {
				return nil
			}
		}
	}
	p.whole = newGrouping(keys, x.Calls, tw.node.Child.Schema(), c)
	p.g = newGrouping(append(keys[:len(keys):len(keys)], tw.node.Time), x.Calls, p.whole.in, c)
	p.g.lay.tail = true
	if _, err := p.g.newFolder(); err != nil {
		return nil
	}
	return p
}

// looksAt reports that an expression reads a column, or is not the same for every window of a row.
func looksAt(e expr.Expr, column int) bool {
	if e == nil {
		return false
	}
	found := !expr.Deterministic(e)
	expr.Walk(e, func(x expr.Expr) bool {
		col, ok := x.(*expr.Column)
		found = found || ok && col.Index == column
		return !found
	})
	return found
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// paneFold is one worker's panes.
type paneFold struct {
	p    *panes
	time *expr.Program
	f    *folder
	t    *table
	rows int   // of the batch
	low  int64 // start of the first pane in t, if there is one
	// counted is how many bytes the operator's meter has of it.
	counted int64
	// byRange lists the groups of t that state in panes takes, by range.
	byRange [ranges][]uint32
	m       *merger // into windows
	all     *table  // the panes of a key, merged
	am      *merger
	first   []int64 // of each group of all: its first and last pane
	last    []int64
	owner   []uint32 // of each pane: its group of all
	starts  columnar.Vec
	vs      []*columnar.Vec
	idx     []int32
	from    []uint32
}

func (p *panes) newFold(windows *grouping) (*paneFold, error) {
	f, err := p.g.newFolder()
	if err != nil {
		return nil, err
	}
	time, err := expr.Compile([]expr.Expr{p.node.Time}, p.g.in, p.g.conf)
	if err != nil {
		return nil, err
	}
	f.numbered = &directory{width: p.width}
	return &paneFold{p: p, time: time, f: f, t: p.g.newTable(), m: windows.newMerger(), all: p.whole.newTable(),
		am: p.whole.newMerger()}, nil
}

// fold reads parts [from, to) and leaves the groups of their windows in into; rows is how many there were.
func (x *paneFold) fold(r *run, w, from, to int, into *table) (rows int, err error) {
	if rows, err = x.read(r, w, from, to); err != nil {
		return rows, err
	}
	return rows, x.spread(into)
}

// read folds parts [from, to) into panes; rows is how many rows there were.
func (x *paneFold) read(r *run, w, from, to int) (rows int, err error) {
	x.t.truncate()
	x.counted = 0
	for part := from; part < to; part++ {
		x.f.prog.Begin(r.exprTask(part))
		x.time.Begin(r.exprTask(part))
		err := x.p.below.part(r, w, part, func(c *chunk) error {
			rows += c.sel.N
			return x.take(c)
		})
		if err != nil {
			return rows, err
		}
		if err := x.account(r); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// account tells the operator's meter what the panes hold now.
func (x *paneFold) account(r *run) error {
	now := x.t.bytes() + x.all.bytes() + x.f.numbered.bytes()
	x.f.g.held(r).Add(now - x.counted)
	x.counted = now
	return r.p.meter.room()
}

// take folds a chunk into panes. Rows without a time are in no window.
func (x *paneFold) take(c *chunk) error {
	ts, err := x.time.Eval(c.cols, c.sel)
	if err != nil || c.sel.N == 0 {
		return err
	}
	sel := x.cut(ts[0], c.sel)
	if sel.N == 0 {
		return nil
	}
	vs, err := x.f.prog.Eval(c.cols, sel)
	if err != nil {
		return err
	}
	x.vs = append(x.vs[:0], vs...)
	x.vs[len(x.p.whole.keys)] = &x.starts
	return x.f.foldValues(x.t, x.vs, sel)
}

// cut finds the panes of rows, for x.starts, and gives the rows that are in one.
func (x *paneFold) cut(t *columnar.Vec, sel columnar.Sel) columnar.Sel {
	n := sel.At(sel.N-1) + 1
	x.starts = columnar.Vec{Type: t.Type, Phys: columnar.PI64, Len: n, I64: grow(x.starts.I64[:0], n)}
	from, until := int64(1), int64(0) // times are nearly sorted: the pane of the row before is tried first
	if sel.All && t.Phys == columnar.PI64 && t.Valid == nil && !t.Const {
		starts := x.starts.I64[:n]
		for i, v := range t.I64[:n] {
			if v < from || v >= until {
				from = v - floorMod(v-x.p.node.Start, x.p.width)
				until = from + x.p.width
			}
			starts[i] = from
		}
		return sel
	}
	x.idx = x.idx[:0]
	for k := range sel.N {
		i := sel.At(k)
		if t.IsNull(i) {
			continue
		}
		v := t.I64[t.Row(i)]
		if v < from || v >= until {
			from = v - floorMod(v-x.p.node.Start, x.p.width)
			until = from + x.p.width
		}
		x.starts.I64[i] = from
		x.idx = append(x.idx, int32(i))
	}
	if len(x.idx) == sel.N {
		return sel
	}
	return columnar.Sel{Idx: x.idx, N: len(x.idx)}
}

// spread merges the panes into their windows. Windows that hold all panes of a key get them merged, in one; those
// at the ends get pane after pane. So a key costs its windows and the square of its panes, not the product.
func (x *paneFold) spread(into *table) error {
	if err := x.mergeKeys(); err != nil {
		return err
	}
	width := x.p.width
	err := x.windows(x.t, x.p.g.lay, into, func(i int, g uint32) (from, to int64) {
		pane := x.pane(g)
		return pane, pane
	}, func(g uint32, start int64) bool {
		o := x.owner[g]
		return start <= x.first[o] && start+x.p.node.Size >= x.last[o]+width
	})
	if err != nil {
		return err
	}
	return x.windows(x.all, x.p.whole.lay, into, func(i int, g uint32) (from, to int64) { return x.first[g], x.last[g] }, nil)
}

// pane is the start of a pane.
func (x *paneFold) pane(g uint32) int64 {
	return *(*int64)(x.t.rec.Ptr(g, x.t.extraAt()-8))
}

// mergeKeys merges all panes of each key.
func (x *paneFold) mergeKeys() error {
	x.all.truncate()
	x.first, x.last = x.first[:0], x.last[:0]
	n := uint32(x.t.rec.Len())
	x.owner = grow(x.owner[:0], int(n))
	for at := uint32(0); at < n; at += mergeSlice {
		x.slice(at, min(at+mergeSlice, n))
		keys := x.decode(x.t, x.p.g.lay, len(x.p.whole.keys))
		if err := x.am.add(x.all, x.t, keys, columnar.AllRows(len(x.from)), x.from); err != nil {
			return err
		}
		for i, o := range x.am.groups {
			x.owner[at+uint32(i)] = o
			pane := x.pane(x.from[i])
			if int(o) == len(x.first) {
				x.first, x.last = append(x.first, pane), append(x.last, pane)
			}
			x.first[o], x.last[o] = min(x.first[o], pane), max(x.last[o], pane)
		}
	}
	return nil
}

func (x *paneFold) slice(from, to uint32) {
	x.from = x.from[:0]
	for g := from; g < to; g++ {
		x.from = append(x.from, g)
	}
}

// decode gives the first n keys of the groups in from.
func (x *paneFold) decode(t *table, l *layout, n int) []*columnar.Vec {
	out := make([]*columnar.Vec, n)
	for i := range out {
		out[i] = &columnar.Vec{}
		out[i].Reset(l.fields[l.top[i]].t, 0)
		l.decode(t.rec, x.from, recKey, i, out[i])
	}
	return out
}

// windows merges every group of t into the windows that hold all of its panes, except those that skip names.
func (x *paneFold) windows(t *table, l *layout, into *table, span func(i int, g uint32) (from, to int64), skip func(g uint32, start int64) bool) error {
	node := x.p.node
	win := node.Out[len(node.Out)-1].Type
	n := uint32(t.rec.Len())
	for at := uint32(0); at < n; at += mergeSlice {
		x.slice(at, min(at+mergeSlice, n))
		vs := x.decode(t, l, len(x.p.whole.keys))
		count := len(x.from)
		start := columnar.Vec{Type: win.Fields[0].Type, Phys: columnar.PI64, Len: count, I64: make([]int64, count)}
		end := columnar.Vec{Type: win.Fields[1].Type, Phys: columnar.PI64, Len: count, I64: make([]int64, count)}
		window := &columnar.Vec{Type: win, Phys: columnar.PStruct, Len: count, Kids: []*columnar.Vec{&start, &end}}
		vs = append(vs[:x.p.window:x.p.window], append([]*columnar.Vec{window}, vs[x.p.window:]...)...)
		until := make([]int64, count) // no window that ends before holds the group
		for i, g := range x.from {
			from, to := span(i, g)
			start.I64[i] = from - floorMod(from-node.Start, node.Slide)
			end.I64[i] = start.I64[i] + node.Size
			until[i] = to + x.p.width
		}
		groups := make([]uint32, 0, count)
		for {
			x.idx, groups = x.idx[:0], groups[:0]
			more := false
			for i, g := range x.from {
				if end.I64[i] < until[i] {
					continue
				}
				more = true
				if skip == nil || !skip(g, start.I64[i]) {
					x.idx = append(x.idx, int32(i))
					groups = append(groups, g)
				}
			}
			if !more {
				break
			}
			if len(x.idx) > 0 {
				if err := x.m.add(into, t, vs, columnar.Sel{Idx: x.idx, N: len(x.idx)}, groups); err != nil {
					return err
				}
			}
			for i := range x.from {
				start.I64[i] -= node.Slide
				end.I64[i] -= node.Slide
			}
		}
	}
	return nil
}

// add merges groups of from into the groups of t that have the keys vs, row by row.
func (m *merger) add(t, from *table, vs []*columnar.Vec, sel columnar.Sel, groups []uint32) error {
	m.enc.encode(vs, sel)
	m.groups = grow(m.groups[:0], sel.N)
	t.upsert(m.enc, m.groups)
	for i, a := range m.aggs {
		at := t.extraAt() + m.g.offs[i]
		if err := a.Merge(t.rec, at, m.groups, from.rec, from.extraAt()+m.g.offs[i], groups); err != nil {
			return m.g.overflown(err)
		}
	}
	return nil
}
