//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/lab"
	"streamlab/labs"
	"streamlab/tui/term"
)

func newLabCheckCommand(a *app) *cobra.Command {
	var limit time.Duration
	c := &cobra.Command{
		Use:   "check LAB|FOLDER…",
		Short: "Play the steps of labs and compare what is seen with what should be",
		Long: "Plays every step of the labs, each in a copy of its folder, so that nothing is left behind. Of a folder every\n" +
			"*.yaml file with steps is played. The command fails when a step does not show what it should.",
		Args: between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []string
			for _, arg := range args {
				if st, err := os.Stat(arg); err == nil && st.IsDir() {
					list, err := filepath.Glob(filepath.Join(arg, "*.yaml"))
					if err != nil {
						return err
					}
					files = append(files, list...)
					continue
				}
				p, err := a.find(arg)
				if err != nil {
					return err
				}
				files = append(files, p)
			}
			var rows [][]string
			var bad []error
			for _, f := range files {
				begun := time.Now()
				n, err := a.checkLab(cmd.Context(), f, limit)
				state := "ok"
				switch {
				case err != nil:
					state = "failed"
					bad = append(bad, err)
				case n == 0:
					state = "no steps"
				}
				rows = append(rows, []string{strings.TrimSuffix(filepath.Base(f), ".yaml"), state, fmt.Sprint(n), fmt.Sprintf("%.1f", time.Since(begun).Seconds())})
			}
			if err := a.table("check", []string{"lab", "state", "steps", "seconds"}, rows, "steps", "seconds"); err != nil {
				return err
			}
			for _, e := range bad {
				a.report(e)
			}
			if len(bad) > 0 {
				return exitCode(1)
			}
			return nil
		},
	}
	c.Flags().DurationVar(&limit, "timeout", time.Minute, "longest time for one lab")
	return c
}

// checkLab plays the steps of a lab in a copy; n is how many showed what they should. limit 0 is none.
func (a *app) checkLab(ctx context.Context, file string, limit time.Duration) (n int, err error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	dir, err := os.MkdirTemp("", "streamlab-check-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := copyBeside(file, dir); err != nil {
		return 0, err
	}
	path := filepath.Join(dir, filepath.Base(file))
	w, err := a.openWith(ctx, path, engine.Config{Out: io.Discard})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	p := lab.NewPlayer(w)
	p.Crash = func(ctx context.Context, query, point string) error { return a.crash(ctx, path, query, point) }
	for i, s := range w.Lab.Steps {
		if _, err := p.Play(ctx, i); err != nil {
			if ctx.Err() != nil {
				err = errs.Wrap(err, "LAB_NOT_SEEN", "step", s.Title, "want", "its result within "+limit.String(), "got", "nothing yet")
			}
			return n, err
		}
		n++
	}
	return n, nil
}

// copyBeside copies a lab file and what stands beside it and is named in its text.
func copyBeside(file, dir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return errs.Wrap(err, "LAB_FILE_UNREADABLE", "path", file)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		from := filepath.Join(filepath.Dir(file), name)
		switch {
		case name == filepath.Base(file):
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		case name[0] == '.' || name == "out" || name == "chk" || !bytes.Contains(text, []byte(name)):
		default:
			err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(filepath.Dir(file), p)
				if err != nil {
					return err
				}
				if d.IsDir() {
					// A folder of data that the text does not name is not copied.
					if rel != name && strings.Count(rel, string(filepath.Separator)) == 1 && !bytes.Contains(text, []byte(filepath.ToSlash(rel))) {
						return filepath.SkipDir
					}
					return os.MkdirAll(filepath.Join(dir, rel), 0o755)
				}
				if !d.Type().IsRegular() {
					return nil
				}
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(dir, rel), data, 0o644)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// crash runs a query of a lab in a child process that is killed at a crash point.
func (a *app) crash(ctx context.Context, path, query, point string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"run", path, query, "--available-now", "--progress", "none"}
	if a.trust {
		args = append(args, "--trust")
	}
	for _, kv := range a.conf {
		args = append(args, "--conf", kv)
	}
	child := exec.CommandContext(ctx, self, args...)
	child.Env = append(term.Environ(), "STREAMLAB_UNSAFE_FAULTS=1", "STREAMLAB_FAULT="+point+"=kill")
	if addr := broker.Running(path); addr != "" {
		child.Env = append(child.Env, broker.Parent+"="+addr)
	}
	var said bytes.Buffer
	child.Stderr = &said
	err = child.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if child.ProcessState != nil {
		if ws, ok := child.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
			return nil
		}
	}
	reason := "it ended by itself: the point was not passed"
	if err != nil {
		reason = strings.TrimSpace(err.Error() + ": " + said.String())
	}
	return errs.New("LAB_NO_CRASH", "query", query, "point", point, "reason", reason)
}

// trusted tells whether a lab may run the commands it names: the flag says so, or it is a shipped lab as it
// is shipped.
func (a *app) trusted(l *lab.Lab) bool {
	if a.trust {
		return true
	}
	text, err := os.ReadFile(l.File)
	if err != nil {
		return false
	}
	shipped, err := labs.Read(strings.TrimSuffix(filepath.Base(l.File), ".yaml"))
	return err == nil && bytes.Equal(text, shipped)
}
