//go:build cgo

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"streamlab/errs"
)

// deed is a command that changes stored data: what it asks, and what it does.
type deed struct {
	dry bool
}

// flags gives a command --dry-run; --yes is everywhere.
func (d *deed) flags(c *cobra.Command) {
	c.Flags().BoolVar(&d.dry, "dry-run", false, "say what would be done, and do nothing")
}

// agree asks before something that is hard to take back: lines say what will happen, and name, if there is
// one, must be typed instead of y. Without a terminal --yes must have been given. go is false, without an
// error, for a dry run, of which lines were printed.
func (a *app) agree(d *deed, title string, lines []string, name string) (ok bool, err error) {
	if d.dry {
		fmt.Fprintf(a.out, "would %s\n", title)
		for _, l := range lines {
			fmt.Fprintf(a.out, "  %s\n", l)
		}
		return false, nil
	}
	if a.readOnly {
		return false, errs.New("READ_ONLY", "action", title)
	}
	if a.yes {
		return true, nil
	}
	if !a.asks() {
		return false, errs.New("NOT_CONFIRMED", "action", title)
	}
	fmt.Fprintf(a.err, "%s?\n", title)
	for _, l := range lines {
		fmt.Fprintf(a.err, "  %s\n", l)
	}
	if name != "" {
		fmt.Fprintf(a.err, "Type %s to go on: ", name)
	} else {
		fmt.Fprint(a.err, "y or n, default n: ")
	}
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // its end is a No
	answer = strings.TrimSpace(answer)
	if name != "" && answer == name || name == "" && (answer == "y" || answer == "Y") {
		return true, nil
	}
	fmt.Fprintln(a.err, "Nothing was changed.")
	return false, exitCode(9)
}

// asks says whether there is somebody to ask.
func (a *app) asks() bool {
	if a.somebody {
		return true
	}
	f, ok := a.in.(*os.File)
	return ok && isTerminal(f)
}
