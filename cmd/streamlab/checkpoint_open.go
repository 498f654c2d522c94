//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/store"
)

// looking is a checkpoint that a command has open.
type looking struct {
	ctx   context.Context
	a     *app
	w     *lab.Workbench // nil: a folder was named, not a query
	query string         // or the folder
	dir   string
	cp    *store.Checkpoint

	insp *engine.Inspector
}

// checkpointNamed finds what [LAB] NAME stands for: a query of the lab; alone, a folder that holds a
// checkpoint, or a query of the one lab file in this folder that has it. The workbench is open, and nil for a
// folder.
func (a *app) checkpointNamed(ctx context.Context, args []string) (w *lab.Workbench, query, dir string, err error) {
	path := args[0]
	switch {
	case len(args) == 2:
		query = args[1]
	case exists(filepath.Join(args[0], "META")):
		return nil, args[0], args[0], nil
	default:
		query = args[0]
		if path, err = a.labOf(query); err != nil {
			return nil, "", "", err
		}
	}
	if w, err = a.open(ctx, path); err != nil {
		return nil, "", "", err
	}
	if dir, err = w.Checkpoint(query); err == nil && (dir == "" || !exists(dir)) {
		err = errs.New("NO_CHECKPOINT", "query", query)
	}
	if err != nil {
		return nil, "", "", errors.Join(err, w.Close())
	}
	return w, query, dir, nil
}

// labOf finds the lab file of this folder that has a query.
func (a *app) labOf(query string) (string, error) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		return "", err
	}
	var found []string
	for _, f := range files {
		l, err := lab.Load(f)
		if err != nil {
			continue // no lab, or one that is not whole
		}
		for _, q := range l.Queries {
			if q.Name.Value == query {
				found = append(found, f)
			}
		}
	}
	if len(found) != 1 {
		return "", errs.New("NO_CHECKPOINT_NAMED", "name", query)
	}
	return found[0], nil
}

// look opens the checkpoint that args name, calls f, and closes everything whatever comes.
func (a *app) look(cmd *cobra.Command, args []string, f func(x *looking) error) (err error) {
	w, query, dir, err := a.checkpointNamed(cmd.Context(), args)
	if err != nil {
		return err
	}
	if w != nil {
		defer func() { err = errors.Join(err, w.Close()) }()
	}
	cp, err := openCheckpoint(dir, query)
	if err != nil {
		return ways(err, dir, query)
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	return f(&looking{ctx: cmd.Context(), a: a, w: w, query: query, dir: dir, cp: cp})
}

func openCheckpoint(dir, query string) (*store.Checkpoint, error) {
	if dir == "" || !exists(dir) {
		return nil, errs.New("NO_CHECKPOINT", "query", query)
	}
	return store.Open(dir, store.Options{})
}

// ways adds to an error of damage what is affected and the two commands that are allowed then.
func ways(err error, dir, query string) error {
	if exitOf(err) != 8 || errs.Has(err, "CHECKPOINT_TOO_NEW") {
		return err
	}
	d, damaged, derr := store.Damaged(dir, store.Options{})
	e := errs.As(err)
	if derr != nil || !damaged || e == nil {
		return err
	}
	if d.Whole < 0 {
		return e.WithHint("No batch is whole: restore the folder from a copy, or `streamlab checkpoint rm` it and begin anew.")
	}
	return e.WithHint(fmt.Sprintf("Batches %d to %d are lost, batch %d is whole. `streamlab checkpoint forget %s --accept-loss %d..%d` goes on after it, "+
		"`streamlab checkpoint rewind %s --to N` after an older one.", d.From, d.To, d.Whole, query, d.From, d.To, query))
}

// inspector reads state; a folder alone does not say what its rows mean.
func (x *looking) inspector() (*engine.Inspector, error) {
	if x.insp != nil {
		return x.insp, nil
	}
	if x.w == nil {
		return nil, errs.New("CHECKPOINT_HAS_NO_QUERY", "name", x.query)
	}
	dw, err := x.w.Writer(x.ctx, x.query)
	if err != nil {
		return nil, err
	}
	x.insp, err = dw.Inspect()
	return x.insp, err
}

// newest is the newest batch: the pending one, else the last committed; -1 if there is none.
func newest(cp *store.Checkpoint) int64 {
	head, ok := cp.Head()
	if !ok {
		head = -1
	}
	if _, pending := cp.Pending(); pending {
		return head + 1
	}
	return head
}

// batch gives the batch of a flag: -1 stands for the newest.
func (x *looking) batch(flag int64) int64 {
	if flag >= 0 {
		return flag
	}
	return newest(x.cp)
}

// committed is batch, or the last committed one for -1.
func (x *looking) committed(flag int64) int64 {
	if flag >= 0 {
		return flag
	}
	_, to := x.cp.Retained()
	return to
}

func noBatch(cp *store.Checkpoint, n int64) error {
	from, _ := cp.Retained()
	return errs.New("NO_BATCH", "batch", n, "from", from, "to", newest(cp))
}

// storedPlan is what a checkpoint says of the query that made it.
type storedPlan struct {
	Operators []exec.OperatorShape `json:"operators"`
	Sources   []string             `json:"sources"`
}

func planOf(cp *store.Checkpoint) (p storedPlan, err error) {
	if raw, ok := cp.Meta("plan"); ok {
		err = json.Unmarshal(raw, &p)
	}
	return p, err
}
