package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lstater is what a file system with symbolic links has.
type lstater interface {
	Lstat(name string) (fs.FileInfo, error)
}

func (osFS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Link finds the first symbolic link below root on the way to root/rel: its path, "" if there is none. What is
// not there is no link, and root itself may be one: it is the folder that the user has named.
func Link(fsys FS, root, rel string) (string, error) {
	l, ok := fsys.(lstater)
	if !ok {
		return "", nil
	}
	path := root
	for _, part := range strings.Split(filepath.ToSlash(filepath.Clean(rel)), "/") {
		if part == "" || part == "." {
			continue
		}
		path = filepath.Join(path, part)
		info, err := l.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return path, nil
		}
	}
	return "", nil
}

// Leads says whether a path below root, which must exist, lies outside of root once its links are followed.
func Leads(fsys FS, root, path string) (outside bool, err error) {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return true, nil
	}
	if link, err := Link(fsys, root, rel); link == "" || err != nil {
		return false, err
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	rel, err = filepath.Rel(top, real)
	return err != nil || !filepath.IsLocal(rel), nil
}
