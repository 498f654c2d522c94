package files

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/vfs"
)

// A chooser says by folder, without a slash at its end, and name whether a file is wanted; the name is valid
// during the call.
type chooser func(dir string, name []byte) bool

// all wants every file.
func all(string, []byte) bool { return true }

// list gives the files that keep accepts, by path; only these are looked at closer.
func (l *lister) list(keep chooser) ([]file, error) {
	var out listing
	err := l.into(&out, keep)
	defer out.free()
	if err != nil {
		return nil, err
	}
	return out.files(), nil
}

// into adds the files that keep accepts to a listing, in no order.
func (l *lister) into(out *listing, keep chooser) error {
	if !l.glob && !l.ignoreLog && (!l.decided || l.fromLog) {
		_, err := l.fs.Stat(filepath.Join(l.path, codec.SinkLogDir))
		if err == nil {
			l.fromLog, l.decided = true, true
			return l.sinkLog(out, keep)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // the path may be one file
			return err
		}
		l.fromLog = false
	}
	l.listed = time.Now()
	l.dirs = map[string]fs.FileInfo{}
	l.news.begin(l)
	defer l.news.end(l)
	l.linked = nil
	l.parts = false
	if err := soundGlob(l.filter); err != nil {
		return err
	}
	if !l.glob {
		if err := l.root(l.path, out, keep); err != nil {
			return err
		}
	} else {
		paths, err := glob(l.fs, l.path)
		if err != nil {
			return err
		}
		for _, p := range paths {
			info, err := l.fs.Stat(p)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if info.IsDir() {
				if err := l.dir(p, l.recursive, out, keep); err != nil {
					return err
				}
				continue
			}
			if dir, name := split(p); l.wanted(string(name)) && keep(dir, name) {
				out.add(dir, name, infoOf(info))
			}
		}
	}
	if out.n > out.from {
		l.decided = true
	}
	return nil
}

func split(path string) (dir string, name []byte) {
	d, n := filepath.Split(path)
	return trimmed(d), []byte(n)
}

func infoOf(i fs.FileInfo) vfs.FileInfo {
	return vfs.FileInfo{Millis: i.ModTime().UnixMilli(), Size: i.Size(), Dir: i.IsDir()}
}

// view is a text that lives as long as b is not changed.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// root lists a folder that is not a glob: with key=value folders in it they are read, otherwise its files.
func (l *lister) root(dir string, out *listing, keep chooser) error {
	info, err := l.fs.Stat(dir)
	if err != nil {
		return ignoreGone(err)
	}
	if !info.IsDir() && l.single {
		d, name := split(dir)
		out.add(d, name, infoOf(info))
		return nil
	}
	if !info.IsDir() {
		return errs.New("INVALID_OPTION", "option", "basePath", "value", dir, "requirement", "must be a directory")
	}
	if l.recursive {
		return l.dir(dir, true, out, keep)
	}
	l.dirs[dir] = info
	// Whether there are partition folders is known when all is read; the files beside them do not count.
	var plain listing
	parts, err := l.entries(dir, &plain, keep, func(name string) bool { return strings.Contains(name, "=") })
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		if out.n == 0 {
			*out, plain = plain, listing{}
		}
		for _, x := range plain.left() {
			out.add(plain.dirs[x.dir], plain.nameOf(x), vfs.FileInfo{Millis: x.mtime, Size: x.size})
		}
		plain.free()
		return nil
	}
	plain.free()
	l.parts = true
	for _, p := range parts {
		if err := l.dir(p, true, out, keep); err != nil {
			return err
		}
	}
	return nil
}

// dir lists a folder, with deep those below it too.
func (l *lister) dir(dir string, deep bool, out *listing, keep chooser) error {
	info, err := l.fs.Stat(dir)
	if err != nil {
		return ignoreGone(err)
	}
	below, err := l.entries(dir, out, keep, func(string) bool { return deep })
	if err != nil {
		return ignoreGone(err)
	}
	l.dirs[dir] = info
	for _, d := range below {
		if err := l.dir(d, true, out, keep); err != nil {
			return err
		}
	}
	return nil
}

// entries adds the files of one folder and gives the paths of those of its folders whose name enter accepts,
// sorted.
func (l *lister) entries(dir string, out *listing, keep chooser, enter func(name string) bool) ([]string, error) {
	base := trimmed(dir)
	var below []string
	l.news.watch(dir)
	err := vfs.Entries(l.fs, dir, func(e *vfs.Entry) error {
		name := view(e.Name)
		l.news.entries++
		if e.Type&(fs.ModeDir|fs.ModeSymlink) != 0 && !hidden(name) && enter(name) {
			if path := base + "/" + name; l.folder(path, e.Type) {
				below = append(below, path)
				return nil
			}
		}
		if e.Type.IsDir() || !l.wanted(name) || !keep(base, e.Name) {
			return nil
		}
		info, err := e.Stat(l.fs)
		if err != nil {
			return ignoreGone(err)
		}
		if !info.Dir {
			out.add(base, e.Name, info)
		}
		return nil
	})
	slices.Sort(below)
	return below, err
}

// sinkLog lists what the log of a file sink names.
func (l *lister) sinkLog(out *listing, keep chooser) error {
	l.dirs = nil
	logged, _, err := codec.ReadSinkLog(l.fs, l.path)
	if err != nil {
		return err
	}
	for _, f := range logged {
		p := codec.FilePath(f.Path)
		if inside, err := l.inside(p); err != nil || !inside {
			if err == nil {
				err = errs.New("SINK_LOG_PATH_OUTSIDE", "path", p, "folder", l.path)
			}
			return err
		}
		dir, name := split(p)
		if strings.Contains(strings.TrimPrefix(dir, l.path), "=") {
			l.parts = true
		}
		if (l.filter == "" || match(l.filter, string(name))) && keep(dir, name) {
			out.add(dir, name, vfs.FileInfo{Millis: f.ModificationTime, Size: f.Size})
		}
	}
	return nil
}
