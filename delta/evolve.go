package delta

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// Evolution says how a write may change a table's schema.
type Evolution struct {
	Data        types.Schema // of the rows that come
	PartitionBy []string     // nil: not given
	Merge       bool         // new columns are added
	Replace     bool         // the schema becomes that of the data: of overwrites only
	Casts       bool         // values are cast to the table's types
	widens      bool         // the table lets types grow
}

// Evolve holds rows against the table and changes the transaction's metadata where they may: a table that is
// not there gets the schema of the rows. Errors: DELTA_METADATA_MISMATCH, DELTA_FAILED_TO_MERGE_FIELDS,
// DELTA_DUPLICATE_COLUMNS_FOUND.DATA, RESERVED_CDC_COLUMNS_ON_WRITE, those of Change.
func (t *Txn) Evolve(e Evolution) error {
	seen := map[string]bool{}
	for _, f := range e.Data {
		k := strings.ToLower(f.Name)
		if seen[k] {
			return errs.New("DELTA_DUPLICATE_COLUMNS_FOUND.DATA", "duplicateCols", k)
		}
		seen[k] = true
	}
	if t.snap == nil {
		return t.Change(func(m *Metadata, _ types.Schema) types.Schema {
			m.PartitionColumns = t.spelled(e.Data, e.PartitionBy)
			return bare(AsNullable(e.Data))
		})
	}
	if t.snap.On("delta.enableChangeDataFeed") {
		var reserved []string
		for _, f := range e.Data {
			switch f.Name {
			case ChangeTypeColumn, CommitVersionColumn, CommitTimestampColumn:
				reserved = append(reserved, f.Name)
			}
		}
		if reserved != nil {
			return errs.New("RESERVED_CDC_COLUMNS_ON_WRITE", "columnNames", "["+strings.Join(reserved, ",")+"]", "config", "delta.enableChangeDataFeed")
		}
	}
	if e.Replace {
		data, parts := bare(AsNullable(e.Data)), t.spelled(e.Data, e.PartitionBy)
		if data.Equal(AsNullable(t.Schema())) && strings.Join(parts, "\x00") == strings.Join(t.Metadata().PartitionColumns, "\x00") {
			return nil
		}
		return t.Change(func(m *Metadata, _ types.Schema) types.Schema {
			m.PartitionColumns = parts
			return data
		})
	}
	if e.PartitionBy != nil && !sameNames(e.PartitionBy, t.Metadata().PartitionColumns) {
		return mismatch("the partition columns differ: given are " + quotedNames(e.PartitionBy) + ", the table has " + quotedNames(t.Metadata().PartitionColumns))
	}
	e.widens = t.snap.On("delta.enableTypeWidening")
	out, changed, err := mergeFields(t.Schema(), bare(e.Data), e, "")
	if err != nil || !changed {
		return err
	}
	return t.Change(func(_ *Metadata, _ types.Schema) types.Schema { return out })
}

// bare is a schema without metadata but comments.
func bare(s types.Schema) types.Schema {
	out := make(types.Schema, len(s))
	for i, f := range s {
		m := map[string]string{}
		if c, ok := f.Metadata[keyComment]; ok {
			m[keyComment] = c
		}
		if len(m) == 0 {
			m = nil
		}
		out[i] = types.Field{Name: f.Name, Type: f.Type, Nullable: f.Nullable, Metadata: m}
	}
	return out
}

// spelled gives columns the spelling of the data; a name that is not there stays as it is.
func (t *Txn) spelled(data types.Schema, names []string) []string {
	out := []string{}
	for _, n := range names {
		if i := data.Index(n); i >= 0 {
			n = data[i].Name
		}
		out = append(out, n)
	}
	return out
}

func sameNames(a, b []string) bool {
	return strings.EqualFold(strings.Join(a, "\x00"), strings.Join(b, "\x00"))
}

func quotedNames(list []string) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = types.Quote(n)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func mismatch(why string) error {
	return errs.New("DELTA_METADATA_MISMATCH").
		WithHint("Here " + why + ". Set mergeSchema to add new columns, or overwriteSchema, in mode overwrite, to replace the table's schema.")
}

// mergeFields adds the columns of data to those of a table.
func mergeFields(table, data []types.Field, e Evolution, path string) (out []types.Field, changed bool, err error) {
	out = append(out, table...)
	for _, d := range data {
		i := find(out, d.Name)
		if i < 0 {
			if !e.Merge {
				return nil, false, mismatch("the data has the column " + path + d.Name + ", the table has not")
			}
			out = append(out, types.Field{Name: d.Name, Type: nullableType(d.Type), Nullable: true})
			changed = true
			continue
		}
		if e.Merge && e.widens && widensUnasked(out[i].Type, d.Type) {
			out[i] = widened(out[i], d.Type)
			changed = true
			continue
		}
		t, ch, err := mergeTypes(out[i].Type, d.Type, e, path+d.Name)
		if err != nil {
			return nil, false, err
		}
		if ch {
			out[i].Type = t
			changed = true
		}
	}
	return out, changed, nil
}

func mergeTypes(table, data types.DataType, e Evolution, path string) (types.DataType, bool, error) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	fail := errs.New("DELTA_FAILED_TO_MERGE_FIELDS", "currentField", name, "updateField", name)
	switch {
	case data.Kind == types.Null || table.Equal(data):
		return table, false, nil
	case table.Kind == types.Struct && data.Kind == types.Struct:
		fs, ch, err := mergeFields(table.Fields, data.Fields, e, path+".")
		return types.StructOf(fs...), ch, err
	case table.Kind == types.Array && data.Kind == types.Array:
		t, ch, err := mergeTypes(*table.Elem, *data.Elem, e, path+".element")
		return types.ArrayOf(t, table.ContainsNull), ch, err
	case table.Kind == types.Map && data.Kind == types.Map:
		k, ch1, err := mergeTypes(*table.Key, *data.Key, e, path+".key")
		if err != nil {
			return table, false, err
		}
		v, ch2, err := mergeTypes(*table.Elem, *data.Elem, e, path+".value")
		return types.MapOf(k, v, table.ContainsNull), ch1 || ch2, err
	case e.Casts && table.IsAtomic() && data.IsAtomic():
		return table, false, nil
	case smallInt(table) && smallInt(data):
		if widens(table, data) && e.Merge {
			return data, true, nil
		}
		return table, false, nil
	case table.Kind == types.Decimal && data.Kind == types.Decimal:
		return table, false, errs.Wrap(errs.New("DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE", "decimalRanges", table.SQL()+" and "+data.SQL()),
			"DELTA_FAILED_TO_MERGE_FIELDS", "currentField", name, "updateField", name)
	}
	return table, false, fail
}

func smallInt(t types.DataType) bool {
	return t.Kind == types.TinyInt || t.Kind == types.SmallInt || t.Kind == types.Int
}

// Shown is the schema of the transaction as statements see it.
func (t *Txn) Shown() types.Schema { return shownSchema(t.Schema()) }
