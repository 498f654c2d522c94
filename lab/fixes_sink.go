package lab

import (
	"fmt"
	"strings"

	"streamlab/engine"
	"streamlab/sql"
	"streamlab/sql/types"
)

// watermark marks a column of a source or view as the event time.
func (t *site) watermark(name, column string) []Edit {
	text := "{eventTime: " + yamlText(column) + ", delayThreshold: 10 seconds}"
	if s := t.source(name); s != nil {
		return t.p.setKey(s.node, "withWatermark", text)
	}
	v := t.view(name)
	if v == nil {
		return nil
	}
	if v.node.kind == mapKind {
		return t.p.setKey(v.node, "withWatermark", text)
	}
	views, ok := t.l.root.entry("views")
	if !ok {
		return nil
	}
	if views.val.flow || !v.node.block {
		return t.p.setKey(views.val, v.Name.Value, "{sql: "+yamlText(strings.TrimRight(v.SQL.Value, "\n"))+", withWatermark: "+text+"}")
	}
	e, _ := views.val.entry(v.Name.Value)
	in := strings.Repeat(" ", t.p.column(t.p.offset(e.pos))+2)
	body := strings.ReplaceAll(strings.TrimRight(v.SQL.Value, "\n"), "\n", "\n"+in+"  ")
	return t.p.setKey(views.val, v.Name.Value, "\n"+in+"sql: |\n"+in+"  "+body+"\n"+in+"withWatermark: "+text)
}

// addWatermark gives a relation that the query reads an event time; both sides of a join get one.
func addWatermark() recipe {
	return recipe{"add a watermark", "", func(t *site) (out []candidate) {
		var both []func(*site) []Edit
		for _, name := range t.reads() {
			if t.table(name) != nil {
				continue
			}
			for _, f := range t.columns(name) {
				if f.Type.Kind != types.Timestamp || f.DelayMicros > 0 {
					continue
				}
				out = append(out, candidate{"withWatermark: {eventTime: " + f.Name + ", delayThreshold: 10 seconds}", t.watermark(name, f.Name)})
			}
			if col, marked := t.timeOf(name); col != "" && !marked && t.source(name) != nil {
				both = append(both, func(t *site) []Edit { return t.watermark(name, col) })
			}
		}
		if len(both) > 1 {
			out = append(out, candidate{"withWatermark on every source", t.sequence(both...)})
		}
		return out
	}}
}

// dropWatermark takes a watermark away from a source or view.
func dropWatermark() recipe {
	return recipe{"keep one watermark", "", func(t *site) (out []candidate) {
		for _, name := range t.reads() {
			var m *value
			if s := t.source(name); s != nil {
				m = s.node
			} else if v := t.view(name); v != nil {
				m = v.node
			}
			if e := t.p.dropKey(m, "withWatermark"); e != nil {
				out = append(out, candidate{"that of " + name + " is left out", e})
			}
		}
		return out
	}}
}

// makeTimestamp declares a column of a source as a TIMESTAMP.
func makeTimestamp() recipe {
	return recipe{"declare it as TIMESTAMP", "", func(t *site) (out []candidate) {
		for i := range t.l.Sources {
			s := &t.l.Sources[i]
			name := strings.Trim(t.e.Params["eventName"], "`\"")
			fields := types.Schema{}
			if parsed, err := types.ParseDDL(s.Schema.Value); err == nil {
				fields = parsed
			}
			if f := fields.Index(name); f >= 0 {
				fields[f].Type = types.DataType{Kind: types.Timestamp}
				out = append(out, candidate{name + " TIMESTAMP", t.p.setScalar(s.node, "schema", ddl(fields))})
			}
		}
		return out
	}}
}

// useSink writes to another kind of sink, and in another mode if one is given.
func useSink(title, format, mode, explain string) recipe {
	return one(title, explain, func(t *site) []Edit {
		if t.q == nil || strings.EqualFold(t.q.Format.Value, format) {
			return nil
		}
		var steps []func(*site) []Edit
		key := func(k, v string) { steps = append(steps, func(t *site) []Edit { return t.p.setKey(t.q.node, k, v) }) }
		drop := func(k string) {
			steps = append(steps, maybe(func(t *site) []Edit { return t.p.dropKey(t.q.node, k) }))
		}
		drop("toTable")
		drop("foreach")
		key("format", format)
		if format == "console" || format == "memory" {
			drop("path")
			drop("options")
			drop("partitionBy")
		} else if t.q.Path.Value == "" && t.q.Options["path"].Value == "" {
			key("path", "out/"+slug(t.q.Name.Value))
		}
		if mode != "" {
			key("outputMode", mode)
		}
		return t.sequence(steps...)
	})
}

// perBatch moves the query into foreachBatch, where a micro-batch is a finite table: everything SQL can do is
// allowed there, of the rows of one micro-batch.
func perBatch(explain string) recipe {
	return recipe{"do it in each micro-batch", explain, func(t *site) (out []candidate) {
		if t.q == nil {
			return nil
		}
		for _, c := range t.clauses() {
			var stream string
			n := 0
			for _, name := range t.reads() {
				if s := t.source(name); s != nil || t.view(name) != nil && t.streams(name) {
					for _, k := range c.tok {
						if strings.EqualFold(k.Text, name) {
							stream, n = name, n+1
							break
						}
					}
				}
			}
			if n != 1 {
				continue
			}
			text := c.text
			for i := len(c.tok) - 1; i >= 0; i-- {
				k := c.tok[i]
				if (k.Kind == sql.Word || k.Kind == sql.Quoted) && strings.EqualFold(k.Text, stream) {
					text = text[:k.Start] + "batch" + text[k.End:]
				}
			}
			text = strings.Join(strings.Fields(text), " ")
			if t.q.Statements != nil {
				out = append(out, candidate{"the statements read its rows of one micro-batch", t.inStatements(stream, text)})
				continue
			}
			write := "format: delta, mode: append, path: out/" + slug(t.q.Name.Value)
			path := t.q.Path.Value
			if path == "" {
				path = t.q.Options["path"].Value
			}
			switch f := strings.ToLower(t.q.Format.Value); {
			case t.q.ToTable.Value != "":
				write = "mode: append, toTable: " + yamlText(t.q.ToTable.Value)
			case path != "" && (f == "delta" || f == "parquet" || f == "json" || f == "csv"):
				write = "format: " + f + ", mode: append, path: " + yamlText(path)
			}
			statement := "[{write: {sql: " + yamlText(text) + ", " + write + "}}]"
			drop := func(k string) func(*site) []Edit {
				return maybe(func(t *site) []Edit { return t.p.dropKey(t.q.node, k) })
			}
			e := t.sequence(func(t *site) []Edit {
				if _, ok := t.q.node.entry("sql"); ok {
					return t.p.setScalar(t.q.node, "sql", "SELECT * FROM "+types.QuoteIfNeeded(stream))
				}
				return t.p.setScalar(t.q.node, "from", stream)
			}, drop("format"), drop("path"), drop("toTable"), drop("foreach"), drop("partitionBy"), drop("outputMode"),
				maybe(func(t *site) []Edit {
					o, ok := t.q.node.entry("options")
					if ok && len(o.val.keys) == 1 && o.val.keys[0].key == "path" {
						return t.p.dropKey(t.q.node, "options")
					}
					return t.p.dropKey(o.val, "path")
				}),
				func(t *site) []Edit { return t.p.addKey(t.q.node, "foreachBatch", statement) })
			out = append(out, candidate{"", e})
		}
		return out
	}}
}

// inStatements lets the statements of foreachBatch read the rows of a query over `batch`, where they read `batch`,
// which then has the rows of the stream.
func (t *site) inStatements(stream, query string) []Edit {
	list := make([]string, len(t.q.Statements))
	for i, s := range t.q.Statements {
		if s.Write {
			return nil
		}
		text := s.SQL.Value
		tok := sql.Lex(text)
		for k := len(tok) - 1; k > 0; k-- {
			if !strings.EqualFold(tok[k].Text, "batch") || tok[k+1].Text == "." {
				continue
			}
			switch tok[k-1].Upper {
			case "FROM", "JOIN", "USING":
				text = text[:tok[k].Start] + "(" + query + ") batch" + text[tok[k].End:]
			}
		}
		list[i] = yamlText(strings.Join(strings.Fields(text), " "))
	}
	return t.sequence(func(t *site) []Edit {
		if _, ok := t.q.node.entry("sql"); ok {
			return t.p.setScalar(t.q.node, "sql", "SELECT * FROM "+types.QuoteIfNeeded(stream))
		}
		return t.p.setScalar(t.q.node, "from", stream)
	}, maybe(func(t *site) []Edit { return t.p.dropKey(t.q.node, "outputMode") }),
		func(t *site) []Edit { return t.p.setKey(t.q.node, "foreachBatch", "["+strings.Join(list, ", ")+"]") })
}

// streams tells whether a relation is a stream.
func (t *site) streams(name string) bool {
	s := t.asker()
	if s == nil {
		return false
	}
	df, err := s.SQL(t.ctx, "SELECT * FROM "+types.QuoteIfNeeded(name))
	return err == nil && df.IsStreaming()
}

// readAsTable makes a source that the query reads a static table.
func readAsTable() recipe {
	return recipe{"read it as a table", "", func(t *site) (out []candidate) {
		for _, name := range t.reads() {
			s := t.source(name)
			if s == nil || len(t.l.Sources) < 2 {
				continue
			}
			text := tableOf(s)
			if text == "" {
				continue
			}
			e := t.sequence(func(t *site) []Edit {
				sources, _ := t.l.root.entry("sources")
				return t.p.dropKey(sources.val, s.Name.Value)
			}, func(t *site) []Edit { return t.put("tables", s.Name.Value, text) })
			out = append(out, candidate{s.Name.Value + " is read anew in every micro-batch", e})
		}
		return out
	}}
}

// tableOf is a source as an entry of `tables`; "" where there is no such table.
func tableOf(s *Source) string {
	part := func(key string, v Text) string {
		if v.Value == "" {
			return ""
		}
		return ", " + key + ": " + yamlText(v.Value)
	}
	options := ""
	for k, v := range s.Options {
		if strings.HasPrefix(strings.ToLower(k), "max") || strings.EqualFold(k, "startingOffsets") {
			continue
		}
		options += ", " + yamlText(k) + ": " + yamlText(v.Value)
	}
	if options != "" {
		options = ", options: {" + options[2:] + "}"
	}
	switch f := strings.ToLower(s.Format.Value); f {
	case "json", "csv", "text", "parquet", "delta", "kafka":
		return "{format: " + f + part("schema", s.Schema) + part("path", s.Path) + options + "}"
	case "memory":
		var rows []string
		for _, batch := range s.Rows {
			for _, r := range batch {
				rows = append(rows, inlineYAML(any(r)))
			}
		}
		return "{schema: " + yamlText(s.Schema.Value) + ", rows: [" + strings.Join(rows, ", ") + "]}"
	}
	return ""
}

// inlineYAML writes a value of inline rows.
func inlineYAML(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case []any:
		out := make([]string, len(x))
		for i, e := range x {
			out[i] = inlineYAML(e)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]any:
		var out []string
		for k, e := range x {
			out = append(out, yamlText(k)+": "+inlineYAML(e))
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return yamlText(fmt.Sprint(v))
}

// put adds an entry to a section of the lab, and the section if it is missing.
func (t *site) put(section, key, text string) []Edit {
	if e, ok := t.l.root.entry(section); ok && len(e.val.keys) > 0 {
		return t.p.setKey(e.val, key, text)
	}
	if t.l.root.flow {
		return t.p.addKey(t.l.root, section, "{"+key+": "+text+"}")
	}
	return t.p.addKey(t.l.root, section, "\n  "+key+": "+text)
}

// setConf sets a session setting in the lab.
func setConf(title, key, value, explain string) recipe {
	return one(title, explain, func(t *site) []Edit { return t.put("conf", key, value) })
}

// upsert merges each micro-batch into the table that the query writes.
func upsert() recipe {
	return one("merge each micro-batch into the table", "update mode with MERGE: a row takes the place of the one with its key", func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		s := t.asker()
		if s == nil {
			return nil
		}
		df, err := s.SQL(t.ctx, t.q.SQL.Value)
		if err != nil {
			return nil
		}
		keys := df.KeyColumns()
		if len(keys) == 0 {
			return nil
		}
		var on []string
		for _, k := range keys {
			k = types.QuoteIfNeeded(k)
			on = append(on, "t."+k+" <=> b."+k)
		}
		table := t.q.ToTable.Value
		if table == "" {
			table = strings.ReplaceAll(slug(t.q.Name.Value), "-", "_") + "_table"
		}
		path := t.q.Path.Value
		if path == "" {
			path = t.q.Options["path"].Value
		}
		entry := "{format: delta, schema: " + yamlText(ddl(df.Schema()))
		if path != "" && t.q.ToTable.Value == "" {
			entry += ", path: " + yamlText(path)
		}
		merge := "MERGE INTO " + types.QuoteIfNeeded(table) + " t USING batch b ON " + strings.Join(on, " AND ") +
			" WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
		drop := func(k string) func(*site) []Edit {
			return maybe(func(t *site) []Edit { return t.p.dropKey(t.q.node, k) })
		}
		return t.sequence(drop("format"), drop("path"), drop("toTable"), drop("partitionBy"),
			func(t *site) []Edit { return t.p.setKey(t.q.node, "outputMode", "update") },
			maybe(func(t *site) []Edit {
				o, ok := t.q.node.entry("options")
				if ok && len(o.val.keys) == 1 && o.val.keys[0].key == "path" {
					return t.p.dropKey(t.q.node, "options")
				}
				return t.p.dropKey(o.val, "path")
			}),
			func(t *site) []Edit { return t.p.addKey(t.q.node, "foreachBatch", "["+yamlText(merge)+"]") },
			func(t *site) []Edit { return t.put("tables", table, entry+"}") })
	})
}

// useTrigger writes another trigger.
func useTrigger(kind, value, explain string) recipe {
	return one("use the trigger "+kind, explain, func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		return t.p.setKey(t.q.node, "trigger", "{"+kind+": "+value+"}")
	})
}

// sameTrigger keeps the kind of the trigger and gives it another value.
func sameTrigger(value, explain string) recipe {
	return one("use "+value, explain, func(t *site) []Edit {
		if t.q == nil || t.q.TriggerKind == "" {
			return nil
		}
		return t.p.setKey(t.q.node, "trigger", "{"+t.q.TriggerKind+": "+value+"}")
	})
}

// dropQueryKey takes a key of the query away.
func dropQueryKey(key, explain string) recipe {
	return one("leave "+key+" out", explain, func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		return t.p.dropKey(t.q.node, key)
	})
}

// dropOption takes an option of the query away.
func dropOption(explain string, names ...string) recipe {
	return one("leave "+names[0]+" out", explain, func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		o, ok := t.q.node.entry("options")
		if !ok {
			return nil
		}
		var steps []func(*site) []Edit
		left := len(o.val.keys)
		for _, k := range o.val.keys {
			for _, n := range names {
				if strings.EqualFold(k.key, n) {
					left--
					steps = append(steps, func(t *site) []Edit {
						o, _ := t.q.node.entry("options")
						return t.p.dropKey(o.val, k.key)
					})
				}
			}
		}
		if left == 0 {
			return t.p.dropKey(t.q.node, "options")
		}
		return t.sequence(steps...)
	})
}

// setQueryKey writes a key of the query.
func setQueryKey(title, key string, value func(t *site) string, explain string) recipe {
	return one(title, explain, func(t *site) []Edit {
		if t.q == nil {
			return nil
		}
		v := value(t)
		if v == "" {
			return nil
		}
		return t.p.setKey(t.q.node, key, v)
	})
}

// nearestKey writes the key that there is for one that there is not.
func nearestKey() recipe {
	return recipe{"write the key that there is", "", func(t *site) []candidate {
		n := hinted(t.e.Hint)
		if n == "" {
			return nil
		}
		return []candidate{{n, t.p.rename(t.e.Pos, n)}}
	}}
}

// hinted is the name that a hint proposes: Did you mean `name`?
func hinted(hint string) string {
	_, rest, ok := strings.Cut(hint, "`")
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, "`")
	if !ok {
		return ""
	}
	return name
}

// nearestFormat writes the format that there is.
func nearestFormat() recipe {
	return recipe{"write the format that there is", "", func(t *site) (out []candidate) {
		f := engine.AllFormats()
		sources, _, sinks := f.Names()
		if t.q != nil {
			for _, n := range append([]string{nearest(t.q.Format.Value, sinks)}, "parquet", "console") {
				if n != "" {
					out = append(out, candidate{n, t.p.setKey(t.q.node, "format", n)})
				}
			}
			return out
		}
		for i := range t.l.Sources {
			if s := &t.l.Sources[i]; s.Format.Pos == t.e.Pos || s.Name.Pos == t.e.Pos {
				if n := nearest(s.Format.Value, sources); n != "" {
					out = append(out, candidate{n, t.p.setKey(s.node, "format", n)})
				}
			}
		}
		return out
	}}
}
