package exec

import (
	"context"
	"sync"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// hashJoin joins rows of a side that is read as it comes (probe) with a side that is read first (build).
// The static side of a stream is the build side, and so is the right side of static joins, except for right
// outer joins, where it is the left one.
type hashJoin struct {
	node         *plan.Join
	probe, build operator
	flipped      bool // the build side is the left one
	keepProbe    bool // rows without a match come out with nulls
	keepBuild    bool
	buildKeys    *expr.Program
	lay          *layout
	workers      perWorker[*joinWorker]
	conf         expr.Conf
	probeIn      types.Schema
	buildIn      types.Schema

	t        *table
	rows     *rowsBuffer
	next     []int32 // chain of build rows with equal keys, in row order
	hasNull  bool    // some build row has a null key
	parts    int
	mu       sync.Mutex
	matched  []uint64 // build rows
	keyTypes []types.DataType
	// version tells whether what was built still holds; nil: it is built anew in every batch.
	version func(ctx context.Context) (string, error)
	built   string
	tap     *tap    // nil: untraced
	builtOf []rowID // of the build rows, if traced
}

type joinWorker struct {
	keys     *expr.Program
	residual *expr.Program
	enc      *encoder
	groups   []uint32
	keyed    []int32
	left     []int32
	right    []int32
	hit      []uint64
	idx      []int32
	out      []columnar.Vec
}

func newHashJoin(left, right operator, n *plan.Join, flipped bool, c expr.Conf) (*hashJoin, error) {
	o := &hashJoin{node: n, flipped: flipped, conf: c, probe: left, build: right,
		probeIn: n.Left.Schema(), buildIn: n.Right.Schema()}
	pk, bk := n.LeftKeys, n.RightKeys
	if flipped {
		o.probe, o.build, o.probeIn, o.buildIn, pk, bk = right, left, o.buildIn, o.probeIn, bk, pk
	}
	switch n.Kind {
	case plan.LeftOuter:
		o.keepProbe, o.keepBuild = !flipped, flipped
	case plan.RightOuter:
		o.keepProbe, o.keepBuild = flipped, !flipped
	case plan.FullOuter:
		o.keepProbe, o.keepBuild = true, true
	case plan.LeftSemi, plan.LeftAnti, plan.Existence:
		if flipped {
			return nil, refuse("semi join of a static left side with a stream")
		}
	}
	for _, k := range bk {
		o.keyTypes = append(o.keyTypes, k.Type())
	}
	o.lay = newLayout(o.keyTypes, true)
	var err error
	if o.buildKeys, err = expr.Compile(bk, o.buildIn, c); err != nil {
		return nil, err
	}
	both := append(append(types.Schema{}, n.Left.Schema()...), n.Right.Schema()...)
	o.workers.make = func() (*joinWorker, error) {
		w := &joinWorker{enc: newEncoder(o.lay)}
		var err error
		if w.keys, err = expr.Compile(pk, o.probeIn, c); err != nil {
			return nil, err
		}
		if n.Residual != nil {
			if w.residual, err = expr.Compile([]expr.Expr{n.Residual}, both, c); err != nil {
				return nil, err
			}
		}
		return w, nil
	}
	_, err = o.workers.get(0)
	return o, err
}

func (o *hashJoin) open(r *run) (int, error) {
	err := o.prepare(r)
	if err != nil {
		return 0, err
	}
	o.matched = make([]uint64, columnar.Words(o.rows.n))
	if o.parts, err = o.probe.open(r); err != nil {
		return 0, err
	}
	if o.keepBuild { // what did not match is known at the end only
		return 1, nil
	}
	return o.parts, nil
}

// prepare builds the table of the build side, unless its rows are those of an earlier batch.
func (o *hashJoin) prepare(r *run) error {
	if o.version == nil {
		return o.buildTable(r)
	}
	v, err := o.version(r.ctx) // before the scan: what changes meanwhile shows next time
	if err != nil || o.t != nil && v == o.built {
		return err
	}
	o.t = nil
	if err := o.buildTable(r); err != nil {
		o.t = nil
		return err
	}
	o.built = v
	return nil
}

func (o *hashJoin) buildTable(r *run) error {
	parts, err := o.build.open(r)
	if err != nil {
		return err
	}
	o.t, o.rows, o.next, o.hasNull, o.builtOf = newTable(o.lay, 8), newRowsBuffer(o.buildIn), o.next[:0], false, nil
	enc := newEncoder(o.lay)
	var groups []uint32
	for p := range parts {
		o.buildKeys.Begin(r.exprTask(p))
		err := o.build.part(r, 0, p, func(c *chunk) error {
			ks, err := o.buildKeys.Eval(c.cols, c.sel)
			if err != nil {
				return err
			}
			base := int32(o.rows.n)
			o.rows.add(c.cols, c.sel)
			if o.tap != nil {
				o.builtOf = o.tap.took(o.builtOf, c.sel, FateRead)
			}
			keyed := o.keyedRows(ks, c.sel, nil)
			if keyed.N < c.sel.N {
				o.hasNull = true
			}
			enc.encode(ks, keyed)
			groups = grow(groups[:0], keyed.N)
			o.t.upsert(enc, groups)
			for range c.sel.N {
				o.next = append(o.next, -1)
			}
			at, j := o.t.extraAt(), 0
			for k := range c.sel.N {
				if j >= keyed.N || keyed.At(j) != c.sel.At(k) {
					continue
				}
				ends := (*[2]int32)(o.t.rec.Ptr(groups[j], at)) // first row + 1, last row + 1
				row := base + int32(k)
				if ends[0] == 0 {
					ends[0] = row + 1
				} else {
					o.next[ends[1]-1] = row
				}
				ends[1] = row + 1
				j++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keyedRows keeps the rows that can match: those without a null key.
func (o *hashJoin) keyedRows(ks []*columnar.Vec, sel columnar.Sel, buf []int32) columnar.Sel {
	return withoutNulls(ks, o.node.NullSafe, sel, buf)
}

func withoutNulls(ks []*columnar.Vec, safe []bool, sel columnar.Sel, buf []int32) columnar.Sel {
	for i, k := range ks {
		if safe != nil && safe[i] || k.Phys != columnar.PNull && k.Valid == nil {
			continue
		}
		idx := buf[:0]
		for j := range sel.N {
			if x := sel.At(j); !k.IsNull(x) {
				idx = append(idx, int32(x))
			}
		}
		buf = nil // a further key reads idx
		sel = columnar.Sel{Idx: idx, N: len(idx)}
	}
	return sel
}

func (o *hashJoin) part(r *run, w, p int, to emit) error {
	x, err := o.workers.get(w)
	if err != nil {
		return err
	}
	wk := *x
	if !o.keepBuild {
		return o.probePart(r, wk, w, p, to)
	}
	for i := range o.parts {
		if err := o.probePart(r, wk, w, i, to); err != nil {
			return err
		}
	}
	var lone []int32
	for i := range o.rows.n {
		if !columnar.GetBit(o.matched, i) {
			lone = append(lone, int32(i))
		}
	}
	none := make([]int32, min(len(lone), columnar.Slice))
	for i := range none {
		none[i] = -1
	}
	probe := newRowsBuffer(o.probeIn)
	for len(lone) > 0 {
		n := min(len(lone), columnar.Slice)
		if err := to(&chunk{cols: o.gather(wk, probe.vecs(), none[:n], lone[:n]), sel: columnar.AllRows(n), with: o.partners(lone[:n])}); err != nil {
			return err
		}
		lone = lone[n:]
	}
	return nil
}

// gather makes output rows of pairs of a probe and a build row; -1 is nulls.
func (o *hashJoin) gather(wk *joinWorker, probe []columnar.Vec, ps, bs []int32) []columnar.Vec {
	np, nb := len(o.probeIn), len(o.buildIn)
	if len(wk.out) < np+nb {
		wk.out = make([]columnar.Vec, np+nb)
	}
	pAt, bAt := 0, np
	if o.flipped {
		pAt, bAt = nb, 0
	}
	for i := range np {
		gatherRows(&wk.out[pAt+i], &probe[i], ps)
	}
	for i := range nb {
		columnar.GatherIdx(&wk.out[bAt+i], o.rows.cols[i], bs)
	}
	return wk.out
}

// gatherRows is GatherIdx for vectors that may be constant.
func gatherRows(dst, src *columnar.Vec, idx []int32) {
	if src.Const && src.Phys != columnar.PNull {
		zero := make([]int32, len(idx))
		for k, i := range idx {
			if i < 0 {
				zero[k] = -1
			}
		}
		idx = zero
		c := *src
		c.Const = false
		src = &c
	}
	columnar.GatherIdx(dst, src, idx)
}

func (o *hashJoin) probePart(r *run, wk *joinWorker, w, p int, to emit) error {
	wk.keys.Begin(r.exprTask(p))
	if wk.residual != nil {
		wk.residual.Begin(r.exprTask(p))
	}
	kind := o.node.Kind
	if o.node.NullAware && o.hasNull { // nothing comes out, and as in Spark nothing is read
		return nil
	}
	rowsOut := kind == plan.Inner || o.keepProbe || o.keepBuild
	return o.probe.part(r, w, p, func(c *chunk) error {
		ks, err := wk.keys.Eval(c.cols, c.sel)
		if err != nil {
			return err
		}
		keyed := o.keyedRows(ks, c.sel, wk.keyed)
		if !keyed.All {
			wk.keyed = keyed.Idx[:0]
		}
		wk.enc.encode(ks, keyed)
		wk.groups = grow(wk.groups[:0], keyed.N)
		o.t.find(wk.enc, wk.groups)
		last := 0
		if c.sel.N > 0 {
			last = c.sel.At(c.sel.N - 1)
		}
		wk.hit = grow(wk.hit[:0], columnar.Words(last+1))
		clear(wk.hit)
		at := o.t.extraAt()
		wk.left, wk.right = wk.left[:0], wk.right[:0]
		for k := range keyed.N {
			g := wk.groups[k]
			if g == noGroup {
				continue
			}
			i := int32(keyed.At(k))
			for b := (*[2]int32)(o.t.rec.Ptr(g, at))[0] - 1; b >= 0; b = o.next[b] {
				wk.left, wk.right = append(wk.left, i), append(wk.right, b)
				if len(wk.left) == columnar.Slice {
					if err := o.pairs(wk, c, rowsOut, to); err != nil {
						return err
					}
				}
				if !rowsOut && wk.residual == nil {
					break // one match says all
				}
			}
		}
		if err := o.pairs(wk, c, rowsOut, to); err != nil {
			return err
		}
		return o.unmatched(wk, c, ks, to)
	})
}

// pairs applies the residual to the collected pairs, notes matches and pushes the rows.
func (o *hashJoin) pairs(wk *joinWorker, c *chunk, rowsOut bool, to emit) error {
	if len(wk.left) == 0 {
		return nil
	}
	ps, bs := wk.left, wk.right
	wk.left, wk.right = wk.left[:0], wk.right[:0]
	var cols []columnar.Vec
	sel := columnar.AllRows(len(ps))
	if rowsOut || wk.residual != nil {
		cols = o.gather(wk, c.cols, ps, bs)
	}
	if wk.residual != nil {
		var err error
		if sel, err = wk.residual.Select(cols, sel); err != nil {
			return err
		}
	}
	if !rowsOut || o.keepProbe {
		for k := range sel.N {
			columnar.SetBit(wk.hit, int(ps[sel.At(k)]))
		}
	}
	if o.keepBuild {
		o.mu.Lock()
		for k := range sel.N {
			columnar.SetBit(o.matched, int(bs[sel.At(k)]))
		}
		o.mu.Unlock()
	}
	if !rowsOut || sel.N == 0 {
		return nil
	}
	return to(&chunk{cols: cols, sel: sel, from: ps, with: o.partners(bs)})
}

// unmatched pushes what the kind of join says about the probe rows of a chunk by themselves.
func (o *hashJoin) unmatched(wk *joinWorker, c *chunk, ks []*columnar.Vec, to emit) error {
	kind := o.node.Kind
	wk.idx = wk.idx[:0]
	for k := range c.sel.N {
		i := c.sel.At(k)
		hit := columnar.GetBit(wk.hit, i)
		keep := false
		switch kind {
		case plan.LeftSemi:
			keep = hit
		case plan.LeftAnti:
			keep = !hit
			if keep && o.node.NullAware {
				keep = o.rows.n == 0 || !o.hasNull && (len(ks) == 0 || !ks[0].IsNull(i))
			}
		case plan.Existence:
			keep = true
		default:
			keep = o.keepProbe && !hit
		}
		if keep {
			wk.idx = append(wk.idx, int32(i))
		}
	}
	if len(wk.idx) == 0 {
		return nil
	}
	sel := columnar.Sel{Idx: wk.idx, N: len(wk.idx)}
	switch kind {
	case plan.LeftSemi, plan.LeftAnti:
		return to(&chunk{cols: c.cols, sel: sel})
	case plan.Existence:
		exists := columnar.NewVec(types.Of(types.Boolean), len(wk.hit)*64)
		copy(exists.Bits, wk.hit)
		return to(&chunk{cols: append(append([]columnar.Vec{}, c.cols...), *exists), sel: c.sel})
	}
	none := make([]int32, len(wk.idx))
	for i := range none {
		none[i] = -1
	}
	return to(&chunk{cols: o.gather(wk, c.cols, wk.idx, none), sel: columnar.AllRows(len(none)), from: wk.idx})
}
