package lab_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/labs"
)

// Every surprise has a lesson with a step that shows it, or a reason why there is none.
func TestEverySurpriseHasALesson(t *testing.T) {
	raw, err := os.ReadFile("testdata/surprises.txt")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]map[string]bool{}
	for _, n := range labs.Names() {
		text, err := labs.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.Parse(n+".yaml", n+".yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		steps[n] = map[string]bool{}
		for _, s := range l.Steps {
			steps[n][s.Title] = true
		}
	}
	count, without := 0, 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 3 || f[2] == "" {
			t.Fatalf("%q is no lab, step and surprise", line)
		}
		count++
		if f[0] == "-" {
			without++
			if !strings.Contains(f[2], ": ") {
				t.Errorf("%q has neither a lesson nor a reason", line)
			}
			continue
		}
		if !steps[f[0]][f[1]] {
			t.Errorf("%s: the lab has no step %q, which is to show: %s", f[0], f[1], f[2])
		}
	}
	if count < 50 || without > 0 {
		t.Errorf("%d surprises, %d without a lesson", count, without)
	}
}

// A step removes a file of the lab's folder and nothing beyond it.
func TestStepsRemoveFilesOfTheLab(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "in", "a.txt")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := "sources: {s: {format: text, path: in}}\nqueries:\n  - {queryName: q, from: s, format: noop, start: false}\nsteps:\n" +
		"  - {title: one, do: [{remove: in/a.txt}], see: {files: {path: in/*.txt, count: 0}}}\n  - {title: two, do: [{remove: ../x}]}\n"
	l, err := lab.Parse(filepath.Join(dir, "l.yaml"), filepath.Join(dir, "l.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	w, err := lab.Open(ctx, l, engine.Config{Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := lab.NewPlayer(w)
	if _, err := p.Play(ctx, 0); err != nil {
		t.Error(err)
	}
	if _, err := p.Play(ctx, 1); !errs.Has(err, "LAB_VALUE") {
		t.Errorf("a file outside of the lab: %v", err)
	}
}
