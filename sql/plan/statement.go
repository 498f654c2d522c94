package plan

import (
	"fmt"
	"strings"

	"streamlab/sql"
	"streamlab/sql/types"
)

// statement analyses a query or a command.
func (a *analyzer) statement(s sql.Statement) Node {
	s = a.withNames(s)
	switch n := s.(type) {
	case *sql.Query:
		return a.query(n, nil)
	case *sql.CreateView:
		return a.createView(n)
	case *sql.CreateTable:
		return a.createTable(n)
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
		if n.What == "QUERY" {
			return &DescribeQuery{Target: a.query(n.Query, nil).Schema()}
		}
		return &Raw{Stmt: n, Text: a.text}
	case *sql.Show, *sql.Drop:
		return &Raw{Stmt: n, Text: a.text}
	case *sql.Explain:
		return &Explained{Mode: n.Mode, Query: a.statement(n.Stmt), command: command{types.Schema{{Name: "plan", Type: types.Of(types.String)}}}}
	case *sql.Command:
		return a.command(n)
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

func quoteList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = types.Quote(n)
	}
	return strings.Join(out, ", ")
}

func (a *analyzer) noStream(at sql.Node, n Node) {
	if n.Streaming() {
		a.fail(at, "_LEGACY_ERROR_TEMP_3102", "msg", "A query that reads a stream is started with writeStream; it has no finite answer.")
	}
}

// withNames gives a statement whose name is IDENTIFIER(expr) the name that the expression says.
func (a *analyzer) withNames(s sql.Statement) sql.Statement {
	parts := func(e sql.Expr) []string { return (&resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}).identifier(e) }
	switch n := s.(type) {
	case *sql.CreateView:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	case *sql.CreateTable:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	case *sql.Drop:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	case *sql.Describe:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	case *sql.Show:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	case *sql.Command:
		if n.Ident != nil {
			c := *n
			c.Name, c.Ident = parts(n.Ident), nil
			return &c
		}
	}
	return s
}
