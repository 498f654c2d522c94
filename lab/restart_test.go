package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

const restartLab = `lab: restart
sources:
  s:
    format: json
    path: in
    schema: k STRING, v INT
queries:
  - queryName: q
    sql: SELECT k, count(*) AS n FROM s GROUP BY k
    outputMode: update
    format: console
    trigger: {availableNow: true}
    options: {checkpointLocation: chk}
`

// A changed lab is held against its checkpoint; what is refused has a place in the file.
func TestRestartsOfALab(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in", "1.json"), []byte("{\"k\":\"a\",\"v\":1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "restart.yaml")
	load := func(text string) *lab.Lab {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := lab.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ctx := context.Background()
	l := load(restartLab)
	if r := lab.Restarts(ctx, l, engine.Config{}); len(r) != 0 {
		t.Fatalf("a lab that never ran differs: %+v", r)
	}
	w, err := lab.Open(ctx, l, engine.Config{Out: &strings.Builder{}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := w.Start(ctx, "q", lab.StartOptions{})
	if err == nil {
		err = q.AwaitTermination(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r := lab.Restarts(ctx, l, engine.Config{}); len(r) != 0 {
		t.Errorf("an unchanged lab differs: %+v", r)
	}
	r := lab.Restarts(ctx, load(strings.Replace(restartLab, "count(*) AS n", "count(*) AS n, max(v) AS m", 1)), engine.Config{})
	if len(r) != 1 || len(r[0].Changes) == 0 || r[0].Changes[0].Verdict != engine.Refused {
		t.Fatalf("restarts %+v", r)
	}
	e := r[0].Changes[0].Err
	if !errs.Has(e, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE") || e.Pos.Line != 9 || e.Hint == "" {
		t.Errorf("refused by %v at %v, hint %q", e, e.Pos, e.Hint)
	}
}
