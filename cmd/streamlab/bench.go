//go:build cgo

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/bench"
)

func newBenchCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure the engine beside hand-written loops and other engines"}
	var data, scratch, workload, variant, profile string
	var rows, drip, rounds int
	var check, asJSON bool
	generate := &cobra.Command{Use: "generate", Short: "Write the input files", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return bench.Generate(data, rows, drip, func(s string) { fmt.Fprintln(a.err, s) })
	}}
	generate.Flags().StringVar(&data, "data", "bench/data", "folder of the files")
	generate.Flags().IntVar(&rows, "rows", 2_000_000, "rows of events")
	generate.Flags().IntVar(&drip, "drip-files", 2000, "files of the drip sets")
	run := &cobra.Command{Use: "run", Short: "Run one workload on the engine", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		w, err := bench.Find(workload)
		if err != nil {
			return err
		}
		if variant == "" {
			variant = w.Variants[0]
		}
		if profile != "" {
			f, err := os.Create(profile)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		r, err := bench.Run(cmd.Context(), w, variant, data, scratch, check)
		if err != nil {
			return err
		}
		if asJSON {
			a.json(a.out, r)
			return nil
		}
		r.BatchMs = nil
		a.json(a.out, r)
		return nil
	}}
	run.Flags().StringVar(&workload, "workload", "W1", "W1, W3json, W4json, W10x1 or W10x1000")
	run.Flags().StringVar(&variant, "variant", "", "large, small, 1 or 1000")
	run.Flags().StringVar(&data, "data", "bench/data", "folder of the files")
	run.Flags().StringVar(&scratch, "scratch", "", "folder for checkpoints")
	run.Flags().StringVar(&profile, "profile", "", "write a CPU profile to this file")
	run.Flags().BoolVar(&check, "check", false, "print the result's checksum instead of times")
	run.Flags().BoolVar(&asJSON, "json", false, "with the time of every batch")
	compare := &cobra.Command{Use: "compare [WORKLOAD…]", Short: "Time workloads and their limits in interleaved rounds", RunE: func(cmd *cobra.Command, args []string) error {
		var out [][]string
		for _, w := range bench.Workloads() {
			if len(args) > 0 && !strings.Contains(" "+strings.Join(args, " ")+" ", " "+w.Name+" ") {
				continue
			}
			for _, v := range w.Variants {
				r, err := bench.Compare(cmd.Context(), w, v, data, scratch, rounds)
				if err != nil {
					return err
				}
				out = append(out, []string{w.Name, v, mega(r.Engine.RowsPerS), mega(r.Limit.RowsPerS), fmt.Sprintf("%.2f", r.Ratio),
					fmt.Sprintf("%.0f", float64(r.Engine.Batches)/r.Engine.Seconds), fmt.Sprintf("%.2f", r.Engine.P50), fmt.Sprintf("%.2f", r.Engine.P99)})
			}
		}
		return a.table("comparison", []string{"workload", "variant", "M rows/s", "limit", "÷ limit", "batches/s", "p50 ms", "p99 ms"}, out)
	}}
	compare.Flags().StringVar(&data, "data", "bench/data", "folder of the files")
	compare.Flags().StringVar(&scratch, "scratch", "", "folder for checkpoints")
	compare.Flags().IntVar(&rounds, "rounds", 3, "interleaved rounds")
	c.AddCommand(generate, run, compare)
	return c
}

func mega(f float64) string { return fmt.Sprintf("%.2f", f/1e6) }
