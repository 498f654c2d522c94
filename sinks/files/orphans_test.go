package files_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/errs"
	sink "streamlab/sinks/files"
	"streamlab/sinks/sinktest"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Orphans are the sink's own files that its log does not name; what else lies in the folder is not touched, and
// a query that writes keeps everybody out.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	if _, err := sink.Orphans(dir); !errs.Has(err, "NO_SINK_LOG") {
		t.Error(err)
	}
	d := def(t, dir, "json", "a INT, k STRING")
	d.PartitionBy = []string{"k"}
	s, err := sink.New(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT, k STRING", "{\"a\":1,\"k\":\"x\"}\n{\"a\":2,\"k\":\"y z\"}")); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Orphans(dir); !errs.Has(err, "SINK_LOCKED") {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const id = "12345678-0123-0123-0123-0123456789ab"
	lost := []string{"k=x/.part-00000-" + id + ".c000.json.tmp", "k=x/part-00000-" + id + ".c000.json", "part-00003-" + id + "-c000.snappy.parquet", "_spark_metadata/.1.tmp"}
	kept := []string{"k=x/notes.txt", "README", "sub/part-00000-" + id + "-c000.json", "part-00000.json", "k=x/.hidden", "_spark_metadata/.0.crc"}
	for _, f := range append(append([]string{}, lost...), kept...) {
		put(t, filepath.Join(dir, f), "text")
	}
	outside := filepath.Join(t.TempDir(), "part-00000-"+id+"-c000.json")
	put(t, outside, "mine")
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "k=link")); err != nil {
		t.Fatal(err)
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(moved)
	list, err := sink.Orphans(moved)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range list {
		rel, _ := filepath.Rel(moved, o.Path)
		names = append(names, rel)
		if o.Size != 4 || (o.Why == sink.Leftover) != strings.HasSuffix(rel, ".tmp") {
			t.Errorf("%+v", o)
		}
	}
	if len(list) != len(lost) {
		t.Errorf("%q", names)
	}
	for _, f := range lost {
		if !strings.Contains(strings.Join(names, "\n"), f) {
			t.Errorf("%s is missing", f)
		}
	}
	if gone, err := sink.RemoveOrphans(moved); err != nil || len(gone) != len(lost) {
		t.Fatal(gone, err)
	}
	if again, err := sink.Orphans(moved); err != nil || len(again) > 0 {
		t.Error(again, err)
	}
	for _, f := range kept {
		if _, err := os.Stat(filepath.Join(moved, f)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(moved, "k=*", "part-*")); err != nil || len(files) != 3 { // two, and one seen through the link
		t.Errorf("%q %v", files, err)
	}
}

// Entries of the log are removed as Spark's settings say: those before the compacted one that keeps so many
// micro-batches.
func TestOldEntriesOfTheLogGo(t *testing.T) {
	const all = "0 1 2.compact 3 4 5.compact 6 7 8.compact 9 10 11.compact"
	for _, c := range []struct {
		conf map[string]string
		want string
	}{
		{nil, all},
		{map[string]string{"cleanupDelay": "0", "retain": "2"}, "8.compact 9 10 11.compact"},
		{map[string]string{"cleanupDelay": "0", "retain": "5"}, "5.compact 6 7 8.compact 9 10 11.compact"},
		{map[string]string{"cleanupDelay": "1h", "retain": "2"}, all},
		{map[string]string{"cleanupDelay": "0", "retain": "2", "deletion": "false"}, all},
	} {
		dir := t.TempDir()
		d := def(t, dir, "json", "a INT")
		d.Conf = func(key string) string {
			switch key {
			case "spark.sql.streaming.fileSink.log.compactInterval":
				return "3"
			case "spark.sql.streaming.minBatchesToRetain":
				return c.conf["retain"]
			case "spark.sql.streaming.fileSink.log.cleanupDelay":
				return c.conf["cleanupDelay"]
			case "spark.sql.streaming.fileSink.log.deletion":
				return c.conf["deletion"]
			}
			return ""
		}
		s, err := sink.New(d)
		if err != nil {
			t.Fatal(err)
		}
		for id := range int64(12) {
			if err := s.AddBatch(context.Background(), sinktest.Batch(t, id, "a INT", fmt.Sprintf("{\"a\":%d}", id))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "_spark_metadata"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, e := range entries {
			got[e.Name()] = true
		}
		want := strings.Fields(c.want)
		for _, n := range want {
			if !got[n] {
				t.Errorf("%v: %s is gone", c.conf, n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v: %v", c.conf, got)
		}
		if rows := readBack(t, dir, "json", "a INT"); len(rows) != 12 {
			t.Errorf("%v: %d rows", c.conf, len(rows))
		}
	}
}
