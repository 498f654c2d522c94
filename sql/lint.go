package sql

// Warning is a piece of text that is legal and probably not meant.
type Warning struct {
	Span
	Message string
	Hint    string
}

// Lint gives the warnings about a text that parses, in its order; nil for one that does not. No word is
// reserved, so a forgotten comma or a misspelt clause is often an alias: SELECT a b, FROM t WEHRE.
func Lint(text string) []Warning {
	var out []Warning
	Options{}.run(text, func(p *parser) {
		p.lint = true
		for {
			p.statement()
			for p.sym(";") {
			}
			if p.tok().Kind == EOF {
				break
			}
		}
		out = p.warnings
	})
	return out
}

// lintAlias looks at an alias that stands without AS at the current token.
func (p *parser) lintAlias(what string) {
	t := p.tok()
	if !p.lint || t.Kind != Word {
		return
	}
	for _, w := range p.warnings { // text may be read twice
		if w.Start == t.Start {
			return
		}
	}
	warn := func(hint string) {
		p.warnings = append(p.warnings, Warning{t.Span, t.Text + " is read as the name of the " + what + ".", hint})
	}
	switch near := nearest(t.Upper, nil); {
	case isClause(t.Upper):
		warn("Did you mean the clause " + t.Upper + "? Write AS " + t.Text + " if it is the name.")
	case near != "":
		warn("Did you mean " + near + "?")
	}
}

func isClause(upper string) bool {
	for _, c := range clauses {
		if c == upper {
			return true
		}
	}
	return false
}

// Split gives the spans of the statements of a text, divided at semicolons outside of strings, quoted names
// and comments, without the semicolons and the space around. It works on text that does not parse.
func Split(text string) []Span {
	var out []Span
	open := Span{Start: -1}
	for _, t := range Lex(text) {
		switch {
		case t.Kind == EOF || t.Kind == Symbol && t.Text == ";":
			if open.Start >= 0 {
				out = append(out, open)
			}
			open = Span{Start: -1}
		case t.Kind == Comment:
		default:
			if open.Start < 0 {
				open.Start = t.Start
			}
			open.End = t.End
		}
	}
	return out
}
