//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder stands for the lab in it, wherever a lab is asked for; one with none or several says what it holds.
func TestAFolderStandsForItsLab(t *testing.T) {
	dir := t.TempDir()
	if code, out := runApp(t, dir, "lab", "new", "rate", "mine"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, args := range [][]string{{"validate", "mine"}, {"validate", "mine/"}, {"explain", "mine", "every_row"}} {
		if code, out := runApp(t, dir, args...); code != 0 {
			t.Errorf("%v: exit %d\n%s", args, code, out)
		}
	}
	write := func(name string) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a: b\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("mine/other.yaml") // the lab named like the folder still wins
	if code, out := runApp(t, dir, "validate", "mine"); code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
	write("rows/a.csv")
	write("two/a.yaml")
	write("two/b.yml")
	for folder, want := range map[string]string{"rows": "no lab file", "two": "a.yaml, b.yml"} {
		code, out := runApp(t, dir, "run", folder, "--once")
		if code != 4 || !strings.Contains(out, "LAB_FOLDER") || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s", folder, code, out)
		}
	}
}
