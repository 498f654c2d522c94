package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"streamlab/engine"
)

// options gives the options of a map, with the player's places put in; compat asks for Spark's exact ways.
func (p *player) options(m doc) map[string]string {
	out := map[string]string{}
	for _, e := range asMap(get(m, "options")) {
		out[fmt.Sprint(e.Key)] = p.here(str(e.Value))
	}
	if get(p.scenario, "compat") == true {
		out["sparkCompat"] = "true"
	}
	return out
}

// read gives the DataFrame of a source.
func (p *player) read(ctx context.Context, s *engine.Session, name string, src doc) (*engine.DataFrame, error) {
	format := str(get(src, "format"))
	if format == "" {
		format = "json"
	}
	static := get(src, "static") == true
	if has(src, "table") {
		return p.readTable(ctx, s, str(get(src, "table")), static, p.options(src))
	}
	path := p.here(str(get(src, "path")))
	if !has(src, "path") && slices.Contains([]string{"json", "csv", "text"}, format) {
		path = filepath.Join(p.work, "in", name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, err
		}
		if static {
			if err := p.writeRows(name, src, get(src, "rows"), 0); err != nil {
				return nil, err
			}
		}
	}
	if static {
		r := s.Read().Format(format).Options(p.options(src))
		if ddl := str(get(src, "schema")); ddl != "" {
			r = r.Schema(ddl)
		}
		df := r.Load(ctx, path)
		return df, df.Err()
	}
	r := s.ReadStream().Format(format).Options(p.options(src))
	if ddl := str(get(src, "schema")); ddl != "" {
		r = r.Schema(ddl)
	}
	var df *engine.DataFrame
	if path != "" {
		df = r.Load(path)
	} else {
		df = r.Load()
	}
	return df, df.Err()
}

// define registers the sources and the views, in order.
func (p *player) define(ctx context.Context) error {
	s := p.session
	for _, e := range asMap(get(p.scenario, "sources")) {
		name, src := fmt.Sprint(e.Key), asMap(e.Value)
		df, err := p.read(ctx, s, name, src)
		if err != nil {
			return err
		}
		if sel := texts(get(src, "select")); sel != nil {
			df = df.SelectExpr(sel...)
		}
		if w := asMap(get(src, "watermark")); w != nil {
			df = df.WithWatermark(str(get(w, "column")), str(get(w, "delay")))
		}
		if err := df.CreateOrReplaceTempView(name); err != nil {
			return err
		}
	}
	for _, e := range asMap(get(p.scenario, "views")) {
		name := fmt.Sprint(e.Key)
		var df *engine.DataFrame
		var err error
		view := asMap(e.Value)
		switch {
		case view == nil:
			df, err = s.SQL(ctx, p.here(str(e.Value)))
		case has(view, "from"):
			df, err = s.Table(str(get(view, "from")))
		default:
			df, err = s.SQL(ctx, p.here(str(get(view, "sql"))))
		}
		if err != nil {
			return err
		}
		if w := asMap(get(view, "watermark")); w != nil {
			df = df.WithWatermark(str(get(w, "column")), str(get(w, "delay")))
		}
		if has(view, "dropDuplicates") {
			df = df.DropDuplicates(texts(get(view, "dropDuplicates"))...)
		}
		if has(view, "dropDuplicatesWithinWatermark") {
			df = df.DropDuplicatesWithinWatermark(texts(get(view, "dropDuplicatesWithinWatermark"))...)
		}
		if err := df.CreateOrReplaceTempView(name); err != nil {
			return err
		}
	}
	return nil
}
