package engine

import (
	"context"
	"strings"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
)

// Table gives a table of the catalog as a stream, with the reader's options; a view or a stream of the
// catalog is itself. Errors: TABLE_OR_VIEW_NOT_FOUND; those of the table's format.
func (r *DataStreamReader) Table(name string) *DataFrame {
	d := &DataFrame{s: r.s, err: r.err}
	if d.err != nil {
		return d
	}
	rel, ok := r.s.catalog.Lookup(name)
	if !ok || rel.Table == nil {
		d, err := r.s.Table(name)
		if err != nil {
			return &DataFrame{s: r.s, err: err}
		}
		return d
	}
	if st, ok := rel.Table.(catalog.Streamer); ok {
		stream, err := st.AsStream(r.options)
		if err != nil {
			return &DataFrame{s: r.s, err: err}
		}
		c := catalog.New(nil)
		c.Register("__source__", catalog.Relation{Stream: stream})
		d.node, d.err = plan.AnalyzeText("SELECT * FROM __source__", c, planConf(r.s.conf))
		return d
	}
	def := catalog.DefinitionOf(rel.Table)
	if def.Location == "" || def.Provider == "" {
		return &DataFrame{s: r.s, err: errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", quoteName(name),
			"operation", "micro-batch scan")}
	}
	options := sources.Options{}
	for k, v := range def.Options {
		options[k] = v
	}
	for k, v := range r.options {
		options[k] = v
	}
	return (&DataStreamReader{s: r.s, format: def.Provider, name: r.name, schema: def.Columns, options: options}).Load(def.Location)
}

// ToTable starts a query that writes a table of the catalog. A table that is not there is made first, with
// the writer's format, the query's columns and the writer's partitioning; a table that is there keeps its
// own. Errors: those of Start; _LEGACY_ERROR_TEMP_1190 for a view, _LEGACY_ERROR_TEMP_1192 if the writer
// names another format than the table's.
func (w *DataStreamWriter) ToTable(ctx context.Context, name string) (*StreamingQuery, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.d.err != nil {
		return nil, w.d.err
	}
	s := w.d.s
	to := *w
	rel, ok := s.catalog.Lookup(name)
	if !ok {
		if to.format == "" {
			to.format = "parquet"
		}
		if err := to.checkLocation(); err != nil {
			return nil, err
		}
		if err := to.createTable(ctx, name); err != nil {
			return nil, err
		}
		if rel, ok = s.catalog.Lookup(name); !ok {
			return nil, errs.New("TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteName(name))
		}
	}
	if rel.Table == nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1190", "viewName", quoteName(name))
	}
	def := catalog.DefinitionOf(rel.Table)
	if def.Provider != "" && to.format != "" && !strings.EqualFold(def.Provider, to.format) {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1192", "tableName", quoteName(name), "provider", def.Provider, "source", to.format)
	}
	if h, ok := rel.Table.(*heap); (!ok || h.dir != nil) && def.Location != "" && def.Provider != "" {
		to.format = def.Provider
		if def.PartitionBy != nil && def.Provider != "delta" { // Delta's table knows its own
			to.partitionBy = def.PartitionBy
		}
		return to.Start(ctx, def.Location)
	}
	in, ok := rel.Table.(catalog.Inserter)
	if !ok {
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", quoteName(name), "operation", "append in batch mode")
	}
	if err := to.checkLocation(); err != nil {
		return nil, err
	}
	return to.Sink(&tableSink{to: in, name: name}, name).Start(ctx)
}

// checkLocation refuses a query whose checkpoint would have no place, before a table is made for it.
func (w *DataStreamWriter) checkLocation() error {
	return (&prepared{w: w, s: w.d.s, conf: w.d.s.conf.clone()}).locate()
}

// createTable makes the table that a query is going to write.
func (w *DataStreamWriter) createTable(ctx context.Context, name string) error {
	var b strings.Builder
	schema := w.d.node.Schema()
	b.WriteString("CREATE TABLE " + name + " (")
	for i, f := range schema {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoteName(f.Name) + " " + f.Type.SQL())
	}
	b.WriteString(") USING " + w.format)
	if len(w.partitionBy) > 0 {
		b.WriteString(" PARTITIONED BY (" + quoteNames(w.partitionBy) + ")")
	}
	if path, ok := w.options.Get("path"); ok {
		b.WriteString(" LOCATION " + quoteText(w.d.s.path(path)))
	}
	_, err := w.d.s.SQL(context.WithValue(ctx, keepRows{}, true), b.String())
	return err
}

// tableSink writes micro-batches to a table that takes INSERT and is no folder of its own.
type tableSink struct {
	to   catalog.Inserter
	name string
}

func (t *tableSink) Close() error { return nil }

func (t *tableSink) Description() string { return t.name }

func (t *tableSink) NumOutputRows() int64 { return -1 }

func (t *tableSink) AddBatch(ctx context.Context, b sinks.Batch) error {
	return t.to.Insert(ctx, catalog.Insertion{Tag: catalog.Tag{App: b.QueryID, Version: b.ID}, Rows: b.Parts, Overwrite: b.Mode == sinks.Complete})
}
