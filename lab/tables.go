package lab

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// keepsItself tells whether the table's folder says what the table is: its schema, its versions.
func (t Table) keepsItself() bool { return strings.EqualFold(t.Format.Value, "delta") }

// managed tells whether the lab makes the table if it is missing: it has no path, or is one that keeps itself.
func (t Table) managed() bool { return t.Rows == nil && (t.Path.Value == "" || t.keepsItself()) }

// formatOf is the format of a table of the lab; "" if it has none of this name.
func (l *Lab) formatOf(table string) string {
	for _, t := range l.Tables {
		if strings.EqualFold(t.Name.Value, table) {
			return t.Format.Value
		}
	}
	return ""
}

// makeTable makes a managed table, or opens the one that an earlier run has made. made is false for tables
// that are not the lab's to make, and for one without a schema that is not there yet. With dry an empty table
// stands in for one that is not there.
func (l *Lab) makeTable(ctx context.Context, s *engine.Session, t Table, dry bool) (made bool, err error) {
	if !t.managed() {
		return false, nil
	}
	folder := filepath.Join(s.Workspace(), "warehouse", strings.ToLower(t.Name.Value))
	if p := t.Path.Value; p != "" {
		folder = p
		if !filepath.IsAbs(p) {
			folder = filepath.Join(l.Dir, p)
		}
	}
	there := false
	if entries, err := os.ReadDir(folder); err == nil {
		there = len(entries) > 0
	}
	if there && t.keepsItself() { // a folder that a crash left before the first commit is no table yet
		log, err := filepath.Glob(filepath.Join(folder, "_delta_log", "[0-9]*"))
		there = err == nil && len(log) > 0
	}
	if !there && t.Schema.Value == "" {
		if !t.keepsItself() {
			return false, errs.New("LAB_MISSING_KEY", "key", "schema or path", "where", "table `"+t.Name.Value+"`")
		}
		return false, nil
	}
	if !there && dry {
		schema, err := types.ParseDDL(t.Schema.Value)
		if err != nil {
			return false, l.locateText(err, t.Schema)
		}
		s.Catalog().Register(t.Name.Value, catalog.Relation{Table: &catalog.Memory{S: schema}})
		return true, nil
	}
	var b strings.Builder
	b.WriteString("CREATE TABLE IF NOT EXISTS " + types.QuoteIfNeeded(t.Name.Value))
	if t.Schema.Value != "" && !(there && t.keepsItself()) {
		b.WriteString(" (" + t.Schema.Value + ")")
	}
	b.WriteString(" USING " + t.Format.Value)
	// What Delta keeps with a table are its properties; the rest are options of the format.
	b.WriteString(list(" OPTIONS (", t.Options, func(k string) bool { return !strings.HasPrefix(k, "delta.") }))
	if !there {
		b.WriteString(list(" TBLPROPERTIES (", t.Options, func(k string) bool { return strings.HasPrefix(k, "delta.") }))
	}
	if t.Path.Value != "" || there {
		b.WriteString(" LOCATION " + quoted(folder))
	}
	if _, err := s.SQL(ctx, b.String()); err != nil {
		if e := errs.As(err); e != nil && !e.Pos.IsZero() {
			return false, l.locate(err, t.Name.Pos)
		}
		return false, err
	}
	return true, nil
}

// list writes the options whose names pass as a list of SQL, "" if there are none.
func list(begin string, options map[string]Text, pass func(string) bool) string {
	var keys []string
	for k := range options {
		if pass(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	sort.Strings(keys)
	for i, k := range keys {
		keys[i] = quoted(k) + " = " + quoted(options[k].Value)
	}
	return begin + strings.Join(keys, ", ") + ")"
}

// quoted writes a SQL string literal.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// addTableSource reads a table of the catalog as a stream. With dry a table that is not there yet is stood in
// for by a stream of its columns.
func (l *Lab) addTableSource(s *engine.Session, src Source, dry bool) error {
	name := src.Table.Value
	var df *engine.DataFrame
	if r, ok := s.Catalog().Lookup(name); ok && dry && r.Table != nil && isStandIn(r.Table) {
		columns := ddl(r.Table.Schema())
		if strings.EqualFold(src.Options["readChangeFeed"].Value, "true") {
			columns += ", _change_type STRING, _commit_version BIGINT, _commit_timestamp TIMESTAMP"
		}
		df = s.ReadStream().Format("memory").Schema(columns).Register(src.Name.Value)
	} else {
		df = s.ReadStream().Named(src.Name.Value).Options(plainOptions(src.Options)).Table(name)
	}
	if df.Err() != nil {
		return l.locate(df.Err(), src.Table.Pos)
	}
	if src.Watermark != nil {
		df = df.WithWatermark(src.Watermark.Column.Value, src.Watermark.Delay.Value)
		if df.Err() != nil {
			return l.locate(df.Err(), src.Watermark.Column.Pos)
		}
	}
	return df.CreateOrReplaceTempView(src.Name.Value)
}

func isStandIn(t catalog.Table) bool { _, ok := t.(*catalog.Memory); return ok }

func ddl(s types.Schema) string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = types.QuoteIfNeeded(f.Name) + " " + f.Type.SQL()
	}
	return strings.Join(out, ", ")
}
