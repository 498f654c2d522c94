package store

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"streamlab/errs"
)

// treeOf is the content and the times of every file below dir.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		text += fmt.Sprintf("%s %x %s\n", path, sha256.Sum256(data), st.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestLookChangesNothing looks at a checkpoint as it was left open, with a batch pending.
func TestLookChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chk")
	c, err := Open(dir, Options{Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := range int64(3) {
		if err := c.LogOffsets(n, OffsetEntry{Offsets: []string{fmt.Sprint(n)}}); err != nil {
			t.Fatal(err)
		}
		if n < 2 {
			if err := c.Begin(n).Commit(CommitEntry{}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := Look(dir, Options{}); !errs.Has(err, "CHECKPOINT_IN_USE") {
		t.Fatalf("a checkpoint in use: %v", err)
	}
	// As a crash leaves it: the files without their owner.
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, crashed)
	for range 2 {
		l, done, err := Look(crashed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		head, ok := l.Head()
		if e, pending := l.Pending(); !ok || head != 1 || !pending || e.Offsets[0] != "2" {
			t.Errorf("head %d %v, pending %v %v", head, ok, pending, e)
		}
		scratch := l.Dir()
		done()
		if _, err := os.Stat(scratch); !os.IsNotExist(err) {
			t.Errorf("the copy is still there: %v", err)
		}
	}
	if after := treeOf(t, crashed); after != before {
		t.Errorf("files changed:\n%s\n%s", before, after)
	}
}
