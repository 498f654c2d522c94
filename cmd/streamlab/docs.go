//go:build cgo

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"streamlab/internal/config"
	"streamlab/internal/safe"
	"streamlab/tui"
)

// addReference adds the parts of the manual that are made from the commands and the key table.
func (a *app) addReference(docs *cobra.Command) {
	docs.AddCommand(&cobra.Command{Use: "keys", Short: "Every key of the workbench, yours marked", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := config.Folder()
			if err != nil {
				return err
			}
			over, _, err := boundKeys(dir)
			if err != nil {
				return err
			}
			bindings, _ := tui.Rebind(over)
			var rows [][]string
			for _, b := range bindings {
				yours := ""
				if b.User {
					yours = "yours"
				}
				id := strings.ReplaceAll(string(b.Scope), " ", "-") + "." + string(b.Action)
				rows = append(rows, []string{id, strings.Join(b.Keys, " "), string(safe.Line(b.Long)), fmt.Sprint(b.Level), yours})
			}
			return a.table("key", []string{"action", "keys", "does", "asks", "whose"}, rows, "asks")
		}},
		&cobra.Command{Use: "commands", Short: "The reference of all commands, as Markdown", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { reference(a.out, cmd.Root()); return nil }},
		&cobra.Command{Use: "man DIR", Short: "Write a manual page for each command into a folder", Args: exactly(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := os.MkdirAll(args[0], 0o755); err != nil {
					return err
				}
				root := cmd.Root()
				root.DisableAutoGenTag = true
				if err := doc.GenManTree(root, &doc.GenManHeader{Title: "STREAMLAB", Section: "1", Source: "streamlab " + version(), Manual: "streamlab"}, args[0]); err != nil {
					return err
				}
				pages, err := filepath.Glob(filepath.Join(args[0], "*.1"))
				fmt.Fprintf(a.talk(), "%d pages in %s\n", len(pages), args[0])
				return err
			}})
}

// reference writes what --help says of each command, in the order of the help, as Markdown.
func reference(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, "# Commands\n\nMade by `streamlab docs commands` from the program itself. Data goes to stdout, talk to stderr.\n\n")
	fmt.Fprint(w, "Everywhere:\n\n")
	flags(w, root.PersistentFlags())
	fmt.Fprint(w, "\n| exit code | meaning |\n|---|---|\n")
	for _, c := range exitCodes {
		fmt.Fprintf(w, "| %s | %s |\n", c[0], c[1])
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		if c.Runnable() && (!c.HasParent() || !c.HasSubCommands()) {
			fmt.Fprintf(w, "\n## %s\n\n%s.\n\n    %s\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."), c.UseLine())
			if c.Long != "" {
				fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Long))
			}
			if c.Example != "" {
				fmt.Fprintf(w, "\n```\n%s\n```\n", strings.Trim(c.Example, "\n"))
			}
			if c.LocalNonPersistentFlags().HasAvailableFlags() {
				fmt.Fprintln(w)
				flags(w, c.LocalNonPersistentFlags())
			}
		}
		for _, s := range c.Commands() {
			if s.Name() != "help" {
				walk(s)
			}
		}
	}
	walk(root)
}

func flags(w io.Writer, set *pflag.FlagSet) {
	fmt.Fprint(w, "| flag | does |\n|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if v := f.Value.Type(); v != "bool" {
			name += " " + v
		}
		does := f.Usage
		if d := f.DefValue; !slices.Contains([]string{"", "false", "[]", "0", "0s", "-1"}, d) {
			does += " (default " + d + ")"
		}
		fmt.Fprintf(w, "| `%s` | %s |\n", name, strings.ReplaceAll(does, "|", "\\|"))
	})
}

// exitCodes are those of tui.md 13.
var exitCodes = [][2]string{
	{"0", "done"},
	{"1", "a query or statement failed"},
	{"2", "usage, configuration, or no terminal"},
	{"3", "refused by validation"},
	{"4", "not found"},
	{"5", "in use: locked checkpoint, lab or sink"},
	{"6", "something could not be reached (Kafka, Spark); worth a retry"},
	{"7", "`--timeout` or `--for` passed without the goal"},
	{"8", "checkpoint damaged or incompatible"},
	{"9", "answered No, or `--yes` missing"},
	{"70, 74", "internal error or hung shutdown; disk full"},
	{"129, 130, 141, 143", "ended by SIGHUP, SIGINT, SIGPIPE, SIGTERM, also when the end was graceful"},
}
