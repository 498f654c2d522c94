//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run LAB [QUERY…]",
		Short: "Run the queries of a lab without the workbench",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.runLab(cmd.Context(), args[0], args[1:], o) },
	}
	c.Flags().BoolVar(&o.availableNow, "available-now", false, "process what is there, then end")
	c.Flags().BoolVar(&o.once, "once", false, "one micro-batch per query, then end")
	c.Flags().IntVar(&o.batches, "batches", 0, "end each query after so many micro-batches")
	c.Flags().DurationVar(&o.forTime, "for", 0, "end after this time")
	c.Flags().StringVar(&o.progress, "progress", "auto", "on stderr: auto, none, text or jsonl")
	c.MarkFlagsMutuallyExclusive("available-now", "once")
	c.Flags().BoolVar(&o.failFast, "fail-fast", false, "stop all queries when one fails")
	return c
}

func (a *app) runLab(ctx context.Context, path string, names []string, o runOptions) error {
	switch {
	case !slices.Contains([]string{"auto", "none", "text", "jsonl"}, o.progress):
		return errs.New("LAB_VALUE", "key", "--progress", "expected", "auto, none, text or jsonl")
	case o.batches < 0:
		return errs.New("LAB_VALUE", "key", "--batches", "expected", "a number from 0 on; 0 is no limit")
	case o.forTime < 0:
		return errs.New("LAB_VALUE", "key", "--for", "expected", "a time from 0 on; 0 is no limit")
	}
	w, err := a.open(ctx, path)
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
	if o.progress == "jsonl" || o.progress == "text" {
		w.Session().Streams().AddListener(a.progressListener(o.progress))
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
	}
	return nil
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
