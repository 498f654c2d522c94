package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"streamlab/codec"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sinks/sinktest"
	"streamlab/sources"
	"streamlab/sql/types"
)

// dying is a file system that works for some changing operations and then for none: a process that is killed.
type dying struct {
	vfs.FS
	left atomic.Int64
}

var errDead = errors.New("the process is dead")

// step does f if the process still lives.
func (d *dying) step(f func() error) error {
	if d.left.Add(-1) < 0 {
		return errDead
	}
	return f()
}

func (d *dying) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	err = d.step(func() (err error) {
		f, err = d.FS.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}

func (d *dying) Rename(from, to string) error {
	return d.step(func() error { return d.FS.Rename(from, to) })
}

func (d *dying) Link(from, to string) error {
	return d.step(func() error { return d.FS.Link(from, to) })
}

func (d *dying) Remove(name string) error {
	return d.step(func() error { return d.FS.Remove(name) })
}

func (d *dying) SyncDir(name string) error {
	return d.step(func() error { return d.FS.SyncDir(name) })
}

func (d *dying) MkdirAll(name string, perm fs.FileMode) error {
	return d.step(func() error { return d.FS.MkdirAll(name, perm) })
}

// content reads all data files that a function lists.
func content(t *testing.T, paths []string) string {
	t.Helper()
	var rows []string
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.Fields(string(data))...)
	}
	sort.Strings(rows)
	return strings.Join(rows, " ")
}

// A batch that dies at any change of the file system and comes again is there exactly once, for readers of
// the log and of the bare folder.
func TestDiesAnywhere(t *testing.T) {
	const ddl = "a INT, p INT"
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range [][]string{nil, {"p"}} {
		for k := 0; ; k++ {
			dir := t.TempDir()
			open := func(fsys vfs.FS) *sink {
				s, err := New(sinks.Def{Format: "json", Path: dir, Schema: schema, PartitionBy: by, QueryID: "q", Durable: true,
					Options: sources.Options{}, Conf: func(key string) string {
						if strings.HasSuffix(key, "compactInterval") {
							return "2"
						}
						return ""
					}})
				if err != nil {
					t.Fatal(err)
				}
				s.(*sink).fs = fsys
				return s.(*sink)
			}
			batches := []sinks.Batch{
				sinktest.Batch(t, 0, ddl, "{\"a\":1,\"p\":1}", "{\"a\":2,\"p\":2}"),
				sinktest.Batch(t, 1, ddl, "{\"a\":3,\"p\":1}\n{\"a\":4,\"p\":2}"),
			}
			d := &dying{FS: vfs.OS}
			d.left.Store(int64(k))
			s := open(d)
			died := false
			for _, b := range batches {
				if err := s.AddBatch(context.Background(), b); err != nil {
					if !errors.Is(err, errDead) {
						t.Fatal(err)
					}
					died = true
					break
				}
			}
			s = open(vfs.OS)
			for _, b := range batches {
				if err := s.AddBatch(context.Background(), b); err != nil && !errors.Is(err, sinks.ErrSkipped) {
					t.Fatalf("step %d: %v", k, err)
				}
			}
			want := `{"a":1,"p":1} {"a":2,"p":2} {"a":3,"p":1} {"a":4,"p":2}`
			if by != nil {
				want = `{"a":1} {"a":2} {"a":3} {"a":4}`
			}
			logged, latest, err := codec.ReadSinkLog(vfs.OS, dir)
			if err != nil || latest != 1 {
				t.Fatal(latest, err)
			}
			var paths, bare []string
			for _, f := range logged {
				paths = append(paths, codec.FilePath(f.Path))
			}
			if err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
				if err == nil && e.IsDir() && e.Name() == codec.SinkLogDir {
					return fs.SkipDir
				}
				if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
					bare = append(bare, p)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if got := content(t, paths); got != want {
				t.Fatalf("died at step %d: the log has %s", k, got)
			}
			if got := content(t, bare); got != want {
				t.Fatalf("died at step %d: the folder has %s", k, got)
			}
			if !died {
				if k < 10 {
					t.Fatalf("only %d steps", k)
				}
				break
			}
		}
	}
}
