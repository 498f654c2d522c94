package delta

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/vfs"
	"streamlab/sql/types"
)

// WriteOptions are those of one writing of data files.
type WriteOptions struct {
	Compression string // "" is the table's
	MaxRecords  int64  // rows of a file; 0 is no limit
	// Dot is set for the names that writes of partitioned tables and of changes have: .c000 and not -c000.
	Dot bool
	// DataChange is false if rows only move.
	NoDataChange bool
	// InOrder is set if the partitions must be read one after the other.
	InOrder bool
	// Apart is set if every partition of rows gets files of its own.
	Apart bool
}

// written is a data file that was written but belongs to no commit yet.
type written struct {
	path   string // as the log names it
	values map[string]*string
	size   int64
	mtime  int64
	rows   int64
	stats  string
}

// dataWriter writes rows into data files, one per partition value at a time.
type dataWriter struct {
	log     *Log
	meta    *Metadata
	mode    MappingMode
	schema  types.Schema // of the rows that come
	parts   []int        // positions of the partition columns in schema
	data    []int        // positions of the columns that go into the file
	physics types.Schema // the columns of the file, physical names at all depths
	format  *codec.ParquetFormat
	tight   bool
	noStats bool
	dir     string // folder below the table: "" or _change_data
	prefix  string // part or cdc
	opt     WriteOptions
	open    map[string]*openFile
	done    []written
	made    map[string]bool // folders that exist
	count   int             // number of the task in file names
	rows    int64
	bytes   int64
	after   int64 // files of earlier commits are not younger than this, in milliseconds
}

type openFile struct {
	w     *codec.ParquetWriter
	f     vfs.File
	buf   *bufio.Writer
	n     *countWriter
	rel   string // path below the table, not encoded
	vals  map[string]*string
	stats *statsCollector
	rows  int64
}

type countWriter struct {
	f vfs.File
	n int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.f.Write(p)
	c.n += int64(n)
	return n, err
}

// compressions are the codecs that data files may have, besides Parquet's others.
var compressions = map[string]bool{"": true, "snappy": true, "zstd": true, "gzip": true, "none": true, "uncompressed": true, "lz4_raw": true, "brotli": true}

// newDataWriter makes a writer of rows under schema, whose columns are those of the table and perhaps more
// (a change type). The table is as the transaction will leave it.
func (t *Txn) newDataWriter(schema types.Schema, opt WriteOptions) (*dataWriter, error) {
	m := t.Metadata()
	w := &dataWriter{log: t.log, meta: m, mode: mappingMode(m), schema: schema, opt: opt, open: map[string]*openFile{}, made: map[string]bool{},
		prefix: "part", tight: t.Protocol().Supports("deletionVectors"), after: t.log.newestFile()}
	if w.opt.Compression == "" {
		w.opt.Compression = m.Property("delta.parquet.compression.codec")
	}
	w.opt.Compression = strings.ToLower(w.opt.Compression)
	if !compressions[w.opt.Compression] {
		return nil, errs.New("CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION", "codecName", w.opt.Compression, "availableCodecs",
			"brotli, gzip, lz4_raw, none, snappy, zstd")
	}
	inFile := t.Protocol().Supports("materializePartitionColumns")
	isPart := map[int]bool{}
	for _, c := range m.PartitionColumns {
		i := schema.Index(c)
		if i < 0 {
			return nil, errs.New("DELTA_PARTITION_COLUMN_NOT_FOUND", "columnName", types.Quote(c), "columnList", strings.Join(schema.Names(), ", "))
		}
		w.parts = append(w.parts, i)
		isPart[i] = true
	}
	for i, f := range schema {
		if isPart[i] && !inFile || f.Type.Kind == types.Null {
			continue
		}
		if err := writable(f.Type, true); err != nil {
			return nil, err
		}
		w.data = append(w.data, i)
		p := types.Field{Name: physicalName(f, w.mode), Type: physicalType(f.Type, w.mode), Nullable: f.Nullable, Metadata: f.Metadata}
		w.physics = append(w.physics, p)
	}
	if len(w.physics) == 0 {
		return nil, errs.New("DELTA_EMPTY_DATA")
	}
	c, err := codec.FindParquetCodec(w.opt.Compression)
	if err != nil {
		return nil, err
	}
	var ids codec.FieldIDs
	if w.mode != MapNone {
		ids = func(f types.Field) int32 {
			if id, ok := metaInt(f, keyMappingID); ok {
				return int32(id)
			}
			return -1
		}
	}
	w.format, err = codec.NewParquetFormatWithIDs(w.physics, c, ids)
	return w, err
}

// writable refuses types that data files cannot hold.
func writable(t types.DataType, top bool) error {
	switch t.Kind {
	case types.Null:
		if !top {
			return errs.New("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE")
		}
	case types.Array:
		return writable(*t.Elem, false)
	case types.Map:
		return errors.Join(writable(*t.Key, false), writable(*t.Elem, false))
	case types.Struct:
		for _, f := range t.Fields {
			if err := writable(f.Type, false); err != nil {
				return err
			}
		}
	default:
		if _, ok := primitiveNames[t.Kind]; !ok && t.Kind != types.Decimal || t.Kind == types.Variant {
			return errs.New("DELTA_UNSUPPORTED_DATA_TYPES", "dataTypeList", "["+t.SQL()+"]")
		}
	}
	return nil
}

// physicalType is a type with the physical names of its struct fields.
func physicalType(t types.DataType, mode MappingMode) types.DataType {
	switch t.Kind {
	case types.Struct:
		fs := make([]types.Field, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = types.Field{Name: physicalName(f, mode), Type: physicalType(f.Type, mode), Nullable: f.Nullable, Metadata: f.Metadata}
		}
		return types.StructOf(fs...)
	case types.Array:
		return types.ArrayOf(physicalType(*t.Elem, mode), t.ContainsNull)
	case types.Map:
		return types.MapOf(physicalType(*t.Key, mode), physicalType(*t.Elem, mode), t.ContainsNull)
	}
	return t
}

// renamed sees a vector under the physical form of its type.
func renamed(v *columnar.Vec, t types.DataType) *columnar.Vec {
	if v.Phys == columnar.PNull && t.Kind != types.Null {
		return nullVec(t, v.Len)
	}
	w := *v
	w.Type = t
	if len(v.Kids) > 0 {
		w.Kids = make([]*columnar.Vec, len(v.Kids))
		for i, k := range v.Kids {
			switch t.Kind {
			case types.Struct:
				w.Kids[i] = renamed(k, t.Fields[i].Type)
			case types.Array:
				w.Kids[i] = renamed(k, *t.Elem)
			case types.Map:
				kt := *t.Key
				if i == 1 {
					kt = *t.Elem
				}
				w.Kids[i] = renamed(k, kt)
			}
		}
	}
	return &w
}

// write takes rows under the writer's schema.
func (w *dataWriter) write(rb arrow.RecordBatch) error {
	if rb.NumRows() == 0 {
		return nil
	}
	n := int(rb.NumRows())
	vs := make([]*columnar.Vec, len(w.schema))
	for i, f := range w.schema {
		vs[i] = columnar.FromArrow(rb.Column(i), f.Type)
	}
	if err := checkLengths(w.schema, vs); err != nil {
		return err
	}
	if len(w.parts) == 0 {
		return w.rowsTo("", nil, vs, columnar.AllRows(n))
	}
	type group struct {
		vals []*string
		idx  []int32
	}
	groups := map[string]*group{}
	var order []string
	var key []byte
	texts := make([]*string, len(w.parts))
	for i := 0; i < n; i++ {
		key = key[:0]
		for k, c := range w.parts {
			texts[k] = w.partitionText(vs[c], i)
			switch {
			case texts[k] == nil && vs[c].Phys == columnar.PBytes && !vs[c].IsNull(i):
				key = append(key, 1) // the empty text is null, too, but in a file of its own
			case texts[k] == nil:
				key = append(key, 0)
			default:
				key = append(append(key, 2), *texts[k]...)
				key = append(key, 0xff)
			}
		}
		g := groups[string(key)]
		if g == nil {
			g = &group{vals: append([]*string{}, texts...)}
			groups[string(key)] = g
			order = append(order, string(key))
		}
		g.idx = append(g.idx, int32(i))
	}
	sort.Strings(order)
	for _, k := range order {
		g := groups[k]
		sel := columnar.Sel{Idx: g.idx, N: len(g.idx)}
		if len(g.idx) == n {
			sel = columnar.AllRows(n)
		}
		if err := w.rowsTo(k, g.vals, vs, sel); err != nil {
			return err
		}
	}
	return nil
}

// partitionText prints a partition value as the log holds it; nil for null and for the empty text.
func (w *dataWriter) partitionText(v *columnar.Vec, i int) *string {
	if v.IsNull(i) {
		return nil
	}
	var s string
	switch v.Type.Kind {
	case types.String, types.Binary:
		s = string(v.Bytes(i))
	case types.Timestamp:
		s = time.UnixMicro(v.I64[i]).UTC().Format("2006-01-02T15:04:05.000000Z")
	default:
		s = string(codec.AppendDisplay(nil, v, i, time.UTC))
	}
	if s == "" || s == nullPartition {
		return nil
	}
	return &s
}

// folderText is a partition value as folders show it: a timestamp in local time.
func (w *dataWriter) folderText(t types.DataType, s *string) *string {
	if s == nil || t.Kind != types.Timestamp {
		return s
	}
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", *s)
	if err != nil {
		return s
	}
	zone := w.log.Zone
	if zone == nil {
		zone = time.UTC
	}
	local := strings.TrimRight(strings.TrimRight(at.In(zone).Format("2006-01-02 15:04:05.000000"), "0"), ".")
	return &local
}

func (w *dataWriter) rowsTo(key string, vals []*string, vs []*columnar.Vec, sel columnar.Sel) error {
	for at := 0; at < sel.N; {
		f := w.open[key]
		if f == nil {
			var err error
			if f, err = w.create(vals); err != nil {
				return err
			}
			w.open[key] = f
		}
		n := sel.N - at
		if w.opt.MaxRecords > 0 && int64(n) > w.opt.MaxRecords-f.rows {
			n = int(w.opt.MaxRecords - f.rows)
		}
		part := sel
		if n < sel.N {
			if sel.All {
				idx := make([]int32, n)
				for i := range idx {
					idx[i] = int32(at + i)
				}
				part = columnar.Sel{Idx: idx, N: n}
			} else {
				part = columnar.Sel{Idx: sel.Idx[at : at+n], N: n}
			}
		}
		if err := f.append(w, vs, part); err != nil {
			return err
		}
		at += n
		if w.opt.MaxRecords > 0 && f.rows >= w.opt.MaxRecords {
			delete(w.open, key)
			if err := w.close(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *openFile) append(w *dataWriter, vs []*columnar.Vec, sel columnar.Sel) error {
	cols := make([]columnar.Vec, len(w.data))
	dense := make([]*columnar.Vec, len(w.data))
	for k, c := range w.data {
		v := renamed(vs[c], w.physics[k].Type)
		if v.Const || !sel.All || sel.N != v.Len {
			g := new(columnar.Vec)
			columnar.Gather(g, v, sel)
			v = g
		}
		dense[k], cols[k] = v, *v
	}
	if f.stats != nil {
		f.stats.add(dense, sel.N)
	}
	f.rows += int64(sel.N)
	w.rows += int64(sel.N)
	return f.w.Write(cols, 0, sel.N)
}

const prefixLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (w *dataWriter) create(vals []*string) (*openFile, error) {
	f := &openFile{vals: map[string]*string{}}
	var names []string
	folders := make([]*string, len(vals))
	for k, c := range w.parts {
		name := physicalName(w.schema[c], w.mode)
		names = append(names, name)
		f.vals[name] = vals[k]
		folders[k] = w.folderText(w.schema[c].Type, vals[k])
	}
	dir := w.dir
	if w.mode != MapNone && w.dir == "" {
		dir = string([]byte{prefixLetters[rand.IntN(len(prefixLetters))], prefixLetters[rand.IntN(len(prefixLetters))]})
	} else if len(w.parts) > 0 {
		dir = path.Join(w.dir, partitionDir(names, folders))
	}
	sep, codecName := "-", w.opt.Compression
	if len(w.parts) > 0 || w.opt.Dot {
		sep = "."
	}
	switch codecName {
	case "":
		codecName = "snappy"
	case "gzip":
		codecName = "gz"
	}
	suffix := "." + codecName + ".parquet"
	if codecName == "none" || codecName == "uncompressed" {
		suffix = ".parquet"
	}
	f.rel = path.Join(dir, fmt.Sprintf("%s-%05d-%s%sc000%s", w.prefix, w.count, uuid.NewString(), sep, suffix))
	full := filepath.Join(w.log.Root, f.rel)
	if !filepath.IsLocal(f.rel) {
		return nil, errs.New("DELTA_PATH_OUTSIDE_TABLE", "path", f.rel, "table", w.log.Root)
	}
	if folder := filepath.Dir(full); !w.made[folder] {
		if err := w.log.writable(folder); err != nil {
			return nil, err
		}
		if err := vfs.MkdirAll(w.log.FS, folder, 0o755); err != nil {
			return nil, err
		}
		w.made[folder] = true
	}
	file, err := w.log.FS.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	f.f = file
	f.n = &countWriter{f: file}
	f.buf = bufio.NewWriterSize(f.n, 1<<20)
	if !w.noStats {
		f.stats = newStats(w.dataFields(), w.meta, w.mode, w.tight)
	}
	f.w, err = w.format.NewWriter(f.buf)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// dataFields are the columns of the file with their logical names and metadata.
func (w *dataWriter) dataFields() types.Schema {
	out := make(types.Schema, len(w.data))
	for k, c := range w.data {
		out[k] = w.schema[c]
	}
	return out
}

func (w *dataWriter) close(f *openFile) error {
	err := f.w.Close()
	if err == nil {
		err = f.buf.Flush()
	}
	if err = finishFile(f.f, err, w.log.Durable); err != nil {
		return err
	}
	d := written{path: encodePath(f.rel), values: f.vals, size: f.n.n, mtime: w.log.Now().UnixMilli(), rows: f.rows}
	if info, err := w.log.FS.Stat(filepath.Join(w.log.Root, f.rel)); err == nil {
		d.mtime = info.ModTime().UnixMilli()
	}
	d.mtime = max(d.mtime, w.after+1)
	if f.stats != nil {
		d.stats = f.stats.json()
	}
	w.bytes += d.size
	w.done = append(w.done, d)
	return nil
}

// finish closes all files and makes them durable.
func (w *dataWriter) finish() ([]written, error) {
	if err := fault.Point("sink.stage.mid"); err != nil {
		return nil, err
	}
	if err := w.closeAll(); err != nil {
		return nil, err
	}
	if w.log.Durable {
		for dir := range w.made {
			if err := w.log.FS.SyncDir(dir); err != nil {
				return nil, err
			}
		}
	}
	return w.done, fault.Point("sink.stage.synced")
}

// closeAll closes the files that are open, in the order of their partition values.
func (w *dataWriter) closeAll() error {
	for _, k := range sortedKeys(w.open) {
		if err := w.close(w.open[k]); err != nil {
			return err
		}
	}
	w.open = map[string]*openFile{}
	return nil
}

// abort removes what was written.
func (w *dataWriter) abort() {
	for _, f := range w.open {
		_ = f.f.Close() // the file goes anyway
		_ = w.log.removeFile(filepath.Join(w.log.Root, f.rel))
	}
	for _, d := range w.done {
		w.log.discard(d.path)
	}
	w.open, w.done = nil, nil
}

// discard removes a data file that no commit names; one that stays is garbage that VACUUM finds.
func (l *Log) discard(path string) {
	if p, err := l.resolve(path); err == nil {
		_ = l.removeFile(p)
	}
}

// Written are new data files, not committed yet.
type Written struct {
	Adds  []*Add
	Rows  int64
	Bytes int64
}

// Write writes rows into new data files of the table as the transaction will leave it. The rows lie under
// Schema, in its order. Files without rows are not made. On an error nothing is left.
func (t *Txn) Write(ctx context.Context, parts []columnar.Partition, opt WriteOptions) (Written, error) {
	n := workers(parts)
	if opt.Apart || opt.InOrder {
		n = 1
	}
	ws := make([]*dataWriter, n)
	for k := range ws {
		w, err := t.newDataWriter(t.Schema(), opt)
		if err != nil {
			return Written{}, err
		}
		w.count = k
		ws[k] = w
	}
	var files []written
	var err error
	if n == 1 {
		files, err = t.writeAll(ctx, ws[0], parts)
	} else {
		files, err = t.writeParallel(ctx, ws, parts)
	}
	if err != nil {
		return Written{}, err
	}
	var out Written
	for _, w := range ws {
		out.Rows, out.Bytes = out.Rows+w.rows, out.Bytes+w.bytes
	}
	for _, d := range files {
		out.Adds = append(out.Adds, &Add{Path: d.path, PartitionValues: d.values, Size: d.size, ModificationTime: d.mtime,
			DataChange: !opt.NoDataChange, Stats: d.stats})
	}
	return out, nil
}

func (t *Txn) writeAll(ctx context.Context, w *dataWriter, parts []columnar.Partition) ([]written, error) {
	for i, p := range parts {
		if w.opt.Apart {
			w.count = i
		}
		for rb, err := range p.Rows(ctx) {
			if err == nil {
				err = w.write(rb)
			}
			if err != nil {
				w.abort()
				return nil, err
			}
		}
		if w.opt.Apart {
			if err := w.closeAll(); err != nil {
				w.abort()
				return nil, err
			}
		}
	}
	files, err := w.finish()
	if err != nil {
		w.abort()
		return nil, err
	}
	return files, nil
}

// writeChanges writes change rows: the table's columns, then _change_type.
func (t *Txn) writeChanges(ctx context.Context, parts []columnar.Partition) ([]*AddCDC, error) {
	schema := append(append(types.Schema{}, t.Schema()...), types.Field{Name: ChangeTypeColumn, Type: types.Of(types.String), Nullable: true})
	w, err := t.newDataWriter(schema, WriteOptions{Dot: true})
	if err != nil {
		return nil, err
	}
	w.dir, w.prefix, w.noStats = "_change_data", "cdc", true
	files, err := t.writeAll(ctx, w, parts)
	if err != nil {
		return nil, err
	}
	var out []*AddCDC
	for _, d := range files {
		out = append(out, &AddCDC{Path: d.path, PartitionValues: d.values, Size: d.size})
	}
	return out, nil
}

// Names of the columns of the change data feed.
const (
	ChangeTypeColumn      = "_change_type"
	CommitVersionColumn   = "_commit_version"
	CommitTimestampColumn = "_commit_timestamp"
)

// Adds are the actions of new files.
func (w Written) Actions() []Action {
	out := make([]Action, len(w.Adds))
	for i, a := range w.Adds {
		out[i] = Action{Add: a}
	}
	return out
}

// newestFile is the modification time of the youngest file that the log has committed while this program
// looked, so that files of later commits are younger: streams read a table's files by this time.
func (l *Log) newestFile() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.youngest
}

func (l *Log) noteFiles(actions []Action) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range actions {
		if a.Add != nil {
			l.youngest = max(l.youngest, a.Add.ModificationTime)
		}
	}
}
