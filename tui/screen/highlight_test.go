package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/tui/canvas"
	"streamlab/tui/widget"
)

// coloured writes the styled parts of a text, each in brackets with a letter for its style.
func coloured(t *testing.T, h widget.Highlighter, text string) string {
	letters := map[canvas.Style]string{canvas.Accent | canvas.Bold: "K", canvas.Accent: "k", canvas.OK: "s", canvas.Warn: "n",
		canvas.Muted: "c", canvas.Error: "e"}
	var b strings.Builder
	var state uint64
	for _, line := range strings.Split(text, "\n") {
		var spans []widget.Span
		spans, state = h(state, line)
		at := 0
		for _, s := range spans {
			if s.From < at || s.To <= s.From || s.To > len(line) {
				t.Fatalf("line %q has the span %v after %d", line, s, at)
			}
			b.WriteString(line[at:s.From] + "<" + letters[s.Style] + ":" + line[s.From:s.To] + ">")
			at = s.To
		}
		b.WriteString(line[at:] + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestHighlightSQL(t *testing.T) {
	for _, x := range [][2]string{
		{"SELECT a, 'x' FROM t -- end", "<K:SELECT> a, <s:'x'> <K:FROM> t <c:-- end>"},
		{"'open\nstill 1\nend' 2", "<s:'open>\n<s:still 1>\n<s:end'> <n:2>"},
		{"a /* one /* two\n*/ still\n*/ b", "a <c:/* one /* two>\n<c:*/ still>\n<c:*/> b"},
		{"`a\nb` c", "`a\nb` c"},
		{"\"x\ny\" FROM", "<s:\"x>\n<s:y\"> <K:FROM>"},
		{"a \x01 b", "a <e:\x01> b"},
	} {
		if got := coloured(t, highlightSQL, x[0]); got != x[1] {
			t.Errorf("got  %q\nwant %q", got, x[1])
		}
	}
}

func TestHighlightLab(t *testing.T) {
	for _, x := range [][2]string{
		{"lab: shop # name", "<k:lab>: shop <c:# name>"},
		{"queries:\n  - queryName: a\n    sql: |\n      SELECT 1\n\n      FROM t\n    format: memory",
			"<k:queries>:\n  - <k:queryName>: a\n    <k:sql>: |\n      <K:SELECT> <n:1>\n\n      <K:FROM> t\n    <k:format>: memory"},
		{"about: |\n  not SELECT\nconf: {a: 1, b: 'x # y'}", "<k:about>: |\n  not SELECT\n<k:conf>: {<k:a>: <n:1>, <k:b>: <s:'x # y'>}"},
		{"sql: SELECT 'a' # c", "<k:sql>: <K:SELECT> <s:'a'><c: # c>"},
		{"- [1, 2021-01-01 00:00:00, true]", "- [<n:1>, 2021-01-01 00:00:00, <n:true>]"},
	} {
		if got := coloured(t, highlightLab, x[0]); got != x[1] {
			t.Errorf("got  %q\nwant %q", got, x[1])
		}
	}
}

// Every shipped lab, and every beginning of it, gives spans that ascend.
func TestHighlightShippedLabs(t *testing.T) {
	files, err := filepath.Glob("../../labs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no labs: %v", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		coloured(t, highlightLab, string(raw))
		for i := 0; i < len(raw); i += 97 {
			coloured(t, highlightLab, string(raw[:i]))
		}
	}
}
