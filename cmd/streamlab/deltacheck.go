//go:build cgo

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"streamlab/delta"
)

func newDeltaCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "delta", Short: "Look at Delta tables"}
	c.AddCommand(&cobra.Command{
		Use:   "check TABLE",
		Short: "Hold the log of a Delta table against its files",
		Long:  "Walks the log, reads every live file and compares sizes, statistics, deletion vectors, checkpoints and checksums. Changes nothing; exit code 3 if something is wrong.",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			r, err := delta.Open(root).Check(cmd.Context())
			if err != nil {
				return err
			}
			if a.output == "json" || a.output == "jsonl" {
				a.json(a.out, r)
			} else {
				var rows [][]string
				for _, f := range r.Findings {
					rows = append(rows, []string{f.Problem, f.File, f.Detail})
				}
				if len(rows) > 0 {
					if err := a.table("finding", []string{"problem", "file", "detail"}, rows); err != nil {
						return err
					}
				}
				fmt.Fprintf(a.talk(), "%s: version %d, %d commits, %d checkpoints, %d files, %d bytes, %d rows, %d deleted, %d problems\n",
					args[0], r.Version, r.Commits, r.Checkpoints, r.Files, r.Bytes, r.Rows, r.Deleted, len(r.Findings))
			}
			if len(r.Findings) > 0 {
				return exitCode(3)
			}
			return nil
		},
	})
	return c
}
