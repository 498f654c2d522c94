package files

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/internal/vfs"
	"streamlab/sinks"
)

// Write writes finite rows to the folder def.Path, as DataFrameWriter does: new files beside those that are
// there, or instead of them. Old files go when the new ones have their names, so a failed write leaves
// everything as it was. With partitionOverwriteMode = dynamic only the folders that get files lose old ones.
// No log is kept; the file _SUCCESS says that the write has ended. Errors: those of New and of the rows.
func Write(ctx context.Context, def sinks.Def, parts []columnar.Partition, overwrite bool) error {
	def.Mode = sinks.Append
	made, err := New(def)
	if err != nil {
		return err
	}
	s := made.(*sink)
	if s.codecErr != nil {
		return s.codecErr
	}
	var old []string
	if overwrite {
		if old, err = s.content(def.Path); err != nil {
			return err
		}
	}
	if err := vfs.MkdirAll(s.fs, def.Path, 0o755); err != nil {
		return err
	}
	files, err := s.stage(ctx, sinks.Batch{QueryID: uuid.NewString(), Schema: def.Schema, Parts: parts})
	if err != nil {
		return vfs.Named(def.Path, err)
	}
	mode := def.Options.Text("partitionOverwriteMode", conf(def, "spark.sql.sources.partitionOverwriteMode"))
	fresh := map[string]bool{}
	for _, f := range files {
		fresh[filepath.Dir(codec.FilePath(f.Path))] = true
	}
	for _, path := range old {
		if strings.EqualFold(mode, "dynamic") && len(s.keys) > 0 && !fresh[filepath.Dir(path)] {
			continue
		}
		if err := s.fs.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if overwrite && !strings.EqualFold(mode, "dynamic") {
		s.dropEmpty(def.Path)
	}
	return vfs.WriteFile(s.fs, filepath.Join(def.Path, "_SUCCESS"), nil, 0o644)
}

func conf(def sinks.Def, key string) string {
	if def.Conf == nil {
		return ""
	}
	return def.Conf(key)
}

// content lists the files below a folder; links are not followed.
func (s *sink) content(dir string) ([]string, error) {
	entries, err := s.fs.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			more, err := s.content(path)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		out = append(out, path)
	}
	return out, nil
}

// dropEmpty removes folders that hold nothing any more.
func (s *sink) dropEmpty(dir string) {
	entries, err := s.fs.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			path := filepath.Join(dir, e.Name())
			s.dropEmpty(path)
			_ = s.fs.Remove(path) // fails if it is not empty
		}
	}
}
