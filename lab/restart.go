package lab

import (
	"context"

	"streamlab/engine"
	"streamlab/errs"
)

// A Restart is how a query of a lab differs from the checkpoint that it would go on from.
type Restart struct {
	Query   string
	Pos     errs.Pos        // of the query
	Changes []engine.Change // worst first; the errors of refused ones have a place
	Err     error           // why the checkpoint could not be looked at; nil if it could, or is not there
}

// Restarts holds the queries of a lab against their checkpoints and starts nothing. Queries that do not
// differ are left out, and those that Check refuses.
func Restarts(ctx context.Context, l *Lab, c engine.Config) []Restart {
	s, _, _ := l.build(ctx, c, true)
	if s == nil {
		return nil
	}
	defer s.Close()
	var out []Restart
	for _, q := range l.Queries {
		w, path, err := l.writer(ctx, s, q)
		if err != nil {
			continue
		}
		if q.ToTable.Value != "" {
			path = q.ToTable.Value
		}
		if w.Check(pathOf(path)...) != nil {
			continue
		}
		r := Restart{Query: q.Name.Value, Pos: q.Name.Pos}
		r.Changes, r.Err = w.Restart(pathOf(path)...)
		for i, ch := range r.Changes {
			if ch.Err != nil {
				r.Changes[i].Err = errs.As(l.locate(ch.Err, q.SQL.Pos))
			}
		}
		if r.Err != nil || len(r.Changes) > 0 {
			out = append(out, r)
		}
	}
	return out
}
