//go:build cgo

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"streamlab/errs"
	"streamlab/sinks/memory"
)

// eventFlags are what `streamlab events` is asked for.
type eventFlags struct {
	follow bool
	level  string
	query  string
	last   int
}

// eventLevels are the levels, what matters least first.
var eventLevels = []string{"debug", "info", "warn", "error"}

func newEventsCommand(a *app) *cobra.Command {
	var f eventFlags
	c := &cobra.Command{
		Use:   "events [LAB]",
		Short: "Print what happened to the queries of a lab, or of all labs in this folder",
		Long: "Events are read from the log of the workspace, .streamlab/log/events.jsonl beside the lab file. Every process\n" +
			"that runs queries of the lab writes it, so events of another process are there too. The newest come last.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.events(cmd.Context(), args, f) },
	}
	c.Flags().BoolVar(&f.follow, "follow", false, "go on with what comes, until interrupted")
	c.Flags().StringVar(&f.level, "level", "info", "debug, info, warn or error, and what is worse")
	c.Flags().StringVar(&f.query, "query", "", "only of this query")
	c.Flags().IntVar(&f.last, "last", 0, "only the newest events; with --follow the default is 10")
	return c
}

func (a *app) events(ctx context.Context, args []string, f eventFlags) error {
	level := slices.Index(eventLevels, strings.ToLower(f.level))
	if level < 0 {
		return errs.New("LAB_VALUE", "key", "--level", "expected", "debug, info, warn or error")
	}
	dir, of := ".streamlab", ""
	if len(args) == 1 {
		l, err := a.load(args[0])
		if err != nil {
			return err
		}
		dir, of = filepath.Join(l.Dir, ".streamlab"), filepath.Base(l.File)
		if f.query != "" && !slices.Contains(a.queryNames(args[0]), f.query) {
			return errs.New("LAB_NO_QUERY", "name", f.query)
		}
	}
	wanted := func(e eventLine) bool {
		return slices.Index(eventLevels, strings.ToLower(e.Level)) >= level && (f.query == "" || e.Query == f.query)
	}
	tail := newLogTail(eventLogPath(dir), of)
	all, err := readEvents(dir, of)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(e eventLine) bool { return !wanted(e) })
	last := f.last
	if last == 0 && f.follow {
		last = 10
	}
	if last > 0 {
		all = all[max(0, len(all)-last):]
	}
	r := a.records("event", fields("time", "level", "query", "batch", "+lab", "+process", "+condition", "message"))
	add := func(e eventLine) error {
		var when, batch, query, condition any = e.Time.UTC().Format(time.RFC3339Nano), nil, nil, nil
		if a.forReading() {
			when = a.clock(e.Time)
		}
		if e.Batch != nil {
			batch = *e.Batch
		}
		if e.Query != "" {
			query = e.Query
		}
		if e.Condition != "" {
			condition = e.Condition
		}
		return r.add(when, e.Level, query, batch, e.Lab, e.Process, condition, e.Message)
	}
	for _, e := range all {
		if err := add(e); err != nil {
			return err
		}
	}
	if err := r.end(); err != nil || !f.follow {
		if err == nil && len(all) == 0 {
			fmt.Fprintf(a.talk(), "no events of this level in %s\n", eventLogPath(dir))
		}
		return err
	}
	header := a.noHeaders
	a.noHeaders = true // they stand above
	defer func() { a.noHeaders = header }()
	t := time.NewTicker(eventLogEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return signalled(ctx)
		case <-t.C:
		}
		lines, err := tail.more()
		if err != nil {
			return err
		}
		r.rows = nil
		for _, e := range lines {
			if wanted(e) {
				if err := add(e); err != nil {
					return err
				}
			}
		}
		if err := r.end(); err != nil {
			return err
		}
		if a.unread() {
			return nil
		}
	}
}

// forReading tells whether the output is for the eye.
func (a *app) forReading() bool { return a.output == "table" || a.output == "wide" }

// A logTail reads what is appended to a log, also after the log began anew.
type logTail struct {
	path, lab string
	from      int64
	file      os.FileInfo // the log that from counts in; nil: there was none
	rest      []byte      // of a line that is not whole yet
}

// newLogTail begins at the end of the log.
func newLogTail(path, lab string) *logTail {
	t := &logTail{path: path, lab: lab}
	if st, err := os.Stat(path); err == nil {
		t.file, t.from = st, st.Size()
	}
	return t
}

// more gives what came since.
func (t *logTail) more() (out []eventLine, err error) {
	st, err := os.Stat(t.path)
	if err != nil {
		return nil, nil // there is none yet, or it is being renamed
	}
	if t.file == nil || !os.SameFile(t.file, st) || st.Size() < t.from {
		t.from, t.rest = 0, nil
	}
	t.file = st
	if st.Size() == t.from {
		return nil, nil
	}
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, t.from, st.Size()-t.from))
	if err != nil {
		return nil, err
	}
	t.from += int64(len(data))
	data = append(t.rest, data...)
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		if e, ok := eventOf(data[:i], t.lab); ok {
			out = append(out, e)
		}
		data = data[i+1:]
	}
	t.rest = bytes.Clone(data)
	return out, nil
}

// storedEvents are the log's events as rows of the view events.
func storedEvents(workspace, lab string) memory.View {
	return memory.View{Name: "events", Columns: eventColumns, Rows: func(context.Context) ([][]any, error) {
		list, err := readEvents(workspace, lab)
		out := make([][]any, 0, len(list))
		for i, e := range list {
			row := []any{int64(i + 1), sortable(e.Time), e.Level, e.Query, nil, e.Message, nil}
			if e.Batch != nil {
				row[4] = *e.Batch
			}
			if e.Condition != "" {
				row[6] = e.Condition
			}
			out = append(out, row)
		}
		return out, err
	}}
}
