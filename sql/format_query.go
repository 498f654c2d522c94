package sql

func (f *formatter) query(q *Query) {
	if len(q.With) > 0 {
		f.put("WITH ")
		f.flag(q.Recursive, "RECURSIVE ")
		list(f, q.With, func(c CTE) {
			f.put(QuoteName(c.Name))
			if c.Columns != nil {
				f.put(" ")
				f.names(c.Columns)
			}
			f.exprIf(" MAX RECURSION LEVEL ", c.MaxRecursion)
			f.put(" AS (")
			f.query(c.Query)
			f.put(")")
		})
		f.put(" ")
	}
	f.body(q.Body)
	f.tail(q)
}

func (f *formatter) tail(q *Query) {
	switch {
	case q.OrderAll:
		f.put(" ORDER BY ALL")
		f.direction(q.OrderBy[0])
	case q.OrderBy != nil:
		f.put(" ORDER BY ")
		f.orderItems(q.OrderBy)
	}
	if q.ClusterBy != nil {
		f.put(" CLUSTER BY ")
		f.exprs(q.ClusterBy)
	}
	if q.DistBy != nil {
		f.put(" DISTRIBUTE BY ")
		f.exprs(q.DistBy)
	}
	if q.SortBy != nil {
		f.put(" SORT BY ")
		f.orderItems(q.SortBy)
	}
	f.windows(q.Windows)
	f.exprIf(" LIMIT ", q.Limit)
	f.exprIf(" OFFSET ", q.Offset)
}

func (f *formatter) windows(ws []NamedWindow) {
	if ws == nil {
		return
	}
	f.put(" WINDOW ")
	list(f, ws, func(w NamedWindow) {
		f.put(QuoteName(w.Name), " AS ")
		f.window(w.Spec)
	})
}

func (f *formatter) body(b Body) {
	switch b := b.(type) {
	case *Select:
		f.selects(b)
	case *SetOp:
		f.body(b.Left)
		f.put(" ")
		f.setOp(b)
		f.body(b.Right)
	case *Values:
		f.values(b)
	case *TableBody:
		f.put("TABLE ")
		f.relation(b.Table)
	case *Parens:
		f.put("(")
		f.query(b.Query)
		f.put(")")
	case *PipeBody:
		f.pipe(b)
	}
}

func (f *formatter) setOp(s *SetOp) {
	f.put(s.Op, " ")
	f.flag(s.All, "ALL ")
}

func (f *formatter) values(v *Values) {
	f.put("VALUES ")
	list(f, v.Rows, f.set)
}

// set writes the expressions of one row or grouping set in brackets, except a lone subquery, which has its
// own.
func (f *formatter) set(es []Expr) {
	if len(es) == 1 {
		if s, ok := es[0].(*Scalar); ok {
			f.expr(s)
			return
		}
	}
	f.put("(")
	f.exprs(es)
	f.put(")")
}

func (f *formatter) selects(s *Select) {
	if s.FromFirst {
		f.from(s)
		if s.Items == nil {
			return
		}
		f.put(" ")
	}
	f.put("SELECT ")
	if s.Hints != nil {
		f.put("/*+ ")
		list(f, s.Hints, func(h string) { f.put(h) })
		f.put(" */ ")
	}
	f.flag(s.Distinct, "DISTINCT ")
	list(f, s.Items, f.item)
	if !s.FromFirst {
		if s.From != nil {
			f.put(" ")
		}
		f.from(s)
	}
	f.exprIf(" WHERE ", s.Where)
	if s.GroupBy != nil {
		f.groupBy(s.GroupBy)
	}
	f.exprIf(" HAVING ", s.Having)
	f.exprIf(" QUALIFY ", s.Qualify)
	f.windows(s.Windows)
}

func (f *formatter) from(s *Select) {
	if s.From != nil {
		f.put("FROM ")
		list(f, s.From, f.relation)
	}
	for i := range s.Views {
		f.put(" ")
		f.lateralView(&s.Views[i])
	}
}

func (f *formatter) item(it SelectItem) {
	f.expr(it.Expr)
	switch {
	case it.Aliases != nil:
		f.put(" AS ")
		f.names(it.Aliases)
	case it.Alias != "":
		f.put(" AS ", QuoteName(it.Alias))
	}
}

func (f *formatter) lateralView(v *LateralView) {
	f.put("LATERAL VIEW ")
	f.flag(v.Outer, "OUTER ")
	f.expr(v.Func)
	if v.Table != "" {
		f.put(" ", QuoteName(v.Table))
	}
	if v.Columns != nil {
		f.put(" AS ")
		list(f, v.Columns, func(c string) { f.put(QuoteName(c)) })
	}
}

func (f *formatter) groupBy(g *GroupBy) {
	f.put(" GROUP BY ")
	if g.All {
		f.put("ALL")
		return
	}
	list(f, g.Items, func(it GroupItem) {
		if it.Kind == "" {
			f.expr(it.Expr)
		} else {
			f.put(it.Kind, " (")
			list(f, it.Sets, f.set)
			f.put(")")
		}
	})
	if g.Legacy != "" {
		f.put(" WITH ", g.Legacy)
	}
	if g.HasSet {
		f.put(" GROUPING SETS (")
		list(f, g.Sets, f.set)
		f.put(")")
	}
}

func (f *formatter) alias(a Alias) {
	if a.Name == "" {
		return
	}
	f.put(" AS ", QuoteName(a.Name))
	if a.Columns != nil {
		f.names(a.Columns)
	}
}

func (f *formatter) after(s *Sample, w *Watermark, a Alias) {
	if s != nil {
		f.put(" ")
		f.sample(s)
	}
	if w != nil {
		f.exprIf(" WATERMARK ", w.Expr)
		if w.Name != "" {
			f.put(" AS ", QuoteName(w.Name))
		}
		f.exprIf(" DELAY OF ", w.Delay)
	}
	f.alias(a)
}

func (f *formatter) sample(s *Sample) {
	f.put("TABLESAMPLE (")
	if s.Kind == "BUCKET" {
		f.exprIf("BUCKET ", s.Bucket[0])
		f.exprIf(" OUT OF ", s.Bucket[1])
	} else {
		f.expr(s.Value)
		f.put(" ", s.Kind)
	}
	f.put(")")
	if s.Seed != nil {
		f.exprIf(" REPEATABLE (", s.Seed)
		f.put(")")
	}
}

func (f *formatter) relation(r Relation) {
	switch r := r.(type) {
	case *TableName:
		f.flag(r.Stream, "STREAM ")
		if r.Ident != nil {
			f.exprIf("IDENTIFIER(", r.Ident)
			f.put(")")
		} else {
			f.name(r.Parts)
		}
		f.exprIf(" VERSION AS OF ", r.Version)
		f.exprIf(" TIMESTAMP AS OF ", r.Timestamp)
		if r.Options != nil {
			f.put(" WITH ")
			f.properties(r.Options)
		}
		f.after(r.Sample, r.Watermark, r.Alias)
	case *SubqueryRelation:
		f.flag(r.Lateral, "LATERAL ")
		f.put("(")
		f.query(r.Query)
		f.put(")")
		f.after(r.Sample, r.Watermark, r.Alias)
	case *ValuesRelation:
		f.values(r.Values)
		f.after(r.Sample, r.Watermark, r.Alias)
	case *TableFunc:
		f.flag(r.Lateral, "LATERAL ")
		f.flag(r.Stream, "STREAM ")
		f.expr(r.Func)
		f.after(nil, r.Watermark, r.Alias)
	case *ParenRelation:
		f.put("(")
		f.relation(r.Relation)
		f.put(")")
		f.after(r.Sample, r.Watermark, r.Alias)
	case *Join:
		f.relation(r.Left)
		f.put(" ")
		f.join(r)
	case *Pivot:
		f.relation(r.Input)
		f.put(" ")
		f.pivot(r)
	case *Unpivot:
		f.relation(r.Input)
		f.put(" ")
		f.unpivot(r)
	}
}

func (f *formatter) join(j *Join) {
	f.flag(j.Natural, "NATURAL ")
	if j.Kind != InnerJoin {
		f.put(string(j.Kind), " ")
	}
	f.put("JOIN ")
	f.relation(j.Right)
	f.exprIf(" ON ", j.On)
	if j.Using != nil {
		f.put(" USING ")
		f.names(j.Using)
	}
}

func (f *formatter) pivot(v *Pivot) {
	f.put("PIVOT (")
	list(f, v.Aggs, f.item)
	f.put(" FOR (")
	f.exprs(v.Columns)
	f.put(") IN (")
	list(f, v.Values, f.item)
	f.put("))")
	f.alias(v.Alias)
}

func (f *formatter) unpivot(u *Unpivot) {
	f.put("UNPIVOT ")
	f.flag(u.IncludeNulls, "INCLUDE NULLS ")
	f.put("(")
	f.names(u.ValueColumns)
	f.put(" FOR ", QuoteName(u.NameColumn), " IN (")
	list(f, u.Columns, func(c UnpivotColumn) {
		f.put("(")
		f.exprs(c.Columns)
		f.put(")")
		if c.Alias != "" {
			f.put(" AS ", QuoteName(c.Alias))
		}
	})
	f.put("))")
	f.alias(u.Alias)
}

// pipe: a subquery that is nothing but a body was written without brackets.
func (f *formatter) pipe(b *PipeBody) {
	s, ok := b.Input.(*SubqueryRelation)
	if ok && !s.Lateral && s.Sample == nil && s.Watermark == nil && s.Alias.Name == "" && bodyOnly(s.Query) {
		f.body(s.Query.Body)
	} else {
		f.put("FROM ")
		f.relation(b.Input)
	}
	if len(b.Ops) == 0 {
		f.put(" |>")
	}
	for _, o := range b.Ops {
		f.put(" |> ")
		f.step(o)
	}
}

func bodyOnly(q *Query) bool {
	return q.With == nil && q.OrderBy == nil && q.SortBy == nil && q.ClusterBy == nil && q.DistBy == nil && q.Windows == nil &&
		q.Limit == nil && q.Offset == nil
}

func (f *formatter) step(o PipeOp) {
	switch o.Kind {
	case "JOIN":
		f.join(o.Join)
		return
	case "UNION", "EXCEPT", "INTERSECT":
		f.setOp(o.SetOp)
		f.body(o.SetOp.Right)
		return
	case "PIVOT":
		f.pivot(o.Pivot)
		return
	case "UNPIVOT":
		f.unpivot(o.Unpivot)
		return
	case "TABLESAMPLE":
		f.sample(o.Sample)
		return
	case "LIMIT":
		if o.Limit != nil {
			f.exprIf("LIMIT ", o.Limit)
			f.exprIf(" OFFSET ", o.Offset)
		} else {
			f.exprIf("OFFSET ", o.Offset)
		}
		return
	case "ORDER BY ALL":
		f.put(o.Kind)
		f.direction(o.Order[0])
		return
	}
	f.put(o.Kind, " ")
	switch o.Kind {
	case "SELECT", "EXTEND":
		f.flag(o.Distinct, "DISTINCT ")
		list(f, o.Items, f.item)
		f.windows(o.Windows)
	case "SET":
		list(f, o.Items, func(it SelectItem) {
			f.put(QuoteName(it.Alias), " = ")
			f.expr(it.Expr)
		})
	case "DROP", "AS":
		list(f, o.Names, func(n string) { f.put(QuoteName(n)) })
	case "WHERE":
		f.expr(o.Expr)
	case "AGGREGATE":
		list(f, o.Items, f.item)
		if o.GroupBy != nil {
			f.put(" GROUP BY ")
			i := 0
			list(f, o.GroupBy.Items, func(g GroupItem) {
				f.item(SelectItem{Expr: g.Expr, Alias: o.Names[i]})
				i++
			})
		}
	case "ORDER BY", "SORT BY":
		f.orderItems(o.Order)
	case "CLUSTER BY", "DISTRIBUTE BY":
		f.exprs(o.Exprs)
	}
}
