package delta

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// numbers is a partition of n rows from a number, in batches.
type numbers struct{ from, n int }

func (p numbers) String() string { return "numbers" }

func (p numbers) Rows(context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for at := 0; at < p.n; at += 1000 {
			v := columnar.NewVec(types.Of(types.BigInt), min(1000, p.n-at))
			for i := range v.I64 {
				v.I64[i] = int64(p.from + at + i)
			}
			if !yield(columnar.RecordOf(idSchema, []*columnar.Vec{v}, columnar.AllRows(v.Len)), nil) {
				return
			}
		}
	}
}

var idSchema = types.Schema{{Name: "id", Type: types.Of(types.BigInt), Nullable: true}}

// Small partitions share a file, in their order; large ones have a file for each worker. No row is lost.
func TestWriteOfManyPartitions(t *testing.T) {
	for _, size := range []int{0, 10, columnar.HeldRows, columnar.HeldRows + 1, 3 * columnar.HeldRows} {
		l := Open(t.TempDir())
		txn, err := l.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := txn.Change(func(m *Metadata, _ types.Schema) types.Schema { return idSchema }); err != nil {
			t.Fatal(err)
		}
		var parts []columnar.Partition
		for i := range 4 {
			parts = append(parts, numbers{i * size, size})
		}
		w, err := txn.Write(context.Background(), parts, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := txn.Commit(Operation{Name: "WRITE"}, w.Actions()); err != nil {
			t.Fatal(err)
		}
		most := workers(parts) // a quick worker may take the partitions of a slow one too
		if size <= columnar.HeldRows {
			most = 1
		}
		if len(w.Adds) > most {
			t.Errorf("%d rows a partition: %d files", size, len(w.Adds))
		}
		s, err := l.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]int{}
		last := int64(-1)
		for _, p := range s.NewReader(idSchema).Partitions(filesOf(s)) {
			for rb, err := range p.Rows(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range columnar.FromArrow(rb.Column(0), idSchema[0].Type).I64 {
					seen[x]++
					if len(w.Adds) == 1 && x != last+1 {
						t.Fatalf("%d follows %d", x, last)
					}
					last = x
				}
			}
		}
		if len(seen) != 4*size || w.Rows != int64(4*size) {
			t.Errorf("%d rows a partition: %d different, %d written", size, len(seen), w.Rows)
		}
		for x, n := range seen {
			if n != 1 {
				t.Fatal(fmt.Sprint(x, " is there ", n, " times"))
			}
		}
	}
}

func filesOf(s *Snapshot) []DataFile {
	var out []DataFile
	for _, a := range s.Files() {
		out = append(out, s.DataFileOf(a))
	}
	return out
}
