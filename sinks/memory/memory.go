// Package memory is the sink into a SQLite table named after the query: rows and batch id are
// written in one transaction.
package memory

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
)

// New makes the sink.
func New(def sinks.Def) (sinks.Sink, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The memory sink")
}

// Options describes numRows and truncate.
func Options() []sources.OptionDoc { return nil }
