// Package files is the sink into folders of JSON, CSV and text files. It is exactly-once for readers that use
// its log, the folder _spark_metadata: a batch is there when the log has its entry, which appears at once and
// only once; a batch whose entry exists is skipped. Names of files are a function of query, batch and
// partition, so a batch that comes again overwrites its own files and even readers of the bare folder see no
// row twice. Files are written under names that begin with a dot, synced and renamed.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"streamlab/codec"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

type sink struct {
	def       sinks.Def
	fs        vfs.FS
	schema    types.Schema         // of the files
	data      []int                // columns of the result that are in the files
	keys      []int                // partition columns
	writer    *codec.Writer        // nil for Parquet
	parquet   *codec.ParquetFormat // nil for others
	extension string               // of file names, with the codec's
	codec     codec.Codec
	codecErr  error // a codec that is not there fails the first batch
	mostRows  int64
	retention time.Duration // 0: for ever
	interval  int64
	retain    int64 // micro-batches that the log keeps entries of
	deletes   bool
	delay     time.Duration
	compat    bool
	latest    int64 // newest batch of the log; -2: not looked at yet
	every     int64 // distance of compacted entries; 0: not looked at yet
	entries   []int64
	cleanAt   time.Time // when the oldest entry may go
	rows      atomic.Int64
	held      *os.File // the lock
}

// New makes the sink. Errors: _LEGACY_ERROR_TEMP_2047 without a path, STREAMING_OUTPUT_MODE for modes other
// than append, INVALID_OPTION, _LEGACY_ERROR_TEMP_1196 for an unknown partition column.
func New(def sinks.Def) (sinks.Sink, error) {
	if def.Path == "" {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2047")
	}
	if def.Mode != "" && def.Mode != sinks.Append {
		return nil, errs.New("STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE", "className", def.Format, "outputMode", def.Mode.String())
	}
	s := &sink{def: def, fs: vfs.OS, latest: -2}
	taken := map[int]bool{}
	for _, name := range def.PartitionBy {
		i := def.Schema.Index(name)
		if i < 0 {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1196", "columnType", "Partition", "columnName", name,
				"validColumnNames", strings.Join(def.Schema.Names(), ", "))
		}
		taken[i] = true
		s.keys = append(s.keys, i)
	}
	for i, f := range def.Schema {
		if !taken[i] {
			s.data = append(s.data, i)
			s.schema = append(s.schema, f)
		}
	}
	var err error
	if strings.EqualFold(def.Format, "binaryFile") {
		return nil, errs.New("UNSUPPORTED_FEATURE.WRITE_FOR_BINARY_SOURCE")
	}
	settings := codec.Settings{Format: strings.ToLower(def.Format), Option: def.Options.Get, Conf: def.Conf, Zone: def.Zone}
	if settings.Format == "parquet" {
		name := ""
		if def.Conf != nil {
			name = def.Conf("spark.sql.parquet.compression.codec")
		}
		s.codec, s.codecErr = codec.FindParquetCodec(def.Options.Text("compression", name))
		if s.parquet, err = codec.NewParquetFormat(s.schema, s.codec); err != nil {
			return nil, err
		}
		s.extension = s.codec.Extension + ".parquet"
	} else {
		if s.writer, err = codec.NewWriter(settings, s.schema); err != nil {
			return nil, err
		}
		s.codec, s.codecErr = codec.FindCodec(def.Options.Text("compression", ""))
		s.extension = "." + s.writer.Extension() + s.codec.Extension
	}
	if s.mostRows, err = def.Options.Int("maxRecordsPerFile", 0, math.MinInt64); err != nil {
		return nil, err
	}
	if s.retention, err = def.Options.Duration("retention", 0, time.Millisecond); err != nil {
		return nil, err
	}
	if s.compat, err = def.Options.Bool("sparkCompat", true); err != nil {
		return nil, err
	}
	return s, s.logSettings()
}

// logSettings reads the session's settings of the log.
func (s *sink) logSettings() error {
	conf := sources.Options{}
	for _, name := range []string{"fileSink.log.compactInterval", "fileSink.log.deletion", "fileSink.log.cleanupDelay", "minBatchesToRetain"} {
		if s.def.Conf != nil {
			if v := s.def.Conf("spark.sql.streaming." + name); v != "" {
				conf["spark.sql.streaming."+name] = v
			}
		}
	}
	var err error
	if s.interval, err = conf.Int("spark.sql.streaming.fileSink.log.compactInterval", 10, 1); err != nil {
		return err
	}
	if s.retain, err = conf.Int("spark.sql.streaming.minBatchesToRetain", 100, 1); err != nil {
		return err
	}
	if s.deletes, err = conf.Bool("spark.sql.streaming.fileSink.log.deletion", true); err != nil {
		return err
	}
	s.delay, err = conf.Duration("spark.sql.streaming.fileSink.log.cleanupDelay", 10*time.Minute, time.Millisecond)
	return err
}

// Options describes the options of a format.
func Options(format string) []sources.OptionDoc {
	out := []sources.OptionDoc{
		{Name: "path", Doc: "Folder to write to."},
		{Name: "compression", Doc: "none, bzip2, deflate, gzip, lz4, snappy or zstd; Parquet: snappy (default), none, gzip, zstd, lz4, lz4_raw or brotli."},
		{Name: "maxRecordsPerFile", Default: "0", Doc: "Begin a new file after this many rows; 0: never."},
		{Name: "retention", Doc: "Readers forget files older than this; the files stay."},
		{Name: "sparkCompat", Default: "true", Doc: "Skip batches of a new checkpoint that an old folder has already, as Spark does; false refuses such a folder."},
		{Name: "lineSep", Default: "\\n", Doc: "What ends a row."},
	}
	switch format {
	case "json":
		out = append(out, sources.OptionDoc{Name: "ignoreNullFields", Default: "true", Doc: "Leave out fields that are null."})
	case "csv":
		for _, name := range []string{"sep", "delimiter", "quote", "escape", "quoteAll", "escapeQuotes", "header", "nullValue", "emptyValue",
			"ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "extension", "charToEscapeQuoteEscaping"} {
			out = append(out, sources.OptionDoc{Name: name, Doc: "As in Spark."})
		}
	}
	if format == "parquet" {
		return append(out, sources.OptionDoc{Name: "parquet.compression", Doc: "As compression."})
	}
	if format != "text" {
		for _, name := range []string{"dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone", "locale", "encoding"} {
			out = append(out, sources.OptionDoc{Name: name, Doc: "As in Spark."})
		}
	}
	return out
}

// Close lets the folder go.
func (s *sink) Close() error {
	if s.held == nil {
		return nil
	}
	err := s.held.Close()
	s.held = nil
	return err
}

// Description is Spark's.
func (s *sink) Description() string { return "FileSink[file:" + s.def.Path + "]" }

// NumOutputRows is -1: Spark's file sink does not say.
func (s *sink) NumOutputRows() int64 { return -1 }

// begin looks at the log once. The log belongs to the folder, the numbers of batches to the checkpoint: a
// folder that has batches which this checkpoint has not run was written by another query.
func (s *sink) begin(b sinks.Batch) error {
	if s.latest != -2 {
		return nil
	}
	if s.codecErr != nil {
		return s.codecErr
	}
	ids, _, err := codec.SinkLogIDs(s.fs, s.def.Path)
	if err != nil {
		return err
	}
	latest := int64(-1)
	if len(ids) > 0 {
		latest = ids[len(ids)-1]
	}
	if latest > b.ID || latest == b.ID && !b.Replay {
		if !s.compat {
			return errs.New("FILE_SINK_OTHER_QUERY", "path", s.def.Path, "latest", latest, "current", b.ID)
		}
		if s.def.Notice != nil {
			s.def.Notice(fmt.Sprintf("%s has batches 0 to %d of another query: those of this one with such numbers are not written. Use a new folder, or the old checkpoint.",
				s.def.Path, latest))
		}
	}
	if link, err := vfs.Link(s.fs, s.def.Path, codec.SinkLogDir); err != nil || link != "" {
		if err == nil {
			err = errs.New("OUTPUT_THROUGH_LINK", "path", link, "folder", s.def.Path)
		}
		return err
	}
	if err := vfs.MkdirAll(s.fs, filepath.Join(s.def.Path, codec.SinkLogDir), 0o755); err != nil {
		return err
	}
	if s.held, err = lock(s.fs, s.def.Path); err != nil {
		return err
	}
	s.removeLeftovers()
	s.latest = latest
	return nil
}

// removeLeftovers removes what a crash left half written in the folder itself, best effort. Leftovers in
// partition folders are overwritten when their batch comes again.
func (s *sink) removeLeftovers() {
	entries, err := s.fs.ReadDir(s.def.Path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, ".part-") && strings.HasSuffix(n, ".tmp") {
			_ = s.fs.Remove(filepath.Join(s.def.Path, n))
		}
	}
}

// discard removes the files of a batch that surely has no log entry: readers of the bare folder would see them.
func (s *sink) discard(id int64, files []codec.SinkFile) {
	for _, compact := range []bool{false, true} {
		_, err := s.fs.Stat(filepath.Join(s.def.Path, codec.SinkLogDir, entryName(id, compact)))
		if !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	for _, f := range files {
		_ = s.fs.Remove(codec.FilePath(f.Path)) // the batch's next attempt writes it anew
	}
}

// AddBatch writes the files of the batch, then its log entry. Errors: OUTPUT_DISK_FULL, OUTPUT_NOT_WRITABLE,
// OUTPUT_FOLDER_GONE, those of the rows.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	return vfs.Named(s.def.Path, s.gone(s.add(ctx, b)))
}

// gone names the error of a folder, or of its log, that was removed after the query had begun to write there.
func (s *sink) gone(err error) error {
	if s.latest == -2 || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, serr := s.fs.Stat(filepath.Join(s.def.Path, codec.SinkLogDir)); !errors.Is(serr, fs.ErrNotExist) {
		return err
	}
	return errs.Wrap(err, "OUTPUT_FOLDER_GONE", "path", s.def.Path)
}

func (s *sink) add(ctx context.Context, b sinks.Batch) error {
	if err := s.begin(b); err != nil {
		return err
	}
	if b.ID <= s.latest {
		return sinks.ErrSkipped
	}
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	files, err := s.stage(ctx, b)
	if err != nil {
		return err
	}
	if err := fault.Point("sink.stage.synced"); err != nil {
		return err
	}
	if err := s.commit(b.ID, files); err != nil {
		s.discard(b.ID, files)
		return err
	}
	s.latest = b.ID
	return fault.Point("sink.commit.after")
}
