package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync returns when f is on the device: File.Sync asks for F_FULLFSYNC, as fsync alone leaves it in the
// device's cache.
func datasync(f *os.File) error { return f.Sync() }

// exchange gives two paths of one file system each other's content in one step.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
