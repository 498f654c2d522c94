//go:build cgo

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/lab"
	"streamlab/labs"
	"streamlab/tui/screen"
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

type shippedLab struct {
	Name, About, Teaches string
	lab                  *lab.Lab
}

// shipped reads what the shipped labs say of themselves, in the order of the course: hello first, then what
// each names as next; what no lesson leads to comes last.
func shipped() ([]shippedLab, error) {
	all := map[string]*lab.Lab{}
	for _, n := range labs.Names() {
		text, err := labs.Read(n)
		if err != nil {
			return nil, err
		}
		l, err := lab.Parse(n+".yaml", n+".yaml", text)
		if err != nil {
			return nil, err
		}
		all[n] = l
	}
	var out []shippedLab
	add := func(n string) {
		if l := all[n]; l != nil {
			delete(all, n)
			out = append(out, shippedLab{n, l.About, l.Teaches, l})
		}
	}
	for n := "hello"; all[n] != nil; {
		l := all[n]
		add(n)
		n = l.Lesson.Next
	}
	for _, n := range labs.Names() {
		add(n)
	}
	return out, nil
}

// entry is a lab as the gallery shows it.
func (g *gallery) entry(l *lab.Lab, path string, own bool) screen.LabEntry {
	e := screen.LabEntry{Path: path, Title: l.Name, Teaches: l.About, About: l.Teaches, Own: own, Lesson: lessonOf(l), Uses: usesOf(l)}
	seen := g.learning.seen(l.Name)
	for i, s := range l.Steps {
		e.Steps = append(e.Steps, s.Title)
		e.Started = e.Started || seen[i]
	}
	n := 0
	for i := range l.Steps {
		if seen[i] {
			n++
		}
	}
	e.Done = n > 0 && n == len(l.Steps)
	if len(l.Steps) > 0 {
		e.Minutes = 1 + 2*len(l.Steps) // as long as reading, guessing and looking take
	}
	return e
}

func lessonOf(l *lab.Lab) screen.Lesson {
	return screen.Lesson{Area: l.Lesson.Area, Goal: l.Lesson.Goal, Trap: l.Lesson.Trap, Why: l.Lesson.Why, Next: l.Lesson.Next}
}

// usesOf says what a lab reads and writes.
func usesOf(l *lab.Lab) (out []string) {
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range l.Sources {
		f := strings.ToLower(s.Format.Value)
		switch {
		case s.Table.Value != "":
			add("a table read as a stream")
		case f == "memory":
			add("memory source, fed by the lesson")
		case f == "kafka" && broker.Asked(s.Options["kafka.bootstrap.servers"].Value):
			add("kafka source (embedded broker)")
		default:
			add(f + " source")
		}
	}
	for _, q := range l.Queries {
		switch {
		case q.Statements != nil:
			add("foreachBatch")
		case q.Command != nil:
			add("foreach with a command")
		case q.ToTable.Value != "":
			add("a table as the sink")
		default:
			add(q.SinkName() + " sink")
		}
	}
	return out
}

// copyLab writes a shipped lab into a new folder.
func copyLab(name, dir string) (string, error) {
	known := false
	for _, n := range labs.Names() {
		known = known || n == name
	}
	if !known {
		return "", errs.New("NO_SUCH_LAB", "name", name, "known", strings.Join(startingPoints(), ", "))
	}
	if exists(filepath.Join(dir, name+".yaml")) {
		return "", errs.New("FILE_EXISTS", "path", filepath.Join(dir, name+".yaml"))
	}
	return labs.Unpack(name, dir)
}

// gallery is the list of labs behind tab 4.
type gallery struct {
	*wright
	noStart bool
	*crashDesk
	*learning
}

func newGallery(a *app, noStart bool) *gallery {
	return &gallery{wright: &wright{a: a}, noStart: noStart, crashDesk: newCrashDesk(a), learning: newLearning()}
}

// Labs lists the shipped labs, then lab files of the current folder, then those that were opened elsewhere.
func (g *gallery) Labs(context.Context) ([]screen.LabEntry, error) {
	list, err := shipped()
	if err != nil {
		return nil, err
	}
	var out []screen.LabEntry
	for _, s := range list {
		out = append(out, g.entry(s.lab, s.Name, false))
	}
	own, _ := filepath.Glob("*.yaml")
	here, err := os.Getwd()
	for _, f := range g.learning.read().Opened {
		if !exists(f) || err == nil && filepath.Dir(f) == here {
			continue // gone, or listed already
		}
		if near, e := filepath.Rel(here, f); err == nil && e == nil && filepath.IsLocal(near) {
			f = near // as it was opened, most likely
		}
		own = append(own, f)
	}
	for _, f := range own {
		l, err := lab.Load(f)
		if err != nil {
			if len(lab.Problems(err)) > 0 {
				out = append(out, screen.LabEntry{Path: f, Title: f, Own: true, Problem: lab.Problems(err)[0]})
			}
			continue
		}
		if len(l.Queries) > 0 {
			out = append(out, g.entry(l, f, true))
		}
	}
	return out, nil
}

// Open opens a lab and starts its queries.
func (g *gallery) Open(ctx context.Context, path string) (screen.Workbench, error) {
	b := &localLab{wright: g.wright, consoles: map[string]*consoleText{}}
	p, err := g.wright.a.find(path)
	if err != nil {
		return nil, err
	}
	if b.conf, err = g.wright.a.settings(); err != nil {
		return nil, err
	}
	w, err := g.wright.a.openWith(ctx, p, engine.Config{Out: io.Discard, Console: func(q string) io.Writer { return b.console(q) }})
	if err != nil {
		if list := lab.Problems(err); len(list) > 0 {
			return nil, list[0]
		}
		return nil, err
	}
	g.learning.opened(w.Lab.File)
	b.log = logEvents(w)
	b.w, b.lesson, b.learning, b.crashes = w, g.wright.a.newLesson(w, g.learning), g.learning, g.crashDesk
	if !g.noStart {
		// A refused query shows its refusal on its own line; the others run.
		_ = w.StartAll(ctx, lab.StartOptions{})
		b.started = len(w.Running()) > 0
	}
	b.readPasts(context.WithoutCancel(ctx))
	b.file.begin(w.Lab.File, time.NewTicker(fileLook).C)
	return b, nil
}

// Reset forgets the progress of a lab and removes what it wrote, the copy of a shipped one as a whole.
func (g *gallery) Reset(ctx context.Context, path string) error {
	p, err := g.wright.a.find(path)
	if err != nil {
		return err
	}
	l, err := lab.Load(p)
	if err != nil {
		return err
	}
	checkpoints, err := g.wright.a.checkpointsOf(ctx, p)
	if err != nil {
		return err
	}
	return reset(l, checkpoints, g.learning)
}
