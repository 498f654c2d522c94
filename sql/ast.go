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
	Name    string
	Columns []string
	Query   *Query
}

// Select is one SELECT. From is nil for SELECT without FROM; several relations are a comma join.
type Select struct {
	Span
	Hints     []string
	Distinct  bool
	Items     []SelectItem
	From      []Relation
	Views     []LateralView
	Where     Expr
	GroupBy   *GroupBy
	Having    Expr
	Qualify   Expr
	Windows   []NamedWindow
	FromFirst bool // FROM t SELECT …
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
	Sets [][]Expr // ROLLUP and CUBE: each entry is one level
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
// "AGGREGATE", "JOIN", "ORDER BY", "LIMIT", "UNION", …).
type PipeOp struct {
	Span
	Kind     string
	Items    []SelectItem
	Expr     Expr
	Names    []string
	GroupBy  *GroupBy
	Join     *Join
	Order    []OrderItem
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
	Values *Values
	Alias  Alias
}

// TableFunc is a table-valued function in FROM.
type TableFunc struct {
	Span
	Func      *FuncCall
	Lateral   bool
	Watermark *Watermark
	Alias     Alias
}

// ParenRelation is a relation in brackets, perhaps with an alias.
type ParenRelation struct {
	Span
	Relation Relation
	Alias    Alias
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
	Aggs    []SelectItem
	Columns []Expr
	Values  []SelectItem
	Alias   Alias
}

// Unpivot turns columns into rows.
type Unpivot struct {
	Span
	Input        Relation
	IncludeNulls bool
	ValueColumns []string // one for the single form
	NameColumn   string
	Columns      []UnpivotColumn
	Alias        Alias
}

// UnpivotColumn is one entry of IN.
type UnpivotColumn struct {
	Columns []Expr
	Alias   string
}

// ---- expressions

// Literal is a constant. Kind: "null", "bool", "int", "long", "short", "byte", "decimal", "double", "float",
// "bigdecimal", "string", "binary", "typed" (DATE '…': Type says which), "number" when the suffix is absent.
type Literal struct {
	Span
	Kind string
	Text string // digits, or the string's value
	Type string // of typed literals, upper case: DATE, TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP_LTZ, TIME, X
}

// Interval is an interval literal: INTERVAL '1' DAY TO SECOND, or a list of value-unit pairs.
type Interval struct {
	Span
	Parts []IntervalPart
	From  string // for '…' FROM TO TO
	To    string
	Text  string // INTERVAL 'text' with no unit
}

// IntervalPart is value and unit of INTERVAL 1 DAY 2 HOURS.
type IntervalPart struct {
	Value Expr
	Unit  string
}

// Name is a column reference a.b.c.
type Name struct {
	Span
	Parts []string
}

// Star is * or t.*, perhaps EXCEPT (…).
type Star struct {
	Span
	Qualifier []string
	Except    []*Name
}

// Unary is -x, +x, ~x, NOT x. Op is upper case.
type Unary struct {
	Span
	Op string
	X  Expr
}

// Binary is x op y; op as Spark prints it: "+", "AND", "<=>", "DIV", "||", "=" ….
type Binary struct {
	Span
	Op   string
	X, Y Expr
}

// Between is x [NOT] BETWEEN lo AND hi.
type Between struct {
	Span
	Not       bool
	X, Lo, Hi Expr
}

// In is x [NOT] IN (list).
type In struct {
	Span
	Not  bool
	X    Expr
	List []Expr
}

// InQuery is x [NOT] IN (query); X may be a RowExpr.
type InQuery struct {
	Span
	Not   bool
	X     Expr
	Query *Query
}

// Like is x [NOT] LIKE|ILIKE|RLIKE pattern [ESCAPE c], or with ANY, SOME, ALL over a list.
type Like struct {
	Span
	Not        bool
	Op         string // LIKE, ILIKE, RLIKE
	X          Expr
	Pattern    Expr
	Escape     Expr
	Quantifier string // "", ANY, ALL
	List       []Expr
}

// Is is x IS [NOT] NULL|TRUE|FALSE|UNKNOWN, or IS [NOT] DISTINCT FROM y.
type Is struct {
	Span
	Not  bool
	What string // NULL, TRUE, FALSE, UNKNOWN, DISTINCT
	X, Y Expr
}

// Case is both forms of CASE; Operand is nil for the searched one.
type Case struct {
	Span
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one branch.
type When struct{ Cond, Then Expr }

// Cast is CAST, TRY_CAST or x::type.
type Cast struct {
	Span
	X     Expr
	Type  TypeName
	Try   bool
	Colon bool
}

// TypeName is a type as text; package types reads it.
type TypeName struct {
	Span
	Text string
}

// FuncCall is a function call. Name parts as written.
type FuncCall struct {
	Span
	Name         []string
	Args         []Expr
	ArgNames     []string // parallel to Args when any is named; "" for positional
	Distinct     bool
	Filter       Expr
	IgnoreNulls  bool
	RespectNulls bool
	WithinGroup  []OrderItem
	Over         *WindowSpec
}

// Lambda is x -> body or (x, y) -> body.
type Lambda struct {
	Span
	Params []string
	Body   Expr
}

// Subscript is x[i].
type Subscript struct {
	Span
	X, Index Expr
}

// Field is x.name where x is no plain name.
type Field struct {
	Span
	X    Expr
	Name string
}

// Exists is EXISTS (query).
type Exists struct {
	Span
	Query *Query
}

// Scalar is a query in brackets as a value.
type Scalar struct {
	Span
	Query *Query
}

// RowExpr is (a, b, …) with two or more entries.
type RowExpr struct {
	Span
	Items []Expr
}

// Paren is an expression in brackets.
type Paren struct {
	Span
	X Expr
}

// Param is :name or ?; Name is "" for ?, Index counts ? from 0.
type Param struct {
	Span
	Name  string
	Index int
}

// Collate is x COLLATE name.
type Collate struct {
	Span
	X    Expr
	Name string
}

// SemiPath is x:path of VARIANT.
type SemiPath struct {
	Span
	X    Expr
	Path string
}

// ---- commands

// Property is one 'key' = 'value'.
type Property struct{ Key, Value string }

// CreateView is CREATE [OR REPLACE] [GLOBAL] [TEMPORARY] VIEW.
type CreateView struct {
	Span
	Name        []string
	Replace     bool
	Temporary   bool
	IfNotExists bool
	Columns     []string
	Query       *Query
	QueryText   string
}

// CreateTable is CREATE [OR REPLACE] TABLE.
type CreateTable struct {
	Span
	Name        []string
	Replace     bool
	IfNotExists bool
	Columns     string // DDL text between the brackets; "" if none
	ColumnsSpan Span
	Using       string
	PartitionBy []string
	ClusterBy   []string
	Location    string
	Comment     string
	Options     []Property
	Properties  []Property
	Query       *Query
}

// Drop is DROP TABLE or VIEW.
type Drop struct {
	Span
	What     string
	Name     []string
	IfExists bool
}

// Insert is INSERT INTO or OVERWRITE.
type Insert struct {
	Span
	Overwrite bool
	Table     []string
	Partition []Property
	Columns   []string
	ByName    bool
	Replace   Expr // INSERT INTO t REPLACE WHERE cond
	Query     *Query
}

// Update is UPDATE t SET … WHERE ….
type Update struct {
	Span
	Table *TableName
	Set   []Assignment
	Where Expr
}

// Assignment is column = value.
type Assignment struct {
	Column *Name
	Value  Expr
}

// Delete is DELETE FROM t WHERE ….
type Delete struct {
	Span
	Table *TableName
	Where Expr
}

// Merge is MERGE INTO.
type Merge struct {
	Span
	SchemaEvolution bool
	Target          *TableName
	Source          Relation
	On              Expr
	Clauses         []MergeClause
}

// MergeClause is one WHEN. Kind: MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE. Action: UPDATE, DELETE, INSERT.
type MergeClause struct {
	Span
	Kind    string
	Cond    Expr
	Action  string
	All     bool // UPDATE SET *, INSERT *
	Set     []Assignment
	Columns []*Name
	Values  []Expr
}

// Set is SET key = value, SET key, SET; Reset is RESET.
type Set struct {
	Span
	Key, Value string
	HasValue   bool
	TimeZone   bool
}

// Reset is RESET [key].
type Reset struct {
	Span
	Key string
}

// Describe is DESCRIBE. What: "TABLE", "QUERY", "HISTORY", "DETAIL", "FUNCTION".
type Describe struct {
	Span
	What     string
	Extended bool
	Name     []string
	Path     string
	Query    *Query
}

// Show is SHOW TABLES, VIEWS, COLUMNS, FUNCTIONS, ….
type Show struct {
	Span
	What string
	Name []string
	Like string
}

// Explain is EXPLAIN [mode] statement.
type Explain struct {
	Span
	Mode string
	Stmt Statement
}

// Command is a statement that is read whole but has no tree of its own; Kind is its leading keywords, such
// as "OPTIMIZE", "ALTER TABLE", "USE".
type Command struct {
	Span
	Kind string
	Text string
}

func (*Query) statement()       {}
func (*CreateView) statement()  {}
func (*CreateTable) statement() {}
func (*Drop) statement()        {}
func (*Insert) statement()      {}
func (*Update) statement()      {}
func (*Delete) statement()      {}
func (*Merge) statement()       {}
func (*Set) statement()         {}
func (*Reset) statement()       {}
func (*Describe) statement()    {}
func (*Show) statement()        {}
func (*Explain) statement()     {}
func (*Command) statement()     {}

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

func (*Literal) expr()   {}
func (*Interval) expr()  {}
func (*Name) expr()      {}
func (*Star) expr()      {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*Between) expr()   {}
func (*In) expr()        {}
func (*InQuery) expr()   {}
func (*Like) expr()      {}
func (*Is) expr()        {}
func (*Case) expr()      {}
func (*Cast) expr()      {}
func (*FuncCall) expr()  {}
func (*Lambda) expr()    {}
func (*Subscript) expr() {}
func (*Field) expr()     {}
func (*Exists) expr()    {}
func (*Scalar) expr()    {}
func (*RowExpr) expr()   {}
func (*Paren) expr()     {}
func (*Param) expr()     {}
func (*Collate) expr()   {}
func (*SemiPath) expr()  {}
