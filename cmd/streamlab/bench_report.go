//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"streamlab/bench"
	"streamlab/errs"
)

// newBenchReport makes docs/performance.md.
func newBenchReport(a *app) *cobra.Command {
	var set bench.Settings
	var peerNames, only, probes []string
	var out, gaps string
	c := &cobra.Command{
		Use: "report", Short: "Measure all workloads and probes and write docs/performance.md", Args: cobra.NoArgs,
		Long: "Measure all workloads and probes beside other engines and write docs/performance.md. Data that is missing is made\n" +
			"first. With Spark and two million rows it takes about twenty minutes on two cores; the machine must be quiet.\n" +
			"Why a target is missed is told in the file of --gaps, under headings that are the names of lines.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set.Say = func(s string) { fmt.Fprintln(a.err, s) }
			chosen, err := bench.Select(only)
			if err != nil {
				return err
			}
			r := bench.Report{At: time.Now(), Rounds: set.Rounds}
			if r.Gaps, err = bench.ReadGaps(gaps); err != nil {
				return err
			}
			stop, err := reportData(a, &set)
			if err != nil {
				return err
			}
			defer stop()
			peers, closePeers, err := openPeers(peerNames, set)
			if err != nil {
				return err
			}
			defer closePeers()
			for _, p := range peers {
				r.Peers = append(r.Peers, p.Name+" "+p.Version)
			}
			failed := func(what string, err error) { // one that cannot run does not hide the others
				if cmd.Context().Err() != nil {
					return
				}
				a.report(err)
				r.Failed = append(r.Failed, what+": "+err.Error())
			}
			for _, w := range chosen {
				for _, v := range w.Variants {
					began := time.Now()
					row, err := bench.Compare(cmd.Context(), w, v, peers, set)
					if cmd.Context().Err() != nil {
						break
					}
					if err != nil {
						failed(w.Name+" "+v, err)
						continue
					}
					set.Say(fmt.Sprintf("%s %s: %.2f M rows/s, ÷ limit %.2f (%.0f s)", w.Name, v, row.Engine.RowsPerS/1e6, row.Ratio, time.Since(began).Seconds()))
					r.Rows = append(r.Rows, row)
				}
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			for _, p := range bench.Probes() {
				if !slices.Contains(probes, p.Name) || cmd.Context().Err() != nil {
					continue
				}
				began := time.Now()
				fs, err := p.Run(cmd.Context(), bench.Probing{Program: program, Data: set.Data, Scratch: set.Scratch, Rounds: set.Rounds, Say: set.Say})
				r.Figures = append(r.Figures, fs...)
				if err != nil {
					failed("probe "+p.Name, err)
				}
				set.Say(fmt.Sprintf("probe %s (%.0f s)", p.Name, time.Since(began).Seconds()))
			}
			for _, p := range peers {
				if len(probes) == 0 || p.Name != "spark" || cmd.Context().Err() != nil {
					continue
				}
				fs, err := bench.PeerProbes(cmd.Context(), p, r.Figures, set)
				r.Figures = append(r.Figures, fs...)
				if err != nil {
					failed("probes of "+p.Name, err)
				}
			}
			early := cmd.Context().Err()
			if early != nil { // what was measured took long enough to be kept
				r.Failed = append(r.Failed, "it was ended before the other lines and probes")
			}
			r.Took = time.Since(r.At)
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := r.Write(f); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			return early
		}}
	c.Flags().StringVar(&set.Data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&set.Check, "check", "", "a smaller such folder on which results are compared; one of 200,000 rows is made without it")
	c.Flags().StringVar(&set.Scratch, "scratch", "", "folder for checkpoints")
	c.Flags().IntVar(&set.Rounds, "rounds", 3, "interleaved rounds")
	c.Flags().DurationVar(&set.Budget, "budget", 6*time.Second, "time for the runs of a peer for a line: what takes longer runs in fewer rounds, at least one")
	c.Flags().StringSliceVar(&peerNames, "peers", []string{"duckdb", "spark"}, "other engines; none for none")
	c.Flags().StringSliceVar(&only, "only", nil, "these workloads; default all")
	c.Flags().StringSliceVar(&probes, "probes", []string{"idle", "open", "cold", "ten", "resting", "flow", "size", "doubling"}, "these probes, and those of peers")
	c.Flags().StringVar(&out, "file", filepath.Join("docs", "performance.md"), "where the report goes")
	c.Flags().StringVar(&gaps, "gaps", filepath.Join("bench", "gaps.md"), "why targets are missed")
	return c
}

// reportData makes the files that are missing and, unless there is one, a smaller folder to compare results on, which
// stop removes.
func reportData(a *app, set *bench.Settings) (stop func(), err error) {
	if set.Data, err = filepath.Abs(set.Data); err != nil {
		return nil, err
	}
	say := func(s string) {
		if !strings.HasSuffix(s, "are there") {
			set.Say(s)
		}
	}
	size, err := bench.SizeOf(set.Data)
	if err == nil {
		err = bench.Generate(set.Data, size, nil, say)
	}
	if err != nil {
		return nil, err
	}
	if set.Check != "" {
		return func() {}, nil
	}
	if set.Check, err = os.MkdirTemp(set.Scratch, "bench-check-"); err != nil {
		return nil, err
	}
	stop = func() { _ = os.RemoveAll(set.Check) }
	if err := bench.Generate(set.Check, bench.Size{Rows: 200_000, DripFiles: 10}, nil, func(string) {}); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// newBenchGate is the check of a change: the ratio to the limit must not fall.
func newBenchGate(a *app) *cobra.Command {
	var set bench.Settings
	var file string
	var loss float64
	var store bool
	c := &cobra.Command{
		Use: "gate", Short: "Fail if the ratio to the limit of W1, W3, W4 or W10 has fallen", Args: cobra.NoArgs,
		Long: "Fail if the ratio to the limit of W1, W3, W4 or W10 has fallen by more than --loss against the stored one.\n" +
			"What has fallen is measured twice more before it counts: other work on the machine is no loss.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set.Say = func(s string) { fmt.Fprintln(a.err, s) }
			stored := map[string]float64{}
			if !store {
				raw, err := os.ReadFile(file)
				if err == nil {
					err = json.Unmarshal(raw, &stored)
				}
				if err != nil {
					return errs.Wrap(err, "CONFIG_UNREADABLE", "path", file)
				}
			}
			var rows [][]string
			failed := false
			for _, name := range []string{"W1", "W3json", "W4json", "W10x1"} {
				w, err := bench.Find(name)
				if err != nil {
					return err
				}
				v := w.Variants[0]
				best := 0.0
				for range 3 {
					row, err := bench.Compare(cmd.Context(), w, v, nil, set)
					if err != nil {
						return err
					}
					if best = max(best, row.Ratio); best >= stored[name]*(1-loss) {
						break
					}
				}
				word := "ok"
				if was := stored[name]; best < was*(1-loss) {
					word, failed = "lost", true
				}
				rows = append(rows, []string{name, fmt.Sprintf("%.3f", best), fmt.Sprintf("%.3f", stored[name]), word})
				if store {
					stored[name] = float64(int(best*1000)) / 1000
				}
			}
			if err := a.table("gate", []string{"workload", "÷ limit", "stored", "verdict"}, rows); err != nil {
				return err
			}
			if store {
				raw, err := json.MarshalIndent(stored, "", "  ")
				if err != nil {
					return err
				}
				return os.WriteFile(file, append(raw, '\n'), 0o644)
			}
			if failed {
				return exitCode(1)
			}
			return nil
		}}
	c.Flags().StringVar(&set.Data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&set.Scratch, "scratch", "", "folder for checkpoints")
	c.Flags().IntVar(&set.Rounds, "rounds", 3, "interleaved rounds")
	c.Flags().StringVar(&file, "stored", filepath.Join("bench", "ratios.json"), "the stored ratios")
	c.Flags().Float64Var(&loss, "loss", 0.15, "how much of a ratio may be lost")
	c.Flags().BoolVar(&store, "store", false, "store what is measured now")
	return c
}
