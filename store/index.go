package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// A groupRef is a group and the number of its parts; none says that it is inline in a commit record.
type groupRef struct {
	group
	parts int
	bytes int64 // of the segments
}

// deletes lists the keys of the group.
func (r groupRef) deletes() []write {
	writes := make([]write, r.parts)
	prefix := r.prefix()
	for i := range writes {
		writes[i].key = partKey(prefix, i)
	}
	return writes
}

// A shardIndex says which groups make the state of a shard at Head. Methods that make others superfluous
// return the keys to be deleted.
type shardIndex struct {
	bases    map[int64]groupRef // by bucket
	deltas   []groupRef         // deltas and releases that bases do not cover, by batch
	releases map[int64]int64    // bucket → last release among deltas
	covered  int64              // deltas up to here are covered; -1: none
	mark     groupRef           // the record that says so
}

func (c *Checkpoint) shard(s Shard) *shardIndex {
	x := c.shards[s]
	if x == nil {
		x = &shardIndex{bases: map[int64]groupRef{}, releases: map[int64]int64{}, covered: -1}
		c.shards[s] = x
	}
	return x
}

func (x *shardIndex) addBase(r groupRef) []write {
	old, ok := x.bases[r.bucket]
	if ok && old.batch > r.batch {
		return r.deletes()
	}
	x.bases[r.bucket] = r
	if ok && old.batch < r.batch {
		return old.deletes()
	}
	return nil
}

// isInline reports whether g is among the uncovered groups, inline in its commit record.
func (x *shardIndex) isInline(g group) bool {
	return x.inlineAt(g) >= 0
}

// inlineAt is where g is among deltas if it is inline, else -1.
func (x *shardIndex) inlineAt(g group) int {
	return slices.IndexFunc(x.deltas, func(r groupRef) bool { return r.group == g && r.parts == 0 })
}

// takeOut says that a group that was inline has parts now.
func (x *shardIndex) takeOut(r groupRef) {
	if i := x.inlineAt(r.group); i >= 0 {
		x.deltas[i].parts = r.parts
	}
}

func (x *shardIndex) addDelta(r groupRef) { x.deltas = append(x.deltas, r) }

func (x *shardIndex) release(bucket, batch int64) {
	x.releases[bucket] = max(x.releases[bucket], batch)
}

func (x *shardIndex) cover(batch int64, mark groupRef) (drops []write) {
	if batch <= x.covered {
		return mark.deletes()
	}
	drops = x.mark.deletes()
	x.covered, x.mark = batch, mark
	return drops
}

// tidy drops bases of released buckets and covered deltas, and sorts the others.
func (x *shardIndex) tidy() (drops []write) {
	for bucket, batch := range x.releases {
		if r, ok := x.bases[bucket]; ok && r.batch < batch {
			drops = append(drops, r.deletes()...)
			delete(x.bases, bucket)
		}
		if batch <= x.covered {
			delete(x.releases, bucket)
		}
	}
	x.deltas = slices.DeleteFunc(x.deltas, func(r groupRef) bool {
		if r.batch <= x.covered {
			drops = append(drops, r.deletes()...)
			return true
		}
		return false
	})
	slices.SortStableFunc(x.deltas, func(a, b groupRef) int { return int(a.batch - b.batch) })
	return drops
}

// needs reports whether the state at Head is not whole without g.
func (x *shardIndex) needs(g group) bool {
	switch g.letter {
	case keyBase:
		newest, ok := x.bases[g.bucket]
		return x.releases[g.bucket] <= g.batch && (!ok || newest.batch < g.batch)
	case keyCovered:
		return x.mark.batch < g.batch
	default:
		return g.batch > x.covered
	}
}

// A release group is a list of buckets as varints, one segment.
func encodeRelease(buckets []int64) Segment {
	var s Segment
	for _, b := range buckets {
		s = binary.AppendVarint(s, b)
	}
	return s
}

func decodeRelease(segments []Segment) (buckets []int64) {
	for _, s := range segments {
		for len(s) > 0 {
			b, n := binary.Varint(s)
			if n <= 0 {
				return buckets
			}
			buckets, s = append(buckets, b), s[n:]
		}
	}
	return buckets
}

func readRelease(txn *badger.Txn, g group) ([]int64, error) {
	segments, err := readGroup(txn, g, nil)
	return decodeRelease(segments), err
}

func readCovered(txn *badger.Txn, g group) (int64, error) {
	segments, err := readGroup(txn, g, nil)
	if err != nil {
		return 0, err
	}
	if len(segments) != 1 || len(segments[0]) != 8 {
		return 0, errDamaged
	}
	return int64(binary.BigEndian.Uint64(segments[0])), nil
}

// readGroup reads the segments of a group that is in parts. With each, they are handed over one by one
// instead, which returns false to end.
func readGroup(txn *badger.Txn, g group, each func(Segment) bool) (segments []Segment, err error) {
	prefix := g.prefix()
	var s Segment
	for part := 0; ; part++ {
		flags, payload, err := fetch(txn, partKey(prefix, part))
		if err != nil {
			return nil, err
		}
		if payload == nil {
			return nil, fmt.Errorf("part %d is missing", part)
		}
		if s == nil {
			s = payload
		} else {
			s = append(s, payload...)
		}
		if flags&flagSegmentEnd != 0 {
			if each == nil {
				segments = append(segments, s)
			} else if !each(s) {
				return nil, nil
			}
			s = nil
		}
		if flags&flagGroupEnd != 0 {
			return segments, nil
		}
	}
}
