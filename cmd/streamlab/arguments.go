//go:build cgo

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// exactly is cobra.ExactArgs that names the arguments: a count alone does not say what is missing.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between takes from least to most arguments, and names them where there are fewer or more; most -1 is no end.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least && least == most:
			return fmt.Errorf("%d of %d arguments; use: %s", n, least, cmd.UseLine())
		case n < least:
			return fmt.Errorf("%d arguments, at least %d are needed; use: %s", n, least, cmd.UseLine())
		case most >= 0 && n > most && !cmd.HasParent():
			return fmt.Errorf("%q is no command, and one lab is opened at a time; use: %s", args[0], cmd.UseLine())
		case most >= 0 && n > most:
			return fmt.Errorf("%d arguments, at most %d are taken; use: %s", n, most, cmd.UseLine())
		}
		return nil
	}
}
