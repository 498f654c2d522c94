package lab

import (
	"context"
	"path/filepath"
	"testing"

	"streamlab/engine"
)

// A source's path that is not there is marked where it is written, in `path` or in the options.
func TestAPathThatIsNotThereIsMarked(t *testing.T) {
	for _, c := range []struct {
		text      string
		line, col int
	}{
		{"sources:\n  s:\n    format: json\n    schema: a INT\n    path: none\nqueries:\n- {queryName: q, from: s, format: noop}\n", 5, 11},
		{"sources:\n  s:\n    format: json\n    schema: a INT\n    options:\n      path: none\nqueries:\n- {queryName: q, from: s, format: noop}\n", 6, 7},
	} {
		r := CheckText(context.Background(), filepath.Join(t.TempDir(), "l.yaml"), []byte(c.text), engine.Config{})
		if len(r.Problems) != 1 || r.Problems[0].Condition != "PATH_NOT_FOUND" || r.Problems[0].Pos.Line != c.line || r.Problems[0].Pos.Col != c.col {
			t.Errorf("%+v", r.Problems)
			for _, p := range r.Problems {
				t.Logf("%s at %v", p.Condition, p.Pos)
			}
		}
	}
}
