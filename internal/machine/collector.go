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

// Hold says how much flat state the process holds, in bytes. It does nothing before TuneCollector.
func Hold(state int64) {
	collector.Lock()
	defer collector.Unlock()
	want := percentFor(state)
	if !collector.tuned || want*5 > collector.percent*4 && want*4 < collector.percent*5 { // changing it stops the world
		return
	}
	collector.percent = want
	debug.SetGCPercent(want)
}

func percentFor(state int64) int {
	return max(garbage/8, int(garbage*flatFrom/(flatFrom+max(state, 0))))
}
