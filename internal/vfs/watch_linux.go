package vfs

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

func init() { watchOS = newInotify }

// local are the file systems that only this kernel changes. Of what others change, be it another machine or the
// host of a container, inotify does not tell.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true,
}

// comes is what makes a name come up: created, linked, renamed into place, or written or touched, which gives
// it another time.
const comes = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB

// leaves is what ends the watching of a folder.
const leaves = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT | unix.IN_IGNORED | unix.IN_Q_OVERFLOW

type inotify struct {
	fd   int
	dirs map[int32]string
	buf  [16 << 10]byte
}

func newInotify() (Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, errors.Join(ErrNotWatched, err)
	}
	return &inotify{fd: fd, dirs: map[int32]string{}}, nil
}

func (w *inotify) Add(dir string) error {
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		return errors.Join(ErrNotWatched, err)
	}
	if !local[int64(at.Type)] {
		return ErrNotWatched
	}
	wd, err := unix.InotifyAddWatch(w.fd, dir, comes|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ONLYDIR)
	if err != nil {
		return errors.Join(ErrNotWatched, err)
	}
	if was, ok := w.dirs[int32(wd)]; ok && was != dir {
		return ErrNotWatched // a folder under two names: an event would tell of one
	}
	w.dirs[int32(wd)] = dir
	return nil
}

func (w *inotify) Changes(each func(dir string, name []byte, folder bool)) (whole bool) {
	whole = true
	for {
		n, err := unix.Read(w.fd, w.buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < unix.SizeofInotifyEvent {
			return whole && errors.Is(err, unix.EAGAIN)
		}
		for b := w.buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask := binary.NativeEndian.Uint32(b[4:])
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			if size > len(b) {
				return false
			}
			name := b[unix.SizeofInotifyEvent:size]
			b = b[size:]
			if mask&leaves != 0 {
				whole = false
				if mask&(unix.IN_IGNORED|unix.IN_MOVE_SELF) != 0 {
					delete(w.dirs, wd)
				}
				continue
			}
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			dir, ok := w.dirs[wd]
			if !ok || len(name) == 0 { // the folder itself was touched
				continue
			}
			each(dir, name, mask&unix.IN_ISDIR != 0)
		}
	}
}

func (w *inotify) Close() error { return unix.Close(w.fd) }
