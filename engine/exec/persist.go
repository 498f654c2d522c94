package exec

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"streamlab/columnar"
	"streamlab/store"
)

const manyGroups = 1 << 16 // from how many on all workers write a base

// A segment of a boundSegment and a time, i64, says that the rows at or before that time have expired: what leaves a
// table by time costs the same however much it is. Other segments begin with a number of rows.
const boundSegment = ^uint32(0)

func encodeBound(bound int64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, boundSegment), uint64(bound))
}

// decodeBound gives the time of such a segment; ok is false for others.
func decodeBound(b []byte) (bound int64, ok bool) {
	if len(b) != 12 || binary.LittleEndian.Uint32(b) != boundSegment {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(b[4:])), true
}

// saveTable gives a table's changes of the batch to the store, and a new base of a bucket when the deltas have
// outgrown the bases.
func saveTable(b *store.Batch, s store.Shard, t *table, refs []int, st *segmentStats, batch int64) error {
	saveDelta(b, s, t, refs, st)
	if _, ok := st.due(); ok && batch > 0 {
		_, err := saveBase(b, s, rangeTable{t: t, stats: st}, refs, batch)
		return err
	}
	return nil
}

// saveDelta gives a table's changes of the batch to the store.
func saveDelta(b *store.Batch, s store.Shard, t *table, refs []int, st *segmentStats) {
	if len(t.dirty) == 0 && len(t.dead) == 0 {
		return
	}
	dirty := t.dirty
	for i, g := range dirty {
		if t.isLive(g) {
			continue
		}
		kept := append([]uint32{}, dirty[:i]...)
		for _, g := range dirty[i:] {
			if t.isLive(g) {
				kept = append(kept, g)
			}
		}
		dirty = kept
		break
	}
	encodeSegments(t, refs, t.dead, dirty, func(seg []byte) {
		st.delta += int64(len(seg))
		b.Delta(s, seg)
	})
	st.deltas++
}

// saveBase writes the bucket of a table whose base is the oldest, and gives its length in bytes. The base holds the
// batch's own changes already, while it counts as the state before them: replaying them over it changes nothing. For the
// same reason bases of a shard may be of different batches: a key that no delta since the oldest one names is the same
// in all of them, and what became of any other the deltas say.
func saveBase(b *store.Batch, s store.Shard, a rangeTable, refs []int, batch int64) (size int64, err error) {
	t, st := a.t, a.stats
	number := st.oldest(t.division())
	if t.away != 0 && t.away>>(number-buckets)&1 != 0 {
		if t, err = a.far.alone(t, s.Range, number); err != nil {
			return 0, err
		}
	}
	gs := t.groupsOf(number)
	workers := 1
	if len(gs) >= manyGroups {
		workers = runtime.GOMAXPROCS(0)
	}
	parts := make([][][]byte, workers) // segments in the order of the groups, whoever made them
	err = spread("save", workers, workers, func(_, i int) error {
		encodeSegments(t, refs, nil, gs[i*len(gs)/workers:(i+1)*len(gs)/workers], func(seg []byte) { parts[i] = append(parts[i], seg) })
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, segments := range parts {
		for _, seg := range segments {
			size += int64(len(seg))
			if err := b.Base(s, number, seg); err != nil {
				return size, err
			}
		}
	}
	if size == 0 { // nothing left: an empty base says so
		if err := b.Base(s, number, nil); err != nil {
			return size, err
		}
	}
	st.wrote(number, batch-1, size)
	covered, stale, ok := st.cover(t.division())
	if !ok {
		return size, nil
	}
	for _, number := range stale {
		if err := b.Base(s, number, nil); err != nil {
			return size, err
		}
	}
	b.Covered(s, covered)
	return size, nil
}

// loadTable replays a shard into an empty table.
func loadTable(v *store.View, s store.Shard, t *table, refs []int, st *segmentStats) error {
	if t.notes == nil && t.front == nil {
		return loadWhole(v, s, t, refs, st, 0)
	}
	return loadExpiring(v, s, t, refs, st, nil, nil)
}

// loadExpiring is loadTable for a table that rows leave by time: came is called when rows have come that were not
// there, in t.fresh, or removed tells that rows have gone one by one; expire when those at or before a time go.
func loadExpiring(v *store.View, s store.Shard, t *table, refs []int, st *segmentStats, came func(removed bool), expire func(bound int64)) error {
	t.track = came != nil
	defer func() { t.track = false }()
	r := segmentReader{e: newEncoder(t.lay), refs: refs}
	*st = segmentStats{}
	last := int64(-1) // bucket of a base
	for p, err := range v.Pieces(s) {
		if err != nil {
			return err
		}
		switch p.Kind {
		case store.KindBase:
			st.readBase(p.Bucket, p.Batch, int64(len(p.Rows)))
			if p.Bucket >= buckets {
				t.divide() // if nothing else came before
			}
			if p.Bucket == buckets+1 && last == buckets { // the others will be as large
				t.reserve((buckets - 1) * t.live)
			}
			last = p.Bucket
		case store.KindDelta:
			st.readDelta(p.Batch, int64(len(p.Rows)))
		default:
			return corrupt("released bucket")
		}
		if bound, ok := decodeBound(p.Rows); ok && expire != nil {
			expire(bound)
			continue
		}
		if err := r.apply(t, p.Rows); err != nil {
			return err
		}
		if t.notes != nil {
			t.notes.note(r.groups, p)
		}
		if came != nil {
			came(len(p.Rows) >= 4 && binary.LittleEndian.Uint32(p.Rows) > 0)
			t.fresh = t.fresh[:0]
		}
		t.settle()
		if t.front != nil {
			t.front.narrow(t)
		}
	}
	return nil
}

// A rangeTable is the part of an operator's state that belongs to a range of hashes.
type rangeTable struct {
	t     *table
	stats *segmentStats
	bound int64   // at or before which rows have expired; noBound: none have, or they are in t.dead
	far   *demand // of which some groups of t may be away
}

// saveRanges writes the changes of all ranges, and bases of buckets as fast as deltas come: ranges grow alike, and all
// their bases in one batch would make it stand out. owed is the bytes of bases that have been written ahead of deltas.
func saveRanges(b *store.Batch, number int, of func(i int) rangeTable, refs []int, batch int64, owed *int64) error {
	shard := func(i int) store.Shard { return store.Shard{Operator: number, Range: i} }
	changed := 0
	for i := range ranges {
		t := of(i).t
		changed += len(t.dirty) + len(t.dead)
	}
	workers := 1
	if changed >= smallRows {
		workers = min(runtime.GOMAXPROCS(0), ranges)
	}
	var room atomic.Int64
	err := spread("save", workers, ranges, func(_, i int) error {
		a := of(i)
		before := a.stats.delta
		saveDelta(b, shard(i), a.t, refs, a.stats)
		room.Add(a.stats.delta - before)
		if a.bound != noBound {
			b.Delta(shard(i), encodeBound(a.bound))
			a.stats.deltas++
		}
		return nil
	})
	if err != nil || batch == 0 {
		return err
	}
	*owed = max(*owed-room.Load(), -room.Load())
	for first := true; ; first = false {
		pick, most := -1, int64(0)
		for i := range ranges {
			over, ok := of(i).stats.due()
			if ok = ok && (*owed <= 0 || first && of(i).stats.many()); ok && (pick < 0 || over > most) {
				pick, most = i, over
			}
		}
		if pick < 0 {
			return nil
		}
		a := of(pick)
		size, err := saveBase(b, shard(pick), a, refs, batch)
		if *owed += size; err != nil || a.t.buckets == nil {
			return err
		}
	}
}

func (o *stateAggregate) save(b *store.Batch, number int) error {
	if o.inPanes {
		return o.paned.save(b, number)
	}
	return saveRanges(b, number, func(i int) rangeTable {
		return rangeTable{o.ranges[i].t, &o.ranges[i].stats, noBound, &o.demand}
	}, o.g.refs, o.batch, &o.owed)
}

func (o *stateAggregate) load(v *store.View, number int) error {
	if o.paned != nil {
		there, err := o.paned.load(v, number)
		switch {
		case err != nil:
			return err
		case there && o.inPanes:
			o.paned.measure()
			return nil
		case there:
			if err := o.paned.spread(o); err != nil {
				return err
			}
			for _, a := range o.ranges {
				a.index(o)
			}
			o.measure()
			return nil
		}
	}
	err := spread("load", runtime.GOMAXPROCS(0), ranges, func(_, i int) error {
		a := o.ranges[i]
		if err := loadTable(v, store.Shard{Operator: number, Range: i}, a.t, o.g.refs, &a.stats); err != nil {
			return err
		}
		a.index(o)
		return nil
	})
	o.measure()
	o.inPanes = o.inPanes && o.count.NumRowsTotal == 0 // what is in windows stays in windows
	return err
}

func (o *dedup) save(b *store.Batch, number int) error {
	return saveRanges(b, number, func(i int) rangeTable {
		return rangeTable{o.ranges[i].t, &o.ranges[i].stats, o.ranges[i].bound, &o.demand}
	}, nil, o.batch, &o.owed)
}

func (o *dedup) load(v *store.View, number int) error {
	err := spread("load", runtime.GOMAXPROCS(0), ranges, func(_, i int) error {
		a := o.ranges[i]
		stale := false // earlier versions removed keys one by one
		came := func(removed bool) {
			if stale = stale || removed; stale {
				return
			}
			for _, g := range a.t.fresh {
				o.index(a, g)
			}
		}
		return loadExpiring(v, store.Shard{Operator: number, Range: i}, a.t, nil, &a.stats, came, func(bound int64) {
			if stale {
				o.reindex(a)
				stale = false
			}
			o.forget(a, bound)
		})
	})
	if err != nil {
		return err
	}
	o.divideFirst()
	for _, a := range o.ranges {
		o.reindex(a)
	}
	o.measure()
	return nil
}

// divideFirst moves keys that are in the first range and belong to others: earlier versions kept all keys in
// one. The next batch writes them to where they belong, since they are dirty there, and removes them from where
// they were.
func (o *dedup) divideFirst() {
	from := o.ranges[0].t
	var moved [ranges][]uint32
	any := false
	for _, g := range from.groups(nil) {
		if i := rangeOf(from.hash(g)); i != 0 {
			moved[i], any = append(moved[i], g), true
		}
	}
	if !any {
		return
	}
	e := newEncoder(o.lay)
	for i, gs := range moved {
		to := o.ranges[i].t
		for len(gs) > 0 {
			part := gs[:min(len(gs), columnar.Slice)]
			gs = gs[len(part):]
			e.encodeGroups(from, part)
			into := make([]uint32, len(part))
			to.upsert(e, into)
			for k, g := range part {
				copy(to.rec.At(into[k])[to.extraAt():], from.rec.At(g)[from.extraAt():])
				if to.notes != nil {
					to.notes.batches = grow(to.notes.batches, max(len(to.notes.batches), int(into[k])+1))
					to.notes.batches[into[k]] = from.notes.batches[g]
				}
				from.unlink(g)
			}
		}
	}
}
