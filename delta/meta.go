package delta

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/sql/types"
)

// newMetadata is the metadata of a table that begins to exist.
func (t *Txn) newMetadata() *Metadata {
	now := t.log.Now().UnixMilli()
	return &Metadata{ID: uuid.NewString(), Format: Format{Provider: "parquet", Options: map[string]string{}}, PartitionColumns: []string{},
		Configuration: Pairs{}, CreatedTime: &now}
}

// Change makes the transaction leave other metadata: schema, partition columns and properties as f sets them
// in a copy of the current ones. It checks names and types, gives mapped columns their ids and raises the
// protocol to what the table now needs. Errors: DELTA_DUPLICATE_COLUMNS_FOUND,
// DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES, DELTA_PARTITION_COLUMN_NOT_FOUND,
// DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION, DELTA_UNKNOWN_CONFIGURATION and those of property values.
func (t *Txn) Change(f func(m *Metadata, schema types.Schema) types.Schema) error {
	var m *Metadata
	old := t.Metadata()
	if old == nil {
		m = t.newMetadata()
	} else {
		m = old.clone()
	}
	schema := f(m, append(types.Schema{}, t.Schema()...))
	if err := checkProperties(m.Configuration); err != nil {
		return err
	}
	schema, err := t.mapColumns(old, m, schema)
	if err != nil {
		return err
	}
	if err := checkColumns(schema, mappingMode(m)); err != nil {
		return err
	}
	if err := checkPartitions(schema, m.PartitionColumns); err != nil {
		return err
	}
	p, err := t.needs(m, schema)
	if err != nil {
		return err
	}
	if err := storableSchema(schema); err != nil {
		return err
	}
	if m.SchemaString, err = SchemaString(schema); err != nil {
		return err
	}
	t.metadata, t.schema = m, schema
	if t.snap == nil || !p.equal(t.snap.Protocol) {
		t.protocol = &p
	}
	return nil
}

// storableSchema refuses columns of types that Delta has not.
func storableSchema(s types.Schema) error {
	for _, f := range s {
		if f.Type.Kind == types.Null {
			continue
		}
		if err := writable(f.Type, true); err != nil && !errs.Has(err, "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE") {
			return err
		}
	}
	return nil
}

func (p Protocol) equal(q Protocol) bool {
	return p.MinReader == q.MinReader && p.MinWriter == q.MinWriter && sameSet(p.ReaderFeatures, q.ReaderFeatures) && sameSet(p.WriterFeatures, q.WriterFeatures)
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !contains(b, x) {
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// checkColumns refuses names that are there twice, or that files cannot have.
func checkColumns(s types.Schema, mode MappingMode) error {
	var bad []string
	var walk func(fs []types.Field, top bool) error
	walk = func(fs []types.Field, top bool) error {
		seen := map[string]bool{}
		for _, f := range fs {
			k := strings.ToLower(f.Name)
			if seen[k] {
				return errs.New("DELTA_DUPLICATE_COLUMNS_FOUND.DATA", "duplicateCols", k)
			}
			seen[k] = true
			if mode == MapNone && strings.ContainsAny(f.Name, " ,;{}()\n\t=") {
				bad = append(bad, f.Name)
			}
			if err := eachStruct(f.Type, func(in []types.Field) error { return walk(in, false) }); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(s, true); err != nil {
		return err
	}
	if len(bad) > 0 {
		return errs.New("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "invalidColumnNames", strings.Join(bad, ", "))
	}
	return nil
}

// eachStruct calls f with the fields of every struct directly inside a type.
func eachStruct(t types.DataType, f func([]types.Field) error) error {
	switch t.Kind {
	case types.Struct:
		return f(t.Fields)
	case types.Array:
		return eachStruct(*t.Elem, f)
	case types.Map:
		if err := eachStruct(*t.Key, f); err != nil {
			return err
		}
		return eachStruct(*t.Elem, f)
	}
	return nil
}

func checkPartitions(s types.Schema, parts []string) error {
	for k, p := range parts {
		for _, q := range parts[:k] {
			if strings.EqualFold(p, q) {
				return errs.New("DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS", "duplicateCols", types.Quote(strings.ToLower(p)))
			}
		}
		i := s.Index(p)
		if i < 0 {
			return errs.New("DELTA_PARTITION_COLUMN_NOT_FOUND", "columnName", types.Quote(p), "columnList", strings.Join(s.Names(), ", "))
		}
		if !s[i].Type.IsAtomic() {
			return errs.New("DELTA_INVALID_PARTITION_COLUMN_TYPE", "name", p, "dataType", s[i].Type.SQL())
		}
	}
	if len(parts) > 0 && len(parts) == len(s) {
		return errs.New("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION")
	}
	return nil
}

// mapColumns gives columns their ids and physical names where the table maps columns.
func (t *Txn) mapColumns(old, m *Metadata, s types.Schema) (types.Schema, error) {
	mode := mappingMode(m)
	before := MapNone
	if old != nil {
		before = mappingMode(old)
	}
	if mode == MapNone {
		return s, nil
	}
	if old != nil && before != mode && !(before == MapNone && mode == MapName) {
		return nil, errs.New("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", "oldMode", modeName(before), "newMode", modeName(mode))
	}
	upgrade := old != nil && before == MapNone
	top := int64(0)
	if n, err := strconv.ParseInt(m.Property("delta.columnMapping.maxColumnId"), 10, 64); err == nil {
		top = n
	}
	var scan func(fs []types.Field) error
	scan = func(fs []types.Field) error {
		for _, f := range fs {
			if id, ok := metaInt(f, keyMappingID); ok {
				top = max(top, id)
			}
			if err := eachStruct(f.Type, scan); err != nil {
				return err
			}
		}
		return nil
	}
	if err := scan(s); err != nil {
		return nil, err
	}
	var fields func(fs []types.Field) []types.Field
	var inside func(t types.DataType) types.DataType
	inside = func(t types.DataType) types.DataType {
		switch t.Kind {
		case types.Struct:
			return types.StructOf(fields(t.Fields)...)
		case types.Array:
			return types.ArrayOf(inside(*t.Elem), t.ContainsNull)
		case types.Map:
			return types.MapOf(inside(*t.Key), inside(*t.Elem), t.ContainsNull)
		}
		return t
	}
	fields = func(fs []types.Field) []types.Field {
		out := make([]types.Field, len(fs))
		for i, f := range fs {
			if _, ok := f.Metadata[keyMappingID]; !ok {
				top++
				f = with(f, keyMappingID, rawMark+strconv.FormatInt(top, 10))
			}
			if _, ok := f.Metadata[keyPhysical]; !ok {
				name := "col-" + uuid.NewString()
				if upgrade {
					name = f.Name
				}
				f = with(f, keyPhysical, name)
			}
			f.Type = inside(f.Type)
			out[i] = f
		}
		return out
	}
	s = fields(s)
	m.set("delta.columnMapping.maxColumnId", strconv.FormatInt(top, 10))
	return s, nil
}

func modeName(m MappingMode) string { return [...]string{"none", "name", "id"}[m] }

// property values: what each of Delta's own properties takes.
var properties = map[string]string{
	"delta.appendonly": "bool", "delta.autooptimize.autocompact": "", "delta.autooptimize.optimizewrite": "",
	"delta.checkpoint.writestatsasjson": "bool", "delta.checkpoint.writestatsasstruct": "bool", "delta.checkpointinterval": "int",
	"delta.checkpointpolicy": "", "delta.checkpointretentionduration": "interval", "delta.columnmapping.mode": "mapping",
	"delta.columnmapping.maxcolumnid": "int", "delta.compatibility.symlinkformatmanifest.enabled": "bool",
	"delta.dataskippingnumindexedcols": "int", "delta.dataskippingstatscolumns": "", "delta.dataskippingstringprefixlength": "int",
	"delta.deletedfileretentionduration": "interval", "delta.enablechangedatafeed": "bool", "delta.enabledeletionvectors": "bool",
	"delta.enableexpiredlogcleanup": "bool", "delta.enablefullretentionrollback": "bool", "delta.enableincommittimestamps": "bool",
	"delta.incommittimestampenablementversion": "int", "delta.incommittimestampenablementtimestamp": "int",
	"delta.enablerowtracking": "bool", "delta.rowtrackingsuspended": "bool", "delta.enabletypewidening": "bool",
	"delta.rowtracking.materializedrowidcolumnname": "", "delta.rowtracking.materializedrowcommitversioncolumnname": "",
	"delta.ignoreprotocoldefaults": "bool", "delta.isolationlevel": "isolation", "delta.logretentionduration": "interval",
	"delta.minreaderversion": "int", "delta.minwriterversion": "int", "delta.parquet.compression.codec": "", "delta.randomizefileprefixes": "bool",
	"delta.randomprefixlength": "int", "delta.sampleretentionduration": "interval", "delta.settransactionretentionduration": "interval",
	"delta.targetfilesize": "", "delta.tunefilesizesforrewrites": "bool", "delta.universalformat.enabledformats": "",
	"delta.writepartitioncolumnstoparquet": "bool", "delta.enableicebergcompatv1": "bool", "delta.enableicebergcompatv2": "bool",
	"delta.enableicebergcompatv3": "bool", "delta.requirecheckpointprotectionbeforeversion": "int", "delta.castiicebergtimetype": "bool",
	"delta.liquid.clusteringcolumns": "", "delta.enablevariantshredding": "bool", "delta.setvacuumlogging": "bool",
}

// checkProperties refuses properties that begin with delta. and are not known, and values that do not fit.
func checkProperties(conf Pairs) error {
	for _, p := range conf {
		k := strings.ToLower(p.Key)
		if !strings.HasPrefix(k, "delta.") || strings.HasPrefix(k, "delta.constraints.") || strings.HasPrefix(k, "delta.feature.") ||
			strings.HasPrefix(k, "delta.universalformat.") {
			continue
		}
		kind, ok := properties[k]
		if !ok {
			return errs.New("DELTA_UNKNOWN_CONFIGURATION", "config", p.Key, "disableCheckConfig", "spark.databricks.delta.allowArbitraryProperties.enabled")
		}
		v := rawText(p.Value)
		switch kind {
		case "bool":
			if !strings.EqualFold(v, "true") && !strings.EqualFold(v, "false") {
				return errs.New("UNSUPPORTED_TABLE_CHANGE", "message", fmt.Sprintf("For input string: %q", v))
			}
		case "int":
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return errs.New("UNSUPPORTED_TABLE_CHANGE", "message", fmt.Sprintf("For input string: %q", v))
			}
		case "interval":
			if _, ok := parseInterval(v); !ok {
				return errs.New("UNSUPPORTED_TABLE_CHANGE", "message", v+" is not a valid interval")
			}
		case "mapping":
			switch strings.ToLower(v) {
			case "none", "name", "id":
			default:
				return errs.New("DELTA_MODE_NOT_SUPPORTED", "mode", v, "supportedModes", "none, id, name")
			}
		case "isolation":
			if !strings.EqualFold(v, "Serializable") {
				return errs.New("DELTA_INVALID_ISOLATION_LEVEL", "isolationLevel", v)
			}
		}
	}
	return nil
}

// needs is the protocol of a table with this metadata: the current one, raised where it does not suffice.
// Properties that only speak of the protocol are taken out of m.
func (t *Txn) needs(m *Metadata, s types.Schema) (Protocol, error) {
	var want []string
	need := func(name string) {
		if !contains(want, name) {
			want = append(want, name)
		}
	}
	var conf Pairs
	reader, writer := 0, 0
	for _, p := range m.Configuration {
		k := strings.ToLower(p.Key)
		v := rawText(p.Value)
		switch {
		case strings.HasPrefix(k, "delta.feature."):
			name := p.Key[len("delta.feature."):]
			known := ""
			for f := range features {
				if strings.EqualFold(f, name) {
					known = f
				}
			}
			if known == "" {
				return Protocol{}, errs.New("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", "configs", p.Key)
			}
			if !strings.EqualFold(v, "supported") && !strings.EqualFold(v, "enabled") {
				return Protocol{}, errs.New("DELTA_UNSUPPORTED_FEATURE_STATUS", "feature", name, "status", v)
			}
			need(known)
			continue
		case k == "delta.minreaderversion":
			reader, _ = strconv.Atoi(v)
			continue
		case k == "delta.minwriterversion":
			writer, _ = strconv.Atoi(v)
			continue
		case k == "delta.ignoreprotocoldefaults":
			continue
		}
		conf = append(conf, p)
	}
	if conf == nil {
		conf = Pairs{}
	}
	m.Configuration = conf
	on := func(key string) bool { return strings.EqualFold(m.Property(key), "true") }
	if _, ok := t.clustering(); ok {
		need("domainMetadata")
		need("clustering")
	}
	var walk func(fs []types.Field, depth int) error
	ntz, defaults, generated, identity := false, false, false, false
	var typeOf func(d types.DataType)
	typeOf = func(d types.DataType) {
		switch d.Kind {
		case types.TimestampNTZ:
			ntz = true
		case types.Array:
			typeOf(*d.Elem)
		case types.Map:
			typeOf(*d.Key)
			typeOf(*d.Elem)
		}
	}
	walk = func(fs []types.Field, depth int) error {
		for _, f := range fs {
			typeOf(f.Type)
			_, d := f.Metadata[keyDefault]
			_, g := f.Metadata[keyGeneration]
			_, i := f.Metadata[keyIdentStart]
			defaults, generated, identity = defaults || d, generated || g, identity || i
			if err := eachStruct(f.Type, func(in []types.Field) error { return walk(in, depth+1) }); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(s, 0); err != nil {
		return Protocol{}, err
	}
	if on("delta.enableRowTracking") {
		need("domainMetadata")
	}
	if ntz {
		need("timestampNtz")
	}
	if on("delta.enableRowTracking") {
		need("rowTracking")
		if m.Property("delta.rowTracking.materializedRowIdColumnName") == "" {
			m.set("delta.rowTracking.materializedRowIdColumnName", "_row-id-col-"+uuid.NewString())
			m.set("delta.rowTracking.materializedRowCommitVersionColumnName", "_row-commit-version-col-"+uuid.NewString())
		}
	}
	if on("delta.enableDeletionVectors") {
		need("deletionVectors")
	}
	if mappingMode(m) != MapNone {
		need("columnMapping")
	}
	if on("delta.enableChangeDataFeed") {
		need("changeDataFeed")
	}
	if on("delta.enableTypeWidening") {
		need("typeWidening")
	}
	if on("delta.enableInCommitTimestamps") {
		need("inCommitTimestamp")
	}
	if strings.EqualFold(m.Property("delta.checkpointPolicy"), "v2") {
		need("v2Checkpoint")
	}
	if generated {
		need("generatedColumns")
	}
	if identity {
		need("identityColumns")
	}
	if defaults {
		if !t.Protocol().Supports("allowColumnDefaults") && !contains(want, "allowColumnDefaults") {
			return Protocol{}, errs.New("WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED", "commandType", "CREATE TABLE")
		}
		need("allowColumnDefaults")
	}
	for _, p := range m.Configuration {
		if strings.HasPrefix(strings.ToLower(p.Key), "delta.constraints.") {
			need("checkConstraints")
		}
	}
	return t.Protocol().raised(want, reader, writer), nil
}

// clustering is what CLUSTER BY of this transaction set; see SetClustering.
func (t *Txn) clustering() ([]string, bool) { return t.cluster, len(t.cluster) > 0 }

// raised is a protocol with further features, and at least the given versions.
func (p Protocol) raised(want []string, reader, writer int) Protocol {
	out := p
	if reader > out.MinReader && reader < 3 {
		out.MinReader = reader
	}
	if writer > out.MinWriter && writer < 7 {
		out.MinWriter = writer
	}
	var missing []string
	for _, f := range want {
		if !out.Supports(f) {
			missing = append(missing, f)
		}
	}
	if writer == 7 && out.MinWriter < 7 || reader == 3 && out.MinReader < 3 {
		missing = append(missing, "")
	}
	if len(missing) == 0 {
		return out
	}
	if v, ok := out.legacy(missing); ok {
		out.MinWriter = max(out.MinWriter, v)
		return out
	}
	var list []string
	if out.MinWriter < 7 {
		for _, f := range impliedOrder {
			if out.Supports(f) {
				list = append(list, f)
			}
		}
	} else {
		list = append(list, out.WriterFeatures...)
	}
	var fresh []string
	native := reader == 3
	for _, f := range missing {
		if f == "" {
			continue
		}
		fresh = append(fresh, f)
		if features[f].reader && features[f].legacy[0] == 0 {
			native = true
		}
	}
	if p.MinWriter < 7 {
		// Spark turns the commit times on last.
		var late []string
		if i := slices.Index(fresh, "inCommitTimestamp"); i >= 0 {
			fresh, late = slices.Delete(fresh, i, i+1), []string{"inCommitTimestamp"}
		}
		out.WriterFeatures = append(append(fresh, list...), late...)
	} else {
		out.WriterFeatures = append(list, fresh...)
	}
	out.MinWriter = 7
	if native && out.MinReader < 3 {
		out.MinReader = 3
	}
	if out.MinReader >= 3 {
		out.ReaderFeatures = nil
		for _, f := range out.WriterFeatures {
			if features[f].reader {
				out.ReaderFeatures = append(out.ReaderFeatures, f)
			}
		}
		return out
	}
	for _, f := range out.WriterFeatures {
		if features[f].reader {
			out.MinReader = max(out.MinReader, features[f].legacy[0])
		}
	}
	return out
}

// legacy is the writer version that brings exactly the features of p and the missing ones, if there is one
// that leaves the reader version alone.
func (p Protocol) legacy(missing []string) (int, bool) {
	if p.MinWriter >= 7 || p.MinReader > 1 {
		return 0, false
	}
	for v := p.MinWriter; v < 5; v++ {
		q := Protocol{MinReader: p.MinReader, MinWriter: v}
		same := true
		for _, f := range impliedOrder {
			same = same && q.Supports(f) == (p.Supports(f) || contains(missing, f))
		}
		for _, f := range missing {
			same = same && q.Supports(f)
		}
		if same {
			return v, true
		}
	}
	return 0, false
}

// impliedOrder is the order in which features that old versions imply are listed.
var impliedOrder = []string{"invariants", "appendOnly", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping", "identityColumns"}

// SetClustering makes the table cluster by columns; none switches it off.
func (t *Txn) SetClustering(columns []string) { t.cluster = columns }

// clusterDomain is the action that records the columns a table clusters by.
func (t *Txn) clusterDomain() (Action, error) {
	var cols []string
	for _, c := range t.cluster {
		i := t.Schema().Index(c)
		if i < 0 {
			return Action{}, errs.New("DELTA_COLUMN_NOT_FOUND", "columnName", c, "columnList", strings.Join(t.Schema().Names(), ", "))
		}
		cols = append(cols, "["+string(quoteJSON(physicalName(t.Schema()[i], mappingMode(t.Metadata()))))+"]")
	}
	conf := `{"clusteringColumns":[` + strings.Join(cols, ",") + `],"domainName":"delta.clustering"}`
	return Action{Domain: &Domain{Domain: "delta.clustering", Configuration: conf}}, nil
}
