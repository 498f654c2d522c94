package sql

import (
	"errors"
	"strings"

	"streamlab/errs"
)

// maxDepth bounds nesting, so that no text can overflow the stack.
const maxDepth = 400

// Parse reads statements separated by semicolons; an empty text gives none. Errors: PARSE_SYNTAX_ERROR,
// PARSE_EMPTY_STATEMENT and other PARSE_ conditions with the place in the text.
func Parse(text string) ([]Statement, error) {
	var out []Statement
	err := run(text, func(p *parser) {
		for {
			for p.sym(";") {
			}
			if p.tok().Kind == EOF {
				return
			}
			out = append(out, p.statement())
			if p.tok().Kind != EOF {
				if !p.isSym(";") {
					p.unexpected()
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errs.New("PARSE_EMPTY_STATEMENT")
	}
	return out, nil
}

// ParseQuery reads one query.
func ParseQuery(text string) (q *Query, err error) {
	err = run(text, func(p *parser) { q = p.query(); p.end() })
	return
}

// ParseExpr reads one expression, as in selectExpr without an alias.
func ParseExpr(text string) (e Expr, err error) {
	err = run(text, func(p *parser) { e = p.expr(); p.end() })
	return
}

// ParseItem reads one expression with an optional alias, as in selectExpr.
func ParseItem(text string) (it SelectItem, err error) {
	err = run(text, func(p *parser) { it = p.selectItem(); p.end() })
	return
}

type parser struct {
	text    string
	toks    []Token
	i       int
	depth   int
	params  int
	inTable bool // a table name is being read: t-x is an error of its own
}

// failure carries an error up through the descent; only run recovers it.
type failure struct{ err error }

func run(text string, f func(p *parser)) (err error) {
	p := &parser{text: text}
	for _, t := range Lex(text) {
		if t.Kind != Comment {
			p.toks = append(p.toks, t)
		}
	}
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
	f(p)
	return nil
}

// Place turns a span of text into a position with its line.
func Place(text string, s Span) (errs.Pos, string) {
	start := min(s.Start, len(text))
	line := strings.Count(text[:start], "\n") + 1
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := strings.IndexByte(text[start:], '\n')
	if to < 0 {
		to = len(text)
	} else {
		to += start
	}
	end := max(min(s.End, to), start)
	pos := errs.Pos{Line: line, Col: len([]rune(text[from:start])) + 1, Length: max(1, len([]rune(text[start:end])))}
	return pos, strings.TrimRight(text[from:to], "\r")
}

func (p *parser) failAt(s Span, e *errs.Error) {
	pos, line := Place(p.text, s)
	panic(failure{e.At(pos).WithExcerpt(line)})
}

func (p *parser) unexpected(expected ...string) {
	t := p.tok()
	shown := "end of input"
	if t.Kind != EOF {
		shown = "'" + p.text[t.Start:t.End] + "'"
	}
	e := errs.New("PARSE_SYNTAX_ERROR", "error", shown, "hint", "")
	if t.Kind == Word {
		if near := nearestKeyword(t.Upper, expected); near != "" {
			e = e.WithHint("Did you mean " + near + "?")
		}
	}
	if e.Hint == "" && p.i > 0 && p.toks[p.i-1].Kind == Word {
		if near := nearestKeyword(p.toks[p.i-1].Upper, nil); near != "" {
			e = e.WithHint("Did you mean " + near + "?")
		}
	}
	p.failAt(t.Span, e)
}

func (p *parser) tok() Token { return p.toks[p.i] }

func (p *parser) peek(n int) Token { return p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *parser) next() Token {
	t := p.toks[p.i]
	if t.Kind == Bad {
		p.unexpected()
	}
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

func (p *parser) end() {
	if p.tok().Kind != EOF {
		p.unexpected()
	}
}

func (p *parser) isSym(s string) bool { t := p.tok(); return t.Kind == Symbol && t.Text == s }

func (p *parser) sym(s string) bool {
	if p.isSym(s) {
		p.i++
		return true
	}
	return false
}

func (p *parser) needSym(s string) {
	if !p.sym(s) {
		p.unexpected(s)
	}
}

// isKw tests for a sequence of keywords.
func (p *parser) isKw(words ...string) bool {
	for k, w := range words {
		t := p.peek(k)
		if t.Kind != Word || t.Upper != w {
			return false
		}
	}
	return true
}

func (p *parser) kw(words ...string) bool {
	if p.isKw(words...) {
		p.i += len(words)
		return true
	}
	return false
}

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
		if !p.kw(w) {
			p.unexpected(w)
		}
	}
}

// enter guards the depth of nesting; leave undoes it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.tok().Span, errs.New("FAILED_TO_PARSE_TOO_COMPLEX"))
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) from(start int) Span {
	end := start
	if p.i > 0 {
		end = p.toks[p.i-1].End
	}
	return Span{start, max(start, end)}
}

// strict are words that cannot be an alias or a name where a clause may follow.
var strict = wordSet(`ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT NATURAL ON RIGHT SEMI MINUS UNION USING
	WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW FROM SELECT TABLESAMPLE PIVOT UNPIVOT WATERMARK
	WHEN THEN ELSE END AND OR NOT SET QUALIFY`)

func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

func (p *parser) isName() bool {
	t := p.tok()
	return t.Kind == Quoted || t.Kind == Word
}

// name reads one identifier.
func (p *parser) name() string {
	t := p.tok()
	if t.Kind == Quoted && t.Text == "" {
		p.failAt(t.Span, errs.New("PARSE_SYNTAX_ERROR", "error", "'``'", "hint", ""))
	}
	if !p.isName() {
		p.unexpected()
	}
	if p.toks[p.i+1].Kind == Symbol && p.toks[p.i+1].Text == "-" && p.toks[p.i+1].Start == t.End && t.Kind == Word && p.inTable {
		if n := p.peek(2); n.Kind == Word && n.Start == p.toks[p.i+1].End {
			p.failAt(t.Span, errs.New("INVALID_IDENTIFIER", "ident", t.Text+"-"+n.Text))
		}
	}
	return p.next().Text
}

func (p *parser) names() []string {
	p.needSym("(")
	out := []string{p.name()}
	for p.sym(",") {
		out = append(out, p.name())
	}
	p.needSym(")")
	return out
}

func (p *parser) dotted() []string {
	out := []string{p.name()}
	for p.isSym(".") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted) {
		p.next()
		out = append(out, p.name())
	}
	return out
}

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

// aliasHere reads [AS] name where a clause may follow; "" if there is none.
func (p *parser) aliasHere() string {
	if p.kw("AS") {
		return p.name()
	}
	t := p.tok()
	if t.Kind == Quoted || t.Kind == Word && !strict[t.Upper] {
		return p.name()
	}
	return ""
}

func (p *parser) tableAlias() Alias {
	var a Alias
	a.Name = p.aliasHere()
	if a.Name != "" && p.isSym("(") {
		a.Columns = p.names()
	}
	return a
}

// Errors unwraps what Parse returns into its single error.
func Errors(err error) *errs.Error {
	var e *errs.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

func nearestKeyword(word string, expected []string) string {
	best, least := "", 3
	if len(word) < 4 {
		least = 2
	}
	try := func(k string) {
		if d := edits(word, k); d > 0 && d < least {
			best, least = k, d
		}
	}
	for _, k := range expected {
		try(k)
	}
	for _, k := range Keywords {
		if k == word {
			return ""
		}
		try(k)
	}
	return best
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Keywords are the words with a meaning in the grammar, sorted: for highlighting, completion and hints.
var Keywords = strings.Fields(`ALL AND ANTI ANY AS ASC BETWEEN BY CASE CAST CLUSTER CREATE CROSS CUBE DELETE DESC DESCRIBE DISTINCT
	DISTRIBUTE DROP ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FILTER FOLLOWING FROM FULL FUNCTION GROUP GROUPING HAVING ILIKE IN
	INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MATCHED MERGE NATURAL NOT NULL NULLS OFFSET ON OPTIMIZE OR
	ORDER OUTER OVER OVERWRITE PARTITION PIVOT PRECEDING RANGE RECURSIVE REPLACE RESET RIGHT RLIKE ROLLUP ROWS SELECT SEMI SET SHOW
	SORT STREAM TABLE TABLESAMPLE TEMPORARY THEN TRUE TRY_CAST UNBOUNDED UNION UNPIVOT UPDATE USING VALUES VIEW WATERMARK WHEN WHERE
	WINDOW WITH`)
