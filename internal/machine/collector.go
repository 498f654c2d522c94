package machine

import (
	"runtime/debug"
	"sync"
)

// garbage is how far the heap may grow between two collections, in hundredths of what lives, when little does: what
// micro-batches leave behind is soon gone.
const garbage = 400

// flatFrom is from how many bytes of flat state on garbage becomes less. State that lives as long as its query counts
// as heap that lives, but leaves nothing behind; letting four times of it gather would take memory for nothing, and
// looking at it costs the collector next to nothing, as there are no pointers in it.
const flatFrom = 256 << 20

// aheadFrom is from how many bytes that were taken ahead on garbage becomes less: databases take room for their
// memtables when they are opened. It counts as heap that lives, though nobody may ever touch most of it; ten queries
// with next to no state would let half a gigabyte gather for it.
const aheadFrom = 48 << 20

var collector struct {
	sync.Mutex
	tuned   bool
	percent int
}

// TuneCollector lets the heap grow further between collections than Go does by itself, as far as Hold allows, and
// keeps the process below a share of the machine.
func TuneCollector(percent, limit bool) {
	collector.Lock()
	defer collector.Unlock()
	if percent {
		collector.tuned, collector.percent = true, garbage
		debug.SetGCPercent(garbage)
	}
	if n := Memory(); limit && n > 0 {
		debug.SetMemoryLimit(n / 100 * 85)
	}
}

// Hold says how much flat state the process holds, and how much room it has taken ahead, in bytes. It does nothing
// before TuneCollector.
func Hold(state, ahead int64) {
	collector.Lock()
	defer collector.Unlock()
	want := percentFor(state, ahead)
	if !collector.tuned || want*5 > collector.percent*4 && want*4 < collector.percent*5 { // changing it stops the world
		return
	}
	collector.percent = want
	debug.SetGCPercent(want)
}

func percentFor(state, ahead int64) int {
	percent := garbage * flatFrom / (flatFrom + max(state, 0))
	return max(garbage/8, int(percent*aheadFrom/max(ahead, aheadFrom)))
}
