package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"streamlab/errs"
)

// A Batch collects what one micro-batch changes. Nothing of it reaches the disk before Commit. The
// collecting methods may be called by many workers at once, Commit and Discard by the driver after all
// have ended.
type Batch struct {
	c     *Checkpoint
	batch int64

	mu      sync.Mutex
	err     error
	groups  map[group]*[]Segment
	release map[Shard][]int64
	covered map[Shard]int64
	states  map[Shard]*State
	done    bool
}

// Begin starts the change set of the batch after Head. An error (the batch is not the next one) comes
// out of Commit.
func (c *Checkpoint) Begin(batch int64) *Batch {
	b := &Batch{c: c, batch: batch, groups: map[group]*[]Segment{}, release: map[Shard][]int64{},
		covered: map[Shard]int64{}, states: map[Shard]*State{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if batch != c.head+1 {
		b.err = outOfOrder("changes", batch, c.head, c.planned)
	}
	return b
}

func (b *Batch) add(g group, rows Segment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.groups[g]
	if list == nil {
		list = new([]Segment)
		b.groups[g] = list
	}
	*list = append(*list, rows)
}

func (b *Batch) check(s Shard) {
	if len(s.Store) > 255 || s.Operator < 0 || s.Range < 0 {
		b.mu.Lock()
		b.err = errs.New("INTERNAL_ERROR", "message", "a shard must have numbers from 0 and a short store name")
		b.mu.Unlock()
	}
}

// Delta adds changed and removed rows of a shard. Segments of a shard keep their order; one should stay
// below 512 KiB.
func (b *Batch) Delta(s Shard, rows Segment) {
	b.check(s)
	b.add(group{keyDelta, s, 0, b.batch}, rows)
}

// Release drops a bucket whole, with what this batch may have put into it.
func (b *Batch) Release(s Shard, bucket int64) {
	b.check(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release[s] = append(b.release[s], bucket)
}

// Base adds a segment of a bucket as the previous batch left it; all segments of a bucket must come in
// one batch. A bucket that has become empty gets an empty segment.
func (b *Batch) Base(s Shard, bucket int64, rows Segment) error {
	b.check(s)
	if b.batch == 0 {
		return errs.New("INTERNAL_ERROR", "message", "the first batch has no state before it")
	}
	b.add(group{keyBase, s, bucket, b.batch - 1}, rows)
	return nil
}

// Covered says that, with this batch, bases hold everything of the deltas and releases up to batch,
// which must be before this one. They are deleted.
func (b *Batch) Covered(s Shard, batch int64) {
	b.check(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.covered[s]; !ok || batch > old {
		b.covered[s] = batch
	}
}

// State opens the slow, general store of a shard: an ordered map that sees this batch's own changes. A
// shard is kept this way or with Delta and Base, never both.
func (b *Batch) State(s Shard) *State {
	b.check(s)
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.states[s]
	if st == nil {
		st = b.c.openState(s)
		b.states[s] = st
	}
	return st
}

// Discard forgets the batch; it does nothing after Commit.
func (b *Batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = true
	b.groups, b.states = nil, nil
}

// Commit makes the batch durable: segments that do not fit the commit record first, then that record
// alone. When it returns nil the batch is Head. With next, the offsets of the following batch travel in the
// same record and need no LogOffsets. After an error the checkpoint must be opened again, unless it is an
// INTERNAL_ERROR.
func (b *Batch) Commit(e CommitEntry, next *OffsetEntry) error {
	c := b.c
	c.life.RLock()
	defer c.life.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return errs.New("INTERNAL_ERROR", "message", "the batch has ended already")
	}
	b.done = true
	c.mu.Lock()
	err := errors.Join(c.usable(), b.err)
	if err == nil && (b.batch != c.head+1 || c.planned != b.batch) {
		err = outOfOrder("the commit", b.batch, c.head, c.planned)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := b.saveStates(); err != nil {
		return err
	}
	return b.commit(e, next)
}

// A staged is a group on its way to the disk.
type staged struct {
	groupRef
	segments []Segment
	moved    bool // was inline in an older commit record
}

// stage lists the groups in an order that depends on nothing but their keys, and decides what is inline.
func (b *Batch) stage() (all []staged, inline []Segment, writes []write) {
	for s, buckets := range b.release {
		g := group{keyRelease, s, 0, b.batch}
		b.groups[g] = &[]Segment{encodeRelease(buckets)}
	}
	for s, batch := range b.covered {
		if batch = min(batch, b.batch-1); batch > b.c.shard(s).covered {
			g := group{keyCovered, s, 0, b.batch}
			b.groups[g] = &[]Segment{binary.BigEndian.AppendUint64(nil, uint64(batch))}
		}
	}
	small := 0
	for g, segments := range b.groups {
		all = append(all, staged{groupRef: groupRef{group: g, bytes: bytesOf(*segments)}, segments: *segments})
		if g.letter == keyDelta || g.letter == keyRelease {
			for _, s := range *segments {
				small += len(s) + 16
			}
		}
	}
	slices.SortFunc(all, func(x, y staged) int { return compareGroups(x.group, y.group) })
	for i := range all {
		s := &all[i]
		if small <= b.c.inlineMax && (s.letter == keyDelta || s.letter == keyRelease) {
			inline = append(inline, s.segments...)
			continue
		}
		writes = append(writes, s.cut()...)
	}
	return all, inline, writes
}

func bytesOf(segments []Segment) (n int64) {
	for _, s := range segments {
		n += int64(len(s))
	}
	return n
}

// cut turns a group into parts with keys of their own.
func (s *staged) cut() (writes []write) {
	parts := cutParts(s.segments)
	s.parts = len(parts)
	prefix := s.prefix()
	for n, p := range parts {
		writes = append(writes, write{partKey(prefix, n), p})
	}
	return writes
}

// moveAfter is how many commit records past retention may be kept for their inline segments before these
// get keys of their own, and moveAtOnce of how many records a batch moves them: so few that they go along with its own.
const (
	moveAfter  = 64
	moveAtOnce = 12
)

// mostAlong is how many bytes of segments with keys of their own go along with the commit record. They are durable with
// it then; more are before it, which takes a synced write more.
const mostAlong = 6 << 10

// goAlong says that writes are so few that they go along with the commit record.
func goAlong(writes []write) bool {
	size := 0
	for _, w := range writes {
		size += len(w.key) + len(w.value)
	}
	return size <= mostAlong && len(writes) <= few
}

// move gives inline segments of records past retention keys of their own, so that one shard that never
// changes again does not keep all commit records since. The views of retained batches go on reading the
// old records, which are deleted at a later version. The caller holds mu.
func (c *Checkpoint) move() (all []staged, writes []write, err error) {
	if c.from-1-c.low < c.moveAfter || c.inline[c.low] == 0 {
		return nil, nil, nil
	}
	txn := c.db.NewTransactionAt(latest, false)
	defer txn.Discard()
	records := 0
	for n := c.low; n < min(c.from-1, c.low+4*moveAfter) && records < moveAtOnce; n++ {
		if c.inline[n] == 0 {
			continue
		}
		records++
		if list, ok := c.small[n]; ok {
			for _, s := range list {
				if c.shard(s.shard).isInline(s.group) {
					s.moved = true
					writes = append(writes, s.cut()...)
					all = append(all, s)
				}
			}
			continue
		}
		_, payload, err := fetch(txn, batchKey(keyCommit, n))
		if err != nil {
			return nil, nil, err
		}
		r, err := decodeCommit(payload)
		if err != nil {
			return nil, nil, err
		}
		segments, err := r.segments()
		if err != nil {
			return nil, nil, err
		}
		for i, note := range r.Groups {
			if g := note.group(); note.Parts == 0 && c.shard(g.shard).isInline(g) {
				s := staged{groupRef: groupRef{group: g, bytes: bytesOf(segments[i])}, segments: segments[i], moved: true}
				writes = append(writes, s.cut()...)
				all = append(all, s)
			}
		}
	}
	return all, writes, nil
}

func compareGroups(x, y group) int {
	switch {
	case x.letter != y.letter:
		return int(x.letter) - int(y.letter)
	case x.shard.Operator != y.shard.Operator:
		return x.shard.Operator - y.shard.Operator
	case x.shard.Range != y.shard.Range:
		return x.shard.Range - y.shard.Range
	case x.shard.Store != y.shard.Store:
		return strings.Compare(x.shard.Store, y.shard.Store)
	case x.bucket < y.bucket:
		return -1
	case x.bucket > y.bucket:
		return 1
	}
	return 0
}

func (s staged) note() groupNote {
	n := groupNote{Kind: s.letter, Op: s.shard.Operator, Range: s.shard.Range, Store: s.shard.Store,
		Bucket: s.bucket, Batch: s.batch, Parts: s.parts, Sum: sumOf(s.segments)}
	if s.parts == 0 {
		n.Sizes = make([]int, len(s.segments))
		for i, x := range s.segments {
			n.Sizes[i] = len(x)
		}
	}
	return n
}

func (b *Batch) commit(e CommitEntry, next *OffsetEntry) error {
	c, n := b.c, b.batch
	c.mu.Lock()
	all, inline, writes := b.stage()
	moved, more, err := c.move()
	if err != nil {
		c.mu.Unlock()
		return corrupt(c.dir, "a commit record is not readable", err)
	}
	all, writes = append(moved, all...), append(more, writes...)
	drops, purge := c.drops, c.purging
	c.drops, c.purging = nil, c.takePurge()
	h := commitHeader{Batch: n, Prev: c.chain, Offset: c.print, Low: c.low, From: c.from, Entry: e}
	riders := c.takeProgress()
	c.mu.Unlock()
	for _, s := range all {
		h.Groups = append(h.Groups, s.note())
	}
	var nextPayload, travels []byte
	if next != nil {
		var err error
		if nextPayload, err = json.Marshal(offsetRecord{Batch: n + 1, Prev: h.Offset, Entry: *next}); err != nil {
			return err
		}
		if len(nextPayload) < inlineLimit/4 {
			travels = nextPayload
		}
	}
	record, chain, err := encodeCommit(&h, travels, inline)
	if err != nil {
		return err
	}
	if len(record) > maxValue {
		return errs.New("INTERNAL_ERROR", "message", "a commit record must stay below 1 MiB")
	}
	along := goAlong(writes)
	if !along {
		if err := c.writeTogether(n, writes, "state.mid"); err != nil {
			return err
		}
		if err := c.point("state.end"); err != nil {
			return c.fail(err, n)
		}
	}
	if err := c.anchor.wait(); err != nil { // of N-1: before anything of it is purged, and before c/<N>
		return c.fail(err, n)
	}
	if riders, err = b.sweep(riders, drops, purge); err != nil {
		return err
	}
	if err := c.point("commit.before"); err != nil {
		return c.fail(err, n)
	}
	if along {
		riders = append(riders, writes...)
	}
	ends := anchor{lastPlanned: n, fingerprint: h.Offset, lastCommitted: n, chain: chain}
	if travels != nil {
		ends.lastPlanned, ends.fingerprint = n+1, digestOf(nextPayload)
	}
	anchored := false // with the record
	putRecord := func(writes []write) (err error) { anchored, err = c.record(n, writes, ends); return err }
	put := func() error { return putRecord(append(riders, write{batchKey(keyCommit, n), record})) }
	if travels != nil { // the source logs go first: durable before the offsets that need them
		put = func() error {
			if err := c.point("plan.before_wal"); err != nil {
				return c.fail(err, n)
			}
			return c.flushLogsBy(putRecord, append(riders, write{batchKey(keyCommit, n), record}))
		}
	}
	if err := put(); err != nil {
		return err
	}
	if err := c.point("commit.after"); err != nil {
		return c.fail(err, n)
	}
	if next != nil {
		if travels == nil {
			if err := c.point("plan.before_wal"); err != nil {
				return c.fail(err, n+1)
			}
			if err := c.flushLogs(n+1, long(batchKey(keyOffsets, n+1), nextPayload)...); err != nil {
				return err
			}
		}
		if err := c.point("plan.after_wal"); err != nil {
			return c.fail(err, n+1)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head, c.chain, c.pending, c.opened = n, chain, nil, nil
	if next != nil {
		c.logged(n+1, *next, nextPayload, travels == nil)
	}
	if e.Progress != nil {
		c.progress[n] = e.Progress
	}
	c.apply(all, b.release)
	for s, st := range b.states {
		c.states[s] = st.settled(c.states[s])
	}
	c.from = max(c.from, n-c.retain)
	c.setThreshold()
	switch {
	case c.anchor == nil:
	case anchored && (next == nil || travels != nil):
		c.anchor.told(c.point)
	default:
		c.anchor.start(c.ends(), c.point)
	}
	return nil
}

// few is how many deletions may ride with the commit record; more go before it.
const few = 64

// sweep deletes what earlier batches made superfluous. None of it depends on this batch, so it does not
// matter if this batch never commits.
func (b *Batch) sweep(riders, drops, purge []write) ([]write, error) {
	c := b.c
	for _, w := range []struct {
		writes []write
		point  string
	}{{drops, "compact.mid"}, {purge, "purge.mid"}} {
		if len(w.writes) == 0 {
			continue
		}
		if err := c.point(w.point); err != nil {
			return nil, c.fail(err, b.batch)
		}
		if len(riders)+len(w.writes) <= few {
			riders = append(riders, w.writes...)
		} else if err := c.write(b.batch, w.writes, w.point); err != nil {
			return nil, err
		}
	}
	return riders, nil
}

// apply brings the index up to a batch that has just been committed. The caller holds mu.
func (c *Checkpoint) apply(all []staged, released map[Shard][]int64) {
	touched := map[Shard]bool{}
	c.remember(all)
	for _, s := range all {
		x := c.shard(s.shard)
		touched[s.shard] = true
		switch {
		case s.moved:
			x.takeOut(s.groupRef)
			c.uncount(s.batch)
		case s.letter == keyBase:
			c.drops = append(c.drops, x.addBase(s.groupRef)...)
		case s.letter == keyCovered:
			covered := int64(binary.BigEndian.Uint64(s.segments[0]))
			for _, d := range x.deltas {
				if d.parts == 0 && d.batch <= covered {
					c.uncount(d.batch)
				}
			}
			c.drops = append(c.drops, x.cover(covered, s.groupRef)...)
		default:
			x.addDelta(s.groupRef)
			if s.parts == 0 {
				c.inline[s.batch]++
			}
		}
	}
	for s, buckets := range released {
		for _, bucket := range buckets {
			c.shard(s).release(bucket, c.head)
		}
	}
	for s := range touched {
		c.drops = append(c.drops, c.shards[s].tidy()...)
	}
}

// uncount says that a commit record has an inline group less that counts.
func (c *Checkpoint) uncount(batch int64) {
	if c.inline[batch]--; c.inline[batch] <= 0 {
		delete(c.inline, batch)
		delete(c.small, batch)
	}
}

// mostRemembered is how many bytes of inline segments a batch may have for them to be kept in memory until they are
// moved or covered: fetching and taking apart a commit record costs as much as a fifth of a batch of one row.
const mostRemembered = 1 << 10

// remember keeps the inline segments of a batch that has been committed if they are small. The caller holds mu.
func (c *Checkpoint) remember(all []staged) {
	size, n := 0, 0
	for _, s := range all {
		if s.parts == 0 && !s.moved {
			n++
			for _, x := range s.segments {
				size += len(x)
			}
		}
	}
	if n == 0 || size > mostRemembered {
		return
	}
	list := make([]staged, 0, n)
	for _, s := range all {
		if s.parts == 0 && !s.moved {
			list = append(list, s)
		}
	}
	c.small[list[0].batch] = list
}

// takePurge lists the records of batches that are no longer retained, which the commit record now
// being made allows to be deleted with the next: were they gone first, a crash would leave a log with
// holes. It does not look at more than a few batches, so its cost does not depend on how long the query
// has run. The caller holds mu.
func (c *Checkpoint) takePurge() (writes []write) {
	for n := 0; c.purged < c.from && n < few; n++ {
		key := batchKey(keyOffsets, c.purged)
		writes = append(writes, write{key: key}, write{key: batchKey(keyProgress, c.purged)})
		for part := range c.long[c.purged] {
			writes = append(writes, write{key: partKey(key, part+1)})
		}
		delete(c.long, c.purged)
		c.purged++
	}
	// A commit record stays while its inline segments count, and while it may hold the offsets of the
	// oldest retained batch.
	for n := 0; c.low < c.from-1 && c.inline[c.low] == 0 && n < few; n++ {
		writes = append(writes, write{key: batchKey(keyCommit, c.low)})
		c.low++
	}
	return writes
}

// setThreshold lets Badger drop what no retained batch and no open view can see. The caller holds mu or
// owns c.
func (c *Checkpoint) setThreshold() {
	oldest := c.from
	for _, batch := range c.views {
		oldest = min(oldest, batch)
	}
	c.db.SetDiscardTs(version(oldest))
}
