// Package files reads folders of JSON, CSV and text files, as a stream or as a table.
package files

import (
	"context"

	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
)

// New makes the source.
func New(def sources.Def) (sources.Source, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The file source")
}

// NewTable makes a table of all files of a path.
func NewTable(ctx context.Context, def sources.Def) (catalog.Table, error) {
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Reading files")
}

// Options describes the options of a format.
func Options(format string) []sources.OptionDoc { return nil }
