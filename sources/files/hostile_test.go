package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
	"streamlab/sql/types"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// linesOf reads everything that a text source finds, sorted.
func linesOf(t *testing.T, path string, options ...string) ([]string, *Source, error) {
	t.Helper()
	o := sources.Options{}
	for i := 0; i < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	made, err := New(sources.Def{Format: "text", Path: path, Options: o, Log: sourcetest.NewLog()})
	if err != nil {
		return nil, nil, err
	}
	s := made.(*Source)
	ctx := context.Background()
	at, err := s.LatestOffset(ctx, "", s.DefaultReadLimit())
	if err != nil || at == "" {
		return nil, s, err
	}
	parts, err := s.PlanPartitions(ctx, "", at)
	if err != nil {
		return nil, s, err
	}
	rows := sourcetest.Rows(t, s.Schema(), parts)
	sort.Strings(rows)
	return rows, s, s.Commit(ctx, at)
}

// Links to files and folders are followed, as Spark does; one that leads back up is not followed round and
// round, one that leads nowhere is no file.
func TestLinksOfASource(t *testing.T) {
	out, root := t.TempDir(), t.TempDir()
	write(t, filepath.Join(out, "k=1", "f.txt"), "outside\n")
	write(t, filepath.Join(out, "g.txt"), "other\n")
	write(t, filepath.Join(root, "a.txt"), "inside\n")
	link(t, filepath.Join(out, "g.txt"), filepath.Join(root, "l.txt"))
	link(t, "nowhere", filepath.Join(root, "dead.txt"))
	link(t, root, filepath.Join(root, "self"))
	link(t, filepath.Dir(root), filepath.Join(root, "up"))
	link(t, out, filepath.Join(root, "d"))
	if got, _, err := linesOf(t, root); err != nil || strings.Join(got, "/") != "inside/other" {
		t.Errorf("one folder: %v %v", got, err)
	}
	if err := os.Remove(filepath.Join(root, "up")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := linesOf(t, root, "recursiveFileLookup", "true"); err != nil || strings.Join(got, "/") != "inside/other/other/outside" {
		t.Errorf("recursive: %v %v", got, err)
	}
	table := t.TempDir()
	write(t, filepath.Join(table, "k=0", "f.txt"), "inside\n")
	link(t, filepath.Join(out, "k=1"), filepath.Join(table, "k=1"))
	if got, _, err := linesOf(t, table); err != nil || strings.Join(got, "/") != "inside|0/outside|1" {
		t.Errorf("partitions: %v %v", got, err)
	}
	// Cleaning removes what is in the folder, and nothing that a link of it leads to.
	if _, _, err := linesOf(t, table, "cleanSource", "delete"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(table, "k=0", "f.txt")); err == nil {
		t.Error("the file in the folder is still there")
	}
	if _, err := os.Stat(filepath.Join(out, "k=1", "f.txt")); err != nil {
		t.Errorf("a file outside was cleaned: %v", err)
	}
	if _, _, err := linesOf(t, root, "cleanSource", "delete"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "g.txt")); err != nil {
		t.Errorf("what a link leads to was removed: %v", err)
	}
}

// The log of a file sink comes with the folder, from whoever wrote it: it does not open files elsewhere.
func TestASinkLogNamesOnlyFilesOfItsFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.txt")
	write(t, outside, "secret\n")
	for _, path := range []string{"/etc/passwd", outside, "%ROOT%/../x.txt", "%ROOT%/sub/../../x.txt", "relative.txt"} {
		root := t.TempDir()
		path = strings.ReplaceAll(path, "%ROOT%", root)
		write(t, filepath.Join(root, codec.SinkLogDir, "0"), "v1\n"+fmt.Sprintf(`{"path":%q,"size":7,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}`, "file://"+path))
		if rows, _, err := linesOf(t, root); !errs.Has(err, "SINK_LOG_PATH_OUTSIDE") {
			t.Errorf("%s: %v %v", path, rows, err)
		}
	}
	// The same folder by another name is the same folder.
	root := t.TempDir()
	write(t, filepath.Join(root, "a.txt"), "good\n")
	write(t, filepath.Join(root, codec.SinkLogDir, "0"), "v1\n"+fmt.Sprintf(`{"path":%q,"size":5,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}`, "file://"+filepath.Join(root, "a.txt")))
	other := filepath.Join(t.TempDir(), "alias")
	link(t, root, other)
	if rows, _, err := linesOf(t, other); err != nil || strings.Join(rows, "/") != "good" {
		t.Errorf("%v %v", rows, err)
	}
}

// A Parquet file that is cut short at any place is an error that names it, and never a panic or half a result
// that looks whole.
func TestParquetFilesCutShort(t *testing.T) {
	dir := t.TempDir()
	whole := parquetFile(t)
	for _, n := range cuts(len(whole)) {
		f := filepath.Join(dir, "f.parquet")
		if err := os.WriteFile(f, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		made, err := New(sources.Def{Format: "parquet", Path: dir, Schema: parquetSchema, Options: sources.Options{}, Log: sourcetest.NewLog()})
		if err != nil {
			t.Fatal(err)
		}
		s := made.(*Source)
		at, err := s.LatestOffset(context.Background(), "", s.DefaultReadLimit())
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.PlanPartitions(context.Background(), "", at)
		rows := 0
		for _, p := range parts {
			if err != nil {
				break
			}
			for rb, e := range p.Rows(context.Background()) {
				if err = e; e != nil {
					break
				}
				rows += int(rb.NumRows())
			}
		}
		if !errs.Has(err, "FAILED_READ_FILE.NO_HINT") || rows > 0 && n < len(whole)/2 {
			t.Fatalf("cut at %d of %d: %d rows, %v", n, len(whole), rows, err)
		}
	}
}

// cuts are lengths of a file to try: all of the ends, some of the middle.
func cuts(n int) (out []int) {
	for i := range n {
		if i > 0 && i < 16 || i > n-300 || i%97 == 1 {
			out = append(out, i)
		}
	}
	return out
}

var parquetSchema = types.Schema{{Name: "a", Type: types.Of(types.Int), Nullable: true}, {Name: "b", Type: types.Of(types.String), Nullable: true}}

func parquetFile(t *testing.T) []byte {
	t.Helper()
	c, err := codec.FindParquetCodec("snappy")
	if err != nil {
		t.Fatal(err)
	}
	format, err := codec.NewParquetFormat(parquetSchema, c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "whole.parquet")
	f, err := vfs.OS.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w, err := format.NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(numbered(1000), 0, 1000); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func numbered(n int) []columnar.Vec {
	a, b := columnar.NewVec(parquetSchema[0].Type, n), columnar.NewVec(parquetSchema[1].Type, n)
	for i := range n {
		a.I32[i] = int32(i)
		b.Data = fmt.Append(b.Data, "row ", i)
		b.Off[i+1] = int32(len(b.Data))
	}
	return []columnar.Vec{*a, *b}
}
