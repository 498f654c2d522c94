package screentest

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/tui/screen"
)

// Statements and files that the fake was given.
type kept struct {
	past  []screen.Past
	saved []screen.Saved
	// Files are what was exported, by absolute path.
	Files map[string]string
	// Asked are the statements that ran, with their limits.
	Asked  []string
	Limits []int
}

// Ask implements screen.Asker: the SQLite door as Query, the Spark door over the same rows with Spark's
// types.
func (b *Bench) Ask(ctx context.Context, d screen.Door, sql string, limit int) (screen.Result, error) {
	b.mu.Lock()
	b.Asked, b.Limits = append(b.Asked, sql), append(b.Limits, limit)
	n := len(b.Asked)
	b.mu.Unlock()
	if ctx.Err() != nil {
		return screen.Result{}, ctx.Err()
	}
	low := strings.ToLower(sql)
	switch {
	case strings.HasPrefix(low, "delete"):
		if d == screen.SparkDoor {
			return screen.Result{}, errs.New("SQL_DOOR_WRITES", "statement", "DELETE")
		}
		return screen.Result{}, errs.New("SQLITE_REFUSED", "statement", "DELETE",
			"rule", "what memory sinks hold is read here, not changed: only queries write to it")
	case strings.Contains(low, "from many"):
		r := screen.Result{Columns: []screen.Column{{Name: "n", Type: "int", Right: true}}, Total: 48_210, Batch: -1, Took: 40 * time.Millisecond}
		for i := range min(limit, 48_210) {
			r.Rows = append(r.Rows, []screen.Cell{{Text: itoa(i)}})
		}
		r.More = limit < 48_210
		return r, nil
	case strings.Contains(low, "from wide"):
		r := screen.Result{Total: 3, Batch: -1}
		for i := range 200 {
			r.Columns = append(r.Columns, screen.Column{Name: "c" + itoa(i), Type: "text"})
		}
		for i := range 3 {
			var row []screen.Cell
			for j := range 200 {
				row = append(row, screen.Cell{Text: itoa(i * j)})
			}
			r.Rows = append(r.Rows, row)
		}
		return r, nil
	case strings.Contains(low, "from hostile"):
		return screen.Result{Columns: []screen.Column{{Name: "\x1b[31mname", Type: "text"}, {Name: "v"}}, Total: 4, Batch: -1,
			Rows: [][]screen.Cell{{{Text: "\x1b]52;c;aGk=\x07"}, {Text: `{"a": [1, {"b": "x"}]}`}}, {{Text: "‮evil"}, {Text: "日本語"}},
				{{Text: "👍🏽 हिन्दी ⚠️"}, {Null: true}}, {{Text: "a|b\nc"}, {Text: "=1+1"}}}}, nil
	case strings.Contains(low, "from moving"):
		r := screen.Result{Columns: []screen.Column{{Name: "page", Type: "text"}, {Name: "n", Type: "int", Right: true}}, Total: 2, Batch: int64(n)}
		r.Rows = [][]screen.Cell{{{Text: "/home"}, {Text: itoa(n)}}, {{Text: "/cart"}, {Text: "5"}}}
		return r, nil
	}
	r, err := b.Query(ctx, sql, limit)
	if d == screen.SparkDoor && err == nil {
		r.Columns = []screen.Column{{Name: "page", Type: "string"}, {Name: "n", Type: "bigint", Right: true}}
		r.Batch, r.Took = -1, 21*time.Millisecond
	}
	return r, err
}

func itoa(n int) string { return strconv.Itoa(n) }

// Names implements screen.Asker.
func (b *Bench) Names(ctx context.Context, d screen.Door) ([]screen.Table, error) {
	if d == screen.SQLiteDoor {
		return b.Catalog(ctx)
	}
	return []screen.Table{
		{Name: "clicks", Kind: "stream", Rows: -1, Columns: []screen.Column{{Name: "ts", Type: "timestamp"}, {Name: "page", Type: "string"}, {Name: "country", Type: "string"}}},
		{Name: "products", Kind: "table", Rows: -1, Columns: []screen.Column{{Name: "sku", Type: "string"}, {Name: "price", Type: "decimal(10,2)"}}},
		{Name: "top_pages", Kind: "memory", Rows: -1, Columns: []screen.Column{{Name: "page", Type: "string"}, {Name: "count", Type: "bigint"}}},
	}, nil
}

// Functions implements screen.Asker.
func (b *Bench) Functions(d screen.Door) []string {
	if d == screen.SQLiteDoor {
		return []string{"avg", "count", "json_extract", "max", "min", "sum"}
	}
	return []string{"approx_count_distinct", "avg", "count", "date_trunc", "max", "percentile", "sum", "window"}
}

// Statements implements screen.Rememberer.
func (b *Bench) Statements(context.Context) ([]screen.Past, []screen.Saved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.saved == nil {
		b.saved = []screen.Saved{{Name: "late rows by hour", SQL: "SELECT hour, late FROM batches"},
			{Name: "top 10 pages", SQL: "SELECT page FROM top_pages LIMIT 10"}}
		b.past = []screen.Past{{SQL: "SELECT bad FROM", Rows: -1, Failed: true, At: Now.Add(-10 * time.Minute)},
			{SQL: "SELECT count(*) FROM scores", Rows: 1, At: Now.Add(-9 * time.Minute)},
			{SQL: "SELECT * FROM scores", Rows: 1000, At: Now.Add(-2 * time.Minute)}}
	}
	return slices.Clone(b.past), slices.Clone(b.saved), nil
}

// Remember implements screen.Rememberer.
func (b *Bench) Remember(_ context.Context, p screen.Past) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past = append(b.past, p)
	return nil
}

// SaveStatement implements screen.Rememberer.
func (b *Bench) SaveStatement(_ context.Context, s screen.Saved) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = slices.DeleteFunc(b.saved, func(x screen.Saved) bool { return x.Name == s.Name })
	if s.SQL != "" {
		b.saved = append(b.saved, s)
	}
	slices.SortFunc(b.saved, func(x, y screen.Saved) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

// WriteFile implements screen.Exporter. The file taken.csv is there.
func (b *Bench) WriteFile(_ context.Context, path, text string, over bool) (string, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place := filepath.Join("/home/me", path)
	if _, ok := b.Files[place]; (ok || path == "taken.csv") && !over {
		return place, true, nil
	}
	if b.Files == nil {
		b.Files = map[string]string{}
	}
	b.Files[place] = text
	return place, false, nil
}
