//go:build cgo

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/labs"
	"streamlab/tui/screen"
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

type shippedLab struct{ Name, About, Teaches string }

// shipped reads what the shipped labs say of themselves. hello comes first.
func shipped() ([]shippedLab, error) {
	var out []shippedLab
	for _, n := range labs.Names() {
		text, err := labs.Read(n)
		if err != nil {
			return nil, err
		}
		l, err := lab.Parse(n+".yaml", n+".yaml", text)
		if err != nil {
			return nil, err
		}
		s := shippedLab{n, l.About, l.Teaches}
		if n == "hello" {
			out = append([]shippedLab{s}, out...)
		} else {
			out = append(out, s)
		}
	}
	return out, nil
}

// copyLab writes a shipped lab into a new folder.
func copyLab(name, dir string) (string, error) {
	known := false
	for _, n := range labs.Names() {
		known = known || n == name
	}
	if !known {
		return "", errs.New("NO_SUCH_LAB", "name", name, "known", fmt.Sprint(labs.Names()))
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

// Labs lists the shipped labs, then lab files of the current folder.
func (g *gallery) Labs(context.Context) ([]screen.LabEntry, error) {
	list, err := shipped()
	if err != nil {
		return nil, err
	}
	var out []screen.LabEntry
	for _, s := range list {
		out = append(out, screen.LabEntry{Path: s.Name, Title: s.Name, Teaches: s.About, About: s.Teaches})
	}
	own, _ := filepath.Glob("*.yaml")
	for _, f := range own {
		l, err := lab.Load(f)
		if err != nil {
			if len(lab.Problems(err)) > 0 {
				out = append(out, screen.LabEntry{Path: f, Title: f, Own: true, Problem: lab.Problems(err)[0]})
			}
			continue
		}
		if len(l.Queries) > 0 {
			out = append(out, screen.LabEntry{Path: f, Title: l.Name, Teaches: l.About, About: l.Teaches, Own: true})
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
	w, err := g.wright.a.openWith(ctx, p, engine.Config{Out: io.Discard, Console: func(q string) io.Writer { return b.console(q) }})
	if err != nil {
		if list := lab.Problems(err); len(list) > 0 {
			return nil, list[0]
		}
		return nil, err
	}
	b.w, b.lesson, b.learning, b.crashes = w, g.wright.a.newLesson(w), g.learning, g.crashDesk
	if b.conf, err = g.wright.a.settings(); err != nil {
		return nil, err
	}
	if !g.noStart {
		// A refused query shows its refusal on its own line; the others run.
		_ = w.StartAll(ctx, lab.StartOptions{})
		b.started = len(w.Running()) > 0
	}
	return b, nil
}

// Reset deletes what a shipped lab wrote: workspace, checkpoints and outputs beside its unpacked file.
func (g *gallery) Reset(_ context.Context, path string) error {
	p, err := g.wright.a.find(path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(p)
	for _, d := range []string{".streamlab", "out", "chk"} {
		if err := os.RemoveAll(filepath.Join(dir, d)); err != nil {
			return err
		}
	}
	return nil
}
