package exec

import (
	"cmp"
	"math"
	"slices"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// panedState is the state of an aggregation over overlapping windows in update and append mode. It keeps the
// panes of each key, not its windows: a row changes one group of state however many windows it is in. A
// window is made of its panes when it is given out (see paneMerge). What is told of the state is told in
// windows all the same: a window is there as soon as one of its panes is, until the watermark passes its end.
//
// The panes of a key form a list in the order of time, linked both ways. From its old end windows close; at
// its new end most panes begin, since times are nearly sorted. How many windows a new pane adds follows from
// its neighbours alone. Panes are never removed one by one in the checkpoint: the time up to which windows have
// closed tells which are gone.
//
// A sum that overflows in a window fails when the window is made, which in append mode is when it is given out.
type panedState struct {
	o      *stateAggregate
	p      *panes
	units  []*paneFold
	taken  []*paneFold // of units: what the batch's input was folded into
	ranges [ranges]*paneRange
	times  bool   // windows close
	closed int64  // windows that end up to here have closed; longAgo: none
	mark   *table // one record: closed
	marks  segmentStats
	out    []paneOut
	total  int
}

// paneRange is the state of one hash range.
type paneRange struct {
	s       *panedState
	t       *table     // panes
	nodes   []paneNode // by group of t
	keys    *table     // the other keys; behind each its paneKey. Not saved: the panes tell them
	enc     *encoder
	m       *merger
	due     *expiry // keys by the end of their first window that is open
	merge   *paneMerge
	touched []uint32 // keys of the batch's panes
	spans   []windowSpan
	dead    []uint32 // panes that went in this batch
	late    lateWindows
	order   []uint32
	count   []uint32
	run     paneRun
	windows int64 // that are there
	updated int64
	gone    int64
	dropped int64
	stats   segmentStats
}

type paneOut struct {
	at       *paneRange
	from, to int // windows of at.merge
}

// A paneNode is what the lists need of a pane, apart from its record, so that walking them stays in cache.
// Neighbours are panes + 1; 0 is none.
type paneNode struct {
	at           int64
	older, newer uint32
	key          uint32
}

// notLinked is the older of a pane that is new in the batch.
const notLinked = ^uint32(0)

// paneKey is what is known of a key.
type paneKey struct {
	newest, oldest uint32 // panes + 1
	due            int64  // if queued: where it stands in the index
	queued         uint32
	epoch          uint32 // of what follows, which is about the batch:
	finger         uint32 // the oldest of its panes that has been linked + 1
	spans          uint32 // its first span + 1
	lowest         int64  // windows from here on are counted
}

const paneKeyWidth = 40

// windowSpan is a row of neighbouring windows of a key that the batch changed.
type windowSpan struct {
	from, to int64  // their starts
	next     uint32 // the key's next span + 1, later in time
}

// setPanes lets the state be kept in panes if it can be. A traced operator keeps windows, but reads panes.
func (o *stateAggregate) setPanes(p *panes, traced bool) {
	if p == nil || o.mode == "complete" || p.g.lay.words != p.whole.lay.words+1 {
		return
	}
	p.g.inState, p.whole.inState = true, true
	p.g.owner, p.whole.owner = o, o
	s := &panedState{o: o, p: p, times: o.time != nil}
	for i := range s.ranges {
		s.ranges[i] = &paneRange{s: s, enc: newEncoder(p.whole.lay), m: p.g.newMerger(), due: newExpiry(1), merge: newPaneMerge(p.whole)}
	}
	s.reset()
	o.paned, o.panesFit, o.inPanes = s, !traced, !traced
}

func (s *panedState) reset() {
	s.closed, s.marks = longAgo, segmentStats{}
	s.mark = newTable(newLayout(nil, true), 8)
	s.out, s.total = s.out[:0], 0
	for _, a := range s.ranges {
		a.t, a.nodes = s.p.g.newTable(), nil
		a.keys = newTable(s.p.whole.lay, paneKeyWidth)
		a.due.reset()
		a.merge.reset()
		a.windows, a.stats, a.dead = 0, segmentStats{}, nil
	}
}

func (a *paneRange) pane(g uint32) int64 { return a.nodes[g].at }

func (a *paneRange) key(k uint32) *paneKey { return (*paneKey)(a.keys.rec.Ptr(k, a.keys.extraAt())) }

// open runs a batch up to the windows that come out.
func (s *panedState) open(r *run) (int, error) {
	o := s.o
	began := r.now()
	if err := r.takeInput("aggregate", o, false); err != nil {
		return 0, err
	}
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	us := s.taken
	o.lastE, o.batch = evict, r.task.Batch
	take := func(w, i int) error { return s.ranges[i].take(us, i, late, evict) }
	var err error
	if len(us) == 1 && us[0].rows < 2*smallRows { // few rows: no goroutine
		err = spread("state", 1, ranges, take)
	} else {
		err = r.parallel("state", ranges, take)
	}
	if err != nil {
		return 0, err
	}
	if s.times {
		s.closed = max(s.closed, late, evict)
	}
	s.collect()
	o.count.AllUpdatesTimeMs = r.now().Sub(began).Milliseconds()
	return len(s.out), nil
}

func (s *panedState) openInput(r *run) (int, func(w, u int) error, error) {
	parts, err := s.o.child.open(r)
	if err != nil {
		return 0, nil, err
	}
	units := r.units(parts)
	for len(s.units) < units {
		f, err := s.p.newFold(s.o.g)
		if err != nil {
			return 0, nil, err
		}
		s.units = append(s.units, f)
	}
	s.taken = s.units[:units]
	us := s.taken
	return units, func(w, u int) (err error) {
		us[u].rows, err = us[u].read(r, w, u*parts/units, (u+1)*parts/units)
		us[u].divide()
		return err
	}, nil
}

// collect cuts what comes out into parts and counts.
func (s *panedState) collect() {
	c := &s.o.count
	c.NumRowsUpdated, c.NumRowsRemoved, c.NumRowsDroppedByWatermark = 0, 0, 0
	s.out, s.total = s.out[:0], 0
	for _, a := range s.ranges {
		c.NumRowsUpdated += a.updated
		c.NumRowsRemoved += a.gone
		c.NumRowsDroppedByWatermark += a.dropped
		if n := len(a.merge.keys); n > 0 {
			s.out = append(s.out, paneOut{a, 0, n})
			s.total += n
		}
	}
	if s.total > 0 && s.total <= columnar.MaxBatch { // one record batch, one file
		s.out = append(s.out[:0], paneOut{})
	}
	s.measure()
}

func (s *panedState) measure() {
	c := &s.o.count
	c.NumRowsTotal, c.MemoryUsedBytes = 0, 0
	for _, a := range s.ranges {
		c.NumRowsTotal += a.windows
		c.MemoryUsedBytes += a.t.bytes() + a.keys.bytes() + a.due.bytes() + int64(cap(a.nodes))*24 + a.merge.acc.Bytes()
	}
}

func (s *panedState) part(part int, to emit) error {
	if x := s.out[part]; x.at != nil {
		return x.at.push(x.from, x.to, to)
	}
	for _, a := range s.ranges {
		if err := a.push(0, len(a.merge.keys), to); err != nil {
			return err
		}
	}
	return nil
}

// push emits windows that have been made.
func (a *paneRange) push(from, to int, out emit) error {
	g := a.s.o.g
	cols := make([]columnar.Vec, len(g.keys)+len(g.calls))
	ids := make([]uint32, 0, columnar.Slice)
	for ; from < to; from += columnar.Slice {
		n := min(columnar.Slice, to-from)
		keys := a.merge.keys[from : from+n]
		at := 0
		for i := range g.keys {
			cols[i].Reset(g.keys[i].Type(), 0)
			if i == a.s.p.window {
				setWindows(&cols[i], g.keys[i].Type(), a.merge.starts[from:from+n], a.s.p.node.Size)
				continue
			}
			a.s.p.whole.lay.decode(a.keys.rec, keys, recKey, at, &cols[i])
			at++
		}
		ids = ids[:0]
		for i := range n {
			ids = append(ids, uint32(from+i))
		}
		for i, x := range a.merge.aggs {
			if err := x.Result(a.merge.acc, g.offs[i], ids, &cols[len(g.keys)+i]); err != nil {
				return g.overflown(err)
			}
		}
		if err := out(&chunk{cols: cols, sel: columnar.AllRows(n)}); err != nil {
			return err
		}
	}
	return nil
}

// setWindows makes v the windows of a size that begin at starts.
func setWindows(v *columnar.Vec, t types.DataType, starts []int64, size int64) {
	n := len(starts)
	ends := make([]int64, n)
	for i, s := range starts {
		ends[i] = s + size
	}
	*v = columnar.Vec{Type: t, Phys: columnar.PStruct, Len: n, Kids: []*columnar.Vec{
		{Type: t.Fields[0].Type, Phys: columnar.PI64, Len: n, I64: starts},
		{Type: t.Fields[1].Type, Phys: columnar.PI64, Len: n, I64: ends}}}
}

// divide lists the panes by range.
func (x *paneFold) divide() {
	for i := range x.byRange {
		x.byRange[i] = x.byRange[i][:0]
	}
	x.low = math.MaxInt64
	at := x.t.extraAt() - 8
	for g := range uint32(x.t.rec.Len()) {
		x.low = min(x.low, *(*int64)(x.t.rec.Ptr(g, at)))
		i := rangeOf(x.t.hash(g))
		x.byRange[i] = append(x.byRange[i], g)
	}
}

// take merges what the batch brought for one range, then makes what comes out and lets go what goes.
func (a *paneRange) take(us []*paneFold, i int, late, evict int64) error {
	s := a.s
	a.updated, a.gone, a.dropped = 0, 0, 0
	a.merge.begin(a.t, s.p.node.Size)
	bound := int64(longAgo)
	if s.times {
		bound = max(late, s.closed)
		if late > s.closed { // rows of windows that close in this batch are late for them
			if err := a.close(late); err != nil {
				return err
			}
		}
	}
	for _, x := range us {
		groups := x.byRange[i]
		if len(groups) > 0 && s.times && s.p.first(x.low)+s.p.node.Size <= bound {
			groups = a.late.take(s.p, x, groups, bound)
		}
		if err := a.m.merge(a.t, x.t, groups, a.enter); err != nil {
			return err
		}
	}
	a.dropped = a.late.windows(s.p, bound)
	a.link(a.t.dirty, s.p.openFrom(bound))
	if s.o.mode == "update" {
		if err := a.changed(); err != nil {
			return err
		}
	}
	if s.times {
		if err := a.close(evict); err != nil {
			return err
		}
	}
	return a.merge.flush()
}

// enter finds the keys of new panes.
func (a *paneRange) enter(gs []uint32) {
	a.order = grow(a.order[:0], len(gs))
	a.enc.encodePrefix(a.t, gs)
	a.keys.upsert(a.enc, a.order)
	a.nodes = grow(a.nodes, max(len(a.nodes), a.t.rec.Len()))
	at := a.t.extraAt() - 8
	for i, g := range gs {
		a.nodes[g] = paneNode{at: *(*int64)(a.t.rec.Ptr(g, at)), key: a.order[i], older: notLinked}
	}
}

// link puts the new ones of panes into the lists of their keys and counts windows: those of all of the panes, from
// the one that begins at open on, and those that are there for the first time. It goes from the newest pane to
// the oldest, so that each key's list is walked once at most.
func (a *paneRange) link(panes []uint32, open int64) {
	p := a.s.p
	slide := p.node.Slide
	spans := a.s.o.mode == "update"
	a.touched, a.spans = a.touched[:0], a.spans[:0]
	for _, g := range a.newestFirst(panes) {
		l := &a.nodes[g]
		at := l.at
		k := a.key(l.key)
		if k.epoch != a.keys.epoch {
			k.epoch, k.finger, k.spans, k.lowest = a.keys.epoch, 0, 0, math.MaxInt64
			a.touched = append(a.touched, l.key)
		}
		first, last := p.first(at), p.last(at)
		if from, to := max(first, open), min(last, k.lowest-slide); from <= to {
			a.updated += (to-from)/slide + 1
			if spans {
				a.spans = append(a.spans, windowSpan{from, to, k.spans})
				k.spans = uint32(len(a.spans))
			}
		}
		k.lowest = min(k.lowest, first)
		if l.older == notLinked {
			from, to := max(first, open), last
			newer, older := k.finger, k.newest
			if newer != 0 {
				older = a.nodes[newer-1].older
			}
			for older != 0 && a.pane(older-1) > at {
				newer, older = older, a.nodes[older-1].older
			}
			l.newer, l.older = newer, older
			if newer == 0 {
				k.newest = g + 1
			} else {
				a.nodes[newer-1].older = g + 1
				to = min(to, p.first(a.pane(newer-1))-slide)
			}
			if older == 0 {
				k.oldest = g + 1
			} else {
				a.nodes[older-1].newer = g + 1
				from = max(from, p.last(a.pane(older-1))+slide)
			}
			if from <= to {
				a.windows += (to-from)/slide + 1
			}
		}
		k.finger = g + 1
	}
	if !a.s.times {
		return
	}
	for _, g := range a.touched {
		a.queue(g, open)
	}
}

// queue puts a key into the index of those whose windows close, unless it stands there for the same time or
// an earlier one. open is the start of the first window that is open.
func (a *paneRange) queue(key uint32, open int64) {
	k := a.key(key)
	due := max(a.s.p.first(a.pane(k.oldest-1)), open) + a.s.p.node.Size
	if k.queued == 0 || due < k.due {
		k.queued, k.due = 1, due
		a.due.add(due, key)
	}
}

// newestFirst sorts panes by time; the result is valid until the next call.
func (a *paneRange) newestFirst(panes []uint32) []uint32 {
	if len(panes) == 0 {
		return nil
	}
	low, high := a.pane(panes[0]), a.pane(panes[0])
	for _, g := range panes[1:] {
		at := a.pane(g)
		low, high = min(low, at), max(high, at)
	}
	a.order = grow(a.order[:0], len(panes))
	width := uint64(a.s.p.width)
	steps := uint64(high-low) / width
	if steps > 4*uint64(len(panes))+1024 {
		copy(a.order, panes)
		slices.SortFunc(a.order, func(x, y uint32) int { return cmp.Compare(a.pane(y), a.pane(x)) })
		return a.order
	}
	a.count = grow(a.count[:0], int(steps)+1)
	clear(a.count)
	for _, g := range panes {
		a.count[uint64(high-a.pane(g))/width]++
	}
	at := uint32(0)
	for i, n := range a.count {
		a.count[i] = at
		at += n
	}
	for _, g := range panes {
		i := uint64(high-a.pane(g)) / width
		a.order[a.count[i]] = g
		a.count[i]++
	}
	return a.order
}

// changed makes the windows that the batch touched.
func (a *paneRange) changed() error {
	p := a.s.p
	for _, key := range a.touched {
		k := a.key(key)
		if k.spans == 0 {
			continue
		}
		low := a.spans[k.spans-1].from
		g := k.finger
		for older := a.nodes[g-1].older; older != 0 && a.pane(older-1) >= low; older = a.nodes[g-1].older {
			g = older
		}
		a.run.begin(key)
		for i := k.spans; i != 0; i = a.spans[i-1].next {
			x := a.spans[i-1]
			for ; g != 0 && a.pane(g-1) <= x.to+p.node.Size-p.width; g = a.nodes[g-1].newer {
				a.run.add(g-1, a.pane(g-1))
			}
			a.run.windows(p, x.from, x.to)
		}
		if err := a.merge.add(&a.run); err != nil {
			return err
		}
	}
	return nil
}

// close lets go the windows that end at or before a time; in append mode they come out.
func (a *paneRange) close(end int64) error {
	p := a.s.p
	to := p.closedTo(end)
	var err error
	went := len(a.dead)
	a.due.pop(end, func(key uint32) (int64, bool) {
		// A key with a later time stands in the index for that too.
		k := a.key(key)
		return k.due, a.keys.isLive(key) && k.queued != 0 && k.due <= end
	}, func(key uint32) {
		k := a.key(key)
		a.run.begin(key)
		for g := k.oldest; g != 0 && a.pane(g-1)+p.width <= to+p.node.Size; g = a.nodes[g-1].newer {
			a.run.add(g-1, a.pane(g-1))
		}
		a.run.windows(p, k.due-p.node.Size, to)
		n := int64(len(a.run.starts))
		a.gone += n
		a.windows -= n
		if a.s.o.mode == "append" && err == nil {
			err = a.merge.add(&a.run)
		}
		for k.oldest != 0 && p.last(a.pane(k.oldest-1)) <= to {
			g := k.oldest - 1
			a.dead = append(a.dead, g)
			k.oldest = a.nodes[g].newer
		}
		k.queued = 0
		if k.oldest == 0 {
			k.newest = 0
			a.keys.unlink(key)
			return
		}
		a.nodes[k.oldest-1].older = 0
		a.queue(key, to+p.node.Slide)
	})
	a.t.unlinkAll(a.dead[went:])
	return err
}

func (s *panedState) settle() {
	s.mark.settle()
	for _, a := range s.ranges {
		a.settle()
	}
}

// settle ends a batch.
func (a *paneRange) settle() {
	a.t.settle()
	a.keys.settle()
	a.t.release(a.dead)
	a.dead = a.dead[:0]
	a.merge.settle()
	if free := max(a.t.freed()-8*a.t.live, a.keys.freed()-8*a.keys.live); free > 1<<14 {
		a.t = a.t.pack(a.s.p.g.refs)
		a.relink()
	}
}

// relink builds lists and index from the panes.
func (a *paneRange) relink() {
	a.keys, a.nodes = newTable(a.s.p.whole.lay, paneKeyWidth), nil
	a.due.reset()
	a.windows, a.updated = 0, 0
	all := a.t.groups(nil)
	for gs := all; len(gs) > 0; {
		n := min(len(gs), mergeSlice)
		a.enter(gs[:n])
		gs = gs[n:]
	}
	a.link(all, a.s.p.openFrom(a.s.closed))
	a.keys.settle()
}

// forget drops the panes whose windows have all closed, after a load.
func (a *paneRange) forget() {
	if a.s.closed == longAgo {
		return
	}
	to := a.s.p.closedTo(a.s.closed)
	var gone []uint32
	at := a.t.extraAt() - 8
	for _, g := range a.t.groups(nil) {
		if a.s.p.last(*(*int64)(a.t.rec.Ptr(g, at))) <= to {
			gone = append(gone, g)
		}
	}
	a.t.unlinkAll(gone)
	a.t.release(gone)
}
