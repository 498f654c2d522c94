package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sinks/sinktest"
	"streamlab/sources"
	"streamlab/sql/types"
)

// small is a disk with room for some bytes, or one that is not writable.
type small struct {
	vfs.FS
	room atomic.Int64
	deny bool
}

type smallFile struct {
	vfs.File
	disk *small
}

func (s *small) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if s.deny && flag&os.O_CREATE != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
	}
	f, err := s.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &smallFile{f, s}, nil
}

func (f *smallFile) Write(p []byte) (int, error) {
	left := f.disk.room.Add(-int64(len(p)))
	if left >= 0 {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:max(0, int64(len(p))+left)])
	return n, errors.Join(err, syscall.ENOSPC)
}

// A batch for which there is no room fails by name and leaves nothing; with room it is there once, wherever the
// disk was full before.
func TestFullDisk(t *testing.T) {
	const ddl = "a INT, p INT"
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "parquet"} {
		for _, by := range [][]string{nil, {"p"}} {
			whole := false
			for room := int64(0); !whole; room += 61 {
				dir := t.TempDir()
				d := &small{FS: vfs.OS}
				d.room.Store(room)
				s, err := New(sinks.Def{Format: format, Path: dir, Schema: schema, PartitionBy: by, QueryID: "q", Options: sources.Options{}})
				if err != nil {
					t.Fatal(err)
				}
				s.(*sink).fs = d
				b := sinktest.Batch(t, 0, ddl, `{"a":1,"p":1}`, `{"a":2,"p":2}`)
				if err := s.AddBatch(context.Background(), b); err == nil {
					whole = true
				} else if !errs.Has(err, "OUTPUT_DISK_FULL") || !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("%s, room for %d bytes: %v", format, room, err)
				} else {
					_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
						if err == nil && strings.Contains(e.Name(), "part-") {
							t.Errorf("%s, room for %d bytes: %s is left", format, room, path)
						}
						return nil
					})
					d.room.Store(1 << 30)
					if err := s.AddBatch(context.Background(), b); err != nil {
						t.Fatalf("%s, with room again: %v", format, err)
					}
				}
				n := 0
				_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
					if err == nil && strings.HasPrefix(e.Name(), "part-") {
						n++
					}
					return nil
				})
				if n != 2 {
					t.Errorf("%s, room for %d bytes: %d files", format, room, n)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A folder that cannot be written to is named.
func TestReadOnlyFolder(t *testing.T) {
	schema, err := types.ParseDDL("a INT")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(sinks.Def{Format: "csv", Path: t.TempDir(), Schema: schema, QueryID: "q", Options: sources.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	s.(*sink).fs = &small{FS: vfs.OS, deny: true}
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", `{"a":1}`)); !errs.Has(err, "OUTPUT_NOT_WRITABLE") {
		t.Errorf("%v", err)
	}
}
