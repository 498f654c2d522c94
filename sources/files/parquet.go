package files

import (
	"path/filepath"
	"sort"
	"strings"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// inferParquet finds the columns in the footers of files: of the first by path, or of all if mergeSchema
// says so. Errors: UNABLE_TO_INFER_SCHEMA, CANNOT_MERGE_SCHEMAS, FAILED_READ_FILE.
func (s *shape) inferParquet(files []file) (types.Schema, error) {
	merge := strings.EqualFold(s.settings.Conf("spark.sql.parquet.mergeSchema"), "true")
	if v, ok := s.settings.Option("mergeSchema"); ok {
		merge = strings.EqualFold(v, "true")
	}
	sorted := append([]file{}, files...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].path < sorted[j].path })
	var schema types.Schema
	found := false
	for _, f := range sorted {
		if unread(filepath.Base(f.path)) {
			continue
		}
		one, err := s.footer(f)
		if err != nil {
			if s.corrupt || s.missing && errs.Has(err, "FAILED_READ_FILE.FILE_NOT_EXIST") {
				continue
			}
			return nil, err
		}
		if !found {
			schema, found = one, true
			if !merge {
				break
			}
			continue
		}
		if schema, err = mergeSchemas(schema, one, strings.EqualFold(s.settings.Conf("spark.sql.caseSensitive"), "true")); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, errs.New("UNABLE_TO_INFER_SCHEMA", "format", "Parquet")
	}
	return schema, nil
}

func (s *shape) footer(f file) (types.Schema, error) {
	p, err := codec.OpenParquet(s.input(f, 0, 0))
	if err != nil {
		// Spark reads footers in another place than rows.
		if e := errs.As(err); e != nil && e.Condition == "FAILED_READ_FILE.NO_HINT" {
			return nil, errs.Wrap(e.Err, "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER", "path", e.Params["path"])
		}
		return nil, err
	}
	defer p.Close()
	return p.Schema()
}

// mergeSchemas joins two schemas by name: fields of the second that the first lacks come last. Error:
// CANNOT_MERGE_SCHEMAS.
func mergeSchemas(a, b types.Schema, exact bool) (types.Schema, error) {
	t, ok := mergeTypes(types.StructOf(a...), types.StructOf(b...), exact)
	if !ok {
		return nil, errs.New("CANNOT_MERGE_SCHEMAS", "left", `"`+types.StructOf(a...).SQL()+`"`, "right", `"`+types.StructOf(b...).SQL()+`"`)
	}
	return t.Fields, nil
}

func mergeTypes(a, b types.DataType, exact bool) (types.DataType, bool) {
	if a.Kind != b.Kind {
		return a, false
	}
	switch a.Kind {
	case types.Array:
		e, ok := mergeTypes(*a.Elem, *b.Elem, exact)
		return types.ArrayOf(e, a.ContainsNull || b.ContainsNull), ok
	case types.Map:
		k, ok := mergeTypes(*a.Key, *b.Key, exact)
		if !ok {
			return a, false
		}
		v, ok := mergeTypes(*a.Elem, *b.Elem, exact)
		return types.MapOf(k, v, a.ContainsNull || b.ContainsNull), ok
	case types.Struct:
		find := func(fields []types.Field, name string) int {
			for i, f := range fields {
				if f.Name == name || !exact && strings.EqualFold(f.Name, name) {
					return i
				}
			}
			return -1
		}
		var out []types.Field
		for _, f := range a.Fields {
			if i := find(b.Fields, f.Name); i >= 0 {
				t, ok := mergeTypes(f.Type, b.Fields[i].Type, exact)
				if !ok {
					return a, false
				}
				f.Type, f.Nullable = t, f.Nullable || b.Fields[i].Nullable
			}
			out = append(out, f)
		}
		for _, f := range b.Fields {
			if find(a.Fields, f.Name) < 0 {
				out = append(out, f)
			}
		}
		return types.StructOf(out...), true
	case types.Decimal:
		if a.Scale != b.Scale {
			return a, false
		}
		return types.DecimalOf(max(a.Precision, b.Precision), a.Scale), true
	}
	return a, a.Equal(b)
}

// Skip takes conditions that rows must pass: what the query filters by anyway. It is called after Prune, and
// tests name columns of the full schema.
func (s *shape) Skip(tests []columnar.Test) {
	s.tests, s.folderTests = nil, nil
	for _, t := range tests {
		if i := t.Column - len(s.data); i >= 0 && i < len(s.parts) {
			t.Column = i
			s.folderTests = append(s.folderTests, t)
			continue
		}
		at := 0
		for i := range s.data {
			wanted := s.columns == nil
			for _, c := range s.columns {
				wanted = wanted || c == i
			}
			if !wanted {
				continue
			}
			if t.Column == i {
				t.Column = at
				s.tests = append(s.tests, t)
				break
			}
			at++
		}
	}
}
