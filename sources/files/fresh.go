package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"streamlab/internal/vfs"
)

// newNames is how a lister learns which names are new in the folders that it has read. Reading a folder of ten
// thousand files takes milliseconds, and a micro-batch that has come for one file should not pay for the others.
//
// A folder is watched before it is read, so that nothing comes up between. What the system tells is never trusted
// for long: now and then the folders are read all the same, and at once if something may have been missed, a
// folder is another one than it was, or may have become part of the tree.
type newNames struct {
	w       vfs.Watch // nil: the folders are read each time
	refused bool      // they cannot be watched
	armed   bool      // all folders of the last reading are watched
	entries int       // that the last reading met
	read    time.Time // when it ended
	took    time.Duration
	names   []newName
	text    []byte
}

// A newName is a name in text, and its folder.
type newName struct {
	dir      string
	from, to int
}

const (
	watchFrom    = 100 // entries; fewer are read faster than it is worth to watch them
	watchDirs    = 256 // folders at most
	relistAfter  = 10 * time.Second
	relistFactor = 200 // the folders are read again after so many times what it took: half a per cent of the time
)

// begin is called before the folders are read.
func (n *newNames) begin(l *lister) {
	n.read = time.Now()
	many := n.entries >= watchFrom
	n.entries, n.armed = 0, false
	if many && n.w == nil && !n.refused && !l.single && !l.glob {
		var err error
		if n.w, err = vfs.NewWatch(l.fs); err != nil {
			n.refused = true
		}
	}
	n.armed = n.w != nil
}

// watch is called before a folder is read.
func (n *newNames) watch(dir string) {
	if !n.armed {
		return
	}
	if err := n.w.Add(dir); err != nil {
		n.close()
		n.refused = true
	}
}

// end is called after the folders were read.
func (n *newNames) end(l *lister) {
	now := time.Now()
	n.took, n.read = now.Sub(n.read), now
	if len(l.dirs) > watchDirs {
		n.close()
		n.refused = true
	}
}

func (n *newNames) close() {
	if n.w != nil {
		_ = n.w.Close() // nothing was written
	}
	n.w, n.armed = nil, false
}

// fresh adds the files that have come up since the folders were looked at last, and that keep accepts; ok is
// false if the folders have to be read to know. After an error they have to be, too.
func (l *lister) fresh(out *listing, keep chooser) (ok bool, err error) {
	n := &l.news
	now := time.Now()
	if !n.armed || len(l.dirs) == 0 || !l.decided || l.fromLog || now.Sub(n.read) > max(relistAfter, relistFactor*n.took) {
		return false, nil
	}
	for dir, was := range l.dirs { // before the names are asked for: what comes between changes a folder anew
		info, err := l.fs.Stat(dir)
		if err != nil || !os.SameFile(was, info) {
			return false, nil
		}
		l.dirs[dir] = info
	}
	n.names, n.text = n.names[:0], n.text[:0]
	tree := false // a folder may have come
	whole := n.w.Changes(func(dir string, name []byte, folder bool) {
		switch _, ours := l.dirs[dir]; {
		case !ours:
		case folder:
			tree = tree || l.enters(dir, view(name))
		default:
			n.text = append(n.text, name...)
			n.names = append(n.names, newName{dir, len(n.text) - len(name), len(n.text)})
		}
	})
	if !whole || tree {
		return false, nil
	}
	slices.SortFunc(n.names, func(a, b newName) int {
		if a.dir != b.dir {
			return strings.Compare(a.dir, b.dir)
		}
		return bytes.Compare(n.text[a.from:a.to], n.text[b.from:b.to])
	})
	var last []byte
	lastDir := ""
	for _, x := range n.names {
		name := n.text[x.from:x.to]
		if x.dir == lastDir && bytes.Equal(name, last) {
			continue
		}
		lastDir, last = x.dir, name
		base := trimmed(x.dir)
		if !l.wanted(view(name)) || !keep(base, name) && !l.enters(x.dir, view(name)) {
			continue
		}
		info, err := l.fs.Stat(base + "/" + string(name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // gone again, or a link to nowhere
		case err != nil:
			return false, err
		case info.IsDir(): // a link to one
			if l.enters(x.dir, view(name)) {
				out.free()
				return false, nil
			}
		case l.parts && x.dir == l.path && !l.recursive: // a file beside the partition folders does not count
		case keep(base, name):
			out.add(base, name, infoOf(info))
		}
	}
	l.listed = now
	return true, nil
}

// enters says whether a listing would go into a folder, or a link to one, of this name.
func (l *lister) enters(dir, name string) bool {
	return !hidden(name) && (l.recursive || dir != l.path || strings.Contains(name, "="))
}
