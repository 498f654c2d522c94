//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

type runOptions struct {
	availableNow, once, failFast bool
	batches                      int
	forTime                      time.Duration
	progress                     string
	untilRows                    int64
	consoleDir                   string
}

// goal says what the run waits for, for people; "" if it has no end of its own.
func (o runOptions) goal() string {
	switch {
	case o.untilRows > 0:
		return grouped(o.untilRows) + " rows had come in"
	case o.batches > 0:
		return grouped(int64(o.batches)) + " micro-batches had run"
	case o.availableNow, o.once:
		return "everything was read"
	}
	return ""
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	var here func() error
	c := &cobra.Command{
		Use:   "run LAB [QUERY…]",
		Short: "Run the queries of a lab without the workbench",
		Args:  between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := here(); err != nil {
				return err
			}
			return a.runLab(cmd.Context(), args[0], args[1:], o)
		},
	}
	here = elsewhere(c)
	c.Flags().BoolVar(&o.availableNow, "available-now", false, "process what is there, then end")
	c.Flags().BoolVar(&o.once, "once", false, "one micro-batch per query, then end")
	c.Flags().IntVar(&o.batches, "batches", 0, "end each query after so many micro-batches")
	c.Flags().DurationVar(&o.forTime, "for", 0, "end after this time")
	c.Flags().StringVar(&o.progress, "progress", "auto", "on stderr: auto, none, text or jsonl")
	c.Flags().Int64Var(&o.untilRows, "until-rows", 0, "end each query after so many rows of input")
	c.Flags().StringVar(&o.consoleDir, "console-dir", "", "folder for a file of each console query, instead of stdout")
	c.MarkFlagsMutuallyExclusive("available-now", "once")
	c.Flags().BoolVar(&o.failFast, "fail-fast", false, "stop all queries when one fails")
	return c
}

func (a *app) runLab(ctx context.Context, path string, names []string, o runOptions) (err error) {
	switch {
	case !slices.Contains([]string{"auto", "none", "text", "jsonl"}, o.progress):
		return errs.New("LAB_VALUE", "key", "--progress", "expected", "auto, none, text or jsonl")
	case o.untilRows < 0:
		return errs.New("LAB_VALUE", "key", "--until-rows", "expected", "a number from 0 on; 0 is no limit")
	case o.batches < 0:
		return errs.New("LAB_VALUE", "key", "--batches", "expected", "a number from 0 on; 0 is no limit")
	case o.forTime < 0:
		return errs.New("LAB_VALUE", "key", "--for", "expected", "a time from 0 on; 0 is no limit")
	}
	c := engine.Config{Out: a.out}
	if o.consoleDir != "" {
		files := &consoleFiles{dir: o.consoleDir}
		defer func() { err = errors.Join(err, files.close()) }()
		c.Console = files.of
	}
	w, err := a.openWith(ctx, path, c)
	if err != nil {
		return err
	}
	log := logEvents(w)
	defer log.end() // after the workbench is closed, with what its end tells
	defer w.Close()
	start := lab.StartOptions{MaxBatches: o.batches}
	switch {
	case o.availableNow:
		t := engine.AvailableNow()
		start.Trigger = &t
	case o.once:
		t := engine.Once()
		start.Trigger = &t
	}
	if len(names) == 0 {
		for _, q := range w.Lab.Queries {
			if q.Start {
				names = append(names, q.Name.Value)
			}
		}
	}
	if len(names) == 0 {
		return a.nothingToStart(path, w.Lab)
	}
	if form := a.progressForm(o, w.Lab, names); form != "none" {
		w.Session().Streams().AddListener(a.progressListener(form))
	}
	if o.untilRows > 0 {
		w.Session().Streams().AddListener(untilRows(w.Session().Streams(), o.untilRows))
	}
	var refused []error
	var running []*engine.StreamingQuery
	for _, n := range names {
		q, err := w.Start(ctx, n, start)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		running = append(running, q)
	}
	stopCtx := ctx
	if o.forTime > 0 {
		var cancel context.CancelFunc
		stopCtx, cancel = context.WithTimeout(ctx, o.forTime)
		defer cancel()
	}
	var failures []error
	for _, q := range running {
		if err := q.AwaitTermination(stopCtx); err != nil {
			if stopCtx.Err() != nil {
				break
			}
			failures = append(failures, fmt.Errorf("query %s: %w", q.Name(), err))
			if o.failFast {
				break
			}
		}
	}
	for _, q := range running {
		q.RequestStop(true)
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, q := range running {
		if err := q.AwaitTermination(graceful); err != nil && graceful.Err() == nil && !reported(failures, err) {
			failures = append(failures, fmt.Errorf("query %s: %w", q.Name(), err))
		}
	}
	for _, e := range refused {
		a.report(e)
	}
	for _, e := range failures {
		a.report(e)
	}
	switch {
	case len(failures) > 0:
		return exitCode(exitOf(failures[0]))
	case len(refused) > 0:
		return exitCode(exitOf(refused[0]))
	case ctx.Err() != nil:
		return signalled(ctx)
	case stopCtx.Err() != nil && o.goal() != "":
		a.report(errs.New("NOT_REACHED", "time", o.forTime.String(), "goal", o.goal()))
		return exitCode(7)
	}
	return nil
}

// progressForm is what --progress comes to for a lab: auto tells a terminal of each micro-batch unless blocks of a
// console sink would stand between the lines.
func (a *app) progressForm(o runOptions, l *lab.Lab, names []string) string {
	if o.progress != "auto" {
		return o.progress
	}
	if a.verbose {
		return "text"
	}
	if _, on := a.err.(terminal); !on || a.quiet {
		return "none"
	}
	p, _ := a.out.(*pipe)
	if p == nil {
		return "none"
	}
	if _, on := p.w.(terminal); on && o.consoleDir == "" {
		for _, q := range l.Queries {
			if slices.Contains(names, q.Name.Value) && strings.EqualFold(q.Format.Value, "console") {
				return "none"
			}
		}
	}
	return "text"
}

// untilRows stops each query when it has read so many rows.
func untilRows(streams *engine.Streams, most int64) *engine.Listener {
	read := map[string]int64{} // by run; a listener is called on one goroutine
	return &engine.Listener{Progress: func(e engine.Event) {
		read[e.RunID] += e.Progress.NumInputRows
		if read[e.RunID] < most {
			return
		}
		if q := streams.Get(e.ID); q != nil {
			q.RequestStop(true)
		}
	}}
}

// consoleFiles are the files of --console-dir, one a query, made when the query prints first.
type consoleFiles struct {
	dir string

	mu   sync.Mutex
	open map[string]*os.File
	err  error
}

// of gives what a query prints to.
func (c *consoleFiles) of(query string) io.Writer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.open[query]; f != nil {
		return f
	}
	err := os.MkdirAll(c.dir, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.Create(filepath.Join(c.dir, url.PathEscape(query)+".txt"))
	}
	if err != nil {
		c.err = errors.Join(c.err, err)
		return io.Discard
	}
	if c.open == nil {
		c.open = map[string]*os.File{}
	}
	c.open[query] = f
	return f
}

func (c *consoleFiles) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	for _, f := range c.open {
		err = errors.Join(err, f.Close())
	}
	return err
}

// nothingToStart says why no query of a lab starts by itself, and how to start one.
func (a *app) nothingToStart(path string, l *lab.Lab) error {
	if len(l.Queries) == 0 {
		fmt.Fprintf(a.err, "error: %s has no query\n", path)
		return exitCode(4)
	}
	fmt.Fprintf(a.err, "error: nothing to run: every query of %s has `start: false`\n", path)
	var names []string
	for _, q := range l.Queries {
		names = append(names, q.Name.Value)
	}
	fmt.Fprintf(a.err, "  try: name the ones to run: streamlab run %s %s\n", path, strings.Join(names, " "))
	if len(l.Steps) > 0 {
		fmt.Fprintf(a.err, "  try: the lab is played in steps: streamlab lab check %s\n", path)
	}
	return exitCode(4)
}

// signalled is the exit code of a program that a signal has ended: 128 and the number of the signal that the
// cause of ctx names, SIGINT's if it names none.
func signalled(ctx context.Context) exitCode {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
		if strings.HasPrefix(context.Cause(ctx).Error(), s.String()+" ") {
			return exitCode(128 + int(s))
		}
	}
	return exitCode(128 + int(syscall.SIGINT))
}

func reported(list []error, err error) bool {
	for _, e := range list {
		if errors.Is(e, err) && errs.As(e) == errs.As(err) {
			return true
		}
	}
	return false
}

func (a *app) progressListener(form string) *engine.Listener {
	return &engine.Listener{Progress: func(e engine.Event) {
		if form == "jsonl" {
			raw, err := e.Progress.MarshalJSON()
			if err == nil {
				fmt.Fprintf(a.err, "%s\n", raw)
			}
			return
		}
		fmt.Fprintf(a.err, "%s %s: batch %d, %d rows in %d ms\n", e.Time.Format("15:04:05.000"), e.Name, e.Progress.BatchID,
			e.Progress.NumInputRows, e.Progress.BatchDuration)
	}}
}
