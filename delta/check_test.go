package delta

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// checkedTable is a table of eleven commits of a hundred rows, with a checkpoint.
func checkedTable(t *testing.T, props map[string]string) *Log {
	t.Helper()
	l := Open(t.TempDir())
	l.Durable = false
	for i := range 11 {
		txn, err := l.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			err = txn.Change(func(m *Metadata, _ types.Schema) types.Schema {
				for k, v := range props {
					m.set(k, v)
				}
				return idSchema
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w, err := txn.Write(context.Background(), []columnar.Partition{numbers{100 * i, 100}}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := txn.Commit(Operation{Name: "WRITE"}, w.Actions()); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestCheckFindsDamage(t *testing.T) {
	edit := func(t *testing.T, path string, f func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		after := f(string(text))
		if after == string(text) {
			t.Fatal("nothing is changed")
		}
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data := func(l *Log, n int) string { return filepath.Join(l.Root, l.Known().Files()[n].Path) }
	for _, c := range []struct {
		name, problem string
		damage        func(t *testing.T, l *Log)
	}{
		{"nothing", "", func(*testing.T, *Log) {}},
		{"a file is gone", "missing_file", func(t *testing.T, l *Log) { os.Remove(data(l, 3)) }},
		{"a file is longer", "wrong_size", func(t *testing.T, l *Log) {
			edit(t, data(l, 3), func(s string) string { return "PAR1" + s[4:] + "" + s[len(s)-8:] })
		}},
		{"a file is no Parquet", "unreadable_file", func(t *testing.T, l *Log) {
			edit(t, data(l, 3), func(s string) string { return strings.Repeat("x", len(s)) })
		}},
		{"a bound is too low", "wrong_stats", func(t *testing.T, l *Log) {
			removeCheckpoints(t, l)
			edit(t, l.CommitPath(4), func(s string) string {
				return strings.Replace(s, `\"maxValues\":{\"id\":499}`, `\"maxValues\":{\"id\":498}`, 1)
			})
		}},
		{"rows are miscounted", "wrong_stats", func(t *testing.T, l *Log) {
			removeCheckpoints(t, l)
			edit(t, l.CommitPath(4), func(s string) string { return strings.Replace(s, `\"numRecords\":100`, `\"numRecords\":99`, 1) })
		}},
		{"the checkpoint and the log differ", "wrong_checkpoint", func(t *testing.T, l *Log) {
			edit(t, l.CommitPath(4), func(s string) string { return strings.Replace(s, `"path":"part-`, `"path":"qart-`, 1) })
		}},
		{"the checksum differs", "wrong_checksum", func(t *testing.T, l *Log) {
			os.WriteFile(filepath.Join(l.dir(), "00000000000000000010.crc"), []byte(`{"tableSizeBytes":1,"numFiles":11}`), 0o644)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := checkedTable(t, nil)
			c.damage(t, l)
			r, err := Open(l.Root).Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c.problem == "" {
				if len(r.Findings) > 0 || r.Rows != 1100 || r.Files != 11 || r.Version != 10 || r.Checkpoints != 1 {
					t.Errorf("%+v", r)
				}
				return
			}
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Problem == c.problem }) {
				t.Errorf("found %+v, want %s", r.Findings, c.problem)
			}
		})
	}
}

func removeCheckpoints(t *testing.T, l *Log) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.dir(), "*checkpoint*"))
	if len(files) == 0 {
		t.Fatal("there is no checkpoint")
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// What others wrote is in order, as far as this program reads it.
func TestCheckGoldenTables(t *testing.T) {
	dir := goldenDir(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, fake := noData[e.Name()]; fake || refused[e.Name()] != "" || !e.IsDir() || e.Name() == "table-with-dv-large" {
			continue
		}
		r, err := Open(filepath.Join(dir, e.Name(), "delta")).Check(context.Background())
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		for _, f := range r.Findings {
			t.Errorf("%s: %s %s %s", e.Name(), f.Problem, f.File, f.Detail)
		}
	}
}

// Statements that would give rows other ids are refused where rows are tracked; others are not.
func TestRowTrackingKeepsIDs(t *testing.T) {
	l := checkedTable(t, map[string]string{"delta.enableRowTracking": "true"})
	s, err := l.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	a := s.Files()[0]
	for _, c := range []struct {
		op      string
		add     bool
		refused bool
	}{{"UPDATE", true, true}, {"OPTIMIZE", true, true}, {"MERGE", true, true}, {"DELETE", true, true}, {"DELETE", false, false}} {
		txn, err := l.Begin()
		if err != nil {
			t.Fatal(err)
		}
		acts := []Action{{Remove: removal(a, 1, true, statsNone)}}
		if c.add {
			b := *a
			b.Path, b.BaseRowID, b.DefaultRowCommitVersion = "other.parquet", nil, nil
			acts = append(acts, Action{Add: &b})
		}
		if _, err := txn.Commit(Operation{Name: c.op}, acts); errs.Has(err, "UNSUPPORTED_FEATURE") != c.refused {
			t.Errorf("%s, add %v: %v", c.op, c.add, err)
		}
	}
}
