//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/store"
)

// A query that keeps no checkpoint is traced from its beginning; one that runs elsewhere only if that is asked for.
func TestTraceFromTheBeginning(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "l.yaml")
	text := `sources:
  words: {format: text, path: in, options: {maxFilesPerTrigger: 1}}
  ticks: {format: rate}
queries:
  - {queryName: shown, sql: "SELECT value AS word FROM words WHERE value <> 'dog'", format: console}
  - {queryName: counted, sql: "SELECT value AS word, count(*) AS n FROM words GROUP BY value", format: memory, outputMode: update}
  - {queryName: kept, sql: "SELECT value AS word FROM words", format: json, path: out, options: {checkpointLocation: c}}
  - {queryName: clock, sql: "SELECT value FROM ticks", format: noop}
`
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, f := range [][2]string{{"l.yaml", text}, {"in/1.txt", "cat\ndog\n"}, {"in/2.txt", "cat\nowl\n"}} {
		name := filepath.Join(dir, f[0])
		if err := os.WriteFile(name, []byte(f[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		written := time.Unix(1_700_000_000+int64(i), 0) // files come by their times
		if err := os.Chtimes(name, written, written); err != nil {
			t.Fatal(err)
		}
	}
	x := &counted{t: t, dir: dir}
	x.want(0, "from its beginning", "trace", path, "shown", "--batch", "0")
	if out := x.want(0, `"word":"owl"`, "trace", path, "shown", "-o", "jsonl"); strings.Contains(out, "Batch:") {
		t.Errorf("the console sink printed something:\n%s", out)
	}
	x.want(0, `"before":{"count(1)":1}`, "trace", path, "counted", "--batch", "1", "-o", "jsonl")
	x.want(4, "TRACE_NO_SUCH_BATCH", "trace", path, "counted", "--batch", "7")
	x.want(4, "NO_CHECKPOINT", "trace", path, "kept")
	x.want(0, "cat", "trace", path, "kept", "--from-start")
	if _, err := os.Stat(filepath.Join(dir, "out")); !os.IsNotExist(err) {
		t.Errorf("the sink of a traced query has a folder: %v", err)
	}
	x.want(0, "", "run", path, "kept", "--available-now")
	cp, err := store.Open(filepath.Join(dir, "c"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	x.want(5, "--from-start", "trace", path, "kept")
	x.want(0, "owl", "trace", path, "kept", "--from-start", "--batch", "1")
	x.want(0, `"value":0`, "trace", path, "clock", "-o", "jsonl") // a second goes by until it has a row
}
