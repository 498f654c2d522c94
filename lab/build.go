package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"sort"
	"strings"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sql/catalog"
)

// build makes a session of a lab: settings, sources, tables and views registered in it. Problems are
// gathered, each at its place; broken holds the names whose definition failed.
// dry says that nothing may be written: tables that the lab would make are stood in for by empty ones.
func (l *Lab) build(ctx context.Context, c engine.Config, dry bool) (s *engine.Session, broken broken, problems []error) {
	broken = map[string]bool{}
	report := func(err error, pos errs.Pos) {
		if err != nil {
			problems = append(problems, l.locate(err, pos))
		}
	}
	define := func(name Text, err error, pos errs.Pos) {
		if err == nil {
			return
		}
		if !broken.explains(err) {
			report(err, pos)
		}
		broken[name.Value] = true
	}
	c.Dir = l.Dir
	if _, set := l.Conf["streamlab.memory.resume"]; !set && c.Conf["streamlab.memory.resume"] == "" {
		conf := map[string]string{"streamlab.memory.resume": "true"}
		for k, v := range c.Conf {
			conf[k] = v
		}
		c.Conf = conf
	}
	session, err := engine.NewSession(c)
	if err != nil {
		return nil, broken, []error{err}
	}
	for _, e := range l.conf {
		if _, over := c.Conf[e.key]; over {
			continue // a flag wins over the file
		}
		report(session.Conf().Set(e.key, l.Conf[e.key]), e.pos)
	}
	for _, t := range l.Tables {
		made, err := l.makeTable(ctx, session, t, dry)
		if err == nil && !made && t.keepsItself() {
			broken[t.Name.Value] = true // its first writer makes it
			continue
		}
		if err == nil && !made {
			err = l.addTable(ctx, session, t)
		}
		define(t.Name, err, t.Name.Pos)
	}
	for _, s := range l.Sources {
		define(s.Name, l.addSource(session, s, dry), s.Name.Pos)
	}
	for _, v := range l.Views {
		define(v.Name, l.addView(ctx, session, v), v.SQL.Pos)
	}
	return session, broken, problems
}

// broken is a set of names of a lab whose definition failed.
type broken map[string]bool

// explains tells whether err only says that a broken name does not exist: the mistake is in its definition,
// and was told there.
func (b broken) explains(err error) bool {
	e := errs.As(err)
	return e != nil && e.Condition == "TABLE_OR_VIEW_NOT_FOUND" && b[strings.Trim(e.Params["relationName"], "`")]
}

func plainOptions(m map[string]Text) map[string]string {
	out := make(map[string]string, len(m))
	for k, t := range m {
		out[k] = t.Value
	}
	return out
}

func (l *Lab) addSource(s *engine.Session, src Source, dry bool) error {
	if src.Table.Value != "" {
		return l.addTableSource(s, src, dry)
	}
	r := s.ReadStream().Format(src.Format.Value).Named(src.Name.Value).Options(plainOptions(src.Options))
	if src.Schema.Value != "" {
		r = r.Schema(src.Schema.Value)
	}
	if _, set := src.Options["maxPushesPerTrigger"]; src.Rows != nil && !set {
		r = r.Option("maxPushesPerTrigger", 1) // the file lists micro-batches
	}
	var path []string
	if src.Path.Value != "" {
		path = []string{src.Path.Value}
	}
	df := r.Register(src.Name.Value, path...)
	err := df.Err()
	if err == nil {
		err = r.Check(path...)
	}
	if err != nil {
		e := errs.As(err)
		if e != nil && !e.Pos.IsZero() && e.Pos.File == "" && src.Schema.Value != "" {
			return l.locateText(err, src.Schema)
		}
		for k, t := range src.Options {
			if e != nil && e.Params["option"] == k {
				return l.locate(err, t.Pos)
			}
		}
		if errs.Has(err, "PATH_NOT_FOUND") { // options have no say where `path` is set
			if at := src.Path.Pos; !at.IsZero() {
				return l.locate(err, at)
			}
			for k, t := range src.Options {
				if strings.EqualFold(k, "path") {
					return l.locate(err, t.Pos)
				}
			}
		}
		if src.Format.Value != "" && (errs.Has(err, "DATA_SOURCE_NOT_FOUND") || errs.Has(err, "UNSUPPORTED_FEATURE")) {
			return l.locate(err, src.Format.Pos)
		}
		return err
	}
	for _, batch := range src.Rows {
		if err := s.Feed(src.Name.Value, batch); err != nil {
			return err
		}
	}
	if src.Watermark != nil {
		df = df.WithWatermark(src.Watermark.Column.Value, src.Watermark.Delay.Value)
		if err := df.Err(); err != nil {
			return l.locate(err, src.Watermark.Column.Pos)
		}
		return df.CreateOrReplaceTempView(src.Name.Value)
	}
	return nil
}

func (l *Lab) addTable(ctx context.Context, s *engine.Session, t Table) error {
	if t.Rows != nil {
		table, err := s.InlineTable(t.Schema.Value, t.Rows)
		if e := errs.As(err); e != nil && !e.Pos.IsZero() {
			return l.locateText(err, t.Schema)
		}
		if err != nil {
			return err
		}
		s.Catalog().Register(t.Name.Value, catalog.Relation{Table: table})
		return nil
	}
	r := s.Read().Format(t.Format.Value).Options(plainOptions(t.Options))
	if t.Schema.Value != "" {
		r = r.Schema(t.Schema.Value)
	}
	var path []string
	if t.Path.Value != "" {
		path = []string{t.Path.Value}
	}
	table, err := r.Table(ctx, path...)
	if e := errs.As(err); e != nil && !e.Pos.IsZero() && e.Pos.File == "" && t.Schema.Value != "" {
		return l.locateText(err, t.Schema)
	}
	if err != nil {
		return err
	}
	s.Catalog().Register(t.Name.Value, catalog.Relation{Table: table})
	return nil
}

func (l *Lab) addView(ctx context.Context, s *engine.Session, v View) error {
	df, err := s.SQL(ctx, v.SQL.Value)
	if err != nil {
		return l.locateText(err, v.SQL)
	}
	if v.Watermark != nil {
		df = df.WithWatermark(v.Watermark.Column.Value, v.Watermark.Delay.Value)
		if df.Err() != nil {
			return l.locate(df.Err(), v.Watermark.Column.Pos)
		}
	}
	if v.DropDuplicates != nil {
		df = df.DropDuplicates(*v.DropDuplicates...)
	}
	if v.DropDuplicatesWithinWatermark != nil {
		df = df.DropDuplicatesWithinWatermark(*v.DropDuplicatesWithinWatermark...)
	}
	return df.CreateOrReplaceTempView(v.Name.Value)
}

// writer describes the query to the session.
func (l *Lab) writer(ctx context.Context, s *engine.Session, q Query) (*engine.DataStreamWriter, string, error) {
	df, err := s.SQL(ctx, q.SQL.Value)
	if err != nil {
		return nil, "", l.locateText(err, q.SQL)
	}
	opts := plainOptions(q.Options)
	w := df.WriteStream().Format(q.Format.Value).OutputMode(q.OutputMode.Value).QueryName(q.Name.Value).PartitionBy(q.PartitionBy...)
	if q.TriggerKind != "" {
		t, err := engine.ParseTrigger(q.TriggerKind, q.TriggerValue.Value)
		if err != nil {
			return nil, "", l.locate(err, q.TriggerValue.Pos)
		}
		w = w.Trigger(t)
	}
	if _, ok := opts["checkpointLocation"]; !ok && !q.temporary() {
		opts["checkpointLocation"] = l.checkpointOf(s, q)
	}
	switch {
	case q.Statements != nil:
		w = w.ForeachBatchSQL(q.statements(), q.Tag)
	case q.Command != nil:
		w = w.ForeachCommand(q.Command...)
	}
	return w.Options(opts), q.Path.Value, nil
}

// statements puts the entries of foreachBatch as the engine takes them.
func (q Query) statements() []engine.Statement {
	out := make([]engine.Statement, len(q.Statements))
	for i, s := range q.Statements {
		out[i].SQL = s.SQL.Value
		if s.Write {
			out[i].Write = &engine.StatementWrite{Format: s.Format.Value, Mode: s.Mode.Value, Path: s.Path.Value,
				Table: s.ToTable.Value, Options: plainOptions(s.Options), PartitionBy: s.PartitionBy}
		}
	}
	return out
}

// temporary tells whether the query may run on a checkpoint that is thrown away.
func (q Query) temporary() bool {
	if q.Statements != nil || q.Command != nil || q.ToTable.Value != "" {
		return false
	}
	switch strings.ToLower(q.Format.Value) {
	case "console", "memory", "noop":
		return true
	}
	return false
}

// checkpointOf is where a query of the lab keeps its checkpoint: the option, else a folder of the workspace
// named after the query and a hash of lab and query; "" for a temporary one.
func (l *Lab) checkpointOf(s *engine.Session, q Query) string {
	if t, ok := q.Options["checkpointLocation"]; ok {
		if filepath.IsAbs(t.Value) {
			return t.Value
		}
		return filepath.Join(l.Dir, t.Value)
	}
	if q.temporary() {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(l.File + "\x00" + q.Name.Value))
	return filepath.Join(s.Workspace(), "checkpoints", fmt.Sprintf("%s-%08x", slug(q.Name.Value), h.Sum32()))
}

func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// locate places an error that has no place yet.
func (l *Lab) locate(err error, pos errs.Pos) error {
	e := errs.As(err)
	if e == nil {
		return fmt.Errorf("%s: %w", pos, err)
	}
	if !e.Pos.IsZero() && e.Pos.File != "" {
		return err
	}
	c := *e
	c.Pos, c.Excerpt = errs.Pos{}, "" // a place in a text of its own, such as a schema, is none in the file
	return place(&c, pos, l.data)
}

// locateText shifts a place inside SQL to the file. In a literal block the line and column are exact; in
// other texts the place is the start of the value.
func (l *Lab) locateText(err error, t Text) error {
	e := errs.As(err)
	if e == nil || e.Pos.IsZero() || e.Pos.File != "" {
		return l.locate(err, t.Pos)
	}
	pos := t.Pos
	c := *e
	c.Excerpt = ""
	if t.block {
		pos.Line += e.Pos.Line - 1
		pos.Col = t.indent + e.Pos.Col
		pos.Length = e.Pos.Length
	} else if e.Pos.Line == 1 && pos.Length >= len(t.Value) {
		pos.Col += e.Pos.Col - 1
		pos.Length = e.Pos.Length
	}
	c.Pos = errs.Pos{}
	return place(&c, pos, l.data)
}

// Check finds what is wrong with a lab without starting anything: bad SQL, modes that do not fit, unknown
// options, two queries with one checkpoint. The errors come in file order.
func Check(ctx context.Context, l *Lab, c engine.Config) []*errs.Error {
	var out []*errs.Error
	for _, p := range l.examine(ctx, c, nil) {
		out = append(out, p.Error)
	}
	return out
}

// examine is Check with the query that each error is about, and with a verdict of each query unless verdicts
// is nil.
func (l *Lab) examine(ctx context.Context, c engine.Config, verdicts *[]Verdict) []Problem {
	s, broken, problems := l.build(ctx, c, true)
	var out []Problem
	add := func(err error, query string) {
		if e := errs.As(err); e != nil {
			out = append(out, Problem{Error: e, Query: query})
		} else {
			out = append(out, Problem{Error: errs.Wrap(err, "INTERNAL_ERROR", "message", err.Error()), Query: query})
		}
	}
	for _, p := range problems {
		add(p, "")
	}
	if s != nil {
		defer s.Close()
		l.checkSteps(func(err error, pos errs.Pos) { add(l.locate(err, pos), "") })
		used := map[string]string{}
		for _, q := range l.Queries {
			w, path, err := l.writer(ctx, s, q)
			if err == nil && q.ToTable.Value != "" {
				path = q.ToTable.Value
				if f := l.formatOf(q.ToTable.Value); f != "" && q.Format.Value == "" {
					w = w.Format(f)
				}
			}
			if verdicts != nil {
				*verdicts = append(*verdicts, q.verdict(w, err))
			}
			if err == nil {
				err = w.Check(pathOf(path)...)
			}
			if err != nil && !broken.explains(err) && !l.showsRefusal(q.Name.Value) {
				add(l.locate(err, l.blame(q, err)), q.Name.Value)
			}
			if cp := l.checkpointOf(s, q); cp != "" {
				if first, ok := used[cp]; ok {
					add(l.locate(errs.New("LAB_CHECKPOINT_SHARED", "first", first, "second", q.Name.Value), q.Name.Pos), q.Name.Value)
				}
				used[cp] = q.Name.Value
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Pos.Line < out[j].Pos.Line })
	return out
}

// blame is the key of a query that an error is about.
func (l *Lab) blame(q Query, err error) errs.Pos {
	e := errs.As(err)
	if e == nil {
		return q.Name.Pos
	}
	if q.Statements != nil {
		if at, ok := l.statementOf(q, err); ok {
			return at
		}
	}
	switch {
	case strings.HasPrefix(e.Condition, "STREAMING_OUTPUT_MODE") && !q.OutputMode.Pos.IsZero():
		return q.OutputMode.Pos
	case (e.Condition == "DATA_SOURCE_NOT_FOUND" || e.Condition == "UNSUPPORTED_FEATURE") && !q.Format.Pos.IsZero():
		return q.Format.Pos
	case e.Condition == "UNKNOWN_OPTION":
		if t, ok := q.Options[e.Params["option"]]; ok {
			return t.Pos
		}
	case strings.HasPrefix(e.Condition, "INVALID_INTERVAL_FORMAT"):
		return q.TriggerValue.Pos
	}
	return q.Name.Pos
}

// statementOf is the place of the entry of foreachBatch that an error names.
func (l *Lab) statementOf(q Query, err error) (errs.Pos, bool) {
	var n int
	if _, scan := fmt.Sscanf(err.Error(), "statement %d of foreachBatch", &n); scan != nil || n < 1 || n > len(q.Statements) {
		return errs.Pos{}, false
	}
	return q.Statements[n-1].SQL.Pos, true
}

func pathOf(p string) []string {
	if p == "" {
		return nil
	}
	return []string{p}
}

// Problems turns the error of Load into a list; nil if err is nil.
func Problems(err error) []*errs.Error {
	if err == nil {
		return nil
	}
	var out []*errs.Error
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			out = append(out, Problems(e)...)
		}
		return out
	}
	var e *errs.Error
	if errors.As(err, &e) {
		return []*errs.Error{e}
	}
	return []*errs.Error{errs.Wrap(err, "INTERNAL_ERROR", "message", err.Error())}
}
