package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"streamlab/errs"
)

// lookMax is how many bytes of data a checkpoint may have to be looked at through a copy.
const lookMax = 512 << 20

// Look opens a checkpoint for looking: nothing in dir is written, made or removed, whatever a crash left there.
// What is opened is a copy in a folder of its own, which done removes; the copy is recovered as Open does it, and
// shows what the next Open will find. While another process has the checkpoint open it is CHECKPOINT_IN_USE, of
// one with more than half a gigabyte of data CHECKPOINT_NOT_LOOKED_AT; other errors are those of Open.
func Look(dir string, o Options) (c *Checkpoint, done func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	lock, err := shareLock(dir)
	if err != nil {
		return nil, nil, err
	}
	if lock != nil {
		defer lock.Close()
	}
	scratch, err := os.MkdirTemp("", "streamlab-look-")
	if err != nil {
		return nil, nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	fail := func(err error) (*Checkpoint, func(), error) {
		os.RemoveAll(scratch)
		if e := errs.As(err); e != nil {
			if _, has := e.Params["checkpointLocation"]; has {
				e.Params["checkpointLocation"] = dir
			}
		}
		return nil, nil, err
	}
	left := int64(lookMax)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(scratch, rel), 0o700)
		}
		if d.Name() == "LOCK" || !d.Type().IsRegular() {
			return nil
		}
		n, err := copySparse(filepath.Join(scratch, rel), path, left)
		left -= n
		return err
	})
	switch {
	case errors.Is(err, errTooLarge):
		return fail(errs.New("CHECKPOINT_NOT_LOOKED_AT", "checkpointLocation", dir))
	case err != nil:
		return fail(errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir))
	}
	o.Durability = "process" // it is thrown away
	c, err = Open(scratch, o)
	if err != nil {
		return fail(err)
	}
	return c, func() {
		c.Close()
		os.RemoveAll(scratch)
	}, nil
}

// shareLock keeps others from opening the checkpoint meanwhile; nil if it has no lock file to take.
func shareLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "LOCK")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, host, since := readOwner(path)
		f.Close()
		return nil, errs.New("CHECKPOINT_IN_USE", "checkpointLocation", dir, "pid", pid, "host", host, "since", since)
	}
	if err != nil {
		f.Close()
		return nil, errs.Wrap(err, "CHECKPOINT_UNREADABLE", "checkpointLocation", dir)
	}
	return f, nil
}

var errTooLarge = errors.New("store: too large to be copied")

// copySparse copies a file and leaves blocks of zeros out: files that the database has reserved are mostly empty.
// It gives how many bytes were written, and stops at most.
func copySparse(to, from string, most int64) (written int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buf := make([]byte, 64<<10)
	at := int64(0)
	for {
		if next, err := in.Seek(at, unix.SEEK_DATA); err == nil && next > at {
			at = next
		} else if errors.Is(err, unix.ENXIO) { // a hole up to the end
			break
		}
		if _, err := in.Seek(at, io.SeekStart); err != nil {
			return written, err
		}
		n, err := io.ReadFull(in, buf)
		if n > 0 && !zeros(buf[:n]) {
			if written += int64(n); written > most {
				return written, errTooLarge
			}
			if _, err := out.WriteAt(buf[:n], at); err != nil {
				return written, err
			}
		}
		at += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return written, err
		}
	}
	st, err := in.Stat()
	if err != nil {
		return written, err
	}
	return written, out.Truncate(st.Size())
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
