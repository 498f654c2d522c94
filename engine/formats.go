package engine

import (
	"context"
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sinks/console"
	sinkfiles "streamlab/sinks/files"
	sinkkafka "streamlab/sinks/kafka"
	sinkmemory "streamlab/sinks/memory"
	"streamlab/sinks/noop"
	"streamlab/sources"
	"streamlab/sources/files"
	"streamlab/sources/kafka"
	"streamlab/sources/memory"
	"streamlab/sources/nexmark"
	"streamlab/sources/rate"
	"streamlab/sources/socket"
	"streamlab/sql/catalog"
)

// SourceFormat is a kind of streaming source.
type SourceFormat struct {
	Name    string
	Path    bool // takes a path
	Options []sources.OptionDoc
	New     func(sources.Def) (sources.Source, error)
	Check   func(sources.Def) error // nil: New finds everything; else what only a query that opens it would find
	// Continuous and RealTime say that the source has the interfaces of these names, for checks before it is
	// opened.
	Continuous, RealTime bool
	// Once says that rows that were read cannot be read again, so that a batch can only be traced while it runs.
	Once bool
}

// TableFormat is a kind of static table.
type TableFormat struct {
	Name    string
	Options []sources.OptionDoc
	Table   func(context.Context, sources.Def) (catalog.Table, error)
	Write   func(context.Context, TableWrite) error // nil: DataFrameWriter cannot write it
}

// SinkFormat is a kind of sink.
type SinkFormat struct {
	Name      string
	Path      bool // needs a path
	Temporary bool // may run without a checkpoint location
	Rows      bool // takes rows one by one (Spark's v2 write API): the continuous and real-time triggers ask for it
	Modes     []sinks.OutputMode
	Options   []sources.OptionDoc
	New       func(sinks.Def) (sinks.Sink, error)
	// Refuse is the error of a mode that is not among Modes; nil: the general one.
	Refuse func(sinks.OutputMode) error
}

func (f SinkFormat) accepts(m sinks.OutputMode) bool {
	for _, x := range f.Modes {
		if x == m {
			return true
		}
	}
	return false
}

// Formats is the table of formats: ordinary code that anyone can read; tests give a session their own.
type Formats struct {
	Sources []SourceFormat
	Tables  []TableFormat
	Sinks   []SinkFormat
	// Providers make the tables of CREATE TABLE … USING; formats of files that none makes are kept in memory.
	Providers []catalog.Provider
}

// later are formats that this program knows by name only: they are refused by name, not as unknown.
var later = map[string]bool{"orc": true, "avro": true,
	"foreach": true}

// AllFormats is every format of this program.
func AllFormats() Formats {
	all := []sinks.OutputMode{sinks.Append, sinks.Update, sinks.Complete}
	appendOnly := all[:1]
	var f Formats
	f.Sources = append(f.Sources,
		SourceFormat{Name: "rate", Options: rate.Options(), New: rate.New, Continuous: true},
		SourceFormat{Name: "rate-micro-batch", Options: rate.MicroBatchOptions(), New: rate.NewMicroBatch},
		SourceFormat{Name: "memory", Options: memory.Options(), New: memory.New, Continuous: true, RealTime: true},
		SourceFormat{Name: "kafka", Options: kafka.Options(), New: kafka.New, Check: kafka.Check, Continuous: true, RealTime: true},
		SourceFormat{Name: "socket", Options: socket.Options(), New: socket.New, Once: true},
		SourceFormat{Name: "nexmark", Options: nexmark.Options(), New: nexmark.New})
	f.Tables = append(f.Tables, TableFormat{Name: "kafka", Options: kafka.Options(), Table: kafka.NewTable, Write: writeTopics})
	for _, name := range []string{"text", "json", "csv", "parquet"} {
		f.Sources = append(f.Sources, SourceFormat{Name: name, Path: true, Options: files.Options(name), New: files.New, Check: files.Check})
		f.Tables = append(f.Tables, TableFormat{Name: name, Options: files.Options(name), Table: files.NewTable, Write: writeFiles})
		f.Sinks = append(f.Sinks, SinkFormat{Name: name, Path: true, Modes: appendOnly, Options: sinkfiles.Options(name), New: sinkfiles.New})
	}
	f.Sources = append(f.Sources, SourceFormat{Name: "binaryFile", Path: true, Options: files.Options("binaryFile"), New: files.New, Check: files.Check})
	f.Tables = append(f.Tables, TableFormat{Name: "binaryFile", Options: files.Options("binaryFile"), Table: files.NewTable})
	f.Sinks = append(f.Sinks,
		SinkFormat{Name: "binaryFile", Path: true, Modes: appendOnly, New: sinkfiles.New},
		SinkFormat{Name: "console", Temporary: true, Rows: true, Modes: all, Options: console.Options(), New: console.New},
		SinkFormat{Name: "memory", Temporary: true, Rows: true, Modes: all, Options: sinkmemory.Options(), New: sinkmemory.New},
		SinkFormat{Name: "kafka", Rows: true, Modes: all, Options: sinkkafka.Options(), New: sinkkafka.New},
		SinkFormat{Name: "noop", Temporary: true, Rows: true, Modes: all, Options: noop.Options(), New: noop.New})
	f.addDelta()
	return f
}

func (f Formats) source(name string) (SourceFormat, error) {
	for _, x := range f.Sources {
		if strings.EqualFold(x.Name, name) {
			return x, nil
		}
	}
	sources, _, _ := f.Names()
	return SourceFormat{}, unknownFormat(name, "reading", sources)
}

func (f Formats) table(name string) (TableFormat, error) {
	for _, x := range f.Tables {
		if strings.EqualFold(x.Name, name) {
			return x, nil
		}
	}
	_, tables, _ := f.Names()
	return TableFormat{}, unknownFormat(name, "reading", tables)
}

func (f Formats) sink(name string) (SinkFormat, error) {
	if name == "" {
		name = "parquet" // Spark's default format
	}
	for _, x := range f.Sinks {
		if strings.EqualFold(x.Name, name) {
			return x, nil
		}
	}
	_, _, sinks := f.Names()
	return SinkFormat{}, unknownFormat(name, "writing", sinks)
}

// isSink reports formats that are sinks and nothing else.
func (f Formats) isSink(name string) bool {
	x, err := f.sink(name)
	return err == nil && x.Temporary
}

// unknownFormat is the error of a format that is none of known, with the nearest of them.
func unknownFormat(name, operator string, known []string) error {
	l := strings.ToLower(name)
	if l == "hive" {
		return errs.New("_LEGACY_ERROR_TEMP_1187", "operation", map[string]string{"reading": "read", "writing": "write"}[operator])
	}
	if later[l] {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "The format `"+name+"` for "+operator)
	}
	switch l {
	case "console", "noop", "rate", "rate-micro-batch", "jdbc", "text", "json", "csv", "memory":
		return errs.New("_LEGACY_ERROR_TEMP_2049", "className", name, "operator", operator)
	}
	e := errs.New("DATA_SOURCE_NOT_FOUND", "provider", name)
	best, least := "", len(name)/2+1
	for _, k := range known {
		if d := editDistance(k, l); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return e
	}
	return e.WithHint("Did you mean `" + best + "`?")
}

// Names lists the formats of each kind, sorted: for completion and messages.
func (f Formats) Names() (sources, tables, sinks []string) {
	for _, x := range f.Sources {
		sources = append(sources, x.Name)
	}
	for _, x := range f.Tables {
		tables = append(tables, x.Name)
	}
	for _, x := range f.Sinks {
		sinks = append(sinks, x.Name)
	}
	sort.Strings(sources)
	sort.Strings(tables)
	sort.Strings(sinks)
	return
}
