package sql

import (
	"strings"

	"streamlab/errs"
)

// query reads a whole query: WITH, body, ORDER BY and what may follow it.
func (p *parser) query() *Query {
	p.enter()
	defer p.leave()
	start := p.start()
	q := &Query{}
	stop, listed := p.stop, p.listed
	p.stop, p.listed = "", false
	if p.isKw("WITH") {
		p.with(q)
	}
	q.Body = p.body()
	p.tail(q)
	p.stop, p.listed = stop, listed
	q.Span = p.from(start)
	return q
}

// queryInBrackets reports whether a bracket opens a query, and no list of names that only begins with its word.
func (p *parser) queryInBrackets() bool {
	switch p.word(1) {
	case "SELECT", "FROM", "VALUES", "TABLE", "WITH":
		after := p.at(2)
		return after != "," && after != ")"
	}
	return false
}

func (p *parser) with(q *Query) {
	at := p.next().Span
	q.Recursive = p.isKw("RECURSIVE") && p.isName(1) && p.word(1) != "AS" && p.kw("RECURSIVE")
	seen := map[string]bool{}
	p.list(func() {
		s := p.start()
		c := CTE{Name: p.plainName()}
		if p.isSym("(") && !p.queryInBrackets() {
			c.Columns = p.names()
		}
		if p.kw("MAX", "RECURSION", "LEVEL") {
			c.MaxRecursion = p.operand()
		}
		p.kw("AS")
		if c.Query = p.tryQuery(); c.Query == nil {
			c.Query = p.subquery()
		}
		c.Span = p.from(s)
		if key := strings.ToLower(c.Name); seen[key] {
			p.failAt(at, errs.New("DUPLICATED_CTE_NAMES", "duplicateNames", "`"+c.Name+"`"))
		} else {
			seen[key] = true
		}
		q.With = append(q.With, c)
	})
}

// tail reads ORDER BY, SORT BY, DISTRIBUTE BY, CLUSTER BY, WINDOW, LIMIT and OFFSET, in this order.
func (p *parser) tail(q *Query) {
	if orderAt := p.start(); p.kw("ORDER", "BY") {
		if p.isKw("ALL") && !p.afterName(1) {
			s := p.next()
			o := OrderItem{}
			p.direction(&o)
			o.Span = p.from(s.Start)
			q.OrderAll, q.OrderBy = true, []OrderItem{o}
		} else {
			q.OrderBy = p.orderItems()
		}
		q.OrderSpan = p.from(orderAt)
	}
	if q.OrderBy == nil {
		if p.kw("CLUSTER", "BY") {
			q.ClusterBy = p.exprs()
		}
		if p.kw("DISTRIBUTE", "BY") {
			q.DistBy = p.exprs()
		}
		if p.kw("SORT", "BY") {
			q.SortBy = p.orderItems()
		}
	}
	q.Windows = p.windows()
	if p.isKw("LIMIT") && p.startsExpr(1) {
		p.skip(1)
		if p.isKw("ALL") && !p.afterName(1) {
			p.skip(1)
		} else {
			q.Limit = p.expr()
		}
	}
	if p.isKw("OFFSET") && p.startsExpr(1) {
		p.skip(1)
		q.Offset = p.expr()
	}
}

// afterName reports whether the word before the token n ahead is used as a name or function: all.x, all(…).
func (p *parser) afterName(n int) bool {
	switch p.at(n) {
	case "", ",", ")", ";", "|>":
		return false
	}
	return true
}

func (p *parser) windows() []NamedWindow {
	if !p.isKw("WINDOW") || !p.isName(1) || p.word(2) != "AS" {
		return nil
	}
	clause := p.next().Start
	var out []NamedWindow
	p.list(func() {
		s := p.start()
		n := NamedWindow{Name: p.name()}
		for _, o := range out {
			if strings.EqualFold(o.Name, n.Name) {
				p.failAt(p.from(clause), errs.New("INVALID_SQL_SYNTAX.REPETITIVE_WINDOW_DEFINITION", "windowName", "`"+n.Name+"`"))
			}
		}
		p.needKw("AS")
		n.Spec = p.windowSpec()
		n.Span = p.from(s)
		out = append(out, n)
	})
	return out
}

// body reads set operations and the pipe steps behind them, which bind loosest.
func (p *parser) body() Body {
	x := p.setOps(0)
	for n := 0; ; n++ {
		if n > maxDepth {
			p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
		}
		switch {
		case p.isSym("|>"):
			x = p.pipe(x)
		case p.setOpAt():
			x = p.setTail(p.setTail(x, 1), 0)
		default:
			return x
		}
	}
}

func (p *parser) setOpAt() bool {
	switch p.word(0) {
	case "UNION", "EXCEPT", "MINUS", "INTERSECT":
		return true
	}
	return false
}

// setOps: INTERSECT binds tighter than UNION and EXCEPT unless the old precedence is set.
func (p *parser) setOps(level int) Body {
	if level == 2 {
		return p.term()
	}
	return p.setTail(p.setOps(level+1), level)
}

func (p *parser) setTail(x Body, level int) Body {
	for n := 0; p.setOpAt(); n++ {
		if n > 10*maxDepth {
			p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
		}
		tight := p.isKw("INTERSECT") && !p.opts.LegacySetOps
		if tight != (level == 1) {
			return x
		}
		s := p.setOp()
		s.Left = x
		s.Right = p.setOps(level + 1)
		s.Span = p.from(x.Pos().Start)
		x = s
	}
	return x
}

// setOp reads the words of a set operation.
func (p *parser) setOp() *SetOp {
	start := p.start()
	s := &SetOp{Op: p.next().Upper}
	if s.Op == "MINUS" {
		s.Op = "EXCEPT"
	}
	switch {
	case p.kw("ALL"):
		s.All = true
	default:
		p.kw("DISTINCT")
	}
	s.Span = p.from(start)
	return s
}

// term reads one branch of set operations.
func (p *parser) term() Body {
	start := p.start()
	switch {
	case p.isSym("("):
		q := p.subquery()
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
	case p.isKw("TABLE") && p.isName(1):
		p.skip(1)
		t := &TableName{}
		p.tableParts(t)
		t.Span = t.NameSpan
		return &TableBody{p.from(start), t}
	case p.isKw("SELECT"):
		return p.selectBody()
	case p.isKw("FROM"):
		p.skip(1)
		s := &Select{FromFirst: true, From: p.relations()}
		s.Views = p.lateralViews()
		if p.isKw("SELECT") {
			inner := p.selectBody()
			if inner.From != nil {
				p.failAt(inner.From[0].Pos(), errs.New("PARSE_SYNTAX_ERROR", "error", "'FROM'", "hint", ""))
			}
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
	p.list(func() {
		switch x := p.expr().(type) {
		case *RowExpr:
			v.Rows = append(v.Rows, x.Items)
		case *Paren:
			v.Rows = append(v.Rows, []Expr{x.X})
		default:
			v.Rows = append(v.Rows, []Expr{x})
		}
	})
	v.Span = p.from(start)
	return v
}

func (p *parser) selectBody() *Select {
	start := p.next().Start
	s := &Select{}
	s.Hints = p.selectHints()
	switch {
	case p.opts.EnforceReserved && (p.isKw("DISTINCT") || p.isKw("ALL")) && p.peek(1).Kind == Word && !p.isName(1) && reservedClause[p.word(1)]:
		p.moved(p.i, "", "")
	case p.isKw("DISTINCT") && p.startsExpr(1):
		p.skip(1)
		s.Distinct = true
	case p.isKw("ALL") && p.startsExpr(1) && p.at(1) != "(" && p.at(1) != "-" && p.at(1) != "+" || p.isKw("ALL") && p.at(1) == "*" && p.at(2) != "":
		p.skip(1)
	}
	if p.isKw("TRANSFORM") && p.transformAhead() {
		p.refuse(p.tok().Span, "TRANSFORM … USING", "Write the change as SQL expressions.")
	}
	s.Items = p.selectItems()
	p.selectClauses(s)
	s.Span = p.from(start)
	return s
}

// transformAhead tells TRANSFORM (…) USING 'script' from the function transform.
func (p *parser) transformAhead() bool {
	depth := 0
	for n := 1; ; n++ {
		switch p.at(n) {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 || p.peek(n).Kind == EOF {
			return p.word(n+1) == "USING" && p.peek(n+2).Kind == String
		}
	}
}

// selectHints reads the comments /*+ … */ right behind SELECT.
func (p *parser) selectHints() []string {
	c, ok := p.hints[p.i]
	if !ok {
		return nil
	}
	text := strings.TrimSuffix(c.Text[3:], "*/")
	var out []string
	for {
		// Hints are read by a parser of their own; an error in them points at the whole comment.
		q := &parser{text: text, opts: p.opts, toks: lexAll(text, p.opts), steps: 100000}
		func() {
			defer func() {
				if r := recover(); r != nil {
					fl, ok := r.(failure)
					if !ok {
						panic(r)
					}
					p.failAt(c.Span, errs.New("PARSE_SYNTAX_ERROR", "error", fl.err.Params["error"], "hint", ""))
				}
			}()
			for q.tok().Kind != EOF {
				s := q.start()
				q.name()
				if q.isSym("(") {
					q.skip(1)
					if !q.isSym(")") {
						q.list(func() { q.value(0) })
					}
					q.needSym(")")
				}
				h := q.from(s)
				out = append(out, strings.Join(strings.Fields(text[h.Start:h.End]), " "))
				q.sym(",")
			}
		}()
		return out
	}
}

// selectClauses reads FROM to WINDOW.
func (p *parser) selectClauses(s *Select) {
	if p.isKw("FROM") {
		p.skip(1)
		s.From = p.relations()
	} else if n := len(s.Items); n > 1 {
		// A comma before FROM makes FROM a column and the table its alias.
		if last := s.Items[n-1].Expr; strings.EqualFold(p.text[last.Pos().Start:last.Pos().End], "FROM") && s.Items[n-1].Alias != "" && !p.isSym("(") {
			p.failAt(last.Pos(), errs.New("TRAILING_COMMA_IN_SELECT"))
		}
	}
	s.Views = p.lateralViews()
	if p.isKw("WHERE") && p.startsExpr(1) {
		p.skip(1)
		s.Where = p.expr()
	}
	if p.isKw("GROUP", "BY") {
		s.GroupBy = p.groupBy()
	}
	if p.isKw("HAVING") && p.startsExpr(1) {
		p.skip(1)
		s.Having = p.expr()
	}
	if p.isKw("QUALIFY") && p.startsExpr(1) {
		p.skip(1)
		s.Qualify = p.expr()
	}
	s.Windows = p.windows()
}

func (p *parser) selectItem() SelectItem {
	start := p.start()
	listed := p.listed
	p.listed = true
	it := SelectItem{Expr: p.expr()}
	p.listed = listed
	it.Alias, it.Aliases = p.itemAlias()
	it.Span = p.from(start)
	return it
}

func (p *parser) selectItems() []SelectItem {
	var out []SelectItem
	p.list(func() { out = append(out, p.selectItem()) })
	return out
}

func (p *parser) lateralViews() []LateralView {
	var out []LateralView
	for p.isKw("LATERAL", "VIEW") {
		start := p.start()
		p.skip(2)
		v := LateralView{Outer: p.isKw("OUTER") && p.isName(1) && p.kw("OUTER")}
		s := p.start()
		v.Func, _ = p.call(p.dotted(), s).(*FuncCall)
		if p.isName(0) && !p.isKw("AS") && !strict[p.word(0)] && !p.clauseAhead() {
			v.Table = p.name()
		}
		if p.kw("AS") {
			p.list(func() { v.Columns = append(v.Columns, p.name()) })
		}
		v.Span = p.from(start)
		out = append(out, v)
	}
	return out
}

func (p *parser) groupBy() *GroupBy {
	start := p.start()
	p.skip(2)
	g := &GroupBy{}
	if p.isKw("ALL") && !p.afterName(1) && !(p.isName(1) && p.at(1) == "" && p.word(1) == "") {
		p.skip(1)
		g.All = true
		g.Span = p.from(start)
		return g
	}
	p.list(func() {
		s := p.start()
		it := GroupItem{}
		if it.Kind = p.groupKind(); it.Kind != "" {
			it.Sets = p.groupSets(it.Kind)
		} else {
			it.Expr = p.expr()
		}
		it.Span = p.from(s)
		g.Items = append(g.Items, it)
	})
	switch {
	case p.isKw("WITH") && (p.word(1) == "ROLLUP" || p.word(1) == "CUBE"):
		p.skip(1)
		g.Legacy = p.next().Upper
	case p.kw("GROUPING", "SETS"):
		g.HasSet = true
		g.Sets = p.groupSets("GROUPING SETS")
	}
	g.Span = p.from(start)
	return g
}

// groupKind takes ROLLUP, CUBE or GROUPING SETS before a bracket; "" if none stands here.
func (p *parser) groupKind() string {
	switch w := p.word(0); {
	case (w == "ROLLUP" || w == "CUBE") && p.at(1) == "(":
		p.skip(1)
		return w
	case w == "GROUPING" && p.word(1) == "SETS" && p.at(2) == "(":
		p.skip(2)
		return "GROUPING SETS"
	}
	return ""
}

// maxCube bounds CUBE, whose sets double with every entry.
const maxCube = 12

func (p *parser) groupSets(kind string) [][]Expr {
	var out [][]Expr
	p.inBrackets(func() {
		at := p.tok().Span
		if inner := p.groupKind(); inner != "" && kind == "GROUPING SETS" {
			p.enter()
			sets := p.groupSets(inner)
			p.leave()
			if inner == "CUBE" && len(sets) > maxCube {
				p.failAt(at, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
			}
			out = append(out, expandSets(inner, sets)...)
			return
		}
		if p.isSym("(") && p.at(1) == ")" {
			p.skip(2)
			out = append(out, []Expr{})
			return
		}
		switch x := p.expr().(type) {
		case *RowExpr:
			out = append(out, x.Items)
		case *Paren:
			out = append(out, []Expr{x.X})
		default:
			out = append(out, []Expr{x})
		}
	})
	return out
}

// expandSets gives the sets that ROLLUP or CUBE over levels stand for.
func expandSets(kind string, levels [][]Expr) [][]Expr {
	var out [][]Expr
	switch kind {
	case "ROLLUP":
		for n := len(levels); n >= 0; n-- {
			set := []Expr{}
			for _, l := range levels[:n] {
				set = append(set, l...)
			}
			out = append(out, set)
		}
	case "CUBE":
		for mask := 1<<len(levels) - 1; mask >= 0; mask-- {
			set := []Expr{}
			for i, l := range levels {
				if mask>>(len(levels)-1-i)&1 == 1 {
					set = append(set, l...)
				}
			}
			out = append(out, set)
		}
	default:
		return levels
	}
	return out
}
