package delta

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// A Table is a Delta table under a name or a path, as statements see it. The schema is that of the version
// the Table was opened or resolved at; Scan reads the newest version unless the Table is pinned to an older
// one.
type Table struct {
	log    *Log
	snap   *Snapshot // where the schema comes from
	pinned bool
	def    catalog.Definition // names, location, options
	stream StreamOf
	extra  types.Schema // columns that the next transaction adds; see Evolved
}

// StreamOf makes the stream of the table in a folder; name may be empty.
type StreamOf func(root, name string, options map[string]string) (*catalog.Stream, error)

// OpenTable opens the table at d.Location. Errors: DELTA_TABLE_NOT_FOUND, DELTA_PATH_DOES_NOT_EXIST, those of
// reading the log.
func OpenTable(l *Log, d catalog.Definition) (*Table, error) {
	s, err := l.Snapshot()
	if err != nil {
		return nil, err
	}
	d.Provider = "delta"
	return &Table{log: l, snap: s, def: d}, nil
}

// Log of the table.
func (t *Table) Log() *Log { return t.log }

// Snapshot is the version the table's schema comes from.
func (t *Table) Snapshot() *Snapshot { return t.snap }

// Resolve gives the table as it is now, for one statement.
func (t *Table) Resolve() (catalog.Table, error) {
	if t.pinned {
		return t, nil
	}
	n, err := OpenTable(t.log, t.def)
	if err != nil {
		return nil, err
	}
	n.stream = t.stream
	return n, nil
}

// Schema is the table's columns in its order.
func (t *Table) Schema() types.Schema {
	return append(shownSchema(t.snap.Schema), t.extra...)
}

// Evolved is the table with further columns, which a transaction that it begins adds.
func (t *Table) Evolved(columns types.Schema) catalog.Table {
	u := *t
	u.extra = columns
	return &u
}

// VersionFor is the first version at or after an instant, or, for an end, the last one not after it; -1 if
// an end lies behind all.
func (t *Table) VersionFor(micros int64, end bool) (int64, error) {
	if !end {
		return t.log.FirstVersionFrom(micros)
	}
	v, err := t.log.VersionAt(micros)
	if errs.Has(err, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT") {
		return -1, nil
	}
	return v, err
}

// shownSchema is a schema as statements see it: CHAR and VARCHAR as they were declared, identity in one key.
func shownSchema(s types.Schema) types.Schema {
	out := make(types.Schema, len(s))
	for i, f := range s {
		out[i] = shownField(f)
	}
	return out
}

func shownField(f types.Field) types.Field {
	m := map[string]string{}
	for k, v := range f.Metadata {
		if !strings.HasPrefix(k, "delta.columnMapping.") && !strings.HasPrefix(k, "delta.identity.") {
			m[k] = v
		}
	}
	if start, ok := metaInt(f, keyIdentStart); ok {
		step, _ := metaInt(f, keyIdentStep)
		kind := "ALWAYS"
		if strings.TrimPrefix(f.Metadata[keyIdentAllow], rawMark) == "true" {
			kind = "DEFAULT"
		}
		m[catalog.Identity] = fmt.Sprintf("%s %d %d", kind, start, step)
	}
	if len(m) == 0 {
		m = nil
	}
	f.Metadata = m
	return f
}

// Definition is the table as it is now.
func (t *Table) Definition() catalog.Definition {
	d := t.def
	m := t.snap.Metadata
	d.Provider, d.Columns, d.PartitionBy, d.Location = "delta", t.Schema(), m.PartitionColumns, t.log.Root
	d.Comment = ""
	if m.Description != nil {
		d.Comment = *m.Description
	}
	d.ClusterBy = t.snap.ClusterBy()
	d.Properties = map[string]string{}
	d.Checks = nil
	for _, p := range m.Configuration {
		if name, ok := strings.CutPrefix(strings.ToLower(p.Key), "delta.constraints."); ok {
			d.Checks = append(d.Checks, catalog.Check{Name: name, Text: rawText(p.Value)})
		}
		d.Properties[p.Key] = rawText(p.Value)
	}
	d.Properties["delta.minReaderVersion"] = strconv.Itoa(t.snap.Protocol.MinReader)
	d.Properties["delta.minWriterVersion"] = strconv.Itoa(t.snap.Protocol.MinWriter)
	for _, f := range append(append([]string{}, t.snap.Protocol.ReaderFeatures...), t.snap.Protocol.WriterFeatures...) {
		d.Properties["delta.feature."+f] = "supported"
	}
	sort.Slice(d.Checks, func(i, j int) bool { return d.Checks[i].Name < d.Checks[j].Name })
	return d
}

// ClusterBy are the names of the columns that the table clusters by.
func (s *Snapshot) ClusterBy() []string {
	text, ok := s.Domain("delta.clustering")
	if !ok {
		return nil
	}
	var c struct {
		Columns [][]string `json:"clusteringColumns"`
	}
	if json.Unmarshal([]byte(text), &c) != nil {
		return nil
	}
	var out []string
	for _, p := range c.Columns {
		if len(p) == 0 {
			continue
		}
		name := p[0]
		for _, f := range s.Schema {
			if physicalName(f, s.MappingMode()) == p[0] {
				name = f.Name
			}
		}
		out = append(out, strings.Join(append([]string{name}, p[1:]...), "."))
	}
	return out
}

// current is the version that a scan reads now.
func (t *Table) current() (*Snapshot, error) {
	if t.pinned {
		return t.snap, nil
	}
	return t.log.Snapshot()
}

// Scan plans the files of the version read that may hold rows of s.Where.
func (t *Table) Scan(_ context.Context, s catalog.Scan) ([]columnar.Partition, error) {
	snap, err := t.current()
	if err != nil {
		return nil, err
	}
	all := t.Schema()
	cols := s.Columns
	if cols == nil {
		cols = make([]int, len(all))
		for i := range cols {
			cols[i] = i
		}
	}
	want, err := t.columns(snap, all, cols)
	if err != nil {
		return nil, err
	}
	var files []DataFile
	where := t.predicates(snap, s.Where)
	for _, a := range snap.prune(snap.Files(), where) {
		files = append(files, snap.DataFileOf(a))
	}
	rd := snap.NewReader(want)
	rd.Skip(snap.testsOf(where, want))
	return rd.Partitions(files), nil
}

// columns finds columns of the schema that the statement was analysed with in the version that is read: by
// name; one that is gone is an error.
func (t *Table) columns(snap *Snapshot, all types.Schema, cols []int) (types.Schema, error) {
	want := make(types.Schema, len(cols))
	for k, c := range cols {
		f := all[c]
		i := snap.Schema.Index(f.Name)
		if i < 0 {
			return nil, errs.New("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS", "schemaDiff", "the column "+f.Name+" is gone", "legacyFlagMessage", "")
		}
		now := snap.Schema[i]
		if !now.Type.Equal(f.Type) {
			return nil, errs.New("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS", "schemaDiff", "the column "+f.Name+" was "+f.Type.SQL()+" and is "+now.Type.SQL(),
				"legacyFlagMessage", "")
		}
		want[k] = types.Field{Name: now.Name, Type: now.Type, Nullable: f.Nullable, Metadata: now.Metadata}
	}
	return want, nil
}

// predicates moves predicates from the analysed schema to the one that is read.
func (t *Table) predicates(snap *Snapshot, where []catalog.Predicate) []catalog.Predicate {
	var out []catalog.Predicate
	for _, p := range where {
		if p.Column >= len(t.snap.Schema) {
			continue
		}
		i := snap.Schema.Index(t.snap.Schema[p.Column].Name)
		if i < 0 {
			continue
		}
		p.Column = i
		out = append(out, p)
	}
	return out
}

// AsOfVersion gives the table as it was in a version. Error: DELTA_VERSION_NOT_FOUND.
func (t *Table) AsOfVersion(v int64) (catalog.Table, error) {
	if v < 0 {
		return nil, t.log.versionNotFound(v)
	}
	s, err := t.log.At(v)
	if err != nil {
		return nil, err
	}
	return &Table{log: t.log, snap: s, pinned: true, def: t.def, stream: t.stream}, nil
}

// AsOfTimestamp gives the table as it was at an instant. Errors:
// DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION, DELTA_TIMESTAMP_GREATER_THAN_COMMIT.
func (t *Table) AsOfTimestamp(micros int64) (catalog.Table, error) {
	v, err := t.log.VersionAt(micros)
	if err != nil {
		return nil, err
	}
	return t.AsOfVersion(v)
}

// AsStream gives the stream of the table, as the provider makes it.
func (t *Table) AsStream(options map[string]string) (*catalog.Stream, error) {
	if t.stream == nil {
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Reading this table as a stream")
	}
	return t.stream(t.log.Root, t.def.Name, options)
}
