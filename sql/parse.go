package sql

import (
	"strings"
	"unicode/utf8"

	"streamlab/errs"
)

// Options are the session settings that change how text is read. The zero value is Spark's default.
type Options struct {
	EnforceReserved         bool // spark.sql.ansi.enforceReservedKeywords
	DoubleQuotedIdentifiers bool // spark.sql.ansi.doubleQuotedIdentifiers
	EscapedStringLiterals   bool // spark.sql.parser.escapedStringLiterals
	LegacySetOps            bool // spark.sql.legacy.setopsPrecedence.enabled
}

// Parse reads statements separated by semicolons, at least one. Errors are *errs.Error with the place in
// text: PARSE_SYNTAX_ERROR, PARSE_EMPTY_STATEMENT if there is nothing but comments, conditions of Spark's
// parser, and UNSUPPORTED_FEATURE.STREAMLAB for syntax of Spark that streamlab knows and refuses.
func Parse(text string) ([]Statement, error) { return Options{}.Parse(text) }

// ParseStatement reads exactly one statement, perhaps with semicolons behind it, as Spark does.
func ParseStatement(text string) (Statement, error) { return Options{}.ParseStatement(text) }

// ParseQuery reads one query.
func ParseQuery(text string) (*Query, error) { return Options{}.ParseQuery(text) }

// ParseExpr reads one expression without an alias.
func ParseExpr(text string) (Expr, error) { return Options{}.ParseExpr(text) }

// ParseItem reads one expression with an optional alias, as in selectExpr.
func ParseItem(text string) (SelectItem, error) { return Options{}.ParseItem(text) }

// Parse is Parse under these settings.
func (o Options) Parse(text string) (out []Statement, err error) {
	err = o.run(text, func(p *parser) {
		for {
			p.params, p.named = 0, false
			out = append(out, p.statement())
			if p.tok().Kind != EOF && !p.isSym(";") {
				p.leftover(false)
			}
			for p.sym(";") {
			}
			if p.tok().Kind == EOF {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ParseStatement is ParseStatement under these settings.
func (o Options) ParseStatement(text string) (st Statement, err error) {
	err = o.run(text, func(p *parser) {
		st = p.statement()
		p.end()
	})
	return st, err
}

// ParseMarked is ParseStatement that tells which markers stand in the text: whether there are named ones, and
// the number of ?.
func (o Options) ParseMarked(text string) (st Statement, named bool, positional int, err error) {
	err = o.run(text, func(p *parser) {
		st = p.statement()
		p.end()
		named, positional = p.named, p.params
	})
	return st, named, positional, err
}

// ParseQuery is ParseQuery under these settings.
func (o Options) ParseQuery(text string) (q *Query, err error) {
	err = o.run(text, func(p *parser) { q = p.query(); p.end() })
	return q, err
}

// ParseExpr is ParseExpr under these settings.
func (o Options) ParseExpr(text string) (e Expr, err error) {
	err = o.run(text, func(p *parser) { e = p.expr(); p.end() })
	return e, err
}

// ParseItem is ParseItem under these settings.
func (o Options) ParseItem(text string) (it SelectItem, err error) {
	err = o.run(text, func(p *parser) { it = p.selectItem(); p.end() })
	return it, err
}

// maxDepth bounds nesting, so that no text can overflow the stack.
const maxDepth = 500

type parser struct {
	text   string
	opts   Options
	toks   []Token       // without comments; the last is EOF
	hints  map[int]Token // index of a token → the /*+ comment right before it
	i      int
	depth  int
	steps  int  // tokens left to read, so that text which must be read twice on many levels ends
	params int  // ? of the statement so far
	named  bool // a :name stands in the statement
	marks  []Param
	listed bool // the expression being read is an item of a select list
	// castDepth is the depth of the type that ends with the bracket of CAST; 0 if none.
	castDepth int
	casts     int    // types of CAST that are being read: their texts may have a collation
	stop      string // word that ends a list of aliased items, and so is no alias

	lint     bool // warnings are wanted
	warnings []Warning
}

// failure carries an error up through the descent; only run recovers it.
type failure struct{ err *errs.Error }

func (o Options) run(text string, f func(p *parser)) (err error) {
	p := &parser{text: text, opts: o, hints: map[int]Token{}}
	for _, t := range lexAll(text, o) {
		switch {
		case t.Kind != Comment:
			p.toks = append(p.toks, t)
		case strings.HasPrefix(t.Text, "/*+"):
			p.hints[len(p.toks)] = t
		}
	}
	p.steps = 100*len(p.toks) + 10000
	defer func() {
		if r := recover(); r != nil {
			fl, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = fl.err
		}
	}()
	for _, t := range p.toks {
		if t.Kind == Bad && strings.HasPrefix(t.Text, "/*") {
			p.failAt(t.Span, errs.New("UNCLOSED_BRACKETED_COMMENT"))
		}
	}
	if p.tok().Kind == EOF {
		p.failAt(Span{}, errs.New("PARSE_EMPTY_STATEMENT"))
	}
	f(p)
	return nil
}

// Place turns a span of text into a position and the line it is in. Columns count characters from 1.
func Place(text string, s Span) (errs.Pos, string) {
	start := max(0, min(s.Start, len(text)))
	line := strings.Count(text[:start], "\n") + 1
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := strings.IndexByte(text[start:], '\n')
	if to < 0 {
		to = len(text)
	} else {
		to += start
	}
	end := max(min(s.End, to), start)
	return errs.Pos{
		Line:   line,
		Col:    utf8.RuneCountInString(text[from:start]) + 1,
		Length: max(1, utf8.RuneCountInString(text[start:end])),
	}, strings.TrimRight(text[from:to], "\r")
}

// failAt ends the descent with an error at a place.
func (p *parser) failAt(s Span, e *errs.Error) {
	pos, line := Place(p.text, s)
	panic(failure{e.At(pos).WithExcerpt(line)})
}

// unexpected fails at the current token; expected are the words that could stand there.
func (p *parser) unexpected(expected ...string) { p.syntax("", expected...) }

// missing fails at the current token, which would be fine if word stood before it.
func (p *parser) missing(word string) { p.syntax(": missing '"+word+"'", word) }

// leftover fails at a token behind a complete statement. Spark calls it extra input where dropping it would
// repair the text: it is the last one, or stands behind a semicolon.
func (p *parser) leftover(semicolon bool) {
	n := p.peek(1)
	if p.tok().Kind == Bad {
		p.unexpected()
	}
	if semicolon || n.Kind == EOF || n.Kind == Symbol && n.Text == ";" {
		p.extra()
	}
	p.unexpected()
}

func (p *parser) extra() { p.syntax(": extra input '" + p.shown(p.tok()) + "'") }

// shown is a token as an error names it: of an unclosed quote only the quote.
func (p *parser) shown(t Token) string {
	if t.Kind == Bad {
		_, n := utf8.DecodeRuneInString(t.Text)
		return t.Text[:n]
	}
	return p.text[t.Start:t.End]
}

func (p *parser) syntax(hint string, expected ...string) {
	t := p.tok()
	shown := "end of input"
	if t.Kind != EOF {
		shown = "'" + p.shown(t) + "'"
	}
	e := errs.New("PARSE_SYNTAX_ERROR", "error", shown, "hint", hint)
	near := ""
	if t.Kind == Word {
		near = nearest(t.Upper, expected)
	}
	if near == "" && p.i > 0 && p.toks[p.i-1].Kind == Word {
		near = nearest(p.toks[p.i-1].Upper, nil) // a misspelt word was read as an alias: SELECT 1 FRM t
	}
	switch {
	case near != "":
		e = e.WithHint("Did you mean " + near + "?")
	case t.Kind == Bad && strings.ContainsAny(shown, "`\"") || shown == "'''":
		e = e.WithHint("The quote is not closed.")
	case len(expected) > 0:
		e = e.WithHint("Expected " + strings.Join(expected, " or ") + ".")
	}
	s := t.Span
	if t.Kind == Bad {
		s.End = s.Start + 1
	}
	p.failAt(s, e)
}

// refuse fails with the condition for syntax of Spark that streamlab does not have.
func (p *parser) refuse(s Span, feature, instead string) {
	e := errs.New("UNSUPPORTED_FEATURE.STREAMLAB", "feature", feature)
	if instead != "" {
		e = e.WithHint(instead)
	}
	p.failAt(s, e)
}

func (p *parser) tok() Token { return p.toks[p.i] }

func (p *parser) peek(n int) Token { return p.toks[min(p.i+n, len(p.toks)-1)] }

// at gives the symbol n tokens ahead, "" if there stands none.
func (p *parser) at(n int) string {
	if t := p.peek(n); t.Kind == Symbol {
		return t.Text
	}
	return ""
}

// word gives the upper-case word n tokens ahead, "" if there stands none.
func (p *parser) word(n int) string {
	if t := p.peek(n); t.Kind == Word {
		return t.Upper
	}
	return ""
}

func (p *parser) next() Token {
	t := p.toks[p.i]
	if t.Kind == Bad || t.Kind == EOF {
		p.unexpected()
	}
	p.skip(1)
	return t
}

func (p *parser) skip(n int) {
	p.i = min(p.i+n, len(p.toks)-1)
	if p.steps -= n; p.steps < 0 {
		p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
	}
}

// end fails if something stands behind the statement and its semicolons.
func (p *parser) end() {
	semicolon := false
	for p.sym(";") {
		semicolon = true
	}
	if p.tok().Kind != EOF {
		p.leftover(semicolon)
	}
}

func (p *parser) isSym(s string) bool { return p.at(0) == s }

func (p *parser) sym(s string) bool {
	if p.isSym(s) {
		p.skip(1)
		return true
	}
	return false
}

func (p *parser) needSym(s string) {
	if p.sym(s) {
		return
	}
	if p.at(1) == s {
		p.extra()
	}
	p.unexpected(s)
}

// isKw tests for a sequence of keywords.
func (p *parser) isKw(words ...string) bool {
	for k, w := range words {
		if p.word(k) != w {
			return false
		}
	}
	return true
}

func (p *parser) kw(words ...string) bool {
	if p.isKw(words...) {
		p.skip(len(words))
		return true
	}
	return false
}

// anyKw takes one of words; "" if none stands here.
func (p *parser) anyKw(words ...string) string {
	for _, w := range words {
		if p.kw(w) {
			return w
		}
	}
	return ""
}

func (p *parser) needKw(words ...string) {
	for _, w := range words {
		if p.kw(w) {
			continue
		}
		if p.word(1) == w {
			p.extra()
		}
		p.unexpected(w)
	}
}

// needAny is anyKw that fails if none stands here.
func (p *parser) needAny(words ...string) string {
	w := p.anyKw(words...)
	if w == "" {
		p.unexpected(words...)
	}
	return w
}

// enter guards the depth of nesting; leave undoes it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
	}
}

func (p *parser) leave() { p.depth-- }

// from is the span from a start to the end of the last token read.
func (p *parser) from(start int) Span {
	end := start
	if p.i > 0 {
		end = p.toks[p.i-1].End
	}
	return Span{start, max(start, end)}
}

func (p *parser) start() int { return p.tok().Start }

// list reads items between commas.
func (p *parser) list(item func()) {
	item()
	for p.sym(",") {
		item()
	}
}

// inBrackets reads ( item, … ).
func (p *parser) inBrackets(item func()) {
	p.needSym("(")
	p.list(item)
	p.needSym(")")
}
