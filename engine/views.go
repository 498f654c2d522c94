package engine

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

func (s *Session) createView(c *plan.CreateView) (*DataFrame, error) {
	name := c.Parts[len(c.Parts)-1]
	r := catalog.Relation{View: c.View}
	switch {
	case c.Global:
		if _, ok := s.catalog.Find([]string{"global_temp", name}); ok && !c.Replace {
			if c.IfNotExists {
				return s.answer(nil, nil)
			}
			return nil, errs.New("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", types.Quote(name))
		}
		s.catalog.Put("global_temp", name, r)
	case c.Temporary:
		if _, ok := s.catalog.Temporary(name); ok && !c.Replace {
			return nil, errs.New("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", types.Quote(name))
		}
		s.catalog.RegisterView(name, c.View)
	default:
		db, name, err := s.place(c.Parts)
		if err != nil {
			return nil, err
		}
		full := []string{"spark_catalog", db, name}
		if err := checkName([]string{name}); err != nil {
			return nil, err
		}
		if old, ok := s.catalog.Find(full); ok {
			switch {
			case c.IfNotExists:
				return s.answer(nil, nil)
			case !c.Replace:
				return nil, errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteParts(full))
			case old.View == nil:
				return nil, errs.New("EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE", "tableName", quoteParts(full), "operation", "CREATE OR REPLACE VIEW")
			}
		}
		s.catalog.Put(db, name, r)
	}
	return s.answer(nil, nil)
}

// viewUsing is CREATE TEMPORARY VIEW … USING: a table of files under a temporary name.
func (s *Session) viewUsing(ctx context.Context, v *sql.CreateView) (*DataFrame, error) {
	name := v.Name[len(v.Name)-1]
	if _, ok := s.catalog.Temporary(name); ok && !v.Replace {
		return nil, errs.New("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", types.Quote(name))
	}
	reader := s.Read().Format(v.Using).Options(propertyMap(v.Options))
	if v.Schema != "" {
		reader = reader.Schema(v.Schema)
	}
	path, given := "", false
	for _, p := range v.Options {
		if strings.EqualFold(p.Key, "path") {
			path, given = p.Value, true
		}
	}
	if !given && heapFormats[v.Using] && v.Schema == "" {
		return nil, errs.New("UNABLE_TO_INFER_SCHEMA", "format", formatName(v.Using))
	}
	df := reader.Load(ctx, path)
	if df.err != nil {
		return nil, df.err
	}
	if v.Global {
		s.catalog.Put("global_temp", name, catalog.Relation{View: &catalog.View{Plan: df.node}})
	} else {
		s.catalog.RegisterView(name, &catalog.View{Plan: df.node})
	}
	return s.answer(nil, nil)
}

// viewSchema is the columns of a view.
func (s *Session) viewSchema(rel catalog.Relation) types.Schema {
	switch {
	case rel.Stream != nil:
		return rel.Stream.Schema()
	case rel.Table != nil:
		return rel.Table.Schema()
	case rel.View.Columns != nil:
		return rel.View.Columns
	}
	if n, ok := rel.View.Plan.(plan.Node); ok {
		return n.Schema()
	}
	df, err := s.Table(rel.Name)
	if err != nil {
		return nil
	}
	return df.Schema()
}
