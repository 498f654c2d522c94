//go:build cgo

package main

import (
	"github.com/spf13/cobra"

	"streamlab/errs"
)

// Labs do not leave this program yet: who asks for it hears so by name instead of meeting an unknown command or
// flag. These commands and flags are not in the help.

// newExportCommand refuses to write a lab as a program for Spark.
func newExportCommand() *cobra.Command {
	return &cobra.Command{Use: "export", Hidden: true, DisableFlagParsing: true, Short: "A lab as a program for Spark: not in this version",
		RunE: func(*cobra.Command, []string) error {
			return notYet("A lab as a program for Spark (streamlab export)", "The keys of a lab are PySpark's methods: what it does can be written down line by line.")
		}}
}

// newShipCommand refuses the preview of that.
func newShipCommand() *cobra.Command {
	return &cobra.Command{Use: "ship", Hidden: true, DisableFlagParsing: true, Short: "A lab on a Spark server: not in this version",
		RunE: func(*cobra.Command, []string) error {
			return notYet("A lab on a Spark server (streamlab ship)", "")
		}}
}

// elsewhere refuses --remote of a command, and what it gives must be called before the command does anything.
func elsewhere(c *cobra.Command) func() error {
	remote := c.Flags().String("remote", "", "")
	_ = c.Flags().MarkHidden("remote") // it fails only for a flag that there is not
	return func() error {
		if *remote != "" {
			return notYet("Queries on a Spark Connect server (--remote)", "Leave --remote out: the queries run here.")
		}
		return nil
	}
}

func notYet(feature, hint string) error {
	e := errs.New("UNSUPPORTED_FEATURE", "feature", feature)
	if hint != "" {
		e = e.WithHint(hint)
	}
	return e
}
