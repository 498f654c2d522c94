// Package fault holds the named crash points of the batch protocol. A point costs one atomic load when
// faults are off. They are on only if STREAMLAB_UNSAFE_FAULTS=1; the rule stands in
// STREAMLAB_FAULT="name[@k]=action", several separated by ';', k = the k-th hit (default 1).
//
// Actions: kill (SIGKILL to self), panic, errno:EIO|ENOSPC|EINTR, delay:50ms, stop (SIGSTOP).
package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type rule struct {
	name   string
	hit    int64
	action string
	seen   atomic.Int64
}

var (
	active atomic.Bool
	setup  sync.Once
	rules  []*rule
)

func init() {
	if os.Getenv("STREAMLAB_UNSAFE_FAULTS") == "1" {
		active.Store(true)
	}
}

// Active says whether faults are on: whether passing a point may do anything at all.
func Active() bool { return active.Load() }

// Point is passed where a crash must be survived. It returns an error only for an errno action.
func Point(name string) error {
	if !active.Load() {
		return nil
	}
	watched(name)
	setup.Do(func() {
		if os.Getenv("STREAMLAB_UNSAFE_FAULTS") == "1" {
			rules = parse(os.Getenv("STREAMLAB_FAULT"))
		}
	})
	for _, r := range rules {
		if r.name == name && r.seen.Add(1) == r.hit {
			return r.act()
		}
	}
	return nil
}

func parse(text string) []*rule {
	var out []*rule
	for _, part := range strings.Split(text, ";") {
		name, action, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			continue
		}
		r := &rule{name: name, action: action, hit: 1}
		if n, k, ok := strings.Cut(name, "@"); ok {
			if v, err := strconv.ParseInt(k, 10, 64); err == nil {
				r.name, r.hit = n, v
			}
		}
		out = append(out, r)
	}
	return out
}

func (r *rule) act() error {
	kind, arg, _ := strings.Cut(r.action, ":")
	switch kind {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stop":
		return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "panic":
		panic("fault: " + r.name)
	case "delay":
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		<-time.After(d)
		return nil
	case "errno":
		no, ok := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EINTR": syscall.EINTR}[arg]
		if !ok {
			return fmt.Errorf("fault: unknown errno %q", arg)
		}
		return fmt.Errorf("%s: %w", r.name, no)
	}
	return fmt.Errorf("fault: unknown action %q", r.action)
}
