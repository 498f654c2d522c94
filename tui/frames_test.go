package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/internal/safe"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

var update = flag.Bool("update", false, "write the golden frames")

// driver is a camera that tests look behind.
type driver struct {
	t *testing.T
	*Camera
}

func newDriver(t *testing.T, w, h int, bench screen.Workbench) *driver {
	return &driver{t, NewCamera(Options{Gallery: screentest.Gallery{}, Workbench: bench}, w, h, screentest.Now)}
}

func noTimer(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }

func (d *driver) keys(names string) *driver { d.Keys(names); return d }

func (d *driver) text(s string) *driver { d.Type(s); return d }

// encoded is the frame as the terminal gets it.
func (d *driver) encoded() string { _ = d.m.View(); return strings.Join(d.m.frame, "\n") }

func (d *driver) frame() string { _ = d.m.View(); return d.m.cv.Text() }

// frames are the screens that are kept as pictures: which keys lead there.
var frames = []struct {
	name string
	lab  bool
	play func(d *driver)
}{
	{"welcome", false, func(d *driver) { d.keys("down down") }},
	{"queries", true, func(d *driver) {}},
	{"failed", true, func(d *driver) { d.keys("G") }},
	{"batches", true, func(d *driver) { d.keys("b down") }},
	{"charts", true, func(d *driver) { d.keys("v [ [ [") }},
	{"chart", true, func(d *driver) { d.keys("v down z") }},
	{"queries-plain", true, func(d *driver) { d.m.plain() }},
	{"checkpoint-plain", true, func(d *driver) { d.m.plain(); d.keys("c") }},
	{"charts-plain", true, func(d *driver) { d.m.plain(); d.keys("v {") }},
	{"modes", true, func(d *driver) { d.keys("m p").text("0 2 2").keys("enter . . .") }},
	{"modes-closed", true, func(d *driver) { d.keys("m . . . . .").keys("[ z") }},
	{"modes-late", true, func(d *driver) { d.keys("down m . . . . .") }},
	{"modes-change", true, func(d *driver) { d.keys("m . e down") }},
	{"crash", true, func(d *driver) { d.keys("4 x space space space enter") }},
	{"crash-first", true, func(d *driver) { d.keys("4 x s left") }},
	{"crash-tried", true, func(d *driver) { d.keys("4 x enter enter i space enter i left enter enter g enter enter") }},
	{"batch", true, func(d *driver) { d.keys("b enter down") }},
	{"batch-followed", true, func(d *driver) { d.keys("b enter down tab enter") }},
	{"batch-late", true, func(d *driver) { d.keys("b enter") }},
	{"batch-coming", true, func(d *driver) { d.m.sh.Bench = half{d.m.sh.Bench.(*screentest.Bench)}; d.keys("b enter") }},
	{"batch-empty", true, func(d *driver) { d.keys("down b enter").keys("[ [") }},
	{"batch-once", true, func(d *driver) { d.keys("G b enter") }},
	{"batch-purged", true, func(d *driver) { d.keys("b G enter") }},
	{"batch-plain", true, func(d *driver) { d.m.plain(); d.keys("b enter down tab enter") }},
	{"report", true, func(d *driver) { d.keys("b enter v down") }},
	{"console", true, func(d *driver) { d.keys("G o") }},
	{"plan", true, func(d *driver) { d.keys("p") }},
	{"checkpoints", true, func(d *driver) { d.keys("2") }},
	{"checkpoint", true, func(d *driver) { d.keys("c") }},
	{"editor", true, func(d *driver) { d.keys("e ctrl+n").text(" ") }},
	{"editor-sound", true, func(d *driver) { d.keys("down down down e").text("x").keys("backspace ctrl+t") }},
	{"editor-fixed", true, func(d *driver) { d.keys("e ctrl+f 2") }},
	{"export", true, func(d *driver) { d.keys("3").text("SELECT 1;").keys("enter esc w") }},
	{"completion", true, func(d *driver) { d.keys("3").text("SELECT page, su") }},
	{"checkpoint-history", true, func(d *driver) { d.keys("c tab enter tab down") }},
	{"checkpoint-diff", true, func(d *driver) { d.keys("c d [ [ [ [ [ [ [ [ [ [") }},
	{"checkpoint-key", true, func(d *driver) { d.keys("c /").text("/home").keys("enter") }},
	{"checkpoint-damaged", true, func(d *driver) { damage(d); d.keys("2 down enter") }},
	{"checkpoint-held", true, func(d *driver) { damage(d); d.keys("2 down down enter") }},
	{"sql", true, func(d *driver) {
		d.keys("3").text("SELECT page, sum(count) AS n\nFROM top_pages;").keys("enter esc")
	}},
	{"labs", true, func(d *driver) { d.keys("4 down down") }},
	{"steps", false, func(d *driver) { d.keys("down down enter enter") }},
	{"step-answer", false, func(d *driver) { d.keys("down down enter enter enter enter").text("no, it is late").keys("enter") }},
	{"step-asked", false, func(d *driver) { d.keys("down down enter enter enter enter") }},
	{"lesson-done", false, func(d *driver) {
		d.keys("down down enter enter enter enter enter").keys("down enter down enter down enter")
	}},
	{"new-lab", false, func(d *driver) { d.keys("a") }},
	{"events", true, func(d *driver) { d.keys("5 down down down down") }},
	{"help", true, func(d *driver) { d.keys("?") }},
	{"commands", true, func(d *driver) { d.keys(":").text("start or stop") }},
	{"stop-now", true, func(d *driver) { d.keys("K") }},
	{"error", true, func(d *driver) { d.keys("G enter") }},
	{"quit", true, func(d *driver) { d.keys("q") }},
	{"rewind", true, func(d *driver) { d.keys("2 down down down enter [ [ R").text("top") }},
}

// damage makes the second checkpoint damaged and the third one held by another process.
func damage(d *driver) {
	b := d.m.sh.Bench.(*screentest.Bench)
	b.Break("orders_dedup", &screen.CheckpointInfo{Query: "orders_dedup", Location: "./orders", Lost: []int64{301, 307}, Whole: 300,
		Problem: errs.New("CHECKPOINT_LOST_COMMITS", "checkpointLocation", "./orders", "range", "301 to 307", "what", "committed")})
	b.Break("rides_join", &screen.CheckpointInfo{Query: "rides_join", Location: "./rides", Whole: -1,
		Owner: "process 4711 on laptop since 2026-01-05T12:00:00Z", Problem: errs.New("CHECKPOINT_IN_USE", "checkpointLocation", "./rides",
			"pid", "4711", "host", "laptop", "since", "2026-01-05T12:00:00Z")})
}

var sizes = [][2]int{{80, 24}, {120, 36}, {200, 50}, {60, 16}}

func TestFrames(t *testing.T) {
	for _, f := range frames {
		for _, s := range sizes {
			name := fmt.Sprintf("%s-%dx%d", f.name, s[0], s[1])
			t.Run(name, func(t *testing.T) {
				var bench screen.Workbench
				if f.lab {
					bench = screentest.New()
				}
				d := newDriver(t, s[0], s[1], bench)
				f.play(d)
				compare(t, name, d.frame())
				checkWidth(t, d.frame(), s[0], s[1])
			})
		}
	}
	t.Run("small", func(t *testing.T) {
		d := newDriver(t, 59, 15, screentest.New())
		compare(t, "small-59x15", d.frame())
	})
}

func checkWidth(t *testing.T, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) != h {
		t.Errorf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := safe.Width(safe.Line(l)); n > w {
			t.Errorf("line %d is %d wide, want at most %d", i, n, w)
		}
	}
}

var countOf = regexp.MustCompile(`\d+ of \d+`)

func compare(t *testing.T, name, got string) {
	t.Helper()
	if strings.HasPrefix(name, "commands-") { // how many commands there are is no matter of the picture
		got = countOf.ReplaceAllStringFunc(got, func(s string) string { return strings.Repeat(" ", len(s)-6) + "n of n" })
	}
	path := filepath.Join("testdata", "frames", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Errorf("line %d\n want %q\n  got %q", i+1, a, b)
		}
	}
}
