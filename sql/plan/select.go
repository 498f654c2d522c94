package plan

import (
	"regexp"
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// selectBody analyses one SELECT; q is the query around it, whose ORDER BY may see more than the output, or
// nil.
func (a *analyzer) selectBody(s *sql.Select, outer *scope, q *sql.Query) Node {
	sc := a.from(s.From, outer)
	return a.selectOver(sc, s, q)
}

// selectOver analyses a SELECT whose FROM is a scope.
func (a *analyzer) selectOver(sc *scope, s *sql.Select, q *sql.Query) Node {
	a.hints(s)
	for i := range s.Views {
		a.lateralView(sc, &s.Views[i])
	}
	if s.Where != nil {
		a.where(sc, s.Where, s)
	}
	x := &resolver{a: a, sc: sc, at: s, grouped: s.GroupBy != nil, windows: map[string]*sql.WindowSpec{}}
	for _, ws := range [][]sql.NamedWindow{s.Windows, queryWindows(q)} {
		for _, w := range ws {
			x.windows[strings.ToLower(w.Name)] = w.Spec
		}
	}
	x.groupAt = s.Span
	if s.GroupBy != nil {
		x.groupAt = s.GroupBy.Span
	}
	if s.GroupBy != nil { // the select list may speak of the window that GROUP BY makes
		for _, g := range s.GroupBy.Items {
			x.makeWindows(g.Expr)
			for _, set := range g.Sets {
				for _, e := range set {
					x.makeWindows(e)
				}
			}
		}
	}
	list := s.Items
	if len(list) == 0 && s.FromFirst {
		list = []sql.SelectItem{{Span: s.Span, Expr: &sql.Star{Span: s.Span}}}
	}
	items := x.items(list)
	groups := x.groupBy(s.GroupBy, items)

	b := &block{a: a, x: x, sc: sc, items: items, at: s}
	y := *x
	y.aliases, y.generators = items, false
	if s.Having != nil {
		if s.GroupBy == nil && !anyItem(items, hasAggregate) && a.fails(func() { z := y; z.expr(s.Having) }) {
			a.fail(s, "MISSING_GROUP_BY") // Spark looks at the clause before its columns
		}
		y.having = true
		b.having = y.expr(s.Having)
		y.having = false
		b.havingAt = s.Having
	}
	if s.Qualify != nil {
		b.qualify = y.expr(s.Qualify)
		if !hasWindow(b.qualify) && !anyItem(items, hasWindow) {
			a.fail(s.Qualify, "QUALIFY_REQUIRES_WINDOW_FUNCTION")
		}
		a.boolean(s.Qualify, b.qualify)
	}
	if q != nil {
		b.orders(q, s.Distinct, &y)
	}
	grouped := groups != nil || anyItem(items, hasAggregate) || b.having != nil
	for _, o := range b.sort {
		grouped = grouped || hasAggregate(o.Child)
	}
	if grouped {
		late := a.late
		a.late = nil
		b.group(groups)
		for _, f := range late {
			f()
		}
	} else {
		b.lower()
	}
	b.windows()
	return b.finish(s.Distinct)
}

func queryWindows(q *sql.Query) []sql.NamedWindow {
	if q == nil {
		return nil
	}
	return q.Windows
}

func anyItem(items []*item, f func(expr.Expr) bool) bool {
	for _, it := range items {
		if f(it.e) {
			return true
		}
	}
	return false
}

// makeWindows resolves the time window that stands in a grouping expression.
func (x *resolver) makeWindows(e sql.Expr) {
	switch n := e.(type) {
	case *sql.FuncCall:
		if k := functionName(n.Name); n.Over == nil && (k == "window" || k == "session_window") {
			x.call(n)
		}
	case *sql.Field:
		x.makeWindows(n.X)
	case *sql.Paren:
		x.makeWindows(n.X)
	}
}

// items resolves a select list; each entry sees the aliases before it.
func (x *resolver) items(list []sql.SelectItem) []*item {
	var out []*item
	x.generators, x.lateral = true, true
	for i := range list {
		it := &list[i]
		if s, ok := it.Expr.(*sql.Star); ok {
			out = append(out, x.star(s)...)
			continue
		}
		if x.a.conf.on("spark.sql.lateralColumnAlias.enableImplicitResolution", true) {
			x.aliases = out
		}
		x.root = x.at
		if it.Alias != "" {
			x.root = it
		}
		e := x.top(it.Expr)
		x.root = nil
		n := &item{e: e, span: it.Span, ast: it.Expr, names: it.Aliases}
		switch {
		case it.Alias != "":
			n.name, n.aliased = it.Alias, true
		default:
			n.name = itemName(it.Expr, e)
		}
		if al, ok := e.(*expr.Alias); ok {
			n.e = al.Child
			if it.Alias == "" {
				n.name, n.aliased = al.Name, true
			}
		}
		g, isGenerator := n.e.(*generator)
		if isGenerator {
			x.generatorNames(it, n, g)
		}
		nested := 0
		expr.Walk(n.e, func(e expr.Expr) bool {
			if _, ok := e.(*generator); ok {
				nested++
			}
			return true
		})
		if nested > 1 || nested == 1 && !isGenerator {
			x.fail(it.Expr, "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", "expression", `"`+n.e.String()+`"`)
		}
		out = append(out, n)
	}
	x.generators, x.lateral = false, false
	x.aliases = nil
	return out
}

// itemName is the name that Spark gives to a select item without alias.
func itemName(ast sql.Expr, e expr.Expr) string {
	switch n := ast.(type) {
	case *sql.Paren:
		return itemName(n.X, e)
	case *sql.Name:
		return n.Parts[len(n.Parts)-1]
	case *sql.Field:
		for inner := n.X; ; {
			switch p := inner.(type) {
			case *sql.Paren:
				inner = p.X
				continue
			case *sql.Field:
				inner = p.X
				continue
			case *sql.Name:
				return n.Name
			}
			break
		}
	case *sql.Cast:
		if name, ok := plainColumn(n.X, e); ok {
			return name
		}
	case *sql.FuncCall:
		if k := functionName(n.Name); typeFunctions[k] != 0 && len(n.Args) == 1 {
			if name, ok := plainColumn(n.Args[0], e); ok {
				return name
			}
		}
		if functionName(n.Name) == "identifier" {
			if c, ok := e.(*expr.Column); ok {
				return c.Field.Name
			}
		}
	}
	return e.String()
}

// plainColumn is the name of a column whose cast e is.
func plainColumn(ast sql.Expr, e expr.Expr) (string, bool) {
	for {
		switch n := ast.(type) {
		case *sql.Paren:
			ast = n.X
			continue
		case *sql.Cast:
			ast = n.X
			continue
		case *sql.SemiPath:
			for {
				if c, ok := e.(*expr.Cast); ok {
					e = c.Child
					continue
				}
				if al, ok := e.(*expr.Alias); ok {
					return al.Name, true
				}
				return "", false
			}
		case *sql.Name:
			for {
				switch c := e.(type) {
				case *expr.Cast:
					e = c.Child
					continue
				case *expr.Column:
					return n.Parts[len(n.Parts)-1], true
				case *named:
					return c.name, len(n.Parts) == 1
				}
				return "", false
			}
		}
		return "", false
	}
}

// from joins the relations of FROM with commas.
func (a *analyzer) from(rels []sql.Relation, outer *scope) *scope {
	if len(rels) == 0 {
		return newScope(&OneRow{}, nil, outer)
	}
	sc := a.relation(rels[0], outer)
	for _, r := range rels[1:] {
		sc = a.comma(sc, r, outer)
	}
	return sc
}

// comma joins what stands before a comma with what stands behind it. A comma binds no weaker than JOIN: of
// `l, r JOIN t ON …` the condition sees the columns of l, too (AstBuilder.visitFromClause).
func (a *analyzer) comma(left *scope, r sql.Relation, outer *scope) *scope {
	if j, ok := r.(*sql.Join); ok {
		return a.joinWith(a.comma(left, j.Left, outer), j, outer)
	}
	if isLateral(r) {
		return a.lateralJoin(r, &sql.Join{Span: spanOf(r), Kind: sql.InnerJoin, Right: r}, left, outer)
	}
	return a.joined(r, sql.InnerJoin, left, a.relation(r, outer), nil, outer)
}

func spanOf(n sql.Node) sql.Span { return n.Pos() }

// boolean demands a condition.
func (a *analyzer) boolean(at sql.Node, e expr.Expr) {
	if k := e.Type().Kind; k != types.Boolean {
		a.fail(at, "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", "sqlExpr", `"`+e.String()+`"`,
			"filter", `"`+e.String()+`"`, "type", `"`+e.Type().SQL()+`"`)
	}
}

// qualified prints an aggregate with its columns qualified, as errors about clauses do.
func (a *analyzer) qualified(e expr.Expr, sc *scope) string {
	s := e.String()
	done := map[int]bool{}
	columnsIn(e, func(c *expr.Column) {
		for _, k := range sc.cols {
			qual := k.qual
			if k.auto {
				qual = []string{"__auto_generated_subquery_name"}
			}
			if k.index == c.Index && len(qual) > 0 && !done[c.Index] {
				done[c.Index] = true
				s = strings.Replace(s, c.Field.Name, strings.Join(qual, ".")+"."+c.Field.Name, 1)
			}
		}
	})
	return s
}

// where filters a scope.
func (a *analyzer) where(sc *scope, cond sql.Expr, at sql.Node) {
	x := &resolver{a: a, sc: sc, inWhere: true, root: cond}
	e := x.expr(cond)
	if hasAggregate(e) {
		var list []string
		expr.Walk(e, func(y expr.Expr) bool {
			if _, ok := y.(*expr.AggregateCall); ok {
				list = append(list, a.qualified(y, sc))
			}
			return true
		})
		a.fail(at, "INVALID_WHERE_CONDITION", "condition", `"`+e.String()+`"`, "expressionList", strings.Join(list, ", "))
	}
	if hasWindow(e) {
		a.fail(cond, "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", "clauseName", "WHERE")
	}
	a.boolean(at, e)
	sc.node = a.filtered(sc.node, e)
}

// block is a SELECT between resolution and its nodes: the expressions that grouping, windows and generators
// rewrite together.
type block struct {
	a        *analyzer
	x        *resolver
	sc       *scope
	items    []*item
	having   expr.Expr
	havingAt sql.Node
	qualify  expr.Expr
	sort     []Ordering
	sortAt   []sql.Node
	orderAll bool
	orderAt  sql.Span // ORDER BY
	local    bool
	at       *sql.Select
}

// slots are all expressions that are computed after grouping.
func (b *block) slots(having bool) []*expr.Expr {
	var out []*expr.Expr
	for _, it := range b.items {
		out = append(out, &it.e)
	}
	if having && b.having != nil {
		out = append(out, &b.having)
	}
	if b.qualify != nil {
		out = append(out, &b.qualify)
	}
	for i := range b.sort {
		out = append(out, &b.sort[i].Child)
	}
	return out
}

// orders resolves ORDER BY: output columns come first.
func (b *block) orders(q *sql.Query, distinct bool, y *resolver) {
	items := q.OrderBy
	if len(items) == 0 {
		items = localOrder(q)
		b.local = len(items) > 0
	}
	b.orderAll, b.orderAt = q.OrderAll, q.OrderSpan
	if q.OrderAll {
		for _, it := range b.items {
			b.sort = append(b.sort, ordering(it.e, items[0]))
			b.sortAt = append(b.sortAt, &items[0])
		}
		return
	}
	z := *y
	z.outputFirst, z.outputOnly = true, distinct
	for i := range items {
		it := &items[i]
		var e expr.Expr
		if p, ok := b.a.ordinal(it.Expr, "spark.sql.orderByOrdinal"); ok {
			if p < 1 || p > len(b.items) {
				b.a.fail(it.Expr, "ORDER_BY_POS_OUT_OF_RANGE", "index", p, "size", len(b.items))
			}
			e = b.items[p-1].e
		} else {
			e = z.expr(it.Expr)
		}
		orderAt := q.OrderSpan
		expr.Walk(e, func(s expr.Expr) bool {
			if q, ok := s.(*subquery); ok && !b.isItem(e) {
				if q.kind != scalarQuery {
					at := sql.Node(it.Expr)
					if in, ok := it.Expr.(*sql.InQuery); ok {
						at = after(in, in.X)
					}
					b.a.fail(at, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY", "treeNode", q.text)
				}
				if nodeHasOuter(q.node) {
					b.a.fail(orderAt, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY", "treeNode", q.text)
				}
			}
			return true
		})
		if hasWindow(e) && !b.isItem(e) {
			if _, isName := it.Expr.(*sql.Name); !isName {
				b.a.fail(q.OrderSpan, "UNSUPPORTED_EXPR_FOR_OPERATOR", "invalidExprSqls", `"`+e.String()+`"`)
			}
		}
		b.a.orderable(it.Expr, e)
		b.sort = append(b.sort, ordering(e, *it))
		b.sortAt = append(b.sortAt, it.Expr)
	}
}

func (b *block) isItem(e expr.Expr) bool {
	id := identity(e)
	for _, it := range b.items {
		if identity(it.e) == id {
			return true
		}
	}
	return false
}

// lower turns the subqueries of the block's expressions into joins below.
func (b *block) lower() {
	for _, s := range b.slots(true) {
		b.sc.node, *s = b.a.lowered(b.sc.node, *s)
	}
}

// finish makes generators, projection, DISTINCT and sort.
func (b *block) finish(isDistinct bool) Node {
	n := b.sc.node
	if b.having != nil {
		n = b.a.filtered(n, b.having)
	}
	if b.qualify != nil {
		n = b.a.filtered(n, b.qualify)
	}
	var es []expr.Expr
	var names []string
	n, es, names = b.generate(n)
	extra := 0
	orders := make([]Ordering, len(b.sort))
	ids := map[string]int{}
	for i, e := range es {
		if _, ok := ids[identity(e)]; !ok {
			ids[identity(e)] = i
		}
	}
	for i, o := range b.sort {
		e, whole := overOutput(o.Child, ids, es, names)
		if !whole {
			if isDistinct {
				b.a.failWith(b.sortAt[i], unresolvedColumn([]string{o.Child.String()}, outputColumns(names)))
			}
			es = append(es, o.Child)
			names = append(names, o.Child.String())
			f := fieldOf(o.Child.String(), o.Child)
			e = &expr.Column{Index: len(es) - 1, Field: f}
			extra++
		}
		orders[i] = o
		orders[i].Child = e
	}
	var out Node = newProject(n, es, names)
	if isDistinct {
		for _, f := range out.Schema() {
			if f.Type.Kind == types.Variant {
				b.a.fail(b.at, "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE",
					"colName", types.Quote(f.Name), "dataType", `"`+f.Type.SQL()+`"`)
			}
			if holdsMap(f.Type) {
				b.a.fail(b.at, "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE",
					"colName", types.Quote(f.Name), "dataType", `"`+f.Type.SQL()+`"`)
			}
		}
		out = distinct(out)
	}
	if len(orders) > 0 {
		out = &Sort{Child: out, Orders: orders, Local: b.local}
	}
	if extra > 0 {
		keep := allColumns(out)[:len(es)-extra]
		out = newProject(out, keep, names[:len(es)-extra])
	}
	return out
}

func outputColumns(names []string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{name: n, index: i}
	}
	return out
}

// overOutput rewrites a sort key to the columns of the projection; whole is false if something is left that
// the projection does not give.
func overOutput(e expr.Expr, ids map[string]int, es []expr.Expr, names []string) (out expr.Expr, whole bool) {
	whole = true
	var walk func(expr.Expr) expr.Expr
	walk = func(x expr.Expr) expr.Expr {
		if i, ok := ids[identity(x)]; ok {
			return &expr.Column{Index: i, Field: fieldOf(names[i], es[i])}
		}
		if _, ok := x.(*expr.Column); ok {
			whole = false
			return x
		}
		return mapKids(x, walk)
	}
	out = strip(walk(e))
	if !expr.Deterministic(e) && !whole {
		whole = false
	}
	return
}

var coalesceHint = regexp.MustCompile(`(?i)^\s*COALESCE\s*(\(\s*\d+\s*\))?\s*$`)

// hints checks the arguments of COALESCE; hints have no effect here.
func (a *analyzer) hints(s *sql.Select) {
	for _, h := range s.Hints {
		word, _, _ := strings.Cut(h, "(")
		if !strings.EqualFold(strings.TrimSpace(word), "COALESCE") {
			continue
		}
		if m := coalesceHint.FindStringSubmatch(h); m == nil || m[1] == "" {
			a.fail(nil, "_LEGACY_ERROR_TEMP_1048", "hintName", "COALESCE")
		}
	}
}
