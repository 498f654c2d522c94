package sql

import (
	"strings"

	"streamlab/errs"
)

// isName reports whether an identifier stands n tokens ahead.
func (p *parser) isName(n int) bool {
	t := p.peek(n)
	return t.Kind == Quoted || t.Kind == Word && !(p.opts.EnforceReserved && reserved[t.Upper])
}

// name reads one identifier.
func (p *parser) name() string {
	if !p.isName(0) {
		p.unexpected()
	}
	return p.next().Text
}

// plainName is name where a minus cannot follow: a-b is an error of its own, at the minus.
func (p *parser) plainName() string {
	start := p.start()
	n := p.name()
	p.noMinus(start)
	return n
}

func (p *parser) noMinus(start int) {
	if !p.isSym("-") || !p.isName(1) {
		return
	}
	at := p.tok().Span
	for p.isSym("-") && p.isName(1) {
		p.skip(2)
	}
	s := p.from(start)
	e := errs.New("INVALID_IDENTIFIER", "ident", p.text[s.Start:s.End])
	p.failAt(at, e.WithHint("Write `"+p.text[s.Start:s.End]+"` in back quotes."))
}

// names reads (a, b, …).
func (p *parser) names() []string {
	var out []string
	p.inBrackets(func() { out = append(out, p.plainName()) })
	return out
}

// nameOrIdent reads a name of several parts, or IDENTIFIER(expr) in its place.
func (p *parser) nameOrIdent() ([]string, Expr) {
	if !p.isKw("IDENTIFIER") || p.at(1) != "(" {
		return p.dotted(), nil
	}
	p.skip(2)
	e := p.expr()
	p.needSym(")")
	return nil, e
}

// dotted reads a name of several parts.
func (p *parser) dotted() []string {
	start := p.start()
	out := []string{p.name()}
	for p.isSym(".") {
		p.skip(1)
		out = append(out, p.name())
	}
	p.noMinus(start)
	return out
}

// column reads a name of several parts as a node.
func (p *parser) column() *Name {
	start := p.start()
	parts := p.dotted()
	return &Name{p.from(start), parts}
}

// str reads a string literal; adjacent ones are one.
func (p *parser) str() string {
	if p.tok().Kind != String {
		p.unexpected()
	}
	s := p.next().Text
	for p.tok().Kind == String {
		s += p.next().Text
	}
	return s
}

// startsExpr reports whether the token n ahead can begin an expression.
func (p *parser) startsExpr(n int) bool {
	switch t := p.peek(n); t.Kind {
	case Word, Quoted, String, Number:
		return true
	case Symbol:
		return strings.Contains("( - + ~ ! * ? :", t.Text)
	}
	return false
}

// byClauses are the words that begin a clause together with BY.
var byClauses = wordSet([]string{"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})

// clauseAhead reports whether the word here begins a clause. No word is reserved, so it depends on what
// follows whether `SELECT 1 from` has an alias or a clause.
func (p *parser) clauseAhead() bool {
	w := p.word(0)
	switch w {
	case "":
		return false
	case "FROM":
		return p.isName(1) || p.at(1) == "("
	case "WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET":
		return p.startsExpr(1) && !(byClauses[p.word(1)] && p.word(2) == "BY")
	case "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE":
		return p.word(1) == "BY"
	case "WINDOW":
		return p.isName(1) && p.word(2) == "AS"
	case "UNION", "EXCEPT", "MINUS", "INTERSECT":
		return p.word(1) == "ALL" || p.word(1) == "DISTINCT" || p.queryAt(1)
	case "LATERAL":
		return p.word(1) == "VIEW"
	case "PIVOT", "TABLESAMPLE":
		return p.at(1) == "("
	case "UNPIVOT":
		return p.at(1) == "(" || p.word(2) == "NULLS"
	case "WATERMARK":
		return p.isName(1) || p.at(1) == "("
	case "SELECT":
		return p.startsExpr(1)
	}
	return false
}

// queryAt reports whether a query begins n tokens ahead, brackets left aside.
func (p *parser) queryAt(n int) bool {
	for end := n + maxDepth; p.at(n) == "(" && n < end; { // deeper ones are refused anyway
		n++
	}
	switch p.word(n) {
	case "SELECT":
		return p.startsExpr(n + 1)
	case "WITH", "TABLE":
		return p.isName(n + 1)
	case "FROM":
		return p.isName(n+1) || p.at(n+1) == "("
	case "VALUES":
		return p.startsExpr(n+1) && p.at(n+1) != "*"
	}
	return false
}

// itemAlias reads the alias of a select item: [AS] name or [AS] (a, b). Both are empty if there is none.
func (p *parser) itemAlias() (string, []string) {
	if p.isKw("AS") {
		switch {
		case p.isName(1):
			p.skip(1)
			return p.plainName(), nil
		case p.at(1) == "(":
			p.skip(1)
			return "", p.names()
		case p.opts.EnforceReserved, p.peek(1).Kind == String && p.text[p.peek(1).Start] == '"': // a name under another setting
			p.skip(1)
			p.unexpected()
		}
		return p.next().Text, nil // AS itself is the name, as in Spark
	}
	t := p.tok()
	switch {
	case t.Kind == Quoted, t.Kind == Word && p.isName(0) && t.Upper != p.stop && !p.clauseAhead():
		p.lintAlias("column")
		return p.plainName(), nil
	case p.isSym("(") && p.isName(1) && (p.at(2) == "," || p.at(2) == ")"):
		return "", p.names()
	}
	return "", nil
}

// tableAlias reads [AS] name [(columns)] behind a relation.
func (p *parser) tableAlias() Alias {
	var a Alias
	t := p.tok()
	if p.isKw("AS") {
		t = p.peek(1)
		if t.Kind != Quoted && (t.Kind != Word || !p.isName(1) || strict[t.Upper]) {
			p.skip(1)
			p.unexpected()
		}
		p.skip(1)
	} else if t.Upper == "MINUS" && t.Kind == Word && p.peek(1).Kind == EOF {
		p.moved(p.i, "", "Expected SELECT.") // unlike UNION it is no word of the standard, and could be an alias there
	} else if t.Kind != Quoted && (t.Kind != Word || !p.isName(0) || strict[t.Upper] || t.Upper == p.stop || p.clauseAhead() && t.Upper != "FROM") {
		return a
	} else {
		p.lintAlias("table")
	}
	a.Name = p.name()
	if p.isSym("(") && p.isName(1) {
		a.Columns = p.names()
	}
	return a
}
