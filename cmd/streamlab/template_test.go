//go:build cgo

package main

import (
	"context"
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
	"streamlab/tui/screen"
)

// What `lab new` makes has no mistakes, opens in the workbench and runs: every query ends a micro-batch or
// has no rows to run one on, none fails.
func TestANewLabOpensAndRuns(t *testing.T) {
	for _, name := range startingPoints() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			code, out := runApp(t, dir, "lab", "new", name, "mine")
			if code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			path := strings.TrimSpace(out)
			if code, out := runApp(t, dir, "validate", path); code != 0 {
				t.Errorf("validate: exit %d\n%s", code, out)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			w, err := newGallery(&app{trust: true}, true).Open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close(ctx)
			b := w.(*localLab)
			refusals := b.w.Lab.Steps != nil // a lesson may want to see one
			for _, q := range w.Queries() {
				now := engine.AvailableNow()
				run, err := b.w.Start(ctx, q.Name, lab.StartOptions{Trigger: &now, MaxBatches: 1})
				if err == nil {
					err = run.AwaitTermination(ctx)
				}
				if err != nil && !refusals {
					t.Errorf("%s: %v", q.Name, err)
				}
			}
			if l := w.Lab(); l.Path == "" || len(w.Queries()) == 0 {
				t.Errorf("%+v", l)
			}
			if code, _ := runApp(t, dir, "lab", "new", name, "mine"); code == 0 {
				t.Error("it is overwritten")
			}
		})
	}
}

// The steps of the templates are seen like those of the lessons.
func TestTemplatesShowWhatTheySay(t *testing.T) {
	dir := t.TempDir()
	for _, tm := range templates {
		if _, err := newLab(tm.name, filepath.Join(dir, tm.name)); err != nil {
			t.Fatal(err)
		}
	}
	code, out := runApp(t, dir, "lab", "check", "delta/delta.yaml")
	if code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out = runApp(t, dir, "run", "file/file.yaml", "good", "bad", "--available-now")
	if code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	bad, _ := filepath.Glob(filepath.Join(dir, "file", "out", "bad", "[^._]*.json"))
	text := ""
	for _, f := range bad {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	if strings.Count(text, "broken") != 1 {
		t.Errorf("rows aside: %s", text)
	}
	if code, out = runApp(t, dir, "lab", "new", "nope"); code == 0 || !strings.Contains(out, "there are rate, csv, file, kafka, delta") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestTheGalleryShowsTheCourse(t *testing.T) {
	t.Setenv("STREAMLAB_CONFIG", t.TempDir())
	t.Chdir(t.TempDir())
	g := newGallery(&app{}, true)
	if err := g.learning.see("hello", 0); err != nil {
		t.Fatal(err)
	}
	es, err := g.Labs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(es) != len(labs.Names()) || es[0].Title != "hello" || !es[0].Done {
		t.Fatalf("%d labs, the first %+v", len(es), es[0])
	}
	groups := map[string]bool{}
	last := ""
	for i, e := range es {
		if e.Lesson.Area != last {
			if groups[e.Lesson.Area] {
				t.Errorf("the group %q is there twice", e.Lesson.Area)
			}
			last, groups[e.Lesson.Area] = e.Lesson.Area, true
		}
		if i > 0 && e.Done || len(e.Steps) == 0 || len(e.Uses) == 0 || e.Minutes == 0 || e.Lesson.Goal == "" {
			t.Errorf("%+v", e)
		}
	}
	for _, want := range []string{"first stream", "sinks and promises", "output modes", "event time", "joins", "checkpoints and restarts", "Kafka", "Delta", "performance"} {
		if !groups[want] {
			t.Errorf("no group %q", want)
		}
	}
	if err := g.Reset(context.Background(), "hello"); err != nil {
		t.Fatal(err)
	}
	if es, err = g.Labs(context.Background()); err != nil || es[0].Done || es[0].Started {
		t.Errorf("%v %+v", err, es[0])
	}
	var _ screen.Maker = g
}

// Labs of the user's own that were opened are listed under the shipped ones, the last one first, wherever they are.
func TestOwnLabsAreRemembered(t *testing.T) {
	t.Setenv("STREAMLAB_CONFIG", t.TempDir())
	far, here := t.TempDir(), t.TempDir()
	t.Chdir(here)
	ctx := context.Background()
	var files []string
	for _, dir := range []string{far, filepath.Join(here, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "mine.yaml")
		if err := os.WriteFile(file, []byte("lab: mine\nsources: {r: {format: rate}}\nqueries: [{queryName: q, from: r, format: noop}]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, path := range []string{"hello", files[0], files[1]} {
		w, err := newGallery(&app{err: io.Discard}, true).Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	own := func() (out []string) {
		es, err := newGallery(&app{}, true).Labs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es[len(labs.Names()):] {
			if e.Title != "mine" || !e.Own {
				t.Errorf("%+v", e)
			}
			out = append(out, e.Path)
		}
		return out
	}
	if got, want := own(), []string{filepath.Join("sub", "mine.yaml"), files[0]}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if got := own(); len(got) != 1 {
		t.Errorf("a file that has gone is listed: %v", got)
	}
}

// The steps stand under the name that the gallery has, not under the sentence about the lab.
func TestALessonIsCalledAsInTheGallery(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := newGallery(&app{err: io.Discard}, true).Open(context.Background(), "redelivery")
	if err != nil {
		t.Fatal(err)
	}
	if l := w.Lab(); l.Name != "redelivery" || l.Title != "" {
		t.Errorf("called %q and %q", l.Name, l.Title)
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
