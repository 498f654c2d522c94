//go:build cgo

package main

import (
	"os"

	"streamlab/internal/machine"
)

// tuneCollector lets the heap grow further between collections than Go does by itself, and keeps that from taking
// the whole machine. Whoever sets GOGC or GOMEMLIMIT has chosen otherwise.
func tuneCollector() {
	machine.TuneCollector(os.Getenv("GOGC") == "", os.Getenv("GOMEMLIMIT") == "")
}
