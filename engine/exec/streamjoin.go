package exec

import (
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// streamJoin joins two streams. Each side keeps its rows until the watermark says that nothing can match
// them any more; rows of the batch meet the stored rows of the other side, left first, so that rows that
// arrive together meet once.
//
// The rows of a batch are collected and divided by the hash of their keys. Each range of keys then lets its
// rows meet, stores them and forgets what has expired, on whichever worker; the ranges share nothing, and what
// they give is put together in their order.
type streamJoin struct {
	node    *plan.Join
	kind    plan.JoinKind
	sides   [2]*joinSide
	both    expr.Expr // conjuncts over both sides; nil if none
	schema  types.Schema
	mark    inMark
	keyed   bool // K: a key is an event time and bounds both sides
	ranges  [ranges]*joinRange
	workers perWorker[streamJoinWorker]
	outs    []*rowsBuffer // what leaves
	one     bool          // all that leaves is one part
	count   OperatorCounters
	lastE   int64
	batch   int64
	tap     *tap // nil: untraced
}

type joinSide struct {
	left      bool
	child     operator
	in        types.Schema
	keys      []expr.Expr
	keyTypes  []types.DataType
	keyAt     []int             // columns of the keys, -1 for those that are computed
	computed  types.Schema      // the others
	only      expr.Expr         // conjuncts over this side alone; nil if none
	preserved bool              // rows that match nothing come out with nulls
	dropNull  bool              // rows with a null key never match
	timeCol   int               // event-time column, -1
	keyTime   int               // key that is an event time, -1
	bounds    []plan.StateBound // the lowest counts
	expires   bool
	// reach, if reaches is set, is what must be added to the time of a row of the other side to get the time at or
	// before which no row of this side can match it.
	reach   int64
	reaches bool

	rowLay, keyLay *layout
	width          int64 // of time buckets
	parts          []*joinPart
}

// joinPart is a part of a side's input.
type joinPart struct {
	*inbox
	keys *rowsBuffer // those that are computed
	lone *rowsBuffer // results: rows that fail the condition over their side, with nulls
	late int64
}

func (b *builder) streamJoin(x *plan.Join) (operator, error) {
	switch x.Kind {
	case plan.Inner, plan.LeftOuter, plan.RightOuter, plan.FullOuter, plan.LeftSemi:
	default:
		return nil, refuse("this kind of join of two streams")
	}
	if len(x.LeftKeys) == 0 {
		b.first(errs.New("_LEGACY_ERROR_TEMP_1181"))
	}
	number := b.addStateful()
	o := &streamJoin{node: x, kind: x.Kind, schema: x.Out}
	for i, n := range []plan.Node{x.Left, x.Right} {
		had := len(b.p.scans)
		child, err := b.build(n)
		if err != nil {
			return nil, err
		}
		if i == 1 && reused(x) { // Spark reads one side for both
			for _, s := range b.p.scans[had:] {
				s.silent = true
			}
		}
		keys := x.LeftKeys
		if i == 1 {
			keys = x.RightKeys
		}
		s := &joinSide{left: i == 0, child: child, in: n.Schema(), keys: keys, keyTime: -1}
		s.timeCol, _ = eventTime(s.in)
		for _, k := range keys {
			s.keyTypes = append(s.keyTypes, k.Type())
			at := -1
			if c, ok := k.(*expr.Column); ok {
				at = c.Index
			} else {
				s.computed = append(s.computed, types.Field{Name: "key", Type: k.Type(), Nullable: true})
			}
			s.keyAt = append(s.keyAt, at)
		}
		o.sides[i] = s
	}
	l, r := o.sides[0], o.sides[1]
	l.preserved = x.Kind == plan.LeftOuter || x.Kind == plan.FullOuter
	r.preserved = x.Kind == plan.RightOuter || x.Kind == plan.FullOuter
	// A null key matches nothing, except in full outer joins, where Spark compares keys byte by byte.
	l.dropNull = x.Kind != plan.FullOuter && !l.preserved
	r.dropNull = x.Kind != plan.FullOuter && !r.preserved
	if err := o.condition(b.conf.Expr); err != nil {
		return nil, err
	}
	o.mark = lowest(b.mark(l.child), b.mark(r.child))
	b.marks[o] = inMark{has: o.mark.has, apply: o.outMark}
	_, delay := eventTime(append(append(types.Schema{}, l.in...), r.in...))
	for _, s := range o.sides {
		var row []types.DataType
		for _, f := range s.in {
			row = append(row, f.Type)
		}
		s.rowLay, s.keyLay = newLayout(row, false), newLayout(s.keyTypes, true)
		s.width = expiryWidth(delay)
		for _, x := range s.bounds { // rows that wait long stand in wide buckets
			if x.Moves {
				s.width = max(s.width, expiryWidth(delay-x.Offset))
			}
		}
	}
	o.workers.make = func() (streamJoinWorker, error) { return o.newWorker(b.conf.Expr) }
	if _, err := o.workers.get(0); err != nil { // errors show when the query is built
		return nil, err
	}
	for i := range o.ranges {
		o.ranges[i] = &joinRange{at: i, out: newRowsBuffer(o.schema)}
	}
	o.reset()
	o.count.Stores = 4
	b.p.stateful[number] = o
	return o, nil
}

// condition splits the residual by the sides it is about and derives when rows expire.
func (o *streamJoin) condition(c expr.Conf) error {
	l := o.sides[0]
	var parts [3][]expr.Expr // left, right, both
	var all []expr.Expr
	if o.node.Residual != nil {
		all = expr.Conjuncts(o.node.Residual)
	}
	for _, e := range all {
		inLeft, inRight := false, false
		expr.Walk(e, func(e expr.Expr) bool {
			if col, ok := e.(*expr.Column); ok {
				inLeft, inRight = inLeft || col.Index < len(l.in), inRight || col.Index >= len(l.in)
			}
			return true
		})
		switch {
		case inLeft && !inRight:
			parts[0] = append(parts[0], e)
		case inRight && !inLeft:
			parts[1] = append(parts[1], expr.Transform(e, func(e expr.Expr) expr.Expr {
				if col, ok := e.(*expr.Column); ok {
					return &expr.Column{Index: col.Index - len(l.in), Field: col.Field}
				}
				return e
			}))
		default:
			parts[2] = append(parts[2], e)
		}
	}
	for i, s := range o.sides {
		if len(parts[i]) > 0 {
			s.only = and(parts[i])
		}
	}
	if len(parts[2]) > 0 {
		o.both = and(parts[2])
	}
	for k := range o.node.LeftKeys {
		if isEventTime(o.node.LeftKeys[k]) || isEventTime(o.node.RightKeys[k]) {
			o.keyed = true
			for _, s := range o.sides {
				s.keyTime, s.expires, s.bounds = k, true, []plan.StateBound{{Moves: true}}
			}
			return nil
		}
	}
	var flat []expr.Expr
	for _, e := range all {
		flat = append(flat, between(e)...)
	}
	for i, s := range o.sides {
		other := o.sides[1-i]
		if s.timeCol < 0 || other.timeCol < 0 {
			continue
		}
		y := other.timeCol
		if i == 0 {
			y += len(l.in)
		}
		s.bounds = plan.StateBounds(flat, func(col int) bool { return (col < len(l.in)) == (i == 0) }, y, true, c)
		s.expires = len(s.bounds) > 0
		for _, x := range s.bounds {
			at := s.timeCol
			if i == 1 {
				at += len(l.in)
			}
			if x.Moves && x.Exact && x.Column == at && (!s.reaches || x.Offset > s.reach) {
				s.reach, s.reaches = x.Offset, true
			}
		}
	}
	return nil
}

// due is the time at or before which rows expire.
func (s *joinSide) due(w int64) int64 {
	t := s.bounds[0].At(w)
	for _, b := range s.bounds[1:] {
		t = min(t, b.At(w))
	}
	return t
}

// between takes the AND apart that BETWEEN is.
func between(e expr.Expr) []expr.Expr {
	if z, ok := e.(*expr.Lazy); ok && z.Kind == expr.LazyAnd {
		var out []expr.Expr
		for _, a := range z.Args {
			out = append(out, between(a)...)
		}
		return out
	}
	return []expr.Expr{e}
}

func isEventTime(e expr.Expr) bool {
	c, ok := e.(*expr.Column)
	return ok && c.Field.DelayMicros > 0
}

// outMark is the watermark above the join.
func (o *streamJoin) outMark(w int64) int64 {
	e := o.mark.at(w)
	for _, s := range o.sides {
		if s.expires {
			e = min(e, s.due(o.mark.at(w)))
		}
	}
	return e
}

func (o *streamJoin) open(r *run) (int, error) {
	began := r.now()
	evict := o.mark.at(r.task.evictUs)
	o.lastE, o.batch = evict, r.task.Batch
	first := o.leads()
	for _, a := range o.ranges {
		a.begin(o.tap != nil, o.ranges[0].out)
	}
	if err := r.takeInput("read", o, o.tap != nil); err != nil {
		return 0, err
	}
	work := 0
	for _, s := range o.sides {
		for _, p := range s.parts {
			work += p.buf.n
			o.count.NumRowsDroppedByWatermark += p.late
		}
		if s.expires {
			for _, a := range o.ranges {
				work += a.side(s).rows.due(s.due(evict))
			}
		}
	}
	err := r.eachRange("state", work, func(w, at int) error {
		k, err := o.workers.get(w)
		if err != nil {
			return err
		}
		if o.tap == nil {
			for _, i := range []int{first, 1 - first} {
				if err := o.takeIn(k, i, at, evict); err != nil {
					return err
				}
			}
		}
		return o.expire(at, evict)
	})
	if err != nil {
		return 0, err
	}
	rows := o.collect()
	o.measure()
	o.count.AllUpdatesTimeMs = r.now().Sub(began).Milliseconds()
	if o.one = rows <= columnar.MaxBatch; o.one {
		return 1, nil // one record batch, one file
	}
	return len(o.outs), nil
}

// leads is the side that goes first.
func (o *streamJoin) leads() int {
	if o.kind == plan.LeftSemi {
		return 1
	}
	return 0
}

func (o *streamJoin) below() []operator { return []operator{o.sides[0].child, o.sides[1].child} }

func (o *streamJoin) openInput(r *run) (int, func(w, p int) error, error) {
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	for _, s := range o.sides {
		n, err := s.child.open(r)
		if err != nil {
			return 0, nil, err
		}
		s.takeParts(n, o.schema)
	}
	// The parts of the side that goes first, then those of the other.
	first := o.leads()
	leading := len(o.sides[first].parts)
	return leading + len(o.sides[1-first].parts), func(w, p int) error {
		if p < leading {
			return o.read(r, w, first, p, late, evict)
		}
		return o.read(r, w, 1-first, p-leading, late, evict)
	}, nil
}

// takeParts makes room for the parts of a batch.
func (s *joinSide) takeParts(n int, out types.Schema) {
	if len(s.parts) > 2*n+8 {
		s.parts = s.parts[:n:n]
	}
	for len(s.parts) < n {
		s.parts = append(s.parts, &joinPart{inbox: newInbox(s.in), keys: newRowsBuffer(s.computed), lone: newRowsBuffer(out)})
	}
	s.parts = s.parts[:n]
	for _, p := range s.parts {
		p.inbox.reset()
		p.keys.clear()
		p.lone.clear()
		p.late = 0
	}
}

// collect counts what the ranges have done, and lists what leaves: it gives the number of rows.
func (o *streamJoin) collect() (rows int) {
	o.outs = o.outs[:0]
	add := func(b *rowsBuffer) {
		if rows += b.n; b.n > 0 {
			o.outs = append(o.outs, b)
		}
	}
	for _, s := range o.sides {
		for _, p := range s.parts {
			add(p.lone)
		}
	}
	for i, a := range o.ranges {
		if i == 0 || a.out != o.ranges[0].out {
			add(a.out)
		}
		o.count.NumRowsUpdated += a.updated
		o.count.NumRowsRemoved += a.removed
	}
	return rows
}

func (o *streamJoin) measure() {
	c := &o.count
	c.NumRowsTotal, c.MemoryUsedBytes = o.live(), 0
	for _, a := range o.ranges {
		for _, s := range a.sides {
			c.MemoryUsedBytes += s.rows.bytes() + s.owners.bytes()
		}
	}
}

// live is the number of stored rows.
func (o *streamJoin) live() (n int64) {
	for _, a := range o.ranges {
		n += int64(a.sides[0].rows.live + a.sides[1].rows.live)
	}
	return n
}

func (o *streamJoin) part(r *run, w, p int, to emit) error {
	outs := o.outs
	if !o.one {
		outs = o.outs[p : p+1]
	}
	for _, b := range outs {
		if err := pushRows(b.vecs(), b.n, to); err != nil {
			return err
		}
	}
	return nil
}

func (o *streamJoin) Name() string                { return "symmetricHashJoin" }
func (o *streamJoin) counters() *OperatorCounters { return &o.count }

func (o *streamJoin) needsBatch(w int64) bool {
	return o.mark.has && (o.sides[0].expires || o.sides[1].expires) && o.mark.at(w) > o.lastE
}

// windowEnd sees a column of windows as their ends.
func windowEnd(v *columnar.Vec) *columnar.Vec {
	if v.Phys == columnar.PStruct {
		return v.Kids[1]
	}
	return v
}

// minus is the rows of a that are not in b, a subset.
func minus(a, b columnar.Sel) columnar.Sel {
	var idx []int32
	j := 0
	for k := range a.N {
		i := a.At(k)
		if j < b.N && b.At(j) == i {
			j++
			continue
		}
		idx = append(idx, int32(i))
	}
	return columnar.Sel{Idx: idx, N: len(idx)}
}
