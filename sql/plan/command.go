package plan

import (
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Commands are nodes that change something or report about it. Their Schema is that of the rows they
// answer with. Names are joined by dots. Streaming is false even if a query below streams: a command over a
// streaming query is refused by Analyze except where it only defines something.

// command is what all commands share: no rows of a query, no streaming.
type command struct{ Out types.Schema }

// Schema of the answer.
func (c *command) Schema() types.Schema { return c.Out }

// Children of a command that runs no query: none.
func (c *command) Children() []Node { return nil }

// Streaming is false.
func (c *command) Streaming() bool { return false }

// CreateView defines a view, or gives the view that is there another query (Alter).
type CreateView struct {
	command
	Parts       []string
	Replace     bool
	Temporary   bool
	Global      bool
	IfNotExists bool
	Alter       bool
	View        *catalog.View
}

// CreateTable defines a table. Query is nil without AS.
type CreateTable struct {
	command
	Parts       []string
	NameSpan    sql.Span
	Def         catalog.Definition // names and location are the engine's to fill
	Replace     bool
	IfNotExists bool
	Like        []string
	LikeSpan    sql.Span
	Clone       *sql.TableName // nil without SHALLOW CLONE
	Query       Node
	Text        string // of the statement, for places of errors
}

// CreateFunction defines a function.
type CreateFunction struct {
	command
	Parts       []string
	Replace     bool
	IfNotExists bool
	Function    *catalog.Function
}

// CacheTable computes the rows of Query once and gives them a temporary name.
type CacheTable struct {
	command
	Name  string
	Query Node
	Text  string // of the query
}

// Declare makes session variables. Value is one row of one column of type Type.
type Declare struct {
	command
	Names   []string
	Replace bool
	Type    types.DataType
	Value   Node
	Default string // SQL text, "" for none
}

// SetVariable sets session variables to the columns of the one row of Values; no row sets NULL.
type SetVariable struct {
	command
	Names  []string
	Values Node
}

// Execute is EXECUTE IMMEDIATE: Code is one row of one STRING, Args one row with a column for each argument,
// Names their names, "" for those without. Into are variables.
type Execute struct {
	command
	Code  Node
	Args  Node
	Names []string
	Texts []string // of Args, as errors show them
	Into  []string
	// CodeText is the code's expression, for errors.
	CodeText string
}

// Insert appends the rows of Query, which has the table's columns in order and is checked, or replaces with
// them.
type Insert struct {
	command
	Name      string // `spark_catalog`.`default`.`t`
	Table     catalog.Table
	Query     Node
	Overwrite bool
	// IfNotExists does nothing if there are rows that Replace takes away.
	IfNotExists bool
	// Replace says which rows an overwrite takes away, over the table's columns: REPLACE WHERE, or the
	// constants of PARTITION; nil is all.
	Replace     expr.Expr
	ReplaceText string
	Inline      bool  // the rows stand in the statement: VALUES
	Where       bool  // REPLACE WHERE: new rows must satisfy Replace too
	Dynamic     []int // positions of columns: of an overwrite only rows go whose values there are among the new rows'
}

// Children is the query.
func (n *Insert) Children() []Node { return []Node{n.Query} }

// InsertDirectory writes the rows of Query as files of a format into a folder, in place of what it held.
type InsertDirectory struct {
	command
	Path    string
	Using   string
	Options map[string]string
	Query   Node
}

// Children is the query.
func (n *InsertDirectory) Children() []Node { return []Node{n.Query} }

// Update changes rows of a table: those for which Where holds (nil is all), over the table's columns, become
// the rows of New, in order, over the hole Old.
type Update struct {
	command
	Name  string
	Table catalog.Table
	Where expr.Expr
	Old   *Scan
	New   Node
}

// Delete removes rows of a table.
type Delete struct {
	command
	Name  string
	Table catalog.Table
	Where expr.Expr // nil is all rows
}

// MergeClause is one WHEN. Kind: MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE; Action: UPDATE, DELETE, INSERT.
// Cond is over the target's columns followed by the source's, nil if there is none; Rows, nil of DELETE, are
// the new rows over the hole Pair of the Merge.
type MergeClause struct {
	Kind     string
	Action   string
	Cond     expr.Expr
	CondText string
	Rows     Node
}

// Merge is MERGE INTO. On is over the target's columns followed by the source's, and so is Pair.
type Merge struct {
	command
	Name    string
	Table   catalog.Table
	Source  Node
	On      expr.Expr
	OnText  string
	Pair    *Scan
	Clauses []MergeClause
	width   int // columns of the target
}

// Children is the source.
func (n *Merge) Children() []Node { return []Node{n.Source} }

// Set is SET: of a value, or a question.
type Set struct {
	command
	Key, Value string
	HasValue   bool
}

// Reset is RESET; Key "" is all.
type Reset struct {
	command
	Key string
}

// DescribeQuery answers with the columns of a query.
type DescribeQuery struct {
	command
	Target types.Schema
}

// Explained is EXPLAIN: it answers with the plan of Query.
type Explained struct {
	command
	Mode  string
	Query Node
}

// Raw is a statement whose names are looked up when it is carried out: SHOW, DESCRIBE, DROP, ALTER and the
// small ones. Text is what it was read from, for places of errors.
type Raw struct {
	command
	Stmt sql.Statement
	Text string
}
