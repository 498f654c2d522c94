// Command demo shows the workbench on the fake of screentest: every screen without an engine.
//
//	go run ./tui/internal/demo [-lab] [-theme NAME] [-guard]
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"streamlab/internal/safego"
	"streamlab/tui"
	"streamlab/tui/screen/screentest"
	"streamlab/tui/term"
	"streamlab/tui/term/preinit"
)

func main() {
	preinit.Restore()
	lab := flag.Bool("lab", false, "start with the lab open")
	theme := flag.String("theme", "", "colour theme")
	guard := flag.Bool("guard", false, "run under the guard")
	flag.Parse()
	if *guard && !term.Guarded() {
		os.Exit(term.Guard(os.TempDir()))
	}
	o := tui.Options{Gallery: screentest.Gallery{}, Theme: *theme}
	if *lab {
		b := screentest.New()
		o.Workbench = b
		safego.Go("demo clock", func() error {
			for now := range time.Tick(500 * time.Millisecond) {
				b.Advance(now)
			}
			return nil
		})
	}
	if err := tui.Run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(term.Code(1))
	}
	os.Exit(term.Code(0))
}
