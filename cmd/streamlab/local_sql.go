//go:build cgo

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/vfs"
	"streamlab/lab"
	"streamlab/sinks/memory"
	"streamlab/sql"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/tui/screen"
)

// statementTime bounds a statement at the SQLite door (reliability.md 8.5).
const statementTime = 10 * time.Second

// countedRows is how far rows beyond the fetched ones are counted.
const countedRows = 100_000

// Ask answers a statement at one of the doors.
func (b *localLab) Ask(ctx context.Context, d screen.Door, text string, limit int) (screen.Result, error) {
	if d == screen.SparkDoor {
		return askSpark(ctx, b.w.Session(), text, limit)
	}
	r, err := askSQLite(ctx, b.door(), text, limit, b.views())
	if err != nil {
		return r, whereItIs(err, b.w.Current())
	}
	return r, nil
}

// askSQLite asks the memory tables.
func askSQLite(ctx context.Context, door *memory.DB, text string, limit int, views []memory.View) (screen.Result, error) {
	t := time.Now()
	a, err := door.Ask(ctx, memory.Question{Text: text, Limit: limit, Count: countedRows, Timeout: statementTime, Guarded: true, Views: views})
	if err != nil {
		return screen.Result{}, err
	}
	r := screen.Result{Total: a.Total, More: a.More, Took: time.Since(t), Batch: a.Batch}
	for i, n := range a.Columns {
		r.Columns = append(r.Columns, screen.Column{Name: n, Type: a.Types[i], Right: a.Numeric[i]})
	}
	for _, row := range a.Rows {
		cells := make([]screen.Cell, len(row))
		for i, x := range row {
			cells[i] = screen.Cell{Text: x.Text, Null: x.Null}
		}
		r.Rows = append(r.Rows, cells)
	}
	return r, nil
}

// askSpark runs a statement over what the streams of a session hold now. A statement that writes is refused.
func askSpark(ctx context.Context, s *engine.Session, text string, limit int) (screen.Result, error) {
	t := time.Now()
	ctx, cancel := context.WithCancel(ctx) // sources that are read close with it
	defer cancel()
	st, err := sql.ParseStatement(text)
	if err != nil {
		return screen.Result{}, err
	}
	if what := writes(st); what != "" {
		return screen.Result{}, errs.New("SQL_DOOR_WRITES", "statement", what)
	}
	still, err := s.Still()
	if err != nil {
		return screen.Result{}, err
	}
	df, err := still.SQL(ctx, text)
	if err != nil {
		return screen.Result{}, err
	}
	batches, schema, err := df.Head(ctx, limit+1)
	if err != nil {
		return screen.Result{}, err
	}
	form := formsOf(batches, schema)
	r := screen.Result{Batch: -1, Total: -1}
	for _, f := range schema {
		r.Columns = append(r.Columns, screen.Column{Name: f.Name, Type: f.Type.Simple(), Right: f.Type.IsNumeric()})
	}
	for i, row := range lab.Cells(batches, schema) {
		if i == limit {
			r.More = true
			break
		}
		cells := make([]screen.Cell, len(row))
		for j, x := range row {
			cells[j] = screen.Cell{Text: x, Null: form(i, j) == asNull}
		}
		r.Rows = append(r.Rows, cells)
	}
	if !r.More {
		r.Total = int64(len(r.Rows))
	}
	r.Took = time.Since(t)
	return r, nil
}

// writes names a statement that does more than look; "" if it looks.
func writes(st sql.Statement) string {
	switch x := st.(type) {
	case *sql.Query, *sql.Describe, *sql.Show, *sql.Explain:
		return ""
	case *sql.CreateView:
		return "CREATE VIEW"
	case *sql.CreateTable:
		return "CREATE TABLE"
	case *sql.Drop:
		return "DROP"
	case *sql.Insert:
		return "INSERT"
	case *sql.Update:
		return "UPDATE"
	case *sql.Delete:
		return "DELETE"
	case *sql.Merge:
		return "MERGE"
	case *sql.Set:
		return "SET"
	case *sql.Reset:
		return "RESET"
	case *sql.Command:
		return x.Kind
	}
	return "This statement"
}

// views are batches and events for the SQLite door.
func (b *localLab) views() []memory.View {
	return []memory.View{
		{Name: "batches", Columns: batchColumns, Rows: func(context.Context) ([][]any, error) {
			var out [][]any
			for _, q := range b.Queries() {
				for _, p := range q.Progress {
					out = append(out, batchRow(q.Name, p))
				}
			}
			return out, nil
		}},
		{Name: "events", Columns: eventColumns, Rows: func(context.Context) ([][]any, error) {
			list, _ := b.Events(0)
			out := make([][]any, 0, len(list))
			for _, e := range list {
				row := []any{e.Seq, sortable(e.Time), e.Level.String(), e.Query, nil, e.Message, nil}
				if e.Batch >= 0 {
					row[4] = e.Batch
				}
				if e.Err != nil {
					row[6] = e.Err.Condition
				}
				out = append(out, row)
			}
			return out, nil
		}},
	}
}

var (
	batchColumns = []string{"query TEXT", "batch_id INTEGER", "started TEXT", "duration_ms INTEGER", "rows_in INTEGER", "rows_out INTEGER",
		"in_rate REAL", "proc_rate REAL", "watermark TEXT", "state_rows INTEGER", "late INTEGER", "retried INTEGER", "progress TEXT"}
	eventColumns = []string{"seq INTEGER", "time TEXT", "level TEXT", "query TEXT", "batch_id INTEGER", "message TEXT", "condition TEXT"}
)

// sortable writes a time so that text sorts as time does; nil for none.
func sortable(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

func batchRow(query string, p screen.Progress) []any {
	row := []any{query, p.BatchID, sortable(p.Time), p.Duration.Milliseconds(), p.RowsIn, nil, p.InputRate, p.ProcessRate, sortable(p.Watermark),
		p.StateRows(), p.Late(), int64(0), nil}
	if p.RowsOut >= 0 {
		row[5] = p.RowsOut
	}
	if p.Retried {
		row[11] = int64(1)
	}
	if p.JSON != nil {
		row[12] = p.JSON()
	}
	return row
}

// viewTables describes views for the catalog.
func viewTables() []screen.Table {
	var out []screen.Table
	for _, v := range []memory.View{{Name: "batches", Columns: batchColumns}, {Name: "events", Columns: eventColumns}} {
		t := screen.Table{Name: v.Name, Kind: "view", Rows: -1}
		for _, c := range v.Columns {
			name, typ, _ := strings.Cut(c, " ")
			t.Columns = append(t.Columns, screen.Column{Name: name, Type: map[string]string{"TEXT": "text", "INTEGER": "int", "REAL": "real"}[typ]})
		}
		out = append(out, t)
	}
	return out
}

// Names lists what a statement can name.
func (b *localLab) Names(ctx context.Context, d screen.Door) ([]screen.Table, error) {
	if d == screen.SparkDoor {
		return sparkNames(b.w.Session()), nil
	}
	list, err := b.door().Tables(ctx)
	if err != nil {
		return nil, err
	}
	var out []screen.Table
	for _, t := range list {
		x := screen.Table{Name: t.Name, Kind: "memory", Rows: t.Rows}
		for i, c := range t.Columns {
			x.Columns = append(x.Columns, screen.Column{Name: c, Type: t.Types[i]})
		}
		x.Columns = append(x.Columns, screen.Column{Name: "_batch_id", Type: "int"})
		if t.Latest {
			x.Columns = nil // as of the table above
		}
		out = append(out, x)
	}
	return append(out, viewTables()...), nil
}

// sparkNames lists streams, tables and views of a session.
func sparkNames(s *engine.Session) []screen.Table {
	var out []screen.Table
	add := func(name, kind string, schema types.Schema) {
		t := screen.Table{Name: name, Kind: kind, Rows: -1}
		for _, f := range schema {
			t.Columns = append(t.Columns, screen.Column{Name: f.Name, Type: f.Type.Simple()})
		}
		out = append(out, t)
	}
	c := s.Catalog()
	for _, r := range append(c.List(""), c.List(c.Current())...) {
		switch {
		case r.Stream != nil:
			add(r.Name, "stream", r.Stream.Schema())
		case r.Table != nil:
			add(r.Name, "table", r.Table.Schema())
		case r.View != nil:
			kind, schema := "view", r.View.Columns
			if n, ok := r.View.Plan.(plan.Node); ok {
				schema = n.Schema()
				if n.Streaming() {
					kind = "stream"
				}
			}
			add(r.Name, kind, schema)
		}
	}
	order := map[string]int{"stream": 0, "table": 1, "view": 2}
	slices.SortStableFunc(out, func(x, y screen.Table) int { return order[x.Kind] - order[y.Kind] })
	return out
}

var sqliteFunctions = strings.Fields(`abs avg changes char coalesce concat concat_ws count cume_dist date datetime dense_rank first_value
	format glob group_concat hex ifnull iif instr json json_array json_array_length json_each json_extract json_group_array
	json_group_object json_object json_type json_valid julianday lag last_value lead length like lower ltrim max min nth_value
	ntile nullif percent_rank printf quote random rank replace round row_number rtrim sign soundex sqlite_version strftime
	substr substring sum time timediff total trim typeof unicode unixepoch upper`)

// sparkFunctions takes a millisecond, which a process that shows no editor need not spend.
var sparkFunctions = sync.OnceValue(func() []string {
	var out []string
	for _, f := range plan.Functions() {
		if sqlWord(f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
})

func sqlWord(s string) bool {
	ts := sql.Lex(s)
	return len(ts) == 2 && ts[0].Kind == sql.Word
}

// Functions lists the functions of a door.
func (b *localLab) Functions(d screen.Door) []string {
	if d == screen.SparkDoor {
		return sparkFunctions()
	}
	return sqliteFunctions
}

// Statements are kept in the workspace: those that ran a line each, those with a name in one file.
func (b *localLab) statementFile(name string) string {
	return filepath.Join(b.w.Session().Workspace(), "sql", name)
}

const keptStatements = 500

// Statements reads what ran before, and what has a name. Lines that a crash cut short are skipped.
func (b *localLab) Statements(context.Context) ([]screen.Past, []screen.Saved, error) {
	var past []screen.Past
	raw, err := os.ReadFile(b.statementFile("history.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var p screen.Past
		if json.Unmarshal(sc.Bytes(), &p) == nil && p.SQL != "" {
			past = append(past, p)
		}
	}
	if over := len(past) - keptStatements; over > 0 {
		past = past[over:]
	}
	saved, err := b.savedStatements()
	return past, saved, err
}

func (b *localLab) savedStatements() ([]screen.Saved, error) {
	raw, err := os.ReadFile(b.statementFile("saved.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []screen.Saved
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	return list, err
}

// Remember adds a statement to the history. A file that has grown to twice what is kept is cut.
func (b *localLab) Remember(ctx context.Context, p screen.Past) error {
	b.files.Lock()
	defer b.files.Unlock()
	file := b.statementFile("history.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	st, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil || st.Size() < 1<<20 {
		return err
	}
	past, _, err := b.Statements(ctx)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, p := range past[len(past)/2:] {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		out.Write(append(line, '\n'))
	}
	return vfs.WriteFile(vfs.OS, file, out.Bytes(), 0o600)
}

// SaveStatement keeps a statement under its name.
func (b *localLab) SaveStatement(_ context.Context, s screen.Saved) error {
	b.files.Lock()
	defer b.files.Unlock()
	list, err := b.savedStatements()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x screen.Saved) bool { return x.Name == s.Name })
	if s.SQL != "" {
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y screen.Saved) int { return strings.Compare(x.Name, y.Name) })
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	file := b.statementFile("saved.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return vfs.WriteFile(vfs.OS, file, append(raw, '\n'), 0o600)
}

// WriteFile writes an export.
func (b *localLab) WriteFile(_ context.Context, path, text string, over bool) (place string, exists bool, err error) {
	if home, herr := os.UserHomeDir(); herr == nil && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
	}
	if place, err = filepath.Abs(path); err != nil {
		return "", false, err
	}
	fail := func(err error) (string, bool, error) {
		return place, false, errs.Wrap(err, "FILE_NOT_WRITTEN", "path", place, "reason", err.Error())
	}
	st, err := os.Stat(place)
	switch {
	case err == nil && st.IsDir():
		return fail(errors.New("it is a folder"))
	case err == nil && !over:
		return place, true, nil
	}
	if err := vfs.WriteFile(vfs.OS, place, []byte(text), 0o644); err != nil {
		return fail(err)
	}
	return place, false, nil
}
