//go:build cgo

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/labs"
	"streamlab/store"
)

// complete gives every command below c the answers its shell asks for: what stands for LAB, QUERY and BATCH in
// its usage line or its flags.
func (a *app) complete(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		words := usageWords(c.Use)
		c.ValidArgsFunction = func(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			word := ""
			switch {
			case len(args) < len(words):
				word = words[len(args)]
			case len(words) > 0 && strings.HasSuffix(c.Use, "…") || strings.HasSuffix(c.Use, "…]"):
				word = words[len(words)-1]
			}
			switch word {
			case "LAB", "LAB|FOLDER":
				return labNames(text), cobra.ShellCompDirectiveDefault
			case "QUERY", "NAME":
				if len(args) > 0 {
					return a.queryNames(args[0]), cobra.ShellCompDirectiveNoFileComp
				}
				if c.Name() == "new" || c.Name() == "start" || c.Name() == "reset" {
					return labNames(text), cobra.ShellCompDirectiveNoFileComp
				}
			case "FOLDER", "DIR", "TABLE":
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, flag := range []string{"batch", "to"} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return a.batchNames(args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
			}) // it fails only for a flag that has one
		}
	}
	for flag, values := range map[string][]string{"progress": {"auto", "none", "text", "jsonl"}, "theme": {"auto", "terminal", "dark", "light", "ascii", "none"},
		"color": {"auto", "always", "never"}, "level": {"debug", "info", "warn", "error"}} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}

// usageWords are the arguments of a usage line: of "rewind LAB QUERY --to BATCH" LAB and QUERY.
func usageWords(use string) (words []string) {
	for _, w := range strings.Fields(use)[1:] {
		if strings.HasPrefix(w, "-") {
			break
		}
		words = append(words, strings.Trim(w, "[]…."))
	}
	return words
}

// labNames are the shipped labs and the lab files of this folder.
func labNames(text string) []string {
	out := labs.Names()
	files, _ := filepath.Glob(text + "*.yaml") // only a bad pattern fails
	return append(out, files...)
}

func (a *app) queryNames(path string) (names []string) {
	l, err := a.load(path)
	if err != nil {
		return nil
	}
	for _, q := range l.Queries {
		names = append(names, q.Name.Value)
	}
	return names
}

// batchNames are the last twenty batches of the checkpoint that a command line names, newest first.
func (a *app) batchNames(args []string) (names []string) {
	if len(args) < 2 {
		return nil
	}
	l, err := a.load(args[0])
	if err != nil {
		return nil
	}
	for _, q := range l.Queries {
		if q.Name.Value != args[1] {
			continue
		}
		dir := q.Options["checkpointLocation"].Value
		if dir == "" {
			return nil
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(l.Dir, dir)
		}
		cp, done, err := store.Look(dir, store.Options{}) // a key press changes nothing that is stored
		if err != nil {
			return nil
		}
		defer done()
		head, ok := cp.Head()
		for n := head; ok && n >= 0 && n > head-20; n-- {
			names = append(names, fmt.Sprint(n))
		}
	}
	return names
}
