package machine

import (
	"math"
	"runtime/debug"
	"testing"
)

// The more flat state there is, the less garbage may gather beside it.
func TestStateLowersTheGarbage(t *testing.T) {
	last := garbage + 1
	for _, state := range []int64{-1, flatFrom / 4, flatFrom, 4 * flatFrom} {
		p := percentFor(state, 0)
		if p >= last || p < garbage/8 || state < 0 && p != garbage {
			t.Errorf("%d: %d after %d", state, p, last)
		}
		last = p
	}
	if p := percentFor(math.MaxInt64/8, math.MaxInt64/8); p != garbage/8 {
		t.Errorf("without end: %d", p)
	}
}

func TestHoldChangesOnlyWhatWasTuned(t *testing.T) {
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	current := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	Hold(1<<40, 0)
	if p := current(); p != 100 {
		t.Errorf("untuned: %d", p)
	}
	TuneCollector(true, false)
	defer func() { collector.tuned = false }()
	Hold(4*flatFrom, 0)
	if p := current(); p != garbage/5 {
		t.Errorf("with state: %d", p)
	}
	Hold(4*flatFrom+flatFrom/8, 0)
	if p := current(); p != garbage/5 {
		t.Errorf("with a little more: %d", p)
	}
	Hold(0, 10*aheadFrom)
	if p := current(); p != garbage/8 && p != garbage/10 {
		t.Errorf("with room taken ahead: %d", p)
	}
	Hold(0, aheadFrom)
	if p := current(); p != garbage {
		t.Errorf("without: %d", p)
	}
}
