package codec

import (
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sql/types"
)

const (
	rowGroupBytes = 64 << 20 // of compressed and gathered values, when a row group ends
	rowGroupRows  = 1 << 20
)

// ParquetFormat is what Parquet files of a schema look like: checked once, used by many writers.
type ParquetFormat struct {
	schema types.Schema
	root   *schema.GroupNode
	leaves *schema.Schema
	props  []parquet.WriterProperty
	meta   string
	codec  Codec
}

// FindParquetCodec finds the codec of the option compression; "" is snappy. Error: CODEC_NOT_AVAILABLE.
func FindParquetCodec(name string) (Codec, error) {
	switch l := strings.ToLower(name); l {
	case "":
		return Codec{"snappy", ".snappy"}, nil
	case "none", "uncompressed":
		return Codec{"none", ""}, nil
	case "snappy", "zstd":
		return Codec{l, "." + l}, nil
	case "gzip":
		return Codec{l, ".gz"}, nil
	case "lz4":
		return Codec{l, ".lz4hadoop"}, nil
	case "lz4_raw":
		return Codec{l, ".lz4raw"}, nil
	case "brotli":
		return Codec{l, ".br"}, nil
	case "lzo":
		return Codec{}, errs.New("UNSUPPORTED_FEATURE", "feature", "Writing with the codec lzo")
	}
	return Codec{}, errs.New("CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION", "codecName", name,
		"availableCodecs", "brotli, uncompressed, lzo, snappy, lz4_raw, none, zstd, lz4, gzip")
}

// NewParquetFormat checks a schema. Timestamps are written as microseconds, never as INT96. Errors:
// UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE.
func NewParquetFormat(s types.Schema, c Codec) (*ParquetFormat, error) {
	return NewParquetFormatWithIDs(s, c, nil)
}

// NewParquetFormatWithIDs is NewParquetFormat for files whose columns are found by ids.
func NewParquetFormatWithIDs(s types.Schema, c Codec, ids FieldIDs) (*ParquetFormat, error) {
	if len(s) == 0 {
		return nil, errs.New("EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE", "format", "Parquet")
	}
	var fields schema.FieldList
	for _, f := range s {
		if bad, ok := unwritableParquet(f.Type); ok {
			return nil, unsupportedColumn("Parquet", f.Name, bad)
		}
		n, err := nodeOf(f.Name, f.Type, f.Nullable, ids.of(f), ids)
		if err != nil {
			return nil, err
		}
		fields = append(fields, n)
	}
	root, err := schema.NewGroupNode("spark_schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	leaves := schema.NewSchema(root) // the library keeps the paths of nodes at their first use: before writers share them
	codecs := map[string]compress.Compression{"snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "zstd": compress.Codecs.Zstd,
		"lz4": compress.Codecs.Lz4, "lz4_raw": compress.Codecs.Lz4Raw, "brotli": compress.Codecs.Brotli, "none": compress.Codecs.Uncompressed}
	props := []parquet.WriterProperty{parquet.WithCompression(codecs[c.Name]), parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1), parquet.WithCreatedBy("streamlab"), parquet.WithRootName("spark_schema"),
		parquet.WithDataPageSize(1 << 20), parquet.WithDictionaryPageSizeLimit(1 << 20)}
	return &ParquetFormat{schema: s, root: root, leaves: leaves, props: props, meta: s.JSON(), codec: c}, nil
}

// ParquetWriter writes one file. It belongs to one goroutine.
type ParquetWriter struct {
	format *ParquetFormat
	dst    io.Writer
	w      *file.Writer // nil before the first rows
	group  file.BufferedRowGroupWriter
	rows   int
	leaves []*leafWriter
	ended  bool
	// sampling is set while the first rows are looked at instead of written.
	sampling bool
}

// leafWriter holds the scratch of one leaf.
type leafWriter struct {
	maxDef, maxRep int16
	length         int  // of fixed byte arrays
	varied         bool // values hardly repeat
	texts          textDictionary

	bools []bool
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	bytes []parquet.ByteArray
	fixed []parquet.FixedLenByteArray
	buf   []byte
}

// NewWriter begins a file at dst, which stays open when the writer is closed.
func (f *ParquetFormat) NewWriter(dst io.Writer) (*ParquetWriter, error) {
	p := &ParquetWriter{format: f, dst: dst}
	for i := range f.leaves.NumColumns() {
		c := f.leaves.Column(i)
		p.leaves = append(p.leaves, &leafWriter{maxDef: c.MaxDefinitionLevel(), maxRep: c.MaxRepetitionLevel(), length: c.TypeLength()})
	}
	return p, nil
}

// begin writes the head of the file. Columns whose first values hardly repeat get no dictionary.
func (p *ParquetWriter) begin() error {
	props := p.format.props
	for i, l := range p.leaves {
		if l.varied {
			props = append(props[:len(props):len(props)], parquet.WithDictionaryFor(p.format.leaves.Column(i).Path(), false))
		}
	}
	kv := metadata.NewKeyValueMetadata()
	if err := kv.Append("org.apache.spark.version", "4.2.0"); err != nil {
		return err
	}
	if err := kv.Append(sparkSchemaKey, p.format.meta); err != nil {
		return err
	}
	var err error
	p.w, err = file.NewParquetWriterWithError(keepOpen{p.dst}, p.format.root, file.WithWriterProps(parquet.NewWriterProperties(props...)),
		file.WithWriteMetadata(kv))
	return err
}

// keepOpen hides the Close of a writer.
type keepOpen struct{ io.Writer }

// Write appends rows [from, to) of columns of the format's schema.
func (p *ParquetWriter) Write(cols []columnar.Vec, from, to int) error {
	for from < to {
		n := min(to-from, 8192)
		if err := p.write(cols, from, from+n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

func (p *ParquetWriter) write(cols []columnar.Vec, from, to int) error {
	return safego.Call("parquet writer", func() error {
		if p.w == nil {
			p.sampling = true
			err := p.columns(cols, from, min(to, from+sampleRows))
			if p.sampling = false; err != nil {
				return err
			}
			if err := p.begin(); err != nil {
				return err
			}
		}
		if p.group == nil {
			g, err := p.w.AppendBufferedRowGroupChecked()
			if err != nil {
				return err
			}
			p.group = g
		}
		if err := p.columns(cols, from, to); err != nil {
			return err
		}
		p.rows += to - from
		if p.rows >= rowGroupRows || p.rows%(32*1024) < to-from && p.Buffered() >= rowGroupBytes {
			return p.endGroup()
		}
		return nil
	})
}

func (p *ParquetWriter) columns(cols []columnar.Vec, from, to int) error {
	s := levelScratch{}
	leaf := 0
	for i, f := range p.format.schema {
		s.begin(from, to)
		if err := p.column(&cols[i], f.Type, f.Nullable, s, &leaf, 0); err != nil {
			return err
		}
	}
	return nil
}

func (p *ParquetWriter) endGroup() error {
	if p.group == nil {
		return nil
	}
	for i, l := range p.leaves {
		c, err := p.group.Column(i)
		if err == nil {
			err = l.texts.flush(c)
		}
		if err != nil {
			return err
		}
	}
	err := p.group.Close()
	p.group, p.rows = nil, 0
	return err
}

// Buffered is about how many bytes wait in memory.
func (p *ParquetWriter) Buffered() int64 {
	if p.group == nil {
		return 0
	}
	n := p.group.TotalBytesWritten()
	for _, l := range p.leaves {
		n += l.texts.bytes()
	}
	return n
}

// Close writes the footer. A second call does nothing.
func (p *ParquetWriter) Close() error {
	if p.ended {
		return nil
	}
	p.ended = true
	return safego.Call("parquet writer", func() error {
		if p.w == nil { // no rows at all
			if err := p.begin(); err != nil {
				return err
			}
		}
		if err := p.endGroup(); err != nil {
			return err
		}
		return p.w.Close()
	})
}

// levelScratch is the places of a column on the way to its leaves: a row of the vector (-1: nothing is there),
// and the levels reached so far.
type levelScratch struct {
	at       []int32
	def, rep []int16
}

func (s *levelScratch) begin(from, to int) {
	n := to - from
	*s = levelScratch{at: make([]int32, n), def: make([]int16, n), rep: make([]int16, n)}
	for i := range s.at {
		s.at[i] = int32(from + i)
	}
}

// column writes a vector and all below it.
func (p *ParquetWriter) column(v *columnar.Vec, t types.DataType, nullable bool, s levelScratch, leaf *int, rep int16) error {
	if v.Const {
		at := append([]int32{}, s.at...)
		for i := range at {
			if at[i] >= 0 {
				at[i] = 0
			}
		}
		s.at = at
	}
	if nullable || t.Kind == types.Null {
		at, def := make([]int32, len(s.at)), make([]int16, len(s.def))
		for i, k := range s.at {
			at[i], def[i] = k, s.def[i]
			if k < 0 {
				continue
			}
			if v.Phys == columnar.PNull || v.Valid != nil && !columnar.GetBit(v.Valid, int(k)) {
				at[i] = -1
			} else {
				def[i]++
			}
		}
		s.at, s.def = at, def
	} else if v.HasNulls() {
		for _, k := range s.at {
			if k >= 0 && v.IsNull(int(k)) {
				return errs.New("NOT_NULL_CONSTRAINT_VIOLATION", "columnPath", "", "value", "NULL")
			}
		}
	}
	switch t.Kind {
	case types.Struct:
		for i, f := range t.Fields {
			if err := p.column(v.Kids[i], f.Type, f.Nullable, s, leaf, rep); err != nil {
				return err
			}
		}
		return nil
	case types.Array:
		return p.column(v.Kids[0], *t.Elem, t.ContainsNull, s.elements(v, rep+1), leaf, rep+1)
	case types.Map:
		inner := s.elements(v, rep+1)
		if err := p.column(v.Kids[0], *t.Key, false, inner, leaf, rep+1); err != nil {
			return err
		}
		return p.column(v.Kids[1], *t.Elem, t.ContainsNull, inner, leaf, rep+1)
	}
	i := *leaf
	*leaf++
	if p.sampling {
		p.leaves[i].varied = varied(v, s.at)
		return nil
	}
	c, err := p.group.Column(i)
	if err != nil {
		return err
	}
	return p.leaves[i].write(c, v, t, s)
}

// elements goes from lists to their elements.
func (s levelScratch) elements(v *columnar.Vec, rep int16) levelScratch {
	n := 0
	for _, k := range s.at {
		if k < 0 {
			n++
		} else {
			n += max(1, int(v.Off[k+1]-v.Off[k]))
		}
	}
	out := levelScratch{at: make([]int32, 0, n), def: make([]int16, 0, n), rep: make([]int16, 0, n)}
	for i, k := range s.at {
		if k < 0 || v.Off[k] == v.Off[k+1] {
			out.at, out.def, out.rep = append(out.at, -1), append(out.def, s.def[i]), append(out.rep, s.rep[i])
			continue
		}
		for j := v.Off[k]; j < v.Off[k+1]; j++ {
			r := rep
			if j == v.Off[k] {
				r = s.rep[i]
			}
			out.at, out.def, out.rep = append(out.at, j), append(out.def, s.def[i]+1), append(out.rep, r)
		}
	}
	return out
}

func pick[A, B any](dst []B, src []A, at []int32, f func(A) B) []B {
	dst = dst[:0]
	for _, k := range at {
		if k >= 0 {
			dst = append(dst, f(src[k]))
		}
	}
	return dst
}

func same[T any](x T) T { return x }

func (l *leafWriter) write(c file.ColumnChunkWriter, v *columnar.Vec, t types.DataType, s levelScratch) error {
	var def, rep []int16
	if l.maxDef > 0 {
		def = s.def
	}
	if l.maxRep > 0 {
		rep = s.rep
	}
	var err error
	switch w := c.(type) {
	case *file.BooleanColumnChunkWriter:
		l.bools = l.bools[:0]
		for _, k := range s.at {
			if k >= 0 {
				l.bools = append(l.bools, columnar.GetBit(v.Bits, int(k)))
			}
		}
		_, err = w.WriteBatch(l.bools, def, rep)
	case *file.Int32ColumnChunkWriter:
		switch v.Phys {
		case columnar.PNull:
			l.i32 = l.i32[:0]
		case columnar.PI8:
			l.i32 = pick(l.i32, v.I8, s.at, func(x int8) int32 { return int32(x) })
		case columnar.PI16:
			l.i32 = pick(l.i32, v.I16, s.at, func(x int16) int32 { return int32(x) })
		case columnar.PDec:
			l.i32 = pick(l.i32, v.Dec, s.at, func(x decimal128.Num) int32 { return int32(x.LowBits()) })
		default:
			l.i32 = pick(l.i32, v.I32, s.at, same[int32])
		}
		_, err = w.WriteBatch(l.i32, def, rep)
	case *file.Int64ColumnChunkWriter:
		switch {
		case v.Phys == columnar.PDec:
			l.i64 = pick(l.i64, v.Dec, s.at, func(x decimal128.Num) int64 { return int64(x.LowBits()) })
		case t.Kind == types.Time:
			l.i64 = pick(l.i64, v.I64, s.at, func(x int64) int64 { return x / 1000 })
		default:
			l.i64 = pick(l.i64, v.I64, s.at, same[int64])
		}
		_, err = w.WriteBatch(l.i64, def, rep)
	case *file.Float32ColumnChunkWriter:
		l.f32 = pick(l.f32, v.F32, s.at, same[float32])
		_, err = w.WriteBatch(l.f32, def, rep)
	case *file.Float64ColumnChunkWriter:
		l.f64 = pick(l.f64, v.F64, s.at, same[float64])
		_, err = w.WriteBatch(l.f64, def, rep)
	case *file.ByteArrayColumnChunkWriter:
		if l.texts.takes(c, l) {
			return l.texts.add(w, v, s, l.maxDef > 0)
		}
		l.bytes = l.bytes[:0]
		for _, k := range s.at {
			if k >= 0 {
				l.bytes = append(l.bytes, v.Data[v.Off[k]:v.Off[k+1]])
			}
		}
		_, err = w.WriteBatch(l.bytes, def, rep)
	case *file.FixedLenByteArrayColumnChunkWriter:
		l.fixed, l.buf = l.fixed[:0], make([]byte, 0, len(s.at)*l.length)
		for _, k := range s.at {
			if k >= 0 {
				from := len(l.buf)
				l.buf = appendBigEndian(l.buf, v.Dec[k], l.length)
				l.fixed = append(l.fixed, l.buf[from:])
			}
		}
		_, err = w.WriteBatch(l.fixed, def, rep)
	}
	return err
}

// appendBigEndian writes a decimal as a big-endian number of n bytes.
func appendBigEndian(b []byte, x decimal128.Num, n int) []byte {
	hi, lo := uint64(x.HighBits()), x.LowBits()
	for i := n - 1; i >= 0; i-- {
		switch {
		case i >= 16:
			b = append(b, byte(int64(hi)>>63))
		case i >= 8:
			b = append(b, byte(hi>>(8*(i-8))))
		default:
			b = append(b, byte(lo>>(8*i)))
		}
	}
	return b
}
