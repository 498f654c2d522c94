//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/store"
)

func newCheckpointCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "Look into checkpoints, and bring them back to an older batch",
		Long: "NAME is a query of LAB. Without LAB it is a query of the lab file in this folder, or the folder of a checkpoint.\n" +
			"A query that runs holds its checkpoint: these commands then say by which process, and end with code 5."}
	c.AddCommand(newCheckpointListCommand(a), newCheckpointShowCommand(a), newCheckpointStateCommand(a), newCheckpointHistoryCommand(a),
		newCheckpointDiffCommand(a), newCheckpointVerifyCommand(a), newForkCommand(a), newRewindCommand(a), newForgetCommand(a),
		newCheckpointExportCommand(a), newCheckpointRemoveCommand(a))
	return c
}

func newStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status [LAB]",
		Short: "Say how far each query of a lab, or of all labs in this folder, has come",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				var err error
				if args, err = labsHere(); err != nil {
					return err
				}
			}
			var rows [][]string
			for _, path := range args {
				w, err := a.open(cmd.Context(), path)
				if err != nil {
					return err
				}
				for _, n := range w.Names() {
					dir, err := w.Checkpoint(n)
					if err != nil {
						return errors.Join(err, w.Close())
					}
					rows = append(rows, statusOf(n, dir))
				}
				if err := w.Close(); err != nil {
					return err
				}
			}
			return a.table("status", []string{"query", "state", "batch", "watermark", "last"}, rows, "batch")
		},
	}
}

// eachCheckpoint calls f for every query of a lab: with its open checkpoint, with neither one nor an error if
// there is none yet, or with why it does not open. dir is "" for a temporary one.
func (a *app) eachCheckpoint(ctx context.Context, path string, f func(query, dir string, cp *store.Checkpoint, err error) error) (err error) {
	w, err := a.open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, n := range w.Names() {
		if err := eachOf(w, n, f); err != nil {
			return err
		}
	}
	return nil
}

func eachOf(w *lab.Workbench, query string, f func(query, dir string, cp *store.Checkpoint, err error) error) error {
	dir, err := w.Checkpoint(query)
	if err != nil {
		return err
	}
	if dir == "" || !exists(dir) {
		return f(query, dir, nil, nil)
	}
	cp, err := openCheckpoint(dir, query)
	if err != nil {
		return f(query, dir, nil, err)
	}
	return errors.Join(f(query, dir, cp, nil), cp.Close())
}

func newProgressCommand(a *app) *cobra.Command {
	var last int
	c := &cobra.Command{
		Use:   "progress LAB QUERY",
		Short: "Print stored progress, one JSON a line",
		Args:  exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd, args, func(x *looking) error {
				from, to := x.cp.Retained()
				if last > 0 {
					from = max(from, to-int64(last)+1)
				}
				for n := from; n <= to; n++ {
					if p, ok := x.cp.Progress(n); ok {
						fmt.Fprintf(a.out, "%s\n", p)
					}
				}
				return nil
			})
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

func newCheckpointListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [LAB]",
		Short: "List the checkpoints of a lab, or of all labs in this folder",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				var err error
				if args, err = labsHere(); err != nil {
					return err
				}
			}
			r := a.records("checkpoint", fields("query", "state", "oldest", "newest", "bytes", "+id", "location"))
			for _, path := range args {
				err := a.eachCheckpoint(cmd.Context(), path, func(n, dir string, cp *store.Checkpoint, err error) error {
					switch {
					case dir == "":
						return r.add(n, "temporary", nil, nil, nil, nil, nil)
					case err != nil:
						return r.add(n, held(err), nil, nil, folderSize(dir), nil, dir)
					case cp == nil:
						return r.add(n, "none yet", nil, nil, nil, nil, dir)
					}
					state, oldest, last := "committed", any(nil), any(nil)
					if _, pending := cp.Pending(); pending {
						state = "a batch is pending"
					}
					from, _ := cp.Retained()
					if to := newest(cp); to >= 0 {
						oldest, last = from, to
					} else {
						state = "empty"
					}
					return r.add(n, state, oldest, last, folderSize(dir), cp.ID(), dir)
				})
				if err != nil {
					return err
				}
			}
			return r.end()
		},
	}
}

// labsHere are the lab files of this folder. Errors: LAB_FOLDER if there is none.
func labsHere() (out []string, err error) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if l, err := lab.Load(f); err == nil && len(l.Queries) > 0 {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, errs.New("LAB_FOLDER", "path", ".", "held", "no lab file")
	}
	return out, nil
}

// held says who holds a checkpoint, or what is wrong with it.
func held(err error) string {
	if e := errs.As(err); e != nil && e.Condition == "CHECKPOINT_IN_USE" {
		return fmt.Sprintf("in use by process %s on %s since %s", e.Params["pid"], e.Params["host"], e.Params["since"])
	}
	return conditionOf(err)
}

func newCheckpointShowCommand(a *app) *cobra.Command {
	var batch int64
	var text bool
	c := &cobra.Command{
		Use:   "show [LAB] NAME",
		Short: "Tell what a checkpoint holds of a batch, and what a restart would do",
		Args:  between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd, args, func(x *looking) error {
				n := x.batch(batch)
				if text {
					return a.sparkText(x.cp, n)
				}
				return x.show(n)
			})
		},
	}
	c.Flags().Int64Var(&batch, "batch", -1, "batch; default the newest")
	c.Flags().BoolVar(&text, "spark-text", false, "print offsets and commit in Spark's text form")
	return c
}

// sparkText prints the records of a batch as Spark writes them.
func (a *app) sparkText(cp *store.Checkpoint, n int64) error {
	o, ok, err := cp.Offsets(n)
	if err != nil {
		return err
	}
	if !ok {
		return noBatch(cp, n)
	}
	rows := [][2]string{{fmt.Sprintf("offsets/%d", n), o.Text()}}
	if e, ok, err := cp.Commits(n); err != nil {
		return err
	} else if ok {
		rows = append(rows, [2]string{fmt.Sprintf("commits/%d", n), e.Text()})
	}
	if a.output != "table" && a.output != "wide" {
		out := a.records("log", fields("file", "text"))
		for _, r := range rows {
			if err := out.add(r[0], r[1]); err != nil {
				return err
			}
		}
		return out.end()
	}
	for _, r := range rows {
		fmt.Fprintf(a.out, "%s\n%s\n", r[0], r[1])
	}
	return nil
}

// show tells what the checkpoint holds of a batch: for the eye a line a fact, for machines one object.
func (x *looking) show(n int64) error {
	var sources []string
	if x.w != nil {
		if insp, err := x.inspector(); err == nil {
			sources = insp.Sources()
		}
	}
	b, err := batchFacts(x.cp, sources, n)
	if err != nil {
		return err
	}
	var forecast *engine.Forecast
	if x.w != nil && n == newest(x.cp) {
		if forecast, err = x.w.Forecast(x.ctx, x.query, x.cp); err != nil {
			return err
		}
	}
	if x.a.output == "table" || x.a.output == "wide" {
		return x.showTable(b, forecast)
	}
	type source struct {
		Source string          `json:"source"`
		Start  json.RawMessage `json:"start"`
		End    json.RawMessage `json:"end"`
		Rows   *int64          `json:"rows"`
	}
	list := []source{}
	for _, s := range b.Sources {
		y := source{Source: s.Source, Start: offsetJSON(s.Start), End: offsetJSON(s.End)}
		if s.Rows >= 0 {
			y.Rows = &s.Rows
		}
		list = append(list, y)
	}
	conf := map[string]string{}
	for _, kv := range b.Conf {
		conf[kv.Key] = kv.Value
	}
	var version, restart any
	if b.StateVersion >= 0 {
		version = b.StateVersion
	}
	if forecast != nil {
		restart = restartJSON(forecast)
	}
	r := x.a.records("checkpoint-batch", fields("query", "batch", "written", "sources", "closesUpTo", "lateBefore", "committed", "stateVersion", "conf", "restart"))
	if err := r.add(x.query, b.ID, timeJSON(b.Written), list, timeJSON(b.ClosesUpTo), timeJSON(b.LateBefore), b.HasCommit, version, conf, restart); err != nil {
		return err
	}
	return r.end()
}

// restartJSON is a forecast as machines get it.
func restartJSON(f *engine.Forecast) map[string]any {
	m := map[string]any{"batch": f.Batch, "rerun": f.Rerun, "empty": f.Empty, "due": f.Due, "sink": f.Sink, "arrives": f.Arrives, "lines": f.Lines}
	if f.Refused != nil {
		m["refused"], m["later"] = f.Refused.Condition, f.Later
	}
	return m
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

func offsetJSON(s string) json.RawMessage {
	if s == "" {
		return json.RawMessage("null")
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return mustJSON(s)
}

func newCheckpointVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify LAB [QUERY…]",
		Short: "Read checkpoints through and say which are damaged; exit code 8 if one is",
		Args:  between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var bad []error
			r := a.records("verify", fields("query", "state", "location"))
			check := func(n, dir string, cp *store.Checkpoint, err error) error {
				state := "whole"
				switch {
				case dir == "":
					return r.add(n, "temporary checkpoint", nil)
				case cp == nil && err == nil:
					state = "never started"
				case err == nil:
					if err = cp.VerifyWith(ctx, a.saysProgress(n)); ctx.Err() != nil {
						return ctx.Err()
					}
				}
				if err != nil {
					err = ways(err, dir, n)
					state = held(err)
					bad = append(bad, err)
				}
				return r.add(n, state, dir)
			}
			err := a.verifyEach(ctx, args, check)
			if err != nil {
				return err
			}
			if err := r.end(); err != nil {
				return err
			}
			return errors.Join(bad...)
		},
	}
}

// verifyEach calls check for the named queries of a lab, all of them if none is named, or for the one folder
// that is named.
func (a *app) verifyEach(ctx context.Context, args []string, check func(n, dir string, cp *store.Checkpoint, err error) error) (err error) {
	if len(args) == 1 && exists(filepath.Join(args[0], "META")) {
		cp, err := openCheckpoint(args[0], args[0])
		if err != nil {
			return check(args[0], args[0], nil, err)
		}
		return errors.Join(check(args[0], args[0], cp, nil), cp.Close())
	}
	if len(args) == 1 {
		return a.eachCheckpoint(ctx, args[0], check)
	}
	w, err := a.open(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, n := range args[1:] {
		if err := eachOf(w, n, check); err != nil {
			return err
		}
	}
	return nil
}

// saysProgress writes how far a check is, on a terminal only.
func (a *app) saysProgress(query string) func(done, total int64) {
	eye, ok := a.err.(terminal)
	if !ok {
		return nil
	}
	f := eye.file
	last := int64(-1)
	return func(done, total int64) {
		if p := done * 100 / total; p != last {
			last = p
			fmt.Fprintf(f, "\r%s %3d%%", query, p)
			if p == 100 {
				fmt.Fprint(f, "\r"+strings.Repeat(" ", len(query)+5)+"\r")
			}
		}
	}
}
