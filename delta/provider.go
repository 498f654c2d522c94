package delta

import (
	"context"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// A Provider makes and opens Delta tables: USING delta. It keeps the logs it has opened, so that statements
// over one table read only what is new. Safe for concurrent use.
type Provider struct {
	Now     func() time.Time
	Zone    func() *time.Location
	Durable func() bool
	Stream  StreamOf // nil: tables cannot be read as streams

	logs logCache
}

// Name is delta.
func (p *Provider) Name() string { return "delta" }

// Log is the log of a folder.
func (p *Provider) Log(root string) *Log { return p.logs.get(root, p) }

// Open opens the table at d.Location.
func (p *Provider) Open(_ context.Context, d catalog.Definition) (catalog.Table, error) {
	return p.table(p.Log(d.Location), d)
}

func (p *Provider) table(l *Log, d catalog.Definition) (catalog.Table, error) {
	t, err := OpenTable(l, d)
	if err != nil {
		return nil, err
	}
	t.stream = p.Stream
	return t, nil
}

// tableSchema is a schema of CREATE TABLE as the log holds it.
func tableSchema(s types.Schema) (types.Schema, error) {
	out := make(types.Schema, len(s))
	for i, f := range s {
		g, err := tableField(f)
		if err != nil {
			return nil, err
		}
		out[i] = g
	}
	return out, nil
}

func tableField(f types.Field) (types.Field, error) {
	f.DelayMicros = 0
	if text, ok := f.Metadata[catalog.Identity]; ok {
		words := strings.Fields(text)
		if len(words) != 3 {
			return f, errs.New("INTERNAL_ERROR", "message", "identity "+text)
		}
		if f.Type.Kind != types.BigInt {
			name := primitiveNames[f.Type.Kind]
			if name == "" {
				name = f.Type.Simple()
			}
			return f, errs.New("DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE", "dataType", name)
		}
		f = without(f, catalog.Identity)
		f = with(f, keyIdentStep, rawMark+words[2])
		f = with(f, keyIdentAllow, rawMark+strconv.FormatBool(words[0] == "DEFAULT"))
		f = with(f, keyIdentStart, rawMark+words[1])
	}
	if f.Type.Kind == types.String && f.Type.Length > 0 {
		kind := "varchar"
		if f.Type.Fixed {
			kind = "char"
		}
		f = with(f, keyCharVarchar, kind+"("+strconv.Itoa(int(f.Type.Length))+")")
		f.Type = types.Of(types.String)
	}
	if f.Type.Kind == types.Struct {
		in, err := tableSchema(f.Type.Fields)
		if err != nil {
			return f, err
		}
		f.Type = types.StructOf(in...)
	}
	return f, nil
}

// Create makes a table, or replaces one, in one commit with the rows of AS query. Errors:
// DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION, those of Txn.Change and Txn.Commit.
func (p *Provider) Create(ctx context.Context, c catalog.Creation) (catalog.Table, error) {
	l := p.Log(c.Location)
	txn, err := l.Begin()
	if err != nil {
		return nil, err
	}
	if c.Clone != nil {
		if full, err := l.hasFiles(); txn.snap == nil && (err != nil || full) {
			if err == nil {
				err = errs.New("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "tableId", c.Name, "tableLocation", c.Location)
			}
			return nil, err
		}
		return p.clone(l, txn, c)
	}
	if txn.snap != nil && !c.Replace {
		if c.Rows != nil {
			return nil, errs.New("DELTA_TABLE_ALREADY_EXISTS", "tableName", c.Name)
		}
		return p.adopt(l, txn, c)
	}
	if txn.snap == nil {
		if full, err := l.hasFiles(); err != nil || full {
			if err == nil {
				err = errs.New("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "tableId", c.Name, "tableLocation", c.Location)
			}
			return nil, err
		}
	}
	schema, err := tableSchema(c.Columns)
	if err != nil {
		return nil, err
	}
	if c.Rows != nil {
		schema = AsNullable(schema)
	}
	txn.SetClustering(c.ClusterBy)
	err = txn.Change(func(m *Metadata, _ types.Schema) types.Schema {
		m.Configuration = Pairs{}
		for _, k := range sortedKeys(c.Properties) {
			m.Configuration.Set(k, c.Properties[k])
		}
		for _, ch := range c.Checks {
			m.Configuration.Set("delta.constraints."+strings.ToLower(ch.Name), ch.Text)
		}
		m.PartitionColumns = append([]string{}, c.PartitionBy...)
		m.Description = nil
		if c.Comment != "" {
			m.Description = &c.Comment
		}
		return schema
	})
	if err != nil {
		return nil, err
	}
	if len(schema) == 0 && c.Rows != nil {
		return nil, errs.New("DELTA_EMPTY_DATA")
	}
	op := "CREATE TABLE"
	if c.Replace {
		op = "CREATE OR REPLACE TABLE"
		if c.Old == nil && txn.snap == nil {
			op = "CREATE OR REPLACE TABLE"
		}
	}
	if c.Rows != nil {
		op += " AS SELECT"
	}
	params := Pairs{}
	params.Set("partitionBy", JSONList(c.PartitionBy))
	params.Set("clusterBy", JSONList(c.ClusterBy))
	if c.Comment != "" {
		params.Set("description", c.Comment)
	} else {
		params.SetRaw("description", "null")
	}
	params.Set("isManaged", strconv.FormatBool(!c.External))
	props := Pairs{}
	for _, k := range sortedKeys(c.Properties) {
		lower := strings.ToLower(k)
		if strings.HasPrefix(lower, "delta.feature.") || lower == "delta.minreaderversion" || lower == "delta.minwriterversion" {
			continue
		}
		props.Set(k, c.Properties[k])
	}
	for _, q := range txn.metadata.Configuration {
		if _, ok := props.Get(q.Key); !ok && strings.HasPrefix(q.Key, "delta.") && !strings.HasPrefix(q.Key, "delta.constraints.") {
			props = append(props, q)
		}
	}
	params.Set("properties", string(marshal(props)))
	var extra []Action
	if len(c.ClusterBy) > 0 {
		a, err := txn.clusterDomain()
		if err != nil {
			return nil, err
		}
		extra = append(extra, a)
	}
	if c.Rows == nil {
		o := Operation{Name: op, Params: params}
		acts := extra
		if txn.snap != nil {
			removes, _ := txn.Removes(false)
			acts = append(removes, acts...)
		}
		if _, err = txn.Commit(o, acts); err != nil {
			return nil, err
		}
		return p.table(l, c.Definition)
	}
	err = txn.CommitWrite(ctx, c.Rows, WriteCommit{Operation: op, OpParams: params, Overwrite: txn.snap != nil, Extra: extra})
	if err != nil {
		return nil, err
	}
	return p.table(l, c.Definition)
}

// adopt gives a name to a table that is there: what the statement says about it must be so.
func (p *Provider) adopt(l *Log, txn *Txn, c catalog.Creation) (catalog.Table, error) {
	if len(c.Columns) > 0 {
		schema, err := tableSchema(c.Columns)
		if err != nil {
			return nil, err
		}
		if !AsNullable(schema).Equal(AsNullable(txn.snap.Schema)) {
			return nil, errs.New("DELTA_CREATE_TABLE_SCHEME_MISMATCH", "path", c.Location, "specifiedSchema", schema.Simple(),
				"existingSchema", txn.snap.Schema.Simple(), "schemaDifferences", "")
		}
		if !strings.EqualFold(strings.Join(c.PartitionBy, ","), strings.Join(txn.snap.PartitionColumns(), ",")) {
			return nil, errs.New("DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING", "path", c.Location,
				"specifiedColumns", strings.Join(c.PartitionBy, ", "), "existingColumns", strings.Join(txn.snap.PartitionColumns(), ", "))
		}
	}
	return p.table(l, c.Definition)
}

// hasFiles says whether the folder holds anything that is not hidden.
func (l *Log) hasFiles() (bool, error) {
	entries, err := l.FS.ReadDir(l.Root)
	if err != nil {
		return false, nil
	}
	for _, e := range entries {
		if !isHidden(e.Name()) {
			return true, nil
		}
	}
	return false, nil
}

var _ catalog.Provider = (*Provider)(nil)
var _ catalog.Changer = (*Table)(nil)
var _ catalog.Inserter = (*Table)(nil)
var _ catalog.TimeTraveler = (*Table)(nil)
var _ catalog.Alterer = (*Table)(nil)
var _ catalog.Maintainer = (*Table)(nil)
var _ catalog.ChangeReader = (*Table)(nil)
