package delta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"streamlab/internal/vfs"
)

// checkpointColumns are the columns of a checkpoint that are read.
var checkpointColumns = map[string]bool{"txn": true, "add": true, "remove": true, "metaData": true, "protocol": true,
	"domainMetadata": true, "sidecar": true, "checkpointMetadata": true}

// readCheckpoint adds the state of a checkpoint to b. What it is is decided by content: a file may name
// sidecars whatever it is called.
func (l *Log) readCheckpoint(c checkpointFile, b *builder) error {
	var sidecars []*Sidecar
	for _, f := range c.files {
		more, err := l.readCheckpointFile(f, b)
		if err != nil {
			return err
		}
		sidecars = append(sidecars, more...)
	}
	for _, s := range sidecars {
		name := decodePath(s.Path)
		if !strings.Contains(name, "/") {
			name = LogDir + "/_sidecars/" + name
		}
		p, err := l.reading(encodePath(name))
		if err != nil {
			return err
		}
		if more, err := l.readCheckpointFile(p, b); err != nil {
			return err
		} else if len(more) > 0 {
			return errors.New("a sidecar names further sidecars")
		}
	}
	return nil
}

func (l *Log) readCheckpointFile(name string, b *builder) ([]*Sidecar, error) {
	var sidecars []*Sidecar
	take := func(a *Action) {
		switch {
		case a.Sidecar != nil:
			sidecars = append(sidecars, a.Sidecar)
		case a.Remove != nil:
			b.removes[fileKey{canonicalPath(a.Remove.Path), a.Remove.DV.id()}] = a.Remove
		default:
			b.one(a)
		}
	}
	if filepath.Ext(name) == ".json" {
		data, err := vfs.ReadFile(l.FS, name)
		if err != nil {
			return nil, err
		}
		acts, err := decodeActions(filepath.Base(name), data)
		for i := range acts {
			take(&acts[i])
		}
		return sidecars, err
	}
	return sidecars, l.readParquetActions(name, take)
}

// openParquet opens a Parquet file; the caller closes what it gets.
func openParquet(fsys vfs.FS, name string) (*file.Reader, io.Closer, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	r, err := guardParquet(func() (*file.Reader, error) {
		return file.NewParquetReader(io.NewSectionReader(f, 0, info.Size()))
	})
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, f, nil
}

// guardParquet turns a panic of the decoder over bytes that are no Parquet into an error.
func guardParquet[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the file is no Parquet that can be read: " + toText(r))
		}
	}()
	return f()
}

func toText(r any) string {
	if e, ok := r.(error); ok {
		return e.Error()
	}
	if s, ok := r.(string); ok {
		return s
	}
	return "unexpected content"
}

func (l *Log) readParquetActions(name string, take func(*Action)) error {
	r, c, err := openParquet(l.FS, name)
	if err != nil {
		return err
	}
	defer c.Close()
	read := func(skipStats bool) error {
		_, err := guardParquet(func() (struct{}, error) { return struct{}{}, readActionRows(r, skipStats, take) })
		return err
	}
	var kept []*Action
	orig := take
	take = func(a *Action) { kept = append(kept, a) }
	if err := read(false); err != nil {
		kept = nil // typed statistics may hold what cannot be read, such as times out of range
		if err := read(true); err != nil {
			return err
		}
	}
	for _, a := range kept {
		orig(a)
	}
	return nil
}

func readActionRows(r *file.Reader, skipStats bool, take func(*Action)) error {
	var leaves []int
	sc := r.MetaData().Schema
	for i := 0; i < sc.NumColumns(); i++ {
		p := sc.Column(i).ColumnPath()
		if !checkpointColumns[p[0]] || skipStats && len(p) > 1 && p[1] == "stats_parsed" {
			continue
		}
		leaves = append(leaves, i)
	}
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 8192}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	rr, err := fr.GetRecordReader(context.Background(), leaves, nil)
	if err != nil {
		return err
	}
	defer rr.Release()
	for rr.Next() {
		rec := rr.RecordBatch()
		cols := map[string]*array.Struct{}
		for i, f := range rec.Schema().Fields() {
			if s, ok := rec.Column(i).(*array.Struct); ok {
				cols[f.Name] = s
			}
		}
		for i := 0; i < int(rec.NumRows()); i++ {
			if a := actionOf(cols, i); a != nil {
				take(a)
			}
		}
	}
	if err := rr.Err(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// row is one row of a struct column, read by field name; absent fields are null.
type row struct {
	s *array.Struct
	i int
}

func (r row) field(name string) arrow.Array {
	if r.s == nil {
		return nil
	}
	i, ok := r.s.DataType().(*arrow.StructType).FieldIdx(name)
	if !ok {
		return nil
	}
	a := r.s.Field(i)
	if a.IsNull(r.i) {
		return nil
	}
	return a
}

func (r row) text(name string) string {
	s, _ := r.textOK(name)
	return s
}

func (r row) textOK(name string) (string, bool) {
	switch a := r.field(name).(type) {
	case *array.String:
		return strings.Clone(a.Value(r.i)), true
	case *array.Binary:
		return string(a.Value(r.i)), true
	case *array.LargeString:
		return strings.Clone(a.Value(r.i)), true
	}
	return "", false
}

func (r row) textPtr(name string) *string {
	if s, ok := r.textOK(name); ok {
		return &s
	}
	return nil
}

func (r row) num(name string) int64 {
	if n := r.numPtr(name); n != nil {
		return *n
	}
	return 0
}

func (r row) numPtr(name string) *int64 {
	var n int64
	switch a := r.field(name).(type) {
	case *array.Int64:
		n = a.Value(r.i)
	case *array.Int32:
		n = int64(a.Value(r.i))
	case *array.Int16:
		n = int64(a.Value(r.i))
	case *array.Int8:
		n = int64(a.Value(r.i))
	default:
		return nil
	}
	return &n
}

func (r row) flag(name string) bool {
	a, ok := r.field(name).(*array.Boolean)
	return ok && a.Value(r.i)
}

func (r row) list(name string) []string {
	a, ok := r.field(name).(*array.List)
	if !ok {
		return nil
	}
	from, to := a.ValueOffsets(r.i)
	out := []string{}
	if v, ok := a.ListValues().(*array.String); ok {
		for k := from; k < to; k++ {
			out = append(out, strings.Clone(v.Value(int(k))))
		}
	}
	return out
}

// pairs calls f with the entries of a map of texts.
func (r row) pairs(name string, f func(k string, v *string)) bool {
	a, ok := r.field(name).(*array.Map)
	if !ok {
		return false
	}
	from, to := a.ValueOffsets(r.i)
	keys, ok := a.Keys().(*array.String)
	vals, ok2 := a.Items().(*array.String)
	if !ok || !ok2 {
		return false
	}
	for k := int(from); k < int(to); k++ {
		if vals.IsNull(k) {
			f(strings.Clone(keys.Value(k)), nil)
			continue
		}
		v := strings.Clone(vals.Value(k))
		f(strings.Clone(keys.Value(k)), &v)
	}
	return true
}

func (r row) sub(name string) (row, bool) {
	s, ok := r.field(name).(*array.Struct)
	return row{s, r.i}, ok
}

func (r row) values(name string) map[string]*string {
	m := map[string]*string{}
	if !r.pairs(name, func(k string, v *string) { m[k] = v }) {
		return nil
	}
	return m
}

func (r row) texts(name string) map[string]string {
	var m map[string]string
	r.pairs(name, func(k string, v *string) {
		if m == nil {
			m = map[string]string{}
		}
		if v != nil {
			m[k] = *v
		}
	})
	return m
}

func (r row) dv() *DeletionVector {
	d, ok := r.sub("deletionVector")
	if !ok {
		return nil
	}
	return &DeletionVector{StorageType: d.text("storageType"), PathOrDV: d.text("pathOrInlineDv"), Offset: d.numPtr("offset"),
		Size: d.num("sizeInBytes"), Cardinality: d.num("cardinality"), MaxRowIndex: d.numPtr("maxRowIndex")}
}

func actionOf(cols map[string]*array.Struct, i int) *Action {
	at := func(name string) (row, bool) {
		s := cols[name]
		if s == nil || s.IsNull(i) {
			return row{}, false
		}
		return row{s, i}, true
	}
	if r, ok := at("add"); ok {
		a := &Add{Path: r.text("path"), PartitionValues: r.values("partitionValues"), Size: r.num("size"), ModificationTime: r.num("modificationTime"),
			DataChange: r.flag("dataChange"), Stats: r.text("stats"), Tags: r.texts("tags"), DV: r.dv(), BaseRowID: r.numPtr("baseRowId"),
			DefaultRowCommitVersion: r.numPtr("defaultRowCommitVersion"), ClusteringProvider: r.text("clusteringProvider")}
		if a.PartitionValues == nil {
			a.PartitionValues = map[string]*string{}
			if p, ok := r.sub("partitionValues_parsed"); ok {
				for k, f := range p.s.DataType().(*arrow.StructType).Fields() {
					var v *string
					if c := p.s.Field(k); !c.IsNull(i) {
						t := strings.Trim(string(cellJSON(c, i)), `"`)
						v = &t
					}
					a.PartitionValues[f.Name] = v
				}
			}
		}
		if a.Stats == "" {
			if p, ok := r.sub("stats_parsed"); ok {
				a.Stats = string(cellJSON(p.s, i))
			}
		}
		return &Action{Add: a}
	}
	if r, ok := at("remove"); ok {
		return &Action{Remove: &Remove{Path: r.text("path"), DeletionTimestamp: r.num("deletionTimestamp"), DataChange: r.flag("dataChange"),
			ExtendedFileMetadata: r.flag("extendedFileMetadata"), PartitionValues: r.values("partitionValues"), Size: r.numPtr("size"),
			DV: r.dv(), BaseRowID: r.numPtr("baseRowId"), DefaultRowCommitVersion: r.numPtr("defaultRowCommitVersion")}}
	}
	if r, ok := at("txn"); ok {
		return &Action{Txn: &SetTransaction{AppID: r.text("appId"), Version: r.num("version"), LastUpdated: r.numPtr("lastUpdated")}}
	}
	if r, ok := at("domainMetadata"); ok {
		return &Action{Domain: &Domain{Domain: r.text("domain"), Configuration: r.text("configuration"), Removed: r.flag("removed")}}
	}
	if r, ok := at("protocol"); ok {
		return &Action{Protocol: &Protocol{MinReader: int(r.num("minReaderVersion")), MinWriter: int(r.num("minWriterVersion")),
			ReaderFeatures: r.list("readerFeatures"), WriterFeatures: r.list("writerFeatures")}}
	}
	if r, ok := at("metaData"); ok {
		m := &Metadata{ID: r.text("id"), Name: r.textPtr("name"), Description: r.textPtr("description"), SchemaString: r.text("schemaString"),
			PartitionColumns: r.list("partitionColumns"), CreatedTime: r.numPtr("createdTime"), Configuration: Pairs{},
			Format: Format{Provider: "parquet", Options: map[string]string{}}}
		conf := r.texts("configuration")
		for _, k := range sortedKeys(conf) {
			m.Configuration.Set(k, conf[k])
		}
		return &Action{Metadata: m}
	}
	if r, ok := at("sidecar"); ok {
		return &Action{Sidecar: &Sidecar{Path: r.text("path"), Size: r.num("sizeInBytes"), ModificationTime: r.num("modificationTime")}}
	}
	return nil
}

// cellJSON prints a cell of typed statistics as the log's own statistics have it: times in microseconds.
func cellJSON(a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return []byte("null")
	}
	switch x := a.(type) {
	case *array.Struct:
		b := []byte{'{'}
		for k, f := range x.DataType().(*arrow.StructType).Fields() {
			c := x.Field(k)
			if c.IsNull(i) {
				continue
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, quoteJSON(f.Name)...), ':'), cellJSON(c, i)...)
		}
		return append(b, '}')
	case *array.String:
		return quoteJSON(x.Value(i))
	case *array.Boolean:
		return strconv.AppendBool(nil, x.Value(i))
	case *array.Date32:
		return quoteJSON(time.Unix(int64(x.Value(i))*86400, 0).UTC().Format("2006-01-02"))
	case *array.Timestamp:
		t := x.DataType().(*arrow.TimestampType)
		at := x.Value(i).ToTime(t.Unit)
		if t.TimeZone == "" {
			return quoteJSON(at.UTC().Format("2006-01-02T15:04:05.000000"))
		}
		return quoteJSON(at.UTC().Format("2006-01-02T15:04:05.000000Z"))
	case *array.Float32, *array.Float64:
		t := x.ValueStr(i)
		if _, err := strconv.ParseFloat(t, 64); err != nil || strings.ContainsAny(t, "nN") {
			return quoteJSON(t)
		}
		return []byte(t)
	case *array.Decimal128:
		return []byte(x.Value(i).ToString(x.DataType().(*arrow.Decimal128Type).Scale))
	}
	if raw := []byte(a.ValueStr(i)); json.Valid(raw) && !bytes.ContainsAny(raw, "{[") {
		return raw
	}
	return quoteJSON(a.ValueStr(i))
}
