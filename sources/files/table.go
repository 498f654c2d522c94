package files

import (
	"context"
	"sort"

	"streamlab/columnar"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// table is all files of a path, listed anew by every scan.
type table struct{ shape }

// NewTable makes a table of all files of a path. Without a schema the columns are inferred from the files.
// Errors: PATH_NOT_FOUND, UNABLE_TO_INFER_SCHEMA, INVALID_OPTION.
func NewTable(ctx context.Context, def sources.Def) (catalog.Table, error) {
	t := &table{}
	if err := t.setup(def, false); err != nil {
		return nil, err
	}
	return t, nil
}

// Schema is the data columns, then the partition columns.
func (t *table) Schema() types.Schema { return t.schema }

// Scan lists the files and plans their reading.
func (t *table) Scan(_ context.Context, s catalog.Scan) ([]columnar.Partition, error) {
	one := t.shape // partitions keep a pointer to their own columns
	one.columns = s.Columns
	one.prepare()
	files, err := one.list.list(func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	sort.Slice(files, func(i, j int) bool { return older(files[i], files[j]) })
	return one.partitions(files, nil)
}
