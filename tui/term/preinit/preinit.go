// Package preinit keeps the terminal quiet while the program starts. The terminal library asks the
// terminal for its background colour when its package is initialised, in every command of the binary;
// on a terminal that does not answer this takes five seconds. With TERM=dumb it does not ask.
//
// Import it for its side effect, first in main's file, and call Restore as the first thing in main. It
// imports only os, so that it is initialised before everything that could ask.
package preinit

import "os"

var (
	saved string
	had   bool
)

func init() {
	saved, had = os.LookupEnv("TERM")
	os.Setenv("TERM", "dumb")
}

// Restore puts TERM back to what the user has.
func Restore() {
	if had {
		os.Setenv("TERM", saved)
	} else {
		os.Unsetenv("TERM")
	}
}
