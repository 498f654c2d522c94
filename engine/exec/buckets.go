package exec

import "streamlab/columnar"

// A table that has become big divides its groups into buckets by some bits of their hashes, and keeps the records of
// a bucket in blocks of their own. So all groups of one bucket can be written as a base without looking at those of
// the others, and a batch that writes a base pays for a bucket, not for what there is.
//
// On disk the buckets of a divided table have the numbers from buckets on, and the one bucket of a table that is not
// has 0: a shard may have bases of both, of before and after.
const (
	bucketBits   = 4
	buckets      = 1 << bucketBits
	blockRecords = 256
)

// divideAfter is how many groups a table has before it is divided. Tests make it small.
var divideAfter = 1 << 17

// A bucket is the records of the groups whose hashes agree in bucketBits bits.
type bucket struct {
	blocks    []uint32 // first records of blocks of blockRecords
	next, end uint32   // of the last block, what has not been used
	free      []uint32 // records to use again
	used      int64    // batch that touched it last, as far as somebody takes note
}

// bucketOf is the bucket of a hash, by the bits behind those that choose the range.
func bucketOf(h uint64) int { return int(h>>(64-rangeBits-bucketBits)) & (buckets - 1) }

// take gives a record of zeros to a group of the bucket.
func (b *bucket) take(rec *columnar.Records) uint32 {
	if n := len(b.free); n > 0 {
		g := b.free[n-1]
		b.free = b.free[:n-1]
		clear(rec.At(g))
		return g
	}
	if b.next == b.end {
		b.next = rec.Add()
		for range blockRecords - 1 {
			rec.Add()
		}
		b.end = b.next + blockRecords
		b.blocks = append(b.blocks, b.next)
	}
	b.next++
	return b.next - 1
}

// release gives records of dead groups to those that come.
func (t *table) release(gs []uint32) {
	if t.buckets == nil {
		t.free = append(t.free, gs...)
		return
	}
	for _, g := range gs {
		b := &t.buckets[bucketOf(t.hash(g))]
		b.free = append(b.free, g)
	}
}

// freed is the number of records that wait for other groups.
func (t *table) freed() int {
	n := len(t.free)
	for i := range t.buckets {
		n += len(t.buckets[i].free)
	}
	return n
}

// divide makes a table that has no group yet keep those to come in buckets.
func (t *table) divide() {
	if t.buckets == nil && t.rec.Len() == 0 {
		t.buckets = make([]bucket, buckets)
	}
}

// undivided says that the table has outgrown one bucket. What packs it divides it.
func (t *table) undivided() bool { return t.buckets == nil && t.live > divideAfter }

// division is the numbers on disk of the table's buckets: n from the first.
func (t *table) division() (first int64, n int) {
	if t.buckets == nil {
		return 0, 1
	}
	return buckets, buckets
}

// groupsOf lists the live groups of the bucket that has a number on disk.
func (t *table) groupsOf(number int64) []uint32 {
	if t.buckets == nil {
		return t.groups(nil)
	}
	var out []uint32
	for _, from := range t.buckets[number-buckets].blocks {
		for g := range uint32(blockRecords) {
			if t.isLive(from + g) {
				out = append(out, from+g)
			}
		}
	}
	return out
}
