package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"streamlab/errs"
)

// A Figure is what a probe measured.
type Figure struct {
	Probe, Name string
	Value       float64
	Unit        string
	Target      float64
	AtLeast     bool // the target is a lower bound; else an upper one
}

// OK says that the target is met.
func (f Figure) OK() bool {
	if f.AtLeast {
		return f.Value >= f.Target
	}
	return f.Value <= f.Target
}

// A Probing is how probes are run.
type Probing struct {
	Program string // this program
	Data    string // of Generate
	Scratch string
	Rounds  int
	Only    []string      // beginnings of the names of figures that are wanted; none is all
	For     time.Duration // length of a soak; 0 is the usual one
	Say     func(string)
}

// wants says whether a figure is among those that are wanted.
func (p Probing) wants(name string) bool {
	for _, o := range p.Only {
		if strings.HasPrefix(name, o) {
			return true
		}
	}
	return len(p.Only) == 0
}

// A Probe measures what is no workload.
type Probe struct {
	Name, About string
	Gate        bool // a target that is missed is a failure
	run         func(ctx context.Context, p Probing) ([]Figure, error)
}

// Probes are those that there are.
func Probes() []Probe {
	return []Probe{
		{Name: "open", About: "rows/s of a grouped stream, as fast as it can, with the workbench open ÷ headless, in turn by seconds", run: probeOpen},
		{Name: "keys", About: "time from a key to its frame while 1,000,000 rows/s flow", run: probeKeys},
		{Name: "latency", About: "every budget of the screens: keys, frames, first pages, start, replay, what the screen costs", run: probeLatency},
		{Name: "idle", About: "CPU of a workbench with nothing to do", run: probeIdle},
		{Name: "size", About: "time of a batch at S and at 10 S groups, recovery (P4), bytes a group", run: probeSize},
		{Name: "doubling", About: "cost of a batch with ten times the state, history or files that it does not touch; fails above 1.3", Gate: true, run: probeDoubling},
		{Name: "soak", About: "resident memory of W6 and W9 over streams without end, 30 minutes or --for (P6)", Gate: true, run: probeSoak},
		{Name: "cold", About: "from process start to the first row (P1)", run: probeCold},
		{Name: "ten", About: "ten queries over one source ÷ one (P2)", run: probeTen},
		{Name: "files", About: "memory and time of a million tiny files, a small batch beside many files", run: probeFiles},
		{Name: "flow", About: "time from a row to the sink while W6 has half the rate that it can have (P5)", run: probeFlow},
		{Name: "resting", About: "CPU and memory of ten idle queries (P3)", run: probeResting},
	}
}

// FindProbe gives a probe by name. Errors: NO_SUCH_WORKLOAD.
func FindProbe(name string) (Probe, error) {
	var names []string
	for _, p := range Probes() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Probe{}, errs.New("NO_SUCH_WORKLOAD", "name", name, "names", strings.Join(names, ", "))
}

// Run measures.
func (p Probe) Run(ctx context.Context, how Probing) ([]Figure, error) {
	if how.Say == nil {
		how.Say = func(string) {}
	}
	dir, err := os.MkdirTemp(how.Scratch, "bench-"+p.Name+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	how.Scratch = dir
	fs, err := p.run(ctx, how)
	for i := range fs {
		fs[i].Probe = p.Name
	}
	return fs, err
}

// percentile of values that need no order.
func percentile(values []float64, q float64) float64 {
	r := Result{BatchMs: values}
	r.percentiles()
	switch q {
	case 0.5:
		return r.P50
	case 0.99:
		return r.P99
	}
	return r.P95
}

// labFile writes a lab and gives its path.
func labFile(dir, name, text string) (string, error) {
	path := fmt.Sprintf("%s/%s.yaml", dir, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}
