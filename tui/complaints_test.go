package tui

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/errs"
	"streamlab/tui/screen"
	"streamlab/tui/screen/screentest"
)

// The page of complaints names a test for each, and each test is there.
func TestEveryComplaintHasItsTest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "terminal.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for name := range f.Scope.Objects {
			have[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		if !regexp.MustCompile(`^\| \d+ \|`).MatchString(line) {
			continue
		}
		rows++
		tests := regexp.MustCompile("`(Test\\w+)").FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range tests {
			if !have[m[1]] {
				t.Errorf("there is no %s: %s", m[1], line)
			}
		}
	}
	if rows != 25 {
		t.Errorf("%d complaints, want 25", rows)
	}
}

func TestTheMouseIsTheTerminalsUntilItIsAskedFor(t *testing.T) {
	e := &sink{wait: make(chan struct{})}
	_, keys := runOn(t, e, screentest.New())
	at := e.await(t, 0, "clicks_1m")
	if s := e.text(0); strings.Contains(s, "?1000h") || strings.Contains(s, "?1002h") || strings.Contains(s, "?1003h") {
		t.Errorf("the mouse was taken at the start: %q", s)
	}
	keys.Write([]byte("%"))
	at = e.await(t, at, "\x1b[?1002h")
	keys.Write([]byte("%"))
	e.await(t, at, "\x1b[?1002l")
}

func TestEveryPlaceCopies(t *testing.T) {
	for _, path := range []string{"", "b", "b enter", "G o", "p", "2", "2 enter", "2 enter tab", "5", "v"} {
		d := newDriver(t, 120, 36, screentest.New())
		copied := ""
		d.m.clip = func(s string) (string, error) { copied = s; return "here", nil }
		d.keys(path + " y")
		if copied == "" {
			t.Errorf("y after %q copied nothing: %s", path, d.m.toast)
		}
	}
	d := newDriver(t, 120, 36, screentest.New())
	copied := ""
	d.m.clip = func(s string) (string, error) { copied = s; return "here", nil }
	d.m.push(&card{err: errs.New("LAB_NO_QUERY", "name", "x")})
	d.keys("y")
	if !strings.Contains(copied, "LAB_NO_QUERY") {
		t.Errorf("y on an error copied %q", copied)
	}
}

// The default theme leaves colours to the terminal: no background, none of the palette entries that are
// unreadable somewhere, no colour of its own.
func TestTheDefaultThemeKeepsTheTerminalsColours(t *testing.T) {
	for _, f := range frames {
		var bench screen.Workbench
		if f.lab {
			bench = screentest.New()
		}
		d := newDriver(t, 120, 36, bench)
		f.play(d)
		for _, m := range regexp.MustCompile(`\x1b\[([0-9;]*)m`).FindAllStringSubmatch(d.encoded(), -1) {
			for _, p := range strings.Split(m[1], ";") {
				if !slices.Contains([]string{"", "0", "1", "2", "4", "7", "31", "32", "33", "36"}, p) {
					t.Fatalf("%s: the default theme sends %q", f.name, m[0])
				}
			}
		}
	}
}

// A query's question shows No as the default, names what will happen, and neither Enter nor the key that
// asked is a yes.
func TestTheDefaultAnswerIsNo(t *testing.T) {
	for _, key := range []string{"K", "X"} {
		b := screentest.New()
		d := newDriver(t, 80, 24, b)
		if key == "X" {
			d.keys("G") // only what is stopped can start fresh
		}
		d.keys(key)
		if len(d.m.over) != 1 {
			t.Fatalf("%s did not ask", key)
		}
		for _, answer := range []string{"enter", key, "esc", "n", "space"} {
			d.keys(answer)
			if len(b.Done) != 0 {
				t.Fatalf("%q was taken for a yes to %s", answer, key)
			}
			if len(d.m.over) == 0 {
				d.keys(key)
			}
		}
	}
}

// Lines that were not kept are counted where they are missing, and the end is one key away.
func TestLostLinesAreCountedAndTheEndIsNear(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.m.sh.Bench = droppingBench{screentest.New()}
	d.keys("G o")
	d.keys("g")
	if f := d.frame(); !strings.Contains(f, "12,040") {
		t.Errorf("the lost lines are not counted:\n%s", f)
	}
	d.keys("G")
	if f := d.frame(); !strings.Contains(f, "the newest line") {
		t.Errorf("G does not show the end:\n%s", f)
	}
}

type droppingBench struct{ *screentest.Bench }

func (droppingBench) Console(string) screen.Console {
	lines := make([]string, 5000)
	for i := range lines {
		lines[i] = "|" + strings.Repeat("wide ", 60) + "|"
	}
	lines[len(lines)-1] = "the newest line"
	return screen.Console{Version: 1, Lines: lines, Dropped: 12_040}
}

// New lines do not reset where a person scrolled to the right.
func TestFollowingKeepsTheColumn(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.m.sh.Bench = droppingBench{screentest.New()}
	d.keys("G o right right right")
	before := d.frame()
	d.m.dirty = true
	d.run(d.m.wake())
	if after := d.frame(); after != before {
		t.Errorf("the view moved:\n%s\n%s", before, after)
	}
	if strings.Contains(before, "|wide") {
		t.Errorf("right did not scroll:\n%s", before)
	}
}

// A storm of wheel events does not starve the keyboard.
func TestTheWheelDoesNotStarveTheKeyboard(t *testing.T) {
	d := newDriver(t, 200, 50, screentest.New())
	d.keys("%")
	began := time.Now()
	for range 5000 {
		d.m.Update(tea.MouseMsg{Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	}
	d.keys("5")
	if took := time.Since(began); took > time.Second {
		t.Errorf("5,000 wheel events and a key took %v", took)
	}
	if d.m.tab != 4 {
		t.Error("the key was lost")
	}
}

// Every key of the table is one that every terminal sends, and none is a chord of three.
func TestEveryKeyCanBePressedEverywhere(t *testing.T) {
	for _, b := range table {
		for _, k := range b.Keys {
			if !keyExists(k) || k == "ctrl+a" || k == "ctrl+b" {
				t.Errorf("%s.%s: %q", b.Scope, b.Action, k)
			}
		}
	}
	for _, k := range []string{"ctrl+enter", "shift+enter", "f5", "alt+x", "ctrl+shift+a", "ctrl+i", "ctrl+m", "ctrl+h", "ctrl+["} {
		if keyExists(k) {
			t.Errorf("%s is taken for a key that every terminal sends", k)
		}
	}
	for key, a := range map[string]screen.Action{"h": screen.Left, "j": screen.Down, "k": screen.Up, "l": screen.Right, "g": screen.First, "G": screen.Last} {
		if b := rebind(nil).lookup(screen.InBatches, key); b == nil || b.Action != a {
			t.Errorf("%s does not move", key)
		}
	}
}

// Help, key line and palette are the key table: every action is found, and what cannot run says why.
func TestEveryActionIsInThePaletteWithAReason(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys(":")
	p, ok := d.m.over[0].(*palette)
	if !ok {
		t.Fatal("no palette")
	}
	have := map[screen.Action]bool{}
	for _, it := range p.all {
		if it.b == nil {
			continue
		}
		if have[it.b.Action] {
			t.Errorf("%s is listed twice", it.b.Action)
		}
		have[it.b.Action] = true
		if it.b.Scope != d.m.front().Scope() && it.b.Scope != screen.Everywhere && it.why == "" {
			t.Errorf("%s does not say why it cannot run here", it.b.Action)
		}
	}
	for _, b := range table {
		if !have[b.Action] {
			t.Errorf("%s.%s is not in the palette", b.Scope, b.Action)
		}
	}
}

func TestFocusStaysInTheEditor(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("3").text("SELECT page FROM top_pages;").keys("enter").text("x")
	if f := d.frame(); !strings.Contains(f, "top_pages;x") || !strings.Contains(f, "/home") {
		t.Errorf("what is typed after a run does not reach the editor:\n%s", f)
	}
}

// The whole of a long value is one key away.
func TestALongValueIsSeenWhole(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("3").text("SELECT * FROM hostile;").keys("enter")
	for d.m.front().(screen.Typer).Typing() {
		d.keys("esc")
	}
	d.keys("right space")
	if len(d.m.over) != 1 {
		t.Fatalf("space did not open the cell:\n%s", d.frame())
	}
	if f := d.frame(); !strings.Contains(f, `"b": "x"`) {
		t.Errorf("the cell is not shown whole:\n%s", f)
	}
}
