package vfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func init() { entriesOS, lookOS = linuxEntries, linuxLook }

func linuxLook(path string) (FileInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return FileInfo{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
		return infoOf(&st), nil
	}
}

func infoOf(st *unix.Stat_t) FileInfo {
	return FileInfo{Millis: st.Mtim.Sec*1000 + st.Mtim.Nsec/1e6, Size: st.Size, Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}
}

// The parts of struct linux_dirent64.
const (
	direntSize = 16 // where the length of the record stands
	direntType = 18
	direntName = 19
)

func linuxEntries(dir string, visit func(e *Entry) error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	look := func(name []byte, flags int) (unix.Stat_t, error) {
		var st unix.Stat_t
		for {
			err := unix.Fstatat(fd, string(name), &st, flags)
			if !errors.Is(err, unix.EINTR) {
				if err != nil {
					err = &fs.PathError{Op: "stat", Path: dir + "/" + string(name), Err: err}
				}
				return st, err
			}
		}
	}
	e := Entry{dir: dir, stat: func(e *Entry) (FileInfo, error) {
		st, err := look(e.Name, 0)
		if err != nil {
			return FileInfo{}, err
		}
		return infoOf(&st), nil
	}}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "getdents", Path: dir, Err: err}
		}
		if n <= 0 {
			return nil
		}
		for b := buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntSize:]))
			if size < direntName || size > len(b) {
				return &fs.PathError{Op: "getdents", Path: dir, Err: unix.EIO}
			}
			rec := b[:size]
			b = b[size:]
			name := rec[direntName:]
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			if string(name) == "." || string(name) == ".." {
				continue
			}
			kind := rec[direntType]
			if kind == unix.DT_UNKNOWN { // file systems that do not say
				st, err := look(name, unix.AT_SYMLINK_NOFOLLOW)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return err
				}
				kind = byte(st.Mode & unix.S_IFMT >> 12)
			}
			e.Name, e.Type = name, fs.ModeIrregular
			switch kind {
			case unix.DT_REG:
				e.Type = 0
			case unix.DT_DIR:
				e.Type = fs.ModeDir
			case unix.DT_LNK:
				e.Type = fs.ModeSymlink
			}
			if err := visit(&e); err != nil {
				return err
			}
		}
	}
}
