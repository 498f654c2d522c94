package files

import (
	"hash/maphash"
	"math"
	"strings"

	"streamlab/internal/pages"
)

// seenFiles remembers the files that were selected, by path or name. What is much older than the newest of
// them is forgotten, and such files are never selected.
//
// A file takes 16 bytes, outside of the heap: its name is remembered by 84 bits of two hashes with keys of this
// process, so that one in 10^13 folders of a million files would hold a pair that looks equal.
type seenFiles struct {
	slots     pages.Slab[seenSlot] // a power of two of them, found by linear probing
	used      int
	seeds     [2]maphash.Seed
	text      []byte // of the name that is looked for
	latest    int64
	lastPurge int64
	walked    int64 // lastPurge when the table was cleaned
	maxAge    int64 // ms; -1: nothing is forgotten
	nameOnly  bool
}

// seenSlot is a hash and, in one word, the time of the file and more of the hash, which is not 0; an empty slot
// is 0.
type seenSlot struct{ hash, rest uint64 }

const (
	hashBits = 20
	hashMask = 1<<hashBits - 1
	maxTime  = 1<<(64-hashBits) - 1
)

func (s seenSlot) time() int64 { return int64(s.rest >> hashBits) }

func (s *seenFiles) reset(maxAge int64, nameOnly bool) {
	s.slots.Free()
	*s = seenFiles{maxAge: maxAge, nameOnly: nameOnly, lastPurge: math.MinInt64, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	if maxAge >= 0 {
		s.lastPurge = -maxAge
	}
}

// key hashes the path dir/name.
func (s *seenFiles) key(dir string, name []byte) seenSlot {
	s.text = s.text[:0]
	if !s.nameOnly {
		s.text = append(append(s.text, dir...), '/')
	}
	s.text = append(s.text, name...)
	return seenSlot{maphash.Bytes(s.seeds[0], s.text), maphash.Bytes(s.seeds[1], s.text)&hashMask | 1}
}

// find gives the place of a key, or the empty one where it belongs. There must be room.
func (s *seenFiles) find(k seenSlot) (at int, there bool) {
	slots := s.slots.Room()
	for at = int(k.hash & uint64(len(slots)-1)); ; at = (at + 1) & (len(slots) - 1) {
		switch x := slots[at]; {
		case x.rest == 0:
			return at, false
		case x.hash == k.hash && x.rest&hashMask == k.rest:
			return at, true
		}
	}
}

// unknown reports that a file was not selected, or so long ago that it was forgotten.
func (s *seenFiles) unknown(dir string, name []byte) bool {
	if s.used == 0 {
		return true
	}
	at, there := s.find(s.key(dir, name))
	return !there || s.slots.Room()[at].time() < s.lastPurge
}

func (s *seenFiles) add(f file) {
	i := strings.LastIndexByte(f.path, '/')
	s.addPath([]byte(f.path[:max(i, 0)]), []byte(f.path[i+1:]), f.mtime)
}

func (s *seenFiles) addPath(dir, name []byte, mtime int64) {
	if n := len(s.slots.Room()); s.used >= n-n/6 {
		s.rebuild(max(1024, 2*n), math.MinInt64)
	}
	k := s.key(view(dir), name)
	at, there := s.find(k)
	if !there {
		s.used++
	}
	s.slots.Room()[at] = seenSlot{k.hash, uint64(min(max(mtime, 0), maxTime))<<hashBits | k.rest}
	s.latest = max(s.latest, mtime)
}

// rebuild makes a table of n slots with the files from a time on.
func (s *seenFiles) rebuild(n int, from int64) {
	old := s.slots
	s.slots, s.used = pages.Slab[seenSlot]{}, 0
	s.slots.Grow(n)
	for _, x := range old.Room() {
		if x.rest != 0 && x.time() >= from {
			at, _ := s.find(seenSlot{x.hash, x.rest & hashMask})
			s.slots.Room()[at] = x
			s.used++
		}
	}
	old.Free()
}

// purge forgets what is too old. Forgotten entries leave the table only once in a while, when the limit has
// moved by a hundredth of the age.
func (s *seenFiles) purge() {
	if s.maxAge < 0 {
		return
	}
	s.lastPurge = s.latest - s.maxAge
	if s.lastPurge-s.walked <= s.maxAge/100 {
		return
	}
	s.walked = s.lastPurge
	if s.used == 0 {
		return
	}
	old := 0
	for _, x := range s.slots.Room() {
		if x.rest != 0 && x.time() < s.lastPurge {
			old++
		}
	}
	if old == 0 {
		return
	}
	n := len(s.slots.Room())
	for n > 1024 && s.used-old < n/4 {
		n /= 2
	}
	s.rebuild(n, s.lastPurge)
}
