//go:build cgo

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/store"
)

// statusOf is what can be said of a query without touching its checkpoint: name, state, newest batch, watermark,
// and of one that another process runs its newest events.
func statusOf(name, dir string) []string {
	row := []string{name, "never started", "-", "-", "-"}
	if dir == "" {
		row[1] = "temporary checkpoint"
		return row
	}
	if !exists(dir) {
		return row
	}
	cp, done, err := store.Look(dir, store.Options{})
	if errs.Has(err, "CHECKPOINT_IN_USE") {
		e := errs.As(err)
		row[1] = fmt.Sprintf("running in process %s on %s since %s", e.Params["pid"], e.Params["host"], e.Params["since"])
		if r, ok := engine.ReadRunningQuery(dir); ok && fmt.Sprint(r.PID) == e.Params["pid"] {
			if r.Batch >= 0 {
				row[2] = fmt.Sprint(r.Batch)
			}
			if r.Watermark > 0 {
				row[3] = millis(r.Watermark)
			}
			row[4] = strings.Join(r.Events, "; ")
		}
		return row
	}
	if err != nil {
		row[1] = conditionOf(err)
		return row
	}
	defer done()
	if head, ok := cp.Head(); ok {
		row[1], row[2] = "stopped", fmt.Sprint(head)
		if e, ok, err := cp.Offsets(head); err == nil && ok {
			row[2] = fmt.Sprint(head + e.Skipped())
		}
		if c, ok, err := cp.Commits(head); err == nil && ok && c.NextBatchWatermarkMs > 0 {
			row[3] = millis(c.NextBatchWatermarkMs)
		}
		if p, ok := cp.Progress(head); ok {
			var last struct {
				Timestamp    string
				NumInputRows int64
			}
			if json.Unmarshal(p, &last) == nil {
				row[4] = fmt.Sprintf("%s: %d rows", last.Timestamp, last.NumInputRows)
			}
		}
	}
	if _, pending := cp.Pending(); pending {
		row[1] = "stopped, a batch is pending"
	}
	return row
}
