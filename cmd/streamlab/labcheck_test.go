//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A test that crashes a query runs this binary again as the program.
func TestMain(m *testing.M) {
	if os.Getenv("STREAMLAB_TEST_AS_PROGRAM") == "1" {
		if how := os.Getenv("STREAMLAB_TEST_DIES"); how != "" {
			diesOn(how)
		}
		main()
	}
	// What a user has learned is not changed by tests.
	dir, err := os.MkdirTemp("", "streamlab-config-")
	if err != nil {
		panic(err)
	}
	os.Setenv("STREAMLAB_CONFIG", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func checkText(t *testing.T, text string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in", "a.txt"), []byte("1\n2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "crash.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	var b strings.Builder
	a := &app{in: strings.NewReader(""), out: &b, err: &b}
	code = a.run(context.Background(), []string{"lab", "check", dir})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the check left %v beside the lab, %v", left, err)
	}
	return code, b.String()
}

const crashLab = `
sources: {lines: {format: text, path: in}}
queries:
  - {queryName: q, from: lines, format: json, path: out, options: {checkpointLocation: chk}}
steps:
  - title: killed between sink and commit
    do: [{crash: {query: q, at: POINT}}, {start: q}, {await: q}]
    see: {files: {path: out/*.json, count: COUNT}}
`

func TestLabCheckKillsAndCounts(t *testing.T) {
	fill := func(point, count string) string {
		return strings.NewReplacer("POINT", point, "COUNT", count).Replace(crashLab)
	}
	for _, point := range []string{"exec.begin", "sink.commit.before", "sink.commit.after", "commit.before"} {
		if code, out := checkText(t, fill(point, "1")); code != 0 || !strings.Contains(out, "crash  ok     1") {
			t.Errorf("%s: exit %d\n%s", point, code, out)
		}
	}
	if code, out := checkText(t, fill("commit.before", "2")); code != 1 || !strings.Contains(out, "LAB_NOT_SEEN") {
		t.Errorf("a wrong count: exit %d\n%s", code, out)
	}
	if code, out := checkText(t, fill("no.such.point", "1")); code != 1 || !strings.Contains(out, "LAB_NO_CRASH") {
		t.Errorf("a point that is not passed: exit %d\n%s", code, out)
	}
}

func TestEveryShippedLabShowsWhatItSays(t *testing.T) {
	t.Setenv("STREAMLAB_TEST_AS_PROGRAM", "1")
	list, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := copyLab(s.Name, dir)
			if err != nil {
				t.Fatal(err)
			}
			a := &app{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}}
			n, err := a.checkLab(context.Background(), path, 2*time.Minute)
			if err != nil {
				t.Fatalf("after %d steps: %v", n, err)
			}
			if n == 0 {
				t.Error("the lab has no steps")
			}
		})
	}
}
