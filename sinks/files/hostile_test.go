package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sinks"
	sink "streamlab/sinks/files"
	"streamlab/sql/types"
)

// texts makes one partition of rows (k, n): a text and its number.
func texts(values []string) (types.Schema, []columnar.Partition) {
	schema := types.Schema{{Name: "k", Type: types.Of(types.String), Nullable: true}, {Name: "n", Type: types.Of(types.Int), Nullable: true}}
	k, n := columnar.NewVec(schema[0].Type, len(values)), columnar.NewVec(schema[1].Type, len(values))
	for i, v := range values {
		k.Data = append(k.Data, v...)
		k.Off[i+1] = int32(len(k.Data))
		n.I32[i] = int32(i)
	}
	rb := columnar.RecordOf(schema, []*columnar.Vec{k, n}, columnar.AllRows(len(values)))
	return schema, []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{rb}}}
}

func partitioned(t *testing.T, dir string, values []string) error {
	t.Helper()
	schema, parts := texts(values)
	s, err := sink.New(sinks.Def{Format: "json", Path: dir, Schema: schema, QueryID: "q", PartitionBy: []string{"k"}})
	if err != nil {
		t.Fatal(err)
	}
	return s.AddBatch(context.Background(), sinks.Batch{Schema: schema, Parts: parts, QueryID: "q"})
}

// beside lists what stands in the folder of dir, but for dir.
func beside(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(dir) {
			out = append(out, e.Name())
		}
	}
	return out
}

// Values that are paths become names of one folder each: nothing is written beside the output folder, and the
// values come back as they were.
func TestPartitionValuesNeverLeaveTheFolder(t *testing.T) {
	odd := []string{"a/../../b", "..", ".", "/etc/passwd", "../../../x", "a\x00b", "a\nb", "%2e%2e%2f", "\\..\\", "k=v", "~", strings.Repeat("é", 100)}
	dir := filepath.Join(t.TempDir(), "in", "out")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := partitioned(t, dir, odd); err != nil {
		t.Fatal(err)
	}
	if more := beside(t, dir); len(more) > 0 {
		t.Errorf("files beside the folder: %v", more)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(odd)+1 {
		t.Errorf("%d entries: %v", len(entries), entries)
	}
	got := strings.Join(readBack(t, dir, "json", "n INT, k STRING"), "\n")
	for _, v := range odd {
		if !strings.Contains(got, v) {
			t.Errorf("%q did not come back", v)
		}
	}
}

func TestPartitionValuesThatNoFolderCanHold(t *testing.T) {
	dir := t.TempDir()
	err := partitioned(t, dir, []string{strings.Repeat("x", 254)})
	if !errs.Has(err, "PARTITION_VALUE_TOO_LONG") || errs.As(err).Params["column"] != "k" {
		t.Error(err)
	}
}

// Links below the output folder are not written through, whether they stand for a partition folder, for the log
// or for a file that is being written.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"k=a", "_spark_metadata"} {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := partitioned(t, dir, []string{"a"}); !errs.Has(err, "OUTPUT_THROUGH_LINK") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The names of files are known beforehand: a first run tells where to put the trap.
	dir := t.TempDir()
	if err := partitioned(t, dir, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	written, err := filepath.Glob(filepath.Join(dir, "k=a", "part-*"))
	if err != nil || len(written) != 1 {
		t.Fatal(written, err)
	}
	trapped := t.TempDir()
	if err := os.MkdirAll(filepath.Join(trapped, "k=a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"." + filepath.Base(written[0]) + ".tmp", filepath.Base(written[0])} {
		if err := os.Symlink(victim, filepath.Join(trapped, "k=a", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(trapped, "_spark_metadata"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(trapped, "_spark_metadata", ".0.tmp")); err != nil {
		t.Fatal(err)
	}
	if err := partitioned(t, trapped, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
		t.Errorf("the file outside holds %q %v", text, err)
	}
	if got := strings.Join(readBack(t, trapped, "json", "n INT, k STRING"), "/"); got != "0|a" {
		t.Errorf("read back %q", got)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}
