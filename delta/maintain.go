package delta

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// Maintain carries out OPTIMIZE, VACUUM, RESTORE, DESCRIBE HISTORY and DESCRIBE DETAIL.
func (t *Table) Maintain(ctx context.Context, m catalog.Maintenance) (types.Schema, [][]any, error) {
	switch m.Operation {
	case "HISTORY":
		return t.history()
	case "DETAIL":
		return t.detail()
	case "VACUUM":
		return t.vacuum(m)
	case "RESTORE":
		return t.restore(m)
	case "OPTIMIZE":
		return t.optimize(ctx, m)
	}
	return nil, nil, errs.New("UNSUPPORTED_FEATURE.TABLE_OPERATION", "tableName", t.def.Name, "operation", m.Operation)
}

func col(name string, k types.Kind) types.Field {
	return types.Field{Name: name, Type: types.Of(k), Nullable: true}
}

func mapCol(name string) types.Field {
	return types.Field{Name: name, Type: types.MapOf(types.Of(types.String), types.Of(types.String), true), Nullable: true}
}

func listCol(name string) types.Field {
	return types.Field{Name: name, Type: types.ArrayOf(types.Of(types.String), true), Nullable: true}
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func pairsCell(p Pairs) any {
	if p == nil {
		return nil
	}
	m := map[string]any{}
	for _, x := range p {
		m[x.Key] = rawText(x.Value)
	}
	return m
}

func (t *Table) history() (types.Schema, [][]any, error) {
	str := func(names ...string) (fs []types.Field) {
		for _, n := range names {
			fs = append(fs, col(n, types.String))
		}
		return fs
	}
	schema := types.Schema{col("version", types.BigInt), col("timestamp", types.Timestamp), col("userId", types.String), col("userName", types.String),
		col("operation", types.String), mapCol("operationParameters"),
		{Name: "job", Type: types.StructOf(str("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")...), Nullable: true},
		{Name: "notebook", Type: types.StructOf(str("notebookId")...), Nullable: true}, col("clusterId", types.String),
		col("readVersion", types.BigInt), col("isolationLevel", types.String), col("isBlindAppend", types.Boolean), mapCol("operationMetrics"),
		col("userMetadata", types.String), col("engineInfo", types.String)}
	list, err := t.log.History()
	if err != nil {
		return nil, nil, err
	}
	var rows [][]any
	for _, e := range list {
		r := make([]any, len(schema))
		r[0], r[1] = e.Version, instant(e.Timestamp)
		if c := e.Info; c != nil {
			r[4], r[5] = orNull(c.Operation), pairsCell(c.OperationParameters)
			if c.ReadVersion != nil {
				r[9] = *c.ReadVersion
			}
			r[10] = orNull(c.IsolationLevel)
			if c.IsBlindAppend != nil {
				r[11] = *c.IsBlindAppend
			}
			r[12], r[13], r[14] = pairsCell(c.OperationMetrics), orNull(c.UserMetadata), orNull(c.EngineInfo)
		}
		rows = append(rows, r)
	}
	return schema, rows, nil
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// Features lists the features of a protocol, listed or implied, sorted.
func (p Protocol) Features() []string {
	var out []string
	if p.MinWriter >= 7 {
		out = append(append(out, p.WriterFeatures...), p.ReaderFeatures...)
	} else {
		for _, f := range impliedOrder {
			if p.Supports(f) {
				out = append(out, f)
			}
		}
	}
	sort.Strings(out)
	return dedupe(out)
}

func (t *Table) detail() (types.Schema, [][]any, error) {
	s, err := t.log.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	schema := types.Schema{col("format", types.String), col("id", types.String), col("name", types.String), col("description", types.String),
		col("location", types.String), col("createdAt", types.Timestamp), col("lastModified", types.Timestamp), listCol("partitionColumns"),
		listCol("clusteringColumns"), col("numFiles", types.BigInt), col("sizeInBytes", types.BigInt), mapCol("properties"),
		col("minReaderVersion", types.Int), col("minWriterVersion", types.Int), listCol("tableFeatures")}
	m := s.Metadata
	at, err := t.log.Timestamp(s.Version)
	if err != nil {
		return nil, nil, err
	}
	var name, about, created any
	if t.def.Name != "" {
		db := t.def.Database
		if db == "" {
			db = "default"
		}
		name = "spark_catalog." + db + "." + t.def.Name
	}
	if m.Description != nil {
		about = *m.Description
	}
	if m.CreatedTime != nil {
		created = instant(*m.CreatedTime)
	}
	props := map[string]any{}
	for _, p := range m.Configuration {
		props[p.Key] = rawText(p.Value)
	}
	return schema, [][]any{{"delta", m.ID, name, about, "file:" + t.log.Root, created, instant(at), anyList(m.PartitionColumns), anyList(s.ClusterBy()),
		int64(s.NumFiles()), s.SizeInBytes(), props, int64(s.Protocol.MinReader), int64(s.Protocol.MinWriter), anyList(s.Protocol.Features())}}, nil
}

// vacuum deletes files that neither the newest version nor a tombstone within the retention names.
func (t *Table) vacuum(m catalog.Maintenance) (types.Schema, [][]any, error) {
	s, err := t.log.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	if err := checkWritable(t.log.Root, s.Protocol); err != nil {
		return nil, nil, err
	}
	schema := types.Schema{col("path", types.String)}
	own := s.tombstoneRetention()
	retain := own
	safe := !strings.EqualFold(m.Setting("spark.databricks.delta.retentionDurationCheck.enabled"), "false")
	if m.RetainHours >= 0 {
		retain = time.Duration(m.RetainHours * float64(time.Hour))
		if safe && retain < own {
			return nil, nil, errs.New("DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", "configuredRetentionHours", int64(own/time.Hour))
		}
	}
	cutoff := t.log.Now().Add(-retain).UnixMilli()
	files, dirs, sizes, err := t.garbage(s, cutoff)
	if err != nil {
		return nil, nil, err
	}
	if m.DryRun {
		var rows [][]any
		for _, f := range files {
			rows = append(rows, []any{"file:" + filepath.Join(t.log.Root, f)})
		}
		return schema, rows, nil
	}
	start := Pairs{}
	start.SetRaw("retentionCheckEnabled", strconv.FormatBool(safe))
	start.SetRaw("defaultRetentionMillis", strconv.FormatInt(own.Milliseconds(), 10))
	if m.RetainHours == 0 {
		start.SetRaw("specifiedRetentionMillis", "0")
	}
	metrics := Pairs{}
	metrics.count("numFilesToDelete", int64(len(files)))
	metrics.count("sizeOfDataToDelete", sizes)
	if err := t.note("VACUUM START", start, metrics); err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		p := filepath.Join(t.log.Root, f)
		if err := errors.Join(t.log.removeFile(p), t.log.removeFile(filepath.Join(filepath.Dir(p), "."+filepath.Base(p)+".crc"))); err != nil {
			return nil, nil, err
		}
	}
	for i := len(dirs) - 1; i > 0; i-- {
		d := filepath.Join(t.log.Root, dirs[i])
		if left, err := t.log.FS.ReadDir(d); err == nil && len(left) == 0 {
			if err := t.log.removeFile(d); err != nil {
				return nil, nil, err
			}
		}
	}
	end, metrics := Pairs{}, Pairs{}
	end.Set("status", "COMPLETED")
	metrics.count("numDeletedFiles", int64(len(files)))
	metrics.count("numVacuumedDirectories", int64(len(dirs)))
	if err := t.note("VACUUM END", end, metrics); err != nil {
		return nil, nil, err
	}
	return schema, [][]any{{"file:" + t.log.Root}}, nil
}

// note commits an entry of the history that changes nothing.
func (t *Table) note(name string, params, metrics Pairs) error {
	txn, err := t.log.Begin()
	if err != nil {
		return err
	}
	_, err = txn.Commit(Operation{Name: name, Params: params, Metrics: metrics, Isolation: "SnapshotIsolation"}, nil)
	return err
}

// garbage lists the files below the table that nothing needs and that are not younger than cutoff, and the
// folders looked at, the table's own first.
func (t *Table) garbage(s *Snapshot, cutoff int64) (files, dirs []string, size int64, err error) {
	needed := map[string]bool{}
	need := func(p string, dv *DeletionVector) {
		if full, err := t.log.resolve(p); err == nil {
			if rel, err := filepath.Rel(t.log.Root, full); err == nil {
				needed[filepath.ToSlash(rel)] = true
			}
		}
		if dv != nil && dv.StorageType != "i" {
			if rel, ok := dvPath(dv); ok {
				needed[rel] = true
			}
		}
	}
	for _, a := range s.files {
		need(a.Path, a.DV)
	}
	for _, r := range s.removes {
		if r.DeletionTimestamp > cutoff {
			need(r.Path, r.DV)
		}
	}
	parts := map[string]bool{}
	for _, c := range s.PartitionColumns() {
		parts[hiveEscape(s.PhysicalName(c))] = true
	}
	var walk func(dir string) error
	walk = func(dir string) error {
		dirs = append(dirs, dir)
		entries, err := t.log.FS.ReadDir(filepath.Join(t.log.Root, dir))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := e.Name()
			rel := path.Join(dir, name)
			if isHidden(name) && name != "_change_data" {
				if k, _, ok := strings.Cut(name, "="); !ok || !parts[k] {
					continue
				}
			}
			if e.IsDir() {
				if err := walk(rel); err != nil {
					return err
				}
				continue
			}
			if needed[rel] || !e.Type().IsRegular() {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if info.ModTime().UnixMilli() > cutoff {
				continue
			}
			files = append(files, rel)
			size += info.Size()
		}
		return nil
	}
	err = walk("")
	sort.Strings(files)
	return files, dirs, size, err
}

// restore brings the rows and the metadata of an earlier version back as a new version.
func (t *Table) restore(m catalog.Maintenance) (types.Schema, [][]any, error) {
	txn, err := t.log.Begin()
	if err != nil {
		return nil, nil, err
	}
	if txn.snap == nil {
		return nil, nil, t.log.NoTable()
	}
	now := txn.snap
	v := m.Version
	first, last, _, err := t.log.Versions()
	if err != nil {
		return nil, nil, err
	}
	params := Pairs{}
	if v >= 0 {
		if v < first || v > last {
			return nil, nil, errs.New("DELTA_CANNOT_RESTORE_TABLE_VERSION", "version", v, "startVersion", first, "endVersion", last)
		}
		params.SetRaw("version", strconv.FormatInt(v, 10))
		params.SetRaw("timestamp", "null")
	} else {
		if v, err = t.log.VersionAt(m.AtMicros); err != nil {
			return nil, nil, t.restoreTime(err, m.AtMicros)
		}
		params.SetRaw("version", "null")
		params.Set("timestamp", javaStamp(floorDiv(m.AtMicros, 1000), t.log.Zone))
	}
	if v == now.Version {
		return nil, nil, nil
	}
	old, err := t.log.At(v)
	if err != nil {
		return nil, nil, err
	}
	schema := types.Schema{col("table_size_after_restore", types.BigInt), col("num_of_files_after_restore", types.BigInt),
		col("num_removed_files", types.BigInt), col("num_restored_files", types.BigInt), col("removed_files_size", types.BigInt),
		col("restored_files_size", types.BigInt)}
	var adds, removes []Action
	var addBytes, removeBytes int64
	at := t.log.Now().UnixMilli()
	for _, a := range old.Files() {
		if now.files[fileKey{canonicalPath(a.Path), a.DV.id()}] != nil {
			continue
		}
		full, err := t.log.reading(a.Path)
		if err != nil {
			return nil, nil, err
		}
		if _, err := t.log.FS.Stat(full); err != nil {
			return nil, nil, errs.New("DELTA_FILE_NOT_FOUND", "path", a.Path, "table", t.log.Root, "version", v)
		}
		b := *a
		b.DataChange = true
		adds = append(adds, Action{Add: &b})
		addBytes += a.Size
	}
	for _, a := range now.Files() {
		if old.files[fileKey{canonicalPath(a.Path), a.DV.id()}] == nil {
			removes = append(removes, Action{Remove: removal(a, at, true, statsAll)})
			removeBytes += a.Size
		}
	}
	txn.ReadWholeTable()
	txn.noRetry = true
	if old.Metadata.SchemaString != now.Metadata.SchemaString || string(marshal(old.Metadata.Configuration)) != string(marshal(now.Metadata.Configuration)) ||
		strings.Join(old.PartitionColumns(), "\x00") != strings.Join(now.PartitionColumns(), "\x00") {
		c := old.Metadata.clone()
		schema := keepMarks(old.Schema, now.Schema)
		if c.SchemaString, err = SchemaString(schema); err != nil {
			return nil, nil, err
		}
		txn.metadata, txn.schema = c, schema
	}
	metrics := Pairs{}
	metrics.count("numRestoredFiles", int64(len(adds)))
	metrics.count("removedFilesSize", removeBytes)
	metrics.count("numRemovedFiles", int64(len(removes)))
	metrics.count("restoredFilesSize", addBytes)
	metrics.count("numOfFilesAfterRestore", int64(old.NumFiles()))
	metrics.count("tableSizeAfterRestore", old.SizeInBytes())
	if _, err := txn.Commit(Operation{Name: "RESTORE", Params: params, Metrics: metrics}, append(adds, removes...)); err != nil {
		return nil, nil, err
	}
	return schema, [][]any{{old.SizeInBytes(), int64(old.NumFiles()), int64(len(removes)), int64(len(adds)), removeBytes, addBytes}}, nil
}

func (t *Table) restoreTime(err error, micros int64) error {
	e := errs.As(err)
	if e == nil {
		return err
	}
	at := javaStamp(floorDiv(micros, 1000), t.log.Zone)
	switch e.Condition {
	case "DELTA_TIMESTAMP_GREATER_THAN_COMMIT":
		return errs.New("DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER", "requestedTimestamp", at, "latestTimestamp", e.Params["lastCommitTimestamp"])
	case "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION":
		return errs.New("DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER", "requestedTimestamp", at, "earliestTimestamp", e.Params["commitTs"])
	}
	return err
}

// keepMarks is an earlier schema whose identity columns go on where they are now.
func keepMarks(old, now types.Schema) types.Schema {
	out := append(types.Schema{}, old...)
	for i, f := range out {
		k := now.Index(f.Name)
		if k < 0 {
			continue
		}
		if mark, ok := now[k].Metadata[keyIdentMark]; ok {
			if _, ok := f.Metadata[keyIdentStart]; ok {
				out[i] = with(f, keyIdentMark, mark)
			}
		}
	}
	return out
}
