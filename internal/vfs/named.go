package vfs

import (
	"errors"
	"io/fs"
	"syscall"

	"streamlab/errs"
)

// Named gives errors of writing to a place the name of their reason: OUTPUT_DISK_FULL where there is no room or
// no quota left, OUTPUT_NOT_WRITABLE where nothing may be written. Errors that have a name, and others, stay as
// they are; nil stays nil.
func Named(path string, err error) error {
	if err == nil || errs.As(err) != nil {
		return err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errs.Wrap(err, "OUTPUT_DISK_FULL", "path", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return errs.Wrap(err, "OUTPUT_NOT_WRITABLE", "path", path)
	}
	return err
}
