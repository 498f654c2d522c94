package tui

import (
	"strings"
	"testing"

	"streamlab/tui/screen/screentest"
)

// With --read-only nothing that changes stored data or loses work can be asked for, and the palette says why.
func TestReadOnlyDisablesWhatChangesData(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 120, 36, b)
	d.m.sh.ReadOnly = true
	d.keys("2 down down down enter")
	for _, key := range []string{"R", "F"} {
		d.keys(key)
		if len(d.m.over) != 0 || !strings.Contains(d.frame(), "read-only") {
			t.Errorf("%s asks although nothing may be changed:\n%s", key, d.frame())
		}
	}
	d.keys(":").text("rewind")
	if f := d.frame(); !strings.Contains(f, "rewind to batch (asks)") || !strings.Contains(f, "read-only") {
		t.Error(f)
	}
	if len(b.Done) != 0 {
		t.Errorf("done: %v", b.Done)
	}
}

// Also on a small screen a lab that must not be changed says that a query failed.
func TestReadOnlyDoesNotHideFailures(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.m.sh.ReadOnly, d.m.dirty = true, true
	d.has("1 fail read-only")
}
