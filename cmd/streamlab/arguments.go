//go:build cgo

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// exactly is cobra.ExactArgs that names the arguments: a count alone does not say what is missing.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%d of %d arguments; use: %s", len(args), n, cmd.UseLine())
	}
}
