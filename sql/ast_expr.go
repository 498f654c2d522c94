package sql

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
	From  string // of INTERVAL '…' YEAR TO MONTH: YEAR, as Parts[0].Unit
	To    string // MONTH
	Text  string // INTERVAL 'text' with no unit
}

// IntervalPart is value and unit of INTERVAL 1 DAY 2 HOURS.
type IntervalPart struct {
	Span
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
type When struct {
	Span
	Cond, Then Expr
}

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

// FuncCall is a function call. Name parts as written; none if Ident, the argument of IDENTIFIER(…)(…), is
// set. Syntax is "" for f(a, b) and tells the other forms apart, whose arguments are in the order of the
// plain call:
//
//	EXTRACT   extract(field, source)             EXTRACT(YEAR FROM ts), field is a string literal
//	POSITION  locate(needle, text)               POSITION(a IN b)
//	FROM      substring(text, from[, length])    SUBSTRING(a FROM 1 FOR 2)
//	PLACING   overlay(text, by, from[, length])  OVERLAY(a PLACING b FROM 1 FOR 2)
//	TRIM      trim([chars,] text)                TRIM(x FROM a), also TRIM BOTH
//	TRIM LEADING, TRIM TRAILING                  ltrim, rtrim([chars,] text)
//	UNIT      timestampadd(unit, n, ts)          DATEADD(DAY, 1, ts), unit is a string literal
//	KEYWORD   current_date()                     CURRENT_DATE, without brackets
//	STRUCT    struct(a, b)                       STRUCT(a AS x, b): ArgNames holds the aliases
type FuncCall struct {
	Span
	Syntax       string
	Ident        Expr
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

// RowExpr is (a, b, …) with two or more entries. A named one, (a AS x, b), is a FuncCall of Syntax AS with Name
// __named__, Args[0] the value and ArgNames[0] the name.
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
