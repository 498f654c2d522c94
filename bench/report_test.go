package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A line that misses a target says so, and has the text of gaps.md under it, or that there is none.
func TestReportShowsWhatIsMissed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaps.md")
	if err := os.WriteFile(path, []byte("# Head\n\nNo line.\n\n## W1 large\n\nThe scan\nis slow.\n\n## cold: start\n\nBecause.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gaps, err := ReadGaps(path)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := ReadGaps(path + ".none"); err != nil || g != nil {
		t.Fatal(g, err)
	}
	line := func(name, variant string, limit, duck, spark float64) *Row {
		return &Row{Workload: name, Variant: variant, Ratio: limit, Engine: Result{Rows: 100, CPU: 1e-6, P50: 0.5, P99: 1.5},
			Peers: []PeerRow{{Engine: "duckdb", RowsPerS: 1, Ratio: duck, Rounds: 3}, {Engine: "spark", Config: "heap", RowsPerS: 1, Ratio: 1, Rounds: 3},
				{Engine: "spark", Config: "rocksdb", RowsPerS: 2, Ratio: spark, Rounds: 1, Files: 40}}}
	}
	r := Report{At: time.Unix(0, 0), Took: 90 * time.Second, Rounds: 3, Gaps: gaps, Peers: []string{"duckdb 2", "spark 4"}, Failed: []string{"W8: broken"},
		Rows: []*Row{line("W1", "large", 0.5, 1.2, 7), line("W2q0", "large", 1, 4, 1), line("W2q1", "large", 1, 1, 1), line("W3json", "large", 0.9, 1.0, 9), line("W10x1", "1", 1, 1, 800)},
		Figures: []Figure{{Probe: "cold", Name: "start", Value: 51, Unit: "ms", Target: 50}, {Probe: "ten", Name: "ten", Value: 1.4, Target: 2},
			{Probe: "cold", Name: "ratio", Value: 250, Target: 200, AtLeast: true}}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"| W1 | large | 0.00 | 0.00 | 10 | **0.50** ✗ ≥ 0.8 | 1.20 ✓ ≥ 1.1 | 7.00 ✓ ≥ 6, 40 files, 1× |",
		"| W2, geometric mean | large | 0.00 | 0.00 | 10 | 1.00 | 2.00 ✓ ≥ 0.7 | **1.00** ✗ ≥ 3 |",
		"| 800 ✓ ≥ 700, 40 files, 1× |", "| **0.50** ✗ ≤ 0.4 | 0.00 | 1.50 ✓ ≤ 2 |",
		"### W1 large\n\n÷ limit 0.50 instead of 0.8.\n\nThe scan\nis slow.\n",
		"### W3json large\n\n÷ duckdb 1.00 instead of 1.1.\n\nNot explained yet.\n",
		"### W10x1 1\n\np50 0.50 ms instead of 0.4.\n",
		"### cold: start\n\n51.0 ms instead of 50.\n\nBecause.\n",
		"| cold | start | 51.0 ms | ✗ ≤ 50 ms |", "| cold | ratio | 250 | ✓ ≥ 200 |", "- W8: broken", "in 2 minutes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "### ten") || strings.Contains(text, "### cold: ratio") {
		t.Error("a met target is told as missed")
	}
}

// A profile of something that works for a while names the part that does.
func TestProfiledNamesParts(t *testing.T) {
	dir := t.TempDir()
	if err := Generate(dir, Size{Rows: 20_000}, []string{"events"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	w, err := Find("W3json")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "profiles")
	r, costs, err := Profiled(folder, func() (r *Result, err error) {
		for began := time.Now(); err == nil && time.Since(began) < time.Second; { // a sample comes every 10 ms of CPU
			r, err = Run(t.Context(), w, "small", dir, t.TempDir(), false)
		}
		return r, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows != 20_000 {
		t.Errorf("%d rows", r.Rows)
	}
	names := ""
	for _, c := range costs {
		names += c.Part + " "
	}
	if !strings.Contains(names, "codec") && !strings.Contains(names, "engine") && !strings.Contains(names, "store") {
		t.Errorf("parts are %q", names)
	}
	for _, name := range []string{"cpu.pprof", "heap.pprof", "block.pprof", "trace.out"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for function, want := range map[string]string{
		"streamlab/engine/exec.(*stateAggregate).open.func1": "engine/exec.(*stateAggregate)", "streamlab/columnar.Gather": "columnar",
		"streamlab/engine/exec.perWorker[go.shape.int].get": "engine/exec",
	} {
		if got, ok := partOf(function); !ok || got != want {
			t.Errorf("%s: %q %v, want %q", function, got, ok, want)
		}
	}
	if _, err := costsOf([]byte("no profile")); err == nil {
		t.Error("what is no profile was read")
	}
}
