package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

func (a *analyzer) insert(i *sql.Insert) Node {
	if i.Directory != nil {
		return a.insertDirectory(i)
	}
	g := a.target(&sql.TableName{Span: i.Span, NameSpan: i.TableSpan, Parts: i.Table, Ident: i.Ident}, "INSERT")
	table := g.sc.node.Schema()
	fixed := a.staticPartition(i, g)
	order := a.insertOrder(i, g, fixed)
	a.defaults = true
	q := a.query(a.withDefaults(i, g, order), nil)
	a.defaults = false
	a.noStream(i, q)
	if i.Overwrite && !g.delta && reads(q, g.table) {
		a.fail(nil, "UNSUPPORTED_OVERWRITE.TABLE", "table", g.name)
	}
	es := a.insertValues(i, g, q, order, fixed)
	n := &Insert{IfNotExists: i.IfNotExists, Name: g.name, Table: g.table, Overwrite: i.Overwrite, Query: newProject(q, es, table.Names())}
	n.Query = a.constrained(g, n.Query)
	_, n.Inline = i.Query.Body.(*sql.Values)
	a.replaced(i, g, n, fixed)
	return n
}

// staticPartition are the constants of PARTITION (c = v), by position of the column.
func (a *analyzer) staticPartition(i *sql.Insert, g *target) map[int]expr.Expr {
	fixed := map[int]expr.Expr{}
	table := g.sc.node.Schema()
	for _, p := range i.Partition {
		k := table.Index(p.Key)
		switch {
		case k >= 0 && a.partitions(g, table[k].Name):
		case g.delta || k < 0 && len(g.def.PartitionBy) == 0:
			a.fail(i, "NON_PARTITION_COLUMN", "columnName", types.Quote(p.Key))
		default:
			a.fail(nil, "PARTITIONS_NOT_FOUND", "partitionList", types.Quote(p.Key), "tableName", g.name)
		}
		if p.Value == "" {
			continue
		}
		e, err := sql.ParseExpr(p.Value)
		a.check(i, err)
		v := strip((&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).expr(e))
		fixed[k] = a.assignable(i, v, table[k].Type, nil)
	}
	if !g.delta { // static columns stand before dynamic ones
		dynamic := false
		named := map[string]bool{}
		for _, q := range i.Partition {
			k := strings.ToLower(q.Key)
			if named[k] {
				a.fail(i, "DUPLICATE_KEY", "keyColumn", types.Quote(k))
			}
			named[k] = true
		}
		for _, p := range g.def.PartitionBy {
			k := table.Index(p)
			if fixed[k] == nil {
				dynamic = true
			} else if dynamic {
				var keys []string
				for _, q := range i.Partition {
					keys = append(keys, q.Key)
				}
				a.fail(i, "_LEGACY_ERROR_TEMP_1169", "tableName", g.name, "normalizedPartSpec", strings.Join(keys, ","), "partColNames", strings.Join(g.def.PartitionBy, ","))
			}
		}
	}
	return fixed
}

func (a *analyzer) partitions(g *target, column string) bool {
	for _, p := range g.def.PartitionBy {
		if strings.EqualFold(p, column) {
			return true
		}
	}
	return false
}

// insertOrder says which table column each column of the query fills; nil if the query's names say so.
func (a *analyzer) insertOrder(i *sql.Insert, g *target, fixed map[int]expr.Expr) []int {
	if i.ByName {
		return nil
	}
	table := g.sc.node.Schema()
	var order []int
	if len(i.Columns) > 0 {
		seen := map[int]bool{}
		for _, n := range i.Columns {
			k := table.Index(n)
			if k < 0 {
				a.failWith(i, proposalError(n, table))
			}
			if seen[k] {
				a.fail(i, "COLUMN_ALREADY_EXISTS", "columnName", types.Quote(strings.ToLower(table[k].Name)))
			}
			if fixed[k] != nil {
				a.fail(nil, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS", "tableName", g.name, "extraColumns", types.Quote(table[k].Name))
			}
			seen[k] = true
			order = append(order, k)
		}
		return order
	}
	dynamic := map[int]bool{}
	for _, p := range i.Partition {
		if k := table.Index(p.Key); fixed[k] == nil {
			dynamic[k] = true
		}
	}
	for k := range table {
		if fixed[k] == nil && !dynamic[k] {
			order = append(order, k)
		}
	}
	for _, p := range i.Partition {
		if k := table.Index(p.Key); dynamic[k] {
			order = append(order, k)
		}
	}
	return order
}

// withDefaults gives the query with the word DEFAULT replaced where it is a whole value.
func (a *analyzer) withDefaults(i *sql.Insert, g *target, order []int) *sql.Query {
	table := g.sc.node.Schema()
	value := func(e sql.Expr, c int) sql.Expr {
		n, ok := e.(*sql.Name)
		if !ok || len(n.Parts) != 1 || !strings.EqualFold(n.Parts[0], "DEFAULT") || c >= len(order) {
			return e
		}
		f := table[order[c]]
		text := f.Metadata[catalog.Default]
		if text == "" {
			return &sql.Literal{Span: n.Span, Kind: "null", Text: "NULL"}
		}
		d, err := sql.ParseExpr(text)
		a.check(n, err)
		return d
	}
	q := *i.Query
	switch b := q.Body.(type) {
	case *sql.Values:
		v := &sql.Values{Span: b.Span}
		for _, row := range b.Rows {
			out := append([]sql.Expr{}, row...)
			if len(row) == 1 {
				if r, ok := row[0].(*sql.RowExpr); ok {
					c := *r
					c.Items = append([]sql.Expr{}, r.Items...)
					for k := range c.Items {
						c.Items[k] = value(c.Items[k], k)
					}
					v.Rows = append(v.Rows, []sql.Expr{&c})
					continue
				}
			}
			for k := range out {
				out[k] = value(out[k], k)
			}
			v.Rows = append(v.Rows, out)
		}
		q.Body = v
	case *sql.Select:
		s := *b
		s.Items = append([]sql.SelectItem{}, b.Items...)
		for k := range s.Items {
			s.Items[k].Expr = value(s.Items[k].Expr, k)
		}
		q.Body = &s
	}
	return &q
}

// insertValues are the table's columns over the query's.
func (a *analyzer) insertValues(i *sql.Insert, g *target, q Node, order []int, fixed map[int]expr.Expr) []expr.Expr {
	table, from := g.sc.node.Schema(), q.Schema()
	at := make([]int, len(table)) // which query column fills a table column; -1: none
	for k := range at {
		at[k] = -1
	}
	if i.ByName {
		for c, f := range from {
			k := table.Index(f.Name)
			if k < 0 && g.delta {
				a.fail(i, "DELTA_METADATA_MISMATCH")
			}
			if k < 0 || fixed[k] != nil {
				a.fail(i, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS", "tableName", g.name, "extraColumns", types.Quote(f.Name))
			}
			if at[k] >= 0 {
				a.fail(i, "INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME", "tableName", g.name, "colName", types.Quote(strings.ToLower(f.Name)))
			}
			at[k] = c
		}
	} else {
		a.insertArity(i, g, from, order, fixed)
		for c, k := range order {
			at[k] = c
		}
	}
	es := make([]expr.Expr, len(table))
	for k, f := range g.table.Schema() {
		switch {
		case fixed[k] != nil:
			es[k] = fixed[k]
		case at[k] >= 0:
			es[k] = a.stored(i, g, f, columnAt(q, at[k]))
		case f.Metadata[catalog.Generation] != "":
		default:
			d, ok := a.defaultOf(g, f)
			if !ok && g.delta {
				a.fail(i, "DELTA_INSERT_COLUMN_MISMATCH", "columnName", f.Name)
			}
			es[k] = d
		}
	}
	for k, f := range table { // generated columns see the others
		if es[k] == nil {
			e := expr.CastTo(a.definitionExpr(g, f.Metadata[catalog.Generation]), f.Type, a.conf.Expr)
			es[k] = transform(e, func(x expr.Expr) expr.Expr {
				if c, ok := x.(*expr.Column); ok {
					return es[c.Index]
				}
				return x
			})
		}
	}
	return es
}

func (a *analyzer) insertArity(i *sql.Insert, g *target, from types.Schema, order []int, fixed map[int]expr.Expr) {
	if len(from) == len(order) {
		return
	}
	table := g.sc.node.Schema()
	if g.delta && len(i.Columns) == 0 {
		if len(from) < len(order) {
			a.fail(i, "DELTA_INSERT_COLUMN_ARITY_MISMATCH", "columnName", "not enough data columns", "insertColumns", len(from)+len(fixed),
				"numColumns", len(table), "tableName", strings.ReplaceAll(g.name, "`", ""))
		}
		a.fail(i, "DELTA_METADATA_MISMATCH")
	}
	kind := "NOT_ENOUGH_DATA_COLUMNS"
	if len(from) > len(order) {
		kind = "TOO_MANY_DATA_COLUMNS"
	}
	cols := table.Names()
	if len(i.Columns) > 0 {
		cols = i.Columns
	}
	data := from.Names()
	if len(fixed) > 0 && len(i.Columns) == 0 {
		a.fail(i, "INSERT_PARTITION_COLUMN_ARITY_MISMATCH", "tableName", g.name, "tableColumns", quoteList(cols), "dataColumns", quoteList(data),
			"staticPartCols", quoteList(fixedNames(table, fixed)))
	}
	a.fail(i, "INSERT_COLUMN_ARITY_MISMATCH."+kind, "tableName", g.name, "tableColumns", quoteList(cols), "dataColumns", quoteList(data))
}

func fixedNames(table types.Schema, fixed map[int]expr.Expr) []string {
	var out []string
	for k, f := range table {
		if fixed[k] != nil {
			out = append(out, f.Name)
		}
	}
	return out
}

// replaced says which rows an INSERT takes away.
func (a *analyzer) replaced(i *sql.Insert, g *target, n *Insert, fixed map[int]expr.Expr) {
	x := &resolver{a: a, sc: g.sc}
	if i.Replace != nil {
		n.Overwrite, n.Where = true, true
		n.Replace = a.condition(x, i.Replace, "")
		n.ReplaceText = n.Replace.String()
		return
	}
	if !i.Overwrite {
		return
	}
	table := g.sc.node.Schema()
	for k, f := range table {
		if v := fixed[k]; v != nil {
			n.Replace = and(n.Replace, x.build(i, "<=>", &expr.Column{Index: k, Field: f}, v))
		}
	}
	dynamic := a.conf.Get != nil && strings.EqualFold(a.conf.Get("spark.sql.sources.partitionOverwriteMode"), "dynamic")
	if dynamic && len(g.def.PartitionBy) > len(fixed) {
		for _, p := range g.def.PartitionBy {
			n.Dynamic = append(n.Dynamic, table.Index(p))
		}
	}
	if n.Replace != nil {
		n.ReplaceText = n.Replace.String()
	}
}

func (a *analyzer) insertDirectory(i *sql.Insert) Node {
	d := i.Directory
	q := a.query(i.Query, nil)
	a.noStream(i, q)
	n := &InsertDirectory{Path: d.Path, Using: d.Using, Options: options(d.Options), Query: q}
	if n.Path == "" {
		for k, v := range n.Options {
			if strings.EqualFold(k, "path") {
				n.Path = v
			}
		}
	}
	if n.Path == "" {
		a.fail(i, "_LEGACY_ERROR_TEMP_0061")
	}
	return n
}

// reads reports whether a plan reads a table.
func reads(n Node, t catalog.Table) bool {
	if s, ok := n.(*Scan); ok && s.Table == t {
		return true
	}
	for _, c := range n.Children() {
		if reads(c, t) {
			return true
		}
	}
	return false
}
