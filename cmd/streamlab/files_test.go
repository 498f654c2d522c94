//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Orphans are removed only when that was said twice: --remove, and a yes.
func TestOrphansAreRemovedOnlyWhenAskedTo(t *testing.T) {
	dir := t.TempDir()
	orphan := filepath.Join(dir, "part-00000-12345678-0123-0123-0123-0123456789ab-c000.json")
	for path, text := range map[string]string{filepath.Join(dir, "_spark_metadata", "0"): "v1", orphan: "{}\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args  []string
		code  int
		stays bool
		said  string
	}{
		{nil, 0, true, ""},
		{[]string{"--remove"}, 9, true, "--yes"},
		{[]string{"--remove", "--dry-run", "--yes"}, 0, true, "1 files, 3 bytes would be removed"},
		{[]string{"--remove", "--yes"}, 0, false, "1 files removed"},
		{[]string{"--remove", "--yes"}, 0, false, "every file is in the log"},
	} {
		code, out, said := call(append([]string{"files", "orphans", dir, "-o", "csv"}, c.args...)...)
		_, err := os.Stat(orphan)
		if code != c.code || (err == nil) != c.stays || !strings.Contains(said, c.said) {
			t.Errorf("%v: %d, %v, %s", c.args, code, err, said)
		}
		if there := strings.Contains(out, filepath.Base(orphan)+",3,not in the log"); there != (c.stays || c.said == "1 files removed") {
			t.Errorf("%v: %s", c.args, out)
		}
	}
	if code, _, said := call("files", "orphans", t.TempDir()); code != 3 || !strings.Contains(said, "NO_SINK_LOG") {
		t.Error(code, said)
	}
}
