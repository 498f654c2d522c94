package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
)

// pipe analyses a query of |> operators: each step works on the columns of the one before.
func (a *analyzer) pipe(p *sql.PipeBody, outer *scope) Node {
	sc := a.relation(p.Input, outer)
	for i := range p.Ops {
		op := p.Ops[i]
		op.Span = p.Span // mistakes of a step are shown at the query
		sc = a.pipeStep(sc, &op, outer)
	}
	return trimmed(sc)
}

func (a *analyzer) pipeStep(sc *scope, op *sql.PipeOp, outer *scope) *scope {
	fresh := func(n Node) *scope { return newScope(n, columnsOf(n, nil), outer) }
	switch op.Kind {
	case "SELECT":
		s := &sql.Select{Span: op.Span, Items: op.Items, Distinct: op.Distinct, Windows: op.Windows}
		items := a.noAggregate(sc, op, "SELECT")
		return keepQualifiers(fresh(a.selectOver(sc, s, nil)), sc, items)
	case "EXTEND":
		a.noAggregate(sc, op, "EXTEND")
		return a.extend(sc, op, outer)
	case "SET":
		return a.setColumns(sc, op, outer)
	case "DROP":
		return a.dropColumns(sc, op)
	case "AS":
		return newScope(sc.node, requalified(sc.cols, []string{op.Names[0]}), outer)
	case "WHERE":
		a.where(sc, op.Expr, op)
		return sc
	case "AGGREGATE":
		return fresh(a.pipeAggregate(sc, op))
	case "JOIN":
		return a.joinWith(sc, op.Join, outer)
	case "ORDER BY", "SORT BY":
		q := &sql.Query{Span: op.Span, OrderBy: op.Order}
		if op.Kind == "SORT BY" {
			q.OrderBy, q.SortBy = nil, op.Order
		}
		out := *sc
		out.node = a.sorts(&out, q, func(e sql.Expr) expr.Expr { return (&resolver{a: a, sc: &out}).expr(e) })
		return &out
	case "CLUSTER BY", "DISTRIBUTE BY":
		return sc
	case "LIMIT", "OFFSET":
		out := *sc
		out.node = a.limits(sc.node, op.Limit, op.Offset, nil)
		return &out
	case "UNION", "INTERSECT", "EXCEPT", "MINUS":
		set := *op.SetOp
		set.Span = op.Span
		return fresh(a.combine(&set, trimmed(sc), a.body(op.SetOp.Right, outer, nil)))
	case "TABLESAMPLE":
		return a.sampled(sc, op.Sample)
	case "PIVOT":
		return a.pivot(op.Pivot, sc)
	case "UNPIVOT":
		return a.unpivot(op.Unpivot, sc)
	case "LATERAL VIEW":
		a.lateralView(sc, op.View)
		return sc
	}
	a.fail(op, "UNSUPPORTED_FEATURE", "feature", "|> "+op.Kind)
	return nil
}

// noAggregate refuses aggregates in steps that do not group.
func (a *analyzer) noAggregate(sc *scope, op *sql.PipeOp, clause string) []*item {
	x := &resolver{a: a, sc: &scope{node: sc.node, cols: sc.cols, parent: sc.parent, windowIndex: -1, sessionAt: -1}, windows: map[string]*sql.WindowSpec{}}
	for _, w := range op.Windows {
		x.windows[strings.ToLower(w.Name)] = w.Spec
	}
	items := x.items(op.Items)
	for _, it := range items {
		if hasAggregate(it.e) && clause == "EXTEND" {
			a.fail(it.span, "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION", "expr", firstAggregate(it.e).String(), "clause", clause)
		}
	}
	return items
}

// keepQualifiers gives columns of in that a select list passes on under their own names the qualifiers they had.
func keepQualifiers(out, in *scope, items []*item) *scope {
	if len(items) != len(out.cols) {
		return out
	}
	for i, it := range items {
		c, ok := it.e.(*expr.Column)
		if !ok || it.aliased {
			continue
		}
		for _, k := range in.cols {
			if k.index == c.Index && !k.hidden {
				out.cols[i].qual = k.qual
			}
		}
	}
	return out
}

// extend appends columns and keeps the qualifiers of the others.
func (a *analyzer) extend(sc *scope, op *sql.PipeOp, outer *scope) *scope {
	s := &sql.Select{Span: op.Span, Items: append([]sql.SelectItem{{Expr: &sql.Star{Span: op.Span}}}, op.Items...), Windows: op.Windows}
	old := requalifiedNames(sc)
	n := a.selectOver(sc, s, nil)
	cols := columnsOf(n, nil)
	for i, c := range old {
		cols[i].qual = c.qual
	}
	return newScope(n, cols, outer)
}

// setColumns replaces columns, one after the other.
func (a *analyzer) setColumns(sc *scope, op *sql.PipeOp, outer *scope) *scope {
	for i, it := range op.Items {
		x := &resolver{a: a, sc: sc}
		name := op.Names[i]
		at := -1
		visible := requalifiedNames(sc)
		for k, c := range visible {
			if strings.EqualFold(c.name, name) {
				at = k
			}
		}
		if at < 0 {
			a.failWith(op, unresolvedColumn([]string{name}, sc.cols))
		}
		e := x.expr(it.Expr)
		if hasAggregate(e) {
			a.fail(it.Span, "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION", "expr", firstAggregate(e).String(), "clause", "SET")
		}
		b := &block{a: a, x: x, sc: sc, at: &sql.Select{Span: op.Span}}
		for k, c := range visible {
			item := &item{e: &expr.Column{Index: c.index, Field: c.field}, name: c.name}
			if k == at {
				item.e = e
			}
			b.items = append(b.items, item)
		}
		b.lower()
		b.windows()
		n := b.finish(false)
		cols := columnsOf(n, nil)
		for k := range cols {
			cols[k].qual = visible[k].qual
		}
		sc = newScope(n, cols, outer)
	}
	return sc
}

func (a *analyzer) dropColumns(sc *scope, op *sql.PipeOp) *scope {
	out := *sc
	out.cols = append([]column{}, sc.cols...)
	for _, name := range op.Names {
		found := false
		var keep []column
		for _, c := range out.cols {
			if !c.hidden && strings.EqualFold(c.name, name) {
				found = true
				continue
			}
			keep = append(keep, c)
		}
		if !found {
			a.failWith(op, unresolvedColumn([]string{name}, out.cols))
		}
		out.cols = keep
	}
	return &out
}

// pipeAggregate gives the keys, then the aggregates.
func (a *analyzer) pipeAggregate(sc *scope, op *sql.PipeOp) Node {
	s := &sql.Select{Span: op.Span}
	if g := op.GroupBy; g != nil {
		unsupported := ""
		switch {
		case g.All:
			unsupported = "GROUP BY ALL"
		case g.Legacy != "":
			unsupported = "GROUP BY WITH " + g.Legacy
		case g.HasSet:
			unsupported = "GROUPING SETS"
		}
		for _, it := range g.Items {
			if it.Kind != "" {
				unsupported = "GROUP BY " + it.Kind
			}
		}
		if unsupported != "" {
			a.fail(op, "UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", "case", unsupported)
		}
		s.GroupBy = g
		for i, it := range g.Items {
			k := sql.SelectItem{Span: it.Span, Expr: it.Expr}
			if i < len(op.Names) {
				k.Alias = op.Names[i]
			}
			s.Items = append(s.Items, k)
		}
	}
	x := &resolver{a: a, sc: &scope{node: sc.node, cols: sc.cols, parent: sc.parent, windowIndex: -1, sessionAt: -1}}
	for _, it := range x.items(op.Items) {
		if !hasAggregate(it.e) {
			at := it.span
			if op.GroupBy != nil { // a key is shown where GROUP BY names it
				for _, k := range op.GroupBy.Items {
					if k.Expr != nil && strings.EqualFold(a.textOf(k.Expr), a.textOf(it.ast)) {
						at = k.Span
					}
				}
			}
			a.fail(at, "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION", "expr", it.e.String())
		}
	}
	s.Items = append(s.Items, op.Items...)
	return a.selectOver(sc, s, nil)
}
