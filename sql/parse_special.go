package sql

import (
	"strings"

	"streamlab/errs"
)

// specialCall reads the functions with words instead of commas between their arguments; nil, and nothing
// read, if the call is a plain one.
func (p *parser) specialCall(t Token) Expr {
	switch t.Upper {
	case "CAST", "TRY_CAST":
		return p.attempt(p.cast)
	case "EXTRACT":
		if p.word(3) == "FROM" && p.peek(2).Kind == Word {
			return p.extract()
		}
	case "POSITION":
		return p.attempt(p.position)
	case "TRIM":
		return p.trim()
	case "SUBSTRING", "SUBSTR", "OVERLAY":
		return p.attempt(p.keywordCall)
	case "TIMESTAMPADD", "TIMESTAMPDIFF", "TIMEDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF":
		if (dateParts[p.word(2)] || p.peek(2).Kind == String) && p.at(3) == "," {
			if x := p.attempt(p.unitCall); x != nil {
				return x
			}
		}
	case "STRUCT":
		return p.structCall()
	case "IDENTIFIER":
		return p.identifier()
	}
	return nil
}

// attempt reads with f, which gives nil if the call has another form; then nothing is read.
func (p *parser) attempt(f func() Expr) Expr {
	at, params := p.i, p.params
	x := f()
	if x == nil {
		p.i, p.params = at, params
	}
	return x
}

func (p *parser) cast() Expr {
	t := p.next()
	p.skip(1)
	if p.isSym(")") {
		return nil
	}
	x := p.expr()
	if !p.isKw("AS") {
		if p.isSym(",") || p.isSym(")") { // a call of the function of that name, which the analyzer refuses
			return nil
		}
		p.unexpected("AS")
	}
	p.skip(1)
	outer := p.castDepth
	p.castDepth = p.depth + 1
	p.casts++
	ty := p.typeName()
	p.castDepth = outer
	p.casts--
	p.needSym(")")
	return &Cast{p.from(t.Start), x, ty, t.Upper != "CAST", false}
}

func (p *parser) extract() Expr {
	start := p.next().Start
	p.skip(1)
	f := p.next()
	p.skip(1)
	x := p.operand()
	p.needSym(")")
	field := &Literal{f.Span, "string", f.Text, ""}
	return &FuncCall{Span: p.from(start), Syntax: "EXTRACT", Name: []string{"extract"}, Args: []Expr{field, x}}
}

func (p *parser) position() Expr {
	start := p.next().Start
	p.skip(1)
	if p.isSym(")") {
		return nil
	}
	x := p.operand()
	if !p.kw("IN") {
		return nil
	}
	y := p.operand()
	p.needSym(")")
	return &FuncCall{Span: p.from(start), Syntax: "POSITION", Name: []string{"locate"}, Args: []Expr{x, y}}
}

func (p *parser) trim() Expr {
	at, params := p.i, p.params
	start := p.next().Start
	p.skip(1)
	f := &FuncCall{Syntax: "TRIM", Name: []string{"trim"}}
	switch side := p.word(0); {
	case (side == "BOTH" || side == "LEADING" || side == "TRAILING") && p.startsExpr(1):
		f.Syntax += " " + side
		p.skip(1)
	}
	switch f.Syntax {
	case "TRIM LEADING":
		f.Name[0] = "ltrim"
	case "TRIM TRAILING":
		f.Name[0] = "rtrim"
	}
	var chars Expr
	if !p.isKw("FROM") && !p.isSym(")") {
		chars = p.operand()
	}
	if !p.isKw("FROM") || !p.startsExpr(1) {
		if f.Syntax != "TRIM" {
			p.unexpected("FROM")
		}
		p.i, p.params = at, params
		return nil
	}
	p.skip(1)
	x := p.operand()
	p.needSym(")")
	if f.Args = []Expr{x}; chars != nil { // the functions take the characters first
		f.Args = []Expr{chars, x}
	}
	f.Span = p.from(start)
	return f
}

// keywordCall reads SUBSTRING(x FROM a FOR b) and OVERLAY(x PLACING y FROM a FOR b).
func (p *parser) keywordCall() Expr {
	t := p.next()
	p.skip(1)
	if p.isSym(")") {
		return nil
	}
	f := &FuncCall{Syntax: "FROM", Name: []string{strings.ToLower(t.Text)}, Args: []Expr{p.operand()}}
	if t.Upper == "OVERLAY" {
		if !p.kw("PLACING") {
			return nil
		}
		f.Syntax = "PLACING"
		f.Args = append(f.Args, p.operand())
		p.needKw("FROM")
	} else if !p.kw("FROM") {
		return nil
	}
	f.Args = append(f.Args, p.operand())
	if p.kw("FOR") {
		f.Args = append(f.Args, p.operand())
	}
	p.needSym(")")
	f.Span = p.from(t.Start)
	return f
}

func (p *parser) unitCall() Expr {
	t := p.next()
	p.skip(1)
	u := p.next()
	f := &FuncCall{Syntax: "UNIT", Name: []string{"timestampadd"}, Args: []Expr{&Literal{u.Span, "string", u.Upper, ""}}}
	if strings.HasSuffix(t.Upper, "DIFF") {
		f.Name[0] = "timestampdiff"
	}
	for p.sym(",") {
		f.Args = append(f.Args, p.expr())
	}
	p.needSym(")")
	if len(f.Args) == 2 { // date_add(day, 1) of a column day
		return nil
	}
	f.Span = p.from(t.Start)
	if u.Kind == String {
		p.failAt(f.Span, errs.New("INVALID_PARAMETER_VALUE.DATETIME_UNIT", "functionName", "`"+t.Text+"`", "parameter", "`unit`",
			"invalidValue", p.text[u.Start:u.End]))
	}
	return f
}

// structCall reads STRUCT(a AS x, b).
func (p *parser) structCall() Expr {
	t := p.next()
	f := &FuncCall{Name: []string{strings.ToLower(t.Text)}}
	p.needSym("(")
	if !p.isSym(")") {
		p.list(func() {
			x := p.expr()
			name := ""
			if p.isKw("AS") || p.isName(0) {
				p.kw("AS")
				name = p.plainName()
			}
			if name != "" && f.ArgNames == nil {
				f.ArgNames = make([]string, len(f.Args))
				f.Syntax = "STRUCT"
			}
			f.Args = append(f.Args, x)
			if f.ArgNames != nil {
				f.ArgNames = append(f.ArgNames, name)
			}
		})
	}
	p.needSym(")")
	p.afterCall(f)
	f.Span = p.from(t.Start)
	return f
}

// identifier reads IDENTIFIER(e) as a column, which stays a call of that name, and IDENTIFIER(e)(…).
func (p *parser) identifier() Expr {
	start := p.start()
	f := p.call([]string{p.next().Text}, start).(*FuncCall)
	if !p.isSym("(") || len(f.Args) != 1 {
		return f
	}
	g := p.call(nil, start).(*FuncCall)
	g.Ident = f.Args[0]
	return g
}
