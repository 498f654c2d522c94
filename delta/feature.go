package delta

import (
	"sort"
	"strings"

	"streamlab/errs"
)

// support says what this program can do with a table feature.
type support struct {
	reader bool // it is a reader feature as well
	read   bool
	write  bool
	legacy [2]int // reader and writer version that bring it without being listed; 0 if none does
	what   string
}

// features are the table features that are known by name. A name that is not here is unknown and refused.
var features = map[string]support{
	"appendOnly":                  {write: true, read: true, legacy: [2]int{1, 2}, what: "rows may only be added"},
	"invariants":                  {write: true, read: true, legacy: [2]int{1, 2}, what: "conditions and NOT NULL of columns"},
	"checkConstraints":            {write: true, read: true, legacy: [2]int{1, 3}, what: "CHECK constraints"},
	"changeDataFeed":              {write: true, read: true, legacy: [2]int{1, 4}, what: "the change data feed"},
	"generatedColumns":            {write: true, read: true, legacy: [2]int{1, 4}, what: "columns computed from others"},
	"columnMapping":               {reader: true, read: true, write: true, legacy: [2]int{2, 5}, what: "columns that may be renamed and dropped"},
	"identityColumns":             {read: true, write: true, legacy: [2]int{1, 6}, what: "columns that number rows"},
	"deletionVectors":             {reader: true, read: true, write: true, what: "rows deleted without rewriting their file"},
	"timestampNtz":                {reader: true, read: true, write: true, what: "timestamps without time zone"},
	"v2Checkpoint":                {reader: true, read: true, write: true, what: "checkpoints in several files"},
	"vacuumProtocolCheck":         {reader: true, read: true, write: true, what: "VACUUM looks at the protocol first"},
	"typeWidening":                {reader: true, read: true, write: true, what: "columns whose type has grown"},
	"typeWidening-preview":        {reader: true, read: true, write: true, what: "columns whose type has grown"},
	"domainMetadata":              {read: true, write: true, what: "named configuration in the log"},
	"clustering":                  {read: true, write: true, what: "CLUSTER BY"},
	"liquid":                      {read: true, what: "an early form of CLUSTER BY"},
	"inCommitTimestamp":           {read: true, write: true, what: "commit times inside the commits"},
	"inCommitTimestamp-preview":   {read: true, what: "an early form of commit times inside the commits"},
	"rowTracking":                 {read: true, write: true, what: "rows with identifiers of their own"},
	"allowColumnDefaults":         {read: true, write: true, what: "DEFAULT of columns"},
	"materializePartitionColumns": {read: true, write: true, what: "partition columns inside data files"},
	"checkpointProtection":        {read: true, write: true, what: "a log that must not be cleaned up"},
	"icebergCompatV1":             {read: true, what: "readable as Iceberg"},
	"icebergCompatV2":             {read: true, what: "readable as Iceberg"},
	"icebergCompatV3":             {read: true, what: "readable as Iceberg"},
	"icebergWriterCompatV1":       {read: true, what: "writable as Iceberg"},
	"collations":                  {read: true, what: "texts compared by language"},
	"collations-preview":          {read: true, what: "texts compared by language"},
	"variantType":                 {reader: true, what: "VARIANT columns"},
	"variantType-preview":         {reader: true, what: "VARIANT columns"},
	"variantShredding":            {reader: true, what: "VARIANT columns in several parts"},
	"variantShredding-preview":    {reader: true, what: "VARIANT columns in several parts"},
	"geospatial":                  {reader: true, what: "shapes on a map"},
	"catalogManaged":              {reader: true, what: "commits by a catalog"},
	"catalogOwned-preview":        {reader: true, what: "commits by a catalog"},
	"coordinatedCommits-preview":  {what: "commits by a coordinator"},
}

const (
	maxReader = 3
	maxWriter = 7
)

// explain is one text per feature that is in the way: what it is.
func explain(names []string) string {
	var out []string
	for _, n := range names {
		what := "not known to this version"
		if f, ok := features[n]; ok {
			what = f.what
		}
		out = append(out, n+": "+what)
	}
	return strings.Join(out, "; ")
}

// checkReadable refuses tables that need what this program does not know. Errors:
// DELTA_INVALID_PROTOCOL_VERSION, DELTA_UNSUPPORTED_FEATURES_FOR_READ.
func checkReadable(table string, p Protocol) error {
	if p.MinReader > maxReader || p.MinReader < 0 {
		return invalidProtocol(table, p)
	}
	if p.MinReader < 3 {
		return nil
	}
	var bad []string
	for _, f := range p.ReaderFeatures {
		if !features[f].read {
			bad = append(bad, f)
		}
	}
	if len(bad) > 0 {
		sort.Strings(bad)
		return errs.New("DELTA_UNSUPPORTED_FEATURES_FOR_READ", "tableNameOrPath", table, "unsupported", strings.Join(bad, ", "),
			"deltaVersion", engineVersion).WithHint(explain(bad))
	}
	return nil
}

// checkWritable refuses to write tables that need what this program does not know. Errors:
// DELTA_INVALID_PROTOCOL_VERSION, DELTA_UNSUPPORTED_FEATURES_FOR_WRITE.
func checkWritable(table string, p Protocol) error {
	if err := checkReadable(table, p); err != nil {
		return err
	}
	if p.MinWriter > maxWriter {
		return invalidProtocol(table, p)
	}
	if p.MinWriter < 7 {
		return nil
	}
	var bad []string
	for _, f := range p.WriterFeatures {
		if !features[f].write {
			bad = append(bad, f)
		}
	}
	if len(bad) > 0 {
		sort.Strings(bad)
		return errs.New("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "tableNameOrPath", table, "unsupported", strings.Join(bad, ", "),
			"deltaVersion", engineVersion).WithHint(explain(bad))
	}
	return nil
}

func invalidProtocol(table string, p Protocol) error {
	e := errs.New("DELTA_INVALID_PROTOCOL_VERSION", "tableNameOrPath", table, "readerRequired", p.MinReader, "writerRequired", p.MinWriter,
		"supportedReaders", "1, 2, 3", "supportedWriters", "1, 2, 3, 4, 5, 6, 7")
	if list := append(append([]string{}, p.ReaderFeatures...), p.WriterFeatures...); len(list) > 0 {
		sort.Strings(list)
		e = e.WithHint("The table's features: " + explain(dedupe(list)))
	}
	return e
}

func dedupe(sorted []string) []string {
	var out []string
	for i, s := range sorted {
		if i == 0 || s != sorted[i-1] {
			out = append(out, s)
		}
	}
	return out
}

// Supports says whether the protocol has a feature, listed or implied by its versions.
func (p Protocol) Supports(name string) bool {
	if p.MinWriter >= 7 {
		for _, f := range p.WriterFeatures {
			if f == name {
				return true
			}
		}
		return false
	}
	f := features[name]
	return f.legacy[1] > 0 && p.MinWriter >= f.legacy[1] && p.MinReader >= f.legacy[0]
}

// CheckReadable refuses a protocol that this program cannot read.
func (p Protocol) CheckReadable(table string) error { return checkReadable(table, p) }
