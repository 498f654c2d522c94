package tui

import (
	"context"
	"strings"
	"testing"

	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// keptOut is a bench whose first query writes files into a folder that has batches of another run.
type keptOut struct {
	*screentest.Bench
	words, warning string
}

func (k *keptOut) Queries() []*screen.QuerySnapshot {
	list := k.Bench.Queries()
	q := *list[0]
	q.Sink, q.Warning = "csv", k.warning
	q.State = screen.Stopped
	return append([]*screen.QuerySnapshot{&q}, list[1:]...)
}

func (k *keptOut) Afresh(context.Context, string) (string, error) { return k.words, nil }

// Whoever gives up a checkpoint is told when the sink's folder keeps the new rows out.
func TestRowsThatTheSinkKeepsOutAreSaid(t *testing.T) {
	const words = "Rows are lost: out has batches 0 to 1."
	for _, c := range []struct{ words, has, hasNot string }{
		{words, "out has batches 0 to 1", "may be there twice"},
		{"", "may be there twice", "Rows are lost"},
	} {
		d := newDriver(t, 120, 36, &keptOut{Bench: screentest.New(), words: c.words}).keys("X")
		d.has("Start clicks_1m on a new checkpoint?", c.has)
		d.hasNot(c.hasNot)
	}
	d := newDriver(t, 120, 36, &keptOut{Bench: screentest.New(), words: words}).keys("c :").text("remove the checkpoint").keys("enter")
	d.has("Remove the checkpoint of clicks_1m?", "out has batches 0 to 1")
}

// What the sink warns of shows where the query is looked at, not among the events alone.
func TestTheSinksWarningShowsAtTheQuery(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 50}} {
		d := newDriver(t, size[0], size[1], &keptOut{Bench: screentest.New(), warning: "WARNED: batches 0 to 1 are not written."})
		if !strings.Contains(d.frame(), "WARNED: batches 0 to 1") {
			t.Errorf("%v: not in the detail pane:\n%s", size, d.frame())
		}
		if d.keys("o"); !strings.Contains(d.frame(), "WARNED: batches 0 to 1") {
			t.Errorf("%v: not in the output:\n%s", size, d.frame())
		}
	}
}
