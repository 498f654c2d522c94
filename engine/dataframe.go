package engine

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// DataFrame is a relation of a session: static, or a stream. It is immutable; every method gives a new
// one. Column arguments are SQL text, as in Spark's selectExpr. A DataFrame keeps its first error, and the
// call that ends the chain returns it, so chains stay chains.
type DataFrame struct {
	s    *Session
	node plan.Node
	err  error
}

func (d *DataFrame) with(f func(n plan.Node) (plan.Node, error)) *DataFrame {
	if d.err != nil {
		return d
	}
	n, err := f(d.node)
	return &DataFrame{s: d.s, node: n, err: err}
}

// Err is the first error of the chain; nil if there is none.
func (d *DataFrame) Err() error { return d.err }

// Schema is the columns; nil if the chain has an error.
func (d *DataFrame) Schema() types.Schema {
	if d.err != nil {
		return nil
	}
	return d.node.Schema()
}

// Plan is the analysed plan; nil if the chain has an error.
func (d *DataFrame) Plan() plan.Node { return d.node }

// IsStreaming says whether any source of it is a stream.
func (d *DataFrame) IsStreaming() bool { return d.err == nil && d.node.Streaming() }

// WithWatermark says that column is the event time and that rows may be late by at most delay.
func (d *DataFrame) WithWatermark(column, delay string) *DataFrame {
	return d.with(func(n plan.Node) (plan.Node, error) { return plan.WithWatermark(n, column, delay) })
}

// DropDuplicates keeps the first row of each value of the columns; none is all columns.
func (d *DataFrame) DropDuplicates(columns ...string) *DataFrame {
	return d.with(func(n plan.Node) (plan.Node, error) { return plan.DropDuplicates(n, columns) })
}

// DropDuplicatesWithinWatermark is DropDuplicates whose memory ends with the watermark.
func (d *DataFrame) DropDuplicatesWithinWatermark(columns ...string) *DataFrame {
	return d.with(func(n plan.Node) (plan.Node, error) { return plan.DropDuplicatesWithinWatermark(n, columns) })
}

// SelectExpr computes columns.
func (d *DataFrame) SelectExpr(exprs ...string) *DataFrame {
	return d.over("SELECT " + strings.Join(exprs, ", ") + " FROM __this__")
}

// Where keeps the rows for which condition holds.
func (d *DataFrame) Where(condition string) *DataFrame {
	return d.over("SELECT * FROM __this__ WHERE " + condition)
}

// GroupBy begins an aggregation by the key expressions.
func (d *DataFrame) GroupBy(keys ...string) *GroupedData { return &GroupedData{d, keys} }

// GroupedData is an aggregation that lacks its aggregates.
type GroupedData struct {
	d    *DataFrame
	keys []string
}

// Agg computes aggregates per group; the result has the keys first.
func (g *GroupedData) Agg(exprs ...string) *DataFrame {
	text := "SELECT " + strings.Join(append(append([]string{}, g.keys...), exprs...), ", ") + " FROM __this__"
	if len(g.keys) > 0 {
		text += " GROUP BY " + strings.Join(g.keys, ", ")
	}
	return g.d.over(text)
}

// over analyses SQL in which __this__ stands for d.
func (d *DataFrame) over(text string) *DataFrame {
	return d.with(func(n plan.Node) (plan.Node, error) {
		c := catalog.New(d.s.catalog)
		c.Register("__this__", catalog.Relation{View: &catalog.View{Plan: n}})
		return plan.AnalyzeText(text, c, planConf(d.s.conf))
	})
}

// CreateOrReplaceTempView gives the DataFrame a name in the session's catalog.
func (d *DataFrame) CreateOrReplaceTempView(name string) error {
	if d.err != nil {
		return d.err
	}
	d.s.catalog.Register(name, catalog.Relation{View: &catalog.View{Plan: d.node}})
	return nil
}

// Collect runs a static DataFrame and gives its rows as record batches. A stream is refused:
// _LEGACY_ERROR_TEMP_3102.
func (d *DataFrame) Collect(ctx context.Context) ([]arrow.RecordBatch, types.Schema, error) {
	if d.err != nil {
		return nil, nil, d.err
	}
	if d.node.Streaming() {
		return nil, nil, errs.New("_LEGACY_ERROR_TEMP_3102", "msg",
			"A query that reads a stream is started with writeStream; it has no finite answer.")
	}
	return d.s.collect(ctx, plan.Optimize(d.node))
}

// WriteStream begins a streaming query over the DataFrame.
func (d *DataFrame) WriteStream() *DataStreamWriter {
	return &DataStreamWriter{d: d, options: map[string]string{}}
}

func quoteName(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = types.QuoteIfNeeded(p)
	}
	return strings.Join(parts, ".")
}

func (s *Session) run(ctx context.Context, st sql.Statement, text string, params Params) (*DataFrame, error) {
	conf, err := params.conf(planConf(s.conf))
	if err != nil {
		return nil, err
	}
	conf.Text = text
	return s.analysed(ctx, st, conf)
}

// Explain is the plan as lines of text; the error's text if the chain has one.
func (d *DataFrame) Explain() string {
	if d.err != nil {
		return d.err.Error()
	}
	return plan.Explain(plan.Optimize(d.node))
}
