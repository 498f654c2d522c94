package exec

import (
	"streamlab/columnar"
	"streamlab/sql/types"
)

// dedup passes the first row of each key and remembers the keys. The rows of a batch are collected and divided
// by the hash of their keys when it is opened, each range of keys finds its first rows, and these leave in the
// order of the input: asking again must not find every row a duplicate.
type dedup struct {
	child   operator
	in      types.Schema
	keys    []int
	lay     *layout
	within  bool  // dropDuplicatesWithinWatermark: keys expire
	delay   int64 // of the watermark, microseconds; for within
	timeCol int   // event-time column of the input, -1
	key     *timeKey
	mark    inMark
	isWin   bool // the event time is a window: its end counts

	ranges  [ranges]*dedupRange
	readers perWorker[dedupReader]
	parts   []*dedupPart
	taken   int  // parts of the batch
	one     bool // all that leaves is one part
	count   OperatorCounters
	lastE   int64
	batch   int64
	owed    int64 // of saveRanges
	demand  demand

	fleeting bool // a batch dedup: forgets after each execution
	tap      *tap // nil: untraced
	firsts   map[dedupKey]rowID
}

// dedupRange is the keys of one range of hashes.
type dedupRange struct {
	t     *table
	x     *expiry
	e     *encoder
	stats segmentStats
	gone  int64
	bound int64 // at or before which keys have expired in the batch; noBound: none has

	groups []uint32
	cols   []*columnar.Vec
}

// dedupReader is what a worker needs to read parts.
type dedupReader struct {
	e    *encoder
	idx  []int32
	cols []*columnar.Vec
}

// dedupPart is a part of the input; first is the rows of each range that are first of their key.
type dedupPart struct {
	*inbox
	first [ranges][]int32
	late  int64
}

// dedupKey names a stored key.
type dedupKey struct {
	at    int
	group uint32
}

// newDedup dedups on columns of the input; keyTime says which of keys is the event time, -1 if none is.
func newDedup(child operator, in types.Schema, keys []int, within bool, timeCol int, delay int64, mark inMark) *dedup {
	o := &dedup{child: child, in: in, keys: keys, within: within, delay: delay, timeCol: timeCol, mark: mark}
	var ts []types.DataType
	for _, k := range keys {
		ts = append(ts, in[k].Type)
	}
	o.lay = newLayout(ts, true)
	if !within && timeCol >= 0 {
		for i, k := range keys {
			if k == timeCol {
				o.key = newTimeKey(o.lay, i)
			}
		}
	}
	o.isWin = timeCol >= 0 && in[timeCol].Type.Kind == types.Struct
	for i := range o.ranges {
		o.ranges[i] = &dedupRange{x: newExpiry(expiryWidth(delay)), e: newEncoder(o.lay), cols: make([]*columnar.Vec, len(keys))}
	}
	o.readers.make = func() (dedupReader, error) {
		return dedupReader{e: newEncoder(o.lay), cols: make([]*columnar.Vec, len(keys))}, nil
	}
	o.reset()
	return o
}

func (o *dedup) extra() int {
	if o.within {
		return 8 // expiry time
	}
	return 0
}

func (o *dedup) open(r *run) (int, error) {
	if o.fleeting {
		o.reset()
	}
	start := r.now()
	evict := o.mark.at(r.task.evictUs)
	o.lastE, o.batch, o.firsts = evict, r.task.Batch, nil
	if err := r.takeInput("read", o, o.tap != nil); err != nil {
		return 0, err
	}
	rows, parts := 0, o.taken
	for _, p := range o.parts {
		rows += p.buf.n
		o.count.NumRowsDroppedByWatermark += p.late
	}
	work := rows
	for _, a := range o.ranges {
		work += a.x.due(evict)
	}
	err := r.eachRange("state", work, func(_, i int) error {
		if err := o.need(r, i); err != nil {
			return err
		}
		if o.tap == nil {
			o.takeIn(i)
		}
		o.expire(i, evict)
		return nil
	})
	if err != nil {
		return 0, err
	}
	firsts := o.collect()
	o.count.CustomMetrics = map[string]int64{"numDroppedDuplicateRows": int64(rows - firsts)}
	o.count.AllUpdatesTimeMs = r.now().Sub(start).Milliseconds()
	if o.one = firsts <= columnar.MaxBatch; o.one {
		return min(1, max(parts, 1)), nil // one record batch, one file
	}
	return parts, nil
}

func (o *dedup) below() []operator { return []operator{o.child} }

func (o *dedup) openInput(r *run) (int, func(w, p int) error, error) {
	parts, err := o.child.open(r)
	if err != nil {
		return 0, nil, err
	}
	late := o.mark.at(r.task.lateUs)
	o.taken = parts
	o.takeParts(parts)
	return parts, func(w, p int) error { return o.read(r, w, p, late) }, nil
}

// takeParts makes room for the parts of a batch.
func (o *dedup) takeParts(n int) {
	if len(o.parts) > 2*n+8 {
		o.parts = o.parts[:n:n]
	}
	for len(o.parts) < n {
		o.parts = append(o.parts, &dedupPart{inbox: newInbox(o.in)})
	}
	for _, p := range o.parts {
		p.inbox.reset()
		p.late = 0
		for i := range p.first {
			p.first[i] = p.first[i][:0]
		}
	}
}

// read collects a part of the input. What is traced is looked up at once, while the chunk is being pushed.
func (o *dedup) read(r *run, w, p int, late int64) error {
	d, err := o.readers.get(w)
	if err != nil {
		return err
	}
	in := o.parts[p]
	err = o.child.part(r, w, p, func(ch *chunk) error {
		sel := ch.sel
		if o.timeCol >= 0 {
			sel = onTime(o.eventTime(ch.cols), sel, late, &d.idx)
			in.late += int64(ch.sel.N - sel.N)
			if o.tap != nil {
				o.tap.dropped(ch.sel, sel, FateLate, o.eventTime(ch.cols))
			}
		}
		if sel.N == 0 {
			return nil
		}
		for i, k := range o.keys {
			d.cols[i] = &ch.cols[k]
		}
		d.e.encode(d.cols, sel)
		at := in.buf.n
		in.divide(d.e.hash, at)
		in.buf.add(ch.cols, sel)
		if o.tap != nil {
			o.traceRows(in, at, sel)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return in.account(r, o)
}

// takeIn finds the first rows of a range's keys in all parts.
func (o *dedup) takeIn(i int) {
	for _, p := range o.parts {
		o.takePart(i, p, p.by[i])
	}
}

// takePart finds the first rows of a range's keys among rows of a part.
func (o *dedup) takePart(i int, p *dedupPart, rows []int32) {
	a := o.ranges[i]
	if len(rows) == 0 {
		return
	}
	for k, c := range o.keys {
		a.cols[k] = p.buf.cols[c]
	}
	var times *columnar.Vec
	if o.within {
		times = p.buf.cols[o.timeCol]
		if o.isWin && times.Phys == columnar.PStruct {
			times = times.Kids[1]
		}
	}
	a.t.onlyNew = true
	for len(rows) > 0 {
		n := min(len(rows), columnar.Slice)
		sel := columnar.Sel{Idx: rows[:n], N: n}
		rows = rows[n:]
		a.e.encode(a.cols, sel)
		a.groups = grow(a.groups[:0], n)
		had := len(a.t.dirty)
		a.t.upsert(a.e, a.groups)
		for k, g := range a.groups { // a new key is put on the dirty list by its first row, in row order
			if had == len(a.t.dirty) {
				break
			}
			if a.t.dirty[had] != g {
				continue
			}
			had++
			row := sel.Idx[k]
			p.first[i] = append(p.first[i], row)
			o.remember(a, g, times, int(row))
		}
	}
	a.t.onlyNew = false
}

// expire forgets the keys of a range whose time has come. They are not listed for the store, which is told the time.
func (o *dedup) expire(i int, evict int64) {
	a := o.ranges[i]
	a.gone, a.bound = 0, noBound
	if o.within || o.key != nil {
		if a.gone = o.forget(a, evict); a.gone > 0 {
			a.bound = evict
		}
	}
}

// forget removes the keys of a range whose time is at or before bound. Their records may be used again by the
// next batch: nothing of this one reads them.
func (o *dedup) forget(a *dedupRange, bound int64) (gone int64) {
	a.x.drop(bound, func(g uint32) int64 { t, _ := o.expires(a, g); return t }, func(gs []uint32) {
		a.t.unlinkAll(gs)
		a.t.release(gs)
		gone += int64(len(gs))
	})
	return gone
}

// collect counts what the ranges have done, and gives the number of rows that pass.
func (o *dedup) collect() (firsts int) {
	c := &o.count
	for _, p := range o.parts {
		for _, l := range p.first {
			firsts += len(l)
		}
	}
	c.NumRowsUpdated = int64(firsts)
	for _, a := range o.ranges {
		c.NumRowsRemoved += a.gone
	}
	o.measure()
	return firsts
}

func (o *dedup) measure() {
	c := &o.count
	c.NumRowsTotal, c.MemoryUsedBytes = int64(o.live())+o.demand.missing.Load(), 0
	for _, a := range o.ranges {
		c.MemoryUsedBytes += a.t.bytes() + a.x.bytes()
	}
}

// live is the number of stored keys.
func (o *dedup) live() (n int) {
	for _, a := range o.ranges {
		n += a.t.live
	}
	return n
}

// eventTime is the event-time column as a vector of times: the end of a window.
func (o *dedup) eventTime(cols []columnar.Vec) *columnar.Vec {
	v := &cols[o.timeCol]
	if o.isWin && v.Phys == columnar.PStruct {
		return v.Kids[1]
	}
	return v
}

// onTime keeps the rows whose time is after bound or null.
func onTime(v *columnar.Vec, sel columnar.Sel, bound int64, buf *[]int32) columnar.Sel {
	idx := (*buf)[:0]
	for k := range sel.N {
		i := sel.At(k)
		if v.IsNull(i) || v.I64[v.Row(i)] > bound {
			idx = append(idx, int32(i))
		}
	}
	*buf = idx
	if len(idx) == sel.N {
		return sel
	}
	return columnar.Sel{Idx: idx, N: len(idx)}
}

// remember stores when a new key expires.
func (o *dedup) remember(a *dedupRange, g uint32, times *columnar.Vec, row int) {
	if o.within {
		t := o.delay
		if !times.IsNull(row) {
			t += times.I64[row]
		}
		*(*int64)(a.t.rec.Ptr(g, a.t.extraAt())) = t
	}
	o.index(a, g)
}

func (o *dedup) index(a *dedupRange, g uint32) {
	if t, ok := o.expires(a, g); ok {
		a.x.add(t, g)
	}
}

func (o *dedup) expires(a *dedupRange, g uint32) (int64, bool) {
	switch {
	case o.within:
		return *(*int64)(a.t.rec.Ptr(g, a.t.extraAt())), true
	case o.key != nil:
		return o.key.of(a.t, o.lay, g)
	}
	return 0, false
}

func (o *dedup) part(r *run, w, p int, to emit) error {
	if !o.one {
		return o.push(o.parts[p], to)
	}
	for _, p := range o.parts {
		if err := o.push(p, to); err != nil {
			return err
		}
	}
	return nil
}

// push gives out the first rows of a part.
func (o *dedup) push(p *dedupPart, to emit) error {
	bits, firsts := merged(p.first[:], p.buf.n, nil)
	if firsts == 0 {
		return nil
	}
	at := 0
	idx := make([]int32, 0, columnar.Slice)
	return pushRows(p.buf.vecs(), p.buf.n, func(c *chunk) error {
		idx = idx[:0]
		for i := range c.sel.N {
			if columnar.GetBit(bits, at+i) {
				idx = append(idx, int32(i))
			}
		}
		at += c.sel.N
		if len(idx) == 0 {
			return nil
		}
		if len(idx) < c.sel.N {
			c.sel = columnar.Sel{Idx: idx, N: len(idx)}
		}
		return to(c)
	})
}

func (o *dedup) Name() string {
	if o.within {
		return "dedupeWithinWatermark"
	}
	return "dedupe"
}

func (o *dedup) counters() *OperatorCounters { return &o.count }

func (o *dedup) needsBatch(w int64) bool { return o.mark.has && o.mark.at(w) > o.lastE }

func (o *dedup) reset() {
	for _, a := range o.ranges {
		a.t = newTable(o.lay, o.extra())
		a.x.reset()
		a.stats, a.bound = segmentStats{}, noBound
	}
	o.demand.missing.Store(0)
}

func (o *dedup) settle() {
	divided := false // one range a batch: ranges grow alike
	for _, a := range o.ranges {
		a.t.settle()
		divides := !divided && a.t.undivided()
		if divides || a.t.sparse() {
			a.t = a.t.pack(nil)
			o.reindex(a)
		}
		divided = divided || divides
	}
}

func (o *dedup) reindex(a *dedupRange) {
	a.x.reset()
	for _, g := range a.t.groups(nil) {
		o.index(a, g)
	}
}

func (o *dedup) shape() OperatorShape {
	var s types.Schema
	for _, k := range o.keys {
		s = append(s, o.in[k])
	}
	return newShape(o.Name(), s, nil)
}
