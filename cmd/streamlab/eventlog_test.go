//go:build cgo

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/tui/screen"
)

// once runs a command line and gives its code and what it printed.
func once(args ...string) (code int, out, talk string) {
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &o, err: &e}
	return a.run(context.Background(), args), o.String(), e.String()
}

func TestEventsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lab.yaml")
	text := "sources:\n  s: {format: rate-micro-batch, options: {rowsPerBatch: 5}}\nqueries:\n" +
		"- {queryName: fine, from: s, format: noop, options: {checkpointLocation: chk/fine}}\n" +
		"- {queryName: bad, sql: SELECT raise_error('it broke') FROM s, format: noop, options: {checkpointLocation: chk/bad}}\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, talk := once("events", path); code != 0 || !strings.Contains(talk, "no events") {
		t.Fatalf("without a log: %d %s", code, talk)
	}
	if code, _, talk := once("run", path, "--batches", "2"); code != 1 {
		t.Fatalf("run: %d %s", code, talk)
	}
	for _, c := range []struct {
		args  string
		code  int
		has   []string
		lacks string
	}{
		{"events LAB", 0, []string{"started", "terminated", "ERROR", "fine", "bad"}, "{"},
		{"events LAB --level error", 0, []string{"bad"}, "started"},
		{"events LAB --query fine -o json", 0, []string{`"query":"fine","batch":0,"lab":"lab.yaml"`, `"kind":"event","version":1,"time":"2`}, `"bad"`},
		{"events LAB --query fine --last 1 -o name", 0, []string{"T"}, "\n2"},
		{"events LAB --query none", 4, []string{"none"}, "started"},
		{"events LAB --level loud", 2, []string{"--level"}, "started"},
		{"sql LAB -c", 0, []string{"USER_RAISED_EXCEPTION"}, "no such"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "LAB", path))
		if args[0] == "sql" {
			args = append(args, "select distinct condition from events where level = 'ERROR'")
		}
		code, out, talk := once(args...)
		if code != c.code {
			t.Errorf("%s: code %d, want %d: %s", c.args, code, c.code, talk)
		}
		for _, h := range c.has {
			if !strings.Contains(out+talk, h) {
				t.Errorf("%s: no %q in\n%s%s", c.args, h, out, talk)
			}
		}
		if strings.Contains(out, c.lacks) {
			t.Errorf("%s: %q in\n%s", c.args, c.lacks, out)
		}
	}
}

func TestTheTailOfALogGoesOnWhereTheLogBeginsAnew(t *testing.T) {
	path := eventLogPath(t.TempDir())
	tail := newLogTail(path, "a.yaml")
	line := func(lab, message string) string { return `{"lab":"` + lab + `","message":"` + message + `"}` }
	add := func(s string) {
		t.Helper()
		if err := appendLog(path, s); err != nil {
			t.Fatal(err)
		}
	}
	more := func(want ...string) {
		t.Helper()
		list, err := tail.more()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.Message)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	more()
	add(line("a.yaml", "one") + "\n" + line("b.yaml", "other") + "\n" + line("a.yaml", "tw")[:10])
	more("one")
	add(line("a.yaml", "tw")[10:] + "\n")
	more("tw")
	if err := os.Rename(path, olderLog(path)); err != nil {
		t.Fatal(err)
	}
	add(line("a.yaml", "three") + "\n")
	more("three")
	list, err := readEvents(filepath.Dir(filepath.Dir(path)), "a.yaml")
	if err != nil || len(list) != 3 || list[0].Message != "one" || list[2].Message != "three" {
		t.Fatalf("%v %v", list, err)
	}
}

func TestALogBeginsAnewWhenItIsFull(t *testing.T) {
	path := eventLogPath(t.TempDir())
	for _, s := range []string{strings.Repeat("x", eventLogMost+1), "new\n"} {
		if err := appendLog(path, s); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new\n" || !exists(olderLog(path)) {
		t.Fatalf("%q %v", data, err)
	}
}

func TestNotesOfTheWorkbenchAreLogged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lab.yaml")
	if err := os.WriteFile(path, []byte("sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: noop, start: false}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := &app{}
	w, err := a.open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l := logEvents(w)
	l.note(screen.Event{Time: time.Now(), Level: screen.Warn, Message: "rewind q: answered yes"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l.end()
	list, err := readEvents(w.Session().Workspace(), "")
	if err != nil || len(list) != 1 || list[0].Level != "WARN" || list[0].Lab != "lab.yaml" || list[0].Message != "rewind q: answered yes" {
		t.Fatalf("%v %v", list, err)
	}
}
