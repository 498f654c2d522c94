package lab

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

const adoptable = `lab: a
sources:
  clicks:
    format: memory
    schema: n BIGINT, ts TIMESTAMP, page STRING
    rows:
      - [[1, "2026-01-01 00:00:00", /a], [2, "2026-01-01 00:00:01", /b]]
      - [[3, "2026-01-01 00:10:00", /a]]
views:
  pages: SELECT page, n FROM clicks
queries:
  - queryName: counts
    sql: |
      SELECT page, count(*) AS c FROM pages GROUP BY page
    format: json
    path: out
    options: {checkpointLocation: chk}
    foreachBatch: [SELECT 1]
    start: false
  - queryName: kept
    sql: SELECT page, sum(n) AS s FROM pages GROUP BY page
    format: memory
    outputMode: update
`

func opened(t *testing.T) (*Workbench, string) {
	t.Helper()
	text := strings.Replace(adoptable, "    foreachBatch: [SELECT 1]\n", "", 1)
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(context.Background(), l, engine.Config{Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if _, err := w.Start(context.Background(), "kept", StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Query("kept").ProcessAllAvailable(context.Background()); err != nil {
		t.Fatal(err)
	}
	return w, text
}

func TestAdoptNamesTheRunningQueriesThatChanged(t *testing.T) {
	w, text := opened(t)
	ctx := context.Background()
	adopt := func(old, new string) []Redefinition {
		t.Helper()
		text = strings.Replace(text, old, new, 1)
		list, err := w.Adopt(ctx, []byte(text), engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := adopt("lab: a", "# a comment moves every place\nlab: a"); len(list) != 0 {
		t.Errorf("places alone changed %v", list)
	}
	if list := adopt("count(*) AS c", "count(*) AS d"); len(list) != 0 {
		t.Errorf("a query that does not run is %v", list)
	}
	if list := adopt("sum(n) AS s", "max(n) AS s"); len(list) != 1 || list[0].Query != "kept" || len(list[0].Changes) == 0 {
		t.Errorf("got %+v", list)
	}
	if list := adopt("about", "about"); len(list) != 1 {
		t.Errorf("what was adopted before and not started again must still be said: %+v", list)
	}
	if err := w.Query("kept").StopAfterBatch(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(ctx, "kept", StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if list := adopt("about", "about"); len(list) != 0 {
		t.Errorf("started again it runs as it stands there: %+v", list)
	}
	// A view that a query reads changes the query.
	if list := adopt("SELECT page, n FROM clicks", "SELECT upper(page) AS page, n FROM clicks"); len(list) != 1 {
		t.Errorf("got %+v", list)
	}
}

func TestAdoptRefusesAsAWhole(t *testing.T) {
	w, text := opened(t)
	for _, x := range [][3]string{
		{"SELECT page, n FROM clicks", "SELECT nothing FROM clicks", "UNRESOLVED_COLUMN"},
		{"lab: a", "lab: [", "LAB_SYNTAX"},
		{"queryName: kept", "queryName: other", "LAB_QUERY_RUNS"},
	} {
		_, err := w.Adopt(context.Background(), []byte(strings.Replace(text, x[0], x[1], 1)), engine.Config{})
		if e := errs.As(err); e == nil || !strings.HasPrefix(e.Condition, x[2]) {
			t.Errorf("%s: %v", x[1], err)
		}
	}
	if w.Current() != w.Lab {
		t.Error("a refused text was adopted")
	}
}

func TestPreviewRunsNothing(t *testing.T) {
	_, text := opened(t)
	dir := t.TempDir()
	p, err := PreviewQuery(context.Background(), filepath.Join(dir, "a.yaml"), []byte(text), engine.Config{Out: io.Discard}, "counts", 10)
	if err != nil || p.Err != nil {
		t.Fatal(err, p)
	}
	if got := Cells(p.Rows, p.Schema); len(got) != 2 { // the first micro-batch: /a and /b
		t.Errorf("dry run: %v", got)
	}
	if n := len(p.Outline); n < 3 || !strings.HasPrefix(p.Outline[0], "source memory clicks") || !strings.Contains(p.Outline[n-1], "└ sink json out") ||
		!strings.Contains(strings.Join(p.Outline, "\n"), "aggregate  page → count(1)  [state]") {
		t.Errorf("outline:\n%s", strings.Join(p.Outline, "\n"))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("it left %v behind, %v", entries, err)
	}
	l, err := Parse("a.yaml", "/a.yaml", []byte(text+"steps: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Lines(); got["counts"] != [2]int{12, 18} || got["kept"] != [2]int{19, 22} {
		t.Errorf("lines %v", got)
	}
}
