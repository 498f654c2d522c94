//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The file is looked at when it ticks: another text counts, the same text written again does not, and one that was
// read is in use.
func TestAChangedFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	ticks := make(chan time.Time)
	var f fileWatch
	f.begin(path, ticks)
	defer f.end()
	look := func() string {
		ticks <- time.Time{}
		ticks <- time.Time{} // the first one has been looked at
		return f.changed()
	}
	if got := look(); got != "" {
		t.Errorf("nothing was written: %q", got)
	}
	write("other")
	if got := look(); got != fileStamp([]byte("other")) {
		t.Errorf("changed: %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := look(); got == "" {
		t.Error("while the file is away it is not what is in use")
	}
	write("a")
	if got := look(); got != "" {
		t.Errorf("it is what is in use again: %q", got)
	}
	write("third")
	if look() == "" {
		t.Error("not noticed")
	}
	f.read(fileStamp([]byte("third")))
	if got := f.changed(); got != "" {
		t.Errorf("it was read: %q", got)
	}
}

// What is adopted is in use, whoever wrote it.
func TestAnAdoptedTextIsInUse(t *testing.T) {
	b := opened(t, pastLab)
	b.file.mu.Lock()
	b.file.disk = "else"
	b.file.mu.Unlock()
	if b.Lab().Changed != "else" {
		t.Fatalf("%+v", b.Lab())
	}
	if _, err := b.Adopt(context.Background(), pastLab+"  - {queryName: more, from: lines, format: noop, start: false}\n"); err != nil {
		t.Fatal(err)
	}
	if b.Lab().Changed != "" || len(b.Queries()) != 3 {
		t.Errorf("changed %q, %d queries", b.Lab().Changed, len(b.Queries()))
	}
}

// A text with mistakes that is saved here is on disk and not in use, and nobody else has written it.
func TestAnOwnSaveIsNoForeignChange(t *testing.T) {
	b := opened(t, pastLab)
	b.settle(t, "q")
	b.settle(t, "t")
	ctx := context.Background()
	file, bad := b.w.Lab.File, pastLab+"\nno: [yaml\n"
	stamp, changed, err := b.SaveLab(ctx, file, bad, "")
	if err != nil || changed {
		t.Fatalf("%v, changed %v", err, changed)
	}
	if _, err := b.Adopt(ctx, bad); err == nil {
		t.Fatal("the text has mistakes")
	}
	see := func(disk string) {
		b.file.mu.Lock()
		b.file.disk = disk
		b.file.mu.Unlock()
	}
	if see(stamp); b.Lab().Changed != "" {
		t.Errorf("the own text is called a change: %q", b.Lab().Changed)
	}
	if see("else"); b.Lab().Changed != "else" {
		t.Errorf("what another wrote after that: %q", b.Lab().Changed)
	}
	b.file.read("else")
	if see(stamp); b.Lab().Changed != stamp {
		t.Error("that text was written again, by another")
	}
}
