package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Rows of a table are changed in two steps: the engine finds the rows that go (and, of MERGE, their pairs
// with source rows) by plans over numbered rows, and computes the rows that come by the plans that the
// statement's node carries. These have a hole at their bottom, a Scan without a table, which Fill replaces.

// NumberedSchema is a table's schema with two columns behind it that say where a row stands: the number of
// the data file and of the row in it.
func NumberedSchema(s types.Schema) types.Schema {
	return append(append(types.Schema{}, s...), types.Field{Name: "_file", Type: types.Of(types.Int)},
		types.Field{Name: "_row", Type: types.Of(types.BigInt)})
}

func newHole(s types.Schema) *Scan { return &Scan{Name: "rows", Out: plainSchema(s)} }

// Fill puts a node, of the same schema, in the place of a hole.
func Fill(n Node, hole *Scan, with Node) Node {
	if n == Node(hole) {
		return with
	}
	cs := n.Children()
	if len(cs) == 0 {
		return n
	}
	out := make([]Node, len(cs))
	for i, c := range cs {
		out[i] = Fill(c, hole, with)
	}
	return withChildren(n, out)
}

// Keep is n with the rows for which cond holds; nil keeps all.
func Keep(n Node, cond expr.Expr) Node {
	if cond == nil {
		return n
	}
	return &Filter{Child: n, Cond: cond}
}

// ScanOf reads all of a table.
func ScanOf(name string, t catalog.Table) Node {
	return &Scan{Name: name, Table: t, Out: plainSchema(t.Schema())}
}

// Columns is n with the columns at some positions.
func Columns(n Node, at ...int) Node {
	es := make([]expr.Expr, len(at))
	names := make([]string, len(at))
	for i, k := range at {
		es[i], names[i] = columnAt(n, k), n.Schema()[k].Name
	}
	return newProject(n, es, names)
}

// Predicates are the conjuncts of a condition over a table's columns that compare a column with a constant.
func Predicates(cond expr.Expr, c expr.Conf) []catalog.Predicate {
	if cond == nil {
		return nil
	}
	var out []catalog.Predicate
	flip := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
	for _, e := range expr.Conjuncts(cond) {
		s, ok := e.(*expr.Scalar)
		if !ok {
			continue
		}
		switch {
		case (s.Name == "isnull" || s.Name == "isnotnull") && len(s.Args) == 1:
			if col, ok := s.Args[0].(*expr.Column); ok {
				out = append(out, catalog.Predicate{Column: col.Index, Op: map[string]string{"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}[s.Name]})
			}
		case flip[s.Name] != "" && len(s.Args) == 2:
			x, y, op := s.Args[0], s.Args[1], s.Name
			if _, ok := x.(*expr.Column); !ok {
				x, y, op = y, x, flip[op]
			}
			col, ok := x.(*expr.Column)
			if !ok || !expr.Foldable(y) || !col.Type().Equal(y.Type()) {
				continue
			}
			if l, err := expr.Const(y, c); err == nil && l != nil && !l.Value.IsNull(0) {
				out = append(out, catalog.Predicate{Column: col.Index, Op: op, Value: l.Value})
			}
		}
	}
	return out
}

// ---- UPDATE and DELETE

func (a *analyzer) update(n *sql.Update) Node {
	g := a.target(n.Table, "UPDATE TABLE")
	x := &resolver{a: a, sc: g.sc}
	u := &Update{Name: g.name, Table: g.table, command: command{affected("num_affected_rows")}}
	u.Where = a.condition(x, n.Where, "UPDATE")
	u.Old = newHole(g.sc.node.Schema())
	es := a.assigned(g, x, n.Set, allColumns(u.Old))
	a.regenerate(g, es, n.Set)
	u.New = a.constrained(g, newProject(u.Old, es, u.Old.Out.Names()))
	return u
}

func (a *analyzer) delete(n *sql.Delete) Node {
	g := a.target(n.Table, "DELETE")
	d := &Delete{Name: g.name, Table: g.table, command: command{affected("num_affected_rows")}}
	d.Where = a.condition(&resolver{a: a, sc: g.sc}, n.Where, "DELETE")
	return d
}

// assigned puts the values of assignments into a row, which is nil where a column has no value yet.
func (a *analyzer) assigned(g *target, x *resolver, sets []sql.Assignment, row []expr.Expr) []expr.Expr {
	y := &resolver{a: a, sc: g.sc}
	schema := g.table.Schema()
	whole := map[int]string{}
	parts := map[int][]string{}
	for _, as := range sets {
		c, rest := y.match(as.Column, g.sc)
		if c == nil {
			a.failWith(as.Column, unresolvedColumn(as.Column.Parts, g.sc.cols))
		}
		path := types.Quote(strings.Join(as.Column.Parts[len(as.Column.Parts)-len(rest)-1:], "."))
		_, twice := whole[c.index]
		for _, p := range parts[c.index] {
			twice = twice || len(rest) == 0 || strings.EqualFold(p, strings.Join(rest, "."))
		}
		if twice {
			a.fail(as.Column, "DELTA_CONFLICT_SET_COLUMN", "columnList", "["+path+", "+path+"]")
		}
		f := schema[c.index]
		var v expr.Expr
		if d, ok := as.Value.(*sql.Name); ok && len(d.Parts) == 1 && strings.EqualFold(d.Parts[0], "DEFAULT") {
			v, _ = a.defaultOf(g, f)
		} else {
			v = x.expr(as.Value)
			if hasAggregate(v) || hasSubquery(v) || hasWindow(v) {
				a.fail(as.Value, "UNSUPPORTED_FEATURE", "feature", "an aggregate, a window function or a subquery in SET")
			}
		}
		if len(rest) == 0 {
			whole[c.index] = path
			row[c.index] = a.stored(as.Value, g, f, v)
			continue
		}
		parts[c.index] = append(parts[c.index], strings.Join(rest, "."))
		if row[c.index] == nil {
			row[c.index] = expr.NullLit(f.Type)
		}
		row[c.index] = a.withField(as, g, row[c.index], f.Type, rest, v)
	}
	return row
}

// withField is a struct with another value in a field.
func (a *analyzer) withField(as sql.Assignment, g *target, base expr.Expr, t types.DataType, path []string, v expr.Expr) expr.Expr {
	if t.Kind != types.Struct {
		a.fail(as.Column, "INVALID_EXTRACT_BASE_FIELD_TYPE", "base", `"`+base.String()+`"`, "other", `"`+t.SQL()+`"`)
	}
	x := &resolver{a: a, sc: g.sc}
	var args []expr.Expr
	found := false
	for _, f := range t.Fields {
		e, err := expr.NewGetField(base, f.Name, a.conf.Expr)
		a.check(as.Column, err)
		if strings.EqualFold(f.Name, path[0]) {
			found = true
			if len(path) > 1 {
				e = a.withField(as, g, e, f.Type, path[1:], v)
			} else {
				e = a.stored(as.Value, g, f, v)
			}
		}
		args = append(args, expr.StringLit(f.Name), e)
	}
	if !found {
		a.fail(as.Column, "FIELD_NOT_FOUND", "fieldName", types.Quote(path[0]), "fields", quoteList(namesOf(t.Fields)))
	}
	return x.build(as.Column, "named_struct", args...)
}

// regenerate computes generated columns that no assignment sets from the values of the new row.
func (a *analyzer) regenerate(g *target, row []expr.Expr, sets []sql.Assignment) {
	given := map[string]bool{}
	for _, as := range sets {
		given[strings.ToLower(as.Column.Parts[len(as.Column.Parts)-1])] = true
	}
	for k, f := range g.table.Schema() {
		text := f.Metadata[catalog.Generation]
		if text == "" || given[strings.ToLower(f.Name)] {
			continue
		}
		row[k] = transform(expr.CastTo(a.definitionExpr(g, text), f.Type, a.conf.Expr), func(x expr.Expr) expr.Expr {
			if c, ok := x.(*expr.Column); ok {
				return row[c.Index]
			}
			return x
		})
	}
}

// ---- MERGE

func (a *analyzer) merge(m *sql.Merge) Node {
	g := a.target(m.Target, "MERGE INTO TABLE")
	source := a.relation(m.Source, nil)
	a.noStream(m, source.node)
	src := trimmed(source)
	if m.SchemaEvolution || a.conf.on("spark.databricks.delta.schema.autoMerge.enabled", false) {
		g = a.evolved(m, g, src.Schema())
	}
	source = newScope(src, reindexed(source.cols), nil)
	width := len(g.sc.node.Schema())
	both := newScope(&Join{Kind: Inner, Left: g.sc.node, Right: src, Out: joinSchema(Inner, g.sc.node, src)},
		append(append([]column{}, g.sc.cols...), shifted(source.cols, width)...), nil)
	onlySource := newScope(both.node, shifted(source.cols, width), nil)
	n := &Merge{Name: g.name, Table: g.table, Source: src, width: width,
		command: command{affected("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")}}
	n.On = a.mergeCondition(m, &resolver{a: a, sc: both}, m.On, "search")
	n.OnText = HistoryText(n.On)
	n.Pair = newHole(both.node.Schema())
	for i := range m.Clauses {
		n.Clauses = append(n.Clauses, a.mergeClause(m, &m.Clauses[i], g, both, onlySource, n))
	}
	return n
}

func (a *analyzer) mergeCondition(m *sql.Merge, x *resolver, e sql.Expr, what string) expr.Expr {
	if e == nil {
		return nil
	}
	c := x.expr(e)
	shown := "(condition = " + a.sqlForm(c, x.sc) + ")"
	if hasAggregate(c) {
		a.fail(e, "DELTA_AGGREGATION_NOT_SUPPORTED", "operation", what+" condition of MERGE operation", "predicate", shown)
	}
	if !expr.Deterministic(c) {
		a.fail(e, "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED", "operation", what+" condition of MERGE operation", "expression", shown+".")
	}
	a.boolean(e, c)
	if hasSubquery(c) {
		a.fail(e, "UNSUPPORTED_FEATURE", "feature", "a subquery in a condition of MERGE")
	}
	return strip(c)
}

func (a *analyzer) mergeClause(m *sql.Merge, c *sql.MergeClause, g *target, both, onlySource *scope, n *Merge) MergeClause {
	sc, width := both, n.width
	switch c.Kind {
	case "NOT MATCHED":
		sc = onlySource
	case "NOT MATCHED BY SOURCE":
		sc = g.sc
	}
	x := &resolver{a: a, sc: sc}
	k := MergeClause{Kind: c.Kind, Action: c.Action, Cond: a.mergeCondition(m, x, c.Cond, c.Action)}
	if k.Cond != nil {
		k.CondText = HistoryText(k.Cond)
	}
	if c.Action == "DELETE" {
		return k
	}
	schema := g.table.Schema()
	src := n.Source.Schema()
	row := make([]expr.Expr, width)
	sets := c.Set
	if c.Action == "UPDATE" {
		copy(row, allColumns(n.Pair)[:width])
	} else if !c.All {
		seen := map[string]bool{}
		for j, col := range c.Columns {
			key := strings.ToLower(col.Parts[len(col.Parts)-1])
			if seen[key] {
				a.fail(col, "DELTA_DUPLICATE_COLUMNS_ON_INSERT")
			}
			seen[key] = true
			sets = append(sets, sql.Assignment{Span: col.Span, Column: col, Value: c.Values[j]})
		}
	}
	if c.All {
		sets = nil
		for i, f := range schema {
			if f.Metadata[catalog.Generation] != "" && src.Index(f.Name) < 0 {
				row[i] = nil
				continue
			}
			at := src.Index(f.Name)
			if at < 0 && (m.SchemaEvolution || a.conf.on("spark.databricks.delta.schema.autoMerge.enabled", false)) {
				continue // an updated row keeps its value, a new one has the default
			}
			if at < 0 {
				a.fail(c, "DELTA_MERGE_UNRESOLVED_EXPRESSION", "sqlExpr", f.Name, "clause", c.Action+" clause", "cols", strings.Join(src.Names(), ", "))
			}
			row[i] = a.stored(c, g, f, &expr.Column{Index: width + at, Field: src[at]})
		}
	}
	row = a.assigned(g, x, sets, row)
	for i, f := range schema {
		if row[i] == nil && f.Metadata[catalog.Generation] == "" {
			row[i], _ = a.defaultOf(g, f)
		}
	}
	if c.All {
		for _, f := range schema {
			if src.Index(f.Name) >= 0 {
				sets = append(sets, sql.Assignment{Column: &sql.Name{Parts: []string{f.Name}}})
			}
		}
	}
	a.regenerate(g, row, sets)
	k.Rows = a.constrained(g, newProject(n.Pair, row, schema.Names()))
	return k
}

// evolved is the target with the columns of the source that it lacks, if a clause takes all columns.
func (a *analyzer) evolved(m *sql.Merge, g *target, source types.Schema) *target {
	ev, ok := g.table.(catalog.Evolver)
	star := false
	for i := range m.Clauses {
		star = star || m.Clauses[i].All
	}
	if !ok || !star {
		return g
	}
	var extra types.Schema
	for _, f := range source {
		if g.table.Schema().Index(f.Name) < 0 {
			extra = append(extra, types.Field{Name: f.Name, Type: f.Type, Nullable: true})
		}
	}
	if len(extra) == 0 {
		return g
	}
	t := ev.Evolved(extra)
	parts := m.Target.Parts
	if m.Target.Ident != nil {
		parts = (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).identifier(m.Target.Ident)
	}
	r, _ := a.find(m.Target, parts)
	r.Table = t
	out := a.targetOf(r, parts)
	out.sc = a.aliased(m.Target, out.sc, m.Target.Alias)
	return out
}

// reindexed numbers visible columns anew, as trimmed orders them.
func reindexed(cols []column) []column {
	var out []column
	for _, c := range cols {
		if !c.hidden {
			c.index = len(out)
			out = append(out, c)
		}
	}
	return out
}

// Pairs joins target rows, which are numbered, with source rows, which have a number _source behind their
// columns, on the condition of the MERGE: the target's columns, the source's, then _file, _row and _source.
func (n *Merge) Pairs(target, source Node) Node {
	t := len(target.Schema())
	on := mapColumns(n.On, func(i int) int {
		if i >= n.width {
			return i - n.width + t
		}
		return i
	})
	j := newJoin(Inner, target, source, on)
	var at []int
	for i := range n.width {
		at = append(at, i)
	}
	for i := range n.Source.Schema() {
		at = append(at, t+i)
	}
	return Columns(j, append(at, t-2, t-1, len(j.Out)-1)...)
}

// Unmatched gives rows of the source, or of the target, the shape of pairs: nulls on the other side. What
// stands behind the columns in n stays behind them.
func (n *Merge) Unmatched(rows Node, ofSource bool) Node {
	s := rows.Schema()
	pair := n.Pair.Out
	var es []expr.Expr
	names := pair.Names()
	here := 0
	for i, f := range pair {
		if (i >= n.width) == ofSource {
			es = append(es, columnAt(rows, here))
			here++
		} else {
			es = append(es, expr.NullLit(f.Type))
		}
	}
	for ; here < len(s); here++ {
		es, names = append(es, columnAt(rows, here)), append(names, s[here].Name)
	}
	return newProject(rows, es, names)
}

// Choose appends the column _clause: the position in Clauses of the clause of a kind that a pair is treated
// by, -1 if none is.
func (n *Merge) Choose(pairs Node, kind string, c expr.Conf) (Node, error) {
	var branches []expr.Branch
	var els expr.Expr = expr.IntLit(-1)
	for i, k := range n.Clauses {
		if k.Kind != kind {
			continue
		}
		if k.Cond == nil {
			els = expr.IntLit(int32(i))
			break
		}
		branches = append(branches, expr.Branch{Cond: k.Cond, Value: expr.IntLit(int32(i))})
	}
	choice := els
	if len(branches) > 0 {
		var err error
		if choice, err = expr.NewCase(branches, els, c); err != nil {
			return nil, err
		}
	}
	return newProject(pairs, append(allColumns(pairs), choice), append(pairs.Schema().Names(), "_clause")), nil
}
