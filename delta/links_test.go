package delta

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/errs"
)

// A data file that a link of the table's folder leads to elsewhere is not the table's; links inside the folder
// are followed.
func TestLinksOutOfATableAreNotRead(t *testing.T) {
	for _, whole := range []bool{false, true} {
		table := newTable(t, []string{"p"}, nil)
		insert(t, table, []int32{1}, []string{"x"})
		root := table.log.Root
		if err := os.Rename(filepath.Join(root, "p=x"), filepath.Join(root, "kept")); err != nil {
			t.Fatal(err)
		}
		elsewhere := t.TempDir()
		to := filepath.Join(root, "kept")
		if whole {
			if err := os.Rename(to, filepath.Join(elsewhere, "kept")); err != nil {
				t.Fatal(err)
			}
			to = filepath.Join(elsewhere, "kept")
		}
		if err := os.Symlink(to, filepath.Join(root, "p=x")); err != nil {
			t.Fatal(err)
		}
		s, err := Open(root).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, a := range s.Files() {
			for rb, e := range s.NewReader(s.Schema).Partitions([]DataFile{s.DataFileOf(a)})[0].Rows(context.Background()) {
				if err = e; e == nil {
					rows += int(rb.NumRows())
				}
			}
		}
		if whole && !errs.Has(err, "DELTA_PATH_OUTSIDE_TABLE") || !whole && (err != nil || rows != 1) {
			t.Errorf("outside %v: %d rows, %v", whole, rows, err)
		}
	}
}

func TestNothingIsWrittenThroughLinksOfATable(t *testing.T) {
	table := newTable(t, []string{"p"}, nil)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(table.log.Root, "p=x")); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{"x": "OUTPUT_THROUGH_LINK", strings.Repeat("y", 300): "PARTITION_VALUE_TOO_LONG"} {
		x, err := table.log.Begin()
		if err != nil {
			t.Fatal(err)
		}
		err = x.CommitWrite(context.Background(), []columnar.Partition{intsAndTexts([]int32{1}, []string{value})}, WriteCommit{Mode: "Append"})
		if !errs.Has(err, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}
