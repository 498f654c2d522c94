//go:build cgo

package main

import (
	"context"
	"fmt"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

// restarts says how the queries of a lab differ from the checkpoints that they would go on from: what is
// refused as problems, anything else as notes. refused is how many would not start again.
func (a *app) restarts(ctx context.Context, path string, sound bool) (refused int, err error) {
	if !sound {
		return 0, nil // first things first
	}
	l, err := a.load(path)
	if err != nil {
		return 0, err
	}
	conf, err := a.settings()
	if err != nil {
		return 0, err
	}
	for _, r := range lab.Restarts(ctx, l, engine.Config{Conf: conf}) {
		if r.Err != nil {
			if errs.Has(r.Err, "CHECKPOINT_IN_USE") {
				a.note(r, engine.Change{Verdict: engine.Allowed, What: "checkpoint", Text: "The query runs: its checkpoint was not looked at."})
				continue
			}
			if errs.Has(r.Err, "CHECKPOINT_NOT_LOOKED_AT") {
				a.note(r, engine.Change{Verdict: engine.Allowed, What: "checkpoint", Text: "It is too large to be looked at without opening it."})
				continue
			}
			refused++
			if e := errs.As(r.Err); e != nil {
				a.problem(e.At(r.Pos))
			} else {
				a.problem(errs.Wrap(r.Err, "INTERNAL_ERROR", "message", r.Err.Error()))
			}
			continue
		}
		for _, c := range r.Changes {
			if c.Verdict == engine.Refused && c.Err != nil {
				refused++
				a.problem(c.Err)
				continue
			}
			a.note(r, c)
		}
	}
	return refused, nil
}

func (a *app) note(r lab.Restart, c engine.Change) {
	if a.output == "json" || a.output == "jsonl" {
		a.json(a.err, map[string]any{"kind": "restart", "version": 1, "query": r.Query, "file": r.Pos.File, "line": r.Pos.Line,
			"column": r.Pos.Col, "verdict": c.Verdict, "what": c.What, "was": c.Was, "now": c.Now, "message": c.Text})
		return
	}
	change := c.What
	if c.Was != "" || c.Now != "" {
		change += fmt.Sprintf(" was %s, is %s", c.Was, c.Now)
	}
	fmt.Fprintf(a.err, "note: %s: %s (%s): %s. %s\n", r.Pos, r.Query, c.Verdict, change, c.Text)
}
