// Package catalog maps names to relations of a session: static tables, views and streams.
package catalog

import (
	"context"
	"sort"
	"strings"
	"sync"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Scan says what a reader needs of a table.
type Scan struct {
	Columns []int // positions, ascending; nil is all
}

// A Table is a relation that can be scanned now, in full.
type Table interface {
	Schema() types.Schema
	Scan(ctx context.Context, s Scan) ([]columnar.Partition, error)
}

// Tag makes a repeated write a no-op: application and version.
type Tag struct {
	App     string
	Version int64
}

// An Appender takes INSERT.
type Appender interface {
	Append(ctx context.Context, tag Tag, parts []columnar.Partition, overwrite bool) error
}

// A Stream is a streaming relation: a source that queries start anew with their own checkpoint. ID is the
// same for every use of one definition, so a self-join shares the source as Spark does.
type Stream struct {
	ID     int64
	Name   string
	Format string
	schema types.Schema
	Open   any // what the engine needs to open the source; opaque here
}

// NewStream makes a streaming relation of a known schema.
func NewStream(id int64, name, format string, s types.Schema, open any) *Stream {
	return &Stream{ID: id, Name: name, Format: format, schema: s, Open: open}
}

// Schema of the stream's rows.
func (s *Stream) Schema() types.Schema { return s.schema }

// Relation is what a name stands for; exactly one field but Name is set.
type Relation struct {
	Name   string
	Table  Table
	Stream *Stream
	View   *View
}

// View is a named query: either SQL text, or a plan (opaque here, a plan.Node) that was analysed already.
type View struct {
	SQL  string
	Plan any
}

// Catalog is the names of a session. Names are compared without case; parts of a qualified name are joined
// by dots ("default.t" and "spark_catalog.default.t" are "t"). Safe for concurrent use. A catalog may have a
// parent that is asked for what it does not hold.
type Catalog struct {
	parent *Catalog
	temp   bool // holds temporary views only: what else is registered or dropped is its parent's
	mu     sync.RWMutex
	m      map[string]Relation
}

// New makes an empty catalog; parent may be nil.
func New(parent *Catalog) *Catalog { return &Catalog{parent: parent, m: map[string]Relation{}} }

// Overlay makes a catalog for a child session: views registered in it stay in it, everything else is its
// parent's, as when Spark clones a session for foreachBatch. parent must not be nil.
func Overlay(parent *Catalog) *Catalog {
	return &Catalog{parent: parent, m: map[string]Relation{}, temp: true}
}

func key(name string) string {
	k := strings.ToLower(name)
	k = strings.TrimPrefix(k, "spark_catalog.")
	return strings.TrimPrefix(k, "default.")
}

// Lookup finds what a name stands for.
func (c *Catalog) Lookup(name string) (Relation, bool) {
	c.mu.RLock()
	r, ok := c.m[key(name)]
	c.mu.RUnlock()
	if !ok && c.parent != nil {
		return c.parent.Lookup(name)
	}
	return r, ok
}

// Register sets what a name stands for, replacing what it stood for.
func (c *Catalog) Register(name string, r Relation) {
	if c.temp && r.View == nil {
		c.parent.Register(name, r)
		return
	}
	r.Name = name
	c.mu.Lock()
	c.m[key(name)] = r
	c.mu.Unlock()
}

// Drop removes a name; false if it was not there.
func (c *Catalog) Drop(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.m[key(name)]
	delete(c.m, key(name))
	if !ok && c.temp {
		return c.parent.Drop(name)
	}
	return ok
}

// Names lists all names, sorted.
func (c *Catalog) Names() []string {
	seen := map[string]bool{}
	for k := c; k != nil; k = k.parent {
		k.mu.RLock()
		for _, r := range k.m {
			seen[r.Name] = true
		}
		k.mu.RUnlock()
	}
	out := make([]string, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Memory is a Table over rows held in memory.
type Memory struct {
	S    types.Schema
	List columnar.Batches
}

// Schema of the table's rows.
func (m *Memory) Schema() types.Schema { return m.S }

// Scan gives one partition; pruning is left to the reader of the columns.
func (m *Memory) Scan(ctx context.Context, s Scan) ([]columnar.Partition, error) {
	return []columnar.Partition{m.List}, nil
}
