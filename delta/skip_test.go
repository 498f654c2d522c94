package delta

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/internal/vfs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// countingFS counts what is read from data files.
type countingFS struct {
	vfs.FS
	mu    sync.Mutex
	files int
	bytes int64
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (c *countingFS) Open(name string) (vfs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil || filepath.Ext(name) != ".parquet" || strings.Contains(name, LogDir) {
		return f, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files++
	return &countingFile{f, c}, nil
}

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.bytes += int64(n)
	return n, err
}

var skipSchema = types.Schema{{Name: "id", Type: types.Of(types.BigInt), Nullable: true}, {Name: "text", Type: types.Of(types.BigInt), Nullable: true},
	{Name: "p", Type: types.Of(types.Int), Nullable: true}}

// skipped is rows of skipSchema from a number, all of one p.
type skipped struct{ from, n, p int }

func (p skipped) String() string { return "rows" }

func (p skipped) Rows(context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for at := 0; at < p.n; at += 1 << 16 {
			n := min(1<<16, p.n-at)
			id, part := columnar.NewVec(types.Of(types.BigInt), n), columnar.NewVec(types.Of(types.Int), n)
			for i := range id.I64 {
				id.I64[i] = int64(p.from + at + i)
				part.I32[i] = int32(p.p)
			}
			if !yield(columnar.RecordOf(skipSchema, []*columnar.Vec{id, id, part}, columnar.AllRows(n)), nil) {
				return
			}
		}
	}
}

// A scan opens only files that partition values and statistics leave, reads only row groups that may hold rows
// that pass, and of these only the columns that are wanted.
func TestScanSkips(t *testing.T) {
	const group = 1 << 20
	counting := &countingFS{FS: vfs.OS}
	l := Open(t.TempDir())
	l.FS, l.Durable = counting, false
	for i, p := range []skipped{{0, 3 * group, 1}, {5 * group, 100, 1}, {0, 100, 2}} {
		txn, err := l.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			err = txn.Change(func(m *Metadata, _ types.Schema) types.Schema {
				m.PartitionColumns = []string{"p"}
				return skipSchema
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		w, err := txn.Write(context.Background(), []columnar.Partition{p}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := txn.Commit(Operation{Name: "WRITE"}, w.Actions()); err != nil {
			t.Fatal(err)
		}
	}
	tab, err := OpenTable(l, catalog.Definition{})
	if err != nil {
		t.Fatal(err)
	}
	scan := func(columns []int, where ...catalog.Predicate) (files int, bytes int64, rows int) {
		counting.files, counting.bytes = 0, 0
		parts, err := tab.Scan(context.Background(), catalog.Scan{Columns: columns, Where: where})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			for rb, err := range p.Rows(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				rows += int(rb.NumRows())
			}
		}
		return counting.files, counting.bytes, rows
	}
	long := func(x int64) *columnar.Vec {
		return &columnar.Vec{Type: types.Of(types.BigInt), Phys: columnar.PI64, Len: 1, Const: true, I64: []int64{x}}
	}
	part := &columnar.Vec{Type: types.Of(types.Int), Phys: columnar.PI32, Len: 1, Const: true, I32: []int32{2}}
	files, all, rows := scan([]int{0, 1})
	if files != 3 || rows != 3*group+200 {
		t.Fatalf("a full scan reads %d files, %d rows", files, rows)
	}
	if files, bytes, rows := scan([]int{0, 1}, catalog.Predicate{Column: 2, Op: "=", Value: part}); files != 1 || rows != 100 || bytes > all/100 {
		t.Errorf("p = 2 reads %d files, %d of %d bytes, %d rows", files, bytes, all, rows)
	}
	if files, _, rows := scan([]int{0}, catalog.Predicate{Column: 0, Op: ">", Value: long(4 * group)}); files != 1 || rows != 100 {
		t.Errorf("behind the large file: %d files, %d rows", files, rows)
	}
	files, bytes, rows := scan([]int{0, 1}, catalog.Predicate{Column: 0, Op: "=", Value: long(2*group + 5)})
	if files != 1 || rows != group || bytes > all/2 {
		t.Errorf("in the last row group: %d files, %d of %d bytes, %d rows", files, bytes, all, rows)
	}
	if _, one, _ := scan([]int{0}); one > all*2/3 {
		t.Errorf("one column of two reads %d of %d bytes", one, all)
	}
}
