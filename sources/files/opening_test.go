package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"streamlab/errs"
	"streamlab/sources"
)

// Only a file that is gone is a missing file: ignoreMissingFiles must not pass over one that may not be read.
func TestAFileThatMayNotBeReadIsNotMissing(t *testing.T) {
	for err, want := range map[error]string{
		fs.ErrNotExist:         "FAILED_READ_FILE.FILE_NOT_EXIST",
		fs.ErrPermission:       "FAILED_READ_FILE.NO_HINT",
		errors.New("too many"): "FAILED_READ_FILE.NO_HINT",
	} {
		wrapped := &fs.PathError{Op: "open", Path: "/a", Err: err}
		if got := notOpened(wrapped, "file:///a"); !errs.Has(got, want) || !errors.Is(got, err) {
			t.Errorf("%v: %v, want %s", err, got, want)
		}
	}
}

// Opening a stream of texts looks for partition folders, and at no file: a folder of a million would otherwise be
// held in memory and asked for times, for nothing.
func TestOpeningAStreamHoldsNoNames(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a%04d.txt", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	def := sources.Def{Format: "text", Path: dir, Options: sources.Options{}}
	if n := testing.AllocsPerRun(3, func() {
		s, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}); n > 500 {
		t.Errorf("%.0f allocations for 2000 files", n)
	}
}
