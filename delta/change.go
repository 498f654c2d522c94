package delta

import (
	"context"
	"fmt"
	"sort"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// change is a statement that removes or changes rows: a catalog.Transaction.
type change struct {
	t      *Txn
	table  *Table
	intent catalog.Intent
	files  []*Add
	feed   bool
	dv     bool
	skip   bool // the tag was applied already
	done   bool
}

// Begin starts a transaction on the newest version. Errors: those of reading the log; a table that cannot be
// written.
func (t *Table) Begin(_ context.Context, i catalog.Intent) (catalog.Transaction, error) {
	if t.pinned {
		return nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", t.def.Name, "operation", i.Operation)
	}
	txn, err := t.log.Begin()
	if err != nil {
		return nil, err
	}
	if txn.snap == nil {
		return nil, t.log.NoTable()
	}
	s := txn.snap
	if err := checkWritable(t.log.Root, s.Protocol); err != nil {
		return nil, err
	}
	if len(t.extra) > 0 {
		err := txn.Change(func(_ *Metadata, s types.Schema) types.Schema {
			for _, f := range t.extra {
				s = append(s, types.Field{Name: f.Name, Type: nullableType(f.Type), Nullable: true})
			}
			return s
		})
		if err != nil {
			return nil, err
		}
	}
	c := &change{t: txn, table: t, intent: i, feed: s.On("delta.enableChangeDataFeed"), dv: s.On("delta.enableDeletionVectors") && i.Operation != "WRITE"}
	if i.Tag.App != "" {
		if v, ok := txn.LastVersion(i.Tag.App); ok && v >= i.Tag.Version {
			c.skip = true
			return c, nil
		}
	}
	where := t.predicates(s, i.Where)
	c.files = s.prune(s.Files(), where)
	if len(where) == 0 {
		txn.ReadWholeTable()
	} else {
		txn.ReadWhere(func(values map[string]*string) bool { return s.matchesPartition(values, where) })
	}
	return c, nil
}

// Files are the live rows of the files that may hold touched rows.
func (c *change) Files() []columnar.Partition {
	r := c.t.snap.NewReader(c.t.Schema())
	out := make([]columnar.Partition, len(c.files))
	for i, a := range c.files {
		out[i] = &part{r: r, files: []DataFile{c.t.snap.DataFileOf(a)}}
	}
	return out
}

// Feed says whether change rows are wanted.
func (c *change) Feed() bool { return c.feed }

// Abort ends the transaction; nothing was published.
func (c *change) Abort() { c.done = true }

// kept is a file's live rows without those of a deletion.
type kept struct {
	in   columnar.Partition
	gone map[uint32]bool
}

func (k *kept) String() string { return k.in.String() }

// Rows reads the rows that stay.
func (k *kept) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var at uint32
		for rb, err := range k.in.Rows(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			n := int(rb.NumRows())
			idx := make([]int32, 0, n)
			for i := 0; i < n; i++ {
				if !k.gone[at+uint32(i)] {
					idx = append(idx, int32(i))
				}
			}
			at += uint32(n)
			if len(idx) == n {
				if !yield(rb, nil) {
					return
				}
				continue
			}
			if len(idx) == 0 {
				continue
			}
			if !yield(pick(rb, idx), nil) {
				return
			}
		}
	}
}

// pick gathers rows of a batch.
func pick(rb arrow.RecordBatch, idx []int32) arrow.RecordBatch {
	s := schemaOf(rb)
	vs := make([]*columnar.Vec, len(s))
	for i, f := range s {
		vs[i] = columnar.FromArrow(rb.Column(i), f.Type)
	}
	return columnar.Record(rb.Schema(), vs, columnar.Sel{Idx: idx, N: len(idx)})
}

// schemaOf guesses the data types behind an Arrow schema: enough to gather rows.
func schemaOf(rb arrow.RecordBatch) types.Schema {
	out := make(types.Schema, rb.NumCols())
	for i, f := range rb.Schema().Fields() {
		out[i] = types.Field{Name: f.Name, Type: typeOfArrow(f.Type), Nullable: f.Nullable}
	}
	return out
}

func typeOfArrow(t arrow.DataType) types.DataType {
	switch x := t.(type) {
	case *arrow.StructType:
		var fs []types.Field
		for _, f := range x.Fields() {
			fs = append(fs, types.Field{Name: f.Name, Type: typeOfArrow(f.Type), Nullable: f.Nullable})
		}
		return types.StructOf(fs...)
	case *arrow.ListType:
		return types.ArrayOf(typeOfArrow(x.Elem()), x.ElemField().Nullable)
	case *arrow.MapType:
		return types.MapOf(typeOfArrow(x.KeyType()), typeOfArrow(x.ItemType()), x.ItemField().Nullable)
	}
	k, err := arrowKind(t)
	if err != nil {
		return types.Of(types.Null)
	}
	return k
}

// counts are the figures of a change for the history.
type counts struct {
	removedFiles, addedFiles, cdcFiles int64
	removedBytes, addedBytes           int64
	copied, deleted, written           int64
	dvAdded, dvUpdated, dvRemoved      int64
}

// Commit publishes the outcome. Nothing to do is no commit.
func (c *change) Commit(ctx context.Context, o catalog.Outcome) error {
	if c.done {
		return errs.New("INTERNAL_ERROR", "message", "the transaction has ended")
	}
	c.done = true
	if c.skip {
		return nil
	}
	var n counts
	now := c.t.log.Now().UnixMilli()
	var removes, adds []Action
	var keep []columnar.Partition
	files := c.Files()
	dvs := newDVFile("")
	statsKind := statsNone
	whole := c.wholeFiles(o)
	switch {
	case c.intent.Operation == "MERGE", c.dv, whole && c.intent.Operation != "UPDATE":
		statsKind = statsRows
	}
	if c.intent.Operation == "TRUNCATE" {
		statsKind = statsNone
	}
	sort.Slice(o.Deleted, func(i, j int) bool { return o.Deleted[i].File < o.Deleted[j].File })
	for _, d := range o.Deleted {
		a := c.files[d.File]
		c.t.ReadFile(a)
		live, known := a.LiveRecords()
		if !known {
			var err error
			if live, err = countRows(ctx, files[d.File]); err != nil {
				return err
			}
		}
		if d.All || int64(len(d.Rows)) >= live {
			n.deleted += live
			n.removedFiles++
			n.removedBytes += a.Size
			if a.DV != nil {
				n.dvRemoved++
			}
			removes = append(removes, Action{Remove: removal(a, now, true, statsKind)})
			continue
		}
		if len(d.Rows) == 0 {
			continue
		}
		n.deleted += int64(len(d.Rows))
		if c.dv {
			add, err := c.deleteByVector(a, d.Rows, dvs)
			if err != nil {
				return err
			}
			if a.DV == nil {
				n.dvAdded++
			} else {
				n.dvUpdated++
			}
			adds = append(adds, Action{Add: add})
			removes = append(removes, Action{Remove: removal(a, now, true, statsKind)})
			continue
		}
		gone := make(map[uint32]bool, len(d.Rows))
		for _, r := range d.Rows {
			gone[r] = true
		}
		keep = append(keep, &kept{files[d.File], gone})
		n.copied += live - int64(len(d.Rows))
		n.removedFiles++
		n.removedBytes += a.Size
		if a.DV != nil {
			n.dvRemoved++
		}
		removes = append(removes, Action{Remove: removal(a, now, true, statsKind)})
	}
	w, err := c.t.Write(ctx, append(keep, o.Added...), WriteOptions{Dot: c.feed})
	if err != nil {
		return err
	}
	undo := func(err error) error {
		for _, a := range w.Adds {
			c.t.log.discard(a.Path)
		}
		return err
	}
	n.addedFiles, n.addedBytes = int64(len(w.Adds)), w.Bytes
	n.written = w.Rows - n.copied
	if len(removes) == 0 && len(w.Adds) == 0 && c.t.metadata == nil {
		return nil
	}
	if len(dvs.buf) > 1 {
		if err := dvs.write(c.t.log); err != nil {
			return undo(err)
		}
	}
	var cdc []Action
	if c.feed && c.needsChanges(o, n) {
		changes, err := c.t.writeChanges(ctx, o.Changes)
		if err != nil {
			return undo(err)
		}
		for _, x := range changes {
			cdc = append(cdc, Action{CDC: x})
		}
		n.cdcFiles = int64(len(changes))
	}
	adds = append(adds, w.Actions()...)
	var all []Action
	if tag := c.intent.Tag; tag.App != "" {
		at := now
		all = append(all, Action{Txn: &SetTransaction{AppID: tag.App, Version: tag.Version, LastUpdated: &at}})
	}
	if c.intent.Operation == "DELETE" && !c.dv {
		all = append(append(append(all, removes...), adds...), cdc...)
	} else {
		all = append(append(append(all, adds...), cdc...), removes...)
	}
	if _, err := c.t.Commit(c.operation(o, n), all); err != nil {
		return undo(err)
	}
	return nil
}

// needsChanges says whether the change feed needs files of its own: not if whole files came or went.
func (c *change) needsChanges(o catalog.Outcome, n counts) bool {
	if len(o.Changes) == 0 {
		return false
	}
	if len(o.Deleted) == 0 {
		return false // only new rows: the new files say so
	}
	return c.intent.Operation != "DELETE" || !c.wholeFiles(o)
}

// wholeFiles says whether a DELETE is one of partitions or of everything, which touches no data file.
func (c *change) wholeFiles(o catalog.Outcome) bool {
	for _, d := range o.Deleted {
		live, ok := c.files[d.File].LiveRecords()
		if !d.All && (!ok || int64(len(d.Rows)) < live) {
			return false
		}
	}
	if c.intent.Predicate == "" {
		return true
	}
	if len(c.intent.Where) == 0 {
		return false
	}
	for _, p := range c.table.predicates(c.t.snap, c.intent.Where) {
		if !c.t.snap.isPartition(c.t.snap.Schema[p.Column].Name) {
			return false
		}
	}
	return true
}

func countRows(ctx context.Context, p columnar.Partition) (int64, error) {
	var n int64
	for rb, err := range p.Rows(ctx) {
		if err != nil {
			return 0, err
		}
		n += rb.NumRows()
	}
	return n, nil
}

// deleteByVector is a file with further rows hidden. rows number the rows that are live now.
func (c *change) deleteByVector(a *Add, rows []uint32, dvs *dvFile) (*Add, error) {
	old, err := c.t.log.readDV(a.DV)
	if err != nil {
		return nil, err
	}
	m := roaring64.New()
	if old == nil {
		for _, r := range rows {
			m.Add(uint64(r))
		}
	} else {
		m = old.Clone()
		physical, live, k := uint64(0), uint32(0), 0
		for k < len(rows) {
			if old.Contains(physical) {
				physical++
				continue
			}
			if live == rows[k] {
				m.Add(physical)
				k++
			}
			live++
			physical++
		}
	}
	d, err := dvs.add(m)
	if err != nil {
		return nil, err
	}
	b := *a
	b.DV, b.DataChange, b.parsed = d, true, nil
	b.Stats = wideStats(a.Stats)
	return &b, nil
}

// wideStats are statistics whose bounds may be wider than the live rows.
func wideStats(text string) string {
	var p Pairs
	if p.UnmarshalJSON([]byte(text)) != nil || p == nil {
		return text
	}
	for i := range p {
		if p[i].Key == "tightBounds" {
			p[i].Value = []byte("false")
			return string(marshal(p))
		}
	}
	p.SetRaw("tightBounds", "false")
	return string(marshal(p))
}

func (p *Pairs) count(key string, n int64) { p.Set(key, strconv.FormatInt(n, 10)) }

// operation is what the history says of the change.
func (c *change) operation(o catalog.Outcome, n counts) Operation {
	op := Operation{Name: c.intent.Operation, Metrics: Pairs{}, Params: Pairs{}, UserMetadata: c.intent.Parameters["userMetadata"]}
	m := &op.Metrics
	predicate := func(none string) {
		list := none
		if c.intent.Predicate != "" {
			list = "[" + string(quoteJSON(c.intent.Predicate)) + "]"
		}
		op.Params.Set("predicate", list)
	}
	switch c.intent.Operation {
	case "DELETE":
		predicate(`["true"]`)
		m.count("numRemovedFiles", n.removedFiles)
		m.count("numRemovedBytes", n.removedBytes)
		m.count("numCopiedRows", n.copied)
		m.count("numDeletionVectorsAdded", n.dvAdded)
		m.count("executionTimeMs", c.elapsed())
		m.count("numDeletionVectorsUpdated", n.dvUpdated)
		m.count("numAddedFiles", n.addedFiles)
		m.count("numDeletionVectorsRemoved", n.dvRemoved)
		m.count("numAddedChangeFiles", n.cdcFiles)
		m.count("numDeletedRows", n.deleted)
		m.count("scanTimeMs", 0)
		m.count("numAddedBytes", n.addedBytes)
		m.count("rewriteTimeMs", 0)
	case "UPDATE":
		predicate(`[]`)
		m.count("numRemovedFiles", n.removedFiles)
		m.count("numRemovedBytes", n.removedBytes)
		m.count("numCopiedRows", n.copied)
		m.count("numDeletionVectorsAdded", n.dvAdded)
		m.count("executionTimeMs", c.elapsed())
		m.count("numDeletionVectorsUpdated", n.dvUpdated)
		m.count("scanTimeMs", 0)
		m.count("numAddedFiles", n.addedFiles)
		m.count("numUpdatedRows", n.deleted)
		m.count("numDeletionVectorsRemoved", n.dvRemoved)
		m.count("numAddedChangeFiles", n.cdcFiles)
		m.count("numAddedBytes", n.addedBytes)
		m.count("rewriteTimeMs", 0)
	case "MERGE":
		predicate(`[]`)
		for _, k := range []string{"matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates"} {
			v := c.intent.Parameters[k]
			if v == "" {
				v = "[]"
			}
			op.Params.Set(k, v)
		}
		given := func(k string) int64 { return o.Metrics[k] }
		m.count("numTargetRowsCopied", n.copied)
		m.count("numTargetRowsDeleted", given("numTargetRowsDeleted"))
		m.count("numTargetBytesRemoved", n.removedBytes)
		m.count("numTargetDeletionVectorsAdded", n.dvAdded)
		m.count("numTargetRowsMatchedUpdated", given("numTargetRowsMatchedUpdated"))
		m.count("numTargetRowsMatchedDeleted", given("numTargetRowsMatchedDeleted"))
		m.count("numTargetRowsUpdated", given("numTargetRowsUpdated"))
		m.count("numTargetChangeFilesAdded", n.cdcFiles)
		m.count("numTargetRowsNotMatchedBySourceDeleted", given("numTargetRowsNotMatchedBySourceDeleted"))
		m.count("rewriteTimeMs", 0)
		m.count("numTargetFilesAdded", n.addedFiles)
		m.count("numTargetBytesAdded", n.addedBytes)
		m.count("executionTimeMs", c.elapsed())
		m.count("materializeSourceTimeMs", 0)
		m.count("numTargetRowsInserted", given("numTargetRowsInserted"))
		m.count("numTargetDeletionVectorsUpdated", n.dvUpdated)
		m.count("scanTimeMs", 0)
		m.count("numOutputRows", n.copied+n.written)
		m.count("numTargetDeletionVectorsRemoved", n.dvRemoved)
		m.count("numTargetRowsNotMatchedBySourceUpdated", given("numTargetRowsNotMatchedBySourceUpdated"))
		m.count("numSourceRows", given("numSourceRows"))
		m.count("numTargetFilesRemoved", n.removedFiles)
	case "TRUNCATE":
		m.count("numRemovedFiles", n.removedFiles)
		m.count("executionTimeMs", c.elapsed())
	default:
		op.Params.Set("mode", "Overwrite")
		op.Params.Set("partitionBy", "[]")
		if c.intent.Predicate != "" {
			op.Params.Set("predicate", c.intent.Predicate)
		}
		m.count("numFiles", n.addedFiles)
		m.count("numRemovedFiles", n.removedFiles)
		m.count("numRemovedBytes", n.removedBytes)
		m.count("numCopiedRows", n.copied)
		m.count("numAddedChangeFiles", n.cdcFiles)
		m.count("numDeletedRows", n.deleted)
		m.count("numOutputRows", n.written)
		m.count("numOutputBytes", n.addedBytes)
	}
	return op
}

func (c *change) elapsed() int64 { return c.t.log.Now().Sub(c.t.start).Milliseconds() }

// String names the table in messages.
func (t *Table) String() string {
	if t.def.Name != "" {
		return t.def.Name
	}
	return fmt.Sprintf("delta.`%s`", t.log.Root)
}

// arrowKind is the data type whose vectors hold values of an Arrow type.
func arrowKind(t arrow.DataType) (types.DataType, error) {
	switch x := t.(type) {
	case *arrow.BooleanType:
		return types.Of(types.Boolean), nil
	case *arrow.Int8Type:
		return types.Of(types.TinyInt), nil
	case *arrow.Int16Type:
		return types.Of(types.SmallInt), nil
	case *arrow.Int32Type:
		return types.Of(types.Int), nil
	case *arrow.Int64Type:
		return types.Of(types.BigInt), nil
	case *arrow.Float32Type:
		return types.Of(types.Float), nil
	case *arrow.Float64Type:
		return types.Of(types.Double), nil
	case *arrow.StringType:
		return types.Of(types.String), nil
	case *arrow.BinaryType:
		return types.Of(types.Binary), nil
	case *arrow.Date32Type:
		return types.Of(types.Date), nil
	case *arrow.Decimal128Type:
		return types.DecimalOf(x.Precision, x.Scale), nil
	case *arrow.TimestampType:
		if x.TimeZone == "" {
			return types.Of(types.TimestampNTZ), nil
		}
		return types.Of(types.Timestamp), nil
	}
	return types.DataType{}, fmt.Errorf("columns of type %s cannot be read", t)
}
