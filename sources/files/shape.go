package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sources"
	"streamlab/sql/types"
)

// shape is what streams and tables share: where the files are, and how they are read into columns.
type shape struct {
	format      string
	settings    codec.Settings
	list        lister
	base        string       // partition columns are looked for below; "" if there are none
	data        types.Schema // of the files
	parts       types.Schema // from folder names
	schema      types.Schema // data, then parts
	columns     []int        // of schema, then of hidden; nil: all of schema
	reader      *codec.Reader
	readErr     error        // why there is no reader: it fails the batch, not the definition
	out         types.Schema // of columns
	arrow       *arrow.Schema
	tests       []columnar.Test // of data columns that are built, by position: a hint to skip parts of Parquet files
	folderTests []columnar.Test // of partition columns: folders that fail are not read
	missing     bool            // spark.sql.files.ignoreMissingFiles
	corrupt     bool            // spark.sql.files.ignoreCorruptFiles
}

type codecCounts struct{ all, dropped atomic.Int64 }

func settingsOf(def sources.Def) codec.Settings {
	conf := def.Conf
	if conf == nil {
		conf = func(string) string { return "" }
	}
	return codec.Settings{Format: strings.ToLower(def.Format), Option: def.Options.Get, Conf: conf, Zone: def.Zone, Now: def.Now}
}

func (s *shape) setup(def sources.Def, stream bool) error {
	s.settings = settingsOf(def)
	s.format = s.settings.Format
	conf := s.settings.Conf
	yes := func(key string) bool { return strings.EqualFold(conf(key), "true") }
	if def.Path == "" {
		return errs.New("MISSING_OPTION", "format", def.Format, "option", "path")
	}
	s.list = lister{single: !stream, fs: vfs.OS, path: strings.TrimSuffix(def.Path, "/"), glob: hasGlob(def.Path), filter: def.Options.Text("pathGlobFilter", ""),
		ignoreLog: yes("spark.sql.streaming.fileStreamSink.ignoreMetadata")}
	if s.list.path == "" {
		s.list.path = "/"
	}
	var err error
	if s.list.recursive, err = def.Options.Bool("recursiveFileLookup", false); err != nil {
		return err
	}
	if s.missing, err = def.Options.Bool("ignoreMissingFiles", yes("spark.sql.files.ignoreMissingFiles")); err != nil {
		return err
	}
	if s.corrupt, err = def.Options.Bool("ignoreCorruptFiles", yes("spark.sql.files.ignoreCorruptFiles")); err != nil {
		return err
	}
	if !s.list.glob {
		if _, err := vfs.OS.Stat(s.list.path); err != nil {
			return errs.Wrap(err, "PATH_NOT_FOUND", "path", s.list.path)
		}
		s.base = s.list.path
	}
	if b, ok := def.Options.Get("basePath"); ok {
		if s.base, err = filepath.Abs(b); err != nil {
			return err
		}
	}
	if s.list.recursive {
		s.base = ""
	}
	s.data = def.Schema
	if isBinary(s.format) {
		if s.data == nil {
			s.data = binarySchema
		}
		if !sameBinary(s.data) {
			return errs.New("UNSUPPORTED_FEATURE", "feature", "A schema for the format binaryFile with other columns than its own")
		}
	}
	// Partition columns need a look at the folders; a folder without key=value folders costs one reading.
	var found []file
	if s.base != "" || s.data == nil {
		probe := s.list
		inferred := s.data == nil && s.format != "text" && (!stream || yes("spark.sql.streaming.schemaInference")) // infer reads
		look := func(dir string, name []byte) bool {
			return inferred || strings.Contains(dir, "=") || bytes.IndexByte(name, '=') >= 0
		}
		if found, err = probe.list(look); err != nil {
			if stream && errs.Has(err, "INVALID_OPTION") {
				found, err = nil, nil // the path is one file: the query says so
			}
			if err != nil {
				return err
			}
		}
	}
	if s.base != "" {
		infer := !strings.EqualFold(conf("spark.sql.sources.partitionColumnTypeInference.enabled"), "false")
		if s.parts, err = partitionColumns(s.base, found, def.Schema, infer); err != nil {
			return err
		}
	}
	if s.data == nil {
		if s.data, err = s.infer(found, stream, yes("spark.sql.streaming.schemaInference")); err != nil {
			return err
		}
	}
	data := make(types.Schema, 0, len(s.data))
	for _, f := range s.data {
		if s.parts.Index(f.Name) < 0 {
			f.Nullable = true
			f.Type = nullable(f.Type)
			data = append(data, f)
		}
	}
	s.data = data
	s.schema = append(append(types.Schema(nil), data...), s.parts...)
	s.prepare()
	return nil
}

// nullable makes every part of a type one that may be null: files promise nothing.
func nullable(t types.DataType) types.DataType {
	switch t.Kind {
	case types.Array:
		return types.ArrayOf(nullable(*t.Elem), true)
	case types.Map:
		return types.MapOf(*t.Key, nullable(*t.Elem), true)
	case types.Struct:
		fs := make([]types.Field, len(t.Fields))
		for i, f := range t.Fields {
			f.Nullable, f.Type = true, nullable(f.Type)
			fs[i] = f
		}
		return types.StructOf(fs...)
	}
	return t
}

// infer finds the columns by reading files.
func (s *shape) infer(files []file, stream, allowed bool) (types.Schema, error) {
	if s.format == "text" {
		return types.Schema{{Name: "value", Type: types.Of(types.String), Nullable: true}}, nil
	}
	if stream && !allowed {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2048")
	}
	if s.format == "parquet" {
		return s.inferParquet(files)
	}
	n, err := codec.NewInferrer(s.settings)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if unread(filepath.Base(f.path)) {
			continue
		}
		if err := n.Reader().Read(context.Background(), n, s.input(f, 0, 0), func() error { return nil }); err != nil {
			return nil, err
		}
	}
	schema := n.Schema()
	if len(schema) == 0 && (stream || len(files) == 0) {
		return nil, errs.New("UNABLE_TO_INFER_SCHEMA", "format", strings.ToUpper(s.format))
	}
	return schema, nil
}

// prepare makes the reader of the columns that are wanted.
func (s *shape) prepare() {
	var want []int
	s.out = nil
	if s.columns == nil {
		s.out = s.schema
	} else {
		want = []int{}
		for _, c := range s.columns {
			if c < len(s.data) {
				want = append(want, c)
			}
			if c < len(s.schema) {
				s.out = append(s.out, s.schema[c])
			} else {
				s.out = append(s.out, s.hidden()[c-len(s.schema)])
			}
		}
	}
	s.arrow = s.out.Arrow()
	if isBinary(s.format) {
		return
	}
	s.reader, s.readErr = codec.NewReader(s.settings, s.data, want)
}

// Prune leaves columns out: only those that are needed are built.
func (s *shape) Prune(columns []int) bool {
	s.columns = append([]int{}, columns...)
	s.prepare()
	return true
}

// partitionsStill checks that new files have no partition columns but those of the schema.
func (s *shape) partitionsStill(files *listing) error {
	if s.base == "" {
		return nil
	}
	last := ^uint32(0)
	for _, x := range files.left() {
		if x.dir == last {
			continue
		}
		last = x.dir
		dir := files.dirs[x.dir]
		kvs, err := folderKeys(s.base, files.file(x).path)
		if err != nil {
			return err
		}
		for _, kv := range kvs {
			if s.schema.Index(kv.key) < 0 {
				return errs.New("CONFLICTING_PARTITION_COLUMN_NAMES", "distinctPartColLists", kv.key, "suspiciousPaths", dir)
			}
		}
	}
	return nil
}

func (s *shape) input(f file, from, to int64) codec.Input {
	return codec.Input{Path: codec.FileURL(f.path), From: from, To: to, Open: func() (codec.File, error) {
		h, err := vfs.OS.Open(f.path)
		if err != nil {
			return nil, notOpened(err, codec.FileURL(f.path))
		}
		return h, nil
	}}
}

// notOpened says why a file could not be opened. One that is there and may not be read is no missing file,
// which the option ignoreMissingFiles would pass over.
func notOpened(err error, url string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errs.Wrap(err, "FAILED_READ_FILE.FILE_NOT_EXIST", "path", url)
	}
	return errs.Wrap(err, "FAILED_READ_FILE.NO_HINT", "path", url)
}

// readable refuses, before anything is read, columns that the format cannot read. What is left of readErr
// comes when the first file is read.
func (s *shape) readable() error {
	for _, c := range []string{"INVALID_CORRUPT_RECORD_TYPE", "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
		"UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN", "INVALID_PARAMETER_VALUE.CHARSET",
		"OPTION_VALUE_EXCEEDS_ONE_CHARACTER"} {
		if s.readErr != nil && errs.Has(s.readErr, c) {
			return s.readErr
		}
	}
	if s.format != "text" {
		return nil
	}
	wanted := 0
	for i, f := range s.out {
		at := i
		if s.columns != nil {
			at = s.columns[i]
		}
		if at >= len(s.data) {
			continue
		}
		if f.Type.Kind != types.String {
			return errs.New("UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE", "format", "Text", "columnName", types.Quote(f.Name),
				"columnType", `"`+f.Type.SQL()+`"`)
		}
		if wanted++; wanted > 1 {
			return errs.New("_LEGACY_ERROR_TEMP_1290", "schemaSize", len(s.data))
		}
	}
	return nil
}

const (
	leastPart = 256 << 10
	mostPart  = 4 << 20
	// mostParquet is larger: only whole row groups can be read apart.
	mostParquet = 32 << 20
	openCost    = 64 << 10 // what opening a file costs, in bytes read
)

// partitions packs files into parts of some megabytes, in order: big files are cut, small ones joined.
func (s *shape) partitions(files []file, counts *codecCounts) ([]columnar.Partition, error) {
	if err := s.readable(); err != nil {
		return nil, err
	}
	total := int64(0)
	kept := make([]file, 0, len(files))
	for _, f := range files {
		if unread(filepath.Base(f.path)) {
			continue
		}
		info, err := vfs.Look(f.path)
		if err != nil {
			if ignoreGone(err) == nil {
				continue
			}
			return nil, err
		}
		f.size = info.Size
		total += f.size
		kept = append(kept, f)
	}
	most := int64(mostPart)
	if s.format == "parquet" {
		most = mostParquet
	}
	workers := int64(runtime.GOMAXPROCS(0))
	size := min(max(total/(4*workers), leastPart), most)
	// A part of a few files each is fine for a hundred files; of a hundred thousand it would be more work than
	// reading them, so that opening counts less the more files there are.
	opening := min(int64(openCost), size/max(1, int64(len(kept))/(8*workers)))
	var out []columnar.Partition
	cur := &part{shape: s, counts: counts}
	room := size
	flush := func() {
		if len(cur.chunks) > 0 {
			out = append(out, cur)
			cur = &part{shape: s, counts: counts}
		}
		room = size
	}
	for _, f := range kept {
		if s.whole(f) {
			if room < f.size {
				flush()
			}
			cur.chunks = append(cur.chunks, chunk{f, 0, 0})
			room -= f.size + opening
			continue
		}
		for from := int64(0); from < f.size; {
			to := min(f.size, from+room)
			if f.size-to < size/4 { // no crumbs
				to = f.size
			}
			end := to
			if to == f.size {
				end = 0
			}
			cur.chunks = append(cur.chunks, chunk{f, from, end})
			room -= to - from
			from = to
			if room < size/4 {
				flush()
			}
		}
		room -= opening
		if room < size/4 {
			flush()
		}
	}
	flush()
	return out, nil
}

// whole says that a file is read by one reader from its first byte to its last.
func (s *shape) whole(f file) bool {
	if s.format == "parquet" {
		return false
	}
	return isBinary(s.format) || s.reader == nil || codec.Compressed(f.path) || s.reader.Document ||
		s.reader.Encoded()
}

// A chunk is bytes [from, to) of a file; to 0 is its end.
type chunk struct {
	file     file
	from, to int64
}

// part is chunks that are read one after the other.
type part struct {
	*shape
	counts *codecCounts
	chunks []chunk
}

func (p *part) String() string {
	c := p.chunks[0]
	name := fmt.Sprintf("%s[%d,", c.file.path, c.from)
	if c.to > 0 {
		name += fmt.Sprintf("%d)", c.to)
	} else {
		name += "end)"
	}
	if n := len(p.chunks) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	return name
}

// errStopped ends reading when the reader wants no more.
var errStopped = errors.New("files: the reader wants no more")

// Rows reads the chunks anew at every call.
func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		err := p.read(ctx, false, func(cols []*columnar.Vec, rows int) error {
			rb := columnar.Record(p.arrow, cols, columnar.AllRows(rows))
			n := rb.NumRows()
			for from := int64(0); from < n; from += columnar.MaxBatch {
				part := rb
				if n > columnar.MaxBatch {
					part = rb.NewSlice(from, min(from+columnar.MaxBatch, n))
				}
				if !yield(part, nil) {
					return errStopped
				}
			}
			return nil
		})
		if err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// Lend reads the chunks anew at every call, columnar.Slice rows at a time where the format goes row by row.
func (p *part) Lend(ctx context.Context, give func(cols []*columnar.Vec, n int) error) error {
	return p.read(ctx, true, give)
}

// read reads the chunks one after the other. Rows of several files share a batch as long as nothing in it
// depends on the file or its folder. lent says that what give is given need not outlive the call.
func (p *part) read(ctx context.Context, lent bool, give func(cols []*columnar.Vec, n int) error) (err error) {
	if p.readErr != nil {
		return errs.Wrap(p.readErr, "FAILED_READ_FILE.NO_HINT", "path", codec.FileURL(p.chunks[0].file.path))
	}
	var d codec.Decoder = codec.NoRows{}
	if p.reader != nil {
		d = p.reader.NewDecoder()
	}
	defer func() {
		if p.counts != nil {
			all, dropped := d.Malformed()
			p.counts.all.Add(all)
			p.counts.dropped.Add(dropped)
		}
		if err == nil && p.reader != nil {
			p.reader.Keep(d)
		}
	}()
	var refused error // of give
	taker := give
	give = func(cols []*columnar.Vec, n int) error {
		refused = taker(cols, n)
		return refused
	}
	dir := ""
	var folder []*columnar.Vec // one-row values of the partition columns
	var from chunk             // that the rows gathered in d are of
	full := func() error {
		n := d.Rows()
		if n == 0 {
			return nil
		}
		if lent {
			err := give(p.join(d.Lend(), folder, from, 0, n), n)
			d.Reuse()
			return err
		}
		return give(p.join(d.Take(), folder, from, 0, n), n)
	}
	many, few := 0, 4096
	if lent {
		many, few = columnar.Slice, columnar.Slice
	}
	later := func() error {
		if d.Rows() < few {
			return nil
		}
		return full()
	}
	alone := p.perFile()
	for _, c := range p.chunks {
		here := filepath.Dir(c.file.path)
		if alone || here != dir && len(p.parts) > 0 {
			if err := full(); err != nil {
				return err
			}
		}
		if here != dir && len(p.parts) > 0 {
			if folder, err = p.folder(c.file.path); err != nil {
				return err
			}
		}
		dir, from = here, c
		if p.leftOut(folder) {
			continue
		}
		err := p.chunk(ctx, d, c, folder, lent, many, later, give)
		if err == nil {
			continue
		}
		if ctx.Err() == nil && refused == nil && (p.missing && errs.Has(err, "FAILED_READ_FILE.FILE_NOT_EXIST") ||
			p.corrupt && errs.Has(err, "FAILED_READ_FILE.NO_HINT")) {
			continue
		}
		return err
	}
	return full()
}

// leftOut reports that no row of a folder can pass.
func (p *part) leftOut(folder []*columnar.Vec) bool {
	for _, t := range p.folderTests {
		if t.Column < len(folder) && codec.Excludes(folder[t.Column], t) {
			return true
		}
	}
	return false
}

// chunk reads one chunk: records of text go into d, of which many are many, whole files and Parquet to give.
func (p *part) chunk(ctx context.Context, d codec.Decoder, c chunk, folder []*columnar.Vec, lent bool, many int, later func() error,
	give func(cols []*columnar.Vec, n int) error) error {
	if isBinary(p.format) {
		cols, err := p.binary(c.file)
		if err != nil {
			return err
		}
		return give(p.join(cols, folder, c, 0, 1), 1)
	}
	if p.format == "parquet" {
		in := p.input(c.file, c.from, c.to)
		in.Lent = lent
		return p.reader.ReadParquet(ctx, in, p.tests, func(cols []*columnar.Vec, first int64, n int) error {
			return give(p.join(cols, folder, c, first, n), n)
		})
	}
	in := p.input(c.file, c.from, c.to)
	in.Rows = many
	return p.reader.Read(ctx, d, in, later)
}

// folder gives the partition values of a file.
func (p *part) folder(path string) ([]*columnar.Vec, error) {
	kvs, err := folderKeys(p.base, path)
	if err != nil {
		return nil, err
	}
	out := make([]*columnar.Vec, len(p.parts))
	for i, f := range p.parts {
		kv := keyValue{null: true}
		for _, x := range kvs {
			if strings.EqualFold(x.key, f.Name) {
				kv = x
			}
		}
		text, err := partitionValue(kv, f)
		if err != nil {
			return nil, err
		}
		v, ok := codec.Constant(f.Type, text, kv.null, p.settings.Zone)
		if !ok {
			_, err := partitionValue(keyValue{value: text}, types.Field{Name: f.Name})
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// ContentKey tells the chunks by path, time, size and bounds: a file that was written anew is another one.
func (p *part) ContentKey() string {
	var b strings.Builder
	for _, c := range p.chunks {
		fmt.Fprintf(&b, "%s@%d+%d[%d,%d)", c.file.path, c.file.mtime, c.file.size, c.from, c.to)
	}
	return b.String()
}
