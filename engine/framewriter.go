package engine

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"streamlab/columnar"
	"streamlab/delta"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

// SaveMode says what a write does where something is already: Spark's append, overwrite, error, ignore.
type SaveMode string

// The save modes.
const (
	SaveAppend    SaveMode = "append"
	SaveOverwrite SaveMode = "overwrite"
	SaveError     SaveMode = "error" // the default: errorifexists
	SaveIgnore    SaveMode = "ignore"
)

// A TableWrite is one finite write of rows to a format: what DataFrameWriter.save asks of it.
type TableWrite struct {
	Def   sinks.Def // path, options, partition columns, schema, settings; Mode is not set
	Mode  SaveMode
	Tag   catalog.Tag // a repeated write with the same tag is a no-op where the format keeps tags
	Parts []columnar.Partition
}

// DataFrameWriter writes a static DataFrame, as Spark's does. A builder is used by one goroutine.
type DataFrameWriter struct {
	d           *DataFrame
	format      string
	mode        string
	options     sources.Options
	partitionBy []string
}

// Write begins the writing of a static DataFrame.
func (d *DataFrame) Write() *DataFrameWriter {
	return &DataFrameWriter{d: d, format: "parquet", options: sources.Options{}}
}

// Format names the kind of table; default parquet.
func (w *DataFrameWriter) Format(name string) *DataFrameWriter { w.format = name; return w }

// Mode is append, overwrite, error (errorifexists, default; the default) or ignore, in any case. Errors at
// the end of the chain: INVALID_SAVE_MODE.
func (w *DataFrameWriter) Mode(mode string) *DataFrameWriter { w.mode = mode; return w }

// Option sets an option; value is printed with %v.
func (w *DataFrameWriter) Option(name string, value any) *DataFrameWriter {
	w.options[name] = fmt.Sprint(value)
	return w
}

// Options sets several options.
func (w *DataFrameWriter) Options(m map[string]string) *DataFrameWriter {
	for k, v := range m {
		w.options[k] = v
	}
	return w
}

// PartitionBy lays the files out in folders by the values of columns.
func (w *DataFrameWriter) PartitionBy(columns ...string) *DataFrameWriter {
	w.partitionBy = columns
	return w
}

func (w *DataFrameWriter) saveMode() (SaveMode, error) {
	switch strings.ToLower(w.mode) {
	case "append":
		return SaveAppend, nil
	case "overwrite":
		return SaveOverwrite, nil
	case "", "error", "errorifexists", "default":
		return SaveError, nil
	case "ignore":
		return SaveIgnore, nil
	}
	return "", errs.New("INVALID_SAVE_MODE", "mode", `"`+w.mode+`"`)
}

// Save writes to path, or to the option `path`. Errors: those of the chain, of the rows and of the format;
// INVALID_SAVE_MODE.
func (w *DataFrameWriter) Save(ctx context.Context, path ...string) error {
	if w.d.err != nil {
		return w.d.err
	}
	s := w.d.s
	mode, err := w.saveMode()
	if err != nil {
		return err
	}
	if strings.EqualFold(w.format, "delta") {
		target, _ := w.options.Get("path")
		if len(path) > 0 && path[0] != "" {
			target = path[0]
		}
		return w.saveDelta(ctx, mode, s.path(target))
	}
	f, err := s.formats.table(w.format)
	if err != nil {
		return err
	}
	if f.Write == nil {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "The format `"+w.format+"` for writing")
	}
	target, _ := w.options.Get("path")
	if len(path) > 0 && path[0] != "" {
		target = path[0]
	}
	rows, schema, err := w.d.Collect(ctx)
	if err != nil {
		return err
	}
	conf := s.conf.clone()
	return f.Write(ctx, TableWrite{Mode: mode, Tag: s.tag, Parts: []columnar.Partition{columnar.Batches{Name: "rows", List: rows}},
		Def: sinks.Def{Format: f.Name, Path: s.path(target), Options: w.options, PartitionBy: w.partitionBy,
			Schema: schema, Conf: conf.Get, Zone: conf.zone(), Dir: s.workspace, Durable: conf.Get(keyDurability) != "process"}})
}

// InsertInto appends to a table of the catalog, columns by position; mode overwrite replaces its rows.
func (w *DataFrameWriter) InsertInto(ctx context.Context, table string) error {
	return w.insert(ctx, "INTO", table)
}

func (w *DataFrameWriter) insert(ctx context.Context, how, table string) error {
	if w.d.err != nil {
		return w.d.err
	}
	if strings.EqualFold(w.mode, "overwrite") {
		how = "OVERWRITE"
	}
	c := w.d.s.child()
	c.tag = w.d.s.tag
	c.catalog.Register("__rows__", catalog.Relation{View: &catalog.View{Plan: w.d.node}})
	_, err := c.SQL(ctx, "INSERT "+how+" "+quoteName(table)+" SELECT * FROM __rows__")
	return err
}

// SaveAsTable writes to a table of the catalog, which it creates if there is none. Errors:
// TABLE_OR_VIEW_ALREADY_EXISTS in mode error; those of CREATE TABLE and INSERT.
func (w *DataFrameWriter) SaveAsTable(ctx context.Context, table string) error {
	if w.d.err != nil {
		return w.d.err
	}
	mode, err := w.saveMode()
	if err != nil {
		return err
	}
	s := w.d.s
	if r, ok := s.catalog.Lookup(table); ok && r.View == nil {
		if t, ok := r.Table.(*delta.Table); ok && (mode == SaveAppend || mode == SaveOverwrite) {
			if _, where := w.options.Get("replaceWhere"); mode == SaveAppend || where || w.dynamicOverwrite() { // a part of the table
				return w.saveDelta(ctx, mode, t.Log().Root)
			}
			return w.createAs(ctx, "CREATE OR REPLACE TABLE ", table)
		}
		switch mode {
		case SaveError:
			return errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteName(table))
		case SaveIgnore:
			return nil
		case SaveAppend:
			return w.insert(ctx, "INTO", table)
		}
		return w.insert(ctx, "OVERWRITE", table)
	}
	return w.createAs(ctx, "CREATE TABLE ", table)
}

// createAs makes a table of the rows.
func (w *DataFrameWriter) createAs(ctx context.Context, how, table string) error {
	s := w.d.s
	var b strings.Builder
	b.WriteString(how + quoteName(table) + " USING " + w.format)
	if len(w.partitionBy) > 0 {
		b.WriteString(" PARTITIONED BY (" + quoteNames(w.partitionBy) + ")")
	}
	if len(w.options) > 0 {
		b.WriteString(" OPTIONS (")
		keys := make([]string, 0, len(w.options))
		for k := range w.options {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for i, k := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteText(k) + " = " + quoteText(w.options[k]))
		}
		b.WriteString(")")
	}
	b.WriteString(" AS SELECT * FROM __rows__")
	c := s.child()
	c.tag = s.tag
	c.catalog.Register("__rows__", catalog.Relation{View: &catalog.View{Plan: plan.Node(w.d.node)}})
	_, err := c.SQL(ctx, b.String())
	return err
}

func quoteNames(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quoteName(n)
	}
	return strings.Join(out, ", ")
}

// quoteText writes a SQL string literal.
func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
