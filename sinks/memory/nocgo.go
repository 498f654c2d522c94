//go:build !cgo

// Package memory is the sink into SQLite, which needs a C compiler to build.
package memory

import (
	"context"

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

// DB is the door to a database that cannot be opened without a C compiler.
type DB struct{}

// Door gives it.
func Door(string) *DB { return &DB{} }

// Owns is false: there is no table.
func (*DB) Owns(context.Context, string, string) bool { return false }

// LastBatch is -1: there is no table.
func (*DB) LastBatch(context.Context, string, string) int64 { return -1 }
