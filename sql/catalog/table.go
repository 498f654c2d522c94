package catalog

import (
	"context"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Keys of a column's metadata. Values are SQL text.
const (
	Comment    = "comment"
	Default    = "CURRENT_DEFAULT"            // DEFAULT e
	Generation = "delta.generationExpression" // GENERATED ALWAYS AS (e)
	Identity   = "delta.identity"             // ALWAYS or DEFAULT, then start and step: "ALWAYS 1 1"
)

// Definition is a table as CREATE TABLE described it, or as it is now.
type Definition struct {
	Database, Name string
	Provider       string // lower case: parquet, delta, csv, …
	Columns        types.Schema
	PartitionBy    []string // names of Columns; parquet tables have them last
	ClusterBy      []string
	Location       string // absolute folder
	External       bool   // LOCATION was given: DROP TABLE leaves the files
	Comment        string
	Properties     map[string]string // TBLPROPERTIES; may be nil
	Options        map[string]string // OPTIONS; may be nil
	Checks         []Check
}

// Check is CONSTRAINT Name CHECK (Text).
type Check struct{ Name, Text string }

// A Described table can tell its definition. Tables without it are bare rows.
type Described interface{ Definition() Definition }

// DefinitionOf is a table's definition, zero but for the columns if it has none.
func DefinitionOf(t Table) Definition {
	if d, ok := t.(Described); ok {
		return d.Definition()
	}
	return Definition{Columns: t.Schema()}
}

// Creation is CREATE TABLE.
type Creation struct {
	Definition
	// Replace puts the new table over the one that is there, in one transaction where the format can.
	Replace bool
	Old     Table // what is replaced; nil if there is none
	// Rows are those of AS query in the order of Columns; nil without AS. Reading them runs the query.
	Rows []columnar.Partition
	// Clone is what the new table is a shallow clone of: it begins with the other's files; nil for none.
	Clone *Cloned
}

// Cloned is the table that another is cloned from, at the version wanted.
type Cloned struct {
	Table Table
	Name  string // for the history: catalog.schema.table or delta.`path`
}

// An Answer is a table just made by a statement that gives rows: the table to keep, and the rows.
type Answer interface {
	Made() (Table, types.Schema, [][]any)
}

// A Provider makes the tables of one format.
type Provider interface {
	// Name is the word behind USING, lower case.
	Name() string
	// Create makes a table at c.Location, which Open can open later. It fails with the format's own
	// conditions if the definition cannot be.
	Create(ctx context.Context, c Creation) (Table, error)
	// Open opens the table that is at d.Location; of d only names, location and options count where the
	// format keeps the rest itself.
	Open(ctx context.Context, d Definition) (Table, error)
}

// Tag makes a repeated write a no-op: application and version. The zero value is none.
type Tag struct {
	App     string
	Version int64
}

// Insertion is INSERT: rows in the order of the table's columns, cast and checked.
type Insertion struct {
	Tag       Tag
	Rows      []columnar.Partition
	Overwrite bool // what was there goes
	Options   map[string]string
}

// An Inserter takes INSERT.
type Inserter interface {
	Insert(ctx context.Context, in Insertion) error
}

// Intent says what a transaction is for.
type Intent struct {
	Tag       Tag
	Operation string      // DELETE, UPDATE, MERGE, WRITE (INSERT … REPLACE WHERE and PARTITION), TRUNCATE
	Where     []Predicate // rows that may be touched satisfy all of these; nil: any row
	Predicate string      // the condition as text, for the table's history; "" if none
	// Parameters are further texts for the history: of MERGE the clauses.
	Parameters map[string]string
}

// A Changer takes statements that remove or change rows.
type Changer interface {
	// Begin starts a transaction on the newest version. A table that does not do the operation fails with
	// UNSUPPORTED_FEATURE.TABLE_OPERATION or its own condition.
	Begin(ctx context.Context, i Intent) (Transaction, error)
}

// A Transaction changes rows of a table at once or not at all.
type Transaction interface {
	// Files are the data files of the version read that may hold rows of Intent.Where. Reading one gives
	// its live rows under the table's schema, every time in the same order.
	Files() []columnar.Partition
	// Feed says whether Outcome.Changes is wanted.
	Feed() bool
	// Commit publishes the outcome. An outcome without deletions and additions commits nothing.
	Commit(ctx context.Context, o Outcome) error
	// Abort ends the transaction without a trace. It may follow Commit, then it does nothing.
	Abort()
}

// Outcome is what a transaction does to the rows. A changed row is one deleted and one added.
type Outcome struct {
	Deleted []Deletion           // at most one a file
	Added   []columnar.Partition // new rows in the order of the table's columns
	Changes []columnar.Partition // the table's columns and _change_type STRING, if Feed asked for it
	Metrics map[string]int64     // numTargetRowsInserted and so on, as the table's history names them
}

// Deletion says which rows of a file go.
type Deletion struct {
	File int      // position in Transaction.Files
	All  bool     // every row
	Rows []uint32 // else these, ascending: the nth row that reading the file gives is n, from 0
}

// Alteration is ALTER TABLE. Action says which fields count, and is as in sql.Alter: ADD COLUMNS, REPLACE
// COLUMNS (Columns), DROP COLUMNS (Targets), RENAME COLUMN (Targets[0], To), ALTER COLUMN (Change and
// Columns[0]), SET TBLPROPERTIES (Properties), UNSET TBLPROPERTIES (Keys), ADD CONSTRAINT (Check; the engine
// has verified the rows), DROP CONSTRAINT (Check.Name), CLUSTER BY (Targets), DROP FEATURE (To),
// SET LOCATION (To), COMMENT (To), ADD PARTITION, DROP PARTITION (Partition).
type Alteration struct {
	Action     string
	Change     string // TYPE, COMMENT, SET NOT NULL, DROP NOT NULL, SET DEFAULT, DROP DEFAULT, POSITION
	Columns    []ColumnChange
	Targets    [][]string
	To         string
	Properties map[string]string
	Keys       []string
	Check      Check
	Partition  map[string]string // column → value as text
	IfExists   bool              // also IF NOT EXISTS
}

// ColumnChange is a column that ALTER TABLE adds or changes. Path has several parts for a field of a struct.
type ColumnChange struct {
	Path  []string
	Field types.Field
	First bool
	After string // "" if not given
}

// An Alterer takes ALTER TABLE.
type Alterer interface {
	Alter(ctx context.Context, a Alteration) error
}

// Maintenance is a command about a table's files and versions.
type Maintenance struct {
	Operation   string      // OPTIMIZE, VACUUM, RESTORE, HISTORY, DETAIL
	Where       []Predicate // of OPTIMIZE
	Predicate   string      // Where as text, for the history
	ZOrder      []string
	Full        bool
	RetainHours float64 // of VACUUM; negative: the table's own
	DryRun      bool
	Version     int64 // of RESTORE; -1 if AtMicros counts
	AtMicros    int64
	// Setting asks for a session setting; never nil.
	Setting func(key string) string
}

// A Maintainer does maintenance. The rows of the answer hold nil, bool, int64, float64, string (also for
// TIMESTAMP: as casts read it), []any and map[string]any.
type Maintainer interface {
	Maintain(ctx context.Context, m Maintenance) (types.Schema, [][]any, error)
}

// A TimeTraveler keeps old versions: VERSION AS OF, TIMESTAMP AS OF.
type TimeTraveler interface {
	// AsOfVersion gives the table as it was in a version.
	AsOfVersion(version int64) (Table, error)
	// AsOfTimestamp gives the table as it was at an instant, in microseconds since the epoch.
	AsOfTimestamp(micros int64) (Table, error)
}

// A VersionClock finds the version of a time: the first at or after it, or, for an end, the last not after it.
type VersionClock interface {
	VersionFor(micros int64, end bool) (int64, error)
}

// An Evolver can take rows with further columns: Evolved is the table with them, and a transaction that it
// begins adds them.
type Evolver interface {
	Evolved(columns types.Schema) Table
}

// A Fresh table changes under its name: Resolve gives it as it is now, for one statement.
type Fresh interface {
	Resolve() (Table, error)
}

// A Streamer is a table that can be read as a stream: FROM STREAM t.
type Streamer interface {
	// AsStream gives the stream of the table under reader options, which may be nil.
	AsStream(options map[string]string) (*Stream, error)
}

// A ChangeReader is a table that can tell its changes: table_changes. to < 0 is the newest version.
type ChangeReader interface {
	Changes(from, to int64) (Table, error)
}
