//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/store"
)

// checkpointAt opens the checkpoint of a query of a lab that no query uses; the caller closes it.
func (a *app) checkpointAt(ctx context.Context, path, query string) (*store.Checkpoint, *lab.Workbench, error) {
	w, err := a.open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	dir, err := w.Checkpoint(query)
	if err == nil {
		var cp *store.Checkpoint
		if cp, err = openCheckpoint(dir, query); err == nil {
			return cp, w, nil
		}
	}
	w.Close()
	return nil, nil, err
}

func openCheckpoint(dir, query string) (*store.Checkpoint, error) {
	if dir == "" || !exists(dir) {
		return nil, errs.New("NO_CHECKPOINT", "query", query)
	}
	return store.Open(dir, store.Options{})
}

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status LAB",
		Short: "Say how far each query has come",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer w.Close()
			var rows [][]string
			for _, n := range w.Names() {
				dir, err := w.Checkpoint(n)
				if err != nil {
					return err
				}
				row := []string{n, "never started", "-", "-"}
				switch {
				case dir == "":
					row[1] = "temporary checkpoint"
				case exists(dir):
					cp, err := store.Open(dir, store.Options{})
					if err != nil {
						row[1] = conditionOf(err)
						break
					}
					if head, ok := cp.Head(); ok {
						row[1], row[2] = "stopped", fmt.Sprint(head)
						if c, ok, err := cp.Commits(head); err == nil && ok && c.NextBatchWatermarkMs > 0 {
							row[3] = millis(c.NextBatchWatermarkMs)
						}
					}
					if _, pending := cp.Pending(); pending {
						row[1] = "stopped, a batch is pending"
					}
					cp.Close()
				}
				rows = append(rows, row)
			}
			return a.table("status", []string{"query", "state", "batch", "watermark"}, rows)
		},
	}
}

func newProgressCommand(a *app) *cobra.Command {
	var last int
	c := &cobra.Command{
		Use:   "progress LAB QUERY",
		Short: "Print stored progress, one JSON a line",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cp, w, err := a.checkpointAt(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			defer cp.Close()
			from, to := cp.Retained()
			if last > 0 {
				from = max(from, to-int64(last)+1)
			}
			for n := from; n <= to; n++ {
				if p, ok := cp.Progress(n); ok {
					fmt.Fprintf(a.out, "%s\n", p)
				}
			}
			return nil
		},
	}
	c.Flags().IntVar(&last, "last", 0, "only the newest reports")
	return c
}

// conditionOf is the condition of an error in a table cell, or its text if it has none.
func conditionOf(err error) string {
	if e := errs.As(err); e != nil {
		return e.Condition
	}
	return err.Error()
}

func newCheckpointVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify LAB [QUERY…]",
		Short: "Read checkpoints through and say which are damaged; exit code 8 if one is",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer w.Close()
			names := args[1:]
			if len(names) == 0 {
				names = w.Names()
			}
			var rows [][]string
			var bad []error
			for _, n := range names {
				dir, err := w.Checkpoint(n)
				if err != nil {
					return err
				}
				state := "whole"
				switch {
				case dir == "":
					state = "temporary checkpoint"
				case !exists(dir):
					state = "never started"
				default:
					if err := verify(dir, n); err != nil {
						state = conditionOf(err)
						bad = append(bad, err)
					}
				}
				rows = append(rows, []string{n, state, dir})
			}
			if err := a.table("verify", []string{"query", "state", "location"}, rows); err != nil {
				return err
			}
			return errors.Join(bad...)
		},
	}
}

func verify(dir, query string) error {
	cp, err := openCheckpoint(dir, query)
	if err != nil {
		return err
	}
	defer cp.Close()
	return cp.Verify()
}

func newCheckpointCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "Look into checkpoints"}
	c.AddCommand(newCheckpointVerifyCommand(a), newRewindCommand(a), newForkCommand(a))
	var batch int64
	show := &cobra.Command{
		Use:   "show LAB QUERY",
		Short: "Print offsets and commit of a batch in Spark's text form",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cp, w, err := a.checkpointAt(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			defer cp.Close()
			n := batchOr(cp, batch)
			if _, pending := cp.Pending(); pending && n < 0 {
				n = 0 // the first batch is planned and not yet committed
			}
			o, ok, err := cp.Offsets(n)
			if err != nil {
				return err
			}
			if !ok {
				return errs.New("NO_BATCH", "batch", n, "from", from(cp), "to", to(cp))
			}
			rows := [][]string{{fmt.Sprintf("offsets/%d", n), o.Text()}}
			if e, ok, err := cp.Commits(n); err != nil {
				return err
			} else if ok {
				rows = append(rows, []string{fmt.Sprintf("commits/%d", n), e.Text()})
			}
			if a.output != "table" && a.output != "wide" {
				return a.table("log", []string{"file", "text"}, rows)
			}
			for _, r := range rows {
				fmt.Fprintf(a.out, "%s\n%s\n", r[0], r[1])
			}
			return nil
		},
	}
	show.Flags().Int64Var(&batch, "batch", -1, "batch; default the newest")
	var operator int
	var storeName string
	state := &cobra.Command{
		Use:   "state LAB QUERY",
		Short: "Print the state of a stateful operator after a batch",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cp, w, err := a.checkpointAt(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer w.Close()
			defer cp.Close()
			v := cp.At(batchOr(cp, batch))
			defer v.Close()
			dw, err := w.Writer(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			batches, schema, err := dw.StateTable(v, operator, storeName)
			if err != nil {
				return err
			}
			return a.table("state", schema.Names(), lab.Cells(batches, schema))
		},
	}
	state.Flags().Int64Var(&batch, "batch", -1, "batch; default the newest")
	state.Flags().IntVar(&operator, "operator", 0, "number of the operator, 0 is nearest the sink")
	state.Flags().StringVar(&storeName, "store", "default", "store of the operator: default, or left and right of a join")
	ls := &cobra.Command{
		Use:   "ls LAB",
		Short: "List the checkpoints of a lab",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer w.Close()
			var rows [][]string
			for _, n := range w.Names() {
				dir, err := w.Checkpoint(n)
				if err != nil {
					return err
				}
				if dir == "" {
					rows = append(rows, []string{n, "temporary", "-", "-"})
					continue
				}
				row := []string{n, dir, "-", "-"}
				if exists(dir) {
					cp, err := store.Open(dir, store.Options{})
					if err != nil {
						row[2] = conditionOf(err)
					} else {
						row[2] = fmt.Sprintf("%d to %d", from(cp), to(cp))
						row[3] = strconv.FormatInt(folderSize(dir), 10)
						cp.Close()
					}
				}
				rows = append(rows, row)
			}
			return a.table("checkpoint", []string{"query", "location", "batches", "bytes"}, rows)
		},
	}
	c.AddCommand(ls, show, state)
	return c
}

func from(cp *store.Checkpoint) int64 { f, _ := cp.Retained(); return f }

func to(cp *store.Checkpoint) int64 { _, t := cp.Retained(); return t }

func batchOr(cp *store.Checkpoint, n int64) int64 {
	if n >= 0 {
		return n
	}
	return to(cp)
}

// folderSize is what the files of a folder take on the disk: those of the store are mostly holes.
func folderSize(dir string) int64 {
	var n int64
	var walk func(string)
	walk = func(d string) {
		entries, err := os.ReadDir(d)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.IsDir() {
				walk(d + "/" + e.Name())
			} else if i, err := e.Info(); err == nil {
				if st, ok := i.Sys().(*syscall.Stat_t); ok {
					n += st.Blocks * 512
				} else {
					n += i.Size()
				}
			}
		}
	}
	walk(dir)
	return n
}

func millis(ms int64) string { return timeOf(ms).Format(engine.TimestampLayout) }

// storedOperators are the names of the stateful operators that made a checkpoint.
func storedOperators(cp *store.Checkpoint) ([]string, error) {
	raw, ok := cp.Meta("plan")
	if !ok {
		return nil, nil
	}
	var p struct {
		Operators []exec.OperatorShape `json:"operators"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	var out []string
	for _, o := range p.Operators {
		out = append(out, o.Name)
	}
	return out, nil
}
