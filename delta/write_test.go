package delta

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

func intsAndTexts(ids []int32, texts []string) columnar.Partition {
	a := columnar.NewVec(types.Of(types.Int), len(ids))
	copy(a.I32, ids)
	b := columnar.NewVec(types.Of(types.String), len(ids))
	b.MakeValid(len(ids))
	for i, s := range texts {
		if s == "NULL" {
			columnar.ClearBit(b.Valid, i)
			s = ""
		}
		b.Data = append(b.Data, s...)
		b.Off[i+1] = int32(len(b.Data))
	}
	s := types.Schema{{Name: "id", Type: a.Type, Nullable: true}, {Name: "p", Type: b.Type, Nullable: true}}
	batches := columnar.Batches{Name: "rows"}
	batches.List = append(batches.List, columnar.RecordOf(s, []*columnar.Vec{a, b}, columnar.AllRows(len(ids))))
	return batches
}

func newTable(t *testing.T, parts []string, props map[string]string) *Table {
	t.Helper()
	p := &Provider{}
	def := catalog.Definition{Name: "t", Location: filepath.Join(t.TempDir(), "t"), PartitionBy: parts, Properties: props,
		Columns: types.Schema{{Name: "id", Type: types.Of(types.Int), Nullable: true}, {Name: "p", Type: types.Of(types.String), Nullable: true}}}
	table, err := p.Create(context.Background(), catalog.Creation{Definition: def})
	if err != nil {
		t.Fatal(err)
	}
	return table.(*Table)
}

func insert(t *testing.T, table *Table, ids []int32, texts []string) {
	t.Helper()
	if err := table.Insert(context.Background(), catalog.Insertion{Rows: []columnar.Partition{intsAndTexts(ids, texts)}}); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, table *Table) string {
	t.Helper()
	s, err := table.log.load(-1) // from the files, not from what is remembered
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(snapshotRows(t, s, time.UTC), " ")
}

func TestPartitionValuesSurviveTheirFolders(t *testing.T) {
	table := newTable(t, []string{"p"}, nil)
	odd := []string{"a/b", "x y", "10:00", "bar+%21", "NULL", "a/../../b", "é", "..", "plain"}
	ids := make([]int32, len(odd))
	for i := range ids {
		ids[i] = int32(i)
	}
	insert(t, table, ids, odd)
	got := rowsOf(t, table)
	for i, v := range odd {
		if want := string(rune('0'+i)) + "|" + v; !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	above, _ := os.ReadDir(filepath.Dir(table.log.Root))
	if len(above) != 1 {
		t.Errorf("files beside the table: %v", above)
	}
}

func TestDeleteRewritesOrHides(t *testing.T) {
	for _, props := range []map[string]string{nil, {"delta.enableDeletionVectors": "true"}, {"delta.columnMapping.mode": "name"},
		{"delta.enableChangeDataFeed": "true"}} {
		table := newTable(t, nil, props)
		insert(t, table, []int32{1, 2, 3, 4}, []string{"a", "b", "c", "d"})
		for _, gone := range []uint32{1, 1} {
			tx, err := table.Begin(context.Background(), catalog.Intent{Operation: "DELETE", Predicate: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(context.Background(), catalog.Outcome{Deleted: []catalog.Deletion{{File: 0, Rows: []uint32{gone}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := rowsOf(t, table); got != "1|a 4|d" {
			t.Errorf("%v: %s", props, got)
		}
		s, _ := table.log.Snapshot()
		if hidden := s.Files()[0].DV != nil; hidden != (props["delta.enableDeletionVectors"] != "") {
			t.Errorf("%v: deletion vector: %v", props, hidden)
		}
	}
}

func TestCheckpointHoldsTheState(t *testing.T) {
	table := newTable(t, []string{"p"}, map[string]string{"delta.checkpointInterval": "3", "mine": "1"})
	for i := int32(0); i < 7; i++ {
		insert(t, table, []int32{i}, []string{"a"})
	}
	if _, err := os.Stat(filepath.Join(table.log.dir(), "00000000000000000006.checkpoint.parquet")); err != nil {
		t.Fatal(err)
	}
	for v := 0; v < 6; v++ {
		if err := os.Remove(table.log.CommitPath(int64(v))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(table.log.dir(), "00000000000000000003.checkpoint.parquet")); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, table); got != "0|a 1|a 2|a 3|a 4|a 5|a 6|a" {
		t.Error(got)
	}
	if _, err := Open(table.log.Root).At(3); !errs.Has(err, "DELTA_VERSION_NOT_FOUND") && !errs.Has(err, "DELTA_TRUNCATED_TRANSACTION_LOG") {
		t.Error(err)
	}
}

func TestConflicts(t *testing.T) {
	table := newTable(t, nil, nil)
	insert(t, table, []int32{1, 2}, []string{"a", "b"})
	begin := func() catalog.Transaction {
		tx, err := table.Begin(context.Background(), catalog.Intent{Operation: "DELETE"})
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	drop := catalog.Outcome{Deleted: []catalog.Deletion{{File: 0, Rows: []uint32{0}}}}
	a, b := begin(), begin()
	if err := a.Commit(context.Background(), drop); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(context.Background(), drop); !errs.Has(err, "DELTA_CONCURRENT_APPEND") {
		t.Errorf("two deletes: %v", err)
	}
	c := begin()
	insert(t, table, []int32{3}, []string{"c"})
	if err := c.Commit(context.Background(), drop); !errs.Has(err, "DELTA_CONCURRENT_APPEND") {
		t.Errorf("delete over an append: %v", err)
	}
	if got := rowsOf(t, table); got != "2|b 3|c" {
		t.Error(got)
	}
	x, _ := table.log.Begin()
	y, _ := table.log.Begin()
	for _, tx := range []*Txn{x, y} {
		if err := tx.CommitWrite(context.Background(), []columnar.Partition{intsAndTexts([]int32{9}, []string{"z"})}, WriteCommit{Mode: "Append"}); err != nil {
			t.Errorf("two appends: %v", err)
		}
	}
}

func TestHostileLogsReadNothingOutside(t *testing.T) {
	for _, path := range []string{"/etc/passwd", "../../secret.parquet", "file:///etc/passwd", "a/../../../x", "s3://bucket/x", "%2e%2e/%2e%2e/x"} {
		table := newTable(t, nil, nil)
		line := `{"add":{"path":"` + path + `","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}` + "\n"
		if err := os.WriteFile(table.log.CommitPath(1), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(table.log.Root).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range s.Files() {
			for _, err := range s.NewReader(s.Schema).Partitions([]DataFile{s.DataFileOf(a)})[0].Rows(context.Background()) {
				if !errs.Has(err, "DELTA_PATH_OUTSIDE_TABLE") {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
}

func FuzzLogLine(f *testing.F) {
	f.Add(`{"add":{"path":"a","partitionValues":{"p":null},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}"}}`)
	f.Add(`{"metaData":{"id":"x","format":{},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}`)
	f.Add(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[]}}`)
	f.Add(`{"remove":{"path":"%41","deletionVector":{"storageType":"i","pathOrInlineDv":"abc","sizeInBytes":3,"cardinality":1}}}`)
	l := Open(f.TempDir())
	f.Fuzz(func(t *testing.T, line string) {
		acts, err := decodeActions("x", []byte(line))
		if err != nil {
			return
		}
		b := builderOf(nil)
		if b.apply(0, acts) != nil {
			return
		}
		for _, a := range b.files {
			a.stats()
			_, _ = l.readDV(a.DV)
			_, _ = l.resolve(a.Path)
		}
		_, _ = b.finish(l)
	})
}
