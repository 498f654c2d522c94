package tui

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
	"streamlab/tui/widget"
)

func TestCommandsTakeArguments(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 120, 36, b)
	d.keys("b esc :").text("fork 1840 as try2").keys("enter")
	if n := len(b.Done); n != 1 || b.Done[0].Verb != screen.Fork || b.Done[0].Query != "clicks_1m" || b.Done[0].Batch != 1840 || b.Done[0].Arg != "try2" {
		t.Fatalf("%+v", b.Done)
	}
	d.keys("esc :").text("go rides_join").keys("enter")
	d.has("rides_join › batches")
	d.keys(":").text("sql select 1").keys("enter")
	d.has("[3 SQL]", "select 1")
}

func TestCommandsSayWhatTheyDoAndRemember(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys(":").text("stop at once").keys("?")
	d.has("what it does", "queries.stop-now, for keys.yaml", "y or n, default n")
	d.keys("esc esc :").text("colour").keys("enter")
	d.has("theme ")
	d.keys(":")
	d.has("next colour theme", "recent")
	d.keys("esc :").text("ship")
	d.has("ship: the lab as a program for Spark", "not in this version")
}

func TestACopyGoesToAFileWhereNoClipboardIsReached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	d := newDriver(t, 120, 36, screentest.New())
	d.keys(":").text("paste copy").keys("enter")
	d.has("nothing was copied")
	d.keys("y :").text("paste copy").keys("enter").keys("ctrl+u")
	for range 20 {
		d.keys("backspace")
	}
	d.text(path).keys("enter")
	if data, err := os.ReadFile(path); err != nil || len(data) == 0 {
		t.Fatalf("%v %q\n%s", err, data, d.frame())
	}
	if err := writeNew(path, "x"); err == nil {
		t.Error("a file was written over")
	}
}

func TestEventsLeadToWhatTheyAreAbout(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("5 enter")
	d.has("[1 Queries]", "clicks_1m › batch 1841")
	d.keys("5 e")
	d.has("edit lab.yaml › clicks_1m")
	d.keys("esc 5 b")
	d.has("clicks_1m › batch 1841")
}

func TestSuspensionSaysHowLongItWas(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("ctrl+z")
	d.m.clock = func() time.Time { return screentest.Now.Add(90 * time.Second) }
	d.send(tea.ResumeMsg{})
	d.has("was suspended for", "the queries stood still too")
}

// What stands there as a word comes before words that begin with it, those before words that hold it, and last come
// texts that only have its letters.
func TestTheBestFitComesFirst(t *testing.T) {
	p := &palette{ed: widget.Editor{Single: true}}
	for _, s := range []safe.Line{"clear all tables", "new lab from a template", "the later batches", "rows that came late", "stop"} {
		p.all = append(p.all, item{text: s})
	}
	p.ed.Set("late")
	var got []string
	for _, it := range p.shown() {
		got = append(got, string(it.text))
	}
	if want := []string{"rows that came late", "the later batches", "new lab from a template", "clear all tables"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
