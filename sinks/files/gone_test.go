package files

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sinks/sinktest"
	"streamlab/sources"
	"streamlab/sql/types"
)

// A folder, or only its log, that is removed under a running query is named, and both ways out that the error names
// lead on: the folder is put back, or the query begins anew.
func TestARemovedFolderIsNamed(t *testing.T) {
	const ddl = "a INT"
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		what, back := []string{".", codec.SinkLogDir}[i%2], i < 2
		dir := filepath.Join(t.TempDir(), "out")
		open := func() *sink {
			s, err := New(sinks.Def{Format: "json", Path: dir, Schema: schema, QueryID: "q", Options: sources.Options{}})
			if err != nil {
				t.Fatal(err)
			}
			return s.(*sink)
		}
		add := func(s *sink, id int64) error {
			return s.AddBatch(context.Background(), sinktest.Batch(t, id, ddl, `{"a":1}`))
		}
		s := open()
		if err := add(s, 0); err != nil {
			t.Fatal(err)
		}
		lost, away := filepath.Join(dir, what), filepath.Join(filepath.Dir(dir), "away")
		if err := os.Rename(lost, away); err != nil {
			t.Fatal(err)
		}
		if err := add(s, 1); !errs.Has(err, "OUTPUT_FOLDER_GONE") || errs.As(err).Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		first := int64(0)
		if back {
			first = 1
			if err := os.RemoveAll(lost); err != nil { // what the failed batch has made of it
				t.Fatal(err)
			}
			if err := os.Rename(away, lost); err != nil {
				t.Fatal(err)
			}
		}
		s = open()
		for id := first; id < 25; id++ { // entries are compacted on the way
			if err := add(s, id); err != nil {
				t.Fatalf("%s: batch %d: %v", what, id, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if list, _, err := codec.ReadSinkLog(vfs.OS, dir); err != nil || len(list) != 25 {
			t.Errorf("%s: %d files, %v", what, len(list), err)
		}
	}
}
