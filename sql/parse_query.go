package sql

import "streamlab/errs"

// query reads a whole query: WITH, body, ORDER BY and friends.
func (p *parser) query() *Query {
	p.enter()
	defer p.leave()
	start := p.tok().Start
	q := &Query{}
	if p.kw("WITH") {
		q.Recursive = p.kw("RECURSIVE")
		for {
			s := p.tok().Start
			c := CTE{Name: p.name()}
			if p.isSym("(") {
				c.Columns = p.names()
			}
			p.kw("AS")
			p.needSym("(")
			c.Query = p.query()
			p.needSym(")")
			c.Span = p.from(s)
			q.With = append(q.With, c)
			if !p.sym(",") {
				break
			}
		}
	}
	q.Body = p.setOps(0)
	p.tail(q)
	q.Span = p.from(start)
	if p.isSym("|>") {
		inner := &SubqueryRelation{Span: q.Span, Query: q}
		var in Relation = inner
		if len(q.With) == 0 && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
			if s, ok := q.Body.(*Select); ok && s.FromFirst && s.Items == nil && len(s.From) == 1 {
				in = s.From[0]
			}
		}
		with, rec := q.With, q.Recursive
		if len(with) > 0 {
			q.With = nil
		}
		q = &Query{With: with, Recursive: rec, Body: p.pipe(in)}
		q.Span = p.from(start)
	}
	return q
}

func (p *parser) tail(q *Query) {
	for {
		switch {
		case p.isKw("ORDER", "BY"):
			p.i += 2
			if p.isKw("ALL") && p.peek(1).Text != "(" {
				s := p.next()
				o := OrderItem{Span: s.Span}
				o.Desc = p.kw("DESC") || !p.kw("ASC") && false
				if p.kw("NULLS") {
					o.Nulls = p.anyKw("FIRST", "LAST")
				}
				q.OrderAll, q.OrderBy = true, []OrderItem{o}
				continue
			}
			q.OrderBy = p.orderItems()
		case p.isKw("SORT", "BY"):
			p.i += 2
			q.SortBy = p.orderItems()
		case p.isKw("CLUSTER", "BY"):
			p.i += 2
			q.ClusterBy = p.exprs()
		case p.isKw("DISTRIBUTE", "BY"):
			p.i += 2
			q.DistBy = p.exprs()
		case p.isKw("WINDOW") && p.peek(2).Upper == "AS":
			p.next()
			q.Windows = p.namedWindows()
		case p.kw("LIMIT"):
			if !p.kw("ALL") {
				q.Limit = p.expr()
			}
		case p.kw("OFFSET"):
			q.Offset = p.expr()
		default:
			return
		}
	}
}

func (p *parser) namedWindows() []NamedWindow {
	var out []NamedWindow
	for {
		s := p.tok().Start
		n := NamedWindow{Name: p.name()}
		p.needKw("AS")
		n.Spec = p.windowSpec()
		n.Span = p.from(s)
		out = append(out, n)
		if !p.sym(",") {
			return out
		}
	}
}

// setOps: INTERSECT binds tighter than UNION and EXCEPT.
func (p *parser) setOps(level int) Body {
	if level == 2 {
		return p.bodyTerm()
	}
	x := p.setOps(level + 1)
	for {
		var op string
		if level == 0 {
			switch op = p.anyKw("UNION", "EXCEPT", "MINUS"); op {
			case "":
				return x
			case "MINUS":
				op = "EXCEPT"
			}
		} else if op = p.anyKw("INTERSECT"); op == "" {
			return x
		}
		all := p.kw("ALL") || p.kw("DISTINCT") && false
		byName := p.kw("BY", "NAME")
		y := p.setOps(level + 1)
		x = &SetOp{p.from(x.Pos().Start), op, all, byName, x, y}
	}
}

func (p *parser) bodyTerm() Body {
	start := p.tok().Start
	switch {
	case p.isSym("("):
		p.next()
		q := p.query()
		p.needSym(")")
		return &Parens{p.from(start), q}
	case p.isKw("VALUES"):
		v := p.values()
		if a := p.tableAlias(); a.Name != "" { // VALUES … AS t(a, b) is SELECT * FROM VALUES … AS t(a, b)
			r := &ValuesRelation{Span: p.from(start), Values: v, Alias: a}
			s := &Select{Span: r.Span, FromFirst: true, From: []Relation{r}}
			s.Items = []SelectItem{{Span: r.Span, Expr: &Star{Span: r.Span}}}
			return s
		}
		return v
	case p.kw("TABLE"):
		t := p.tableName()
		return &TableBody{p.from(start), t}
	case p.isKw("SELECT"):
		return p.selectBody()
	case p.isKw("FROM"):
		p.next()
		s := &Select{FromFirst: true, From: p.relations()}
		s.Views = p.lateralViews()
		if p.isKw("SELECT") {
			inner := p.selectBody()
			inner.From, inner.Views, inner.FromFirst = s.From, append(s.Views, inner.Views...), true
			inner.Span = p.from(start)
			return inner
		}
		s.Span = p.from(start)
		return s
	}
	p.unexpected("SELECT", "VALUES", "FROM")
	return nil
}

func (p *parser) values() *Values {
	start := p.next().Start
	v := &Values{}
	for {
		e := p.expr()
		switch x := e.(type) {
		case *RowExpr:
			v.Rows = append(v.Rows, x.Items)
		case *Paren:
			v.Rows = append(v.Rows, []Expr{x.X})
		default:
			v.Rows = append(v.Rows, []Expr{e})
		}
		if !p.sym(",") {
			break
		}
	}
	v.Span = p.from(start)
	return v
}

func (p *parser) selectBody() *Select {
	start := p.next().Start
	s := &Select{}
	if p.isSym("/") { // hints are comments to the lexer unless written /*+ */, which it also skips
		p.unexpected()
	}
	if p.kw("DISTINCT") {
		s.Distinct = true
	} else if p.isKw("ALL") && p.peek(1).Text != "(" {
		p.next()
	}
	for {
		s.Items = append(s.Items, p.selectItem())
		if !p.sym(",") {
			break
		}
		if p.isKw("FROM") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted || p.peek(1).Text == "(") {
			p.unexpected()
		}
	}
	if p.kw("FROM") {
		s.From = p.relations()
	}
	s.Views = p.lateralViews()
	if p.kw("WHERE") {
		s.Where = p.expr()
	}
	if p.isKw("GROUP", "BY") {
		s.GroupBy = p.groupBy()
	}
	if p.kw("HAVING") {
		s.Having = p.expr()
	}
	if p.kw("QUALIFY") {
		s.Qualify = p.expr()
	}
	if p.isKw("WINDOW") && p.peek(2).Upper == "AS" {
		p.next()
		s.Windows = p.namedWindows()
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) selectItem() SelectItem {
	start := p.tok().Start
	it := SelectItem{Expr: p.expr()}
	if p.isKw("AS") && p.peek(1).Text == "(" || p.isSym("(") && false {
		p.next()
		it.Aliases = p.names()
	} else if p.isKw("AS") && p.peek(1).Kind == String {
		p.next()
		it.Alias = p.str()
	} else {
		it.Alias = p.aliasHere()
	}
	it.Span = p.from(start)
	return it
}

func (p *parser) lateralViews() []LateralView {
	var out []LateralView
	for p.isKw("LATERAL", "VIEW") {
		start := p.tok().Start
		p.i += 2
		v := LateralView{Outer: p.kw("OUTER")}
		s := p.tok().Start
		f, ok := p.call(p.dotted(), s).(*FuncCall)
		if !ok {
			p.unexpected()
		}
		v.Func = f
		if p.isName() && !p.isKw("AS") && !strict[p.tok().Upper] {
			v.Table = p.name()
		}
		if p.kw("AS") {
			v.Columns = []string{p.name()}
			for p.sym(",") {
				v.Columns = append(v.Columns, p.name())
			}
		}
		v.Span = p.from(start)
		out = append(out, v)
	}
	return out
}

func (p *parser) groupBy() *GroupBy {
	start := p.tok().Start
	p.i += 2
	g := &GroupBy{}
	if p.isKw("ALL") && p.peek(1).Text != "(" && p.peek(1).Text != "." {
		p.next()
		g.All = true
		g.Span = p.from(start)
		return g
	}
	for {
		s := p.tok().Start
		it := GroupItem{}
		switch {
		case (p.isKw("ROLLUP") || p.isKw("CUBE")) && p.peek(1).Text == "(":
			it.Kind = p.next().Upper
			it.Sets = p.groupSets()
		case p.isKw("GROUPING", "SETS"):
			p.i += 2
			it.Kind = "GROUPING SETS"
			it.Sets = p.groupSets()
		default:
			it.Expr = p.expr()
		}
		it.Span = p.from(s)
		g.Items = append(g.Items, it)
		if !p.sym(",") {
			break
		}
	}
	if p.kw("WITH") {
		if g.Legacy = p.anyKw("ROLLUP", "CUBE"); g.Legacy == "" {
			p.unexpected("ROLLUP", "CUBE")
		}
	} else if p.kw("GROUPING", "SETS") {
		g.HasSet = true
		g.Sets = p.groupSets()
	}
	g.Span = p.from(start)
	return g
}

func (p *parser) groupSets() [][]Expr {
	p.needSym("(")
	var out [][]Expr
	for !p.isSym(")") {
		if p.isKw("ROLLUP") && p.peek(1).Text == "(" || p.isKw("CUBE") && p.peek(1).Text == "(" || p.isKw("GROUPING", "SETS") {
			p.failAt(p.tok().Span, errs.New("UNSUPPORTED_FEATURE", "feature", "Nested grouping analytics"))
		}
		if p.isSym("(") && p.peek(1).Text == ")" {
			p.i += 2
			out = append(out, []Expr{})
		} else {
			switch x := p.expr().(type) {
			case *RowExpr:
				out = append(out, x.Items)
			case *Paren:
				out = append(out, []Expr{x.X})
			default:
				out = append(out, []Expr{x})
			}
		}
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	return out
}

// relations reads the list of FROM.
func (p *parser) relations() []Relation {
	out := []Relation{p.relation()}
	for p.sym(",") {
		out = append(out, p.relation())
	}
	return out
}

func (p *parser) relation() Relation {
	p.enter()
	defer p.leave()
	start := p.tok().Start
	x := p.relationTerm()
	for {
		switch {
		case p.isKw("PIVOT") && p.peek(1).Text == "(":
			x = p.pivot(x, start)
			continue
		case p.isKw("UNPIVOT") && (p.peek(1).Text == "(" || p.peek(2).Upper == "NULLS"):
			x = p.unpivot(x, start)
			continue
		}
		j := p.joinHead()
		if j == nil {
			return x
		}
		j.Left = x
		p.joinRest(j, start)
		x = j
	}
}

// joinHead reads the words of a join; nil if there is none.
func (p *parser) joinHead() *Join {
	at := p.i
	j := &Join{Kind: InnerJoin}
	j.Natural = p.kw("NATURAL")
	switch {
	case p.kw("CROSS"):
		j.Kind = CrossJoin
	case p.kw("INNER"):
	case p.kw("LEFT", "SEMI"), p.kw("SEMI"):
		j.Kind = LeftSemi
	case p.kw("LEFT", "ANTI"), p.kw("ANTI"):
		j.Kind = LeftAnti
	case p.kw("LEFT"):
		p.kw("OUTER")
		j.Kind = LeftOuter
	case p.kw("RIGHT"):
		p.kw("OUTER")
		j.Kind = RightOuter
	case p.kw("FULL"):
		p.kw("OUTER")
		j.Kind = FullOuter
	}
	if !p.kw("JOIN") {
		if p.i != at && !p.isKw("JOIN") {
			p.i = at
		}
		return nil
	}
	return j
}

func (p *parser) joinRest(j *Join, start int) {
	j.Lateral = p.isKw("LATERAL")
	j.Right = p.relationTerm()
	switch {
	case p.kw("ON"):
		j.On = p.expr()
	case p.kw("USING"):
		j.Using = p.names()
	}
	j.Span = p.from(start)
}

func (p *parser) relationTerm() Relation {
	start := p.tok().Start
	lateral := p.isKw("LATERAL") && (p.peek(1).Text == "(" || p.peek(2).Text == "(")
	if lateral {
		p.next()
	}
	switch {
	case p.isSym("("):
		if p.startsQuery() {
			at := p.i
			p.next()
			r := &SubqueryRelation{Lateral: lateral}
			if q, ok := p.tryQuery(); ok {
				r.Query = q
				p.needSym(")")
				r.Sample = p.sample()
				r.Watermark = p.watermark()
				r.Alias = p.tableAlias()
				r.Span = p.from(start)
				return r
			}
			p.i = at
		}
		p.next()
		inner := p.relation()
		if p.isSym(",") {
			p.unexpected()
		}
		p.needSym(")")
		r := &ParenRelation{Relation: inner}
		r.Alias = p.tableAlias()
		r.Span = p.from(start)
		return r
	case p.isKw("VALUES") && p.peek(1).Kind != EOF && p.peek(1).Text != "." && p.peek(1).Text != ",":
		v := p.values()
		r := &ValuesRelation{Values: v}
		r.Alias = p.tableAlias()
		r.Span = p.from(start)
		return r
	}
	at := p.i
	if p.isName() && !p.isKw("STREAM") {
		n := p.dotted()
		if p.isSym("(") {
			s := p.toks[at].Start
			f, _ := p.call(n, s).(*FuncCall)
			r := &TableFunc{Func: f, Lateral: lateral}
			r.Watermark = p.watermark()
			r.Alias = p.tableAlias()
			r.Span = p.from(start)
			return r
		}
		p.i = at
	}
	t := p.tableName()
	t.Watermark = p.watermark()
	t.Alias = p.tableAlias()
	t.Span = p.from(start)
	return t
}

// tryQuery reads a query; a bracket may hold a relation instead, as in ((a JOIN b)).
func (p *parser) tryQuery() (q *Query, ok bool) {
	at, depth := p.i, p.depth
	plain := !p.isSym("(")
	defer func() {
		if r := recover(); r != nil {
			if _, isFailure := r.(failure); !isFailure || plain {
				panic(r)
			}
			p.i, p.depth = at, depth
			q, ok = nil, false
		}
	}()
	q = p.query()
	if !p.isSym(")") {
		if plain {
			p.unexpected(")")
		}
		p.i = at
		return nil, false
	}
	return q, true
}

// tableName reads a name with STREAM, options, time travel and sample, without alias.
func (p *parser) tableName() *TableName {
	start := p.tok().Start
	t := &TableName{}
	brackets := false
	if p.isKw("STREAM") && (p.peek(1).Text == "(" || (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted) && !strict[p.peek(1).Upper] && p.peek(1).Upper != "AS") {
		p.next()
		t.Stream = true
		brackets = p.sym("(")
	}
	s := p.tok().Start
	p.inTable = true
	if p.isName() && strict[p.tok().Upper] {
		p.unexpected()
	}
	t.Parts = p.dotted()
	p.inTable = false
	t.NameSpan = p.from(s)
	if brackets {
		p.needSym(")")
	}
	if p.isKw("WITH") && p.peek(1).Text == "(" {
		p.next()
		t.Options = p.properties()
	}
	switch {
	case p.kw("VERSION", "AS", "OF"), p.kw("FOR", "VERSION", "AS", "OF"), p.kw("FOR", "SYSTEM_VERSION", "AS", "OF"):
		t.Version = p.value(0)
	case p.kw("TIMESTAMP", "AS", "OF"), p.kw("FOR", "TIMESTAMP", "AS", "OF"), p.kw("FOR", "SYSTEM_TIME", "AS", "OF"):
		t.Timestamp = p.value(0)
	}
	t.Sample = p.sample()
	t.Span = p.from(start)
	return t
}

func (p *parser) sample() *Sample {
	if !p.isKw("TABLESAMPLE") {
		return nil
	}
	s := &Sample{}
	start := p.next().Start
	p.needSym("(")
	switch {
	case p.kw("BUCKET"):
		s.Kind = "BUCKET"
		s.Bucket[0] = p.value(0)
		p.needKw("OUT", "OF")
		s.Bucket[1] = p.value(0)
	default:
		s.Value = p.value(0)
		if s.Kind = p.anyKw("PERCENT", "ROWS"); s.Kind == "" {
			p.unexpected("PERCENT", "ROWS")
		}
	}
	p.needSym(")")
	if p.kw("REPEATABLE") {
		p.needSym("(")
		s.Seed = p.value(0)
		p.needSym(")")
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) watermark() *Watermark {
	if !p.isKw("WATERMARK") {
		return nil
	}
	w := &Watermark{}
	start := p.next().Start
	w.Expr = p.value(0)
	if p.kw("AS") {
		w.Name = p.name()
	}
	p.needKw("DELAY", "OF")
	w.Delay = p.value(0)
	w.Span = p.from(start)
	return w
}

func (p *parser) pivot(in Relation, start int) Relation {
	p.next()
	p.needSym("(")
	v := &Pivot{Input: in}
	for {
		v.Aggs = append(v.Aggs, p.selectItemBefore("FOR"))
		if !p.sym(",") {
			break
		}
	}
	p.needKw("FOR")
	if p.sym("(") {
		for {
			v.Columns = append(v.Columns, p.value(0))
			if !p.sym(",") {
				break
			}
		}
		p.needSym(")")
	} else {
		v.Columns = []Expr{p.value(0)}
	}
	p.needKw("IN")
	p.needSym("(")
	for {
		v.Values = append(v.Values, p.selectItem())
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	p.needSym(")")
	v.Alias = p.tableAlias()
	v.Span = p.from(start)
	return v
}

// selectItemBefore is selectItem where word, unquoted, is no alias.
func (p *parser) selectItemBefore(word string) SelectItem {
	start := p.tok().Start
	it := SelectItem{Expr: p.expr()}
	if p.kw("AS") || p.isName() && !p.isKw(word) {
		it.Alias = p.name()
	}
	it.Span = p.from(start)
	return it
}

func (p *parser) unpivot(in Relation, start int) Relation {
	p.next()
	u := &Unpivot{Input: in}
	if p.kw("INCLUDE", "NULLS") {
		u.IncludeNulls = true
	} else {
		p.kw("EXCLUDE", "NULLS")
	}
	p.needSym("(")
	if p.isSym("(") {
		u.ValueColumns = p.names()
	} else {
		u.ValueColumns = []string{p.name()}
	}
	p.needKw("FOR")
	u.NameColumn = p.name()
	p.needKw("IN")
	p.needSym("(")
	for {
		c := UnpivotColumn{}
		if len(u.ValueColumns) > 1 || p.isSym("(") {
			p.needSym("(")
			c.Columns = p.exprs()
			p.needSym(")")
		} else {
			c.Columns = []Expr{p.value(0)}
		}
		if p.kw("AS") || p.isName() {
			c.Alias = p.name()
		}
		u.Columns = append(u.Columns, c)
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	p.needSym(")")
	u.Alias = p.tableAlias()
	u.Span = p.from(start)
	return u
}

// pipe reads |> steps behind in.
func (p *parser) pipe(in Relation) Body {
	b := &PipeBody{Input: in}
	for p.isSym("|>") {
		start := p.next().Start
		o := PipeOp{}
		switch {
		case p.kw("SELECT"):
			o.Kind = "SELECT"
			o.Distinct = p.kw("DISTINCT")
			o.Items = p.selectItems()
		case p.kw("EXTEND"):
			o.Kind = "EXTEND"
			o.Items = p.selectItems()
		case p.kw("SET"):
			o.Kind = "SET"
			for {
				n := p.name()
				o.Names = append(o.Names, n)
				p.needSym("=")
				o.Items = append(o.Items, SelectItem{Expr: p.expr(), Alias: n})
				if !p.sym(",") {
					break
				}
			}
		case p.kw("DROP"):
			o.Kind = "DROP"
			o.Names = []string{p.name()}
			for p.sym(",") {
				o.Names = append(o.Names, p.name())
			}
		case p.kw("AS"):
			o.Kind = "AS"
			o.Names = []string{p.name()}
		case p.kw("WHERE"):
			o.Kind = "WHERE"
			o.Expr = p.expr()
		case p.kw("AGGREGATE"):
			o.Kind = "AGGREGATE"
			if !p.isKw("GROUP", "BY") {
				o.Items = p.selectItems()
			}
			if p.isKw("GROUP", "BY") {
				p.i += 2
				o.GroupBy = &GroupBy{}
				for {
					it := p.selectItem()
					o.GroupBy.Items = append(o.GroupBy.Items, GroupItem{Span: it.Span, Expr: it.Expr})
					o.Names = append(o.Names, it.Alias)
					if !p.sym(",") {
						break
					}
				}
			}
		case p.isKw("ORDER", "BY"):
			p.i += 2
			o.Kind = "ORDER BY"
			o.Order = p.orderItems()
		case p.isKw("LIMIT") || p.isKw("OFFSET"):
			o.Kind = "LIMIT"
			if p.kw("LIMIT") {
				if !p.kw("ALL") {
					o.Limit = p.expr()
				}
			}
			if p.kw("OFFSET") {
				o.Offset = p.expr()
			}
		case p.isKw("PIVOT"):
			o.Kind = "PIVOT"
			o.Pivot, _ = p.pivot(nil, start).(*Pivot)
		case p.isKw("UNPIVOT"):
			o.Kind = "UNPIVOT"
			o.Unpivot, _ = p.unpivot(nil, start).(*Unpivot)
		case p.isKw("TABLESAMPLE"):
			o.Kind = "TABLESAMPLE"
			o.Sample = p.sample()
		case p.isKw("LATERAL", "VIEW"):
			o.Kind = "LATERAL VIEW"
			v := p.lateralViews()
			o.View = &v[0]
		case p.isKw("UNION") || p.isKw("EXCEPT") || p.isKw("INTERSECT") || p.isKw("MINUS"):
			s := &SetOp{Op: p.next().Upper}
			if s.Op == "MINUS" {
				s.Op = "EXCEPT"
			}
			s.All = p.kw("ALL")
			if !s.All {
				p.kw("DISTINCT")
			}
			s.ByName = p.kw("BY", "NAME")
			s.Right = p.bodyTerm()
			s.Span = p.from(start)
			o.Kind, o.SetOp = s.Op, s
		default:
			j := p.joinHead()
			if j == nil {
				p.unexpected("SELECT", "WHERE", "EXTEND", "AGGREGATE", "JOIN", "LIMIT")
			}
			p.joinRest(j, start)
			o.Kind, o.Join = "JOIN", j
		}
		o.Span = p.from(start)
		b.Ops = append(b.Ops, o)
	}
	b.Span = p.from(in.Pos().Start)
	return b
}

func (p *parser) selectItems() []SelectItem {
	out := []SelectItem{p.selectItem()}
	for p.sym(",") {
		out = append(out, p.selectItem())
	}
	return out
}
