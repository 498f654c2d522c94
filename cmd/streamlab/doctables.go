//go:build cgo

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/plan"
)

func newDocsCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "docs", Short: "Print tables of the manual from the program's own"}
	page := func(use, short, kind string, columns []string, rows func() [][]string) {
		c.AddCommand(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return a.table(kind, columns, rows())
		}})
	}
	page("functions", "Every SQL function", "function", []string{"name", "signature", "does", "recorded"}, functionRows)
	page("settings", "Every session setting", "setting", []string{"key", "default", "does"}, settingRows)
	page("options", "Every option of every format", "option", []string{"format", "option", "default", "does"}, optionRows)
	page("conditions", "Every error condition", "condition", []string{"condition", "sqlState", "message", "try"}, conditionRows)
	return c
}

func functionRows() (rows [][]string) {
	for _, f := range plan.Functions() {
		rows = append(rows, []string{f.Name, f.Signature, f.Doc, pinOf(f.Name)})
	}
	return rows
}

func settingRows() (rows [][]string) {
	for _, s := range engine.Settings() {
		rows = append(rows, []string{s.Key, s.Default, s.Doc})
	}
	return rows
}

// optionRows lists options of queries, then of sources, static tables and sinks by format.
func optionRows() (rows [][]string) {
	add := func(format string, options []sources.OptionDoc) {
		for _, o := range options {
			rows = append(rows, []string{format, o.Name, o.Default, o.Doc})
		}
	}
	add("query", engine.WriterOptions())
	f := engine.AllFormats()
	for _, x := range f.Sources {
		add("source "+x.Name, x.Options)
	}
	for _, x := range f.Tables {
		add("table "+x.Name, x.Options)
	}
	for _, x := range f.Sinks {
		add("sink "+x.Name, x.Options)
	}
	return rows
}

func conditionRows() (rows [][]string) {
	for _, c := range errs.Conditions() {
		rows = append(rows, []string{c.Name, c.SQLState, strings.ReplaceAll(c.Message, "\n", " "), strings.ReplaceAll(c.Hint, "\n", " ")})
	}
	return rows
}
