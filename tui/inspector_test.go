package tui

import (
	"context"
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
	d := newDriver(t, 200, 50, screentest.New()).keys("b enter down tab j enter") // the group of /cart
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
	d := newDriver(t, 120, 36, bench).keys("b enter down")
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
	d.keys("v")
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

// half is a workbench whose replays have come half the way.
type half struct{ *screentest.Bench }

func (h half) Trace(_ context.Context, _ string, batch int64, o screen.TraceOptions) (*screen.Trace, error) {
	o.Partial(screentest.Coming(batch))
	return screentest.Coming(batch), nil
}

// Rows show while a batch is being run again; what needs its end says so.
func TestRowsShowWhileTheBatchRuns(t *testing.T) {
	d := newDriver(t, 120, 36, half{screentest.New()}).keys("b enter")
	for _, want := range []string{"running again · 24,576 rows so far", "ctrl+c cancels", "/cart", "What became of a"} {
		if !strings.Contains(d.frame(), want) {
			t.Errorf("%q is not there:\n%s", want, d.frame())
		}
	}
	if d.keys("tab enter"); !strings.Contains(d.frame(), "still being run") {
		t.Errorf("an unfinished trace is followed:\n%s", d.frame())
	}
}

// A part is shown, the answer overtakes it, and a part that comes after it is dropped.
func TestPartsOfAnAnswer(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	front := d.m.front()
	var got []string
	say := func(s string) func() screen.Effect {
		return func() screen.Effect { got = append(got, s); return screen.Effect{} }
	}
	k := jobKey{front, "x"}
	work, next := inParts(func(_ context.Context, part func(func() screen.Effect)) func() screen.Effect {
		part(say("first"))
		part(say("second")) // nobody took the first one
		return say("end")
	}, k, 7)
	d.m.jobs[k] = &job{n: 7, cancel: func() {}}
	end := work(context.Background())
	part := next()
	d.m.Update(part)
	d.m.Update(jobMsg{key: k, n: 7, apply: end})
	d.m.Update(part)
	if s := strings.Join(got, " "); s != "second end" {
		t.Errorf("shown: %s", s)
	}
	if next() != nil {
		t.Error("the end is not the end")
	}
}

// A batch that dropped a late row opens at that row, so that the first thing seen is why.
func TestALateRowIsWhereReadingBegins(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New()).keys("b enter")
	if !strings.Contains(d.frame(), "▸ 3 event time") || !strings.Contains(d.frame(), "dropped as late by") {
		t.Errorf("the late row is not in front:\n%s", d.frame())
	}
}

// Reasons that do not fit are reached by the arrows, line by line, and come back to the top with another row.
func TestReasonsScroll(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New()).keys("b enter g down down down")
	if !strings.Contains(d.frame(), "1–4 of 5 lines, tab ↓") {
		t.Fatalf("what does not fit is not said:\n%s", d.frame())
	}
	d.keys("tab tab G")
	if !strings.Contains(d.frame(), "2–5 of 5 lines") || !strings.Contains(d.frame(), "━ why this row") {
		t.Errorf("not scrolled:\n%s", d.frame())
	}
	d.keys("shift+tab j")
	if !strings.Contains(d.frame(), "1–4 of") {
		t.Errorf("another row does not begin at its top:\n%s", d.frame())
	}
}
