//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
	"streamlab/labs"
)

func newLabCommand(a *app, look *looks) *cobra.Command {
	c := &cobra.Command{Use: "lab", Short: "The shipped labs, and labs of your own to begin with"}
	c.AddCommand(&cobra.Command{Use: "ls", Short: "List the shipped labs in the order of the course", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		entries, err := shipped()
		if err != nil {
			return err
		}
		r := a.records("lab", fields("lab", "steps", "+area", "+next", "about"))
		for _, e := range entries {
			if err := r.add(e.Name, len(e.lab.Steps), e.lab.Lesson.Area, e.lab.Lesson.Next, e.About); err != nil {
				return err
			}
		}
		return r.end()
	}}, &cobra.Command{Use: "new TEMPLATE|LAB [FOLDER]", Short: "Make a lab from a template (rate, csv, file, kafka, delta), or copy a shipped one, to change it", Args: between(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if len(args) == 2 {
				dir = args[1]
			}
			path, err := newLab(args[0], dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, path)
			return nil
		}},
		&cobra.Command{Use: "start LAB", Short: "Open the workbench on a lab, at its steps if it has some", Args: exactly(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				opts, err := a.options(cmd, look)
				if err != nil {
					return err
				}
				opts.Steps = true
				return a.workbench(cmd.Context(), args, opts, look.noStart)
			}},
		newLabResetCommand(a))
	c.AddCommand(newLabCheckCommand(a))
	return c
}

func newLabResetCommand(a *app) *cobra.Command {
	var d deed
	c := &cobra.Command{
		Use:   "reset LAB",
		Short: "Forget the progress of a lab and remove what its queries wrote",
		Long: "Of a shipped lab the copy in .streamlab/labs is removed as a whole, so that it is as shipped when it is opened\n" +
			"again. Of a lab of your own the checkpoints, the outputs and the managed tables go; its file and its data stay.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.find(args[0])
			if err != nil {
				return err
			}
			l, err := lab.Load(path)
			if err != nil {
				return err
			}
			checkpoints, err := a.checkpointsOf(cmd.Context(), path)
			if err != nil {
				return err
			}
			var lines []string
			for _, p := range written(l, checkpoints) {
				lines = append(lines, "removes "+p)
			}
			if ok, err := a.agree(&d, "reset "+l.Name, lines, ""); !ok {
				return err
			}
			return reset(l, checkpoints, newLearning())
		},
	}
	d.flags(c)
	return c
}

// checkpointsOf are the folders of the lasting checkpoints of a lab's queries, by queryName.
func (a *app) checkpointsOf(ctx context.Context, path string) (map[string]string, error) {
	w, err := a.openWith(ctx, path, engine.Config{Out: io.Discard})
	if err != nil {
		return nil, err
	}
	return w.Checkpoints(), w.Close()
}

// written are the files and folders that a reset of a lab removes and that are there: the copy of a shipped lab as
// a whole, else what the lab's queries wrote inside its folder. What other labs of the folder wrote is not among
// them.
func written(l *lab.Lab, checkpoints map[string]string) (out []string) {
	if unpacked(l) {
		return []string{l.Dir}
	}
	add := func(p string) {
		if p == "" {
			return
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(l.Dir, p)
		}
		rel, err := filepath.Rel(l.Dir, p)
		if err != nil || rel == "." || !filepath.IsLocal(rel) || !exists(p) || slices.Contains(out, p) {
			return // what lies elsewhere was not made for this lab alone
		}
		for _, s := range l.Sources { // a folder that is read is data, whoever writes it
			if in := s.Path.Value; in != "" && (in == rel || strings.HasPrefix(in, rel+string(filepath.Separator))) {
				return
			}
		}
		out = append(out, p)
	}
	for _, q := range l.Queries {
		add(checkpoints[q.Name.Value])
		add(q.Path.Value)
		add(q.Options["path"].Value)
		if t := q.ToTable.Value; t != "" {
			add(filepath.Join(".streamlab", "warehouse", strings.ToLower(t)))
		}
	}
	for _, t := range l.Tables {
		if t.Path.Value == "" {
			add(filepath.Join(".streamlab", "warehouse", strings.ToLower(t.Name.Value)))
		}
	}
	return out
}

// unpacked tells whether a lab is the copy of a shipped one that find made.
func unpacked(l *lab.Lab) bool {
	dir, err := filepath.Abs(l.Dir)
	name := strings.TrimSuffix(filepath.Base(l.File), ".yaml")
	return err == nil && filepath.Base(dir) == name && slices.Contains(labs.Names(), name) &&
		strings.HasSuffix(filepath.Dir(dir), filepath.Join(".streamlab", "labs"))
}

// reset removes what written lists and forgets the steps that were seen. Errors: LAB_RUNS if a query of the lab runs.
func reset(l *lab.Lab, checkpoints map[string]string, known *learning) error {
	for query, dir := range checkpoints {
		if row := statusOf(query, dir); strings.HasPrefix(row[1], "running ") {
			return errs.New("LAB_RUNS", "lab", l.Name, "query", query, "who", row[1])
		}
	}
	var all error
	for _, p := range written(l, checkpoints) {
		all = errors.Join(all, os.RemoveAll(p))
	}
	return errors.Join(all, known.forget(l.Name))
}
