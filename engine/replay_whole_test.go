package engine_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
)

// Who asks why a row was dropped sees the row as it is in the source: with the columns that the query does not read,
// and also if the format leaves it out while it reads. What the sink got is the same.
func TestReplayShowsWholeRows(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ format, text, options, want string }{
		{"json", `{"id":1,"page":"/a","v":5,"who":"ann"}` + "\n" + `{"id":2,"page":"/b","v":50,"who":"bob"}` + "\n", "", "1|/a|5|ann 2|/b|50|bob"},
		{"csv", "1,/a,5,ann\n2,/b,50,bob\n", "", "1|/a|5|ann 2|/b|50|bob"},
		{"csv", "1,/a,5,ann\n2,/b,50,bob\n", "DROPMALFORMED", "/b|50"}, // which records are malformed depends on the columns
	} {
		dir := t.TempDir()
		s, err := engine.NewSession(engine.Config{Dir: dir, Out: io.Discard, Conf: map[string]string{"streamlab.durability": "process"}})
		if err != nil {
			t.Fatal(err)
		}
		in := filepath.Join(dir, "in")
		if err := os.MkdirAll(in, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, "rows."+c.format), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := s.ReadStream().Format(c.format).Schema("id INT, page STRING, v INT, who STRING").Option("path", in)
		if c.options != "" {
			r = r.Option("mode", c.options)
		}
		if err := r.Load().CreateOrReplaceTempView("c"); err != nil {
			t.Fatal(err)
		}
		q, err := s.SQL(ctx, "SELECT page FROM c WHERE v > 10")
		if err != nil {
			t.Fatal(err)
		}
		got := &sent{rows: map[int64][]string{}}
		run, err := q.WriteStream().EachBatch(got.take).Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.ProcessAllAvailable(ctx); err != nil {
			t.Fatal(err)
		}
		tr, err := run.Replay(ctx, 0, engine.TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, cells := range tr.Cells(0) {
			rows = append(rows, strings.Join(cells, "|"))
		}
		if g := strings.Join(rows, " "); tr.Stages[0].Kind != "source" || g != c.want {
			t.Errorf("%s %s: the source has %s, want %s", c.format, c.options, g, c.want)
		}
		if a, b := strings.Join(replayed(tr), " "), strings.Join(got.rows[0], " "); a != b || a != "/b" {
			t.Errorf("%s %s: the sink got %s, again %s", c.format, c.options, b, a)
		}
		if c.options == "" {
			if f := tr.Fate(0, 0, engine.UTC); !strings.Contains(f, "filter") && !strings.Contains(f, "left out") {
				t.Errorf("%s: of the first row: %s", c.format, f)
			}
			if n := tr.Note(0, engine.UTC); !strings.Contains(n, "filtered while it reads") {
				t.Errorf("%s: %s", c.format, n)
			}
			k, err := run.Replay(ctx, 0, engine.TraceOptions{Key: map[string]string{"who": "bob"}})
			if err != nil || !k.Followed[0][1] || k.Followed[0][0] {
				t.Errorf("%s: %v, followed %v", c.format, err, k.Followed)
			}
		}
		if err := run.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
