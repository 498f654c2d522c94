package files

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"streamlab/internal/pages"
	"streamlab/internal/vfs"
)

// A listing is the files that a reading of folders has found and that are still to be selected. A million of
// them take 24 bytes and their name each, outside of the heap.
type listing struct {
	dirs  []string
	recs  pages.Slab[listed]
	from  int // what was taken
	n     int
	names pages.Slab[byte]
	used  int // bytes of names
}

// listed is a file: its folder, and where its name lies.
type listed struct {
	mtime, size int64
	name, dir   uint32 // the name begins with a byte that says how long it is
}

// trimmed is a folder without its last slash.
func trimmed(dir string) string { return strings.TrimSuffix(dir, "/") }

// add takes a file; dir has no slash at its end.
func (l *listing) add(dir string, name []byte, info vfs.FileInfo) {
	if k := len(l.dirs); k == 0 || l.dirs[k-1] != dir {
		l.dirs = append(l.dirs, dir)
	}
	if have := len(l.recs.Room()); l.n == have {
		l.recs.Grow(max(64, 2*have))
	}
	if have := len(l.names.Room()); l.used+1+len(name) > have {
		l.names.Grow(max(1024, 2*have))
	}
	l.names.Room()[l.used] = byte(len(name)) // no file system has longer ones than 255 bytes
	copy(l.names.Room()[l.used+1:], name)
	l.recs.Room()[l.n] = listed{mtime: info.Millis, size: info.Size, name: uint32(l.used), dir: uint32(len(l.dirs) - 1)}
	l.used += 1 + len(name)
	l.n++
}

// left are the files that were not taken yet. Valid until the listing changes.
func (l *listing) left() []listed { return l.recs.Room()[:l.n][l.from:] }

func (l *listing) nameOf(x listed) []byte {
	b := l.names.Room()[x.name:]
	return b[1 : 1+int(b[0])]
}

func (l *listing) file(x listed) file {
	return file{path: l.dirs[x.dir] + "/" + string(l.nameOf(x)), mtime: x.mtime, size: x.size}
}

// cut drops what lies behind the first n files that are left.
func (l *listing) cut(n int) { l.n = l.from + n }

// keep leaves only the files that f says yes to.
func (l *listing) keep(f func(x listed) bool) {
	all := l.recs.Room()[:l.n]
	l.n = l.from
	for _, x := range all[l.from:] {
		if f(x) {
			all[l.n] = x
			l.n++
		}
	}
}

// order sorts by time, oldest or newest first, then path.
func (l *listing) order(newestFirst bool) {
	slices.SortFunc(l.left(), func(a, b listed) int {
		switch {
		case a.mtime != b.mtime && (a.mtime < b.mtime) != newestFirst:
			return -1
		case a.mtime != b.mtime:
			return 1
		case a.dir == b.dir:
			return bytes.Compare(l.nameOf(a), l.nameOf(b))
		}
		return strings.Compare(l.file(a).path, l.file(b).path)
	})
}

// take removes the first n files and gives them.
func (l *listing) take(n int) []file {
	out := make([]file, n)
	for i, x := range l.left()[:n] {
		out[i] = l.file(x)
	}
	if l.from += n; l.from == l.n {
		l.free()
	}
	return out
}

func (l *listing) free() {
	l.recs.Free()
	l.names.Free()
	*l = listing{}
}

// files gives all that are left, by path.
func (l *listing) files() []file {
	out := make([]file, 0, l.n-l.from)
	for _, x := range l.left() {
		out = append(out, l.file(x))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}
