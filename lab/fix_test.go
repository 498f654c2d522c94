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

// A grouping by a window, of the query or of a view below it, needs a watermark and no second window.
func TestNoSecondWindowIsOffered(t *testing.T) {
	for text, offered := range map[string]bool{
		"sources:\n  s: {format: rate}\nqueries:\n  - {queryName: q, sql: \"SELECT window(timestamp, '1 minute') AS w, count(*) AS n FROM s GROUP BY window(timestamp, '1 minute')\", format: console}\n":              false,
		"sources:\n  s: {format: rate}\nviews:\n  v: \"SELECT window(timestamp, '1 minute') AS w, value FROM s\"\nqueries:\n  - {queryName: q, sql: \"SELECT w, count(*) AS n FROM v GROUP BY w\", format: console}\n": false,
		"sources:\n  s: {format: rate}\nqueries:\n  - {queryName: q, sql: \"SELECT value % 3 AS k, count(*) AS n FROM s GROUP BY value % 3\", format: console}\n":                                                      true,
	} {
		r := lab.CheckText(context.Background(), filepath.Join(t.TempDir(), "lab.yaml"), []byte(text), engine.Config{})
		if len(r.Problems) != 1 {
			t.Fatalf("%s\nproblems %+v", text, r.Problems)
		}
		found := false
		for _, f := range r.Problems[0].Fixes {
			found = found || strings.Contains(f.Title, "group by a window")
		}
		if found != offered {
			t.Errorf("%s\na window is offered: %v", text, found)
		}
	}
}
