package exec

import (
	"encoding/binary"
	"unsafe"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/store"
)

// A segment carries changed and removed groups of a table: numbers are little endian, and a field of all
// rows stands before the next field, so that encoding and decoding are loops over plain slices.
//
//	u32 removed, u32 changed, u32 key words | packedColumns, u32 extra words
//	key words field by field: removed rows, then changed rows
//	extra words field by field: changed rows, zero where a Ref lies
//	per long key field: the long values one behind the other (lengths are in the head words)
//	per Ref of the extra part: u32 length per changed row (unsetRef: none), then the bytes
//
// A field is packed: see packColumn. The hashes of the rows are computed again. Without packedColumns, as
// earlier versions wrote them, fields are plain words and the words of the hashes come before them.
//
// Removed rows apply before changed ones.

const (
	segmentTarget = 384 << 10 // what a segment should not exceed by much; the store's limit is 512 KiB
	unsetRef      = ^uint32(0)
	packedColumns = 1 << 31
)

// encodeSegments calls emit with segments of the given groups of t. refs are offsets of Refs in the extra
// part. The bytes passed to emit are the callee's.
func encodeSegments(t *table, refs []int, dead, dirty []uint32, emit func([]byte)) {
	kw := t.lay.words
	ew := t.rec.Stride()/8 - recKey/8 - kw
	var cols []uint64
	room := 0 // what the last segment took
	for len(dead) > 0 || len(dirty) > 0 {
		nd, nc, size := t.segmentRows(refs, dead, dirty, kw, ew)
		n := nd + nc
		cols = grow(cols[:0], kw*n+ew*nc)
		long := t.gather(cols, refs, dead[:nd], dirty[:nc], kw, ew)
		if room == 0 {
			room = size / 2 // packed it is less
		}
		b := make([]byte, 0, min(size, room+room/8)+64)
		b = binary.LittleEndian.AppendUint32(b, uint32(nd))
		b = binary.LittleEndian.AppendUint32(b, uint32(nc))
		b = binary.LittleEndian.AppendUint32(b, uint32(kw)|packedColumns)
		b = binary.LittleEndian.AppendUint32(b, uint32(ew))
		for w := range kw {
			b = packColumn(b, cols[w*n:w*n+n])
		}
		for w := range ew {
			b = packColumn(b, cols[kw*n+w*nc:kw*n+w*nc+nc])
		}
		parts := [2][]uint32{dead[:nd], dirty[:nc]}
		for c := range t.lay.fields {
			f := &t.lay.fields[c]
			if !f.long || !long {
				continue
			}
			for _, part := range parts {
				for _, g := range part {
					if v := t.lay.bytes(t.rec, g, recKey, f); len(v) > shortBytes {
						b = append(b, v...)
					}
				}
			}
		}
		for _, r := range refs {
			for _, g := range dirty[:nc] {
				v := t.rec.Load(t.rec.At(g), t.extraAt()+r)
				n := uint32(len(v))
				if v == nil {
					n = unsetRef
				}
				b = binary.LittleEndian.AppendUint32(b, n)
			}
			for _, g := range dirty[:nc] {
				b = append(b, t.rec.Load(t.rec.At(g), t.extraAt()+r)...)
			}
		}
		room = len(b)
		emit(b)
		dead, dirty = dead[nd:], dirty[nc:]
	}
}

// segmentRows says how many of the removed and of the changed groups go into one segment, and how long it would be
// unpacked.
func (t *table) segmentRows(refs []int, dead, dirty []uint32, kw, ew int) (nd, nc, size int) {
	size = 16
	long := len(refs) > 0
	for c := range t.lay.fields {
		long = long || t.lay.fields[c].long
	}
	if !long { // all rows are equally long
		row := 8 + kw*8
		nd = min(len(dead), (segmentTarget-size+row-1)/row)
		size += nd * row
		if row += ew * 8; size < segmentTarget {
			nc = min(len(dirty), (segmentTarget-size+row-1)/row)
			size += nc * row
		}
		return nd, nc, size
	}
	for nd < len(dead) && size < segmentTarget {
		size += 8 + kw*8 + t.lay.longBytes(t.rec, dead[nd], recKey)
		nd++
	}
	for nc < len(dirty) && size < segmentTarget {
		g := dirty[nc]
		size += 8 + (kw+ew)*8 + t.lay.longBytes(t.rec, g, recKey)
		for _, r := range refs {
			size += 4 + len(t.rec.Load(t.rec.At(g), t.extraAt()+r))
		}
		nc++
	}
	return nd, nc, size
}

// gather fills cols, word by word, with the keys of removed and changed groups and then with the owner's part of
// changed ones. It looks at a record once, as its groups lie anywhere. Where a Ref lies is zero; long says that some key
// has one.
func (t *table) gather(cols []uint64, refs []int, dead, dirty []uint32, kw, ew int) (long bool) {
	nd, nc := len(dead), len(dirty)
	n := nd + nc
	for k, g := range dead {
		for w, v := range unsafe.Slice((*uint64)(t.rec.Ptr(g, recKey)), kw) {
			cols[w*n+k] = v
		}
	}
	extra := cols[kw*n:]
	for k, g := range dirty {
		rec := unsafe.Slice((*uint64)(t.rec.Ptr(g, recKey)), kw+ew)
		for w, v := range rec[:kw] {
			cols[w*n+nd+k] = v
		}
		for w, v := range rec[kw:] {
			extra[w*nc+k] = v
		}
	}
	for c := range t.lay.fields {
		f := &t.lay.fields[c]
		if !f.long {
			continue
		}
		head, lo, hi := cols[f.at*n:f.at*n+n], cols[(f.at+1)*n:], cols[(f.at+2)*n:]
		for k, v := range head {
			if uint32(v) > shortBytes {
				lo[k], hi[k], long = 0, 0, true
			}
		}
	}
	for w := range ew {
		vs := extra[w*nc : w*nc+nc]
		switch {
		case isRefByte(refs, w*8):
			clear(vs)
		case t.saved != nil:
			for k := range vs {
				vs[k] &= t.saved[w]
			}
		}
	}
	return long
}

// longBytes is the length of the texts of a record that do not fit into its fields, which begin at byte at.
func (l *layout) longBytes(rec *columnar.Records, g uint32, at int) (n int) {
	for c := range l.fields {
		if f := &l.fields[c]; f.long {
			if m := *(*uint32)(rec.Ptr(g, at+f.at*8)); m > shortBytes {
				n += int(m)
			}
		}
	}
	return n
}

// A segmentReader applies segments to tables of one shape.
type segmentReader struct {
	e      *encoder
	refs   []int
	groups []uint32
	cols   []uint64 // key words, then extra words, of the segment being applied
	only   *choice  // nil: all rows count
	gone   []uint32 // groups that the segment removed
}

func corrupt(what string) error {
	return errs.New("INTERNAL_ERROR", "message", "state segment does not fit the operator: "+what)
}

// apply changes t as the segment says. The groups of the changed rows are in r.groups afterwards, valid
// until the next call.
func (r *segmentReader) apply(t *table, b []byte) error {
	if len(b) == 0 { // a bucket that has become empty
		r.groups = r.groups[:0]
		return nil
	}
	if len(b) < 16 {
		return corrupt("too short")
	}
	nd, nc := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	kw, ew := binary.LittleEndian.Uint32(b[8:]), int(binary.LittleEndian.Uint32(b[12:]))
	packed := kw&packedColumns != 0
	if int(kw&^packedColumns) != t.lay.words || ew != t.rec.Stride()/8-recKey/8-t.lay.words {
		return corrupt("key or buffers of another width")
	}
	rest, ok := r.columns(b[16:], nd, nc, t.lay.words, ew, packed)
	if !ok {
		return corrupt("too short")
	}
	return r.rows(t, rest, nd, nc)
}

// columns reads the key and extra words of nd removed and nc changed rows, and gives what follows them.
func (r *segmentReader) columns(b []byte, nd, nc, kw, ew int, packed bool) (rest []byte, ok bool) {
	if !packed {
		if len(b)/8 < nd+nc {
			return nil, false
		}
		b = b[8*(nd+nc):]
	}
	r.cols = grow(r.cols[:0], kw*(nd+nc)+ew*nc)
	out := r.cols
	for w := range kw + ew {
		n := nd + nc
		if w >= kw {
			n = nc
		}
		if b, ok = unpackColumn(out[:n], b, packed); !ok {
			return nil, false
		}
		out = out[n:]
	}
	return b, true
}

// rows applies what columns has read; rest is what followed it.
func (r *segmentReader) rows(t *table, rest []byte, nd, nc int) error {
	n, kw, ew := nd+nc, t.lay.words, t.rec.Stride()/8-recKey/8-t.lay.words
	e := r.e
	keys, extra := r.cols[:kw*n], r.cols[kw*n:]
	// long values of removed and changed rows stand in one run per field
	long := make([]columnar.Vec, len(t.lay.fields))
	for c := range t.lay.fields {
		f := &t.lay.fields[c]
		if !f.long {
			continue
		}
		off := make([]int32, 1, n+1)
		for k := range n {
			m := uint32(keys[f.at*n+k])
			if m <= shortBytes {
				m = 0
			}
			off = append(off, off[k]+int32(m))
		}
		if len(rest) < int(off[n]) {
			return corrupt("too short")
		}
		long[c] = columnar.Vec{Phys: columnar.PBytes, Len: n, Off: off, Data: rest[:off[n]]}
		rest = rest[off[n]:]
	}
	var gone, came []int32 // rows that are taken; nil: all
	if t.front != nil {
		gone, came = t.front.within(keys, n, 0, nd, long), t.front.within(keys, n, nd, n, long)
		nd = len(gone)
	}
	fill := func(from, to int, only []int32) {
		m := to - from
		if only != nil {
			m = len(only)
		}
		e.n, e.anyLong = m, false
		e.words, e.hash = grow(e.words[:0], m*kw), grow(e.hash[:0], m)
		for w := range kw {
			if only != nil {
				for k, i := range only {
					e.words[k*kw+w] = keys[w*n+int(i)]
				}
				continue
			}
			for k, v := range keys[w*n+from : w*n+to] {
				e.words[k*kw+w] = v
			}
		}
		for c := range t.lay.fields {
			f := &t.lay.fields[c]
			if !f.long || len(long[c].Data) == 0 {
				continue
			}
			e.long[c].src = &long[c]
			for k := range m {
				if uint32(e.words[k*kw+f.at]) > shortBytes {
					row := from + k
					if only != nil {
						row = int(only[k])
					}
					e.words[k*kw+f.at+1], e.anyLong = uint64(row), true
				}
			}
		}
		e.hashRows()
	}
	first := n - nc // of the changed rows
	if r.only != nil && !r.only.every() {
		fill(0, n, nil)
		gone, came = r.only.of(e.hash[:first], 0), r.only.of(e.hash[first:n], first)
		nd = len(gone)
	}
	if nd > 0 {
		fill(0, first, gone)
		r.groups = grow(r.groups[:0], nd)
		if t.notes != nil && t.notes.gone != nil {
			t.notes.gone.upsert(e, r.groups)
			r.groups = r.groups[:0]
		} else {
			t.find(e, r.groups)
		}
		r.gone = r.gone[:0]
		for _, g := range r.groups {
			if g != noGroup && t.isLive(g) {
				t.takeOut(g)
				r.gone = append(r.gone, g)
			}
		}
		t.release(r.gone)
	}
	fill(first, n, came)
	r.groups = grow(r.groups[:0], e.n)
	if r.only != nil && r.only.piece.Kind == store.KindBase {
		t.insert(e, r.groups)
	} else {
		t.upsert(e, r.groups)
	}
	at := t.extraAt()
	for w := range ew {
		if isRefByte(r.refs, w*8) {
			continue
		}
		src := extra[w*nc : w*nc+nc]
		if came != nil {
			for k, g := range r.groups {
				*(*uint64)(t.rec.Ptr(g, at+w*8)) = src[int(came[k])-first]
			}
			continue
		}
		for k, g := range r.groups {
			*(*uint64)(t.rec.Ptr(g, at+w*8)) = src[k]
		}
	}
	for _, ref := range r.refs {
		if len(rest) < 4*nc {
			return corrupt("too short")
		}
		lens := rest[:4*nc]
		rest = rest[4*nc:]
		next := 0
		for k := range nc {
			m := binary.LittleEndian.Uint32(lens[4*k:])
			if came != nil && (next == len(came) || int(came[next])-first != k) { // not taken
				if m != unsetRef {
					if len(rest) < int(m) {
						return corrupt("too short")
					}
					rest = rest[m:]
				}
				continue
			}
			g := r.groups[next]
			next++
			rec := t.rec.At(g)
			if m == unsetRef {
				clear(rec[at+ref : at+ref+columnar.RefWidth])
				continue
			}
			if len(rest) < int(m) {
				return corrupt("too short")
			}
			t.rec.Store(rec, at+ref, rest[:m])
			rest = rest[m:]
		}
	}
	return nil
}

func isRefByte(refs []int, b int) bool {
	for _, r := range refs {
		if b == r || b == r+8 {
			return true
		}
	}
	return false
}
