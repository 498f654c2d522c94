package plan

import (
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

func sortStrings(s []string) { sort.Strings(s) }

// item is an entry of a select list.
type item struct {
	e       expr.Expr
	name    string
	names   []string // AS (a, b) of generators
	aliased bool
	star    bool
	qual    []string
	span    sql.Span
	ast     sql.Expr
}

// query analyses a query; outer is the scope around a subquery, nil at the top.
func (a *analyzer) query(q *sql.Query, outer *scope) Node {
	var w *WithQuery
	if len(q.With) > 0 {
		old := a.ctes
		defer func() { a.ctes = old }()
		w = &WithQuery{}
		a.with(q, w, outer)
	}
	n := a.body(q.Body, outer, q)
	n = a.limits(n, q.Limit, q.Offset, q.Body)
	if w != nil && w.used {
		n = &Project{Child: n, Exprs: allColumns(n), Out: n.Schema(), With: w}
	}
	return n
}

// reading gives the node of a name of WITH where it is read.
func (c *cte) reading() Node {
	if c.query == nil || !c.node.Streaming() {
		return c.node
	}
	c.query.used = true
	return &Project{Child: c.node, Exprs: allColumns(c.node), Out: c.node.Schema(), With: c.query, Named: true}
}

func (a *analyzer) with(q *sql.Query, w *WithQuery, outer *scope) {
	seen := map[string]bool{}
	for i := range q.With {
		c := &q.With[i]
		k := strings.ToLower(c.Name)
		if seen[k] {
			a.fail(q, "DUPLICATED_CTE_NAMES", "duplicateNames", types.Quote(c.Name))
		}
		seen[k] = true
		var n Node
		if q.Recursive {
			n = a.recursive(q, c, outer)
		}
		if n == nil {
			n = a.query(c.Query, outer)
		}
		n = a.renamed(c, n, c.Columns)
		a.ctes = &cteScope{a.ctes, map[string]*cte{k: {node: n, query: w, cols: columnsOf(n, []string{c.Name})}}}
	}
}

// mentions reports whether the text of a query holds a name.
func (a *analyzer) mentions(q *sql.Query, name string) bool {
	if q.End > len(a.text) {
		return true
	}
	return strings.Contains(strings.ToLower(a.text[q.Start:q.End]), strings.ToLower(name))
}

// renamed gives other names to the columns of a node; no names keep it.
func (a *analyzer) renamed(at sql.Node, n Node, names []string) Node {
	if len(names) == 0 {
		return n
	}
	s := n.Schema()
	if len(names) != len(s) {
		a.fail(at, "ASSIGNMENT_ARITY_MISMATCH", "numExpr", len(names), "numTarget", len(s))
	}
	return newProject(n, allColumns(n), names)
}

// limits puts LIMIT and OFFSET over n, which body, nil if unknown, is the text of.
func (a *analyzer) limits(n Node, limit, offset sql.Expr, body sql.Body) Node {
	l := &Limit{Child: n, N: -1}
	if limit != nil {
		l.N = a.count("limit", limit, n, body)
	}
	if offset != nil {
		l.Offset = a.count("offset", offset, n, body)
	}
	if l.N < 0 && offset == nil {
		return n
	}
	return l
}

// count is the constant of LIMIT or OFFSET over n.
func (a *analyzer) count(name string, e sql.Expr, over Node, body sql.Body) int64 {
	x := &resolver{a: a, sc: newScope(over, columnsOf(over, nil), nil)}
	if n, ok := e.(*sql.Name); ok && x.variableRef(n) == nil {
		if over.Schema().Index(n.Parts[len(n.Parts)-1]) < 0 {
			a.failWith(e, unresolvedColumn(n.Parts, columnsOf(over, nil)))
		}
		a.fail(columnPlace(n, body), "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE", "name", name, "expr", `"`+n.Parts[len(n.Parts)-1]+`"`)
	}
	v := strip(x.expr(e))
	shown := `"` + v.String() + `"`
	if !expr.Deterministic(v) {
		shown = `"_nondeterministic"`
	}
	var l *expr.Literal
	if !hasSubquery(v) {
		var err error
		l, err = expr.Const(v, a.conf.Expr)
		a.check(e, err)
	}
	switch {
	case l == nil:
		a.fail(e, "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE", "name", name, "expr", shown)
	case l.Type().Kind != types.Int:
		a.fail(e, "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE", "name", name, "expr", shown, "dataType", `"`+l.Type().SQL()+`"`)
	case l.Value.IsNull(0):
		a.fail(e, "INVALID_LIMIT_LIKE_EXPRESSION.IS_NULL", "name", name, "expr", shown)
	case l.Value.I32[0] < 0:
		a.fail(e, "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE", "name", name, "expr", shown, "v", l.Value.I32[0])
	}
	return int64(l.Value.I32[0])
}

// columnPlace is where a column of a body's output came from, which is the place that Spark knows of it: a
// plain item of the select list, the whole SELECT for one of a star, else the reference n itself.
func columnPlace(n *sql.Name, body sql.Body) sql.Node {
	s, ok := body.(*sql.Select)
	if !ok {
		return n
	}
	star := false
	for _, it := range s.Items {
		c, plain := it.Expr.(*sql.Name)
		if plain && it.Alias == "" && strings.EqualFold(c.Parts[len(c.Parts)-1], n.Parts[len(n.Parts)-1]) {
			return c
		}
		if _, ok := it.Expr.(*sql.Star); ok {
			star = true
		} else if strings.EqualFold(it.Alias, n.Parts[len(n.Parts)-1]) {
			return n
		}
	}
	if star {
		return s
	}
	return n
}

// body analyses a body with the ordering of its query q; q is nil for bodies inside set operations.
func (a *analyzer) body(b sql.Body, outer *scope, q *sql.Query) Node {
	if s, ok := b.(*sql.Select); ok {
		return a.selectBody(s, outer, q)
	}
	var n Node
	switch t := b.(type) {
	case *sql.SetOp:
		n = a.setOp(t, outer)
	case *sql.Values:
		n = a.values(t, nil)
	case *sql.TableBody:
		n = trimmed(a.relation(t.Table, outer))
	case *sql.Parens:
		n = a.query(t.Query, outer)
	case *sql.PipeBody:
		n = a.pipe(t, outer)
	default:
		a.fail(b, "UNSUPPORTED_FEATURE", "feature", "this query")
	}
	if q == nil {
		return n
	}
	sc := newScope(n, columnsOf(n, nil), outer)
	return a.sorts(sc, q, func(e sql.Expr) expr.Expr {
		return (&resolver{a: a, sc: sc}).expr(e)
	})
}

// trimmed is a scope's visible columns as a node.
func trimmed(sc *scope) Node {
	var es []expr.Expr
	var names []string
	same := true
	for _, c := range sc.cols {
		if c.hidden {
			continue
		}
		same = same && c.index == len(es)
		es = append(es, &expr.Column{Index: c.index, Field: c.field})
		names = append(names, c.name)
	}
	if same && len(es) == len(sc.node.Schema()) {
		return sc.node
	}
	return newProject(sc.node, es, names)
}

// localOrder is SORT BY, or that of CLUSTER BY.
func localOrder(q *sql.Query) []sql.OrderItem {
	items := q.SortBy
	for _, e := range q.ClusterBy {
		items = append(items[:len(items):len(items)], sql.OrderItem{Span: spanOf(e), Expr: e})
	}
	return items
}

// sorts puts ORDER BY and SORT BY over a node whose columns are all that they may see.
func (a *analyzer) sorts(sc *scope, q *sql.Query, resolve func(sql.Expr) expr.Expr) Node {
	n := sc.node
	items := q.OrderBy
	local := false
	if len(items) == 0 {
		items = localOrder(q)
		local = len(items) > 0
	}
	if len(items) == 0 {
		return n
	}
	var orders []Ordering
	if q.OrderAll {
		for _, c := range allColumns(n) {
			orders = append(orders, ordering(c, items[0]))
		}
	} else {
		for _, it := range items {
			if i, ok := a.ordinal(it.Expr, "spark.sql.orderByOrdinal"); ok {
				if i < 1 || i > len(n.Schema()) {
					a.fail(it.Expr, "ORDER_BY_POS_OUT_OF_RANGE", "index", i, "size", len(n.Schema()))
				}
				orders = append(orders, ordering(columnAt(n, i-1), it))
				continue
			}
			e := resolve(it.Expr)
			a.orderable(it, e)
			orders = append(orders, ordering(strip(e), it))
		}
	}
	return &Sort{Child: n, Orders: orders, Local: local}
}

func (a *analyzer) orderable(at sql.Node, e expr.Expr) {
	if !orderable(e.Type()) {
		a.fail(at, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "functionName", "`sortorder`",
			"dataType", `"`+e.Type().SQL()+`"`, "sqlExpr", `"`+e.String()+` ASC NULLS FIRST"`)
	}
}

func orderable(t types.DataType) bool {
	switch t.Kind {
	case types.Map, types.Variant, types.Calendar:
		return false
	case types.Array:
		return orderable(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if !orderable(f.Type) {
				return false
			}
		}
	}
	return true
}

// ordinal is the position that an integer literal stands for.
func (a *analyzer) ordinal(e sql.Expr, key string) (int, bool) {
	if !a.conf.on(key, true) {
		return 0, false
	}
	if p, ok := e.(*sql.Param); ok {
		v, _ := (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).param(p).(*expr.Literal)
		if v == nil || v.Type().Kind != types.Int || v.Value.IsNull(0) {
			return 0, false
		}
		return int(v.Value.I32[0]), true
	}
	l, ok := e.(*sql.Literal)
	if !ok || l.Kind != "int" {
		return 0, false
	}
	n, neg := 0, false
	for i, r := range l.Text {
		if r == '-' && i == 0 {
			neg = true
			continue
		}
		if r < '0' || r > '9' || n > 1<<24 {
			return 0, false
		}
		n = n*10 + int(r-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// ---- set operations

func (a *analyzer) setOp(s *sql.SetOp, outer *scope) Node {
	return a.combine(s, a.body(s.Left, outer, nil), a.body(s.Right, outer, nil))
}

// combine is a set operation on two nodes.
func (a *analyzer) combine(s *sql.SetOp, l, r Node) Node {
	ls, rs := l.Schema(), r.Schema()
	op := strings.ToUpper(s.Op)
	if op == "MINUS" {
		op = "EXCEPT"
	}
	shown := op
	if s.All && op != "UNION" {
		shown += " ALL"
	}
	if len(ls) != len(rs) {
		a.fail(s, "NUM_COLUMNS_MISMATCH", "operator", shown, "firstNumColumns", len(ls),
			"invalidOrdinalNum", "second", "invalidNumColumns", len(rs))
	}
	common := make([]types.DataType, len(ls))
	for i := range ls {
		t, ok := expr.CommonTypeOf(ls[i].Type, rs[i].Type, a.conf.Expr)
		if !ok && sameShape(ls[i].Type, rs[i].Type) {
			t, ok = ls[i].Type, true
		}
		if !ok {
			a.fail(s, "INCOMPATIBLE_COLUMN_TYPE", "operator", shown, "columnOrdinalNumber", ordinalWord(i),
				"tableOrdinalNumber", "second", "dataType1", `"`+rs[i].Type.SQL()+`"`, "dataType2", `"`+ls[i].Type.SQL()+`"`, "hint", "")
		}
		common[i] = t
		if (op != "UNION" || !s.All) && holdsMap(t) {
			a.fail(s, "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE", "colName", types.Quote(ls[i].Name), "dataType", `"`+t.SQL()+`"`)
		}
	}
	l, r = a.castAt(s, l, common), a.castAt(s, r, common)
	ls, rs = l.Schema(), r.Schema()
	out := make(types.Schema, len(ls))
	for i := range ls {
		out[i] = ls[i]
		out[i].Nullable = ls[i].Nullable || rs[i].Nullable
	}
	if op == "UNION" {
		for i := range out {
			out[i].Type = common[i] // what may be null inside one side's values may be so in the result
		}
		inputs := []Node{l, r}
		if u, ok := l.(*Union); ok && unionAll(s.Left) {
			inputs = append(append([]Node{}, u.Inputs...), r)
		}
		var n Node = &Union{Inputs: inputs, Out: out}
		if !s.All {
			n = distinct(n)
		}
		return n
	}
	if op == "EXCEPT" {
		for i := range out {
			out[i].Nullable = ls[i].Nullable
		}
	}
	return &SetOp{Except: op == "EXCEPT", All: s.All, Left: l, Right: r, Out: out}
}

// sameShape says whether two nested types differ only in the names of their fields, which a set operation takes from
// its first side.
func sameShape(a, b types.DataType) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case types.Array:
		return sameShape(*a.Elem, *b.Elem)
	case types.Map:
		return sameShape(*a.Key, *b.Key) && sameShape(*a.Elem, *b.Elem)
	case types.Struct:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i, f := range a.Fields {
			if !sameShape(f.Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

func unionAll(b sql.Body) bool {
	if b == nil {
		return false
	}
	s, ok := b.(*sql.SetOp)
	return ok && s.All && strings.EqualFold(s.Op, "UNION")
}

func ordinalWord(i int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if i < len(words) {
		return words[i]
	}
	return itoa(i+1) + "th"
}

// castAt is castTo for a part of the text, where values that cannot be cast are shown.
func (a *analyzer) castAt(at sql.Node, n Node, ts []types.DataType) Node {
	p, ok := a.castTo(n, ts).(*Project)
	if !ok || Node(p) == n {
		return a.castTo(n, ts)
	}
	if a.text != "" {
		pos, _ := a.placed(at.Pos())
		for _, e := range p.Exprs {
			if _, plain := e.(*expr.Column); !plain {
				expr.SetPos(e, pos)
			}
		}
	}
	return p
}

// castTo casts the columns of a node to types; the node itself if they are so already.
func (a *analyzer) castTo(n Node, ts []types.DataType) Node {
	es := allColumns(n)
	changed := false
	for i, e := range es {
		if !e.Type().Equal(ts[i]) {
			es[i] = expr.CastTo(e, ts[i], a.conf.Expr)
			changed = true
		}
	}
	if !changed {
		return n
	}
	return newProject(n, es, n.Schema().Names())
}

// ---- VALUES

// values evaluates VALUES; names are those of its alias, for errors.
func (a *analyzer) values(v *sql.Values, aliases []string) Node {
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	width := -1
	cells := make([][]expr.Expr, len(v.Rows))
	for i, row := range v.Rows {
		list := row
		if len(row) == 1 {
			if r, ok := row[0].(*sql.RowExpr); ok {
				list = r.Items
			}
			if f, ok := row[0].(*sql.FuncCall); ok && functionName(f.Name) == "struct" && len(f.Args) > 0 && !f.Distinct {
				list = f.Args // struct(a, b) is another way to write a row
			}
		}
		if width < 0 {
			width = len(list)
			if len(aliases) > 0 && len(aliases) != width {
				a.fail(v, "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", "expectedNumCols", len(aliases), "actualNumCols", width, "rowIndex", i)
			}
		}
		if len(list) != width {
			a.fail(v, "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", "expectedNumCols", width, "actualNumCols", len(list), "rowIndex", i)
		}
		for _, e := range list {
			r := x.expr(e)
			if al, ok := r.(*expr.Alias); ok {
				r = al.Child
			}
			if hasAggregate(r) || hasSubquery(r) || !expr.Deterministic(r) || anyExpr(r, func(y expr.Expr) bool { _, g := y.(*expr.Column); return g }) {
				a.fail(e, "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE", "expr", `"`+r.String()+`"`)
			}
			cells[i] = append(cells[i], strip(r))
		}
	}
	name := func(c int) string {
		if c < len(aliases) {
			return aliases[c]
		}
		return "col" + itoa(c+1)
	}
	ts := make([]types.DataType, width)
	out := make(types.Schema, width)
	for c := 0; c < width; c++ {
		for i := range cells {
			t := cells[i][c].Type()
			if i == 0 {
				ts[c] = t
				continue
			}
			u, ok := expr.TightestCommonType(ts[c], t)
			if !ok {
				a.fail(v, "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE", "colName", types.Quote(name(c)))
			}
			ts[c] = u
		}
		out[c] = types.Field{Name: "col" + itoa(c+1), Type: ts[c]}
	}
	return a.constantRows(v, cells, ts, out)
}

// constantRows evaluates rows of constants to a Values node.
func (a *analyzer) constantRows(at sql.Node, cells [][]expr.Expr, ts []types.DataType, out types.Schema) Node {
	vecs := newColumns(ts)
	for _, row := range cells {
		for c, e := range row {
			l, err := expr.Const(expr.CastTo(e, ts[c], a.conf.Expr), a.conf.Expr)
			a.check(at, err)
			if l == nil {
				a.fail(at, "INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE", "expr", `"`+e.String()+`"`)
			}
			out[c].Nullable = out[c].Nullable || l.Value.IsNull(0)
			vecs.append(c, l)
		}
	}
	return &Values{Rows: vecs.batches(out, len(cells)), Out: out}
}

// proposalError is UNRESOLVED_COLUMN for a name that is not in a list.
func proposalError(name string, s types.Schema) *errs.Error {
	cols := make([]column, len(s))
	for i, f := range s {
		cols[i] = column{name: f.Name, index: i, field: f}
	}
	return errs.As(unresolvedColumn([]string{name}, cols))
}
