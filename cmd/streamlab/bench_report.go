//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"streamlab/bench"
	"streamlab/errs"
)

// newBenchReport makes docs/performance.md.
func newBenchReport(a *app) *cobra.Command {
	var set bench.Settings
	var peerNames, only, probes []string
	var out string
	c := &cobra.Command{
		Use: "report", Short: "Measure all workloads and probes and write docs/performance.md", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set.Say = func(s string) { fmt.Fprintln(a.err, s) }
			r := bench.Report{At: time.Now(), Rounds: set.Rounds}
			peers, stop, err := openPeers(peerNames, set)
			if err != nil {
				return err
			}
			defer stop()
			for _, p := range peers {
				r.Peers = append(r.Peers, p.Name+" "+p.Version)
			}
			chosen, err := bench.Select(only)
			if err != nil {
				return err
			}
			for _, w := range chosen {
				for _, v := range w.Variants {
					row, err := bench.Compare(cmd.Context(), w, v, peers, set)
					if err != nil {
						a.report(err) // one that cannot run does not hide the others
						continue
					}
					set.Say(fmt.Sprintf("%s %s: %.2f M rows/s, ÷ limit %.2f", w.Name, v, row.Engine.RowsPerS/1e6, row.Ratio))
					r.Rows = append(r.Rows, row)
				}
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			data, err := filepath.Abs(set.Data)
			if err != nil {
				return err
			}
			for _, p := range bench.Probes() {
				if !slices.Contains(probes, p.Name) {
					continue
				}
				fs, err := p.Run(cmd.Context(), bench.Probing{Program: program, Data: data, Scratch: set.Scratch, Rounds: set.Rounds, Say: set.Say})
				r.Figures = append(r.Figures, fs...)
				if err != nil {
					a.report(err)
				}
			}
			hand := bench.Hand(out)
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := r.Write(f); err != nil {
				return err
			}
			if hand != "" {
				fmt.Fprintf(f, "\n%s", hand)
			}
			return f.Close()
		}}
	c.Flags().StringVar(&set.Data, "data", "bench/data", "folder of the files")
	c.Flags().StringVar(&set.Check, "check", "", "a smaller such folder on which results are compared (default: --data)")
	c.Flags().StringVar(&set.Scratch, "scratch", "", "folder for checkpoints")
	c.Flags().IntVar(&set.Rounds, "rounds", 3, "interleaved rounds")
	c.Flags().StringSliceVar(&peerNames, "peers", []string{"duckdb", "spark"}, "other engines; none for none")
	c.Flags().StringSliceVar(&only, "only", nil, "these workloads; default all")
	c.Flags().StringSliceVar(&probes, "probes", []string{"latency", "idle", "open", "cold", "ten", "resting", "size"}, "these probes")
	c.Flags().StringVar(&out, "file", filepath.Join("docs", "performance.md"), "where the report goes; its part about missed targets is kept")
	return c
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
