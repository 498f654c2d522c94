package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// A Report is one run of workloads and probes on one machine, for docs/performance.md.
type Report struct {
	At      time.Time
	Took    time.Duration
	Rounds  int
	Rows    []*Row
	Figures []Figure
	Peers   []string          // name and version, in the order of the columns
	Gaps    map[string]string // why a line misses a target, by its name; see ReadGaps
	Failed  []string          // what could not be measured, and why
}

// A Target is what a workload has to reach. Zero is no target.
type Target struct {
	Limit, DuckDB, Spark float64 // least rows per second ÷ theirs
	P50, P99             float64 // ms of a batch, at most
}

// Targets are those of workloads with their variants.
var Targets = map[string]Target{
	"W1 large": {0.8, 1.1, 6, 0, 0}, "W2 large": {0, 0.7, 3, 0, 0},
	"W3json large": {0.7, 1.1, 8, 0, 0}, "W3parquet large": {0.7, 0.8, 4, 0, 0},
	"W4json large": {0.6, 0.95, 10, 0, 0}, "W4strings large": {0.6, 0.7, 10, 0, 0},
	"W6 small": {0.6, 1.0, 10, 0, 0}, "W7bids small": {0.6, 1.5, 10, 0, 0}, "W8 small": {0.6, 0.9, 10, 0, 0}, "W9 small": {0.5, 0.3, 20, 0, 0},
	"W10x1 1": {0, 0, 700, 0.4, 2}, "W11 through": {0.5, 0, 8, 0, 0}, "W11 consume": {0.5, 0, 8, 0, 0}, "W12 large": {0.7, 0.8, 6, 0, 0},
}

const gapsHead = "## Where a target is missed"

// misses lists the targets that a line misses.
func (r *Row) misses() (list []string) {
	t := Targets[r.Workload+" "+r.Variant]
	least := func(what string, value, target float64) {
		if target > 0 && !(value >= target) {
			list = append(list, fmt.Sprintf("÷ %s %s instead of %g", what, three(value), target))
		}
	}
	least("limit", r.Ratio, t.Limit)
	if best, _ := r.Best("duckdb"); best != nil {
		least("duckdb", best.Ratio, t.DuckDB)
	}
	if best, _ := r.Best("spark"); best != nil {
		least("spark", best.Ratio, t.Spark)
	}
	most := func(what string, value, target float64) {
		if target > 0 && value > target {
			list = append(list, fmt.Sprintf("%s %s ms instead of %g", what, three(value), target))
		}
	}
	most("p50", r.Engine.P50, t.P50)
	most("p99", r.Engine.P99, t.P99)
	return list
}

// geometricMean is that of lines: one for all queries of W2. Its times are those of a query of mean time.
func geometricMean(rows []*Row) *Row {
	over := func(f func(*Row) float64) float64 {
		sum := 0.0
		for _, r := range rows {
			sum += math.Log(f(r))
		}
		return math.Exp(sum / float64(len(rows)))
	}
	m := &Row{Workload: "W2", Variant: rows[0].Variant, Mean: true}
	m.Engine.RowsPerS, m.Limit.RowsPerS = over(func(r *Row) float64 { return r.Engine.RowsPerS }), over(func(r *Row) float64 { return r.Limit.RowsPerS })
	m.Engine.Rows = rows[0].Engine.Rows
	m.Engine.CPU = over(func(r *Row) float64 { return r.Engine.CPU })
	m.Ratio = over(func(r *Row) float64 { return r.Ratio })
	for _, p := range rows[0].Peers {
		best := func(r *Row) *PeerRow { b, _ := r.Best(p.Engine); return b }
		all := true
		for _, r := range rows {
			all = all && best(r) != nil
		}
		if !all {
			m.Peers = append(m.Peers, PeerRow{Engine: p.Engine, NotRun: "not all of its queries"})
			continue
		}
		if b, _ := m.Best(p.Engine); b == nil {
			m.Peers = append(m.Peers, PeerRow{Engine: p.Engine, RowsPerS: over(func(r *Row) float64 { return best(r).RowsPerS }),
				Ratio: over(func(r *Row) float64 { return best(r).Ratio })})
		}
	}
	return m
}

// withMeans adds the lines that sum others up.
func withMeans(rows []*Row) (out []*Row) {
	var w2 []*Row
	for i, r := range rows {
		out = append(out, r)
		if family(r.Workload) == "W2" {
			if w2 = append(w2, r); i+1 == len(rows) || family(rows[i+1].Workload) != "W2" {
				out = append(out, geometricMean(w2))
			}
		}
	}
	return out
}

// Write writes the report as Markdown.
func (r *Report) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	rows := withMeans(r.Rows)
	fmt.Fprintf(b, "# Performance\n\nMade by `streamlab bench report` on %s in %.0f minutes, from one run of %d interleaved rounds: all columns of a\n"+
		"line were measured in turn on the same machine. Figures are medians; ratios are medians of the rounds' ratios, in rows per\n"+
		"second. Behind a ratio stands its target: ✓ is met, ✗ is missed. *Limit* is a hand-written loop for the one query, without\n"+
		"state on disk; that of W12 writes its files. The engine's state and output are durable. No time is printed of a workload on whose result the\n"+
		"engines disagree. Sources of the lines' queries: `bench/workload.go`.\n\n%s\n\n", r.At.UTC().Format("2006-01-02 15:04 MST"), r.Took.Minutes(), r.Rounds, Machine())
	for _, p := range r.Peers {
		fmt.Fprintf(b, "- %s\n", p)
	}
	fmt.Fprint(b, "\n## Workloads\n\n| workload | files | M rows/s | CPU s | CPU ns/row | ÷ limit |")
	for _, p := range r.Peers {
		fmt.Fprintf(b, " ÷ %s |", strings.Fields(p)[0])
	}
	fmt.Fprint(b, " batches | p50 ms | p95 ms | p99 ms |\n|---|---|---|---|---|---|"+strings.Repeat("---|", len(r.Peers))+"---|---|---|---|\n")
	void := 0
	for _, row := range rows {
		t := Targets[row.Workload+" "+row.Variant]
		void += row.Void
		name := row.Workload
		if row.Mean {
			name += ", geometric mean"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %.0f | %s |", name, row.Variant, three(row.Engine.RowsPerS/1e6), row.Engine.CPU,
			1e9*row.Engine.CPU/float64(max(1, row.Engine.Rows)), judged(row.Ratio, t.Limit))
		for _, p := range r.Peers {
			name := strings.Fields(p)[0]
			best, _ := row.Best(name)
			if best == nil {
				fmt.Fprint(b, " not run |")
				continue
			}
			target := map[string]float64{"duckdb": t.DuckDB, "spark": t.Spark}[name]
			note := ""
			if best.Files > 0 {
				note = fmt.Sprintf(", %d files", best.Files)
			}
			if best.Rounds > 0 && best.Rounds < r.Rounds {
				note += fmt.Sprintf(", %d×", best.Rounds)
			}
			fmt.Fprintf(b, " %s%s |", judged(best.Ratio, target), note)
		}
		if row.Mean {
			fmt.Fprint(b, " | | | |\n")
			continue
		}
		fmt.Fprintf(b, " %d | %s | %.2f | %s |\n", row.Engine.Batches, atMost(row.Engine.P50, t.P50), row.Engine.P95, atMost(row.Engine.P99, t.P99))
	}
	fmt.Fprint(b, "\n*2×* behind a ratio: the peer takes long, and ran in so many rounds. *40 files*: it read no more than those, since a run over all of them\n"+
		"would take minutes. Of Spark's two stores the faster one of the untimed run counts.\n")
	for _, row := range rows {
		for _, p := range r.Peers {
			if best, why := row.Best(strings.Fields(p)[0]); best == nil && !row.Mean {
				fmt.Fprintf(b, "- %s %s, %s not run: %s\n", row.Workload, row.Variant, strings.Fields(p)[0], why)
			}
		}
	}
	if void > 0 {
		fmt.Fprintf(b, "\n%d rounds began while others used more than half a core: this machine was not quiet.\n", void)
	}
	fmt.Fprint(b, "\n## Probes\n\n| probe | figure | value | target |\n|---|---|---|---|\n")
	for _, f := range r.Figures {
		target := ""
		if f.Target != 0 {
			mark, sign := "✓", "≤"
			if f.AtLeast {
				sign = "≥"
			}
			if !f.OK() {
				mark = "✗"
			}
			target = strings.TrimSpace(fmt.Sprintf("%s %s %g %s", mark, sign, f.Target, f.Unit))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Probe, f.Name, strings.TrimSpace(three(f.Value)+" "+f.Unit), target)
	}
	if len(r.Failed) > 0 {
		fmt.Fprint(b, "\n## Not measured\n\n")
		for _, f := range r.Failed {
			fmt.Fprintf(b, "- %s\n", f)
		}
	}
	r.gaps(b, rows)
	return b.Flush()
}

// gaps writes what the missed lines have to say for themselves.
func (r *Report) gaps(b io.Writer, rows []*Row) {
	fmt.Fprintf(b, "\n%s\n\nThe texts are those of `bench/gaps.md`.\n", gapsHead)
	missed := 0
	tell := func(name, what string) {
		missed++
		text := r.Gaps[name]
		if text == "" {
			text = "Not explained yet."
		}
		fmt.Fprintf(b, "\n### %s\n\n%s.\n\n%s\n", name, what, text)
	}
	for _, row := range rows {
		if m := row.misses(); len(m) > 0 {
			tell(row.Workload+" "+row.Variant, strings.Join(m, ", "))
		}
	}
	for _, f := range r.Figures {
		if f.Target != 0 && !f.OK() {
			tell(f.Probe+": "+f.Name, strings.TrimSpace(fmt.Sprintf("%s %s instead of %g", three(f.Value), f.Unit, f.Target)))
		}
	}
	if missed == 0 {
		fmt.Fprint(b, "\nNone is.\n")
	}
}

// ReadGaps reads the explanations of missed targets: Markdown with a heading "## " for each line of the report, by its
// name, as in "## W3json large" or "## resting: resident memory". There need not be such a file.
func ReadGaps(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, part := range strings.Split("\n"+string(raw), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		out[strings.TrimSpace(name)] = strings.TrimSpace(text)
	}
	return out, nil
}

// three prints a figure with three digits that count.
func three(f float64) string {
	switch {
	case math.IsNaN(f):
		return "?"
	case math.Abs(f) >= 100:
		return fmt.Sprintf("%.0f", f)
	case math.Abs(f) >= 10:
		return fmt.Sprintf("%.1f", f)
	case f != 0 && math.Abs(f) < 0.1:
		return fmt.Sprintf("%.3f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func judged(ratio, target float64) string {
	switch {
	case target == 0:
		return three(ratio)
	case !(ratio >= target):
		return fmt.Sprintf("**%s** ✗ ≥ %g", three(ratio), target)
	}
	return fmt.Sprintf("%s ✓ ≥ %g", three(ratio), target)
}

func atMost(value, target float64) string {
	switch {
	case target == 0:
		return fmt.Sprintf("%.2f", value)
	case value > target:
		return fmt.Sprintf("**%.2f** ✗ ≤ %g", value, target)
	}
	return fmt.Sprintf("%.2f ✓ ≤ %g", value, target)
}

// Machine says on what the figures were measured.
func Machine() string {
	model := runtime.GOARCH
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, l := range strings.Split(string(raw), "\n") {
			if name, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(v)
				break
			}
		}
	}
	memory := ""
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int64
		if _, err := fmt.Sscanf(string(raw), "MemTotal: %d kB", &kb); err == nil {
			memory = fmt.Sprintf(", %d GiB of memory", (kb+1<<19)>>20)
		}
	}
	return fmt.Sprintf("Machine: %s, %d cores%s, %s, %s.", model, runtime.GOMAXPROCS(0), memory, runtime.GOOS, runtime.Version())
}
