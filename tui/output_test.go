package tui

import (
	"testing"

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
