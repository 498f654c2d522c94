package tui

import (
	"encoding/json"
	"os"
	"slices"
	"time"
)

// times are how long the loop took for messages and for frames; nil keeps none. It is written to the file
// named by STREAMLAB_SCREEN_TIMES when the workbench ends, for the latency harness.
type times struct {
	path         string
	update, draw []time.Duration
}

// maxTimes bounds what is kept.
const maxTimes = 1 << 18

func newTimes(path string) *times {
	if path == "" {
		return nil
	}
	return &times{path: path}
}

func (t *times) updated(since time.Time) {
	if t != nil && len(t.update) < maxTimes {
		t.update = append(t.update, time.Since(since))
	}
}

func (t *times) drawn(since time.Time) {
	if t != nil && len(t.draw) < maxTimes {
		t.draw = append(t.draw, time.Since(since))
	}
}

// Times are the milliseconds of one part of the loop.
type Times struct {
	N        int
	P50, P99 float64
	Max      float64
}

func sum(ds []time.Duration) Times {
	if len(ds) == 0 {
		return Times{}
	}
	slices.Sort(ds)
	ms := func(i int) float64 { return float64(ds[min(i, len(ds)-1)].Microseconds()) / 1000 }
	return Times{N: len(ds), P50: ms(len(ds) / 2), P99: ms(len(ds) * 99 / 100), Max: ms(len(ds) - 1)}
}

func (t *times) write() error {
	if t == nil {
		return nil
	}
	data, err := json.Marshal(map[string]Times{"update": sum(t.update), "draw": sum(t.draw)})
	if err != nil {
		return err
	}
	return os.WriteFile(t.path, data, 0o644)
}
