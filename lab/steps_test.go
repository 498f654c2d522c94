package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

// lesson opens a lab of the text in a folder of its own.
func lesson(t *testing.T, text string) (*lab.Workbench, *lab.Player) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lesson.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := lab.Open(context.Background(), l, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, lab.NewPlayer(w)
}

func TestASourceWithAWatermarkIsFed(t *testing.T) {
	w, p := lesson(t, `
sources:
  s: {format: memory, schema: ts TIMESTAMP, withWatermark: {eventTime: ts, delayThreshold: 0 seconds}}
queries:
  - {queryName: q, from: s, format: memory}
steps:
  - title: feed
    do: [{start: q}, {feed: {source: s, rows: [["2026-01-01T10:00:00Z"], ["2026-01-01T10:00:01Z"]]}}, {await: q}]
    see: {sql: SELECT count(*) FROM q, rows: [[2]]}
`)
	if _, err := p.Play(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if err := w.Query("q").StopAfterBatch(); err != nil {
		t.Error(err)
	}
}

const wordLab = `
sources:
  words: {format: memory, schema: word STRING, rows: [[[cat], [dog]]]}
tables:
  audit: {schema: "batch BIGINT, n BIGINT", rows: []}
queries:
  - {queryName: counts, sql: "SELECT word, count(*) AS n FROM words GROUP BY word", format: memory, outputMode: complete}
  - {queryName: refused, sql: "SELECT word, count(*) AS n FROM words GROUP BY word", format: memory}
  - {queryName: lines, from: words, format: json, path: out/lines, options: {checkpointLocation: chk}}
  - {queryName: copied, from: words, format: json, path: out/copied, start: false, options: {checkpointLocation: chk2}}
steps:
`

func TestStepsShowWhatTheyShould(t *testing.T) {
	_, p := lesson(t, wordLab+`
  - {title: start, do: [{start: counts}, {await: counts}], see: {sql: "SELECT * FROM counts", rows: [[dog, 1], [cat, 1]]}}
  - title: feed
    do: [{feed: {source: words, rows: [[cat]]}}, {await: counts}]
    see:
      - {sql: "SELECT * FROM counts ORDER BY word", rows: [[cat, 2], [dog, 1]]}
      - {batch: counts, rows: [[cat, 2], [dog, 1]]}
      - {state: {query: counts, rows: [["{cat}", "{2}"], ["{dog}", "{1}"]]}}
      - {progress: {query: counts, field: stateOperators.0.numRowsTotal, is: 2}}
  - {title: refused, do: [{start: refused}], see: {error: refused, matches: watermark}}
  - {title: files, do: [{step: lines}], see: {files: {path: out/lines/*.json, count: 1}}}
  - {title: again, do: [{deleteCheckpoint: lines}, {restart: lines}, {await: lines}], see: {files: {path: out/lines/*.json, count: 2}}}
  - title: a copy of the checkpoint
    do: [{stop: lines}, {copyCheckpoint: {from: lines, query: copied}}, {feed: {source: words, rows: [[owl]]}}, {start: copied}, {await: copied}]
    see: {batch: copied, rows: [[owl]]}
`)
	for i := range 6 {
		found, err := p.Play(context.Background(), i)
		if err != nil {
			t.Fatalf("step %d: %v (saw %q)", i, err, found)
		}
	}
	_, p = lesson(t, wordLab+`
  - {title: a, do: [{start: lines}, {await: lines}, {copyCheckpoint: {from: lines, query: copied}}]}
  - {title: b, do: [{stop: lines}, {copyCheckpoint: {from: lines, query: copied}}]}
  - {title: c, do: [{copyCheckpoint: {from: lines, query: copied}}]}
  - {title: d, do: [{copyCheckpoint: {from: lines, query: counts}}]}
`)
	for i, want := range []string{"LAB_STILL_RUNNING", "", "CHECKPOINT_LOCATION_EXISTS", "LAB_VALUE"} {
		if _, err := p.Play(context.Background(), i); want == "" && err != nil || want != "" && !errs.Has(err, want) {
			t.Errorf("copyCheckpoint %d: %v, want %s", i, err, want)
		}
	}
}

// A step whose expectation does not hold fails, whatever its kind.
func TestStepsFailWhenTheyShow(t *testing.T) {
	for _, see := range []string{
		`{sql: "SELECT * FROM counts", rows: [[dog, 1]]}`,
		`{sql: "SELECT word FROM counts ORDER BY word", rows: [[dog], [cat]]}`,
		`{batch: counts, rows: []}`,
		`{state: {query: counts, rows: []}}`,
		`{progress: {query: counts, field: batchId, is: 7}}`,
		`{progress: {query: counts, field: nowhere.9, is: 7}}`,
		`{error: counts, matches: watermark}`,
		`{files: {path: "*.yaml", count: 2}}`,
	} {
		_, p := lesson(t, wordLab+"  - {title: t, do: [{start: counts}, {await: counts}], see: "+see+"}\n")
		if _, err := p.Play(context.Background(), 0); !errs.Has(err, "LAB_NOT_SEEN") {
			t.Errorf("%s: %v", see, err)
		}
	}
}

func TestMistakesInStepsAreFound(t *testing.T) {
	for steps, want := range map[string]string{
		"- {title: t, do: [{strat: counts}]}":                     "LAB_UNKNOWN_KEY",
		"- {title: t, do: [start]}":                               "LAB_VALUE",
		"- {do: [{start: counts}]}":                               "LAB_MISSING_KEY",
		"- {title: t, do: [{start: count}]}":                      "LAB_NO_QUERY",
		"- {title: t, do: [{feed: {source: word, rows: []}}]}":    "LAB_NO_SOURCE",
		"- {title: t, see: {rows: []}}":                           "LAB_MISSING_KEY",
		"- {title: t, see: {files: {path: x, count: many}}}":      "LAB_VALUE",
		"- {title: t, see: {error: nobody, matches: x}}":          "LAB_NO_QUERY",
		"- {title: t, do: [{crash: {query: lines}}]}":             "LAB_MISSING_KEY",
		"- {title: t, do: [{start: counts, stop: counts}]}":       "LAB_VALUE",
		"- {title: t, see: {progress: {query: counts, fild: x}}}": "LAB_UNKNOWN_KEY",
	} {
		l, err := lab.Parse("l.yaml", filepath.Join(t.TempDir(), "l.yaml"), []byte(wordLab+"  "+steps+"\n"))
		problems := lab.Problems(err)
		if err == nil {
			problems = lab.Check(context.Background(), l, engine.Config{})
		}
		found := false
		for _, p := range problems {
			found = found || p.Condition == want && p.Pos.Line > 0
		}
		if !found {
			t.Errorf("%s: %v, want %s", steps, problems, want)
		}
	}
}

func TestTheClockIsMovedByHand(t *testing.T) {
	c := lab.NewClock()
	begun := c.Now()
	done := make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		close(waiting)
		done <- c.Wait(context.Background(), time.Hour, nil)
	}()
	<-waiting
	c.Advance(30 * time.Minute)
	c.Advance(31 * time.Minute)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d := c.Now().Sub(begun); d < time.Hour || d > 2*time.Hour {
		t.Errorf("the clock went %v", d)
	}
	w, p := lesson(t, `
sources:
  ticks: {format: rate, options: {rowsPerSecond: 1}}
queries:
  - {queryName: q, from: ticks, format: noop}
steps:
  - {title: wait, do: [{advanceClock: 90 minutes}]}
`)
	if _, err := p.Play(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	q, err := w.Start(context.Background(), "q", lab.StartOptions{MaxBatches: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Until(q.Snapshot().StartedAt); d < time.Hour {
		t.Errorf("the query started %v from now", d)
	}
}

func TestForeachRunsItsCommandIfTrusted(t *testing.T) {
	text := `
sources:
  words: {format: memory, schema: word STRING, rows: [[[cat], [dog]]]}
queries:
  - {queryName: shout, from: words, foreach: {command: [sh, -c, "cat >> got.txt"]}, trigger: {availableNow: true}}
  - {queryName: broken, from: words, foreach: {command: [sh, -c, "echo no space >&2; exit 3"]}, trigger: {availableNow: true}}
`
	ctx := context.Background()
	w, _ := lesson(t, text)
	if _, err := w.Start(ctx, "shout", lab.StartOptions{}); !errs.Has(err, "LAB_NOT_TRUSTED") {
		t.Fatalf("untrusted: %v", err)
	}
	w.Trusted = true
	q, err := w.Start(ctx, "shout", lab.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(w.Lab.Dir, "got.txt"))
	if err != nil || string(got) != "{\"word\":\"cat\"}\n{\"word\":\"dog\"}\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if q, err = w.Start(ctx, "broken", lab.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	err = q.AwaitTermination(ctx)
	if !errs.Has(err, "FOREACH_COMMAND_FAILED") || !strings.Contains(err.Error(), "no space") {
		t.Errorf("broken: %v", err)
	}
}

func TestForeachBatchInALab(t *testing.T) {
	ctx := context.Background()
	w, _ := lesson(t, `
sources:
  words: {format: memory, schema: word STRING, rows: [[[cat], [dog]], [[owl]]]}
queries:
  - queryName: q
    from: words
    trigger: {availableNow: true}
    foreachBatch:
      - INSERT INTO seen SELECT :batch_id, count(*) FROM batch
`)
	if _, err := w.Session().SQL(ctx, "CREATE TABLE seen (batch BIGINT, n BIGINT)"); err != nil {
		t.Fatal(err)
	}
	q, err := w.Start(ctx, "q", lab.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AwaitTermination(ctx); err != nil {
		t.Fatal(err)
	}
	df, err := w.Session().SQL(ctx, "SELECT sum(batch), sum(n) FROM seen")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := df.Collect(ctx)
	if err != nil || rows[0].Column(0).ValueStr(0) != "1" || rows[0].Column(1).ValueStr(0) != "3" {
		t.Errorf("rows %v, %v", rows, err)
	}
	l, err := lab.Parse("l.yaml", filepath.Join(w.Lab.Dir, "l.yaml"), []byte(`
sources:
  words: {format: memory, schema: word STRING}
queries:
  - queryName: q
    from: words
    foreachBatch:
      - SELECT word FROM batch
      - SELECT wrd FROM batch
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := lab.Check(ctx, l, engine.Config{}); len(got) != 1 || got[0].Pos.Line != 9 {
		t.Errorf("%v", got)
	}
}
