package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"streamlab/sql"
	"streamlab/sql/plan"
)

var pinsFlag = flag.Bool("pins", false, "write ../cmd/streamlab/pins.txt anew")

// unpinned are functions that no recorded line can hold, with the reason.
var unpinned = map[string]string{}

// TestEveryFunctionIsPinned holds every function that a statement may call against a recorded line which asks
// it and passes, and the list of them that the manual shows.
func TestEveryFunctionIsPinned(t *testing.T) {
	failing := exceptions(t)
	files, err := filepath.Glob(filepath.Join("expressions", "*.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(files)
	type pin struct {
		at  string
		bad bool // the line records an error
	}
	found := map[string]pin{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var list []entry
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		if err := numberLines(f, list); err != nil {
			t.Fatal(err)
		}
		family := strings.TrimSuffix(filepath.Base(f), ".golden.json")
		for _, e := range list {
			at := fmt.Sprintf("%s:%d", family, e.line)
			if e.SQL == "" || failing["expressions/"+at] != "" {
				continue
			}
			for _, name := range called(e.SQL) {
				if old, ok := found[name]; !ok || old.bad && e.Error == nil {
					found[name] = pin{at, e.Error != nil}
				}
			}
		}
	}
	var b strings.Builder
	for _, f := range plan.Functions() {
		p, ok := found[f.Name]
		switch {
		case ok:
			fmt.Fprintf(&b, "%s\t%s\n", f.Name, p.at)
		case unpinned[f.Name] == "":
			t.Errorf("no recorded line that passes calls %s", f.Name)
		}
	}
	const list = "../cmd/streamlab/pins.txt"
	if *pinsFlag {
		if err := os.WriteFile(list, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for line := range strings.Lines(string(have)) {
		name, at, _ := strings.Cut(strings.TrimSpace(line), "\t")
		shown[name] = at
	}
	for _, f := range plan.Functions() { // which line of several does not matter, that there is one does
		at := shown[f.Name]
		if _, ok := found[f.Name]; ok && (at == "" || failing["expressions/"+at] != "") {
			t.Errorf("%s shows %q for %s: run the test with -pins", list, at, f.Name)
		}
	}
}

// called lists the names in lower case that stand before a bracket, and those that need none.
func called(text string) []string {
	var out []string
	toks := sql.Lex(text)
	for i, k := range toks {
		if k.Kind != sql.Word && k.Kind != sql.Quoted {
			continue
		}
		name := strings.ToLower(k.Text)
		if i+1 < len(toks) && toks[i+1].Kind == sql.Symbol && toks[i+1].Text == "(" {
			out = append(out, name)
			continue
		}
		switch name {
		case "current_date", "current_timestamp", "current_time", "current_user", "session_user", "user":
			out = append(out, name)
		case "collate":
			out = append(out, name)
		}
	}
	return out
}
