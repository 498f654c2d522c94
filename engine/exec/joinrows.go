package exec

import (
	"container/heap"
	"math"
	"slices"
	"unsafe"

	"streamlab/columnar"
)

// joinRows are the stored rows of one side of a join in one range of keys. They lie in blocks of neighbouring
// records, and a block holds rows of one time bucket only: what expires is given back as whole buckets, without
// looking at the rows.
//
// The rows of a key form a chain, newest bucket first. A link is a record and the number of the bucket that it
// was in; when the bucket is gone the link leads nowhere, and so would all links behind it. Nobody has to take
// expired rows out of chains.
//
// A record is: time i64, link to the next row u64, number and flags u64, then the words of the columns.
type joinRows struct {
	rec     *columnar.Records
	lay     *layout
	width   int64 // of a bucket, microseconds
	buckets map[int64]*joinBucket
	order   int64Heap // keys of buckets
	last    *joinBucket
	blocks  []joinBlock // by block of records
	free    []uint32    // blocks
	issued  uint32      // number of the last bucket
	live    int
	dead    int // rows in buckets that are there which have left
	added   int // rows since the arena was made anew
	next    int64
}

// joinBlock says whose a block is.
type joinBlock struct {
	bucket uint32 // its number; 0: nobody's
	key    int64
}

// joinBucket is the rows of a span of time.
type joinBucket struct {
	key    int64
	number uint32
	blocks []uint32
	n      int      // rows, dead ones included
	live   int      // rows
	byTime []uint32 // a heap by time and number, once some of the rows had to go before the others
	split  bool     // byTime is in use
}

const (
	rowTime  = 0
	rowNext  = 8
	rowMeta  = 16 // number << rowFlags | flags
	rowWords = 24

	rowMatched = 1
	rowDead    = 2
	rowFlags   = 2

	rowsPerBlock = 16 // a bucket is often a second, of which a range of keys has few rows

	never = math.MaxInt64 // the time of rows that never expire
)

// A link is the number of a bucket, then a record; 0 is none.
type link uint64

func (l link) row() uint32 { return uint32(l) }

func newJoinRows(l *layout, width int64) *joinRows {
	return &joinRows{rec: columnar.NewRecords(rowWords + l.words*8), lay: l, width: width, buckets: map[int64]*joinBucket{}}
}

func (s *joinRows) bucketKey(t int64) int64 {
	if t == never {
		return never
	}
	return floorDiv(t, s.width)
}

// bucket gives the bucket of a time.
func (s *joinRows) bucket(t int64) *joinBucket {
	k := s.bucketKey(t)
	if b := s.last; b != nil && b.key == k {
		return b
	}
	b := s.buckets[k]
	if b == nil {
		s.issued++
		b = &joinBucket{key: k, number: s.issued}
		s.buckets[k] = b
		heap.Push(&s.order, k)
	}
	s.last = b
	return b
}

// add makes a row that belongs to no chain yet; its words are the caller's to write.
func (s *joinRows) add(t int64, meta uint64) link {
	b := s.bucket(t)
	at := b.n % rowsPerBlock
	if at == 0 {
		b.blocks = append(b.blocks, s.block(b))
	}
	g := b.blocks[len(b.blocks)-1]*rowsPerBlock + uint32(at)
	b.n++
	b.live++
	p := (*[3]uint64)(s.rec.Ptr(g, rowTime))
	p[0], p[1], p[2] = uint64(t), 0, meta
	s.live++
	s.added++
	if b.split {
		b.byTime = append(b.byTime, g)
		s.up(b.byTime)
	}
	return link(b.number)<<32 | link(g)
}

// block gives a bucket a block of records.
func (s *joinRows) block(b *joinBucket) uint32 {
	var n uint32
	if k := len(s.free); k > 0 {
		n = s.free[k-1]
		s.free = s.free[:k-1]
	} else {
		n = uint32(len(s.blocks))
		s.blocks = append(s.blocks, joinBlock{})
		for range rowsPerBlock {
			s.rec.Add()
		}
	}
	s.blocks[n] = joinBlock{b.number, b.key}
	return n
}

func (s *joinRows) time(g uint32) int64 { return *(*int64)(s.rec.Ptr(g, rowTime)) }

func (s *joinRows) nextOf(g uint32) *link { return (*link)(s.rec.Ptr(g, rowNext)) }

func (s *joinRows) meta(g uint32) *uint64 { return (*uint64)(s.rec.Ptr(g, rowMeta)) }

func (s *joinRows) number(g uint32) int64 { return int64(*s.meta(g) >> rowFlags) }

// linkOf is the link to a row that is there.
func (s *joinRows) linkOf(g uint32) link {
	return link(s.blocks[g/rowsPerBlock].bucket)<<32 | link(g)
}

// copy takes the words of a row over from other rows of the same layout.
func (s *joinRows) copy(g uint32, from *joinRows, f uint32) {
	src, dst := from.rec.At(f), s.rec.At(g)
	copy(dst[rowWords:], src[rowWords:])
	for c := range s.lay.fields {
		x := &s.lay.fields[c]
		if x.long && *(*uint32)(unsafe.Pointer(&src[rowWords+x.at*8])) > shortBytes {
			p := rowWords + (x.at+1)*8
			clear(dst[p : p+columnar.RefWidth])
			s.rec.Store(dst, p, from.rec.Load(src, p))
		}
	}
}

// there says whether what a link leads to has not expired; it may have left all the same.
func (s *joinRows) there(l link) bool {
	return l != 0 && s.blocks[l.row()/rowsPerBlock].bucket == uint32(l>>32)
}

// isLive says whether a row is there and has not left.
func (s *joinRows) isLive(l link) bool { return s.there(l) && *s.meta(l.row())&rowDead == 0 }

func (s *joinRows) keyOf(l link) int64 { return s.blocks[l.row()/rowsPerBlock].key }

// chain puts a row into the chain that begins at head: before all rows of its bucket and of older ones.
func (s *joinRows) chain(head *link, l link) {
	key, at := s.keyOf(l), head
	for s.there(*at) && s.keyOf(*at) > key {
		at = s.nextOf((*at).row())
	}
	next := *at
	if !s.there(next) {
		next = 0
	}
	*s.nextOf(l.row()) = next
	*at = l
}

// leave takes a row out before its bucket goes.
func (s *joinRows) leave(g uint32) {
	*s.meta(g) |= rowDead
	s.buckets[s.blocks[g/rowsPerBlock].key].live--
	s.live--
	s.dead++
}

// each calls fn for the rows of a bucket in the order in which they came.
func (b *joinBucket) each(fn func(g uint32)) {
	for i := range b.n {
		fn(b.blocks[i/rowsPerBlock]*rowsPerBlock + uint32(i%rowsPerBlock))
	}
}

// inOrder calls fn for every bucket, oldest first.
func (s *joinRows) inOrder(fn func(b *joinBucket)) {
	keys := slices.Clone(s.order)
	slices.Sort(keys)
	for _, k := range keys {
		fn(s.buckets[k])
	}
}

// groups lists the live rows, oldest bucket first.
func (s *joinRows) groups() (out []uint32) {
	s.inOrder(func(b *joinBucket) {
		b.each(func(g uint32) {
			if *s.meta(g)&rowDead == 0 {
				out = append(out, g)
			}
		})
	})
	return out
}

// expire removes the rows whose time is at or before bound. each, if set, sees them while they can be read.
func (s *joinRows) expire(bound int64, each func(gs []uint32) error) (gone int, err error) {
	for len(s.order) > 0 {
		k := s.order[0]
		if k == never || k > floorDiv(bound, s.width) {
			break
		}
		b := s.buckets[k]
		had := b.live
		whole := k < floorDiv(bound+1, s.width)
		var gs []uint32
		switch {
		case !whole:
			for s.splitUp(b); len(b.byTime) > 0 && s.time(b.byTime[0]) <= bound; {
				if g := s.pop(b); *s.meta(g)&rowDead == 0 {
					gs = append(gs, g)
				}
			}
		case each != nil:
			b.each(func(g uint32) {
				if *s.meta(g)&rowDead == 0 {
					gs = append(gs, g)
				}
			})
		}
		if each != nil && len(gs) > 0 {
			if err := each(gs); err != nil {
				return gone, err
			}
		}
		if !whole {
			gone += len(gs)
			for _, g := range gs {
				s.leave(g)
			}
			if b.live > 0 {
				break
			}
		} else {
			gone += had
		}
		s.drop(b)
	}
	return gone, nil
}

// splitUp makes the heap of a bucket of which a part expires: each batch then costs the rows that go.
func (s *joinRows) splitUp(b *joinBucket) {
	if b.split {
		return
	}
	b.split = true
	b.each(func(g uint32) {
		if *s.meta(g)&rowDead == 0 {
			b.byTime = append(b.byTime, g)
		}
	})
	for i := len(b.byTime)/2 - 1; i >= 0; i-- {
		s.down(b.byTime, i)
	}
}

// before orders the rows of a heap.
func (s *joinRows) before(x, y uint32) bool {
	tx, ty := s.time(x), s.time(y)
	return tx < ty || tx == ty && s.number(x) < s.number(y)
}

func (s *joinRows) up(h []uint32) {
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if !s.before(h[i], h[p]) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

func (s *joinRows) down(h []uint32, i int) {
	for {
		k := 2*i + 1
		if k >= len(h) {
			return
		}
		if k+1 < len(h) && s.before(h[k+1], h[k]) {
			k++
		}
		if !s.before(h[k], h[i]) {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}

func (s *joinRows) pop(b *joinBucket) uint32 {
	g, n := b.byTime[0], len(b.byTime)-1
	b.byTime[0] = b.byTime[n]
	b.byTime = b.byTime[:n]
	s.down(b.byTime, 0)
	return g
}

// drop forgets the first bucket with the rows that are still in it.
func (s *joinRows) drop(b *joinBucket) {
	heap.Pop(&s.order)
	delete(s.buckets, b.key)
	if s.last == b {
		s.last = nil
	}
	for _, n := range b.blocks {
		s.blocks[n] = joinBlock{}
	}
	s.free = append(s.free, b.blocks...)
	s.live -= b.live
	s.dead -= b.n - b.live
}

// due is about how many rows expire at a bound.
func (s *joinRows) due(bound int64) int {
	last := floorDiv(bound, s.width)
	var below func(i int) int
	below = func(i int) int {
		if i >= len(s.order) || s.order[i] > last {
			return 0
		}
		return s.buckets[s.order[i]].live + below(2*i+1) + below(2*i+2)
	}
	return below(0)
}

// wasteful says that so much of the memory belongs to rows that are gone that the others are worth moving: rows
// that left one by one, or long values, of which only all together can be given back.
func (s *joinRows) wasteful() bool {
	if s.dead > 4096 && s.dead > s.live {
		return true
	}
	return s.lay.hasLong() && s.added > 4096 && s.added > 3*s.live
}

func (l *layout) hasLong() bool {
	return slices.ContainsFunc(l.fields, func(f layoutField) bool { return f.long })
}

// bytes is the memory that the rows occupy.
func (s *joinRows) bytes() int64 {
	return s.rec.Bytes() + int64(len(s.blocks))*16 + int64(cap(s.free))*4 + int64(len(s.buckets))*120
}
