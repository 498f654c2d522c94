package plan

import (
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// What follows are doors for statements that are carried out without a node of their own: they resolve an
// expression over a table, or make a small plan.

func opened(c *catalog.Catalog, conf Conf) *analyzer {
	return &analyzer{cat: c, conf: conf, text: conf.Text, spans: map[expr.Expr]sql.Span{}}
}

// Unresolved is the error for a name that is no column of a schema.
func Unresolved(parts []string, s types.Schema) error {
	cols := make([]column, len(s))
	for i, f := range s {
		cols[i] = column{name: f.Name, index: i, field: f}
	}
	return unresolvedColumn(parts, cols)
}

// CastColumns casts the columns of a node to types by position.
func CastColumns(n Node, ts []types.DataType, conf Conf) (out Node, err error) {
	a := opened(nil, conf)
	defer a.recover(&err)
	es := allColumns(n)
	for i := range es {
		es[i] = a.assignable(sql.Span{}, es[i], ts[i], nil)
	}
	return newProject(n, es, n.Schema().Names()), nil
}

// Condition resolves a condition over the columns of a table.
func Condition(t catalog.Table, e sql.Expr, c *catalog.Catalog, conf Conf) (cond expr.Expr, err error) {
	a := opened(c, conf)
	defer a.recover(&err)
	return a.condition(&resolver{a: a, sc: a.targetOf(catalog.Relation{Table: t}, nil).sc}, e, ""), nil
}

// ColumnsOf lists the columns that an expression reads, each once.
func ColumnsOf(e expr.Expr) []int {
	var out []int
	seen := map[int]bool{}
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok && !seen[c.Index] {
			seen[c.Index] = true
			out = append(out, c.Index)
		}
		return true
	})
	return out
}

// Violations are the rows of a table that a new CHECK constraint refuses, and the type of its condition.
func Violations(t catalog.Table, name, check string, c *catalog.Catalog, conf Conf) (n Node, kind types.DataType, err error) {
	a := opened(c, conf)
	defer a.recover(&err)
	g := a.targetOf(catalog.Relation{Table: t}, nil)
	e := a.definitionExpr(g, check)
	kind = e.Type()
	if kind.Kind != types.Boolean {
		return nil, kind, nil
	}
	x := &resolver{a: a, sc: g.sc}
	return &Filter{Child: g.sc.node, Cond: x.build(sql.Span{}, "not", x.build(sql.Span{}, "<=>", e, expr.BoolLit(true)))}, kind, nil
}

// ConstantText is a constant SQL expression, cast to a type, as text; "__HIVE_DEFAULT_PARTITION__" for NULL.
func ConstantText(text string, t types.DataType, conf Conf) (s string, err error) {
	a := opened(catalog.New(nil), conf)
	defer a.recover(&err)
	l := a.constantOf(text, t)
	if l.Value.IsNull(0) {
		return "__HIVE_DEFAULT_PARTITION__", nil
	}
	return string(expr.AppendText(nil, l.Value, 0, conf.Expr.Zone, expr.CastStyle)), nil
}

func (a *analyzer) constantOf(text string, t types.DataType) *expr.Literal {
	e, err := a.conf.Parser().ParseExpr(text)
	a.check(nil, err)
	v := strip((&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).expr(e))
	l, err := expr.Const(expr.CastTo(v, t, a.conf.Expr), a.conf.Expr)
	a.check(nil, err)
	if l == nil {
		a.fail(nil, "NON_LITERAL_PIVOT_VALUES", "expression", `"`+v.String()+`"`)
	}
	return l
}

// MovePartition is an Update of the rows of the partitions that from names: Where finds them; New gives them
// the values that to names.
func MovePartition(t catalog.Table, from, to []sql.Property, conf Conf) (u *Update, err error) {
	a := opened(catalog.New(nil), conf)
	defer a.recover(&err)
	schema := t.Schema()
	u = &Update{Table: t, Old: newHole(schema)}
	x := &resolver{a: a, sc: newScope(u.Old, nil, nil)}
	es := allColumns(u.Old)
	for _, p := range from {
		k := schema.Index(p.Key)
		u.Where = and(u.Where, x.build(sql.Span{}, "<=>", columnAt(u.Old, k), a.constantOf(p.Value, schema[k].Type)))
	}
	for _, p := range to {
		k := schema.Index(p.Key)
		es[k] = a.constantOf(p.Value, schema[k].Type)
	}
	u.New = newProject(u.Old, es, schema.Names())
	return u, nil
}

// TravelTo evaluates VERSION AS OF or TIMESTAMP AS OF, of which one is given: a version, or an instant in
// microseconds.
func TravelTo(version, timestamp sql.Expr, conf Conf) (v, micros int64, err error) {
	a := opened(catalog.New(nil), conf)
	defer a.recover(&err)
	if version != nil {
		return a.travelConstant(version, types.BigInt), 0, nil
	}
	return 0, a.travelConstant(timestamp, types.Timestamp), nil
}
