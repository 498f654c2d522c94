package sql

import (
	"fmt"
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT a b, c AS d FROM t u WHERE x", ""},
		{"SELECT * FROM t WHERE", "16 WHERE column"},
		{"SELECT 1 FROM", "9 FROM column"},
		{"SELECT * FROM t WEHRE", "16 WEHRE WHERE"},
		{"SELECT 1 AS from FROM t", ""},
		{"SELECT 1 `from`", ""},
		{"SELECT * FROM ((SELECT 1 limit) x JOIN y)", "25 limit column"},
		{"SELECT (", ""},
	} {
		var got []string
		for _, w := range Lint(c.text) {
			got = append(got, fmt.Sprintf("%d %s %s", w.Start, c.text[w.Start:w.End], w.Message+w.Hint))
		}
		words := strings.Fields(c.want)
		if len(words) == 0 {
			if got != nil {
				t.Errorf("%s: %v", c.text, got)
			}
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], words[0]+" "+words[1]) {
			t.Errorf("%s: %v, want %s", c.text, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	text := " SELECT ';' ; -- a; b\n/* ; */ SELECT `;` /* x */ + 1;;\nSELEC 'x"
	var got []string
	for _, s := range Split(text) {
		got = append(got, text[s.Start:s.End])
	}
	if want := "SELECT ';'|SELECT `;` /* x */ + 1|SELEC 'x"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}
