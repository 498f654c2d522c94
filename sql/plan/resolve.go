package plan

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// resolver turns syntax into bound expressions over a scope.
type resolver struct {
	a       *analyzer
	sc      *scope
	lambdas []*expr.LambdaVar // parameters in sight, innermost last
	// aliases are select items in sight: lateral ones, or all of them in GROUP BY, HAVING, ORDER BY.
	aliases []*item
	// outputFirst lets aliases win over columns, as in ORDER BY.
	outputFirst bool
	// having lets aliases win outside of aggregates.
	having bool
	// outputOnly hides the scope's columns (ORDER BY over DISTINCT).
	outputOnly            bool
	generators            bool // allowed at the top
	inAggregate, inWindow bool
	windows               map[string]*sql.WindowSpec // WINDOW clause
	inWhere               bool
	inKeys                bool     // of GROUP BY
	lateral               bool     // aliases are earlier items of the same list
	grouped               bool     // GROUP BY stands in the query
	groupAt               sql.Span // where
	at                    sql.Node // the SELECT, nil elsewhere
	starIn                string   // the node with a star where none may stand
	root                  sql.Node // the whole expression, where Spark puts what lambdas cannot find; may be nil
}

func (x *resolver) fail(at sql.Node, condition string, params ...any) {
	x.a.fail(at, condition, params...)
}
func (x *resolver) failWith(at sql.Node, err error) { x.a.failWith(at, err) }

// build calls a function of the table and places its errors.
func (x *resolver) build(at sql.Node, name string, args ...expr.Expr) expr.Expr {
	e, err := expr.Build(name, args, x.a.conf.Expr)
	x.a.check(at, err)
	x.place(at, e)
	return e
}

func (x *resolver) place(at sql.Node, e expr.Expr) {
	if x.a.text != "" && at.Pos().End > 0 {
		expr.SetPos(e, x.a.placeOf(at.Pos()))
	}
}

// placeOf is placed without the line. It goes on from the place it gave last, as expressions mostly come in the
// order of the text: a condition of thousands of terms is not read thousands of times.
func (a *analyzer) placeOf(s sql.Span) errs.Pos {
	if len(a.conf.Params) > 0 || len(a.conf.Positional) > 0 || s.Start > len(a.text) || s.End > len(a.text) || s.End < s.Start {
		pos, _ := a.placed(s)
		return pos
	}
	l := &a.last
	if l.text != a.text || l.offset > s.Start {
		*l = lastPlace{text: a.text, line: 1, col: 1}
	}
	between := a.text[l.offset:s.Start]
	if n := strings.Count(between, "\n"); n > 0 {
		l.line, l.col = l.line+n, 1
		between = between[strings.LastIndexByte(between, '\n')+1:]
	}
	l.col += utf8.RuneCountInString(between)
	l.offset = s.Start
	own := a.text[s.Start:s.End]
	if i := strings.IndexByte(own, '\n'); i >= 0 {
		own = own[:i]
	}
	return errs.Pos{Line: l.line, Col: l.col, Length: max(1, utf8.RuneCountInString(own))}
}

// lastPlace is where placeOf counted to.
type lastPlace struct {
	text              string
	offset, line, col int
}

func (x *resolver) exprs(list []sql.Expr) []expr.Expr {
	out := make([]expr.Expr, 0, len(list))
	for _, e := range list {
		out = append(out, x.expr(e))
	}
	return out
}

// top resolves an expression at whose top a generator may stand.
func (x *resolver) top(e sql.Expr) expr.Expr {
	if f, ok := e.(*sql.FuncCall); ok && x.generators {
		if g := x.generator(f); g != nil {
			return g
		}
	}
	return x.expr(e)
}

func (x *resolver) expr(e sql.Expr) expr.Expr {
	switch n := e.(type) {
	case *sql.Literal:
		return x.literal(n)
	case *sql.Interval:
		return x.interval(n)
	case *sql.Name:
		return x.name(n)
	case *sql.Paren:
		return x.expr(n.X)
	case *sql.Unary:
		return x.unary(n)
	case *sql.Binary:
		return x.binary(n)
	case *sql.Between:
		r := x.build(after(n, n.X), "between", x.expr(n.X), x.expr(n.Lo), x.expr(n.Hi))
		return x.negated(n, n.Not, r)
	case *sql.In:
		args := append([]expr.Expr{x.expr(n.X)}, x.exprs(n.List)...)
		if row, ok := n.X.(*sql.RowExpr); ok { // fields are compared by place
			for i, e := range n.List {
				if r, ok := e.(*sql.RowExpr); ok && len(r.Items) == len(row.Items) {
					args[i+1] = x.row(r, args[0].Type())
				}
			}
		}
		in, err := expr.Build("in", args, x.a.conf.Expr)
		x.a.check(after(n, n.X), err)
		x.place(after(n, n.X), in)
		return x.negated(n, n.Not, in)
	case *sql.Like:
		return x.like(n)
	case *sql.Is:
		return x.is(n)
	case *sql.Case:
		return x.caseWhen(n)
	case *sql.Cast:
		return x.cast(n)
	case *sql.FuncCall:
		return x.call(n)
	case *sql.Subscript:
		r, err := expr.NewGetItem(x.expr(n.X), x.expr(n.Index), x.a.conf.Expr)
		x.a.check(n, err)
		x.place(n, r)
		return r
	case *sql.Field:
		r, err := expr.NewGetField(x.expr(n.X), n.Name, x.a.conf.Expr)
		x.a.check(n, err)
		x.place(n, r)
		return r
	case *sql.Param:
		return x.param(n)
	case *sql.RowExpr:
		var args []expr.Expr
		for i, it := range n.Items {
			r := x.expr(it)
			name := ""
			switch c := r.(type) {
			case *expr.Alias:
				name, r = c.Name, c.Child
			case *expr.Column:
				name = c.Field.Name
			default:
				name = "col" + itoa(i+1)
				if f, ok := it.(*sql.Name); ok {
					name = f.Parts[len(f.Parts)-1]
				}
			}
			args = append(args, expr.StringLit(name), r)
		}
		return x.build(n, "named_struct", args...)
	case *sql.Collate:
		return x.build(n, "collate", x.expr(n.X), expr.StringLit(n.Name))
	case *sql.SemiPath:
		return x.build(n, "semi_structured_extract", x.expr(n.X), expr.StringLit(n.Path))
	case *sql.Scalar:
		return x.scalarSubquery(n)
	case *sql.Exists:
		return x.existsSubquery(n)
	case *sql.InQuery:
		return x.inSubquery(n)
	case *sql.Star:
		x.fail(nil, "INVALID_USAGE_OF_STAR_OR_REGEX", "elem", "'*'", "prettyName", "expression `"+x.starIn+"`")
	case *sql.Lambda:
		x.fail(n, "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION", "class", "")
	}
	x.fail(e, "UNSUPPORTED_FEATURE", "feature", "this expression")
	return nil
}

// after is the part of n behind its operand x, where Spark places errors of predicates.
func after(n, x sql.Node) sql.Span {
	s := n.Pos()
	if end := x.Pos().End; end > s.Start && end < s.End {
		s.Start = end + 1
	}
	return s
}

// row is (a, b) with the field names of a struct type.
func (x *resolver) row(r *sql.RowExpr, t types.DataType) expr.Expr {
	var args []expr.Expr
	for i, e := range r.Items {
		args = append(args, expr.StringLit(t.Fields[i].Name), x.expr(e))
	}
	return x.build(r, "named_struct", args...)
}

func itoa(i int) string { return expr.IntLit(int32(i)).String() }

func (x *resolver) negated(at sql.Node, not bool, e expr.Expr) expr.Expr {
	if not {
		return x.build(at, "not", e)
	}
	return e
}

func (x *resolver) unary(n *sql.Unary) expr.Expr {
	v := x.expr(n.X)
	switch n.Op {
	case "-":
		if _, ok := n.X.(*sql.Param); ok { // a value is put into the text, where a minus is a part of the number
			if l, ok := negated(v); ok {
				return l
			}
		}
		return x.build(n, "unary-", v)
	case "+":
		return x.build(n, "unary+", v)
	case "~":
		return x.build(n, "~", v)
	}
	return x.build(n, "not", v)
}

// binaryNames are the names that Spark's nodes of operators have in errors about a star below them.
var binaryNames = map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder", "DIV": "div",
	"=": "equalto", "!=": "not", "<>": "not", "<=>": "equalnullsafe", "<": "lessthan", "<=": "lessthanorequal", ">": "greaterthan",
	">=": "greaterthanorequal", "AND": "and", "OR": "or", "||": "concat", "&": "bitwiseand", "|": "bitwiseor", "^": "bitwisexor"}

// maxTerms bounds a chain of AND or OR: beyond it printing and compiling take longer than a user waits.
const maxTerms = 25_000

// balanced is a chain of AND or OR as Spark builds it: halved again and again, so that thousands of terms make
// a tree that is not as deep as it is long, and print and compile in proportion to their number.
func (x *resolver) balanced(n *sql.Binary) expr.Expr {
	var terms []sql.Expr
	left := sql.Expr(n)
	for {
		b, ok := left.(*sql.Binary)
		if !ok || b.Op != n.Op {
			break
		}
		terms = append(terms, b.Y)
		left = b.X
	}
	terms = append(terms, left)
	slices.Reverse(terms)
	if len(terms) > maxTerms {
		x.fail(n, "FAILED_TO_PARSE_TOO_COMPLEX")
	}
	es := x.exprs(terms)
	name := strings.ToLower(n.Op)
	var half func(es []expr.Expr) expr.Expr
	half = func(es []expr.Expr) expr.Expr {
		if len(es) == 1 {
			return es[0]
		}
		mid := (len(es) + 1) / 2
		return x.build(n, name, half(es[:mid]), half(es[mid:]))
	}
	return half(es)
}

func (x *resolver) binary(n *sql.Binary) expr.Expr {
	for _, side := range []sql.Expr{n.X, n.Y} {
		if _, ok := side.(*sql.Star); ok {
			x.starIn = binaryNames[strings.ToUpper(n.Op)]
		}
	}
	if n.Op == "AND" || n.Op == "OR" {
		return x.balanced(n)
	}
	l, r := x.expr(n.X), x.expr(n.Y)
	switch n.Op {
	case "!=":
		return x.build(n, "not", x.build(n, "=", l, r))
	case "||":
		return x.build(n, "concat", l, r)
	}
	return x.build(n, strings.ToLower(n.Op), l, r)
}

func (x *resolver) like(n *sql.Like) expr.Expr {
	args := []expr.Expr{x.expr(n.X)}
	if n.Quantifier != "" {
		name := "like" + strings.ToLower(n.Quantifier)
		if n.Not {
			name = "not" + name
		}
		args = append(args, x.exprs(n.List)...)
		if n.Op == "ILIKE" {
			for i := range args {
				args[i] = x.build(n, "lower", args[i])
			}
		}
		return x.build(after(n, n.X), name, args...)
	}
	args = append(args, x.expr(n.Pattern))
	if n.Escape != nil {
		args = append(args, x.expr(n.Escape))
	}
	return x.negated(n, n.Not, x.build(after(n, n.X), strings.ToLower(n.Op), args...))
}

func (x *resolver) is(n *sql.Is) expr.Expr {
	v := x.expr(n.X)
	switch n.What {
	case "NULL":
		if n.Not {
			return x.build(n, "isnotnull", v)
		}
		return x.build(n, "isnull", v)
	case "UNKNOWN": // keeps its name over a literal only: the analyzer copies what is over anything else
		name, word := "isnull", " IS UNKNOWN)"
		if n.Not {
			name, word = "isnotnull", " IS NOT UNKNOWN)"
		}
		if l, ok := v.(*expr.Literal); ok && l.Type().Kind == types.Boolean {
			return &named{x.build(n, name, v), "(" + v.String() + word}
		}
		return x.build(n, name, v)
	case "TRUE", "FALSE":
		return x.negated(n, n.Not, x.build(after(n, n.X), "<=>", v, expr.BoolLit(n.What == "TRUE")))
	}
	return x.negated(n, !n.Not, x.build(after(n, n.X), "<=>", v, x.expr(n.Y)))
}

func (x *resolver) caseWhen(n *sql.Case) expr.Expr {
	var operand expr.Expr
	if n.Operand != nil {
		operand = x.expr(n.Operand)
	}
	var branches []expr.Branch
	for _, w := range n.Whens {
		c := x.expr(w.Cond)
		if operand != nil {
			c = x.build(n, "=", operand, c)
		}
		branches = append(branches, expr.Branch{Cond: c, Value: x.expr(w.Then)})
	}
	var els expr.Expr
	if n.Else != nil {
		els = x.expr(n.Else)
	}
	r, err := expr.NewCase(branches, els, x.a.conf.Expr)
	x.a.check(n, err)
	x.place(n, r)
	return r
}

var timestampWord = regexp.MustCompile(`(?i)\btimestamp\b`)

func (x *resolver) cast(n *sql.Cast) expr.Expr {
	v := x.expr(n.X)
	text := n.Type.Text
	if x.a.conf.Expr.NTZ {
		text = timestampWord.ReplaceAllString(text, "TIMESTAMP_NTZ")
	}
	t, err := types.ParseType(text)
	if e := errs.As(err); e != nil { // placed within the type's text, which is not the user's
		c := *e
		c.Pos = errs.Pos{}
		x.failWith(n.Type, &c)
	}
	mode := expr.Explicit
	if n.Try {
		mode = expr.Try
	}
	r, err := expr.NewCast(v, t, mode, x.a.conf.Expr)
	x.a.check(n, err)
	x.place(n, r)
	return r
}

func (x *resolver) param(n *sql.Param) expr.Expr {
	if n.Name != "" {
		if v, ok := x.a.conf.Params[n.Name]; ok {
			return v
		}
		x.fail(n, "UNBOUND_SQL_PARAMETER", "name", n.Name)
	}
	if n.Index < len(x.a.conf.Positional) {
		return x.a.conf.Positional[n.Index]
	}
	x.fail(n, "UNBOUND_SQL_PARAMETER", "name", "_"+itoa(n.Start))
	return nil
}

// ---- names

// name resolves a column reference: lambda parameters, output columns where they come first, columns of the
// scope, aliases, columns of the query around.
func (x *resolver) name(n *sql.Name) expr.Expr {
	for i := len(x.lambdas) - 1; i >= 0; i-- {
		if strings.EqualFold(x.lambdas[i].Name, n.Parts[0]) {
			return x.fields(n, x.lambdas[i], n.Parts[1:])
		}
	}
	if x.outputFirst || x.having && !x.inAggregate {
		if e := x.alias(n); e != nil {
			return e
		}
	}
	if x.outputOnly && len(n.Parts) > 1 { // by the name of the relation that an item came from
		if e := x.column(n, x.sc); e != nil {
			for _, it := range x.aliases {
				if it.e != nil && identity(it.e) == identity(e) {
					return e
				}
			}
		}
	}
	if !x.outputOnly {
		if e := x.column(n, x.sc); e != nil {
			return e
		}
	}
	if !x.outputFirst {
		if e := x.alias(n); e != nil {
			return e
		}
	}
	if e := x.windowColumn(n); e != nil {
		return e
	}
	if !x.outputOnly {
		if e := x.metadata(n); e != nil {
			return e
		}
	}
	if x.sc.parent != nil {
		if e := x.column(n, x.sc.parent); e != nil {
			return e
		}
	}
	if e := x.argument(n); e != nil {
		return e
	}
	if e := x.variableRef(n); e != nil {
		return e
	}
	if len(n.Parts) == 1 {
		switch u := strings.ToLower(n.Parts[0]); u {
		case "current_date", "current_timestamp", "current_time", "current_user", "user", "session_user",
			"current_catalog", "current_database", "current_schema":
			if _, ok := expr.Lookup(u); ok {
				return x.build(n, u)
			}
		}
	}
	x.unresolved(n)
	return nil
}

func (x *resolver) alias(n *sql.Name) expr.Expr {
	var found *item
	count := 0
	for _, it := range x.aliases {
		if strings.EqualFold(it.name, n.Parts[0]) && (it.aliased || x.outputFirst) && it.e != nil {
			count++
			if found == nil || !x.outputFirst || identity(found.e) != identity(it.e) {
				found = it
			} else {
				count--
			}
		}
	}
	if found == nil {
		return nil
	}
	if count > 1 {
		if x.outputFirst {
			x.fail(n, "AMBIGUOUS_REFERENCE", "name", quoteParts(n.Parts),
				"referenceNames", "["+strings.Repeat(types.Quote(found.name)+", ", count-1)+types.Quote(found.name)+"]")
		}
		x.fail(n, "AMBIGUOUS_LATERAL_COLUMN_ALIAS", "name", types.Quote(n.Parts[0]), "n", count)
	}
	value := found.e
	if g, ok := value.(*generator); ok && !x.outputFirst {
		if !x.lateral || len(g.out) != 1 {
			return nil
		}
		value = &generatedValue{g}
	}
	var e expr.Expr = &named{value, n.Parts[0]}
	if x.lateral {
		e = &named{value, "lateralAliasReference(" + n.Parts[0] + ")"}
	} else if c, ok := found.e.(*expr.Column); ok {
		d := *c
		d.Field.Name = n.Parts[0]
		x.a.spans[&d] = n.Span
		e = &d
	}
	return x.fields(n, e, n.Parts[1:])
}

// windowColumn is the time window that this query block made, by its plain name.
func (x *resolver) windowColumn(n *sql.Name) expr.Expr {
	if x.sc.windowIndex < 0 || !strings.EqualFold(n.Parts[0], x.sc.windowName) {
		return nil
	}
	return x.fields(n, columnAt(x.sc.node, x.sc.windowIndex), n.Parts[1:])
}

func (x *resolver) column(n *sql.Name, sc *scope) expr.Expr {
	c, rest := x.match(n, sc)
	if c == nil {
		return nil
	}
	f := c.field
	f.Name = n.Parts[len(n.Parts)-len(rest)-1]
	col := &expr.Column{Index: c.index, Field: f}
	x.a.spans[col] = n.Span
	if sc == x.sc {
		return x.fields(n, col, rest)
	}
	return x.fields(n, &outerRef{col}, rest)
}

// match finds the column that a reference means and what is left of it: names of fields. Qualified matches
// come before plain ones.
func (x *resolver) match(n *sql.Name, sc *scope) (*column, []string) {
	for q := min(len(n.Parts)-1, 3); q >= 0; q-- {
		var found []*column
		seen := map[int]bool{}
		for i := range sc.cols {
			c := &sc.cols[i]
			if !x.a.same(c.name, n.Parts[q]) || c.hidden && q == 0 || !qualifies(n.Parts[:q], c.qual) || seen[c.index] {
				continue
			}
			seen[c.index] = true
			found = append(found, c)
		}
		if len(found) > 1 {
			var names []string
			for _, c := range found {
				names = append(names, quoteParts(append(append([]string{}, c.qual...), n.Parts[q])))
			}
			sort.Strings(names)
			x.fail(n, "AMBIGUOUS_REFERENCE", "name", quoteParts(n.Parts), "referenceNames", "["+strings.Join(names, ", ")+"]")
		}
		if len(found) == 1 {
			return found[0], n.Parts[q+1:]
		}
	}
	return nil, nil
}

// qualifies reports whether parts are the end of a qualifier.
func qualifies(parts, qual []string) bool {
	if len(parts) > len(qual) {
		return false
	}
	tail := qual[len(qual)-len(parts):]
	for i, p := range parts {
		if !strings.EqualFold(p, tail[i]) {
			return false
		}
	}
	return true
}

func (x *resolver) fields(n *sql.Name, e expr.Expr, names []string) expr.Expr {
	for _, f := range names {
		if t := e.Type(); t.Kind == types.Struct && x.a.exact() && !hasField(t.Fields, f) {
			x.fail(n, "FIELD_NOT_FOUND", "fieldName", types.Quote(f), "fields", quoteList(namesOf(t.Fields)))
		}
		r, err := expr.NewGetField(e, f, x.a.conf.Expr)
		x.a.check(n, err)
		e = r
	}
	return e
}

// exact says that names are compared with case.
func (a *analyzer) exact() bool { return a.conf.on("spark.sql.caseSensitive", false) }

// same compares two names.
func (a *analyzer) same(x, y string) bool { return x == y || strings.EqualFold(x, y) && !a.exact() }

func hasField(fs []types.Field, name string) bool {
	for _, f := range fs {
		if f.Name == name {
			return true
		}
	}
	return false
}

func quoteParts(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = types.Quote(p)
	}
	return strings.Join(out, ".")
}

// unresolved fails with Spark's proposal: names by edit distance, qualified as the reference is.
func (x *resolver) unresolved(n *sql.Name) {
	var cols []column
	if x.a.defaults && len(n.Parts) == 1 && strings.EqualFold(n.Parts[0], "DEFAULT") {
		x.fail(nil, "DEFAULT_PLACEMENT_INVALID")
	}
	if x.a.args != nil && x.sc.parent == nil { // of a function: its parameters are what there is
		for _, p := range sortedNames(x.a.args) {
			cols = append(cols, column{name: p})
		}
		x.failWith(sql.Span{End: len(x.a.text)}, unresolvedColumn(n.Parts, cols))
	}
	if x.outputFirst {
		for _, it := range x.aliases {
			cols = append(cols, column{name: it.name})
		}
	} else {
		cols = x.sc.cols
	}
	if len(x.lambdas) > 0 && x.root != nil { // Spark looks into lambdas anew, from the top of the expression
		x.failWith(x.root, unresolvedColumn(n.Parts, cols))
	}
	x.failWith(n, unresolvedColumn(n.Parts, cols))
}

func sortedNames(m map[string]expr.Expr) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func unresolvedColumn(parts []string, cols []column) error {
	if len(cols) == 0 {
		return errs.New("UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "objectName", quoteParts(parts))
	}
	return errs.New("UNRESOLVED_COLUMN.WITH_SUGGESTION", "objectName", quoteParts(parts), "proposal", proposal(parts, cols, true))
}

func proposal(parts []string, cols []column, sorted bool) string {
	same := true // all columns have one qualifier
	for _, c := range cols {
		same = same && strings.Join(c.qual, ".") == strings.Join(cols[0].qual, ".")
	}
	if sorted {
		cols = append([]column{}, cols...)
		sort.SliceStable(cols, func(i, j int) bool { return cols[i].name < cols[j].name })
	}
	type candidate struct {
		shown    string
		distance int
	}
	var all []candidate
	seen := map[string]bool{}
	for _, c := range cols {
		if c.hidden {
			continue
		}
		full := append(append([]string{}, c.qual...), c.name)
		show := full
		if len(parts) == 1 && same {
			show = full[len(full)-1:]
		} else if len(full) > 2 {
			show = full[len(full)-2:]
		}
		s := quoteParts(show)
		if seen[s] {
			continue
		}
		seen[s] = true
		all = append(all, candidate{s, levenshtein(s, strings.Join(parts, "."))})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].distance < all[j].distance })
	var out []string
	for i := 0; i < len(all) && i < 5; i++ {
		out = append(out, all[i].shown)
	}
	return strings.Join(out, ", ")
}

func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cur := row[j]
			cost := prev
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			prev = cur
		}
	}
	return row[len(b)]
}

// negated is a positive number of a parameter with a minus before it; ok is false for anything else.
func negated(e expr.Expr) (*expr.Literal, bool) {
	l, ok := e.(*expr.Literal)
	if !ok || l.Value == nil || l.Value.IsNull(0) || !l.Value.Type.IsIntegral() || strings.HasPrefix(l.String(), "-") {
		return nil, false
	}
	var n int64
	if l.Value.Type.Kind == types.BigInt {
		n = l.Value.I64[0]
	} else if l.Value.Type.Kind == types.Int {
		n = int64(l.Value.I32[0])
	} else {
		return nil, false
	}
	return expr.IntegralLit(-n, l.Value.Type.Kind), true
}
