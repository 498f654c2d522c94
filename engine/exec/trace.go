package exec

import (
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// Tracing shows what one execution of a plan did to single rows. Build puts a tap behind every operator when
// Conf.Trace is set; without it there are no taps, and operators that keep state pay one comparison with nil
// for a chunk. A traced plan runs on one worker: what a tap sees is then in order, and nothing needs a lock.
//
// A row is known by its stage (the operator that made it) and its number there, counted from 0 in the order
// of making. Rows go up synchronously: while an operator hands a chunk on, the chunk that it got is still
// being pushed by the tap below. So the row that a row was made of is found by its position in that chunk,
// which most operators leave alone; those that gather rows say from where (chunk.from). Operators that
// collect their input first tell their tap what became of each row, and in which order its results will come.

// TraceConf asks for a traced plan.
type TraceConf struct {
	Rows int // rows of each stage that are kept with their values; 0 is 200
	// Keep lists further rows to keep, by stage and number.
	Keep map[int]map[int64]bool
	// Match picks rows out of a chunk, by position; nil picks none. Trace.Matched lists them.
	Match func(s types.Schema, cols []columnar.Vec, sel columnar.Sel) []int
	// Whole says that a scan of a stream may read all columns, and the rows that its format would leave out for the
	// filter above it, without giving other values: then its stage has rows as they are in the source. Nil: none may.
	Whole func(x *plan.Scan) bool
	// Partial gets what the taps have seen while the plan still runs, at most once in a span of Every and on the
	// goroutine that runs it: a Trace whose rows may still have no fate, and of which nothing can be followed. Nil:
	// nobody looks.
	Partial func(*Trace)
	Every   time.Duration
}

// Fate is what became of a row in the stage above.
type Fate uint8

// The fates.
const (
	FateNone      Fate = iota
	FatePassed         // went on as it is, or as rows made of it
	FateSent           // reached the end of the plan
	FateFiltered       // a condition is not true
	FateLate           // at or before the late bound; Row.Time is the value that was compared
	FateDuplicate      // its key has been seen; Row.Into is the first row if that came in this batch
	FateMerged         // into the group Row.Into
	FateMatched        // a join found a partner
	FateWaiting        // stored by a join until a partner comes, or Row.Until is passed
	FateUnmatched      // a join found no partner and does not keep the row
	FateNullKey        // a null key matches nothing
	FateHeld           // a group that is not emitted before the watermark passes Row.Until
	FateBeyond         // behind a limit
	FateNoTime         // in no window
	FateEmpty          // nothing to generate from
	FateRead           // taken in by an operator that does not say what became of it
	FateGiven          // handed to the code of its key
)

var fateWords = [...]string{"", "kept", "sent", "filtered", "late", "duplicate", "merged", "matched", "waiting", "unmatched",
	"null key", "held back", "beyond the limit", "no time", "empty", "read", "given"}

func (f Fate) String() string { return fateWords[f] }

// Never is an Until that no watermark passes.
const Never = math.MaxInt64

// A Ref names a row. Stage -1 is a row that a stateful operator stored in an earlier batch.
type Ref struct {
	Stage int
	N     int64
}

// rowID is a Ref in one word.
type rowID int64

const (
	noRow     rowID = -1
	storedRow rowID = -2
	rowBits         = 44
)

func makeRow(stage int, n int64) rowID { return rowID(int64(stage)<<rowBits | n) }

func (r rowID) ref() Ref {
	if r < 0 {
		return Ref{Stage: -1}
	}
	return Ref{int(r >> rowBits), int64(r & (1<<rowBits - 1))}
}

// TraceStage is an operator as a trace shows it. Stages stand in the order of the rows' way; the last one
// stands for the sink.
type TraceStage struct {
	Number   int
	Kind     string // "source", "filter", "aggregate", "join", "sink", …
	Detail   string // of the plan's node, in the words of EXPLAIN
	Schema   types.Schema
	Below    []int         // stages whose rows it reads
	Operator int           // its number among the stateful operators; -1
	Out      int64         // rows that left
	In       int64         // rows that came; 0 for sources
	Took     time.Duration // without the time of the stages around it
	Skipped  bool          // a source: rows that it would have left out while reading are here, too
	Late     int64         // bound of the stage for late rows, microseconds; 0 is none
	Evict    int64         // bound up to which its state goes, likewise
	Keys     int           // of an aggregation: so many columns come first
	StateHad int64         // state rows before the batch; -1 without state
	State    int64         // after it
	Fates    map[Fate]int64
	Rows     []TraceRow        // that were kept, by number
	Values   arrow.RecordBatch // of Rows, in the same order; nil if there are none
	Before   arrow.RecordBatch // of an aggregation: the same groups before the batch; nil else
}

// A TraceRow is a kept row.
type TraceRow struct {
	N       int64
	Emitted bool // it left the stage; groups may not
	New     bool // a group that was not there before the batch
	Known   bool // a group whose values before the batch are in Before
	Fate    Fate
	Into    Ref // with FateMerged and FateDuplicate; Stage -1 is none that is known
	Time    int64
	Until   int64
	From    []Ref // rows that it was made of; at most fromLimit
	FromAll int64 // how many there are
}

// fromLimit bounds TraceRow.From.
const fromLimit = 1000

// Trace is what a traced plan saw.
type Trace struct {
	Stages  []TraceStage
	Matched []Ref
	taps    []*tap
}

// tracer is what the taps of a plan have in common.
type tracer struct {
	conf    TraceConf
	taps    []*tap
	pushing *tap // whose chunk is on its way
	timing  *tap
	since   time.Time
	now     func() time.Time
	matched []rowID
	told    time.Time // when Partial was called last
}

func newTracer(c TraceConf, now func() time.Time) *tracer {
	if c.Rows <= 0 {
		c.Rows = 200
	}
	return &tracer{conf: c, now: now}
}

// enter gives the time from now on to a tap's operator; nil is nobody's.
func (t *tracer) enter(p *tap) (before *tap) {
	now := t.now()
	if t.timing != nil {
		t.timing.Took += now.Sub(t.since)
	}
	before, t.timing, t.since = t.timing, p, now
	return before
}

// tap numbers the rows that leave an operator.
type tap struct {
	TraceStage
	child operator
	t     *tracer
	below []*tap
	up    *tap           // nil: the end of the plan
	pick  []int          // of a source whose rows are read whole: the columns that go on; nil is all
	some  []columnar.Vec // these columns of the chunk on its way

	// By row:
	from  []rowID // what it was made of, noRow if nothing or much
	fate  []Fate
	into  []rowID           // nil until a row has one
	more  map[int64][]rowID // further rows that it was made of
	times map[int64]int64
	until map[int64]int64
	fresh map[int64]bool // groups that are new
	sent  map[int64]bool // of a stage whose rows are groups: those that left; nil else

	ids    []int64 // of the chunk on its way, by position
	cols   []columnar.Vec
	queue  []origin // of rows that are made and have not left
	queued int
	groups []int64 // of groups that will leave, in order
	left   int

	kept    []int64
	isKept  map[int64]bool
	values  *rowsBuffer
	was     *rowsBuffer // before the batch
	wasOf   map[int64]int32
	notable int // rows kept because something happened to them
	idx     []int32

	fold    []foldedRow // rows of an aggregation by their group of the batch
	group   []int64     // number of each group of the batch; -1 is none
	calling origin      // of the rows that code of a key emits now
	lateOf  func(t *table, g uint32) (us int64, late bool)
}

// origin is what a row was made of.
type origin struct {
	a, b rowID
	more []rowID
}

type foldedRow struct {
	row rowID
	g   uint32
}

// tapped is implemented by operators that tell their tap more than positions do.
type tapped interface{ traced(*tap) }

// tapped builds a node with a tap behind it.
func (b *builder) tapped(n plan.Node) (operator, error) {
	from := len(b.taps)
	whole, pick := b.whole(n)
	o, err := b.node(whole)
	if err != nil {
		return nil, err
	}
	if t, ok := o.(*tap); ok { // the node adds nothing
		return t, nil
	}
	kind, detail := stageText(n)
	t := b.tap(o, from, TraceStage{Kind: kind, Detail: detail, Schema: whole.Schema(), Operator: -1})
	t.pick = pick
	if x, ok := n.(*plan.Scan); ok && x.Stream != nil && appliesFilters(x.Stream) {
		t.Skipped = len(x.Filters) > len(whole.(*plan.Scan).Filters)
	}
	b.pass(t, o)
	if x, ok := o.(tapped); ok {
		x.traced(t)
	}
	return t, nil
}

// tap stands behind o; the taps from a place on are those below it.
func (b *builder) tap(o operator, from int, s TraceStage) *tap {
	t := &tap{TraceStage: s, child: o, t: b.p.tracer, below: append([]*tap(nil), b.taps[from:]...)}
	t.Number, t.StateHad = len(t.t.taps), -1
	t.values = newRowsBuffer(s.Schema)
	for _, k := range t.below {
		k.up = t
		t.Below = append(t.Below, k.Number)
	}
	t.t.taps = append(t.t.taps, t)
	b.taps = append(b.taps[:from], t)
	return t
}

func (p *tap) open(r *run) (int, error) {
	rows, mark := stateRows(p.child)
	p.StateHad, p.Late, p.Evict = rows, mark.at(r.task.lateUs), mark.at(r.task.evictUs)
	before := p.t.enter(p)
	n, err := p.child.open(r)
	p.t.enter(before)
	return n, err
}

func (p *tap) part(r *run, w, part int, to emit) error {
	t := p.t
	reader := t.enter(p)
	err := p.child.part(r, w, part, func(c *chunk) error {
		if c.sel.N == 0 {
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		t.enter(nil)
		p.number(c)
		below := t.pushing
		t.pushing = p
		t.enter(reader)
		err := to(&chunk{cols: p.onward(c.cols), sel: c.sel})
		t.enter(nil)
		t.pushing = below
		p.unclaimed(c.sel)
		if len(p.below) == 0 {
			t.tell()
		}
		t.enter(p)
		return err
	})
	t.enter(reader)
	return err
}

// whole is a scan that reads every column of its stream, for a scan that reads some of them, and which of them these
// are; other nodes as they are.
func (b *builder) whole(n plan.Node) (plan.Node, []int) {
	x, ok := n.(*plan.Scan)
	w := b.conf.Trace.Whole
	if !ok || x.Stream == nil || b.byRow[x] != nil || w == nil || !w(x) {
		return n, nil
	}
	c := *x
	c.Filters = nil // they stand above it too
	if x.Columns == nil {
		return &c, nil
	}
	c.Columns, c.Out = nil, append(types.Schema{}, x.Stream.Schema()...)
	hidden := false
	pick := make([]int, len(x.Columns))
	for i, at := range x.Columns {
		pick[i] = at
		if at >= len(x.Stream.Schema()) { // read by name only
			hidden = true
			pick[i] = len(c.Out)
			c.Out = append(c.Out, x.Out[i])
			continue
		}
		c.Out[at] = x.Out[i]
	}
	if hidden {
		for at := range x.Stream.Schema() {
			c.Columns = append(c.Columns, at)
		}
		for _, at := range x.Columns {
			if at >= len(x.Stream.Schema()) {
				c.Columns = append(c.Columns, at)
			}
		}
	}
	return &c, pick
}

// onward are the columns of a chunk that the node above reads.
func (p *tap) onward(cols []columnar.Vec) []columnar.Vec {
	if p.pick == nil {
		return cols
	}
	p.some = p.some[:0]
	for _, at := range p.pick {
		p.some = append(p.some, cols[at])
	}
	return p.some
}

// number gives the rows of a chunk their numbers and notes what they were made of.
func (p *tap) number(c *chunk) {
	src := p.t.pushing
	if src != nil && src.up != p {
		src = nil
	}
	last := c.sel.At(c.sel.N - 1)
	p.ids = grow(p.ids[:0], last+1)
	p.cols = c.cols
	p.idx = p.idx[:0]
	passed := FatePassed
	if j, ok := p.child.(*hashJoin); ok {
		passed = j.passed(c)
	}
	for k := range c.sel.N {
		i := c.sel.At(k)
		if p.left < len(p.groups) { // a group of state that has a number
			p.ids[i] = p.groups[p.left]
			p.left++
			p.sent[p.ids[i]] = true
			p.Out++
			continue
		}
		var o origin
		switch {
		case src != nil:
			at := i
			if c.from != nil {
				at = int(c.from[i])
			}
			o = origin{a: src.row(at), b: noRow}
			src.claim(src.ids[at], passed)
		case p.queued < len(p.queue):
			o = p.queue[p.queued]
			p.queued++
		default:
			o = origin{a: noRow, b: noRow}
		}
		if c.with != nil {
			o.b = c.with[i]
			p.t.claim(o.b, FateMatched)
		}
		p.ids[i] = p.make(o)
		p.Out++
		if p.wants(p.ids[i]) {
			p.idx = append(p.idx, int32(i))
		}
	}
	p.keep(c.cols, p.idx)
	if p.queued == len(p.queue) {
		p.queue, p.queued = p.queue[:0], 0
	}
	if p.t.conf.Match != nil {
		for _, i := range p.t.conf.Match(p.Schema, c.cols, c.sel) {
			p.t.matched = append(p.t.matched, makeRow(p.Number, p.ids[i]))
		}
	}
}

// make adds a row.
func (p *tap) make(o origin) int64 {
	n := int64(len(p.from))
	p.from = append(p.from, o.a)
	p.fate = append(p.fate, FateNone)
	if p.into != nil {
		p.into = append(p.into, noRow)
	}
	if o.b != noRow || o.more != nil {
		if p.more == nil {
			p.more = map[int64][]rowID{}
		}
		if o.more != nil {
			p.more[n] = o.more
		} else {
			p.more[n] = []rowID{o.b}
		}
	}
	return n
}

// wants says whether the values of a row are kept.
func (p *tap) wants(n int64) bool {
	return (n < int64(p.t.conf.Rows) || p.t.conf.Keep[p.Number][n]) && !p.isKept[n]
}

// keep copies the values of rows at positions of the chunk on its way.
func (p *tap) keep(cols []columnar.Vec, at []int32) {
	if len(at) == 0 {
		return
	}
	ns := make([]int64, len(at))
	for k, i := range at {
		ns[k] = p.ids[i]
	}
	p.keepRows(ns, cols, columnar.Sel{Idx: at, N: len(at)})
}

// keepRows copies the values of rows.
func (p *tap) keepRows(ns []int64, cols []columnar.Vec, sel columnar.Sel) {
	if p.isKept == nil {
		p.isKept = map[int64]bool{}
	}
	for _, n := range ns {
		p.isKept[n] = true
		p.kept = append(p.kept, n)
	}
	p.values.add(cols, sel)
}

// claim notes that a row of this stage went on.
func (p *tap) claim(n int64, f Fate) {
	if p.fate[n] == FateNone {
		p.fate[n] = f
	}
}

// claim notes a fate of any row, unless it is none of this batch.
func (t *tracer) claim(r rowID, f Fate) {
	if r < 0 {
		return
	}
	ref := r.ref()
	t.taps[ref.Stage].fate[ref.N] = f
}

// unclaimed gives the rows of a chunk that nothing was heard of their fate.
func (p *tap) unclaimed(sel columnar.Sel) {
	f := FateSent
	if p.up != nil {
		f = lost(p.up, p)
	}
	for k := range sel.N {
		if n := p.ids[sel.At(k)]; p.fate[n] == FateNone {
			p.fate[n] = f
			if f != FateSent && f != FateRead {
				p.note(sel.At(k))
			}
		}
	}
}

// lost is the fate of rows that stage up made nothing of.
func lost(up, from *tap) Fate {
	switch x := up.child.(type) {
	case *filter, *sample:
		return FateFiltered
	case *limit, *streamLimit:
		return FateBeyond
	case *timeWindow, *sessionStart:
		return FateNoTime
	case *generate, *repeatRows:
		return FateEmpty
	case *hashJoin:
		if x.probe == operator(from) {
			return FateUnmatched
		}
	}
	return FateRead
}

// note keeps the values of a row to which something happened, while its chunk is on its way.
func (p *tap) note(i int) {
	if n := p.ids[i]; p.notable < p.t.conf.Rows && !p.isKept[n] {
		p.notable++
		p.keep(p.cols, []int32{int32(i)})
	}
}

// happened sets the fate of the row at a position of the chunk on its way.
func (p *tap) happened(i int, f Fate) int64 {
	n := p.ids[i]
	p.fate[n] = f
	return n
}

// row names the row at a position of the chunk on its way.
func (p *tap) row(i int) rowID { return makeRow(p.Number, p.ids[i]) }

func (p *tap) setTime(n, us int64) {
	if p.times == nil {
		p.times = map[int64]int64{}
	}
	p.times[n] = us
}

func (p *tap) setUntil(n, us int64) {
	if p.until == nil {
		p.until = map[int64]int64{}
	}
	p.until[n] = us
}

func (p *tap) setInto(n int64, to rowID) {
	if p.into == nil {
		p.into = make([]rowID, len(p.from), cap(p.from))
		for i := range p.into {
			p.into[i] = noRow
		}
	}
	p.into[n] = to
}

// dropped notes the fate of the rows of before that are not in after, of the chunk that is being pushed to p.
// at is the column whose times were compared, nil if none were.
func (p *tap) dropped(before, after columnar.Sel, f Fate, at *columnar.Vec) {
	src := p.t.pushing
	if src == nil || before.N == after.N {
		return
	}
	gone := minus(before, after)
	for k := range gone.N {
		i := gone.At(k)
		n := src.happened(i, f)
		if at != nil && !at.IsNull(i) {
			src.setTime(n, at.I64[at.Row(i)])
		}
		src.note(i)
	}
}

// newGroup makes a row that is a group of state.
func (p *tap) newGroup() int64 {
	if p.sent == nil {
		p.sent = map[int64]bool{}
	}
	return p.make(origin{a: noRow, b: noRow})
}
