package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

var (
	dirFlag  = flag.String("dir", "", "play this folder of scenarios instead of the recorded ones (absolute)")
	listFlag = flag.Bool("list", false, "print the expressions that fail as lines for exceptions.txt, and let them pass")
	exprFlag = flag.String("expressions", "", "play this folder of expressions instead of the recorded ones (absolute)")
)

// areas are those that the program claims; other areas wait for their sources and sinks.
var areas = []string{"aggregation", "chains", "dedup", "eventtime", "flights", "join-static", "modes", "refused", "restart",
	"session", "set", "stateless", "triggers", "windows", "limit", "join", "kafka", "files", "filesink", "sources", "delta"}

func TestScenarios(t *testing.T) {
	if *exprFlag != "" {
		t.Skip("only expressions are asked for")
	}
	foreign := *dirFlag != ""
	var files []named
	if foreign {
		files = scenariosIn(t, *dirFlag, "", nil)
	} else {
		files = append(scenariosIn(t, "scenarios", "", areas), scenariosIn(t, "further", "further/", nil)...)
		files = append(files, scenariosIn(t, "text", "text/", []string{"delta-log"})...)
	}
	data := os.Getenv("ORACLE_DATA")
	if data == "" {
		var err error
		if data, err = filepath.Abs("../labs/data"); err != nil {
			t.Fatal(err)
		}
	}
	listed := exceptions(t)
	passed, failed := 0, 0
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			diff := playFile(t, f.path, data)
			if diff == "" {
				passed++
			} else {
				failed++
			}
			switch {
			case foreign:
				if diff != "" {
					t.Error(diff)
				}
			case diff != "" && listed[f.name] == "":
				t.Error(diff)
			case diff == "" && listed[f.name] != "":
				t.Errorf("passes, but exceptions.txt lists it: %s", listed[f.name])
			case diff != "":
				t.Logf("known (%s): %s", listed[f.name], diff)
			}
		})
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
}

// named is a scenario's file and the name that exceptions.txt has for it.
type named struct{ name, path string }

// scenariosIn lists the scenarios of a folder by area; nil areas are all that are there.
func scenariosIn(t *testing.T, root, prefix string, areas []string) (out []named) {
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if areas == nil {
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				areas = append(areas, e.Name())
			}
		}
	}
	for _, area := range areas {
		files, err := filepath.Glob(filepath.Join(root, area, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		sort.Strings(files)
		for _, f := range files {
			out = append(out, named{prefix + area + "/" + strings.TrimSuffix(filepath.Base(f), ".yaml"), f})
		}
	}
	return out
}

func playFile(t *testing.T, file, data string) (diff string) {
	scenario, golden, err := readScenario(file)
	if err != nil {
		return "read: " + err.Error()
	}
	defer func() {
		if r := recover(); r != nil {
			diff = fmt.Sprintf("panic: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	p := &player{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), scenario: scenario, work: t.TempDir(), data: data,
		home: filepath.Dir(file)}
	diff, err = p.play(ctx, golden)
	if err != nil {
		return err.Error()
	}
	return diff
}

// exceptions reads "area/name: reason" lines.
func exceptions(t *testing.T) map[string]string {
	raw, err := os.ReadFile("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("exceptions.txt: %q has no reason", line)
		}
		m[name] = reason
	}
	return m
}
