package files

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/vfs"
)

// lock takes the folder of the log for this sink, until unlock or the end of the process: two queries that
// write one folder would each count their own micro-batches in one log. The lock is on the folder itself and
// leaves nothing behind. Where the file system knows no locks there is none; the log's entries, which appear
// only once, still tell the second writer at its commit. Error: SINK_LOCKED.
func lock(fsys vfs.FS, root string) (*os.File, error) {
	if fsys != vfs.OS {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(root, codec.SinkLogDir))
	if err != nil {
		return nil, err
	}
	switch err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		err = errs.New("SINK_LOCKED", "path", root)
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
		err = nil
	}
	_ = f.Close()
	return nil, err
}
