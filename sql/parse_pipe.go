package sql

import "streamlab/errs"

// pipe reads one or more |> steps behind a body.
func (p *parser) pipe(in Body) Body {
	b := &PipeBody{Span: in.Pos(), Input: pipeInput(in)}
	for p.isSym("|>") {
		start := p.next().Start
		if p.tok().Kind == EOF || p.isSym(")") || p.isSym(";") || p.isSym("|>") {
			continue // an empty step does nothing
		}
		p.pipeStep(b, start)
		if p.setOpAt() { // FROM t |> WHERE c UNION …: the steps are its left side
			break
		}
	}
	b.Span = p.from(in.Pos().Start)
	return b
}

// pipeInput: FROM of one relation is that relation, so that its names stay visible; all else is a subquery.
func pipeInput(in Body) Relation {
	if s, ok := in.(*Select); ok && s.FromFirst && s.Items == nil && len(s.From) == 1 && s.Views == nil {
		return s.From[0]
	}
	return &SubqueryRelation{Span: in.Pos(), Query: &Query{Span: in.Pos(), Body: in}}
}

func (p *parser) pipeStep(b *PipeBody, start int) {
	o := PipeOp{Kind: p.word(0)}
	switch {
	case p.isKw("SELECT"):
		s := p.selectStep()
		o.Distinct, o.Items, o.Windows = s.Distinct, s.Items, s.Windows
	case p.isKw("EXTEND") && p.startsExpr(1):
		p.skip(1)
		o.Items = p.selectItems()
	case p.kw("SET"):
		p.pipeSet(&o)
	case p.kw("DROP"):
		p.list(func() { o.Names = append(o.Names, p.name()) })
	case p.kw("AS"):
		o.Names = []string{p.name()}
	case p.isKw("WHERE") && p.startsExpr(1):
		p.skip(1)
		o.Expr = p.expr()
	case p.isKw("AGGREGATE"):
		p.pipeAggregate(&o, b.Span)
	case p.isKw("ORDER", "BY"), p.isKw("SORT", "BY"), p.isKw("CLUSTER", "BY"), p.isKw("DISTRIBUTE", "BY"), p.isKw("LIMIT"), p.isKw("OFFSET"):
		p.pipeOrganize(b, start)
		return
	case p.isKw("WINDOW"):
		p.failAt(p.tok().Span, errs.New("UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", "clauses", "the WINDOW clause"))
	case p.isKw("PIVOT") && p.at(1) == "(":
		o.Pivot = p.pivot(start)
	case p.isKw("UNPIVOT"):
		o.Unpivot = p.unpivot(start)
	case p.isKw("TABLESAMPLE") && p.at(1) == "(":
		o.Sample = p.sample()
	case p.setOpAt():
		o.SetOp = p.setOp()
		o.Kind = o.SetOp.Op
		o.SetOp.Right = p.term()
		o.SetOp.Span = p.from(start)
	default:
		if o.Kind == "DISTINCT" && p.peek(1).Kind == EOF {
			p.extra()
		}
		j := p.joinHead()
		if j == nil {
			p.unexpected("SELECT", "WHERE", "EXTEND", "SET", "DROP", "AS", "AGGREGATE", "JOIN", "ORDER", "LIMIT", "UNION", "PIVOT", "UNPIVOT",
				"TABLESAMPLE")
		}
		p.joinRest(j, start)
		o.Kind, o.Join = "JOIN", j
	}
	o.Span = p.from(start)
	b.Ops = append(b.Ops, o)
}

// selectStep reads SELECT of a step, which has no clause but WINDOW.
func (p *parser) selectStep() *Select {
	p.skip(1)
	s := &Select{}
	if p.isKw("DISTINCT") && p.startsExpr(1) {
		p.skip(1)
		s.Distinct = true
	}
	s.Items = p.selectItems()
	switch w := p.word(0); w {
	case "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "LATERAL":
		p.unexpected()
	}
	s.Windows = p.windows()
	return s
}

func (p *parser) pipeSet(o *PipeOp) {
	p.list(func() {
		start := p.start()
		n := p.dotted()
		if len(n) > 1 {
			p.failAt(p.from(start), errs.New("_LEGACY_ERROR_TEMP_0035", "message",
				"SQL pipe syntax |> SET operator with multi-part assignment key (only single-part keys are allowed)"))
		}
		p.needSym("=")
		e := p.expr()
		o.Names = append(o.Names, n[0])
		o.Items = append(o.Items, SelectItem{Span: p.from(start), Expr: e, Alias: n[0]})
	})
}

func (p *parser) pipeAggregate(o *PipeOp, query Span) {
	p.skip(1)
	if !p.isKw("GROUP", "BY") {
		o.Items = p.selectItems()
	}
	if !p.isKw("GROUP", "BY") {
		return
	}
	at := p.start()
	p.skip(2)
	refuse := func(what string) {
		p.failAt(query,
			errs.New("UNSUPPORTED_FEATURE.PIPE_OPERATOR_AGGREGATE_UNSUPPORTED_CASE", "case", what))
	}
	if p.isKw("ALL") && !p.afterName(1) {
		refuse("GROUP BY ALL")
	}
	o.GroupBy = &GroupBy{}
	p.list(func() {
		switch kind := p.groupKind(); kind {
		case "":
		case "GROUPING SETS":
			refuse(kind)
		default:
			refuse("GROUP BY " + kind)
		}
		it := p.selectItem()
		o.GroupBy.Items = append(o.GroupBy.Items, GroupItem{Span: it.Span, Expr: it.Expr})
		o.Names = append(o.Names, it.Alias)
	})
	if p.isKw("GROUPING", "SETS") || p.isKw("WITH") && (p.word(1) == "CUBE" || p.word(1) == "ROLLUP") {
		refuse(p.word(0) + " " + p.word(1))
	}
	o.GroupBy.Span = p.from(at)
}

// pipeOrganize reads ORDER BY and what may follow it as one step each.
func (p *parser) pipeOrganize(b *PipeBody, start int) {
	q := &Query{}
	at := p.tok()
	p.tail(q)
	if q.Windows != nil {
		p.failAt(at.Span, errs.New("UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", "clauses", "the WINDOW clause"))
	}
	s := p.from(start)
	add := func(o PipeOp) {
		o.Span = s
		b.Ops = append(b.Ops, o)
	}
	if q.OrderBy != nil {
		kind := "ORDER BY"
		if q.OrderAll {
			kind = "ORDER BY ALL"
		}
		add(PipeOp{Kind: kind, Order: q.OrderBy})
	}
	if q.ClusterBy != nil {
		add(PipeOp{Kind: "CLUSTER BY", Exprs: q.ClusterBy})
	}
	if q.DistBy != nil {
		add(PipeOp{Kind: "DISTRIBUTE BY", Exprs: q.DistBy})
	}
	if q.SortBy != nil {
		add(PipeOp{Kind: "SORT BY", Order: q.SortBy})
	}
	if q.Limit != nil || q.Offset != nil {
		add(PipeOp{Kind: "LIMIT", Limit: q.Limit, Offset: q.Offset})
	}
	if len(p.toks) > 0 && p.tok().Start == at.Start {
		p.unexpected()
	}
}
