package exec

import (
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// grouping is what an aggregation computes: keys, aggregates, and how they lie in a record.
type grouping struct {
	inState bool // kept between micro-batches
	in      types.Schema
	conf    expr.Conf
	keys    []expr.Expr
	calls   []*expr.AggregateCall
	lay     *layout
	offs    []int // of each aggregate in the extra part
	width   int
	refs    []int // in the extra part
	exprs   []expr.Expr
	argAt   []int    // of each call: its first argument among exprs
	filter  []int    // of each call: its FILTER among exprs, -1
	panes   *panes   // how rows of overlapping windows are folded; nil: one by one
	tap     *tap     // nil: untraced
	owner   Stateful // nil: it does not live with the run
}

// held counts what the operator that the grouping belongs to holds of its input.
func (g *grouping) held(r *run) *atomic.Int64 { return r.exchange(g.owner) }

func newGrouping(keys []expr.Expr, calls []*expr.AggregateCall, in types.Schema, c expr.Conf) *grouping {
	g := &grouping{in: in, conf: c, keys: keys, calls: calls}
	var ts []types.DataType
	for _, k := range keys {
		ts = append(ts, k.Type())
	}
	g.lay = newLayout(ts, true)
	g.exprs = append(g.exprs, keys...)
	for _, call := range calls {
		g.argAt = append(g.argAt, len(g.exprs))
		g.exprs = append(g.exprs, call.Args...)
		f := -1
		if call.Filter != nil {
			f = len(g.exprs)
			g.exprs = append(g.exprs, call.Filter)
		}
		g.filter = append(g.filter, f)
		a := call.New()
		g.offs = append(g.offs, g.width)
		for _, r := range a.Refs() {
			g.refs = append(g.refs, g.width+r)
		}
		g.width += (a.Width() + 7) &^ 7
	}
	return g
}

func (g *grouping) hasDistinct() bool {
	for _, c := range g.calls {
		if c.Distinct {
			return true
		}
	}
	return false
}

// fresh makes the aggregates for one worker.
func (g *grouping) fresh() []expr.Aggregate {
	out := make([]expr.Aggregate, len(g.calls))
	for i, c := range g.calls {
		out[i] = c.New()
	}
	return out
}

func (g *grouping) newTable() *table { return newTable(g.lay, g.width) }

// A folder folds chunks into tables. It belongs to one worker.
type folder struct {
	g        *grouping
	prog     *expr.Program
	enc      *encoder
	aggs     []expr.Aggregate
	groups   []uint32
	picked   []uint32
	idx      []int32
	distinct []*distinctSet // per call, nil if not DISTINCT
	coded    codedKeys
	numbered *directory // nil: not asked
}

func (g *grouping) newFolder() (*folder, error) {
	p, err := expr.Compile(g.exprs, g.in, g.conf)
	if err != nil {
		return nil, err
	}
	f := &folder{g: g, prog: p, enc: newEncoder(g.lay), aggs: g.fresh(), distinct: make([]*distinctSet, len(g.calls))}
	for i, c := range g.calls {
		if c.Distinct {
			f.distinct[i] = newDistinctSet(c.Args)
		}
	}
	return f, nil
}

// fold adds the rows of a chunk to t.
func (f *folder) fold(t *table, c *chunk) error {
	vs, err := f.prog.Eval(c.cols, c.sel)
	if err != nil {
		return err
	}
	return f.foldValues(t, vs, c.sel)
}

// foldValues adds rows whose keys, arguments and filters have been computed.
func (f *folder) foldValues(t *table, vs []*columnar.Vec, all columnar.Sel) error {
	f.groups = grow(f.groups[:0], all.N)
	if keys := vs[:len(f.g.keys)]; !f.coded.find(t, f.enc, keys, all, f.groups) &&
		(f.numbered == nil || !f.numbered.find(t, f.enc, keys, all, f.groups)) {
		f.enc.encode(keys, all)
		t.upsert(f.enc, f.groups)
	}
	at := t.extraAt()
	for i, a := range f.aggs {
		sel, groups := all, f.groups
		if x := f.g.filter[i]; x >= 0 {
			sel, groups = f.where(vs[x], sel, groups)
		}
		args := vs[f.g.argAt[i] : f.g.argAt[i]+len(f.g.calls[i].Args)]
		if f.distinct != nil && f.distinct[i] != nil {
			d := f.distinct[i]
			sel, groups = d.firsts(groups, args, sel)
		}
		if sel.N == 0 {
			continue
		}
		if err := a.Update(t.rec, at+f.g.offs[i], groups, args, sel); err != nil {
			return err
		}
	}
	return nil
}

// where keeps the rows on which a FILTER holds, with their groups.
func (f *folder) where(cond *columnar.Vec, sel columnar.Sel, groups []uint32) (columnar.Sel, []uint32) {
	f.idx, f.picked = f.idx[:0], f.picked[:0]
	for k := range sel.N {
		i := sel.At(k)
		if !cond.IsNull(i) && cond.Bool(i) {
			f.idx = append(f.idx, int32(i))
			f.picked = append(f.picked, groups[k])
		}
	}
	return columnar.Sel{Idx: f.idx, N: len(f.idx)}, f.picked
}

// distinctSet knows which (group, value) pairs have been seen: DISTINCT of a batch aggregation.
type distinctSet struct {
	t      *table
	e      *encoder
	out    []uint32
	cols   []*columnar.Vec
	group  columnar.Vec
	idx    []int32
	groups []uint32
}

func newDistinctSet(args []expr.Expr) *distinctSet {
	ts := []types.DataType{types.Of(types.BigInt)}
	for _, a := range args {
		ts = append(ts, a.Type())
	}
	l := newLayout(ts, true)
	return &distinctSet{t: newTable(l, 0), e: newEncoder(l)}
}

// firsts keeps the rows whose arguments their group has not seen before.
func (d *distinctSet) firsts(groups []uint32, args []*columnar.Vec, sel columnar.Sel) (columnar.Sel, []uint32) {
	d.idx, d.groups = d.idx[:0], d.groups[:0]
	if sel.N == 0 {
		return columnar.Sel{}, nil
	}
	last := sel.At(sel.N - 1)
	d.group = columnar.Vec{Phys: columnar.PI64, Len: last + 1, I64: grow(d.group.I64[:0], last+1)}
	for k := range sel.N {
		d.group.I64[sel.At(k)] = int64(groups[k])
	}
	d.cols = append(append(d.cols[:0], &d.group), args...)
	d.e.encode(d.cols, sel)
	d.out = grow(d.out[:0], sel.N)
	had := uint32(d.t.rec.Len())
	d.t.upsert(d.e, d.out)
	for k, g := range d.out {
		if g >= had { // new; of several equal rows only the first raises had
			d.idx = append(d.idx, int32(sel.At(k)))
			d.groups = append(d.groups, groups[k])
			had = g + 1
		}
	}
	d.t.dirty = d.t.dirty[:0]
	return columnar.Sel{Idx: d.idx, N: len(d.idx)}, d.groups
}

// A merger adds groups of one table to another. It belongs to one worker.
type merger struct {
	g      *grouping
	enc    *encoder
	aggs   []expr.Aggregate
	groups []uint32
}

func (g *grouping) newMerger() *merger {
	return &merger{g: g, enc: newEncoder(g.lay), aggs: g.fresh()}
}

const mergeSlice = probeRows // the records that were found are still near when they are merged

// merge folds groups of from into t; onNew, if set, learns the groups that were not in t.
func (m *merger) merge(t, from *table, groups []uint32, onNew func(gs []uint32)) error {
	for len(groups) > 0 {
		part := groups[:min(len(groups), mergeSlice)]
		groups = groups[len(part):]
		m.enc.encodeGroups(from, part)
		m.groups = grow(m.groups[:0], len(part))
		m.upsert(t, onNew)
		for i, a := range m.aggs {
			err := a.Merge(t.rec, t.extraAt()+m.g.offs[i], m.groups, from.rec, from.extraAt()+m.g.offs[i], part)
			if err != nil {
				return m.g.overflown(err)
			}
		}
	}
	return nil
}

func (m *merger) upsert(t *table, onNew func(gs []uint32)) {
	if onNew == nil {
		t.upsert(m.enc, m.groups)
		return
	}
	before := len(t.fresh)
	t.track = true
	t.upsert(m.enc, m.groups)
	t.track = false
	onNew(t.fresh[before:])
	t.fresh = t.fresh[:before]
}

// results fills columns with keys and aggregate results of groups, in this order.
func (g *grouping) results(t *table, aggs []expr.Aggregate, groups []uint32, cols []columnar.Vec) error {
	for i := range g.keys {
		cols[i].Reset(g.keys[i].Type(), 0)
		g.lay.decode(t.rec, groups, recKey, i, &cols[i])
	}
	for i, a := range aggs {
		c := &cols[len(g.keys)+i]
		if err := a.Result(t.rec, t.extraAt()+g.offs[i], groups, c); err != nil {
			return err
		}
	}
	return nil
}

func refuse(feature string) error { return errs.New("UNSUPPORTED_FEATURE", "feature", feature) }
