//go:build cgo

package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sinks/memory"
	"streamlab/sinks/sinktest"
	"streamlab/sql/types"
)

// batchOf makes a batch of rows "a,b" under a schema of strings.
func batchOf(t *testing.T, schema types.Schema, id int64, mode sinks.OutputMode, rows ...string) sinks.Batch {
	t.Helper()
	var lines []string
	for _, r := range rows {
		m := map[string]string{}
		for i, c := range strings.Split(r, ",") {
			m[schema[i].Name] = c
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
	}
	var parts []string
	if len(lines) > 0 {
		parts = []string{strings.Join(lines, "\n")}
	}
	b := sinktest.Batch(t, id, schema.DDL(), parts...)
	b.Mode = mode
	return b
}

func ask(t *testing.T, dir, text string, views ...memory.View) string {
	t.Helper()
	a, err := memory.Door(dir).Ask(context.Background(), memory.Question{Text: text, Guarded: true, Views: views})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	for _, r := range a.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.Text)
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return strings.Join(a.Columns, ",") + ": " + strings.Join(out, " ")
}

func TestBatchIdAndLatest(t *testing.T) {
	dir := t.TempDir()
	schema, err := types.ParseDDL("page STRING, n STRING")
	if err != nil {
		t.Fatal(err)
	}
	def := sinks.Def{Dir: dir, QueryName: "top", QueryID: "1", Mode: sinks.Update, Schema: schema, Keys: []int{0}}
	s, err := memory.New(def)
	if err != nil {
		t.Fatal(err)
	}
	add := func(b sinks.Batch) {
		t.Helper()
		if err := s.AddBatch(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	add(batchOf(t, schema, 0, sinks.Update, "/a,1", "/b,1"))
	add(batchOf(t, schema, 1, sinks.Update))
	add(batchOf(t, schema, 2, sinks.Update, "/a,2"))
	add(batchOf(t, schema, 2, sinks.Update, "/a,2")) // comes again: nothing
	for text, want := range map[string]string{
		"SELECT * FROM top ORDER BY n, page":                                  "page,n: /a|1 /b|1 /a|2",
		"SELECT * FROM top_latest ORDER BY page":                              "page,n: /a|2 /b|1",
		"SELECT page, _batch_id FROM top ORDER BY 2, 1":                       "page,_batch_id: /a|0 /b|0 /a|2",
		"SELECT max(_batch_id) FROM top_latest":                               "max(_batch_id): 2",
		"SELECT * FROM top WHERE _batch_id = 2":                               "page,n,_batch_id: /a|2|2",
		"SELECT t.n FROM \"top\" t JOIN top_latest l USING (page) ORDER BY 1": "n: 1 1 2",
	} {
		if got := ask(t, dir, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	list, err := memory.Door(dir).Tables(context.Background())
	if err != nil || len(list) != 2 || list[0].Rows != 3 || !list[1].Latest || fmt.Sprint(list[1].Types) != "[text text]" {
		t.Errorf("%v %+v", err, list)
	}
	a, err := memory.Door(dir).Query(context.Background(), "SELECT n FROM top", 1)
	if err != nil || a.Batch != 2 || !a.More || a.Total != -1 {
		t.Errorf("%v %+v", err, a)
	}
	add(batchOf(t, schema, 3, sinks.Complete, "/z,9"))
	if got := ask(t, dir, "SELECT *, _batch_id FROM top"); got != "page,n,_batch_id,_batch_id: /z|9|3|3" {
		t.Error(got)
	}
	s.Close()
}

func TestViewsAreMadeWhenNamed(t *testing.T) {
	dir := t.TempDir()
	made := 0
	v := memory.View{Name: "batches", Columns: []string{"query TEXT", "batch_id INTEGER"}, Rows: func(context.Context) ([][]any, error) {
		made++
		return [][]any{{"q", int64(7)}, {"q", nil}}, nil
	}}
	if got := ask(t, dir, "SELECT batch_id FROM Batches", v); got != "batch_id: 7 NULL" {
		t.Error(got)
	}
	if ask(t, dir, "SELECT 1", v); made != 1 {
		t.Errorf("made %d times", made)
	}
}

// Each of these must not run, and the error must say which rule is against it.
func TestRefusedStatementsSayTheRule(t *testing.T) {
	dir := t.TempDir()
	schema, _ := types.ParseDDL("a STRING")
	s, err := memory.New(sinks.Def{Dir: dir, QueryName: "q", QueryID: "1", Mode: sinks.Append, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddBatch(context.Background(), batchOf(t, schema, 0, sinks.Append, "x")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for text, rule := range map[string]string{
		"INSERT INTO q VALUES (1)": "changed", "UPDATE q SET a = 1": "changed", "DELETE FROM q": "changed", "REPLACE INTO q VALUES (1)": "changed",
		"DROP TABLE q": "memory", "CREATE TABLE z (a)": "memory", "CREATE TEMP TABLE z AS SELECT 1": "memory", "CREATE VIEW v AS SELECT 1": "memory",
		"CREATE INDEX i ON q (a)": "memory", "ALTER TABLE q RENAME TO r": "memory", "ANALYZE": "memory", "REINDEX": "memory",
		"ATTACH ':memory:' AS x": "no other file", "VACUUM INTO '/tmp/x.db'": "", "DETACH main": "no other file",
		"PRAGMA writable_schema = on": "table_info", "PRAGMA query_only = 0": "table_info", "PRAGMA journal_mode": "table_info",
		"BEGIN": "moment", "COMMIT": "moment", "ROLLBACK": "moment", "SAVEPOINT a": "moment",
		"SELECT load_extension('x')": "", "CREATE TRIGGER t AFTER INSERT ON q BEGIN SELECT 1; END": "memory",
		"WITH x AS (SELECT 1) DELETE FROM q": "changed", "SELECT 1; DELETE FROM q": "changed",
	} {
		_, err := memory.Door(dir).Ask(context.Background(), memory.Question{Text: text, Guarded: true})
		switch {
		case err == nil:
			t.Errorf("%s was let through", text)
		case rule != "" && (!errs.Has(err, "SQLITE_REFUSED") || !strings.Contains(err.Error(), rule)):
			t.Errorf("%s: %v, want the rule with %q", text, err, rule)
		}
	}
	for _, text := range []string{"SELECT count(*) FROM q", "PRAGMA table_info(q)", "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 9) SELECT * FROM r",
		"SELECT json_extract('{\"a\":1}', '$.a')", "VALUES (1), (2)", "EXPLAIN QUERY PLAN SELECT * FROM q"} {
		if _, err := memory.Door(dir).Ask(context.Background(), memory.Question{Text: text, Guarded: true}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := ask(t, dir, "SELECT count(*) FROM q"); got != "count(*): 1" {
		t.Error(got)
	}
}

func TestEndlessStatementsEnd(t *testing.T) {
	endless := "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT count(*) FROM r"
	d := memory.Door(t.TempDir())
	if _, err := d.Ask(context.Background(), memory.Question{Text: endless, Timeout: 20 * time.Millisecond}); !errs.Has(err, "SQLITE_TOO_LONG") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Ask(ctx, memory.Question{Text: endless}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := d.Ask(context.Background(), memory.Question{Text: "SELECT randomblob(900000000)", Guarded: true}); err == nil {
		t.Error("a value of 900 MB was made")
	}
	for text, want := range map[string]int64{
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 5000) SELECT n FROM r":        5000,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 5000) SELECT n FROM r -- all": 5000,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 5000) SELECT n, n FROM r;":    5000,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r":                   -1, // endless
	} {
		a, err := d.Ask(context.Background(), memory.Question{Text: text, Limit: 1000, Count: 100_000})
		if err != nil || len(a.Rows) != 1000 || a.Total != want || !a.More {
			t.Errorf("%s: %v: %d rows of %d", text, err, len(a.Rows), a.Total)
		}
	}
}
