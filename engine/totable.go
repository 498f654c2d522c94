package engine

import (
	"context"
	"os"
	"strings"

	"streamlab/errs"
	"streamlab/sinks/foreach"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// Foreach gives the rows to a fresh writer for every partition of every micro-batch: at least once. Errors
// of a writer that are no conditions arrive as FOREACH_USER_FUNCTION_ERROR.
func (w *DataStreamWriter) Foreach(make func() foreach.Writer) *DataStreamWriter {
	if make == nil {
		w.err = errs.New("NULL_FUNCTION", "name", "foreach")
		return w
	}
	return w.Sink(foreach.New(make), "ForeachWriterTable")
}

// ForeachCommand is Foreach with a process for every partition, see foreach.Command. What the processes
// print goes to the session's output.
func (w *DataStreamWriter) ForeachCommand(argv ...string) *DataStreamWriter {
	if len(argv) == 0 || w.d.err != nil {
		w.err = errs.New("NULL_FUNCTION", "name", "foreach")
		return w
	}
	return w.Foreach(foreach.Command(argv, w.d.s.dir, w.d.node.Schema(), w.d.s.console(w.name)))
}

// ToTable writes to a table of the catalog. A table that is missing is created with the writer's format and
// partitioning, the query's columns made nullable, and the option `path` as its location. Errors at Start:
// _LEGACY_ERROR_TEMP_1190 for a view, _LEGACY_ERROR_TEMP_1192 for another format than the table's.
func (w *DataStreamWriter) ToTable(name string) *DataStreamWriter { w.table = name; return w }

// resolveTable finds the table of ToTable, or plans its creation.
func (p *prepared) resolveTable() error {
	w := p.w
	r, ok := p.s.catalog.Lookup(w.table)
	if !ok {
		p.create = true
		return nil
	}
	if r.Table == nil {
		return errs.New("_LEGACY_ERROR_TEMP_1190", "viewName", quoteName(w.table))
	}
	d := catalog.DefinitionOf(r.Table)
	if d.Location == "" || d.Provider == "" {
		return errs.New("UNSUPPORTED_FEATURE", "feature", "The table `"+w.table+"` as the target of a stream")
	}
	if w.format != "" && !strings.EqualFold(w.format, d.Provider) {
		return errs.New("_LEGACY_ERROR_TEMP_1192", "tableName", quoteName(w.table), "provider", d.Provider, "source", w.format)
	}
	f, err := p.s.formats.sink(d.Provider)
	if err != nil {
		return err
	}
	p.format, p.path, p.partitionBy = f, d.Location, d.PartitionBy
	return nil
}

// createTable makes the table of ToTable when the query starts.
func (p *prepared) createTable() error {
	w := p.w
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quoteName(w.table) + " (")
	for i, f := range w.d.node.Schema() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(types.QuoteIfNeeded(f.Name) + " " + f.Type.SQL())
	}
	b.WriteString(") USING " + p.format.Name)
	if len(w.partitionBy) > 0 {
		b.WriteString(" PARTITIONED BY (" + quoteNames(w.partitionBy) + ")")
	}
	if path, ok := w.options.Get("path"); ok {
		b.WriteString(" LOCATION " + quoteText(p.s.path(path)))
	}
	if _, err := p.s.SQL(context.Background(), b.String()); err != nil {
		return err
	}
	p.create = false
	if err := p.resolveTable(); err != nil {
		return err
	}
	return os.MkdirAll(p.path, 0o755)
}
