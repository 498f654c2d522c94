// Package catalog knows what the names of a session stand for: databases with tables and views, temporary
// views and streams, functions, variables.
//
// # Tables and what they can do
//
// A Table can be scanned. Everything else is a capability: an interface that a table has or has not, asked
// for by type assertion where a statement needs it; a statement over a table that lacks it is refused with
// UNSUPPORTED_FEATURE.TABLE_OPERATION. The statements and what they ask of a table:
//
//	SELECT … FROM t                       Table.Scan (Scan.Where is a hint to skip data)
//	… FROM t VERSION | TIMESTAMP AS OF    TimeTraveler
//	… FROM STREAM t                       Streamer
//	table_changes(t, from, to)            ChangeReader
//	INSERT INTO, INSERT OVERWRITE         Inserter
//	DELETE, UPDATE, MERGE,                Changer: Begin gives a Transaction with the data files that may
//	INSERT … REPLACE WHERE,               hold touched rows; the engine reads them, finds the rows that go
//	INSERT OVERWRITE … PARTITION          and those that come, and hands both to Commit
//	TRUNCATE TABLE                        Changer, else Inserter (an overwrite without rows)
//	ALTER TABLE                           Alterer
//	OPTIMIZE, VACUUM, RESTORE,            Maintainer
//	DESCRIBE HISTORY, DESCRIBE DETAIL
//	DESCRIBE, SHOW CREATE TABLE, …        Described
//
// A table's own refusals (Delta's conditions) come from these calls. What depends on expressions (casts to
// the table's types, defaults, generated columns, NOT NULL and CHECK) is done before rows arrive: the plan
// reads it from Described.Definition and puts it above the query.
//
// A Provider makes tables of one format: USING name. The engine keeps the providers, gives managed tables
// their folder below the warehouse and removes it when the table is dropped.
//
// # Names
//
// Names are compared without case. A name of one part is a temporary view, else a table or view of the
// current database; two parts are database.name, global_temp.name or session.name; three parts begin with
// spark_catalog (or system.session.name).
package catalog

import (
	"context"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Scan says what a reader needs of a table.
type Scan struct {
	Columns []int // positions, ascending; nil is all; hidden columns follow those of the schema
	// Where is a conjunction that is checked again above the scan: a table may skip data that cannot
	// satisfy it, and need not.
	Where []Predicate
}

// Predicate compares a column with a constant. Op: =, <, <=, >, >=, IS NULL, IS NOT NULL. Value holds one
// row of the column's type; nil for the null tests.
type Predicate struct {
	Column int // position in the table's schema
	Op     string
	Value  *columnar.Vec
}

// A Table is a relation that can be scanned now, in full. Schema has DEFAULT, comments and generation
// expressions of columns in their metadata, see Definition.
type Table interface {
	Schema() types.Schema
	Scan(ctx context.Context, s Scan) ([]columnar.Partition, error)
}

// A Snapshotter is a table that changes between two scans and can be held as it is now: streaming queries do.
type Snapshotter interface{ Snapshot() (Table, error) }

// A Hider is a table with columns behind those of its schema that are read by name only: _metadata of files.
type Hider interface{ Hidden() types.Schema }

// A Stream is a streaming relation: a source that queries start anew with their own checkpoint. ID is the
// same for every use of one definition, so a self-join shares the source as Spark does.
type Stream struct {
	ID     int64
	Name   string
	Format string
	schema types.Schema
	Hidden types.Schema // columns behind those of the schema that are read by name only: _metadata
	Open   any          // what the engine needs to open the source; opaque here
}

// NewStream makes a streaming relation of a known schema.
func NewStream(id int64, name, format string, s types.Schema, open any) *Stream {
	return &Stream{ID: id, Name: name, Format: format, schema: s, Open: open}
}

// Schema of the stream's rows.
func (s *Stream) Schema() types.Schema { return s.schema }

// Relation is what a name stands for; exactly one of Table, Stream and View is set.
type Relation struct {
	Name      string // as it was registered, without database
	Database  string // "" of temporary views and streams, "global_temp" of global ones
	Temporary bool   // a temporary view, global or not, or a stream
	Table     Table
	Stream    *Stream
	View      *View
}

// View is a named query: a plan (opaque here, a plan.Node) that was analysed already, or SQL text, which is
// analysed anew at every use. Columns are the names and types at the time of CREATE VIEW; nil of plans.
type View struct {
	SQL     string
	Plan    any
	Columns types.Schema
	// Query is the syntax of SQL if it was parsed already (a *sql.Query); nil else.
	Query      any
	Source     []string // names that the query gave its columns then
	Database   string   // the current one when the view was made
	Comment    string
	Properties map[string]string
	Params     any // bound parameters of a temporary view; opaque
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
