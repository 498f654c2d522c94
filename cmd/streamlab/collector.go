//go:build cgo

package main

import (
	"os"
	"runtime/debug"

	"streamlab/internal/machine"
)

// tuneCollector lets the heap grow further between collections than Go does by itself: state lies in flat memory
// that costs the collector nothing, and what batches leave behind is soon gone. The limit keeps that from taking
// the whole machine. Whoever sets GOGC or GOMEMLIMIT has chosen otherwise.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if n := machine.Memory(); os.Getenv("GOMEMLIMIT") == "" && n > 0 {
		debug.SetMemoryLimit(n / 100 * 85)
	}
}
