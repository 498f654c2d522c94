package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// A Report is one run of workloads and probes on one machine, for docs/performance.md.
type Report struct {
	At      time.Time
	Rounds  int
	Rows    []*Row
	Figures []Figure
	Peers   []string // name and version, in the order of the columns
}

// Targets are what a workload has to reach: engine ÷ limit, ÷ DuckDB, ÷ Spark; 0 is none.
var Targets = map[string][3]float64{
	"W1 large": {0.8, 1.1, 6}, "W3json large": {0.7, 1.1, 8}, "W4json large": {0.6, 0.95, 10}, "W4json small": {0.6, 0, 10},
	"W6 small": {0.6, 1.0, 10}, "W7 small": {0.6, 1.5, 10}, "W8 small": {0.6, 0.9, 10}, "W9 small": {0.5, 0.3, 20},
	"W10x1 1": {0, 0, 700}, "W12 large": {0.7, 0.8, 6},
}

const gapsHead = "## Where a target is missed"

// Write writes the report as Markdown.
func (r *Report) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Performance\n\nMade by `streamlab bench report` on %s, from one run of %d interleaved rounds: all columns of a line were measured\n"+
		"in turn on the same machine. Ratios are medians of the rounds' ratios, in rows per second; a bold one misses its target,\n"+
		"which stands behind it. *Limit* is a hand-written loop for the one query, without state on disk. The engine's state is\n"+
		"durable. No time is printed of a workload on whose result the engines disagree.\n\n%s\n\n", r.At.UTC().Format("2006-01-02 15:04 MST"), r.Rounds, Machine())
	for _, p := range r.Peers {
		fmt.Fprintf(b, "- %s\n", p)
	}
	fmt.Fprint(b, "\n## Workloads\n\n| workload | files | M rows/s | CPU s | ÷ limit |")
	for _, p := range r.Peers {
		fmt.Fprintf(b, " ÷ %s |", strings.Fields(p)[0])
	}
	fmt.Fprint(b, " batches | p50 ms | p95 ms | p99 ms |\n|---|---|---|---|---|"+strings.Repeat("---|", len(r.Peers))+"---|---|---|---|\n")
	for _, row := range r.Rows {
		t := Targets[row.Workload+" "+row.Variant]
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f | %s |", row.Workload, row.Variant, row.Engine.RowsPerS/1e6, row.Engine.CPU, judged(row.Ratio, t[0]))
		for _, p := range r.Peers {
			name := strings.Fields(p)[0]
			target := 0.0
			switch name {
			case "duckdb":
				target = t[1]
			case "spark":
				target = t[2]
			}
			best, why := row.Best(name)
			if best == nil {
				fmt.Fprintf(b, " not run: %s |", why)
				continue
			}
			fmt.Fprintf(b, " %s |", judged(best.Ratio, target))
		}
		fmt.Fprintf(b, " %d | %.2f | %.2f | %.2f |\n", row.Engine.Batches, row.Engine.P50, row.Engine.P95, row.Engine.P99)
	}
	fmt.Fprint(b, "\n## Probes\n\n| probe | figure | value | target |\n|---|---|---|---|\n")
	for _, f := range r.Figures {
		value, target := fmt.Sprintf("%.3g %s", f.Value, f.Unit), ""
		if f.Target != 0 {
			target = fmt.Sprintf("≤ %g %s", f.Target, f.Unit)
			if f.AtLeast {
				target = fmt.Sprintf("≥ %g %s", f.Target, f.Unit)
			}
			if !f.OK() {
				value = "**" + strings.TrimSpace(value) + "**"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Probe, f.Name, strings.TrimSpace(value), strings.TrimSpace(target))
	}
	return b.Flush()
}

func judged(ratio, target float64) string {
	switch {
	case target == 0:
		return fmt.Sprintf("%.2f", ratio)
	case ratio < target:
		return fmt.Sprintf("**%.2f** (%g)", ratio, target)
	}
	return fmt.Sprintf("%.2f (%g)", ratio, target)
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

// Hand gives the part of a report's file that was written by hand: from the heading about missed targets on.
// Empty if there is none.
func Hand(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if i := strings.Index(string(raw), gapsHead); i >= 0 {
		return string(raw[i:])
	}
	return ""
}
