//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"streamlab/lab"
)

// The fixes that validate prints can be carried out by whoever reads them.
func TestValidatePrintsFixesAsEdits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lab.yaml")
	text := "sources:\n  s: {format: rate}\nqueries:\n- queryName: q\n  sql: SELECT value % 3 AS k, count(*) AS n FROM s GROUP BY value % 3\n  format: delta\n  path: out\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	a := &app{in: os.Stdin, out: &out, err: &said}
	if code := a.run(context.Background(), []string{"validate", path, "-o", "json"}); code != 3 {
		t.Fatalf("exit %d: %s", code, said.String())
	}
	var answer struct {
		Kind, File string
		Problems   []struct {
			Code  string
			Query string
			Fixes []lab.Fix
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Kind != "validation" || answer.File != path || len(answer.Problems) != 1 || said.Len() > 0 {
		t.Fatalf("%s%s", out.String(), said.String())
	}
	problem := answer.Problems[0]
	if problem.Code != "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION" || problem.Query != "q" || len(problem.Fixes) < 2 {
		t.Fatalf("%s", out.String())
	}
	for _, f := range problem.Fixes {
		if err := os.WriteFile(path, lab.Apply([]byte(text), f.Edits), 0o644); err != nil {
			t.Fatal(err)
		}
		said.Reset()
		if code := a.run(context.Background(), []string{"validate", path}); code != 0 {
			t.Errorf("%s: exit %d: %s", f.Title, code, said.String())
		}
	}
}
