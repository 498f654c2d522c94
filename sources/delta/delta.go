// Package delta reads Delta tables as streams: first the rows of the table as it is, then what each commit
// adds, or, with readChangeFeed, every change.
//
// An offset names the table, a version and a file of it:
//
//	{"sourceVersion":1,"reservoirId":"…","reservoirVersion":7,"index":-1,"isStartingVersion":false}
//
// Everything up to and including that file is read. Index -1 lies before the first file of the version.
// While isStartingVersion is true the files are those of the whole table at that version, by modification
// time and path; else those that the commit adds, in the order of the log. A version that is read to its end
// is noted as the next version before its first file, so that commits without rows move the offset too.
package delta

import (
	"context"
	"encoding/json"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/codec"
	"streamlab/columnar"
	delta "streamlab/delta"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/types"
)

// base is the index before the first file of a version; offsets show it as -1.
const base = -100

// offset is a position in the table.
type offset struct {
	table    string
	version  int64
	index    int64
	starting bool
}

type offsetJSON struct {
	SourceVersion int64  `json:"sourceVersion"`
	ReservoirID   string `json:"reservoirId"`
	Version       int64  `json:"reservoirVersion"`
	Index         int64  `json:"index"`
	Starting      bool   `json:"isStartingVersion"`
}

func (o offset) text() sources.Offset {
	j := offsetJSON{1, o.table, o.version, o.index, o.starting}
	if o.index == base {
		j.Index = -1
	}
	b, err := json.Marshal(j)
	if err != nil {
		return "" // plain fields cannot fail
	}
	return sources.Offset(b)
}

// parseOffset reads an offset of ours or of Spark. Errors: DELTA_INVALID_SOURCE_OFFSET_FORMAT,
// DELTA_INVALID_SOURCE_VERSION, DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION.
func parseOffset(text sources.Offset) (offset, error) {
	var j struct {
		SourceVersion *int64 `json:"sourceVersion"`
		ReservoirID   string `json:"reservoirId"`
		Version       int64  `json:"reservoirVersion"`
		Index         int64  `json:"index"`
		Starting      bool   `json:"isStartingVersion"`
	}
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return offset{}, errs.Wrap(err, "DELTA_INVALID_SOURCE_OFFSET_FORMAT")
	}
	switch {
	case j.SourceVersion == nil || *j.SourceVersion < 1 || *j.SourceVersion == 2:
		return offset{}, errs.New("DELTA_INVALID_SOURCE_VERSION", "version", string(text))
	case *j.SourceVersion > 3:
		return offset{}, errs.New("DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION", "expectedVersion", 3, "realVersion", *j.SourceVersion)
	}
	o := offset{j.ReservoirID, j.Version, j.Index, j.Starting}
	if o.index == -1 && *j.SourceVersion == 1 {
		o.index = base
	}
	return o, nil
}

// Options documents the options.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "path", Doc: "folder of the table"},
		{Name: "maxFilesPerTrigger", Default: "1000", Doc: "new files of a micro-batch at most"},
		{Name: "maxBytesPerTrigger", Doc: "bytes of new files of a micro-batch at most, 10m; one file is always taken"},
		{Name: "startingVersion", Doc: "begin with the changes of this version, or latest, instead of the table as it is"},
		{Name: "startingTimestamp", Doc: "begin with the first commit at or after this time"},
		{Name: "ignoreDeletes", Default: "false", Doc: "let commits pass that only remove rows"},
		{Name: "ignoreChanges", Default: "false", Doc: "let commits pass that change rows; rewritten files are sent again"},
		{Name: "ignoreFileDeletion", Default: "false", Doc: "an old name of ignoreChanges"},
		{Name: "skipChangeCommits", Default: "false", Doc: "skip commits that remove or change rows as a whole"},
		{Name: "failOnDataLoss", Default: "true", Doc: "end the query if commits that it needs are gone"},
		{Name: "excludeRegex", Doc: "leave out files whose path matches"},
		{Name: "readChangeFeed", Default: "false", Doc: "give every change with _change_type, _commit_version, _commit_timestamp"},
		{Name: "readChangeData", Default: "false", Doc: "an old name of readChangeFeed"},
		{Name: "versionAsOf", Doc: "not for streams"}, {Name: "timestampAsOf", Doc: "not for streams"},
		{Name: "schemaTrackingLocation", Doc: "not supported"}, {Name: "schemaLocation", Doc: "not supported"},
		{Name: "streamingSourceTrackingId", Doc: "not supported"},
		{Name: "endingVersion", Doc: "of batch reads only"}, {Name: "endingTimestamp", Doc: "of batch reads only"},
		{Name: "withEventTimeOrder", Default: "false", Doc: "no effect"},
		{Name: "mergeSchema", Doc: "of writers only"},
		{Name: "allowSourceColumnRename", Doc: "not supported"}, {Name: "allowSourceColumnDrop", Doc: "not supported"},
		{Name: "allowSourceColumnTypeChange", Doc: "not supported"},
	}
}

// Source reads one table.
type Source struct {
	log     *delta.Log
	snap    *delta.Snapshot // of the start: gives schema and columns
	columns types.Schema    // the stream's columns with the log's metadata
	opts    sources.Options
	zone    *time.Location
	bad     error // a bad option; reported when the query reads

	maxFiles, maxBytes            int64
	ignoreDeletes, ignoreChanges  bool
	skipChanges, failOnLoss, feed bool
	exclude                       *regexp.Regexp
	first                         *offset // where a query without a checkpoint begins
	checked                       map[int64]bool
	started                       bool
	frozen                        *offset // the end of an AvailableNow run
	cache                         map[int64]*commit
	snapshotAt                    int64
	snapshotFiles                 []delta.DataFile
	pruned                        types.Schema
	tests                         []columnar.Test // of rows that the query keeps, by position in columns
}

// commit is what a version gives the stream.
type commit struct {
	files []delta.DataFile
	whole bool // taken together or not at all
	cdc   bool // has files of changes: its end is its last file
}

// New opens the table; bad options end the query that reads. Errors: DELTA_SCHEMA_NOT_SET,
// DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS, DELTA_READ_SOURCE_SCHEMA_CONFLICT.
func New(def sources.Def) (sources.Source, error) {
	for _, name := range []string{"versionAsOf", "timestampAsOf"} {
		if _, ok := def.Options.Get(name); ok {
			return nil, errs.New("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS")
		}
	}
	for _, name := range []string{"schemaTrackingLocation", "schemaLocation"} {
		if _, ok := def.Options.Get(name); ok {
			return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The option `"+name+"` of a Delta source")
		}
	}
	s := &Source{log: delta.Open(def.Path), opts: def.Options, zone: def.Zone, cache: map[int64]*commit{}, checked: map[int64]bool{}, snapshotAt: -1,
		maxFiles: -1, maxBytes: -1, failOnLoss: true}
	s.log.Zone = def.Zone
	if def.Now != nil {
		s.log.Now = def.Now
	}
	snap, err := s.log.Snapshot()
	if errs.Has(err, "DELTA_TABLE_NOT_FOUND") || errs.Has(err, "DELTA_PATH_DOES_NOT_EXIST") {
		return nil, errs.New("DELTA_SCHEMA_NOT_SET").WithHint("There is no Delta table at " + def.Path + " yet.")
	}
	if err != nil {
		return nil, err
	}
	if len(snap.Schema) == 0 {
		return nil, errs.New("DELTA_SCHEMA_NOT_SET")
	}
	if def.Schema != nil {
		if !delta.AsNullable(def.Schema).Equal(delta.AsNullable(snap.Schema)) {
			return nil, errs.New("DELTA_READ_SOURCE_SCHEMA_CONFLICT")
		}
		return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", "DeltaDataSource")
	}
	s.snap, s.columns = snap, snap.Schema
	s.bad = s.configure()
	if s.feed {
		s.columns = delta.ChangeSchema(snap.Schema)
	}
	return s, nil
}

func illegal(name, value, explain string) error {
	return errs.New("DELTA_ILLEGAL_OPTION", "name", name, "input", value, "explain", explain)
}

func (s *Source) flag(name string, def bool) (bool, error) {
	v, ok := s.opts.Get(name)
	if !ok {
		return def, nil
	}
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return def, illegal(name, v, "must be 'true' or 'false'")
}

func (s *Source) configure() error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	flag := func(to *bool, names ...string) {
		for _, n := range names {
			v, err := s.flag(n, *to)
			note(err)
			*to = v
		}
	}
	flag(&s.feed, "readChangeFeed", "readChangeData")
	flag(&s.ignoreDeletes, "ignoreDeletes")
	flag(&s.ignoreChanges, "ignoreChanges", "ignoreFileDeletion")
	flag(&s.skipChanges, "skipChangeCommits")
	flag(&s.failOnLoss, "failOnDataLoss")
	if v, ok := s.opts.Get("maxFilesPerTrigger"); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil || n <= 0 {
			note(illegal("maxFilesPerTrigger", v, "must be a positive integer"))
		}
		s.maxFiles = n
	}
	if v, ok := s.opts.Get("maxBytesPerTrigger"); ok {
		n, err := s.opts.Bytes("maxBytesPerTrigger", 0)
		if err != nil {
			note(illegal("maxBytesPerTrigger", v, "must be a size configuration such as '10g'"))
		}
		s.maxBytes = n
	} else if s.maxFiles < 0 {
		s.maxFiles = 1000
	}
	if v, ok := s.opts.Get("excludeRegex"); ok {
		re, err := regexp.Compile(v)
		if err != nil {
			note(errs.New("DELTA_REGEX_OPT_SYNTAX_ERROR", "regExpOption", "excludeRegex"))
		}
		s.exclude = re
	}
	return first
}

// Schema is the table's columns, with those of a change behind them if the feed is read.
func (s *Source) Schema() types.Schema {
	out := make(types.Schema, len(s.columns))
	for i, f := range s.columns {
		out[i] = types.Field{Name: f.Name, Type: f.Type, Nullable: true}
	}
	return out
}

// InitialOffset leaves it to the first LatestOffset where the query begins.
func (s *Source) InitialOffset(context.Context) (sources.Offset, error) { return "", s.bad }

// DefaultReadLimit is what the options say.
func (s *Source) DefaultReadLimit() sources.ReadLimit {
	l := sources.ReadLimit{}
	if s.maxFiles > 0 {
		l.MaxFiles = s.maxFiles
	}
	if s.maxBytes > 0 {
		l.MaxBytes = s.maxBytes
	}
	return l
}

// begin is where a query without a checkpoint begins. Errors: those of the starting options.
func (s *Source) begin() (offset, error) {
	if s.first != nil {
		return *s.first, nil
	}
	id := s.snap.Metadata.ID
	o := offset{table: id, index: base}
	version, byVersion := s.opts.Get("startingVersion")
	stamp, byTime := s.opts.Get("startingTimestamp")
	now, err := s.log.Snapshot()
	if err != nil {
		return o, err
	}
	switch {
	case byVersion && byTime:
		return o, errs.New("DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET", "versionOption", "startingVersion", "timestampOption", "startingTimestamp")
	case byVersion && strings.EqualFold(strings.TrimSpace(version), "latest"):
		o.version = now.Version + 1
	case byVersion:
		n, err := strconv.ParseInt(strings.TrimSpace(version), 10, 64)
		if err != nil || n < 0 {
			return o, illegal("startingVersion", version, "must be greater than or equal to zero")
		}
		first, last, _, err := s.log.Versions()
		if err != nil {
			return o, err
		}
		if n < first || n > last {
			return o, errs.New("DELTA_VERSION_NOT_FOUND", "userVersion", n, "earliest", first, "latest", last)
		}
		o.version = n
	case byTime:
		clock := codec.NewClock(s.zone, s.log.Now)
		at, ok := clock.ParseTimestamp([]byte(stamp))
		if !ok {
			return o, errs.New("DELTA_TIMESTAMP_INVALID", "expr", stamp)
		}
		if o.version, err = s.log.FirstVersionFrom(at); err != nil {
			return o, err
		}
	default:
		o.version, o.starting = now.Version, true
	}
	s.first = &o
	return o, nil
}

// LatestOffset is the end of the next micro-batch after start.
func (s *Source) LatestOffset(ctx context.Context, start sources.Offset, limit sources.ReadLimit) (sources.Offset, error) {
	if s.bad != nil {
		return "", s.bad
	}
	from, err := s.from(start)
	if err != nil {
		return "", err
	}
	to, err := s.advance(ctx, from, limit, s.frozen)
	if err != nil {
		return "", err
	}
	if to == from {
		return start, nil
	}
	return to.text(), nil
}

// from is where a batch after start begins; a start of another table is an error.
func (s *Source) from(start sources.Offset) (offset, error) {
	if start == "" {
		return s.begin()
	}
	o, err := parseOffset(start)
	if err != nil {
		return o, err
	}
	if o.table != s.snap.Metadata.ID {
		return o, errs.New("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "newTableId", s.snap.Metadata.ID, "oldTableId", o.table)
	}
	if !s.started {
		s.started = true
		return o, s.checkStart(o)
	}
	return o, nil
}

// budget is what a batch may still take.
type budget struct{ files, bytes int64 }

func (b *budget) take(size int64) bool {
	if b.files <= 0 || b.bytes <= 0 {
		return false
	}
	b.files--
	b.bytes -= size
	return true
}

const unlimited = 1 << 62

// advance walks from an offset as far as the limit allows, and not beyond end.
func (s *Source) advance(ctx context.Context, cur offset, limit sources.ReadLimit, end *offset) (offset, error) {
	b := &budget{unlimited, unlimited}
	if limit.MaxFiles > 0 {
		b.files = limit.MaxFiles
	}
	if limit.MaxBytes > 0 {
		b.bytes = limit.MaxBytes
	}
	beyond := func(o offset) bool { return end != nil && less(*end, o) }
	if cur.starting {
		files, err := s.snapshot(cur.version)
		if err != nil {
			return cur, err
		}
		for i := max(cur.index+1, 0); i < int64(len(files)); i++ {
			next := offset{cur.table, cur.version, i, true}
			if beyond(next) || !b.take(files[i].Size) {
				return cur, nil
			}
			cur = next
		}
		cur = offset{cur.table, cur.version + 1, base, false}
	}
	anything := false
	reached := cur // stays on the last file of a commit with change files until something behind it is taken
	for {
		if err := ctx.Err(); err != nil {
			return reached, err
		}
		c, version, err := s.commit(cur.version)
		if err != nil || c == nil {
			return reached, err
		}
		if version != cur.version {
			cur.version, cur.index = version, base
		}
		if c.whole && cur.index == base {
			var size int64
			for _, f := range c.files {
				size += f.Size
			}
			last := offset{cur.table, version, int64(len(c.files)) - 1, false}
			if beyond(last) || (anything || b.files <= 0 || b.bytes <= 0) && (b.files < int64(len(c.files)) || b.bytes < size) {
				return reached, nil
			}
			b.files -= int64(len(c.files))
			b.bytes -= size
			anything = true
			cur, reached = last, last
		}
		for i := max(cur.index+1, 0); i < int64(len(c.files)); i++ {
			next := offset{cur.table, version, i, false}
			if beyond(next) || !b.take(c.files[i].Size) {
				return reached, nil
			}
			anything = true
			cur, reached = next, next
		}
		after := offset{cur.table, version + 1, base, false}
		if beyond(after) {
			return reached, nil
		}
		cur = after
		if !c.cdc {
			reached = after
		}
	}
}

func less(a, b offset) bool {
	if a.version != b.version {
		return a.version < b.version
	}
	return a.index < b.index
}

// PrepareAvailableNow fixes the end of the run.
func (s *Source) PrepareAvailableNow(ctx context.Context) error {
	s.frozen = nil
	if s.bad != nil {
		return s.bad
	}
	now, err := s.log.Snapshot()
	if err != nil {
		return err
	}
	s.frozen = &offset{version: now.Version + 1, index: base}
	return nil
}

// snapshot lists the files of the table at the version where the stream began.
func (s *Source) snapshot(v int64) ([]delta.DataFile, error) {
	if s.snapshotAt == v {
		return s.snapshotFiles, nil
	}
	snap, err := s.log.At(v)
	if err != nil {
		return nil, errs.Wrap(err, "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE", "version", v)
	}
	adds := snap.Files()
	sort.SliceStable(adds, func(i, j int) bool {
		if adds[i].ModificationTime != adds[j].ModificationTime {
			return adds[i].ModificationTime < adds[j].ModificationTime
		}
		return adds[i].Path < adds[j].Path
	})
	var ms int64
	if s.feed {
		if !snap.On("delta.enableChangeDataFeed") {
			return nil, missingFeed(v, v)
		}
		if ms, err = s.log.Timestamp(v); err != nil {
			return nil, err
		}
	}
	s.snapshotFiles = make([]delta.DataFile, len(adds))
	for i, a := range adds {
		f := snap.DataFileOf(a)
		f.Version = v
		if s.feed {
			f = delta.AsInsert(f, v, ms)
		}
		s.snapshotFiles[i] = f
	}
	s.snapshotAt = v
	return s.snapshotFiles, nil
}

func missingFeed(from, v int64) error {
	return errs.New("DELTA_MISSING_CHANGE_DATA", "startVersion", from, "endVersion", v, "version", v, "key", "delta.enableChangeDataFeed")
}

// PlanPartitions are the files after start up to end.
func (s *Source) PlanPartitions(ctx context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	to, err := parseOffset(end)
	if err != nil {
		return nil, err
	}
	if to.table != s.snap.Metadata.ID {
		return nil, errs.New("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "newTableId", s.snap.Metadata.ID, "oldTableId", to.table)
	}
	from, err := s.replayFrom(start, to)
	if err != nil {
		return nil, err
	}
	var files []delta.DataFile
	take := func(f delta.DataFile) {
		if s.exclude == nil || !s.exclude.MatchString(f.Path) {
			files = append(files, f)
		}
	}
	if from.starting {
		all, err := s.snapshot(from.version)
		if err != nil {
			return nil, err
		}
		for i := max(from.index+1, 0); i < int64(len(all)); i++ {
			if to.starting && i > to.index {
				break
			}
			take(all[i])
		}
		from = offset{from.table, from.version + 1, base, false}
	}
	for !to.starting && less(from, to) {
		if to.index == base && from.version >= to.version {
			break
		}
		c, version, err := s.commit(from.version)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, errs.New("DELTA_STREAMING_TRAILING_COMMIT_MISSING", "version", from.version)
		}
		if version != from.version {
			from = offset{from.table, version, base, false}
			continue
		}
		for i := max(from.index+1, 0); i < int64(len(c.files)); i++ {
			if version == to.version && i > to.index {
				break
			}
			take(c.files[i])
		}
		from = offset{from.table, version + 1, base, false}
	}
	for v := range s.cache {
		if v < to.version-1 {
			delete(s.cache, v)
		}
	}
	columns := s.columns
	if s.pruned != nil {
		columns = s.pruned
	}
	rd := s.snap.NewReader(columns)
	if len(s.tests) > 0 {
		rd.Skip(s.moved(columns))
		kept := files[:0]
		for _, f := range files {
			if s.snap.MayPass(f, s.columns, s.tests) {
				kept = append(kept, f)
			}
		}
		files = kept
	}
	return rd.Partitions(files), nil
}

// moved are the tests by position in columns.
func (s *Source) moved(columns types.Schema) []columnar.Test {
	var out []columnar.Test
	for _, t := range s.tests {
		if i := columns.Index(s.columns[t.Column].Name); i >= 0 {
			t.Column = i
			out = append(out, t)
		}
	}
	return out
}

// Skip leaves out files by their partition values, and row groups, in which no row passes tests: after files
// got their numbers, so that offsets do not depend on the query. Changes are all read.
func (s *Source) Skip(tests []columnar.Test) {
	if s.feed {
		return
	}
	for _, t := range tests {
		if t.Column >= 0 && t.Column < len(s.columns) {
			s.tests = append(s.tests, t)
		}
	}
}

// replayFrom is where a planned batch began; without a start it follows from the end.
func (s *Source) replayFrom(start sources.Offset, end offset) (offset, error) {
	if start != "" {
		return s.from(start)
	}
	if s.first != nil {
		return *s.first, nil
	}
	_, byVersion := s.opts.Get("startingVersion")
	_, byTime := s.opts.Get("startingTimestamp")
	if byVersion || byTime {
		return s.begin()
	}
	o := offset{table: end.table, version: end.version, index: base, starting: true}
	if !end.starting {
		o.version--
	}
	return o, nil
}

// Prune leaves columns out.
func (s *Source) Prune(columns []int) bool {
	s.pruned = types.Schema{}
	for _, c := range columns {
		s.pruned = append(s.pruned, s.columns[c])
	}
	return true
}

// Commit has nothing to do: the table keeps its files.
func (s *Source) Commit(context.Context, sources.Offset) error { return nil }

// Close has nothing to do.
func (s *Source) Close() error { return nil }

// String names the source in progress as Spark does.
func (s *Source) String() string { return "DeltaSource[file:" + s.log.Root + "]" }
