package exec

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"streamlab/columnar"
)

// A table finds the record of a key. Slots hold the upper half of the key's hash and the group id plus one;
// probing is linear, load is at most three quarters. Groups touched in a batch stand in dirty in the order of
// first touch, groups removed in dead, so that saving costs what changed. A table belongs to one worker.
//
// A record is: the upper half of the hash u32, epoch and flagLive u32, the key's words, then what the owner needs.
// The lower half of a hash decides nothing.
type table struct {
	rec     *columnar.Records
	lay     *layout
	slots   []uint64
	salt    uint64 // of this table: others order keys differently
	used    int    // slots that are not empty, cleared ones included
	live    int
	free    []uint32 // records to use again, of a table that is not divided
	buckets []bucket // nil: not divided
	away    uint32   // buckets whose groups are on disk only
	epoch   uint32
	age     uint32 // changes when groups that were touched may no longer be there, or no longer be touched
	dirty   []uint32
	dead    []uint32   // removed in this batch; their records are kept until the batch is saved
	track   bool       // collect new groups in fresh
	onlyNew bool       // groups that were there are not touched
	loose   bool       // nobody wants to know which groups are touched
	fresh   []uint32   // new groups since the owner looked
	saved   []uint64   // which bits of each word of the owner's part segments hold; nil: all
	notes   *loadNotes // nil unless it is loaded to be looked at
	front   *front     // nil unless it is loaded for the rows with the least keys only
	touched uint64     // of touch: keeps its loads
}

const (
	recHash   = 0
	recEpoch  = 4
	recKey    = 8
	flagLive  = 1 << 31
	lastEpoch = flagLive - 1
	noGroup   = ^uint32(0)
	slotGone  = uint64(noGroup) // a cleared slot: probing goes on behind it
	firstSize = 64
)

// salts counts tables, to salt each in its own way.
var salts atomic.Uint64

// newTable makes an empty table for keys of a layout with extra bytes behind the key.
func newTable(l *layout, extra int) *table {
	t := &table{rec: columnar.NewRecords(recKey + l.words*8 + extra), lay: l, epoch: 1}
	t.salt = mulA*(2*salts.Add(1)+1) | 1
	t.resize(firstSize)
	return t
}

// extraAt is where the owner's part of a record begins.
func (t *table) extraAt() int { return recKey + t.lay.words*8 }

// resize gives the table other slots. It looks at no record: the place of a group follows from the half of its
// hash that its slot has. Nor does it jump about: a bigger table has the groups in nearly the same order.
func (t *table) resize(size int) {
	old := t.slots
	t.slots = make([]uint64, size)
	t.used = t.live
	for _, s := range old {
		if s != 0 && s != slotGone {
			t.enter(s)
		}
	}
}

// home is the first slot that is tried for a hash, or for a slot's text of it. Slots are in the order of the
// salted hash, whatever their number, which need not be a power of two.
func (t *table) home(h uint64) int {
	return int(h >> 32 * t.salt >> 32 * uint64(len(t.slots)) >> 32)
}

// next is the slot that is tried after slot i.
func (t *table) next(i int) int {
	if i++; i == len(t.slots) {
		return 0
	}
	return i
}

// enter puts a group's slot where it belongs.
func (t *table) enter(s uint64) {
	i := t.home(s)
	for t.slots[i] != 0 {
		i = t.next(i)
	}
	t.slots[i] = s
}

// slotOf is the text of the slot of a group.
func slotOf(h uint64, g uint32) uint64 { return h&^0xffffffff | uint64(g+1) }

// hash is the upper half of a group's hash, where a hash has it.
func (t *table) hash(g uint32) uint64 { return uint64(*(*uint32)(t.rec.Ptr(g, recHash))) << 32 }

// epochOf is the batch that touched a group last, with flagLive.
func (t *table) epochOf(g uint32) *uint32 {
	return (*uint32)(unsafe.Add(t.rec.Ptr(g, recHash), recEpoch))
}

// roomFor says whether that many groups fit into that many slots.
func roomFor(groups, slots int) bool { return groups <= slots/4*3 }

// slotsFor is the least number of slots for that many groups. They are powers of two and what is halfway between.
func slotsFor(groups int) int {
	size := firstSize
	for !roomFor(groups, size) {
		size *= 2
	}
	if half := size / 4 * 3; size > firstSize && roomFor(groups, half) {
		return half
	}
	return size
}

// reserve makes room for n more groups.
func (t *table) reserve(n int) {
	if roomFor(t.used+n, len(t.slots)) {
		return
	}
	size := slotsFor(t.live + n)
	if size > firstSize && size < 1<<20 {
		size *= 2 // growing costs more than slots
	}
	t.resize(size)
}

// upsert finds the groups of the encoder's rows, adding those that are not there, and marks all as touched.
// created counts the new ones.
func (t *table) upsert(e *encoder, out []uint32) (created int) {
	n := e.n
	if n == 0 {
		return 0
	}
	t.reserve(n)
	before := t.live
	for k := range n {
		if k%probeRows == 0 {
			t.probe(e, k)
		}
		h := e.hash[k]
		i := int(e.pos[k])
		gone := -1
		var g uint32
		found := false
		for {
			s := t.slots[i]
			if s == 0 {
				g = t.add(h)
				e.store(t.rec, g, recKey, k)
				if t.track {
					t.fresh = append(t.fresh, g)
				}
				if gone >= 0 {
					i = gone
				} else {
					t.used++
				}
				t.slots[i] = slotOf(h, g)
				break
			}
			if s == slotGone {
				if gone < 0 {
					gone = i
				}
			} else if (s^h)>>32 == 0 {
				g = uint32(s) - 1
				if e.equal(t.rec, g, recKey, k) {
					found = true
					break
				}
			}
			i = t.next(i)
		}
		out[k] = g
		if t.loose || found && t.onlyNew {
			continue
		}
		if ep := t.epochOf(g); *ep != t.epoch|flagLive {
			*ep = t.epoch | flagLive
			t.dirty = append(t.dirty, g)
		}
	}
	return t.live - before
}

// insert adds the groups of the encoder's rows, which are known not to be there.
func (t *table) insert(e *encoder, out []uint32) {
	t.reserve(e.n)
	var at [probeRows]int
	for from := 0; from < e.n; from += probeRows {
		hash := e.hash[from:min(from+probeRows, e.n)]
		var sum uint64
		for k, h := range hash { // a pass of its own: the misses overlap
			at[k] = t.home(h)
			sum += t.slots[at[k]]
		}
		t.touched = sum
		for k, h := range hash {
			g := t.add(h)
			e.store(t.rec, g, recKey, from+k)
			i := at[k]
			for t.slots[i] != 0 {
				i = t.next(i)
			}
			t.slots[i] = slotOf(h, g)
			out[from+k] = g
		}
	}
	t.used += e.n
}

// probeRows is how many rows are looked up together: their lines and pages are still at hand after the last pass.
const probeRows = 256

// probe notes for the rows of the encoder from one on the slots to begin with: the first one that is empty, cleared
// or has the half of the row's hash. In a big table every step is a pass of its own that only loads, so that the
// misses of the rows overlap. What it needs for that is the encoder's: several workers may look into one table.
func (t *table) probe(e *encoder, from int) {
	hash := e.hash[from:min(from+probeRows, e.n)]
	e.pos = grow(e.pos[:0], e.n)
	pos := e.pos[from : from+len(hash)]
	for k, h := range hash {
		pos[k] = uint32(t.home(h))
	}
	if len(t.slots) < 1<<15 {
		return
	}
	var sum uint64
	for _, i := range pos {
		sum += t.slots[i]
	}
	for k, h := range hash {
		i := int(pos[k])
		for {
			s := t.slots[i]
			if s == 0 || s == slotGone || (s^h)>>32 == 0 {
				break
			}
			i = t.next(i)
		}
		pos[k] = uint32(i)
	}
	last := t.rec.Stride() - 8 // a record may lie in two lines
	for _, i := range pos {
		if s := t.slots[i]; s != 0 && s != slotGone {
			g := uint32(s) - 1
			sum += *(*uint64)(t.rec.Ptr(g, recHash)) + *(*uint64)(t.rec.Ptr(g, last))
		}
	}
	e.touch = sum
}

// find gives the groups of the encoder's rows, noGroup where there is none.
func (t *table) find(e *encoder, out []uint32) {
	for k := range e.n {
		if k%probeRows == 0 {
			t.probe(e, k)
		}
		h := e.hash[k]
		i := int(e.pos[k])
		g := noGroup
		for {
			s := t.slots[i]
			if s == 0 {
				break
			}
			if s != slotGone && (s^h)>>32 == 0 && e.equal(t.rec, uint32(s)-1, recKey, k) {
				g = uint32(s) - 1
				break
			}
			i = t.next(i)
		}
		out[k] = g
	}
}

// add makes a live record with no key.
func (t *table) add(h uint64) uint32 {
	g := t.record(h)
	*(*uint32)(t.rec.Ptr(g, recHash)) = uint32(h >> 32)
	*t.epochOf(g) = flagLive
	t.live++
	return g
}

// record gives a record of zeros to a group of a hash.
func (t *table) record(h uint64) uint32 {
	if t.buckets != nil {
		return t.buckets[bucketOf(h)].take(t.rec)
	}
	if n := len(t.free); n > 0 {
		g := t.free[n-1]
		t.free = t.free[:n-1]
		clear(t.rec.At(g))
		return g
	}
	return t.rec.Add()
}

// link enters a record that add made and whose key is written.
func (t *table) link(g uint32) {
	t.reserve(1)
	t.enter(slotOf(t.hash(g), g))
	t.used++
}

func (t *table) isLive(g uint32) bool { return *t.epochOf(g)&flagLive != 0 }

// mark puts a group on the dirty list.
func (t *table) mark(g uint32) {
	if ep := t.epochOf(g); *ep&^flagLive != t.epoch {
		*ep = *ep&flagLive | t.epoch
		t.dirty = append(t.dirty, g)
	}
}

// unlink takes a group out of the slots; its record stays readable until settle.
func (t *table) unlink(g uint32) {
	t.takeOut(g)
	t.dead = append(t.dead, g)
}

// takeOut is unlink without noting that the group is dead.
func (t *table) takeOut(g uint32) {
	t.age++
	i := t.home(t.hash(g))
	for uint32(t.slots[i]) != g+1 || t.slots[i] == slotGone {
		i = t.next(i)
	}
	if t.slots[t.next(i)] == 0 {
		t.slots[i] = 0
		t.used--
	} else {
		t.slots[i] = slotGone
	}
	*t.epochOf(g) &^= flagLive
	t.live--
}

// unlinkAll takes groups out of the slots without noting that they are dead: their records stay readable until the
// owner gives them to free. When they are many, all slots are made anew instead of visiting that of each.
func (t *table) unlinkAll(gs []uint32) {
	t.age++
	if len(gs)*16 < len(t.slots) {
		t.touch(gs)
		for _, g := range gs {
			t.takeOut(g)
		}
		return
	}
	if len(gs) == 0 {
		return
	}
	gone := make([]uint64, (t.rec.Len()+63)/64)
	for _, g := range gs {
		gone[g>>6] |= 1 << (g & 63)
	}
	for i, m := range gone { // in the order in which they lie
		for ; m != 0; m &= m - 1 {
			*t.epochOf(uint32(i*64 + bits.TrailingZeros64(m))) &^= flagLive
		}
	}
	kept := make([]uint64, 0, max(0, t.live-len(gs)))
	for _, s := range t.slots {
		if s == 0 || s == slotGone {
			continue
		}
		if g := uint32(s) - 1; gone[g>>6]>>(g&63)&1 == 0 {
			kept = append(kept, s)
		}
	}
	t.live = len(kept)
	t.used = t.live
	clear(t.slots)
	for _, s := range kept {
		t.enter(s)
	}
}

// touch loads the slots of groups, so that the misses of unlinking them overlap.
func (t *table) touch(gs []uint32) {
	if len(t.slots) < 1<<15 {
		return
	}
	var sum uint64
	for _, g := range gs {
		sum += t.slots[t.home(t.hash(g))]
	}
	t.touched = sum
}

// forget makes pack leave a group out. Nothing else may be done with the table before.
func (t *table) forget(g uint32) {
	t.age++
	*t.epochOf(g) &^= flagLive
	t.live--
}

// settle ends a batch: dirty and dead groups are forgotten, dead records may be used again.
func (t *table) settle() {
	t.age++
	t.release(t.dead)
	t.dead, t.dirty = t.dead[:0], t.dirty[:0]
	if cap(t.dirty) > 1<<16 && t.live < cap(t.dirty)/4 {
		t.dirty = nil
	}
	if t.epoch++; t.epoch > lastEpoch { // as if no group had ever been touched
		for g := range uint32(t.rec.Len()) {
			*t.epochOf(g) &= flagLive
		}
		t.epoch = 1
	}
}

// sparse says that most records are dead and the table is worth packing.
func (t *table) sparse() bool {
	free := t.freed()
	return free > 4096 && free > t.live
}

// truncate empties a table that lives for one batch and keeps its memory.
func (t *table) truncate() {
	t.age++
	if t.live == 0 && t.rec.Len() == 0 {
		t.dirty = t.dirty[:0]
		return
	}
	// The next batch is probably like this one: slots are kept unless far too many.
	if len(t.slots) > 1<<12 && t.live*16 < len(t.slots) {
		t.slots = make([]uint64, firstSize)
	}
	t.rec.Truncate()
	clear(t.slots)
	t.used, t.live = 0, 0
	t.free, t.dirty, t.dead, t.buckets = t.free[:0], t.dirty[:0], t.dead[:0], nil
	t.epoch = 1
}

// groups lists the live groups in order of their ids.
func (t *table) groups(out []uint32) []uint32 {
	for g := range uint32(t.rec.Len()) {
		if t.isLive(g) {
			out = append(out, g)
		}
	}
	return out
}

// bytes is the memory that the table occupies.
func (t *table) bytes() int64 {
	return t.rec.Bytes() + int64(len(t.slots)*8+cap(t.dirty)*4+cap(t.free)*4+cap(t.dead)*4)
}

// pack copies the live groups into a table of their own size; refs are the Refs of the owner's part.
func (t *table) pack(refs []int) *table { return t.packWithout(refs, 0) }

// packWithout is pack that leaves out the groups of some buckets, which are away from then on.
func (t *table) packWithout(refs []int, leave uint32) *table {
	n := newTable(t.lay, t.rec.Stride()-t.extraAt())
	n.epoch, n.saved, n.loose = t.epoch, t.saved, t.loose
	n.away = t.away | leave
	if t.live > divideAfter || t.buckets != nil && t.live > divideAfter/4 || n.away != 0 {
		n.divide()
	}
	for i := range n.buckets {
		if t.buckets != nil {
			n.buckets[i].used = t.buckets[i].used
		}
	}
	for g := range uint32(t.rec.Len()) {
		if !t.isLive(g) || leave != 0 && leave>>bucketOf(t.hash(g))&1 != 0 {
			continue
		}
		to := n.record(t.hash(g))
		src, dst := t.rec.At(g), n.rec.At(to)
		copy(dst, src)
		at := t.extraAt()
		for _, r := range refs {
			clear(dst[at+r : at+r+columnar.RefWidth])
			if b := t.rec.Load(src, at+r); b != nil {
				n.rec.Store(dst, at+r, b)
			}
		}
		for c := range t.lay.fields {
			f := &t.lay.fields[c]
			if f.long && *(*uint32)(unsafe.Pointer(&src[recKey+f.at*8])) > shortBytes {
				p := recKey + (f.at+1)*8
				clear(dst[p : p+columnar.RefWidth])
				n.rec.Store(dst, p, t.rec.Load(src, p))
			}
		}
		n.live++
	}
	n.resize(slotsFor(n.live))
	for g := range uint32(n.rec.Len()) {
		if n.isLive(g) {
			n.enter(slotOf(n.hash(g), g))
		}
	}
	return n
}

// upsertOne is upsert of row k alone.
func (t *table) upsertOne(e *encoder, k int) (g uint32, isNew bool) {
	w := e.lay.words
	one := encoder{lay: e.lay, n: 1, words: e.words[k*w : k*w+w], hash: e.hash[k : k+1], long: e.long, anyLong: e.anyLong}
	var out [1]uint32
	created := t.upsert(&one, out[:])
	return out[0], created > 0
}
