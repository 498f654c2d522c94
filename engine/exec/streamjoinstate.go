package exec

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// reused reports that both sides are the same plan with the same keys.
func reused(x *plan.Join) bool {
	if !sameStreams(x.Left, x.Right) || plan.Explain(x.Left) != plan.Explain(x.Right) {
		return false
	}
	for i := range x.LeftKeys {
		if keyText(x.LeftKeys[i]) != keyText(x.RightKeys[i]) {
			return false
		}
	}
	return true
}

// keyText is an expression as text, with the places of its columns.
func keyText(e expr.Expr) string {
	s := e.String()
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok {
			s += fmt.Sprintf(" #%d", c.Index)
		}
		return true
	})
	return s
}

// sameStreams reports that two plans of one form read the same relations.
func sameStreams(a, b plan.Node) bool {
	if x, ok := a.(*plan.Scan); ok {
		y, ok := b.(*plan.Scan)
		return ok && x.Table == y.Table && x.Stream == y.Stream
	}
	p, q := a.Children(), b.Children()
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !sameStreams(p[i], q[i]) {
			return false
		}
	}
	return true
}

// relink builds the chains of a store from its rows.
func (o *streamJoin) relink(k *streamJoinWorker, st *joinStore, i int) error {
	s := o.sides[i]
	st.owners, st.expired = newOwners(s.keyLay), 0
	gs := st.rows.groups()
	owners := make([]uint32, columnar.Slice)
	k.keys[i].Begin(expr.Task{})
	for len(gs) > 0 {
		part := gs[:min(len(gs), columnar.Slice)]
		gs = gs[len(part):]
		sel := columnar.AllRows(len(part))
		ks, err := k.keys[i].Eval(st.columns(s, part), sel)
		if err != nil {
			return err
		}
		k.ek[i].encode(ks, sel)
		st.owners.upsert(k.ek[i], owners[:len(part)])
		for n, g := range part {
			st.rows.chain(st.head(owners[n]), st.rows.linkOf(g))
		}
	}
	st.owners.settle()
	return nil
}

// rebuild moves the live rows of a store into memory of their own.
func (o *streamJoin) rebuild(st *joinStore, i int) error {
	k, err := o.workers.get(0)
	if err != nil {
		return err
	}
	old := st.rows
	st.rows = newJoinRows(old.lay, old.width)
	st.rows.next = old.next
	for _, g := range old.groups() {
		l := st.rows.add(old.time(g), *old.meta(g))
		st.rows.copy(l.row(), old, g)
	}
	st.rows.added = 0
	return o.relink(k, st, i)
}

var sideNames = [2]string{"left", "right"}

func (o *streamJoin) shard(number, at, i int) store.Shard {
	return store.Shard{Operator: number, Range: at, Store: sideNames[i]}
}

// save writes the changes of all ranges, and a base of one store at most, as saveRanges does.
func (o *streamJoin) save(b *store.Batch, number int) error {
	changed := 0
	for _, a := range o.ranges {
		for _, st := range a.sides {
			changed += len(st.stored) + len(st.matched) + len(st.left)
		}
	}
	workers := 1
	if changed >= smallRows {
		workers = min(runtime.GOMAXPROCS(0), ranges)
	}
	err := spread("save", workers, ranges, func(w, at int) error {
		k, err := o.workers.get(w)
		if err != nil {
			return err
		}
		for i, st := range o.ranges[at].sides {
			if err := o.saveStore(b, o.shard(number, at, i), st, &k.save); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || o.batch == 0 {
		return err
	}
	var pick *joinStore
	var shard store.Shard
	most := int64(0)
	for at, a := range o.ranges {
		for i, st := range a.sides {
			if over, ok := st.due(); ok && (pick == nil || over > most) {
				pick, shard, most = st, o.shard(number, at, i), over
			}
		}
	}
	if pick == nil {
		return nil
	}
	k, err := o.workers.get(0)
	if err != nil {
		return err
	}
	return o.saveJoinBase(b, shard, pick, &k.save)
}

// due says whether the segments of a store are worth writing anew, and by how many bytes they are. Rows do not
// change: segments of rows that are all there are as good as a base, so what counts is what is in them of rows that
// have gone.
func (st *joinStore) due() (over int64, ok bool) {
	all := st.stats.base + st.stats.delta
	gone := all
	if st.written > 0 {
		gone = int64(float64(all) * float64(st.written-min(st.rows.live, st.written)) / float64(st.written))
	}
	over = gone - max(all-gone, baseAfterBytes)
	return over, over >= 0 || st.stats.deltas >= baseAfterDeltas
}

// saveStore writes what the batch changed.
func (o *streamJoin) saveStore(b *store.Batch, s store.Shard, st *joinStore, m *joinScratch) error {
	c := joinChange{bound: st.bound, left: st.left, matched: st.matched, rows: m.rows[:0]}
	for _, l := range st.stored {
		if st.rows.isLive(l) {
			c.rows = append(c.rows, l.row())
		}
	}
	m.rows = c.rows
	if st.rewrite && o.batch > 0 {
		return o.saveJoinBase(b, s, st, m)
	}
	if len(c.rows)+len(c.left)+len(c.matched) == 0 && c.bound == noBound {
		return nil
	}
	st.written += len(c.rows)
	st.rows.encode(c, m, func(seg []byte) {
		st.stats.delta += int64(len(seg))
		b.Delta(s, seg)
	})
	st.stats.deltas++
	return nil
}

// saveJoinBase writes all rows of a store, with the batch's own.
func (o *streamJoin) saveJoinBase(b *store.Batch, s store.Shard, st *joinStore, m *joinScratch) error {
	gs := st.rows.groups()
	slices.SortFunc(gs, func(x, y uint32) int { return cmp.Compare(st.rows.number(x), st.rows.number(y)) })
	st.stats, st.written = segmentStats{}, len(gs)
	var err error
	st.rows.encode(joinChange{bound: noBound, rows: gs}, m, func(seg []byte) {
		st.stats.base += int64(len(seg))
		if err == nil {
			err = b.Base(s, 0, seg)
		}
	})
	b.Covered(s, o.batch-1)
	return err
}

func (o *streamJoin) load(v *store.View, number int) error {
	var old [2]*table // rows of an earlier version, which kept them all in the first range
	err := spread("load", runtime.GOMAXPROCS(0), ranges, func(w, at int) error {
		k, err := o.workers.get(w)
		if err != nil {
			return err
		}
		for i, s := range o.sides {
			st := o.ranges[at].sides[i]
			r := joinLoader{s: st.rows, e: k.er[i], noting: st.batches != nil}
			var before segmentReader
			for p, err := range v.Pieces(o.shard(number, at, i)) {
				if err != nil {
					return err
				}
				switch {
				case p.Kind == store.KindBase:
					st.stats.base += int64(len(p.Rows))
				case p.Kind == store.KindDelta:
					st.stats.delta += int64(len(p.Rows))
					st.stats.deltas++
				default:
					return corrupt("released bucket")
				}
				if len(p.Rows) > 0 && !isJoinSegment(p.Rows) && at == 0 && len(r.numbers) == 0 {
					if old[i] == nil {
						old[i] = newTable(s.oldLayout(), oldExtra)
						before.e = newEncoder(old[i].lay)
					}
					if err := before.apply(old[i], p.Rows); err != nil {
						return err
					}
					old[i].settle()
					continue
				}
				batch := p.Batch
				if p.Kind == store.KindBase {
					batch = ^batch
				}
				if err := r.apply(p.Rows, batch); err != nil {
					return err
				}
			}
			if r.noting {
				st.batches = r.batches
			}
			st.rows.added = 0
			st.written = len(r.numbers)
			if err := o.relink(k, st, i); err != nil {
				return err
			}
			st.settle()
		}
		return nil
	})
	for i, t := range old {
		if t != nil && err == nil {
			err = o.takeOld(t, i)
		}
	}
	o.measure()
	return err
}

// What earlier versions stored of a side: a table of rows by number, with their time and whether they matched.
const (
	oldTime    = 0
	oldMatched = 20
	oldExtra   = 24
)

func (s *joinSide) oldLayout() *layout {
	row := []types.DataType{types.Of(types.BigInt)}
	for _, f := range s.in {
		row = append(row, f.Type)
	}
	return newLayout(row, false)
}

// takeOld stores rows of an earlier version in their ranges, as if the next batch had brought them.
func (o *streamJoin) takeOld(t *table, i int) error {
	k, err := o.workers.get(0)
	if err != nil {
		return err
	}
	o.ranges[0].sides[i].rewrite = true
	k.keys[i].Begin(expr.Task{})
	gs := t.groups(nil)
	for len(gs) > 0 {
		part := gs[:min(len(gs), columnar.Slice)]
		gs = gs[len(part):]
		cols := decodeAll(t.lay, t, part, 1)
		ks, err := k.keys[i].Eval(cols, columnar.AllRows(len(part)))
		if err != nil {
			return err
		}
		k.ek[i].encode(ks, columnar.AllRows(len(part)))
		var by [ranges][]int32
		for n, h := range k.ek[i].hash {
			by[rangeOf(h)] = append(by[rangeOf(h)], int32(n))
		}
		for at, idx := range by {
			if len(idx) == 0 {
				continue
			}
			sel := columnar.Sel{Idx: idx, N: len(idx)}
			k.ek[i].encode(ks, sel)
			k.hits = k.hits[:0]
			for _, n := range idx {
				m := *(*uint32)(unsafe.Add(t.rec.Ptr(part[n], t.extraAt()), oldMatched))
				k.hits = append(k.hits, m != 0)
			}
			o.ranges[at].sides[i].store(k, i, at, cols, sel, func(n int) int64 {
				return *(*int64)(t.rec.Ptr(part[idx[n]], t.extraAt()+oldTime))
			})
		}
	}
	return nil
}

func (o *streamJoin) shape() OperatorShape {
	var keys types.Schema
	for _, k := range o.node.LeftKeys {
		keys = append(keys, types.Field{Name: k.String(), Type: k.Type(), Nullable: k.Nullable()})
	}
	return newShape(o.Name(), keys, append(append(types.Schema{}, o.sides[0].in...), o.sides[1].in...))
}
