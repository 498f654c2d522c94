package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// alterWords are the actions of ALTER TABLE as a refusal of a view names them.
var alterWords = map[string]string{"ADD COLUMNS": "ALTER TABLE ... ADD COLUMN", "REPLACE COLUMNS": "ALTER TABLE ... REPLACE COLUMNS",
	"DROP COLUMNS": "ALTER TABLE ... DROP COLUMN", "RENAME COLUMN": "ALTER TABLE ... RENAME COLUMN", "ALTER COLUMN": "ALTER TABLE ... ALTER COLUMN",
	"ADD PARTITION": "ALTER TABLE ... ADD PARTITION ...", "DROP PARTITION": "ALTER TABLE ... DROP PARTITION ...",
	"RENAME PARTITION": "ALTER TABLE ... RENAME TO PARTITION", "SET LOCATION": "ALTER TABLE ... SET LOCATION ...",
	"SET TBLPROPERTIES": "ALTER TABLE ... SET TBLPROPERTIES", "UNSET TBLPROPERTIES": "ALTER TABLE ... UNSET TBLPROPERTIES"}

func (r *statement) alter(c *sql.Command, d *sql.Alter) (*DataFrame, error) {
	rel, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	view := c.Kind == "ALTER VIEW"
	if d.Action == "RENAME TO" {
		return r.rename(c, d, rel, view)
	}
	if view {
		return r.alterView(c, d, rel)
	}
	if rel.Table == nil {
		condition := "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE"
		if d.Action == "SET TBLPROPERTIES" || d.Action == "UNSET TBLPROPERTIES" {
			condition = "EXPECT_TABLE_NOT_VIEW.USE_ALTER_VIEW"
		}
		word := alterWords[d.Action]
		if word == "" {
			word = "ALTER TABLE ... " + d.Action
		}
		return nil, r.fail(c.NameSpan, condition, "viewName", quoteParts(fullParts(rel, c.Name)), "operation", word)
	}
	return r.alterTable(c, d, rel)
}

func (r *statement) rename(c *sql.Command, d *sql.Alter, rel catalog.Relation, view bool) (*DataFrame, error) {
	s := r.s
	if rel.Temporary {
		name := d.To[len(d.To)-1]
		if len(d.To) > 1 {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1074", "oldName", types.Quote(rel.Name), "newName", quoteParts(d.To), "db", d.To[0])
		}
		if _, ok := s.catalog.Temporary(name); ok {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1075", "oldName", types.Quote(rel.Name), "newName", types.Quote(name))
		}
		s.catalog.Remove(c.Name)
		if rel.Stream != nil {
			s.catalog.Register(name, catalog.Relation{Stream: rel.Stream})
		} else if strings.EqualFold(rel.Database, "global_temp") {
			s.catalog.Put("global_temp", name, rel)
		} else {
			s.catalog.RegisterView(name, rel.View)
		}
		return r.none()
	}
	if view && rel.View == nil {
		return nil, errs.New("EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE", "tableName", quoteParts(c.Name), "operation", "ALTER VIEW")
	}
	if !view && rel.View != nil {
		return nil, errs.New("EXPECT_TABLE_NOT_VIEW.USE_ALTER_VIEW", "viewName", quoteParts(c.Name), "operation", "ALTER TABLE")
	}
	db, name := rel.Database, d.To[len(d.To)-1]
	if len(d.To) > 1 {
		to, _, err := s.place(d.To)
		if err != nil {
			return nil, err
		}
		if to != db {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1073", "db", db, "newDb", to)
		}
	}
	if err := checkName([]string{name}); err != nil {
		return nil, err
	}
	if _, ok := s.catalog.Find([]string{"spark_catalog", db, name}); ok {
		return nil, errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteParts([]string{db, name}))
	}
	table, err := r.moved(rel, name)
	if err != nil {
		return nil, err
	}
	s.catalog.Remove([]string{"spark_catalog", db, rel.Name})
	s.catalog.Put(db, name, catalog.Relation{Table: table, View: rel.View})
	return r.none()
}

// moved is the table of a relation under another name: the folder of a managed table moves along, so that
// the old name is free for another.
func (r *statement) moved(rel catalog.Relation, name string) (catalog.Table, error) {
	if rel.Table == nil {
		return nil, nil
	}
	d := catalog.DefinitionOf(rel.Table)
	h, kept := rel.Table.(*heap)
	p, made := r.s.provider(d.Provider)
	d.Name = name
	if !d.External && strings.HasPrefix(d.Location, r.s.warehouse()+string(filepath.Separator)) && (made || kept && h.dir != nil) {
		to := filepath.Join(filepath.Dir(d.Location), strings.ToLower(name))
		if err := os.Rename(d.Location, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		d.Location = to
	}
	switch {
	case kept:
		h.define(d)
	case made:
		d.Database = rel.Database
		return p.Open(r.ctx, d)
	}
	return rel.Table, nil
}

func (r *statement) alterView(c *sql.Command, d *sql.Alter, rel catalog.Relation) (*DataFrame, error) {
	if rel.View == nil {
		return nil, r.fail(c.NameSpan, "EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE", "tableName", quoteParts(fullParts(rel, c.Name)), "operation", "ALTER VIEW ... "+d.Action)
	}
	if rel.Temporary {
		return nil, r.fail(c.NameSpan, "EXPECT_PERMANENT_VIEW_NOT_TEMP", "viewName", quoteParts(c.Name), "operation", "ALTER VIEW ... "+d.Action)
	}
	v := *rel.View
	switch d.Action {
	case "SET TBLPROPERTIES":
		v.Properties = merged(v.Properties, propertyMap(d.Properties), nil)
	case "UNSET TBLPROPERTIES":
		v.Properties = merged(v.Properties, nil, propertyKeys(d.Properties))
	default:
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "ALTER VIEW … "+d.Action)
	}
	r.s.catalog.Put(rel.Database, rel.Name, catalog.Relation{View: &v})
	return r.none()
}

func propertyKeys(ps []sql.Property) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Key)
	}
	return out
}

func (r *statement) alterTable(c *sql.Command, d *sql.Alter, rel catalog.Relation) (*DataFrame, error) {
	full := quoteParts(fullParts(rel, c.Name))
	def := catalog.DefinitionOf(rel.Table)
	switch d.Action {
	case "ADD PARTITION", "DROP PARTITION", "RENAME PARTITION":
		return r.alterPartition(c, d, rel)
	case "SET SERDEPROPERTIES":
		if h, ok := rel.Table.(*heap); ok {
			def.Options = merged(def.Options, propertyMap(d.Properties), nil)
			h.define(def)
			return r.none()
		}
	}
	t, ok := rel.Table.(catalog.Alterer)
	if !ok {
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", full, "operation", "ALTER TABLE "+d.Action)
	}
	a := catalog.Alteration{Action: d.Action, Change: d.Change, Targets: d.Targets, Properties: propertyMap(d.Properties), IfExists: d.IfExists}
	if d.Action == "UNSET TBLPROPERTIES" {
		a.Properties, a.Keys = nil, propertyKeys(d.Properties)
	}
	if len(d.To) > 0 {
		a.To = strings.Join(d.To, ".")
	}
	if d.Location != "" {
		a.To = r.s.path(d.Location)
	}
	for _, col := range d.Columns {
		f := types.Field{Name: col.Name[len(col.Name)-1], Nullable: true}
		if col.Type.Text != "" {
			var err error
			if f, err = plan.Field(col, r.text); err != nil {
				return nil, err
			}
		} else if col.Comment != "" || d.Change == "COMMENT" {
			f.Metadata = map[string]string{catalog.Comment: col.Comment}
		}
		if k := rel.Table.Schema().Index(f.Name); d.Action == "ALTER COLUMN" && len(col.Name) == 1 && k >= 0 {
			f.Nullable = rel.Table.Schema()[k].Nullable
		}
		if col.Default != nil {
			f.Metadata = merged(f.Metadata, map[string]string{catalog.Default: r.text[col.Default.Pos().Start:col.Default.Pos().End]}, nil)
		}
		a.Columns = append(a.Columns, catalog.ColumnChange{Path: col.Name, Field: f, First: col.First, After: col.After})
	}
	if err := r.checkAlteration(c, d, rel, def, a); err != nil {
		return nil, err
	}
	if d.Constraint != nil {
		a.Check = catalog.Check{Name: d.Constraint.Name, Text: d.Constraint.Text}
		if d.Action == "ADD CONSTRAINT" {
			if err := r.verify(rel, full, a.Check); err != nil {
				return nil, err
			}
		}
	}
	if err := t.Alter(r.ctx, a); err != nil {
		return nil, r.alterPlace(c, d, err)
	}
	return r.none()
}

// alterPlace puts an error about columns at the statement, as Spark does.
func (r *statement) alterPlace(c *sql.Command, d *sql.Alter, err error) error {
	switch e := errs.As(err); {
	case e == nil:
		return err
	case e.Condition == "FIELD_ALREADY_EXISTS" || e.Condition == "NOT_SUPPORTED_CHANGE_COLUMN" || e.Condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION":
		return r.placed(c.Span, err)
	}
	return err
}

// checkAlteration finds what is wrong in any format.
func (r *statement) checkAlteration(c *sql.Command, d *sql.Alter, rel catalog.Relation, def catalog.Definition, a catalog.Alteration) error {
	schema := rel.Table.Schema()
	exists := func(path []string) bool {
		fields := []types.Field(schema)
		for i, p := range path {
			k := types.Schema(fields).Index(p)
			if k < 0 {
				return false
			}
			if i < len(path)-1 {
				t := fields[k].Type
				for t.Kind == types.Array || t.Kind == types.Map {
					t = *t.Elem
				}
				fields = t.Fields
			}
		}
		return true
	}
	switch d.Action {
	case "ALTER COLUMN", "RENAME COLUMN", "DROP COLUMNS":
		if _, file := rel.Table.(*heap); file && d.Action != "ALTER COLUMN" {
			return nil // refused whatever the column
		}
		for _, t := range d.Targets {
			if !exists(t) && !d.IfExists {
				return r.placed(c.Span, plan.Unresolved(t, schema))
			}
		}
	case "ADD COLUMNS":
		seen := map[string]bool{}
		for _, col := range a.Columns {
			k := strings.ToLower(strings.Join(col.Path, "."))
			if seen[k] {
				return errs.New("COLUMN_ALREADY_EXISTS", "columnName", quoteParts(lowered(col.Path)))
			}
			seen[k] = true
			if def.Provider == "delta" && exists(col.Path) {
				return r.fail(c.Span, "FIELD_ALREADY_EXISTS", "op", "add", "fieldNames", quoteParts(col.Path), "struct", `"`+structText(schema)+`"`)
			}
		}
	}
	word := map[string]string{"ADD COLUMNS": "ALTER TABLE ADD COLUMNS", "ALTER COLUMN": "ALTER TABLE ALTER COLUMN"}[d.Action]
	for _, col := range a.Columns {
		f := col.Field
		if f.Metadata[catalog.Default] == "" || word == "" {
			continue
		}
		if f.Type.Kind == types.Null {
			if k := schema.Index(f.Name); k >= 0 {
				f.Type = schema[k].Type
			}
		}
		if err := plan.CheckDefaults(types.Schema{f}, word, r.s.catalog, planConf(r.s.conf)); err != nil {
			return err
		}
	}
	return nil
}

// structText is a struct type as Spark's errors print it, with comments.
func structText(s types.Schema) string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = types.QuoteIfNeeded(f.Name) + ": " + f.Type.SQL()
		if !f.Nullable {
			out[i] += " NOT NULL"
		}
		if t := f.Metadata[catalog.Comment]; t != "" {
			out[i] += " COMMENT " + sqlQuote(t)
		}
	}
	return "STRUCT<" + strings.Join(out, ", ") + ">"
}

func lowered(parts []string) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = strings.ToLower(p)
	}
	return out
}

// verify checks the rows of a table against a new constraint.
func (r *statement) verify(rel catalog.Relation, full string, k catalog.Check) error {
	if _, ok := rel.Table.(*heap); ok {
		return nil
	}
	conf := planConf(r.s.conf)
	bad, t, err := plan.Violations(rel.Table, full, k.Text, r.s.catalog, conf)
	if err != nil {
		return err
	}
	if t.Kind != types.Boolean {
		return errs.New("DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", "name", k.Name, "expr", k.Text)
	}
	for _, old := range catalog.DefinitionOf(rel.Table).Checks {
		if strings.EqualFold(old.Name, k.Name) {
			return nil // the table says so
		}
	}
	rows, _, err := r.s.collect(r.ctx, plan.Optimize(bad))
	if err != nil {
		return err
	}
	if n := countRows(rows); n > 0 {
		return errs.New("DELTA_NEW_CHECK_CONSTRAINT_VIOLATION", "numRows", n, "tableName", strings.ReplaceAll(full, "`", ""), "checkConstraint", k.Text)
	}
	return nil
}

func (r *statement) comment(c *sql.Command, d *sql.CommentOn) (*DataFrame, error) {
	if d.What == "SCHEMA" {
		db, err := r.database(c.Name)
		if err != nil {
			return nil, err
		}
		db.Comment = d.Text
		r.s.catalog.PutDatabase(db)
		return r.none()
	}
	rel, err := r.table(c.Name, c.NameSpan, "COMMENT ON TABLE")
	if err != nil {
		return nil, err
	}
	t, ok := rel.Table.(catalog.Alterer)
	if !ok {
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", quoteParts(fullParts(rel, c.Name)), "operation", "COMMENT ON TABLE")
	}
	return r.done(t.Alter(r.ctx, catalog.Alteration{Action: "COMMENT", To: d.Text}))
}
