//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
)

const askable = `
sources: {lines: {format: text, path: in, options: {maxFilesPerTrigger: 1}}}
queries:
  - {queryName: q, sql: "SELECT value, count(*) AS n FROM lines GROUP BY value", format: memory, outputMode: update, trigger: {availableNow: true},
     options: {checkpointLocation: chk}}
`

func TestDoorsOfAnOpenLab(t *testing.T) {
	ctx := context.Background()
	b := opened(t, askable)
	b.settle(t, "q")
	for _, c := range []struct {
		door screen.Door
		sql  string
		want string
	}{
		{screen.SQLiteDoor, "SELECT n, _batch_id FROM q ORDER BY n", "1|0 2|1 3|2"},
		{screen.SQLiteDoor, "SELECT value, n FROM q_latest", "x|3"},
		{screen.SQLiteDoor, "SELECT batch_id, rows_in FROM batches WHERE query = 'q' ORDER BY 1", "0|1 1|1 2|1"},
		{screen.SQLiteDoor, "SELECT count(*) > 3 FROM events WHERE query = 'q'", "1"},
		{screen.SparkDoor, "SELECT count(*) FROM lines", "3"},
		{screen.SparkDoor, "SELECT max(n) FROM q", "3"},
		{screen.SparkDoor, "SELECT upper(value) FROM lines LIMIT 1", "X"},
	} {
		r, err := b.Ask(ctx, c.door, c.sql, 100)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		var out []string
		for _, row := range r.Rows {
			var cells []string
			for _, x := range row {
				cells = append(cells, x.Text)
			}
			out = append(out, strings.Join(cells, "|"))
		}
		if got := strings.Join(out, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.sql, got, c.want)
		}
	}
	r, err := b.Ask(ctx, screen.SQLiteDoor, "SELECT n FROM q_latest", 100)
	if err != nil || r.Batch != 2 {
		t.Errorf("as of batch %d, %v", r.Batch, err)
	}
	if r, err = b.Ask(ctx, screen.SparkDoor, "SELECT value FROM lines", 2); err != nil || !r.More || len(r.Rows) != 2 {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := b.Ask(ctx, screen.SparkDoor, "CREATE TABLE t (a INT)", 1); !errs.Has(err, "SQL_DOOR_WRITES") {
		t.Error(err)
	}
	if _, err := b.Ask(ctx, screen.SQLiteDoor, "SELECT * FROM lines", 1); err == nil || !strings.Contains(errs.As(err).Hint, "lines is a source, which is read at the Spark door") {
		t.Errorf("%+v", err)
	}
	if _, err := b.Ask(ctx, screen.SQLiteDoor, "DELETE FROM q", 1); !errs.Has(err, "SQLITE_REFUSED") {
		t.Error(err)
	}
	for d, want := range map[screen.Door]string{screen.SQLiteDoor: "q q_latest batches events", screen.SparkDoor: "lines q"} {
		list, err := b.Names(ctx, d)
		var names []string
		for _, x := range list {
			names = append(names, x.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%v: %s, %v", d, got, err)
		}
	}
}

func TestStatementsOutliveTheProgram(t *testing.T) {
	ctx := context.Background()
	b := opened(t, askable)
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, s := range []string{"SELECT 1", "SELECT\n2"} {
		if err := b.Remember(ctx, screen.Past{SQL: s, Door: screen.SparkDoor, Rows: 1, At: at}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(b.statementFile("history.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"sql":"cut sho`) // by a crash
	f.Close()
	for _, s := range []screen.Saved{{Name: "b", SQL: "SELECT 2"}, {Name: "a", SQL: "SELECT 1"}, {Name: "b", SQL: "SELECT 3"}} {
		if err := b.SaveStatement(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	past, saved, err := b.Statements(ctx)
	if err != nil || len(past) != 2 || past[1].SQL != "SELECT\n2" || !past[1].At.Equal(at) || past[0].Door != screen.SparkDoor {
		t.Errorf("%v %+v", err, past)
	}
	if len(saved) != 2 || saved[0].Name != "a" || saved[1].SQL != "SELECT 3" {
		t.Errorf("%+v", saved)
	}
	if err := b.SaveStatement(ctx, screen.Saved{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, saved, _ = b.Statements(ctx); len(saved) != 1 {
		t.Errorf("%+v", saved)
	}
	place, there, err := b.WriteFile(ctx, filepath.Join(t.TempDir(), "x.csv"), "a\n", false)
	if err != nil || there {
		t.Fatal(err)
	}
	if _, there, err = b.WriteFile(ctx, place, "b\n", false); err != nil || !there {
		t.Errorf("an export replaced a file: %v", err)
	}
	if _, _, err = b.WriteFile(ctx, place, "b\n", true); err != nil {
		t.Error(err)
	}
	if raw, _ := os.ReadFile(place); string(raw) != "b\n" {
		t.Errorf("%q", raw)
	}
}

func TestLabFilesAreSavedAndDrafted(t *testing.T) {
	ctx := context.Background()
	b := opened(t, askable)
	path := b.Lab().Path
	f, err := b.ReadLab(ctx, path)
	if err != nil || f.Text != askable || f.Draft != "" {
		t.Fatalf("%v %+v", err, f)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := b.KeepDraft(ctx, path, "half", f.Stamp); err != nil {
		t.Fatal(err)
	}
	w := &wright{a: b.wright.a} // another process
	if g, err := w.ReadLab(ctx, path); err != nil || g.Draft != "half" || g.DraftOld {
		t.Errorf("%v %+v", err, g)
	}
	if err := os.WriteFile(path, []byte("lab: theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if g, _ := w.ReadLab(ctx, path); !g.DraftOld {
		t.Error("the file changed since the draft began")
	}
	if _, changed, err := b.SaveLab(ctx, path, "lab: mine\n", f.Stamp); err != nil || !changed {
		t.Errorf("the file of the other was overwritten: %v", err)
	}
	stamp, changed, err := b.SaveLab(ctx, path, "lab: mine\n", "")
	if err != nil || changed {
		t.Fatal(err)
	}
	if g, _ := w.ReadLab(ctx, path); g.Draft != "" || g.Stamp != stamp {
		t.Errorf("%+v", g)
	}
	if _, _, err := b.SaveLab(ctx, link, "lab: linked\n", ""); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(link)
	raw, _ := os.ReadFile(path)
	if err != nil || st.Mode()&os.ModeSymlink == 0 || string(raw) != "lab: linked\n" {
		t.Errorf("a link was replaced: %v %q", st.Mode(), raw)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("permissions are %v now", st.Mode())
	}
}

func TestTheVerdictOfALabText(t *testing.T) {
	ctx := context.Background()
	b := opened(t, askable)
	text := strings.Replace(askable, "outputMode: update", "outputMode: append", 1)
	v, err := b.CheckLab(ctx, b.Lab().Path, text)
	if err != nil || len(v.Problems) != 1 || len(v.Queries) != 1 || v.Problems[0].Query != "q" || v.Problems[0].Why == "" || len(v.Problems[0].Fixes) == 0 {
		t.Fatalf("%v %+v", err, v)
	}
	if q := v.Queries[0]; q.Line != 4 || q.Last != 5 || q.Modes[0].OK || !q.Modes[1].OK || !q.Modes[2].OK {
		t.Errorf("%+v", q)
	}
	p, err := b.PlanQuery(ctx, b.Lab().Path, text, "q", true)
	if err != nil || p.RowErr != nil || len(p.Rows.Rows) != 1 || len(p.Accept) != 6 || len(p.Schema) != 2 {
		t.Errorf("%v %+v", err, p)
	}
}

func TestSQLCommand(t *testing.T) {
	b := opened(t, askable)
	b.settle(t, "q")
	path := b.Lab().Path
	if err := b.w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "s.sql")
	if err := os.WriteFile(file, []byte("SELECT ';' AS a;\n-- done\nSELECT 2 AS b;"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, in, want string
		code           int
	}{
		{"-c|SELECT max(n) AS n FROM q|-c|SELECT 1 AS one; SELECT 2 AS two", "", "n 3 one 1 two 2", 0},
		{"-f|" + file, "", "a ; b 2", 0},
		{"-f|-", "SELECT 5\n AS five", "five 5", 0},
		{"", "SELECT 6 AS six\n\nSELECT 7 AS seven\n", "six 6 seven 7", 0},
		{"--door|spark|-c|SELECT count(*) AS c FROM lines", "", "c 3", 0},
		{"--spark|-c|CREATE TEMPORARY VIEW v AS SELECT 4 AS four|-c|SELECT * FROM v", "", "four 4", 0},
		{"-c|SELECT batch_id, rows_in FROM batches ORDER BY 1", "", "batch_id rows_in 0 1 1 1 2 1", 0},
		{"-c|DELETE FROM q", "", "", 1},
		{"--door|front|-c|SELECT 1", "", "", 2},
	} {
		var out, said strings.Builder
		a := &app{in: strings.NewReader(c.in), out: &out, err: &said}
		args := []string{"sql", path}
		if c.args != "" {
			args = append(args, strings.Split(c.args, "|")...)
		}
		code := a.run(context.Background(), args)
		if got := strings.Join(strings.Fields(out.String()), " "); code != c.code || got != c.want {
			t.Errorf("%s: exit %d, printed %q, want %q; said %s", c.args, code, got, c.want, said.String())
		}
	}
}
