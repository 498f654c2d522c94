package delta

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"streamlab/internal/vfs"
)

func opt(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// checkpointSchema is the schema of a classic checkpoint as Spark writes it.
var checkpointSchema = func() *arrow.Schema {
	text, long, integer, flag := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Boolean
	texts := arrow.ListOfField(arrow.Field{Name: "element", Type: text, Nullable: true})
	m := arrow.MapOf(text, text)
	dv := arrow.StructOf(opt("storageType", text), opt("pathOrInlineDv", text), opt("offset", integer), opt("sizeInBytes", integer),
		opt("cardinality", long), opt("maxRowIndex", long))
	return arrow.NewSchema([]arrow.Field{
		opt("txn", arrow.StructOf(opt("appId", text), opt("version", long), opt("lastUpdated", long))),
		opt("add", arrow.StructOf(opt("path", text), opt("partitionValues", m), opt("size", long), opt("modificationTime", long),
			opt("dataChange", flag), opt("tags", m), opt("deletionVector", dv), opt("baseRowId", long), opt("defaultRowCommitVersion", long),
			opt("clusteringProvider", text), opt("stats", text))),
		opt("remove", arrow.StructOf(opt("path", text), opt("deletionTimestamp", long), opt("dataChange", flag), opt("extendedFileMetadata", flag),
			opt("partitionValues", m), opt("size", long), opt("deletionVector", dv), opt("baseRowId", long), opt("defaultRowCommitVersion", long))),
		opt("metaData", arrow.StructOf(opt("id", text), opt("name", text), opt("description", text),
			opt("format", arrow.StructOf(opt("provider", text), opt("options", m))), opt("schemaString", text), opt("partitionColumns", texts),
			opt("configuration", m), opt("createdTime", long))),
		opt("protocol", arrow.StructOf(opt("minReaderVersion", integer), opt("minWriterVersion", integer), opt("readerFeatures", texts),
			opt("writerFeatures", texts))),
		opt("domainMetadata", arrow.StructOf(opt("domain", text), opt("configuration", text), opt("removed", flag))),
	}, nil)
}()

// cells fills the builders of one struct column field by field.
type cells struct {
	b *array.StructBuilder
	i int
}

func (c *cells) next() array.Builder {
	f := c.b.FieldBuilder(c.i)
	c.i++
	return f
}

func (c *cells) text(s string) { c.next().(*array.StringBuilder).Append(s) }

func (c *cells) textOr(s *string) {
	f := c.next().(*array.StringBuilder)
	if s == nil {
		f.AppendNull()
		return
	}
	f.Append(*s)
}

func (c *cells) textOrNull(s string) {
	if s == "" {
		c.textOr(nil)
		return
	}
	c.text(s)
}

func (c *cells) long(n int64) { c.next().(*array.Int64Builder).Append(n) }

func (c *cells) longOr(n *int64) {
	f := c.next().(*array.Int64Builder)
	if n == nil {
		f.AppendNull()
		return
	}
	f.Append(*n)
}

func (c *cells) integerOr(n *int64) {
	f := c.next().(*array.Int32Builder)
	if n == nil {
		f.AppendNull()
		return
	}
	f.Append(int32(*n))
}

func (c *cells) flag(v bool) { c.next().(*array.BooleanBuilder).Append(v) }

func (c *cells) texts(list []string, null bool) {
	f := c.next().(*array.ListBuilder)
	if null {
		f.AppendNull()
		return
	}
	f.Append(true)
	for _, s := range list {
		f.ValueBuilder().(*array.StringBuilder).Append(s)
	}
}

func (c *cells) values(m map[string]*string, null bool) {
	f := c.next().(*array.MapBuilder)
	if null {
		f.AppendNull()
		return
	}
	f.Append(true)
	for _, k := range sortedKeys(m) {
		f.KeyBuilder().(*array.StringBuilder).Append(k)
		if v := m[k]; v == nil {
			f.ItemBuilder().AppendNull()
		} else {
			f.ItemBuilder().(*array.StringBuilder).Append(*v)
		}
	}
}

func (c *cells) dv(d *DeletionVector) {
	b := c.next().(*array.StructBuilder)
	if d == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	in := &cells{b: b}
	in.text(d.StorageType)
	in.text(d.PathOrDV)
	in.integerOr(d.Offset)
	in.integerOr(&d.Size)
	in.long(d.Cardinality)
	in.longOr(d.MaxRowIndex)
}

func pointers(m map[string]string) map[string]*string {
	out := map[string]*string{}
	for k, v := range m {
		out[k] = &v
	}
	return out
}

// WriteCheckpoint writes a classic checkpoint of a snapshot and points _last_checkpoint to it.
func (l *Log) WriteCheckpoint(s *Snapshot) error {
	rb := array.NewRecordBuilder(memory.DefaultAllocator, checkpointSchema)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(checkpointSchema, &out, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithCreatedBy(engineVersion)), pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	var size, adds int64
	pending := 0
	one := func(col int, fill func(c *cells)) error {
		for i := range checkpointSchema.Fields() {
			b := rb.Field(i).(*array.StructBuilder)
			if i != col {
				b.AppendNull()
				continue
			}
			b.Append(true)
			fill(&cells{b: b})
		}
		size++
		if pending++; pending < 4096 {
			return nil
		}
		pending = 0
		rec := rb.NewRecordBatch()
		defer rec.Release()
		return w.WriteBuffered(rec)
	}
	if err := l.checkpointRows(s, one, &adds); err != nil {
		return err
	}
	rec := rb.NewRecordBatch()
	if err := w.WriteBuffered(rec); err != nil {
		return err
	}
	rec.Release()
	if err := w.Close(); err != nil {
		return err
	}
	name := filepath.Join(l.dir(), strings.TrimSuffix(commitName(s.Version), ".json")+".checkpoint.parquet")
	if err := l.replace(name, out.Bytes()); err != nil {
		return err
	}
	hint := fmt.Sprintf(`{"version":%d,"size":%d,"sizeInBytes":%d,"numOfAddFiles":%d}`, s.Version, size, out.Len(), adds)
	return l.replace(filepath.Join(l.dir(), "_last_checkpoint"), []byte(hint))
}

// replace writes a file that others may have written before us: Hadoop's checksum beside it goes first.
func (l *Log) replace(name string, data []byte) error {
	if err := l.removeFile(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".crc")); err != nil {
		return err
	}
	return vfs.WriteFile(l.FS, name, data, 0o644)
}

func (l *Log) checkpointRows(s *Snapshot, one func(col int, fill func(c *cells)) error, adds *int64) error {
	var errsOf []error
	add := func(col int, fill func(c *cells)) { errsOf = append(errsOf, one(col, fill)) }
	p := s.Protocol
	add(4, func(c *cells) {
		r, w := int64(p.MinReader), int64(p.MinWriter)
		c.integerOr(&r)
		c.integerOr(&w)
		c.texts(p.ReaderFeatures, p.MinReader < 3)
		c.texts(p.WriterFeatures, p.MinWriter < 7)
	})
	m := s.Metadata
	add(3, func(c *cells) {
		c.text(m.ID)
		c.textOr(m.Name)
		c.textOr(m.Description)
		f := c.next().(*array.StructBuilder)
		f.Append(true)
		in := &cells{b: f}
		in.text(m.Format.Provider)
		in.values(pointers(m.Format.Options), false)
		c.text(m.SchemaString)
		c.texts(m.PartitionColumns, false)
		conf := map[string]string{}
		for _, p := range m.Configuration {
			conf[p.Key] = rawText(p.Value)
		}
		c.values(pointers(conf), false)
		c.longOr(m.CreatedTime)
	})
	oldest := int64(-1 << 62)
	if d, ok := parseInterval(s.Property("delta.setTransactionRetentionDuration")); ok {
		oldest = l.Now().Add(-d).UnixMilli()
	}
	for _, app := range sortedKeys(s.txns) {
		t := s.txns[app]
		if t.LastUpdated != nil && *t.LastUpdated < oldest {
			continue
		}
		add(0, func(c *cells) { c.text(t.AppID); c.long(t.Version); c.longOr(t.LastUpdated) })
	}
	for _, name := range sortedKeys(s.domains) {
		d := s.domains[name]
		add(5, func(c *cells) { c.text(d.Domain); c.text(d.Configuration); c.flag(false) })
	}
	for _, a := range s.Files() {
		*adds++
		add(1, func(c *cells) {
			c.text(a.Path)
			c.values(a.PartitionValues, false)
			c.long(a.Size)
			c.long(a.ModificationTime)
			c.flag(false)
			c.values(pointers(a.Tags), a.Tags == nil)
			c.dv(a.DV)
			c.longOr(a.BaseRowID)
			c.longOr(a.DefaultRowCommitVersion)
			c.textOrNull(a.ClusteringProvider)
			c.textOrNull(a.Stats)
		})
	}
	keep := l.Now().Add(-s.tombstoneRetention()).UnixMilli()
	for _, r := range s.removes {
		if r.DeletionTimestamp < keep {
			continue
		}
		add(2, func(c *cells) {
			c.text(r.Path)
			c.long(r.DeletionTimestamp)
			c.flag(false)
			c.flag(r.ExtendedFileMetadata)
			c.values(r.PartitionValues, r.PartitionValues == nil)
			c.longOr(r.Size)
			c.dv(r.DV)
			c.longOr(r.BaseRowID)
			c.longOr(r.DefaultRowCommitVersion)
		})
	}
	return errors.Join(errsOf...)
}

// tombstoneRetention is how long removed files are remembered and kept.
func (s *Snapshot) tombstoneRetention() time.Duration {
	if d, ok := parseInterval(s.Property("delta.deletedFileRetentionDuration")); ok {
		return d
	}
	return 7 * 24 * time.Hour
}

var intervalUnits = map[string]time.Duration{"microsecond": time.Microsecond, "millisecond": time.Millisecond, "second": time.Second,
	"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// parseInterval reads "interval 1 week", "2 days 3 hours".
func parseInterval(text string) (time.Duration, bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) == 0 || len(words)%2 != 0 {
		return 0, false
	}
	const most = 290 * 365 * 24 * time.Hour // what a Duration holds
	var d time.Duration
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		unit, ok := intervalUnits[strings.TrimSuffix(words[i+1], "s")]
		if err != nil || !ok || n < 0 {
			return 0, false
		}
		if n > int64(most/unit) {
			return most, true
		}
		d += time.Duration(n) * unit
	}
	return min(d, most), true
}
