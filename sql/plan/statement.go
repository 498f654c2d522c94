package plan

import (
	"fmt"
	"strings"

	"streamlab/sql"
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
		return a.update(n)
	case *sql.Delete:
		return a.delete(n)
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
