package lab_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
	"streamlab/labs"
)

func TestTopicsReadsThreeTopicsAndChainsQueries(t *testing.T) {
	dir := t.TempDir()
	path, err := labs.Unpack("topics", dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if problems := lab.Check(context.Background(), l, engine.Config{}); problems != nil {
		t.Fatal(problems)
	}
	w, err := lab.Open(context.Background(), l, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := lab.NewPlayer(w)
	for i := range l.Steps {
		if _, err := p.Play(context.Background(), i); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// A restart of the lab in the same program finds its topics as it left them: seeds are written once.
func TestSeedsAreWrittenOnceAndReadOnFromTheCheckpoint(t *testing.T) {
	text := `
sources:
  s:
    format: kafka
    options: {kafka.bootstrap.servers: Embedded, subscribe: "a,b", startingOffsets: earliest}
    seed:
      a: [one, {key: k, value: [1, "2", x], partition: 1, headers: {h: v}}, {key: "3"}]
queries:
  - {queryName: q, sql: "SELECT topic, partition, CAST(key AS STRING) AS k, CAST(value AS STRING) AS v FROM s", format: json, options: {path: out}}
`
	file := filepath.Join(t.TempDir(), "lab.yaml")
	var rows int64
	for range 2 {
		l, err := lab.Parse("lab.yaml", file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		w, err := lab.Open(context.Background(), l, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		now := engine.AvailableNow()
		q, err := w.Start(context.Background(), "q", lab.StartOptions{Trigger: &now})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.AwaitTermination(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, p := range q.RecentProgress() {
			rows += p.NumInputRows
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if rows != 3 {
		t.Errorf("%d rows were read, not 3", rows)
	}
}

func TestSeedsThatAreNoRowsAreRefused(t *testing.T) {
	for seed, want := range map[string]string{
		"[x]":                        "LAB_VALUE",
		"{a: x}":                     "LAB_VALUE",
		"{a: [{partition: many}]}":   "LAB_VALUE",
		"{a: [{valu: x}]}":           "LAB_UNKNOWN_KEY",
		"{a: [{timestamp: Monday}]}": "LAB_VALUE",
	} {
		_, err := lab.Parse("l.yaml", "/l.yaml", []byte("sources:\n  s: {format: kafka, seed: "+seed+"}\nqueries: []\n"))
		if p := lab.Problems(err); len(p) == 0 || !strings.HasPrefix(p[0].Condition, want) {
			t.Errorf("%s: %v, want %s", seed, err, want)
		}
	}
}

// Rows of one kind of source under another are a mistake of the file, told where they stand.
func TestRowsAndSeedsOfOtherFormatsAreRefused(t *testing.T) {
	for source, want := range map[string]string{
		"{format: kafka, rows: [[[x]]]}":                  "[LAB_VALUE] `rows`",
		"{format: rate, rows: [[[1]]]}":                   "[LAB_VALUE] `rows`",
		"{format: json, schema: a INT, seed: {t: [x]}}":   "[LAB_VALUE] `seed`",
		"{format: memory, schema: a INT, seed: {t: [x]}}": "[LAB_VALUE] `seed`",
	} {
		_, err := lab.Parse("l.yaml", "/l.yaml", []byte("sources:\n  s: "+source+"\nqueries: []\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}
