// Package expr holds typed expressions, their compilation to programs of vector kernels, and aggregates.
//
// An Expr says what to compute; a Program computes it over vectors. Functions are entries of one table:
// name, signature, builder, one line of documentation. The builder checks and coerces arguments with Spark's
// rules and conditions and gives an Expr; compiling an Expr picks kernels once per run by physical type.
package expr

import (
	"time"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Conf is what expressions need of the session and the micro-batch.
type Conf struct {
	Zone *time.Location // session time zone; nil is UTC
	ANSI bool           // spark.sql.ansi.enabled
	// NTZ is spark.sql.timestampType=TIMESTAMP_NTZ: the word TIMESTAMP means TIMESTAMP_NTZ.
	NTZ bool
	// TimeType is spark.sql.timeType.enabled: casts to TIME and functions of TIME are allowed.
	TimeType bool
	// CutDecimals is spark.sql.decimalOperations.allowPrecisionLoss=false: result scales are cut at 38 digits.
	CutDecimals bool
	// NaNStatistics is spark.sql.legacy.statisticalAggregate: sample statistics of one row are NaN, not NULL.
	NaNStatistics bool
	// LastMapKeyWins is spark.sql.mapKeyDedupPolicy=LAST_WIN: of equal keys of a map the last value is
	// kept instead of an error.
	LastMapKeyWins bool
	// KeepNullFields is spark.sql.jsonGenerator.ignoreNullFields=false: to_json writes fields that are null.
	KeepNullFields bool
	// TimeParser is spark.sql.legacy.timeParserPolicy.
	TimeParser TimeParser
	// CalendarIntervals is spark.sql.legacy.interval.enabled: literals and differences of times are INTERVAL.
	CalendarIntervals bool
}

// An Expr is a typed expression. It is immutable and may be shared.
type Expr interface {
	Type() types.DataType
	Nullable() bool
	Children() []Expr
	String() string // as Spark prints it in generated column names
}

// Column is a column of the input, by position.
type Column struct {
	Index int
	Field types.Field
}

// Type of the column.
func (c *Column) Type() types.DataType { return c.Field.Type }

// Nullable as the input's field says.
func (c *Column) Nullable() bool { return c.Field.Nullable }

// Children of a column: none.
func (c *Column) Children() []Expr { return nil }

func (c *Column) String() string { return c.Field.Name }

// Literal is a constant: a Const vector of one row.
type Literal struct {
	Value *columnar.Vec
	Text  string // as Spark prints it; "" to print from the value
}

// Type of the literal.
func (l *Literal) Type() types.DataType { return l.Value.Type }

// Nullable if the literal is NULL.
func (l *Literal) Nullable() bool { return l.Value.IsNull(0) }

// Children of a literal: none.
func (l *Literal) Children() []Expr { return nil }

// Alias gives an expression a name; it computes nothing. DelayMicros is as in types.Field.
type Alias struct {
	Child Expr
	Name  string
}

// Type of the child.
func (a *Alias) Type() types.DataType { return a.Child.Type() }

// Nullable as the child.
func (a *Alias) Nullable() bool { return a.Child.Nullable() }

// Children is the one child.
func (a *Alias) Children() []Expr { return []Expr{a.Child} }

func (a *Alias) String() string { return a.Child.String() + " AS " + types.QuoteIfNeeded(a.Name) }

// Task is what a micro-batch gives to programs: current_timestamp and friends are constants of the batch.
type Task struct {
	NowMicros int64 // batch time
	// WallMicros is when the batch was planned, for now(), which a stream sees move; 0 is NowMicros.
	WallMicros int64
	Seed       int64 // of rand, uuid, shuffle: from query id and batch id
	Partition  int
}

// An Aggregate folds rows into its fixed-width part of each group's record; records are what state stores.
// off is where its part begins in a record (8-aligned); a zeroed part is the empty aggregate. Values that do
// not fit a fixed width are reached through Refs in the record's arena, whose offsets within the part Refs
// lists, so that whoever saves a record can save what it refers to. An Aggregate holds no rows; it may hold
// scratch and so belongs to one worker.
type Aggregate interface {
	Width() int  // bytes in the record, a multiple of 8
	Refs() []int // offsets of Refs within the part, ascending; nil if none
	// Update folds the selected rows: the k-th selected row belongs to groups[k]. args are the argument
	// vectors in order, indexed by row; rows not selected are not looked at. FILTER is applied by the caller
	// through sel, DISTINCT by the aggregate that AggregateCall.New makes.
	Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error
	// Merge folds groups fromGroups[k] of from into groups[k] of into.
	Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error
	// Result fills out (reset by it) with one row per group.
	Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error
}

// AggregateCall is a use of an aggregate function in a query: an Expr that only an aggregation can compute.
type AggregateCall struct {
	Name     string // as in the function table
	Args     []Expr
	Distinct bool
	Filter   Expr // nil if none
	Out      types.DataType
	Null     bool
	Text     string           // as Spark prints it
	Extra    string           // what the result depends on besides name, arguments, DISTINCT and FILTER
	New      func() Aggregate // a fresh one for a worker
}

// Type of the result.
func (a *AggregateCall) Type() types.DataType { return a.Out }

// Nullable says whether the result may be null.
func (a *AggregateCall) Nullable() bool { return a.Null }

// Children are the arguments and the filter, if any.
func (a *AggregateCall) Children() []Expr {
	if a.Filter != nil {
		return append(append([]Expr{}, a.Args...), a.Filter)
	}
	return a.Args
}

func (a *AggregateCall) String() string { return a.Text }
