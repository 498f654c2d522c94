//go:build cgo

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// call runs a command line and gives exit code, stdout and stderr.
func call(args ...string) (int, string, string) {
	var out, said bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &said}
	return a.run(context.Background(), args), out.String(), said.String()
}

func TestTheReferenceOfCommandsIsCurrent(t *testing.T) {
	code, got, said := call("docs", "commands")
	if code != 0 {
		t.Fatal(code, said)
	}
	path := filepath.Join("..", "..", "docs", "commands.md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Error("docs/commands.md is not what the program says; go test ./cmd/streamlab -run Reference -update writes it")
	}
}

func TestEveryCommandHasAManualPage(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := call("docs", "man", dir); code != 0 {
		t.Fatal(code, said)
	}
	a := &app{}
	for _, c := range a.root().Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(dir, "streamlab-"+c.Name()+".1")); err != nil || !bytes.Contains(data, []byte(c.Short)) {
			t.Errorf("%s has no page that says what it does (%v)", c.Name(), err)
		}
	}
}

func TestCompletionKnowsLabsQueriesAndValues(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"run|", "numbers"},
		{"run|numbers|", "doubled"},
		{"checkpoint|show|numbers|", "doubled"},
		{"run|numbers|--progress|", "jsonl"},
		{"config|set|theme|", "dark"},
		{"config|get|", "clipboard"},
		{"run|hello|-o|", "csv"},
	} {
		args := append([]string{"__complete"}, strings.Split(c.args, "|")...)
		code, out, said := call(args...)
		found := false
		for _, line := range strings.Split(out, "\n") {
			word, _, _ := strings.Cut(line, "\t")
			found = found || word == c.want
		}
		if code != 0 || !found {
			t.Errorf("%v: code %d, %q (%s), want %s in it", args, code, out, said, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, said := call("completion", shell); code != 0 || !strings.Contains(out, "streamlab") {
			t.Errorf("completion %s: %d %s", shell, code, said)
		}
	}
}

// The last batches of a checkpoint are completed, and looking for them changes nothing that is stored.
func TestCompletionLooksIntoCheckpoints(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l.yaml")
	text := "sources: {r: {format: rate-micro-batch, options: {rowsPerBatch: 5}}}\n" +
		"queries: [{queryName: q, sql: SELECT value FROM r, format: noop, options: {checkpointLocation: chk}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call("run", path, "--batches", "3", "--progress", "none"); code != 0 {
		t.Fatal(code, said)
	}
	before := filesIn(t, dir)
	code, out, said := call("__complete", "checkpoint", "show", path, "q", "--batch", "")
	if code != 0 || !strings.HasPrefix(out, "2\n1\n0\n") {
		t.Errorf("%d %q %s", code, out, said)
	}
	if after := filesIn(t, dir); after != before {
		t.Errorf("files changed:\n%s\nbefore:\n%s", after, before)
	}
}

// filesIn lists the files below a folder with their sizes and times.
func filesIn(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STREAMLAB_CONFIG", dir)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("# mine\ntheme: light # for the projector\ntime: utc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, said := call("config", "set", "theme", "dark"); code != 0 {
		t.Fatal(code, said)
	}
	if code, _, said := call("config", "set", "theme", "pink"); code != 2 || !strings.Contains(said, "CONFIG_VALUE") {
		t.Errorf("%d %s", code, said)
	}
	if _, out, _ := call("config", "get", "theme"); out != "dark\n" {
		t.Errorf("theme is %q", out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil || string(data) != "# mine\ntheme: dark\ntime: utc\n" {
		t.Errorf("%q %v", data, err)
	}
	if code, _, said := call("config", "validate"); code != 0 {
		t.Error(code, said)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys.yaml"), []byte("help: x\nredraw: [x]\nfly: z\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, said := call("config", "validate")
	if code != 3 || !strings.Contains(said, "keys.yaml:2") || !strings.Contains(said, "keys.yaml:3") {
		t.Errorf("%d %s", code, said)
	}
	if _, out, _ := call("doctor"); strings.Count(out, "key binding  ") != 2 {
		t.Errorf("the doctor says %s", out)
	}
	if _, out, _ := call("docs", "keys"); !strings.Contains(out, "yours") {
		t.Error("docs keys does not mark own bindings")
	}
}
