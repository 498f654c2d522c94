// Package files is the sink into folders of JSON, CSV or text files, exactly once
// by its log.
package files

import (
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
)

// New makes the sink.
func New(def sinks.Def) (sinks.Sink, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The file sink")
}

// Options describes numRows and truncate.
func Options(format string) []sources.OptionDoc { return nil }
