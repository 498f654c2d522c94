//go:build cgo

package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// tuneCollector lets the heap grow further between collections than Go does by itself: state lies in flat memory
// that costs the collector nothing, and what batches leave behind is soon gone. The limit keeps that from taking
// the whole machine. Whoever sets GOGC or GOMEMLIMIT has chosen otherwise.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if n := availableMemory(os.ReadFile); os.Getenv("GOMEMLIMIT") == "" && n > 0 {
		debug.SetMemoryLimit(n / 100 * 85)
	}
}

// availableMemory is what the machine has, or the container may use, in bytes; 0 if it is not known.
func availableMemory(read func(name string) ([]byte, error)) int64 {
	least := int64(0)
	add := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if raw, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					add(kb << 10)
				}
			}
		}
	}
	if raw, err := read("/sys/fs/cgroup/memory.max"); err == nil { // "max" is no number
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil {
			add(n)
		}
	}
	return least
}
