//go:build cgo

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/sinks/files"
)

func newFilesCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "files", Short: "Look after output folders of file sinks"}
	c.AddCommand(newOrphansCommand(a))
	return c
}

func newOrphansCommand(a *app) *cobra.Command {
	var remove, dry, yes bool
	c := &cobra.Command{
		Use:   "orphans FOLDER",
		Short: "List or remove files that no entry of the sink's log names",
		Long: "Files of a file sink that its log, the folder _spark_metadata, does not name: what a crash before a commit has\n" +
			"left, and what the option retention has let drop out of the log. Readers that use the log do not see them. Files\n" +
			"that are not the sink's by their name, links and what they lead to are left alone.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := files.Orphans(args[0])
			if err != nil {
				return err
			}
			root, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			var rows [][]string
			total := int64(0)
			for _, o := range list {
				name, err := filepath.Rel(root, o.Path)
				if err != nil {
					return err
				}
				rows = append(rows, []string{name, strconv.FormatInt(o.Size, 10), o.Why})
				total += o.Size
			}
			if err := a.table("orphan", []string{"file", "bytes", "why"}, rows, "bytes"); err != nil {
				return err
			}
			switch {
			case len(list) == 0:
				fmt.Fprintln(a.talk(), "every file is in the log")
				return nil
			case !remove:
				return nil
			case dry:
				fmt.Fprintf(a.talk(), "%d files, %d bytes would be removed\n", len(list), total)
				return nil
			}
			if !yes && !a.agreed(fmt.Sprintf("Remove %d files, %d bytes?", len(list), total)) {
				return exitCode(9)
			}
			gone, err := files.RemoveOrphans(root)
			fmt.Fprintf(a.talk(), "%d files removed\n", len(gone))
			return err
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove them")
	c.Flags().BoolVar(&dry, "dry-run", false, "with --remove: only say what would be removed")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// agreed asks on a terminal; without one nothing is done that was not asked for with --yes.
func (a *app) agreed(question string) bool {
	f, ok := a.in.(*os.File)
	if !ok || !isTerminal(f) {
		fmt.Fprintln(a.err, question+" There is no terminal to answer on: --yes does it.")
		return false
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && err != io.EOF {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
