package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// target is the table that a statement writes to.
type target struct {
	table catalog.Table
	def   catalog.Definition
	sc    *scope // the table's columns
	name  string // as errors show it: `spark_catalog`.`default`.`t`
	delta bool   // it follows Delta's rules for values that do not fit, columns that are left out, checks
}

// target finds the table that a statement changes. A view is no table.
// operation is the statement's, as a refusal names it.
func (a *analyzer) target(t *sql.TableName, operation string) *target {
	parts := t.Parts
	if t.Ident != nil {
		parts = (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).identifier(t.Ident)
	}
	at := sql.Node(t)
	if t.NameSpan.End > 0 {
		at = t.NameSpan
	}
	r, ok := a.find(at, parts)
	if !ok {
		a.notFound(at, parts)
	}
	if r.Table == nil && r.Temporary {
		r.Table = a.viewed(at, r)
	}
	if r.Table == nil {
		if operation != "INSERT" {
			a.fail(nil, "UNSUPPORTED_FEATURE.TABLE_OPERATION", "operation", operation, "tableName", "`unknown`")
		}
		a.fail(at, "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "viewName", quoteParts(a.fullName(r, parts)), "operation", operation)
	}
	g := a.targetOf(r, parts)
	g.sc = a.aliased(t, g.sc, t.Alias)
	return g
}

// viewed is the table that a temporary view shows as it is: rows may be written through such a view.
func (a *analyzer) viewed(at sql.Node, r catalog.Relation) catalog.Table {
	n, _ := r.View.Plan.(Node)
	for {
		p, ok := n.(*Project)
		if !ok {
			break
		}
		in := p.Child.Schema()
		if len(p.Exprs) != len(in) {
			return nil
		}
		for i, e := range p.Exprs {
			if c, ok := strip(e).(*expr.Column); !ok || c.Index != i {
				return nil
			}
		}
		n = p.Child
	}
	s, ok := n.(*Scan)
	if !ok || s.Table == nil {
		return nil
	}
	if f, fresh := s.Table.(catalog.Fresh); fresh {
		t, err := f.Resolve()
		a.check(at, err)
		return t
	}
	if _, ok := s.Table.(catalog.Inserter); !ok {
		return nil
	}
	return s.Table
}

func (a *analyzer) targetOf(r catalog.Relation, parts []string) *target {
	n := &Scan{Name: r.Name, Table: r.Table, Out: plainSchema(r.Table.Schema())}
	full := a.fullName(r, parts)
	g := &target{table: r.Table, def: catalog.DefinitionOf(r.Table), name: quoteParts(full), sc: newScope(n, columnsOf(n, full), nil)}
	g.delta = g.def.Provider == "delta"
	return g
}

// fullName is the name of a relation with catalog and database.
func (a *analyzer) fullName(r catalog.Relation, parts []string) []string {
	if r.Temporary || r.Database == "" {
		return parts
	}
	return []string{"spark_catalog", r.Database, r.Name}
}

// find is the catalog's Find, and files by format and path: delta.`/path`.
func (a *analyzer) find(at sql.Node, parts []string) (catalog.Relation, bool) {
	if r, ok := a.cat.Find(parts); ok {
		if r.Temporary && !a.same(r.Name, parts[len(parts)-1]) {
			return catalog.Relation{}, false
		}
		if f, fresh := r.Table.(catalog.Fresh); fresh {
			t, err := f.Resolve()
			a.check(at, err)
			r.Table = t
		}
		return r, true
	}
	if len(parts) != 2 {
		return catalog.Relation{}, false
	}
	t, ok, err := a.cat.File(parts[0], parts[1])
	if ok {
		a.check(at, err)
	}
	return catalog.Relation{Name: parts[1], Table: t}, ok
}

// condition resolves a condition over the rows of a table; nil stays nil. operation is the statement that has it, ""
// for none that Spark names.
func (a *analyzer) condition(x *resolver, e sql.Expr, operation string) expr.Expr {
	if e == nil {
		return nil
	}
	c := x.expr(e)
	a.boolean(e, c)
	if hasSubquery(c) && operation != "" {
		a.fail(e, "DELTA_UNSUPPORTED_SUBQUERY", "operation", operation, "cond", c.String())
	}
	if hasSubquery(c) {
		a.fail(e, "UNSUPPORTED_FEATURE", "feature", "a subquery in this condition")
	}
	return strip(c)
}

// ---- values into columns

// storePolicy is spark.sql.storeAssignmentPolicy.
func (a *analyzer) storePolicy() string {
	if a.conf.Get != nil {
		if p := strings.ToUpper(a.conf.Get("spark.sql.storeAssignmentPolicy")); p == "LEGACY" || p == "STRICT" {
			return p
		}
	}
	return "ANSI"
}

// stored casts a value to the type of the column that takes it. Delta tables take whatever casts.
func (a *analyzer) stored(at sql.Node, g *target, f types.Field, v expr.Expr) expr.Expr {
	v = strip(v)
	from := v.Type()
	if from.Equal(f.Type) {
		return v
	}
	if f.Type.Kind == types.String && f.Type.Length > 0 {
		text := f
		text.Type = types.Of(types.String)
		return expr.FixedText(a.stored(at, g, text, v), f.Type)
	}
	policy := a.storePolicy()
	if policy == "LEGACY" {
		c := a.conf.Expr
		c.ANSI = false
		e, err := expr.NewCast(v, f.Type, expr.Explicit, c)
		a.check(at, err)
		return e
	}
	if g.delta {
		_, err := expr.NewCast(v, f.Type, expr.Explicit, a.conf.Expr)
		a.check(at, err)
	} else if bad := unstorable(from, f.Type, policy == "STRICT", []string{f.Name}); bad != nil {
		a.failWith(at, bad(g.name))
	}
	var pos errs.Pos
	if a.text != "" {
		pos, _ = a.placed(at.Pos())
	}
	return expr.StoredCast(v, f.Type, types.Quote(f.Name), pos, a.conf.Expr)
}

// unstorable gives the reason why a type cannot be stored as another, nil if it can.
func unstorable(from, to types.DataType, strict bool, path []string) func(table string) error {
	fail := func(condition string, params ...any) func(string) error {
		return func(table string) error {
			return errs.New("INCOMPATIBLE_DATA_FOR_TABLE."+condition, append([]any{"tableName", table, "colName", quoteParts(path)}, params...)...)
		}
	}
	below := func(f, t types.DataType, name string) func(string) error {
		return unstorable(f, t, strict, append(append([]string{}, path...), name))
	}
	switch {
	case from.Kind == types.Array && to.Kind == types.Array:
		return below(*from.Elem, *to.Elem, "element")
	case from.Kind == types.Map && to.Kind == types.Map:
		if bad := below(*from.Key, *to.Key, "key"); bad != nil {
			return bad
		}
		return below(*from.Elem, *to.Elem, "value")
	case from.Kind == types.Struct && to.Kind == types.Struct:
		for i, f := range to.Fields {
			if i >= len(from.Fields) {
				return fail("STRUCT_MISSING_FIELDS", "missingFields", quoteList(namesOf(to.Fields[len(from.Fields):])))
			}
			if bad := below(from.Fields[i].Type, f.Type, f.Name); bad != nil {
				return bad
			}
		}
		if len(from.Fields) > len(to.Fields) {
			return fail("EXTRA_STRUCT_FIELDS", "extraFields", quoteList(namesOf(from.Fields[len(to.Fields):])))
		}
		return nil
	}
	if storable(from, to, strict) {
		return nil
	}
	return fail("CANNOT_SAFELY_CAST", "srcType", `"`+strings.ToUpper(from.Simple())+`"`, "targetType", `"`+strings.ToUpper(to.Simple())+`"`)
}

func namesOf(fs []types.Field) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.Name
	}
	return out
}

// storable is the rule for types that are not nested; strict is the policy STRICT.
func storable(from, to types.DataType, strict bool) bool {
	if from.Kind == types.Null || from.Equal(to) {
		return true
	}
	if to.Kind == types.String {
		return from.IsAtomic() && (!strict || from.Kind != types.Binary)
	}
	if !strict {
		return from.IsNumeric() && to.IsNumeric() || from.IsDatetime() && to.IsDatetime() ||
			from.Kind == to.Kind && (from.IsInterval() || from.Kind == types.Time || from.Kind == types.Binary)
	}
	if from.IsNumeric() && to.IsNumeric() {
		return widens(from, to)
	}
	return from.Kind == types.Date && (to.Kind == types.Timestamp || to.Kind == types.TimestampNTZ) || from.Kind == to.Kind && from.IsInterval()
}

// widens reports whether every value of a numeric type is one of another.
func widens(from, to types.DataType) bool {
	rank := func(t types.DataType) int {
		switch t.Kind {
		case types.TinyInt:
			return 1
		case types.SmallInt:
			return 2
		case types.Int:
			return 3
		case types.BigInt:
			return 4
		case types.Decimal:
			return 5
		case types.Float:
			return 6
		}
		return 7
	}
	digits := map[types.Kind]int32{types.TinyInt: 3, types.SmallInt: 5, types.Int: 10, types.BigInt: 20}
	if to.Kind == types.Decimal {
		if from.Kind == types.Decimal {
			return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
		}
		n, ok := digits[from.Kind]
		return ok && to.Precision-to.Scale >= n
	}
	return from.Kind != types.Decimal && rank(from) < rank(to)
}

// ---- what the table's definition adds to rows

// text resolves an expression that the table's definition holds as text.
func (a *analyzer) definitionExpr(g *target, text string) expr.Expr {
	e, err := sql.ParseExpr(text)
	a.check(nil, err)
	b := &analyzer{cat: a.cat, conf: a.conf, text: text, spans: map[expr.Expr]sql.Span{}}
	n := g.sc.node
	return strip((&resolver{a: b, sc: newScope(n, columnsOf(n, []string{g.def.Name}), nil)}).expr(e))
}

// defaultOf is what a column has where a row says nothing; ok is false if the column must be given.
func (a *analyzer) defaultOf(g *target, f types.Field) (e expr.Expr, ok bool) {
	if text := f.Metadata[catalog.Default]; text != "" {
		d := a.definitionExpr(g, text)
		if d.Type().Equal(f.Type) {
			return d, true
		}
		return expr.CastTo(d, f.Type, a.conf.Expr), true
	}
	return expr.NullLit(f.Type), f.Nullable
}

// constrained checks rows, which have the table's columns in order, as the definition says: NOT NULL, values
// of generated columns, CHECK.
func (a *analyzer) constrained(g *target, n Node) Node {
	schema := g.table.Schema()
	es := allColumns(n)
	changed := false
	for i, f := range schema {
		if f.Nullable || !es[i].Nullable() {
			continue
		}
		name := f.Name
		changed = true
		es[i] = expr.NotNull(es[i], func() error {
			if g.delta {
				return errs.New("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "columnName", name)
			}
			return errs.New("NOT_NULL_ASSERT_VIOLATION", "walkedTypePath", "\n- field (class: \""+name+"\")\n")
		})
	}
	if changed {
		n = newProject(n, es, schema.Names())
	}
	check := func(name, shown string, c expr.Expr) {
		var cols []expr.Expr
		seen := map[int]bool{}
		expr.Walk(c, func(x expr.Expr) bool {
			if k, ok := x.(*expr.Column); ok && !seen[k.Index] {
				seen[k.Index] = true
				cols = append(cols, k)
			}
			return true
		})
		n = &Filter{Child: n, Cond: expr.CheckRow(c, cols, func(values string) error {
			return errs.New("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "constraintName", name, "expression", shown, "values", values)
		})}
	}
	for _, k := range g.def.Checks {
		c := a.definitionExpr(g, k.Text)
		check(k.Name, c.String(), c)
	}
	x := &resolver{a: a, sc: g.sc}
	for i, f := range schema {
		if text := f.Metadata[catalog.Generation]; text != "" {
			c := x.build(sql.Span{}, "<=>", columnAt(n, i), expr.CastTo(a.definitionExpr(g, text), f.Type, a.conf.Expr))
			check("Generated Column", c.String(), c)
		}
	}
	return n
}

// Constrained puts the checks of a table's definition (NOT NULL, CHECK, generated columns) above rows that
// have its columns in order: for sinks that write tables without a statement.
func Constrained(n Node, t catalog.Table, c *catalog.Catalog, conf Conf) (out Node, err error) {
	a := &analyzer{cat: c, conf: conf, spans: map[expr.Expr]sql.Span{}}
	defer a.recover(&err)
	return a.constrained(a.targetOf(catalog.Relation{Table: t}, nil), n), nil
}

// expanded analyses the text of a view, and gives its columns the names and types that they had when it was
// made.
func (a *analyzer) expanded(at sql.Node, r catalog.Relation) Node {
	name := []string{r.Name}
	if r.Database != "" {
		name = []string{"spark_catalog", r.Database, r.Name}
	}
	key := quoteParts(name)
	for i, v := range a.views {
		if v == key {
			a.fail(nil, "RECURSIVE_VIEW", "viewIdent", key, "newPath", strings.Join(append(append([]string{}, a.views[i:]...), key), " -> "))
		}
	}
	v := r.View
	q, ok := v.Query.(*sql.Query)
	if !ok {
		var err error
		q, err = a.conf.Parser().ParseQuery(v.SQL)
		a.check(nil, err)
	}
	b := &analyzer{cat: a.cat, conf: a.conf, text: v.SQL, views: append(append([]string{}, a.views...), key), spans: map[expr.Expr]sql.Span{}}
	b.conf.Params, b.conf.Positional = nil, nil
	if p, ok := v.Params.(viewParams); ok {
		b.conf.Params, b.conf.Positional = p.named, p.positional
	}
	n := b.query(q, nil)
	if v.Columns == nil {
		return n
	}
	have := n.Schema()
	es := make([]expr.Expr, len(v.Columns))
	for i, f := range v.Columns {
		k := i
		if len(have) != len(v.Columns) || !strings.EqualFold(have[i].Name, v.Source[i]) {
			if k = have.Index(v.Source[i]); k < 0 {
				a.fail(at, "INCOMPATIBLE_VIEW_SCHEMA_CHANGE", "viewName", key, "colName", types.Quote(v.Source[i]), "expectedNum", 1, "actualCols", "[]", "suggestion", "")
			}
		}
		e := expr.Expr(columnAt(n, k))
		if !e.Type().Equal(f.Type) {
			e = expr.CastTo(e, f.Type, a.conf.Expr)
		}
		es[i] = e
	}
	p := newProject(n, es, v.Columns.Names())
	for i, f := range v.Columns {
		p.Out[i].Metadata = f.Metadata
	}
	same := len(have) == len(es)
	for i := range es {
		c, ok := es[i].(*expr.Column)
		same = same && ok && c.Index == i && have[i].Name == v.Columns[i].Name && v.Columns[i].Metadata == nil
	}
	if same {
		return n
	}
	return p
}

// projected computes expressions, perhaps with subqueries, over a node.
func (a *analyzer) projected(n Node, es []expr.Expr, names []string) Node {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		n, out[i] = a.lowered(n, e)
	}
	return newProject(n, out, names)
}

func errorOf(condition string, params ...any) error { return errs.New(condition, params...) }
