package delta

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	delta "streamlab/delta"
	"streamlab/internal/vfs"
)

// lateFS puts a commit into the log when the log's folder is listed: after the source looked for the file,
// before it looks at what else is there.
type lateFS struct {
	vfs.FS
	path, text string
}

func (f lateFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

// A commit that a writer makes while the source looks for it is the next commit, not lost data.
func TestACommitThatComesBetweenTwoLooksIsNoHole(t *testing.T) {
	log := delta.Open(t.TempDir())
	path := log.CommitPath(2)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	log.FS = lateFS{vfs.OS, path,
		`{"add":{"path":"a.parquet","partitionValues":{},"size":9,"modificationTime":1,"dataChange":true}}` + "\n"}
	s := &Source{log: log, cache: map[int64]*commit{}, failOnLoss: true}
	c, v, err := s.commit(2)
	if err != nil || v != 2 || c == nil || len(c.files) != 1 {
		t.Fatalf("commit(2) = %+v, version %d, %v; want the one file of version 2", c, v, err)
	}
}
