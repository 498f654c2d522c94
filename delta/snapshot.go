package delta

import (
	"encoding/json"
	"maps"
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// fileKey is what the log knows a file by: one path may be live once, with one deletion vector.
type fileKey struct{ path, dv string }

// A Snapshot is a table at one version. It is immutable.
type Snapshot struct {
	Log      *Log
	Version  int64
	Protocol Protocol
	Metadata *Metadata
	Schema   types.Schema // all columns in the table's order; metadata as in the log

	files   map[fileKey]*Add
	removes map[fileKey]*Remove
	txns    map[string]SetTransaction
	domains map[string]Domain
	stamp   *fileStamp
	parts   map[string]bool // partition columns, lower case
}

// Files lists the live files by path.
func (s *Snapshot) Files() []*Add {
	out := make([]*Add, 0, len(s.files))
	for _, a := range s.files {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// NumFiles counts the live files.
func (s *Snapshot) NumFiles() int { return len(s.files) }

// SizeInBytes adds up the sizes of the live files.
func (s *Snapshot) SizeInBytes() int64 {
	var n int64
	for _, a := range s.files {
		n += a.Size
	}
	return n
}

// Txn is the last version an application has written; ok is false if it never did.
func (s *Snapshot) Txn(app string) (version int64, ok bool) {
	t, ok := s.txns[app]
	return t.Version, ok
}

// Domain is a domain's configuration; ok is false if there is none.
func (s *Snapshot) Domain(name string) (string, bool) {
	d, ok := s.domains[name]
	return d.Configuration, ok
}

// PartitionColumns are the table's partition columns.
func (s *Snapshot) PartitionColumns() []string { return s.Metadata.PartitionColumns }

func (s *Snapshot) isPartition(name string) bool { return s.parts[strings.ToLower(name)] }

// Property is a table property; "" if it is not set.
func (s *Snapshot) Property(key string) string { return s.Metadata.Property(key) }

// On says whether a property is true.
func (s *Snapshot) On(key string) bool { return strings.EqualFold(s.Metadata.Property(key), "true") }

// builder collects the state while commits are applied, oldest first.
type builder struct {
	version  int64
	protocol *Protocol
	metadata *Metadata
	files    map[fileKey]*Add
	removes  map[fileKey]*Remove
	txns     map[string]SetTransaction
	domains  map[string]Domain
}

// builderOf begins with a snapshot's state, or with nothing.
func builderOf(s *Snapshot) *builder {
	if s == nil {
		return &builder{version: -1, files: map[fileKey]*Add{}, removes: map[fileKey]*Remove{}, txns: map[string]SetTransaction{}, domains: map[string]Domain{}}
	}
	p := s.Protocol
	return &builder{version: s.Version, protocol: &p, metadata: s.Metadata, files: maps.Clone(s.files), removes: maps.Clone(s.removes),
		txns: maps.Clone(s.txns), domains: maps.Clone(s.domains)}
}

// apply replays the actions of one commit. Removes come before adds: a commit that takes a file with one
// deletion vector away and gives it back with another may have them in either order.
func (b *builder) apply(v int64, acts []Action) error {
	for i := range acts {
		if r := acts[i].Remove; r != nil {
			k := fileKey{canonicalPath(r.Path), r.DV.id()}
			delete(b.files, k)
			b.removes[k] = r
		}
	}
	for i := range acts {
		b.one(&acts[i])
	}
	b.version = v
	return nil
}

func (b *builder) one(a *Action) {
	switch {
	case a.Add != nil:
		k := fileKey{canonicalPath(a.Add.Path), a.Add.DV.id()}
		delete(b.removes, k)
		b.files[k] = a.Add
	case a.Protocol != nil:
		b.protocol = a.Protocol
	case a.Metadata != nil:
		b.metadata = a.Metadata
	case a.Txn != nil:
		b.txns[a.Txn.AppID] = *a.Txn
	case a.Domain != nil:
		if a.Domain.Removed {
			delete(b.domains, a.Domain.Domain)
		} else {
			b.domains[a.Domain.Domain] = *a.Domain
		}
	}
}

// finish checks that the state is one that can be read and makes it a snapshot.
func (b *builder) finish(l *Log) (*Snapshot, error) {
	if b.protocol == nil {
		return nil, errs.New("DELTA_STATE_RECOVER_ERROR", "operation", "protocol", "version", b.version)
	}
	if err := checkReadable(l.Root, *b.protocol); err != nil {
		return nil, err
	}
	if b.metadata == nil {
		return nil, errs.New("DELTA_STATE_RECOVER_ERROR", "operation", "metadata", "version", b.version)
	}
	s := &Snapshot{Log: l, Version: b.version, Protocol: *b.protocol, Metadata: b.metadata, files: b.files, removes: b.removes,
		txns: b.txns, domains: b.domains, stamp: l.stampOf(b.version)}
	return s, s.readSchema()
}

func (s *Snapshot) readSchema() error {
	var err error
	s.Schema, err = ParseSchema(s.Metadata.SchemaString)
	if err != nil {
		return err
	}
	s.parts = map[string]bool{}
	for _, c := range s.Metadata.PartitionColumns {
		if s.Schema.Index(c) < 0 {
			return errs.New("DELTA_PARTITION_COLUMN_NOT_FOUND", "columnName", types.Quote(c), "columnList", strings.Join(s.Schema.Names(), ", "))
		}
		s.parts[strings.ToLower(c)] = true
	}
	return nil
}

// rowIDMark is the highest row id given out so far, -1 for none.
func (s *Snapshot) rowIDMark() int64 {
	text, ok := s.Domain(rowTrackingDomain)
	if !ok {
		return -1
	}
	var c struct {
		Mark *int64 `json:"rowIdHighWaterMark"`
	}
	if json.Unmarshal([]byte(text), &c) != nil || c.Mark == nil {
		return -1
	}
	return *c.Mark
}
