package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Conf is what analysis needs of the session.
type Conf struct {
	Expr expr.Conf
	// Get asks for a setting; "" if it is not set. Nil: every setting has its default.
	Get func(key string) string
	// Params are the values of :name markers, Positional those of ?.
	Params     map[string]expr.Expr
	Positional []expr.Expr
	// Text is the text that the statement was read from: errors get their place from it. AnalyzeText
	// sets it.
	Text string
}

// on tells whether a setting that is a flag is on.
func (c Conf) on(key string, def bool) bool {
	if c.Get == nil {
		return def
	}
	switch strings.ToLower(c.Get(key)) {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}

// Parser is how texts are read under these settings.
func (c Conf) Parser() sql.Options {
	return sql.Options{EnforceReserved: c.on("spark.sql.ansi.enabled", true) && c.on("spark.sql.ansi.enforceReservedKeywords", false),
		DoubleQuotedIdentifiers: c.on("spark.sql.ansi.enabled", true) && c.on("spark.sql.ansi.doubleQuotedIdentifiers", false),
		EscapedStringLiterals:   c.on("spark.sql.parser.escapedStringLiterals", false),
		LegacySetOps:            c.on("spark.sql.legacy.setopsPrecedence.enabled", false)}
}

// AnalyzeText parses one statement and analyses it.
func AnalyzeText(text string, c *catalog.Catalog, conf Conf) (Node, error) {
	stmts, err := conf.Parser().Parse(text)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, errs.New("PARSE_SYNTAX_ERROR", "error", "';'", "hint", "")
	}
	conf.Text = text
	return Analyze(stmts[0], c, conf)
}

// Analyze resolves a statement to a bound plan. Errors carry Spark's conditions, and places if Conf has the
// text.
func Analyze(stmt sql.Statement, c *catalog.Catalog, conf Conf) (n Node, err error) {
	a := &analyzer{cat: c, conf: conf, text: conf.Text, spans: map[expr.Expr]sql.Span{}}
	defer a.recover(&err)
	return a.statement(stmt), nil
}

// analyzer holds what one statement's analysis shares.
type analyzer struct {
	cat   *catalog.Catalog
	conf  Conf
	last  lastPlace
	text  string
	ctes  *cteScope
	views []string // being expanded, against cycles
	spans map[expr.Expr]sql.Span
	// domain is the plan that the outer references of a subquery being pulled apart are bound to.
	domain Node
	// opaque are the plans of views: what is hidden in them cannot be reached.
	opaque []Node
	temps  temporaries
	// Inside of a function's body: its name, the values of its parameters by lower-case name, and how deep
	// functions are nested.
	function string
	args     map[string]expr.Expr
	depth    int
	// pending are the values that SET VARIABLE has given to variables so far.
	pending map[string]expr.Expr
	// defaults: an INSERT is analysed, in which the word DEFAULT may stand for whole values only.
	defaults bool
	// late are complaints about the keys of the GROUP BY at hand, made once its select list has passed.
	late  []func()
	bound *filledText // text with the values of its parameters; nil if not made yet
}

// cteScope is the WITH names in sight, innermost first.
type cteScope struct {
	outer *cteScope
	names map[string]*cte
}

type cte struct {
	node  Node
	query *WithQuery // nil: a recursive name within its own definition
	cols  []column
	// refuse, if set, is told of every use and may fail: the name is used within its own definition.
	refuse func(at sql.Node)
}

// failure carries an error up through the descent; only Analyze and its like recover it.
type failure struct{ err error }

func (a *analyzer) recover(err *error) {
	if r := recover(); r != nil {
		f, ok := r.(failure)
		if !ok {
			panic(r)
		}
		*err = f.err
	}
}

// place puts an error at a span of the text, unless it has a place.
func (a *analyzer) place(s sql.Span, err error) error {
	e, ok := err.(*errs.Error)
	if !ok || a.text == "" || s.End == 0 || !e.Pos.IsZero() {
		return err
	}
	pos, line := a.placed(s)
	return e.At(pos).WithExcerpt(line)
}

func (a *analyzer) fail(at sql.Node, condition string, params ...any) {
	a.failWith(at, errs.New(condition, params...))
}

func (a *analyzer) failWith(at sql.Node, err error) {
	if at != nil {
		err = a.place(at.Pos(), err)
	}
	panic(failure{err})
}

// fails reports whether f fails.
func (a *analyzer) fails(f func()) (failed bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(failure); !ok {
				panic(r)
			}
			failed = true
		}
	}()
	f()
	return false
}

func (a *analyzer) check(at sql.Node, err error) {
	if err != nil {
		a.failWith(at, err)
	}
}

// column is a column in sight of expressions.
type column struct {
	qual  []string // of the relation: t, or parts of a table's name; nil if none
	name  string
	index int // in the scope's node
	field types.Field
	// hidden columns are reached by their qualifier only and not by stars: the sides of USING.
	hidden bool
	auto   bool // of a subquery without alias, which errors give a name
}

// scope is what names mean at a place: the columns of node, and the scope of the query around.
type scope struct {
	node   Node
	cols   []column
	parent *scope // nil, or the query around a subquery
	// windows are the time window columns that expressions of this query block made: at most one.
	window      string // identity of the window expression
	windowIndex int
	windowName  string
	sessionAt   int // index of the session_window column, -1 if none
}

func newScope(n Node, cols []column, parent *scope) *scope {
	return &scope{node: n, cols: cols, parent: parent, windowIndex: -1, sessionAt: -1}
}

// columnsOf makes the columns of a node under a qualifier.
func columnsOf(n Node, qual []string) []column {
	s := n.Schema()
	out := make([]column, len(s))
	for i, f := range s {
		out[i] = column{qual: qual, name: f.Name, index: i, field: f}
	}
	return out
}

// shifted moves the columns of a right side behind n columns.
func shifted(cols []column, n int) []column {
	out := make([]column, len(cols))
	for i, c := range cols {
		c.index += n
		out[i] = c
	}
	return out
}

func requalified(cols []column, qual []string) []column {
	var out []column
	for _, c := range cols {
		if c.hidden {
			continue
		}
		c.qual = qual
		out = append(out, c)
	}
	return out
}
