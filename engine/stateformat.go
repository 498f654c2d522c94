package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// The formats statestore and state-metadata read the state of a checkpoint as a table, as Spark's do. What
// state rows mean is known to the operators, which a checkpoint does not hold: statestore reads the state of
// queries that this session has started. state-metadata reads any checkpoint.

// stateOwners are the queries of a session by the folders of their checkpoints.
type stateOwners struct {
	sync.Mutex
	byDir map[string]*DataStreamWriter
}

func (o *stateOwners) put(dir string, w *DataStreamWriter) {
	o.Lock()
	defer o.Unlock()
	if o.byDir == nil {
		o.byDir = map[string]*DataStreamWriter{}
	}
	o.byDir[filepath.Clean(dir)] = w
}

func (o *stateOwners) get(dir string) *DataStreamWriter {
	o.Lock()
	defer o.Unlock()
	return o.byDir[filepath.Clean(dir)]
}

// stateFormat makes the table of one of the two formats; ok is false for another format. Errors: STDS_….
func (r *DataFrameReader) stateFormat(ctx context.Context, path ...string) (t catalog.Table, ok bool, err error) {
	format := strings.ToLower(r.format)
	if format != "statestore" && format != "state-metadata" {
		return nil, false, nil
	}
	p, _ := r.options.Get("path")
	if len(path) > 0 {
		p = path[0]
	}
	if p == "" {
		return nil, true, errs.New("STDS_REQUIRED_OPTION_UNSPECIFIED", "optionName", "path")
	}
	dir := r.s.path(p)
	cp, done, err := openState(dir)
	if err != nil {
		return nil, true, err
	}
	defer done()
	if format == "state-metadata" {
		t, err = r.s.stateMetadata(cp)
		return t, true, err
	}
	t, err = r.s.stateStore(ctx, cp, dir, r.options)
	return t, true, err
}

// openState gives the checkpoint of a folder: that of the query that runs on it, or one opened for looking.
func openState(dir string) (cp *store.Checkpoint, done func(), err error) {
	activeRuns.Lock()
	for _, q := range activeRuns.byID {
		if filepath.Clean(q.driver.p.checkpoint) == filepath.Clean(dir) {
			cp = q.driver.cp
		}
	}
	activeRuns.Unlock()
	if cp != nil {
		return cp, func() {}, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "db")); err != nil {
		return nil, nil, errs.New("STDS_COMMITTED_BATCH_UNAVAILABLE", "checkpointLocation", dir)
	}
	if cp, err = store.Open(dir, store.Options{}); err != nil {
		return nil, nil, err
	}
	return cp, func() { _ = cp.Close() }, nil
}

func recordedPlan(cp *store.Checkpoint) (rec planRecord, err error) {
	raw, ok := cp.Meta("plan")
	if !ok {
		return rec, errs.New("STDS_COMMITTED_BATCH_UNAVAILABLE", "checkpointLocation", cp.Dir())
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return rec, errs.Wrap(err, "CHECKPOINT_CORRUPT", "checkpointLocation", cp.Dir(), "detail", "record y/plan")
	}
	return rec, nil
}

// storesOf names the state stores of an operator as Spark does.
func storesOf(operator string) []string {
	if operator == "symmetricHashJoin" {
		return []string{"left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"}
	}
	return []string{"default"}
}

func (s *Session) stateMetadata(cp *store.Checkpoint) (catalog.Table, error) {
	rec, err := recordedPlan(cp)
	if err != nil {
		return nil, err
	}
	from, to := cp.Retained()
	var rows [][]any
	for i, o := range rec.Operators {
		for _, name := range storesOf(o.Name) {
			rows = append(rows, []any{fmt.Sprint(i), o.Name, name, fmt.Sprint(statePartitions(cp, to, o.Name)), fmt.Sprint(from), fmt.Sprint(to), nil})
		}
	}
	return s.InlineTable("operatorId INT, operatorName STRING, stateStoreName STRING, numPartitions INT, minBatchId BIGINT, maxBatchId BIGINT, operatorProperties STRING", rows)
}

// statePartitions is the number of partitions that a batch's settings give an operator.
func statePartitions(cp *store.Checkpoint, batch int64, operator string) int64 {
	if operator == "globalLimit" {
		return 1
	}
	e, ok, err := cp.Offsets(batch)
	if err != nil || !ok {
		return 0
	}
	n, err := strconv.ParseInt(e.Conf[keyPartitions], 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// stateOptions are where in a checkpoint to look.
type stateOptions struct {
	batch    int64
	operator int
	store    string
}

func readStateOptions(o sources.Options, cp *store.Checkpoint) (x stateOptions, err error) {
	head, ok := cp.Head()
	if !ok {
		return x, errs.New("STDS_COMMITTED_BATCH_UNAVAILABLE", "checkpointLocation", cp.Dir())
	}
	number := func(name string, def int64) (n int64) {
		v, ok := o.Get(name)
		if !ok || err != nil {
			return def
		}
		n, e := strconv.ParseInt(v, 10, 64)
		switch {
		case e != nil:
			err = errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", name, "message", v+" is no number")
		case n < 0:
			err = errs.New("STDS_INVALID_OPTION_VALUE.IS_NEGATIVE", "optionName", name)
		}
		return n
	}
	x.batch = number("batchId", head)
	x.operator = int(number("operatorId", 0))
	if err != nil {
		return x, err
	}
	for name := range o {
		switch strings.ToLower(name) {
		case "path", "batchid", "operatorid", "storename", "joinside":
		default:
			return x, errs.New("UNSUPPORTED_FEATURE", "feature", "The option `"+name+"` of statestore")
		}
	}
	storeName, named := o.Get("storeName")
	if x.store = "default"; named {
		if x.store = storeName; storeName == "" {
			return x, errs.New("STDS_INVALID_OPTION_VALUE.IS_EMPTY", "optionName", "storeName")
		}
	}
	switch side := strings.ToLower(o.Text("joinSide", "none")); side {
	case "none":
	case "left", "right":
		if named {
			return x, errs.New("STDS_CONFLICT_OPTIONS", "options", "['joinSide', 'storeName']")
		}
		x.store = side
	default:
		return x, errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "joinSide", "message", "Valid values are left, right and none.")
	}
	if from, to := cp.Retained(); x.batch < from || x.batch > to {
		return x, errs.New("STDS_OFFSET_LOG_UNAVAILABLE", "batchId", x.batch, "checkpointLocation", cp.Dir())
	}
	return x, nil
}

// stateStore reads the rows of one store: key and value as structs, and the partition that Spark's hash puts
// the key in; null where rows are not divided by the key.
func (s *Session) stateStore(ctx context.Context, cp *store.Checkpoint, dir string, o sources.Options) (catalog.Table, error) {
	x, err := readStateOptions(o, cp)
	if err != nil {
		return nil, err
	}
	rec, err := recordedPlan(cp)
	if err != nil {
		return nil, err
	}
	if x.operator >= len(rec.Operators) {
		return nil, errs.New("STDS_FAILED_TO_READ_OPERATOR_METADATA", "checkpointLocation", dir, "batchId", x.batch)
	}
	w := s.owners.get(dir)
	if w == nil {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Reading the state of a query that this session has not started").WithHint(
			"Start the query here first; state-metadata reads any checkpoint.")
	}
	v := cp.At(x.batch)
	defer v.Close()
	rows, schema, err := w.StateTable(v, x.operator, x.store)
	if err != nil {
		return nil, err
	}
	c := catalog.New(nil)
	c.Register("__state__", catalog.Relation{Table: stateRows(rows, schema)})
	text := "SELECT key, value, " + keyPartition(rec.Operators[x.operator].Name, schema[0].Type, statePartitions(cp, x.batch, rec.Operators[x.operator].Name)) +
		" AS partition_id FROM __state__"
	n, err := plan.AnalyzeText(text, c, planConf(s.conf))
	if err != nil {
		return nil, err
	}
	out, named, err := (&DataFrame{s: s, node: n}).Collect(ctx)
	if err != nil {
		return nil, err
	}
	return stateRows(out, named), nil
}

func stateRows(rows []arrow.RecordBatch, s types.Schema) *catalog.Memory {
	return &catalog.Memory{S: s, List: columnar.Batches{Name: "state", List: rows}}
}

// keyPartition is SQL for the partition of a key under Spark's hash partitioning.
func keyPartition(operator string, key types.DataType, partitions int64) string {
	switch operator {
	case "stateStoreSave", "dedupe", "dedupeWithinWatermark":
	case "globalLimit":
		return "0"
	default:
		return "CAST(NULL AS INT)"
	}
	if len(key.Fields) == 0 {
		return "0" // without keys all rows are in one partition
	}
	if partitions <= 0 {
		return "CAST(NULL AS INT)"
	}
	var names []string
	for _, f := range key.Fields {
		names = append(names, "key.`"+strings.ReplaceAll(f.Name, "`", "``")+"`")
	}
	return "pmod(hash(" + strings.Join(names, ", ") + "), " + strconv.FormatInt(partitions, 10) + ")"
}
