//go:build cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/errs"
)

func TestExcerptKeepsThePlaceOfLongAndBinaryLines(t *testing.T) {
	at := func(line string, col, length int) *errs.Error {
		e := errs.New("LAB_SYNTAX", "problem", "p").At(errs.Pos{File: "f", Line: 1, Col: col, Length: length})
		return e.WithExcerpt(line)
	}
	for _, c := range []struct {
		e           *errs.Error
		line, marks string
	}{
		{at("ab cd", 4, 2), "ab cd", "   ^^"},
		{at("\tab", 2, 9), "\tab", "\t^^"},
		{at("a\x1b[2Jb", 6, 1), "a·[2Jb", "     ^"},
		{at("ab", 9, 1), "ab", "  ^"},
		{at(strings.Repeat("x", 500)+"Y"+strings.Repeat("z", 500), 501, 1),
			"…" + strings.Repeat("x", 60) + "Y" + strings.Repeat("z", 59) + "…", strings.Repeat(" ", 61) + "^"},
	} {
		if line, marks := excerpt(c.e); line != c.line || marks != c.marks {
			t.Errorf("got\n%q\n%q\nwant\n%q\n%q", line, marks, c.line, c.marks)
		}
	}
}

func TestMistakesOnTheCommandLineAreRefused(t *testing.T) {
	lab := filepath.Join(t.TempDir(), "lab.yaml")
	text := "sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: noop, options: {checkpointLocation: c}}\n" +
		"- {queryName: f, from: s, format: json, path: out/f, start: false, options: {checkpointLocation: d}}\n" +
		"- {queryName: m, from: s, format: memory, start: false, options: {checkpointLocation: e}}\n"
	if err := os.WriteFile(lab, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"checkpoint frob", 2, `unknown command "frob"`},
		{"checkpoint sho", 2, "did you mean show"},
		{"lab frob", 2, "unknown command"},
		{"frob", 2, `"frob" is no command`},
		{"run LAB --once --conf =", 2, "--conf"},
		{"checkpoint", 0, "Available Commands"},
		{"version -o xml", 2, "--output"},
		{"run LAB --progress loud", 2, "--progress"},
		{"run LAB --batches -1", 2, "--batches"},
		{"run LAB --once --available-now", 2, "once"},
		{"checkpoint verify LAB", 0, "never started"},
		{"run LAB --once", 0, ""},
		{"checkpoint verify LAB q", 0, "whole"},
		{"trace LAB q", 0, "sink"},
		{"trace LAB q --batch 9", 4, "newest"},
		{"trace LAB q --stage 7", 2, "--stage"},
		{"trace LAB q --key x", 2, "--key"},
		{"checkpoint show LAB q --spark-text -o json", 0, `"file":"commits/0"`},
		{"checkpoint show LAB q --spark-text", 0, "commits/0\nv1\n"},
		{"checkpoint show LAB q", 0, "restart    Batch 1 is planned afresh"},
		{"explain LAB q -o json", 0, `"part":"schema"`},
		{"sql LAB -c select(null)a,char(27)b -o json", 0, `"a":null,"b":"\u001b"`},
		{"sql LAB -c select(null)a,char(27)b", 0, `NULL  \x1b`},
		{"sql LAB -c select(null)a,'NULL'b -o csv", 0, "a,b\n,NULL\n"},
		{"sql --spark -c select(null)a,'NULL'b -o json", 0, `"a":null,"b":"NULL"`},
		{"--theme bogus", 2, "--theme"},
		{"-o xml doctor", 2, "--output"},
		{"progress LAB q --last -3", 2, "--last"},
		{"trace LAB q --batch -7", 2, "--batch"},
		{"trace LAB q --limit 0", 2, "--limit"},
		{"trace LAB q --key nosuch=1", 2, "a column of a stage, which are timestamp"},
		{"checkpoint state LAB q --limit -1", 2, "--limit"},
		{"bench run --workload W1 --rows -5", 2, "rows"},
		{"sql --spark -c select(1/0)", 1, "DIVIDE_BY_ZERO"},
		{"sql --spark -c select(nope)", 1, "UNRESOLVED_COLUMN"},
		{"sql LAB -c selec", 1, "SQLITE_ERROR"},
		{"sql LAB -c values(1),(nope)", 1, "SQLITE_ERROR"},
		{"sql LAB -c with/**/a/**/as(select*from/**/f)select*from/**/a", 1, "f writes json to out/f. The lab's sources"},
		{"sql LAB -c select*from/**/F_latest", 1, "--door spark"},
		{"sql LAB -c select*from/**/main.q", 1, "q writes noop"},
		{"sql LAB -c select*from/**/m", 1, "comes with its first batch"},
		{"sql LAB -c select*from/**/s", 1, "s is a source"},
		{"sql LAB -c select*from/**/nowhere", 1, "Tables at this door are"},
		{"checkpoint history LAB q", 2, "as checkpoint state prints it"},
		{"checkpoint forget LAB q", 2, "--accept-loss"},
		{"explain LAB q -o csv", 0, "part,text\n"},
	} {
		var out strings.Builder
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		code := a.run(context.Background(), strings.Fields(strings.ReplaceAll(c.args, "LAB", lab)))
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit %d, want %d and %q in\n%s", c.args, code, c.code, c.says, out.String())
		}
	}
	if err := os.Remove(filepath.Join(filepath.Dir(lab), "c", "META")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: &out}
	if code := a.run(context.Background(), []string{"checkpoint", "verify", lab}); code != 8 {
		t.Errorf("exit %d of a damaged checkpoint\n%s", code, out.String())
	}
}

// What an error quotes of a statement or a name is not obeyed by the terminal that shows it.
func TestErrorsHoldNoControlSequences(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"sql", "--spark", "-c", "SELECT `\x1b[31mx\u009b1m`"},
		{"sql", "--spark", "-c", "SELECT CAST('\x1b]0;t\x07' AS INT)"},
		{"validate", "\x1b[2J.yaml"},
		{"config", "get", "\x1b[2J"},
		{"\x1b[2J"},
	} {
		var out, errs strings.Builder
		a := &app{in: strings.NewReader(""), out: &out, err: &errs}
		if code := a.run(context.Background(), args); code == 0 || errs.Len() == 0 {
			t.Errorf("%q: code %d, says %q", args, code, errs.String())
		}
		if strings.ContainsAny(errs.String(), "\x1b\x07\u009b") {
			t.Errorf("%q: %q", args, errs.String())
		}
	}
}
