//go:build cgo

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/lab"
)

func newValidateCommand(a *app) *cobra.Command {
	var target string
	c := &cobra.Command{
		Use:   "validate LAB…",
		Short: "Find what is wrong with a lab without starting anything",
		Long: "Every problem is told with file, line, column, condition and the ways out that were tried. Queries that would go\n" +
			"on from a checkpoint are compared with it. With -o json there is an object for each lab, its problems in a list.",
		Example: "  streamlab validate shop.yaml\n" +
			"  streamlab validate shop.yaml -o json | jq -r '.problems[] | [.line, .code] | @tsv'",
		Args: between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if target != "" {
				return notYet("What of a lab can be said to Spark (validate --target)", "")
			}
			return a.validate(cmd.Context(), args)
		},
	}
	c.Flags().StringVar(&target, "target", "", "")
	_ = c.Flags().MarkHidden("target")
	return c
}

// validate prints what is wrong with labs: as data for machines, as talk for the eye.
func (a *app) validate(ctx context.Context, paths []string) error {
	bad := 0
	r := a.records("problem", fields("file", "line", "column", "query", "code", "message"))
	for i, path := range paths {
		problems, err := a.check(ctx, path)
		if err != nil {
			return err
		}
		refused, notes, err := a.restarts(ctx, path, len(problems) == 0)
		if err != nil {
			return err
		}
		for _, e := range refused {
			problems = append(problems, lab.Problem{Error: e})
		}
		bad += len(problems)
		switch {
		case a.forReading():
			for _, p := range problems {
				a.refused(p)
			}
			for _, n := range notes {
				fmt.Fprintln(a.talk(), n.words())
			}
			if len(problems) == 0 {
				fmt.Fprintf(a.talk(), "%s: no problems\n", path)
			}
			continue
		case a.output == "json" || a.output == "jsonl" || a.output == "yaml":
			list, told := []any{}, []any{}
			for _, p := range problems {
				list = append(list, refusedJSON(p))
			}
			for _, n := range notes {
				told = append(told, n.object())
			}
			if a.output == "yaml" && i > 0 {
				fmt.Fprintln(a.out, "---")
			}
			one := &records{a: a, kind: "validation", cols: fields("file", "problems", "restarts")}
			if err := one.add(path, list, told); err != nil {
				return err
			}
			continue
		}
		for _, p := range problems {
			var line, column, query any
			if !p.Pos.IsZero() {
				line, column = p.Pos.Line, p.Pos.Col
			}
			if p.Query != "" {
				query = p.Query
			}
			if err := r.add(path, line, column, query, p.Condition, p.Message()); err != nil {
				return err
			}
		}
	}
	if a.output == "csv" || a.output == "name" {
		if err := r.end(); err != nil {
			return err
		}
	}
	if bad > 0 {
		return exitCode(3)
	}
	return nil
}

// check reads a lab and finds what is wrong with it, with the ways out.
func (a *app) check(ctx context.Context, path string) ([]lab.Problem, error) {
	found, err := a.find(path)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(found)
	if err != nil {
		return nil, errs.Wrap(err, "LAB_FILE_UNREADABLE", "path", path)
	}
	conf, err := a.settings()
	if err != nil {
		return nil, err
	}
	return lab.CheckText(ctx, found, text, engine.Config{Conf: conf}).Problems, nil
}

func newExplainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain LAB QUERY",
		Short: "Show the plan of a query and what its sink promises",
		Args:  exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer w.Close()
			text, err := explain(cmd.Context(), w, args[1])
			if err != nil {
				return err
			}
			if a.output == "table" || a.output == "wide" {
				fmt.Fprint(a.out, text)
				return nil
			}
			var rows [][]string
			for _, part := range strings.Split("\n"+text, "\n== ")[1:] {
				title, body, _ := strings.Cut(part, " ==\n")
				rows = append(rows, []string{title, strings.TrimRight(body, "\n")})
			}
			return a.table("explain", []string{"part", "text"}, rows)
		},
	}
}

func explain(ctx context.Context, w *lab.Workbench, name string) (string, error) {
	q, err := w.Find(name)
	if err != nil {
		return "", err
	}
	df, err := w.Session().SQL(ctx, q.SQL.Value)
	if err != nil {
		return "", err
	}
	text := "== plan ==\n" + df.Explain() + "\n== schema ==\n" + df.Schema().DDL() + "\n"
	text += "== promise ==\n" + promise(q.SinkName(), q.Options["checkpointLocation"].Value != "") + "\n"
	dw, err := w.Writer(ctx, name)
	if err != nil {
		return text, nil // the query is refused as a whole, which validate says
	}
	text += "== output modes ==\n"
	mode := strings.ToLower(first(q.OutputMode.Value, "append"))
	for _, m := range dw.Modes() {
		word := "possible"
		if m.Mode == mode {
			word = "asked for"
		}
		switch {
		case m.Shape != nil:
			word = "refused: " + lineOf(m.Shape)
		case m.Sink != nil:
			word = "refused by the sink: " + lineOf(m.Sink)
		}
		text += fmt.Sprintf("%-8s  %s\n", m.Mode, word)
	}
	return text, nil
}

// lineOf is an error in a line.
func lineOf(err error) string {
	if e := errs.As(err); e != nil {
		return e.Condition + ": " + strings.ReplaceAll(e.Message(), "\n", " ")
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// promise is what a sink keeps under a crash (reliability.md 3), in a sentence.
func promise(format string, lasting bool) string {
	switch format {
	case "console":
		return "none: the console shows a batch again when it is run again"
	case "memory":
		if lasting {
			return "exactly-once while the workspace database exists"
		}
		return "none: the checkpoint is temporary"
	case "noop":
		return "none: rows are thrown away"
	case "delta":
		return "exactly-once: the table's log has the number of the batch, so one that comes again is known"
	case "kafka":
		return "at-least-once: after a crash records of a batch may be written again"
	case "json", "csv", "text", "parquet":
		return "exactly-once: files of a batch count only when its log entry names them"
	}
	return "at-least-once"
}

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine and folder offer",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := [][]string{{"version", version()}, {"go", runtime.Version()}, {"cpus", fmt.Sprint(runtime.GOMAXPROCS(0))}}
			rows = append(rows, surroundings()...)
			rows = append(rows, settingsProblems()...)
			return a.table("doctor", []string{"what", "value"}, rows)
		},
	}
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {
		fmt.Fprintln(a.out, version())
	}}
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "0.1.0-" + s.Value[:12]
			}
		}
	}
	return "0.1.0"
}
