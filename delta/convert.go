package delta

import (
	"context"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// Conversion is CONVERT TO DELTA: the Parquet files in a folder become a table that begins with them.
type Conversion struct {
	Columns     types.Schema // data columns, then those of PartitionBy
	PartitionBy []string
	NoStats     bool // files are not read
}

// Convert makes the table of a conversion in the folder root, where none may be: the files stay where they are
// and the log names them. Errors: those of folders that do not
// fit the partition columns (DELTA_UNEXPECTED_…), DELTA_FAILED_CAST_PARTITION_VALUE, DELTA_EMPTY_DIRECTORY, those of Commit.
func (p *Provider) Convert(ctx context.Context, root string, c Conversion) error {
	l := p.Log(root)
	txn, err := l.Begin()
	if err != nil || txn.snap != nil {
		return err // a Delta table is converted already
	}
	schema := AsNullable(c.Columns)
	err = txn.Change(func(m *Metadata, _ types.Schema) types.Schema {
		m.PartitionColumns = append([]string{}, c.PartitionBy...)
		return schema
	})
	if err != nil {
		return err
	}
	var acts []Action
	if err := l.parquetFiles(root, nil, func(rel string, values []partitionPart) error {
		a, err := l.converted(ctx, rel, values, schema, c)
		if err == nil {
			acts = append(acts, Action{Add: a})
		}
		return err
	}); err != nil {
		return err
	}
	if len(acts) == 0 {
		return errs.New("DELTA_EMPTY_DIRECTORY", "directory", root)
	}
	params, metrics := Pairs{}, Pairs{}
	params.SetRaw("numFiles", string(marshal(len(acts))))
	params.Set("partitionedBy", JSONList(c.PartitionBy))
	params.SetRaw("collectStats", string(marshal(!c.NoStats)))
	params.Set("sourceFormat", "parquet")
	metrics.count("numConvertedFiles", int64(len(acts)))
	txn.NotBlind = true
	_, err = txn.Commit(Operation{Name: "CONVERT", Params: params, Metrics: metrics}, acts)
	return err
}

// partitionPart is one level of folders: column=value.
type partitionPart struct{ name, value string }

// parquetFiles goes through the data files below a folder, in the order of their names.
func (l *Log) parquetFiles(dir string, values []partitionPart, each func(rel string, values []partitionPart) error) error {
	entries, err := l.FS.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		full := filepath.Join(dir, name)
		key, text, isPart := strings.Cut(name, "=")
		if isHidden(name) && !isPart || e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if e.IsDir() {
			below := values
			if isPart {
				below = append(append([]partitionPart{}, values...), partitionPart{unescapeHive(key), unescapeHive(text)})
			}
			if err := l.parquetFiles(full, below, each); err != nil {
				return err
			}
			continue
		}
		rel, err := filepath.Rel(l.Root, full)
		if err != nil {
			return err
		}
		if err := each(rel, values); err != nil {
			return err
		}
	}
	return nil
}

func unescapeHive(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

// converted is the action of a file that was there before the table.
func (l *Log) converted(ctx context.Context, rel string, values []partitionPart, schema types.Schema, c Conversion) (*Add, error) {
	full := filepath.Join(l.Root, rel)
	info, err := l.FS.Stat(full)
	if err != nil {
		return nil, err
	}
	a := &Add{Path: encodePath(rel), PartitionValues: map[string]*string{}, Size: info.Size(), ModificationTime: info.ModTime().UnixMilli(), DataChange: true}
	if len(values) != len(c.PartitionBy) {
		var names []string
		for _, v := range values {
			names = append(names, v.name)
		}
		return nil, errs.New("DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME", "expectedColsSize", len(c.PartitionBy),
			"expectedCols", strings.Join(c.PartitionBy, ", "), "parsedColsSize", len(values), "parsedCols", strings.Join(names, ", "), "path", full)
	}
	parts := map[string]bool{}
	for i, v := range values {
		if !strings.EqualFold(v.name, c.PartitionBy[i]) {
			return nil, errs.New("DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME", "expectedCol", c.PartitionBy[i], "parsedCol", v.name, "path", full)
		}
		parts[strings.ToLower(v.name)] = true
		a.PartitionValues[c.PartitionBy[i]] = nil
		if v.value == nullPartition || v.value == "" {
			continue
		}
		at := schema.Index(c.PartitionBy[i])
		text := v.value
		if _, err := partitionVec(schema[at].Type, &text, l.Zone); err != nil {
			return nil, errs.New("DELTA_FAILED_CAST_PARTITION_VALUE", "value", v.value, "dataType", schema[at].Type.SQL())
		}
		a.PartitionValues[c.PartitionBy[i]] = &text
	}
	if c.NoStats {
		return a, nil
	}
	var columns types.Schema
	for _, f := range schema {
		if !parts[strings.ToLower(f.Name)] && f.Type.Kind != types.Null {
			columns = append(columns, f)
		}
	}
	st := newStats(columns, &Metadata{}, MapNone, false)
	err = readColumns(ctx, l.FS, full, columns, MapNone, nil, func(b columnBatch) bool {
		st.add(b.vs, b.n)
		return true
	})
	if err != nil {
		return nil, err
	}
	a.Stats = st.json()
	return a, nil
}
