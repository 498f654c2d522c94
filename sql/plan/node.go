package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// A Node is a logical operator. Nodes are immutable once analysed and may be shared; a node that occurs
// twice in a tree is executed twice unless the executor knows better. Schema is computed when the node is
// made. Expressions of a node are bound to its child's schema by position; those of a Join to the left
// columns followed by the right columns.
type Node interface {
	Schema() types.Schema
	Children() []Node
	Streaming() bool // a streaming source is below
}

// Scan reads a table or a stream; exactly one of Table and Stream is set. Schema is of the columns read, in
// the order of Columns. Event times are not set by scans, only by Watermark.
type Scan struct {
	Name    string // as in the catalog; "" for an anonymous source
	Table   catalog.Table
	Stream  *catalog.Stream
	Columns []int // positions in the relation's full schema, ascending; nil is all
	// Filters are conditions over the scan's own output that are also above it: a hint to skip data.
	Filters []expr.Expr
	Options map[string]string // of WITH (…); nil mostly
	Out     types.Schema
}

// OneRow yields one row without columns: SELECT without FROM.
type OneRow struct{}

// Values yields constant rows, in order.
type Values struct {
	Rows []arrow.RecordBatch
	Out  types.Schema
}

// Range yields id BIGINT from Start to End exclusive by Step, which is not 0.
type Range struct {
	Start, End, Step int64
	Parts            int // 0: as the executor likes
	Out              types.Schema
}

// Project computes Exprs, one a column of Out, over each row. Names, nullability and event times are in Out.
type Project struct {
	Child Node
	Exprs []expr.Expr // no *expr.AggregateCall, *WindowCall, *expr.Alias at the top
	Out   types.Schema

	// With is set where a query over a stream has names by WITH, and, with Named, where such a name is read.
	With  *WithQuery
	Named bool
}

// WithQuery is a query with names by WITH. Spark keeps the queries of the names beside the one that reads them
// until it optimises, so its checks of streams do not find them below.
type WithQuery struct{ used bool }

// Filter keeps the rows for which Cond is true. Schema is the child's.
type Filter struct {
	Child Node
	Cond  expr.Expr
}

// Aggregate groups by Keys and computes Calls. Output: the keys in order, then the calls in order. Without
// keys it yields exactly one row, also over no input; with keys alone it is DISTINCT. The key that is an
// event time has DelayMicros in Out (of a window struct the event time is its end). Calls carry Distinct and
// Filter; arguments are over the child. Grouping sets have the grouping id as a last key: it keeps a
// subtotal apart from a group whose key is null.
type Aggregate struct {
	Child Node
	Keys  []expr.Expr
	Calls []*expr.AggregateCall
	// Session is the position among Keys of the session window that rows begin with (a column that
	// SessionWindow made) and that is merged per rest of the keys; -1 if there is none.
	Session int
	Out     types.Schema
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The join kinds. Existence keeps the left rows and appends a BOOLEAN that says whether a right row matches.
const (
	Inner JoinKind = iota
	LeftOuter
	RightOuter
	FullOuter
	LeftSemi
	LeftAnti
	Existence
)

// Join combines rows of Left and Right where LeftKeys equal RightKeys pairwise and Residual holds. LeftKeys
// are bound to Left, RightKeys to Right, Residual to the columns of both (left first). Types of a
// pair of keys are equal. Null keys match nothing unless NullSafe says so for their position. Without keys it
// is a product (nested loops). Output: left columns then right columns (those of the null-extended side
// nullable); LeftSemi, LeftAnti: left columns; Existence: left columns and "exists".
type Join struct {
	Kind        JoinKind
	Left, Right Node
	LeftKeys    []expr.Expr
	RightKeys   []expr.Expr
	NullSafe    []bool    // parallel to the keys; nil: none is (<=>)
	Residual    expr.Expr // nil if none
	// NullAware makes a LeftAnti of one key behave as NOT IN: if the right side has a null key nothing
	// is kept; a left row with a null key is kept only if the right side is empty.
	NullAware bool
	Out       types.Schema
	// subquery joins come from IN and EXISTS; Spark infers no conditions from them.
	subquery bool
}

// Dedup keeps the first row of each value of Cols, positions in the child. Schema is the child's.
// WithinWatermark forgets a value when the watermark passes its event time plus the delay.
type Dedup struct {
	Child           Node
	Cols            []int
	WithinWatermark bool
}

// Ordering is a sort key: Child, Desc, NullsFirst.
type Ordering = expr.Ordering

// Window computes window functions over static rows. Output: the child's columns, then one per Calls. Rows
// may come out in any order. All Calls share partition and order.
type Window struct {
	Child     Node
	Partition []expr.Expr
	Order     []Ordering
	Calls     []*WindowCall
	Out       types.Schema
}

// BoundKind is the kind of a frame's bound.
type BoundKind uint8

// The bounds, in order.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Bound is an end of a frame: Offset (constant; nil unless Preceding or Following) rows, or in RANGE frames
// a value of a type that can be added to the order key.
type Bound struct {
	Kind   BoundKind
	Offset expr.Expr
	text   string // as Spark prints the bound; "" is made from the offset
}

// Frame is the rows that a window function sees; Rows false is RANGE.
type Frame struct {
	Rows     bool
	From, To Bound
}

// WindowCall is a use of a window function. Name is row_number, rank, dense_rank, percent_rank, cume_dist,
// ntile, lag, lead, nth_value; for aggregates Aggregate is set and Name is its name. Args: ntile(n);
// lag/lead(x, offset, default) always three; nth_value(x, n). As an expression it stands for its result and
// occurs only during analysis.
type WindowCall struct {
	Name        string
	Args        []expr.Expr
	Aggregate   *expr.AggregateCall
	IgnoreNulls bool
	Frame       Frame
	Partition   []expr.Expr
	Order       []Ordering
	Out         types.DataType
	Null        bool
	Text        string // as Spark prints it, with OVER
	over        string // what stands behind OVER, with qualified columns
}

// TimeWindow appends the struct column Name<start, end> of the time windows that a row is in: one row for
// each, newest window first. Rows whose Time is null are dropped. Windows begin at Start + n*Slide and are
// Size long, in microseconds since the epoch (local for TIMESTAMP_NTZ). If Size is no multiple of Slide only
// windows with start <= time < end count.
type TimeWindow struct {
	Child              Node
	Time               expr.Expr // TIMESTAMP or TIMESTAMP_NTZ
	Size, Slide, Start int64
	Out                types.Schema // the child's columns, then the struct
}

// SessionWindow appends the struct column session_window<start, end> = [Time, Time+Gap). Rows whose Time or
// Gap is null, or whose end is not after the start, are dropped. Merging is the Aggregate's.
type SessionWindow struct {
	Child Node
	Time  expr.Expr
	Gap   expr.Expr // INTERVAL (calendar)
	Out   types.Schema
}

// Watermark marks column Column of the child as the event time, with a delay. Schema is the child's with
// this mark; a mark that another column had is gone.
type Watermark struct {
	Child       Node
	Column      int
	DelayMicros int64
	Out         types.Schema
}

// Union yields the rows of all Inputs, whose types are equal by position. Names are of the first.
type Union struct {
	Inputs []Node
	Out    types.Schema
}

// Sort orders rows by Orders. Local sorts each partition only (SORT BY).
type Sort struct {
	Child  Node
	Orders []Ordering
	Local  bool
}

// Limit skips Offset rows and yields up to N; N < 0 is no limit.
type Limit struct {
	Child  Node
	N      int64
	Offset int64
}

// Generate yields, for each row, the rows of the generator, appended. Output: the child's columns, then the
// generator's. Outer yields the row with nulls where the generator gives none. Kinds: "explode" (array or
// map), "posexplode", "inline", "stack" (Args[0] the row count as literal, then the cells), "json_tuple",
// "variant_explode".
type Generate struct {
	Child Node
	Kind  string
	Args  []expr.Expr
	Outer bool
	Out   types.Schema
}

// Expand yields one row for each of Projections, all of the types of Out: grouping sets.
type Expand struct {
	Child       Node
	Projections [][]expr.Expr
	Out         types.Schema
}

// SetOp is INTERSECT or EXCEPT with bag semantics (ALL) or set semantics. Types are equal by position.
type SetOp struct {
	Except      bool // INTERSECT otherwise
	All         bool
	Left, Right Node
	Out         types.Schema
}

// Sample keeps a part of the rows: those whose random number in [0, 1) is in [Low, High).
type Sample struct {
	Child     Node
	Low, High float64
	Seed      int64
}

// SingleRow yields the child's only row; nulls if it has none; SCALAR_SUBQUERY_TOO_MANY_ROWS if it has more.
// Schema is the child's, all nullable.
type SingleRow struct {
	Child Node
	Out   types.Schema
	Pos   errs.Pos // of the subquery, zero if unknown
}

// ---- schema, children, streaming

// Schema of the columns read.
func (n *Scan) Schema() types.Schema { return n.Out }

// Children of a scan: none.
func (n *Scan) Children() []Node { return nil }

// Streaming if it reads a stream.
func (n *Scan) Streaming() bool { return n.Stream != nil }

// Schema without columns.
func (n *OneRow) Schema() types.Schema { return nil }

// Children of a row: none.
func (n *OneRow) Children() []Node { return nil }

// Streaming is false.
func (n *OneRow) Streaming() bool { return false }

// Schema of the rows.
func (n *Values) Schema() types.Schema { return n.Out }

// Children of values: none.
func (n *Values) Children() []Node { return nil }

// Streaming is false.
func (n *Values) Streaming() bool { return false }

// Schema is id BIGINT.
func (n *Range) Schema() types.Schema { return n.Out }

// Children of a range: none.
func (n *Range) Children() []Node { return nil }

// Streaming is false.
func (n *Range) Streaming() bool { return false }

// Schema of the expressions.
func (n *Project) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Project) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Project) Streaming() bool { return n.Child.Streaming() }

// Schema of the input.
func (n *Filter) Schema() types.Schema { return n.Child.Schema() }

// Children is the one input.
func (n *Filter) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Filter) Streaming() bool { return n.Child.Streaming() }

// Schema is keys, then calls.
func (n *Aggregate) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Aggregate) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Aggregate) Streaming() bool { return n.Child.Streaming() }

// Schema as the kind says.
func (n *Join) Schema() types.Schema { return n.Out }

// Children are left and right.
func (n *Join) Children() []Node { return []Node{n.Left, n.Right} }

// Streaming if a side is.
func (n *Join) Streaming() bool { return n.Left.Streaming() || n.Right.Streaming() }

// Schema of the input.
func (n *Dedup) Schema() types.Schema { return n.Child.Schema() }

// Children is the one input.
func (n *Dedup) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Dedup) Streaming() bool { return n.Child.Streaming() }

// Schema is the input's columns, then the calls.
func (n *Window) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Window) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Window) Streaming() bool { return n.Child.Streaming() }

// Schema is the input's columns, then the window.
func (n *TimeWindow) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *TimeWindow) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *TimeWindow) Streaming() bool { return n.Child.Streaming() }

// Schema is the input's columns, then the window.
func (n *SessionWindow) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *SessionWindow) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *SessionWindow) Streaming() bool { return n.Child.Streaming() }

// Schema of the input with the event time marked.
func (n *Watermark) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Watermark) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Watermark) Streaming() bool { return n.Child.Streaming() }

// Schema with the first input's names.
func (n *Union) Schema() types.Schema { return n.Out }

// Children are the inputs.
func (n *Union) Children() []Node { return n.Inputs }

// Streaming if an input is.
func (n *Union) Streaming() bool {
	for _, c := range n.Inputs {
		if c.Streaming() {
			return true
		}
	}
	return false
}

// Schema of the input.
func (n *Sort) Schema() types.Schema { return n.Child.Schema() }

// Children is the one input.
func (n *Sort) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Sort) Streaming() bool { return n.Child.Streaming() }

// Schema of the input.
func (n *Limit) Schema() types.Schema { return n.Child.Schema() }

// Children is the one input.
func (n *Limit) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Limit) Streaming() bool { return n.Child.Streaming() }

// Schema is the input's columns, then the generator's.
func (n *Generate) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Generate) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Generate) Streaming() bool { return n.Child.Streaming() }

// Schema of each projection.
func (n *Expand) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *Expand) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Expand) Streaming() bool { return n.Child.Streaming() }

// Schema with the left side's names.
func (n *SetOp) Schema() types.Schema { return n.Out }

// Children are left and right.
func (n *SetOp) Children() []Node { return []Node{n.Left, n.Right} }

// Streaming if a side is.
func (n *SetOp) Streaming() bool { return n.Left.Streaming() || n.Right.Streaming() }

// Schema of the input.
func (n *Sample) Schema() types.Schema { return n.Child.Schema() }

// Children is the one input.
func (n *Sample) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *Sample) Streaming() bool { return n.Child.Streaming() }

// Schema of the input, nullable.
func (n *SingleRow) Schema() types.Schema { return n.Out }

// Children is the one input.
func (n *SingleRow) Children() []Node { return []Node{n.Child} }

// Streaming as the input.
func (n *SingleRow) Streaming() bool { return n.Child.Streaming() }

// Type of the result.
func (w *WindowCall) Type() types.DataType { return w.Out }

// Nullable says whether the result may be null.
func (w *WindowCall) Nullable() bool { return w.Null }

// Children are the arguments (or the aggregate), then partition and order.
func (w *WindowCall) Children() []expr.Expr {
	var out []expr.Expr
	if w.Aggregate != nil {
		out = append(out, w.Aggregate)
	}
	out = append(out, w.Args...)
	out = append(out, w.Partition...)
	for _, o := range w.Order {
		out = append(out, o.Child)
	}
	return out
}

func (w *WindowCall) String() string { return w.Text }
