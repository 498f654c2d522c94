package lab

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/types"
)

// clause is a text of SQL that takes part in a query: its own, or that of a view it reads.
type clause struct {
	m    *value // the mapping that holds it
	key  string
	text string
	tok  []sql.Token // without comments; the last is EOF
	view *View       // nil: the query's own
}

// clauses are the texts of the query, its own first.
func (t *site) clauses() (out []clause) {
	if t.q == nil {
		return nil
	}
	add := func(m *value, key string, view *View) {
		if e, ok := m.entry(key); ok && e.val.kind == scalarKind {
			c := clause{m: m, key: key, text: e.val.scalar, view: view}
			for _, k := range sql.Lex(c.text) {
				if k.Kind != sql.Comment {
					c.tok = append(c.tok, k)
				}
			}
			out = append(out, c)
		}
	}
	add(t.q.node, "sql", nil)
	views, _ := t.l.root.entry("views")
	for _, name := range t.reads() {
		for i := range t.l.Views {
			v := &t.l.Views[i]
			if !strings.EqualFold(v.Name.Value, name) {
				continue
			}
			if v.node.kind == mapKind {
				add(v.node, "sql", v)
			} else {
				add(views.val, v.Name.Value, v)
			}
		}
	}
	return out
}

// reads are the names of sources, views and tables that the query reads, nearest first.
func (t *site) reads() (out []string) {
	seen := map[string]bool{}
	var walk func(text string)
	walk = func(text string) {
		var views []string
		for _, k := range sql.Lex(text) {
			if k.Kind != sql.Word && k.Kind != sql.Quoted || seen[strings.ToLower(k.Text)] {
				continue
			}
			name := strings.ToLower(k.Text)
			for _, v := range t.l.Views {
				if strings.EqualFold(v.Name.Value, name) {
					seen[name] = true
					out = append(out, v.Name.Value)
					views = append(views, v.SQL.Value)
				}
			}
			for _, s := range t.l.Sources {
				if strings.EqualFold(s.Name.Value, name) {
					seen[name] = true
					out = append(out, s.Name.Value)
				}
			}
			for _, s := range t.l.Tables {
				if strings.EqualFold(s.Name.Value, name) {
					seen[name] = true
					out = append(out, s.Name.Value)
				}
			}
		}
		for _, v := range views {
			walk(v)
		}
	}
	if t.q != nil {
		walk(t.q.SQL.Value)
	}
	return out
}

func (t *site) source(name string) *Source {
	for i := range t.l.Sources {
		if strings.EqualFold(t.l.Sources[i].Name.Value, name) {
			return &t.l.Sources[i]
		}
	}
	return nil
}

func (t *site) table(name string) *Table {
	for i := range t.l.Tables {
		if strings.EqualFold(t.l.Tables[i].Name.Value, name) {
			return &t.l.Tables[i]
		}
	}
	return nil
}

func (t *site) view(name string) *View {
	for i := range t.l.Views {
		if strings.EqualFold(t.l.Views[i].Name.Value, name) {
			return &t.l.Views[i]
		}
	}
	return nil
}

// columns are those of a relation of the lab; nil if it is not sound.
func (t *site) columns(name string) types.Schema {
	s := t.asker()
	if s == nil {
		return nil
	}
	df, err := s.SQL(t.ctx, "SELECT * FROM "+types.QuoteIfNeeded(name))
	if err != nil || df.Err() != nil {
		return nil
	}
	return df.Schema()
}

// is tells whether token i begins the words.
func (c clause) is(i int, words ...string) bool {
	for k, w := range words {
		if i+k >= len(c.tok) || c.tok[i+k].Upper != w && !(c.tok[i+k].Kind == sql.Symbol && c.tok[i+k].Text == w) {
			return false
		}
	}
	return true
}

// until is the token behind the part of a query that begins at token i: the next that begins another part, or
// closes the parentheses around.
func (c clause) until(i int) int {
	depth := 0
	for k := i + 1; k < len(c.tok); k++ {
		switch c.tok[k].Text {
		case "(":
			depth++
			continue
		case ")":
			if depth--; depth < 0 {
				return k
			}
			continue
		case ";":
			return k
		}
		if depth > 0 {
			continue
		}
		switch c.tok[k].Upper {
		case "LIMIT", "OFFSET", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "UNION", "EXCEPT", "INTERSECT", "MINUS", "HAVING", "WHERE",
			"GROUP", "WINDOW", "LATERAL":
			return k
		}
		if c.tok[k].Kind == sql.EOF {
			return k
		}
	}
	return len(c.tok) - 1
}

// cut takes tokens [from, to) out of the text, with the space in front of them.
func (t *site) cut(c clause, from, to int) []Edit {
	start := c.tok[from].Start
	if from > 0 {
		start = c.tok[from-1].End
	}
	end := c.tok[to-1].End
	gap := ""
	if from == 0 {
		end = c.tok[to].Start
	}
	return t.p.splice(c.m, c.key, start, end, gap)
}

// swap puts other text in the place of tokens [from, to).
func (t *site) swap(c clause, from, to int, text string) []Edit {
	return t.p.splice(c.m, c.key, c.tok[from].Start, c.tok[to-1].End, text)
}

// insert puts text behind token at-1 or, of at 0, in front of everything.
func (t *site) insert(c clause, at int, text string) []Edit {
	if at == 0 {
		return t.p.splice(c.m, c.key, 0, 0, text)
	}
	return t.p.splice(c.m, c.key, c.tok[at-1].End, c.tok[at-1].End, text)
}

// sequence makes several changes one after the other and gives them as one edit; nil if one of them does
// nothing.
func (t *site) sequence(steps ...func(t *site) []Edit) []Edit {
	text := t.p.text
	at := t
	for _, f := range steps {
		edits := f(at)
		if len(edits) == 0 {
			return nil
		}
		text = Apply(text, edits)
		l, err := Parse(t.l.File, t.l.File, text)
		if l == nil || l.root == nil || err != nil && at.q != nil && len(l.Queries) != len(t.l.Queries) {
			return nil
		}
		next := &site{l: l, p: newPage(text), e: t.e, ctx: t.ctx, conf: t.conf}
		if t.q != nil {
			for i := range l.Queries {
				if i < len(t.l.Queries) && &t.l.Queries[i] == t.q {
					next.q = &l.Queries[i]
				}
			}
		}
		if at != t {
			at.close()
		}
		at = next
	}
	if at != t {
		at.close()
	}
	return []Edit{difference(t.p.text, text)}
}

// maybe makes a step that may have nothing to do.
func maybe(f func(t *site) []Edit) func(t *site) []Edit {
	return func(t *site) []Edit {
		if e := f(t); len(e) > 0 {
			return e
		}
		return []Edit{{0, 0, ""}}
	}
}
