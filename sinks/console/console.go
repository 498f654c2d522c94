// Package console prints batches as Spark's console sink does. It promises nothing: a replayed batch is
// printed again.
package console

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
)

// New makes the sink.
func New(def sinks.Def) (sinks.Sink, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The console sink")
}

// Options describes numRows and truncate.
func Options() []sources.OptionDoc { return nil }
