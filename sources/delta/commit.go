package delta

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	delta "streamlab/delta"
	"streamlab/errs"
	"streamlab/sql/types"
)

// commit gives what a version adds to the stream; nil if there is no such version yet. If the version is
// gone and the stream may go on, it gives the next one that is there.
func (s *Source) commit(v int64) (*commit, int64, error) {
	if c := s.cache[v]; c != nil {
		return c, v, nil
	}
	acts, err := s.log.ReadCommit(v)
	if errors.Is(err, fs.ErrNotExist) {
		next, err := s.afterHole(v)
		if err != nil || next < 0 {
			return nil, v, err
		}
		if next == v { // a writer put it there between the two looks
			return s.commit(v)
		}
		if s.failOnLoss {
			if _, err := s.log.At(v); err != nil {
				return nil, v, errs.Wrap(err, "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE")
			}
			return nil, v, errs.New("DELTA_MISSING_FILES_UNEXPECTED_VERSION", "startVersion", v, "earliestVersion", next, "option", "failOnDataLoss")
		}
		return s.commit(next)
	}
	if err != nil {
		return nil, v, err
	}
	c, err := s.look(v, acts)
	if err != nil {
		return nil, v, err
	}
	s.cache[v] = c
	return c, v, nil
}

// afterHole is the first version behind v that is there, -1 for none.
func (s *Source) afterHole(v int64) (int64, error) {
	versions, err := s.log.CommitsFrom(v)
	if err != nil || len(versions) == 0 {
		if ok, err2 := s.log.Exists(); err == nil && err2 == nil && !ok {
			return -1, s.log.NoTable()
		}
		return -1, err
	}
	return versions[0], nil
}

// look holds a commit against the stream's options and schema and lists its files.
func (s *Source) look(v int64, acts []delta.Action) (*commit, error) {
	var added, removed int
	var example string
	var info *delta.CommitInfo
	for _, a := range acts {
		switch {
		case a.CommitInfo != nil && info == nil:
			info = a.CommitInfo
		case a.Protocol != nil:
			if err := a.Protocol.CheckReadable(s.log.Root); err != nil {
				return nil, err
			}
		case a.Metadata != nil:
			if err := s.checkMetadata(v, a.Metadata); err != nil {
				return nil, err
			}
		case a.Add != nil && a.Add.DataChange:
			added++
		case a.Remove != nil && a.Remove.DataChange:
			removed++
			if example == "" {
				example = a.Remove.Path
			}
		}
	}
	if s.feed {
		ms, err := s.log.Timestamp(v)
		if err != nil {
			return nil, err
		}
		files, whole, err := s.log.CommitChanges(v, ms, acts)
		if err != nil {
			return nil, err
		}
		c := &commit{files: files, whole: whole}
		for _, a := range acts {
			c.cdc = c.cdc || a.CDC != nil
		}
		return c, nil
	}
	if removed > 0 {
		switch {
		case s.skipChanges:
			return &commit{}, nil
		case s.ignoreChanges:
		case added > 0:
			return nil, s.changed(v, info, added, removed)
		case s.ignoreDeletes:
			return &commit{}, nil
		default:
			return nil, errs.New("DELTA_SOURCE_IGNORE_DELETE", "removedFile", example, "version", v, "dataPath", "file:"+s.log.Root).
				WithHint("Set ignoreDeletes to let such commits pass, skipChangeCommits to skip all that change rows, or readChangeFeed to read deletes as rows.")
		}
	}
	c := &commit{}
	for _, a := range acts {
		if a.Add != nil && a.Add.DataChange {
			f := s.snap.DataFileOf(a.Add)
			f.Version = v
			c.files = append(c.files, f)
		}
	}
	return c, nil
}

func (s *Source) changed(v int64, info *delta.CommitInfo, added, removed int) error {
	what := "unknown"
	if info != nil {
		var ps []string
		for _, p := range info.OperationParameters {
			text, _ := info.OperationParameters.Get(p.Key)
			ps = append(ps, p.Key+" -> "+text)
		}
		what = info.Operation + " (Map(" + strings.Join(ps, ", ") + "))"
	}
	return errs.New("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "file", what, "version", v, "dataPath", "file:"+s.log.Root).
		WithHint(fmt.Sprintf("The commit adds %d files and removes %d. Set skipChangeCommits to skip it, ignoreChanges to read the rewritten files again, or readChangeFeed to read changes as rows.", added, removed))
}

// checkStart looks at the columns that the table had where the stream goes on: with column mapping a change
// in between that is more than a new column stops it.
func (s *Source) checkStart(o offset) error {
	v := o.version
	if !o.starting && o.index == base && v > 0 {
		v--
	}
	snap, err := s.log.At(v)
	if err != nil {
		return nil // what is missing is reported where it is read
	}
	if snap.MappingMode() == delta.MapNone && s.snap.MappingMode() == delta.MapNone {
		return nil
	}
	return s.checkMapped(snap.Schema)
}

func (s *Source) checkMetadata(v int64, m *delta.Metadata) error {
	schema, err := delta.ParseSchema(m.SchemaString)
	if err != nil {
		return err
	}
	mapped := s.snap.MappingMode() != delta.MapNone || !strings.EqualFold(m.Property("delta.columnMapping.mode"), "") && !strings.EqualFold(m.Property("delta.columnMapping.mode"), "none")
	if mapped {
		if err := s.checkMapped(schema); err != nil {
			return err
		}
	}
	if s.feed && !strings.EqualFold(m.Property("delta.enableChangeDataFeed"), "true") {
		return missingFeed(v, v)
	}
	table := s.snap.Schema
	ok := strings.EqualFold(strings.Join(m.PartitionColumns, "\x00"), strings.Join(s.snap.PartitionColumns(), "\x00"))
	if ok {
		ok = readable(table, schema)
	}
	if ok {
		return nil
	}
	if o, has := s.opts.Get("startingVersion"); has {
		return errs.New("DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS", "version", v, "readSchema", tree(table), "dataSchema", tree(schema),
			"startingVersion", o)
	}
	return errs.New("DELTA_SCHEMA_CHANGED_WITH_VERSION", "version", v, "readSchema", tree(table), "dataSchema", tree(schema))
}

// readable says whether rows of a table of columns data can be read under columns read: none is new, none
// has another type, none may be null where null is not expected.
func readable(read, data []types.Field) bool {
	for _, d := range data {
		i := types.Schema(read).Index(d.Name)
		if i < 0 {
			return false
		}
		if d.Nullable && !read[i].Nullable {
			return false
		}
		a, b := read[i].Type, d.Type
		if a.Kind == types.Struct && b.Kind == types.Struct {
			if !readable(a.Fields, b.Fields) {
				return false
			}
			continue
		}
		if !a.Equal(b) {
			return false
		}
	}
	return true
}

// checkMapped compares the columns of a table that maps them with those of the stream: by physical name.
func (s *Source) checkMapped(schema types.Schema) error {
	physical := func(f types.Field) string {
		if p, ok := f.Metadata["delta.columnMapping.physicalName"]; ok {
			return p
		}
		return f.Name
	}
	have := map[string]types.Field{}
	for _, f := range s.snap.Schema {
		have[physical(f)] = f
	}
	bad := false
	seen := map[string]bool{}
	for _, f := range schema {
		seen[physical(f)] = true
		now, ok := have[physical(f)]
		if ok && (now.Name != f.Name || !now.Type.Equal(f.Type)) {
			bad = true
		}
		if !ok && s.snap.Schema.Index(f.Name) >= 0 {
			bad = true // dropped and made anew
		}
	}
	dropped := 0
	for p := range have {
		if !seen[p] {
			dropped++
		}
	}
	extra := 0
	for _, f := range schema {
		if _, ok := have[physical(f)]; !ok {
			extra++
		}
	}
	if bad || dropped > 0 && extra > 0 {
		read, _ := delta.SchemaString(s.snap.Schema)
		data, _ := delta.SchemaString(schema)
		return errs.New("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG", "docLink", "", "readSchema", read, "incompatibleSchema", data)
	}
	return nil
}

// tree prints a schema as printSchema does.
func tree(s types.Schema) string {
	var b strings.Builder
	b.WriteString("root\n")
	for _, f := range s {
		fmt.Fprintf(&b, " |-- %s: %s (nullable = %v)\n", f.Name, f.Type.Simple(), f.Nullable)
	}
	return b.String()
}
