package delta

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// identityFiller numbers the rows in which an identity column is null.
type identityFiller struct {
	schema types.Schema
	cols   []identityColumn
}

type identityColumn struct {
	at          int
	next, step  int64
	last        int64
	used, allow bool
}

// identities are the identity columns of a schema, with what they hand out next.
func identities(s types.Schema) *identityFiller {
	f := &identityFiller{schema: s}
	for i, c := range s {
		start, ok := metaInt(c, keyIdentStart)
		if !ok {
			continue
		}
		step, _ := metaInt(c, keyIdentStep)
		next := start
		if mark, ok := metaInt(c, keyIdentMark); ok {
			next = mark + step
		}
		f.cols = append(f.cols, identityColumn{at: i, next: next, step: step, allow: strings.TrimPrefix(c.Metadata[keyIdentAllow], rawMark) == "true"})
	}
	return f
}

// numbered is a partition whose identity columns are filled. It is read once.
type numbered struct {
	in columnar.Partition
	f  *identityFiller
}

func (n numbered) String() string { return n.in.String() }

// Rows fills the identity columns.
func (n numbered) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb, err := range n.in.Rows(ctx) {
			if err == nil {
				rb, err = n.f.fill(rb)
			}
			if !yield(rb, err) || err != nil {
				return
			}
		}
	}
}

func (f *identityFiller) fill(rb arrow.RecordBatch) (arrow.RecordBatch, error) {
	vs := make([]*columnar.Vec, len(f.schema))
	for i, c := range f.schema {
		vs[i] = columnar.FromArrow(rb.Column(i), c.Type)
	}
	n := int(rb.NumRows())
	for k := range f.cols {
		c := &f.cols[k]
		old := vs[c.at]
		v := columnar.NewVec(f.schema[c.at].Type, n)
		for i := 0; i < n; i++ {
			if old.Phys != columnar.PNull && !old.IsNull(i) {
				if !c.allow {
					return nil, errs.New("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", "colName", f.schema[c.at].Name)
				}
				v.I64[i] = old.I64[i]
				continue
			}
			v.I64[i] = c.next
			c.last, c.used = c.next, true
			c.next += c.step
		}
		vs[c.at] = v
	}
	return columnar.RecordOf(f.schema, vs, columnar.AllRows(n)), nil
}

// marks changes the schema to what was handed out; false if nothing was.
func (f *identityFiller) marks(t *Txn) (bool, error) {
	any := false
	for _, c := range f.cols {
		any = any || c.used
	}
	if !any {
		return false, nil
	}
	return true, t.Change(func(_ *Metadata, s types.Schema) types.Schema {
		for _, c := range f.cols {
			if c.used {
				s[c.at] = with(s[c.at], keyIdentMark, rawMark+strconv.FormatInt(c.last, 10))
			}
		}
		return s
	})
}

// WriteRows writes rows as Write does; identity columns that are null are numbered, and what was handed out
// becomes part of the transaction. marked says whether it did.
func (t *Txn) WriteRows(ctx context.Context, parts []columnar.Partition, opt WriteOptions) (w Written, marked bool, err error) {
	f := identities(t.Schema())
	if len(f.cols) > 0 {
		list := make([]columnar.Partition, len(parts))
		for i, p := range parts {
			list[i] = numbered{p, f}
		}
		parts, opt.InOrder = list, true
	}
	if w, err = t.Write(ctx, parts, opt); err != nil {
		return w, false, err
	}
	marked, err = f.marks(t)
	return w, marked, err
}

// Removes are the tombstones of all live files of the version read; the transaction then depends on the
// whole table.
func (t *Txn) Removes(stats bool) (removes []Action, bytes int64) {
	t.ReadWholeTable()
	if t.snap == nil {
		return nil, 0
	}
	kind := statsNone
	if stats {
		kind = statsRows
	}
	now := t.log.Now().UnixMilli()
	for _, a := range t.snap.Files() {
		removes = append(removes, Action{Remove: removal(a, now, true, kind)})
		bytes += a.Size
	}
	return removes, bytes
}

// MarkAction is the txn action of an application's version.
func (t *Txn) MarkAction(app string, version int64) Action {
	now := t.log.Now().UnixMilli()
	return Action{Txn: &SetTransaction{AppID: app, Version: version, LastUpdated: &now}}
}

// Discard removes data files of a transaction that was not committed.
func (t *Txn) Discard(w Written) {
	for _, a := range w.Adds {
		t.log.discard(a.Path)
	}
}

// WriteCommit is a batch write that was checked: rows under the schema of the transaction.
type WriteCommit struct {
	Tag          catalog.Tag
	Mode         string // Append, Overwrite, ErrorIfExists, Ignore: as the history names it
	PartitionBy  []string
	Overwrite    bool
	Params       Pairs // further operation parameters
	UserMetadata string
	Options      WriteOptions
	Operation    string // default WRITE
	OpParams     Pairs  // replaces mode, partitionBy and Params
	Extra        []Action
}

// CommitWrite writes rows and commits them in one go. An append without rows, metadata or mark commits
// nothing.
func (t *Txn) CommitWrite(ctx context.Context, parts []columnar.Partition, c WriteCommit) error {
	changed := t.metadata != nil
	w, marked, err := t.WriteRows(ctx, parts, c.Options)
	if err != nil {
		return err
	}
	var acts []Action
	if c.Tag.App != "" {
		acts = append(acts, t.MarkAction(c.Tag.App, c.Tag.Version))
	}
	acts = append(acts, w.Actions()...)
	op := Operation{Name: c.Operation, UserMetadata: c.UserMetadata, Metrics: Pairs{}, Params: c.OpParams}
	if op.Name == "" {
		op.Name = "WRITE"
	}
	if c.OpParams == nil {
		op.Params = Pairs{}
		op.Params.Set("mode", c.Mode)
		op.Params.Set("partitionBy", JSONList(c.PartitionBy))
		op.Params = append(op.Params, c.Params...)
	}
	op.Metrics.count("numFiles", int64(len(w.Adds)))
	if c.Overwrite && t.snap != nil {
		removes, bytes := t.Removes(false)
		if changed && t.snap.On("delta.appendOnly") && len(removes) == 0 {
			t.NotBlind = true
		}
		acts = append(acts, removes...)
		op.Metrics.count("numRemovedFiles", int64(len(removes)))
		op.Metrics.count("numRemovedBytes", bytes)
	}
	op.Metrics.count("numOutputRows", w.Rows)
	op.Metrics.count("numOutputBytes", w.Bytes)
	if marked {
		op.Tags.Set("delta.identity.schemaUpdate", "true")
	}
	acts = append(acts, c.Extra...)
	if len(acts) == 0 && t.metadata == nil && !c.Overwrite {
		return nil
	}
	if _, err := t.Commit(op, acts); err != nil {
		t.Discard(w)
		return err
	}
	return nil
}

// JSONList prints texts as a JSON list.
func JSONList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	return string(marshal(list))
}

// Insert appends rows, or replaces what is there with them. Errors: those of the commit.
func (t *Table) Insert(ctx context.Context, in catalog.Insertion) error {
	if t.pinned {
		return errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", t.def.Name, "operation", "INSERT")
	}
	txn, err := t.log.Begin()
	if err != nil {
		return err
	}
	if txn.snap == nil {
		return t.log.NoTable()
	}
	if in.Tag.App != "" {
		if v, ok := txn.LastVersion(in.Tag.App); ok && v >= in.Tag.Version {
			return nil
		}
	}
	c := WriteCommit{Tag: in.Tag, Mode: "Append", Overwrite: in.Overwrite, Options: WriteOptions{Apart: true}, UserMetadata: in.Options["userMetadata"]}
	if in.Overwrite {
		c.Mode = "Overwrite"
	}
	return txn.CommitWrite(ctx, in.Rows, c)
}
