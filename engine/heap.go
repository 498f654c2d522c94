package engine

import (
	"context"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// heap is a table of the session whose rows are in memory and gone with it: what CREATE TABLE makes for the
// formats of files (parquet, json, csv, …). It does what Spark does with such a table and refuses the rest:
// INSERT and INSERT OVERWRITE, also of partitions, TRUNCATE, ADD COLUMNS, properties and partitions.
type heap struct {
	id   int64 // of its stream
	mu   sync.Mutex
	def  catalog.Definition
	rows []arrow.RecordBatch
	dir  *folder         // where the rows lie; nil: in memory, in rows
	made map[string]bool // partitions that ADD PARTITION made
}

func (h *heap) madePartitions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return sortedKeys(h.made)
}

func (h *heap) makePartition(p string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.made == nil {
		h.made = map[string]bool{}
	}
	h.made[p] = true
}

// unmakePartitions forgets made partitions; true if there was one.
func (h *heap) unmakePartitions(gone func(string) bool) (some bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.made {
		if gone(p) {
			delete(h.made, p)
			some = true
		}
	}
	return some
}

func newHeap(d catalog.Definition, rows []arrow.RecordBatch) *heap { return &heap{def: d, rows: rows} }

func (h *heap) Schema() types.Schema {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.def.Columns
}

func (h *heap) Definition() catalog.Definition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.def
}

func (h *heap) define(d catalog.Definition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.def = d
}

func (h *heap) Scan(ctx context.Context, s catalog.Scan) ([]columnar.Partition, error) {
	if h.dir != nil {
		return h.dir.scan(ctx, h.Definition(), s)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return []columnar.Partition{columnar.Batches{Name: "table", List: h.rows[:len(h.rows):len(h.rows)]}}, nil
}

func readAll(ctx context.Context, parts []columnar.Partition) ([]arrow.RecordBatch, error) {
	var rows []arrow.RecordBatch
	for _, p := range parts {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, rb)
		}
	}
	return rows, nil
}

// Snapshot is the table with the rows that are there now.
func (h *heap) Snapshot() (catalog.Table, error) {
	if h.dir != nil {
		t, err := h.dir.table(context.Background(), h.Definition())
		if err != nil {
			return nil, err
		}
		return t.(catalog.Snapshotter).Snapshot()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &heap{def: h.def, rows: h.rows[:len(h.rows):len(h.rows)]}, nil
}

// Hidden is the columns of files that are read by name.
func (h *heap) Hidden() types.Schema {
	if h.dir == nil {
		return nil
	}
	t, err := h.dir.table(context.Background(), h.Definition())
	if err != nil {
		return nil
	}
	return t.(catalog.Hider).Hidden()
}

func (h *heap) Insert(ctx context.Context, in catalog.Insertion) error {
	if h.dir != nil {
		return h.dir.write(ctx, h.Definition(), in.Rows, in.Overwrite)
	}
	rows, err := readAll(ctx, in.Rows)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.Overwrite {
		h.rows = nil
	}
	h.rows = append(h.rows[:len(h.rows):len(h.rows)], rows...)
	return nil
}

func (h *heap) fullName() string { return fullName(h.Definition()) }

func fullName(d catalog.Definition) string {
	return types.Quote("spark_catalog") + "." + types.Quote(d.Database) + "." + types.Quote(d.Name)
}

// heapOperations are those that Spark does on tables of files: it writes and truncates, and changes no row.
var heapRefusals = map[string]string{"UPDATE": "UPDATE TABLE", "MERGE": "MERGE INTO TABLE", "DELETE": "DELETE"}

func (h *heap) Begin(ctx context.Context, i catalog.Intent) (catalog.Transaction, error) {
	if operation := heapRefusals[i.Operation]; operation != "" {
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", h.fullName(), "operation", operation)
	}
	if h.dir != nil {
		parts, err := h.dir.scan(ctx, h.Definition(), catalog.Scan{})
		if err != nil {
			return nil, err
		}
		rows, err := readAll(ctx, parts)
		return &heapChange{h: h, old: rows}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &heapChange{h: h, old: h.rows}, nil
}

// heapChange replaces the rows of a heap; each record batch is a file.
type heapChange struct {
	h   *heap
	old []arrow.RecordBatch
}

func (t *heapChange) Files() []columnar.Partition {
	out := make([]columnar.Partition, len(t.old))
	for i, rb := range t.old {
		out[i] = columnar.Batches{Name: "rows", List: []arrow.RecordBatch{rb}}
	}
	return out
}

func (t *heapChange) Feed() bool { return false }

func (t *heapChange) Abort() {}

func (t *heapChange) Commit(ctx context.Context, o catalog.Outcome) error {
	added, err := readAll(ctx, o.Added)
	if err != nil {
		return err
	}
	schema := t.h.Schema()
	gone := map[int]catalog.Deletion{}
	for _, d := range o.Deleted {
		gone[d.File] = d
	}
	var rows []arrow.RecordBatch
	for i, rb := range t.old {
		d, ok := gone[i]
		if !ok {
			rows = append(rows, rb)
			continue
		}
		next := 0
		rows = append(rows, without([]arrow.RecordBatch{rb}, schema, func(_ []columnar.Vec, r int) bool {
			if d.All || next < len(d.Rows) && int(d.Rows[next]) == r {
				next++
				return true
			}
			return false
		})...)
	}
	if t.h.dir != nil {
		return t.h.dir.write(ctx, t.h.Definition(), []columnar.Partition{columnar.Batches{Name: "rows", List: append(rows, added...)}}, true)
	}
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	t.h.rows = append(rows, added...)
	return nil
}

// Alter changes the table as Spark changes tables of files.
func (h *heap) Alter(ctx context.Context, a catalog.Alteration) error {
	d := h.Definition()
	refuse := func(operation string) error {
		return errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", fullName(d), "operation", operation)
	}
	switch a.Action {
	case "ADD COLUMNS":
		return h.addColumns(d, a.Columns)
	case "SET TBLPROPERTIES":
		d.Properties = merged(d.Properties, a.Properties, nil)
	case "UNSET TBLPROPERTIES":
		d.Properties = merged(d.Properties, nil, a.Keys)
	case "COMMENT":
		d.Comment = a.To
	case "SET LOCATION":
		d.Location = a.To
	case "ALTER COLUMN":
		return h.alterColumn(d, a, refuse)
	case "DROP COLUMNS":
		return refuse("DROP COLUMN")
	case "RENAME COLUMN":
		return refuse("RENAME COLUMN")
	case "REPLACE COLUMNS":
		return refuse("REPLACE COLUMNS")
	case "ADD CONSTRAINT", "DROP CONSTRAINT":
		return nil // accepted, and without effect on tables of files
	default:
		return errs.New("UNSUPPORTED_FEATURE", "feature", "ALTER TABLE … "+a.Action)
	}
	h.define(d)
	return nil
}

func merged(old, set map[string]string, unset []string) map[string]string {
	m := map[string]string{}
	for k, v := range old {
		m[k] = v
	}
	for k, v := range set {
		m[k] = v
	}
	for _, k := range unset {
		delete(m, k)
	}
	return m
}

// addColumns puts columns behind the data columns: the partition columns stay last. Old rows have the
// column's default, or null.
func (h *heap) addColumns(d catalog.Definition, list []catalog.ColumnChange) error {
	data := len(d.Columns) - len(d.PartitionBy)
	for _, c := range list {
		if len(c.Path) > 1 {
			return errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", fullName(d), "operation", "ADD COLUMN with qualified column")
		}
		if c.After != "" && d.Columns.Index(c.After) < 0 {
			return errs.New("FIELD_NOT_FOUND", "fieldName", types.Quote(c.Field.Name), "fields", strings.Join(d.Columns.Names(), ", "))
		}
		if d.Columns.Index(c.Field.Name) >= 0 {
			return errs.New("COLUMN_ALREADY_EXISTS", "columnName", types.Quote(strings.ToLower(c.Field.Name)))
		}
		cols := append(types.Schema{}, d.Columns[:data]...)
		cols = append(cols, c.Field)
		d.Columns = append(cols, d.Columns[data:]...)
		data++
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.def.Columns
	for i, rb := range h.rows {
		vs := columnar.Vectors(rb, old)
		n := int(rb.NumRows())
		cols := make([]*columnar.Vec, len(d.Columns))
		for j, f := range d.Columns {
			if k := old.Index(f.Name); k >= 0 {
				cols[j] = &vs[k]
				continue
			}
			v := columnar.NewVec(f.Type, n)
			v.MakeValid(n)
			for r := range n {
				columnar.ClearBit(v.Valid, r)
			}
			cols[j] = v
		}
		h.rows[i] = columnar.RecordOf(d.Columns, cols, columnar.AllRows(n))
	}
	h.def = d
	return nil
}

// alterColumn: only comments and defaults change.
func (h *heap) alterColumn(d catalog.Definition, a catalog.Alteration, refuse func(string) error) error {
	c := a.Columns[0]
	k := d.Columns.Index(c.Path[0])
	if k < 0 || len(c.Path) > 1 {
		return refuse("ALTER COLUMN with qualified column")
	}
	d.Columns = append(types.Schema{}, d.Columns...)
	f := &d.Columns[k]
	key, value := "", ""
	switch a.Change {
	case "COMMENT":
		key, value = catalog.Comment, c.Field.Metadata[catalog.Comment]
	case "SET DEFAULT":
		key, value = catalog.Default, c.Field.Metadata[catalog.Default]
	case "DROP DEFAULT":
		key = catalog.Default
	case "POSITION":
		return refuse("ALTER COLUMN ... FIRST | AFTER")
	case "SET NOT NULL", "DROP NOT NULL":
		return refuse("ALTER COLUMN ... " + strings.TrimSuffix(a.Change, " NOT NULL") + " NOT NULL")
	case "TYPE":
		if !f.Type.Equal(c.Field.Type) {
			return errs.New("NOT_SUPPORTED_CHANGE_COLUMN", "table", fullName(d), "originName", types.Quote(f.Name), "originType", `"`+f.Type.SQL()+`"`,
				"newName", types.Quote(f.Name), "newType", `"`+c.Field.Type.SQL()+`"`)
		}
	}
	if key != "" {
		f.Metadata = merged(f.Metadata, nil, []string{key})
		if value != "" {
			f.Metadata[key] = value
		}
	}
	h.define(d)
	return nil
}
