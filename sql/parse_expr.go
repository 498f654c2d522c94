package sql

import (
	"strings"
	"unicode/utf8"

	"streamlab/errs"
)

// expr reads an expression: OR binds loosest, then AND, NOT, one predicate, comparisons, |, ^, &, shifts,
// + - ||, * / % DIV, unary signs, and what follows a primary.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	x := p.and()
	for p.isKw("OR") && p.startsExpr(1) {
		p.skip(1)
		y := p.and()
		x = &Binary{p.from(x.Pos().Start), "OR", x, y}
	}
	return x
}

func (p *parser) and() Expr {
	x := p.not()
	for p.isKw("AND") && p.startsExpr(1) {
		p.skip(1)
		y := p.not()
		x = &Binary{p.from(x.Pos().Start), "AND", x, y}
	}
	return x
}

func (p *parser) not() Expr {
	start := p.start()
	if p.isKw("NOT") && p.startsExpr(1) && p.at(1) != "*" || p.isSym("!") {
		p.enter()
		defer p.leave()
		p.skip(1)
		x := p.not()
		return &Unary{p.from(start), "NOT", x}
	}
	if p.isKw("EXISTS") && p.at(1) == "(" && p.queryAt(2) {
		p.skip(1)
		q := p.subquery()
		return &Exists{p.from(start), q}
	}
	return p.predicate()
}

// subquery reads a query in brackets.
func (p *parser) subquery() *Query {
	p.needSym("(")
	q := p.query()
	p.needSym(")")
	return q
}

// predicate reads a value and at most one predicate behind it. Words that could begin one are left alone,
// as aliases, where what follows cannot be its operand.
func (p *parser) predicate() Expr {
	x := p.operand()
	start := x.Pos().Start
	at := p.tok().Span
	n := 0
	not := p.isKw("NOT") || p.isSym("!")
	if not {
		n = 1
	}
	switch w := p.word(n); {
	case w == "BETWEEN" && p.startsExpr(n+1):
		p.skip(n + 1)
		lo := p.operand()
		p.needKw("AND")
		hi := p.operand()
		return &Between{p.from(start), not, x, lo, hi}
	case w == "IN" && p.at(n+1) == "(":
		p.skip(n + 1)
		if p.at(1) == ")" {
			p.failAt(at, errs.New("INVALID_SQL_SYNTAX.EMPTY_IN_PREDICATE"))
		}
		if q := p.tryQuery(); q != nil {
			return &InQuery{p.from(start), not, x, q}
		}
		in := &In{Not: not, X: x}
		p.inBrackets(func() { in.List = append(in.List, p.expr()) })
		in.Span = p.from(start)
		return in
	case (w == "LIKE" || w == "ILIKE" || w == "RLIKE" || w == "REGEXP") && p.startsExpr(n+1):
		p.skip(n + 1)
		return p.like(&Like{Not: not, Op: w, X: x}, start, at)
	case w == "IS" && !not:
		return p.is(x, start)
	}
	return x
}

func (p *parser) like(l *Like, start int, at Span) Expr {
	if l.Op == "REGEXP" {
		l.Op = "RLIKE"
	}
	switch q := p.word(0); {
	case (q == "ANY" || q == "SOME" || q == "ALL") && p.at(1) == "(" && l.Op != "RLIKE":
		p.skip(1)
		if l.Quantifier = q; q == "SOME" {
			l.Quantifier = "ANY"
		}
		if p.at(1) == ")" {
			p.failAt(at, errs.New("_LEGACY_ERROR_TEMP_0064", "msg", "Expected something between '(' and ')'."))
		}
		p.inBrackets(func() { l.List = append(l.List, p.expr()) })
	default:
		l.Pattern = p.operand()
		if p.isKw("ESCAPE") && p.peek(1).Kind == String && l.Op != "RLIKE" {
			p.skip(1)
			s := p.start()
			text := p.str()
			l.Escape = &Literal{p.from(s), "string", text, ""}
			if utf8.RuneCountInString(text) != 1 {
				p.failAt(Span{at.Start, p.from(s).End}, errs.New("INVALID_ESC", "invalidEscape", "'"+text+"'"))
			}
		}
	}
	l.Span = p.from(start)
	return l
}

func (p *parser) is(x Expr, start int) Expr {
	n := 1
	not := p.word(1) == "NOT"
	if not {
		n = 2
	}
	switch w := p.word(n); {
	case w == "NULL" || w == "TRUE" || w == "FALSE" || w == "UNKNOWN":
		p.skip(n + 1)
		return &Is{p.from(start), not, w, x, nil}
	case w == "DISTINCT" && p.word(n+1) == "FROM":
		p.skip(n + 2)
		y := p.operand()
		return &Is{p.from(start), not, "DISTINCT", x, y}
	}
	return x
}

// operand reads comparisons and what binds tighter.
func (p *parser) operand() Expr {
	x := p.value(0)
	for n := 0; ; n++ {
		op := p.comparison()
		if op == "" {
			return x
		}
		p.chained(n)
		y := p.value(0)
		x = &Binary{p.from(x.Pos().Start), op, x, y}
	}
}

func (p *parser) comparison() string {
	op := p.at(0)
	switch op {
	case "=", "==":
		op = "="
	case "!=", "<>":
		op = "!="
	case "!>":
		op = "<="
	case "!<":
		op = ">="
	case "<", ">":
		if p.at(1) == op && p.peek(1).Start == p.tok().End { // a shift
			return ""
		}
	case "<=>", "<=", ">=":
	default:
		return ""
	}
	p.skip(1)
	return op
}

// levels are the binary operators above the comparisons, loosest first.
var levels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>", ">>>"}, {"+", "-", "||"}, {"*", "/", "%", "DIV"}}

const shiftLevel, productLevel = 3, 5

func (p *parser) binaryOp(level int) string {
	t := p.tok()
	switch {
	case t.Kind == Word:
		if level == productLevel && t.Upper == "DIV" && p.startsExpr(1) && p.at(1) != "*" {
			p.skip(1)
			return "DIV"
		}
	case t.Kind != Symbol:
	case level == shiftLevel:
		if t.Text != "<" && t.Text != ">" {
			return ""
		}
		n := 1
		for n < 3 && p.at(n) == t.Text && p.peek(n).Start == p.peek(n-1).End {
			n++
		}
		if n < 2 || t.Text == "<" && n > 2 {
			return ""
		}
		p.skip(n)
		return strings.Repeat(t.Text, n)
	default:
		for _, op := range levels[level] {
			if t.Text == op {
				p.skip(1)
				return op
			}
		}
	}
	return ""
}

func (p *parser) value(level int) Expr {
	if level == len(levels) {
		return p.unary()
	}
	x := p.value(level + 1)
	for n := 0; ; n++ {
		op := p.binaryOp(level)
		if op == "" {
			return x
		}
		p.chained(n)
		y := p.value(level + 1)
		x = &Binary{p.from(x.Pos().Start), op, x, y}
	}
}

// chained bounds a chain of binary operators, which makes a tree as deep as it is long: every level of it has
// the text of all below.
func (p *parser) chained(n int) {
	if n > 10*maxDepth {
		p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
	}
}

func (p *parser) unary() Expr {
	op := p.at(0)
	if op != "-" && op != "+" && op != "~" {
		return p.postfix(p.atom())
	}
	p.enter()
	defer p.leave()
	start := p.next().Start
	if op == "-" && p.tok().Kind == Number { // -128Y is one literal: 128Y alone would not fit
		l := numberLiteral(p.next())
		l.Text = "-" + l.Text
		l.Span = p.from(start)
		return p.postfix(l)
	}
	x := p.unary()
	return &Unary{p.from(start), op, x}
}

// postfix reads [i], .name, ::type, :path, .* and COLLATE behind a primary.
func (p *parser) postfix(x Expr) Expr {
	start := x.Pos().Start
	for n := 0; ; n++ {
		if n > maxDepth { // a chain of these makes a tree as deep as brackets would
			p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
		}
		switch {
		case p.isSym("["):
			p.skip(1)
			i := p.subscript()
			x = &Subscript{p.from(start), x, i}
		case p.isSym(".") && p.isName(1):
			p.skip(1)
			field := p.name()
			if c, ok := x.(*Name); ok {
				x = &Name{p.from(start), append(c.Parts[:len(c.Parts):len(c.Parts)], field)}
			} else {
				x = &Field{p.from(start), x, field}
			}
		case p.isSym(".") && p.at(1) == "*":
			c, ok := x.(*Name)
			if !ok {
				p.refuse(p.tok().Span, "a star of an expression", "Give the struct a name in a subquery.")
			}
			p.skip(2)
			return p.starExcept(&Star{p.from(start), c.Parts, nil})
		case p.isSym("."):
			p.skip(1)
			p.unexpected()
		case p.sym("::"):
			p.casts++
			t := p.typeName()
			p.casts--
			x = &Cast{p.from(start), x, t, false, true}
		case p.isKw("COLLATE") && p.isName(1):
			p.skip(1)
			name := strings.Join(p.dotted(), ".")
			x = &Collate{p.from(start), x, name}
		case p.isSym(":") && (p.isName(1) || p.at(1) == "["):
			p.skip(1)
			path := p.path()
			x = &SemiPath{p.from(start), x, path}
		default:
			return x
		}
	}
}

func (p *parser) subscript() Expr {
	p.enter()
	defer p.leave()
	i := p.operand()
	p.needSym("]")
	return i
}

// path reads what stands behind the colon of v:a.b[0] and gives it as text.
func (p *parser) path() string {
	start := p.start()
	if p.isName(0) {
		p.skip(1)
	}
	for {
		switch {
		case p.isSym(".") && p.isName(1):
			p.skip(2)
		case p.sym("["):
			if !p.sym("*") {
				if t := p.tok(); t.Kind != Number && t.Kind != String {
					p.unexpected()
				}
				p.skip(1)
			}
			p.needSym("]")
		default:
			s := p.from(start)
			return p.text[s.Start:s.End]
		}
	}
}

func (p *parser) starExcept(s *Star) Expr {
	if !p.isKw("EXCEPT") || p.at(1) != "(" && !p.isName(1) || p.queryAt(1) || p.word(1) == "ALL" || p.word(1) == "DISTINCT" {
		return s
	}
	p.skip(1)
	p.inBrackets(func() { s.Except = append(s.Except, p.column()) })
	s.Span = p.from(s.Start)
	return s
}

func (p *parser) exprs() []Expr {
	var out []Expr
	p.list(func() { out = append(out, p.expr()) })
	return out
}

// tryQuery reads ( query ) if that is what stands here; nil, and nothing read, if the bracket holds
// something else, as in ((SELECT 1), 2) or ((a JOIN b)).
func (p *parser) tryQuery() (q *Query) {
	if !p.isSym("(") || !p.queryAt(1) {
		return nil
	}
	if p.at(1) != "(" {
		return p.subquery()
	}
	at, depth, params, stop, listed := p.i, p.depth, p.params, p.stop, p.listed
	defer func() {
		r := recover()
		fl, ok := r.(failure)
		if r != nil && (!ok || fl.err.Condition != "PARSE_SYNTAX_ERROR") {
			panic(r)
		}
		if r != nil {
			p.i, p.depth, p.params, p.stop, p.listed = at, depth, params, stop, listed
			q = nil
		}
	}()
	return p.subquery()
}
