package sql

// Property is one 'key' = 'value'.
type Property struct{ Key, Value string }

// CreateView is CREATE [OR REPLACE] [GLOBAL] [TEMPORARY] VIEW.
type CreateView struct {
	Span
	Ident       Expr // IDENTIFIER(expr) in place of Name; nil else
	Name        []string
	Replace     bool
	Temporary   bool
	Global      bool // GLOBAL TEMPORARY; Temporary is true as well
	IfNotExists bool
	Columns     []string
	Comments    []string // of the columns, parallel to Columns when any has one
	Comment     string
	Properties  []Property
	Query       *Query
	QueryText   string // of the query, as written
	// Using is the format of CREATE TEMPORARY VIEW … USING, which has no Query; Schema the DDL of its columns.
	Using   string
	Options []Property
	Schema  string
}

// CreateTable is CREATE [OR REPLACE] TABLE.
type CreateTable struct {
	Span
	Ident       Expr // IDENTIFIER(expr) in place of Name; nil else
	Name        []string
	NameSpan    Span
	Replace     bool
	IfNotExists bool
	Columns     string // DDL text of Cols: names, types, NOT NULL, COMMENT; "" if none
	ColumnsSpan Span
	Cols        []ColumnDef
	Constraints []Constraint
	Using       string
	PartitionBy []string
	ClusterBy   []string
	Location    string
	Comment     string
	Options     []Property
	Properties  []Property
	LikeSpan    Span
	Like        []string   // CREATE TABLE t LIKE other; nil else
	Clone       *TableName // SHALLOW CLONE other, perhaps with a version; nil else
	Query       *Query
}

// ColumnDef is one column of CREATE TABLE, ALTER TABLE or a function's parameters. Name has several parts
// only where ALTER TABLE adds a field to a struct.
type ColumnDef struct {
	Span
	Name      []string
	Type      TypeName
	NotNull   bool
	Comment   string
	Default   Expr
	Generated Expr   // GENERATED ALWAYS AS (expr)
	Identity  string // GENERATED … AS IDENTITY: ALWAYS or DEFAULT, "" else
	Start     string // of Identity, "" if absent
	Step      string // of Identity, "" if absent
	First     bool   // position in ALTER TABLE
	After     string // position in ALTER TABLE, "" if absent
}

// Constraint is CONSTRAINT name CHECK (expr) of a table. Text is the condition as written.
type Constraint struct {
	Span
	Name  string
	Check Expr
	Text  string
}

// Drop is DROP. What: TABLE, VIEW, SCHEMA, FUNCTION, VARIABLE.
type Drop struct {
	Span
	Ident     Expr // IDENTIFIER(expr) in place of Name; nil else
	What      string
	Name      []string
	NameSpan  Span
	IfExists  bool
	Temporary bool // of FUNCTION and VARIABLE
	Cascade   bool // of SCHEMA
	Purge     bool // of TABLE
}

// Insert is INSERT INTO or OVERWRITE.
type Insert struct {
	Span
	Overwrite   bool
	Table       []string
	TableSpan   Span
	Ident       Expr       // IDENTIFIER(expr) in place of Table; nil else
	Partition   []Property // Value is the text of an expression, "" for a dynamic partition
	IfNotExists bool
	Columns     []string
	ByName      bool
	Replace     Expr // INSERT INTO t REPLACE WHERE cond
	Directory   *Directory
	Query       *Query
}

// Directory is what INSERT OVERWRITE DIRECTORY writes to in place of a table.
type Directory struct {
	Local   bool
	Path    string // "" if the options have it
	Using   string
	Options []Property
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
	Span
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

// Describe is DESCRIBE. What: "TABLE", "QUERY", "HISTORY", "DETAIL", "FUNCTION", "SCHEMA". Path stands in place
// of Name for DESCRIBE HISTORY '/path'; Column is set for DESCRIBE t col.
type Describe struct {
	Span
	Ident    Expr // IDENTIFIER(expr) in place of Name; nil else
	What     string
	Extended bool
	Name     []string
	NameSpan Span
	Path     string
	Column   []string
	// Partition is DESCRIBE t PARTITION (…); nil else.
	Partition []Property
	Query     *Query
}

// Show is SHOW. What: TABLES, VIEWS, COLUMNS, FUNCTIONS, SCHEMAS, PARTITIONS, TBLPROPERTIES, CREATE TABLE,
// CATALOGS, CURRENT SCHEMA. Name is the table, or the schema of IN, nil if absent; Key is the property of
// TBLPROPERTIES.
type Show struct {
	Span
	Ident    Expr // IDENTIFIER(expr) in place of Name; nil else
	What     string
	Name     []string
	NameSpan Span
	Like     string
	HasLike  bool
	Key      string
	// HasSchema says that Name is a database (of FUNCTIONS). Partition is of PARTITIONS.
	HasSchema bool
	Partition []Property
}

// Explain is EXPLAIN [mode] statement.
type Explain struct {
	Span
	Mode string
	Stmt Statement
}

// Command is one of the rarer statements. Kind is its leading keywords: ALTER TABLE, ALTER VIEW, OPTIMIZE,
// VACUUM, RESTORE, USE, CACHE, UNCACHE, CLEAR CACHE, REFRESH, TRUNCATE, ANALYZE, COMMENT, CREATE SCHEMA,
// CREATE FUNCTION, CREATE FLOW, DECLARE, SET VARIABLE, EXECUTE. Name is what it works on, nil if nothing; Path
// stands in its place for OPTIMIZE '/path'. Detail holds the rest, nil if the kind has none.
type Command struct {
	Span
	Ident    Expr // IDENTIFIER(expr) in place of Name; nil else
	Kind     string
	Name     []string
	NameSpan Span
	Path     string
	IfExists bool
	Detail   Detail
	Text     string // all of it as written
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
