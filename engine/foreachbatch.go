package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// A Statement is one step of a foreachBatch in SQL: a text that reads the view `batch`, or a write of a
// query's rows. The text may hold the marker :batch_id; an option may hold the word :batch_id.
type Statement struct {
	SQL string // the statement; with Write, the query whose rows are written ("" is SELECT * FROM batch)

	Write *StatementWrite     // nil: SQL is run as it stands
	Conf  map[string]string   // settings that hold from this statement on, within the micro-batch
	Only  func(id int64) bool // nil: in every micro-batch
}

// StatementWrite is a DataFrameWriter in words.
type StatementWrite struct {
	Format, Mode string
	Path         string // or
	Table        string // a name of the catalog
	Options      map[string]string
	PartitionBy  []string
}

// ForeachBatch calls f with every micro-batch, also with empty ones. batch is a finite DataFrame of a session
// of its own, whose temporary views end with the call; its rows are computed once, before the call, however
// often f reads them. f is called again with the same id after a crash: at least once, unless f makes use of
// the id. An error ends the query; one that is no condition arrives as FOREACH_BATCH_USER_FUNCTION_ERROR.
func (w *DataStreamWriter) ForeachBatch(f func(ctx context.Context, batch *DataFrame, id int64) error) *DataStreamWriter {
	if f == nil {
		w.err = errs.New("NULL_FUNCTION", "name", "foreachBatch")
		return w
	}
	return w.EachBatch(func(ctx context.Context, b sinks.Batch) error {
		df, err := w.d.s.batchFrame(ctx, b)
		if err != nil {
			return err
		}
		return f(ctx, df, b.ID)
	})
}

// batchFrame reads a micro-batch and makes it the view `batch` of a child session.
func (s *Session) batchFrame(ctx context.Context, b sinks.Batch) (*DataFrame, error) {
	var rows []arrow.RecordBatch
	for _, p := range b.Parts {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return nil, err
			}
			if rb.NumRows() > 0 {
				rows = append(rows, rb)
			}
		}
	}
	return s.child().over("batch", &catalog.Memory{S: b.Schema, List: columnar.Batches{Name: fmt.Sprintf("batch %d", b.ID), List: rows}})
}

// over names a table as a temporary view and gives it as a DataFrame.
func (s *Session) over(name string, t catalog.Table) (*DataFrame, error) {
	in := catalog.New(nil)
	in.Register(name, catalog.Relation{Table: t})
	n, err := plan.AnalyzeText("SELECT * FROM "+quoteName(name), in, planConf(s.conf))
	if err != nil {
		return nil, err
	}
	s.catalog.Register(name, catalog.Relation{View: &catalog.View{Plan: n}})
	return &DataFrame{s: s, node: n}, nil
}

// Session is the session that the DataFrame belongs to: that of the query, or the child session of a
// foreachBatch call.
func (d *DataFrame) Session() *Session { return d.s }

// ForeachBatchSQL runs statements, in order, for every micro-batch over the view `batch`. With tag, every
// write carries the tag (query id and position, batch id): formats that keep tags (Delta) then skip what an
// interrupted try of the same micro-batch has applied already. An error ends the query and names the
// statement.
func (w *DataStreamWriter) ForeachBatchSQL(list []Statement, tag bool) *DataStreamWriter {
	w.statements = list
	return w.EachBatch(func(ctx context.Context, b sinks.Batch) error {
		df, err := w.d.s.batchFrame(ctx, b)
		if err != nil {
			return err
		}
		for i, st := range list {
			if st.Only != nil && !st.Only(b.ID) {
				continue
			}
			df.s.tag = catalog.Tag{}
			if tag {
				df.s.tag = catalog.Tag{App: fmt.Sprintf("%s/%d", b.QueryID, i), Version: b.ID}
			}
			if err := st.Run(ctx, df.s, b.ID); err != nil {
				return fmt.Errorf("statement %d of foreachBatch: %w", i+1, err)
			}
		}
		return nil
	})
}

// Run carries out one statement in the session of a foreachBatch call.
func (st Statement) Run(ctx context.Context, s *Session, id int64) error {
	word := func(v string) string { return strings.ReplaceAll(v, ":batch_id", fmt.Sprint(id)) }
	for k, v := range st.Conf {
		if err := s.conf.Set(k, word(v)); err != nil {
			return err
		}
	}
	text := st.SQL
	if text == "" {
		if st.Write == nil {
			return nil
		}
		text = "SELECT * FROM batch"
	}
	df, err := s.Script(ctx, text, Params{Named: map[string]any{"batch_id": id}})
	if err != nil || st.Write == nil {
		return err
	}
	o := st.Write
	w := df.Write().Mode(o.Mode).PartitionBy(o.PartitionBy...)
	if o.Format != "" {
		w = w.Format(o.Format)
	}
	for k, v := range o.Options {
		w = w.Option(k, word(v))
	}
	if o.Table != "" {
		return w.SaveAsTable(ctx, o.Table)
	}
	return w.Save(ctx, o.Path)
}

// checkStatements analyses the statements against the query's schema and carries nothing out. What follows a
// statement that changes the catalog is only parsed.
func (s *Session) checkStatements(list []Statement, schema types.Schema) error {
	c, changed := s.child(), false
	if _, err := c.over("batch", &catalog.Memory{S: schema}); err != nil {
		return err
	}
	for i, st := range list {
		if st.SQL == "" {
			continue
		}
		stmts, err := parseOptions(c.conf).Parse(st.SQL)
		if err == nil {
			for _, x := range stmts {
				switch x.(type) {
				case *sql.Query, *sql.Insert, *sql.Merge, *sql.Update, *sql.Delete:
				default:
					changed = true
				}
				if changed {
					break
				}
				if err = c.check(x, st.SQL, Params{Named: map[string]any{"batch_id": int64(0)}}); err != nil {
					break
				}
			}
		}
		if err != nil {
			return fmt.Errorf("statement %d of foreachBatch: %w", i+1, err)
		}
	}
	return nil
}

// check analyses a statement and carries nothing out.
func (s *Session) check(st sql.Statement, text string, params Params) error {
	conf, err := params.conf(planConf(s.conf))
	if err != nil {
		return err
	}
	conf.Text = text
	_, err = plan.Analyze(st, s.catalog, conf)
	return err
}
