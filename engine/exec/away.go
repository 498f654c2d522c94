package exec

import (
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"

	"streamlab/store"
)

// A large table need not be in memory whole. The groups of a bucket may be away: on disk only, as the bucket's base and
// the deltas after it tell. They come when a key of the bucket is asked for, so that a restart costs what the first
// batch touches; and buckets that no batch has touched for a while leave when memory becomes scarce. What is away has
// not been changed since the last commit, so a view of that commit has all of it.
//
// Only tables whose rows do not leave by time have buckets that are away: what expires would have to be looked for.

// A remote is where state is that is away: the state after the last commit.
type remote struct {
	open func() *store.View // nil: nothing may be away

	mu    sync.Mutex
	view  *store.View
	kept  int  // batches that it has been kept for
	stale bool // something left that has changed since it was opened
}

// viewBatches is how many batches a view may be kept open, which keeps old state on disk.
const viewBatches = 64

// at has the state of all that is away. Safe for concurrent use; valid until the batch ends.
func (f *remote) at() *store.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.view == nil {
		f.view = f.open()
	}
	return f.view
}

// age is called when a batch is about to be committed. What is still away is the same after it, so a view is kept for
// a while: a new one has to list what there is.
func (f *remote) age() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept++; f.kept > viewBatches {
		f.drop()
	}
}

// outdate says that what leaves may have changed since the view was opened. Other workers still read it.
func (f *remote) outdate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = true
}

// renew ends a view that is outdated; nobody reads it any more.
func (f *remote) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stale {
		f.drop()
	}
}

// forget ends the view.
func (f *remote) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
}

func (f *remote) drop() {
	if f.view != nil {
		f.view.Close()
	}
	f.view, f.kept, f.stale = nil, 0, false
}

// demand brings buckets of an operator's tables into memory and lets them go.
type demand struct {
	far     *remote // nil: nothing is away
	number  int     // of the operator
	refs    []int   // of its tables
	missing atomic.Int64
	each    int64 // groups of a bucket, about, when all were away
	watched int64 // since which batch buckets that are touched are noted; 0: they are not
}

// A demanding operator can have state that is away.
type demanding interface {
	Stateful
	// demanded gives the operator's demand, nil if all of its state has to be in memory.
	demanded() *demand
	// measure brings the counters of rows and bytes up to date.
	measure()
	// at gives the table of a range, which may be set to another one, and its segments.
	at(i int) (t **table, st *segmentStats)
	// debt is the bytes of bases that were written ahead of deltas, as saveRanges counts them.
	debt() *int64
}

// baseAfterAway is how many bytes of deltas a run writes before its first base, when state is away: a base would have
// to be loaded first.
const baseAfterAway = 1 << 20

// allBuckets is the set of all buckets of a divided table.
const allBuckets = 1<<buckets - 1

// bucketsOf is the set of the buckets of hashes.
func bucketsOf(hashes []uint64) (set uint32) {
	for _, h := range hashes {
		set |= 1 << bucketOf(h)
	}
	return set
}

// asks says whether need has something to do for a table: it costs a look at all hashes.
func (d *demand) asks(t *table) bool { return t.buckets != nil && (t.away != 0 || d.watched != 0) }

// need makes sure that the buckets of a range that a batch touches are in memory, for the worker of the range, before
// the batch has touched any group of it. It gives the table, which is another one if buckets had to leave for them.
// Errors: BATCH_TOO_LARGE.
func (d *demand) need(r *run, o demanding, t *table, at int, set uint32) (*table, error) {
	for s := set; s != 0; s &= s - 1 {
		t.buckets[bits.TrailingZeros32(s)].used = r.task.Batch
	}
	if set&t.away == 0 {
		return t, nil
	}
	m := &r.p.meter
	before := t.bytes()
	if err := d.bring(t, at, set&t.away); err != nil {
		return t, err
	}
	if m.share(t.bytes()-before) >= leaveAt {
		live := t.live
		t = t.packWithout(d.refs, allBuckets&^set&^t.away)
		if live != t.live {
			d.missing.Add(int64(live - t.live))
			d.far.outdate()
		}
	}
	m.of(r.p, o).state.Add(t.bytes() - before)
	return t, m.room()
}

// bring loads buckets of a range that are away.
func (d *demand) bring(t *table, at int, set uint32) error {
	before := t.live
	t.reserve(int(d.each) * bits.OnesCount32(set))
	if err := replay(d.far.at(), store.Shard{Operator: d.number, Range: at}, t, d.refs, set); err != nil {
		return err
	}
	t.away &^= set
	d.missing.Add(int64(before - t.live))
	return nil
}

// release lets the buckets go that no batch has touched since one, and says how many groups that were.
func (d *demand) release(o demanding, since int64) (groups int64) {
	for i := range ranges {
		at, _ := o.at(i)
		t, leave := *at, uint32(0)
		for b := range t.buckets {
			if t.away>>b&1 == 0 && t.buckets[b].used < since {
				leave |= 1 << b
			}
		}
		if leave != 0 {
			*at = t.packWithout(d.refs, leave)
			groups += int64(t.live - (*at).live)
		}
	}
	d.missing.Add(groups)
	if groups > 0 {
		d.far.forget() // it has not what has changed since
	}
	return groups
}

// When buckets leave, in hundredths of what the query may hold: from watchAt on it is noted which ones batches touch,
// from leaveAt on those leave that restBatches batches have not touched, and before there is no room, all that the last
// one did not touch.
const (
	watchAt     = 50
	restBatches = 16
)

var leaveAt int64 = 80 // tests make it 0: then all buckets leave that a batch does not need when it needs others

// relieve lets buckets go after a batch, if memory is scarce. peak is what the batch held beside the state.
func (p *Plan) relieve(batch, peak int64) {
	for _, s := range p.stateful {
		o, ok := s.(demanding)
		if !ok || o.demanded() == nil || o.demanded().far == nil {
			continue
		}
		d := o.demanded()
		switch share := p.meter.share(0); {
		case share < watchAt:
			d.watched = 0
			continue
		case d.watched == 0:
			d.watched = batch + 1
			continue
		case p.meter.share(peak) >= 100:
			d.release(o, batch)
		case share >= leaveAt && batch-d.watched >= restBatches:
			d.release(o, batch-restBatches)
		}
		o.measure()
		p.measureState()
	}
}

// Demand lets state be away that a view of the last commit, which open gives, has. It is called once, before Load.
func (p *Plan) Demand(open func() *store.View) {
	p.far.open = open
	for i, s := range p.stateful {
		if o, ok := s.(demanding); ok && o.demanded() != nil {
			o.demanded().far, o.demanded().number = &p.far, i
		}
	}
}

// Resume is Load from the last commit, for a run that goes on. rows are those of the operators after it, as StateRows
// gave them: large state stays away until it is asked for.
func (p *Plan) Resume(rows map[string]int64) error {
	p.far.forget()
	v := p.far.at()
	missing := false
	for i, s := range p.stateful {
		s.reset()
		o, ok := s.(demanding)
		n := rows[strconv.Itoa(i)]
		if !ok || o.demanded() == nil || o.demanded().far == nil || n <= int64(ranges*divideAfter) {
			if err := s.load(v, i); err != nil {
				return err
			}
			continue
		}
		for k := range ranges {
			t, st := o.at(k)
			if err := loadNothing(v, store.Shard{Operator: i, Range: k}, *t, st); err != nil {
				return err
			}
		}
		*o.debt() = baseAfterAway
		o.demanded().missing.Store(n)
		o.demanded().each = n / (ranges * buckets)
		o.measure()
		missing = true
	}
	if !missing {
		p.far.forget()
	}
	return nil
}

// StateRows are the numbers of rows of those operators whose state may be away after a restart, by operator number; nil
// if it is small.
func (p *Plan) StateRows() (rows map[string]int64) {
	for i, s := range p.stateful {
		o, ok := s.(demanding)
		if !ok || o.demanded() == nil || s.counters().NumRowsTotal <= int64(ranges*divideAfter) {
			continue
		}
		if rows == nil {
			rows = map[string]int64{}
		}
		rows[strconv.Itoa(i)] = s.counters().NumRowsTotal
	}
	return rows
}

// Fetch brings one bucket that is away into memory, unless that is scarce; false: there is nothing to do. It is called
// between two batches.
func (p *Plan) Fetch() (more bool, err error) {
	for _, s := range p.stateful {
		o, ok := s.(demanding)
		if !ok || o.demanded() == nil || o.demanded().missing.Load() == 0 {
			continue
		}
		if p.meter.share(0) >= watchAt {
			return false, nil
		}
		for i := range ranges {
			at, _ := o.at(i)
			if t := *at; t.away != 0 {
				err := o.demanded().bring(t, i, t.away&-t.away)
				o.measure()
				p.measureState()
				return err == nil, err
			}
		}
	}
	p.far.forget()
	return false, nil
}

// Leave ends what Demand began.
func (p *Plan) Leave() { p.far.forget() }

// alone gives a table with only the groups of a bucket that is away, by its number on disk; it stays away.
func (d *demand) alone(of *table, at int, number int64) (*table, error) {
	t := newTable(of.lay, of.rec.Stride()-of.extraAt())
	t.saved = of.saved
	t.divide()
	return t, replay(d.far.at(), store.Shard{Operator: d.number, Range: at}, t, d.refs, 1<<(number-buckets))
}

// replay puts the groups of buckets as of a view into a table that has none of these buckets. It touches no group.
func replay(v *store.View, s store.Shard, t *table, refs []int, set uint32) error {
	outline, err := v.Outline(s)
	if err != nil {
		return err
	}
	r := segmentReader{e: newEncoder(t.lay), refs: refs, only: newChoice(set, outline)}
	loose := t.loose
	t.loose = true
	defer func() { t.loose = loose }()
	bases := int64(0) // bytes of those that have rows to come
	for _, g := range outline {
		if p := (store.Piece{Kind: g.Kind, Batch: g.Batch, Bucket: g.Bucket}); g.Kind == store.KindBase && r.only.look(p) {
			bases += g.Bytes
		}
	}
	for p, err := range v.PiecesOf(s, r.only.look) {
		if err != nil {
			return err
		}
		if p.Kind == store.KindRelease {
			return corrupt("released bucket")
		}
		before := t.live
		if err := r.apply(t, p.Rows); err != nil {
			return err
		}
		if p.Kind == store.KindBase && bases > 0 { // the others have as many rows for their length
			if n := int64(len(p.Rows)); n > 0 {
				t.reserve(int(float64(t.live-before) * float64(bases-n) / float64(n)))
			}
			bases = 0
		}
	}
	return nil
}

// loadWhole replays all of a shard into an empty table; rows are how many it has, if that is known.
func loadWhole(v *store.View, s store.Shard, t *table, refs []int, st *segmentStats, rows int) error {
	outline, err := v.Outline(s)
	if err != nil {
		return err
	}
	st.read(outline)
	if rows > divideAfter || st.divided() {
		t.divide()
	}
	if err := replay(v, s, t, refs, allBuckets); err != nil {
		return err
	}
	t.settle()
	return nil
}

// loadNothing makes an empty table one whose groups are all away.
func loadNothing(v *store.View, s store.Shard, t *table, st *segmentStats) error {
	outline, err := v.Outline(s)
	if err != nil {
		return err
	}
	st.read(outline)
	t.divide()
	t.away = allBuckets
	return nil
}

// choice says which rows of a shard's segments count for some of its buckets: of bases, for each bucket those of the
// newest one that has it; of deltas, those of later batches. A base without rows says only that an earlier one means
// nothing, and those it was for are told by the deltas.
type choice struct {
	set   uint32
	own   [buckets]int64 // batch of the base of each bucket alone; -1: there is none
	whole int64          // batch of the base of all buckets
	piece store.Piece    // that is being applied, without its rows
}

func newChoice(set uint32, outline []store.Outline) *choice {
	c := &choice{set: set, whole: -1}
	for i := range c.own {
		c.own[i] = -1
	}
	for _, g := range outline {
		switch {
		case g.Kind != store.KindBase || g.Bytes == 0:
		case g.Bucket >= buckets:
			c.own[g.Bucket-buckets] = g.Batch
		default:
			c.whole = g.Batch
		}
	}
	return c
}

// look turns to a piece and says whether it has rows that count.
func (c *choice) look(p store.Piece) bool {
	c.piece = p
	for s := c.set; s != 0; s &= s - 1 {
		if c.counts(bits.TrailingZeros32(s)) {
			return true
		}
	}
	return p.Kind == store.KindRelease
}

// counts says whether rows of a bucket count in the piece.
func (c *choice) counts(bucket int) bool {
	own, p := c.own[bucket], &c.piece
	switch {
	case c.set>>bucket&1 == 0:
		return false
	case p.Kind == store.KindDelta:
		return p.Batch > max(own, c.whole)
	case p.Bucket >= buckets:
		return p.Bucket-buckets == int64(bucket) && own > c.whole
	}
	return own <= c.whole
}

// every says that all rows of the piece count.
func (c *choice) every() bool {
	if c.piece.Kind == store.KindBase && c.piece.Bucket >= buckets {
		return true
	}
	for b := range buckets {
		if !c.counts(b) {
			return false
		}
	}
	return true
}

// of lists the rows from a number on whose hashes are given that count.
func (c *choice) of(hashes []uint64, from int) []int32 {
	var counting [buckets]bool
	for b := range counting {
		counting[b] = c.counts(b)
	}
	out := make([]int32, 0, len(hashes))
	for k, h := range hashes {
		if counting[bucketOf(h)] {
			out = append(out, int32(from+k))
		}
	}
	return out
}
