package files

import (
	"errors"
	"io/fs"
	"testing"

	"streamlab/errs"
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
