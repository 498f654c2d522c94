//go:build cgo

package memory

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"streamlab/errs"
)

// DB is the reading door to a workspace's memory.db: it can look at everything and change nothing. Safe for
// concurrent use, also while queries write.
type DB struct {
	path string
}

// Cell is one value as text.
type Cell struct {
	Text string
	Null bool
}

// A Question is one statement and how much of its answer is wanted.
type Question struct {
	Text  string
	Limit int // rows that come back; 0: all
	Count int // rows that are counted beyond Limit, up to this number of all; 0: none are
	// Timeout ends the statement (SQLITE_TOO_LONG); 0: only the context does.
	Timeout time.Duration
	// Guarded bounds the size of values and the depth of the statement: for text from a user.
	Guarded bool
	Views   []View // made when the text names them; a memory table of the same name goes before
}

// A View is a relation that is not in the database: what a program knows.
type View struct {
	Name    string
	Columns []string // name and SQLite's type: "batch_id INTEGER"
	Rows    func(ctx context.Context) ([][]any, error)
}

// Answer is the rows of one statement.
type Answer struct {
	Columns []string
	Types   []string // per column, lower case: text, int, real, blob, null; of the declaration or of the first value
	Numeric []bool   // per column: INTEGER or REAL
	Rows    [][]Cell
	More    bool  // rows were left out because of the limit
	Total   int64 // rows there are; -1: not counted to the end
	// Batch is the last batch in the memory table that the statement reads, if it reads just one; -1 else.
	Batch int64
}

// Table is something a statement can name.
type Table struct {
	Name    string
	Latest  bool  // the last row per key of the table of that name without "_latest"
	Rows    int64 // -1: not counted
	Columns []string
	Types   []string // as of Answer
}

// Door gives the door to the database in a workspace folder; the database need not exist yet.
func Door(workspace string) *DB { return &DB{path: filepath.Join(workspace, FileName)} }

func (d *DB) open(ctx context.Context, q Question, g *gate, reads map[string]bool) *sql.DB {
	dsn, there := ":memory:", false
	if _, err := os.Stat(d.path); err == nil {
		dsn, there = "file:"+d.path+"?mode=ro&_busy_timeout=5000", true
	}
	db := sql.OpenDB(connector{dsn: dsn, hook: func(c *sqlite3.SQLiteConn) error {
		c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
		c.SetLimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, maxCompound)
		c.SetLimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, maxDepth)
		if q.Guarded {
			c.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
		}
		if err := prepare(ctx, c, q, there); err != nil {
			return err
		}
		// Rows and the batch they are of belong to one moment. Closing the connection ends it.
		if _, err := c.ExecContext(ctx, "BEGIN", nil); err != nil {
			return err
		}
		c.RegisterAuthorizer(func(op int, a, b, x string) int {
			if op == sqlite3.SQLITE_READ {
				reads[a] = true
			}
			return g.check(op, a, b, x)
		})
		return nil
	}})
	db.SetMaxOpenConns(1)
	return db
}

// Query runs one statement; at most limit rows come back, 0 is all. Errors: those of Ask.
func (d *DB) Query(ctx context.Context, text string, limit int) (*Answer, error) {
	return d.Ask(ctx, Question{Text: text, Limit: limit})
}

// Ask runs one statement. Errors: SQLITE_ERROR with SQLite's words, SQLITE_REFUSED with the rule that a
// statement breaks, SQLITE_TOO_LONG; that of ctx when it ends.
func (d *DB) Ask(ctx context.Context, q Question) (*Answer, error) {
	outer := ctx
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
	}
	var g gate
	reads := map[string]bool{}
	db := d.open(ctx, q, &g, reads)
	defer db.Close()
	fail := func(err error) error {
		switch {
		case outer.Err() != nil:
			return outer.Err()
		case ctx.Err() != nil:
			return errs.Wrap(err, "SQLITE_TOO_LONG", "limit", q.Timeout)
		}
		return g.refused(err)
	}
	rows, err := db.QueryContext(ctx, q.Text)
	if err != nil {
		return nil, fail(err)
	}
	defer rows.Close()
	a := &Answer{Total: -1, Batch: -1}
	if a.Columns, err = rows.Columns(); err != nil {
		return nil, fail(err)
	}
	a.declared(rows)
	if err := a.fetch(rows, q); err != nil {
		return nil, fail(err)
	}
	rows.Close()
	if a.More && q.Count > q.Limit {
		a.count(ctx, db, q)
	}
	a.batch(ctx, db, reads)
	return a, nil
}

// declared takes the types that columns were declared with; those of expressions come with the first value.
func (a *Answer) declared(rows *sql.Rows) {
	a.Numeric = make([]bool, len(a.Columns))
	a.Types = make([]string, len(a.Columns))
	list, err := rows.ColumnTypes()
	if err != nil {
		return // the values tell
	}
	for i, t := range list {
		switch strings.ToUpper(t.DatabaseTypeName()) {
		case "INTEGER":
			a.Types[i], a.Numeric[i] = "int", true
		case "REAL":
			a.Types[i], a.Numeric[i] = "real", true
		case "TEXT":
			a.Types[i] = "text"
		case "BLOB":
			a.Types[i] = "blob"
		}
	}
}

// countFor is how long rows beyond the limit are counted: the first page waits for it.
const countFor = 25 * time.Millisecond

// count lets SQLite count the rows of a statement that has more than were fetched. Stepping over them here would
// cost a call into C for each, and thirty times the time. A statement that is no part of another (a PRAGMA), or
// that takes too long for a page to wait, stays uncounted.
func (a *Answer) count(ctx context.Context, db *sql.DB, q Question) {
	ctx, cancel := context.WithTimeout(ctx, countFor)
	defer cancel()
	text := strings.TrimRight(q.Text, "; \t\r\n")
	var n int64
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM ("+text+"\n) LIMIT "+strconv.Itoa(q.Count)+")").Scan(&n)
	if err == nil && n < int64(q.Count) {
		a.Total = n
	}
}

func (a *Answer) fetch(rows *sql.Rows, q Question) error {
	vals := make([]any, len(a.Columns))
	ptrs := make([]any, len(a.Columns))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if q.Limit > 0 && len(a.Rows) == q.Limit {
			a.More = true
			return nil
		}
		if err := rows.Scan(ptrs...); err != nil {
			return err
		}
		row := make([]Cell, len(vals))
		for i, v := range vals {
			row[i] = a.cell(i, v)
		}
		a.Rows = append(a.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	a.Total = int64(len(a.Rows))
	return nil
}

func (a *Answer) cell(i int, v any) Cell {
	var c Cell
	kind := "text"
	switch x := v.(type) {
	case nil:
		return Cell{"NULL", true}
	case []byte:
		c.Text, kind = string(x), "blob"
	case float64:
		c.Text, kind = strings.TrimSuffix(fmt.Sprintf("%v", x), "+00"), "real"
	case int64:
		c.Text, kind = strconv.FormatInt(x, 10), "int"
	default:
		c.Text = fmt.Sprint(x)
	}
	if a.Types[i] == "" {
		a.Types[i] = kind
	}
	if kind == "int" || kind == "real" {
		a.Numeric[i] = true
	}
	return c
}

// batch finds the last batch of the memory table that was read, if it was one.
func (a *Answer) batch(ctx context.Context, db *sql.DB, reads map[string]bool) {
	name := ""
	for t := range reads {
		if strings.HasPrefix(t, "_streamlab_") || strings.HasPrefix(t, "sqlite_") || t == "" {
			continue
		}
		if base, ok := strings.CutSuffix(t, "_latest"); ok && reads[base] {
			continue
		}
		if name != "" {
			return
		}
		name = t
	}
	if name == "" {
		return
	}
	var id int64
	if db.QueryRowContext(ctx, `SELECT batch_id FROM main._streamlab_batches WHERE name = ?`, name).Scan(&id) == nil {
		a.Batch = id
	}
}

// Tables lists the tables of memory sinks, by name, each with its _latest behind it.
func (d *DB) Tables(ctx context.Context) ([]Table, error) {
	a, err := d.Query(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\_streamlab%' ESCAPE '\' ORDER BY name`, 0)
	if err != nil {
		return nil, err
	}
	keyed := map[string]bool{}
	if k, err := d.Query(ctx, "SELECT name FROM _streamlab_keys", 0); err == nil {
		for _, r := range k.Rows {
			keyed[r[0].Text] = true
		}
	}
	var out []Table
	for _, r := range a.Rows {
		t := Table{Name: r[0].Text}
		// Rows are only appended or all replaced, so their numbers have no gaps and need no counting.
		n, err := d.Query(ctx, "SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM "+quote(t.Name), 0)
		if err != nil {
			return nil, err
		}
		fmt.Sscan(n.Rows[0][0].Text, &t.Rows)
		c, err := d.Query(ctx, "SELECT * FROM "+quote(t.Name)+" LIMIT 0", 0)
		if err != nil {
			return nil, err
		}
		t.Columns, t.Types = c.Columns, c.Types
		out = append(out, t)
		if keyed[t.Name] {
			t.Name, t.Latest, t.Rows = t.Name+"_latest", true, -1
			out = append(out, t)
		}
	}
	return out, nil
}

// LastBatch is the newest batch of a query that a table holds; -1 if it holds none, or is another query's.
func (d *DB) LastBatch(ctx context.Context, name, queryID string) int64 {
	a, err := d.Query(ctx, "SELECT batch_id FROM _streamlab_batches WHERE name = '"+strings.ReplaceAll(name, "'", "''")+
		"' AND query_id = '"+strings.ReplaceAll(queryID, "'", "''")+"'", 1)
	if err != nil || len(a.Rows) != 1 {
		return -1
	}
	n, err := strconv.ParseInt(a.Rows[0][0].Text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Owns says whether the workspace has a table of that name that belongs to the query id: only then may a
// query go on from a checkpoint, since its rows and the id of its last batch are there.
func (d *DB) Owns(ctx context.Context, name, queryID string) bool {
	a, err := d.Query(ctx, "SELECT 1 FROM _streamlab_batches WHERE name = '"+strings.ReplaceAll(name, "'", "''")+
		"' AND query_id = '"+strings.ReplaceAll(queryID, "'", "''")+"'", 1)
	return err == nil && len(a.Rows) == 1
}
