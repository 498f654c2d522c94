package lab_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamlab/engine"
	"streamlab/lab"
	"streamlab/labs"
)

// worked is the example of operators.md 3.2: the rows of each step are seconds after ten o'clock.
const worked = `
sources:
  s:
    format: memory
    schema: ts TIMESTAMP
    rows:
      - [["2026-01-01T10:00:12Z"], ["2026-01-01T10:00:14Z"], ["2026-01-01T10:00:18Z"]]
      - [["2026-01-01T10:00:26Z"]]
      - [["2026-01-01T10:00:13Z"], ["2026-01-01T10:00:27Z"]]
      - [["2026-01-01T10:00:40Z"]]
    withWatermark: {eventTime: ts, delayThreshold: 10 seconds}
queries:
  - queryName: q
    sql: SELECT date_format(window.start, 'ss') AS at, count(*) AS n FROM s GROUP BY window(ts, '5 seconds')
    format: memory
`

func compare(t *testing.T, text string, o lab.CompareOptions) *lab.Comparison {
	t.Helper()
	l, err := lab.Parse("lab.yaml", filepath.Join(t.TempDir(), "lab.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = t.TempDir()
	c, err := lab.CompareHeadless(context.Background(), l, "q", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// told writes a column a line a micro-batch: rows, watermark, state rows, removed, dropped.
func told(col *lab.CompareColumn) string {
	var b strings.Builder
	for i, s := range col.Steps {
		for _, x := range s.Batches {
			fmt.Fprintf(&b, "%d:", i)
			if x.NoData {
				b.WriteString(" no data")
			}
			var rows []string
			for _, r := range x.Rows {
				rows = append(rows, " "+strings.Join(r, "="))
			}
			slices.Sort(rows) // their order is not part of a mode's promise
			b.WriteString(strings.Join(rows, ""))
			wm := int64(0)
			if !x.Watermark.IsZero() {
				wm = x.Watermark.Unix() % 60
			}
			fmt.Fprintf(&b, " E%d state %d rem %d drop %d\n", wm, x.StateRows, x.Removed, x.Dropped)
		}
	}
	return b.String()
}

func TestTheWorkedExampleInThreeModes(t *testing.T) {
	c := compare(t, worked, lab.CompareOptions{})
	for i, want := range []string{
		"0: E0 state 2 rem 0 drop 0\n0: no data E8 state 2 rem 0 drop 0\n" +
			"1: E8 state 3 rem 0 drop 0\n1: no data 10=2 E16 state 2 rem 1 drop 0\n" +
			"2: E16 state 2 rem 0 drop 1\n2: no data E17 state 2 rem 0 drop 0\n" +
			"3: E17 state 3 rem 0 drop 0\n3: no data 15=1 25=2 E30 state 1 rem 2 drop 0\n",
		"0: 10=2 15=1 E0 state 2 rem 0 drop 0\n0: no data E8 state 2 rem 0 drop 0\n" +
			"1: 25=1 E8 state 3 rem 0 drop 0\n1: no data E16 state 2 rem 1 drop 0\n" +
			"2: 25=2 E16 state 2 rem 0 drop 1\n2: no data E17 state 2 rem 0 drop 0\n" +
			"3: 40=1 E17 state 3 rem 0 drop 0\n3: no data E30 state 1 rem 2 drop 0\n",
		"0: 10=2 15=1 E0 state 2 rem 0 drop 0\n1: 10=2 15=1 25=1 E8 state 3 rem 0 drop 0\n" +
			"2: 10=3 15=1 25=2 E16 state 3 rem 0 drop 0\n3: 10=3 15=1 25=2 40=1 E17 state 4 rem 0 drop 0\n",
	} {
		if got := told(c.Columns[i]); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.Columns[i].Mode, got, want)
		}
	}
	if got := fmt.Sprint(c.Group, c.Names); got != "[true false] [at n]" {
		t.Errorf("groups %s", got)
	}
	if !c.Inputs[2].Pushes[0].Late[0] || c.Inputs[2].Pushes[0].Late[1] {
		t.Errorf("the row 13 of the third input is late, and only that")
	}
	if s := c.Columns[0].Steps[1].State; len(s) != 2 {
		t.Errorf("state of append after the second input: %v", s)
	}
}

func TestTheWorkedExampleInAHurry(t *testing.T) {
	c := compare(t, worked, lab.CompareOptions{Pace: "hurried"})
	for i, want := range []string{
		"0: E0 state 2 rem 0 drop 0\n1: E8 state 3 rem 0 drop 0\n2: 10=3 E16 state 2 rem 1 drop 0\n3: E17 state 3 rem 0 drop 0\n" +
			"3: no data 15=1 25=2 E30 state 1 rem 2 drop 0\n",
		"0: 10=2 15=1 E0 state 2 rem 0 drop 0\n1: 25=1 E8 state 3 rem 0 drop 0\n2: 10=3 25=2 E16 state 2 rem 1 drop 0\n3: 40=1 E17 state 3 rem 0 drop 0\n" +
			"3: no data E30 state 1 rem 2 drop 0\n",
		"0: 10=2 15=1 E0 state 2 rem 0 drop 0\n1: 10=2 15=1 25=1 E8 state 3 rem 0 drop 0\n" +
			"2: 10=3 15=1 25=2 E16 state 3 rem 0 drop 0\n3: 10=3 15=1 25=2 40=1 E17 state 4 rem 0 drop 0\n",
	} {
		if got := told(c.Columns[i]); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.Columns[i].Mode, got, want)
		}
	}
}

// Every column is what the same query gives when it runs alone in that mode on the same micro-batches.
func TestColumnsEqualThreeHeadlessRuns(t *testing.T) {
	for _, c := range []struct{ lab, query string }{{"modes", "in_append"}, {"late", "with_pauses"}, {"sessions", ""}, {"leaderboard", ""}, {"dedup", ""}} {
		dir := t.TempDir()
		path, err := labs.Unpack(c.lab, dir)
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.query == "" {
			c.query = l.Queries[0].Name.Value
		}
		cmp, err := lab.CompareHeadless(context.Background(), l, c.query, lab.CompareOptions{Dir: t.TempDir()})
		if err != nil {
			t.Fatalf("%s: %v", c.lab, err)
		}
		for i, mode := range lab.Modes {
			got := [][]string{}
			if cmp.Columns[i].Refused == nil {
				for _, s := range cmp.Columns[i].Steps {
					got = append(got, s.Rows()...)
				}
			}
			want, refused := alone(t, l, c.query, mode, cmp)
			if refused != (cmp.Columns[i].Refused != nil) {
				t.Errorf("%s/%s in %s: refused %v alone, in the comparison: %v", c.lab, c.query, mode, refused, cmp.Columns[i].Refused)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s/%s in %s:\n%v\nalone:\n%v", c.lab, c.query, mode, got, want)
			}
		}
	}
}

// alone runs a query of a lab in one mode through a lab file of its own; every micro-batch is one file of inputs.
func alone(t *testing.T, l *lab.Lab, query, mode string, c *lab.Comparison) (rows [][]string, refused bool) {
	t.Helper()
	text, err := os.ReadFile(l.File)
	if err != nil {
		t.Fatal(err)
	}
	own, err := lab.Parse("own.yaml", l.File, text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range own.Sources {
		own.Sources[i].Rows = nil
	}
	for i := range own.Queries {
		q := &own.Queries[i]
		if q.Name.Value == query {
			q.OutputMode.Value, q.Format.Value, q.TriggerKind = mode, "memory", ""
			q.ToTable.Value, q.Options, q.Statements = "", nil, nil
		}
	}
	ctx := context.Background()
	w, err := lab.Open(ctx, own, engine.Config{Out: io.Discard, Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	q, err := w.Start(ctx, query, lab.StartOptions{})
	if err != nil {
		return [][]string{}, true
	}
	rows = [][]string{}
	next := int64(0)
	for _, in := range c.Inputs {
		for _, p := range in.Pushes {
			var fed [][]any
			for _, r := range p.Rows {
				var row []any
				for _, x := range r {
					row = append(row, any(x))
					if x == "NULL" {
						row[len(row)-1] = nil
					}
				}
				fed = append(fed, row)
			}
			if err := w.Session().Feed(p.Source, fed); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.ProcessAllAvailable(ctx); err != nil {
			t.Fatal(err)
		}
		for ; next <= q.Snapshot().Batch; next++ {
			if r, _, ok := q.BatchRows(next); ok {
				rows = append(rows, lab.Cells(r, q.OutputSchema())...)
			}
		}
	}
	return rows, false
}

func TestASinkThatRefusesAModeKeepsItsColumn(t *testing.T) {
	c := compare(t, worked, lab.CompareOptions{Sink: "delta"})
	if c.Columns[0].Refused != nil || c.Columns[1].Refused == nil || c.Columns[2].Refused != nil {
		t.Errorf("append %v, update %v, complete %v", c.Columns[0].Refused, c.Columns[1].Refused, c.Columns[2].Refused)
	}
	c = compare(t, strings.Replace(worked, "SELECT date_format(window.start, 'ss') AS at, count(*) AS n FROM s GROUP BY window(ts, '5 seconds')", "SELECT ts FROM s", 1),
		lab.CompareOptions{})
	if c.Columns[2].Refused == nil || c.Columns[0].Refused != nil || len(c.Columns[0].Steps[0].Rows()) != 3 {
		t.Errorf("without an aggregation: append %v, complete %v", c.Columns[0].Refused, c.Columns[2].Refused)
	}
}

func TestTheInputCanBeChanged(t *testing.T) {
	c := compare(t, worked, lab.CompareOptions{Split: "rows"})
	if len(c.Inputs) != 7 {
		t.Errorf("%d inputs of one row", len(c.Inputs))
	}
	c = compare(t, worked, lab.CompareOptions{Split: "one", Late: true, Delay: "1 minute"})
	if len(c.Inputs) != 2 || len(c.Inputs[0].Pushes[0].Rows) != 7 || c.Inputs[1].Pushes[0].Rows[0][0] != "2026-01-01 10:00:12" {
		t.Errorf("inputs %v", c.Inputs)
	}
	if got := c.Columns[1].Steps[1].Rows(); fmt.Sprint(got) != "[[10 4]]" {
		t.Errorf("with a minute of patience the old row counts: %v", got)
	}
}

func TestASampleOfARealSource(t *testing.T) {
	c := compare(t, "sources:\n  s: {format: rate-micro-batch, options: {rowsPerBatch: 10}}\n"+
		"queries:\n- {queryName: q, sql: \"SELECT value % 3 AS k, count(*) AS n FROM s GROUP BY value % 3\", format: memory, outputMode: update}\n",
		lab.CompareOptions{SampleBatches: 3, SampleRows: 4})
	if !c.Sampled || len(c.Inputs) != 3 || len(c.Inputs[0].Pushes[0].Rows) != 4 {
		t.Fatalf("sampled %v: %v", c.Sampled, c.Inputs)
	}
	if got := c.Sample(); !strings.HasPrefix(got, "12 of more than ") {
		t.Errorf("it says %q", got)
	}
	if c.Columns[0].Refused == nil || len(c.Columns[1].Steps[2].Rows()) == 0 {
		t.Errorf("append %v, update %v", c.Columns[0].Refused, c.Columns[1].Steps)
	}
}

// Of a folder the oldest files come first, whichever of them is read first, and it is said how much was taken.
func TestASampleOfAFolderIsTheSameAlways(t *testing.T) {
	in := t.TempDir()
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"d", "b", "a", "c"} { // b to c are of one moment: their paths decide
		file := filepath.Join(in, name+".csv")
		var rows strings.Builder
		for k := range 5 {
			fmt.Fprintf(&rows, "%s%d\n", name, k)
		}
		if err := os.WriteFile(file, []byte(rows.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		at := old.Add(time.Duration(min(i, 1)) * time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	text := "sources:\n  s: {format: csv, path: " + in + ", schema: who STRING}\n" +
		"queries:\n- {queryName: q, sql: \"SELECT who FROM s\", format: memory}\n"
	for range 8 {
		c := compare(t, text, lab.CompareOptions{})
		if got := fmt.Sprint(c.Inputs[0].Pushes[0].Rows); got != "[[d0] [d1] [d2] [d3] [d4] [a0]]" {
			t.Fatalf("the sample is %s", got)
		}
		if got := c.Sample(); got != "6 of 20 rows" {
			t.Fatalf("it says %q", got)
		}
	}
	if got := compare(t, text, lab.CompareOptions{SampleRows: 50}).Sample(); got != "20 of 20 rows" {
		t.Errorf("all of it: %q", got)
	}
	if got := compare(t, worked, lab.CompareOptions{}).Sample(); got != "" {
		t.Errorf("the lab's own rows: %q", got)
	}
}

// An input of two sources is one micro-batch of both.
func TestAnInputOfTwoSourcesIsOneBatch(t *testing.T) {
	c := compare(t, `
sources:
  a: {format: memory, schema: n INT, rows: [[[1]], [[2]], [[3]]]}
  b: {format: memory, schema: n INT, rows: [[[10]], [[20]], [[30]]]}
queries:
  - {queryName: q, sql: "SELECT n FROM a UNION ALL SELECT n FROM b", format: memory}
`, lab.CompareOptions{})
	if len(c.Inputs) != 3 {
		t.Fatalf("%d inputs", len(c.Inputs))
	}
	for i, s := range c.Columns[0].Steps {
		if len(s.Batches) != 1 || s.Batches[0].RowsIn != 2 {
			t.Errorf("input %d: %+v", i, s.Batches)
		}
	}
}
