package delta

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"streamlab/errs"
	"streamlab/internal/vfs"
)

// LogDir is the folder of the log inside a table's folder.
const LogDir = "_delta_log"

// A Log is one table's folder. It keeps the newest snapshot it has seen and reads on from there. Safe for
// concurrent use.
type Log struct {
	Root string // absolute, clean
	FS   vfs.FS
	Now  func() time.Time
	Zone *time.Location // of partition timestamps without a zone; nil is UTC
	// Durable is set if commits and data files are synced before they count.
	Durable bool

	mu       sync.Mutex
	newest   *Snapshot
	youngest int64           // see newestFile
	times    map[int64]int64 // version to timestamp, of commits already looked at
}

// Open makes the Log of a folder. Nothing is read yet; the folder need not exist.
func Open(root string) *Log {
	return &Log{Root: filepath.Clean(root), FS: vfs.OS, Now: time.Now, times: map[int64]int64{}, Durable: true}
}

func (l *Log) dir() string { return filepath.Join(l.Root, LogDir) }

func commitName(v int64) string {
	s := strconv.FormatInt(v, 10)
	return strings.Repeat("0", 20-len(s)) + s + ".json"
}

// CommitPath is the file of a version.
func (l *Log) CommitPath(v int64) string { return filepath.Join(l.dir(), commitName(v)) }

var logNames = regexp.MustCompile(`^(\d{20})\.(?:(json)|(crc)|checkpoint\.(parquet)|checkpoint\.(\d{10})\.(\d{10})\.parquet|checkpoint\.([0-9a-zA-Z-]+)\.(json|parquet))$`)

// checkpointFile is a checkpoint that a listing found: one file, all parts, or the top of a v2 checkpoint.
type checkpointFile struct {
	version int64
	kind    int // 0 classic, 1 parts, 2 v2
	files   []string
}

// listing is what _delta_log holds.
type listing struct {
	commits     []int64 // ascending
	times       map[int64]int64
	checkpoints []checkpointFile // best first
	incomplete  []int64          // versions of multi-part checkpoints that lack parts
}

// list reads the log's folder once. A folder that is not there has nothing in it.
func (l *Log) list() (*listing, error) {
	entries, err := l.FS.ReadDir(l.dir())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &listing{}, nil
		}
		return nil, err
	}
	out := &listing{times: map[int64]int64{}}
	type parts struct {
		n    int
		have map[int]string
	}
	multi := map[int64]map[int]*parts{}
	for _, e := range entries {
		m := logNames.FindStringSubmatch(e.Name())
		if m == nil || e.IsDir() {
			continue
		}
		v, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			continue
		}
		name := filepath.Join(l.dir(), e.Name())
		if m[2] != "" {
			out.commits = append(out.commits, v)
			if info, err := e.Info(); err == nil {
				out.times[v] = info.ModTime().UnixMilli()
			}
			continue
		}
		if m[3] != "" {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() == 0 {
			continue // an empty checkpoint is none
		}
		switch {
		case m[4] != "":
			out.checkpoints = append(out.checkpoints, checkpointFile{v, 0, []string{name}})
		case m[5] != "":
			i, _ := strconv.Atoi(m[5])
			n, _ := strconv.Atoi(m[6])
			if i < 1 || i > n {
				continue
			}
			if multi[v] == nil {
				multi[v] = map[int]*parts{}
			}
			if multi[v][n] == nil {
				multi[v][n] = &parts{n, map[int]string{}}
			}
			multi[v][n].have[i] = name
		case m[7] != "":
			out.checkpoints = append(out.checkpoints, checkpointFile{v, 2, []string{name}})
		}
	}
	for v, byCount := range multi {
		for n, p := range byCount {
			if len(p.have) != n {
				out.incomplete = append(out.incomplete, v)
				continue
			}
			c := checkpointFile{version: v, kind: 1}
			for i := 1; i <= n; i++ {
				c.files = append(c.files, p.have[i])
			}
			out.checkpoints = append(out.checkpoints, c)
		}
	}
	sort.Slice(out.commits, func(i, j int) bool { return out.commits[i] < out.commits[j] })
	sort.Slice(out.checkpoints, func(i, j int) bool {
		a, b := out.checkpoints[i], out.checkpoints[j]
		if a.version != b.version {
			return a.version > b.version
		}
		if a.kind != b.kind {
			return a.kind > b.kind
		}
		return a.files[0] < b.files[0]
	})
	return out, nil
}

// latest is the newest version the listing knows, -1 for none.
func (g *listing) latest() int64 {
	v := int64(-1)
	if n := len(g.commits); n > 0 {
		v = g.commits[n-1]
	}
	if len(g.checkpoints) > 0 && g.checkpoints[0].version > v {
		v = g.checkpoints[0].version
	}
	return v
}

// readCommit reads the actions of a version. A commit that is not there is fs.ErrNotExist.
func (l *Log) readCommit(v int64) ([]Action, error) {
	data, err := vfs.ReadFile(l.FS, l.CommitPath(v))
	if err != nil {
		return nil, err
	}
	return decodeActions(commitName(v), data)
}

// Commit gives the actions of a version, in the order of the log. Error: DELTA_VERSION_NOT_FOUND.
func (l *Log) Commit(v int64) ([]Action, error) {
	acts, err := l.readCommit(v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.versionNotFound(v)
	}
	return acts, err
}

// Exists says whether the folder holds a table: a log with a commit or a checkpoint.
func (l *Log) Exists() (bool, error) {
	g, err := l.list()
	if err != nil {
		return false, err
	}
	return g.latest() >= 0, nil
}

// Versions gives the earliest and the latest version whose commit is kept; ok is false for no table.
func (l *Log) Versions() (earliest, latest int64, ok bool, err error) {
	g, err := l.list()
	if err != nil || g.latest() < 0 {
		return 0, 0, false, err
	}
	if len(g.commits) == 0 {
		return g.latest(), g.latest(), true, nil
	}
	return g.commits[0], g.latest(), true, nil
}

func (l *Log) versionNotFound(v int64) error {
	first, last, ok, err := l.Versions()
	if err != nil {
		return err
	}
	if !ok {
		return l.NoTable()
	}
	return errs.New("DELTA_VERSION_NOT_FOUND", "userVersion", v, "earliest", first, "latest", last)
}

// NoTable is the error of a folder that holds no table.
func (l *Log) NoTable() error {
	if _, err := l.FS.Stat(l.Root); errors.Is(err, fs.ErrNotExist) {
		return errs.New("DELTA_PATH_DOES_NOT_EXIST", "path", l.Root)
	}
	return errs.New("DELTA_TABLE_NOT_FOUND", "tableName", l.Root)
}

// Snapshot is the table at its newest version. Errors: DELTA_TABLE_NOT_FOUND, DELTA_PATH_DOES_NOT_EXIST,
// those of reading the log and of features that are not supported.
func (l *Log) Snapshot() (*Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.newest; s != nil {
		n, err := l.advance(s)
		if err == nil {
			l.newest = n
			return n, nil
		}
		l.newest = nil // the log behind us changed: begin anew
	}
	s, err := l.load(-1)
	if err != nil {
		return nil, err
	}
	l.newest = s
	return s, nil
}

// Known is the newest snapshot seen so far, nil if none was read.
func (l *Log) Known() *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// At is the table at a version. Error: DELTA_VERSION_NOT_FOUND.
func (l *Log) At(v int64) (*Snapshot, error) {
	l.mu.Lock()
	if s := l.newest; s != nil && s.Version == v {
		l.mu.Unlock()
		return s, nil
	}
	l.mu.Unlock()
	return l.load(v)
}

// advance reads the commits behind a snapshot, one by one as long as there are any.
func (l *Log) advance(s *Snapshot) (*Snapshot, error) {
	if _, err := l.FS.Stat(l.dir()); err != nil {
		return nil, err
	}
	if err := l.sameCommit(s); err != nil {
		return nil, err
	}
	b := (*builder)(nil)
	for v := s.Version + 1; ; v++ {
		acts, err := l.readCommit(v)
		if errors.Is(err, fs.ErrNotExist) {
			if b == nil {
				return s, nil
			}
			break
		}
		if err != nil {
			return nil, err
		}
		if b == nil {
			b = builderOf(s)
		}
		if err := b.apply(v, acts); err != nil {
			return nil, err
		}
	}
	return b.finish(l)
}

// sameCommit fails if the commit file of a snapshot's version is no longer the file that was read: the table
// was removed and made anew, or another writer has overwritten it.
func (l *Log) sameCommit(s *Snapshot) error {
	info, err := l.FS.Stat(l.CommitPath(s.Version))
	if err != nil {
		return err
	}
	if s.stamp != nil && (s.stamp.size != info.Size() || s.stamp.mtime != info.ModTime().UnixNano()) {
		return errs.New("DELTA_LOG_CORRUPT", "file", commitName(s.Version), "line", 0, "reason", "the commit was overwritten")
	}
	return nil
}

// fileStamp tells one state of a file from another.
type fileStamp struct {
	size, mtime int64
}

func (l *Log) stampOf(v int64) *fileStamp {
	info, err := l.FS.Stat(l.CommitPath(v))
	if err != nil {
		return nil
	}
	return &fileStamp{info.Size(), info.ModTime().UnixNano()}
}

// load replays the log up to a version, -1 for the newest.
func (l *Log) load(v int64) (*Snapshot, error) {
	g, err := l.list()
	if err != nil {
		return nil, err
	}
	last := g.latest()
	if last < 0 {
		return nil, l.NoTable()
	}
	if v < 0 {
		v = last
	}
	if v > last {
		return nil, l.versionNotFound(v)
	}
	var failure error
	for _, c := range g.checkpoints {
		if c.version > v {
			continue
		}
		s, err := l.replay(g, &c, v)
		if err == nil {
			return s, nil
		}
		if errs.As(err) != nil && !errs.Has(err, "DELTA_CHECKPOINT_UNREADABLE") && !errs.Has(err, "DELTA_LOG_CORRUPT") {
			return nil, err
		}
		if failure == nil {
			failure = err
		}
	}
	if len(g.commits) > 0 && g.commits[0] > 0 || len(g.commits) == 0 {
		if failure != nil {
			return nil, failure
		}
		for _, n := range g.incomplete {
			if n <= v {
				return nil, errs.New("DELTA_MISSING_PART_FILES", "version", n)
			}
		}
		if v < g.commits[0] {
			return nil, l.versionNotFound(v)
		}
		return nil, errs.New("DELTA_TRUNCATED_TRANSACTION_LOG", "path", l.CommitPath(0), "version", v)
	}
	return l.replay(g, nil, v)
}

// replay builds the snapshot of v from a checkpoint (nil: none) and the commits behind it.
func (l *Log) replay(g *listing, c *checkpointFile, v int64) (*Snapshot, error) {
	b := builderOf(nil)
	next := int64(0)
	if c != nil {
		if err := l.readCheckpoint(*c, b); err != nil {
			return nil, errs.Wrap(err, "DELTA_CHECKPOINT_UNREADABLE", "file", filepath.Base(c.files[0]))
		}
		b.version = c.version
		next = c.version + 1
	}
	i := sort.Search(len(g.commits), func(i int) bool { return g.commits[i] >= next })
	for ; i < len(g.commits) && g.commits[i] <= v; i++ {
		if g.commits[i] != next {
			return nil, errs.New("DELTA_VERSIONS_NOT_CONTIGUOUS", "startVersion", next-1, "endVersion", g.commits[i], "versionToLoad", v)
		}
		acts, err := l.readCommit(next)
		if err != nil {
			return nil, err
		}
		if err := b.apply(next, acts); err != nil {
			return nil, err
		}
		next++
	}
	if next <= v {
		return nil, errs.New("DELTA_VERSIONS_NOT_CONTIGUOUS", "startVersion", next-1, "endVersion", v, "versionToLoad", v)
	}
	return b.finish(l)
}

// Remove is used by tests and VACUUM alike; a file that is not there is no error.
func (l *Log) removeFile(path string) error {
	if err := l.FS.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// ReadCommit reads the actions of a version; one that is not there is fs.ErrNotExist.
func (l *Log) ReadCommit(v int64) ([]Action, error) { return l.readCommit(v) }

// CommitsFrom lists the versions from v on whose commits are there, ascending.
func (l *Log) CommitsFrom(v int64) ([]int64, error) {
	g, err := l.list()
	if err != nil {
		return nil, err
	}
	return g.commits[sort.Search(len(g.commits), func(i int) bool { return g.commits[i] >= v }):], nil
}
