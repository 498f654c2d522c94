package store

import (
	"bytes"
	"testing"
)

// Long entries of a source log are kept small and come back as they were, at once and after reopening; damage to
// one is told.
func TestLongEntriesOfASourceLog(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	line := []byte("\n{\"path\":\"file:///data/in/events-2026.json\",\"timestamp\":1,\"batchId\":0}")
	entries := [][]byte{{}, []byte("v1"), append([]byte("v1"), bytes.Repeat(line, 100_000)...), {0}, {0, 1, 2}, bytes.Repeat([]byte{0}, 70<<10)}
	l := c.SourceLog(0)
	check := func() {
		t.Helper()
		for i, want := range entries {
			if got, ok, err := l.Get(int64(i)); err != nil || !ok || !bytes.Equal(got, want) {
				t.Errorf("entry %d: %d bytes of %d, %v %v", i, len(got), len(want), ok, err)
			}
		}
	}
	for i, e := range entries {
		if err := l.Add(int64(i), e); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if n := len(pack(entries[2])); n > len(entries[2])/50 {
		t.Errorf("%d of %d bytes", n, len(entries[2]))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l = c.SourceLog(0)
	check()
	if _, err := unpack(pack(entries[2])[:1000]); err == nil {
		t.Error("half an entry is no entry")
	}
}
