package delta

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/vfs"
	"streamlab/sql/types"
)

// Operation says what a commit does: what DESCRIBE HISTORY shows.
type Operation struct {
	Name         string
	Params       Pairs
	Metrics      Pairs
	UserMetadata string
	Tags         Pairs
	Isolation    string // default Serializable
}

// maxRetries bounds how often a commit that others overtake is tried again.
const maxRetries = 1000

// A Txn is a transaction: it begins at a snapshot and ends with Commit, which publishes all its actions at
// once or none. Used by one goroutine.
type Txn struct {
	log   *Log
	snap  *Snapshot // nil: there is no table yet
	start time.Time

	metadata *Metadata // new ones; nil: unchanged
	protocol *Protocol
	schema   types.Schema // of metadata

	readAll   bool
	readFiles map[fileKey]bool
	readWhere []func(map[string]*string) bool // files read: those whose partition values satisfy one of these
	readApps  map[string]bool
	// NotBlind is set if the commit depends on the table although it read no file.
	NotBlind bool
	cluster  []string // of CLUSTER BY in this transaction
	// noRetry makes a lost race an error.
	noRetry bool
	txnID   string
}

// Begin starts a transaction at the newest version, or on a table that is not there yet.
func (l *Log) Begin() (*Txn, error) {
	s, err := l.Snapshot()
	if err != nil {
		if !errs.Has(err, "DELTA_TABLE_NOT_FOUND") && !errs.Has(err, "DELTA_PATH_DOES_NOT_EXIST") {
			return nil, err
		}
		s = nil
	}
	return l.beginAt(s), nil
}

func (l *Log) beginAt(s *Snapshot) *Txn {
	return &Txn{log: l, snap: s, start: l.Now(), readFiles: map[fileKey]bool{}, readApps: map[string]bool{}, txnID: uuid.NewString()}
}

// Snapshot is the version the transaction reads; nil if there is no table yet.
func (t *Txn) Snapshot() *Snapshot { return t.snap }

// Metadata is the table's metadata as the transaction will leave it; nil if there is none yet.
func (t *Txn) Metadata() *Metadata {
	if t.metadata != nil {
		return t.metadata
	}
	if t.snap != nil {
		return t.snap.Metadata
	}
	return nil
}

// Schema is the table's schema as the transaction will leave it.
func (t *Txn) Schema() types.Schema {
	if t.metadata != nil {
		return t.schema
	}
	if t.snap != nil {
		return t.snap.Schema
	}
	return nil
}

// Protocol is the protocol as the transaction will leave it.
func (t *Txn) Protocol() Protocol {
	if t.protocol != nil {
		return *t.protocol
	}
	if t.snap != nil {
		return t.snap.Protocol
	}
	return Protocol{MinReader: 1, MinWriter: 2}
}

// ReadWholeTable records that the commit depends on every row.
func (t *Txn) ReadWholeTable() { t.readAll = true }

// ReadWhere records that the commit depends on all files whose partition values satisfy f, now and later.
func (t *Txn) ReadWhere(f func(map[string]*string) bool) { t.readWhere = append(t.readWhere, f) }

// ReadFile records that the commit depends on a live file.
func (t *Txn) ReadFile(a *Add) { t.readFiles[fileKey{canonicalPath(a.Path), a.DV.id()}] = true }

// LastVersion is the last version an application has written to the table; reading it makes two writers of
// one application a conflict.
func (t *Txn) LastVersion(app string) (int64, bool) {
	t.readApps[app] = true
	if t.snap == nil {
		return 0, false
	}
	return t.snap.Txn(app)
}

func (t *Txn) dependsOnData() bool {
	return t.readAll || len(t.readFiles) > 0 || len(t.readWhere) > 0 || t.NotBlind
}

// Commit publishes actions behind new metadata and protocol and gives the version. Errors: the conflicts of
// the protocol, DELTA_CANNOT_MODIFY_APPEND_ONLY, DELTA_METADATA_ABSENT, DELTA_DUPLICATE_ACTIONS_FOUND,
// DELTA_MAX_COMMIT_RETRIES_EXCEEDED.
func (t *Txn) Commit(op Operation, actions []Action) (int64, error) {
	if t.Metadata() == nil {
		return 0, errs.New("DELTA_METADATA_ABSENT")
	}
	p := t.Protocol()
	if err := checkWritable(t.log.Root, p); err != nil {
		return 0, err
	}
	if t.snap != nil {
		if err := checkWritable(t.log.Root, t.snap.Protocol); err != nil {
			return 0, err
		}
	}
	if err := t.checkActions(actions); err != nil {
		return 0, err
	}
	if err := t.checkRowIDs(op, actions); err != nil {
		return 0, err
	}
	if err := vfs.MkdirAll(t.log.FS, t.log.dir(), 0o755); err != nil {
		return 0, err
	}
	next := int64(0)
	if t.snap != nil {
		next = t.snap.Version + 1
	}
	base := t.snap
	if err := fault.Point("sink.commit.before"); err != nil {
		return 0, err
	}
	for try := 0; try < maxRetries; try++ {
		all, err := t.lines(op, actions, next, base)
		if err != nil {
			return 0, err
		}
		created, err := t.log.publish(next, all)
		if err != nil {
			return 0, err
		}
		if created {
			if err := fault.Point("sink.commit.after"); err != nil {
				return next, err
			}
			t.log.noteFiles(actions)
			t.log.afterCommit(next, t.txnID)
			return next, nil
		}
		if t.noRetry {
			return 0, errs.New("DELTA_CONCURRENT_WRITE", "version", next)
		}
		winner, err := t.log.readCommit(next)
		if err != nil {
			return 0, err
		}
		if len(winner) > 0 && winner[0].CommitInfo != nil && winner[0].CommitInfo.TxnID == t.txnID {
			return next, nil // our own: the answer to the first try was lost
		}
		if err := t.check(next, winner, op, actions); err != nil {
			return 0, err
		}
		b := builderOf(base)
		if err := b.apply(next, winner); err != nil {
			return 0, err
		}
		if base, err = b.finish(t.log); err != nil {
			return 0, err
		}
		next++
	}
	return 0, errs.New("DELTA_MAX_COMMIT_RETRIES_EXCEEDED", "numAttempts", maxRetries, "startVersion", next)
}

// checkActions holds the actions against the rules that every commit keeps.
func (t *Txn) checkActions(actions []Action) error {
	adds, removes := map[fileKey]bool{}, map[fileKey]bool{}
	apps := map[string]int64{}
	appendOnly := t.snap != nil && t.snap.On("delta.appendOnly")
	duplicate := func(kind, path string) error {
		return errs.New("DELTA_DUPLICATE_ACTIONS_FOUND", "actionType", kind, "path", path)
	}
	for _, a := range actions {
		switch {
		case a.Add != nil:
			k := fileKey{canonicalPath(a.Add.Path), a.Add.DV.id()}
			if adds[k] {
				return duplicate("add", a.Add.Path)
			}
			adds[k] = true
		case a.Remove != nil:
			k := fileKey{canonicalPath(a.Remove.Path), a.Remove.DV.id()}
			if removes[k] {
				return duplicate("remove", a.Remove.Path)
			}
			removes[k] = true
			if appendOnly && a.Remove.DataChange {
				return errs.New("DELTA_CANNOT_MODIFY_APPEND_ONLY", "table_name", "null", "config", "delta.appendOnly").
					WithHint("The table " + t.log.Root + " has delta.appendOnly=true: rows may be added, not changed or removed.")
			}
		case a.Txn != nil:
			if v, ok := apps[a.Txn.AppID]; ok && v != a.Txn.Version {
				return duplicate("txn", a.Txn.AppID)
			}
			apps[a.Txn.AppID] = a.Txn.Version
		}
	}
	for k := range adds {
		if removes[k] {
			return duplicate("add and remove", k.path)
		}
	}
	return nil
}

// lines builds the text of the commit as version v behind base.
func (t *Txn) lines(op Operation, actions []Action, v int64, base *Snapshot) ([]byte, error) {
	meta := t.metadata
	now := t.log.Now().UnixMilli()
	ci := &CommitInfo{Timestamp: now, Operation: op.Name, OperationParameters: op.Params, OperationMetrics: op.Metrics,
		UserMetadata: op.UserMetadata, Tags: op.Tags, EngineInfo: engineVersion, TxnID: t.txnID, IsolationLevel: op.Isolation}
	if ci.OperationParameters == nil {
		ci.OperationParameters = Pairs{}
	}
	if ci.OperationMetrics == nil {
		ci.OperationMetrics = Pairs{}
	}
	if ci.IsolationLevel == "" {
		ci.IsolationLevel = "Serializable"
	}
	if v > 0 {
		read := int64(-1)
		if t.snap != nil {
			read = t.snap.Version
		}
		ci.ReadVersion = &read
	}
	blind := !t.dependsOnData()
	for _, a := range actions {
		blind = blind && a.Remove == nil
	}
	ci.IsBlindAppend = &blind
	if strings.EqualFold(t.Metadata().Property("delta.enableInCommitTimestamps"), "true") {
		at := now
		if base != nil {
			last, err := t.log.Timestamp(base.Version)
			if err != nil {
				return nil, err
			}
			at = max(at, last+1)
		}
		ci.InCommitTimestamp = &at
		if base != nil && !base.On("delta.enableInCommitTimestamps") && meta != nil {
			m := meta.clone()
			m.set("delta.inCommitTimestampEnablementVersion", strconv.FormatInt(v, 10))
			m.set("delta.inCommitTimestampEnablementTimestamp", strconv.FormatInt(at, 10))
			meta = m
		}
	}
	all := []Action{{CommitInfo: ci}}
	if meta != nil {
		all = append(all, Action{Metadata: meta})
	}
	restored := op.Name == "RESTORE"
	if t.protocol != nil && !restored {
		all = append(all, Action{Protocol: t.protocol})
	}
	rows, err := t.rowIDs(actions, v, base)
	if err != nil {
		return nil, err
	}
	all = append(all, rows...)
	if restored {
		p := t.Protocol()
		all = append(all, Action{Protocol: &p})
	}
	var buf bytes.Buffer
	err = encodeActions(&buf, all)
	return buf.Bytes(), err
}

const rowTrackingDomain = "delta.rowTracking"

// checkRowIDs refuses statements that would move rows of a table that tracks them into new files: the rows
// would get other ids. Error: UNSUPPORTED_FEATURE.
func (t *Txn) checkRowIDs(op Operation, actions []Action) error {
	switch op.Name {
	case "UPDATE", "MERGE", "DELETE", "OPTIMIZE":
	default:
		return nil
	}
	if t.snap == nil || !t.snap.On("delta.enableRowTracking") {
		return nil
	}
	removed := map[string]bool{}
	for _, a := range actions {
		if a.Remove != nil {
			removed[canonicalPath(a.Remove.Path)] = true
		}
	}
	for _, a := range actions {
		if a.Add != nil && len(removed) > 0 && !removed[canonicalPath(a.Add.Path)] {
			return errs.New("UNSUPPORTED_FEATURE", "feature", op.Name+" of a table with delta.enableRowTracking, whose rows must keep their ids,").
				WithHint("Rows may be added and whole files removed; with delta.enableDeletionVectors rows may be deleted. ALTER TABLE … SET TBLPROPERTIES ('delta.enableRowTracking' = 'false') ends the tracking.")
		}
	}
	return nil
}

// rowIDs gives new files their first row id where the table tracks rows.
func (t *Txn) rowIDs(actions []Action, v int64, base *Snapshot) ([]Action, error) {
	if !t.Protocol().Supports("rowTracking") || strings.EqualFold(t.Metadata().Property("delta.rowTrackingSuspended"), "true") {
		return actions, nil
	}
	mark := int64(-1)
	if base != nil {
		mark = base.rowIDMark()
	}
	before := mark
	out := append([]Action{}, actions...)
	for i, a := range out {
		if a.Add == nil || a.Add.BaseRowID != nil {
			continue
		}
		n, ok := a.Add.NumRecords()
		if !ok {
			return nil, errs.New("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS")
		}
		add := *a.Add
		first, version := mark+1, v
		add.BaseRowID, add.DefaultRowCommitVersion = &first, &version
		mark += n
		out[i].Add = &add
	}
	if mark != before {
		conf := fmt.Sprintf(`{"rowIdHighWaterMark":%d,"domainName":"%s"}`, mark, rowTrackingDomain)
		out = append(out, Action{Domain: &Domain{Domain: rowTrackingDomain, Configuration: conf}})
	}
	return out, nil
}

// publish creates the log entry of a version; false if it exists already. The entry is complete and, if the
// log is durable, on disk the moment it can be seen.
func (l *Log) publish(v int64, text []byte) (bool, error) {
	final := l.CommitPath(v)
	tmp := filepath.Join(l.dir(), fmt.Sprintf(".%s.%s.tmp", commitName(v), uuid.NewString()))
	f, err := l.FS.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	if err = finishFile(f, err, l.Durable); err != nil {
		return false, errors.Join(err, l.removeFile(tmp))
	}
	err = l.FS.Link(tmp, final)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrExist):
		return false, l.removeFile(tmp)
	case errors.Is(err, errors.ErrUnsupported) || isNoLink(err):
		// A file system without hard links: the entry is exclusive, but a reader may see a part of it.
		if err := l.removeFile(tmp); err != nil {
			return false, err
		}
		return l.publishPlain(final, text)
	default:
		return false, errors.Join(err, l.removeFile(tmp))
	}
	if l.Durable {
		if err := l.FS.SyncDir(l.dir()); err != nil {
			return true, err
		}
	}
	return true, l.removeFile(tmp)
}

func (l *Log) publishPlain(final string, text []byte) (bool, error) {
	f, err := l.FS.OpenFile(final, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	if err := finishFile(f, err, l.Durable); err != nil {
		return true, err
	}
	if l.Durable {
		return true, l.FS.SyncDir(l.dir())
	}
	return true, nil
}

func isNoLink(err error) bool {
	var le *os.LinkError
	return errors.As(err, &le) && (errors.Is(le.Err, fs.ErrPermission) || strings.Contains(le.Err.Error(), "not supported"))
}

// afterCommit does what may follow a commit; nothing of it can make the commit fail.
func (l *Log) afterCommit(v int64, txnID string) {
	s, err := l.Snapshot()
	if err != nil || s.Version < v {
		return
	}
	if s.Version == v {
		_ = l.writeChecksum(s, txnID) // readers do without
	}
	every := int64(10)
	if n, err := strconv.ParseInt(s.Property("delta.checkpointInterval"), 10, 64); err == nil && n > 0 {
		every = n
	}
	if v == 0 || v%every != 0 {
		return
	}
	if s.Version != v {
		if s, err = l.At(v); err != nil {
			return
		}
	}
	if l.WriteCheckpoint(s) == nil { // readers do without: the commits are all there
		_, _ = l.cleanLog(s) // what stays today goes after the next checkpoint
	}
}

// removal is the tombstone of a live file.
func removal(a *Add, at int64, dataChange bool, stats removeStats) *Remove {
	size := a.Size
	r := &Remove{Path: a.Path, DeletionTimestamp: at, DataChange: dataChange, ExtendedFileMetadata: true, PartitionValues: a.PartitionValues,
		Size: &size, Tags: a.Tags, DV: a.DV, BaseRowID: a.BaseRowID, DefaultRowCommitVersion: a.DefaultRowCommitVersion}
	if r.PartitionValues == nil {
		r.PartitionValues = map[string]*string{}
	}
	switch stats {
	case statsRows:
		if n, ok := a.NumRecords(); ok {
			r.Stats = fmt.Sprintf(`{"numRecords":%d}`, n)
		}
	case statsAll:
		r.Stats = a.Stats
	}
	return r
}

// removeStats says which statistics a tombstone carries; Spark's commands differ.
type removeStats uint8

const (
	statsNone removeStats = iota
	statsRows
	statsAll
)
