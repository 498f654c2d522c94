package plan

import (
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Subqueries become joins: a scalar one a join with its only row, correlated ones joins on what they take
// from the query around, EXISTS and IN semi and anti joins, or a join that says whether a row matches.

func (x *resolver) subquery(at sql.Node, q *sql.Query) Node {
	if x.sc == nil {
		x.fail(at, "UNSUPPORTED_FEATURE", "feature", "a subquery here")
	}
	ctes := x.a.ctes
	n := x.a.query(q, x.sc)
	x.a.ctes = ctes
	if n.Streaming() {
		x.fail(at, "INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY")
	}
	return n
}

// outerNames are the columns that a plan takes from around, as text.
func outerNames(n Node) string {
	var names []string
	seen := map[string]bool{}
	mapOuter(n, func(o *outerRef) expr.Expr {
		if s := o.String(); !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
		return o
	})
	return strings.Join(names, ", ")
}

func (x *resolver) scalarSubquery(q *sql.Scalar) expr.Expr {
	n := x.subquery(q, q.Query)
	s := n.Schema()
	if len(s) != 1 {
		x.fail(q, "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN", "number", len(s))
	}
	sub := &subquery{kind: scalarQuery, node: n, out: s[0].Type, null: true, text: "scalarsubquery(" + outerNames(n) + ")"}
	if x.a.text != "" {
		sub.pos, _ = x.a.placed(q.Span)
	}
	return sub
}

func (x *resolver) existsSubquery(q *sql.Exists) expr.Expr {
	n := x.subquery(q, q.Query)
	return &subquery{kind: existsQuery, node: n, out: types.Of(types.Boolean), text: "exists(" + outerNames(n) + ")"}
}

// inText is the left side of IN as errors print it, with an open bracket.
func inText(xs []expr.Expr) string {
	if len(xs) == 1 {
		return "(" + xs[0].String()
	}
	var l []string
	for _, e := range xs {
		l = append(l, "'"+e.String()+"'", e.String())
	}
	return "(named_struct(" + strings.Join(l, ", ") + ")"
}

func (x *resolver) inSubquery(q *sql.InQuery) expr.Expr {
	var xs []expr.Expr
	if r, ok := q.X.(*sql.RowExpr); ok {
		xs = x.exprs(r.Items)
	} else {
		xs = []expr.Expr{x.expr(q.X)}
	}
	n := x.subquery(q, q.Query)
	s := n.Schema()
	if len(s) != len(xs) {
		var l, r []string
		for _, e := range xs {
			l = append(l, `"`+e.String()+`"`)
		}
		for _, f := range s {
			r = append(r, `"`+f.Name+`"`)
		}
		x.fail(after(q, q.X), "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH", "sqlExpr", `"`+inText(xs)+` IN (listquery())`+`)"`, "leftLength", len(xs), "rightLength", len(s),
			"leftColumns", strings.Join(l, ", "), "rightColumns", strings.Join(r, ", "))
	}
	ts := make([]types.DataType, len(s))
	for i := range s {
		t, ok := expr.CommonTypeOf(xs[i].Type(), s[i].Type, x.a.conf.Expr)
		if !ok {
			x.fail(after(q, q.X), "DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH", "sqlExpr", `"`+inText(xs)+` IN (listquery())`+`)"`,
				"leftType", `"`+xs[i].Type().SQL()+`"`, "rightType", `"`+s[i].Type.SQL()+`"`,
				"mismatchedColumns", "("+x.a.qualified(xs[i], x.sc)+":"+xs[i].Type().Simple()+", "+types.QuoteIfNeeded(s[i].Name)+":"+s[i].Type.Simple()+")")
		}
		ts[i] = t
		xs[i] = expr.CastTo(xs[i], t, x.a.conf.Expr)
	}
	n = x.a.castAt(after(q, q.X), n, ts)
	text := "(" + xs[0].String() + " IN (listquery(" + outerNames(n) + ")))"
	if q.Not {
		text = "(NOT " + text + ")"
	}
	return &subquery{kind: inQuery, not: q.Not, node: n, xs: xs, out: types.Of(types.Boolean), text: text}
}

// negation is the argument of NOT.
func negation(e expr.Expr) (expr.Expr, bool) {
	if s, ok := e.(*expr.Scalar); ok && strings.EqualFold(s.Name, "not") && len(s.Args) == 1 {
		return s.Args[0], true
	}
	return nil, false
}

// filtered keeps the rows of n for which cond is true. Conjuncts that are EXISTS or IN become semi and anti
// joins.
func (a *analyzer) filtered(n Node, cond expr.Expr) Node {
	if !hasSubquery(cond) {
		return &Filter{Child: n, Cond: strip(cond)}
	}
	for _, c := range expr.Conjuncts(cond) {
		anti := false
		s, ok := c.(*subquery)
		if inner, not := negation(c); not {
			if s, ok = inner.(*subquery); ok {
				anti = true
			}
		}
		if ok && s.kind != scalarQuery {
			n = a.semi(n, s, anti != s.not)
			continue
		}
		n, c = a.lowered(n, c)
		n = &Filter{Child: n, Cond: strip(c)}
	}
	return n
}

func (a *analyzer) semi(n Node, s *subquery, anti bool) Node {
	a.domain = n
	right, preds := a.pull(s.node, s.kind == existsQuery)
	xs := make([]expr.Expr, len(s.xs))
	for i, e := range s.xs {
		n, e = a.lowered(n, e)
		xs[i] = strip(e)
	}
	width := len(n.Schema())
	cond := bindOuter(preds, width)
	kind := LeftSemi
	if anti {
		kind = LeftAnti
	}
	if !anti || s.kind == existsQuery || len(xs) == 1 && len(preds) == 0 {
		for i, e := range xs {
			cond = and(cond, a.equal(e, moved(columnAt(right, i), width)))
		}
		j := newJoin(kind, n, right, cond)
		j.subquery = true
		j.NullAware = anti && s.kind == inQuery
		return j
	}
	for i, e := range xs { // NOT IN: unknown counts as a match
		eq := a.equal(e, moved(columnAt(right, i), width))
		cond = and(cond, a.or(eq, a.isNull(eq)))
	}
	j := newJoin(kind, n, right, cond)
	j.subquery = true
	return j
}

func (a *analyzer) must(e expr.Expr, err error) expr.Expr {
	a.check(nil, err)
	return e
}

func (a *analyzer) equal(x, y expr.Expr) expr.Expr {
	return a.must(expr.Build("=", []expr.Expr{x, y}, a.conf.Expr))
}
func (a *analyzer) or(x, y expr.Expr) expr.Expr {
	return a.must(expr.Build("or", []expr.Expr{x, y}, a.conf.Expr))
}
func (a *analyzer) isNull(x expr.Expr) expr.Expr {
	return a.must(expr.Build("isnull", []expr.Expr{x}, a.conf.Expr))
}

// bindOuter makes conditions of a pulled subquery conditions of a join: outer references are the left
// columns, its own columns are moved behind them.
func bindOuter(preds []expr.Expr, width int) expr.Expr {
	var cond expr.Expr
	for _, p := range preds {
		cond = and(cond, bindOne(p, width))
	}
	return cond
}

func bindOne(e expr.Expr, width int) expr.Expr {
	return transform(e, func(x expr.Expr) expr.Expr {
		switch c := x.(type) {
		case *expr.Column:
			d := *c
			d.Index += width
			return &d
		case *outerRef:
			return c.col
		}
		return x
	})
}

// withoutNot moves NOT to the subqueries that it negates: NOT IN is not the opposite of IN where nulls are.
func (a *analyzer) withoutNot(e expr.Expr) expr.Expr {
	if inner, ok := negation(e); ok && hasSubquery(inner) {
		switch x := inner.(type) {
		case *subquery:
			if x.kind == inQuery {
				c := *x
				c.not = !x.not
				c.text = e.String()
				return &c
			}
		case *expr.Lazy:
			if len(x.Args) == 2 && (x.Kind == expr.LazyAnd || x.Kind == expr.LazyOr) {
				op := "or"
				if x.Kind == expr.LazyOr {
					op = "and"
				}
				l := a.must(expr.Build("not", []expr.Expr{x.Args[0]}, a.conf.Expr))
				r := a.must(expr.Build("not", []expr.Expr{x.Args[1]}, a.conf.Expr))
				return a.must(expr.Build(op, []expr.Expr{a.withoutNot(l), a.withoutNot(r)}, a.conf.Expr))
			}
		}
	}
	return mapKids(e, a.withoutNot)
}

// lowered replaces the subqueries in an expression over n by columns that joins append to n.
func (a *analyzer) lowered(n Node, e expr.Expr) (Node, expr.Expr) {
	if !hasSubquery(e) {
		return n, e
	}
	e = a.withoutNot(e)
	out := transform(e, func(x expr.Expr) expr.Expr {
		s, ok := x.(*subquery)
		if !ok {
			return x
		}
		width := len(n.Schema())
		switch {
		case s.kind == scalarQuery && !nodeHasOuter(s.node):
			out := append(types.Schema{}, s.node.Schema()...)
			for i := range out {
				out[i].Nullable, out[i].DelayMicros = true, 0
			}
			n = newJoin(Inner, n, &SingleRow{Child: s.node, Out: out, Pos: s.pos}, nil)
			return &named{columnAt(n, width), s.text}
		case s.kind == scalarQuery:
			a.domain = n
			empties, has := a.emptyValues(s.node)
			top := s.node
			var post expr.Expr
			if p, ok := top.(*Project); ok && ownOuter(p) { // computed above the join
				post, top = p.Exprs[0], p.Child
				if _, one := top.(*OneRow); one {
					return &named{bindOne(post, width), s.text}
				}
			}
			right, preds := a.pull(top, false)
			if post != nil {
				if !oneRow(top) {
					a.fail(nil, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION", "subqueryExpression", post.String())
				}
				n = newJoin(LeftOuter, n, right, bindOuter(preds, width))
				return &named{bindOne(post, width), s.text}
			}
			if !oneRow(top) {
				right, preds = a.atMostOne(right, preds)
			}
			if has { // tells a row from none
				right = newProject(right, append(allColumns(right), expr.BoolLit(true)), append(right.Schema().Names(), "__matched"))
			}
			j := newJoin(LeftOuter, n, right, bindOuter(preds, width))
			n = j
			var v expr.Expr = columnAt(j, width)
			if has {
				marker := columnAt(j, len(j.Out)-1)
				v = a.must(expr.NewCase([]expr.Branch{{Cond: a.isNull(marker), Value: empties[0]}}, v, a.conf.Expr))
			}
			return &named{v, s.text}
		}
		a.domain = n
		right, preds := a.pull(s.node, s.kind == existsQuery)
		cond := bindOuter(preds, width)
		for i, y := range s.xs {
			eq := a.equal(strip(y), moved(columnAt(right, i), width))
			if s.not { // unknown counts as a match
				eq = a.or(eq, a.isNull(eq))
			}
			cond = and(cond, eq)
		}
		n = newJoin(Existence, n, right, cond)
		var v expr.Expr = columnAt(n, width)
		if s.not {
			v = a.must(expr.Build("not", []expr.Expr{v}, a.conf.Expr))
		}
		return &named{v, s.text}
	})
	return n, out
}

// oneRow reports that a plan gives at most one row for each value of what it takes from around.
func oneRow(n Node) bool {
	switch x := n.(type) {
	case *Project:
		return oneRow(x.Child)
	case *Filter:
		return oneRow(x.Child)
	case *Sort:
		return oneRow(x.Child)
	case *Limit:
		return x.N >= 0 && x.N <= 1 || oneRow(x.Child)
	case *Aggregate:
		return len(x.Keys) == 0
	case *OneRow:
		return true
	}
	return false
}

// atMostOne groups a pulled scalar subquery by what it is joined on; more than one row of a group is an
// error when the value is computed.
func (a *analyzer) atMostOne(n Node, preds []expr.Expr) (Node, []expr.Expr) {
	if !onlyEqualities(preds) {
		n, preds = a.reordered(n, preds)
	}
	at := map[int]int{}
	var keys []expr.Expr
	var names []string
	for _, p := range preds {
		columnsIn(p, func(c *expr.Column) {
			if _, ok := at[c.Index]; !ok {
				at[c.Index] = len(keys)
				keys = append(keys, columnAt(n, c.Index))
				names = append(names, c.Field.Name)
			}
		})
	}
	conf := a.conf.Expr
	first, err := expr.BuildAggregate(&expr.Call{Name: "first", Args: []expr.Expr{columnAt(n, 0)}, Conf: conf})
	a.check(nil, err)
	count, err := expr.BuildAggregate(&expr.Call{Name: "count", Args: []expr.Expr{expr.IntLit(1)}, Conf: conf})
	a.check(nil, err)
	g := newAggregate(n, keys, names, []*expr.AggregateCall{first, count})
	many := a.must(expr.Build(">", []expr.Expr{columnAt(g, len(keys)+1), expr.BigIntLit(1)}, conf))
	v := columnAt(g, len(keys))
	fail := expr.NewScalar("too_many_rows", v.Type(), true, []expr.Expr{v}, "",
		func(_ *expr.EvalContext, _ *columnar.Vec, _ []*columnar.Vec, sel columnar.Sel) error {
			if sel.N > 0 {
				return errs.New("SCALAR_SUBQUERY_TOO_MANY_ROWS")
			}
			return nil
		})
	value := a.must(expr.NewCase([]expr.Branch{{Cond: many, Value: fail}}, v, conf))
	es := append([]expr.Expr{value}, allColumns(g)[:len(keys)]...)
	out := newProject(g, es, append([]string{n.Schema()[0].Name}, names...))
	return out, exposed(preds, func(c *expr.Column) int { return 1 + at[c.Index] })
}

// globalAggregate reports that a plan gives exactly one row, by aggregating everything.
func globalAggregate(n Node) bool {
	switch x := n.(type) {
	case *Project:
		return globalAggregate(x.Child)
	case *Aggregate:
		return len(x.Keys) == 0
	}
	return false
}

// emptyValues is what an aggregating subquery gives for no rows, by column; nil stands for NULL. ok is false
// if all are NULL.
func (a *analyzer) emptyValues(n Node) (out []expr.Expr, ok bool) {
	p, isProject := n.(*Project)
	if !isProject {
		return nil, false
	}
	vals, isAggregate := a.emptyRow(p.Child)
	if !isAggregate {
		return nil, false
	}
	for _, e := range p.Exprs {
		e = transform(e, func(y expr.Expr) expr.Expr {
			if c, isCol := y.(*expr.Column); isCol {
				return vals[c.Index]
			}
			return y
		})
		var v expr.Expr
		if !hasOuter(e) {
			if l, err := expr.Const(e, a.conf.Expr); err == nil && l != nil && !l.Value.IsNull(0) {
				v, ok = l, true
			}
		}
		out = append(out, v)
	}
	return out, ok
}

func (a *analyzer) emptyRow(n Node) ([]expr.Expr, bool) {
	g, ok := n.(*Aggregate)
	if !ok || len(g.Keys) > 0 {
		return nil, false
	}
	var out []expr.Expr
	for _, c := range g.Calls {
		switch c.Name {
		case "count", "count_if", "regr_count", "approx_count_distinct":
			out = append(out, expr.BigIntLit(0))
		default:
			out = append(out, expr.NullLit(c.Type()))
		}
	}
	return out, true
}

// pull takes the conditions that mention the query around out of a plan. The result yields the plan's
// columns first and then those that the conditions need; the conditions are over it. anyRow says that only
// the existence of rows matters.
func (a *analyzer) pull(n Node, anyRow bool) (Node, []expr.Expr) {
	if !nodeHasOuter(n) {
		return n, nil
	}
	switch x := n.(type) {
	case *Filter:
		child, preds := a.pull(x.Child, anyRow)
		var keep expr.Expr
		for _, c := range expr.Conjuncts(x.Cond) {
			if hasOuter(c) {
				preds = append(preds, c)
			} else {
				keep = and(keep, c)
			}
		}
		if keep != nil {
			child = &Filter{Child: child, Cond: keep}
		}
		return child, preds
	case *Project:
		child, preds := a.pull(x.Child, anyRow)
		es := append([]expr.Expr{}, x.Exprs...)
		names := x.Out.Names()
		for i, e := range es {
			if hasOuter(e) {
				if !anyRow {
					a.fail(nil, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION", "subqueryExpression", e.String())
				}
				es[i] = expr.NullLit(e.Type())
			}
		}
		preds = exposed(preds, func(c *expr.Column) int {
			for i, e := range es {
				if d, ok := e.(*expr.Column); ok && d.Index == c.Index {
					return i
				}
			}
			es = append(es, c)
			names = append(names, c.Field.Name)
			return len(es) - 1
		})
		p := newProject(child, es, names)
		return p, preds
	case *Aggregate:
		if anyRow && len(x.Keys) == 0 {
			return distinctRow(), nil
		}
		child, preds := a.pull(x.Child, false)
		if !onlyEqualities(preds) {
			return a.perOuterValue(x, child, preds)
		}
		keys := append([]expr.Expr{}, x.Keys...)
		var names []string
		for i := range keys {
			names = append(names, x.Out[i].Name)
		}
		old := len(keys)
		preds = exposed(preds, func(c *expr.Column) int {
			for i, k := range keys[old:] {
				if d, ok := k.(*expr.Column); ok && d.Index == c.Index {
					return old + i
				}
			}
			keys = append(keys, c)
			names = append(names, c.Field.Name)
			return len(keys) - 1
		})
		g := newAggregate(child, keys, names, x.Calls)
		g.Session = x.Session
		all := allColumns(g)
		es := append(append(append([]expr.Expr{}, all[:old]...), all[len(keys):]...), all[old:len(keys)]...)
		var out []string
		for _, e := range es {
			out = append(out, e.String())
		}
		width := len(x.Out)
		preds = exposed(preds, func(c *expr.Column) int { return width + c.Index - old })
		return newProject(g, es, out), preds
	case *Sort:
		child, preds := a.pull(x.Child, anyRow)
		return &Sort{Child: child, Orders: x.Orders, Local: x.Local}, preds
	case *Limit:
		if anyRow && x.Offset == 0 && x.N > 0 {
			return a.pull(x.Child, true)
		}
		return a.pullLimit(x)
	case *Join:
		if x.Kind == Inner || x.Kind == LeftOuter && !nodeHasOuter(x.Right) {
			return a.pullJoin(x)
		}
		if (x.Kind == LeftSemi || x.Kind == LeftAnti) && !nodeHasOuter(x.Right) && !ownOuter(x) {
			child, preds := a.pull(x.Left, anyRow)
			if len(child.Schema()) == len(x.Left.Schema()) {
				c := *x
				c.Left = child
				return &c, preds
			}
		}
	}
	a.fail(nil, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED", "treeNode", Explain(n))
	return nil, nil
}

// perOuterRow joins a pulled plan with the distinct values that its conditions take from around. The result
// has those values first; outer are the columns that they come from.
func (a *analyzer) perOuterRow(child Node, preds []expr.Expr) (j *Join, outer []*expr.Column) {
	if a.domain == nil {
		a.fail(nil, "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_COLUMN_IS_NOT_ALLOWED_IN_PREDICATE", "treeNode", preds[0].String())
	}
	at := map[int]int{}
	var es []expr.Expr
	var names []string
	for _, p := range preds {
		expr.Walk(p, func(e expr.Expr) bool {
			if o, ok := e.(*outerRef); ok {
				if _, seen := at[o.col.Index]; !seen {
					at[o.col.Index] = len(es)
					outer = append(outer, o.col)
					es = append(es, columnAt(a.domain, o.col.Index))
					names = append(names, o.col.Field.Name)
				}
			}
			return true
		})
	}
	dom := distinct(newProject(a.domain, es, names))
	var cond expr.Expr
	for _, p := range preds {
		cond = and(cond, transform(p, func(e expr.Expr) expr.Expr {
			switch c := e.(type) {
			case *outerRef:
				return columnAt(dom, at[c.col.Index])
			case *expr.Column:
				d := *c
				d.Index += len(es)
				return &d
			}
			return e
		}))
	}
	return newJoin(Inner, dom, child, cond), outer
}

// reordered is perOuterRow with the plan's own columns first.
func (a *analyzer) reordered(child Node, preds []expr.Expr) (Node, []expr.Expr) {
	j, outer := a.perOuterRow(child, preds)
	n := len(outer)
	all := allColumns(j)
	es := append(append([]expr.Expr{}, all[n:]...), all[:n]...)
	var names []string
	for _, e := range es {
		names = append(names, e.String())
	}
	p := newProject(j, es, names)
	return p, a.sameAs(outer, p, len(es)-n)
}

// sameAs are the conditions that tie columns of a plan, from position at on, to the columns around.
func (a *analyzer) sameAs(outer []*expr.Column, n Node, at int) []expr.Expr {
	var out []expr.Expr
	for i, o := range outer {
		out = append(out, a.must(expr.Build("<=>", []expr.Expr{&outerRef{o}, columnAt(n, at+i)}, a.conf.Expr)))
	}
	return out
}

func onlyEqualities(preds []expr.Expr) bool {
	for _, p := range preds {
		if s, ok := p.(*expr.Scalar); !ok || s.Name != "=" && s.Name != "<=>" {
			return false
		}
	}
	return true
}

// perOuterValue computes an aggregation for each distinct value of the columns that its conditions take
// from around: conditions other than equality need the values themselves.
func (a *analyzer) perOuterValue(x *Aggregate, child Node, preds []expr.Expr) (Node, []expr.Expr) {
	j, outer := a.perOuterRow(child, preds)
	n := len(outer)
	shifted := mapExprs(x, func(e expr.Expr, _ bool) expr.Expr {
		if e == nil {
			return nil
		}
		return moved(e, n)
	}).(*Aggregate)
	keys := append([]expr.Expr{}, shifted.Keys...)
	var keyNames []string
	for i := range keys {
		keyNames = append(keyNames, x.Out[i].Name)
	}
	old := len(keys)
	for i := range outer {
		keys = append(keys, columnAt(j, i))
		keyNames = append(keyNames, j.Out[i].Name)
	}
	g := newAggregate(j, keys, keyNames, shifted.Calls)
	all := allColumns(g)
	cols := append(append(append([]expr.Expr{}, all[:old]...), all[len(keys):]...), all[old:len(keys)]...)
	var out []string
	for _, e := range cols {
		out = append(out, e.String())
	}
	p := newProject(g, cols, out)
	return p, a.sameAs(outer, p, len(x.Out))
}

func distinctRow() Node { return &OneRow{} }

// exposed rebinds the inner columns of conditions to where at puts them.
func exposed(preds []expr.Expr, at func(*expr.Column) int) []expr.Expr {
	out := make([]expr.Expr, len(preds))
	for i, p := range preds {
		out[i] = transform(p, func(x expr.Expr) expr.Expr {
			if c, ok := x.(*expr.Column); ok {
				return &expr.Column{Index: at(c), Field: c.Field}
			}
			return x
		})
	}
	return out
}

// pullLimit keeps the first rows of each value of the correlated columns.
func (a *analyzer) pullLimit(l *Limit) (Node, []expr.Expr) {
	var order []Ordering
	below := l.Child
	if s, ok := below.(*Sort); ok {
		order, below = s.Orders, s.Child
	}
	project, isProject := below.(*Project) // of hidden sort columns, above the sort
	if isProject && order == nil {
		if s, ok := project.Child.(*Sort); ok {
			child, preds := a.pull(&Limit{Child: s, N: l.N, Offset: l.Offset}, false)
			es := append([]expr.Expr{}, project.Exprs...)
			names := project.Out.Names()
			preds = exposed(preds, func(c *expr.Column) int {
				es = append(es, c)
				names = append(names, c.Field.Name)
				return len(es) - 1
			})
			return newProject(child, es, names), preds
		}
	}
	child, preds := a.pull(below, false)
	var part []expr.Expr
	if !onlyEqualities(preds) {
		child, preds = a.reordered(child, preds)
	}
	for _, p := range preds {
		expr.Walk(p, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Column); ok {
				part = append(part, c)
			}
			return true
		})
	}
	if len(order) == 0 {
		order = []Ordering{{Child: expr.IntLit(1)}}
	}
	call := &WindowCall{Name: "row_number", Frame: Frame{Rows: true, From: Bound{Kind: UnboundedPreceding}, To: Bound{Kind: CurrentRow}},
		Partition: part, Order: order, Out: types.Of(types.Int), Text: "row_number()"}
	w := &Window{Child: child, Partition: part, Order: order, Calls: []*WindowCall{call},
		Out: append(append(types.Schema{}, child.Schema()...), types.Field{Name: "__rank", Type: types.Of(types.Int)})}
	rank := columnAt(w, len(w.Out)-1)
	var cond expr.Expr
	if l.N >= 0 {
		cond = a.must(expr.Build("<=", []expr.Expr{rank, expr.IntLit(int32(l.N + l.Offset))}, a.conf.Expr))
	}
	if l.Offset > 0 {
		cond = and(cond, a.must(expr.Build(">", []expr.Expr{rank, expr.IntLit(int32(l.Offset))}, a.conf.Expr)))
	}
	return &Filter{Child: w, Cond: cond}, preds
}

func (a *analyzer) pullJoin(x *Join) (Node, []expr.Expr) {
	lw, rw := len(x.Left.Schema()), len(x.Right.Schema())
	l, lp := a.pull(x.Left, false)
	r, rp := a.pull(x.Right, false)
	nl := len(l.Schema())
	place := func(i int) int {
		if i >= lw {
			return i - lw + nl
		}
		return i
	}
	c := *x
	c.Left, c.Right = l, r
	c.Residual = nil
	preds := append([]expr.Expr{}, lp...)
	for _, p := range rp {
		preds = append(preds, moved(p, nl))
	}
	if x.Residual != nil {
		for _, p := range expr.Conjuncts(x.Residual) {
			p = mapColumns(p, place)
			if hasOuter(p) {
				preds = append(preds, p)
			} else {
				c.Residual = and(c.Residual, p)
			}
		}
	}
	c.Out = joinSchema(x.Kind, l, r)
	// the plan's own columns first
	var es []expr.Expr
	var names []string
	back := map[int]int{}
	addColumn := func(i int) {
		back[i] = len(es)
		es = append(es, columnAt(&c, i))
		names = append(names, c.Out[i].Name)
	}
	for i := 0; i < lw+rw; i++ {
		addColumn(place(i))
	}
	for i := range c.Out {
		if _, ok := back[i]; !ok {
			addColumn(i)
		}
	}
	preds = exposed(preds, func(col *expr.Column) int { return back[col.Index] })
	return newProject(&c, es, names), preds
}

// ---- LATERAL

func isLateral(r sql.Relation) bool {
	switch n := r.(type) {
	case *sql.SubqueryRelation:
		return n.Lateral
	case *sql.TableFunc:
		return n.Lateral
	case *sql.ParenRelation:
		return isLateral(n.Relation)
	}
	return false
}

// lateralJoin joins a relation that sees the columns to its left.
func (a *analyzer) lateralJoin(r sql.Relation, j *sql.Join, left *scope, outer *scope) *scope {
	kind := joinKinds[j.Kind]
	if kind != Inner && kind != LeftOuter {
		a.fail(a.joinPlace(j), "INVALID_LATERAL_JOIN_TYPE", "joinType", string(j.Kind))
	}
	if len(j.Using) > 0 {
		a.fail(r, "UNSUPPORTED_FEATURE.LATERAL_JOIN_USING")
	}
	if t, ok := r.(*sql.TableFunc); ok {
		x := &resolver{a: a, sc: left, generators: true}
		if g := x.generator(t.Func); g != nil {
			return a.lateralOn(a.generated(t, left, g.(*generator), kind == LeftOuter && j.On != nil, t.Alias), j)
		}
	}
	right := a.relation(r, left)
	width := len(left.node.Schema())
	sub := trimmed(right)
	var post *Project
	if p, ok := sub.(*Project); ok && ownOuter(p) {
		post, sub = p, p.Child
	}
	a.domain = left.node
	empties, counted := a.emptyValues(sub)
	if post == nil && globalAggregate(sub) { // gives a row even where nothing matches
		kind = LeftOuter
	}
	node, preds := a.pull(sub, false)
	if counted {
		node = newProject(node, append(allColumns(node), expr.BoolLit(true)), append(node.Schema().Names(), "__matched"))
	}
	jn := newJoin(kind, left.node, node, bindOuter(preds, width))
	var out Node = jn
	cols := rescoped(jn, left.cols, nil, width)
	names := requalifiedNames(right)
	if post != nil {
		es := allColumns(jn)[:width]
		ns := append([]string{}, left.node.Schema().Names()...)
		for i, e := range post.Exprs {
			es = append(es, bindOne(e, width))
			ns = append(ns, post.Out[i].Name)
		}
		out = newProject(jn, es, ns)
	}
	if counted {
		es := allColumns(jn)
		marker := es[len(es)-1]
		for i, v := range empties {
			if v != nil {
				es[width+i] = a.must(expr.NewCase([]expr.Branch{{Cond: a.isNull(marker), Value: v}}, es[width+i], a.conf.Expr))
			}
		}
		out = newProject(jn, es, jn.Out.Names())
	}
	for i, c := range names {
		c.index = width + i
		c.field = refield(c.field, out.Schema()[c.index])
		cols = append(cols, c)
	}
	return a.lateralOn(newScope(out, cols, outer), j)
}

// lateralOn applies the condition of a lateral join to what it has joined.
func (a *analyzer) lateralOn(sc *scope, j *sql.Join) *scope {
	if j.On == nil {
		return sc
	}
	cond := (&resolver{a: a, sc: sc}).expr(j.On)
	if l, ok := cond.(*expr.Literal); ok && !l.Value.IsNull(0) && l.Value.Bool(0) {
		return sc
	}
	if joinKinds[j.Kind] != Inner {
		a.fail(j, "UNSUPPORTED_FEATURE", "feature", "ON of a LEFT JOIN LATERAL other than true")
	}
	sc.node = a.filtered(sc.node, cond)
	return sc
}

func requalifiedNames(sc *scope) []column {
	var out []column
	for _, c := range sc.cols {
		if !c.hidden {
			out = append(out, c)
		}
	}
	return out
}
