package store

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"streamlab/errs"
)

// A View is the state after a batch. It stays as it is while later batches commit, and may be used by
// many goroutines. Close it: an open view keeps old versions on disk.
type View struct {
	c     *Checkpoint
	batch int64
	alone bool // only what the batch itself wrote, see ChangesOf
	db    *badger.DB
	txn   *badger.Txn // nil if err is set or there is no state yet

	err   error        // set by At
	use   sync.RWMutex // held for reading by whoever reads txn, so that Close waits for them
	ended bool

	once   sync.Once
	broken error // set by load
	shards map[Shard]*shardView
}

// A shardView lists the groups that make a shard as of the view's batch.
type shardView struct {
	bases   []viewGroup // newest of each bucket, by bucket
	deltas  []viewGroup // by batch; a batch's deltas before its releases
	changes []viewGroup // deltas of the view's own batch
	covered int64
}

// A viewGroup is a group, with its segments if they were inline.
type viewGroup struct {
	group
	inline []Segment // nil: in parts
	bytes  int64     // of all segments
}

// At opens the state after a retained batch, or the empty state before batch 0 for -1. An error
// (CHECKPOINT_BATCH_NOT_RETAINED, CHECKPOINT_CLOSED) comes out of the view's methods.
func (c *Checkpoint) At(batch int64) *View {
	c.life.RLock()
	defer c.life.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &View{c: c, batch: batch}
	switch {
	case c.closed:
		v.err = errs.New("CHECKPOINT_CLOSED", "checkpointLocation", c.dir)
	case batch == -1 && c.from <= 0:
	case batch < c.from || batch > c.head:
		v.err = c.notRetained(batch)
	default:
		c.views[v] = batch
		v.db = c.db
		v.txn = c.db.NewTransactionAt(version(batch), false)
	}
	return v
}

func (c *Checkpoint) notRetained(batch int64) error {
	return errs.New("CHECKPOINT_BATCH_NOT_RETAINED", "checkpointLocation", c.dir,
		"batchId", batch, "from", c.from, "to", c.head)
}

// Close ends the view; a second call does nothing.
func (v *View) Close() {
	c := v.c
	c.life.RLock()
	defer c.life.RUnlock()
	v.use.Lock()
	defer v.use.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	v.ended = true
	if _, ok := c.views[v]; !ok {
		return
	}
	delete(c.views, v)
	v.txn.Discard()
	if !c.closed {
		c.setThreshold()
	}
}

// Batch is the batch the view is after.
func (v *View) Batch() int64 { return v.batch }

// with calls f while the database is known to be open.
func (v *View) with(f func() error) error {
	v.c.life.RLock()
	defer v.c.life.RUnlock()
	v.use.RLock()
	defer v.use.RUnlock()
	if v.err != nil {
		return v.err
	}
	if v.ended || v.c.closed || v.txn != nil && v.db != v.c.db {
		return errs.New("CHECKPOINT_CLOSED", "checkpointLocation", v.c.dir)
	}
	return f()
}

// load lists the groups once, by keys and commit records.
func (v *View) load() error {
	v.once.Do(func() {
		v.shards = map[Shard]*shardView{}
		if v.txn == nil {
			return
		}
		list := v.list
		if v.alone {
			list = v.listAlone
		}
		if err := list(); err != nil {
			v.broken = corrupt(v.c.dir, fmt.Sprintf("the state after batch %d cannot be read", v.batch), err)
		}
	})
	return v.broken
}

func (v *View) shard(s Shard) *shardView {
	x := v.shards[s]
	if x == nil {
		x = &shardView{covered: -1}
		v.shards[s] = x
	}
	return x
}

func (v *View) list() error {
	if ok, err := v.listHead(); ok {
		return err
	}
	groups := map[group]int64{}
	for _, letter := range []byte{keyBase, keyDelta, keyRelease, keyCovered} {
		items(v.txn, []byte{letter, '/'}, func(it *badger.Item) {
			if g, _, ok := groupOfKey(it.Key()); ok {
				groups[g] += payloadSize(it)
			}
		})
	}
	var all []viewGroup
	for g, bytes := range groups {
		if g.letter == keyCovered {
			n, err := readCovered(v.txn, g)
			if err != nil {
				return err
			}
			x := v.shard(g.shard)
			x.covered = max(x.covered, n)
			continue
		}
		r := viewGroup{group: g, bytes: bytes}
		if g.letter == keyRelease {
			var err error
			if r.inline, err = readGroup(v.txn, g, nil); err != nil {
				return err
			}
		}
		all = append(all, r)
	}
	var batches []int64
	keys(v.txn, []byte{keyCommit, '/'}, func(k []byte, _ uint64) {
		if n, ok := batchOfKey(k); ok {
			batches = append(batches, n)
		}
	})
	for _, n := range batches {
		_, payload, err := fetch(v.txn, batchKey(keyCommit, n))
		if err != nil {
			return err
		}
		r, err := decodeCommit(payload)
		if err != nil {
			return err
		}
		segments, err := r.segments()
		if err != nil {
			return err
		}
		for i, note := range r.Groups {
			if _, moved := groups[note.group()]; note.Parts == 0 && !moved {
				all = append(all, inlineGroup(note.group(), segments[i]))
			}
		}
	}
	v.arrange(all)
	return nil
}

func inlineGroup(g group, segments []Segment) viewGroup {
	return viewGroup{group: g, inline: segments, bytes: bytesOf(segments)}
}

// snapshot gives what the checkpoint knows of the groups at Head, and commit records that need not be read again; ok is false if the view is not that of Head any more.
func (v *View) snapshot() (refs []groupRef, covered map[Shard]int64, records map[int64]*commitRecord, ok bool) {
	c := v.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.batch != c.head {
		return nil, nil, nil, false
	}
	records, c.opened = c.opened, nil
	covered = map[Shard]int64{}
	for s, x := range c.shards {
		covered[s] = x.covered
		for _, r := range x.bases {
			refs = append(refs, r)
		}
		refs = append(refs, x.deltas...)
	}
	return refs, covered, records, true
}

// listHead is list for a view of Head, which looks at no key: iterating over keys costs reading all of the state. ok is
// false if it is that of Head no more.
func (v *View) listHead() (ok bool, err error) {
	refs, covered, records, ok := v.snapshot()
	if !ok {
		return false, nil
	}
	var all []viewGroup
	inline := map[int64][]groupRef{}
	for _, r := range refs {
		if r.parts == 0 {
			inline[r.batch] = append(inline[r.batch], r)
			continue
		}
		g := viewGroup{group: r.group, bytes: r.bytes}
		if r.letter == keyRelease {
			if g.inline, err = readGroup(v.txn, r.group, nil); err != nil {
				return true, err
			}
		}
		all = append(all, g)
	}
	for n, refs := range inline {
		r := records[n]
		if r == nil {
			_, payload, err := fetch(v.txn, batchKey(keyCommit, n))
			if err == nil && payload == nil {
				err = v.c.missing("commit", n)
			}
			if err == nil {
				r, err = decodeCommit(payload)
			}
			if err != nil {
				return true, err
			}
		}
		segments, err := r.segments()
		if err != nil {
			return true, err
		}
		for i, note := range r.Groups {
			if g := note.group(); slices.ContainsFunc(refs, func(r groupRef) bool { return r.group == g }) {
				all = append(all, inlineGroup(g, segments[i]))
			}
		}
	}
	for s, n := range covered {
		v.shard(s).covered = n
	}
	v.arrange(all)
	return true, nil
}

func (v *View) arrange(all []viewGroup) {
	slices.SortFunc(all, func(a, b viewGroup) int {
		if a.batch != b.batch {
			return int(a.batch - b.batch)
		}
		return compareGroups(a.group, b.group)
	})
	type place struct {
		Shard
		bucket int64
	}
	released := map[place]int64{}
	newest := map[place]viewGroup{}
	for _, g := range all {
		x := v.shard(g.shard)
		switch g.letter {
		case keyBase:
			newest[place{g.shard, g.bucket}] = g
			continue
		case keyRelease:
			for _, b := range decodeRelease(g.inline) {
				released[place{g.shard, b}] = g.batch
			}
		case keyDelta:
			if g.batch == v.batch {
				x.changes = append(x.changes, g)
			}
		}
		if g.batch > x.covered {
			x.deltas = append(x.deltas, g)
		}
	}
	for p, g := range newest {
		if r, ok := released[p]; !ok || r <= g.batch {
			x := v.shard(p.Shard)
			x.bases = append(x.bases, g)
		}
	}
	for _, x := range v.shards {
		slices.SortFunc(x.bases, func(a, b viewGroup) int { return compareGroups(a.group, b.group) })
	}
}

// each hands over the segments of a group; false ends it.
func (v *View) each(g viewGroup, yield func(Segment) bool) (more bool, err error) {
	if g.inline != nil {
		for _, s := range g.inline {
			if !yield(s) {
				return false, nil
			}
		}
		return true, nil
	}
	prefix := g.prefix()
	var s Segment
	for part := 0; ; part++ {
		var flags byte
		err := v.with(func() error {
			f, payload, err := fetch(v.txn, partKey(prefix, part))
			if err == nil && payload == nil {
				err = errors.New("a part is missing")
			}
			if err != nil {
				return corrupt(v.c.dir, fmt.Sprintf("state written by batch %d cannot be read", g.batch), err)
			}
			flags = f
			if s == nil {
				s = payload
			} else {
				s = append(s, payload...)
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		if flags&flagSegmentEnd != 0 {
			if !yield(s) {
				return false, nil
			}
			s = nil
		}
		if flags&flagGroupEnd != 0 {
			return true, nil
		}
	}
}

// Pieces yields what rebuilds a shard, in the order in which it must be applied: the newest base of each
// bucket, then deltas and releases by batch. An error ends it.
func (v *View) Pieces(s Shard) iter.Seq2[Piece, error] {
	return v.PiecesOf(s, func(Piece) bool { return true })
}

// Outline lists the groups of segments that Pieces would give, in the same order and without their rows.
func (v *View) Outline(s Shard) ([]Outline, error) {
	if err := v.with(v.load); err != nil {
		return nil, err
	}
	x := v.shards[s]
	if x == nil {
		return nil, nil
	}
	var out []Outline
	for _, list := range [][]viewGroup{x.bases, x.deltas} {
		for _, g := range list {
			out = append(out, Outline{Kind: Kind(g.letter), Batch: g.batch, Bucket: g.bucket, Bytes: g.bytes})
		}
	}
	return out, nil
}

// PiecesOf is Pieces without the bases and deltas that wants refuses, which are not read. It is asked with pieces that
// have no rows yet.
func (v *View) PiecesOf(s Shard, wants func(Piece) bool) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if err := v.with(v.load); err != nil {
			yield(Piece{}, err)
			return
		}
		x := v.shards[s]
		if x == nil {
			return
		}
		for _, list := range [][]viewGroup{x.bases, x.deltas} {
			for _, g := range list {
				if g.letter == keyRelease {
					for _, b := range decodeRelease(g.inline) {
						if !yield(Piece{Kind: KindRelease, Batch: g.batch, Bucket: b}, nil) {
							return
						}
					}
					continue
				}
				p := Piece{Kind: Kind(g.letter), Batch: g.batch, Bucket: g.bucket}
				if !wants(p) {
					continue
				}
				more, err := v.each(g, func(rows Segment) bool {
					p.Rows = rows
					return yield(p, nil)
				})
				if err != nil {
					yield(Piece{}, err)
				}
				if !more {
					return
				}
			}
		}
	}
}

// Segments yields the segments of Pieces. It is enough for a shard whose bases always cover all deltas
// before them and whose releases also leave tombstones; others need to know the pieces' batches.
func (v *View) Segments(s Shard) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		for p, err := range v.Pieces(s) {
			if err == nil && p.Kind == KindRelease {
				continue
			}
			if !yield(p.Rows, err) {
				return
			}
		}
	}
}

// Changes yields the deltas that the view's own batch wrote.
func (v *View) Changes(s Shard) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		if err := v.with(v.load); err != nil {
			yield(nil, err)
			return
		}
		x := v.shards[s]
		if x == nil {
			return
		}
		for _, g := range x.changes {
			more, err := v.each(g, func(rows Segment) bool { return yield(rows, nil) })
			if err != nil {
				yield(nil, err)
			}
			if !more {
				return
			}
		}
	}
}

// Shards lists the shards that have segments, by operator, range and store.
func (v *View) Shards() ([]Shard, error) {
	if err := v.with(v.load); err != nil {
		return nil, err
	}
	var list []Shard
	for s, x := range v.shards {
		if len(x.bases)+len(x.deltas) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Shard) int { return compareGroups(group{shard: a}, group{shard: b}) })
	return list, nil
}
