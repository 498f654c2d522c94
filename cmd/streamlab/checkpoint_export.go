//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"

	"streamlab/engine"
)

// exportState writes the rows of a store, one object a line.
func (x *looking) exportState(insp *engine.Inspector, path string, batch int64, s engine.StateStore) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	defer func() { err = errors.Join(err, w.Flush(), f.Close()) }()
	q := engine.StateQuery{Batch: batch, Operator: s.Operator, Store: s.Store, N: statePage}
	cols := fields("key", "value")
	for {
		p, err := insp.Page(x.ctx, x.cp, q)
		if err != nil {
			return err
		}
		for _, r := range p.Rows {
			raw, err := jsonObject("state", cols, []any{json.RawMessage(r.KeyJSON), valueObject(p.Values, r.Values)})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(raw, '\n')); err != nil {
				return err
			}
		}
		if q.From += len(p.Rows); len(p.Rows) == 0 {
			return nil
		}
	}
}
