package exec

import (
	"math/bits"
	"unsafe"

	"streamlab/columnar"
)

// A table finds the record of a key. Slots hold half of the key's hash and the group id plus one; probing is
// linear, load is at most one half. Groups touched in a batch stand in dirty in the order of first touch,
// groups removed in dead, so that saving costs what changed. A table belongs to one worker.
//
// A record is: hash u64, epoch u32, flags u32, the key's words, then what the owner needs.
type table struct {
	rec     *columnar.Records
	lay     *layout
	slots   []uint64
	shift   uint
	salt    uint64 // of this size of table: a smaller table orders keys differently
	used    int    // slots that are not empty, cleared ones included
	live    int
	free    []uint32 // records to use again
	epoch   uint32
	dirty   []uint32
	dead    []uint32   // removed in this batch; their records are kept until the batch is saved
	track   bool       // collect new groups in fresh
	onlyNew bool       // groups that were there are not touched
	fresh   []uint32   // new groups since the owner looked
	saved   []uint64   // which bits of each word of the owner's part segments hold; nil: all
	notes   *loadNotes // nil unless it is loaded to be looked at
}

const (
	recHash   = 0
	recEpoch  = 8
	recFlags  = 12
	recKey    = 16
	flagLive  = 1
	noGroup   = ^uint32(0)
	slotGone  = uint64(noGroup) // a cleared slot: probing goes on behind it
	firstSize = 64
)

// newTable makes an empty table for keys of a layout with extra bytes behind the key.
func newTable(l *layout, extra int) *table {
	t := &table{rec: columnar.NewRecords(recKey + l.words*8 + extra), lay: l, epoch: 1}
	t.resize(firstSize)
	return t
}

// extraAt is where the owner's part of a record begins.
func (t *table) extraAt() int { return recKey + t.lay.words*8 }

// resize gives the table other slots. It looks at no record: the place of a group follows from the half of its
// hash that its slot has, so growing is a pass over the slots and not a cache miss a group.
func (t *table) resize(size int) {
	old := t.slots
	t.slots = make([]uint64, size)
	t.shift = uint(64 - bits.Len(uint(size-1)))
	t.salt = (mulA * (2*uint64(bits.Len(uint(size))) + 1)) | 1
	t.used = t.live
	for _, s := range old {
		if s != 0 && s != slotGone {
			t.enter(s)
		}
	}
}

// home is the first slot that is tried for a hash, or for a slot's text of it.
func (t *table) home(h uint64) uint64 { return h >> 32 * t.salt >> t.shift }

// enter puts a group's slot where it belongs.
func (t *table) enter(s uint64) {
	mask := uint64(len(t.slots) - 1)
	i := t.home(s)
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// reserve makes room for n more groups.
func (t *table) reserve(n int) {
	if (t.used+n)*2 <= len(t.slots) {
		return
	}
	size := max(len(t.slots), firstSize)
	for (t.live+n)*2 > size {
		size *= 2
	}
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
	t.probe(e)
	mask := uint64(len(t.slots) - 1)
	for k := range n {
		h := e.hash[k]
		i := uint64(e.pos[k])
		gone := int64(-1)
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
					i = uint64(gone)
				} else {
					t.used++
				}
				t.slots[i] = h&^0xffffffff | uint64(g+1)
				break
			}
			if s == slotGone {
				if gone < 0 {
					gone = int64(i)
				}
			} else if (s^h)>>32 == 0 {
				g = uint32(s) - 1
				if e.equal(t.rec, g, recKey, k) {
					found = true
					break
				}
			}
			i = (i + 1) & mask
		}
		out[k] = g
		if found && t.onlyNew {
			continue
		}
		ep := (*uint32)(unsafe.Add(t.rec.Ptr(g, 8), recEpoch-8))
		if *ep != t.epoch {
			*ep = t.epoch
			t.dirty = append(t.dirty, g)
		}
	}
	return t.live - before
}

// probe loads the slots and records of all rows first, so that their misses overlap. What it needs for that is
// the encoder's: several workers may look into one table.
func (t *table) probe(e *encoder) {
	e.pos = grow(e.pos[:0], e.n)
	for k, h := range e.hash[:e.n] {
		e.pos[k] = uint32(t.home(h))
	}
	if len(t.slots) < 1<<15 {
		return
	}
	var sum uint64
	for k, h := range e.hash[:e.n] {
		s := t.slots[e.pos[k]]
		if s != 0 && (s^h)>>32 == 0 {
			sum += *(*uint64)(t.rec.Ptr(uint32(s)-1, recHash))
		}
	}
	e.touch = sum
}

// find gives the groups of the encoder's rows, noGroup where there is none.
func (t *table) find(e *encoder, out []uint32) {
	t.probe(e)
	mask := uint64(len(t.slots) - 1)
	for k := range e.n {
		h := e.hash[k]
		i := uint64(e.pos[k])
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
			i = (i + 1) & mask
		}
		out[k] = g
	}
}

// add makes a live record with no key.
func (t *table) add(h uint64) uint32 {
	var g uint32
	if n := len(t.free); n > 0 {
		g = t.free[n-1]
		t.free = t.free[:n-1]
		clear(t.rec.At(g))
	} else {
		g = t.rec.Add()
	}
	p := (*[2]uint64)(t.rec.Ptr(g, recHash))
	p[0], p[1] = h, flagLive<<32
	t.live++
	return g
}

// link enters a record that add made and whose key is written.
func (t *table) link(g uint32) {
	t.reserve(1)
	h := *(*uint64)(t.rec.Ptr(g, recHash))
	t.enter(h&^0xffffffff | uint64(g+1))
	t.used++
}

func (t *table) isLive(g uint32) bool { return *(*uint64)(t.rec.Ptr(g, 8))>>32&flagLive != 0 }

// mark puts a group on the dirty list.
func (t *table) mark(g uint32) {
	ep := (*uint32)(unsafe.Add(t.rec.Ptr(g, 8), recEpoch-8))
	if *ep != t.epoch {
		*ep = t.epoch
		t.dirty = append(t.dirty, g)
	}
}

// unlink takes a group out of the slots; its record stays readable until settle.
func (t *table) unlink(g uint32) {
	p := (*[2]uint64)(t.rec.Ptr(g, recHash))
	mask := uint64(len(t.slots) - 1)
	i := t.home(p[0])
	for uint32(t.slots[i]) != g+1 || t.slots[i] == slotGone {
		i = (i + 1) & mask
	}
	if t.slots[(i+1)&mask] == 0 {
		t.slots[i] = 0
		t.used--
	} else {
		t.slots[i] = slotGone
	}
	p[1] &^= flagLive << 32
	t.live--
	t.dead = append(t.dead, g)
}

// unlinkAll takes groups out of the slots without noting that they are dead: their records stay readable until the
// owner gives them to free. When they are many, all slots are made anew instead of visiting that of each.
func (t *table) unlinkAll(gs []uint32) {
	if len(gs)*16 < len(t.slots) {
		dead := t.dead
		for _, g := range gs {
			t.unlink(g)
		}
		t.dead = dead
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
			*(*uint64)(t.rec.Ptr(uint32(i*64+bits.TrailingZeros64(m)), recEpoch)) &^= flagLive << 32
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

// forget makes pack leave a group out. Nothing else may be done with the table before.
func (t *table) forget(g uint32) {
	*(*uint64)(t.rec.Ptr(g, 8)) &^= flagLive << 32
	t.live--
}

// settle ends a batch: dirty and dead groups are forgotten, dead records may be used again.
func (t *table) settle() {
	t.free = append(t.free, t.dead...)
	t.dead, t.dirty = t.dead[:0], t.dirty[:0]
	if cap(t.dirty) > 1<<16 && t.live < cap(t.dirty)/4 {
		t.dirty = nil
	}
	t.epoch++
}

// sparse says that most records are dead and the table is worth packing.
func (t *table) sparse() bool { return len(t.free) > 4096 && len(t.free) > t.live }

// truncate empties a table that lives for one batch and keeps its memory.
func (t *table) truncate() {
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
	t.shift = uint(64 - bits.Len(uint(len(t.slots)-1)))
	t.salt = (mulA * (2*uint64(bits.Len(uint(len(t.slots)))) + 1)) | 1
	t.used, t.live = 0, 0
	t.free, t.dirty, t.dead = t.free[:0], t.dirty[:0], t.dead[:0]
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
func (t *table) pack(refs []int) *table {
	n := newTable(t.lay, t.rec.Stride()-t.extraAt())
	n.epoch, n.saved = t.epoch, t.saved
	for g := range uint32(t.rec.Len()) {
		if !t.isLive(g) {
			continue
		}
		to := n.rec.Add()
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
	size := firstSize
	for n.live*2 > size {
		size *= 2
	}
	n.resize(size)
	for g := range uint32(n.rec.Len()) {
		n.enter(*(*uint64)(n.rec.Ptr(g, recHash))&^0xffffffff | uint64(g+1))
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
