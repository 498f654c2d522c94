package lab_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
	"streamlab/labs"
	"streamlab/sinks/memory"
)

// play runs a shipped lab headless in dir until nothing is left.
func play(t *testing.T, name, dir string, out io.Writer, o lab.StartOptions) {
	t.Helper()
	path, err := labs.Unpack(name, dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	w, err := lab.Open(ctx, l, engine.Config{Out: out})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if o.Trigger == nil && o.MaxBatches == 0 {
		now := engine.AvailableNow()
		o.Trigger = &now
	}
	if err := w.StartAll(ctx, o); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.Names() {
		if err := w.Query(n).AwaitTermination(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func ask(t *testing.T, dir, sql string) string {
	t.Helper()
	a, err := memory.Door(filepath.Join(dir, ".streamlab")).Query(context.Background(), sql, 0)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range a.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return strings.Join(rows, "\n")
}

func TestHelloPrintsBatches(t *testing.T) {
	var out bytes.Buffer
	fast := engine.ProcessingTime(0)
	play(t, "hello", t.TempDir(), &out, lab.StartOptions{Trigger: &fast, MaxBatches: 2})
	if s := out.String(); !strings.Contains(s, "Batch: 0\n") || !strings.Contains(s, "|value|") {
		t.Errorf("hello printed:\n%s", s)
	}
}

func TestNumbersAreDoubledAndTripledOnce(t *testing.T) {
	dir := t.TempDir()
	check := func(count int) {
		t.Helper()
		for _, q := range []struct {
			name, field string
			by          int
		}{{"doubled", "twice", 2}, {"tripled", "thrice", 3}} {
			files, _ := filepath.Glob(filepath.Join(dir, "out", q.name, "[^._]*"))
			seen := map[string]int{}
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range strings.Fields(string(data)) {
					seen[line]++
				}
			}
			for n := 1; n <= count; n++ {
				row := fmt.Sprintf(`{"n":%d,%q:%d}`, n, q.field, n*q.by)
				if seen[row] != 1 {
					t.Errorf("%s: row %s is there %d times", q.name, row, seen[row])
				}
			}
			if len(seen) != count {
				t.Errorf("%s: %d rows, want %d", q.name, len(seen), count)
			}
		}
	}
	play(t, "numbers", dir, io.Discard, lab.StartOptions{})
	check(30)
	play(t, "numbers", dir, io.Discard, lab.StartOptions{})
	check(30)
	if err := os.WriteFile(filepath.Join(dir, "data/numbers/more.txt"), []byte("31\n32\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	play(t, "numbers", dir, io.Discard, lab.StartOptions{})
	check(32)
}

func TestModesShowOneInputThreeWays(t *testing.T) {
	dir := t.TempDir()
	play(t, "modes", dir, io.Discard, lab.StartOptions{})
	for table, want := range map[string]string{
		"in_append":   "10:00:00|cat|2\n10:00:00|dog|2\n10:00:10|dog|1\n10:00:10|owl|1",
		"in_update":   "10:00:00|cat|2\n10:00:00|dog|1\n10:00:00|dog|2\n10:00:10|dog|1\n10:00:10|owl|1\n10:00:30|cat|1",
		"in_complete": "10:00:00|cat|2\n10:00:00|dog|2\n10:00:10|dog|1\n10:00:10|owl|1\n10:00:30|cat|1",
	} {
		if got := ask(t, dir, "SELECT substr(at, 12, 8), word, n FROM "+table+" ORDER BY 1, 2, 3"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", table, got, want)
		}
	}
}

func TestFlightsEqualTheBatchAnswer(t *testing.T) {
	dir := t.TempDir()
	play(t, "flights", dir, io.Discard, lab.StartOptions{})
	s, err := engine.NewSession(engine.Config{Dir: dir, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	df := s.Read().Format("csv").Schema("year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP").
		Option("header", true).Option("nullValue", "NA").Load(ctx, filepath.Join(dir, "data/flights/2013-01-*.csv"))
	if err := df.CreateOrReplaceTempView("f"); err != nil {
		t.Fatal(err)
	}
	lines := func(sql string) map[string]bool {
		t.Helper()
		q, err := s.SQL(ctx, sql)
		if err != nil {
			t.Fatal(err)
		}
		batches, _, err := q.Collect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]bool{}
		for _, rb := range batches {
			for i := range int(rb.NumRows()) {
				m[rb.Column(0).ValueStr(i)] = true
			}
		}
		return m
	}
	want := lines("SELECT concat(date_format(time_hour, 'yyyy-MM-dd HH:mm'), '|', origin, '|', count(*)) FROM f GROUP BY time_hour, origin")
	got := strings.Split(ask(t, dir, "SELECT replace(substr(hour, 1, 16), 'T', ' '), origin, departures FROM per_hour"), "\n")
	for _, row := range got {
		if !want[row] {
			t.Errorf("window %s is not what the whole week gives", row)
		}
	}
	if len(got) < len(want)-30 || len(got) >= len(want) {
		t.Errorf("%d windows were closed, the week has %d: all but those of the last hours should be", len(got), len(want))
	}
	worst := lines("SELECT concat(carrier, '|', max(dep_delay)) FROM f WHERE carrier IS NOT NULL GROUP BY carrier")
	for _, row := range strings.Split(ask(t, dir, "SELECT carrier, max(worst) FROM worst_delay GROUP BY carrier"), "\n") {
		if !worst[row] {
			t.Errorf("worst delay %s is not what the whole week gives", row)
		}
	}
}

func TestShippedLabsHaveNoProblems(t *testing.T) {
	for _, n := range labs.Names() {
		path, err := labs.Unpack(n, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range lab.Check(context.Background(), l, engine.Config{}) {
			t.Errorf("%s: %v", n, p)
		}
	}
}

func TestMistakesAreFoundWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"querys: []\n": "1:1: [LAB_UNKNOWN_KEY]",
		"sources:\n  s: {format: rate}\nqueries:\n- queryName: q\n  sql: |\n    SELECT nope\n    FROM s\n  format: noop\n":   "6:12: [UNRESOLVED_COLUMN",
		"sources:\n  s: {format: rate}\nqueries:\n- queryName: q\n  sql: SELECT count(*) AS n FROM s\n  format: noop\n":      "4:14: [STREAMING_OUTPUT_MODE",
		"sources:\n  s: {format: rate, options: {rowsPerSecnd: 5}}\nqueries:\n- {queryName: q, from: s, format: noop}\n":     "2:31: [UNKNOWN_OPTION]",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: noop, trigger: {processingTime: 10s}}\n": "INVALID_INTERVAL_FORMAT",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: orc}\n":                                  "UNSUPPORTED_FEATURE",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: noop, outputMode: apend}\n":              "STREAMING_OUTPUT_MODE.INVALID",
		"sources:\n  s: {format: csv, path: x, schema: a INTT}\n":                                                            "2:39: [UNSUPPORTED_DATATYPE]",
		"tables:\n  s:\n    schema: a INT, b INTT\n    rows: [[1, 2]]\n":                                                     "3:22: [UNSUPPORTED_DATATYPE]",
		"a: [1\n":    "LAB_SYNTAX",
		"":           "1:1: [LAB_MISSING_KEY]",
		"# only\n":   "1:1: [LAB_MISSING_KEY]",
		"lab: a\xff": "1:7: [LAB_SYNTAX]",
	} {
		l, err := lab.Parse("lab.yaml", filepath.Join(t.TempDir(), "lab.yaml"), []byte(text))
		var got []string
		for _, p := range lab.Problems(err) {
			got = append(got, p.Error())
		}
		if err == nil {
			for _, p := range lab.Check(context.Background(), l, engine.Config{}) {
				got = append(got, p.Error())
			}
		}
		if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, strings.Join(got, "\n     "), want)
		}
	}
}

func TestOneMistakeIsToldOnce(t *testing.T) {
	for text, want := range map[string]string{
		"sources:\n  s: {format: orc}\nviews:\n  v: SELECT * FROM s\nqueries:\n- {queryName: q, from: s, format: noop}\n- {queryName: r, from: v, format: noop}\n": "UNSUPPORTED_FEATURE",
		"sources:\n  s: {format: [rate]}\n":                                    "LAB_VALUE",
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: t}\n": "TABLE_OR_VIEW_NOT_FOUND",
	} {
		l, err := lab.Parse("lab.yaml", filepath.Join(t.TempDir(), "lab.yaml"), []byte(text))
		got := lab.Problems(err)
		if err == nil {
			got = lab.Check(context.Background(), l, engine.Config{})
		}
		if len(got) != 1 || got[0].Condition != want {
			t.Errorf("%s\ngot  %v\nwant one %s", text, got, want)
		}
	}
}

func TestQueriesThatShareACheckpointAreRefusedWithBothNames(t *testing.T) {
	dir := t.TempDir()
	text := "sources:\n  s: {format: rate}\nqueries:\n" +
		"- {queryName: a, from: s, format: noop, options: {checkpointLocation: c}}\n" +
		"- {queryName: b, from: s, format: noop, options: {checkpointLocation: c/}}\n"
	l, err := lab.Parse("lab.yaml", filepath.Join(dir, "lab.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w, err := lab.Open(context.Background(), l, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	once := engine.Once()
	err = w.StartAll(context.Background(), lab.StartOptions{Trigger: &once})
	if got := lab.Problems(err); len(got) != 1 || got[0].Condition != "LAB_CHECKPOINT_SHARED" || got[0].Pos.Line != 5 {
		t.Errorf("got %v", got)
	}
}
