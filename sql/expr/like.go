package expr

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func likeFunctions() []Function {
	fs := []Function{
		{Name: "like", Signature: "like(a, pattern[, escape])", Doc: "Whether the text matches a pattern of % and _.", Portable: true, Build: buildLike},
		{Name: "ilike", Signature: "ilike(a, pattern[, escape])", Doc: "like without regard to case.", Portable: true, Build: buildLike},
	}
	for _, name := range []string{"likeany", "likeall", "notlikeany", "notlikeall"} {
		fs = append(fs, Function{Name: name, Signature: "a [NOT] LIKE ANY|ALL (pattern, ...)", Hidden: true, Portable: true,
			Doc: "Whether the text matches one or all of several patterns.", Build: buildLikeMany})
	}
	return fs
}

func buildLike(c *Call) (Expr, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	escape := '\\'
	text := c.Args[0].String() + " LIKE " + c.Args[1].String()
	if c.Name == "ilike" {
		text = callText("ilike", c.Args[:2])
	}
	if len(c.Args) == 3 {
		l, ok := c.Args[2].(*Literal)
		if !ok || l.Type().Kind != types.String || l.Value.IsNull(0) || utf8.RuneCount(l.Value.Bytes(0)) != 1 {
			return nil, errs.New("INVALID_ESCAPE_CHAR", "sqlExpr", quoted(c.Args[2].String()))
		}
		escape, _ = utf8.DecodeRune(l.Value.Bytes(0))
		if escape != '\\' {
			if c.Name == "ilike" {
				text = callText("ilike", c.Args[:2])
				text = text[:len(text)-1] + ", " + c.Args[2].String() + ")"
			} else {
				text += " ESCAPE '" + string(escape) + "'"
			}
		}
	}
	args := make([]Expr, 2)
	for i := range args {
		a, ok := ImplicitCast(c.Args[i], types.Of(types.String), c.Conf)
		if !ok {
			return nil, WrongType(text, i, `"STRING"`, c.Args[i])
		}
		args[i] = a
	}
	s := Strict(c.Name, types.Of(types.Boolean), args, text, nil)
	s.Extra = string(escape)
	fold := c.Name == "ilike"
	s.Fresh = func() Kernel {
		m := &likeMatcher{escape: escape, fold: fold}
		return func(ctx *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
			a, p := args[0], args[1]
			for k := range sel.N {
				i := sel.At(k)
				if err := m.compile(p.Bytes(i)); err != nil {
					return err
				}
				if m.match(a.Bytes(i)) {
					columnar.SetBit(dst.Bits, i)
				}
			}
			return nil
		}
	}
	return s, nil
}

// buildLikeMany folds LIKE over the patterns: NULL patterns make the answer NULL where it is open.
func buildLikeMany(c *Call) (Expr, error) {
	if len(c.Args) < 2 {
		return nil, errs.New("_LEGACY_ERROR_TEMP_0064", "msg", "Expected something between '(' and ')'.")
	}
	not := strings.HasPrefix(c.Name, "not")
	op := "or"
	if strings.HasSuffix(c.Name, "all") {
		op = "and"
	}
	var all Expr
	for _, p := range c.Args[1:] {
		e, err := Build("like", []Expr{c.Args[0], p}, c.Conf)
		if err == nil && not {
			e, err = Build("not", []Expr{e}, c.Conf)
		}
		if err == nil && all != nil {
			e, err = Build(op, []Expr{all, e}, c.Conf)
		}
		if err != nil {
			return nil, err
		}
		all = e
	}
	for _, p := range c.Args[1:] {
		if l, ok := p.(*Literal); ok && l.Value.IsNull(0) {
			return all, nil // Spark keeps these as they are written out
		}
	}
	for _, p := range c.Args[1:] {
		if p.Type().Kind != types.String {
			return all, nil
		}
	}
	text := callText(c.Name, c.Args[:1])
	switch x := all.(type) {
	case *Lazy:
		x.Text = text
	case *Scalar:
		x.Text = text
	}
	return all, nil
}

// likeMatcher holds a compiled pattern: literal pieces between runs of wildcards. The last pattern is kept,
// so a constant one is compiled once.
type likeMatcher struct {
	escape  rune
	fold    bool
	pattern []byte
	ready   bool
	shape   byte // '=' exact, '<' prefix, '>' suffix, '~' contains, '*' general
	piece   []byte
	runes   []likeRune
	lower   []byte
}

type likeRune struct {
	r    rune
	kind byte // 0 literal, '_' any one, '%' any many
}

func (m *likeMatcher) compile(p []byte) error {
	if m.ready && bytes.Equal(m.pattern, p) {
		return nil
	}
	m.pattern = append(m.pattern[:0], p...)
	m.ready = false
	if m.fold {
		p = bytes.ToLower(p)
	}
	m.runes, m.piece = m.runes[:0], m.piece[:0]
	for rest := p; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		switch {
		case r == m.escape:
			if len(rest) == 0 {
				return errs.New("INVALID_FORMAT.ESC_AT_THE_END", "format", quoteSQL(string(m.pattern)))
			}
			c, n := utf8.DecodeRune(rest)
			if c != '%' && c != '_' && c != m.escape {
				return errs.New("INVALID_FORMAT.ESC_IN_THE_MIDDLE", "format", quoteSQL(string(m.pattern)),
					"char", quoteSQL(string(c)))
			}
			rest = rest[n:]
			m.runes = append(m.runes, likeRune{r: c})
		case r == '%':
			if k := len(m.runes); k == 0 || m.runes[k-1].kind != '%' {
				m.runes = append(m.runes, likeRune{kind: '%'})
			}
		case r == '_':
			m.runes = append(m.runes, likeRune{kind: '_'})
		default:
			m.runes = append(m.runes, likeRune{r: r})
		}
	}
	m.classify()
	m.ready = true
	return nil
}

// classify finds the shapes that need no general matching.
func (m *likeMatcher) classify() {
	rs := m.runes
	first, last := len(rs) > 0 && rs[0].kind == '%', len(rs) > 1 && rs[len(rs)-1].kind == '%'
	if first {
		rs = rs[1:]
	}
	if last {
		rs = rs[:len(rs)-1]
	}
	m.shape = '*'
	for _, r := range rs {
		if r.kind != 0 {
			return
		}
		m.piece = utf8.AppendRune(m.piece, r.r)
	}
	switch {
	case first && last, first && len(rs) == 0:
		m.shape = '~'
	case first:
		m.shape = '>'
	case last:
		m.shape = '<'
	default:
		m.shape = '='
	}
}

func (m *likeMatcher) match(s []byte) bool {
	if m.fold {
		m.lower = append(m.lower[:0], bytes.ToLower(s)...)
		s = m.lower
	}
	switch m.shape {
	case '=':
		return bytes.Equal(s, m.piece)
	case '<':
		return bytes.HasPrefix(s, m.piece)
	case '>':
		return bytes.HasSuffix(s, m.piece)
	case '~':
		return bytes.Contains(s, m.piece)
	}
	// Greedy matching with one point to come back to: the last % seen.
	p, back, from := 0, -1, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case p < len(m.runes) && m.runes[p].kind == '%':
			back, from = p, i
			p++
			continue
		case p < len(m.runes) && (m.runes[p].kind == '_' || m.runes[p].kind == 0 && m.runes[p].r == r):
			p++
			i += n
			continue
		case back >= 0:
			_, n := utf8.DecodeRune(s[from:])
			from += n
			i, p = from, back+1
			continue
		}
		return false
	}
	for p < len(m.runes) && m.runes[p].kind == '%' {
		p++
	}
	return p == len(m.runes)
}
