package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"streamlab/errs"
	"streamlab/sinks"
	sink "streamlab/sinks/files"
	"streamlab/sinks/sinktest"
	"streamlab/sources"
	source "streamlab/sources/files"
	"streamlab/sources/sourcetest"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

func def(t *testing.T, dir, format, ddl string, options ...string) sinks.Def {
	t.Helper()
	s, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	d := sinks.Def{Format: format, Path: dir, Schema: s, QueryID: "q1", Options: sources.Options{}, Durable: true}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	return d
}

// readBack reads the folder as a table does.
func readBack(t *testing.T, dir, format, ddl string) []string {
	t.Helper()
	s, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := source.NewTable(context.Background(), sources.Def{Format: format, Path: dir, Schema: s, Options: sources.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := tab.Scan(context.Background(), catalog.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	rows := sourcetest.Rows(t, tab.Schema(), parts)
	sort.Strings(rows)
	return rows
}

func TestExactlyOnce(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		dir := t.TempDir()
		sinktest.Run(t, func() (sinks.Sink, error) { return sink.New(def(t, dir, format, "a INT, b STRING")) },
			func() []string { return readBack(t, dir, format, "a INT, b STRING") })
		// Readers of the bare folder see the same rows.
		if rows := readBack(t, dir+"/*", format, "a INT, b STRING"); len(rows) != 5 {
			t.Errorf("%s: %v", format, rows)
		}
	}
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func tree(t *testing.T, dir string) string {
	var out []string
	filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, uuids.ReplaceAllString(rel, "UUID"))
		}
		return err
	})
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func TestLayoutIsSparks(t *testing.T) {
	for _, c := range []struct {
		ddl, by, rows, want string
		options             []string
	}{
		{"a INT", "", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}", "_spark_metadata/0\npart-00000-UUID-c000.json\npart-00000-UUID-c001.json", []string{"maxRecordsPerFile", "2"}},
		{"a INT", "", "", "_spark_metadata/0\npart-00000-UUID-c000.json.gz", []string{"compression", "gzip"}},
		{"a INT, p STRING, q INT", "q,P", "{\"a\":1,\"p\":\"x\",\"q\":1}\n{\"a\":2,\"p\":\"a/b%\",\"q\":1}\n{\"a\":3,\"p\":\"\"}",
			"_spark_metadata/0\nq=1/p=a%2Fb%25/part-00000-UUID.c000.json\nq=1/p=x/part-00000-UUID.c000.json\nq=__HIVE_DEFAULT_PARTITION__/p=__HIVE_DEFAULT_PARTITION__/part-00000-UUID.c000.json", nil},
	} {
		dir := t.TempDir()
		d := def(t, dir, "json", c.ddl, c.options...)
		if c.by != "" {
			d.PartitionBy = strings.Split(c.by, ",")
		}
		s, err := sink.New(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, c.ddl, c.rows)); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, dir); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.ddl, got, c.want)
		}
		if c.by != "" {
			want := "1|1|x 2|1|a/b% 3|NULL|NULL"
			if got := strings.Join(readBack(t, dir, "json", "a INT"), " "); got != want {
				t.Error(got)
			}
		}
	}
}

func TestLogIsSparks(t *testing.T) {
	dir := t.TempDir()
	s, err := sink.New(def(t, dir, "json", "a INT, b STRING"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT, b STRING", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "_spark_metadata", "0"))
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`Time":\d+`).ReplaceAllString(uuids.ReplaceAllString(string(data), "UUID"), `Time":0`)
	want := "v1\n{\"path\":\"file://" + dir + "/part-00000-UUID-c000.json\",\"size\":24,\"isDir\":false,\"modificationTime\":0,\"blockReplication\":1,\"blockSize\":33554432,\"action\":\"add\"}"
	if got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestAnotherQueryIsRefused(t *testing.T) {
	dir := t.TempDir()
	d := def(t, dir, "json", "a INT")
	s, _ := sink.New(d)
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", "{\"a\":1}")); err != nil {
		t.Fatal(err)
	}
	e := d
	e.QueryID = "q2"
	other, _ := sink.New(e)
	if err := other.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", "{\"a\":2}")); !errs.Has(err, "SINK_LOCKED") {
		t.Errorf("two at once: %v", err)
	}
	s.Close()
	d.QueryID = "q2"
	s, _ = sink.New(d)
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", "{\"a\":2}")); !errors.Is(err, sinks.ErrSkipped) {
		t.Error(err) // as Spark does
	}
	s.Close()
	d.QueryID, d.Options = "q3", sources.Options{"sparkCompat": "false"}
	s, _ = sink.New(d)
	if err := s.AddBatch(context.Background(), sinktest.Batch(t, 0, "a INT", "{\"a\":2}")); !errs.Has(err, "FILE_SINK_OTHER_QUERY") {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	d := def(t, t.TempDir(), "json", "a INT, p INT")
	d.PartitionBy = []string{"nope"}
	if _, err := sink.New(d); !errs.Has(err, "_LEGACY_ERROR_TEMP_1196") {
		t.Error(err)
	}
	d.PartitionBy, d.Mode = nil, sinks.Complete
	if _, err := sink.New(d); !errs.Has(err, "STREAMING_OUTPUT_MODE") {
		t.Error(err)
	}
	if _, err := sink.New(def(t, "", "json", "a INT")); !errs.Has(err, "_LEGACY_ERROR_TEMP_2047") {
		t.Error(err)
	}
	if _, err := sink.New(def(t, "/x", "csv", "a ARRAY<INT>")); !errs.Has(err, "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE") {
		t.Error(err)
	}
}
