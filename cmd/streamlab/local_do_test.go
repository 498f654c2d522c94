//go:build cgo

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/tui/screen"
)

// opened opens a lab of the text in the workbench's way, and waits for its queries to end.
func opened(t *testing.T, text string) *localLab {
	t.Helper()
	dir := t.TempDir()
	for i := range 3 {
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprint(i, ".txt")), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "l.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a := &app{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
	w, err := newGallery(a, false).Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	b := w.(*localLab)
	t.Cleanup(func() { b.w.Close(); b.log.end() })
	return b
}

func (b *localLab) settle(t *testing.T, query string) {
	t.Helper()
	if err := b.w.Query(query).AwaitTermination(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestThePastOfAQueryIsChanged(t *testing.T) {
	ctx := context.Background()
	b := opened(t, `
sources: {lines: {format: text, path: in, options: {maxFilesPerTrigger: 1}}}
queries:
  - {queryName: q, sql: "SELECT count(*) AS n FROM lines", format: noop, outputMode: complete, trigger: {availableNow: true}, options: {checkpointLocation: chk}}
`)
	b.settle(t, "q")
	if n := b.w.Query("q").Snapshot().Batch; n != 2 {
		t.Fatalf("newest batch %d", n)
	}
	do := func(c screen.Command) {
		t.Helper()
		c.Query = "q"
		if err := b.Do(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	do(screen.Command{Verb: screen.Fork, Batch: 1, Arg: "copy"})
	kept := func() {
		t.Helper()
		if k := b.Kept("q"); k == "" || !exists(filepath.Join(b.w.Lab.Dir, k, "META")) {
			t.Errorf("the checkpoint as it was is not in %q", k)
		}
	}
	do(screen.Command{Verb: screen.Rewind, Batch: 0})
	kept()
	do(screen.Command{Verb: screen.Start})
	b.settle(t, "q")
	if got := b.w.Query("q").RecentProgress(); len(got) < 2 || got[0].BatchID != 1 {
		t.Errorf("after the rewind: %d batches, the first %d", len(got), got[0].BatchID)
	}
	if !exists(filepath.Join(b.w.Lab.Dir, "copy", "META")) {
		t.Error("no copy")
	}
	rewound := b.Kept("q")
	do(screen.Command{Verb: screen.StartFresh})
	if kept(); b.Kept("q") == rewound {
		t.Error("starting fresh has put nothing aside")
	}
	b.settle(t, "q")
	if got := b.w.Query("q").RecentProgress(); len(got) < 3 || got[0].BatchID != 0 {
		t.Errorf("started fresh: %d batches", len(got))
	}
	if err := b.Do(ctx, screen.Command{Verb: screen.Fork, Query: "q", Batch: 1, Arg: "../out"}); err == nil {
		t.Error("a fork outside the folder is not refused")
	}
}

// A lab that starts its queries is opened on their rows, although it has steps.
func TestALabThatRunsIsLookedAtFirst(t *testing.T) {
	b := opened(t, `
sources: {ticks: {format: rate}}
queries:
  - {queryName: q, from: ticks, format: console}
steps:
  - {title: one, do: [{step: q}]}
`)
	if l := b.Lab(); !l.Started || len(l.Steps) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestStepsOfALessonAreRemembered(t *testing.T) {
	t.Setenv("STREAMLAB_CONFIG", t.TempDir())
	ctx := context.Background()
	text := `
sources: {lines: {format: text, path: in}}
queries:
  - {queryName: q, from: lines, format: memory, start: false}
steps:
  - {title: one, do: [{start: q}, {await: q}], see: {sql: SELECT count(*) FROM q, rows: [[3]]}, answer: Three lines.}
  - {title: two, see: {sql: SELECT count(*) FROM q, rows: [[4]]}}
`
	b := opened(t, text)
	for i := range 2 {
		if err := b.Do(ctx, screen.Command{Verb: screen.RunStep, Step: i, Arg: "three"}); err != nil {
			t.Fatal(err)
		}
	}
	if b.Lab().Started {
		t.Error("a lesson that holds its queries back counts as started")
	}
	steps := b.Lab().Steps
	if steps[0].State != screen.StepSeen || steps[0].Found != "SELECT count(*) FROM q  →  [3]" || steps[0].Answer != "Three lines." || steps[0].Said != "three" || steps[1].State != screen.StepFailed {
		t.Errorf("%+v", steps)
	}
	if got := newLearning().seen("l"); !got[0] || got[1] {
		t.Errorf("remembered %v", got)
	}
	if x := newLearning().read().Predictions; len(x) != 1 || x[0].Said != "three" || !x[0].Open {
		t.Errorf("predictions %+v", x)
	}
	again := opened(t, text) // in another folder: what was learned is the user's
	if l := again.Lab(); l.Steps[0].State != screen.StepSeen || l.Steps[1].State == screen.StepSeen {
		t.Errorf("%+v", l.Steps)
	}
}

// The log of a file sink stays when the checkpoint goes: what the new run does not write is said before and after.
func TestAFreshStartOverAFolderWithBatchesIsSaid(t *testing.T) {
	ctx := context.Background()
	b := opened(t, `
sources: {lines: {format: text, path: in, options: {maxFilesPerTrigger: 1}}}
queries:
  - {queryName: q, from: lines, format: json, path: out, start: false, trigger: {availableNow: true}, options: {checkpointLocation: chk}}
  - {queryName: m, from: lines, format: memory, start: false}
`)
	for _, q := range []string{"q", "m"} {
		if words, err := b.Afresh(ctx, q); err != nil || words != "" {
			t.Errorf("%s before a batch: %q, %v", q, words, err)
		}
	}
	if err := b.Do(ctx, screen.Command{Verb: screen.Start, Query: "q"}); err != nil {
		t.Fatal(err)
	}
	b.settle(t, "q")
	if w := b.Queries()[0].Warning; w != "" {
		t.Errorf("the first run warns: %q", w)
	}
	if words, err := b.Afresh(ctx, "q"); err != nil || !strings.Contains(words, "batches 0 to 2") || !strings.Contains(words, "NOT be written") {
		t.Errorf("%q, %v", words, err)
	}
	files := func() int {
		l, err := filepath.Glob(filepath.Join(b.w.Lab.Dir, "out", "part-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(l)
	}
	n := files()
	if err := b.Do(ctx, screen.Command{Verb: screen.StartFresh, Query: "q"}); err != nil {
		t.Fatal(err)
	}
	b.settle(t, "q")
	if w := b.Queries()[0].Warning; !strings.Contains(w, "batches 0 to 2 of another query") || n == 0 || files() != n {
		t.Errorf("warning %q; %d files were, %d are", w, n, files())
	}
}
