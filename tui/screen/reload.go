package screen

import (
	"context"
	"path/filepath"

	"streamlab/internal/safe"
)

// reload reads the file of the opened lab again, as after a save here: queries that run keep their plan until they
// are started again, which is asked of each that has another now. A text with problems changes nothing.
func reload(sh *Shared) Effect {
	w, path := sh.wright(), sh.Lab.Path
	a, ok := sh.Bench.(Adopter)
	if !ok || w == nil {
		return Effect{Toast: "this lab has no file here"}
	}
	name := text(filepath.Base(path))
	return Effect{Jobs: []Job{{Slot: "reload", What: "reading " + name, Run: func(ctx context.Context) func() Effect {
		t, err := w.ReadLab(ctx, path)
		var list []Redefined
		if err == nil {
			list, err = a.Adopt(ctx, t.Text)
		}
		return func() Effect {
			switch {
			case err != nil:
				return Effect{Error: AsError(err), Toast: name + " is not in use: the lab stays as it was"}
			case len(list) > 0:
				e := askRestart(sh, list)
				e.Toast = name + " was read again"
				return e
			}
			return Effect{Toast: name + " was read again"}
		}
	}}}}
}

// askRestart asks whether queries shall be started again with their new plan.
func askRestart(sh *Shared, list []Redefined) Effect {
	r := list[0]
	lines := []safe.Line{text(r.Query) + " keeps running with the old plan; restart now?"}
	if len(r.Changes) == 0 {
		lines = append(lines, "Its checkpoint fits the new plan.")
	}
	for i, c := range r.Changes {
		if i == 5 {
			lines = append(lines, f("and %d more", len(r.Changes)-i))
			break
		}
		l := text(c.Verdict) + ": " + text(c.What)
		if c.Was != "" || c.Now != "" {
			l += " was " + text(c.Was) + ", is " + text(c.Now)
		}
		if c.Text != "" {
			l += ". " + text(c.Text)
		}
		lines = append(lines, l)
	}
	rest := func() Effect {
		if len(list) > 1 {
			return askRestart(sh, list[1:])
		}
		return Effect{}
	}
	if r.Broken {
		lines[0] = text(r.Query) + " keeps running with the old plan. With the new one it cannot start."
		return Effect{Ask: &Question{Title: text(r.Query) + " cannot restart", Lines: lines, Verb: "keep it running", Yes: rest}}
	}
	if r.Refused {
		lines[0] = text(r.Query) + " keeps running with the old plan. Its checkpoint does not fit the new one."
		return askAfresh(sh, r.Query, func(sink safe.Line) *Question {
			q := freshQuestion(r.Query, sink)
			q.Title = "Start " + text(r.Query) + " fresh with its new plan?"
			q.Lines = append(lines, q.Lines...)
			yes := q.Yes
			q.Yes = func() Effect {
				e := rest()
				y := yes()
				e.Do, e.Toast = y.Do, y.Toast
				return e
			}
			return q
		})
	}
	return Effect{Ask: &Question{Title: "Restart " + text(r.Query) + " with its new plan?", Lines: lines, Verb: "restart", Yes: func() Effect {
		e := rest()
		e.Do = &Command{Verb: Restart, Query: r.Query}
		return e
	}}}
}
