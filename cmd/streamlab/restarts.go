//go:build cgo

package main

import (
	"context"
	"fmt"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

// A restartNote is how a query differs from the checkpoint that it would go on from, and may.
type restartNote struct {
	query  string
	pos    errs.Pos
	change engine.Change
}

// restarts compares the queries of a lab with the checkpoints that they would go on from: what would not start
// again, and what is different and may be.
func (a *app) restarts(ctx context.Context, path string, sound bool) (refused []*errs.Error, notes []restartNote, err error) {
	if !sound {
		return nil, nil, nil // first things first
	}
	l, err := a.load(path)
	if err != nil {
		return nil, nil, err
	}
	conf, err := a.settings()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range lab.Restarts(ctx, l, engine.Config{Conf: conf}) {
		note := func(c engine.Change) { notes = append(notes, restartNote{r.Query, r.Pos, c}) }
		switch {
		case errs.Has(r.Err, "CHECKPOINT_IN_USE"):
			note(engine.Change{Verdict: engine.Allowed, What: "checkpoint", Text: "The query runs: its checkpoint was not looked at."})
			continue
		case errs.Has(r.Err, "CHECKPOINT_NOT_LOOKED_AT"):
			note(engine.Change{Verdict: engine.Allowed, What: "checkpoint", Text: "It is too large to be looked at without opening it."})
			continue
		case r.Err != nil:
			e := errs.As(r.Err)
			if e == nil {
				e = errs.Wrap(r.Err, "INTERNAL_ERROR", "message", r.Err.Error())
			}
			refused = append(refused, e.At(r.Pos))
			continue
		}
		for _, c := range r.Changes {
			if c.Verdict == engine.Refused && c.Err != nil {
				refused = append(refused, c.Err)
				continue
			}
			note(c)
		}
	}
	return refused, notes, nil
}

// object is the note for machines.
func (n restartNote) object() map[string]any {
	c := n.change
	return map[string]any{"kind": "restart", "version": 1, "query": n.query, "file": n.pos.File, "line": n.pos.Line,
		"column": n.pos.Col, "verdict": c.Verdict, "what": c.What, "was": c.Was, "now": c.Now, "message": c.Text}
}

// words is the note for the eye.
func (n restartNote) words() string {
	c := n.change
	change := c.What
	if c.Was != "" || c.Now != "" {
		change += fmt.Sprintf(" was %s, is %s", c.Was, c.Now)
	}
	return fmt.Sprintf("note: %s: %s (%s): %s. %s", n.pos, n.query, c.Verdict, change, c.Text)
}
