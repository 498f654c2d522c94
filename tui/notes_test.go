package tui

import (
	"testing"

	"streamlab/tui/screen/screentest"
)

// What the user did and was told stands in the events, so that nothing has to be read while a toast lasts.
func TestWhatTheUserDidAndWasToldIsAnEvent(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("K n K y % % s 5")
	d.has("Stop clicks_1m at once: no", "Stop clicks_1m at once: yes", "stop now clicks_1m", "workspace     start clicks_1m",
		"mouse on: the terminal's own selection needs shift", "mouse off")
}

func TestTheCursorStaysOnItsEventWhenOthersCome(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("5 down down")
	d.has("held")
	before := d.m.sh.Events.Len()
	d.keys("% % %")
	if n := d.m.sh.Events.Len(); n != before+3 {
		t.Fatalf("%d events, want 3 more than %d", n, before)
	}
	d.has("▸12:40:54.000 WARN")
	d.keys("f")
	d.has("following", "▸12:40:59.000 INFO  workspace     mouse on")
}
