package tui

import (
	"strings"
	"testing"

	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// lines of a frame that have a text.
func having(frame, text string) (out []string) {
	for _, l := range strings.Split(frame, "\n") {
		if strings.Contains(l, text) {
			out = append(out, l)
		}
	}
	return out
}

// Following marks the rows of one key in every stage, and no others; a second enter takes the marks away.
func TestFollowMarksExactlyTheRowsOfTheKey(t *testing.T) {
	d := newDriver(t, 200, 50, screentest.New()).keys("b enter tab j enter") // the group of /cart
	if !strings.Contains(d.frame(), "following") {
		t.Fatalf("nothing is followed:\n%s", d.frame())
	}
	for stage := range 5 {
		d.keys("shift+tab g")
		for range stage {
			d.keys("j")
		}
		d.keys("tab z")
		marked := having(d.frame(), "●")
		if len(marked) == 0 {
			t.Errorf("stage %d: no row is marked\n%s", stage+1, d.frame())
		}
		for _, l := range marked {
			if !strings.Contains(l, "/cart") {
				t.Errorf("stage %d: %q is marked", stage+1, l)
			}
		}
		for _, l := range having(d.frame(), "/cart") {
			if !strings.Contains(l, "●") && !strings.Contains(l, "FR") && !strings.Contains(l, "late") {
				t.Errorf("stage %d: %q is not marked", stage+1, l)
			}
		}
		d.keys("z")
	}
	d.keys("enter")
	for len(having(d.frame(), "following")) > 0 {
		d.keys("enter")
		if len(having(d.frame(), "●")) > 0 {
			t.Fatalf("still followed:\n%s", d.frame())
		}
	}
}

func TestInspectorSteps(t *testing.T) {
	bench := screentest.New()
	d := newDriver(t, 120, 36, bench).keys("b enter")
	says := func(what string) {
		t.Helper()
		if !strings.Contains(d.frame(), what) {
			t.Errorf("%q is not there:\n%s", what, d.frame())
		}
	}
	says("replayed · 40 of 499,120 traced")
	says("▸ 4 aggregate")
	says("not yet: it waits until the watermark")
	d.keys("[")
	says("batch 1840")
	d.keys("{")
	says("batch 1833")
	d.keys("]")
	says("batch 1834")
	d.keys("a")
	says("replayed · 400 of 499,120 traced")
	d.keys("t")
	says("waiting for the next batch")
	bench.Advance(screentest.Now)
	d.send(tickMsg(d.m.ticks))
	says("batch 1842")
	says("traced · 40 of 499,120 traced")
	d.keys("p")
	says("rows of batch 1842")
	d.keys("esc esc esc")

	// A query that does not run has no next batch, and one whose source forgets says so.
	d = newDriver(t, 120, 36, bench).keys("G b enter")
	says("TRACE_NOT_REPLAYABLE")
	says("Record the next batch")
	d.keys("t")
	says("does not run")
}

// A workbench that cannot trace has the report of a batch.
func TestWithoutATracerThereIsTheReport(t *testing.T) {
	type plain struct{ screen.Workbench }
	d := newDriver(t, 120, 36, plain{screentest.New()}).keys("b enter")
	if !strings.Contains(d.frame(), "STATEFUL OPERATOR") {
		t.Errorf("no report:\n%s", d.frame())
	}
}
