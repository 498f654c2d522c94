//go:build cgo

package memory

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// Answer is the rows of one statement.
type Answer struct {
	Columns []string
	Numeric []bool // per column: INTEGER or REAL
	Rows    [][]Cell
	More    bool // rows were left out because of the limit
}

// Table is something a statement can name.
type Table struct {
	Name    string
	Rows    int64
	Columns []string
}

// Door gives the door to the database in a workspace folder; the database need not exist yet.
func Door(workspace string) *DB { return &DB{path: filepath.Join(workspace, FileName)} }

func (d *DB) open() *sql.DB {
	dsn := ":memory:"
	if _, err := os.Stat(d.path); err == nil {
		dsn = "file:" + d.path + "?mode=ro&_busy_timeout=5000"
	}
	db := sql.OpenDB(connector{dsn: dsn, hook: func(c *sqlite3.SQLiteConn) error {
		c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
		c.RegisterAuthorizer(func(op int, _, _, _ string) int {
			switch op {
			case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, 33: // 33: recursive SELECT
				return sqlite3.SQLITE_OK
			case sqlite3.SQLITE_PRAGMA:
				return sqlite3.SQLITE_OK // the database is open read-only
			}
			return sqlite3.SQLITE_DENY
		})
		return nil
	}})
	db.SetMaxOpenConns(1)
	return db
}

// Query runs one statement; at most limit rows come back, 0 is all. Errors: SQLITE_ERROR with SQLite's words.
func (d *DB) Query(ctx context.Context, text string, limit int) (*Answer, error) {
	db := d.open()
	defer db.Close()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, refused(err)
	}
	defer rows.Close()
	a := &Answer{}
	if a.Columns, err = rows.Columns(); err != nil {
		return nil, refused(err)
	}
	a.Numeric = make([]bool, len(a.Columns))
	vals := make([]any, len(a.Columns))
	ptrs := make([]any, len(a.Columns))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if limit > 0 && len(a.Rows) == limit {
			a.More = true
			break
		}
		if err := rows.Scan(ptrs...); err != nil {
			return nil, refused(err)
		}
		row := make([]Cell, len(vals))
		for i, v := range vals {
			switch x := v.(type) {
			case nil:
				row[i] = Cell{"NULL", true}
			case []byte:
				row[i].Text = string(x)
			case float64:
				row[i].Text = strings.TrimSuffix(fmt.Sprintf("%v", x), "+00")
				a.Numeric[i] = true
			case int64:
				row[i].Text = fmt.Sprint(x)
				a.Numeric[i] = true
			default:
				row[i].Text = fmt.Sprint(x)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	if err := rows.Err(); err != nil && !a.More {
		return nil, refused(err)
	}
	return a, nil
}

func refused(err error) error {
	e := errs.Wrap(err, "SQLITE_ERROR", "message", err.Error())
	if strings.Contains(err.Error(), "not authorized") || strings.Contains(err.Error(), "readonly") {
		e = e.WithHint("What memory sinks hold can be read here, not changed.")
	}
	return e
}

// Tables lists the tables of memory sinks, by name.
func (d *DB) Tables(ctx context.Context) ([]Table, error) {
	a, err := d.Query(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\_streamlab%' ESCAPE '\' ORDER BY name`, 0)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, r := range a.Rows {
		t := Table{Name: r[0].Text}
		n, err := d.Query(ctx, "SELECT count(*) FROM "+quote(t.Name), 0)
		if err != nil {
			return nil, err
		}
		fmt.Sscan(n.Rows[0][0].Text, &t.Rows)
		c, err := d.Query(ctx, "SELECT * FROM "+quote(t.Name)+" LIMIT 0", 0)
		if err != nil {
			return nil, err
		}
		t.Columns = c.Columns
		out = append(out, t)
	}
	return out, nil
}

// Owns says whether the workspace has a table of that name that belongs to the query id: only then may a
// query go on from a checkpoint, since its rows and the id of its last batch are there.
func (d *DB) Owns(ctx context.Context, name, queryID string) bool {
	a, err := d.Query(ctx, "SELECT 1 FROM _streamlab_batches WHERE name = '"+strings.ReplaceAll(name, "'", "''")+
		"' AND query_id = '"+strings.ReplaceAll(queryID, "'", "''")+"'", 1)
	return err == nil && len(a.Rows) == 1
}
