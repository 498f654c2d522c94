package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

func TestTheConsoleSaysWhereItIsAndWhatItMisses(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 120, 36, b)
	d.keys("G o")
	d.has("batch 16 of 16", "batch 17 failed", "enter open")
	d.keys("[ [")
	d.has("batch 13 of 16")
	d.keys("enter")
	d.has("late_events › batch 17")
	d.keys("esc f")
	d.has("frozen")
}

func TestTheConsoleShowsWholeCells(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("G o t")
	d.has("not truncated", "|window_start|page   |count|", "|12:40:00    |/home  |18221|", "+------------+-------+-----+", "Batch: 16")
	d.keys("t")
	d.has("|                 ts|device|      event|lateness|")
	d.hasNot("not truncated")
}

// replayed prints a batch twice, as a query does that goes on after a crash.
type replayed struct{ *screentest.Bench }

func (r replayed) Console(name string) screen.Console {
	c := r.Bench.Console(name)
	n := len(c.Lines)
	c.Lines = append(c.Lines[:n:n], c.Lines[n-n/7:]...)
	return c
}

func TestABatchThatRanAgainIsMarked(t *testing.T) {
	d := newDriver(t, 120, 36, replayed{screentest.New()})
	d.keys("G o")
	d.has("(replay)")
	d.keys("g")
	d.hasNot("(replay)")
}

func TestTheOutputOfAMemorySinkLeadsToItsTable(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 120, 36, b)
	qs := b.Queries()
	for i, q := range qs {
		if q.Sink != "memory" {
			continue
		}
		for range i {
			d.keys("down")
		}
		d.keys("o")
		d.has("memory sink")
		d.keys("[")
		d.has("of")
		d.keys("] enter")
		d.has("[3 SQL]", `SELECT * FROM "`+q.Name+`"`)
		return
	}
	t.Fatal("no memory sink")
}

var _ screen.Workbench = replayed{}

// early fails before it has come to a batch.
type early struct{ *screentest.Bench }

func (e early) Queries() []*screen.QuerySnapshot {
	q := *e.Bench.Queries()[0]
	inner := errs.New("CAST_INVALID_INPUT", "expression", "'x'", "sourceType", `"STRING"`, "targetType", `"INT"`)
	q.Sink, q.State, q.BatchID, q.Progress = "console", screen.Failed, -1, nil
	q.Error = errs.Wrap(inner, "STREAM_FAILED", "id", "53dda4e1-e541-49e6-b11d-14c296c3e2d5", "runId", "77d6d3cd-a52b-42b2-af01-000000000009", "message", "m")
	return []*screen.QuerySnapshot{&q}
}

func TestAQueryThatFailedAtOnceHasNoBatch(t *testing.T) {
	d := newDriver(t, 80, 24, early{screentest.New()})
	d.keys("!") // the whole error, with nothing cut
	d.has("53dda4e1-e541-49e6-b11d-14c296c3e2d5", "77d6d3cd-a52b-42b2-af01-000000000009")
	d.keys("esc o")
	d.has("✗ failed: ")
	d.hasNot("batch -1", "Query [id")
	d.keys("enter")
	d.has("CAST_INVALID_INPUT")
	d.hasNot("batch -1")
}

// What does not fit beside each other stands below: every word of a plan can be read.
func TestThePlanIsNotCut(t *testing.T) {
	b := screentest.New()
	text, err := b.Explain(context.Background(), "clicks_1m")
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, 60, 30, b)
	d.keys("p")
	words := strings.Fields(d.frame())
	for _, w := range strings.Fields(text) {
		if !slices.Contains(words, w) {
			t.Errorf("%s is not to be seen", w)
		}
	}
}
