package exec

import (
	"math"
	"slices"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// joinRange is the state of a range of keys, and what it gives in a batch.
type joinRange struct {
	at      int
	sides   [2]*joinStore
	out     *rowsBuffer
	updated int64
	removed int64
}

// joinStore is the rows of one side in a range. owners finds the chain of a key; keys whose rows have all
// expired stay in it until there are many.
type joinStore struct {
	rows    *joinRows
	owners  *table
	stats   segmentStats
	written int // rows in its segments
	expired int // rows since owners was swept

	// Of the batch:
	stored  []link
	first   int64   // number of the first new row
	matched []int64 // numbers of older rows that matched for the first time
	left    []int64 // numbers of rows that left one by one
	bound   int64   // up to which rows have expired
	rewrite bool    // what is saved is in the form of an earlier version

	came    map[uint32]rowID // of rows that were stored in this batch, if traced
	batches []int64          // of a store that was loaded to be looked at, by row: the batch that wrote it
}

func (a *joinRange) side(s *joinSide) *joinStore {
	if s.left {
		return a.sides[0]
	}
	return a.sides[1]
}

// begin starts a batch. What is traced leaves in the order of its making.
func (a *joinRange) begin(traced bool, shared *rowsBuffer) {
	a.updated, a.removed = 0, 0
	if traced {
		a.out = shared
		for _, s := range a.sides {
			s.came = map[uint32]rowID{}
		}
	}
	a.out.clear()
}

// streamJoinWorker is what a goroutine needs to work on parts and ranges.
type streamJoinWorker struct {
	keys, only [2]*expr.Program // only: nil without such conjuncts
	both       *expr.Program    // likewise
	ek, er     [2]*encoder
	idx        []int32
	kept       []int32
	hits       []bool
	groups     []uint32
	heads      []link
	hit        []bool
	pairs      []int32
	partners   []uint32
	rows       []int32
	pair       []columnar.Vec
	cols       []*columnar.Vec
	ks         []*columnar.Vec
	save       joinScratch
}

func (o *streamJoin) newWorker(c expr.Conf) (k streamJoinWorker, err error) {
	l, r := o.sides[0], o.sides[1]
	both := append(append(l.in[:0:0], l.in...), r.in...)
	k.pair = make([]columnar.Vec, len(both))
	if o.both != nil {
		if k.both, err = expr.Compile([]expr.Expr{o.both}, both, c); err != nil {
			return k, err
		}
	}
	for i, s := range o.sides {
		k.ek[i], k.er[i] = newEncoder(s.keyLay), newEncoder(s.rowLay)
		if k.keys[i], err = expr.Compile(s.keys, s.in, c); err != nil {
			return k, err
		}
		if s.only != nil {
			if k.only[i], err = expr.Compile([]expr.Expr{s.only}, s.in, c); err != nil {
				return k, err
			}
		}
	}
	return k, nil
}

// read collects a part of side i. What is traced meets the other side at once, while the chunk is being pushed.
func (o *streamJoin) read(r *run, w, i, p int, late, evict int64) error {
	k, err := o.workers.get(w)
	if err != nil {
		return err
	}
	s := o.sides[i]
	in := s.parts[p]
	k.keys[i].Begin(r.exprTask(0)) // keys of streams are deterministic: one task serves all parts
	err = s.child.part(r, w, p, func(c *chunk) error {
		ks, sel, err := o.screen(k, i, in, c, late)
		if err != nil || sel.N == 0 {
			return err
		}
		k.ek[i].encode(ks, sel)
		if o.tap != nil {
			var by [ranges][]int32
			for n, h := range k.ek[i].hash {
				by[rangeOf(h)] = append(by[rangeOf(h)], int32(sel.At(n)))
			}
			for at, idx := range by {
				if len(idx) > 0 {
					if err := o.take(k, i, at, c.cols, ks, columnar.Sel{Idx: idx, N: len(idx)}, evict); err != nil {
						return err
					}
				}
			}
			return nil
		}
		in.divide(k.ek[i].hash, in.buf.n)
		in.buf.add(c.cols, sel)
		n := 0
		for j, at := range s.keyAt {
			if at < 0 {
				appendVec(in.keys.cols[n], ks[j], sel)
				n++
			}
		}
		in.keys.n += sel.N
		return nil
	})
	if err != nil {
		return err
	}
	return in.account(r, o)
}

// screen gives the rows of a chunk of side i that may meet the other side, and their keys.
func (o *streamJoin) screen(k *streamJoinWorker, i int, in *joinPart, c *chunk, late int64) ([]*columnar.Vec, columnar.Sel, error) {
	s, sel := o.sides[i], c.sel
	none := columnar.Sel{}
	if s.timeCol >= 0 {
		sel = onTime(windowEnd(&c.cols[s.timeCol]), sel, late, &k.idx)
		in.late += int64(c.sel.N - sel.N)
		if o.tap != nil {
			o.tap.dropped(c.sel, sel, FateLate, windowEnd(&c.cols[s.timeCol]))
		}
	}
	if sel.N == 0 {
		return nil, none, nil
	}
	ks, err := k.keys[i].Eval(c.cols, sel)
	if err != nil {
		return nil, none, err
	}
	if s.dropNull {
		had := sel
		sel = withoutNulls(ks, o.node.NullSafe, sel, nil)
		if o.tap != nil {
			o.tap.dropped(had, sel, FateNullKey, nil)
		}
		if sel.N == 0 {
			return nil, none, nil
		}
	}
	if s.only == nil {
		return ks, sel, nil
	}
	pass, err := k.only[i].Select(c.cols, sel)
	if err != nil {
		return nil, none, err
	}
	if o.tap != nil {
		o.tap.dropped(sel, pass, FateUnmatched, nil)
	}
	if s.preserved && pass.N < sel.N {
		lone := minus(sel, pass)
		out := in.lone
		if o.tap != nil {
			out = o.ranges[0].out
			o.tap.queueRows(lone)
		}
		o.lone(out, i, c.cols, lone)
	}
	return ks, pass, nil
}

// lone gives out rows of side i with nulls for the other side.
func (o *streamJoin) lone(out *rowsBuffer, i int, cols []columnar.Vec, sel columnar.Sel) {
	at := 0
	if i == 1 {
		at = len(o.sides[0].in)
	}
	for k := range o.schema {
		if k >= at && k < at+len(cols) {
			appendVec(out.cols[k], &cols[k-at], sel)
		} else {
			null := columnar.Vec{Phys: columnar.PNull, Len: sel.N}
			appendVec(out.cols[k], &null, columnar.AllRows(sel.N))
		}
	}
	out.n += sel.N
}

// takeIn lets a range's rows of side i meet the other side.
func (o *streamJoin) takeIn(k *streamJoinWorker, i, at int, evict int64) error {
	s := o.sides[i]
	st := o.ranges[at].sides[i]
	rows := 0
	for _, p := range s.parts {
		rows += len(p.by[at])
	}
	st.stored = slices.Grow(st.stored, rows)
	had, keys := rows, st.owners.live
	for _, p := range s.parts {
		if len(p.by[at]) == 0 {
			continue
		}
		cols := p.buf.vecs()
		k.ks = k.ks[:0]
		n := 0
		for _, c := range s.keyAt {
			if c >= 0 {
				k.ks = append(k.ks, p.buf.cols[c])
			} else {
				k.ks = append(k.ks, p.keys.cols[n])
				n++
			}
		}
		err := p.slices(at, func(sel columnar.Sel) error {
			if err := o.take(k, i, at, cols, k.ks, sel, evict); err != nil {
				return err
			}
			if rows == had { // as many of the others will have keys of their own as of these
				st.owners.reserve(int(int64(max(0, st.owners.live-keys)) * int64(rows) / int64(sel.N)))
			}
			rows -= sel.N
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take lets rows of side i, which belong to a range, meet the other side's stored rows, then stores them.
func (o *streamJoin) take(k *streamJoinWorker, i, at int, cols []columnar.Vec, ks []*columnar.Vec, sel columnar.Sel, evict int64) error {
	a := o.ranges[at]
	theirs := a.sides[1-i]
	k.ek[i].encode(ks, sel)
	k.groups = grow(k.groups[:0], sel.N)
	theirs.owners.find(k.ek[i], k.groups)
	k.hit = grow(k.hit[:0], sel.N)
	clear(k.hit)
	k.heads = grow(k.heads[:0], sel.N)
	for n, g := range k.groups {
		k.heads[n] = 0
		if g != noGroup {
			k.heads[n] = *theirs.head(g)
		}
	}
	k.pairs, k.partners = k.pairs[:0], k.partners[:0]
	rows := theirs.rows
	stop := o.nearest(i, cols)
	for n, l := range k.heads {
		if !rows.there(l) {
			continue
		}
		until := stop(sel.At(n))
		back := theirs.head(k.groups[n])
		for rows.there(l) && rows.keyOf(l) > until {
			row := l.row()
			next := rows.nextOf(row)
			if *rows.meta(row)&rowDead != 0 { // rows that have left are taken out by who comes by
				l = *next
				*back = l
				continue
			}
			k.pairs, k.partners = append(k.pairs, int32(n)), append(k.partners, row)
			if len(k.pairs) == columnar.Slice && o.kind != plan.LeftSemi { // a semi join lets rows leave
				if err := o.meet(k, i, a, cols, sel); err != nil {
					return err
				}
			}
			back, l = next, *next
		}
	}
	if err := o.meet(k, i, a, cols, sel); err != nil {
		return err
	}
	o.keep(k, i, a, cols, ks, sel, evict)
	return nil
}

// nearest gives, for rows of side i, the bucket of the other side at and below which nothing matches.
func (o *streamJoin) nearest(i int, cols []columnar.Vec) func(row int) int64 {
	s, other := o.sides[i], o.sides[1-i]
	if !other.reaches || s.timeCol < 0 {
		return func(int) int64 { return math.MinInt64 }
	}
	times := windowEnd(&cols[s.timeCol])
	return func(row int) int64 {
		if times.IsNull(row) {
			return math.MinInt64
		}
		return floorDiv(times.I64[times.Row(row)]+other.reach, other.width) - 1
	}
}

// meet joins the pairs of a row of side i and a stored row of the other side, and forgets them.
func (o *streamJoin) meet(k *streamJoinWorker, i int, a *joinRange, cols []columnar.Vec, sel columnar.Sel) error {
	pairs, partners := k.pairs, k.partners
	k.pairs, k.partners = k.pairs[:0], k.partners[:0]
	for len(pairs) > 0 {
		n := min(len(pairs), columnar.Slice)
		if err := o.meetSome(k, i, a, cols, sel, pairs[:n], partners[:n]); err != nil {
			return err
		}
		pairs, partners = pairs[n:], partners[n:]
	}
	return nil
}

func (o *streamJoin) meetSome(k *streamJoinWorker, i int, a *joinRange, cols []columnar.Vec, from columnar.Sel, pairs []int32, partners []uint32) error {
	s, other := o.sides[i], o.sides[1-i]
	theirs := a.sides[1-i]
	k.rows = grow(k.rows[:0], len(pairs))
	for x, n := range pairs {
		k.rows[x] = int32(from.At(int(n)))
	}
	my, their := 0, len(o.sides[0].in)
	if i == 1 {
		my, their = their, 0
	}
	for c := range s.in {
		gatherRows(&k.pair[my+c], &cols[c], k.rows)
	}
	for c := range other.in {
		k.pair[their+c].Reset(other.in[c].Type, 0)
		other.rowLay.decode(theirs.rows.rec, partners, rowWords, c, &k.pair[their+c])
	}
	sel := columnar.AllRows(len(pairs))
	if k.both != nil {
		var err error
		if sel, err = k.both.Select(k.pair, sel); err != nil {
			return err
		}
	}
	if o.kind == plan.LeftSemi {
		sel = o.meetSemi(k, i, a, pairs, partners, sel)
	} else {
		for n := range sel.N {
			x := sel.At(n)
			k.hit[pairs[x]] = true
			if m := theirs.rows.meta(partners[x]); *m&rowMatched == 0 { // kept by inner joins too: a restart may make them outer
				*m |= rowMatched
				if number := int64(*m >> rowFlags); number < theirs.first {
					theirs.matched = append(theirs.matched, number)
				}
			}
		}
	}
	a.out.add(k.pair, sel)
	if o.tap != nil {
		o.tracePairs(theirs, k.rows, partners, sel)
	}
	return nil
}

// meetSemi lets each left row out at its first match; a stored one leaves the state. It gives the pairs that
// do so.
func (o *streamJoin) meetSemi(k *streamJoinWorker, i int, a *joinRange, pairs []int32, partners []uint32, sel columnar.Sel) columnar.Sel {
	var keep []int32
	for n := range sel.N {
		x := sel.At(n)
		if i == 0 {
			if k.hit[pairs[x]] {
				continue
			}
			k.hit[pairs[x]] = true
		} else {
			l := a.sides[0]
			if *l.rows.meta(partners[x])&rowDead != 0 {
				continue
			}
			l.rows.leave(partners[x])
			if number := l.rows.number(partners[x]); number < l.first {
				l.left = append(l.left, number)
			}
			a.removed++
		}
		keep = append(keep, int32(x))
	}
	return columnar.Sel{Idx: keep, N: len(keep)}
}

// keep stores rows of side i.
func (o *streamJoin) keep(k *streamJoinWorker, i int, a *joinRange, cols []columnar.Vec, ks []*columnar.Vec, sel columnar.Sel, evict int64) {
	s := o.sides[i]
	var times *columnar.Vec
	switch {
	case s.keyTime >= 0:
		times = windowEnd(ks[s.keyTime])
	case s.expires:
		times = windowEnd(&cols[s.timeCol])
	}
	due := int64(math.MinInt64)
	if s.expires {
		due = s.due(evict)
	}
	k.kept, k.hits = k.kept[:0], k.hits[:0]
	for n, hit := range k.hit {
		x := sel.At(n)
		store := true
		switch {
		case i == 0:
			store = o.kind != plan.LeftSemi || !hit
		case times != nil && !times.IsNull(x) && times.I64[times.Row(x)] <= due:
			store = s.preserved && !hit
		}
		if store {
			k.kept, k.hits = append(k.kept, int32(x)), append(k.hits, hit)
		}
	}
	if o.tap != nil {
		o.tap.unmatched(sel, k.hit)
	}
	if len(k.kept) == 0 {
		return
	}
	kept := columnar.Sel{Idx: k.kept, N: len(k.kept)}
	if kept.N < sel.N {
		k.ek[i].encode(ks, kept)
	}
	st := a.sides[i]
	from := len(st.stored)
	st.store(k, i, a.at, cols, kept, func(n int) int64 {
		if x := int(k.kept[n]); times != nil && !times.IsNull(x) {
			return times.I64[times.Row(x)]
		}
		return never
	})
	if o.tap != nil {
		o.traceStored(s, st, k.kept, st.stored[from:])
	}
	a.updated += int64(kept.N)
}

// store adds rows whose keys the worker's encoder of side i has, and whose flags are in its hits.
func (st *joinStore) store(k *streamJoinWorker, i, at int, cols []columnar.Vec, sel columnar.Sel, time func(n int) int64) {
	k.groups = grow(k.groups[:0], sel.N)
	st.owners.upsert(k.ek[i], k.groups)
	k.cols = k.cols[:0]
	for c := range cols {
		k.cols = append(k.cols, &cols[c])
	}
	e := k.er[i]
	e.encode(k.cols, sel)
	for n, g := range k.groups {
		meta := uint64(st.rows.next*ranges+int64(at)) << rowFlags
		st.rows.next++
		if k.hits[n] {
			meta |= rowMatched
		}
		l := st.rows.add(time(n), meta)
		e.store(st.rows.rec, l.row(), rowWords, n)
		st.rows.chain(st.head(g), l)
		st.stored = append(st.stored, l)
	}
}

// newOwners makes an empty index of chains.
func newOwners(keys *layout) *table {
	t := newTable(keys, 8)
	t.loose = true
	return t
}

// head is the first row of a key's chain.
func (st *joinStore) head(owner uint32) *link {
	return (*link)(st.owners.rec.Ptr(owner, st.owners.extraAt()))
}

// expire removes a range's rows that have expired, and lets those of a preserved side out that never matched.
func (o *streamJoin) expire(at int, evict int64) error {
	a := o.ranges[at]
	for i, s := range o.sides {
		if !s.expires {
			continue
		}
		st := a.sides[i]
		var each func(gs []uint32) error
		if s.preserved {
			each = func(gs []uint32) error {
				var lone []uint32
				for _, g := range gs {
					if *st.rows.meta(g)&rowMatched == 0 {
						lone = append(lone, g)
					}
				}
				for len(lone) > 0 {
					part := lone[:min(len(lone), columnar.Slice)]
					lone = lone[len(part):]
					o.lone(a.out, i, st.columns(s, part), columnar.AllRows(len(part)))
					if o.tap != nil {
						o.traceLone(st, part)
					}
				}
				return nil
			}
		}
		due := s.due(evict)
		gone, err := st.rows.expire(due, each)
		if err != nil {
			return err
		}
		if gone > 0 {
			st.bound = due
			st.expired += gone
		}
		if !s.preserved && o.kind != plan.FullOuter { // Spark counts only rows that leave without a chance to come out
			a.removed += int64(gone)
		}
		st.sweep()
	}
	return nil
}

// columns gives the values of stored rows.
func (st *joinStore) columns(s *joinSide, rows []uint32) []columnar.Vec {
	cols := make([]columnar.Vec, len(s.in))
	for c := range cols {
		cols[c].Reset(s.in[c].Type, 0)
		s.rowLay.decode(st.rows.rec, rows, rowWords, c, &cols[c])
	}
	return cols
}

// sweep forgets the keys whose rows have all expired, when so many rows have that it is worth looking.
func (st *joinStore) sweep() {
	if st.expired <= max(4096, st.owners.live/2) {
		return
	}
	st.expired = 0
	t := st.owners
	for g := range uint32(t.rec.Len()) {
		if t.isLive(g) && !st.rows.there(*st.head(g)) {
			t.forget(g)
		}
	}
	st.owners = t.pack(nil)
}

func (o *streamJoin) reset() {
	for _, a := range o.ranges {
		for i, s := range o.sides {
			a.sides[i] = &joinStore{rows: newJoinRows(s.rowLay, s.width), owners: newOwners(s.keyLay), bound: noBound}
		}
	}
}

func (o *streamJoin) settle() {
	for _, a := range o.ranges {
		for i, st := range a.sides {
			st.settle()
			if st.rows.wasteful() {
				o.rebuild(st, i) // cannot fail: the keys of these rows have been computed before
			}
		}
	}
}

func (st *joinStore) settle() {
	st.owners.settle()
	st.first = st.rows.next * ranges // numbers of a range are this and a place below ranges
	st.matched, st.left, st.bound, st.rewrite = st.matched[:0], st.left[:0], noBound, false
	if st.stored = st.stored[:0]; cap(st.stored) > 1<<16 && st.rows.live < cap(st.stored)/4 {
		st.stored = nil
	}
}
