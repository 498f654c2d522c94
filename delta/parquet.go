package delta

import (
	"context"
	"errors"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sql/types"
)

// readBatch is the number of rows that are handed on at once.
const readBatch = 32768

// columnBatch is some rows of the wanted columns of a data file, null where the file has no such column. First
// is the position of the first row in the whole file.
type columnBatch struct {
	vs    []*columnar.Vec
	first int64
	n     int
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// readColumns reads columns of a Parquet file. want are the columns with the table's types and metadata; they
// are found by field id in mode MapID, else by physical name, exactly or, if only one fits, without regard to
// case. Row groups in which no row passes tests, whose columns are positions in want, are left out. yield
// returns false to stop.
func readColumns(ctx context.Context, fsys vfs.FS, name string, want []types.Field, mode MappingMode, tests []columnar.Test, yield func(columnBatch) bool) error {
	names := codec.ParquetNames{Prefer: true, Loose: true, Name: func(f types.Field) string { return physicalName(f, mode) }}
	if mode == MapID {
		names.ID = func(f types.Field) (int32, bool) {
			id, ok := metaInt(f, keyMappingID)
			return int32(id), ok
		}
	}
	in := codec.Input{Path: name, Open: func() (codec.File, error) { return fsys.Open(name) }}
	err := codec.ReadParquetColumns(ctx, in, want, names, tests, func(vs []*columnar.Vec, first int64, n int) error {
		if !yield(columnBatch{vs, first, n}) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// nullVec is n nulls.
func nullVec(t types.DataType, n int) *columnar.Vec { return codec.NullVec(t, n) }

// partitionVec is a partition value as a constant of the column's type: null and the empty text are null.
// Timestamps without a zone are local times of zone.
func partitionVec(t types.DataType, value *string, zone *time.Location) (*columnar.Vec, error) {
	null := value == nil || *value == "" || t.Kind == types.Null
	text := ""
	if !null {
		text = *value
	}
	if t.Kind == types.Null {
		v := nullVec(t, 1)
		v.Const = true
		return v, nil
	}
	if !null && t.Kind == types.Binary {
		v := &columnar.Vec{Type: t, Phys: columnar.PBytes, Const: true, Len: 1, Off: []int32{0, int32(len(text))}, Data: []byte(text)}
		return v, nil
	}
	if zone == nil {
		zone = time.UTC
	}
	v, ok := codec.Constant(t, text, null, zone)
	if !ok {
		return nil, errs.New("DELTA_PARTITION_VALUE_UNREADABLE", "value", text, "dataType", t.SQL())
	}
	v.Const = true
	return v, nil
}
