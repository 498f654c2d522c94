package exec

import (
	"math"

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
// A stored row is a record keyed by a number of its own and the row's columns; behind them stand its time
// for expiry, its neighbours in the chain of its key, the key and the matched flag. The chains are not saved.
type streamJoin struct {
	node   *plan.Join
	kind   plan.JoinKind
	sides  [2]*joinSide
	both   *expr.Program // conjuncts over both sides
	schema types.Schema
	mark   inMark
	keyed  bool // K: a key is an event time and bounds both sides
	out    *rowsBuffer
	count  OperatorCounters
	lastE  int64
	batch  int64
	pair   []columnar.Vec
	tap    *tap // nil: untraced
}

type joinSide struct {
	left      bool
	child     operator
	in        types.Schema
	keys      *expr.Program
	keyTypes  []types.DataType
	only      *expr.Program // conjuncts over this side alone; nil if none
	preserved bool          // rows that match nothing come out with nulls
	dropNull  bool          // rows with a null key never match
	timeCol   int           // event-time column, -1
	keyTime   int           // key that is an event time, -1
	bounds    []bound       // the lowest counts
	expires   bool

	rowLay, keyLay *layout
	rows, owners   *table
	x              *expiry
	er, ek         *encoder
	next           int64
	stats          segmentStats

	groups, made []uint32
	idx, idx2    []int32
	hit          []uint64
	came         map[uint32]rowID // of rows that were stored in this batch, if traced
}

const (
	jTime    = 0  // i64
	jNext    = 8  // u32, row + 1
	jPrev    = 12 // u32, row + 1
	jOwner   = 16 // u32
	jMatched = 20 // u32
	jExtra   = 24
	never    = math.MaxInt64
)

// jSaved is what of a row's extra words is saved: its time and the matched flag. The chain is built anew.
var jSaved = []uint64{^uint64(0), 0, 0xffffffff << 32}

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
		s := &joinSide{left: i == 0, child: child, in: n.Schema(), keyTime: -1}
		s.timeCol, _ = eventTime(s.in)
		if s.keys, err = expr.Compile(keys, s.in, b.conf.Expr); err != nil {
			return nil, err
		}
		for _, k := range keys {
			s.keyTypes = append(s.keyTypes, k.Type())
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
		row := []types.DataType{types.Of(types.BigInt)}
		for _, f := range s.in {
			row = append(row, f.Type)
		}
		s.rowLay, s.keyLay = newLayout(row, false), newLayout(s.keyTypes, true)
		s.er, s.ek = newEncoder(s.rowLay), newEncoder(s.keyLay)
		s.x = newExpiry(expiryWidth(delay))
	}
	o.pair = make([]columnar.Vec, len(l.in)+len(r.in))
	o.reset()
	o.count.Stores = 4
	b.p.stateful[number] = o
	return o, nil
}

// condition splits the residual by the sides it is about and derives when rows expire.
func (o *streamJoin) condition(c expr.Conf) error {
	l, r := o.sides[0], o.sides[1]
	both := append(append(types.Schema{}, l.in...), r.in...)
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
	for i, s := range []types.Schema{l.in, r.in, both} {
		if len(parts[i]) == 0 {
			continue
		}
		p, err := expr.Compile([]expr.Expr{and(parts[i])}, s, c)
		if err != nil {
			return err
		}
		if i == 2 {
			o.both = p
		} else {
			o.sides[i].only = p
		}
	}
	for k := range o.node.LeftKeys {
		if isEventTime(o.node.LeftKeys[k]) || isEventTime(o.node.RightKeys[k]) {
			o.keyed = true
			for _, s := range o.sides {
				s.keyTime, s.expires, s.bounds = k, true, []bound{{moves: true}}
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
		s.bounds = sideBounds(flat, both, func(col int) bool { return (col < len(l.in)) == (i == 0) }, y, c)
		s.expires = len(s.bounds) > 0
	}
	return nil
}

// due is the time at or before which rows expire.
func (s *joinSide) due(w int64) int64 {
	t := s.bounds[0].at(w)
	for _, b := range s.bounds[1:] {
		t = min(t, b.at(w))
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
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	o.lastE, o.batch = evict, r.task.Batch
	o.out = newRowsBuffer(o.schema)
	if o.tap != nil {
		o.sides[0].came, o.sides[1].came = map[uint32]rowID{}, map[uint32]rowID{}
	}
	var parts [2]int
	for i, s := range o.sides {
		n, err := s.child.open(r)
		if err != nil {
			return 0, err
		}
		parts[i] = n
	}
	first := 0
	if o.kind == plan.LeftSemi {
		first = 1
	}
	for _, i := range []int{first, 1 - first} {
		s := o.sides[i]
		s.keys.Begin(r.exprTask(0)) // keys of streams are deterministic: one task serves all parts
		err := r.inOrder(s.child, s.in, parts[i], func(p int, c *chunk) error { return o.take(i, c, late, evict) })
		if err != nil {
			return 0, err
		}
	}
	if err := o.evict(evict); err != nil {
		return 0, err
	}
	o.measure()
	o.count.AllUpdatesTimeMs = r.now().Sub(began).Milliseconds()
	return 1, nil
}

func (o *streamJoin) measure() {
	c := &o.count
	c.NumRowsTotal, c.MemoryUsedBytes = 0, 0
	for _, s := range o.sides {
		c.NumRowsTotal += int64(s.rows.live)
		c.MemoryUsedBytes += s.rows.bytes() + s.owners.bytes() + s.x.bytes()
	}
}

// take lets the rows of a chunk of side i meet the other side's stored rows, then stores them.
func (o *streamJoin) take(i int, c *chunk, late, evict int64) error {
	s, other := o.sides[i], o.sides[1-i]
	sel := c.sel
	if s.timeCol >= 0 {
		sel = onTime(windowEnd(&c.cols[s.timeCol]), sel, late, &s.idx)
		o.count.NumRowsDroppedByWatermark += int64(c.sel.N - sel.N)
		if o.tap != nil {
			o.tap.dropped(c.sel, sel, FateLate, windowEnd(&c.cols[s.timeCol]))
		}
	}
	if sel.N == 0 {
		return nil
	}
	ks, err := s.keys.Eval(c.cols, sel)
	if err != nil {
		return err
	}
	if s.dropNull {
		had := sel
		sel = withoutNulls(ks, o.node.NullSafe, sel, nil)
		if o.tap != nil {
			o.tap.dropped(had, sel, FateNullKey, nil)
		}
		if sel.N == 0 {
			return nil
		}
	}
	if s.only != nil {
		pass, err := s.only.Select(c.cols, sel)
		if err != nil {
			return err
		}
		if o.tap != nil {
			o.tap.dropped(sel, pass, FateUnmatched, nil)
		}
		if s.preserved && pass.N < sel.N {
			lone := minus(sel, pass)
			if err := o.lone(i, c, lone); err != nil {
				return err
			}
			if o.tap != nil {
				o.tap.queueRows(lone)
			}
		}
		if sel = pass; sel.N == 0 {
			return nil
		}
	}
	s.ek.encode(ks, sel)
	s.groups = grow(s.groups[:0], sel.N)
	other.owners.find(s.ek, s.groups)
	last := sel.At(sel.N - 1)
	s.hit = grow(s.hit[:0], columnar.Words(last+1))
	clear(s.hit)
	var rows []int32
	var partners []uint32
	for k, g := range s.groups {
		if g == noGroup {
			continue
		}
		for p := *other.head(g); p != 0; p = other.links(p - 1)[0] {
			rows, partners = append(rows, int32(sel.At(k))), append(partners, p-1)
			if len(rows) == columnar.Slice && o.kind != plan.LeftSemi { // a semi join changes the chains it walks
				if err := o.meet(i, c, rows, partners); err != nil {
					return err
				}
				rows, partners = rows[:0], partners[:0]
			}
		}
	}
	if err := o.meet(i, c, rows, partners); err != nil {
		return err
	}
	return o.keep(i, c, ks, sel, evict)
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

// lone pushes rows of side i with nulls for the other side.
func (o *streamJoin) lone(i int, c *chunk, sel columnar.Sel) error {
	at := 0
	if i == 1 {
		at = len(o.sides[0].in)
	}
	for k := range o.schema {
		if k >= at && k < at+len(c.cols) {
			appendVec(o.out.cols[k], &c.cols[k-at], sel)
		} else {
			null := columnar.Vec{Phys: columnar.PNull, Len: sel.N}
			appendVec(o.out.cols[k], &null, columnar.AllRows(sel.N))
		}
	}
	o.out.n += sel.N
	return nil
}

// meet joins pairs of a row of the chunk and a stored row of the other side.
func (o *streamJoin) meet(i int, c *chunk, rows []int32, partners []uint32) error {
	for len(rows) > columnar.Slice {
		if err := o.meet(i, c, rows[:columnar.Slice], partners[:columnar.Slice]); err != nil {
			return err
		}
		rows, partners = rows[columnar.Slice:], partners[columnar.Slice:]
	}
	if len(rows) == 0 {
		return nil
	}
	s, other := o.sides[i], o.sides[1-i]
	mine, theirs := 0, len(o.sides[0].in)
	if i == 1 {
		mine, theirs = theirs, 0
	}
	for k := range s.in {
		gatherRows(&o.pair[mine+k], &c.cols[k], rows)
	}
	for k := range other.in {
		o.pair[theirs+k].Reset(other.in[k].Type, 0)
		other.rowLay.decode(other.rows.rec, partners, recKey, k+1, &o.pair[theirs+k])
	}
	sel := columnar.AllRows(len(rows))
	if o.both != nil {
		var err error
		if sel, err = o.both.Select(o.pair, sel); err != nil {
			return err
		}
	}
	if o.kind == plan.LeftSemi {
		return o.meetSemi(i, c, rows, partners, sel)
	}
	for k := range sel.N {
		x := sel.At(k)
		columnar.SetBit(s.hit, int(rows[x]))
		if m := other.matched(partners[x]); *m == 0 { // kept by inner joins too: a restart may make them outer
			*m = 1
			other.rows.mark(partners[x])
		}
	}
	o.out.add(o.pair, sel)
	if o.tap != nil {
		o.tracePairs(s, other, rows, partners, sel)
	}
	return nil
}

// meetSemi lets each left row out at its first match; a stored one leaves the state.
func (o *streamJoin) meetSemi(i int, c *chunk, rows []int32, partners []uint32, sel columnar.Sel) error {
	s := o.sides[i]
	keep := columnar.Sel{}
	for k := range sel.N {
		x := sel.At(k)
		if i == 0 {
			if columnar.GetBit(s.hit, int(rows[x])) {
				continue
			}
			columnar.SetBit(s.hit, int(rows[x]))
		} else {
			l := o.sides[0]
			if !l.rows.isLive(partners[x]) {
				continue
			}
			l.detach(partners[x])
			l.rows.unlink(partners[x])
			o.count.NumRowsRemoved++
		}
		keep.Idx = append(keep.Idx, int32(x))
	}
	keep.N = len(keep.Idx)
	o.out.add(o.pair, keep)
	if o.tap != nil {
		o.tracePairs(s, o.sides[1-i], rows, partners, keep)
	}
	return nil
}

// keep stores rows of a chunk.
func (o *streamJoin) keep(i int, c *chunk, ks []*columnar.Vec, sel columnar.Sel, evict int64) error {
	s := o.sides[i]
	var times *columnar.Vec
	switch {
	case s.keyTime >= 0:
		times = windowEnd(ks[s.keyTime])
	case s.expires:
		times = windowEnd(&c.cols[s.timeCol])
	}
	due := int64(math.MinInt64)
	if s.expires {
		due = s.due(evict)
	}
	s.idx2 = s.idx2[:0]
	for k := range sel.N {
		x := sel.At(k)
		hit := columnar.GetBit(s.hit, x)
		store := true
		switch {
		case i == 0:
			store = o.kind != plan.LeftSemi || !hit
		case times != nil && !times.IsNull(x) && times.I64[times.Row(x)] <= due:
			store = s.preserved && !hit
		}
		if store {
			s.idx2 = append(s.idx2, int32(x))
		}
	}
	n := len(s.idx2)
	if o.tap != nil {
		o.tap.unmatched(sel, s.hit)
	}
	if n == 0 {
		return nil
	}
	sel = columnar.Sel{Idx: s.idx2, N: n}
	s.ek.encode(ks, sel)
	s.groups = grow(s.groups[:0], n)
	s.owners.upsert(s.ek, s.groups)
	ids := columnar.NewVec(types.Of(types.BigInt), int(s.idx2[n-1])+1)
	cols := []*columnar.Vec{ids}
	for k := range c.cols {
		cols = append(cols, &c.cols[k])
	}
	for _, x := range s.idx2 {
		ids.I64[x] = s.next
		s.next++
	}
	s.er.encode(cols, sel)
	s.made = grow(s.made[:0], n)
	s.rows.upsert(s.er, s.made)
	for k, x := range s.idx2 {
		g := s.made[k]
		t := int64(never)
		if times != nil && !times.IsNull(int(x)) {
			t = times.I64[times.Row(int(x))]
		}
		*s.time(g) = t
		if columnar.GetBit(s.hit, int(x)) {
			*s.matched(g) = 1
		}
		s.attach(g, s.groups[k])
	}
	if o.tap != nil {
		s.traceStored(o.tap)
	}
	o.count.NumRowsUpdated += int64(n)
	return nil
}

func (s *joinSide) time(g uint32) *int64 { return (*int64)(s.rows.rec.Ptr(g, s.rows.extraAt()+jTime)) }

func (s *joinSide) links(g uint32) *[2]uint32 {
	return (*[2]uint32)(s.rows.rec.Ptr(g, s.rows.extraAt()+jNext))
}

// tail is the owner and the matched flag.
func (s *joinSide) tail(g uint32) *[2]uint32 {
	return (*[2]uint32)(s.rows.rec.Ptr(g, s.rows.extraAt()+jOwner))
}

func (s *joinSide) matched(g uint32) *uint32 { return &s.tail(g)[1] }

func (s *joinSide) head(owner uint32) *uint32 {
	return (*uint32)(s.owners.rec.Ptr(owner, s.owners.extraAt()))
}

// attach puts a row at the head of its key's chain and into the expiry.
func (s *joinSide) attach(g, owner uint32) {
	h := s.head(owner)
	*s.links(g) = [2]uint32{*h, 0}
	if *h != 0 {
		s.links(*h - 1)[1] = g + 1
	}
	*h = g + 1
	s.tail(g)[0] = owner
	if t := *s.time(g); s.expires && t != never {
		s.x.add(t, g)
	}
}

func (s *joinSide) detach(g uint32) {
	l, owner := *s.links(g), s.tail(g)[0]
	if l[0] != 0 {
		s.links(l[0] - 1)[1] = l[1]
	}
	if l[1] != 0 {
		s.links(l[1] - 1)[0] = l[0]
		return
	}
	h := s.head(owner)
	if *h = l[0]; *h == 0 {
		s.owners.unlink(owner)
	}
}

// evict removes expired rows, and lets those of a preserved side out that never matched.
func (o *streamJoin) evict(w int64) error {
	for i, s := range o.sides {
		if !s.expires {
			continue
		}
		var lone []uint32
		gone := int64(0)
		s.x.pop(s.due(w), func(g uint32) (int64, bool) {
			if !s.rows.isLive(g) {
				return 0, false
			}
			return *s.time(g), true
		}, func(g uint32) {
			if s.preserved && *s.matched(g) == 0 {
				lone = append(lone, g)
			}
			s.detach(g)
			s.rows.unlink(g)
			gone++
		})
		if !s.preserved && o.kind != plan.FullOuter { // Spark counts only rows that leave without a chance to come out
			o.count.NumRowsRemoved += gone
		}
		for len(lone) > 0 {
			part := lone[:min(len(lone), columnar.Slice)]
			lone = lone[len(part):]
			cols := make([]columnar.Vec, len(s.in))
			for k := range cols {
				cols[k].Reset(s.in[k].Type, 0)
				s.rowLay.decode(s.rows.rec, part, recKey, k+1, &cols[k])
			}
			if err := o.lone(i, &chunk{cols: cols}, columnar.AllRows(len(part))); err != nil {
				return err
			}
			if o.tap != nil {
				o.traceLone(s, part)
			}
		}
	}
	return nil
}

func (o *streamJoin) part(r *run, w, p int, to emit) error {
	return pushRows(o.out.vecs(), o.out.n, to)
}

func (o *streamJoin) Name() string                { return "symmetricHashJoin" }
func (o *streamJoin) counters() *OperatorCounters { return &o.count }

func (o *streamJoin) needsBatch(w int64) bool {
	return o.mark.has && (o.sides[0].expires || o.sides[1].expires) && o.mark.at(w) > o.lastE
}

func (o *streamJoin) reset() {
	for _, s := range o.sides {
		s.rows, s.owners = newTable(s.rowLay, jExtra), newTable(s.keyLay, 8)
		s.rows.saved = jSaved
		s.x.reset()
		s.next, s.stats = 0, segmentStats{}
	}
}

func (o *streamJoin) settle() {
	for _, s := range o.sides {
		s.rows.settle()
		s.owners.settle()
		if s.rows.sparse() {
			s.rows = s.rows.pack(nil)
			s.relink() // cannot fail: the keys of these rows have been computed before
		}
	}
}
