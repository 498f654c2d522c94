//go:build cgo

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
)

// Every option that a format knows is in the manual, with words.
func TestDocsListEveryOption(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range optionRows() {
		if strings.TrimSpace(r[3]) == "" {
			t.Errorf("%s of %s has no words", r[1], r[0])
		}
		listed[r[0]+" "+r[1]] = true
	}
	f := engine.AllFormats()
	for _, x := range f.Sinks {
		for _, o := range x.Options {
			if !listed["sink "+x.Name+" "+o.Name] {
				t.Errorf("%s of the sink %s is missing", o.Name, x.Name)
			}
		}
	}
	for _, want := range []string{"query checkpointLocation", "query asyncProgressTrackingEnabled", "source kafka startingOffsets", "table csv header"} {
		if !listed[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

var raised = regexp.MustCompile(`errs\.(?:New\(|Wrap\([^,()]+, )"([A-Z][A-Z0-9_.]+)"`)

// Every condition that the program raises by name is in the manual, unless Spark gives it no name.
func TestDocsListEveryConditionThatIsRaised(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range errs.Conditions() {
		listed[c.Name] = true
	}
	missing := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range raised.FindAllStringSubmatch(string(text), -1) {
			if last := m[1][len(m[1])-1]; last == '.' || last == '_' {
				continue // the rest of the name is put together
			}
			if !listed[m[1]] {
				missing[m[1]] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for c, path := range missing {
		t.Errorf("%s, raised in %s, has no text", c, path)
	}
}
