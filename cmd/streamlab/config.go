//go:build cgo

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/errs"
	"streamlab/internal/config"
	"streamlab/lab"
	"streamlab/tui"
	"streamlab/tui/term"
)

func newConfigCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Read and change your own settings"}
	names := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, s := range config.Known() {
			out = append(out, s.Key+"\t"+s.Doc)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	get := &cobra.Command{
		Use: "get [KEY]", Short: "Print one setting, or all", Args: between(0, 1), ValidArgsFunction: names,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := config.Folder()
			if err != nil {
				return err
			}
			v, err := config.Values(dir)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if _, ok := config.Find(args[0]); !ok {
					return errs.New("CONFIG_KEY", "key", args[0], "names", "those of streamlab config get")
				}
				fmt.Fprintln(a.out, v[args[0]])
				return nil
			}
			var rows [][]string
			for _, s := range config.Known() {
				rows = append(rows, []string{s.Key, v[s.Key], s.Default, s.Doc})
			}
			return a.table("setting", []string{"key", "value", "default", "does"}, rows)
		},
	}
	set := &cobra.Command{
		Use: "set KEY VALUE", Short: "Change one setting", Args: exactly(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				s, _ := config.Find(args[0])
				return s.Values, cobra.ShellCompDirectiveNoFileComp
			}
			return names(cmd, args, text)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := config.Folder()
			if err != nil {
				return err
			}
			return config.Set(dir, args[0], args[1])
		},
	}
	path := &cobra.Command{
		Use: "path", Short: "Print the folder of config.yaml and keys.yaml", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := config.Folder()
			if err == nil {
				fmt.Fprintln(a.out, dir)
			}
			return err
		},
	}
	validate := &cobra.Command{
		Use: "validate", Short: "Check config.yaml and keys.yaml", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := config.Folder()
			if err != nil {
				return err
			}
			_, err = config.Values(dir)
			_, problems, kerr := boundKeys(dir)
			err = errors.Join(err, kerr)
			for _, p := range problems {
				err = errors.Join(err, p)
			}
			return err
		},
	}
	c.AddCommand(get, set, path, validate)
	return c
}

// boundKeys are the user's key bindings, and what of them does not count.
func boundKeys(dir string) ([]tui.Rebinding, []*errs.Error, error) {
	entries, err := config.Bindings(dir)
	var over []tui.Rebinding
	for _, e := range entries {
		over = append(over, tui.Rebinding{Action: e.Action, Keys: e.Keys,
			Pos: errs.Pos{File: filepath.Join(dir, "keys.yaml"), Line: e.Line, Col: 1, Length: 1}})
	}
	_, problems := tui.Rebind(over)
	return over, problems, err
}

// looks are the flags of the workbench that settings of the user stand behind.
type looks struct {
	theme, color       string
	ascii, plain, calm bool
	noStart            bool
}

func (f *looks) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.theme, "theme", "", "auto, dark, light, terminal, ascii or none")
	c.Flags().StringVar(&f.color, "color", "", "auto, always or never")
	c.Flags().BoolVar(&f.ascii, "ascii", false, "plain ASCII instead of blocks, arrows and lines")
	c.Flags().BoolVar(&f.plain, "plain", false, "no lines, no charts, one pane: for screen readers")
	c.Flags().BoolVar(&f.calm, "reduced-motion", false, "nothing flashes or spins")
	c.Flags().BoolVar(&f.noStart, "no-start", false, "open the lab without starting its queries")
}

// options are the workbench's options: flags first, then the user's settings.
func (a *app) options(c *cobra.Command, f *looks) (tui.Options, error) {
	dir, err := config.Folder()
	if err != nil {
		return tui.Options{}, err
	}
	v, err := config.Values(dir)
	if err != nil {
		return tui.Options{}, err
	}
	text := func(flag, value, key string) (string, error) {
		if value == "" && !c.Flags().Changed(flag) {
			return v[key], nil
		}
		s, _ := config.Find(key)
		for _, w := range s.Values {
			if w == value {
				return value, nil
			}
		}
		return "", errs.New("CONFIG_VALUE", "key", "--"+flag, "value", value, "values", strings.Join(s.Values, ", "))
	}
	on := func(flag bool, key string) bool { return flag || v[key] == "true" }
	theme, err := text("theme", f.theme, "theme")
	if err != nil {
		return tui.Options{}, err
	}
	color, err := text("color", f.color, "color")
	if err != nil {
		return tui.Options{}, err
	}
	keys, _, err := boundKeys(dir) // the workbench says itself which do not count
	if err != nil {
		return tui.Options{}, err
	}
	return tui.Options{
		Look:  term.Look{Theme: theme, Color: color, ASCII: on(f.ascii, "ascii") || v["ambiguous"] == "wide"},
		Plain: on(f.plain, "plain"), Calm: on(f.calm, "reducedMotion"), ReadOnly: on(a.readOnly, "readOnly"),
		Mouse: v["mouse"] == "on", UTC: a.time == "utc" || a.time == "" && v["time"] == "utc", Copy: v["clipboard"], Keys: keys, Version: version(),
	}, nil
}

// settingsProblems are the lines of the doctor about the user's own settings.
func settingsProblems() [][]string {
	dir, err := config.Folder()
	if err != nil {
		return [][]string{{"settings", err.Error()}}
	}
	rows := [][]string{{"settings", dir}}
	_, err = config.Values(dir)
	_, problems, kerr := boundKeys(dir)
	for _, e := range lab.Problems(errors.Join(err, kerr)) {
		rows = append(rows, []string{"setting", e.Error()})
	}
	for _, e := range problems {
		rows = append(rows, []string{"key binding", e.Error()})
	}
	if len(problems) == 0 && kerr == nil {
		rows = append(rows, []string{"key bindings", "no conflicts"})
	}
	return rows
}
