package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources/files"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// heapFormats are formats whose tables the session keeps in memory.
var heapFormats = map[string]bool{"parquet": true, "json": true, "csv": true, "text": true, "orc": true, "avro": true}

func (s *Session) provider(name string) (catalog.Provider, bool) {
	for _, p := range s.formats.Providers {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// place is the database and the name of a table that a statement creates.
func (s *Session) place(parts []string) (db, name string, err error) {
	if len(parts) > 3 || len(parts) == 3 && !strings.EqualFold(parts[0], "spark_catalog") {
		return "", "", errs.New("REQUIRES_SINGLE_PART_NAMESPACE", "sessionCatalog", "spark_catalog", "identifier", quoteParts(parts))
	}
	db, name, _ = s.catalog.Place(parts)
	d, ok := s.catalog.Database(db)
	if !ok {
		return "", "", noSchema(db)
	}
	return d.Name, name, nil
}

func (s *Session) createTable(ctx context.Context, c *plan.CreateTable) (*DataFrame, error) {
	r := &statement{s: s, ctx: ctx, text: c.Text}
	d := c.Def
	if c.Like != nil {
		rel, err := r.relation(c.Like, c.LikeSpan, plan.CommandPath(s.catalog))
		if err != nil {
			return nil, err
		}
		d = like(rel, d)
	}
	if c.Clone != nil {
		d.Provider = "delta"
	}
	if d.Provider == "" {
		if d.Provider = strings.ToLower(s.conf.Get("spark.sql.sources.default")); d.Provider == "" {
			d.Provider = "parquet"
		}
	}
	if len(c.Parts) == 2 && strings.EqualFold(c.Parts[0], "delta") {
		if _, ok := s.catalog.Database(c.Parts[0]); !ok {
			return s.createDelta(ctx, d, c)
		}
	}
	var err error
	if d.Database, d.Name, err = s.place(c.Parts); err != nil {
		return nil, err
	}
	p, made := s.provider(d.Provider)
	full := []string{"spark_catalog", d.Database, d.Name}
	shown := quoteParts(full)
	if made {
		shown = quoteParts(full[1:])
	}
	old, exists := s.catalog.Find(full)
	if !made && c.Replace {
		operation := "REPLACE TABLE"
		if c.Query != nil {
			operation += " AS SELECT"
		}
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", quoteParts(full), "operation", operation)
	}
	if exists && c.IfNotExists {
		return s.answer(nil, nil)
	}
	if exists && !c.Replace {
		return nil, errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", shown)
	}
	if err := checkName([]string{d.Name}); err != nil {
		return nil, err
	}
	if !made && !heapFormats[d.Provider] {
		if later[d.Provider] {
			return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "CREATE TABLE … USING "+d.Provider)
		}
		return nil, errs.New("DATA_SOURCE_NOT_FOUND", "provider", d.Provider)
	}
	if !made && d.External && len(d.Columns) == 0 && c.Query == nil && fileFormats[d.Provider] {
		t, err := s.Read().Format(d.Provider).Options(d.Options).Table(ctx, d.Location)
		if err != nil {
			return nil, err
		}
		d.Columns, d.PartitionBy = t.Schema(), files.PartitionColumns(t)
	}
	if c.Clone == nil {
		if err := s.checkDefinition(&d, c.Query, made); err != nil {
			return nil, err
		}
	}
	db, _ := s.catalog.Database(d.Database)
	if d.External {
		d.Location = s.path(d.Location)
	} else {
		d.Location = filepath.Join(s.folder(db), strings.ToLower(d.Name))
	}
	if made {
		return s.createWith(ctx, p, d, c, old)
	}
	return s.createHeap(ctx, d, c)
}

// like is the definition of a table as another one.
func like(rel catalog.Relation, d catalog.Definition) catalog.Definition {
	var from catalog.Definition
	if rel.Table != nil {
		from = catalog.DefinitionOf(rel.Table)
	} else if rel.View != nil {
		from.Columns = rel.View.Columns
		if n, ok := rel.View.Plan.(plan.Node); ok {
			from.Columns = n.Schema()
		}
	}
	out := d
	out.Columns, out.PartitionBy = from.Columns, from.PartitionBy
	if d.Provider == "" {
		out.Provider = from.Provider
	}
	if d.Options == nil {
		out.Options = from.Options
	}
	return out
}

// checkDefinition checks what is common to all formats.
func (s *Session) checkDefinition(d *catalog.Definition, query plan.Node, made bool) error {
	full := quoteParts([]string{"spark_catalog", d.Database, d.Name})
	if err := plan.CheckDefaults(d.Columns, "CREATE TABLE", s.catalog, planConf(s.conf)); err != nil {
		return err
	}
	parts := map[string]bool{}
	for _, p := range d.PartitionBy {
		k := d.Columns.Index(p)
		if k < 0 {
			if made && query != nil {
				return errs.New("_LEGACY_ERROR_TEMP_3060", "i", p, "schema", treeString(query.Schema()))
			}
			return errs.New("COLUMN_NOT_DEFINED_IN_TABLE", "colType", "partition", "colName", types.Quote(p), "tableName", full,
				"tableCols", quoteColumns(d.Columns.Names()))
		}
		if parts[strings.ToLower(p)] {
			return errs.New("COLUMN_ALREADY_EXISTS", "columnName", types.Quote(strings.ToLower(p)))
		}
		parts[strings.ToLower(p)] = true
	}
	if len(d.Columns) > 0 && len(d.PartitionBy) == len(d.Columns) {
		return errs.New("ALL_PARTITION_COLUMNS_NOT_ALLOWED")
	}
	for _, p := range d.PartitionBy {
		if t := d.Columns[d.Columns.Index(p)].Type; !t.IsAtomic() {
			return errs.New("INVALID_PARTITION_COLUMN_DATA_TYPE", "type", `"`+t.SQL()+`"`)
		}
	}
	if made {
		return nil
	}
	refuse := func(operation string) error {
		return errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", full, "operation", operation)
	}
	for i, f := range d.Columns {
		switch {
		case f.Metadata[catalog.Generation] != "":
			return refuse("generated columns")
		case f.Metadata[catalog.Identity] != "":
			return refuse("identity columns")
		case f.Type.Kind == types.Calendar,
			strings.EqualFold(d.Provider, "csv") && f.Type.Kind >= types.Array && f.Type.Kind <= types.Struct,
			strings.EqualFold(d.Provider, "text") && f.Type.Kind != types.String && !parts[strings.ToLower(f.Name)]:
			return errs.New("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "columnName", types.Quote(f.Name), "columnType", `"`+f.Type.SQL()+`"`, "format", formatName(d.Provider))
		}
		d.Columns[i].Nullable = true // files do not keep NOT NULL
	}
	if len(d.Checks) > 0 {
		return refuse("CONSTRAINT")
	}
	if len(d.Columns) == 0 {
		return errs.New("UNABLE_TO_INFER_SCHEMA", "format", formatName(d.Provider))
	}
	if len(d.PartitionBy) > 0 { // partition columns come last
		var data, last types.Schema
		for _, f := range d.Columns {
			if !parts[strings.ToLower(f.Name)] {
				data = append(data, f)
			}
		}
		for i, p := range d.PartitionBy {
			f := d.Columns[d.Columns.Index(p)]
			d.PartitionBy[i] = f.Name
			last = append(last, f)
		}
		d.Columns = append(data, last...)
	}
	return nil
}

// formatName is a format as Spark's errors call it.
func formatName(provider string) string {
	switch provider {
	case "parquet":
		return "Parquet"
	case "json", "csv", "orc":
		return strings.ToUpper(provider)
	}
	return provider
}

func quoteColumns(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = types.Quote(n)
	}
	return strings.Join(out, ", ")
}

// treeString is a schema as printSchema prints it.
func treeString(s types.Schema) string {
	b := "root\n"
	for _, f := range s {
		null := "false"
		if f.Nullable {
			null = "true"
		}
		b += " |-- " + f.Name + ": " + typeWord(f.Type) + " (nullable = " + null + ")\n"
	}
	return b
}

func typeWord(t types.DataType) string {
	switch t.Kind {
	case types.Int:
		return "integer"
	case types.BigInt:
		return "long"
	case types.SmallInt:
		return "short"
	case types.TinyInt:
		return "byte"
	}
	return t.Simple()
}

func (s *Session) createWith(ctx context.Context, p catalog.Provider, d catalog.Definition, c *plan.CreateTable, old catalog.Relation) (*DataFrame, error) {
	cr := catalog.Creation{Definition: d, Replace: c.Replace, Old: old.Table}
	if c.Query != nil {
		rows, _, err := s.collect(ctx, plan.Optimize(reorder(c.Query, d.Columns)))
		if err != nil {
			return nil, err
		}
		cr.Rows = []columnar.Partition{columnar.Batches{Name: "rows", List: rows}}
	}
	var err error
	if cr.Clone, err = s.cloned(ctx, c); err != nil {
		return nil, err
	}
	t, err := p.Create(ctx, cr)
	if err != nil {
		return nil, err
	}
	if m, ok := t.(catalog.Answer); ok {
		t, schema, rows := m.Made()
		s.catalog.Put(d.Database, d.Name, catalog.Relation{Table: t})
		return s.answer(schema, rows)
	}
	s.catalog.Put(d.Database, d.Name, catalog.Relation{Table: t})
	return s.answer(nil, nil)
}

// reorder gives the rows of a query the order of a table's columns.
func reorder(q plan.Node, columns types.Schema) plan.Node {
	at := make([]int, len(columns))
	same := true
	for i, f := range columns {
		at[i] = q.Schema().Index(f.Name)
		same = same && at[i] == i
	}
	if same {
		return q
	}
	return plan.Columns(q, at...)
}

// keepRows in a context says that the folder of a table that is made keeps what is in it.
type keepRows struct{}

func (s *Session) createHeap(ctx context.Context, d catalog.Definition, c *plan.CreateTable) (*DataFrame, error) {
	h := newHeap(d, nil)
	h.id = s.streamIDs.Add(1)
	if stored(d) {
		h.dir = &folder{s: s}
		// The catalog ends with the session: rows of a managed table that an earlier one left are nobody's. A
		// query that writes a table goes on with them.
		if inside := strings.HasPrefix(d.Location, s.warehouse()+string(filepath.Separator)); inside && !d.External && ctx.Value(keepRows{}) == nil {
			if err := os.RemoveAll(d.Location); err != nil {
				return nil, err
			}
		}
	}
	if c.Query != nil {
		rows, _, err := s.collect(ctx, plan.Optimize(reorder(c.Query, d.Columns)))
		if err != nil {
			return nil, err
		}
		if err := h.Insert(ctx, catalog.Insertion{Rows: []columnar.Partition{columnar.Batches{Name: "rows", List: rows}}}); err != nil {
			return nil, err
		}
	}
	s.catalog.Put(d.Database, d.Name, catalog.Relation{Table: h})
	return s.answer(nil, nil)
}

// dropTable forgets a table or view, and the files of a managed table.
func (s *Session) dropTable(rel catalog.Relation) error {
	s.catalog.Remove([]string{rel.Database, rel.Name})
	d := catalog.DefinitionOf(nilTable(rel.Table))
	if d.External || d.Location == "" || !strings.HasPrefix(d.Location, s.warehouse()+string(filepath.Separator)) {
		return nil
	}
	return os.RemoveAll(d.Location)
}

// nilTable lets DefinitionOf be asked where there is no table.
func nilTable(t catalog.Table) catalog.Table {
	if t == nil {
		return &catalog.Memory{}
	}
	return t
}

func (r *statement) drop(c *sql.Drop) (*DataFrame, error) {
	switch c.What {
	case "SCHEMA":
		return r.dropSchema(c)
	case "FUNCTION":
		return r.dropFunction(c)
	case "VARIABLE":
		return r.dropVariable(c)
	}
	s := r.s
	rel, ok := s.catalog.Find(c.Name)
	if ok && len(c.Name) > 1 && strings.EqualFold(c.Name[0], "session") {
		ok = false // DROP knows temporary views by their plain names only
	}
	if !ok {
		if c.IfExists {
			return r.none()
		}
		db, name, placed := s.catalog.Place(c.Name)
		if !placed {
			return nil, errs.New("REQUIRES_SINGLE_PART_NAMESPACE", "sessionCatalog", "spark_catalog", "identifier", quoteParts(c.Name))
		}
		return nil, errs.New("TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteParts([]string{"spark_catalog", db, name}),
			"searchPath", "[`spark_catalog`."+types.Quote(db)+"]")
	}
	if c.What == "VIEW" && rel.Table != nil {
		found := "MANAGED"
		if catalog.DefinitionOf(rel.Table).External {
			found = "EXTERNAL"
		}
		return nil, errs.New("WRONG_COMMAND_FOR_OBJECT_TYPE", "operation", "DROP VIEW", "requiredType", "VIEW or METRIC_VIEW",
			"objectName", strings.Join(fullParts(rel, c.Name), "."), "foundType", found, "alternative", "DROP TABLE")
	}
	if rel.Temporary {
		s.catalog.Remove(c.Name)
		return r.none()
	}
	return r.done(s.dropTable(rel))
}

func (r *statement) truncate(c *sql.Command, d *sql.Truncate) (*DataFrame, error) {
	rel, err := r.table(c.Name, c.NameSpan, "TRUNCATE TABLE")
	if err != nil {
		return nil, err
	}
	if len(d.Partition) > 0 {
		return r.dropRows(rel, c.Name, d.Partition, "TRUNCATE TABLE")
	}
	ch, err := r.s.begin(r.ctx, quoteParts(fullParts(rel, c.Name)), rel.Table, catalog.Intent{Operation: "TRUNCATE"})
	if err != nil {
		return nil, err
	}
	defer ch.tx.Abort()
	var o catalog.Outcome
	for i := range ch.files {
		o.Deleted = append(o.Deleted, catalog.Deletion{File: i, All: true})
	}
	return r.done(ch.tx.Commit(r.ctx, o))
}

func (r *statement) analyze(c *sql.Command, d *sql.Analyze) (*DataFrame, error) {
	rel, err := r.relation(c.Name, c.NameSpan, plan.CommandPath(r.s.catalog))
	if err != nil {
		return nil, err
	}
	if rel.Table != nil {
		for _, n := range d.Columns {
			if rel.Table.Schema().Index(n) < 0 {
				return nil, errs.New("COLUMN_NOT_FOUND", "colName", types.Quote(n), "caseSensitiveConfig", `"spark.sql.caseSensitive"`)
			}
		}
	}
	return r.none()
}

func (s *Session) cacheTable(ctx context.Context, c *plan.CacheTable) (*DataFrame, error) {
	if _, ok := s.catalog.Temporary(c.Name); ok {
		return nil, errs.New("TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", types.Quote(c.Name))
	}
	rows, schema, err := s.collect(ctx, plan.Optimize(c.Query))
	if err != nil {
		return nil, err
	}
	s.catalog.Register(c.Name, catalog.Relation{View: &catalog.View{Plan: inMemory(schema, rows)}})
	return s.answer(nil, nil)
}
