package exec

import (
	"runtime"

	"streamlab/columnar"
	"streamlab/store"
)

// State in panes lies in the shards of the ranges, as state in windows does; a shard behind them holds one
// record, the time up to which windows have closed. Its presence tells that there are panes: state that has
// been kept in windows by an earlier version stays in windows.

func (s *panedState) markShard(number int) store.Shard {
	return store.Shard{Operator: number, Range: ranges}
}

// closedMark is the record of the shard behind the ranges.
func (s *panedState) closedMark() *int64 {
	if s.mark.live == 0 {
		s.mark.link(s.mark.add(0))
	}
	return (*int64)(s.mark.rec.Ptr(0, s.mark.extraAt()))
}

func (s *panedState) save(b *store.Batch, number int) error {
	changed := *s.closedMark() != s.closed
	for _, a := range s.ranges {
		changed = changed || len(a.t.dirty) > 0
	}
	if changed {
		*s.closedMark() = s.closed
		s.mark.mark(0)
		if err := saveTable(b, s.markShard(number), s.mark, nil, &s.marks, s.o.batch); err != nil {
			return err
		}
	}
	return saveRanges(b, number, func(i int) rangeTable { return rangeTable{t: s.ranges[i].t, stats: &s.ranges[i].stats, bound: noBound} }, s.p.g.refs, s.o.batch, &s.o.owed)
}

// load reads the state; there is false if a view has none in panes.
func (s *panedState) load(v *store.View, number int) (there bool, err error) {
	if there, err = hasPieces(v, s.markShard(number)); !there || err != nil {
		return false, err
	}
	if err := loadTable(v, s.markShard(number), s.mark, nil, &s.marks); err != nil {
		return true, err
	}
	s.closed = *s.closedMark()
	return true, spread("load", runtime.GOMAXPROCS(0), ranges, func(_, i int) error {
		a := s.ranges[i]
		if err := loadTable(v, store.Shard{Operator: number, Range: i}, a.t, s.p.g.refs, &a.stats); err != nil {
			return err
		}
		a.forget()
		a.relink()
		return nil
	})
}

func hasPieces(v *store.View, s store.Shard) (bool, error) {
	for _, err := range v.Pieces(s) {
		return err == nil, err
	}
	return false, nil
}

// all makes every window that is there.
func (a *paneRange) all() error {
	p := a.s.p
	a.merge.begin(a.t, p.node.Size)
	open := p.openFrom(a.s.closed)
	for _, key := range a.keys.groups(nil) {
		k := a.key(key)
		a.run.begin(key)
		for g := k.oldest; g != 0; g = a.nodes[g-1].newer {
			a.run.add(g-1, a.pane(g-1))
		}
		a.run.windows(p, max(p.first(a.run.at[0]), open), p.last(a.run.at[len(a.run.at)-1]))
		if err := a.merge.add(&a.run); err != nil {
			return err
		}
	}
	return a.merge.flush()
}

// rows emits every window that is there.
func (s *panedState) rows(to emit) error {
	for _, a := range s.ranges {
		if err := a.all(); err != nil {
			return err
		}
		if err := a.push(0, len(a.merge.keys), to); err != nil {
			return err
		}
	}
	return nil
}

// spread gives every window that is there to an operator that keeps windows.
func (s *panedState) spread(o *stateAggregate) error {
	g := o.g
	m := g.newMerger()
	for _, a := range s.ranges {
		if err := a.all(); err != nil {
			return err
		}
		for from, n := 0, len(a.merge.keys); from < n; from += mergeSlice {
			count := min(mergeSlice, n-from)
			vs := make([]*columnar.Vec, len(g.keys))
			at := 0
			for i, k := range g.keys {
				vs[i] = &columnar.Vec{}
				vs[i].Reset(k.Type(), 0)
				if i == s.p.window {
					setWindows(vs[i], k.Type(), a.merge.starts[from:from+count], s.p.node.Size)
					continue
				}
				s.p.whole.lay.decode(a.keys.rec, a.merge.keys[from:from+count], recKey, at, vs[i])
				at++
			}
			t := g.newTable()
			m.enc.encode(vs, columnar.AllRows(count))
			m.groups = grow(m.groups[:0], count)
			t.upsert(m.enc, m.groups)
			ids := make([]uint32, count)
			for i := range ids {
				ids[i] = uint32(from + i)
			}
			for i, x := range m.aggs {
				if err := x.Merge(t.rec, t.extraAt()+g.offs[i], m.groups, a.merge.acc, g.offs[i], ids); err != nil {
					return g.overflown(err)
				}
			}
			for _, w := range m.groups {
				to := o.ranges[rangeOf(t.hash(w))]
				if err := to.m.merge(to.t, t, []uint32{w}, nil); err != nil {
					return err
				}
			}
		}
	}
	for _, a := range o.ranges {
		a.t.settle()
	}
	return nil
}
