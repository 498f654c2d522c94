package engine

import (
	"context"
	"os"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sinks"
	sinkfiles "streamlab/sinks/files"
	"streamlab/sources"
	"streamlab/sources/files"
	"streamlab/sql/catalog"
)

// fileFormats are the formats whose tables are folders of files.
var fileFormats = map[string]bool{"parquet": true, "json": true, "csv": true, "text": true}

// writeFiles is DataFrameWriter.save for formats of files. Error: PATH_ALREADY_EXISTS in mode error.
func writeFiles(ctx context.Context, w TableWrite) error {
	if w.Def.Path == "" {
		return errs.New("_LEGACY_ERROR_TEMP_2047")
	}
	_, err := os.Stat(w.Def.Path)
	there := err == nil
	switch {
	case w.Mode == SaveError && there:
		return errs.New("PATH_ALREADY_EXISTS", "outputPath", "file:"+w.Def.Path)
	case w.Mode == SaveIgnore && there:
		return nil
	}
	return sinkfiles.Write(ctx, w.Def, w.Parts, w.Mode == SaveOverwrite)
}

// stored says that the rows of a table can lie in files. Types that a format of files does not hold stay in
// memory.
func stored(d catalog.Definition) bool {
	if !fileFormats[d.Provider] || d.Location == "" {
		return false
	}
	def := sinks.Def{Format: d.Provider, Path: d.Location, PartitionBy: d.PartitionBy, Schema: d.Columns, Mode: sinks.Append}
	_, err := sinkfiles.New(def)
	return err == nil
}

// folder is where the rows of a table of files lie.
type folder struct {
	s *Session
}

// table is the rows that are there now.
func (f *folder) table(ctx context.Context, d catalog.Definition) (catalog.Table, error) {
	if err := os.MkdirAll(d.Location, 0o755); err != nil {
		return nil, err
	}
	conf := f.s.conf.clone()
	options := sources.Options{}
	for k, v := range d.Options {
		options[k] = v
	}
	return files.NewTable(ctx, sources.Def{Format: d.Provider, Path: d.Location, Schema: d.Columns, Options: options, Conf: conf.Get,
		Now: f.s.now, Zone: conf.zone()})
}

func (f *folder) scan(ctx context.Context, d catalog.Definition, s catalog.Scan) ([]columnar.Partition, error) {
	t, err := f.table(ctx, d)
	if err != nil {
		return nil, err
	}
	return t.Scan(ctx, s)
}

// write adds rows, or puts them in place of what is there.
func (f *folder) write(ctx context.Context, d catalog.Definition, parts []columnar.Partition, overwrite bool) error {
	conf := f.s.conf.clone()
	options := sources.Options{}
	for k, v := range d.Options {
		options[k] = v
	}
	return sinkfiles.Write(ctx, sinks.Def{Format: d.Provider, Path: d.Location, Options: options, PartitionBy: d.PartitionBy, Schema: d.Columns,
		Conf: func(key string) string {
			if key == "spark.sql.sources.partitionOverwriteMode" {
				return "static" // statements name the partitions themselves
			}
			return conf.Get(key)
		}, Zone: conf.zone(), Durable: conf.Get(keyDurability) != "process"}, parts, overwrite)
}
