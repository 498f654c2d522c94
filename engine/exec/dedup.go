package exec

import (
	"streamlab/columnar"
	"streamlab/sql/types"
)

// dedup passes the first row of each key and remembers the keys. What it lets through is collected when the
// batch is opened: asking again must not find every row a duplicate.
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

	t     *table
	x     *expiry
	e     *encoder
	out   *rowsBuffer
	count OperatorCounters
	lastE int64
	batch int64
	stats segmentStats

	groups []uint32
	idx    []int32
	idx2   []int32
	cols   []*columnar.Vec
	isWin  bool

	fleeting bool // a batch dedup: forgets after each execution
	tap      *tap // nil: untraced
	firsts   map[uint32]rowID
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
	o.e = newEncoder(o.lay)
	o.cols = make([]*columnar.Vec, len(keys))
	o.x = newExpiry(expiryWidth(delay))
	o.isWin = timeCol >= 0 && in[timeCol].Type.Kind == types.Struct
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
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	o.lastE, o.batch = evict, r.task.Batch
	o.out, o.firsts = newRowsBuffer(o.in), nil
	c := &o.count
	dups := int64(0)
	err = r.inOrder(o.child, o.in, parts, func(p int, ch *chunk) error {
		sel := ch.sel
		if o.timeCol >= 0 {
			sel = onTime(o.eventTime(ch), sel, late, &o.idx)
			c.NumRowsDroppedByWatermark += int64(ch.sel.N - sel.N)
			if o.tap != nil {
				o.tap.dropped(ch.sel, sel, FateLate, o.eventTime(ch))
			}
		}
		if sel.N == 0 {
			return nil
		}
		for i, k := range o.keys {
			o.cols[i] = &ch.cols[k]
		}
		o.e.encode(o.cols, sel)
		o.groups = grow(o.groups[:0], sel.N)
		had := len(o.t.dirty)
		o.upsertNew(sel.N)
		o.idx2 = o.idx2[:0]
		for k := range sel.N { // a new key is put on the dirty list by its first row, in row order
			if had < len(o.t.dirty) && o.t.dirty[had] == o.groups[k] {
				had++
				i := sel.At(k)
				o.idx2 = append(o.idx2, int32(i))
				o.remember(o.groups[k], ch, i)
			}
		}
		dups += int64(sel.N - len(o.idx2))
		if o.tap != nil {
			o.traceRows(sel)
		}
		if len(o.idx2) > 0 {
			o.out.add(ch.cols, columnar.Sel{Idx: o.idx2, N: len(o.idx2)})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	c.NumRowsUpdated = int64(len(o.t.dirty))
	c.CustomMetrics = map[string]int64{"numDroppedDuplicateRows": dups}
	if o.within || o.key != nil {
		o.x.pop(evict, o.expires, func(g uint32) {
			o.t.unlink(g)
			c.NumRowsRemoved++
		})
	}
	c.NumRowsTotal, c.MemoryUsedBytes = int64(o.t.live), o.t.bytes()+o.x.bytes()
	c.AllUpdatesTimeMs = r.now().Sub(start).Milliseconds()
	return 1, nil
}

// upsertNew enters the encoder's rows; only new keys become dirty.
func (o *dedup) upsertNew(n int) {
	o.t.onlyNew = true
	o.t.upsert(o.e, o.groups[:n])
	o.t.onlyNew = false
}

// eventTime is the event-time column as a vector of times: the end of a window.
func (o *dedup) eventTime(c *chunk) *columnar.Vec {
	v := &c.cols[o.timeCol]
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

func (o *dedup) remember(g uint32, c *chunk, i int) {
	if o.within {
		v := o.eventTime(c)
		t := o.delay
		if !v.IsNull(i) {
			t += v.I64[v.Row(i)]
		}
		*(*int64)(o.t.rec.Ptr(g, o.t.extraAt())) = t
	}
	o.index(g)
}

func (o *dedup) index(g uint32) {
	if t, ok := o.expires(g); ok {
		o.x.add(t, g)
	}
}

func (o *dedup) expires(g uint32) (int64, bool) {
	switch {
	case o.within:
		return *(*int64)(o.t.rec.Ptr(g, o.t.extraAt())), true
	case o.key != nil:
		return o.key.of(o.t, o.lay, g)
	}
	return 0, false
}

func (o *dedup) part(r *run, w, p int, to emit) error { return pushRows(o.out.vecs(), o.out.n, to) }

func (o *dedup) Name() string {
	if o.within {
		return "dedupeWithinWatermark"
	}
	return "dedupe"
}

func (o *dedup) counters() *OperatorCounters { return &o.count }

func (o *dedup) needsBatch(w int64) bool { return o.mark.has && o.mark.at(w) > o.lastE }

func (o *dedup) reset() {
	o.t = newTable(o.lay, o.extra())
	o.x.reset()
	o.stats = segmentStats{}
}

func (o *dedup) settle() {
	o.t.settle()
	if o.t.sparse() {
		o.t = o.t.pack(nil)
		o.reindex()
	}
}

func (o *dedup) reindex() {
	o.x.reset()
	for _, g := range o.t.groups(nil) {
		o.index(g)
	}
}

func (o *dedup) shape() OperatorShape {
	var s types.Schema
	for _, k := range o.keys {
		s = append(s, o.in[k])
	}
	return newShape(o.Name(), s, nil)
}
