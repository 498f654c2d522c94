package exec

import (
	"encoding/binary"
	"math"
	"slices"

	"streamlab/columnar"
)

// A segment of a join's side says what a batch did to the rows of a range, or, as a base, which rows there are.
// Numbers are little endian; a column is packed as packColumn does.
//
//	u32 joinSegment, which is no number of rows: segments of earlier versions, as encodeSegments makes them,
//	begin with one
//	u32 rows that left one by one, u32 rows that matched, u32 new rows, u32 words of a row
//	i64 the time at or before which rows have expired; noBound: none have
//	i64 the number of the next row
//	column: numbers of the rows that left; column: numbers of the rows that matched
//	of the new rows, column by column: number, time, flags, each word (0 where a Ref lies)
//	per long field: the long values one behind the other (lengths are in the head words)
//
// So what expires costs the same however many rows it is. Numbers of new rows rise from segment to segment, and
// rows that are known already are skipped: a base holds those of the batch that it was written with.
const (
	joinSegment = ^uint32(0)
	noBound     = math.MinInt64
	joinHead    = 36
)

// joinChange is what a segment says, but for the values of the rows.
type joinChange struct {
	bound   int64
	left    []int64
	matched []int64
	rows    []uint32
}

// encode calls emit with segments of a change. The bytes passed to emit are the callee's.
func (s *joinRows) encode(c joinChange, emit func([]byte)) {
	for first := true; first || len(c.left)+len(c.matched)+len(c.rows) > 0; first = false {
		size := joinHead + 64
		take := func(list []int64) (head, rest []int64) {
			n := max(0, min(len(list), (segmentTarget-size)/8))
			size += n * 8
			return list[:n], list[n:]
		}
		var left, matched []int64
		left, c.left = take(c.left)
		matched, c.matched = take(c.matched)
		n := 0
		for n < len(c.rows) && size < segmentTarget {
			size += 16 + s.lay.words*8 + s.lay.longBytes(s.rec, c.rows[n], rowWords)
			n++
		}
		rows := c.rows[:n]
		c.rows = c.rows[n:]
		b := make([]byte, 0, size+16*(s.lay.words+6))
		for _, v := range []uint32{joinSegment, uint32(len(left)), uint32(len(matched)), uint32(n), uint32(s.lay.words)} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(c.bound))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.next))
		c.bound = noBound
		col := make([]uint64, max(len(left), len(matched), n))
		for _, list := range [][]int64{left, matched} {
			for k, v := range list {
				col[k] = uint64(v)
			}
			b = packColumn(b, col[:len(list)])
		}
		vs := col[:n]
		for k, g := range rows {
			vs[k] = uint64(s.number(g))
		}
		b = packColumn(b, vs)
		for k, g := range rows {
			vs[k] = uint64(s.time(g))
		}
		b = packColumn(b, vs)
		for k, g := range rows {
			vs[k] = *s.meta(g) & rowMatched
		}
		b = packColumn(b, vs)
		for w := range s.lay.words {
			off := rowWords + w*8
			head, isRef := s.lay.refWord(w)
			for k, g := range rows {
				vs[k] = *(*uint64)(s.rec.Ptr(g, off))
				if isRef && *(*uint32)(s.rec.Ptr(g, rowWords+head*8)) > shortBytes {
					vs[k] = 0
				}
			}
			b = packColumn(b, vs)
		}
		for f := range s.lay.fields {
			if f := &s.lay.fields[f]; f.long {
				for _, g := range rows {
					if v := s.lay.bytes(s.rec, g, rowWords, f); len(v) > shortBytes {
						b = append(b, v...)
					}
				}
			}
		}
		emit(b)
	}
}

// joinLoader replays segments into empty joinRows. Chains are made afterwards.
type joinLoader struct {
	s       *joinRows
	e       *encoder
	numbers []int64 // of the rows that came, ascending
	links   []link
	batches []int64 // with noting, by record: the batch that brought it
	noting  bool
}

func isJoinSegment(b []byte) bool {
	return len(b) >= joinHead && binary.LittleEndian.Uint32(b) == joinSegment
}

// apply changes the rows as a segment says.
func (r *joinLoader) apply(b []byte, batch int64) error {
	if len(b) == 0 { // a base of nothing
		return nil
	}
	if !isJoinSegment(b) {
		return corrupt("no segment of a join")
	}
	s := r.s
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	nl, nm, n, w := word(1), word(2), word(3), word(4)
	if w != s.lay.words {
		return corrupt("rows of another width")
	}
	if max(nl, nm, n) > len(b)*64 { // a column of no width has no bytes per row: nothing else bounds it
		return corrupt("too short")
	}
	bound, next := int64(binary.LittleEndian.Uint64(b[20:])), int64(binary.LittleEndian.Uint64(b[28:]))
	rest, ok := b[joinHead:], true
	column := func(n int) []uint64 {
		vs := make([]uint64, n)
		if ok {
			rest, ok = unpackColumn(vs, rest, true)
		}
		return vs
	}
	left, matched := column(nl), column(nm)
	numbers, times, flags := column(n), column(n), column(n)
	words := make([][]uint64, w)
	for i := range words {
		words[i] = column(n)
	}
	if !ok {
		return corrupt("too short")
	}
	for _, v := range left {
		if l, ok := r.find(int64(v)); ok {
			s.leave(l.row())
		}
	}
	for _, v := range matched {
		if l, ok := r.find(int64(v)); ok {
			*s.meta(l.row()) |= rowMatched
			if r.noting {
				r.batches[l.row()] = batch
			}
		}
	}
	if err := r.rows(numbers, times, flags, words, rest, batch); err != nil {
		return err
	}
	s.next = max(s.next, next)
	if bound != noBound {
		if _, err := s.expire(bound, nil); err != nil {
			return err
		}
	}
	return nil
}

// find gives the row of a number if it has not gone.
func (r *joinLoader) find(number int64) (link, bool) {
	i, ok := slices.BinarySearch(r.numbers, number)
	return r.linkAt(i, ok)
}

func (r *joinLoader) linkAt(i int, ok bool) (link, bool) {
	if !ok || !r.s.isLive(r.links[i]) {
		return 0, false
	}
	return r.links[i], true
}

// rows adds the new rows of a segment; rest is its long values.
func (r *joinLoader) rows(numbers, times, flags []uint64, words [][]uint64, rest []byte, batch int64) error {
	s, e, n, w := r.s, r.e, len(numbers), len(words)
	e.n, e.anyLong = n, false
	e.words = grow(e.words[:0], n*w)
	for i, col := range words {
		for k, v := range col {
			e.words[k*w+i] = v
		}
	}
	for c := range s.lay.fields {
		f := &s.lay.fields[c]
		if !f.long {
			continue
		}
		off := make([]int32, 1, n+1)
		for k := range n {
			m := uint32(words[f.at][k])
			if m <= shortBytes {
				m = 0
			} else {
				e.words[k*w+f.at+1], e.anyLong = uint64(k), true
			}
			off = append(off, off[k]+int32(m))
		}
		if len(rest) < int(off[n]) {
			return corrupt("too short")
		}
		e.long[c].src = &columnar.Vec{Phys: columnar.PBytes, Len: n, Off: off, Data: rest[:off[n]]}
		rest = rest[off[n]:]
	}
	last := int64(-1)
	if k := len(r.numbers); k > 0 {
		last = r.numbers[k-1]
	}
	for k := range n {
		number := int64(numbers[k])
		if number <= last { // a base has it
			continue
		}
		last = number
		l := s.add(int64(times[k]), numbers[k]<<rowFlags|flags[k]&rowMatched)
		e.store(s.rec, l.row(), rowWords, k)
		r.numbers, r.links = append(r.numbers, number), append(r.links, l)
		if r.noting {
			r.batches = grow(r.batches, max(len(r.batches), int(l.row())+1))
			r.batches[l.row()] = batch
		}
	}
	return nil
}
