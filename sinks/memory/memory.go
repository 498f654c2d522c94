//go:build cgo

// Package memory is the sink into SQLite: every query has a table of its name in the workspace's memory.db,
// which can be asked while the query runs. The rows of a micro-batch and its id are written in one
// transaction, so a batch that comes again changes nothing: exactly once while the database exists.
//
// Append and update both append (update is no upsert, as in Spark); complete replaces all rows. A table that
// belongs to another query id is dropped when the first batch arrives, as Spark replaces the view.
package memory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	sqlite3 "github.com/mattn/go-sqlite3"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// FileName is the database's file in the workspace.
const FileName = "memory.db"

// Options is empty: there are none.
func Options() []sources.OptionDoc { return []sources.OptionDoc{} }

// New makes the sink; the database is opened with the first batch. Errors: _LEGACY_ERROR_TEMP_1194 without a
// query name.
func New(def sinks.Def) (sinks.Sink, error) {
	if def.QueryName == "" {
		return nil, errs.New("_LEGACY_ERROR_TEMP_1194")
	}
	for i, c := range def.QueryName { // the table is a view in Spark, whose name must be an identifier
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' || c >= 0x80) {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1321", "viewName", def.QueryName)
		}
	}
	return &sink{def: def, rows: -1}, nil
}

type sink struct {
	def  sinks.Def
	db   *sql.DB
	rows int64
	last int64 // last batch of this query in the table; -1 is none
}

func (s *sink) Description() string { return "MemorySink" }

func (s *sink) NumOutputRows() int64 { return s.rows }

func (s *sink) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// connector opens SQLite connections whose statements may not reach beyond the one database.
type connector struct {
	dsn  string
	hook func(c *sqlite3.SQLiteConn) error
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	d := sqlite3.SQLiteDriver{ConnectHook: c.hook}
	return d.Open(c.dsn)
}

func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (s *sink) open(ctx context.Context) error {
	if s.db != nil {
		return nil
	}
	if err := os.MkdirAll(s.def.Dir, 0o755); err != nil {
		return errs.Wrap(err, "SINK_FAILED", "sink", "memory", "reason", err.Error())
	}
	sync := "NORMAL"
	if s.def.Durable {
		sync = "FULL"
	}
	dsn := "file:" + filepath.Join(s.def.Dir, FileName) + "?_journal_mode=WAL&_busy_timeout=20000&_txlock=immediate&_synchronous=" + sync
	db := sql.OpenDB(connector{dsn: dsn})
	db.SetMaxOpenConns(1)
	fail := func(err error) error {
		db.Close()
		return errs.Wrap(err, "SINK_FAILED", "sink", "memory", "reason", err.Error())
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fail(err)
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS _streamlab_batches (
		name TEXT PRIMARY KEY, query_id TEXT NOT NULL, batch_id INTEGER NOT NULL, columns TEXT NOT NULL)`)
	if err != nil {
		return fail(err)
	}
	if _, err := tx.ExecContext(ctx, aside); err != nil {
		return fail(err)
	}
	s.last = -1
	var id, columns string
	create := s.create()
	err = tx.QueryRowContext(ctx, `SELECT query_id, batch_id, columns FROM _streamlab_batches WHERE name = ?`, s.def.QueryName).
		Scan(&id, &s.last, &columns)
	switch {
	case err == nil && id == s.def.QueryID && columns == create:
	case err != nil && err != sql.ErrNoRows:
		return fail(err)
	default:
		s.last = -1
		for _, stmt := range []string{`DROP TABLE IF EXISTS ` + quote(s.def.QueryName), create} {
			if _, err := tx.ExecContext(ctx, stmt); err != nil {
				return fail(err)
			}
		}
		if err := s.forget(ctx, tx); err != nil {
			return fail(err)
		}
		_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO _streamlab_batches VALUES (?, ?, -1, ?)`, s.def.QueryName, s.def.QueryID, create)
		if err != nil {
			return fail(err)
		}
	}
	if err := s.keep(ctx, tx); err != nil {
		return fail(err)
	}
	if err := tx.Commit(); err != nil {
		return fail(err)
	}
	s.db = db
	return nil
}

// Restart empties the table, as a run of a query in Spark begins with an empty view whatever runs before it
// wrote. All batches, repeated ones too, are then written anew, so it is for complete mode, whose first batch
// brings all rows.
func (s *sink) Restart(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+quote(s.def.QueryName)); err != nil {
		return s.failed(err)
	}
	if err := s.forget(ctx, tx); err != nil {
		return s.failed(err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE _streamlab_batches SET batch_id = -1 WHERE name = ?`, s.def.QueryName); err != nil {
		return s.failed(err)
	}
	if err := tx.Commit(); err != nil {
		return s.failed(err)
	}
	s.last = -1
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// columnNames are the names of the table's columns. Names that differ in case only get a number, since
// SQLite takes them for one.
func (s *sink) columnNames() []string {
	used := map[string]bool{}
	var out []string
	for _, f := range s.def.Schema {
		name := f.Name
		for n := 2; used[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s_%d", f.Name, n)
		}
		used[strings.ToLower(name)] = true
		out = append(out, name)
	}
	return out
}

// create is the statement that makes the table.
func (s *sink) create() string {
	var cols []string
	for i, name := range s.columnNames() {
		cols = append(cols, quote(name)+" "+affinity(s.def.Schema[i].Type))
	}
	if len(cols) == 0 {
		cols = []string{`"_empty" TEXT`}
	}
	return "CREATE TABLE " + quote(s.def.QueryName) + " (" + strings.Join(cols, ", ") + ")"
}

func affinity(t types.DataType) string {
	switch {
	case t.IsIntegral() || t.Kind == types.Boolean:
		return "INTEGER"
	case t.IsFractional():
		return "REAL"
	case t.Kind == types.Binary:
		return "BLOB"
	}
	return "TEXT"
}

// rowsPerStatement makes one statement carry many rows; SQLite takes at most 32,766 parameters.
const rowsPerStatement = 50

// AddBatch writes the rows and the batch id in one transaction. A batch that was written is skipped.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	if b.ID <= s.last {
		s.rows = 0
		return nil
	}
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(err)
	}
	defer tx.Rollback()
	if b.Mode == sinks.Complete {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+quote(s.def.QueryName)); err != nil {
			return s.failed(err)
		}
		if err := s.forget(ctx, tx); err != nil {
			return s.failed(err)
		}
	}
	first, err := s.next(ctx, tx)
	if err != nil {
		return s.failed(err)
	}
	w := &writer{ctx: ctx, tx: tx, schema: s.def.Schema, table: quote(s.def.QueryName), zone: s.def.Zone}
	err = sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error { return w.add(rb) })
	if err != nil {
		return err
	}
	if err := s.number(ctx, tx, b.ID, first, w.n); err != nil {
		return s.failed(err)
	}
	if err := fault.Point("sink.stage.mid"); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE _streamlab_batches SET batch_id = ? WHERE name = ?`, b.ID, s.def.QueryName)
	if err != nil {
		return s.failed(err)
	}
	if err := fault.Point("sink.commit.before"); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return s.failed(err)
	}
	if err := fault.Point("sink.commit.after"); err != nil {
		return err
	}
	s.last, s.rows = b.ID, w.n
	return nil
}

func (s *sink) failed(err error) error {
	return errs.Wrap(err, "SINK_FAILED", "sink", "memory", "reason", err.Error())
}

type writer struct {
	ctx    context.Context
	tx     *sql.Tx
	schema types.Schema
	table  string
	zone   *time.Location
	many   *sql.Stmt
	one    *sql.Stmt
	args   []any
	n      int64
}

func (w *writer) prepare(rows int) (*sql.Stmt, error) {
	n := max(1, len(w.schema))
	row := "(" + strings.Repeat("?,", n-1) + "?)"
	return w.tx.PrepareContext(w.ctx, "INSERT INTO "+w.table+" VALUES "+strings.Repeat(row+",", rows-1)+row)
}

func (w *writer) add(rb arrow.RecordBatch) error {
	vs := columnar.Vectors(rb, w.schema)
	total := int(rb.NumRows())
	w.n += int64(total)
	var err error
	for at := 0; at < total; {
		step := 1
		stmt := &w.one
		if total-at >= rowsPerStatement {
			step, stmt = rowsPerStatement, &w.many
		}
		if *stmt == nil {
			if *stmt, err = w.prepare(step); err != nil {
				return errs.Wrap(err, "SINK_FAILED", "sink", "memory", "reason", err.Error())
			}
		}
		w.args = w.args[:0]
		for i := at; i < at+step; i++ {
			for j := range vs {
				w.args = append(w.args, cell(&vs[j], i))
			}
			if len(vs) == 0 {
				w.args = append(w.args, nil)
			}
		}
		if _, err := (*stmt).ExecContext(w.ctx, w.args...); err != nil {
			return errs.Wrap(err, "SINK_FAILED", "sink", "memory", "reason", err.Error())
		}
		at += step
	}
	return nil
}
