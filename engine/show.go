package engine

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

func (r *statement) show(c *sql.Show) (*DataFrame, error) {
	s := r.s
	switch c.What {
	case "TABLES", "VIEWS", "TABLE EXTENDED":
		return r.showTables(c)
	case "SCHEMAS":
		if c.Name != nil && !(len(c.Name) == 1 && strings.EqualFold(c.Name[0], "spark_catalog")) {
			name, err := schemaName(c.Name)
			if err != nil {
				return nil, err
			}
			return nil, noSchema(name)
		}
		var rows [][]any
		for _, d := range s.catalog.Databases() {
			if !c.HasLike || likeAny(c.Like, d.Name) {
				rows = append(rows, []any{d.Name})
			}
		}
		return s.answer(types.Schema{text("namespace")}, rows)
	case "CATALOGS":
		var rows [][]any
		if !c.HasLike || likeAny(c.Like, "spark_catalog") {
			rows = append(rows, []any{"spark_catalog"})
		}
		return s.answer(types.Schema{text("catalog")}, rows)
	case "CURRENT SCHEMA":
		return s.answer(types.Schema{text("catalog"), text("namespace")}, [][]any{{"spark_catalog", s.catalog.Current()}})
	case "COLUMNS":
		return r.showColumns(c)
	case "PARTITIONS":
		return r.showPartitions(c)
	case "TBLPROPERTIES":
		return r.showProperties(c)
	case "FUNCTIONS", "USER FUNCTIONS", "SYSTEM FUNCTIONS":
		return r.showFunctions(c)
	case "CREATE TABLE":
		return r.showCreate(c)
	}
	return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "SHOW "+c.What)
}

func (r *statement) showTables(c *sql.Show) (*DataFrame, error) {
	s := r.s
	db := s.catalog.Current()
	if c.Name != nil {
		if len(c.Name) == 1 && strings.EqualFold(c.Name[0], "global_temp") {
			db = "global_temp"
		} else {
			d, err := r.database(c.Name)
			if err != nil {
				return nil, err
			}
			db = d.Name
		}
	}
	views := c.What == "VIEWS"
	second := "tableName"
	if views {
		second = "viewName"
	}
	schema := types.Schema{text("namespace"), text(second), {Name: "isTemporary", Type: types.Of(types.Boolean)}}
	if c.What == "TABLE EXTENDED" {
		schema = append(schema, text("information"))
	}
	var rows [][]any
	for _, rel := range append(s.catalog.List(db), s.catalog.List("")...) {
		if views && rel.View == nil && rel.Stream == nil || c.HasLike && !likeAny(c.Like, rel.Name) {
			continue
		}
		row := []any{rel.Database, rel.Name, rel.Temporary}
		if c.What == "TABLE EXTENDED" {
			row = append(row, r.information(rel))
		}
		rows = append(rows, row)
	}
	return s.answer(schema, rows)
}

// information is what SHOW TABLE EXTENDED tells of a relation.
func (r *statement) information(rel catalog.Relation) string {
	var b strings.Builder
	for _, row := range r.details(rel) {
		if row[0] != "" && !strings.HasPrefix(row[0], "#") {
			b.WriteString(row[0] + ": " + row[1] + "\n")
		}
	}
	b.WriteString("Schema: " + treeString(r.s.viewSchema(rel)) + "\n")
	return b.String()
}

func (r *statement) showColumns(c *sql.Show) (*DataFrame, error) {
	rel, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, f := range r.s.viewSchema(rel) {
		rows = append(rows, []any{f.Name})
	}
	return r.s.answer(types.Schema{text("col_name")}, rows)
}

func (r *statement) showProperties(c *sql.Show) (*DataFrame, error) {
	rel, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	var props map[string]string
	if rel.Table != nil {
		props = catalog.DefinitionOf(rel.Table).Properties
	} else if rel.View != nil {
		props = rel.View.Properties
	}
	schema := types.Schema{text("key"), text("value")}
	if c.Key != "" {
		v, ok := props[c.Key]
		if !ok {
			if rel.Temporary {
				return r.s.answer(schema, nil)
			}
			v = "Table " + strings.Join(fullParts(rel, c.Name), ".") + " does not have property: " + c.Key
		}
		return r.s.answer(schema, [][]any{{c.Key, v}})
	}
	var rows [][]any
	for _, k := range sortedKeys(props) {
		rows = append(rows, []any{k, props[k]})
	}
	return r.s.answer(schema, rows)
}

func (r *statement) showFunctions(c *sql.Show) (*DataFrame, error) {
	db := r.s.catalog.Current()
	if c.Name != nil && c.HasSchema {
		d, err := r.database(c.Name)
		if err != nil {
			return nil, err
		}
		db = d.Name
	}
	names := map[string]bool{}
	if c.What != "SYSTEM FUNCTIONS" {
		for _, f := range r.s.catalog.Functions(db) {
			n := f.Name
			if !f.Temporary {
				n = "spark_catalog." + f.Database + "." + f.Name
			}
			if !c.HasLike || likeAny(c.Like, f.Name) {
				names[n] = true
			}
		}
	}
	if c.What != "USER FUNCTIONS" {
		for _, n := range expr.Names() {
			if !c.HasLike || likeAny(c.Like, n) {
				names[n] = true
			}
		}
	}
	var rows [][]any
	for _, n := range sortedKeys(names) {
		rows = append(rows, []any{n})
	}
	return r.s.answer(types.Schema{text("function")}, rows)
}

func (r *statement) showCreate(c *sql.Show) (*DataFrame, error) {
	rel, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	if rel.Temporary {
		return nil, r.fail(c.NameSpan, "EXPECT_PERMANENT_VIEW_NOT_TEMP", "viewName", quoteParts(c.Name), "operation", "SHOW CREATE TABLE")
	}
	schema := types.Schema{text("createtab_stmt")}
	if rel.View != nil {
		return r.s.answer(schema, [][]any{{createViewText(rel)}})
	}
	d := catalog.DefinitionOf(rel.Table)
	if d.Provider == "delta" {
		return nil, errs.New("DELTA_OPERATION_NOT_ALLOWED", "operation", "SHOW CREATE TABLE")
	}
	return r.s.answer(schema, [][]any{{createTableText(d)}})
}

func createViewText(rel catalog.Relation) string {
	v := rel.View
	var b strings.Builder
	b.WriteString("CREATE VIEW " + rel.Database + "." + rel.Name + " (\n")
	for i, f := range v.Columns {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("  " + types.QuoteIfNeeded(f.Name))
		if t := f.Metadata[catalog.Comment]; t != "" {
			b.WriteString(" COMMENT " + sqlQuote(t))
		}
	}
	b.WriteString(")\n")
	if v.Comment != "" {
		b.WriteString("COMMENT " + sqlQuote(v.Comment) + "\n")
	}
	writeProperties(&b, "TBLPROPERTIES", v.Properties)
	b.WriteString("WITH SCHEMA COMPENSATION\nAS " + v.SQL + "\n")
	return b.String()
}

func createTableText(d catalog.Definition) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE spark_catalog." + d.Database + "." + d.Name + " (\n")
	for i, f := range d.Columns {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("  " + types.QuoteIfNeeded(f.Name) + " " + f.Type.SQL())
		if f.Type.Kind == types.String && f.Type.Length == 0 && f.Type.Collation == "" {
			b.WriteString(" COLLATE UTF8_BINARY")
		}
		if t := f.Metadata[catalog.Default]; t != "" {
			b.WriteString(" DEFAULT " + t)
		}
		if t := f.Metadata[catalog.Comment]; t != "" {
			b.WriteString(" COMMENT " + sqlQuote(t))
		}
	}
	b.WriteString(")\nUSING " + d.Provider + "\n")
	writeProperties(&b, "OPTIONS", d.Options)
	if len(d.PartitionBy) > 0 {
		names := make([]string, len(d.PartitionBy))
		for i, p := range d.PartitionBy {
			names[i] = types.QuoteIfNeeded(p)
		}
		b.WriteString("PARTITIONED BY (" + strings.Join(names, ", ") + ")\n")
	}
	if d.Comment != "" {
		b.WriteString("COMMENT " + sqlQuote(d.Comment) + "\n")
	}
	if d.External {
		b.WriteString("LOCATION 'file:" + d.Location + "'\n")
	}
	writeProperties(&b, "TBLPROPERTIES", d.Properties)
	return b.String()
}

func writeProperties(b *strings.Builder, word string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	b.WriteString(word + " (\n")
	for i, k := range sortedKeys(m) {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("  " + sqlQuote(k) + " = " + sqlQuote(m[k]))
	}
	b.WriteString(")\n")
}

func sqlQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(s) + "'"
}
