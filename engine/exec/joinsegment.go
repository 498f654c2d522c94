package exec

import (
	"bytes"
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
//	of the new rows, column by column: number, time, flags, each word that does not belong to a text
//	per field of texts, which are all values of three words: column: their lengths, then the texts as appendTexts
//	writes them
//
// So what expires costs the same however many rows it is. Numbers of new rows rise from segment to segment, and
// rows that are known already are skipped: a base holds those of the batch that it was written with.
//
// Segments that begin with joinWords were written by versions that kept texts as they lie in records: all words have
// a column (0 where a Ref lies), and behind them stand, per field of texts, those that records do not hold themselves.
const (
	joinWords   = ^uint32(0)
	joinSegment = ^uint32(1)
	noBound     = math.MinInt64
	joinHead    = 36
	joinTarget  = 1 << 20 // bytes of a segment's rows before they are packed
)

// joinChange is what a segment says, but for the values of the rows.
type joinChange struct {
	bound   int64
	left    []int64
	matched []int64
	rows    []uint32
}

// joinScratch is memory in which segments are made.
type joinScratch struct {
	seg  []byte
	text []byte
	col  []uint64
	rows []uint32
}

// encode calls emit with segments of a change. The bytes passed to emit are the callee's.
func (s *joinRows) encode(c joinChange, m *joinScratch, emit func([]byte)) {
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
		for n < len(c.rows) && size < joinTarget {
			size += 16 + s.lay.words*8 + s.lay.longBytes(s.rec, c.rows[n], rowWords)
			n++
		}
		rows := c.rows[:n]
		c.rows = c.rows[n:]
		b := m.seg[:0]
		for _, v := range []uint32{joinSegment, uint32(len(left)), uint32(len(matched)), uint32(n), uint32(s.lay.words)} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(c.bound))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.next))
		c.bound = noBound
		m.col = grow(m.col[:0], max(len(left), len(matched), n))
		for _, list := range [][]int64{left, matched} {
			for k, v := range list {
				m.col[k] = uint64(v)
			}
			b = packColumn(b, m.col[:len(list)])
		}
		vs := m.col[:n]
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
			if s.lay.ofText(w) {
				continue
			}
			off := rowWords + w*8
			for k, g := range rows {
				vs[k] = *(*uint64)(s.rec.Ptr(g, off))
			}
			b = packColumn(b, vs)
		}
		for f := range s.lay.fields {
			if f := &s.lay.fields[f]; f.long {
				b = s.texts(b, f, rows, m)
			}
		}
		m.seg = b
		emit(bytes.Clone(b))
	}
}

// texts appends a field of texts of rows.
func (s *joinRows) texts(b []byte, f *layoutField, rows []uint32, m *joinScratch) []byte {
	vs, text := m.col[:len(rows)], m.text[:0]
	for k, g := range rows {
		v := s.lay.bytes(s.rec, g, rowWords, f)
		vs[k], text = uint64(len(v)), append(text, v...)
	}
	m.text = text
	return appendTexts(packColumn(b, vs), text)
}

// ofText says whether word w belongs to a value of three words.
func (l *layout) ofText(w int) bool {
	for c := range l.fields {
		if f := &l.fields[c]; f.long && w >= f.at && w < f.at+3 {
			return true
		}
	}
	return false
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
	return len(b) >= joinHead && binary.LittleEndian.Uint32(b) >= joinSegment
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
	old := binary.LittleEndian.Uint32(b) == joinWords
	words := make([][]uint64, w)
	for i := range words {
		if old || !s.lay.ofText(i) {
			words[i] = column(n)
		}
	}
	if !ok {
		return corrupt("too short")
	}
	fill := r.texts
	if old {
		fill = r.longTexts
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
	r.words(words, n)
	if err := fill(words, n, rest); err != nil {
		return err
	}
	r.rows(numbers, times, flags, batch)
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

// words gives the encoder n rows, column by column.
func (r *joinLoader) words(words [][]uint64, n int) {
	e, w := r.e, len(words)
	e.n, e.anyLong = n, false
	e.words = grow(e.words[:0], n*w)
	for i, col := range words {
		if col == nil {
			for k := range n {
				e.words[k*w+i] = 0
			}
		}
		for k, v := range col {
			e.words[k*w+i] = v
		}
	}
}

// texts gives the encoder's rows their texts.
func (r *joinLoader) texts(_ [][]uint64, n int, rest []byte) error {
	if n == 0 {
		return nil
	}
	lengths := make([]uint64, n)
	idx := make([]int32, n)
	for k := range idx {
		idx[k] = int32(k)
	}
	for c := range r.s.lay.fields {
		f := &r.s.lay.fields[c]
		if !f.long {
			continue
		}
		var ok bool
		if rest, ok = unpackColumn(lengths, rest, true); !ok {
			return corrupt("too short")
		}
		var text []byte
		if text, rest, ok = cutTexts(rest); !ok {
			return corrupt("texts that cannot be read")
		}
		off := make([]int32, 1, n+1)
		for k, m := range lengths {
			if m > uint64(len(text)-int(off[k])) {
				return corrupt("too short")
			}
			off = append(off, off[k]+int32(m))
		}
		r.e.packBytes(c, r.e.words[f.at:], &columnar.Vec{Phys: columnar.PBytes, Len: n, Off: off, Data: text}, idx)
	}
	return nil
}

// longTexts is texts for segments that begin with joinWords.
func (r *joinLoader) longTexts(words [][]uint64, n int, rest []byte) error {
	e, w := r.e, len(words)
	for c := range r.s.lay.fields {
		f := &r.s.lay.fields[c]
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
	return nil
}

// rows adds the encoder's rows.
func (r *joinLoader) rows(numbers, times, flags []uint64, batch int64) {
	s, e := r.s, r.e
	last := int64(-1)
	if k := len(r.numbers); k > 0 {
		last = r.numbers[k-1]
	}
	for k := range numbers {
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
}
