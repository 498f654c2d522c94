// Package vfs is the seam between our code and the file system: what writes files that must survive a
// crash goes through an FS, so that tests can make it fail or lose what was not synced.
//
// The rules it serves: a new file is written under a temporary name, synced, renamed, and then its
// folder is synced; nothing is overwritten in place; an error of Sync or Close is an error of the write
// and final for that file.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// An FS is a tree of files. Paths are those of the operating system.
type FS interface {
	Open(name string) (File, error)
	// OpenFile opens with the flags of package os; a file it creates gets mode perm.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	MkdirAll(name string, perm fs.FileMode) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the entries of a folder durable: what was created, renamed or removed in it.
	SyncDir(name string) error
}

// A File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// OS is the file system of the machine.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Open(name string) (File, error) { return wrap(os.Open(name)) }
func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	return wrap(os.OpenFile(name, flag, perm))
}
func (osFS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (osFS) Link(from, to string) error                   { return os.Link(from, to) }
func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (osFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// wrap keeps a nil *os.File from becoming a File that is not nil.
func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// WriteFile makes name hold data, durably and at once: a crash leaves the old content or the new. The
// temporary file beside it is name+".tmp".
func WriteFile(fsys FS, name string, data []byte, perm fs.FileMode) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, fsys.Remove(tmp))
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// MkdirAll makes a folder and those above it, and syncs the folder that holds the uppermost new one.
func MkdirAll(fsys FS, name string, perm fs.FileMode) error {
	top := ""
	for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
		_, err := fsys.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if top = filepath.Dir(dir); top == dir {
			break
		}
	}
	if top == "" {
		return nil
	}
	if err := fsys.MkdirAll(name, perm); err != nil {
		return err
	}
	for dir := filepath.Dir(filepath.Clean(name)); ; dir = filepath.Dir(dir) {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil
		}
	}
}
