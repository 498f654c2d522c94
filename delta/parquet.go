package delta

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sql/types"
)

// readBatch is the number of rows that are decoded at once.
const readBatch = 32768

// columnBatch is some rows of the wanted columns of a data file: vs in the order asked for, nil where the
// file has no such column. First is the position of the first row in the whole file.
type columnBatch struct {
	vs    []*columnar.Vec
	first int64
	n     int
}

// readColumns reads columns of a Parquet file. want are the columns with the table's types and metadata;
// they are found by field id in mode MapID, else by physical name, exactly or, if only one fits, without
// regard to case. yield returns false to stop.
func readColumns(ctx context.Context, fsys vfs.FS, name string, want []types.Field, mode MappingMode, yield func(columnBatch) bool) error {
	r, c, err := openParquet(fsys, name)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = guardParquet(func() (struct{}, error) { return struct{}{}, readGroups(ctx, r, want, mode, yield) })
	return err
}

// findField gives the position among the children of a group of the column f; -1 if it has none.
func findField(g *pqschema.GroupNode, f types.Field, mode MappingMode) (int, error) {
	if mode == MapID {
		id, ok := metaInt(f, keyMappingID)
		if ok {
			any := false
			for i := 0; i < g.NumFields(); i++ {
				fid := g.Field(i).FieldID()
				if int64(fid) == id {
					return i, nil
				}
				any = any || fid >= 0
			}
			if !any && g.NumFields() > 0 {
				return -1, errors.New("the table maps columns by field id, but the file has no field ids")
			}
			return -1, nil
		}
	}
	name := physicalName(f, mode)
	found := -1
	for i := 0; i < g.NumFields(); i++ {
		n := g.Field(i).Name()
		if n == name {
			return i, nil
		}
		if strings.EqualFold(n, name) {
			if found >= 0 {
				found = -2
			} else if found == -1 {
				found = i
			}
		}
	}
	return max(found, -1), nil
}

func readGroups(ctx context.Context, r *file.Reader, want []types.Field, mode MappingMode, yield func(columnBatch) bool) error {
	meta := r.MetaData()
	root := meta.Schema.Root()
	at := make([]int, len(want)) // root field of each wanted column
	used := map[int]bool{}
	for i, f := range want {
		at[i] = -1
		if f.Type.Kind == types.Null {
			continue
		}
		k, err := findField(root, f, mode)
		if err != nil {
			return err
		}
		if at[i] = k; k >= 0 {
			used[k] = true
		}
	}
	// INT96 columns are decoded by hand: the library counts nanoseconds, which end in the year 2262.
	var leaves []int
	byHand := map[int]int{} // root field to leaf
	for i := 0; i < meta.Schema.NumColumns(); i++ {
		k := root.FieldIndexByField(meta.Schema.ColumnRoot(i))
		if !used[k] {
			continue
		}
		col := meta.Schema.Column(i)
		if len(col.ColumnPath()) == 1 && col.PhysicalType() == parquet.Types.Int96 {
			byHand[k] = i
			continue
		}
		leaves = append(leaves, i)
	}
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: readBatch}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	var first int64
	for g := 0; g < r.NumRowGroups(); g++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := meta.RowGroup(g).NumRows()
		stamps := map[int]*columnar.Vec{}
		for k, leaf := range byHand {
			if stamps[k], err = readInt96(r.RowGroup(g), leaf, rows); err != nil {
				return err
			}
		}
		fill := func(b *columnBatch, rec arrow.RecordBatch, done int64) error {
			for i, f := range want {
				if at[i] < 0 {
					continue
				}
				if s := stamps[at[i]]; s != nil {
					v := s.View(int(done), int(done)+b.n)
					w, err := retype(&v, f.Type)
					if err != nil {
						return err
					}
					b.vs[i] = w
					continue
				}
				name := root.Field(at[i]).Name()
				k := rec.Schema().FieldIndices(name)
				if len(k) == 0 {
					continue
				}
				v, err := fromFile(rec.Column(k[0]), f.Type, mode)
				if err != nil {
					return fmt.Errorf("column %s: %w", f.Name, err)
				}
				b.vs[i] = v
			}
			return nil
		}
		if len(leaves) == 0 {
			for done := int64(0); done < rows; {
				b := columnBatch{vs: make([]*columnar.Vec, len(want)), first: first + done, n: int(min(rows-done, readBatch))}
				if err := fill(&b, nil, done); err != nil {
					return err
				}
				done += int64(b.n)
				if !yield(b) {
					return nil
				}
			}
			first += rows
			continue
		}
		rr, err := fr.GetRecordReader(ctx, leaves, []int{g})
		if err != nil {
			return err
		}
		done := int64(0)
		for rr.Next() {
			rec := rr.RecordBatch()
			b := columnBatch{vs: make([]*columnar.Vec, len(want)), first: first + done, n: int(rec.NumRows())}
			if err := fill(&b, rec, done); err != nil {
				return err
			}
			done += rec.NumRows()
			if !yield(b) {
				return nil
			}
		}
		if err := rr.Err(); err != nil && err != io.EOF {
			return err
		}
		if done != rows {
			return fmt.Errorf("row group %d has %d rows, %d were promised", g, done, rows)
		}
		first += rows
	}
	return nil
}

const julianEpoch = 2440588 // 1970-01-01

func readInt96(g *file.RowGroupReader, leaf int, rows int64) (*columnar.Vec, error) {
	cr, err := g.Column(leaf)
	if err != nil {
		return nil, err
	}
	r, ok := cr.(*file.Int96ColumnChunkReader)
	if !ok {
		return nil, errors.New("an INT96 column is expected")
	}
	v := columnar.NewVec(types.Of(types.Timestamp), int(rows))
	v.MakeValid(int(rows))
	optional := cr.Descriptor().MaxDefinitionLevel() > 0
	vals := make([]parquet.Int96, 4096)
	def := make([]int16, 4096)
	at := 0
	for at < int(rows) && r.HasNext() {
		n := min(4096, int(rows)-at)
		total, read, err := r.ReadBatch(int64(n), vals, def, nil)
		if err != nil {
			return nil, err
		}
		if total == 0 {
			break
		}
		k := 0
		for i := 0; i < int(total); i++ {
			if optional && def[i] == 0 {
				columnar.ClearBit(v.Valid, at+i)
				continue
			}
			if k >= read {
				return nil, errors.New("an INT96 column is cut")
			}
			v.I64[at+i] = int96Micros(vals[k])
			k++
		}
		at += int(total)
	}
	if at != int(rows) {
		return nil, errors.New("an INT96 column is cut")
	}
	return v, nil
}

func int96Micros(x parquet.Int96) int64 {
	var nanos uint64
	for i := 7; i >= 0; i-- {
		nanos = nanos<<8 | uint64(x[i])
	}
	day := int64(uint32(x[8]) | uint32(x[9])<<8 | uint32(x[10])<<16 | uint32(x[11])<<24)
	return (day-julianEpoch)*86400_000000 + floorDiv(int64(nanos), 1000)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fromFile sees a column of a file as a vector of the table's type: struct fields are found as columns are,
// missing ones are null, narrower types are widened.
func fromFile(a arrow.Array, t types.DataType, mode MappingMode) (*columnar.Vec, error) {
	if d, ok := a.(*array.Dictionary); ok {
		_ = d
		return nil, errors.New("dictionary arrays are not expected")
	}
	switch t.Kind {
	case types.Struct:
		s, ok := a.(*array.Struct)
		if !ok {
			return nil, notReadable(a, t)
		}
		v := &columnar.Vec{Type: t, Phys: columnar.PStruct, Len: s.Len(), Valid: validOf(a)}
		st := s.DataType().(*arrow.StructType)
		for _, f := range t.Fields {
			k := findArrow(st, f, mode)
			if k < 0 {
				v.Kids = append(v.Kids, nullVec(f.Type, s.Len()))
				continue
			}
			kid, err := fromFile(s.Field(k), f.Type, mode)
			if err != nil {
				return nil, err
			}
			v.Kids = append(v.Kids, kid)
		}
		return v, nil
	case types.Array:
		l, ok := a.(*array.List)
		if !ok {
			return nil, notReadable(a, t)
		}
		kid, err := fromFile(l.ListValues(), *t.Elem, mode)
		if err != nil {
			return nil, err
		}
		return &columnar.Vec{Type: t, Phys: columnar.PList, Len: l.Len(), Valid: validOf(a), Off: offsetsOf(l.Offsets(), l.Data().Offset(), l.Len()),
			Kids: []*columnar.Vec{kid}}, nil
	case types.Map:
		m, ok := a.(*array.Map)
		if !ok {
			return nil, notReadable(a, t)
		}
		k, err := fromFile(m.Keys(), *t.Key, mode)
		if err != nil {
			return nil, err
		}
		e, err := fromFile(m.Items(), *t.Elem, mode)
		if err != nil {
			return nil, err
		}
		return &columnar.Vec{Type: t, Phys: columnar.PMap, Len: m.Len(), Valid: validOf(a), Off: offsetsOf(m.Offsets(), m.Data().Offset(), m.Len()),
			Kids: []*columnar.Vec{k, e}}, nil
	case types.Null:
		return nullVec(t, a.Len()), nil
	}
	from, err := arrowKind(a.DataType())
	if err != nil {
		return nil, err
	}
	if ts, ok := a.DataType().(*arrow.TimestampType); ok && ts.Unit != arrow.Microsecond {
		v := columnar.FromArrow(a, from)
		w := *v
		w.I64 = make([]int64, len(v.I64))
		for i, x := range v.I64 {
			switch ts.Unit {
			case arrow.Second:
				w.I64[i] = x * 1_000_000
			case arrow.Millisecond:
				w.I64[i] = x * 1000
			case arrow.Nanosecond:
				w.I64[i] = floorDiv(x, 1000)
			}
		}
		return retype(&w, t)
	}
	if from.Equal(t) {
		return columnar.FromArrow(a, t), nil
	}
	return retype(columnar.FromArrow(a, from), t)
}

func notReadable(a arrow.Array, t types.DataType) error {
	return fmt.Errorf("a column of type %s cannot be read as %s", a.DataType(), t.SQL())
}

func findArrow(st *arrow.StructType, f types.Field, mode MappingMode) int {
	if mode == MapID {
		if id, ok := metaInt(f, keyMappingID); ok {
			for i, x := range st.Fields() {
				if v, ok := x.Metadata.GetValue("PARQUET:field_id"); ok && v == strconv.FormatInt(id, 10) {
					return i
				}
			}
			return -1
		}
	}
	name := physicalName(f, mode)
	found := -1
	for i, x := range st.Fields() {
		if x.Name == name {
			return i
		}
		if strings.EqualFold(x.Name, name) {
			if found != -1 {
				found = -2
			} else {
				found = i
			}
		}
	}
	return max(found, -1)
}

func validOf(a arrow.Array) []uint64 {
	if a.NullN() == 0 {
		return nil
	}
	n := a.Len()
	out := make([]uint64, columnar.Words(n))
	for i := 0; i < n; i++ {
		if a.IsValid(i) {
			columnar.SetBit(out, i)
		}
	}
	return out
}

func offsetsOf(all []int32, off, n int) []int32 {
	if len(all) >= off+n+1 {
		return all[off : off+n+1]
	}
	if len(all) == n+1 {
		return all
	}
	return make([]int32, n+1)
}

// nullVec is n nulls.
func nullVec(t types.DataType, n int) *columnar.Vec {
	v := columnar.NewVec(t, n)
	v.Valid = make([]uint64, columnar.Words(n))
	return v
}

// arrowKind is the data type whose vectors hold values of an Arrow type.
func arrowKind(t arrow.DataType) (types.DataType, error) {
	switch x := t.(type) {
	case *arrow.BooleanType:
		return types.Of(types.Boolean), nil
	case *arrow.Int8Type:
		return types.Of(types.TinyInt), nil
	case *arrow.Int16Type:
		return types.Of(types.SmallInt), nil
	case *arrow.Int32Type:
		return types.Of(types.Int), nil
	case *arrow.Int64Type:
		return types.Of(types.BigInt), nil
	case *arrow.Float32Type:
		return types.Of(types.Float), nil
	case *arrow.Float64Type:
		return types.Of(types.Double), nil
	case *arrow.StringType:
		return types.Of(types.String), nil
	case *arrow.BinaryType:
		return types.Of(types.Binary), nil
	case *arrow.Date32Type:
		return types.Of(types.Date), nil
	case *arrow.Decimal128Type:
		return types.DecimalOf(x.Precision, x.Scale), nil
	case *arrow.TimestampType:
		if x.TimeZone == "" {
			return types.Of(types.TimestampNTZ), nil
		}
		return types.Of(types.Timestamp), nil
	}
	return types.DataType{}, fmt.Errorf("columns of type %s cannot be read", t)
}

// retype makes a vector of a file's type one of the table's type: the same values in a wider type.
func retype(v *columnar.Vec, t types.DataType) (*columnar.Vec, error) {
	from := v.Type
	if from.Equal(t) {
		return v, nil
	}
	w := &columnar.Vec{Type: t, Phys: columnar.PhysicalOf(t), Len: v.Len, Valid: v.Valid}
	bytesKind := func(k types.Kind) bool { return k == types.String || k == types.Binary }
	ints := func() ([]int64, bool) {
		out := make([]int64, v.Len)
		switch v.Phys {
		case columnar.PI8:
			for i, x := range v.I8[:v.Len] {
				out[i] = int64(x)
			}
		case columnar.PI16:
			for i, x := range v.I16[:v.Len] {
				out[i] = int64(x)
			}
		case columnar.PI32:
			for i, x := range v.I32[:v.Len] {
				out[i] = int64(x)
			}
		case columnar.PI64:
			copy(out, v.I64)
		default:
			return nil, false
		}
		return out, from.IsIntegral()
	}
	switch {
	case bytesKind(from.Kind) && bytesKind(t.Kind):
		x := *v
		x.Type = t
		return &x, nil
	case from.Kind == types.Timestamp && t.Kind == types.TimestampNTZ, from.Kind == types.TimestampNTZ && t.Kind == types.Timestamp:
		w.I64 = v.I64
		return w, nil
	case t.IsIntegral():
		xs, ok := ints()
		if !ok {
			break
		}
		return fromInts(w, xs)
	case t.Kind == types.Double && (from.IsIntegral() && from.Kind != types.BigInt || from.Kind == types.Float):
		w.F64 = make([]float64, v.Len)
		if from.Kind == types.Float {
			for i, x := range v.F32[:v.Len] {
				w.F64[i] = float64(x)
			}
			return w, nil
		}
		xs, _ := ints()
		for i, x := range xs {
			w.F64[i] = float64(x)
		}
		return w, nil
	case t.Kind == types.TimestampNTZ && from.Kind == types.Date:
		w.I64 = make([]int64, v.Len)
		for i, x := range v.I32[:v.Len] {
			w.I64[i] = int64(x) * 86400_000000
		}
		return w, nil
	case t.Kind == types.Decimal && from.IsIntegral():
		xs, _ := ints()
		w.Dec = make([]decimal128.Num, v.Len)
		for i, x := range xs {
			w.Dec[i] = decimal128.FromI64(x).IncreaseScaleBy(t.Scale)
		}
		return w, nil
	case t.Kind == types.Decimal && from.Kind == types.Decimal && t.Scale >= from.Scale && t.Precision-t.Scale >= from.Precision-from.Scale:
		w.Dec = make([]decimal128.Num, v.Len)
		for i, x := range v.Dec[:v.Len] {
			w.Dec[i] = x.IncreaseScaleBy(t.Scale - from.Scale)
		}
		return w, nil
	}
	return nil, fmt.Errorf("a column of type %s cannot be read as %s", from.SQL(), t.SQL())
}

func fromInts(w *columnar.Vec, xs []int64) (*columnar.Vec, error) {
	out := func(x int64, lo, hi int64, i int) bool {
		return (x < lo || x > hi) && (w.Valid == nil || columnar.GetBit(w.Valid, i))
	}
	switch w.Phys {
	case columnar.PI8:
		w.I8 = make([]int8, len(xs))
		for i, x := range xs {
			if out(x, math.MinInt8, math.MaxInt8, i) {
				return nil, errors.New("a value does not fit TINYINT")
			}
			w.I8[i] = int8(x)
		}
	case columnar.PI16:
		w.I16 = make([]int16, len(xs))
		for i, x := range xs {
			if out(x, math.MinInt16, math.MaxInt16, i) {
				return nil, errors.New("a value does not fit SMALLINT")
			}
			w.I16[i] = int16(x)
		}
	case columnar.PI32:
		w.I32 = make([]int32, len(xs))
		for i, x := range xs {
			if out(x, math.MinInt32, math.MaxInt32, i) {
				return nil, errors.New("a value does not fit INT")
			}
			w.I32[i] = int32(x)
		}
	default:
		w.I64 = xs
	}
	return w, nil
}

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
