package sql

import (
	"strings"

	"streamlab/errs"
)

// atom reads a primary expression without what may follow it.
func (p *parser) atom() Expr {
	t := p.tok()
	switch t.Kind {
	case Number:
		p.skip(1)
		return numberLiteral(t)
	case String:
		s := p.str()
		return &Literal{p.from(t.Start), "string", s, ""}
	case Quoted:
		if p.at(1) == "->" {
			return p.lambda()
		}
		return p.nameOrCall()
	case Word:
		return p.wordAtom()
	case Symbol:
		switch t.Text {
		case "(":
			return p.brackets()
		case "*":
			p.skip(1)
			return p.starExcept(&Star{Span: t.Span})
		case "?":
			p.skip(1)
			p.marker(t.Span, true)
			p.params++
			p.marks = append(p.marks, Param{t.Span, "", p.params - 1})
			return &Param{t.Span, "", p.params - 1}
		case ":":
			if p.peek(1).Kind == Word {
				p.skip(1)
				name := p.next().Text
				p.marker(p.from(t.Start), false)
				p.marks = append(p.marks, Param{p.from(t.Start), name, 0})
				return &Param{p.from(t.Start), name, 0}
			}
		}
	}
	p.unexpected()
	return nil
}

// marker notes a parameter; the two kinds do not go together.
func (p *parser) marker(s Span, positional bool) {
	if positional && p.named || !positional && p.params > 0 {
		p.failAt(s, errs.New("INVALID_QUERY_MIXED_QUERY_PARAMETERS"))
	}
	p.named = p.named || !positional
}

var numberSuffixes = []struct{ suffix, kind string }{{"BD", "bigdecimal"}, {"L", "long"}, {"S", "short"}, {"Y", "byte"},
	{"D", "double"}, {"F", "float"}}

func numberLiteral(t Token) *Literal {
	text, kind := t.Text, "int"
	switch {
	case strings.ContainsAny(text, "eE"):
		kind = "double"
	case strings.Contains(text, "."):
		kind = "decimal"
	}
	for _, s := range numberSuffixes {
		if strings.HasSuffix(t.Upper, s.suffix) {
			text, kind = text[:len(text)-len(s.suffix)], s.kind
			break
		}
	}
	return &Literal{t.Span, kind, text, ""}
}

// brackets reads (e), (a, b), (query), (x, y) -> e.
func (p *parser) brackets() Expr {
	start := p.start()
	if n := p.lambdaParams(); n > 0 {
		l := &Lambda{}
		if n > 3 || p.at(1) != ")" {
			l.Params = p.names()
		} else {
			p.skip(2)
		}
		p.needSym("->")
		l.Body = p.expr()
		l.Span = p.from(start)
		return l
	}
	if q := p.tryQuery(); q != nil {
		return &Scalar{p.from(start), q}
	}
	p.skip(1)
	x := p.rowItem()
	if p.sym(",") {
		items := []Expr{x}
		p.list(func() { items = append(items, p.rowItem()) })
		p.needSym(")")
		return &RowExpr{p.from(start), items}
	}
	p.needSym(")")
	return &Paren{p.from(start), x}
}

// rowItem is an expression inside brackets, perhaps named: (a AS x, b).
func (p *parser) rowItem() Expr {
	start := p.start()
	x := p.expr()
	if !p.kw("AS") {
		return x
	}
	n := p.plainName()
	return &FuncCall{Span: p.from(start), Syntax: "AS", Name: []string{"__named__"}, Args: []Expr{x}, ArgNames: []string{n}}
}

// lambdaParams gives the number of tokens of "(a, b) ->" if that stands here, else 0.
func (p *parser) lambdaParams() int {
	if p.at(1) == ")" && p.at(2) == "->" {
		return 3
	}
	for n := 1; p.isName(n); n += 2 {
		switch p.at(n + 1) {
		case ",":
		case ")":
			if p.at(n+2) == "->" {
				return n + 3
			}
			return 0
		default:
			return 0
		}
	}
	return 0
}

var typedLiterals = wordSet([]string{"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME", "X"})

// wordAtom reads what begins with an unquoted word. Words with a meaning are names where that meaning does
// not fit what follows.
func (p *parser) wordAtom() Expr {
	t := p.tok()
	call := p.at(1) == "("
	text := p.peek(1).Kind == String
	if call {
		if x := p.specialCall(t); x != nil {
			return x
		}
	}
	switch t.Upper {
	case "NULL", "TRUE", "FALSE":
		if !call && !text && p.at(1) != "." && p.at(1) != "->" {
			p.skip(1)
			if t.Upper == "NULL" {
				return &Literal{t.Span, "null", "NULL", ""}
			}
			return &Literal{t.Span, "bool", t.Upper, ""}
		}
	case "INTERVAL":
		if x := p.interval(); x != nil {
			return x
		}
	case "CASE":
		if p.word(1) == "WHEN" && p.startsExpr(2) || p.startsExpr(1) && !p.clauseAfter() && p.caseFollows() {
			return p.caseExpr()
		}
	case "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER", "SESSION_USER":
		if !call && p.at(1) != "." && p.at(1) != "->" {
			p.skip(1)
			return &FuncCall{Span: t.Span, Syntax: "KEYWORD", Name: []string{strings.ToLower(t.Upper)}}
		}
	}
	if text {
		p.skip(1)
		s := p.str()
		switch {
		case t.Upper == "X":
			return &Literal{p.from(t.Start), "binary", s, "X"}
		case typedLiterals[t.Upper]:
			return &Literal{p.from(t.Start), "typed", s, t.Upper}
		}
		p.failAt(p.from(t.Start), errs.New("UNSUPPORTED_TYPED_LITERAL", "unsupportedType", `"`+t.Upper+`"`,
			"supportedTypes", `"DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME"`))
	}
	if p.at(1) == "->" {
		return p.lambda()
	}
	return p.nameOrCall()
}

// lambda reads x -> e.
func (p *parser) lambda() Expr {
	start := p.start()
	n := p.name()
	p.skip(1)
	body := p.expr()
	return &Lambda{p.from(start), []string{n}, body}
}

// clauseAfter reports whether the word behind the one here begins a clause, so that this one is a name.
func (p *parser) clauseAfter() bool {
	p.i++
	defer func() { p.i-- }()
	return p.clauseAhead() || p.word(0) == "AS" || p.word(0) == "IS"
}

// caseFollows tells CASE -1 WHEN … from the column of that name in case - 1.
func (p *parser) caseFollows() bool {
	if k := p.peek(1).Kind; k == Number || k == String { // no alias and no operator: CASE can be no name
		return true
	}
	for n := 1; n < 40; n++ {
		switch {
		case p.word(n) == "WHEN":
			return true
		case p.peek(n).Kind == EOF || p.at(n) == "," || p.at(n) == ";":
			return false
		}
	}
	return false
}

// nameOrCall reads a, a.b(…) or f(…); the dots of a.b are left to postfix.
func (p *parser) nameOrCall() Expr {
	start := p.start()
	n := p.name()
	if p.isSym("(") {
		return p.valueCall([]string{n}, start)
	}
	at := p.i
	parts := []string{n}
	for p.isSym(".") && p.isName(1) {
		p.skip(1)
		parts = append(parts, p.name())
	}
	if p.isSym("(") && len(parts) > 1 {
		return p.valueCall(parts, start)
	}
	p.i = at
	return &Name{p.from(start), []string{n}}
}

// valueCall is call inside an expression. A query is no argument, and the name before it could have been a
// column, so Spark blames the bracket: x = ANY (SELECT y FROM b). Not so in a select list, where a column with
// aliases in brackets, a (b, c), is told from a call further behind.
func (p *parser) valueCall(name []string, start int) (x Expr) {
	if p.listed || p.at(1) == "(" || !p.queryAt(1) {
		return p.call(name, start)
	}
	p.blamed(p.i, "", func() { x = p.call(name, start) })
	return x
}

func (p *parser) caseExpr() Expr {
	start := p.next().Start
	c := &Case{}
	if p.isKw("WHEN") { // CASE and WHEN may be a column and its alias, so Spark blames what follows them
		p.blamed(p.i+1, "", func() { p.caseBranches(c) })
		c.Span = p.from(start)
		return c
	}
	c.Operand = p.expr()
	p.caseBranches(c)
	c.Span = p.from(start)
	return c
}

func (p *parser) caseBranches(c *Case) {
	for p.isKw("WHEN") {
		s := p.next().Start
		cond := p.expr()
		p.needKw("THEN")
		then := p.expr()
		c.Whens = append(c.Whens, When{p.from(s), cond, then})
	}
	if len(c.Whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.kw("ELSE") {
		c.Else = p.expr()
	}
	if !p.kw("END") {
		p.unexpected("WHEN", "ELSE", "END")
	}
}

// call reads the brackets of a function and what may follow them.
func (p *parser) call(name []string, start int) Expr {
	f := &FuncCall{Name: name}
	p.needSym("(")
	if !p.isSym(")") {
		if p.startsExpr(1) && (p.isKw("DISTINCT") || p.isKw("ALL")) && (p.at(1) != "*" || p.at(2) == ")") && p.at(1) != "-" {
			f.Distinct = p.next().Upper == "DISTINCT"
		}
		p.list(func() { p.argument(f) })
	}
	p.needSym(")")
	p.afterCall(f)
	f.Span = p.from(start)
	return f
}

func (p *parser) argument(f *FuncCall) {
	arg := ""
	if p.isName(0) && p.at(1) == "=>" {
		arg = p.name()
		p.skip(1)
	}
	if p.isKw("TABLE") && (p.at(1) == "(" && p.queryAt(2) || p.isName(1)) {
		p.refuse(p.tok().Span, "a table as argument of a function", "")
	}
	x := p.expr()
	if arg != "" && f.ArgNames == nil {
		f.ArgNames = make([]string, len(f.Args))
	}
	f.Args = append(f.Args, x)
	if f.ArgNames != nil {
		f.ArgNames = append(f.ArgNames, arg)
	}
	p.nullTreatment(f)
}

func (p *parser) nullTreatment(f *FuncCall) {
	if p.kw("IGNORE", "NULLS") {
		f.IgnoreNulls = true
	} else if p.kw("RESPECT", "NULLS") {
		f.RespectNulls = true
	}
}

func (p *parser) afterCall(f *FuncCall) {
	if p.kw("WITHIN", "GROUP") {
		p.needSym("(")
		p.needKw("ORDER", "BY")
		f.WithinGroup = p.orderItems()
		p.needSym(")")
	}
	if p.isKw("FILTER") && p.at(1) == "(" {
		p.skip(2)
		p.needKw("WHERE")
		f.Filter = p.expr()
		p.needSym(")")
	}
	p.nullTreatment(f)
	if p.isKw("OVER") && (p.at(1) == "(" || p.isName(1)) {
		p.skip(1)
		f.Over = p.windowSpec()
	}
}

func (p *parser) windowSpec() *WindowSpec {
	start := p.start()
	w := &WindowSpec{}
	if !p.isSym("(") {
		w.Name = p.name()
		w.Span = p.from(start)
		return w
	}
	switch bracket := p.i; {
	case p.isName(1) && p.at(2) == ")":
		p.skip(1)
		w.Name = p.name()
	case p.word(1) != "" && p.word(1) != "ROWS" && p.word(1) != "RANGE" && p.word(2) != "BY":
		p.moved(bracket, "", "")
	default:
		p.skip(1)
	}
	if p.kw("PARTITION", "BY") || p.kw("DISTRIBUTE", "BY") || p.kw("CLUSTER", "BY") {
		w.PartitionBy = p.exprs()
	}
	if p.kw("ORDER", "BY") || p.kw("SORT", "BY") {
		w.OrderBy = p.orderItems()
	}
	if p.isKw("ROWS") || p.isKw("RANGE") {
		s := p.start()
		f := &Frame{Rows: p.next().Upper == "ROWS"}
		if p.kw("BETWEEN") {
			f.From = p.bound()
			p.needKw("AND")
			f.To = p.bound()
		} else {
			f.From = p.bound()
			f.To = Bound{Span: f.From.Span, Kind: "CURRENT ROW"}
		}
		f.Span = p.from(s)
		w.Frame = f
	}
	p.needSym(")")
	w.Span = p.from(start)
	return w
}

func (p *parser) bound() Bound {
	start := p.start()
	b := Bound{}
	switch {
	case p.kw("UNBOUNDED"):
		b.Kind = "UNBOUNDED " + p.needAny("PRECEDING", "FOLLOWING")
	case p.kw("CURRENT", "ROW"):
		b.Kind = "CURRENT ROW"
	default:
		b.Expr = p.expr()
		if p.isSym(")") || p.isKw("AND") {
			p.syntax(": missing {'FOLLOWING', 'PRECEDING'}", "PRECEDING", "FOLLOWING")
		}
		b.Kind = p.needAny("PRECEDING", "FOLLOWING")
	}
	b.Span = p.from(start)
	return b
}

func (p *parser) orderItems() []OrderItem {
	var out []OrderItem
	p.list(func() {
		start := p.start()
		o := OrderItem{Expr: p.expr()}
		p.direction(&o)
		o.Span = p.from(start)
		out = append(out, o)
	})
	return out
}

func (p *parser) direction(o *OrderItem) {
	if p.kw("DESC") {
		o.Desc = true
	} else {
		p.kw("ASC")
	}
	if p.kw("NULLS") {
		o.Nulls = p.needAny("FIRST", "LAST")
	}
}
