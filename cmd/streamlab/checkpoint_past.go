//go:build cgo

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"streamlab/errs"
)

func newRewindCommand(a *app) *cobra.Command {
	batch := int64(-1)
	c := &cobra.Command{
		Use:   "rewind LAB QUERY --to BATCH",
		Short: "Go back to a retained batch; the folder as it was is kept beside it",
		Long: "What came after the batch is forgotten: the query reads it again when it starts, and a sink that keeps no log\n" +
			"gets it again. The checkpoint as it was is kept as <folder>.before-<time>.",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if batch < 0 {
				return errs.New("LAB_VALUE", "key", "--to", "expected", "a batch from 0 on")
			}
			cp, w, err := a.checkpointAt(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			defer cp.Close()
			if err := cp.Rewind(batch); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s goes on with batch %d\n", args[1], batch+1)
			return nil
		},
	}
	c.Flags().Int64Var(&batch, "to", -1, "the batch that becomes the newest")
	return c
}

func newForkCommand(a *app) *cobra.Command {
	var batch int64
	c := &cobra.Command{
		Use:   "fork LAB QUERY FOLDER",
		Short: "Copy a checkpoint up to a retained batch; the copy is a query of its own",
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			cp, w, err := a.checkpointAt(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			defer cp.Close()
			n := batchOr(cp, batch)
			if err := cp.CopyTo(args[2], n); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s holds batches up to %d\n", args[2], n)
			return nil
		},
	}
	c.Flags().Int64Var(&batch, "batch", -1, "the newest batch of the copy; default the newest there is")
	return c
}
