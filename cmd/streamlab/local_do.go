//go:build cgo

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/store"
	"streamlab/tui/screen"
)

// Do carries out what a screen asks for. It may wait for a batch to end; screens call it beside their loop.
func (b *localLab) Do(ctx context.Context, c screen.Command) error {
	long := context.WithoutCancel(ctx) // what is started lives longer than the key that started it
	switch c.Verb {
	case screen.RunStep:
		return b.playStep(long, c.Step, c.Arg)
	case screen.Rewind, screen.Fork, screen.StartFresh, screen.AcceptLoss, screen.Discard:
		return b.changePast(long, c)
	}
	names := []string{c.Query}
	if c.Query == "" {
		names = b.w.Names()
	}
	for _, n := range names {
		run := b.w.Query(n)
		if run == nil || !run.IsActive() {
			if err := b.stopLooking(n); err != nil {
				return err
			}
		}
		switch c.Verb {
		case screen.Start:
			if _, err := b.w.Start(long, n, lab.StartOptions{}); err != nil {
				return err
			}
		case screen.StopAfterBatch, screen.StopNow:
			if run != nil {
				run.RequestStop(c.Verb == screen.StopAfterBatch)
			}
		case screen.RunOneBatch:
			if run != nil && run.IsActive() {
				return errs.New("QUERY_NAME_ALREADY_ACTIVE", "name", n)
			}
			t := engine.AvailableNow()
			if _, err := b.w.Start(long, n, lab.StartOptions{Trigger: &t, MaxBatches: 1}); err != nil {
				return err
			}
		case screen.Restart:
			if run != nil {
				if err := run.StopAfterBatch(); err != nil {
					return err
				}
			}
			if _, err := b.w.Start(long, n, lab.StartOptions{}); err != nil {
				return err
			}
		default:
			return errs.New("UNSUPPORTED_FEATURE", "feature", "`"+string(c.Verb)+"` in the workbench")
		}
	}
	return nil
}

// changePast changes the checkpoint of a query and reads anew what it says of earlier batches.
func (b *localLab) changePast(ctx context.Context, c screen.Command) error {
	err := b.changeCheckpoint(ctx, c)
	if c.Verb != screen.Fork {
		b.readPast(c.Query)
	}
	return err
}

// changeCheckpoint rewinds, forks or forgets the checkpoint of a query. A running query is stopped after its batch
// first; one that was running is started again after a rewind.
func (b *localLab) changeCheckpoint(ctx context.Context, c screen.Command) error {
	dir, err := b.w.Checkpoint(c.Query)
	if err != nil {
		return err
	}
	run := b.w.Query(c.Query)
	running := run != nil && run.IsActive()
	if running && c.Verb == screen.Fork { // the copy is made beside it
		return forkTo(run.Checkpoint(), run.Snapshot().Checkpoint, c)
	}
	if running {
		if run.Snapshot().Temporary {
			return errs.New("NO_CHECKPOINT", "name", c.Query, "path", "temporary")
		}
		if err := run.StopAfterBatch(); err != nil {
			return err
		}
	}
	if err := b.stopLooking(c.Query); err != nil {
		return err
	}
	b.ReleaseState()
	switch c.Verb {
	case screen.AcceptLoss:
		return b.acceptLoss(c.Query, dir)
	case screen.Discard:
		return b.discard(c.Query, dir)
	}
	if c.Verb == screen.StartFresh {
		if dir != "" {
			if err := b.setAside(c.Query, dir); err != nil {
				return err
			}
		}
		_, err := b.w.Start(ctx, c.Query, lab.StartOptions{})
		return err
	}
	if dir == "" || !exists(dir) {
		return errs.New("NO_CHECKPOINT", "name", c.Query, "path", dir)
	}
	cp, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	if c.Verb == screen.Fork {
		err = forkTo(cp, dir, c)
	} else {
		err = cp.Rewind(c.Batch)
		if list, e := cp.Audits(); err == nil && e == nil && len(list) > 0 {
			b.keep(c.Query, list[len(list)-1].Kept)
		}
	}
	if e := cp.Close(); err == nil {
		err = e
	}
	if err == nil && running {
		_, err = b.w.Start(ctx, c.Query, lab.StartOptions{})
	}
	return err
}

// forkTo copies a checkpoint beside its folder, under the name that was asked for.
func forkTo(cp *store.Checkpoint, dir string, c screen.Command) error {
	name := strings.TrimSpace(c.Arg)
	if name == "" {
		name = fmt.Sprintf("%s-at-%d", filepath.Base(dir), c.Batch)
	}
	if !filepath.IsLocal(name) {
		return errs.New("LAB_VALUE", "key", "name", "expected", "a name of a folder beside the checkpoint")
	}
	return cp.CopyTo(filepath.Join(filepath.Dir(dir), name), c.Batch)
}

// Afresh says what stands in the way of rows at the sink of a query that begins with a new checkpoint.
func (b *localLab) Afresh(ctx context.Context, query string) (string, error) {
	return b.w.Afresh(ctx, query)
}

// stopLooking closes the checkpoint of a stopped query, if it is open for looking.
func (b *localLab) stopLooking(query string) error {
	dir, err := b.w.Checkpoint(query)
	if err != nil || dir == "" {
		return err
	}
	return b.looks.end(dir)
}

// setAside renames a checkpoint, so that it is out of the way and not lost.
func (b *localLab) setAside(query, dir string) error {
	if !exists(dir) {
		return nil
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.before-%d", dir, n)
		if !exists(to) {
			b.keep(query, to)
			return os.Rename(dir, to)
		}
	}
}

// keep notes where a checkpoint was put aside.
func (b *localLab) keep(query, dir string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[string]string{}
	}
	b.kept[query] = filepath.Base(dir)
}

// Kept is the name of the folder under which the checkpoint of a query was put aside last.
func (b *localLab) Kept(query string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[query]
}

// lesson is how far the steps of an opened lab are; it is kept for the user.
type lesson struct {
	player *lab.Player
	steps  []screen.Step
}

func (a *app) newLesson(w *lab.Workbench, known *learning) *lesson {
	if len(w.Lab.Steps) == 0 {
		return nil
	}
	l := &lesson{player: lab.NewPlayer(w)}
	l.player.Crash = func(ctx context.Context, query, point string) error { return a.crash(ctx, w.Lab.File, query, point) }
	seen := known.seen(w.Lab.Name)
	for i, s := range w.Lab.Steps {
		x := screen.Step{Title: s.Title, Why: s.Why, Predict: s.Predict, Answer: s.Answer, Do: said(s)}
		if seen[i] {
			x.State = screen.StepSeen
		}
		l.steps = append(l.steps, x)
	}
	return l
}

// said puts the actions of a step into words.
func said(s lab.Step) string {
	var out []string
	for _, a := range s.Do {
		switch a.Kind {
		case "feed":
			out = append(out, "feed "+a.Source+": "+fed(a.Rows))
		case "sql":
			out = append(out, a.SQL.Value)
		case "crash":
			out = append(out, "kill "+a.Query+" at "+a.At)
		case "advanceClock":
			out = append(out, "move the clock on by "+a.By)
		case "write":
			out = append(out, "write "+a.Path)
		case "remove":
			out = append(out, "remove "+a.Path)
		case "step":
			out = append(out, "one micro-batch of "+a.Query)
		case "deleteCheckpoint":
			out = append(out, "delete the checkpoint of "+a.Query)
		case "copyCheckpoint":
			out = append(out, "copy the checkpoint of "+a.From+" to "+a.Query)
		default:
			out = append(out, a.Kind+" "+a.Query)
		}
	}
	return strings.Join(out, " · ")
}

// fedShown is how many cells of text the rows of a feed may have; of more their number is told.
const fedShown = 100

// fed is the rows of a feed in words.
func fed(rows [][]any) string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		cells := make([]string, len(r))
		for j, c := range r {
			cells[j] = fmt.Sprint(c)
			if c == nil {
				cells[j] = "NULL"
			}
		}
		b.WriteString("(" + strings.Join(cells, ", ") + ")")
		if b.Len() > fedShown {
			return fmt.Sprintf("%d rows", len(rows))
		}
	}
	return b.String()
}

// playStep plays a step and remembers whether what should be seen was seen, and what was predicted.
func (b *localLab) playStep(ctx context.Context, i int, predicted string) error {
	b.mu.Lock()
	l := b.lesson
	b.mu.Unlock()
	if l == nil || i < 0 || i >= len(l.steps) {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "Steps of a lab that has none")
	}
	set := func(f func(*screen.Step)) {
		b.mu.Lock()
		defer b.mu.Unlock()
		steps := append([]screen.Step(nil), l.steps...)
		f(&steps[i])
		l.steps = steps
	}
	b.play.Lock() // one step at a time
	defer b.play.Unlock()
	set(func(s *screen.Step) { s.State, s.Found, s.Said = screen.StepRunning, "", predicted })
	var found []string
	err := b.stopAllLooking()
	if err == nil {
		found, err = l.player.Play(ctx, i)
	}
	set(func(s *screen.Step) {
		s.State, s.Found = screen.StepSeen, strings.Join(found, "\n")
		if err != nil {
			s.State, s.Found = screen.StepFailed, err.Error()
		}
	})
	if err != nil {
		return nil // the step shows it
	}
	name := b.w.Lab.Name
	if predicted != "" {
		p := screen.Prediction{Lab: name, Place: fmt.Sprintf("step %d", i+1), Said: predicted, Was: b.w.Lab.Steps[i].Answer, Open: true}
		if err := b.Predicted(p); err != nil {
			return err
		}
	}
	return b.learning.see(name, i)
}
