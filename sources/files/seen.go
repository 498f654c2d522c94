package files

import (
	"math"
	"path/filepath"
)

// seenFiles remembers the files that were selected, by path or name. What is much older than the newest of
// them is forgotten, and such files are never selected.
type seenFiles struct {
	mtimes    map[string]int64
	latest    int64
	lastPurge int64
	walked    int64 // lastPurge when the map was cleaned
	maxAge    int64 // ms; -1: nothing is forgotten
	nameOnly  bool
}

func (s *seenFiles) reset(maxAge int64, nameOnly bool) {
	*s = seenFiles{mtimes: map[string]int64{}, maxAge: maxAge, nameOnly: nameOnly, lastPurge: math.MinInt64}
	if maxAge >= 0 {
		s.lastPurge = -maxAge
	}
}

func (s *seenFiles) key(path string) string {
	if s.nameOnly {
		return filepath.Base(path)
	}
	return path
}

// unknown reports that a path was not selected, or so long ago that it was forgotten.
func (s *seenFiles) unknown(path string) bool {
	t, ok := s.mtimes[s.key(path)]
	return !ok || t < s.lastPurge
}

func (s *seenFiles) add(f file) {
	s.mtimes[s.key(f.path)] = f.mtime
	s.latest = max(s.latest, f.mtime)
}

// purge forgets what is too old. Forgotten entries leave the map only once in a while, when the limit has
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
	for k, t := range s.mtimes {
		if t < s.lastPurge {
			delete(s.mtimes, k)
		}
	}
}
