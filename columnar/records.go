package columnar

import (
	"encoding/binary"
	"unsafe"
)

// recordsPerPage is the number of records in a full page. Pages do not move, so a pointer into one stays good
// until Reset; only the first page begins small and moves when it grows, so a small table may not keep
// pointers across Add.
const (
	recordsPerPage  = 1 << 12
	recordsAtFirst  = 16
	recordsRegrowth = 4
)

// Records holds the groups of a keyed table as fixed-width rows without Go pointers. Group ids are dense
// from 0 in the order of Add. What does not fit a fixed width lives in the arena; a record refers to it by a
// Ref of RefWidth bytes at an offset that its owner knows.
//
// Records belong to one worker.
type Records struct {
	stride int
	n      uint32
	pages  [][]byte
	arena  [][]byte
	used   int64 // bytes handed out by the arena, dead ones included
}

// RefWidth is the width of a Ref inside a record.
const RefWidth = 16

// NewRecords makes an empty table of records of width bytes, rounded up to 8.
func NewRecords(width int) *Records { return &Records{stride: (width + 7) &^ 7} }

// Stride is the width of a record in bytes, a multiple of 8.
func (r *Records) Stride() int { return r.stride }

// Len is the number of records.
func (r *Records) Len() int { return int(r.n) }

// Add appends a zeroed record and returns its id.
func (r *Records) Add() uint32 {
	g := r.n
	switch {
	case g >= recordsPerPage:
		if int(g/recordsPerPage) == len(r.pages) {
			r.pages = append(r.pages, make([]byte, recordsPerPage*r.stride))
		}
	case g == 0 && len(r.pages) == 0:
		r.pages = append(r.pages, make([]byte, recordsAtFirst*r.stride))
	case int(g)*r.stride == len(r.pages[0]):
		bigger := make([]byte, min(int(g)*recordsRegrowth, recordsPerPage)*r.stride)
		copy(bigger, r.pages[0])
		r.pages[0] = bigger
	}
	r.n++
	return g
}

// Truncate forgets all records but keeps the pages for the next ones: for tables that live for one batch.
func (r *Records) Truncate() {
	for i, p := range r.pages {
		if rest := int(r.n)*r.stride - i*recordsPerPage*r.stride; rest > 0 {
			clear(p[:min(rest, len(p))])
		}
	}
	r.n, r.used = 0, 0
	if len(r.arena) > 0 {
		last := r.arena[len(r.arena)-1]
		r.arena = append(r.arena[:0], last[:0])
	}
}

// At is record g; it may be written to.
func (r *Records) At(g uint32) []byte {
	p := r.pages[g/recordsPerPage]
	i := int(g%recordsPerPage) * r.stride
	return p[i : i+r.stride : i+r.stride]
}

// Ptr points to byte off of record g, for loops that add up fixed-width fields. off is 8-aligned.
func (r *Records) Ptr(g uint32, off int) unsafe.Pointer {
	p := r.pages[g/recordsPerPage]
	return unsafe.Pointer(&p[int(g%recordsPerPage)*r.stride+off])
}

// Reset forgets all records and the arena and gives the memory back.
func (r *Records) Reset() { r.n, r.pages, r.arena, r.used = 0, nil, nil, 0 }

// Bytes is the memory that pages and arena occupy.
func (r *Records) Bytes() int64 {
	b := int64(0)
	for _, p := range r.pages {
		b += int64(len(p))
	}
	for _, c := range r.arena {
		b += int64(cap(c))
	}
	return b
}

// A Ref at byte off of a record is: chunk u32, position u32, length u32, capacity u32. Capacity 0 is unset,
// which is how "no value yet" differs from an empty one.

// Load reads the bytes a Ref points to; nil if it is unset. The result aliases the arena.
func (r *Records) Load(rec []byte, off int) []byte {
	c := binary.LittleEndian.Uint32(rec[off+12:])
	if c == 0 {
		return nil
	}
	n := binary.LittleEndian.Uint32(rec[off+8:])
	pos := binary.LittleEndian.Uint32(rec[off+4:])
	chunk := r.arena[binary.LittleEndian.Uint32(rec[off:])]
	return chunk[pos : pos+n : pos+n]
}

// Store makes the Ref point to a copy of b, in place if it fits.
func (r *Records) Store(rec []byte, off int, b []byte) {
	binary.LittleEndian.PutUint32(rec[off+8:], 0)
	r.Extend(rec, off, b)
}

// Extend appends b to the bytes the Ref points to. Growth doubles, so many small appends cost O(bytes).
func (r *Records) Extend(rec []byte, off int, b []byte) {
	have := binary.LittleEndian.Uint32(rec[off+8:])
	room := binary.LittleEndian.Uint32(rec[off+12:])
	need := have + uint32(len(b))
	if room == 0 || need > room {
		size := max(need, 2*room, 8)
		chunk, pos := r.alloc(size)
		if have > 0 {
			old := r.Load(rec, off)
			copy(r.arena[chunk][pos:], old)
		}
		binary.LittleEndian.PutUint32(rec[off:], chunk)
		binary.LittleEndian.PutUint32(rec[off+4:], pos)
		binary.LittleEndian.PutUint32(rec[off+12:], size)
	}
	chunk := r.arena[binary.LittleEndian.Uint32(rec[off:])]
	pos := binary.LittleEndian.Uint32(rec[off+4:])
	copy(chunk[pos+have:pos+need], b)
	binary.LittleEndian.PutUint32(rec[off+8:], need)
}

const arenaChunk = 1 << 18

func (r *Records) alloc(size uint32) (chunk, pos uint32) {
	r.used += int64(size)
	if last := len(r.arena) - 1; last >= 0 {
		c := r.arena[last]
		if cap(c)-len(c) >= int(size) {
			r.arena[last] = c[:len(c)+int(size)]
			return uint32(last), uint32(len(c))
		}
	}
	capacity := arenaChunk
	if len(r.arena) < 6 { // a small table starts with small chunks
		capacity = 1 << (10 + len(r.arena))
	}
	c := make([]byte, size, max(int(size), capacity))
	r.arena = append(r.arena, c)
	return uint32(len(r.arena) - 1), 0
}
