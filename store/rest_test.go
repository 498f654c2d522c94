package store

import (
	"runtime"
	"strings"
	"testing"
)

// compactors counts the goroutines that look for something to compact.
func compactors() int {
	b := make([]byte, 1<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "runCompactor")
}

// A checkpoint at rest has no work in the background, and takes writes as before.
func TestRest(t *testing.T) {
	dir := t.TempDir()
	before := compactors()
	c, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for batch := range int64(3) {
		if err := c.LogOffsets(batch, offsetsOf(batch)); err != nil {
			t.Fatal(err)
		}
		if compactors() == before {
			t.Fatal("nothing works in the background after a write: Rest cannot be seen")
		}
		c.Rest()
		c.Rest()
		if n := compactors(); n != before {
			t.Fatalf("%d compactors at rest, %d before", n, before)
		}
		if err := c.Begin(batch).Commit(CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
		c.Rest()
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Rest()
	if c, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if head, ok := c.Head(); !ok || head != 2 {
		t.Fatalf("head %d %v", head, ok)
	}
}
