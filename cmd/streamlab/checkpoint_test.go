//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/store"
)

// counted is a lab whose query q has counted six files in windows, in a folder of its own.
type counted struct {
	t   *testing.T
	dir string
	lab string
}

const countedLab = `
sources:
  a: {format: json, path: in, schema: "ts TIMESTAMP, k STRING, v INT", options: {maxFilesPerTrigger: 1}, withWatermark: {eventTime: ts, delayThreshold: 10 seconds}}
queries:
- {queryName: q, sql: "SELECT window(ts, '10 seconds') AS w, k, count(*) AS n, sum(v) AS s FROM a GROUP BY 1, 2", format: noop, outputMode: append, trigger: {availableNow: true}, options: {checkpointLocation: c}}
`

func newCounted(t *testing.T) *counted {
	t.Helper()
	x := &counted{t: t, dir: t.TempDir()}
	x.lab = filepath.Join(x.dir, "lab.yaml")
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(x.lab, countedLab)
	for i := range 6 {
		var b strings.Builder
		for _, k := range []string{"a", "b"} {
			fmt.Fprintf(&b, `{"ts":"2026-01-05T12:40:%d%dZ","k":%q,"v":%d}`+"\n", i, i, k, i)
		}
		fmt.Fprintf(&b, `{"ts":"2026-01-05T12:40:0%dZ","k":"/home","v":%d}`+"\n", i, i)
		write(filepath.Join(x.dir, "in", fmt.Sprint(i, ".json")), b.String())
	}
	if code, out := x.call("", "run", x.lab); code != 0 {
		t.Fatal(out)
	}
	return x
}

// call runs a command line with an answer on its input; an answer makes it a terminal.
func (x *counted) call(answer string, args ...string) (code int, out string) {
	x.t.Helper()
	var b strings.Builder
	a := &app{in: strings.NewReader(answer), out: &b, err: &b, somebody: answer != "", time: "utc"}
	code = a.run(context.Background(), append([]string{"--time", "utc"}, args...))
	return code, b.String()
}

func (x *counted) want(code int, says string, args ...string) string {
	x.t.Helper()
	got, out := x.call("", args...)
	if got != code || !strings.Contains(out, says) {
		x.t.Errorf("%q: exit %d, want %d and %q in\n%s", args, got, code, says, out)
	}
	return out
}

func TestCheckpointCommandsLook(t *testing.T) {
	x := newCounted(t)
	q := func(args ...string) []string {
		return append([]string{"checkpoint", args[0], x.lab, "q"}, args[1:]...)
	}
	x.want(0, "q      committed  0       6", "checkpoint", "ls", x.lab)
	x.want(0, `newest: 6`, "checkpoint", "ls", x.lab, "-o", "yaml")
	x.want(0, "q\n", "checkpoint", "ls", x.lab, "-o", "name")
	x.want(0, "late before 2026-01-05 12:40:34", q("show")...)
	x.want(0, "restart    Batch 7 is planned afresh", q("show")...)
	x.want(0, `"start":{"logOffset":2},"end":{"logOffset":3},"rows":3`, q("show", "--batch", "3", "-o", "json")...)
	x.want(0, "commits/2\nv1\n", q("show", "--batch", "2", "--spark-text")...)
	x.want(4, "NO_BATCH", q("show", "--batch", "70")...)
	x.want(0, "2026-01-05 12:40:50, b  1         5       5", q("state")...)
	x.want(0, `"value":{"count(1)":1,"sum(v)":4},"batch":4,"batchAtMost":false`, q("state", "-o", "jsonl")...)
	if out := x.want(0, "12:40:00, /home  3         3", q("state", "--batch", "2", "--key-prefix", "/ho")...); strings.Contains(out, ", a") {
		t.Error(out)
	}
	x.want(0, "1 of 2 rows", q("state", "--key-prefix", `["2026-01-05T12:40:50Z","`, "--limit", "1")...)
	if out := x.want(0, ", b  1", q("state", "--where", "k = 'b'")...); strings.Contains(out, ", a") {
		t.Error(out)
	}
	x.want(4, "CHECKPOINT_BATCH_NOT_RETAINED", q("state", "--batch", "70")...)
	x.want(0, `"batch":1,"change":"set","key":[{"start":"2026-01-05T12:40:00Z","end":"2026-01-05T12:40:10Z"},"/home"],"value":{"count(1)":2,"sum(v)":1}`,
		q("history", "--key", `["2026-01-05T12:40:00Z","/home"]`, "-o", "jsonl")...)
	x.want(0, "+1 +2", q("history", "--key", `["2026-01-05T12:40:00Z","/home"]`)...)
	x.want(0, "+1 +2", q("history", "--key", "2026-01-05 12:40:00, /home")...)
	x.want(4, "STATE_KEY_NOT_FOUND", q("history", "--key", `["2026-01-05T12:40:00Z","/nowhere"]`)...)
	x.want(3, "STATE_KEY_MALFORMED", q("history", "--key", `/home`)...)
	x.want(0, "keys, 2 added, 0 removed, 1 changed", q("diff", "0", "1")...)
	x.want(0, "changed,watermark", q("diff", "1", "4", "-o", "csv")...)
	x.want(0, "removed", q("diff", "4", "1")...)
	x.want(0, "", q("diff", "2", "2", "--exit-code")...)
	x.want(1, "", q("diff", "2", "3", "--exit-code")...)
	x.want(4, "NO_BATCH", q("diff", "2", "70", "--exit-code")...)
	x.want(3, "LAB_VALUE", q("diff", "2", "x")...)
	x.want(0, "whole", "checkpoint", "verify", x.lab)
	x.want(0, "commit     written", "checkpoint", "show", filepath.Join(x.dir, "c"))
	x.want(3, "CHECKPOINT_HAS_NO_QUERY", "checkpoint", "state", filepath.Join(x.dir, "c"))
	t.Chdir(x.dir)
	x.want(0, "batch      6 of q", "checkpoint", "show", "q")
	x.want(4, "NO_CHECKPOINT_NAMED", "checkpoint", "show", "nobody")
	// Every object is one of JSON.
	for _, line := range strings.Split(strings.TrimSpace(x.want(0, "", q("state", "-o", "json")...)), "\n") {
		if !json.Valid([]byte(line)) && !strings.HasSuffix(line, "rows") {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestCheckpointCommandsSayWhoHoldsIt(t *testing.T) {
	x := newCounted(t)
	cp, err := store.Open(filepath.Join(x.dir, "c"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	host, _ := os.Hostname()
	for _, args := range [][]string{{"show"}, {"state"}, {"history", "--key", "[]"}, {"diff", "1", "2"}, {"fork", filepath.Join(x.dir, "f")},
		{"rewind", "--to", "1", "--yes"}, {"forget", "--accept-loss", "1..2", "--yes"}, {"export", "-o", filepath.Join(x.dir, "e")}, {"rm", "--yes"}} {
		line := append([]string{"checkpoint", args[0], x.lab, "q"}, args[1:]...)
		if out := x.want(5, fmt.Sprint("process ", os.Getpid(), " on ", host), line...); !strings.Contains(out, "since 20") {
			t.Error(out)
		}
	}
	x.want(0, "in use by process", "checkpoint", "ls", x.lab)
}

func TestCheckpointCommandsAskFirst(t *testing.T) {
	x := newCounted(t)
	q := func(args ...string) []string {
		return append([]string{"checkpoint", args[0], x.lab, "q"}, args[1:]...)
	}
	x.want(9, "NOT_CONFIRMED", q("rewind", "--to", "3")...)
	x.want(0, "would rewind q to batch 3", q("rewind", "--to", "3", "--dry-run")...)
	x.want(3, "READ_ONLY", q("rewind", "--to", "3", "--yes", "--read-only")...)
	x.want(4, "NO_BATCH", q("rewind", "--to", "30", "--yes")...)
	for _, answer := range []string{"\n", "y\n", "Q\n"} {
		if code, out := x.call(answer, q("rewind", "--to", "3")...); code != 9 || !strings.Contains(out, "Nothing was changed") {
			t.Errorf("%q: exit %d\n%s", answer, code, out)
		}
	}
	x.want(0, "batch      6 of q", q("show")...)
	if code, out := x.call("q\n", q("rewind", "--to", "3")...); code != 0 || !strings.Contains(out, "q goes on with batch 4") {
		t.Errorf("exit %d\n%s", code, out)
	}
	x.want(0, "rewind     ", q("show")...) // the note
	x.want(0, "batch      3 of q", q("show")...)
	x.want(0, "holds batches up to 2", q("fork", filepath.Join(x.dir, "f"), "--batch", "2")...)
	x.want(3, "CHECKPOINT_LOCATION_EXISTS", q("fork", filepath.Join(x.dir, "f"))...)
	x.want(0, "batch      2 of", "checkpoint", "show", filepath.Join(x.dir, "f"))
	x.want(3, "CHECKPOINT_NOTHING_LOST", q("forget", "--accept-loss", "4..6", "--yes")...)
	x.want(2, "--accept-loss", q("forget", "--accept-loss", "4-6", "--yes")...)
	x.want(9, "NOT_CONFIRMED", q("rm")...)
	x.want(0, "would remove", q("rm", "--dry-run")...)
	x.want(0, ".removed-1", q("rm", "--yes")...)
	x.want(4, "NO_CHECKPOINT", q("show")...)
	if !exists(filepath.Join(x.dir, "c.removed-1", "META")) {
		t.Error("the folder was not kept")
	}
}

func TestCheckpointExportIsSparksLayout(t *testing.T) {
	x := newCounted(t)
	dir := filepath.Join(x.dir, "e")
	x.want(0, "would hold", "checkpoint", "export", x.lab, "q", "-o", dir, "--dry-run")
	if exists(dir) {
		t.Error("a dry run writes")
	}
	x.want(0, "holds", "checkpoint", "export", x.lab, "q", "-o", dir)
	for name, says := range map[string]string{"metadata": `{"id":"`, "offsets/6": "v1\n{\"batchWatermarkMs\":", "commits/6": "v1\n{\"nextBatchWatermarkMs\":",
		"offsets/0": `{"logOffset":0}`, "sources/0/0": "v1\n", "state/0/default/7.jsonl": `"k"`} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if name == "state/0/default/7.jsonl" {
			says = `"key":[{"start":"2026-01-05T12:40:40Z"`
		}
		if err != nil || !strings.Contains(string(raw), says) {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	x.want(3, "FILE_EXISTS", "checkpoint", "export", x.lab, "q", "-o", dir)
}

// A checkpoint that has lost batches is refused with the range and the two ways out; both work.
func TestCheckpointCommandsOfADamagedOne(t *testing.T) {
	x := newCounted(t)
	chk := filepath.Join(x.dir, "c")
	early := filepath.Join(x.dir, "early")
	cp, err := store.Open(chk, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.CopyTo(early, 3); err != nil {
		t.Fatal(err)
	}
	cp.Close()
	if err := os.RemoveAll(filepath.Join(chk, "db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(early, "db"), filepath.Join(chk, "db")); err != nil {
		t.Fatal(err)
	}
	out := x.want(8, "CHECKPOINT_LOST_COMMITS", "checkpoint", "show", x.lab, "q")
	if !strings.Contains(out, "Batches 4 to 6 are lost, batch 3 is whole") || !strings.Contains(out, "--accept-loss 4..6") || !strings.Contains(out, "rewind q --to N") {
		t.Error(out)
	}
	x.want(8, "CHECKPOINT_LOST_COMMITS", "checkpoint", "verify", x.lab)
	x.want(8, "CHECKPOINT_LOST_COMMITS", "checkpoint", "state", x.lab, "q")
	x.want(3, "CHECKPOINT_OTHER_LOSS", "checkpoint", "forget", x.lab, "q", "--accept-loss", "5..6", "--yes")
	x.want(9, "NOT_CONFIRMED", "checkpoint", "forget", x.lab, "q", "--accept-loss", "4..6")
	x.want(0, "q goes on with batch 4", "checkpoint", "forget", x.lab, "q", "--accept-loss", "4..6", "--yes")
	x.want(0, "forget     ", "checkpoint", "show", x.lab, "q")
	x.want(0, "", "run", x.lab)
	x.want(0, "batch      6 of q", "checkpoint", "show", x.lab, "q")
}

// Asking what a damaged checkpoint still holds must not make a new one of it.
func TestVerifyLeavesACheckpointWithoutMetaDamaged(t *testing.T) {
	x := newCounted(t)
	meta := filepath.Join(x.dir, "c", "META")
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		x.want(8, "CHECKPOINT_CORRUPT", "checkpoint", "verify", x.lab, "q")
	}
	if _, err := os.Stat(meta); err == nil {
		t.Error("META was made anew")
	}
	x.want(8, "CHECKPOINT_CORRUPT", "run", x.lab)
}
