//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/store"
)

// replay traces a batch of a query: from its checkpoint, or, where none is kept or fromStart asks for it, from the
// beginning of its sources.
func (a *app) replay(cmd *cobra.Command, args []string, f traceFlags, o engine.TraceOptions) (tr *engine.Trace, err error) {
	if f.fromStart {
		return a.again(cmd, args, f.batch, o)
	}
	err = a.look(cmd, args, func(x *looking) error {
		dw, err := x.w.Writer(x.ctx, x.query)
		if err == nil {
			tr, err = dw.Replay(x.ctx, x.cp, x.committed(f.batch), o)
		}
		return err
	})
	switch {
	case errs.Has(err, "CHECKPOINT_IN_USE"):
		e := errs.As(err)
		return nil, e.WithHint("It runs: in the workbench b and Enter look into its batches. `streamlab trace " + args[0] + " " + args[1] +
			" --from-start` runs it beside that, from its beginning.")
	case errs.Has(err, "NO_CHECKPOINT") && a.keepsNone(cmd, args):
		fmt.Fprintf(a.talk(), "%s keeps no checkpoint: it is run from its beginning, and its sink is left alone.\n", args[1])
		return a.again(cmd, args, f.batch, o)
	}
	return tr, err
}

// keepsNone reports whether the checkpoint of a query goes with its run.
func (a *app) keepsNone(cmd *cobra.Command, args []string) bool {
	w, err := a.open(cmd.Context(), args[0])
	if err != nil {
		return false
	}
	defer w.Close()
	dir, err := w.Checkpoint(args[1])
	return err == nil && dir == ""
}

// again runs a query from its beginning with a checkpoint of its own, which goes afterwards, and a sink that throws
// all away; then it traces the batch, -1 for the last one. The batches are cut as the limits of the sources say: those
// of a run that was slow or fast may have been cut in another way.
func (a *app) again(cmd *cobra.Command, args []string, batch int64, o engine.TraceOptions) (tr *engine.Trace, err error) {
	ctx := cmd.Context()
	w, err := a.open(ctx, args[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	q, err := w.Find(args[1])
	if err != nil {
		return nil, err
	}
	dw, err := w.Writer(ctx, args[1])
	if err != nil {
		return nil, err
	}
	df, err := w.Session().SQL(ctx, q.SQL.Value)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "streamlab-trace-")
	if err != nil {
		return nil, errs.Wrap(err, "TRACE_NO_ROOM", "folder", os.TempDir())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied := df.WriteStream().Format("noop").OutputMode(q.OutputMode.Value).QueryName(args[1]).Option("checkpointLocation", dir)
	run, err := copied.Trigger(engine.AvailableNow()).MaxBatches(int(batch) + 1).Start(ctx)
	if err != nil {
		return nil, err
	}
	failed := run.AwaitTermination(ctx)
	if at := run.Snapshot().Batch; failed == nil && w.Lab.Reads(args[1], "rate") != "" && (at < 1 || at < batch) {
		// Such a source has had no time to make a row. A few seconds are enough for the first ones.
		more := max(1, int(batch-at))
		if run, err = copied.Trigger(engine.ProcessingTime(0)).MaxBatches(more).Start(ctx); err != nil {
			return nil, err
		}
		few, cancel := context.WithTimeout(ctx, time.Duration(3+more)*time.Second)
		if failed = run.AwaitTermination(few); few.Err() != nil && ctx.Err() == nil {
			failed = run.StopAfterBatch()
		}
		cancel()
	}
	cp, err := store.Open(dir, store.Options{})
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	head, ok := cp.Head()
	if !ok || head < 0 {
		if failed != nil {
			return nil, failed // there is no batch that could be shown instead
		}
		return nil, errs.New("TRACE_NO_ROWS", "name", args[1])
	}
	if batch < 0 {
		batch = head
	}
	return dw.Replay(ctx, cp, batch, o)
}
