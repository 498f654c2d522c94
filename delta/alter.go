package delta

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

const mappingAdvice = "\nPlease enable Column Mapping on your Delta table with mapping mode 'name'.\nYou can use one of the following commands.\n\n" +
	"ALTER TABLE table_name SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')\n\n" +
	"Note, if your table is not on the required protocol version it will be upgraded.\nColumn mapping requires at least protocol (2, 5)\n"

// Alter carries out ALTER TABLE in one commit. Errors: those of Delta for what a table cannot become.
func (t *Table) Alter(_ context.Context, a catalog.Alteration) error {
	txn, err := t.log.Begin()
	if err != nil {
		return err
	}
	if txn.snap == nil {
		return t.log.NoTable()
	}
	op := Operation{Name: a.Action, Params: Pairs{}}
	var acts []Action
	switch a.Action {
	case "ADD COLUMNS":
		err = txn.addColumns(a, &op)
	case "REPLACE COLUMNS":
		err = txn.replaceColumns(a, &op)
	case "DROP COLUMNS":
		err = txn.dropColumns(a, &op)
	case "RENAME COLUMN":
		err = txn.renameColumn(a, &op)
	case "ALTER COLUMN":
		op.Name = "CHANGE COLUMN"
		err = txn.alterColumn(a, &op)
	case "SET TBLPROPERTIES":
		err = txn.setProperties(a, &op)
	case "UNSET TBLPROPERTIES":
		err = txn.unsetProperties(a, &op)
	case "ADD CONSTRAINT":
		err = txn.addConstraint(a, &op)
	case "DROP CONSTRAINT":
		err = txn.dropConstraint(a, &op, t.def)
	case "CLUSTER BY":
		acts, err = txn.recluster(a, &op)
	case "COMMENT":
		op.Name = "SET TBLPROPERTIES"
		op.Params.Set("properties", string(marshal(map[string]string{"comment": a.To})))
		err = txn.Change(func(m *Metadata, s types.Schema) types.Schema { m.Description = &a.To; return s })
	default:
		return errs.New("UNSUPPORTED_FEATURE", "feature", "ALTER TABLE … "+a.Action+" of a Delta table")
	}
	if err != nil {
		return err
	}
	_, err = txn.Commit(op, acts)
	return err
}

// fieldJSON prints a column as the history shows it.
func fieldText(name string, f types.Field) string {
	f.Name = name
	text, err := SchemaString(types.Schema{f})
	if err != nil {
		return "{}"
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, `{"type":"struct","fields":[`), "]}")
}

func positionText(c catalog.ColumnChange) string {
	switch {
	case c.First:
		return "FIRST"
	case c.After != "":
		return "AFTER " + c.After
	}
	return ""
}

// edit changes the fields of the struct that holds a path's last part; names have no case.
func edit(s []types.Field, path []string, f func(fs []types.Field) ([]types.Field, error)) ([]types.Field, error) {
	if len(path) <= 1 {
		return f(s)
	}
	for i, x := range s {
		if !strings.EqualFold(x.Name, path[0]) {
			continue
		}
		out := append([]types.Field{}, s...)
		in, err := editType(x.Type, path[1:], f)
		out[i].Type = in
		return out, err
	}
	return nil, columnNotFound(path[0], s)
}

func editType(t types.DataType, path []string, f func(fs []types.Field) ([]types.Field, error)) (types.DataType, error) {
	switch {
	case t.Kind == types.Struct:
		fs, err := edit(t.Fields, path, f)
		return types.StructOf(fs...), err
	case t.Kind == types.Array && strings.EqualFold(path[0], "element") && len(path) > 1:
		e, err := editType(*t.Elem, path[1:], f)
		return types.ArrayOf(e, t.ContainsNull), err
	case t.Kind == types.Map && strings.EqualFold(path[0], "value") && len(path) > 1:
		e, err := editType(*t.Elem, path[1:], f)
		return types.MapOf(*t.Key, e, t.ContainsNull), err
	case t.Kind == types.Map && strings.EqualFold(path[0], "key") && len(path) > 1:
		k, err := editType(*t.Key, path[1:], f)
		return types.MapOf(k, *t.Elem, t.ContainsNull), err
	}
	return t, columnNotFound(path[0], nil)
}

func columnNotFound(name string, s []types.Field) error {
	return errs.New("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "columnName", name, "tableSchema", types.Schema(s).Simple())
}

func find(fs []types.Field, name string) int { return types.Schema(fs).Index(name) }

// place puts a field where a change wants it; at the end if it does not say.
func place(fs []types.Field, f types.Field, c catalog.ColumnChange) ([]types.Field, error) {
	at := len(fs)
	switch {
	case c.First:
		at = 0
	case c.After != "":
		k := find(fs, c.After)
		if k < 0 {
			return nil, columnNotFound(c.After, fs)
		}
		at = k + 1
	}
	out := append([]types.Field{}, fs[:at]...)
	return append(append(out, f), fs[at:]...), nil
}

func (t *Txn) changeFields(f func(s []types.Field) ([]types.Field, error)) error {
	s, err := f(t.Schema())
	if err != nil {
		return err
	}
	return t.Change(func(*Metadata, types.Schema) types.Schema { return s })
}

func (t *Txn) addColumns(a catalog.Alteration, op *Operation) error {
	var list []string
	err := t.changeFields(func(s []types.Field) ([]types.Field, error) {
		var err error
		for _, c := range a.Columns {
			field, err2 := tableField(c.Field)
			if err2 != nil {
				return nil, err2
			}
			field.Name = c.Path[len(c.Path)-1]
			if _, ok := field.Metadata[keyDefault]; ok {
				return nil, errs.New("WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED")
			}
			if !field.Nullable {
				return nil, errs.New("DELTA_OPERATION_NOT_ALLOWED", "operation", "NOT NULL in ALTER TABLE ADD COLUMNS")
			}
			exists := false
			s, err = edit(s, c.Path, func(fs []types.Field) ([]types.Field, error) {
				if find(fs, field.Name) >= 0 {
					if a.IfExists {
						exists = true
						return fs, nil
					}
					return nil, errs.New("FIELD_ALREADY_EXISTS", "op", "add", "fieldNames", quotePath(c.Path), "struct", `"`+types.StructOf(fs...).SQL()+`"`)
				}
				return place(fs, field, c)
			})
			if err != nil {
				return nil, err
			}
			if exists {
				continue
			}
			entry := `{"column":` + fieldText(strings.Join(c.Path, "."), field)
			if p := positionText(c); p != "" {
				entry += `,"position":` + string(quoteJSON(p))
			}
			list = append(list, entry+"}")
		}
		return s, nil
	})
	op.Params.Set("columns", "["+strings.Join(list, ",")+"]")
	return err
}

func quotePath(path []string) string {
	out := make([]string, len(path))
	for i, p := range path {
		out[i] = types.Quote(p)
	}
	return strings.Join(out, ".")
}

func (t *Txn) replaceColumns(a catalog.Alteration, op *Operation) error {
	var list []string
	var out types.Schema
	for _, c := range a.Columns {
		f, err := tableField(c.Field)
		if err != nil {
			return err
		}
		if i := t.Schema().Index(f.Name); i >= 0 {
			old := t.Schema()[i]
			if !old.Type.Equal(f.Type) {
				return errs.New("DELTA_ALTER_TABLE_REPLACE_COL_NOT_SUPPORTED", "details", "the type of "+f.Name+" would change",
					"oldSchema", t.Schema().Simple(), "newSchema", f.Type.SQL())
			}
			f.Metadata = old.Metadata
		}
		out = append(out, f)
		list = append(list, fieldText(f.Name, f))
	}
	if mappingMode(t.Metadata()) == MapNone {
		for _, f := range t.Schema() {
			if out.Index(f.Name) < 0 {
				return errs.New("DELTA_ALTER_TABLE_REPLACE_COL_NOT_SUPPORTED", "details", "the column "+f.Name+" would be dropped",
					"oldSchema", t.Schema().Simple(), "newSchema", out.Simple())
			}
		}
	}
	op.Params.Set("columns", "["+strings.Join(list, ",")+"]")
	return t.Change(func(*Metadata, types.Schema) types.Schema { return out })
}

func (t *Txn) dropColumns(a catalog.Alteration, op *Operation) error {
	if mappingMode(t.Metadata()) == MapNone {
		return errs.New("DELTA_UNSUPPORTED_DROP_COLUMN", "advice", mappingAdvice)
	}
	var names []string
	err := t.changeFields(func(s []types.Field) ([]types.Field, error) {
		var err error
		for _, path := range a.Targets {
			s, err = edit(s, path, func(fs []types.Field) ([]types.Field, error) {
				i := find(fs, path[len(path)-1])
				if i < 0 {
					if a.IfExists {
						return fs, nil
					}
					return nil, columnNotFound(path[len(path)-1], fs)
				}
				if by := generatedFrom(fs, fs[i].Name); by != nil {
					return nil, errs.New("DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE", "columnName", fs[i].Name,
						"generatedColumns", strings.Join(by, "\n"))
				}
				if len(path) == 1 && t.snap.isPartition(path[0]) {
					return nil, errs.New("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", "columnList", path[0])
				}
				if len(fs) == 1 {
					return nil, errs.New("DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA", "schema", types.Schema(fs).Simple())
				}
				return append(append([]types.Field{}, fs[:i]...), fs[i+1:]...), nil
			})
			if err != nil {
				return nil, err
			}
			names = append(names, strings.Join(path, "."))
		}
		return s, nil
	})
	op.Params.Set("columns", JSONList(names))
	return err
}

// generatedFrom lists the generated columns whose expression names a column.
func generatedFrom(fs []types.Field, name string) (by []string) {
	word := regexp.MustCompile(`(?i)(^|[^\w.])` + "`?" + regexp.QuoteMeta(name) + "`?" + `($|\W)`)
	for _, f := range fs {
		if g, ok := f.Metadata[keyGeneration]; ok && word.MatchString(g) {
			by = append(by, f.Name+" -> "+g)
		}
	}
	return by
}

func (t *Txn) renameColumn(a catalog.Alteration, op *Operation) error {
	if mappingMode(t.Metadata()) == MapNone {
		return errs.New("DELTA_UNSUPPORTED_RENAME_COLUMN", "advice", mappingAdvice)
	}
	path := a.Targets[0]
	old := path[len(path)-1]
	s, err := edit(t.Schema(), path, func(fs []types.Field) ([]types.Field, error) {
		i := find(fs, old)
		if i < 0 {
			return nil, columnNotFound(old, fs)
		}
		if k := find(fs, a.To); k >= 0 && k != i {
			return nil, errs.New("FIELD_ALREADY_EXISTS", "op", "rename", "fieldNames", types.Quote(a.To), "struct", `"`+types.StructOf(fs...).SQL()+`"`)
		}
		out := append([]types.Field{}, fs...)
		out[i].Name = a.To
		return out, nil
	})
	if err != nil {
		return err
	}
	to := append(append([]string{}, path[:len(path)-1]...), a.To)
	op.Params.Set("oldColumnPath", strings.Join(path, "."))
	op.Params.Set("newColumnPath", strings.Join(to, "."))
	return t.Change(func(m *Metadata, _ types.Schema) types.Schema {
		for i, p := range m.PartitionColumns {
			if len(path) == 1 && strings.EqualFold(p, old) {
				m.PartitionColumns[i] = a.To
			}
		}
		return s
	})
}

// widens says whether a column may grow from one type to another without rewriting files.
func widens(from, to types.DataType) bool {
	rank := map[types.Kind]int{types.TinyInt: 1, types.SmallInt: 2, types.Int: 3, types.BigInt: 4}
	switch {
	case from.IsIntegral() && to.IsIntegral():
		return rank[from.Kind] < rank[to.Kind]
	case to.Kind == types.Double:
		return from.Kind == types.Float || from.IsIntegral() && from.Kind != types.BigInt
	case from.Kind == types.Date && to.Kind == types.TimestampNTZ:
		return true
	case from.Kind == types.Decimal && to.Kind == types.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale && !to.Equal(from)
	case from.IsIntegral() && to.Kind == types.Decimal:
		need := int32(10)
		if from.Kind == types.BigInt {
			need = 20
		}
		return to.Precision-to.Scale >= need
	}
	return false
}

// widened is a column that grew to a type, with the change kept in its metadata.
func widened(f types.Field, to types.DataType) types.Field {
	step := `{"toType":` + string(quoteJSON(typeName(to))) + `,"fromType":` + string(quoteJSON(typeName(f.Type))) + `}`
	list := "[" + step + "]"
	if old := strings.TrimPrefix(f.Metadata[keyTypeChanges], rawMark); strings.HasSuffix(old, "]") && len(old) > 2 {
		list = strings.TrimSuffix(old, "]") + "," + step + "]"
	}
	f = with(f, keyTypeChanges, rawMark+list)
	f.Type = to
	return f
}

// widensUnasked says whether a column of a table with type widening grows to the type of rows that come, where schemas
// are merged: within a family of types only.
func widensUnasked(from, to types.DataType) bool {
	family := from.IsIntegral() && to.IsIntegral() || from.Kind == types.Float && to.Kind == types.Double ||
		from.Kind == types.Decimal && to.Kind == types.Decimal
	return family && widens(from, to)
}

func typeName(t types.DataType) string {
	if t.Kind == types.Decimal {
		return "decimal(" + strconv.Itoa(int(t.Precision)) + "," + strconv.Itoa(int(t.Scale)) + ")"
	}
	return primitiveNames[t.Kind]
}

func (t *Txn) alterColumn(a catalog.Alteration, op *Operation) error {
	c := a.Columns[0]
	path := strings.Join(c.Path, ".")
	s, err := edit(t.Schema(), c.Path, func(fs []types.Field) ([]types.Field, error) {
		i := find(fs, c.Path[len(c.Path)-1])
		if i < 0 {
			return nil, columnNotFound(c.Path[len(c.Path)-1], fs)
		}
		f, err := t.altered(fs[i], c, a.Change, path)
		if err != nil {
			return nil, err
		}
		out := append([]types.Field{}, fs...)
		out[i] = f
		entry := fieldText(path, f)
		op.Params.Set("column", entry)
		if a.Change != "POSITION" {
			return out, nil
		}
		op.Params.Set("position", positionText(c))
		return place(append(out[:i:i], out[i+1:]...), f, c)
	})
	if err != nil {
		return err
	}
	return t.Change(func(*Metadata, types.Schema) types.Schema { return s })
}

func (t *Txn) altered(f types.Field, c catalog.ColumnChange, what, path string) (types.Field, error) {
	switch what {
	case "TYPE":
		to, err := tableField(types.Field{Name: f.Name, Type: c.Field.Type, Nullable: f.Nullable, Metadata: f.Metadata})
		if err != nil {
			return f, err
		}
		if to.Type.Equal(f.Type) {
			f.Metadata = to.Metadata
			return f, nil
		}
		wide := strings.EqualFold(t.Metadata().Property("delta.enableTypeWidening"), "true")
		if !wide || !widens(f.Type, to.Type) {
			null := ""
			if !f.Nullable {
				null = " NOT NULL"
			}
			return f, errs.New("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "fieldPath", path, "oldField", f.Type.SQL()+null, "newField", c.Field.Type.SQL()+null)
		}
		if to.Type.Kind == types.TimestampNTZ && !t.Protocol().Supports("timestampNtz") {
			return f, errs.New("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", "unsupportedFeatures", "timestampNtz", "supportedFeatures",
				strings.Join(t.Protocol().WriterFeatures, ", "))
		}
		f = widened(f, to.Type)
	case "COMMENT":
		f = with(f, keyComment, c.Field.Metadata[keyComment])
	case "SET NOT NULL":
		if f.Nullable {
			return f, errs.New("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "fieldPath", path, "oldField", f.Type.SQL(),
				"newField", f.Type.SQL()+" NOT NULL")
		}
	case "DROP NOT NULL":
		f.Nullable = true
	case "SET DEFAULT":
		f = with(f, keyDefault, c.Field.Metadata[keyDefault])
	case "DROP DEFAULT":
		f = without(f, keyDefault, keyExists)
	case "POSITION":
	default:
		return f, errs.New("UNSUPPORTED_FEATURE", "feature", "ALTER COLUMN … "+what+" of a Delta table")
	}
	return f, nil
}

func (t *Txn) setProperties(a catalog.Alteration, op *Operation) error {
	props := Pairs{}
	for _, k := range sortedKeys(a.Properties) {
		props.Set(k, a.Properties[k])
	}
	op.Params.Set("properties", string(marshal(props)))
	if len(a.Properties) == 1 {
		if c, ok := a.Properties["comment"]; ok {
			return t.Change(func(m *Metadata, s types.Schema) types.Schema { m.Description = &c; return s })
		}
	}
	if err := checkProperties(props); err != nil {
		return err
	}
	return t.Change(func(m *Metadata, s types.Schema) types.Schema {
		for _, p := range props {
			m.set(p.Key, rawText(p.Value))
		}
		return s
	})
}

func (t *Txn) unsetProperties(a catalog.Alteration, op *Operation) error {
	op.Params.Set("properties", JSONList(a.Keys))
	op.Params.SetRaw("ifExists", "true")
	return t.Change(func(m *Metadata, s types.Schema) types.Schema {
		for _, k := range a.Keys {
			m.unset(k)
		}
		return s
	})
}

const constraintPrefix = "delta.constraints."

func (t *Txn) addConstraint(a catalog.Alteration, op *Operation) error {
	op.Params.Set("name", a.Check.Name)
	op.Params.Set("expr", a.Check.Text)
	key := constraintPrefix + strings.ToLower(a.Check.Name)
	if old := t.Metadata().Property(key); old != "" {
		return errs.New("DELTA_CONSTRAINT_ALREADY_EXISTS", "constraintName", a.Check.Name, "oldConstraint", old)
	}
	t.NotBlind = true
	t.ReadWholeTable()
	return t.Change(func(m *Metadata, s types.Schema) types.Schema { m.set(key, a.Check.Text); return s })
}

func (t *Txn) dropConstraint(a catalog.Alteration, op *Operation, d catalog.Definition) error {
	key := constraintPrefix + strings.ToLower(a.Check.Name)
	old := t.Metadata().Property(key)
	op.Params.Set("name", a.Check.Name)
	if old == "" {
		if !a.IfExists {
			name := "delta." + types.Quote(t.log.Root)
			if d.Name != "" {
				db := d.Database
				if db == "" {
					db = "default"
				}
				name = types.Quote(db) + "." + types.Quote(d.Name)
			}
			return errs.New("DELTA_CONSTRAINT_DOES_NOT_EXIST", "constraintName", a.Check.Name, "tableName", name,
				"config", "spark.databricks.delta.constraints.assumesDropIfExists.enabled", "confValue", "true")
		}
		op.Params.SetRaw("existed", "false")
		return t.Change(func(_ *Metadata, s types.Schema) types.Schema { return s })
	}
	op.Params.Set("expr", old)
	op.Params.SetRaw("existed", "true")
	return t.Change(func(m *Metadata, s types.Schema) types.Schema { m.unset(key); return s })
}

func (t *Txn) recluster(a catalog.Alteration, op *Operation) ([]Action, error) {
	var names []string
	for _, p := range a.Targets {
		names = append(names, strings.Join(p, "."))
	}
	if len(t.Metadata().PartitionColumns) > 0 {
		return nil, errs.New("DELTA_ALTER_TABLE_CLUSTER_BY_NOT_ALLOWED")
	}
	op.Params.Set("oldClusteringColumns", strings.Join(t.snap.ClusterBy(), ","))
	op.Params.Set("newClusteringColumns", strings.Join(names, ","))
	t.SetClustering(names)
	if err := t.Change(func(_ *Metadata, s types.Schema) types.Schema { return s }); err != nil {
		return nil, err
	}
	d, err := t.clusterDomain()
	return []Action{d}, err
}
