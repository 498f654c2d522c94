package engine

import (
	"context"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// command carries out an analysed statement. A query is not run: it becomes a DataFrame.
func (s *Session) command(ctx context.Context, n plan.Node) (*DataFrame, error) {
	switch c := n.(type) {
	case *plan.CreateView:
		if old, ok := s.catalog.Lookup(c.Name); ok && !c.Replace {
			if c.IfNotExists {
				return s.answer(nil, nil)
			}
			if old.View != nil {
				return nil, errs.New("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteName(c.Name))
			}
		}
		s.catalog.Register(c.Name, catalog.Relation{View: &catalog.View{Plan: c.Query, SQL: c.Text}})
		return s.answer(nil, nil)
	case *plan.CreateTable:
		return s.createTable(ctx, c)
	case *plan.Drop:
		if !s.catalog.Drop(c.Name) && !c.IfExists {
			return nil, errs.New("TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteName(c.Name))
		}
		return s.answer(nil, nil)
	case *plan.Insert:
		return s.insert(ctx, c)
	case *plan.InsertDirectory:
		w := (&DataFrame{s: s, node: c.Query}).Write().Format(c.Using).Mode("overwrite").Options(c.Options)
		if err := w.Save(ctx, c.Path); err != nil {
			return nil, err
		}
		return s.answer(nil, nil)
	case *plan.Update:
		return s.update(ctx, c)
	case *plan.Delete:
		return s.delete(ctx, c)
	case *plan.Merge:
		return s.merge(ctx, c)
	case *plan.Set:
		return s.set(c)
	case *plan.Reset:
		if c.Key != "" {
			s.conf.Unset(c.Key)
		} else {
			for k := range s.conf.All() {
				s.conf.Unset(k)
			}
		}
		return s.answer(nil, nil)
	case *plan.Show:
		return s.show(c)
	case *plan.Describe:
		var rows [][]any
		for _, f := range c.Target {
			rows = append(rows, []any{f.Name, f.Type.Simple(), comment(f)})
		}
		return s.answer(types.Schema{text("col_name"), text("data_type"), nullable("comment")}, rows)
	case *plan.Explained:
		return s.answer(types.Schema{text("plan")}, [][]any{{plan.Explain(plan.Optimize(c.Query))}})
	case *plan.Raw:
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The statement "+c.Kind)
	}
	return &DataFrame{s: s, node: n}, nil
}

func comment(f types.Field) any {
	if c, ok := f.Metadata["comment"]; ok {
		return c
	}
	return nil
}

func text(name string) types.Field { return types.Field{Name: name, Type: types.Of(types.String)} }

func nullable(name string) types.Field {
	return types.Field{Name: name, Type: types.Of(types.String), Nullable: true}
}

// answer is a DataFrame of constant rows.
func (s *Session) answer(schema types.Schema, rows [][]any) (*DataFrame, error) {
	v := &plan.Values{Out: schema}
	if len(rows) > 0 {
		rb, err := s.InlineRows(schema, rows)
		if err != nil {
			return nil, err
		}
		v.Rows = []arrow.RecordBatch{rb}
	}
	return &DataFrame{s: s, node: v}, nil
}

func (s *Session) set(c *plan.Set) (*DataFrame, error) {
	schema := types.Schema{text("key"), text("value")}
	switch {
	case c.HasValue:
		if err := s.conf.Set(c.Key, c.Value); err != nil {
			return nil, err
		}
		return s.answer(schema, [][]any{{c.Key, c.Value}})
	case c.Key != "":
		v := s.conf.Get(c.Key)
		if v == "" {
			v = "<undefined>"
		}
		return s.answer(schema, [][]any{{c.Key, v}})
	}
	all := s.conf.All()
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var rows [][]any
	for _, k := range keys {
		rows = append(rows, []any{k, all[k]})
	}
	return s.answer(schema, rows)
}

func (s *Session) show(c *plan.Show) (*DataFrame, error) {
	switch c.What {
	case "TABLES", "VIEWS":
		var rows [][]any
		for _, n := range s.catalog.Names() {
			r, _ := s.catalog.Lookup(n)
			if c.What == "VIEWS" && r.View == nil || !matches(c.Like, n) {
				continue
			}
			space := "default"
			if r.View != nil || r.Stream != nil {
				space = ""
			}
			rows = append(rows, []any{space, n, r.View != nil || r.Stream != nil})
		}
		first := "namespace"
		second := "tableName"
		if c.What == "VIEWS" {
			second = "viewName"
		}
		return s.answer(types.Schema{text(first), text(second), {Name: "isTemporary", Type: types.Of(types.Boolean)}}, rows)
	}
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "SHOW "+c.What)
}

// matches is Spark's pattern of SHOW: * is any text, | separates alternatives; case does not matter.
func matches(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	for _, alt := range strings.Split(pattern, "|") {
		parts := strings.Split(strings.ToLower(strings.TrimSpace(alt)), "*")
		n := strings.ToLower(name)
		ok := strings.HasPrefix(n, parts[0])
		if ok && len(parts) == 1 {
			ok = n == parts[0]
		}
		rest := n
		if ok {
			rest = n[len(parts[0]):]
		}
		for i := 1; ok && i < len(parts); i++ {
			if i == len(parts)-1 {
				ok = strings.HasSuffix(rest, parts[i])
				break
			}
			k := strings.Index(rest, parts[i])
			ok = k >= 0
			if ok {
				rest = rest[k+len(parts[i]):]
			}
		}
		if ok {
			return true
		}
	}
	return false
}

func (s *Session) createTable(ctx context.Context, c *plan.CreateTable) (*DataFrame, error) {
	if _, ok := s.catalog.Lookup(c.Name); ok && !c.Stmt.Replace {
		if c.Stmt.IfNotExists {
			return s.answer(nil, nil)
		}
		return nil, errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteName(c.Name))
	}
	if later[c.Stmt.Using] && c.Stmt.Using != "parquet" {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "CREATE TABLE … USING "+c.Stmt.Using)
	}
	if c.Stmt.Location != "" {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "CREATE TABLE … LOCATION")
	}
	h := newHeap(catalog.Definition{Columns: c.Columns}, nil)
	if c.Query != nil {
		rows, schema, err := s.collect(ctx, plan.Optimize(c.Query))
		if err != nil {
			return nil, err
		}
		if h.def.Columns == nil {
			h.def.Columns = schema
		}
		h.rows = rows
	}
	s.catalog.Register(c.Name, catalog.Relation{Table: h})
	return s.answer(nil, nil)
}
