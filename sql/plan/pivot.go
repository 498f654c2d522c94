package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// pivot turns the values of columns into columns. As in Spark, aggregates whose results are of fixed width
// are computed per value first and then spread; others are computed in one step, with a filter each.
func (a *analyzer) pivot(p *sql.Pivot, sc *scope) *scope {
	x := &resolver{a: a, sc: sc}
	aggs := x.items(p.Aggs)
	fixed := true
	for _, it := range aggs {
		expr.Walk(it.e, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok {
				a.fail(nil, "_LEGACY_ERROR_TEMP_1006", "sql", a.qualified(c, sc))
			}
			_, call := e.(*expr.AggregateCall)
			return !call
		})
		switch k := it.e.Type(); {
		case k.IsNumeric(), k.IsDatetime(), k.Kind == types.Boolean:
		default:
			fixed = false
		}
	}
	var keys []expr.Expr
	for _, c := range p.Columns {
		k := *c.(*sql.Name)
		k.Span = p.Clause // the place that Spark knows of them
		keys = append(keys, x.name(&k))
	}
	used := map[int]bool{}
	note := func(c *expr.Column) { used[c.Index] = true }
	for _, it := range aggs {
		columnsIn(it.e, note)
	}
	for _, k := range keys {
		columnsIn(k, note)
	}
	var groups []expr.Expr
	var names []string
	for _, c := range requalifiedNames(sc) {
		if !used[c.index] {
			groups = append(groups, &expr.Column{Index: c.index, Field: c.field})
			names = append(names, c.name)
		}
	}
	b := &block{a: a, x: x, sc: sc, at: &sql.Select{Span: p.Span}}
	values, distinct := a.pivotValues(p, x, keys)
	if fixed {
		n := len(groups)
		for i, g := range groups {
			b.items = append(b.items, &item{e: g, name: names[i]})
		}
		for _, k := range keys {
			b.items = append(b.items, &item{e: k, name: k.String()})
		}
		b.items = append(b.items, aggs...)
		g := &grouping{}
		for _, it := range b.items[:n+len(keys)] {
			g.add(it.e)
		}
		b.group(g)
		inner := b.finish(false)
		cols := allColumns(inner)
		groups, keys = cols[:n], cols[n:n+len(keys)]
		vals := cols[n+len(keys):]
		var calls []*expr.AggregateCall
		for _, v := range values {
			for k := range aggs {
				c, err := expr.BuildAggregate(&expr.Call{Name: "first", Args: []expr.Expr{vals[k]}, IgnoreNulls: true,
					Filter: a.matches(keys, v.parts), Conf: a.conf.Expr})
				a.check(p, err)
				calls = append(calls, c)
				names = append(names, v.column(aggs, k))
			}
		}
		agg := newAggregate(inner, groups, names[:n], calls)
		es := allColumns(agg)
		if distinct < len(values) {
			// Spark takes the values out of an array that has one place for equal ones: rows fail.
			place := n + distinct*len(aggs)
			var first []expr.Expr // of the aggregates
			for i := n; i < place; i += len(aggs) {
				first = append(first, es[i])
			}
			l := a.must(expr.Build("array", first, a.conf.Expr))
			e, err := expr.NewGetItem(l, expr.IntLit(int32(distinct)), a.conf.Expr)
			a.check(p.Clause, err)
			x.place(p.Clause, e)
			es[place] = e
		}
		out := newProject(agg, es, names)
		return a.aliased(p, newScope(out, columnsOf(out, nil), sc.parent), p.Alias)
	}
	g := &grouping{}
	for i, k := range groups {
		b.items = append(b.items, &item{e: k, name: names[i]})
		g.add(k)
	}
	for _, v := range values {
		cond := a.matches(keys, v.parts)
		for k, it := range aggs {
			e := transform(it.e, func(y expr.Expr) expr.Expr {
				if c, ok := y.(*expr.AggregateCall); ok {
					d := *c
					d.Filter = and(c.Filter, cond)
					d.Text += " FILTER (WHERE " + cond.String() + ")"
					return &d
				}
				return y
			})
			b.items = append(b.items, &item{e: e, name: v.column(aggs, k)})
		}
	}
	b.group(g)
	out := b.finish(false)
	return a.aliased(p, newScope(out, columnsOf(out, nil), sc.parent), p.Alias)
}

type pivotValue struct {
	parts []expr.Expr
	name  string
}

func (v pivotValue) column(aggs []*item, k int) string {
	if len(aggs) == 1 {
		return v.name
	}
	return v.name + "_" + aggs[k].name
}

// pivotValues resolves the list of IN; distinct is how many of them differ.
func (a *analyzer) pivotValues(p *sql.Pivot, x *resolver, keys []expr.Expr) (list []pivotValue, distinct int) {
	var out []pivotValue
	seen := map[string]bool{}
	for _, it := range p.Values {
		list := []sql.Expr{it.Expr}
		if r, ok := it.Expr.(*sql.RowExpr); ok && len(keys) > 1 {
			list = r.Items
		}
		if len(list) != len(keys) {
			a.fail(it, "PIVOT_VALUE_DATA_TYPE_MISMATCH", "value", "", "valueType", "", "pivotType", "")
		}
		var v pivotValue
		var texts []string
		for i, e := range list {
			r := x.expr(e)
			l, err := expr.Const(r, a.conf.Expr)
			a.check(e, err)
			if l == nil {
				a.fail(e, "NON_LITERAL_PIVOT_VALUES", "expression", `"`+r.String()+`"`)
			}
			text := "null"
			if !l.Value.IsNull(0) {
				t := *l
				t.Text = ""
				text = t.String()
				if t.Type().IsDatetime() {
					if c, err := expr.Const(expr.CastTo(l, types.Of(types.String), a.conf.Expr), a.conf.Expr); err == nil && c != nil {
						text = c.String()
					}
				}
			}
			texts = append(texts, text)
			v.parts = append(v.parts, expr.CastTo(l, keys[i].Type(), a.conf.Expr))
		}
		v.name = texts[0]
		if len(texts) > 1 {
			v.name = "{" + strings.Join(texts, ", ") + "}"
		}
		if it.Alias != "" {
			v.name = it.Alias
		}
		seen[strings.Join(texts, "\x00")] = true
		out = append(out, v)
	}
	return out, len(seen)
}

func (a *analyzer) matches(keys, parts []expr.Expr) expr.Expr {
	var cond expr.Expr
	for i, k := range keys {
		cond = and(cond, a.must(expr.Build("<=>", []expr.Expr{k, parts[i]}, a.conf.Expr)))
	}
	return cond
}

// unpivot turns columns into rows: the other columns, then the name, then the values.
func (a *analyzer) unpivot(u *sql.Unpivot, sc *scope) *scope {
	x := &resolver{a: a, sc: sc}
	type entry struct {
		cols []expr.Expr
		name string
	}
	var entries []entry
	used := map[int]bool{}
	width := len(u.ValueColumns)
	for _, c := range u.Columns {
		e := entry{name: c.Alias}
		var names []string
		for _, k := range c.Columns {
			if s, ok := k.(*sql.Star); ok {
				for _, it := range x.star(s) {
					entries = append(entries, entry{[]expr.Expr{it.e}, it.name})
					columnsIn(it.e, func(c *expr.Column) { used[c.Index] = true })
				}
				continue
			}
			r := x.expr(k)
			columnsIn(r, func(c *expr.Column) { used[c.Index] = true })
			e.cols = append(e.cols, r)
			if n, ok := k.(*sql.Name); ok {
				names = append(names, n.Parts[len(n.Parts)-1])
			} else {
				names = append(names, r.String())
			}
		}
		if len(e.cols) == 0 {
			continue
		}
		if len(e.cols) != width {
			a.fail(u, "UNPIVOT_VALUE_SIZE_MISMATCH", "names", len(u.ValueColumns))
		}
		if e.name == "" {
			e.name = strings.Join(names, "_")
		}
		entries = append(entries, e)
	}
	ts := make([]types.DataType, width)
	for c := range ts {
		for i, e := range entries {
			t := e.cols[c].Type()
			if i == 0 {
				ts[c] = t
				continue
			}
			v, ok := expr.TightestCommonType(ts[c], t)
			if !ok {
				var shown []string
				byType := map[string][]string{}
				for _, e := range entries {
					k := e.cols[c].Type().SQL()
					if byType[k] == nil {
						shown = append(shown, k)
					}
					byType[k] = append(byType[k], types.Quote(e.cols[c].String()))
				}
				for i, k := range shown {
					l := byType[k]
					more := ""
					if len(l) > 3 {
						l, more = l[:3], ", ..."
					}
					shown[i] = `"` + k + `" (` + strings.Join(l, ", ") + more + ")"
				}
				sortStrings(shown)
				a.fail(u, "UNPIVOT_VALUE_DATA_TYPE_MISMATCH", "types", strings.Join(shown, ", "))
			}
			ts[c] = v
		}
	}
	n := &Expand{Child: sc.node}
	var cols []column
	var base []expr.Expr
	for _, c := range requalifiedNames(sc) {
		if used[c.index] {
			continue
		}
		base = append(base, &expr.Column{Index: c.index, Field: c.field})
		c.index = len(n.Out)
		n.Out = append(n.Out, c.field)
		cols = append(cols, c)
	}
	add := func(f types.Field) {
		cols = append(cols, column{name: f.Name, index: len(n.Out), field: f})
		n.Out = append(n.Out, f)
	}
	add(types.Field{Name: u.NameColumn, Type: types.Of(types.String)})
	for c, name := range u.ValueColumns {
		add(types.Field{Name: name, Type: ts[c], Nullable: true})
	}
	for _, e := range entries {
		row := append(append([]expr.Expr{}, base...), expr.StringLit(e.name))
		for c, v := range e.cols {
			row = append(row, strip(expr.CastTo(v, ts[c], a.conf.Expr)))
		}
		n.Projections = append(n.Projections, row)
	}
	var out Node = n
	if !u.IncludeNulls {
		y := &resolver{a: a, sc: newScope(n, cols, nil)}
		for _, name := range u.ValueColumns { // Spark finds them by name, so they have to be the only ones of it
			y.match(&sql.Name{Span: u.Clause, Parts: []string{name}}, y.sc)
		}
		var some expr.Expr
		for c := range ts {
			e := a.must(expr.Build("isnotnull", []expr.Expr{columnAt(n, len(n.Out)-width+c)}, a.conf.Expr))
			if some == nil {
				some = e
			} else {
				some = a.or(some, e)
			}
		}
		out = &Filter{Child: n, Cond: some}
	}
	return a.aliased(u, newScope(out, cols, sc.parent), u.Alias)
}
