package streamlab

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// policy says which packages of this module each package may import, and which outside modules are fenced to
// it. It is policy, not a description: it changes only together with docs/decisions. "x/*" stands for every
// package below x; a package that is missing here fails. internal/* is open to all.
const policy = `
errs:
sql/types: errs
columnar: sql/types errs | xxh3
sql: sql/types errs
sql/catalog: columnar sql/types errs
codec: columnar sql/types errs | parquet s2
store: errs | badger
sources: columnar sql/types errs
sinks: columnar sql/types errs sources
sql/expr: codec columnar sql/types errs | regexp2 xxh3
delta: codec sql/catalog columnar sql/types errs | parquet roaring
sql/plan: sql sql/catalog sql/expr columnar sql/types errs
sources/kafka: sources sql/catalog columnar sql/types errs | kafka-go
sinks/kafka: sinks sources columnar sql/types errs | kafka-go
sources/*: sources codec delta sql/catalog columnar sql/types errs
sinks/*: sinks sources codec delta sql/catalog columnar sql/types errs | sqlite3
engine/exec: sql/plan sql/expr sql/catalog sources store columnar sql/types errs | s2
engine: engine/exec sql sql/* codec delta sources sources/* sinks sinks/* store columnar errs
lab: engine sql sql/types sql/catalog codec columnar sinks/memory store errs | goccy
labs:
tui: tui/* sql columnar errs | bubbletea bubbles lipgloss x/ansi
tui/screen: tui/* sql columnar errs | bubbletea bubbles lipgloss x/ansi
tui/screen/*: tui/* errs
tui/*: tui/* errs | bubbletea bubbles lipgloss x/ansi
bench: engine engine/* lab sql sql/* codec sources sources/* sinks sinks/* store columnar errs
conformance: engine lab sql sql/* sinks sources columnar errs
cmd/*: * | cobra
internal/broker: errs | franz
internal/wire: errs | kafka-go
internal/config: errs | goccy
internal/*: errs
`

// fenced names outside modules that only the packages above may import, by a part of their path.
var fenced = map[string]string{
	"dgraph-io/badger": "badger", "mattn/go-sqlite3": "sqlite3", "goccy/go-yaml": "goccy", "spf13/cobra": "cobra",
	"charmbracelet/bubbletea": "bubbletea", "charmbracelet/bubbles": "bubbles", "charmbracelet/lipgloss": "lipgloss",
	"dlclark/regexp2": "regexp2", "zeebo/xxh3": "xxh3", "arrow-go/v18/parquet": "parquet", "klauspost/compress/s2": "s2",
	"RoaringBitmap/roaring": "roaring",
	"twmb/franz-go":         "franz", "segmentio/kafka-go": "kafka-go",
}

func TestImportsFollowThePolicy(t *testing.T) {
	type rule struct{ own, outside []string }
	rules := map[string]rule{}
	for _, line := range strings.Split(strings.TrimSpace(policy), "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("bad policy line %q", line)
		}
		own, outside, _ := strings.Cut(rest, "|")
		rules[name] = rule{strings.Fields(own), strings.Fields(outside)}
	}
	find := func(pkg string) (rule, bool) {
		if r, ok := rules[pkg]; ok {
			return r, true
		}
		best := ""
		for name := range rules {
			if dir, ok := strings.CutSuffix(name, "/*"); ok && strings.HasPrefix(pkg, dir+"/") && len(dir) > len(best) {
				best = dir
			}
		}
		r, ok := rules[best+"/*"]
		return r, ok
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, "streamlab/")
		if pkg == "streamlab" {
			continue
		}
		seen++
		r, ok := find(pkg)
		if !ok {
			t.Errorf("%s is not in the policy", pkg)
			continue
		}
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, "streamlab/"); ok {
				if !strings.HasPrefix(own, "internal/") && !allowed(r.own, own) {
					t.Errorf("%s must not import %s", pkg, own)
				}
				continue
			}
			for path, name := range fenced {
				if strings.Contains(imp, path) && !allowed(r.outside, name) {
					t.Errorf("%s must not import %s", pkg, imp)
				}
			}
		}
	}
	if seen < 20 {
		t.Fatalf("go list showed %d packages only", seen)
	}
}

func allowed(list []string, name string) bool {
	for _, a := range list {
		if a == name || a == "*" {
			return true
		}
		if dir, ok := strings.CutSuffix(a, "/*"); ok && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
