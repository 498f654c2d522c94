package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"streamlab/errs"
)

// maxLine is the longest line of a log entry that is read.
const maxLine = 64 << 20

// An Action is one line of a log entry: exactly one field is set.
type Action struct {
	CommitInfo *CommitInfo     `json:"commitInfo,omitempty"`
	Protocol   *Protocol       `json:"protocol,omitempty"`
	Metadata   *Metadata       `json:"metaData,omitempty"`
	Txn        *SetTransaction `json:"txn,omitempty"`
	Add        *Add            `json:"add,omitempty"`
	Remove     *Remove         `json:"remove,omitempty"`
	CDC        *AddCDC         `json:"cdc,omitempty"`
	Domain     *Domain         `json:"domainMetadata,omitempty"`
	Checkpoint *struct {
		Version int64 `json:"version"`
	} `json:"checkpointMetadata,omitempty"`
	Sidecar *Sidecar `json:"sidecar,omitempty"`
}

// Pair is a key with a JSON value.
type Pair struct {
	Key   string
	Value json.RawMessage
}

// Pairs is a JSON object whose keys keep their order.
type Pairs []Pair

// Set adds a text value.
func (p *Pairs) Set(key, value string) { *p = append(*p, Pair{key, quoteJSON(value)}) }

// SetRaw adds a value that is JSON already.
func (p *Pairs) SetRaw(key, raw string) { *p = append(*p, Pair{key, json.RawMessage(raw)}) }

// Get finds a value as text: a JSON text without its quotes, everything else as it stands; ok says whether
// it is there. JSON null is there and gives "null".
func (p Pairs) Get(key string) (string, bool) {
	for _, x := range p {
		if x.Key == key {
			return rawText(x.Value), true
		}
	}
	return "", false
}

// rawText is the text of a JSON value: a string without quotes, anything else as it stands.
func rawText(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// MarshalJSON prints the object.
func (p Pairs) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoteJSON(x.Key)...)
		b = append(b, ':')
		b = append(b, x.Value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an object, keeping the order of keys.
func (p *Pairs) UnmarshalJSON(data []byte) error {
	*p = Pairs{}
	dec := json.NewDecoder(bytes.NewReader(data))
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t == nil {
		*p = nil
		return nil
	}
	if t != json.Delim('{') {
		return fmt.Errorf("delta: an object is expected")
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return err
		}
		*p = append(*p, Pair{k.(string), v})
	}
	return nil
}

// quoteJSON prints a text as JSON without escaping <, > and &.
func quoteJSON(s string) json.RawMessage { return marshal(s) }

// marshal prints v as JSON as Spark's writer does: <, > and & stay as they are.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("delta: " + err.Error()) // only our own types get here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// CommitInfo says where a commit came from. Readers need nothing of it but InCommitTimestamp.
type CommitInfo struct {
	InCommitTimestamp   *int64 `json:"inCommitTimestamp,omitempty"`
	Timestamp           int64  `json:"timestamp"`
	Operation           string `json:"operation"`
	OperationParameters Pairs  `json:"operationParameters"`
	ReadVersion         *int64 `json:"readVersion,omitempty"`
	IsolationLevel      string `json:"isolationLevel,omitempty"`
	IsBlindAppend       *bool  `json:"isBlindAppend,omitempty"`
	OperationMetrics    Pairs  `json:"operationMetrics"`
	UserMetadata        string `json:"userMetadata,omitempty"`
	Tags                Pairs  `json:"tags,omitempty"`
	EngineInfo          string `json:"engineInfo,omitempty"`
	TxnID               string `json:"txnId,omitempty"`
}

// Protocol says what a client must understand.
type Protocol struct {
	MinReader      int      `json:"minReaderVersion"`
	MinWriter      int      `json:"minWriterVersion"`
	ReaderFeatures []string `json:"readerFeatures,omitempty"`
	WriterFeatures []string `json:"writerFeatures,omitempty"`
}

// Format of data files: always parquet.
type Format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

// Metadata is schema, partition columns and properties of a table.
type Metadata struct {
	ID               string   `json:"id"`
	Name             *string  `json:"name,omitempty"`
	Description      *string  `json:"description,omitempty"`
	Format           Format   `json:"format"`
	SchemaString     string   `json:"schemaString"`
	PartitionColumns []string `json:"partitionColumns"`
	Configuration    Pairs    `json:"configuration"`
	CreatedTime      *int64   `json:"createdTime,omitempty"`
}

// Property finds a table property; "" if it is not set. Keys of Delta's own properties have no case.
func (m *Metadata) Property(key string) string {
	if v, ok := m.Configuration.Get(key); ok {
		return v
	}
	if strings.HasPrefix(strings.ToLower(key), "delta.") {
		for _, p := range m.Configuration {
			if strings.EqualFold(p.Key, key) {
				return rawText(p.Value)
			}
		}
	}
	return ""
}

// Set sets a property, keeping its place.
func (m *Metadata) set(key, value string) {
	for i, p := range m.Configuration {
		if strings.EqualFold(p.Key, key) {
			m.Configuration[i] = Pair{p.Key, quoteJSON(value)}
			return
		}
	}
	m.Configuration.Set(key, value)
}

func (m *Metadata) unset(key string) bool {
	for i, p := range m.Configuration {
		if strings.EqualFold(p.Key, key) {
			m.Configuration = append(m.Configuration[:i:i], m.Configuration[i+1:]...)
			return true
		}
	}
	return false
}

// clone copies what With methods change.
func (m *Metadata) clone() *Metadata {
	c := *m
	c.Configuration = append(Pairs{}, m.Configuration...)
	c.PartitionColumns = append([]string{}, m.PartitionColumns...)
	return &c
}

// SetTransaction records the last version an application has written.
type SetTransaction struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated *int64 `json:"lastUpdated,omitempty"`
}

// DeletionVector describes where the bitmap of a file's deleted rows is.
type DeletionVector struct {
	StorageType string `json:"storageType"` // u: file below the table, p: absolute path, i: inline
	PathOrDV    string `json:"pathOrInlineDv"`
	Offset      *int64 `json:"offset,omitempty"`
	Size        int64  `json:"sizeInBytes"`
	Cardinality int64  `json:"cardinality"`
	MaxRowIndex *int64 `json:"maxRowIndex,omitempty"`
}

// id is what makes two deletion vectors of one file different.
func (d *DeletionVector) id() string {
	if d == nil {
		return ""
	}
	s := d.StorageType + d.PathOrDV
	if d.Offset != nil {
		s += fmt.Sprintf("@%d", *d.Offset)
	}
	return s
}

// Add makes a file live, or gives a live file new statistics, tags or another deletion vector.
type Add struct {
	Path                    string             `json:"path"`
	PartitionValues         map[string]*string `json:"partitionValues"`
	Size                    int64              `json:"size"`
	ModificationTime        int64              `json:"modificationTime"`
	DataChange              bool               `json:"dataChange"`
	Stats                   string             `json:"stats,omitempty"`
	Tags                    map[string]string  `json:"tags,omitempty"`
	DV                      *DeletionVector    `json:"deletionVector,omitempty"`
	BaseRowID               *int64             `json:"baseRowId,omitempty"`
	DefaultRowCommitVersion *int64             `json:"defaultRowCommitVersion,omitempty"`
	ClusteringProvider      string             `json:"clusteringProvider,omitempty"`

	parsed *Stats // of Stats or of a checkpoint's stats_parsed; see stats
}

// Remove makes a file a tombstone.
type Remove struct {
	Path                    string             `json:"path"`
	DeletionTimestamp       int64              `json:"deletionTimestamp,omitempty"`
	DataChange              bool               `json:"dataChange"`
	ExtendedFileMetadata    bool               `json:"extendedFileMetadata,omitempty"`
	PartitionValues         map[string]*string `json:"partitionValues"`
	Size                    *int64             `json:"size,omitempty"`
	Tags                    map[string]string  `json:"tags,omitempty"`
	DV                      *DeletionVector    `json:"deletionVector,omitempty"`
	BaseRowID               *int64             `json:"baseRowId,omitempty"`
	DefaultRowCommitVersion *int64             `json:"defaultRowCommitVersion,omitempty"`
	Stats                   string             `json:"stats,omitempty"`
}

// AddCDC is a file of change rows; it never belongs to a snapshot.
type AddCDC struct {
	Path            string             `json:"path"`
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	DataChange      bool               `json:"dataChange"`
	Tags            map[string]string  `json:"tags,omitempty"`
}

// Domain is a named piece of configuration that a feature keeps in the log.
type Domain struct {
	Domain        string `json:"domain"`
	Configuration string `json:"configuration"`
	Removed       bool   `json:"removed"`
}

// Sidecar is a file of a v2 checkpoint.
type Sidecar struct {
	Path             string `json:"path"`
	Size             int64  `json:"sizeInBytes"`
	ModificationTime int64  `json:"modificationTime"`
}

// decodeActions reads the lines of a log entry. name is for messages.
func decodeActions(name string, data []byte) ([]Action, error) {
	var out []Action
	line := 0
	for len(data) > 0 {
		line++
		row := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			row, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		row = bytes.TrimSpace(row)
		if len(row) == 0 {
			continue
		}
		if len(row) > maxLine {
			return nil, errs.New("DELTA_LOG_CORRUPT", "file", name, "line", line, "reason", "the line is longer than 64 MiB")
		}
		var a Action
		if err := json.Unmarshal(row, &a); err != nil {
			return nil, errs.Wrap(err, "DELTA_LOG_CORRUPT", "file", name, "line", line, "reason", "the line is no action")
		}
		out = append(out, a)
	}
	return out, nil
}

// encodeActions writes actions as lines.
func encodeActions(w io.Writer, actions []Action) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range actions {
		if err := enc.Encode(&actions[i]); err != nil {
			return err
		}
	}
	return nil
}

// sortedKeys lists the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
