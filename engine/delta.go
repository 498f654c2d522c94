package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/delta"
	"streamlab/errs"
	"streamlab/sinks"
	deltasource "streamlab/sources/delta"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// deltaFormats are the Delta lines of the table of formats.
func (f *Formats) addDelta() {
	f.Sources = append(f.Sources, SourceFormat{Name: "delta", Path: true, Options: deltasource.Options(), New: deltasource.New})
	f.Tables = append(f.Tables, TableFormat{Name: "delta", Options: deltasource.TableOptions(), Table: deltasource.NewTable})
	f.Sinks = append(f.Sinks, SinkFormat{Name: "delta", Path: true, Modes: []sinks.OutputMode{sinks.Append, sinks.Complete}, Options: deltaSinkOptions(),
		New: newDeltaSink, Refuse: func(m sinks.OutputMode) error {
			return errs.New("DELTA_UNSUPPORTED_OUTPUT_MODE", "dataSource", "org.apache.spark.sql.delta.sources.DeltaDataSource", "mode", m.String()).
				WithHint("Use foreachBatch with MERGE INTO: it updates rows by their key.")
		}})
}

// wireDelta lets the session's statements make, open and name Delta tables.
func (s *Session) wireDelta() {
	p := &delta.Provider{Now: s.now, Zone: func() *time.Location { return s.conf.zone() },
		Durable: func() bool { return s.conf.Get(keyDurability) != "process" }}
	p.Stream = func(root, name string, options map[string]string) (*catalog.Stream, error) {
		r := s.ReadStream().Format("delta").Named(name).Options(options)
		return r.stream(root)
	}
	s.delta = p
	s.formats.Providers = append(s.formats.Providers[:len(s.formats.Providers):len(s.formats.Providers)], p)
	s.catalog.SetFiles(s.openFiles)
}

// openFiles is what a format and a path, as in delta.`/data/t`, stand for.
func (s *Session) openFiles(format, path string) (catalog.Table, bool, error) {
	if strings.EqualFold(format, "delta") {
		t, err := s.deltaAt(path)
		return t, true, err
	}
	for _, f := range append([]TableFormat{{Name: "statestore"}, {Name: "state-metadata"}}, s.formats.Tables...) {
		if strings.EqualFold(f.Name, format) {
			t, err := s.Read().Format(format).Table(context.Background(), path)
			if err != nil && (errs.As(err) == nil || errs.Has(err, "SINK_LOG_GAP")) {
				err = errs.Wrap(err, "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY", "dataSourceType", format)
			}
			return t, true, err
		}
	}
	return nil, false, nil
}

// deltaAt opens the Delta table at a path. Error: PATH_NOT_FOUND.
func (s *Session) deltaAt(path string) (catalog.Table, error) {
	t, err := deltasource.OpenPath(s.path(path), s.conf.zone(), func(root string) (*delta.Table, error) {
		t, err := s.delta.Open(context.Background(), catalog.Definition{Location: root, External: true})
		if err != nil {
			return nil, err
		}
		return t.(*delta.Table), nil
	})
	if errs.Has(err, "DELTA_PATH_DOES_NOT_EXIST") {
		return nil, errs.New("PATH_NOT_FOUND", "path", path)
	}
	return t, err
}

// saveDelta writes the rows of a DataFrame to a Delta table, as DataFrameWriter.save and saveAsTable do.
// name is that of the table in the catalog, if it has one.
func (w *DataFrameWriter) saveDelta(ctx context.Context, mode SaveMode, root string) error {
	s := w.d.s
	app, version, err := w.deltaTag()
	if err != nil {
		return err
	}
	o, err := readDeltaOptions(w.options, s.conf)
	if err != nil {
		return err
	}
	if root == "" {
		return errs.New("_LEGACY_ERROR_TEMP_2047")
	}
	txn, err := s.delta.Log(root).Begin()
	if err != nil {
		return err
	}
	if app != "" {
		if last, ok := txn.LastVersion(app); ok && last >= version {
			return nil
		}
	}
	exists := txn.Snapshot() != nil
	word := map[SaveMode]string{SaveAppend: "Append", SaveOverwrite: "Overwrite", SaveError: "ErrorIfExists", SaveIgnore: "Ignore"}[mode]
	if exists && mode == SaveError {
		return errs.New("DELTA_PATH_EXISTS", "path", "file:"+root)
	}
	if exists && mode == SaveIgnore {
		return nil
	}
	overwrite := mode == SaveOverwrite
	if where, ok := w.options.Get("replaceWhere"); ok && overwrite && exists {
		return w.replaceWhere(ctx, root, where, o)
	}
	schema := w.d.Schema()
	var partitions []string
	if len(w.partitionBy) > 0 {
		partitions = w.partitionBy
	}
	dynamic := w.dynamicOverwrite()
	if overwrite && dynamic && o.replace {
		return errs.New("DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE")
	}
	if err := txn.Evolve(delta.Evolution{Data: schema, PartitionBy: partitions, Merge: o.merge, Replace: overwrite && o.replace, Casts: false}); err != nil {
		return err
	}
	if len(schema) == 0 {
		return errs.New("DELTA_EMPTY_DATA")
	}
	if overwrite && dynamic && exists && len(txn.Metadata().PartitionColumns) > 0 {
		return w.dynamicDelta(ctx, root)
	}
	if overwrite && exists && txn.Snapshot().On("delta.appendOnly") {
		return errs.New("DELTA_CANNOT_MODIFY_APPEND_ONLY", "table_name", "null", "config", "delta.appendOnly")
	}
	rows, _, err := w.d.Collect(ctx)
	if err != nil {
		return err
	}
	fit := &deltaRows{conf: s.conf, now: s.now(), txn: txn, root: root}
	parts, err := fit.fit(ctx, schema, []columnar.Partition{columnar.Batches{Name: "rows", List: rows}})
	if err != nil {
		return err
	}
	c := delta.WriteCommit{Mode: word, PartitionBy: partitions, Overwrite: overwrite, UserMetadata: o.userMetadata, Options: o.files,
		Tag: catalog.Tag{App: app, Version: version}}
	if _, ok := w.options.Get("mergeSchema"); ok && o.merge {
		c.Params.SetRaw("canMergeSchema", "true")
	}
	if _, ok := w.options.Get("overwriteSchema"); ok && o.replace {
		c.Params.SetRaw("canOverwriteSchema", "true")
	}
	return txn.CommitWrite(ctx, parts, c)
}

// deltaTag is the application and version of an idempotent write: of the options, else of a statement of
// foreachBatch, else of the settings. Errors: DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS, DELTA_ILLEGAL_OPTION.
func (w *DataFrameWriter) deltaTag() (string, int64, error) {
	app, hasApp := w.options.Get("txnAppId")
	text, hasVersion := w.options.Get("txnVersion")
	if hasApp != hasVersion {
		return "", 0, errs.New("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
			"reason", "Both txnVersion and txnAppId must be specified for idempotent data frame writes")
	}
	if hasApp {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return "", 0, errs.New("DELTA_ILLEGAL_OPTION", "name", "txnVersion", "input", text, "explain", "must be a non-negative integer")
		}
		return app, n, nil
	}
	t, err := w.d.s.writeTag()
	return t.App, t.Version, err
}

// Settings that tag the writes of a session.
const (
	keyTxnApp       = "spark.databricks.delta.write.txnAppId"
	keyTxnVersion   = "spark.databricks.delta.write.txnVersion"
	keyUserMetadata = "spark.databricks.delta.commitInfo.userMetadata"
	keyTxnReset     = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
)

// writeTag is the tag of the next write of a statement. Error: DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS.
func (s *Session) writeTag() (catalog.Tag, error) {
	if s.tag.App != "" {
		return s.tag, nil
	}
	app, version := s.conf.Get(keyTxnApp), s.conf.Get(keyTxnVersion)
	if app == "" && version == "" {
		return catalog.Tag{}, nil
	}
	if app == "" || version == "" {
		return catalog.Tag{}, errs.New("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
			"reason", "Both spark.databricks.delta.write.txnAppId and spark.databricks.delta.write.txnVersion must be specified for idempotent Delta writes")
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n < 0 {
		return catalog.Tag{}, errs.New("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS", "reason", "Invalid txnVersion")
	}
	if strings.EqualFold(s.conf.Get(keyTxnReset), "true") {
		s.conf.Unset(keyTxnVersion)
	}
	return catalog.Tag{App: app, Version: n}, nil
}

func (w *DataFrameWriter) dynamicOverwrite() bool {
	v, ok := w.options.Get("partitionOverwriteMode")
	if !ok {
		v = w.d.s.conf.Get("spark.sql.sources.partitionOverwriteMode")
	}
	return strings.EqualFold(v, "dynamic")
}

// replaceWhere replaces the rows that satisfy a condition.
func (w *DataFrameWriter) replaceWhere(ctx context.Context, root, where string, o deltaOptions) error {
	if w.dynamicOverwrite() {
		return errs.New("DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE")
	}
	if o.replace {
		return errs.New("DELTA_REPLACE_WHERE_IN_OVERWRITE")
	}
	c := w.d.s.child()
	c.tag = w.d.s.tag
	if o.userMetadata != "" {
		if err := c.conf.Set(keyUserMetadata, o.userMetadata); err != nil {
			return err
		}
	}
	c.whereText = where
	c.catalog.Register("__rows__", catalog.Relation{View: &catalog.View{Plan: plan.Node(w.d.node)}})
	_, err := c.SQL(ctx, "INSERT INTO delta."+types.Quote(root)+" REPLACE WHERE "+where+" SELECT * FROM __rows__")
	return err
}

// dynamicDelta replaces the partitions that the rows are in.
func (w *DataFrameWriter) dynamicDelta(ctx context.Context, root string) error {
	c := w.d.s.child()
	c.tag = w.d.s.tag
	if err := c.conf.Set("spark.sql.sources.partitionOverwriteMode", "dynamic"); err != nil {
		return err
	}
	c.catalog.Register("__rows__", catalog.Relation{View: &catalog.View{Plan: plan.Node(w.d.node)}})
	_, err := c.SQL(ctx, "INSERT OVERWRITE delta."+types.Quote(root)+" BY NAME SELECT * FROM __rows__")
	return err
}

// createDelta makes a table that has a path and no name: CREATE TABLE delta.`/data/t`.
func (s *Session) createDelta(ctx context.Context, d catalog.Definition, c *plan.CreateTable) (*DataFrame, error) {
	d.Provider, d.External, d.Location = "delta", true, s.path(c.Parts[1])
	d.Database, d.Name = "delta", c.Parts[1]
	exists, err := s.delta.Log(d.Location).Exists()
	if err != nil {
		return nil, err
	}
	clone, err := s.cloned(ctx, c)
	if err != nil {
		return nil, err
	}
	if clone != nil {
		if exists && !c.Replace { // Spark says so, with IF NOT EXISTS as well
			return nil, errs.New("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "tableId", quoteParts(c.Parts), "tableLocation", d.Location)
		}
		d.Database, d.Name = "", ""
		t, err := s.delta.Create(ctx, catalog.Creation{Definition: d, Replace: c.Replace, Clone: clone})
		if err != nil {
			return nil, err
		}
		_, schema, rows := t.(catalog.Answer).Made()
		return s.answer(schema, rows)
	}
	if exists && c.IfNotExists {
		return s.answer(nil, nil)
	}
	if exists && !c.Replace {
		return nil, errs.New("TABLE_OR_VIEW_ALREADY_EXISTS", "relationName", quoteParts(c.Parts))
	}
	if err := s.checkDefinition(&d, c.Query, true); err != nil {
		return nil, err
	}
	d.Database, d.Name = "", ""
	cr := catalog.Creation{Definition: d, Replace: c.Replace}
	if c.Query != nil {
		rows, _, err := s.collect(ctx, plan.Optimize(reorder(c.Query, d.Columns)))
		if err != nil {
			return nil, err
		}
		cr.Rows = []columnar.Partition{columnar.Batches{Name: "rows", List: rows}}
	}
	if _, err := s.delta.Create(ctx, cr); err != nil {
		return nil, err
	}
	return s.answer(nil, nil)
}

// FromTable gives a table of the catalog under the reader's options, as Spark's spark.read.table does: of a
// Delta table an old version or its changes.
func (r *DataFrameReader) FromTable(name string) *DataFrame {
	if r.err != nil {
		return &DataFrame{s: r.s, err: r.err}
	}
	rel, ok := r.s.catalog.Lookup(name)
	t, isDelta := rel.Table.(*delta.Table)
	if !ok || !isDelta || len(r.options) == 0 {
		df, err := r.s.Table(name)
		if err != nil {
			return &DataFrame{s: r.s, err: err}
		}
		return df
	}
	fresh, err := t.Resolve()
	if err != nil {
		return &DataFrame{s: r.s, err: err}
	}
	out, err := deltasource.Travel(fresh.(*delta.Table), r.options, r.s.conf.zone())
	if err != nil {
		return &DataFrame{s: r.s, err: err}
	}
	c := catalog.New(nil)
	c.Register("__table__", catalog.Relation{Table: out})
	n, err := plan.AnalyzeText("SELECT * FROM __table__", c, planConf(r.s.conf))
	return &DataFrame{s: r.s, node: n, err: err}
}
