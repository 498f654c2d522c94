package delta

import (
	"context"
	"errors"
	"io/fs"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// ChangeSchema is the schema of a table's change rows.
func ChangeSchema(s types.Schema) types.Schema {
	return append(append(types.Schema{}, s...),
		types.Field{Name: ChangeTypeColumn, Type: types.Of(types.String), Nullable: true},
		types.Field{Name: CommitVersionColumn, Type: types.Of(types.BigInt), Nullable: true},
		types.Field{Name: CommitTimestampColumn, Type: types.Of(types.Timestamp), Nullable: true})
}

// Changes of a file: what the rows of a DataFile are, and when they became so.
func constText(s string) *columnar.Vec {
	return &columnar.Vec{Type: types.Of(types.String), Phys: columnar.PBytes, Const: true, Len: 1, Off: []int32{0, int32(len(s))}, Data: []byte(s)}
}

func constLong(k types.Kind, n int64) *columnar.Vec {
	return &columnar.Vec{Type: types.Of(k), Phys: columnar.PI64, Const: true, Len: 1, I64: []int64{n}}
}

// asChange makes a file's rows change rows of a commit. An empty kind leaves _change_type to the file.
func asChange(f DataFile, kind string, version, ms int64) DataFile {
	f.Version = version
	f.Extra = map[string]*columnar.Vec{CommitVersionColumn: constLong(types.BigInt, version), CommitTimestampColumn: constLong(types.Timestamp, ms*1000)}
	if kind != "" {
		f.Extra[ChangeTypeColumn] = constText(kind)
	}
	return f
}

// Kinds of change rows.
const (
	changeInsert = "insert"
	changeDelete = "delete"
)

// CommitChanges are the files that hold the changes of one commit, in the order in which a stream counts
// them; whole is set if they are read together or not at all. Indexed entries of files that contribute no
// rows (Path empty) keep the count right.
func (l *Log) CommitChanges(version, ms int64, acts []Action) (files []DataFile, whole bool, err error) {
	var merge *CommitInfo
	for _, a := range acts {
		if a.CommitInfo != nil && merge == nil {
			merge = a.CommitInfo
		}
		if a.CDC != nil {
			whole = true
			files = append(files, asChange(DataFile{Path: a.CDC.Path, Values: a.CDC.PartitionValues, Size: a.CDC.Size}, "", version, ms))
		}
	}
	if whole {
		return files, true, nil
	}
	if merge != nil && merge.Operation == "MERGE" && idle(merge.OperationMetrics) {
		return nil, false, nil
	}
	removed := map[string]*Remove{}
	added := map[string]bool{}
	for _, a := range acts {
		if a.Remove != nil && a.Remove.DataChange {
			removed[canonicalPath(a.Remove.Path)] = a.Remove
		}
		if a.Add != nil && a.Add.DataChange {
			added[canonicalPath(a.Add.Path)] = true
		}
	}
	for _, a := range acts {
		switch {
		case a.Add != nil && a.Add.DataChange:
			f := DataFile{Path: a.Add.Path, Values: a.Add.PartitionValues, Size: a.Add.Size, DV: a.Add.DV}
			r := removed[canonicalPath(a.Add.Path)]
			if r == nil {
				files = append(files, asChange(f, changeInsert, version, ms))
				continue
			}
			whole = true
			gone, back, err := l.dvDiff(r.DV, a.Add.DV)
			if err != nil {
				return nil, false, err
			}
			if !gone.IsEmpty() {
				g := f
				g.Keep = gone
				files = append(files, asChange(g, changeDelete, version, ms))
			}
			if !back.IsEmpty() {
				g := f
				g.Keep = back
				files = append(files, asChange(g, changeInsert, version, ms))
			}
		case a.Remove != nil && a.Remove.DataChange && !added[canonicalPath(a.Remove.Path)]:
			var size int64
			if a.Remove.Size != nil {
				size = *a.Remove.Size
			}
			f := DataFile{Path: a.Remove.Path, Values: a.Remove.PartitionValues, Size: size, DV: a.Remove.DV}
			files = append(files, asChange(f, changeDelete, version, ms))
		}
	}
	return files, whole, nil
}

// idle says whether a MERGE changed no row, whatever files it rewrote.
func idle(metrics Pairs) bool {
	for _, k := range []string{"numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"} {
		if v, ok := metrics.Get(k); !ok || v != "0" {
			return false
		}
	}
	return true
}

// dvDiff are the rows that one deletion vector hides and the other does not.
func (l *Log) dvDiff(before, after *DeletionVector) (gone, back *roaring64.Bitmap, err error) {
	a, err := l.readDV(before)
	if err != nil {
		return nil, nil, err
	}
	b, err := l.readDV(after)
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		a = roaring64.New()
	}
	if b == nil {
		b = roaring64.New()
	}
	return roaring64.AndNot(b, a), roaring64.AndNot(a, b), nil
}

// feed is the change rows of a range of versions: a catalog.Table.
type feed struct {
	log      *Log
	snap     *Snapshot
	from, to int64
}

// Changes gives the change rows of versions from..to; to < 0 is the newest. Errors:
// DELTA_CDC_START_VERSION_AFTER_LATEST, DELTA_INVALID_CDC_RANGE; DELTA_MISSING_CHANGE_DATA when it is read.
func (t *Table) Changes(from, to int64) (catalog.Table, error) {
	s, err := t.log.Snapshot()
	if err != nil {
		return nil, err
	}
	if from > s.Version {
		return nil, errs.New("DELTA_CDC_START_VERSION_AFTER_LATEST", "start", from, "latest", s.Version)
	}
	if to < 0 || to > s.Version {
		to = s.Version
	}
	if to < from {
		return nil, errs.New("DELTA_INVALID_CDC_RANGE", "start", from, "end", to)
	}
	return &feed{log: t.log, snap: s, from: from, to: to}, nil
}

// Schema is the table's columns and those of a change.
func (f *feed) Schema() types.Schema { return ChangeSchema(shownSchema(f.snap.Schema)) }

// Scan plans the files of the changes.
func (f *feed) Scan(_ context.Context, s catalog.Scan) ([]columnar.Partition, error) {
	files, err := f.log.changeFiles(f.from, f.to)
	if err != nil {
		return nil, err
	}
	all := ChangeSchema(f.snap.Schema)
	want := all
	if s.Columns != nil {
		want = make(types.Schema, len(s.Columns))
		for i, c := range s.Columns {
			want[i] = all[c]
		}
	}
	return f.snap.NewReader(want).Partitions(files), nil
}

// changeFiles are the files of the changes of a range of versions, all of which must have had the feed.
func (l *Log) changeFiles(from, to int64) ([]DataFile, error) {
	times, err := l.Timestamps(from, to)
	if err != nil {
		return nil, err
	}
	on := false
	if from > 0 {
		before, err := l.At(from - 1)
		if err != nil {
			if before, err = l.At(from); err != nil {
				return nil, err
			}
		}
		on = before.On("delta.enableChangeDataFeed")
	}
	var out []DataFile
	for v := from; v <= to; v++ {
		acts, err := l.readCommit(v)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, l.versionNotFound(v)
		}
		if err != nil {
			return nil, err
		}
		for _, a := range acts {
			if a.Metadata != nil {
				on = a.Metadata.Property("delta.enableChangeDataFeed") == "true"
			}
		}
		if !on {
			return nil, errs.New("DELTA_MISSING_CHANGE_DATA", "startVersion", from, "endVersion", to, "version", v, "key", "delta.enableChangeDataFeed")
		}
		files, _, err := l.CommitChanges(v, times[v], acts)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// AsInsert makes the rows of a file change rows: inserts of a version.
func AsInsert(f DataFile, version, ms int64) DataFile { return asChange(f, changeInsert, version, ms) }
