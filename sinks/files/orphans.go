package files

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/vfs"
)

// An Orphan is a file in the output folder of a file sink that its log does not name.
type Orphan struct {
	Path string // absolute
	Size int64
	Why  string // Leftover or Unnamed
}

// The kinds of orphans.
const (
	Leftover = "half written" // a temporary file of an attempt that did not end
	Unnamed  = "not in the log"
)

// Names of data files as sinks make them, ours and Spark's, and of what is not finished.
var (
	dataName = regexp.MustCompile(`^part-\d{5,}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}[-.]c\d{3,}\.`)
	tempName = regexp.MustCompile(`^\.(part-\d{5,}-[0-9a-f-]{36}[-.]c\d{3,}\..+|\d+(\.compact)?)\.tmp$`)
)

// Orphans lists the files below the output folder of a file sink that are the sink's by their name and that no
// entry of its log names, by path: what a crash between writing and commit has left, and what the option
// retention has let drop out of the log. Files of other names and links are none of its business. The folder
// is locked meanwhile. Errors: SINK_LOCKED while a query writes it, NO_SINK_LOG, those of reading the log.
func Orphans(root string) ([]Orphan, error) {
	out, held, err := orphans(vfs.OS, root)
	if held != nil {
		err = errors.Join(err, held.Close())
	}
	return out, err
}

// RemoveOrphans removes what Orphans lists and returns it. After an error some of it may be gone.
func RemoveOrphans(root string) ([]Orphan, error) {
	fsys := vfs.OS
	out, held, err := orphans(fsys, root)
	if held != nil {
		defer held.Close()
	}
	if err != nil {
		return nil, err
	}
	for i, o := range out {
		if err := fsys.Remove(o.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out[:i], err
		}
	}
	return out, nil
}

// held is what Orphans keeps locked.
type held interface{ Close() error }

func orphans(fsys vfs.FS, root string) ([]Orphan, held, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, err
	}
	if info, err := fsys.Stat(filepath.Join(root, codec.SinkLogDir)); err != nil || !info.IsDir() {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = errs.New("NO_SINK_LOG", "path", root)
		}
		return nil, nil, err
	}
	l, err := lock(fsys, root)
	if err != nil {
		return nil, nil, err
	}
	var h held
	if l != nil {
		h = l
	}
	logged, _, err := codec.ReadSinkLog(fsys, root)
	if err != nil {
		return nil, h, err
	}
	named := map[string]bool{}
	for _, f := range logged {
		// The folder may have been moved since, or have another name: the part below it tells.
		p := codec.FilePath(f.Path)
		named[p] = true
		named[filepath.Join(root, below(p))] = true
	}
	var out []Orphan
	err = walk(fsys, root, 0, func(path string, e fs.DirEntry) error {
		why := ""
		switch name := e.Name(); {
		case tempName.MatchString(name):
			why = Leftover
		case dataName.MatchString(name) && !named[path] && filepath.Base(filepath.Dir(path)) != codec.SinkLogDir:
			why = Unnamed
		default:
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		out = append(out, Orphan{Path: path, Size: info.Size(), Why: why})
		return nil
	})
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, h, err
}

// below is the end of a path that a sink has added to its folder: the folders of partitions and the name.
func below(path string) string {
	parts := strings.Split(path, "/")
	k := len(parts) - 1
	for k > 0 && strings.Contains(parts[k-1], "=") {
		k--
	}
	return filepath.Join(parts[k:]...)
}

// walk visits the plain files of the folder, of its log and of its partition folders.
func walk(fsys vfs.FS, dir string, depth int, visit func(path string, e fs.DirEntry) error) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if strings.Contains(e.Name(), "=") || depth == 0 && e.Name() == codec.SinkLogDir {
				if err := walk(fsys, path, depth+1, visit); err != nil {
					return err
				}
			}
		case e.Type().IsRegular():
			if err := visit(path, e); err != nil {
				return err
			}
		}
	}
	return nil
}
