package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func twoPages(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, make([]byte, 2*slotSize), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPageWriterWritesWhatItIsGiven(t *testing.T) {
	path := twoPages(t)
	for range 3 { // the second one has the queue of the first
		w, err := openPageWriter(path)
		if err != nil {
			t.Skip("no such writes here: ", err)
		}
		for i := range 20 {
			page := bytes.Repeat([]byte{byte(i + 1)}, slotSize)
			if err := w.start(page, int64(i%2)*slotSize); err != nil {
				t.Fatal(err)
			}
			clear(page) // it may be used again at once
			if i == 19 {
				break // close waits for it
			}
			if err := w.wait(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		want := append(bytes.Repeat([]byte{19}, slotSize), bytes.Repeat([]byte{20}, slotSize)...)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v, pages of %d and %d", err, got[0], got[slotSize])
		}
	}
}

func TestPageWriterReportsAFailure(t *testing.T) {
	path := twoPages(t)
	w, err := openPageWriter(path)
	if err != nil {
		t.Skip("no such writes here: ", err)
	}
	defer w.close()
	if err := errors.Join(w.start(make([]byte, slotSize), 1), w.wait()); !errors.Is(err, errNoQueue) { // an offset that is no page's
		t.Fatalf("got %v", err)
	}
}

// A file system without such writes gets its anchors all the same.
func TestAnchorWithoutPageWriter(t *testing.T) {
	nothing := func(string) error { return nil }
	for _, lose := range []func(f *anchorFile){
		func(f *anchorFile) { f.beside = nil },
		func(f *anchorFile) { f.plain(f.last, nothing) },
	} {
		dir := t.TempDir()
		if err := createAnchor(dir, anchor{}); err != nil {
			t.Fatal(err)
		}
		f, ok, err := openAnchor(dir, true)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		lose(f)
		points := ""
		f.start(anchor{lastPlanned: 8, lastCommitted: 7}, func(p string) error { points += p + " "; return nil })
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		g, ok, err := openAnchor(dir, true)
		if err != nil || !ok || g.last.lastCommitted != 7 || points != "anchor.before anchor.after " {
			t.Fatalf("%v %v %+v %q", ok, err, g.last, points)
		}
		if err := g.close(); err != nil {
			t.Fatal(err)
		}
	}
}
