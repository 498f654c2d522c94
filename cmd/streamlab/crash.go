//go:build cgo

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/errs"
	"streamlab/tui/screen"
)

func newCrashCommand(a *app) *cobra.Command {
	var sink, at string
	var all, list bool
	c := &cobra.Command{
		Use:   "crash",
		Short: "Kill a query at a point of the batch protocol, restart it, and count what the sink holds",
		Long: "A child process copies numbered rows into a sink and is really killed at the point; another goes on. What is\n" +
			"printed is read from the checkpoint and the sink afterwards. Exits with 1 if a promise was broken.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.crashList()
			}
			return a.crashes(cmd.Context(), sink, at, all)
		},
	}
	c.Flags().StringVar(&sink, "sink", "foreachBatch", "file, delta, memory, kafka, foreachBatch or idempotent")
	c.Flags().StringVar(&at, "at", "sink.commit.after", "the crash point")
	c.Flags().BoolVar(&all, "all", false, "every point, with --sink of that sink only")
	c.Flags().BoolVar(&list, "list", false, "list sinks and points")
	return c
}

func (a *app) crashList() error {
	var rows [][]string
	for _, s := range crashSinks {
		rows = append(rows, []string{"sink", s.Key, s.Title + ", " + s.Promise})
	}
	for _, p := range crashPoints {
		rows = append(rows, []string{"point", p.Name, p.Where})
	}
	return a.table("crash", []string{"what", "name", "means"}, rows)
}

func (a *app) crashes(ctx context.Context, sink, at string, all bool) error {
	l := newCrashDesk(a)
	defer l.close()
	points := []string{at}
	if all {
		points = nil
		for _, p := range crashPoints {
			points = append(points, p.Name)
		}
	}
	var results []*screen.CrashResult
	broken := false
	for _, p := range points {
		r, err := l.Crash(ctx, sink, p)
		if err != nil {
			return err
		}
		if r.NotPassed && !all {
			return errs.New("LAB_NO_CRASH", "query", "copies", "point", p, "reason", "this sink does not pass it")
		}
		broken = broken || !r.Kept && !r.NotPassed
		results = append(results, r)
	}
	if err := a.printCrashes(results, all); err != nil {
		return err
	}
	if broken {
		return exitCode(1)
	}
	return nil
}

func (a *app) printCrashes(results []*screen.CrashResult, all bool) error {
	if a.output == "json" || a.output == "jsonl" {
		for _, r := range results {
			rows := []map[string]any{}
			for _, x := range r.Rows {
				rows = append(rows, map[string]any{"run": x.Run, "batch": x.Batch, "from": x.From, "to": x.To, "log": x.Log, "sinkRows": x.SinkRows, "commit": x.Commit})
			}
			m := map[string]any{"kind": "crash", "version": 1, "sink": r.Sink, "point": r.Point, "passed": !r.NotPassed}
			if !r.NotPassed {
				m["batch"], m["runs"], m["records"], m["sourceRows"], m["sinkRows"], m["duplicates"], m["lost"] =
					r.Batch, rows, r.Records, r.SourceRows, r.SinkRows, r.Duplicates, r.Lost
				m["promise"], m["kept"], m["verdict"], m["why"] = r.Promise, r.Kept, r.Verdict(), r.Why
			}
			a.json(a.out, m)
		}
		return nil
	}
	if all || a.output != "table" {
		var rows [][]string
		for _, r := range results {
			if r.NotPassed {
				rows = append(rows, []string{r.Sink, r.Point, "not passed", "", "", "", "", ""})
				continue
			}
			rows = append(rows, []string{r.Sink, r.Point, r.Verdict(), fmt.Sprint(r.SourceRows), fmt.Sprint(r.SinkRows), fmt.Sprint(r.Duplicates),
				fmt.Sprint(r.Lost), r.Promise + map[bool]string{true: ", kept", false: ", BROKEN"}[r.Kept]})
		}
		return a.table("crash", []string{"sink", "point", "verdict", "source", "sink rows", "duplicates", "lost", "promise"}, rows, "source", "sink rows", "duplicates", "lost")
	}
	r := results[0]
	var rows [][]string
	for _, x := range r.Rows {
		span := "-"
		if x.From >= 0 {
			span = fmt.Sprintf("%d → %d", x.From, x.To)
		}
		rows = append(rows, []string{fmt.Sprint(x.Run), fmt.Sprint(x.Batch), span, x.Log, fmt.Sprint(x.SinkRows), x.Commit})
	}
	if err := a.table("crash", []string{"run", "batch", "offsets", "in log", "sink rows", "state and commit"}, rows, "run", "batch", "sink rows"); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\nsource rows %d   sink rows %d   duplicates %d   lost %d\n", r.SourceRows, r.SinkRows, r.Duplicates, r.Lost)
	fmt.Fprintf(a.out, "%s promises %s: %s\n%s\n", r.Sink, r.Promise, map[bool]string{true: "kept", false: "BROKEN"}[r.Kept], r.Why)
	fmt.Fprintf(a.err, "at the crash:\n  %s\n", strings.Join(r.Records, "\n  "))
	return nil
}
