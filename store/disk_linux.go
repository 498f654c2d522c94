package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync returns when the content of f is on the device, and of its inode what is needed to find it.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// exchange gives two paths of one file system each other's content in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
