//go:build cgo

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/bench"
	"streamlab/errs"
	"streamlab/internal/broker"
)

func newBenchCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure the engine beside hand-written loops and other engines"}
	c.AddCommand(newBenchGenerate(a), newBenchRun(a), newBenchCompare(a), newBenchProbe(a), newBenchReport(a), newBenchGate(a), newBenchBroker(a))
	return c
}

func newBenchGenerate(a *app) *cobra.Command {
	var data string
	var size bench.Size
	var only []string
	c := &cobra.Command{Use: "generate", Short: "Write the input files", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return bench.Generate(data, size, only, func(s string) { fmt.Fprintln(a.err, s) })
	}}
	c.Flags().StringVar(&data, "data", "bench/data", "folder of the files")
	c.Flags().IntVar(&size.Rows, "rows", 2_000_000, "rows of events and keys; ads: a quarter")
	c.Flags().IntVar(&size.DripFiles, "drip-files", 2000, "files of the drip sets")
	c.Flags().StringSliceVar(&only, "only", nil, "groups of sets: "+strings.Join(bench.Groups, ", "))
	return c
}

func newBenchRun(a *app) *cobra.Command {
	var data, scratch, workload, variant, profile string
	var check, asJSON bool
	c := &cobra.Command{Use: "run", Short: "Run one workload on the engine", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		w, err := bench.Find(workload)
		if err != nil {
			return err
		}
		if variant == "" {
			variant = w.Variants[0]
		}
		run := func() (*bench.Result, error) { return bench.Run(cmd.Context(), w, variant, data, scratch, check) }
		var r *bench.Result
		var costs []bench.Cost
		switch {
		case profile == "":
			r, err = run()
		case filepath.Ext(profile) != "": // the CPU alone
			r, err = cpuProfile(profile, run)
		default:
			r, costs, err = bench.Profiled(profile, run)
		}
		if err != nil {
			return err
		}
		if !asJSON {
			r.BatchMs = nil
		}
		a.json(a.out, r)
		if costs == nil || asJSON {
			return nil
		}
		return a.costs(r, costs)
	}}
	var names []string
	for _, w := range bench.Workloads() {
		names = append(names, w.Name)
	}
	c.Flags().StringVar(&workload, "workload", "W1", strings.Join(names, ", "))
	c.Flags().StringVar(&variant, "variant", "", "large, small, tiny, 1 or 1000; of W11 through or consume; default: the workload's first")
	c.Flags().StringVar(&data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&scratch, "scratch", "", "folder for checkpoints")
	c.Flags().StringVar(&profile, "profile", "", "folder for CPU, heap, block and trace profiles of two runs; a name with an ending is a file for the CPU's alone")
	c.Flags().BoolVar(&check, "check", false, "print the result's checksum instead of times")
	c.Flags().BoolVar(&asJSON, "json", false, "with the time of every batch")
	return c
}

func cpuProfile(path string, run func() (*bench.Result, error)) (r *bench.Result, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err = pprof.StartCPUProfile(f); err == nil {
		r, err = run()
		pprof.StopCPUProfile()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return r, err
}

// costs prints what parts of a run cost for each row: first those of the clock, by the reports of the batches, then
// those of the CPU, by the profile.
func (a *app) costs(r *bench.Result, costs []bench.Cost) error {
	var rows [][]string
	each := func(seconds float64) string { return fmt.Sprintf("%.1f", 1e9*seconds/float64(max(1, r.Rows))) }
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		rows = append(rows, []string{name, each(float64(r.Parts[name]) / 1000), "", ""})
	}
	total := 0.0
	for _, c := range costs {
		total += c.Seconds
	}
	for _, c := range costs {
		if c.Seconds >= total/200 {
			rows = append(rows, []string{c.Part, "", each(c.Seconds), fmt.Sprintf("%.1f", 100*c.Seconds/total)})
		}
	}
	return a.table("costs", []string{"part", "ns/row", "CPU ns/row", "%"}, rows)
}

// newBenchBroker is what W11 starts for a broker that is no part of the process that is measured.
func newBenchBroker(a *app) *cobra.Command {
	return &cobra.Command{Use: "broker", Short: "Run an embedded Kafka broker until standard input ends", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b, err := broker.Start()
			if err != nil {
				return err
			}
			defer b.Close()
			fmt.Fprintln(a.out, b.Addr())
			_, err = io.Copy(io.Discard, os.Stdin)
			return err
		}}
}

func newBenchCompare(a *app) *cobra.Command {
	var set bench.Settings
	var peerNames []string
	c := &cobra.Command{
		Use:   "compare [WORKLOAD…]",
		Short: "Time workloads, their limits and other engines in interleaved rounds",
		Long: "Time workloads, their limits and other engines in interleaved rounds.\n\n" +
			"A limit is a hand-written loop for the one query, without state on disk. The other engines run from the\n" +
			"Python that STREAMLAB_PYTHON names, else python3, with as many threads as there are cores. No time is\n" +
			"printed of a workload on whose result the engines disagree. A number alone, W3, stands for all workloads of\n" +
			"that number.",
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := bench.Select(args)
			if err != nil {
				return err
			}
			set.Say = func(s string) { fmt.Fprintln(a.err, s) }
			peers, stop, err := openPeers(peerNames, set)
			if err != nil {
				return err
			}
			defer stop()
			head := []string{"workload", "variant", "M rows/s", "CPU s", "limit", "÷ limit"}
			for _, p := range peers {
				head = append(head, p.Name, "÷ "+p.Name)
			}
			head = append(head, "batches/s", "p50 ms", "p99 ms")
			var out [][]string
			for _, w := range chosen {
				for _, v := range w.Variants {
					r, err := bench.Compare(cmd.Context(), w, v, peers, set)
					if err != nil {
						return err
					}
					row := []string{w.Name, v, mega(r.Engine.RowsPerS), fmt.Sprintf("%.2f", r.Engine.CPU), mega(r.Limit.RowsPerS), ratio(r.Ratio)}
					for _, p := range peers {
						best, why := r.Best(p.Name)
						if best == nil {
							set.Say(w.Name + " " + v + ": " + p.Name + " not run: " + why)
							row = append(row, "not run", "")
							continue
						}
						if best.Config != "" {
							set.Say(w.Name + " " + v + ": best of " + p.Name + " is " + best.Config)
						}
						row = append(row, mega(best.RowsPerS), ratio(best.Ratio))
					}
					if r.Void > 0 {
						set.Say(fmt.Sprintf("%s %s: %d of %d rounds on a busy machine", w.Name, v, r.Void, set.Rounds))
					}
					out = append(out, append(row, fmt.Sprintf("%.0f", float64(r.Engine.Batches)/r.Engine.Seconds),
						fmt.Sprintf("%.2f", r.Engine.P50), fmt.Sprintf("%.2f", r.Engine.P99)))
				}
			}
			return a.table("comparison", head, out)
		}}
	c.Flags().StringVar(&set.Data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&set.Check, "check", "", "a smaller such folder on which results are compared (default: --data)")
	c.Flags().StringVar(&set.Scratch, "scratch", "", "folder for checkpoints")
	c.Flags().IntVar(&set.Rounds, "rounds", 3, "interleaved rounds")
	c.Flags().StringSliceVar(&peerNames, "peers", []string{"duckdb"}, "other engines: duckdb, spark, …; none for none")
	return c
}

// openPeers starts the other engines of a comparison; stop ends them. The name none stands for none.
func openPeers(names []string, set bench.Settings) (peers []*bench.Peer, stop func(), err error) {
	stop = func() {
		for _, p := range peers {
			p.Close()
		}
	}
	for _, name := range names {
		if name == "none" {
			continue
		}
		p, err := bench.OpenPeer(name, set.Scratch)
		if err != nil {
			stop()
			return nil, nil, err
		}
		set.Say(p.Name + " " + p.Version)
		peers = append(peers, p)
	}
	return peers, stop, nil
}

func newBenchProbe(a *app) *cobra.Command {
	var how bench.Probing
	var long strings.Builder
	long.WriteString("Measure what is no workload:\n\n")
	for _, p := range bench.Probes() {
		fmt.Fprintf(&long, "  %-9s %s\n", p.Name, p.About)
	}
	c := &cobra.Command{Use: "probe NAME…", Short: "Measure what is no workload", Long: long.String(), Args: between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if how.Program, err = os.Executable(); err != nil {
				return err
			}
			how.Say = func(s string) { fmt.Fprintln(a.err, s) }
			var out [][]string
			var missed []string
			for _, name := range args {
				p, err := bench.FindProbe(name)
				if err != nil {
					return err
				}
				figures, err := p.Run(cmd.Context(), how)
				if err != nil && len(figures) == 0 {
					return err
				}
				if err != nil {
					a.report(err)
				}
				for _, f := range figures {
					target, ok := "", ""
					if f.Target != 0 {
						target, ok = fmt.Sprintf("≤ %g", f.Target), "missed"
						if f.AtLeast {
							target = fmt.Sprintf("≥ %g", f.Target)
						}
						if f.OK() {
							ok = "met"
						} else if p.Gate {
							missed = append(missed, f.Name)
						}
					}
					out = append(out, []string{f.Probe, f.Name, fmt.Sprintf("%.3g", f.Value), f.Unit, target, ok})
				}
			}
			if err := a.table("probe", []string{"probe", "figure", "value", "unit", "target", ""}, out); err != nil || len(missed) == 0 {
				return err
			}
			return errs.New("BENCH_TARGET_MISSED", "figures", strings.Join(missed, "; "))
		}}
	c.Flags().StringVar(&how.Data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&how.Scratch, "scratch", "", "folder for labs and checkpoints")
	c.Flags().IntVar(&how.Rounds, "rounds", 3, "pairs of runs, or fifties of keys")
	c.Flags().DurationVar(&how.For, "for", 0, "how long to soak")
	c.Flags().StringArrayVar(&how.Only, "only", nil, "beginning of a line of the probe, may be repeated (doubling)")
	return c
}

func mega(f float64) string { return fmt.Sprintf("%.2f", f/1e6) }

func ratio(f float64) string { return fmt.Sprintf("%.2f", f) }
