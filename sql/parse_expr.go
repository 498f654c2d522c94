package sql

import (
	"strings"

	"streamlab/errs"
)

// expr reads an expression: OR binds loosest, then AND, NOT, predicates, |, ^, &, shifts, + - ||, * / % DIV,
// unary signs, and what follows a primary.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.or()
}

func (p *parser) or() Expr {
	x := p.and()
	for p.kw("OR") {
		y := p.and()
		x = &Binary{p.from(x.Pos().Start), "OR", x, y}
	}
	return x
}

func (p *parser) and() Expr {
	x := p.not()
	for p.kw("AND") {
		y := p.not()
		x = &Binary{p.from(x.Pos().Start), "AND", x, y}
	}
	return x
}

func (p *parser) not() Expr {
	start := p.tok().Start
	if p.isKw("NOT") || p.isSym("!") {
		p.enter()
		defer p.leave()
		p.next()
		x := p.not()
		return &Unary{p.from(start), "NOT", x}
	}
	return p.predicate()
}

func (p *parser) predicate() Expr {
	if p.isKw("EXISTS") && p.peek(1).Text == "(" && (p.peek(2).Upper == "SELECT" || p.peek(2).Upper == "WITH" || p.peek(2).Upper == "FROM" || p.peek(2).Upper == "VALUES" || p.peek(2).Upper == "TABLE") {
		start := p.next().Start
		p.needSym("(")
		q := p.query()
		p.needSym(")")
		return &Exists{p.from(start), q}
	}
	x := p.value(0)
	start := x.Pos().Start
	for {
		if op := p.comparison(); op != "" {
			y := p.value(0)
			x = &Binary{p.from(start), op, x, y}
			continue
		}
		at := p.i
		not := p.kw("NOT") || p.isSym("!") && p.peek(1).Kind == Word && p.sym("!")
		switch {
		case p.kw("BETWEEN"):
			lo := p.value(0)
			p.needKw("AND")
			hi := p.value(0)
			x = &Between{p.from(start), not, x, lo, hi}
		case p.kw("IN"):
			p.needSym("(")
			if p.startsQuery() {
				q := p.query()
				p.needSym(")")
				x = &InQuery{p.from(start), not, x, q}
				continue
			}
			list := p.exprs()
			p.needSym(")")
			x = &In{p.from(start), not, x, list}
		case p.isKw("LIKE") || p.isKw("ILIKE") || p.isKw("RLIKE") || p.isKw("REGEXP"):
			op := p.next().Upper
			if op == "REGEXP" {
				op = "RLIKE"
			}
			l := &Like{Not: not, Op: op, X: x}
			if q := p.anyKw("ANY", "SOME", "ALL"); q != "" {
				if q == "SOME" {
					q = "ANY"
				}
				l.Quantifier = q
				p.needSym("(")
				if p.isSym(")") {
					p.failAt(p.tok().Span, errs.New("_LEGACY_ERROR_TEMP_0064", "msg", "Expected something between '(' and ')'."))
				}
				l.List = p.exprs()
				p.needSym(")")
			} else {
				l.Pattern = p.value(0)
				if p.kw("ESCAPE") {
					l.Escape = p.primary()
				}
			}
			l.Span = p.from(start)
			x = l
		case !not && p.kw("IS"):
			not := p.kw("NOT")
			if p.kw("DISTINCT", "FROM") {
				y := p.value(0)
				x = &Is{p.from(start), not, "DISTINCT", x, y}
				continue
			}
			what := p.anyKw("NULL", "TRUE", "FALSE", "UNKNOWN")
			if what == "" {
				p.unexpected("NULL")
			}
			x = &Is{p.from(start), not, what, x, nil}
		default:
			p.i = at
			return x
		}
	}
}

func (p *parser) comparison() string {
	t := p.tok()
	if t.Kind != Symbol {
		return ""
	}
	switch t.Text {
	case "=", "==":
		p.next()
		return "="
	case "<=>", "<", "<=", ">", ">=":
		if (t.Text == ">" || t.Text == "<") && p.peek(1).Kind == Symbol && p.peek(1).Text == t.Text && p.peek(1).Start == t.End {
			return ""
		}
		p.next()
		return t.Text
	case "!=", "<>":
		p.next()
		return "!="
	case "!>":
		p.next()
		return "<="
	case "!<":
		p.next()
		return ">="
	}
	return ""
}

// levels are the binary operators above the predicates, loosest first.
var levels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>", ">>>"}, {"+", "-", "||"}, {"*", "/", "%", "DIV"}}

func (p *parser) binaryOp(level int) string {
	t := p.tok()
	if t.Kind == Word {
		if level == 5 && t.Upper == "DIV" {
			p.next()
			return "DIV"
		}
		return ""
	}
	if t.Kind != Symbol {
		return ""
	}
	if level == 3 && (t.Text == "<" || t.Text == ">") {
		n := 1
		for p.peek(n).Kind == Symbol && p.peek(n).Text == t.Text && p.peek(n).Start == p.peek(n-1).End && n < 3 {
			n++
		}
		if n < 2 || t.Text == "<" && n > 2 {
			return ""
		}
		p.i += n
		return strings.Repeat(t.Text, n)
	}
	for _, op := range levels[level] {
		if t.Text == op {
			p.next()
			return op
		}
	}
	return ""
}

func (p *parser) value(level int) Expr {
	if level == len(levels) {
		return p.unary()
	}
	x := p.value(level + 1)
	for {
		op := p.binaryOp(level)
		if op == "" {
			return x
		}
		y := p.value(level + 1)
		x = &Binary{p.from(x.Pos().Start), op, x, y}
	}
}

func (p *parser) unary() Expr {
	t := p.tok()
	if t.Kind == Symbol && (t.Text == "-" || t.Text == "+" || t.Text == "~") {
		p.enter()
		defer p.leave()
		p.next()
		if n := p.tok(); t.Text == "-" && n.Kind == Number { // -128Y is a literal: its absolute value may not fit
			x := p.primary()
			if l, ok := x.(*Literal); ok {
				l.Text = "-" + l.Text
				l.Span = p.from(t.Start)
				return p.postfix(l)
			}
			return &Unary{p.from(t.Start), "-", x}
		}
		x := p.unary()
		return &Unary{p.from(t.Start), t.Text, x}
	}
	return p.primary()
}

func (p *parser) primary() Expr { return p.postfix(p.atom()) }

// postfix reads [i], .name, ::type, :path and COLLATE.
func (p *parser) postfix(x Expr) Expr {
	start := x.Pos().Start
	for {
		switch {
		case p.sym("["):
			i := p.value(0)
			p.needSym("]")
			x = &Subscript{p.from(start), x, i}
		case p.isSym(".") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted):
			p.next()
			n := p.name()
			if c, ok := x.(*Name); ok {
				x = &Name{p.from(start), append(append([]string{}, c.Parts...), n)}
			} else {
				x = &Field{p.from(start), x, n}
			}
		case p.isSym(".") && p.peek(1).Text == "*":
			c, ok := x.(*Name)
			if !ok {
				p.unexpected()
			}
			p.next()
			p.next()
			return p.starTail(&Star{p.from(start), c.Parts, nil})
		case p.sym("::"):
			t := p.typeName()
			x = &Cast{p.from(start), x, t, false, true}
		case p.kw("COLLATE"):
			n := strings.Join(p.dotted(), ".")
			x = &Collate{p.from(start), x, n}
		case p.isSym(":") && p.peek(1).Start == p.tok().End && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted || p.peek(1).Text == "["):
			p.next()
			from := p.tok().Start
			if p.isName() {
				p.name()
			}
			for {
				if p.isSym(".") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted) {
					p.next()
					p.next()
				} else if p.sym("[") {
					p.value(0)
					p.needSym("]")
				} else {
					break
				}
			}
			x = &SemiPath{p.from(start), x, p.text[from:p.toks[p.i-1].End]}
		default:
			return x
		}
	}
}

func (p *parser) starTail(s *Star) Expr {
	if p.kw("EXCEPT") {
		p.needSym("(")
		for {
			n := p.tok().Start
			s.Except = append(s.Except, &Name{Parts: p.dotted()})
			s.Except[len(s.Except)-1].Span = p.from(n)
			if !p.sym(",") {
				break
			}
		}
		p.needSym(")")
		s.Span = p.from(s.Start)
	}
	return s
}

func (p *parser) exprs() []Expr {
	out := []Expr{p.expr()}
	for p.sym(",") {
		out = append(out, p.expr())
	}
	return out
}

func (p *parser) startsQuery() bool {
	n := 0
	for p.peek(n).Kind == Symbol && p.peek(n).Text == "(" {
		n++
	}
	switch t := p.peek(n); t.Upper {
	case "SELECT", "WITH", "VALUES", "TABLE":
		return t.Kind == Word && !(t.Upper == "VALUES" && p.peek(n+1).Kind == Symbol && p.peek(n+1).Text != "(") &&
			!(t.Upper == "TABLE" && p.peek(n+1).Kind == Symbol)
	case "FROM":
		return t.Kind == Word && (p.peek(n+1).Kind == Word || p.peek(n+1).Kind == Quoted || p.peek(n+1).Text == "(")
	}
	return false
}

func (p *parser) atom() Expr {
	t := p.tok()
	start := t.Start
	switch t.Kind {
	case Number:
		p.next()
		return numberLiteral(t)
	case String:
		s := p.str()
		return &Literal{p.from(start), "string", s, ""}
	case Quoted:
		n := p.name()
		if p.isSym("(") {
			return p.call([]string{n}, start)
		}
		return &Name{p.from(start), []string{n}}
	case Symbol:
		switch t.Text {
		case "(":
			return p.parens()
		case "*":
			p.next()
			return p.starTail(&Star{Span: p.from(start)})
		case "?":
			p.next()
			p.params++
			return &Param{p.from(start), "", p.params - 1}
		case ":":
			if n := p.peek(1); n.Kind == Word && n.Start == t.End {
				p.next()
				name := p.name()
				return &Param{p.from(start), name, 0}
			}
		}
		p.unexpected()
	case Word:
		return p.word()
	}
	p.unexpected()
	return nil
}

func numberLiteral(t Token) Expr {
	text, kind := t.Text, ""
	for _, s := range []struct{ suffix, kind string }{{"BD", "bigdecimal"}, {"L", "long"}, {"S", "short"}, {"Y", "byte"},
		{"D", "double"}, {"F", "float"}} {
		if strings.HasSuffix(t.Upper, s.suffix) {
			kind, text = s.kind, text[:len(text)-len(s.suffix)]
			break
		}
	}
	if t.Upper == "" {
		u := strings.ToUpper(t.Text)
		t.Upper = u
	}
	if kind == "" {
		switch {
		case strings.ContainsAny(text, "eE"):
			kind = "double"
		case strings.Contains(text, "."):
			kind = "decimal"
		default:
			kind = "int"
		}
	}
	return &Literal{t.Span, kind, text, ""}
}

func (p *parser) parens() Expr {
	start := p.next().Start
	if p.startsQuery() {
		q := p.query()
		p.needSym(")")
		return &Scalar{p.from(start), q}
	}
	if p.isLambdaParams() {
		params := []string{}
		for !p.isSym(")") {
			params = append(params, p.name())
			if !p.sym(",") {
				break
			}
		}
		p.needSym(")")
		p.needSym("->")
		body := p.expr()
		return &Lambda{p.from(start), params, body}
	}
	x := p.rowItem()
	if p.isSym(",") {
		items := []Expr{x}
		for p.sym(",") {
			items = append(items, p.rowItem())
		}
		p.needSym(")")
		return &RowExpr{p.from(start), items}
	}
	p.needSym(")")
	return &Paren{p.from(start), x}
}

// rowItem is an expression inside brackets; (a AS x, b) names fields.
func (p *parser) rowItem() Expr {
	x := p.expr()
	if p.kw("AS") {
		n := p.name()
		return &FuncCall{Span: p.from(x.Pos().Start), Name: []string{"__named__"}, Args: []Expr{x}, ArgNames: []string{n}}
	}
	return x
}

func (p *parser) isLambdaParams() bool {
	n := 0
	for {
		t := p.peek(n)
		if t.Kind != Word && t.Kind != Quoted {
			return t.Text == ")" && n == 0 && p.peek(1).Text == "->"
		}
		n++
		switch p.peek(n).Text {
		case ",":
			n++
		case ")":
			return p.peek(n+1).Kind == Symbol && p.peek(n+1).Text == "->"
		default:
			return false
		}
	}
}

func (p *parser) word() Expr {
	t := p.tok()
	start := t.Start
	nx := p.peek(1)
	call := nx.Kind == Symbol && nx.Text == "("
	switch t.Upper {
	case "NULL":
		if !call {
			p.next()
			return &Literal{t.Span, "null", "NULL", ""}
		}
	case "TRUE", "FALSE":
		if !call {
			p.next()
			return &Literal{t.Span, "bool", t.Upper, ""}
		}
	case "DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME", "X":
		if nx.Kind == String {
			p.next()
			s := p.str()
			kind := "typed"
			if t.Upper == "X" {
				kind = "binary"
			}
			return &Literal{p.from(start), kind, s, t.Upper}
		}
	case "INTERVAL":
		if nx.Kind == String || nx.Kind == Number || nx.Text == "(" || nx.Text == "-" || nx.Text == "+" || nx.Kind == Word && isUnit(p.peek(2).Upper) && !strict[nx.Upper] && nx.Upper != "AS" {
			if iv := p.interval(); iv != nil {
				return iv
			}
		}
	case "CASE":
		return p.caseExpr()
	case "CAST", "TRY_CAST", "SAFE_CAST":
		if call {
			p.next()
			p.next()
			x := p.expr()
			p.needKw("AS")
			ty := p.typeName()
			p.needSym(")")
			return &Cast{p.from(start), x, ty, t.Upper != "CAST", false}
		}
	case "EXTRACT":
		if call && p.peek(3).Upper == "FROM" {
			p.next()
			p.next()
			f := p.next()
			p.needKw("FROM")
			x := p.expr()
			p.needSym(")")
			return &FuncCall{Span: p.from(start), Name: []string{"extract"}, Args: []Expr{&Literal{f.Span, "string", f.Text, ""}, x}}
		}
	case "POSITION":
		if call {
			at := p.i
			p.next()
			p.next()
			x := p.value(0)
			if p.kw("IN") {
				y := p.value(0)
				p.needSym(")")
				return &FuncCall{Span: p.from(start), Name: []string{"locate"}, Args: []Expr{x, y}}
			}
			p.i = at
		}
	case "TRIM":
		if call {
			if f := p.trim(); f != nil {
				return f
			}
		}
	case "SUBSTRING", "SUBSTR", "OVERLAY":
		if call {
			if f := p.keywordCall(); f != nil {
				return f
			}
		}
	case "TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF":
		if call && isDatePart(p.peek(2).Upper) && p.peek(3).Text == "," {
			p.next()
			p.next()
			u := p.next()
			p.needSym(",")
			args := append([]Expr{&Literal{u.Span, "string", u.Upper, ""}}, p.exprs()...)
			p.needSym(")")
			name := "timestampadd"
			if strings.HasSuffix(t.Upper, "DIFF") {
				name = "timestampdiff"
			}
			return &FuncCall{Span: p.from(start), Name: []string{name}, Args: args}
		}
	case "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER", "USER", "SESSION_USER", "LOCALTIMESTAMP":
		if !call && !(nx.Kind == Symbol && nx.Text == ".") && t.Upper != "USER" {
			p.next()
			return &FuncCall{Span: t.Span, Name: []string{strings.ToLower(t.Upper)}}
		}
	case "STRUCT":
		if call {
			return p.structCall()
		}
	}
	if strict[t.Upper] && !call && t.Upper != "SET" && t.Upper != "WINDOW" && t.Upper != "OFFSET" && t.Upper != "PIVOT" && t.Upper != "UNPIVOT" &&
		t.Upper != "WATERMARK" && t.Upper != "END" && t.Upper != "SORT" && t.Upper != "CLUSTER" && t.Upper != "DISTRIBUTE" && t.Upper != "MINUS" && t.Upper != "LATERAL" {
		p.unexpected()
	}
	if nx.Kind == Symbol && nx.Text == "->" {
		n := p.name()
		p.next()
		body := p.expr()
		return &Lambda{p.from(start), []string{n}, body}
	}
	n := p.name()
	if call {
		return p.call([]string{n}, start)
	}
	if p.isSym(".") {
		at := p.i
		parts := []string{n}
		for p.isSym(".") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted) {
			p.next()
			parts = append(parts, p.name())
		}
		if p.isSym("(") {
			return p.call(parts, start)
		}
		p.i = at
	}
	return &Name{p.from(start), []string{n}}
}

func (p *parser) structCall() Expr {
	start := p.next().Start
	p.needSym("(")
	f := &FuncCall{Name: []string{"struct"}}
	for !p.isSym(")") {
		x := p.expr()
		name := ""
		if p.kw("AS") {
			name = p.name()
		}
		if name != "" && f.ArgNames == nil {
			f.ArgNames = make([]string, len(f.Args))
		}
		f.Args = append(f.Args, x)
		if f.ArgNames != nil {
			f.ArgNames = append(f.ArgNames, name)
		}
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	f.Span = p.from(start)
	return f
}

func (p *parser) trim() Expr {
	at := p.i
	start := p.next().Start
	p.next()
	side := p.anyKw("BOTH", "LEADING", "TRAILING")
	name := map[string]string{"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
	var chars Expr
	if !p.isKw("FROM") {
		chars = p.expr()
	}
	if !p.kw("FROM") {
		p.i = at
		return nil
	}
	x := p.expr()
	p.needSym(")")
	f := &FuncCall{Span: p.from(start), Name: []string{name}, Args: []Expr{x}}
	if chars != nil { // as the function trim(chars, s) means it
		f.Args = []Expr{chars, x}
	}
	return f
}

// keywordCall reads SUBSTRING(x FROM a FOR b) and OVERLAY(x PLACING y FROM a FOR b); nil if plain.
func (p *parser) keywordCall() Expr {
	at := p.i
	t := p.next()
	p.next()
	args := []Expr{p.expr()}
	if t.Upper == "OVERLAY" && p.kw("PLACING") {
		args = append(args, p.expr())
	} else if t.Upper == "OVERLAY" || !p.isKw("FROM") {
		p.i = at
		return nil
	}
	p.needKw("FROM")
	args = append(args, p.expr())
	if p.kw("FOR") {
		args = append(args, p.expr())
	}
	p.needSym(")")
	return &FuncCall{Span: p.from(t.Start), Name: []string{strings.ToLower(t.Upper)}, Args: args}
}

func (p *parser) caseExpr() Expr {
	start := p.next().Start
	c := &Case{}
	if !p.isKw("WHEN") {
		c.Operand = p.expr()
	}
	for p.kw("WHEN") {
		w := When{}
		w.Cond = p.expr()
		p.needKw("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.kw("ELSE") {
		c.Else = p.expr()
	}
	p.needKw("END")
	c.Span = p.from(start)
	return c
}

func (p *parser) call(name []string, start int) Expr {
	p.needSym("(")
	f := &FuncCall{Name: name}
	if p.kw("DISTINCT") {
		f.Distinct = true
	} else {
		p.kw("ALL")
	}
	for !p.isSym(")") {
		arg := ""
		if p.isName() && p.peek(1).Kind == Symbol && p.peek(1).Text == "=>" {
			arg = p.name()
			p.next()
		}
		var x Expr
		if p.isKw("TABLE") && p.peek(1).Kind == Symbol && p.peek(1).Text == "(" {
			p.next()
			p.next()
			s := p.tok().Start
			q := p.query()
			p.needSym(")")
			x = &Scalar{p.from(s), q}
		} else if p.startsQuery() && !p.isSym("(") {
			s := p.tok().Start
			q := p.query()
			x = &Scalar{p.from(s), q}
		} else {
			x = p.expr()
		}
		if arg != "" && f.ArgNames == nil {
			f.ArgNames = make([]string, len(f.Args))
		}
		f.Args = append(f.Args, x)
		if f.ArgNames != nil {
			f.ArgNames = append(f.ArgNames, arg)
		}
		if p.kw("IGNORE", "NULLS") {
			f.IgnoreNulls = true
		} else if p.kw("RESPECT", "NULLS") {
			f.RespectNulls = true
		}
		if !p.sym(",") {
			break
		}
	}
	p.needSym(")")
	if p.kw("WITHIN", "GROUP") {
		p.needSym("(")
		p.needKw("ORDER", "BY")
		f.WithinGroup = p.orderItems()
		p.needSym(")")
	}
	if p.isKw("FILTER") && p.peek(1).Text == "(" {
		p.next()
		p.needSym("(")
		p.needKw("WHERE")
		f.Filter = p.expr()
		p.needSym(")")
	}
	if p.kw("IGNORE", "NULLS") {
		f.IgnoreNulls = true
	} else if p.kw("RESPECT", "NULLS") {
		f.RespectNulls = true
	}
	if p.kw("OVER") {
		f.Over = p.windowSpec()
	}
	f.Span = p.from(start)
	return f
}

func (p *parser) windowSpec() *WindowSpec {
	start := p.tok().Start
	w := &WindowSpec{}
	if !p.isSym("(") {
		w.Name = p.name()
		w.Span = p.from(start)
		return w
	}
	p.next()
	if p.isName() && p.peek(1).Text == ")" {
		w.Name = p.name()
	}
	if p.kw("PARTITION", "BY") || p.kw("DISTRIBUTE", "BY") {
		w.PartitionBy = p.exprs()
	} else if p.kw("CLUSTER", "BY") {
		w.PartitionBy = p.exprs()
	}
	if p.kw("ORDER", "BY") || p.kw("SORT", "BY") {
		w.OrderBy = p.orderItems()
	}
	if p.isKw("ROWS") || p.isKw("RANGE") {
		s := p.tok().Start
		f := &Frame{Rows: p.next().Upper == "ROWS"}
		if p.kw("BETWEEN") {
			f.From = p.bound()
			p.needKw("AND")
			f.To = p.bound()
		} else {
			f.From = p.bound()
			f.To = Bound{Kind: "CURRENT ROW"}
		}
		f.Span = p.from(s)
		w.Frame = f
	}
	p.needSym(")")
	w.Span = p.from(start)
	return w
}

func (p *parser) bound() Bound {
	if p.kw("UNBOUNDED") {
		return Bound{Kind: "UNBOUNDED " + p.direction()}
	}
	if p.kw("CURRENT", "ROW") {
		return Bound{Kind: "CURRENT ROW"}
	}
	x := p.value(0)
	return Bound{p.direction(), x}
}

func (p *parser) direction() string {
	d := p.anyKw("PRECEDING", "FOLLOWING")
	if d == "" {
		p.unexpected("PRECEDING", "FOLLOWING")
	}
	return d
}

func (p *parser) orderItems() []OrderItem {
	var out []OrderItem
	for {
		start := p.tok().Start
		o := OrderItem{Expr: p.expr()}
		if p.kw("DESC") {
			o.Desc = true
		} else {
			p.kw("ASC")
		}
		if p.kw("NULLS") {
			if o.Nulls = p.anyKw("FIRST", "LAST"); o.Nulls == "" {
				p.unexpected("FIRST", "LAST")
			}
		}
		o.Span = p.from(start)
		out = append(out, o)
		if !p.sym(",") {
			return out
		}
	}
}

var units = map[string]string{"YEAR": "YEAR", "YEARS": "YEAR", "MONTH": "MONTH", "MONTHS": "MONTH", "WEEK": "WEEK", "WEEKS": "WEEK",
	"DAY": "DAY", "DAYS": "DAY", "HOUR": "HOUR", "HOURS": "HOUR", "MINUTE": "MINUTE", "MINUTES": "MINUTE", "SECOND": "SECOND",
	"SECONDS": "SECOND", "MILLISECOND": "MILLISECOND", "MILLISECONDS": "MILLISECOND", "MICROSECOND": "MICROSECOND",
	"MICROSECONDS": "MICROSECOND", "NANOSECOND": "NANOSECOND", "NANOSECONDS": "NANOSECOND"}

func isUnit(w string) bool { return units[w] != "" }

func isDatePart(w string) bool {
	switch w {
	case "QUARTER", "DAYOFYEAR":
		return true
	}
	return isUnit(w) && !strings.HasSuffix(w, "S")
}

// interval reads INTERVAL …; nil (with nothing consumed) if what follows is no interval.
func (p *parser) interval() Expr {
	at := p.i
	start := p.next().Start
	iv := &Interval{}
	if p.tok().Kind == String && !isUnit(p.peek(1).Upper) {
		iv.Text = p.str()
		iv.Span = p.from(start)
		return iv
	}
	for {
		t := p.tok()
		var v Expr
		switch {
		case t.Kind == String || t.Kind == Number || t.Text == "-" || t.Text == "+" || t.Text == "(":
			sign := ""
			if t.Text == "-" || t.Text == "+" {
				if n := p.peek(1).Kind; n != Number && n != String && p.peek(1).Text != "(" {
					break
				}
				sign = p.next().Text
			}
			s := p.tok().Start
			if p.isSym("(") {
				p.next()
				v = p.expr()
				p.needSym(")")
				v = &Paren{p.from(s), v}
			} else {
				v = p.atom()
			}
			if sign == "-" {
				v = &Unary{p.from(t.Start), "-", v}
			}
		case t.Kind == Word && isUnit(p.peek(1).Upper) && !strict[t.Upper] && len(iv.Parts) == 0:
			v = p.atom()
		}
		if v == nil {
			break
		}
		u := units[p.tok().Upper]
		if p.tok().Kind != Word || u == "" {
			p.i = at
			return nil
		}
		p.next()
		iv.Parts = append(iv.Parts, IntervalPart{v, u})
		if len(iv.Parts) == 1 && p.kw("TO") {
			iv.From = u
			iv.To = units[p.tok().Upper]
			if iv.To == "" {
				p.unexpected()
			}
			p.next()
			break
		}
		if n := p.tok(); n.Kind == Number || n.Kind == String || (n.Text == "-" || n.Text == "+") && (p.peek(1).Kind == Number || p.peek(1).Kind == String) && isUnit(p.peek(2).Upper) {
			continue
		}
		break
	}
	if len(iv.Parts) == 0 {
		p.i = at
		return nil
	}
	iv.Span = p.from(start)
	return iv
}

// typeName reads a type: a word, its brackets, and the tails of intervals and collations.
func (p *parser) typeName() TypeName {
	start := p.tok().Start
	if p.tok().Kind != Word {
		p.unexpected()
	}
	w := p.next().Upper
	switch {
	case w == "INTERVAL":
		if isUnit(p.tok().Upper) {
			p.next()
			if p.kw("TO") {
				p.next()
			}
		}
	case w == "DOUBLE":
		p.kw("PRECISION")
	case w == "TIMESTAMP" || w == "TIME":
		if p.kw("WITHOUT", "TIME", "ZONE") || p.kw("WITH", "LOCAL", "TIME", "ZONE") {
			break
		}
	}
	if p.isSym("<") || p.isSym("<>") {
		if !p.sym("<>") {
			depth := 0
			for {
				t := p.next()
				if t.Kind == EOF {
					p.unexpected(">")
				}
				if t.Kind == Symbol && t.Text == "<" {
					depth++
				} else if t.Kind == Symbol && t.Text == ">" {
					if depth--; depth == 0 {
						break
					}
				} else if t.Kind == Symbol && (t.Text == ")" || t.Text == ";") && depth == 0 {
					p.unexpected()
				}
			}
		}
	} else if p.isSym("(") {
		for !p.isSym(")") {
			if p.next().Kind == EOF {
				p.unexpected(")")
			}
		}
		p.next()
	}
	if w == "STRING" && p.kw("COLLATE") {
		p.dotted()
	}
	s := p.from(start)
	return TypeName{s, p.text[s.Start:s.End]}
}
