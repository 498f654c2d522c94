package exec

import (
	"fmt"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// rangeBits is how many bits of a key's hash choose the range of state; each range has its own table and
// is worked on by one goroutine at a time.
const (
	rangeBits = 3
	ranges    = 1 << rangeBits
)

func rangeOf(hash uint64) int { return int(hash >> (64 - rangeBits)) }

// timeKey finds the event time in a key: a timestamp, or the end of a window.
type timeKey struct {
	column int // of the key
	part   int // of a window: that of its end; -1: the column is a timestamp
	field  int // in the layout
	word   int
}

func newTimeKey(l *layout, column int) *timeKey {
	f, part := l.top[column], -1
	if l.fields[f].phys == columnar.PStruct {
		f, part = l.fields[f].kids[1], 1
	}
	return &timeKey{column: column, part: part, field: f, word: l.fields[f].at}
}

// of is the event time of a group in microseconds; ok is false if it is null.
func (k *timeKey) of(t *table, l *layout, g uint32) (us int64, ok bool) {
	if l.isNull(t.rec, g, recKey, k.field) {
		return 0, false
	}
	return *(*int64)(t.rec.Ptr(g, recKey+k.word*8)), true
}

// partialFold is what one unit of work makes of its rows before they meet the state. When folding does not
// shrink the rows it is given up for the rest of the batch: computed rows are then divided by range as they
// are. A range takes the groups first, which come from earlier rows.
type partialFold struct {
	f       *folder
	t       *table
	byRange [ranges][]uint32
	rawToo  bool // rows may be passed on unfolded
	rows    int
	bypass  bool
	unfold  int                // batches that begin with bypass, since one before found that folding does not pay
	raw     [ranges]*rowBlocks // keys, arguments, filters; nil until needed
	split   [ranges][]int32
	panes   *paneFold // nil: rows are folded one by one
	counted int64     // bytes that the operator's meter has of it
}

// bypassAfter is how many rows are folded before it is judged whether that pays; when it does not, bypassBatches
// begin without folding.
const (
	bypassAfter   = 16 << 10
	bypassBatches = 31
)

// inVain says that folding did not shrink the rows much, and that they may be passed on unfolded.
func (p *partialFold) inVain() bool {
	return p.rawToo && p.panes == nil && p.f.g.tap == nil && p.t.live*2 > p.rows
}

// take folds a chunk, or divides its rows.
func (p *partialFold) take(c *chunk) error {
	p.rows += c.sel.N
	if !p.bypass {
		tap := p.f.g.tap
		if p.bypass = p.rows > bypassAfter && p.inVain(); p.bypass {
			p.unfold = bypassBatches
		}
		err := p.f.fold(p.t, c)
		if tap != nil && err == nil {
			tap.folded(p.t, c.sel, p.f.groups)
		}
		return err
	}
	vs, err := p.f.prog.Eval(c.cols, c.sel)
	if err != nil {
		return err
	}
	p.f.enc.encode(vs[:len(p.f.g.keys)], c.sel)
	for i := range p.split {
		p.split[i] = p.split[i][:0]
	}
	for k, h := range p.f.enc.hash[:c.sel.N] {
		i := rangeOf(h)
		p.split[i] = append(p.split[i], int32(c.sel.At(k)))
	}
	for i, idx := range p.split {
		if p.raw[i] == nil {
			p.raw[i] = newRowBlocks(p.f.g.exprs)
		}
		p.raw[i].add(vs, idx)
	}
	return nil
}

func (g *grouping) newPartial() (*partialFold, error) {
	f, err := g.newFolder()
	if err != nil {
		return nil, err
	}
	p := &partialFold{f: f, t: g.newTable()}
	if g.panes != nil {
		p.panes, err = g.panes.newFold(g)
	}
	return p, err
}

// fold reads parts [from, to) of child into the partial table.
func (p *partialFold) fold(r *run, child operator, w, from, to int) error {
	p.t.truncate()
	p.rows, p.counted = 0, 0
	if p.bypass = p.unfold > 0 && p.rawToo && p.f.g.tap == nil; p.bypass {
		p.unfold--
	}
	for i := range p.byRange {
		p.byRange[i] = p.byRange[i][:0]
		if p.raw[i] != nil {
			p.raw[i].clear()
		}
	}
	if p.panes != nil {
		var err error
		if p.rows, err = p.panes.fold(r, w, from, to, p.t); err != nil {
			return err
		}
		from = to
	}
	for part := from; part < to; part++ {
		p.f.prog.Begin(r.exprTask(part))
		if err := child.part(r, w, part, p.take); err != nil {
			return err
		}
		if err := p.account(r); err != nil {
			return err
		}
	}
	if !p.bypass && p.rows >= smallRows && p.inVain() {
		p.unfold = bypassBatches
	}
	for g := range uint32(p.t.rec.Len()) {
		i := rangeOf(p.t.hash(g))
		p.byRange[i] = append(p.byRange[i], g)
	}
	return p.account(r)
}

// account tells the operator's meter what the fold holds now.
func (p *partialFold) account(r *run) error {
	now := p.bytes()
	p.f.g.held(r).Add(now - p.counted)
	p.counted = now
	return r.p.meter.room()
}

// foldAll folds all parts of child with one partial table per unit, in order of the units.
func (g *grouping) foldAll(r *run, child operator, kept *[]*partialFold, parts, units int, rawToo bool) ([]*partialFold, error) {
	ps, err := g.partials(kept, units, rawToo)
	if err != nil {
		return nil, err
	}
	err = r.parallel("aggregate", units, func(w, u int) error {
		return ps[u].fold(r, child, w, u*parts/units, (u+1)*parts/units)
	})
	return ps, err
}

// partials gives a partial table for each unit.
func (g *grouping) partials(kept *[]*partialFold, units int, rawToo bool) ([]*partialFold, error) {
	for len(*kept) < units {
		p, err := g.newPartial()
		if err != nil {
			return nil, err
		}
		*kept = append(*kept, p)
	}
	ps := (*kept)[:units]
	for _, p := range ps {
		p.rawToo = rawToo
	}
	return ps, nil
}

// stateAggregate keeps an aggregation's groups between micro-batches.
type stateAggregate struct {
	child   operator
	g       *grouping
	schema  types.Schema
	mode    string
	time    *timeKey // nil without an event time among the keys
	mark    inMark
	ranges  [ranges]*aggregateRange
	partial []*partialFold
	taken   []*partialFold // of partial: what the batch's input was folded into
	out     []outGroups
	total   int  // groups in out
	small   bool // all of out is one part
	count   OperatorCounters
	lastE   int64
	batch   int64
	owed    int64 // of saveRanges
	tap     *tap  // nil: untraced
	paned   *panedState
	inPanes bool // the state is in paned, not in ranges
	// panesFit says that new state goes into panes.
	panesFit bool
	demand   demand
}

// aggregateRange is the state of one hash range.
type aggregateRange struct {
	t     *table
	m     *merger
	f     *folder // for rows that come unfolded; nil until needed
	x     *expiry
	aggs  []expr.Aggregate
	late  *table // late groups of the batch, when several units may name the same
	enc   *encoder
	kept  []int32 // rows that came unfolded and are not late
	out   []uint32
	gone  int64
	drop  int64
	stats segmentStats
}

type outGroups struct {
	at     *aggregateRange
	groups []uint32
}

func newStateAggregate(child operator, g *grouping, mode string, timeColumn int, delay int64, mark inMark) *stateAggregate {
	g.inState = true
	o := &stateAggregate{child: child, g: g, mode: mode, mark: mark}
	g.owner, o.demand.refs = o, g.refs
	if timeColumn >= 0 {
		o.time = newTimeKey(g.lay, timeColumn)
	}
	for i := range o.ranges {
		o.ranges[i] = &aggregateRange{t: g.newTable(), m: g.newMerger(), x: newExpiry(expiryWidth(delay)), aggs: g.fresh(),
			enc: newEncoder(g.lay)}
	}
	return o
}

func (o *stateAggregate) open(r *run) (int, error) {
	if o.inPanes {
		return o.paned.open(r)
	}
	start := r.now()
	late, evict := o.mark.at(r.task.lateUs), o.mark.at(r.task.evictUs)
	if o.tap != nil {
		o.tap.beginFold(o.traceLate(late))
	}
	if err := r.takeInput("aggregate", o, false); err != nil {
		return 0, err
	}
	ps := o.taken
	if len(o.g.keys) == 0 { // the one group of a global aggregation is there in every batch
		ps[0].f.global(ps[0])
	}
	o.lastE, o.batch = evict, r.task.Batch
	n := ranges
	if len(ps) == 1 && ps[0].rows < 2*smallRows {
		for i := range o.ranges { // few rows: no goroutine
			if err := o.takeIn(r, o.ranges[i], i, ps, late, evict); err != nil {
				return 0, err
			}
		}
	} else if err := r.parallel("state", n, func(w, i int) error { return o.takeIn(r, o.ranges[i], i, ps, late, evict) }); err != nil {
		return 0, err
	}
	if o.tap != nil {
		o.tap.endFold()
	}
	o.collect()
	o.count.AllUpdatesTimeMs = r.now().Sub(start).Milliseconds()
	if o.small = o.total <= columnar.MaxBatch; o.small {
		return min(1, len(o.out)), nil // one record batch, one file
	}
	return len(o.out), nil
}

func (o *stateAggregate) below() []operator { return []operator{o.child} }

func (o *stateAggregate) openInput(r *run) (int, func(w, u int) error, error) {
	if o.inPanes {
		return o.paned.openInput(r)
	}
	parts, err := o.child.open(r)
	if err != nil {
		return 0, nil, err
	}
	units := r.units(parts)
	o.taken, err = o.g.partials(&o.partial, units, true)
	ps := o.taken
	return units, func(w, u int) error { return ps[u].fold(r, o.child, w, u*parts/units, (u+1)*parts/units) }, err
}

// global makes sure that the group of an aggregation without keys exists.
func (f *folder) global(p *partialFold) {
	if p.t.live > 0 {
		return
	}
	f.enc.n = 1
	f.enc.words = append(f.enc.words[:0], make([]uint64, f.g.lay.words)...)
	f.enc.hash = grow(f.enc.hash[:0], 1)
	f.enc.anyLong = false
	f.enc.hashRows()
	f.groups = grow(f.groups[:0], 1)
	p.t.upsert(f.enc, f.groups)
	i := rangeOf(f.enc.hash[0])
	p.byRange[i] = append(p.byRange[i], f.groups[0])
}

// takeIn merges what the batch brought for one range, then decides what comes out and what goes.
func (o *stateAggregate) takeIn(r *run, a *aggregateRange, i int, ps []*partialFold, late, evict int64) error {
	a.out, a.gone, a.drop = a.out[:0], 0, 0
	filter := o.time != nil && o.mode != "complete"
	var onNew func(gs []uint32)
	if filter {
		onNew = func(gs []uint32) {
			for _, g := range gs {
				if t, ok := o.time.of(a.t, o.g.lay, g); ok {
					a.x.add(t, g)
				}
			}
		}
	}
	if a.late != nil {
		a.late.truncate()
	}
	shared := len(ps) > 1 // several partial tables, or rows that are in none, may name a late group
	var seen *rangeTrace
	if o.tap != nil {
		seen = &rangeTrace{numbers: map[uint32]int64{}}
		defer func() { o.traceOut(a, seen) }()
	}
	if err := o.need(r, a, i, ps); err != nil {
		return err
	}
	unfolded := 0
	for _, p := range ps {
		if p.raw[i] != nil {
			unfolded += p.raw[i].n
		}
	}
	shared = shared || unfolded > 0
	if unfolded/2 > a.t.live { // most of their groups are new: slots grow once and not at every doubling
		a.t.reserve(unfolded / 2)
	}
	for _, p := range ps {
		groups := p.byRange[i]
		if filter {
			groups = o.dropLate(a, p, groups, late, shared)
		}
		if len(groups) > 0 {
			if o.tap != nil {
				o.traceBefore(a, p, groups)
			}
			if err := a.m.merge(a.t, p.t, groups, onNew); err != nil {
				return err
			}
			if o.tap != nil {
				o.traceAfter(a, p, groups, seen)
			}
		}
		if p.raw[i] != nil {
			var keep func(vs []*columnar.Vec, rows columnar.Sel) columnar.Sel
			if filter {
				keep = func(vs []*columnar.Vec, rows columnar.Sel) columnar.Sel { return o.dropLateRows(a, vs, rows, late) }
			}
			if err := a.foldRaw(o.g, p.raw[i], keep, onNew); err != nil {
				return err
			}
		}
	}
	if a.late != nil {
		a.drop += int64(a.late.live)
	}
	switch o.mode {
	case "complete":
		a.out = a.t.groups(a.out)
		return nil
	case "update":
		a.out = append(a.out, a.t.dirty...)
	}
	if o.time != nil {
		a.x.pop(evict, func(g uint32) (int64, bool) { return o.time.of(a.t, o.g.lay, g) }, func(g uint32) {
			if o.mode == "append" {
				a.out = append(a.out, g)
			}
			a.t.unlink(g)
			a.gone++
		})
	}
	return nil
}

// foldRaw folds computed rows straight into the state, so few at a time that their records are still near when the
// aggregates come to them.
// keep, if set, chooses among the rows, and onNew, if set, learns the groups that were not in the state.
func (a *aggregateRange) foldRaw(g *grouping, b *rowBlocks, keep func([]*columnar.Vec, columnar.Sel) columnar.Sel, onNew func([]uint32)) error {
	if a.f == nil {
		a.f = &folder{g: g, enc: newEncoder(g.lay), aggs: g.fresh()}
	}
	return b.each(g.exprs, probeRows, func(vs []*columnar.Vec, rows columnar.Sel) error {
		if keep != nil {
			if rows = keep(vs, rows); rows.N == 0 {
				return nil
			}
		}
		if onNew == nil {
			return a.f.foldValues(a.t, vs, rows)
		}
		before := len(a.t.fresh)
		a.t.track = true
		err := a.f.foldValues(a.t, vs, rows)
		a.t.track = false
		onNew(a.t.fresh[before:])
		a.t.fresh = a.t.fresh[:before]
		return err
	})
}

// dropLateRows keeps the rows whose time is behind the late watermark, and notes the groups of the others.
func (o *stateAggregate) dropLateRows(a *aggregateRange, vs []*columnar.Vec, rows columnar.Sel, late int64) columnar.Sel {
	col := vs[o.time.column]
	if o.time.part >= 0 {
		col = col.Kids[o.time.part]
	}
	isLate := func(i int) bool { return !vs[o.time.column].IsNull(i) && !col.IsNull(i) && col.I64[col.Row(i)] <= late }
	first := 0
	for first < rows.N && !isLate(rows.At(first)) {
		first++
	}
	if first == rows.N {
		return rows
	}
	a.kept = a.kept[:0]
	var gone []int32
	for k := range rows.N {
		if i := rows.At(k); isLate(i) {
			gone = append(gone, int32(i))
		} else {
			a.kept = append(a.kept, int32(i))
		}
	}
	if a.late == nil {
		a.late = newTable(o.g.lay, 0)
	}
	a.enc.encode(vs[:len(o.g.keys)], columnar.Sel{Idx: gone, N: len(gone)})
	a.late.upsert(a.enc, make([]uint32, len(gone)))
	return columnar.Sel{Idx: a.kept, N: len(a.kept)}
}

// dropLate removes groups whose time is at or before the late watermark, in place, and counts each once.
func (o *stateAggregate) dropLate(a *aggregateRange, p *partialFold, groups []uint32, late int64, shared bool) []uint32 {
	kept := groups[:0]
	var gone []uint32
	for _, g := range groups {
		if t, ok := o.time.of(p.t, o.g.lay, g); ok && t <= late {
			gone = append(gone, g)
			continue
		}
		kept = append(kept, g)
	}
	switch {
	case len(gone) == 0:
	case !shared:
		a.drop += int64(len(gone))
	default:
		if a.late == nil {
			a.late = newTable(o.g.lay, 0)
		}
		a.enc.encodeGroups(p.t, gone)
		a.late.upsert(a.enc, make([]uint32, len(gone)))
	}
	return kept
}

func (o *stateAggregate) collect() {
	c := &o.count
	c.NumRowsUpdated, c.NumRowsRemoved, c.NumRowsDroppedByWatermark = 0, 0, 0
	o.out = o.out[:0]
	total := 0
	for _, a := range o.ranges {
		c.NumRowsUpdated += int64(len(a.t.dirty))
		c.NumRowsRemoved += a.gone
		c.NumRowsDroppedByWatermark += a.drop
		total += len(a.out)
		if len(a.out) > 0 {
			o.out = append(o.out, outGroups{a, a.out})
		}
	}
	o.total = total
	o.measure()
}

func (o *stateAggregate) measure() {
	c := &o.count
	c.NumRowsTotal, c.MemoryUsedBytes = o.demand.missing.Load(), 0
	for _, a := range o.ranges {
		c.NumRowsTotal += int64(a.t.live)
		c.MemoryUsedBytes += a.t.bytes() + a.x.bytes()
	}
}

func (o *stateAggregate) part(r *run, w, p int, to emit) error {
	if o.inPanes {
		return o.paned.part(p, to)
	}
	outs := o.out[p : p+1]
	if o.small {
		outs = o.out
	}
	for _, out := range outs {
		if err := o.g.push(out.at.t, out.at.aggs, out.groups, to); err != nil {
			return err
		}
	}
	return nil
}

// push emits keys and results of groups in slices.
func (g *grouping) push(t *table, aggs []expr.Aggregate, groups []uint32, to emit) error {
	cols := make([]columnar.Vec, len(g.keys)+len(g.calls))
	for len(groups) > 0 {
		n := min(len(groups), columnar.Slice)
		if err := g.results(t, aggs, groups[:n], cols); err != nil {
			return g.overflown(err)
		}
		if err := to(&chunk{cols: cols, sel: columnar.AllRows(n)}); err != nil {
			return err
		}
		groups = groups[n:]
	}
	return nil
}

func (o *stateAggregate) Name() string                { return "stateStoreSave" }
func (o *stateAggregate) counters() *OperatorCounters { return &o.count }

func (o *stateAggregate) needsBatch(w int64) bool {
	return o.mode != "complete" && o.mark.has && o.mark.at(w) > o.lastE
}

func (o *stateAggregate) reset() {
	for _, a := range o.ranges {
		a.t = o.g.newTable()
		a.x.reset()
		a.stats = segmentStats{}
	}
	o.demand.missing.Store(0)
	if o.paned != nil {
		o.paned.reset()
		o.inPanes = o.panesFit
	}
	o.measure()
}

func (o *stateAggregate) settle() {
	if o.inPanes {
		o.paned.settle()
		return
	}
	divided := false // one range a batch: ranges grow alike
	for _, a := range o.ranges {
		a.t.settle()
		divides := !divided && a.t.undivided()
		if divides || a.t.sparse() {
			a.t = a.t.pack(o.g.refs)
			a.index(o)
		}
		divided = divided || divides
	}
}

// index builds the expiry from the table.
func (a *aggregateRange) index(o *stateAggregate) {
	a.x.reset()
	if o.time == nil || o.mode == "complete" {
		return
	}
	for _, g := range a.t.groups(nil) {
		if t, ok := o.time.of(a.t, o.g.lay, g); ok {
			a.x.add(t, g)
		}
	}
}

func (o *stateAggregate) shape() OperatorShape {
	k := len(o.g.keys)
	s := newShape(o.Name(), o.schema[:k], o.schema[k:])
	for i, a := range o.g.fresh() { // buffers of another width are another type
		s.ValueTypes[i] = fmt.Sprintf("%d:%s", a.Width(), s.ValueTypes[i])
	}
	return s
}

// overflown is the error of a result of state: a sum of decimals with too many digits is null in Spark's state,
// so the result says less of it than that of a finite query.
func (g *grouping) overflown(err error) error {
	if g.inState && errs.Has(err, "NUMERIC_VALUE_OUT_OF_RANGE") {
		return errs.New("ARITHMETIC_OVERFLOW", "message", "Overflow in sum of decimals",
			"alternative", " Use 'try_sum' to tolerate overflow and return NULL instead.", "config", `"spark.sql.ansi.enabled"`)
	}
	return err
}
