package engine

import (
	"context"
	"fmt"
	"strings"

	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// DataStreamReader describes a streaming source, as Spark's does.
type DataStreamReader struct {
	s       *Session
	format  string
	name    string
	schema  types.Schema
	options sources.Options
	err     error
}

// ReadStream begins the description of a streaming source.
func (s *Session) ReadStream() *DataStreamReader {
	return &DataStreamReader{s: s, format: "parquet", options: sources.Options{}}
}

// Format names the kind of source.
func (r *DataStreamReader) Format(name string) *DataStreamReader { r.format = name; return r }

// Named gives the source a name for messages; it defaults to the format.
func (r *DataStreamReader) Named(name string) *DataStreamReader { r.name = name; return r }

// Schema sets the columns as DDL.
func (r *DataStreamReader) Schema(ddl string) *DataStreamReader {
	s, err := types.ParseDDL(ddl)
	if err != nil && r.err == nil {
		r.err = err
	}
	r.schema = s
	return r
}

// Option sets an option; value is printed with %v.
func (r *DataStreamReader) Option(name string, value any) *DataStreamReader {
	r.options[name] = fmt.Sprint(value)
	return r
}

// Options sets several options.
func (r *DataStreamReader) Options(m map[string]string) *DataStreamReader {
	for k, v := range m {
		r.options[k] = v
	}
	return r
}

// opening is what a catalog.Stream of this engine carries: how a query opens the source for itself.
type opening struct {
	format string
	def    sources.Def
	shared *sources.Shared // set by ShareReads; nil: every query reads for itself
	open   func(sources.Def) (sources.Source, error)
}

// Load gives the stream as a DataFrame. The source is opened anew by every query that uses it. Errors:
// DATA_SOURCE_NOT_FOUND, the format's own.
func (r *DataStreamReader) Load(path ...string) *DataFrame {
	d := &DataFrame{s: r.s, err: r.err}
	if d.err != nil {
		return d
	}
	st, err := r.stream(path...)
	if err != nil {
		d.err = err
		return d
	}
	c := catalog.New(nil)
	c.Register("__source__", catalog.Relation{Stream: st})
	d.node, d.err = plan.AnalyzeText("SELECT * FROM __source__", c, planConf(r.s.conf))
	return d
}

// Register gives the stream a name of the session's catalog and returns it as a DataFrame.
func (r *DataStreamReader) Register(name string, path ...string) *DataFrame {
	if r.name == "" {
		r.name = name
	}
	if r.err != nil {
		return &DataFrame{s: r.s, err: r.err}
	}
	st, err := r.stream(path...)
	if err != nil {
		return &DataFrame{s: r.s, err: err}
	}
	r.s.catalog.Register(name, catalog.Relation{Stream: st})
	df, err := r.s.Table(name)
	if err != nil {
		return &DataFrame{s: r.s, err: err}
	}
	return df
}

// Check finds what Load lets pass, as Spark does: options that the format does not know, and those of file
// sources with bad values, which end the query. Labs are checked with it.
func (r *DataStreamReader) Check(path ...string) error {
	if r.err != nil {
		return r.err
	}
	f, err := r.s.formats.source(r.format)
	if err != nil {
		return err
	}
	if err := checkOptions(f.Options, r.options, r.format); err != nil || f.Check == nil {
		return err
	}
	return f.Check(r.def(f, path...))
}

func (r *DataStreamReader) def(f SourceFormat, path ...string) sources.Def {
	conf := r.s.conf.clone()
	def := sources.Def{Format: f.Name, Schema: r.schema, Options: r.options, Conf: conf.Get, Now: r.s.now, Zone: conf.zone()}
	p, _ := r.options.Get("path")
	if len(path) > 0 {
		p = path[0]
	}
	if f.Path {
		def.Path = r.s.path(p)
	}
	return def
}

func (r *DataStreamReader) stream(path ...string) (*catalog.Stream, error) {
	f, err := r.s.formats.source(r.format)
	if err != nil {
		if errs.Has(err, "_LEGACY_ERROR_TEMP_2049") && r.schema != nil && r.s.formats.isSink(r.format) {
			return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", r.format)
		}
		return nil, err
	}
	def := r.def(f, path...)
	open := &opening{format: f.Name, def: def, open: f.New}
	src, err := f.New(def)
	if err != nil {
		return nil, err
	}
	schema := src.Schema()
	var hidden types.Schema
	if h, ok := src.(catalog.Hider); ok {
		hidden = h.Hidden()
	}
	if err := src.Close(); err != nil {
		return nil, err
	}
	name := r.name
	if name == "" {
		name = f.Name
	}
	st := catalog.NewStream(r.s.streamIDs.Add(1), name, f.Name, schema, open)
	st.Hidden = hidden
	return st, nil
}

// DataFrameReader describes a static table.
type DataFrameReader struct {
	s       *Session
	format  string
	schema  types.Schema
	options sources.Options
	err     error
}

// Read begins the description of a static table.
func (s *Session) Read() *DataFrameReader {
	return &DataFrameReader{s: s, format: "parquet", options: sources.Options{}}
}

// Format names the kind of table.
func (r *DataFrameReader) Format(name string) *DataFrameReader { r.format = name; return r }

// Schema sets the columns as DDL.
func (r *DataFrameReader) Schema(ddl string) *DataFrameReader {
	s, err := types.ParseDDL(ddl)
	if err != nil && r.err == nil {
		r.err = err
	}
	r.schema = s
	return r
}

// Option sets an option; value is printed with %v.
func (r *DataFrameReader) Option(name string, value any) *DataFrameReader {
	r.options[name] = fmt.Sprint(value)
	return r
}

// Options sets several options.
func (r *DataFrameReader) Options(m map[string]string) *DataFrameReader {
	for k, v := range m {
		r.options[k] = v
	}
	return r
}

// Table opens the table without giving it a name.
func (r *DataFrameReader) Table(ctx context.Context, path ...string) (catalog.Table, error) {
	if r.err != nil {
		return nil, r.err
	}
	if t, ok, err := r.stateFormat(ctx, path...); ok {
		return t, err
	}
	f, err := r.s.formats.table(r.format)
	if err != nil {
		return nil, err
	}
	p, _ := r.options.Get("path")
	if len(path) > 0 {
		p = path[0]
	}
	conf := r.s.conf.clone()
	return f.Table(ctx, sources.Def{Format: f.Name, Path: r.s.path(p), Schema: r.schema, Options: r.options,
		Conf: conf.Get, Now: r.s.now, Zone: conf.zone()})
}

// Load gives the table as a DataFrame.
func (r *DataFrameReader) Load(ctx context.Context, path ...string) *DataFrame {
	t, err := r.Table(ctx, path...)
	if err != nil {
		return &DataFrame{s: r.s, err: err}
	}
	c := catalog.New(nil)
	c.Register("__table__", catalog.Relation{Table: t})
	n, err := plan.AnalyzeText("SELECT * FROM __table__", c, planConf(r.s.conf))
	return &DataFrame{s: r.s, node: n, err: err}
}

// checkOptions refuses an option the format does not have: UNKNOWN_OPTION with the nearest name.
func checkOptions(known []sources.OptionDoc, given sources.Options, format string) error {
	if known == nil {
		return nil
	}
	for name := range given {
		if strings.EqualFold(format, "kafka") && len(name) > 6 && strings.EqualFold(name[:6], "kafka.") {
			continue // the client's own settings
		}
		best, ok := nearestOption(known, name)
		if !ok {
			e := errs.New("UNKNOWN_OPTION", "option", name, "format", format)
			if best != "" {
				e = e.WithHint("Did you mean `" + best + "`?")
			}
			return e
		}
	}
	return nil
}
