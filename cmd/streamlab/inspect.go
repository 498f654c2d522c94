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
	return &cobra.Command{
		Use:   "validate LAB…",
		Short: "Find what is wrong with a lab without starting anything",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bad := 0
			for _, path := range args {
				problems, err := a.check(cmd.Context(), path)
				if err != nil {
					return err
				}
				bad += len(problems)
				for _, p := range problems {
					a.refused(p)
				}
				refused, err := a.restarts(cmd.Context(), path, len(problems) == 0)
				if err != nil {
					return err
				}
				bad += refused
				if len(problems) == 0 && refused == 0 && a.output == "table" {
					fmt.Fprintf(a.err, "%s: no problems\n", path)
				}
			}
			if bad > 0 {
				return exitCode(3)
			}
			return nil
		},
	}
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
	text += "== promise ==\n" + promise(q.Format.Value, q.Options["checkpointLocation"].Value != "") + "\n"
	return text, nil
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
	case "json", "csv", "text":
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
