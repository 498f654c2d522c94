package engine

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

var describeSchema = types.Schema{text("col_name"), text("data_type"), nullable("comment")}

func columnRows(s types.Schema) [][]any {
	var rows [][]any
	for _, f := range s {
		rows = append(rows, []any{f.Name, f.Type.Simple(), comment(f)})
	}
	return rows
}

func (r *statement) describe(c *sql.Describe) (*DataFrame, error) {
	switch c.What {
	case "SCHEMA":
		return r.describeSchema(c)
	case "FUNCTION":
		return r.describeFunction(c)
	case "HISTORY", "DETAIL":
		return r.maintained(c.Name, c.Path, c.Span, catalog.Maintenance{Operation: c.What})
	}
	rel, err := r.relation(c.Name, c.NameSpan, plan.SearchPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	schema := r.s.viewSchema(rel)
	var d catalog.Definition
	if rel.Table != nil {
		d = catalog.DefinitionOf(rel.Table)
	}
	if c.Partition != nil {
		if _, err := r.spec(rel, c.Name, c.Partition); err != nil {
			return nil, err
		}
	}
	if c.Column != nil {
		return r.describeColumn(c, rel, d, schema)
	}
	rows := columnRows(schema)
	if len(d.PartitionBy) > 0 {
		rows = append(rows, []any{"# Partition Information", "", ""}, []any{"# col_name", "data_type", "comment"})
		for _, p := range d.PartitionBy {
			rows = append(rows, columnRows(types.Schema{schema[schema.Index(p)]})...)
		}
	}
	var defaults [][]any
	for _, f := range schema {
		if t := f.Metadata[catalog.Default]; t != "" {
			defaults = append(defaults, []any{f.Name, f.Type.Simple(), t})
		}
	}
	if len(defaults) > 0 {
		rows = append(append(rows, []any{"", "", ""}, []any{"# Column Default Values", "", ""}), defaults...)
	}
	if c.Extended {
		for _, x := range r.details(rel) {
			rows = append(rows, []any{x[0], x[1], ""})
		}
	}
	return r.s.answer(describeSchema, rows)
}

// details are the lines of DESCRIBE EXTENDED below the columns.
func (r *statement) details(rel catalog.Relation) [][2]string {
	out := [][2]string{{"", ""}, {"# Detailed Table Information", ""}}
	add := func(k, v string) {
		if v != "" {
			out = append(out, [2]string{k, v})
		}
	}
	if !rel.Temporary {
		add("Catalog", "spark_catalog")
		add("Database", rel.Database)
	}
	add("Table", rel.Name)
	props := map[string]string(nil)
	switch {
	case rel.Table != nil:
		d := catalog.DefinitionOf(rel.Table)
		kind := "MANAGED"
		if d.External {
			kind = "EXTERNAL"
		}
		add("Type", kind)
		add("Provider", d.Provider)
		add("Comment", d.Comment)
		if d.Location != "" {
			add("Location", "file:"+d.Location)
		}
		props = d.Properties
	case rel.View != nil:
		add("Type", "VIEW")
		add("Comment", rel.View.Comment)
		add("View Text", rel.View.SQL)
		props = rel.View.Properties
	default:
		add("Type", "STREAM")
		add("Provider", rel.Stream.Format)
	}
	var list []string
	for _, k := range sortedKeys(props) {
		list = append(list, k+"="+props[k])
	}
	if len(list) > 0 {
		add("Table Properties", "["+strings.Join(list, ", ")+"]")
	}
	return out
}

func (r *statement) describeColumn(c *sql.Describe, rel catalog.Relation, d catalog.Definition, schema types.Schema) (*DataFrame, error) {
	k := schema.Index(c.Column[0])
	if k < 0 {
		if d.Provider == "delta" {
			return nil, r.placed(c.Span, plan.Unresolved(c.Column, schema))
		}
		return nil, errs.New("COLUMN_NOT_FOUND", "colName", quoteParts(c.Column), "caseSensitiveConfig", `"spark.sql.caseSensitive"`)
	}
	if len(c.Column) > 1 {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1060", "command", "DESC TABLE COLUMN", "column", strings.Join(c.Column, "."))
	}
	f := schema[k]
	shown, ok := comment(f).(string)
	if !ok {
		shown = "NULL"
	}
	rows := [][]any{{"col_name", f.Name}, {"data_type", f.Type.Simple()}, {"comment", shown}}
	if c.Extended {
		for _, k := range []string{"min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram"} {
			rows = append(rows, []any{k, "NULL"})
		}
	}
	return r.s.answer(types.Schema{text("info_name"), text("info_value")}, rows)
}

// placed puts an error at a part of the text.
func (r *statement) placed(at sql.Span, err error) error {
	e := errs.As(err)
	if e == nil || r.text == "" {
		return err
	}
	pos, line := sql.Place(r.text, at)
	return e.At(pos).WithExcerpt(line)
}
