package vfs

import (
	"io/fs"
	"path/filepath"
)

// An Entry is an entry of a folder that is being read.
type Entry struct {
	Name []byte      // valid until visit returns
	Type fs.FileMode // type bits: that of the entry, a link is not followed

	dir  string
	stat func(e *Entry) (FileInfo, error) // nil: by its path
}

// FileInfo is what a listing wants to know of a file.
type FileInfo struct {
	Millis int64 // time of the last change of its content, since 1970
	Size   int64
	Dir    bool
}

// Stat looks at the entry, or at what it leads to if it is a link.
func (e *Entry) Stat(fsys FS) (FileInfo, error) {
	if e.stat != nil {
		return e.stat(e)
	}
	info, err := fsys.Stat(filepath.Join(e.dir, string(e.Name)))
	if err != nil {
		return FileInfo{}, err
	}
	return FileInfo{Millis: info.ModTime().UnixMilli(), Size: info.Size(), Dir: info.IsDir()}, nil
}

// Entries reads a folder entry by entry, in no order, without holding all of them. The first error of visit
// ends it and is returned.
func Entries(fsys FS, dir string, visit func(e *Entry) error) error {
	if fsys == OS && entriesOS != nil {
		return entriesOS(dir, visit)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	e := Entry{dir: dir}
	for _, x := range entries {
		e.Name, e.Type = append(e.Name[:0], x.Name()...), x.Type()
		if err := visit(&e); err != nil {
			return err
		}
	}
	return nil
}

// entriesOS is the system's own way to read folders; nil where this package does not know it.
var entriesOS func(dir string, visit func(e *Entry) error) error

// Look looks at a file of the system by its path, or at what it leads to if it is a link.
func Look(path string) (FileInfo, error) {
	if lookOS != nil {
		return lookOS(path)
	}
	info, err := OS.Stat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return FileInfo{Millis: info.ModTime().UnixMilli(), Size: info.Size(), Dir: info.IsDir()}, nil
}

var lookOS func(path string) (FileInfo, error)
