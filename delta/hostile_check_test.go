package delta

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"streamlab/errs"
)

// A log made to do harm gives findings or a named error, never a panic, another file's rows or all memory.
func TestCheckHostileLogs(t *testing.T) {
	schema := `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}`
	head := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" +
		`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"` + schema + `","partitionColumns":[],"configuration":{}}}` + "\n"
	add := func(path, size, stats string) string {
		return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%s,"modificationTime":1,"dataChange":true,"stats":%q}}`+"\n", path, size, stats)
	}
	dv := func(kind, path, offset, size, n string) string {
		return fmt.Sprintf(`{"add":{"path":"f.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}",`+
			`"deletionVector":{"storageType":%q,"pathOrInlineDv":%q,"offset":%s,"sizeInBytes":%s,"cardinality":%s}}}`+"\n", kind, path, offset, size, n)
	}
	for _, c := range []struct {
		name  string
		files map[string]string // below _delta_log
		want  string            // a problem that is found, or a condition
	}{
		{"truncated line", map[string]string{commitName(0): head[:len(head)-40]}, "DELTA_"},
		{"truncated commit behind a good one", map[string]string{commitName(0): head, commitName(1): add("f", "1", "")[:30]}, "DELTA_"},
		{"number beyond all types", map[string]string{commitName(0): head + add("f", "1"+strings.Repeat("0", 400), "")}, "DELTA_"},
		{"negative size", map[string]string{commitName(0): head + add("f.parquet", "-9223372036854775808", "{}")}, "missing_file"},
		{"sizes that overflow", map[string]string{commitName(0): head + add("f", "9223372036854775807", "{}") + add("g", "9223372036854775807", "{}")}, "missing_file"},
		{"path upwards", map[string]string{commitName(0): head + add("../../etc/passwd", "1", "{}")}, "outside_file"},
		{"encoded path upwards", map[string]string{commitName(0): head + add("%2e%2e/%2e%2e/etc/passwd", "1", "{}")}, "outside_file"},
		{"absolute path", map[string]string{commitName(0): head + add("/etc/passwd", "1", "{}")}, "outside_file"},
		{"path with a scheme", map[string]string{commitName(0): head + add("http://127.0.0.1/x", "1", "{}")}, "outside_file"},
		{"path with a null byte", map[string]string{commitName(0): head + add("a%00b", "1", "{}")}, "outside_file"},
		{"missing file with deep statistics", map[string]string{commitName(0): head + add("f", "1", strings.Repeat(`{"a":`, 5000))}, "missing_file"},
		{"very deep statistics", map[string]string{commitName(0): head + add("f", "1", strings.Repeat("[", 1<<20))}, "missing_file"},
		{"deletion vector of all memory", map[string]string{commitName(0): head + dv("u", "vBn[lx{q8@P<9BNH/isA", "1", "9223372036854775807", "1")}, "missing_file"},
		{"inline deletion vector that is none", map[string]string{commitName(0): head + dv("i", "zzzzz", "null", "4", "1")}, "missing_file"},
		{"checkpoint that is no Parquet", map[string]string{commitName(0): head, "00000000000000000000.checkpoint.parquet": "PAR1" + strings.Repeat("\xff", 64) + "PAR1"}, "wrong_checkpoint"},
		{"checkpoint whose sidecar is itself", map[string]string{commitName(0): head,
			"00000000000000000000.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json": `{"checkpointMetadata":{"version":0}}` + "\n" + head +
				`{"sidecar":{"path":"../00000000000000000000.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json","sizeInBytes":1,"modificationTime":1}}` + "\n"}, "wrong_checkpoint"},
		{"sidecar upwards", map[string]string{commitName(0): head,
			"00000000000000000000.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json": `{"checkpointMetadata":{"version":0}}` + "\n" + head +
				`{"sidecar":{"path":"../../../x.parquet","sizeInBytes":1,"modificationTime":1}}` + "\n"}, "wrong_checkpoint"},
		{"hint to a version that is not there", map[string]string{commitName(0): head, "_last_checkpoint": `{"version":9223372036854775807,"size":1,"parts":2147483647}`}, ""},
		{"hint that is none", map[string]string{commitName(0): head, "_last_checkpoint": strings.Repeat("{", 100000)}, ""},
		{"parts without end", map[string]string{commitName(0): head, "00000000000000000000.checkpoint.0000000001.2147483647.parquet": "PAR1"}, ""},
		{"hole", map[string]string{commitName(0): head, commitName(2): add("f", "1", "{}")}, "DELTA_VERSIONS_NOT_CONTIGUOUS"},
		{"checksum that is none", map[string]string{commitName(0): head, checksumName(0): strings.Repeat("[", 1<<20)}, "wrong_checksum"},
		{"checksum of another table", map[string]string{commitName(0): head, checksumName(0): `{"tableSizeBytes":0,"numFiles":0,"metadata":{"id":"y","schemaString":"{}"}}`}, "wrong_checksum"},
		{"schema nested without end", map[string]string{commitName(0): strings.Replace(head, schema, strings.Repeat(`{\"type\":\"array\",\"elementType\":`, 20000), 1)}, "DELTA_"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "_delta_log", "_sidecars"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, "_delta_log", name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := Open(dir).Check(context.Background())
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d MB were allocated", used>>20)
			}
			switch {
			case err != nil:
				if e := errs.As(err); e == nil || !strings.HasPrefix(e.Condition, c.want) || c.want == "" {
					t.Errorf("%v, want %q", err, c.want)
				}
			case c.want != "" && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Problem == c.want }):
				t.Errorf("found %+v, want %s", r.Findings, c.want)
			}
		})
	}
}

// A log that is a link to another place, or has entries that are, is read as its files are; a data file that a
// link leads out of the table is not.
func TestCheckLinks(t *testing.T) {
	l := checkedTable(t, nil)
	files := l.Known().Files()
	other := filepath.Join(t.TempDir(), "x.parquet")
	name := filepath.Join(l.Root, files[0].Path)
	if err := os.Rename(name, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, name); err != nil {
		t.Skip("there are no links here:", err)
	}
	loop := filepath.Join(l.Root, files[1].Path)
	if err := os.Remove(loop); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	r, err := Open(l.Root).Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range r.Findings {
		got[f.File] = f.Problem
	}
	if got[files[0].Path] != "outside_file" || got[files[1].Path] == "" || len(got) != 2 {
		t.Errorf("found %+v", r.Findings)
	}
}
