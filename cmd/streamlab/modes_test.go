//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/tui/screen"
)

func runApp(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	t.Chdir(dir)
	var out strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: &out}
	return a.run(context.Background(), args), out.String()
}

func TestModesPrintsWhatEachModeSent(t *testing.T) {
	dir := t.TempDir()
	code, out := runApp(t, dir, "modes", "modes", "-o", "json")
	if code != 0 || strings.Count(out, `"kind":"modesInput"`) != 3 || strings.Count(out, `"kind":"modesStep"`) != 9 ||
		!strings.Contains(out, `"noData":true,"numInputRows":0,"removed":4,"rows":[[`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out = runApp(t, dir, "modes", "hello", "--sink", "delta"); code != 0 || !strings.Contains(out, "refused: DELTA_UNSUPPORTED_OUTPUT_MODE") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for args, want := range map[string]int{"modes modes nope": 4, "modes modes --split twice": 3, "modes modes --delay soon": 3, "modes": 2} {
		if code, out := runApp(t, dir, strings.Fields(args)...); code != want {
			t.Errorf("%s: exit %d, want %d\n%s", args, code, want, out)
		}
	}
}

// Whoever sees a sample is told how much of the source it is.
func TestModesSaysThatTheInputIsASample(t *testing.T) {
	dir := t.TempDir()
	text := "sources:\n  s: {format: csv, path: in, schema: who STRING}\n" +
		"queries:\n- {queryName: q, sql: \"SELECT who FROM s\", format: memory}\n"
	for name, text := range map[string]string{"lab.yaml": text, "in/b.csv": "b\nb\nb\nb\n", "in/a.csv": "a\na\na\na\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := runApp(t, dir, "modes", "lab.yaml"); code != 0 || !strings.Contains(out, "a sample: 6 of 8 rows") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out := runApp(t, dir, "modes", "modes"); code != 0 || strings.Contains(out, "sample") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// What the screen of output modes is given is what the query does: the runs are real ones.
func TestTheWorkbenchRunsModes(t *testing.T) {
	t.Setenv("STREAMLAB_CONFIG", t.TempDir())
	t.Chdir(t.TempDir())
	g := newGallery(&app{}, true)
	w, err := g.Open(context.Background(), "late")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(context.Background())
	r, err := w.(screen.ModesBench).Modes(context.Background(), "with_pauses", screen.ModesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		s, more, err := r.Feed(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		for _, b := range s.Columns[0].Batches {
			for _, row := range b.Rows {
				got = append(got, strings.Join(row, "="))
			}
		}
	}
	// Two groups that leave together have no order.
	if s := strings.Join(got, " "); s != "10:00:10=2 10:00:15=1 10:00:25=2" && s != "10:00:10=2 10:00:25=2 10:00:15=1" {
		t.Errorf("append sent %s", s)
	}
	p := w.(screen.Predictor)
	if err := p.Predicted(screen.Prediction{Lab: "late", Said: "1", Was: "1", Right: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Predicted(screen.Prediction{Lab: "late", Said: "because", Open: true}); err != nil {
		t.Fatal(err)
	}
	again, err := g.Open(context.Background(), "late") // predictions last longer than the lab
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(context.Background())
	if right, total := again.(screen.Predictor).Score(); right != 1 || total != 1 {
		t.Errorf("%d of %d", right, total)
	}
}
