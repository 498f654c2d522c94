package sql

import (
	"slices"

	"streamlab/errs"
)

// Spark's parser decides between alternatives by looking ahead as far as it must, and blames the token where
// the decision fell when none fits, not the token where a reader would stop. The functions here move an error
// of ours to that token.

// blamed runs f; a syntax error in it that is no lexical one stands at token index at instead, with this hint
// unless the token is the last one, which Spark calls extra input.
func (p *parser) blamed(at int, hint string, f func()) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fl, ok := r.(failure)
		if !ok || fl.err.Condition != "PARSE_SYNTAX_ERROR" || p.tok().Kind == Bad {
			panic(r)
		}
		if hint == "" && p.toks[min(at+1, len(p.toks)-1)].Kind == EOF {
			hint = ": extra input '" + p.shown(p.toks[at]) + "'"
		}
		p.moved(at, hint, fl.err.Hint)
	}()
	f()
}

// moved fails at a token that was read already.
func (p *parser) moved(at int, hint, advice string) {
	t := p.toks[at]
	e := errs.New("PARSE_SYNTAX_ERROR", "error", "'"+p.shown(t)+"'", "hint", hint)
	if advice != "" {
		e = e.WithHint(advice)
	}
	p.failAt(t.Span, e)
}

// Markers lists the parameters :name and ? of the statements of text in their order; nil if it does not parse.
func (o Options) Markers(text string) []Param {
	var out []Param
	err := o.run(text, func(p *parser) {
		for p.tok().Kind != EOF {
			p.params, p.named = 0, false
			p.statement()
			for p.sym(";") {
			}
		}
		out = p.marks
	})
	if err != nil {
		return nil
	}
	slices.SortFunc(out, func(a, b Param) int { return a.Start - b.Start })
	return slices.CompactFunc(out, func(a, b Param) bool { return a.Start == b.Start }) // what was read twice
}
