package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Small partitions have files of their own, large ones share those of a worker; the rows of a folder are in one
// file of each, however they come, and all of them are there.
func TestFilesOfPartitions(t *testing.T) {
	schema := types.Schema{{Name: "a", Type: types.Of(types.BigInt), Nullable: true}, {Name: "p", Type: types.Of(types.BigInt), Nullable: true}}
	for _, c := range []struct{ parts, rows, most int }{{5, 100, 10}, {6, columnar.HeldRows + 1000, 4}} {
		dir := t.TempDir()
		var parts []columnar.Partition
		for k := range c.parts {
			a, p := make([]int64, c.rows), make([]int64, c.rows)
			for i := range a {
				a[i], p[i] = int64(k*c.rows+i), int64(i%2)
			}
			va := &columnar.Vec{Type: schema[0].Type, Phys: columnar.PI64, I64: a, Len: c.rows}
			vp := &columnar.Vec{Type: schema[1].Type, Phys: columnar.PI64, I64: p, Len: c.rows}
			rb := columnar.RecordOf(schema, []*columnar.Vec{va, vp}, columnar.AllRows(c.rows))
			parts = append(parts, columnar.Batches{List: []arrow.RecordBatch{rb}})
		}
		def := sinks.Def{Path: dir, Format: "csv", Schema: schema, PartitionBy: []string{"p"}, Options: sources.Options{}}
		if err := Write(context.Background(), def, parts, false); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		files, err := filepath.Glob(filepath.Join(dir, "p=*", "*.csv"))
		if err != nil || len(files) == 0 || len(files) > c.most || c.most == 10 && len(files) != 10 {
			t.Errorf("%d partitions of %d rows make %d files, %v", c.parts, c.rows, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range strings.Fields(string(text)) {
				got[filepath.Base(filepath.Dir(f))+" "+l]++
			}
		}
		for i := range c.parts * c.rows {
			if k := fmt.Sprintf("p=%d %d", i%c.rows%2, i); got[k] != 1 {
				t.Fatalf("row %s is there %d times", k, got[k])
			}
		}
	}
}
