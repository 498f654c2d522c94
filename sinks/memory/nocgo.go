//go:build !cgo

// Package memory is the sink into SQLite, which needs a C compiler to build.
package memory

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
)

// Options is empty: there are none.
func Options() []sources.OptionDoc { return nil }

// New refuses: this program was built without a C compiler.
func New(sinks.Def) (sinks.Sink, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The memory sink in a program built without a C compiler")
}
