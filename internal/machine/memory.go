// Package machine tells what this process may use of the machine that it runs on.
package machine

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// Memory is what the machine has, or the container may use, in bytes, as it was when it was first asked for; 0 if it
// is not known.
func Memory() int64 { return once() }

var once = sync.OnceValue(func() int64 { return memory(os.ReadFile) })

func memory(read func(name string) ([]byte, error)) int64 {
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
