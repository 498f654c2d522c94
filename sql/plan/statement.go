package plan

import (
	"fmt"
	"strings"

	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// statement analyses a query or a command.
func (a *analyzer) statement(s sql.Statement) Node {
	switch n := s.(type) {
	case *sql.Query:
		return a.query(n, nil)
	case *sql.CreateView:
		return a.createView(n)
	case *sql.CreateTable:
		return a.createTable(n)
	case *sql.Drop:
		return &Drop{What: n.What, Name: strings.Join(n.Name, "."), IfExists: n.IfExists}
	case *sql.Insert:
		return a.insert(n)
	case *sql.Update:
		name, t, sc := a.target(n.Table)
		u := &Update{Name: name, Table: t, command: command{affected("num_affected_rows")}}
		x := &resolver{a: a, sc: sc}
		for _, as := range n.Set {
			u.Set = append(u.Set, a.assignment(x, sc, as, len(sc.cols)))
		}
		u.Where = a.condition(x, n.Where)
		return u
	case *sql.Delete:
		name, t, sc := a.target(n.Table)
		x := &resolver{a: a, sc: sc}
		return &Delete{Name: name, Table: t, Where: a.condition(x, n.Where), command: command{affected("num_affected_rows")}}
	case *sql.Merge:
		return a.merge(n)
	case *sql.Set:
		return &Set{Key: n.Key, Value: n.Value, HasValue: n.HasValue, command: command{strings2("key", "value")}}
	case *sql.Reset:
		return &Reset{Key: n.Key}
	case *sql.Describe:
		return a.describe(n)
	case *sql.Show:
		return &Show{What: n.What, Name: strings.Join(n.Name, "."), Like: n.Like, command: command{showSchema(n.What)}}
	case *sql.Explain:
		return &Explained{Mode: n.Mode, Query: a.statement(n.Stmt), command: command{types.Schema{{Name: "plan", Type: types.Of(types.String)}}}}
	case *sql.Command:
		return &Raw{Kind: n.Kind, Text: n.Text, Stmt: n}
	}
	a.fail(s, "UNSUPPORTED_FEATURE", "feature", fmt.Sprintf("the statement %T", s))
	return nil
}

func strings2(names ...string) types.Schema {
	var out types.Schema
	for _, n := range names {
		out = append(out, types.Field{Name: n, Type: types.Of(types.String)})
	}
	return out
}

func affected(names ...string) types.Schema {
	var out types.Schema
	for _, n := range names {
		out = append(out, types.Field{Name: n, Type: types.Of(types.BigInt), Nullable: true})
	}
	return out
}

func showSchema(what string) types.Schema {
	isTemp := types.Field{Name: "isTemporary", Type: types.Of(types.Boolean)}
	switch strings.ToUpper(what) {
	case "TABLES":
		return append(strings2("namespace", "tableName"), isTemp)
	case "VIEWS":
		return append(strings2("namespace", "viewName"), isTemp)
	case "COLUMNS":
		return strings2("col_name")
	case "FUNCTIONS":
		return strings2("function")
	case "DATABASES", "SCHEMAS":
		return strings2("namespace")
	case "PARTITIONS":
		return strings2("partition")
	case "TBLPROPERTIES":
		return strings2("key", "value")
	case "CREATE TABLE":
		return strings2("createtab_stmt")
	}
	return nil
}

func (a *analyzer) createView(v *sql.CreateView) Node {
	n := a.query(v.Query, nil)
	s := n.Schema()
	name := strings.Join(v.Name, ".")
	shown := quoteParts(v.Name)
	if v.Temporary && len(v.Name) > 1 {
		a.fail(v, "INVALID_TEMP_OBJ_QUALIFIER", "objectName", types.Quote(v.Name[len(v.Name)-1]), "objectType", "VIEW",
			"qualifier", quoteParts(v.Name[:len(v.Name)-1]))
	}
	if len(v.Columns) > 0 && len(v.Columns) != len(s) {
		kind := "NOT_ENOUGH_DATA_COLUMNS"
		if len(v.Columns) < len(s) {
			kind = "TOO_MANY_DATA_COLUMNS"
		}
		a.fail(v, "CREATE_VIEW_COLUMN_ARITY_MISMATCH."+kind, "viewName", shown,
			"viewColumns", quoteList(v.Columns), "dataColumns", quoteList(s.Names()))
	}
	if len(v.Columns) > 0 {
		n = newProject(n, allColumns(n), v.Columns)
	}
	if !v.Replace && !v.IfNotExists {
		if _, ok := a.cat.Lookup(name); ok {
			cond := "TABLE_OR_VIEW_ALREADY_EXISTS"
			if v.Temporary {
				cond = "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
			}
			a.fail(v, cond, "relationName", shown)
		}
	}
	return &CreateView{Name: name, Replace: v.Replace, Temporary: v.Temporary, Global: v.Global, IfNotExists: v.IfNotExists, Query: n, Text: v.QueryText}
}

func quoteList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = types.Quote(n)
	}
	return strings.Join(out, ", ")
}

func (a *analyzer) createTable(t *sql.CreateTable) Node {
	n := &CreateTable{Stmt: t, Name: strings.Join(t.Name, ".")}
	if t.Columns != "" {
		s, err := types.ParseDDL(t.Columns)
		a.check(t.ColumnsSpan, err)
		n.Columns = s
	}
	if t.Query != nil {
		n.Query = a.query(t.Query, nil)
		a.noStream(t, n.Query)
		if t.Columns == "" {
			n.Columns = n.Query.Schema()
		}
	}
	seen := map[string]bool{}
	for _, f := range n.Columns {
		k := strings.ToLower(f.Name)
		if seen[k] {
			a.fail(t, "COLUMN_ALREADY_EXISTS", "columnName", types.Quote(k))
		}
		seen[k] = true
	}
	return n
}

func (a *analyzer) noStream(at sql.Node, n Node) {
	if n.Streaming() {
		a.fail(at, "_LEGACY_ERROR_TEMP_3102", "msg", "A query that reads a stream is started with writeStream; it has no finite answer.")
	}
}

// target finds the table that a statement changes.
func (a *analyzer) target(t *sql.TableName) (string, catalog.Table, *scope) {
	r, ok := a.cat.Find(t.Parts)
	at := sql.Node(t)
	if t.NameSpan.End > 0 {
		at = t.NameSpan
	}
	if !ok {
		a.notFound(at, t.Parts)
	}
	if r.Table == nil {
		a.fail(at, "UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", quoteParts(t.Parts), "operation", "UPDATE, DELETE, MERGE and INSERT")
	}
	n := &Scan{Name: r.Name, Table: r.Table, Out: plainSchema(r.Table.Schema())}
	qual := t.Parts
	if len(qual) == 1 {
		qual = []string{"spark_catalog", "default", t.Parts[0]}
	}
	sc := a.aliased(t, newScope(n, columnsOf(n, qual), nil), t.Alias)
	return r.Name, r.Table, sc
}

func (a *analyzer) condition(x *resolver, e sql.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	c := x.expr(e)
	a.boolean(e, c)
	if hasSubquery(c) {
		a.fail(e, "UNSUPPORTED_FEATURE", "feature", "a subquery in this condition")
	}
	return strip(c)
}

func (a *analyzer) assignment(x *resolver, target *scope, as sql.Assignment, width int) Assignment {
	y := &resolver{a: a, sc: target}
	c, rest := y.match(as.Column, target)
	if c == nil {
		a.failWith(as.Column, unresolvedColumn(as.Column.Parts, target.cols))
	}
	if len(rest) > 0 {
		a.fail(as.Column, "UNSUPPORTED_FEATURE", "feature", "assignment to a field of a struct")
	}
	v := x.expr(as.Value)
	return Assignment{Column: c.index, Value: a.stored(as.Value, target.node.Schema()[c.index], v, "")}
}

// stored casts a value to the type of the column that takes it, under the ANSI rules for stores.
func (a *analyzer) stored(at sql.Node, f types.Field, v expr.Expr, table string) expr.Expr {
	v = strip(v)
	from := v.Type()
	if from.Equal(f.Type) {
		return v
	}
	if !storable(from, f.Type) {
		a.fail(at, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "tableName", table, "colName", types.Quote(f.Name),
			"srcType", `"`+from.SQL()+`"`, "targetType", `"`+f.Type.SQL()+`"`)
	}
	return expr.CastTo(v, f.Type, a.conf.Expr)
}

func storable(from, to types.DataType) bool {
	switch {
	case from.Kind == types.Null || from.Equal(to):
		return true
	case to.Kind == types.String:
		return from.IsAtomic()
	case from.IsNumeric() && to.IsNumeric():
		return true
	case from.IsDatetime() && to.IsDatetime():
		return true
	case from.Kind == to.Kind && (from.IsInterval() || from.Kind == types.Time || from.Kind == types.Binary):
		return true
	case from.Kind == types.Array && to.Kind == types.Array:
		return storable(*from.Elem, *to.Elem)
	case from.Kind == types.Map && to.Kind == types.Map:
		return storable(*from.Key, *to.Key) && storable(*from.Elem, *to.Elem)
	case from.Kind == types.Struct && to.Kind == types.Struct && len(from.Fields) == len(to.Fields):
		for i := range from.Fields {
			if !storable(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	return false
}

func (a *analyzer) insert(i *sql.Insert) Node {
	if i.Ident != nil {
		i.Table = (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).identifier(i.Ident)
	}
	_, t, sc := a.target(&sql.TableName{Span: i.Span, NameSpan: i.TableSpan, Parts: i.Table})
	q := a.query(i.Query, nil)
	a.noStream(i, q)
	table := sc.node.Schema()
	name := "`spark_catalog`.`default`." + types.Quote(i.Table[len(i.Table)-1])
	from := q.Schema()
	at := make([]int, len(table)) // which query column fills a table column; -1: null
	for k := range at {
		at[k] = -1
	}
	arity := func(given int) {
		if len(from) != given {
			kind := "NOT_ENOUGH_DATA_COLUMNS"
			if len(from) > given {
				kind = "TOO_MANY_DATA_COLUMNS"
			}
			cols := table.Names()
			if len(i.Columns) > 0 {
				cols = i.Columns
			}
			a.fail(i, "INSERT_COLUMN_ARITY_MISMATCH."+kind, "tableName", name, "tableColumns", quoteList(cols), "dataColumns", quoteList(from.Names()))
		}
	}
	fixed := map[int]expr.Expr{}
	for _, p := range i.Partition {
		k := table.Index(p.Key)
		if k < 0 {
			a.fail(i, "NON_PARTITION_COLUMN", "columnName", types.Quote(p.Key))
		}
		if p.Value != "" {
			fixed[k] = expr.StringLit(p.Value)
		}
	}
	switch {
	case i.ByName:
		for c, f := range from {
			k := table.Index(f.Name)
			if k < 0 {
				a.fail(i, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS", "tableName", name, "extraColumns", types.Quote(f.Name))
			}
			at[k] = c
		}
	case len(i.Columns) > 0:
		seen := map[int]bool{}
		arity(len(i.Columns))
		for c, n := range i.Columns {
			k := table.Index(n)
			if k < 0 {
				a.failWith(i, proposalError(n, table))
			}
			if seen[k] {
				a.fail(i, "COLUMN_ALREADY_EXISTS", "columnName", types.Quote(strings.ToLower(n)))
			}
			seen[k] = true
			at[k] = c
		}
	default:
		arity(len(table) - len(fixed))
		c := 0
		for k := range table {
			if fixed[k] == nil {
				at[k] = c
				c++
			}
		}
	}
	es := make([]expr.Expr, len(table))
	for k, f := range table {
		switch {
		case fixed[k] != nil:
			es[k] = expr.CastTo(fixed[k], f.Type, a.conf.Expr)
		case at[k] < 0:
			es[k] = expr.NullLit(f.Type)
		default:
			es[k] = a.stored(i, f, columnAt(q, at[k]), name)
		}
	}
	n := &Insert{Name: strings.Join(i.Table, "."), Table: t, Overwrite: i.Overwrite, Query: newProject(q, es, table.Names())}
	n.Replace = a.condition(&resolver{a: a, sc: sc}, i.Replace)
	return n
}

func (a *analyzer) merge(m *sql.Merge) Node {
	name, t, target := a.target(m.Target)
	source := a.relation(m.Source, nil)
	a.noStream(m, source.node)
	src := trimmed(source)
	source = newScope(src, reindexed(source.cols), nil)
	width := len(target.node.Schema())
	both := newScope(&Join{Kind: Inner, Left: target.node, Right: src, Out: joinSchema(Inner, target.node, src)},
		append(append([]column{}, target.cols...), shifted(source.cols, width)...), nil)
	onlySource := newScope(both.node, shifted(source.cols, width), nil)
	n := &Merge{Name: name, Table: t, Source: src, command: command{affected("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")}}
	n.On = a.condition(&resolver{a: a, sc: both}, m.On)
	for i := range m.Clauses {
		c := &m.Clauses[i]
		sc := both
		switch c.Kind {
		case "NOT MATCHED":
			sc = onlySource
		case "NOT MATCHED BY SOURCE":
			sc = target
		}
		x := &resolver{a: a, sc: sc}
		k := MergeClause{Kind: c.Kind, Action: c.Action, Cond: a.condition(x, c.Cond)}
		sets := c.Set
		if c.Action == "INSERT" && !c.All {
			if len(c.Columns) != len(c.Values) {
				a.fail(c, "MERGE_INSERT_VALUE_COUNT_MISMATCH", "columns", len(c.Columns), "values", len(c.Values))
			}
			for j, col := range c.Columns {
				sets = append(sets, sql.Assignment{Column: col, Value: c.Values[j]})
			}
		}
		for _, as := range sets {
			k.Set = append(k.Set, a.assignment(x, target, as, width))
		}
		if c.All {
			for i, f := range target.node.Schema() {
				at := src.Schema().Index(f.Name)
				if at < 0 {
					a.failWith(c, proposalError(f.Name, src.Schema()))
				}
				k.Set = append(k.Set, Assignment{i, a.stored(c, f, columnAt(both.node, width+at), types.Quote(name))})
			}
		}
		if c.Action == "INSERT" {
			given := map[int]bool{}
			for _, s := range k.Set {
				given[s.Column] = true
			}
			for i, f := range target.node.Schema() {
				if !given[i] {
					k.Set = append(k.Set, Assignment{i, expr.NullLit(f.Type)})
				}
			}
		}
		n.Clauses = append(n.Clauses, k)
	}
	return n
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

func (a *analyzer) describe(d *sql.Describe) Node {
	n := &Describe{What: d.What, Extended: d.Extended, Name: strings.Join(d.Name, "."), Path: d.Path,
		command: command{strings2("col_name", "data_type", "comment")}}
	switch d.What {
	case "QUERY":
		n.Target = a.query(d.Query, nil).Schema()
	case "", "TABLE":
		if len(d.Name) > 0 {
			r, ok := a.cat.Lookup(n.Name)
			if !ok {
				a.notFound(d, d.Name)
			}
			n.Relation = r
			n.Target = a.relationNode(d, r, nil).Schema()
		}
	default:
		n.Out = nil
		if len(d.Name) > 0 {
			if r, ok := a.cat.Lookup(n.Name); ok {
				n.Relation = r
			}
		}
	}
	return n
}
