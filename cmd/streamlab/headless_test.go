//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const headlessLab = `sources:
  s: {format: rate-micro-batch, options: {rowsPerBatch: 5}}
queries:
- {queryName: shown, sql: SELECT value FROM s, format: console}
- {queryName: kept, from: s, format: parquet, path: out/kept, options: {checkpointLocation: chk/kept}}
- {queryName: told, from: s, format: memory}
`

func headless(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(path, []byte(headlessLab), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunEndsWhereItIsAskedTo(t *testing.T) {
	path := headless(t)
	dir := filepath.Join(filepath.Dir(path), "consoles")
	code, out, talk := once("run", path, "--until-rows", "12", "--console-dir", dir)
	if code != 0 || out != "" {
		t.Fatalf("%d %q %s", code, out, talk)
	}
	text, err := os.ReadFile(filepath.Join(dir, "shown.txt"))
	if err != nil || !bytes.Contains(text, []byte("Batch: 2\n")) {
		t.Fatalf("%v %s", err, text)
	}
	code, out, talk = once("status", path, "-o", "json", "--columns", "query,batch,state")
	if code != 0 {
		t.Fatal(talk)
	}
	var rows []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, m)
	}
	if len(rows) != 3 || rows[0]["batch"] != nil || rows[1]["query"] != "kept" || len(rows[1]) != 5 {
		t.Fatalf("%v", rows)
	}
	if n, ok := rows[1]["batch"].(float64); !ok || n < 2 {
		t.Errorf("a number is no number: %v", rows[1])
	}
	if code, _, talk = once("run", path, "kept", "--until-rows", "1000000000", "--for", "200ms"); code != 7 || !strings.Contains(talk, "NOT_REACHED") {
		t.Errorf("--for without its goal: %d %s", code, talk)
	}
	if code, _, talk = once("run", path, "kept", "--for", "200ms"); code != 0 {
		t.Errorf("--for: %d %s", code, talk)
	}
	if code, _, talk = once("run", path, "kept", "--timeout", "200ms"); code != 7 || !strings.Contains(talk, "TIMEOUT") {
		t.Errorf("--timeout: %d %s", code, talk)
	}
	t.Chdir(filepath.Dir(path))
	if code, out, talk = once("status", "-o", "name"); code != 0 || out != "shown\nkept\ntold\n" {
		t.Errorf("of all labs: %d %q %s", code, out, talk)
	}
}

func TestTablesFitTheTerminalAndNothingElse(t *testing.T) {
	path := headless(t)
	show := func(cells int, args ...string) (string, string) {
		var o, e bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &o, err: &e, cells: cells}
		if code := a.run(context.Background(), args); code != 0 {
			t.Fatal(e.String())
		}
		return o.String(), e.String()
	}
	whole, said := show(0, "docs", "settings")
	if strings.Contains(whole, "…") || said != "" {
		t.Fatal("what is no terminal gets all")
	}
	cut, said := show(80, "docs", "settings")
	if !strings.Contains(cut, "…") || !strings.Contains(said, "-o wide") {
		t.Fatalf("%s%s", cut, said)
	}
	for _, l := range strings.Split(cut, "\n") {
		if n := len([]rune(l)); n > 80 {
			t.Fatalf("%d cells: %s", n, l)
		}
	}
	if wide, said := show(80, "docs", "settings", "-o", "wide"); wide != whole || said != "" {
		t.Error("wide is cut")
	}
	if _, said := show(80, "docs", "settings", "-q"); said != "" {
		t.Errorf("quiet says %q", said)
	}
	if out, _ := show(0, "sql", path, "--columns", "b,a", "-c", "select 1 a, 2.5 b, 'x' c", "-o", "jsonl"); out != `{"kind":"row","version":1,"b":2.5,"a":1}`+"\n" {
		t.Error(out)
	}
	if out, _ := show(0, "sql", "--spark", "-c", "select 1 a, 2.50 b, double('NaN') c, null d", "-o", "yaml"); out != "kind: row\nversion: 1\na: 1\nb: 2.50\nc: \"NaN\"\nd: null\n" {
		t.Error(out)
	}
	if code, _, talk := once("sql", path, "--columns", "zzz", "-c", "select 1 a"); code != 2 || !strings.Contains(talk, "--columns") {
		t.Errorf("%d %s", code, talk)
	}
}

func TestWhatIsNotThereYetIsRefusedByName(t *testing.T) {
	path := headless(t)
	for _, args := range [][]string{{"export", "pyspark", path, "-o", "x"}, {"ship", path}, {path, "--remote", "sc://x"},
		{"run", path, "--remote", "sc://x"}, {"validate", path, "--target", "spark:4.1"}} {
		if code, _, talk := once(args...); code != 3 || !strings.Contains(talk, "UNSUPPORTED_FEATURE") {
			t.Errorf("%v: %d %s", args, code, talk)
		}
	}
	if _, out, _ := once("--help"); strings.Contains(out, "remote") || strings.Contains(out, "export ") {
		t.Error("the help offers what is refused")
	}
}

func TestExplainSaysWhatEachModeWouldDo(t *testing.T) {
	path := headless(t)
	_, out, _ := once("explain", path, "kept")
	for _, s := range []string{"exactly-once: files", "== output modes ==\n", "append    asked for\n", "complete  refused: "} {
		if !strings.Contains(out, s) {
			t.Errorf("no %q in\n%s", s, out)
		}
	}
	code, out, _ := once("explain", path, "kept", "-o", "json")
	if code != 0 || !strings.Contains(out, `"part":"output modes"`) {
		t.Error(out)
	}
}

// A reset removes what the lab wrote and nothing of its neighbours.
func TestLabResetRemovesWhatTheLabWrote(t *testing.T) {
	path := headless(t)
	dir := filepath.Dir(path)
	t.Setenv("HOME", t.TempDir())
	if code, _, talk := once("run", path, "--until-rows", "5"); code != 0 {
		t.Fatal(talk)
	}
	other := filepath.Join(dir, "out", "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, talk := once("lab", "reset", path); code != 9 || !strings.Contains(talk, "NOT_CONFIRMED") {
		t.Fatalf("%d %s", code, talk)
	}
	code, out, _ := once("lab", "reset", path, "--dry-run")
	if code != 0 || !strings.Contains(out, "removes "+filepath.Join(dir, "chk/kept")) || !exists(filepath.Join(dir, "chk/kept")) {
		t.Fatalf("%d %s", code, out)
	}
	if code, _, talk := once("lab", "reset", path, "--yes"); code != 0 {
		t.Fatal(talk)
	}
	for p, want := range map[string]bool{"chk/kept": false, "out/kept": false, "out/other": true, "lab.yaml": true} {
		if exists(filepath.Join(dir, p)) != want {
			t.Errorf("%s: there is %v", p, !want)
		}
	}
	t.Chdir(dir)
	if code, _, talk := once("run", "hello", "--for", "1ms"); code != 0 {
		t.Fatal(talk)
	}
	if code, _, talk := once("run", "numbers", "--available-now"); code != 0 {
		t.Fatal(talk)
	}
	if code, _, talk := once("lab", "reset", "hello", "-y"); code != 0 || exists(".streamlab/labs/hello") || !exists(".streamlab/labs/numbers/chk") {
		t.Errorf("%d %s", code, talk)
	}
}

func TestStepsTellTheRowsThatTheyFeed(t *testing.T) {
	for _, c := range []struct {
		rows [][]any
		want string
	}{
		{[][]any{{"2026-01-01T10:00:26Z"}}, "(2026-01-01T10:00:26Z)"},
		{[][]any{{"a", 1}, {nil, 2}}, "(a, 1), (NULL, 2)"},
		{[][]any{{strings.Repeat("x", 60)}, {strings.Repeat("y", 60)}}, "2 rows"},
	} {
		if got := fed(c.rows); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
