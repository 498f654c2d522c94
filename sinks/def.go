package sinks

import (
	"io"
	"time"

	"streamlab/sources"
	"streamlab/sql/types"
)

// Def is what a format's constructor gets. A constructor checks options and opens nothing that costs.
type Def struct {
	Format      string
	Path        string // absolute; "" if none
	Options     sources.Options
	PartitionBy []string
	Mode        OutputMode
	QueryName   string
	QueryID     string
	Schema      types.Schema
	Keys        []int                   // columns that tell rows apart: the grouping keys of an aggregation; nil if none do
	Conf        func(key string) string // session settings, Spark's keys; "" if unset
	Zone        *time.Location
	Dir         string            // the workspace
	Out         io.Writer         // where the console sink prints
	Durable     bool              // sync files so that they survive a power cut
	Notice      func(text string) // says something to whoever watches the query; may be nil
}
