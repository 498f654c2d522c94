package sql

import (
	"strconv"

	"streamlab/errs"
)

// relations reads the list of FROM.
func (p *parser) relations() []Relation {
	var out []Relation
	p.list(func() { out = append(out, p.relation()) })
	return out
}

// relation reads a primary and the joins and pivots behind it.
func (p *parser) relation() Relation {
	p.enter()
	defer p.leave()
	start := p.start()
	x := p.primary()
	for n := 0; ; n++ {
		if n > maxDepth {
			p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
		}
		switch {
		case p.isKw("PIVOT") && p.at(1) == "(":
			v := p.pivot(start)
			v.Input = x
			x = v
			continue
		case p.isKw("UNPIVOT") && (p.at(1) == "(" || p.word(2) == "NULLS"):
			v := p.unpivot(start)
			v.Input = x
			x = v
			continue
		}
		j := p.joinHead()
		if j == nil {
			if p.isKw("LATERAL") && p.word(1) != "VIEW" {
				p.skip(1)
				p.unexpected("VIEW")
			}
			return x
		}
		j.Left = x
		p.joinRest(j, start)
		x = j
	}
}

// joinHead reads the words of a join; nil if there is none.
func (p *parser) joinHead() *Join {
	j := &Join{Kind: InnerJoin}
	at := p.i
	j.Natural = p.kw("NATURAL")
	outer := false
	switch {
	case p.kw("CROSS"):
		j.Kind = CrossJoin
	case p.kw("INNER"):
	case p.kw("LEFT", "SEMI"), p.kw("SEMI"):
		j.Kind = LeftSemi
	case p.kw("LEFT", "ANTI"), p.kw("ANTI"):
		j.Kind = LeftAnti
	case p.kw("LEFT"):
		j.Kind, outer = LeftOuter, true
	case p.kw("RIGHT"):
		j.Kind, outer = RightOuter, true
	case p.kw("FULL"):
		j.Kind, outer = FullOuter, true
	}
	if outer {
		p.kw("OUTER")
	}
	if p.i == at && !p.isKw("JOIN") {
		return nil
	}
	if !p.kw("JOIN") {
		if p.tok().Kind == EOF && (j.Kind == LeftSemi || j.Kind == LeftAnti) && p.i == at+1 { // the word alone could be no alias either
			p.moved(at, "", "Expected JOIN.")
		}
		if p.word(1) == "JOIN" {
			p.extra()
		}
		sure := outer || j.Kind == CrossJoin || p.word(-1) == "INNER" || p.word(-1) == "NATURAL" // the word is no alias
		if p.i == at+1 && sure && p.isName(0) && !p.clauseAhead() {
			p.missing("JOIN")
		}
		p.unexpected("JOIN")
	}
	return j
}

func (p *parser) joinRest(j *Join, start int) {
	j.Lateral = p.isKw("LATERAL") && (p.at(1) == "(" || p.isName(1))
	j.Right = p.primary()
	if (p.isKw("APPROX") || p.isKw("EXACT")) && p.word(1) == "NEAREST" {
		p.refuse(p.tok().Span, "JOIN … NEAREST BY", "")
	}
	switch {
	case j.Natural:
	case p.kw("ON"):
		j.On = p.expr()
	case p.kw("USING"):
		if !p.isSym("(") && p.isName(0) {
			p.missing("(")
		}
		j.Using = p.names()
	}
	j.Span = p.from(start)
}

// primary reads one relation without joins.
func (p *parser) primary() Relation {
	start := p.start()
	lateral := p.isKw("LATERAL") && (p.at(1) == "(" || p.isName(1))
	if lateral {
		p.skip(1)
	}
	switch {
	case p.isSym("("):
		return p.bracketRelation(start, lateral)
	case p.isKw("VALUES") && p.startsExpr(1) && p.at(1) != "*" && !p.aliasAt(1):
		r := &ValuesRelation{Values: p.values()}
		r.Sample, r.Watermark = p.sample(), p.watermark()
		r.Alias = p.tableAlias()
		r.Span = p.from(start)
		return r
	case p.isKw("IDENTIFIER") && p.at(1) == "(":
		t := &TableName{}
		p.tableParts(t)
		if p.isSym("(") {
			f, _ := p.call(nil, start).(*FuncCall)
			f.Ident = t.Ident
			return p.tableFunc(start, f, lateral, false)
		}
		return p.tableRest(t, start)
	}
	stream := p.streamAhead() && !(p.at(1) == "(" && p.at(2) != "(" && p.queryAt(2))
	if stream { // over a query it is read as a function, whose arguments no query can be
		p.skip(1)
	}
	if !p.isName(0) && !(stream && p.isSym("(")) {
		p.unexpected()
	}
	if f := p.funcAhead(); f {
		s := p.start()
		call, _ := p.call(p.dotted(), s).(*FuncCall)
		return p.tableFunc(start, call, lateral, stream)
	}
	if lateral { // only subqueries and functions can see what stands to their left
		p.unexpected("(")
	}
	t := &TableName{Stream: stream}
	if stream && p.sym("(") {
		if p.funcAhead() {
			s := p.start()
			call, _ := p.call(p.dotted(), s).(*FuncCall)
			p.needSym(")")
			return p.tableFunc(start, call, lateral, stream)
		}
		p.tableParts(t)
		p.needSym(")")
	} else {
		p.tableParts(t)
	}
	return p.tableRest(t, start)
}

// aliasAt reports whether VALUES before the token n ahead is a table's name: FROM values AS v, FROM values v.
func (p *parser) aliasAt(n int) bool {
	if p.word(n) == "AS" {
		return true
	}
	p.i += n
	defer func() { p.i -= n }()
	return p.clauseAhead() || strict[p.word(0)]
}

// streamAhead tells STREAM t and STREAM(t) from a table of that name.
func (p *parser) streamAhead() bool {
	if !p.isKw("STREAM") {
		return false
	}
	if p.at(1) == "(" {
		return true
	}
	if p.peek(1).Kind == Quoted {
		return true
	}
	return p.isName(1) && p.word(1) != "AS" && !p.aliasAt(1) && !(p.word(1) == "WITH" && p.at(2) == "(")
}

// funcAhead reports whether a call of a table function stands here.
func (p *parser) funcAhead() bool {
	n := 0
	for p.isName(n) && p.at(n+1) == "." {
		n += 2
	}
	return p.isName(n) && p.at(n+1) == "("
}

func (p *parser) tableFunc(start int, f *FuncCall, lateral, stream bool) Relation {
	r := &TableFunc{Func: f, Lateral: lateral, Stream: stream}
	r.Watermark = p.watermark()
	r.Alias = p.tableAlias()
	r.Span = p.from(start)
	return r
}

// bracketRelation reads a subquery or a relation in brackets.
func (p *parser) bracketRelation(start int, lateral bool) Relation {
	if p.queryAt(1) {
		plain := p.at(1) != "("
		r := &SubqueryRelation{Lateral: lateral}
		if plain {
			p.skip(1)
			r.Query = p.query()
			if p.tok().Kind == EOF {
				p.missing(")")
			}
			p.needSym(")")
		} else {
			r.Query = p.tryQuery()
		}
		if r.Query != nil {
			r.Sample, r.Watermark = p.sample(), p.watermark()
			r.Alias = p.tableAlias()
			r.Span = p.from(start)
			return r
		}
	}
	if lateral {
		p.skip(1)
		p.unexpected("SELECT")
	}
	p.skip(1)
	r := &ParenRelation{Relation: p.relation()}
	p.needSym(")")
	r.Sample, r.Watermark = p.sample(), p.watermark()
	r.Alias = p.tableAlias()
	r.Span = p.from(start)
	return r
}

// tableParts reads the name of a table, or IDENTIFIER(e).
func (p *parser) tableParts(t *TableName) {
	s := p.start()
	if p.isKw("IDENTIFIER") && p.at(1) == "(" {
		p.skip(2)
		t.Ident = p.expr()
		p.needSym(")")
	} else {
		t.Parts = p.dotted()
	}
	t.NameSpan = p.from(s)
}

// tableRest reads what may follow the name of a table.
func (p *parser) tableRest(t *TableName, start int) Relation {
	p.options(t)
	if !t.Stream {
		p.timeTravel(t)
		p.options(t)
	}
	if p.isKw("CHANGES") && p.word(1) == "FROM" && (p.word(2) == "VERSION" || p.word(2) == "TIMESTAMP") {
		p.failAt(p.from(start), errs.New("UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE", "catalogName", "spark_catalog").
			WithHint("Read the changes with table_changes(…) or the option readChangeFeed."))
	}
	if t.Stream && p.isKw("TABLESAMPLE") && p.at(1) == "(" {
		p.refuse(p.tok().Span, "TABLESAMPLE on a stream", "Filter with a condition on the rows instead.")
	}
	t.Sample, t.Watermark = p.sample(), p.watermark()
	t.Alias = p.tableAlias()
	t.Span = p.from(start)
	return t
}

func (p *parser) options(t *TableName) {
	if p.isKw("WITH") && p.at(1) == "(" {
		p.skip(1)
		t.Options = p.properties()
	}
}

func (p *parser) timeTravel(t *TableName) {
	n := 0
	if p.isKw("FOR") {
		n = 1
	}
	if p.word(n+1) != "AS" || p.word(n+2) != "OF" {
		return
	}
	switch p.word(n) {
	case "VERSION", "SYSTEM_VERSION":
		p.skip(n + 3)
		if k := p.tok().Kind; k != Number && k != String && !p.isSym("?") && !p.isSym(":") {
			p.unexpected()
		}
		t.Version = p.atom()
	case "TIMESTAMP", "SYSTEM_TIME":
		p.skip(n + 3)
		t.Timestamp = p.value(0)
	}
}

func (p *parser) sample() *Sample {
	if !p.isKw("TABLESAMPLE") || p.at(1) != "(" {
		return nil
	}
	start := p.start()
	p.skip(2)
	s := &Sample{}
	if p.isKw("BUCKET") && p.peek(1).Kind == Number {
		p.skip(1)
		s.Kind = "BUCKET"
		s.Bucket[0] = p.atom()
		p.needKw("OUT", "OF")
		s.Bucket[1] = p.atom()
		if p.isKw("ON") {
			p.refuse(p.tok().Span, "TABLESAMPLE (BUCKET … ON …)", "")
		}
	} else {
		s.Value = p.operand()
		s.Kind = p.needAny("PERCENT", "ROWS")
	}
	p.needSym(")")
	if p.isKw("REPEATABLE") && p.at(1) == "(" {
		p.skip(2)
		s.Seed = p.operand()
		p.needSym(")")
	}
	s.Span = p.from(start)
	if l, ok := s.Value.(*Literal); ok && s.Kind == "PERCENT" {
		if f, err := strconv.ParseFloat(l.Text, 64); err == nil && (f < 0 || f > 100) {
			p.failAt(s.Span, errs.New("_LEGACY_ERROR_TEMP_0064", "msg",
				"Sampling fraction ("+strconv.FormatFloat(f/100, 'f', -1, 64)+") must be on interval [0, 1]"))
		}
	}
	return s
}

func (p *parser) watermark() *Watermark {
	if !p.isKw("WATERMARK") || !p.isName(1) && p.at(1) != "(" {
		return nil
	}
	w := &Watermark{}
	start := p.next().Start
	w.Expr = p.operand()
	if p.isKw("AS") && p.isName(1) {
		p.skip(1)
		w.Name = p.name()
	}
	p.needKw("DELAY", "OF")
	if !p.isKw("INTERVAL") {
		if p.tok().Kind == String {
			p.missing("INTERVAL")
		}
		p.unexpected("INTERVAL")
	}
	if w.Delay = p.interval(); w.Delay == nil {
		p.skip(1)
		p.unexpected()
	}
	w.Span = p.from(start)
	return w
}

func (p *parser) pivot(start int) *Pivot {
	v := &Pivot{}
	clause := p.start()
	p.skip(2)
	stop := p.stop
	p.stop = "FOR"
	v.Aggs = p.selectItems()
	p.stop = stop
	p.needKw("FOR")
	if p.isSym("(") {
		p.inBrackets(func() { v.Columns = append(v.Columns, p.column()) })
	} else {
		v.Columns = []Expr{p.column()}
	}
	p.needKw("IN")
	p.inBrackets(func() { v.Values = append(v.Values, p.selectItem()) })
	p.needSym(")")
	v.Alias = p.tableAlias()
	v.Span, v.Clause = p.from(start), p.from(clause)
	return v
}

func (p *parser) unpivot(start int) *Unpivot {
	u := &Unpivot{}
	clause := p.start()
	p.skip(1)
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
	p.inBrackets(func() {
		s := p.start()
		c := UnpivotColumn{}
		if p.isSym("(") {
			p.inBrackets(func() { c.Columns = append(c.Columns, p.column()) })
		} else {
			c.Columns = []Expr{p.column()}
		}
		if p.isKw("AS") && p.isName(1) {
			p.skip(1)
			c.Alias = p.name()
		} else if p.isName(0) {
			c.Alias = p.name()
		}
		c.Span = p.from(s)
		u.Columns = append(u.Columns, c)
	})
	p.needSym(")")
	u.Alias = p.tableAlias()
	u.Span, u.Clause = p.from(start), p.from(clause)
	return u
}
