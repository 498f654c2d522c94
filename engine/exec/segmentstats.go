package exec

import "streamlab/store"

// segmentStats tells when a shard's deltas are worth a base, and of which bucket. A shard whose state is one bucket
// needs base, delta and deltas alone.
type segmentStats struct {
	base   int64 // bytes of the bases
	delta  int64 // bytes of the deltas that bases do not cover
	deltas int   // and their batches
	bases  map[int64]*baseStats
}

// baseStats is about the base of one bucket, by its number on disk.
type baseStats struct {
	bytes  int64
	batch  int64 // after which the bucket was so
	delta  int64 // bytes of the shard's deltas up to then, from the first one that is not covered
	deltas int
}

// When the deltas of a shard are worth a base. Tests make both small.
var (
	baseAfterBytes  int64 = 4 << 20
	baseAfterDeltas       = 1024
)

// due says that a shard's deltas have outgrown its bases, by how many bytes.
func (st *segmentStats) due() (over int64, ok bool) {
	over = st.delta - max(st.base, baseAfterBytes)
	return over, over >= 0 || st.many()
}

// many says that it is not their bytes that make a base worth it, but what each of them costs to keep and to read.
func (st *segmentStats) many() bool { return st.deltas >= baseAfterDeltas }

// readBase notes a segment of a base that is being loaded. What is empty says only that an earlier base means nothing.
func (st *segmentStats) readBase(number, batch, bytes int64) {
	if bytes == 0 {
		return
	}
	st.base += bytes
	if x := st.bases[number]; x != nil && x.batch == batch {
		x.bytes += bytes
		return
	}
	st.note(number, &baseStats{bytes: bytes, batch: batch})
}

func (st *segmentStats) note(number int64, x *baseStats) {
	if st.bases == nil {
		st.bases = map[int64]*baseStats{}
	}
	st.bases[number] = x
}

// readDelta notes a segment of a delta that is being loaded. All bases have been before, deltas come by batch.
func (st *segmentStats) readDelta(batch, bytes int64) {
	st.delta += bytes
	st.deltas++
	for _, x := range st.bases {
		if x.batch >= batch {
			x.delta, x.deltas = st.delta, st.deltas
		}
	}
}

// read notes what there is of a shard.
func (st *segmentStats) read(outline []store.Outline) {
	*st = segmentStats{}
	for _, g := range outline {
		if g.Kind == store.KindBase {
			st.readBase(g.Bucket, g.Batch, g.Bytes)
		} else {
			st.readDelta(g.Batch, g.Bytes)
		}
	}
}

// divided says that some bucket has a base of its own.
func (st *segmentStats) divided() bool {
	for number := range st.bases {
		if number >= buckets {
			return true
		}
	}
	return false
}

// wrote notes a base that is being saved, after the delta of its batch.
func (st *segmentStats) wrote(number, batch, bytes int64) {
	if old := st.bases[number]; old != nil {
		st.base -= old.bytes
	}
	st.base += bytes
	st.note(number, &baseStats{bytes: bytes, batch: batch, delta: st.delta, deltas: st.deltas})
}

// oldest is which of n buckets from first has no base, or the oldest.
func (st *segmentStats) oldest(first int64, n int) int64 {
	pick := first
	for k := range int64(n) {
		x := st.bases[first+k]
		if x == nil {
			return first + k
		}
		if x.batch < st.bases[pick].batch {
			pick = first + k
		}
	}
	return pick
}

// cover says up to which batch the bases of n buckets from first cover the deltas, which are forgotten. ok is false
// if some bucket has no base yet. Otherwise other bases, of before the table was divided or put together, are stale:
// they are forgotten and should be emptied.
func (st *segmentStats) cover(first int64, n int) (batch int64, stale []int64, ok bool) {
	var least *baseStats
	for k := range int64(n) {
		x := st.bases[first+k]
		if x == nil {
			return 0, nil, false
		}
		if least == nil || x.batch < least.batch {
			least = x
		}
	}
	delta, deltas := least.delta, least.deltas
	st.delta, st.deltas = st.delta-delta, st.deltas-deltas
	for number, x := range st.bases {
		if x.delta, x.deltas = x.delta-delta, x.deltas-deltas; number < first || number >= first+int64(n) {
			st.base -= x.bytes
			stale = append(stale, number)
			delete(st.bases, number)
		}
	}
	return least.batch, stale, true
}
