//go:build cgo

package memory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"regexp"
	"strings"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// aside are the tables beside those of queries. Of each micro-batch the number of its first row is kept, so
// that the tables hold Spark's columns and no other and rows still know their batch; of a query with keys,
// which columns they are.
const aside = `CREATE TABLE IF NOT EXISTS _streamlab_ranges (name TEXT, first INTEGER, batch_id INTEGER NOT NULL,
	PRIMARY KEY (name, first)) WITHOUT ROWID;
	CREATE TABLE IF NOT EXISTS _streamlab_keys (name TEXT PRIMARY KEY, keys TEXT NOT NULL) WITHOUT ROWID`

// next is the number that the next row gets.
func (s *sink) next(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) + 1 FROM "+quote(s.def.QueryName)).Scan(&n)
	return n, err
}

// number remembers which rows a batch wrote.
func (s *sink) number(ctx context.Context, tx *sql.Tx, batch, first, rows int64) error {
	if rows == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO _streamlab_ranges VALUES (?, ?, ?)`, s.def.QueryName, first, batch)
	return err
}

// forget forgets the batches of rows that are gone.
func (s *sink) forget(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM _streamlab_ranges WHERE name = ?`, s.def.QueryName)
	return err
}

// keep remembers the key columns of the query.
func (s *sink) keep(ctx context.Context, tx *sql.Tx) error {
	if len(s.def.Keys) == 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM _streamlab_keys WHERE name = ?`, s.def.QueryName)
		return err
	}
	names := s.columnNames()
	var list []string
	for _, k := range s.def.Keys {
		list = append(list, quote(names[k]))
	}
	_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO _streamlab_keys VALUES (?, ?)`, s.def.QueryName, strings.Join(list, ", "))
	return err
}

var names = regexp.MustCompile(`[\pL_][\pL\pN_]*`)

// prepare makes what a statement names beyond the tables: _batch_id, _latest, views. They are temporary and
// belong to the connection, so the database stays as it is.
func prepare(ctx context.Context, c *sqlite3.SQLiteConn, q Question, there bool) error {
	named := map[string]bool{}
	special := false
	for _, w := range names.FindAllString(strings.ToLower(q.Text), -1) {
		named[w] = true
		special = special || w == "_batch_id" || strings.HasSuffix(w, "_latest")
	}
	views := 0
	for _, v := range q.Views {
		if named[strings.ToLower(v.Name)] {
			views++
		}
	}
	if !special && views == 0 {
		return nil
	}
	if _, err := c.ExecContext(ctx, "PRAGMA temp_store = memory", nil); err != nil {
		return err
	}
	taken := map[string]bool{}
	if there {
		list, err := texts(ctx, c, `SELECT name, '' FROM sqlite_master WHERE type = 'table'`)
		if err != nil {
			return err
		}
		for _, t := range list {
			taken[strings.ToLower(t[0])] = true
		}
		if special && taken["_streamlab_ranges"] {
			if err := withBatches(ctx, c, list, named); err != nil {
				return err
			}
		}
		if special && taken["_streamlab_keys"] {
			if err := latest(ctx, c, named, taken); err != nil {
				return err
			}
		}
	}
	for _, v := range q.Views {
		if named[strings.ToLower(v.Name)] && !taken[strings.ToLower(v.Name)] {
			if err := v.fill(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// withBatches puts _batch_id behind the columns of the tables that a statement names together with it.
func withBatches(ctx context.Context, c *sqlite3.SQLiteConn, list [][2]string, named map[string]bool) error {
	if !named["_batch_id"] {
		return nil
	}
	for _, t := range list {
		name := t[0]
		if strings.HasPrefix(name, "_streamlab_") || !named[strings.ToLower(name)] && !named[strings.ToLower(name)+"_latest"] {
			continue
		}
		_, err := c.ExecContext(ctx, "CREATE TEMP VIEW "+quote(name)+" AS SELECT t.*, (SELECT r.batch_id FROM main._streamlab_ranges r"+
			" WHERE r.name = "+literal(name)+" AND r.first <= t.rowid ORDER BY r.first DESC LIMIT 1) AS _batch_id FROM main."+quote(name)+" t", nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// latest makes <name>_latest, the last row of each key, of the tables with keys.
func latest(ctx context.Context, c *sqlite3.SQLiteConn, named, taken map[string]bool) error {
	list, err := texts(ctx, c, `SELECT name, keys FROM main._streamlab_keys`)
	if err != nil {
		return err
	}
	for _, k := range list {
		view := k[0] + "_latest"
		if !named[strings.ToLower(view)] || taken[strings.ToLower(view)] {
			continue
		}
		from, batch := "main."+quote(k[0])+" t", ""
		if named["_batch_id"] {
			batch = ", (SELECT r.batch_id FROM main._streamlab_ranges r WHERE r.name = " + literal(k[0]) +
				" AND r.first <= t.rowid ORDER BY r.first DESC LIMIT 1) AS _batch_id"
		}
		_, err := c.ExecContext(ctx, "CREATE TEMP VIEW "+quote(view)+" AS SELECT t.*"+batch+" FROM "+from+
			" WHERE t.rowid IN (SELECT max(rowid) FROM main."+quote(k[0])+" GROUP BY "+k[1]+")", nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// fill makes a view's table.
func (v View) fill(ctx context.Context, c *sqlite3.SQLiteConn) error {
	rows, err := v.Rows(ctx)
	if err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, "CREATE TEMP TABLE "+quote(v.Name)+" ("+strings.Join(v.Columns, ", ")+")", nil); err != nil {
		return err
	}
	st, err := c.PrepareContext(ctx, "INSERT INTO temp."+quote(v.Name)+" VALUES (?"+strings.Repeat(", ?", len(v.Columns)-1)+")")
	if err != nil {
		return err
	}
	defer st.Close()
	args := make([]driver.NamedValue, len(v.Columns))
	for _, row := range rows {
		for i := range args {
			args[i] = driver.NamedValue{Ordinal: i + 1, Value: row[i]}
		}
		if _, err := st.(driver.StmtExecContext).ExecContext(ctx, args); err != nil {
			return err
		}
	}
	return nil
}

// texts reads the rows of a statement with two columns of text.
func texts(ctx context.Context, c *sqlite3.SQLiteConn, text string) ([][2]string, error) {
	rows, err := c.QueryContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][2]string
	vals := make([]driver.Value, 2)
	for {
		if err := rows.Next(vals); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		var row [2]string
		for i, v := range vals {
			switch x := v.(type) {
			case string:
				row[i] = x
			case []byte:
				row[i] = string(x)
			}
		}
		out = append(out, row)
	}
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
