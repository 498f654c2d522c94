// Package sql turns Spark SQL text into a syntax tree and back. The lexer and the parser are written by
// hand: recursive descent for statements, precedence climbing for expressions. Every node has a Span of the
// text it was read from, so that any later error can point at its place. Format prints a tree as text that
// parses to the same tree.
package sql

// Span is a piece of the text, in bytes: [Start, End).
type Span struct{ Start, End int }

// Pos gives the span itself; nodes embed Span and so have it.
func (s Span) Pos() Span { return s }

// Node is any part of the tree.
type Node interface{ Pos() Span }

// Statement is a query or a command.
type Statement interface {
	Node
	statement()
}

// Expr is a scalar expression, a star, or a lambda.
type Expr interface {
	Node
	expr()
}

// Relation is what stands in FROM.
type Relation interface {
	Node
	relation()
}

// Body is the part of a query between WITH and ORDER BY.
type Body interface {
	Node
	body()
}

// ---- queries

// Query is a whole query. Limit is nil if absent; LIMIT ALL too.
type Query struct {
	Span
	With      []CTE
	Recursive bool
	Body      Body
	OrderBy   []OrderItem
	OrderSpan Span // of ORDER BY and its items
	OrderAll  bool // ORDER BY ALL: OrderBy[0] carries direction
	SortBy    []OrderItem
	ClusterBy []Expr
	DistBy    []Expr
	Windows   []NamedWindow
	Limit     Expr
	Offset    Expr
}

// CTE is one WITH entry.
type CTE struct {
	Span
	Name         string
	Columns      []string
	MaxRecursion Expr // MAX RECURSION LEVEL n; nil if absent
	Query        *Query
}

// Select is one SELECT. From is nil for SELECT without FROM; several relations are a comma join.
type Select struct {
	Span
	Hints     []string // entries of /*+ … */, as text: BROADCAST(t)
	Distinct  bool
	Items     []SelectItem
	From      []Relation
	Views     []LateralView
	Where     Expr
	GroupBy   *GroupBy
	Having    Expr
	Qualify   Expr
	Windows   []NamedWindow
	FromFirst bool // FROM t SELECT …; FROM t alone has no Items and gives all columns
}

// SelectItem is an expression with an optional alias; Aliases is `AS (a, b)` of generators.
type SelectItem struct {
	Span
	Expr    Expr
	Alias   string
	Aliases []string
}

// LateralView is LATERAL VIEW [OUTER] f(args) table AS columns.
type LateralView struct {
	Span
	Outer   bool
	Func    *FuncCall
	Table   string
	Columns []string
}

// GroupBy is GROUP BY: All, or plain expressions, or analytic ones.
type GroupBy struct {
	Span
	All    bool
	Items  []GroupItem
	Legacy string // WITH ROLLUP, WITH CUBE: "ROLLUP", "CUBE"; "" if none
	Sets   [][]Expr
	HasSet bool // GROUP BY a, b GROUPING SETS (…)
}

// GroupItem is an expression, or ROLLUP, CUBE, GROUPING SETS over sets.
type GroupItem struct {
	Span
	Kind string // "", "ROLLUP", "CUBE", "GROUPING SETS"
	Expr Expr
	Sets [][]Expr // ROLLUP and CUBE: each entry is one level; those nested in GROUPING SETS are expanded
}

// OrderItem is one sort key. Nulls is "", "FIRST" or "LAST".
type OrderItem struct {
	Span
	Expr  Expr
	Desc  bool
	Nulls string
}

// NamedWindow is an entry of WINDOW.
type NamedWindow struct {
	Span
	Name string
	Spec *WindowSpec
}

// WindowSpec is what stands behind OVER: a name, or parts.
type WindowSpec struct {
	Span
	Name        string
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
}

// Frame is ROWS or RANGE between two bounds.
type Frame struct {
	Span
	Rows     bool
	From, To Bound
}

// Bound is a frame bound. Kind: "UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING",
// "UNBOUNDED FOLLOWING".
type Bound struct {
	Span
	Kind string
	Expr Expr
}

// SetOp combines two bodies. Op: UNION, INTERSECT, EXCEPT.
type SetOp struct {
	Span
	Op          string
	All         bool
	ByName      bool
	Left, Right Body
}

// Values is VALUES (…), (…). Rows of one expression may stand without brackets.
type Values struct {
	Span
	Rows [][]Expr
}

// TableBody is TABLE name as a query.
type TableBody struct {
	Span
	Table *TableName
}

// Parens is a query in brackets as a body.
type Parens struct {
	Span
	Query *Query
}

// PipeBody is a body followed by |> operators.
type PipeBody struct {
	Span
	Input Relation // a FROM relation or a subquery
	Ops   []PipeOp
}

// PipeOp is one |> step. Kind is its first keyword ("SELECT", "WHERE", "EXTEND", "SET", "DROP", "AS",
// "AGGREGATE", "JOIN", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "LIMIT", "UNION", …). SET has the
// columns in Names and again as aliases of Items; AGGREGATE the aliases of its GroupBy in Names, parallel to
// the items; LIMIT stands for OFFSET as well; Left of Join and SetOp and Input of Pivot and Unpivot are nil.
type PipeOp struct {
	Span
	Kind     string
	Items    []SelectItem
	Expr     Expr
	Names    []string
	GroupBy  *GroupBy
	Join     *Join
	Order    []OrderItem
	Windows  []NamedWindow // of SELECT
	Exprs    []Expr        // of CLUSTER BY and DISTRIBUTE BY
	Limit    Expr
	Offset   Expr
	SetOp    *SetOp // Right set
	Pivot    *Pivot
	Unpivot  *Unpivot
	Sample   *Sample
	View     *LateralView
	Distinct bool
}

// ---- relations

// Alias names a relation and perhaps its columns.
type Alias struct {
	Name    string
	Columns []string
}

// TableName is a named relation with what may follow it.
type TableName struct {
	Span
	Parts     []string
	NameSpan  Span
	Ident     Expr // IDENTIFIER(expr) in place of Parts; nil else
	Stream    bool // STREAM t
	Options   []Property
	Version   Expr // time travel
	Timestamp Expr
	Watermark *Watermark
	Sample    *Sample
	Alias     Alias
}

// Watermark is WATERMARK expr [AS name] DELAY OF interval.
type Watermark struct {
	Span
	Expr  Expr
	Name  string
	Delay Expr
}

// Sample is TABLESAMPLE. Kind: PERCENT, ROWS, BUCKET.
type Sample struct {
	Span
	Kind   string
	Value  Expr
	Bucket [2]Expr
	Seed   Expr
}

// SubqueryRelation is a query in brackets in FROM.
type SubqueryRelation struct {
	Span
	Query     *Query
	Lateral   bool
	Watermark *Watermark
	Sample    *Sample
	Alias     Alias
}

// ValuesRelation is VALUES in FROM.
type ValuesRelation struct {
	Span
	Values    *Values
	Watermark *Watermark
	Sample    *Sample
	Alias     Alias
}

// TableFunc is a table-valued function in FROM.
type TableFunc struct {
	Span
	Func      *FuncCall
	Lateral   bool
	Stream    bool // STREAM f(…), which reads a batch all the same
	Watermark *Watermark
	Alias     Alias
}

// ParenRelation is a relation in brackets, perhaps with an alias.
type ParenRelation struct {
	Span
	Relation  Relation
	Watermark *Watermark
	Sample    *Sample
	Alias     Alias
}

// JoinKind is the kind of a join as Spark prints it.
type JoinKind string

// The join kinds.
const (
	InnerJoin  JoinKind = "INNER"
	CrossJoin  JoinKind = "CROSS"
	LeftOuter  JoinKind = "LEFT OUTER"
	RightOuter JoinKind = "RIGHT OUTER"
	FullOuter  JoinKind = "FULL OUTER"
	LeftSemi   JoinKind = "LEFT SEMI"
	LeftAnti   JoinKind = "LEFT ANTI"
)

// Join joins two relations. Using and On exclude each other.
type Join struct {
	Span
	Kind    JoinKind
	Natural bool
	Lateral bool
	Left    Relation
	Right   Relation
	Using   []string
	On      Expr
}

// Pivot turns rows into columns.
type Pivot struct {
	Span
	Input   Relation
	Clause  Span // from PIVOT on, without the input
	Aggs    []SelectItem
	Columns []Expr
	Values  []SelectItem
	Alias   Alias
}

// Unpivot turns columns into rows.
type Unpivot struct {
	Span
	Input        Relation
	Clause       Span // from UNPIVOT on, without the input
	IncludeNulls bool
	ValueColumns []string // one for the single form
	NameColumn   string
	Columns      []UnpivotColumn
	Alias        Alias
}

// UnpivotColumn is one entry of IN.
type UnpivotColumn struct {
	Span
	Columns []Expr
	Alias   string
}

func (*Select) body()    {}
func (*SetOp) body()     {}
func (*Values) body()    {}
func (*TableBody) body() {}
func (*Parens) body()    {}
func (*PipeBody) body()  {}

func (*TableName) relation()        {}
func (*SubqueryRelation) relation() {}
func (*ValuesRelation) relation()   {}
func (*TableFunc) relation()        {}
func (*ParenRelation) relation()    {}
func (*Join) relation()             {}
func (*Pivot) relation()            {}
func (*Unpivot) relation()          {}
