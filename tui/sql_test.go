package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"streamlab/internal/safe"
	"streamlab/tui/screen/screentest"
)

func (d *driver) has(want ...string) {
	d.t.Helper()
	f := d.frame()
	for _, w := range want {
		if !strings.Contains(f, w) {
			d.t.Fatalf("the frame does not show %q:\n%s", w, f)
		}
	}
}

func (d *driver) hasNot(bad ...string) {
	d.t.Helper()
	f := d.frame()
	for _, w := range bad {
		if strings.Contains(f, w) {
			d.t.Fatalf("the frame shows %q:\n%s", w, f)
		}
	}
}

func TestSQLCompletion(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("3").text("sel")
	d.has("┌ complete", "select", "keyword")
	d.keys("enter").text(" ")
	d.hasNot("complete")
	d.text("pa")
	d.has("page", "text")
	d.keys("esc").text(" from to")
	d.has("top_pages", "table")
	d.keys("tab")
	d.has("select pa from top_pages")
	d.text(" t where t.")
	d.has("window_start", "_batch_id")
	d.keys("down down enter")
	d.has("where t.count")
	d.text(" in (cou")
	d.has("function")
	d.keys("down enter") // the column count goes first
	d.has("in (count(")
}

// The popup stays inside the screen at the right and the bottom edge.
func TestSQLCompletionAtTheEdges(t *testing.T) {
	for _, s := range [][2]int{{60, 16}, {80, 24}, {120, 36}, {200, 50}} {
		d := newDriver(t, s[0], s[1], screentest.New())
		d.keys("3").text("SELECT " + strings.Repeat("x", s[0]-20) + ", wi")
		d.has("complete", "window_start")
		checkWidth(t, d.frame(), s[0], s[1])
		d.keys("esc")
		for range 40 {
			d.keys("enter")
		}
		d.text("wi")
		d.has("complete", "window_start")
		checkWidth(t, d.frame(), s[0], s[1])
	}
}

func TestSQLRunHistoryAndDoors(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("3").text("SELECT 1;").keys("enter")
	d.has("412 rows", "as of batch 88")
	d.text("x") // the focus stayed in the editor
	d.has("SELECT 1;x")
	d.keys("ctrl+p ctrl+p")
	d.has("SELECT * FROM scores")
	d.keys("ctrl+n ctrl+n")
	d.has("SELECT 1;x")
	d.keys("ctrl+x")
	d.has("SQL · Spark", "result of SQLite")
	d.keys("backspace ctrl+r")
	d.has("n bigint")
	d.keys("esc d")
	d.has("SQL · SQLite")
	if past, _, _ := b.Statements(nil); past[len(past)-1].SQL != "SELECT 1" { //nolint:staticcheck // the fake looks at no context
		t.Errorf("remembered %q", past[len(past)-1].SQL)
	}
}

// Of several statements the one with the cursor runs.
func TestSQLRunsTheStatementOfTheCursor(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("3").text("SELECT 1; SELECT 2;\nSELECT ';', 3;").keys("up ctrl+r")
	d.keys("home ctrl+r down end ctrl+r")
	if got := strings.Join(b.Asked, "|"); got != "SELECT 2|SELECT 1|SELECT ';', 3" {
		t.Errorf("ran %s", got)
	}
}

func TestSQLRefusalsSayTheRule(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("3").text("DELETE FROM scores;").keys("enter")
	d.has("SQLITE_REFUSED", "only queries write to it")
	d.keys("ctrl+x ctrl+r")
	d.has("SQL_DOOR_WRITES", "The rule: the workbench's SQL tab")
}

func TestSQLFetchesMoreOnScroll(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("3").text("SELECT * FROM many;").keys("enter esc")
	d.has("first 1,000 of 48,210 rows")
	d.keys("G")
	d.has("first 10,000 of 48,210 rows")
	d.keys("G")
	d.has("of 48,210 rows")
	d.keys("G")
	d.has("48,209")
	if len(b.Limits) != 3 || b.Limits[2] != 100_000 {
		t.Errorf("limits %v", b.Limits)
	}
}

func TestSQLManyColumns(t *testing.T) {
	d := newDriver(t, 80, 24, screentest.New())
	d.keys("3").text("SELECT * FROM wide;").keys("enter esc")
	for range 199 {
		d.keys("right")
	}
	d.has("c199 text", "c0 text")
	checkWidth(t, d.frame(), 80, 24)
}

func TestSQLHostileCells(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("3").text("SELECT * FROM hostile;").keys("enter esc")
	for range 4 {
		checkWidth(t, d.frame(), 120, 36)
		for _, l := range strings.Split(d.frame(), "\n") {
			if i := strings.Index(l, "│"); i >= 0 && safe.Width(safe.Line(l[:i])) != 28 {
				t.Fatalf("the border moved: %q", l)
			}
		}
		if strings.ContainsAny(d.frame(), "\x1b\x07") || strings.Contains(d.frame(), "‮") {
			t.Fatal("a control character reached the screen")
		}
		d.keys("enter")
		checkWidth(t, d.frame(), 120, 36)
		d.keys("esc down")
	}
	d.keys("g right enter")
	d.has("· JSON", `      "b": "x"`)
}

func TestSQLLiveMarksChanges(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	now := screentest.Now
	d.m.clock = func() time.Time { return now }
	d.keys("3").text("SELECT * FROM moving;").keys("enter ctrl+t")
	d.has("· live ")
	tick := func() {
		b.Advance(now)
		d.send(tickMsg(d.m.ticks))
	}
	now = now.Add(500 * time.Millisecond)
	tick()
	if len(b.Asked) != 1 {
		t.Fatalf("ran %d times within a second", len(b.Asked))
	}
	now = now.Add(600 * time.Millisecond)
	tick()
	if len(b.Asked) != 2 {
		t.Fatalf("ran %d times", len(b.Asked))
	}
	plain := func() string { return d.encoded() }
	marked := plain()
	now = now.Add(1100 * time.Millisecond)
	d.keys("esc esc")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	if !strings.Contains(marked, "\x1b[0;1;33m2") || strings.Contains(plain(), "\x1b[0;1;33m") && len(b.Asked) == 2 {
		t.Errorf("the changed cell must be marked for a second:\n%q", marked)
	}
}

func TestSQLExport(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("3").text("SELECT * FROM hostile;").keys("enter esc w")
	d.has("Export the rows", "CSV", "Markdown", "result.csv")
	d.keys("right right")
	d.has("result.jsonl")
	d.keys("enter")
	d.has("4 rows written to /home/me/result.jsonl")
	want := `{"\u001b[31mname": "\u001b]52;c;aGk=\u0007", "v": "{\"a\": [1, {\"b\": \"x\"}]}"}` + "\n"
	if got := b.Files["/home/me/result.jsonl"]; !strings.HasPrefix(got, want) || !strings.Contains(got, `"v": null}`) {
		t.Errorf("got %s", got)
	}
	d.keys("w left tab tab ctrl+u").text("taken.csv").keys("enter")
	d.has("Replace the file?", "/home/me/taken.csv is there already")
	d.keys("enter")
	if _, ok := b.Files["/home/me/taken.csv"]; ok {
		t.Fatal("enter replaced a file")
	}
	d.keys("w left tab tab ctrl+u").text("taken.csv").keys("enter y")
	if got := b.Files["/home/me/taken.csv"]; !strings.HasSuffix(got, "| a\\|b<br>c | =1+1 |\n") {
		t.Errorf("Markdown: %q", got)
	}
	d.keys("w enter")
	if got := b.Files["/home/me/result.csv"]; !strings.Contains(got, "'=1+1") {
		t.Errorf("CSV: %q", got)
	}
}

func TestSQLSavedStatements(t *testing.T) {
	b := screentest.New()
	d := newDriver(t, 80, 24, b)
	d.keys("3").text("SELECT 42;").keys("ctrl+s").text("answer").keys("enter")
	d.has("saved as answer")
	d.keys("ctrl+f")
	d.has("1 answer", "top 10 pages")
	d.keys("3")
	d.has("SELECT page FROM top_pages LIMIT 10")
	d.keys("ctrl+f x y ctrl+f")
	d.hasNot("1 answer")
}

func TestSQLCatalogPane(t *testing.T) {
	d := newDriver(t, 120, 36, screentest.New())
	d.keys("3 tab tab down enter")
	d.has("SELECT * FROM top_pages;")
	d.keys("esc tab down enter")
	d.has("top_pages;window_start")
}
