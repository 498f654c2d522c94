package files

import (
	"context"
	"sort"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// table is all files of a path, listed anew by every scan, or those that were there at one time.
type table struct {
	shape
	listed []file
	frozen bool
	before int64 // ms, modifiedBefore: only older files; 0: any
	after  int64 // ms, modifiedAfter: only newer files; 0: any
}

// NewTable makes a table of all files of a path. Without a schema the columns are inferred from the files.
// Errors: PATH_NOT_FOUND, UNABLE_TO_INFER_SCHEMA, INVALID_OPTION.
func NewTable(ctx context.Context, def sources.Def) (catalog.Table, error) {
	t := &table{}
	for name, to := range map[string]*int64{"modifiedBefore": &t.before, "modifiedAfter": &t.after} {
		if v, ok := def.Options.Get(name); ok {
			us, ok := codec.NewClock(def.Zone, def.Now).ParseTimestamp([]byte(v))
			if !ok {
				return nil, sources.Invalid(name, v, "must be a timestamp")
			}
			*to = us / 1000
		}
	}
	if err := t.setup(def, false); err != nil {
		return nil, err
	}
	return t, nil
}

// Snapshot is the table with the files that are there now. A streaming query reads tables of files so:
// another run sees what is new.
func (t *table) Snapshot() (catalog.Table, error) {
	c := *t
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	c.listed, c.frozen = files, true
	return &c, nil
}

// files lists the files by time, then path.
func (t *table) files() ([]file, error) {
	if t.frozen {
		return t.listed, nil
	}
	one := t.list
	files, err := one.list(all)
	if err != nil {
		return nil, err
	}
	kept := files[:0]
	for _, f := range files {
		if (t.before == 0 || f.mtime < t.before) && (t.after == 0 || f.mtime > t.after) {
			kept = append(kept, f)
		}
	}
	sort.Slice(kept, func(i, j int) bool { return older(kept[i], kept[j]) })
	return kept, nil
}

// PartitionColumns names the columns of a table of this package that come from folder names.
func PartitionColumns(t catalog.Table) []string {
	if x, ok := t.(*table); ok && len(x.parts) > 0 {
		return x.parts.Names()
	}
	return nil
}

// Schema is the data columns, then the partition columns.
func (t *table) Schema() types.Schema { return t.schema }

// Scan lists the files and plans their reading.
func (t *table) Scan(_ context.Context, s catalog.Scan) ([]columnar.Partition, error) {
	one := t.shape // partitions keep a pointer to their own columns
	one.columns = s.Columns
	one.prepare()
	files, err := t.files()
	if err != nil {
		return nil, err
	}
	one.Skip(catalog.Tests(s.Where))
	return one.partitions(files, nil)
}
