package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
)

const tablesLab = `
tables:
  kept: {format: delta, schema: n BIGINT}
sources:
  s: {table: kept}
queries:
  - {queryName: q, from: s, format: noop, start: false}
`

// addRow opens the lab of the text in dir and asks how many rows `kept` has after adding one.
func addRow(t *testing.T, dir string) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(dir, "l.yaml")
	if err := os.WriteFile(path, []byte(tablesLab), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := lab.Open(ctx, l, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Session().SQL(ctx, "INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	df, err := w.Session().SQL(ctx, "SELECT count(*) FROM kept")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := df.Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Column(0).ValueStr(0)
}

func TestTablesOfALabOutliveTheSession(t *testing.T) {
	dir := t.TempDir()
	if a, b := addRow(t, dir), addRow(t, dir); a != "1" || b != "2" {
		t.Errorf("%s rows, then %s", a, b)
	}
}

// A crash in the middle of making a table leaves a folder without a commit: it is made then.
func TestATableThatWasHalfMadeIsMade(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".streamlab", "warehouse", "kept", "_delta_log"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := addRow(t, dir); got != "1" {
		t.Errorf("%s rows", got)
	}
}

// Checking a lab writes nothing, although its queries name a table that the lab would make.
func TestCheckMakesNoTable(t *testing.T) {
	dir := t.TempDir()
	l, err := lab.Parse("l.yaml", filepath.Join(dir, "l.yaml"), []byte(tablesLab))
	if err != nil {
		t.Fatal(err)
	}
	if got := lab.Check(context.Background(), l, engine.Config{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
