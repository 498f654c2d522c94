package engine

import (
	"context"
	"strconv"

	"streamlab/delta"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// deltaSink writes micro-batches to a Delta table: each is one commit that also notes the query's id and the
// batch's, so that a batch that is run again is skipped. Append adds files; complete replaces all of them.
// A batch without rows is a commit as well. The table's schema is looked at anew in every batch.
type deltaSink struct {
	def  sinks.Def
	log  *delta.Log
	conf *Conf
	opts deltaOptions
	own  func(root string) bool // whether the query reads the table at root
}

// deltaSinkOptions documents the options.
func deltaSinkOptions() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "path", Doc: "folder of the table"},
		{Name: "checkpointLocation", Doc: "folder of the query's checkpoint"},
		{Name: "mergeSchema", Default: "false", Doc: "add new columns to the table"},
		{Name: "overwriteSchema", Default: "false", Doc: "complete mode: the table gets the query's schema"},
		{Name: "userMetadata", Doc: "text for the table's history"},
		{Name: "maxRecordsPerFile", Doc: "rows of a file at most"},
		{Name: "compression", Default: "snappy", Doc: "snappy, zstd, gzip, brotli, lz4_raw or none"},
		{Name: "txnAppId", Doc: "no effect in streams: the query's id is used"},
		{Name: "txnVersion", Doc: "no effect in streams: the batch's id is used"},
	}
}

// newDeltaSink makes the sink. Errors: DELTA_ILLEGAL_OPTION.
func newDeltaSink(def sinks.Def) (sinks.Sink, error) {
	conf := confOf(def.Conf)
	o, err := readDeltaOptions(def.Options, conf)
	if err != nil {
		return nil, err
	}
	l := delta.Open(def.Path)
	l.Zone, l.Durable = def.Zone, def.Durable
	return &deltaSink{def: def, log: l, conf: conf, opts: o}, nil
}

// confOf is the settings that a function looks up, as far as expressions and plans ask for them.
func confOf(get func(string) string) *Conf {
	c := &Conf{m: map[string]string{}}
	for _, s := range settings {
		if v := get(s.Key); v != "" {
			c.m[s.Key] = v
		}
	}
	for _, k := range []string{"spark.databricks.delta.schema.autoMerge.enabled", "spark.databricks.delta.commitInfo.userMetadata"} {
		if v := get(k); v != "" {
			c.m[k] = v
		}
	}
	return c
}

func (s *deltaSink) Close() error { return nil }

// Description names the sink in progress as Spark does.
func (s *deltaSink) Description() string { return "DeltaSink[" + s.def.Path + "]" }

// NumOutputRows is not told, as in Spark.
func (s *deltaSink) NumOutputRows() int64 { return -1 }

// AddBatch commits a micro-batch. A commit of another writer that only changes what complete mode replaces
// is no reason to fail: the batch is tried again.
func (s *deltaSink) AddBatch(ctx context.Context, b sinks.Batch) error {
	const tries = 5
	for i := 1; ; i++ {
		err := s.add(ctx, b)
		if i < tries && (errs.Has(err, "DELTA_CONCURRENT_APPEND") || errs.Has(err, "DELTA_CONCURRENT_DELETE_READ") || errs.Has(err, "DELTA_CONCURRENT_DELETE_DELETE")) {
			continue
		}
		return vfs.Named(s.log.Root, err)
	}
}

func (s *deltaSink) add(ctx context.Context, b sinks.Batch) error {
	txn, err := s.log.Begin()
	if err != nil {
		return err
	}
	last, seen := txn.LastVersion(b.QueryID)
	for _, f := range b.Schema {
		if hasVoid(f.Type) {
			return errs.New("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE")
		}
	}
	if s.own != nil && s.own(s.log.Root) {
		txn.ReadWholeTable()
	}
	complete := b.Mode == sinks.Complete
	var partitions []string
	if len(s.def.PartitionBy) > 0 {
		partitions = s.def.PartitionBy
	}
	err = txn.Evolve(delta.Evolution{Data: b.Schema, PartitionBy: partitions, Merge: s.opts.merge, Replace: complete && s.opts.replace, Casts: true})
	if err != nil {
		return err
	}
	if seen && last >= b.ID {
		return nil
	}
	acts := []delta.Action{txn.MarkAction(b.QueryID, b.ID)}
	var removes []delta.Action
	if complete {
		if snap := txn.Snapshot(); snap != nil && snap.On("delta.appendOnly") {
			return errs.New("DELTA_CANNOT_MODIFY_APPEND_ONLY", "table_name", "null", "config", "delta.appendOnly").
				WithHint("The table " + s.log.Root + " has delta.appendOnly=true; complete mode replaces its rows.")
		}
		removes, _ = txn.Removes(false)
	}
	rows := &deltaRows{conf: s.conf, now: s.log.Now(), txn: txn, root: s.log.Root}
	parts, err := rows.fit(ctx, b.Schema, b.Parts)
	if err != nil {
		return err
	}
	w, marked, err := txn.WriteRows(ctx, parts, s.opts.files)
	if err != nil {
		return err
	}
	acts = append(append(acts, w.Actions()...), removes...)
	op := delta.Operation{Name: "STREAMING UPDATE", UserMetadata: s.opts.userMetadata, Params: delta.Pairs{}, Metrics: delta.Pairs{}}
	op.Params.Set("outputMode", b.Mode.String())
	op.Params.Set("queryId", b.QueryID)
	op.Params.Set("epochId", strconv.FormatInt(b.ID, 10))
	op.Metrics.Set("numRemovedFiles", strconv.Itoa(len(removes)))
	op.Metrics.Set("numAddedFiles", strconv.Itoa(len(w.Adds)))
	op.Metrics.Set("numOutputRows", strconv.FormatInt(w.Rows, 10))
	op.Metrics.Set("numOutputBytes", strconv.FormatInt(w.Bytes, 10))
	if marked {
		op.Tags.Set("delta.identity.schemaUpdate", "true")
	}
	if _, err := txn.Commit(op, acts); err != nil {
		txn.Discard(w)
		return err
	}
	return nil
}

// readsTable says whether the query reads the Delta table in a folder as a static table.
func (d *driver) readsTable(root string) bool {
	found := false
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		if s, ok := n.(*plan.Scan); ok {
			if t, ok := s.Table.(*delta.Table); ok && t.Log().Root == root {
				found = true
			}
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(d.p.node)
	return found
}

func hasVoid(t types.DataType) bool {
	switch t.Kind {
	case types.Null:
		return true
	case types.Array:
		return hasVoid(*t.Elem)
	case types.Map:
		return hasVoid(*t.Key) || hasVoid(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if hasVoid(f.Type) {
				return true
			}
		}
	}
	return false
}
