package lab_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/lab"
)

// TestFixesAreTriedBeforeTheyAreOffered applies every fix of a refused mode and finds nothing left to refuse.
func TestFixesAreTriedBeforeTheyAreOffered(t *testing.T) {
	for _, text := range []string{
		"sources:\n  s: {format: rate}\nqueries:\n- {queryName: q, from: s, format: console, outputMode: complete}\n",
		"sources:\n  s: {format: rate}\nqueries:\n- queryName: q\n  sql: |\n    SELECT count(*) AS n\n    FROM s\n  format: console # to see it\n\n# the end\n",
		"sources:\n  s: {format: rate}\nqueries:\n  - sql: SELECT * FROM s\n    outputMode: apend\n    queryName: q\n    format: console\n",
	} {
		file := filepath.Join(t.TempDir(), "lab.yaml")
		r := lab.CheckText(context.Background(), file, []byte(text), engine.Config{})
		if len(r.Problems) != 1 || r.Problems[0].Query != "q" || len(r.Problems[0].Fixes) == 0 {
			t.Fatalf("%s\nproblems %+v", text, r.Problems)
		}
		if len(r.Verdicts) != 1 || r.Verdicts[0].Query != "q" || len(r.Verdicts[0].Modes) != 3 || r.Verdicts[0].Why == "" {
			t.Errorf("%s\nverdicts %+v", text, r.Verdicts)
		}
		for _, f := range r.Problems[0].Fixes {
			after := lab.Apply([]byte(text), f.Edits)
			if left := lab.CheckText(context.Background(), file, after, engine.Config{}); len(left.Problems) > 0 {
				t.Errorf("%s: still refused: %v\n%s", f.Title, left.Problems[0].Error, after)
			}
			if strings.Count(string(after), "#") != strings.Count(text, "#") {
				t.Errorf("%s: a comment is gone:\n%s", f.Title, after)
			}
		}
	}
}
