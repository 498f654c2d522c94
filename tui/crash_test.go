package tui

import (
	"context"
	"strings"
	"testing"

	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// The last words of the check are in sight, or a page further; the score says what it counts.
func TestTheTextOfACrashIsReadToItsEnd(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {60, 16}, {120, 36}} {
		d := newDriver(t, size[0], size[1], screentest.New())
		d.keys("4 x space space space enter")
		for range 9 {
			d.keys("pgdown")
		}
		d.has("again: i", "in all labs")
		for range 9 {
			d.keys("pgup")
		}
		d.has("1,100")
	}
}

// wordy says more of a crash than the smallest screens have lines for.
type wordy struct{ *screentest.Bench }

func (w wordy) Crash(ctx context.Context, sink, point string) (*screen.CrashResult, error) {
	r, err := w.Bench.Crash(ctx, sink, point)
	if err == nil {
		r.Why = strings.Repeat("The restart ran the same batch again. ", 11) + "That is all."
	}
	return r, err
}

func TestALongTextOfACrashScrolls(t *testing.T) {
	d := newDriver(t, 80, 24, wordy{screentest.New()})
	d.keys("4 x space space space enter")
	d.has("Promise of the sink", "pgup pgdn", "run  batch")
	d.keys("pgdown pgdown pgdown")
	d.has("That is all.", "run  batch")
	d.keys("pgup pgup pgup")
	d.has("Promise of the sink")
}
