// Package lab reads lab files: one YAML file that names sources, views, tables and queries, in Spark's own
// words. Load reads a file strictly, with the place of every value; Check analyses every query and starts
// nothing; Open gives a Workbench, a lab that can run.
//
// Every key under a source or a query is a method of Spark's DataStreamReader or DataStreamWriter, spelled
// as there, and every option is a Spark option. Transformations are Spark SQL.
package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"streamlab/errs"
)

// Lab is a file as it was read. Text values keep their place, so that later errors can point at them.
type Lab struct {
	Name    string
	About   string
	Teaches string
	File    string // absolute
	Dir     string // folder of the file: relative paths start here
	Conf    map[string]string
	Sources []Source
	Views   []View
	Tables  []Table
	Queries []Query
	Steps   []Step
	Lesson  Lesson

	data []byte
	conf []entry
	root *value
}

// Text is a value with its place.
type Text struct {
	Value  string
	Pos    errs.Pos
	block  bool
	indent int
}

// Watermark is withWatermark of a source or view.
type Watermark struct{ Column, Delay Text }

// Source is a streaming source; it becomes a streaming view of its name.
type Source struct {
	Name      Text
	Format    Text
	Schema    Text
	Path      Text
	Table     Text // a table of the catalog, read as a stream; Format may be empty then
	Options   map[string]Text
	Watermark *Watermark
	Rows      [][][]any   // format memory: micro-batches of rows
	Seed      []SeedTopic // format kafka with the embedded broker
	Share     bool

	node *value
}

// View is named SQL.
type View struct {
	Name                          Text
	SQL                           Text
	Watermark                     *Watermark
	DropDuplicates                *[]string
	DropDuplicatesWithinWatermark *[]string

	node *value
}

// Table is a static table of the catalog.
type Table struct {
	Name    Text
	Format  Text
	Schema  Text
	Path    Text
	Options map[string]Text
	Rows    [][]any

	node *value
}

// Query is one streaming query.
type Query struct {
	Name         Text
	SQL          Text // of `sql`, or `SELECT * FROM` the name of `from`
	Format       Text
	OutputMode   Text
	TriggerKind  string
	TriggerValue Text
	PartitionBy  []string
	Options      map[string]Text
	Path         Text
	ToTable      Text
	Statements   []Statement // of foreachBatch
	Tag          bool        // writes of Statements are tagged, so that a repeated one is skipped
	Command      []string    // of foreach
	Start        bool
	Pos          errs.Pos

	node    *value
	sinkPos errs.Pos // of foreachBatch, foreach and toTable
}

// Statement is an entry of foreachBatch: SQL over the view `batch`, or a write of the rows of a query.
type Statement struct {
	SQL         Text
	Write       bool
	Format      Text
	Mode        Text
	Path        Text
	ToTable     Text
	Options     map[string]Text
	PartitionBy []string
}

// Load reads a lab file. Errors, all that could be found joined: LAB_SYNTAX, LAB_UNKNOWN_KEY with the nearest
// key, LAB_DUPLICATE_KEY, LAB_VALUE, LAB_MISSING_KEY; the file's own error if it cannot be read.
func Load(path string) (*Lab, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return nil, errs.Wrap(err, "LAB_FILE_UNREADABLE", "path", path)
	}
	return Parse(path, abs, data)
}

// Parse is Load of a text; file is how the lab is named in errors, abs where it lies.
func Parse(file, abs string, data []byte) (*Lab, error) {
	if at := firstNotText(data); at >= 0 {
		line := 1 + strings.Count(string(data[:at]), "\n")
		col := 1 + utf8.RuneCount(data[strings.LastIndexByte(string(data[:at]), '\n')+1:at])
		pos := errs.Pos{File: file, Line: line, Col: col, Length: 1}
		return nil, errs.New("LAB_SYNTAX", "problem", "a byte here is not UTF-8 text").At(pos)
	}
	root, err := parseYAML(file, data)
	if err != nil {
		return nil, err
	}
	l := &Lab{File: abs, Dir: filepath.Dir(abs), data: data, Conf: map[string]string{}}
	l.Name = strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	d := &decoder{data: data}
	if len(root.keys) == 0 && (root.kind == mapKind || root.isNull) {
		pos := errs.Pos{File: file, Line: 1, Col: 1, Length: 1}
		return nil, errs.New("LAB_MISSING_KEY", "key", "queries", "where", "the lab").At(pos)
	}
	l.root = root
	d.root(l, root)
	return l, errors.Join(d.problems...)
}

// firstNotText is the offset of the first byte that cannot stand in a lab file, a NUL or what is no UTF-8;
// -1 if there is none. Such bytes would reach the terminal with the excerpt of a later error.
func firstNotText(data []byte) int {
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if c == 0 || c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// decoder gathers problems instead of stopping at the first.
type decoder struct {
	data     []byte
	problems []error
}

func (d *decoder) fail(pos errs.Pos, condition string, params ...any) {
	d.problems = append(d.problems, place(errs.New(condition, params...), pos, d.data))
}

// missing reports a key without a text, unless what stands there was refused already.
func (d *decoder) missing(t Text, pos errs.Pos, key, where string) {
	if t.Value != "" {
		return
	}
	for _, p := range d.problems {
		if e := errs.As(p); e != nil && !t.Pos.IsZero() && e.Pos == t.Pos {
			return
		}
	}
	if d.misspelt(key, where) {
		return
	}
	d.fail(pos, "LAB_MISSING_KEY", "key", key, "where", where)
}

// misspelt tells whether a key that is missing was told to be written wrongly.
func (d *decoder) misspelt(key, where string) bool {
	for _, p := range d.problems {
		e := errs.As(p)
		if e == nil || e.Condition != "LAB_UNKNOWN_KEY" || e.Params["where"] != where && !strings.HasPrefix(where, e.Params["where"]+" ") {
			continue
		}
		for _, k := range strings.Split(key, " or ") {
			if hinted(e.Hint) == k {
				return true
			}
		}
	}
	return false
}

// fields calls the reader of every key of a mapping and refuses keys without one.
func (d *decoder) fields(where string, v *value, readers map[string]func(*value)) {
	if v.isNull {
		return
	}
	if v.kind != mapKind {
		d.fail(v.pos, "LAB_VALUE", "key", where, "expected", "a mapping")
		return
	}
	for _, e := range v.keys {
		if f, ok := readers[e.key]; ok {
			f(e.val)
			continue
		}
		names := make([]string, 0, len(readers))
		for n := range readers {
			names = append(names, n)
		}
		er := errs.New("LAB_UNKNOWN_KEY", "key", e.key, "where", where)
		if n := nearest(e.key, names); n != "" {
			er = er.WithHint("Did you mean `" + n + "`?")
		}
		d.problems = append(d.problems, place(er, e.pos, d.data))
	}
}

func (d *decoder) text(key string, v *value) Text {
	if v.kind != scalarKind {
		d.fail(v.pos, "LAB_VALUE", "key", key, "expected", "a text")
	}
	s, err := interpolate(v.scalar)
	if err != nil {
		d.problems = append(d.problems, place(err, v.pos, d.data))
	}
	return Text{Value: s, Pos: v.pos, block: v.block, indent: v.indent}
}

func (d *decoder) set(key string, t *Text) func(*value) {
	return func(v *value) { *t = d.text(key, v) }
}

func (d *decoder) flag(key string, b *bool) func(*value) {
	return func(v *value) {
		switch v.scalar {
		case "true":
			*b = true
		case "false":
			*b = false
		default:
			d.fail(v.pos, "LAB_VALUE", "key", key, "expected", "true or false")
		}
	}
}

// list gives the entries of a list; nothing is an empty list. Anything else would be lost without a word: it is
// refused.
func (d *decoder) list(key, expected string, v *value) []*value {
	if v.kind != listKind && !v.isNull {
		d.fail(v.pos, "LAB_VALUE", "key", key, "expected", expected)
	}
	return v.list
}

func (d *decoder) texts(key string, v *value) []string {
	if v.kind == scalarKind && !v.isNull {
		return []string{d.text(key, v).Value}
	}
	out := []string{}
	for _, e := range d.list(key, "a text or a list of texts", v) {
		out = append(out, d.text(key, e).Value)
	}
	return out
}

func (d *decoder) options(key string, m *map[string]Text) func(*value) {
	return func(v *value) {
		*m = map[string]Text{}
		if v.kind != mapKind && !v.isNull {
			d.fail(v.pos, "LAB_VALUE", "key", key, "expected", "a mapping")
			return
		}
		for _, e := range v.keys {
			t := d.text(key+"."+e.key, e.val)
			t.Pos = e.pos // what is wrong with an option is mostly its name
			(*m)[e.key] = t
		}
	}
}

func (d *decoder) named(where string, v *value, each func(name Text, v *value)) {
	if v.isNull {
		return
	}
	if v.kind != mapKind {
		d.fail(v.pos, "LAB_VALUE", "key", where, "expected", "a mapping of names")
		return
	}
	for _, e := range v.keys {
		each(Text{Value: e.key, Pos: e.pos}, e.val)
	}
}

func (d *decoder) watermark(w **Watermark) func(*value) {
	return func(v *value) {
		*w = &Watermark{}
		d.fields("withWatermark", v, map[string]func(*value){
			"eventTime":      d.set("eventTime", &(*w).Column),
			"delayThreshold": d.set("delayThreshold", &(*w).Delay),
		})
		if (*w).Column.Value == "" || (*w).Delay.Value == "" {
			d.fail(v.pos, "LAB_MISSING_KEY", "key", "eventTime, delayThreshold", "where", "withWatermark")
		}
	}
}

func (d *decoder) root(l *Lab, v *value) {
	d.fields("the lab", v, map[string]func(*value){
		"lab":     func(v *value) { l.Name = d.text("lab", v).Value },
		"about":   func(v *value) { l.About = d.text("about", v).Value },
		"teaches": func(v *value) { l.Teaches = d.text("teaches", v).Value },
		"conf": func(v *value) {
			d.named("conf", v, func(n Text, v *value) { l.Conf[n.Value] = d.text(n.Value, v).Value })
			l.conf = v.keys
		},
		"sources": func(v *value) { d.named("sources", v, func(n Text, v *value) { d.source(l, n, v) }) },
		"views":   func(v *value) { d.named("views", v, func(n Text, v *value) { d.view(l, n, v) }) },
		"tables":  func(v *value) { d.named("tables", v, func(n Text, v *value) { d.table(l, n, v) }) },
		"queries": func(v *value) {
			if v.kind != listKind && !v.isNull {
				d.fail(v.pos, "LAB_VALUE", "key", "queries", "expected", "a list")
				return
			}
			for _, e := range v.list {
				d.query(l, e)
			}
		},
		"steps":  func(v *value) { d.steps(l, v) },
		"lesson": func(v *value) { d.lesson(l, v) },
	})
}

func (d *decoder) source(l *Lab, name Text, v *value) {
	s := Source{Name: name, Share: true, node: v}
	var rowsAt, seedAt errs.Pos
	d.fields("source `"+name.Value+"`", v, map[string]func(*value){
		"format":        d.set("format", &s.Format),
		"schema":        d.set("schema", &s.Schema),
		"path":          d.set("path", &s.Path),
		"options":       d.options("options", &s.Options),
		"withWatermark": d.watermark(&s.Watermark),
		"share":         d.flag("share", &s.Share),
		"rows": func(v *value) {
			rowsAt = v.pos
			for _, batch := range d.list("rows", "a list of micro-batches, each a list of rows", v) {
				var rows [][]any
				for _, row := range d.list("rows", "a list of micro-batches, each a list of rows", batch) {
					rows = append(rows, d.row(row))
				}
				s.Rows = append(s.Rows, rows)
			}
		},
		"table": d.set("table", &s.Table),
		"seed": func(v *value) {
			seedAt = v.pos
			d.seed(&s.Seed)(v)
		},
	})
	if s.Rows != nil && s.Format.Value != "" && !strings.EqualFold(s.Format.Value, "memory") {
		d.fail(rowsAt, "LAB_VALUE", "key", "rows", "expected",
			"left out where the format is `"+s.Format.Value+"`: rows feed a memory source, seed a Kafka source")
	}
	if s.Seed != nil && s.Format.Value != "" && !strings.EqualFold(s.Format.Value, "kafka") {
		d.fail(seedAt, "LAB_VALUE", "key", "seed", "expected",
			"left out where the format is `"+s.Format.Value+"`: seed feeds a Kafka source, rows a memory source")
	}
	if s.Table.Value == "" {
		d.missing(s.Format, name.Pos, "format", "source `"+name.Value+"`")
	}
	l.Sources = append(l.Sources, s)
}

func (d *decoder) row(v *value) []any {
	out := make([]any, 0, len(v.list))
	for _, c := range d.list("rows", "a list of values for each row", v) {
		out = append(out, plain(c))
	}
	return out
}

// plain is a value of inline rows: nil, text, list or map of such. Numbers stay text: the schema decides.
func plain(v *value) any {
	switch v.kind {
	case listKind:
		out := make([]any, 0, len(v.list))
		for _, c := range v.list {
			out = append(out, plain(c))
		}
		return out
	case mapKind:
		m := map[string]any{}
		for _, e := range v.keys {
			m[e.key] = plain(e.val)
		}
		return m
	}
	if v.isNull {
		return nil
	}
	return v.scalar
}

func (d *decoder) view(l *Lab, name Text, v *value) {
	w := View{Name: name, node: v}
	if v.kind == scalarKind {
		w.SQL = d.text("views."+name.Value, v)
		l.Views = append(l.Views, w)
		return
	}
	cols := func(p **[]string, key string) func(*value) {
		return func(v *value) { c := d.texts(key, v); *p = &c }
	}
	d.fields("view `"+name.Value+"`", v, map[string]func(*value){
		"sql":                           d.set("sql", &w.SQL),
		"withWatermark":                 d.watermark(&w.Watermark),
		"dropDuplicates":                cols(&w.DropDuplicates, "dropDuplicates"),
		"dropDuplicatesWithinWatermark": cols(&w.DropDuplicatesWithinWatermark, "dropDuplicatesWithinWatermark"),
	})
	d.missing(w.SQL, name.Pos, "sql", "view `"+name.Value+"`")
	l.Views = append(l.Views, w)
}

func (d *decoder) table(l *Lab, name Text, v *value) {
	t := Table{Name: name, node: v}
	d.fields("table `"+name.Value+"`", v, map[string]func(*value){
		"format":  d.set("format", &t.Format),
		"schema":  d.set("schema", &t.Schema),
		"path":    d.set("path", &t.Path),
		"options": d.options("options", &t.Options),
		"rows": func(v *value) {
			t.Rows = [][]any{}
			for _, row := range d.list("rows", "a list of rows", v) {
				t.Rows = append(t.Rows, d.row(row))
			}
		},
	})
	if t.Format.Value == "" && t.Rows == nil && !d.misspelt("format", "table `"+name.Value+"`") {
		d.fail(name.Pos, "LAB_MISSING_KEY", "key", "format", "where", "table `"+name.Value+"`")
	}
	l.Tables = append(l.Tables, t)
}

func (d *decoder) query(l *Lab, v *value) {
	q := Query{Start: true, Tag: true, Pos: v.pos, node: v}
	d.fields("query", v, map[string]func(*value){
		"queryName": d.set("queryName", &q.Name),
		"sql":       d.set("sql", &q.SQL),
		"from": func(v *value) {
			t := d.text("from", v)
			q.SQL = Text{Value: "SELECT * FROM " + t.Value, Pos: t.Pos}
		},
		"format":      d.set("format", &q.Format),
		"outputMode":  d.set("outputMode", &q.OutputMode),
		"partitionBy": func(v *value) { q.PartitionBy = d.texts("partitionBy", v) },
		"options":     d.options("options", &q.Options),
		"path":        d.set("path", &q.Path),
		"start":       d.flag("start", &q.Start),
		"trigger": func(v *value) {
			if v.kind != mapKind || len(v.keys) != 1 {
				d.fail(v.pos, "LAB_VALUE", "key", "trigger", "expected", "exactly one of processingTime, once, availableNow, continuous, realTime")
				return
			}
			kinds := []string{"processingTime", "once", "availableNow", "continuous", "realTime"}
			e := v.keys[0]
			for _, k := range kinds {
				if e.key == k {
					q.TriggerKind, q.TriggerValue = k, d.text(k, e.val)
					return
				}
			}
			er := errs.New("LAB_UNKNOWN_KEY", "key", e.key, "where", "trigger")
			if n := nearest(e.key, kinds); n != "" {
				er = er.WithHint("Did you mean `" + n + "`?")
			}
			d.problems = append(d.problems, place(er, e.pos, d.data))
		},
		"toTable": func(v *value) { q.ToTable, q.sinkPos = d.text("toTable", v), v.pos },
		"foreachBatch": func(v *value) {
			q.sinkPos = v.pos
			for _, e := range either(v) {
				q.Statements = append(q.Statements, d.statement(e))
			}
			if len(q.Statements) == 0 {
				d.fail(v.pos, "LAB_VALUE", "key", "foreachBatch", "expected", "a list of statements")
			}
		},
		"foreach": func(v *value) {
			q.sinkPos = v.pos
			d.fields("foreach", v, map[string]func(*value){"command": func(v *value) { q.Command = d.texts("command", v) }})
			if len(q.Command) == 0 {
				d.fail(v.pos, "LAB_MISSING_KEY", "key", "command", "where", "foreach")
			}
		},
		"tag": d.flag("tag", &q.Tag),
	})
	d.missing(q.Name, v.pos, "queryName", "query")
	for _, o := range l.Queries {
		if o.Name.Value == q.Name.Value && q.Name.Value != "" {
			d.fail(q.Name.Pos, "QUERY_NAME_ALREADY_ACTIVE", "name", q.Name.Value)
		}
	}
	d.missing(q.SQL, v.pos, "sql or from", "query `"+q.Name.Value+"`")
	sinks := 0
	for _, given := range []bool{q.Statements != nil, q.Command != nil, q.ToTable.Value != "", q.Format.Value != "" && q.ToTable.Value == ""} {
		sinks += btoi(given)
	}
	if sinks > 1 {
		d.fail(q.sinkPos, "LAB_VALUE", "key", "query `"+q.Name.Value+"`", "expected", "a query with one of format, toTable, foreachBatch and foreach")
	}
	l.Queries = append(l.Queries, q)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// statement reads an entry of foreachBatch.
func (d *decoder) statement(v *value) Statement {
	var s Statement
	if v.kind == scalarKind {
		s.SQL = d.text("foreachBatch", v)
		return s
	}
	d.fields("foreachBatch", v, map[string]func(*value){"write": func(v *value) {
		s.Write = true
		d.fields("write", v, map[string]func(*value){
			"sql": d.set("sql", &s.SQL), "format": d.set("format", &s.Format), "mode": d.set("mode", &s.Mode),
			"path": d.set("path", &s.Path), "toTable": d.set("toTable", &s.ToTable), "options": d.options("options", &s.Options),
			"partitionBy": func(v *value) { s.PartitionBy = d.texts("partitionBy", v) },
		})
		if s.Path.Value == "" && s.ToTable.Value == "" {
			d.fail(v.pos, "LAB_MISSING_KEY", "key", "path or toTable", "where", "write")
		}
	}})
	return s
}

// interpolate replaces ${VAR}, ${VAR:-default} and ${file:path}.
func interpolate(s string) (string, *errs.Error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		j := strings.IndexByte(s[i:], '}')
		if j < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		name := s[i+2 : i+j]
		s = s[i+j+1:]
		if path, ok := strings.CutPrefix(name, "file:"); ok {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", errs.Wrap(err, "LAB_VARIABLE", "name", name)
			}
			b.WriteString(strings.TrimRight(string(data), "\r\n"))
			continue
		}
		name, def, hasDefault := strings.Cut(name, ":-")
		v, ok := os.LookupEnv(name)
		switch {
		case ok && (v != "" || !hasDefault):
			b.WriteString(v)
		case hasDefault:
			b.WriteString(def)
		default:
			return "", errs.New("LAB_VARIABLE", "name", name)
		}
	}
}

// nearest is the name with the fewest edits from key, "" if none is near.
func nearest(key string, names []string) string {
	best, least := "", len(key)/2+1
	for _, n := range names {
		if d := edits(strings.ToLower(key), strings.ToLower(n)); d < least || d == least && n < best {
			best, least = n, d
		}
	}
	return best
}

// edits is how many letters have to be written, left out, changed or swapped with their neighbour.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			best := min(cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, rows[i-2][j-2]+1)
			}
			rows[i][j] = best
		}
	}
	return rows[len(a)][len(b)]
}
