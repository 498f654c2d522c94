package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// A file that was listed.
type file struct {
	path  string
	mtime int64 // ms
	size  int64
}

// older orders files by time, then path, so that results do not depend on the order of a listing.
func older(a, b file) bool {
	if a.mtime != b.mtime {
		return a.mtime < b.mtime
	}
	return a.path < b.path
}

// lister finds the files of a path. It remembers the folders it saw: if none of them has changed there is
// nothing new, and no folder is read. Where the system tells which names are new, only these are looked at.
type lister struct {
	single    bool // the path may be one file: tables, not streams
	fs        vfs.FS
	path      string
	glob      bool
	recursive bool
	filter    string // pathGlobFilter; "" is all
	ignoreLog bool

	fromLog bool // the folder has a sink log: decided by the first listing that gave files
	decided bool
	dirs    map[string]fs.FileInfo // the folders read last
	listed  time.Time              // when the last reading of the folders began
	linked  []fs.FileInfo          // folders that the running listing has come to through links
	news    newNames
	parts   bool // the last listing found partition folders
}

// hidden says which names are not for readers: those of temporary and private files.
func hidden(name string) bool {
	if strings.HasPrefix(name, "_metadata") || strings.HasPrefix(name, "_common_metadata") {
		return false
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && !strings.Contains(name, "=") ||
		strings.HasSuffix(name, "._COPYING_")
}

// unread says which listed files have no rows for us.
func unread(name string) bool {
	return strings.HasPrefix(name, "_metadata") || strings.HasPrefix(name, "_common_metadata")
}

const globChars = "*?[]{}"

func hasGlob(path string) bool {
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' {
			i++
		} else if strings.IndexByte(globChars, path[i]) >= 0 {
			return true
		}
	}
	return false
}

// unchanged reports that no folder of the last listing has changed since. A folder that changed shortly
// before it was listed may change again within the resolution of its time, so it is never trusted.
func (l *lister) unchanged() bool {
	if len(l.dirs) == 0 || l.glob {
		return false
	}
	for dir, was := range l.dirs {
		t := was.ModTime()
		info, err := l.fs.Stat(dir)
		if err != nil || !info.ModTime().Equal(t) || l.listed.Sub(t) < 100*time.Millisecond {
			return false
		}
	}
	return true
}

func (l *lister) wanted(name string) bool {
	if hidden(name) {
		return false
	}
	return l.filter == "" || match(l.filter, name)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// glob finds the paths that a pattern with * ? [] {} matches, sorted. Hidden names are left out.
func glob(fsys vfs.FS, pattern string) ([]string, error) {
	if err := soundGlob(pattern); err != nil {
		return nil, err
	}
	var out []string
	for _, p := range braces(pattern) {
		found := []string{"/"}
		for _, part := range strings.Split(strings.Trim(p, "/"), "/") {
			var next []string
			for _, dir := range found {
				if !hasGlob(part) {
					path := filepath.Join(dir, unescape(part))
					if _, err := fsys.Stat(path); err == nil {
						next = append(next, path)
					}
					continue
				}
				entries, err := fsys.ReadDir(dir)
				if err != nil {
					continue // no folder, or not ours to read
				}
				for _, e := range entries {
					if !hidden(e.Name()) && match(part, e.Name()) {
						next = append(next, filepath.Join(dir, e.Name()))
					}
				}
			}
			found = next
		}
		out = append(out, found...)
	}
	sort.Strings(out)
	kept := out[:0]
	for i, p := range out {
		if i == 0 || p != out[i-1] {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// soundGlob refuses a pattern with a brace or bracket that nothing closes.
func soundGlob(pattern string) error {
	open, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			open++
		case c == '}' && open > 0:
			open--
		}
	}
	if open > 0 || class {
		return errs.New("INVALID_OPTION", "option", "path", "value", pattern, "requirement", "must close its braces and brackets")
	}
	return nil
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// braces expands {a,b} into several patterns.
func braces(p string) []string {
	open := -1
	depth := 0
	var cuts []int
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open = i
				cuts = []int{i}
			}
			depth++
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth == 0 {
				cuts = append(cuts, i)
				var out []string
				for k := 0; k+1 < len(cuts); k++ {
					out = append(out, braces(p[:open]+p[cuts[k]+1:cuts[k+1]]+p[i+1:])...)
				}
				return out
			}
		}
	}
	return []string{p}
}

// match matches a name against one part of a glob.
// folder says whether an entry is a folder to go into: one, or a link to one that the listing has not come
// through yet, so that links cannot send it round in circles.
func (l *lister) folder(path string, kind fs.FileMode) bool {
	if kind.IsDir() {
		return true
	}
	if kind&fs.ModeSymlink == 0 {
		return false
	}
	info, err := l.fs.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	for _, x := range l.linked {
		if os.SameFile(x, info) {
			return false
		}
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if x, err := l.fs.Stat(dir); err == nil && os.SameFile(x, info) {
			return false
		}
		if dir == l.path || dir == filepath.Dir(dir) {
			break
		}
	}
	l.linked = append(l.linked, info)
	return true
}

// inside says whether a path that a sink log names lies in the folder of the log: a log is data of somebody
// else, and must not be a way to read what its folder does not hold.
func (l *lister) inside(p string) (bool, error) {
	rel, err := filepath.Rel(l.path, p)
	if err == nil && filepath.IsLocal(rel) && !strings.Contains(p, "/../") {
		return true, nil
	}
	root, err := filepath.EvalSymlinks(l.path) // the log may name the folder by another way to it
	if err != nil {
		return false, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(p))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rel, err = filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel), nil
}

func match(pattern, name string) bool {
	for _, p := range braces(pattern) {
		p = strings.ReplaceAll(p, "[!", "[^")
		if ok, err := filepath.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}
