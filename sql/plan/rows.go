package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// columns collects constants into vectors.
type columnsOfRows struct {
	vecs []*columnar.Vec
	app  []*expr.Appender
}

func newColumns(ts []types.DataType) *columnsOfRows {
	c := &columnsOfRows{}
	for _, t := range ts {
		v := columnar.NewVec(t, 0)
		c.vecs = append(c.vecs, v)
		c.app = append(c.app, expr.NewAppender(v))
	}
	return c
}

func (c *columnsOfRows) append(col int, l *expr.Literal) {
	if l.Value.IsNull(0) {
		c.app[col].AppendNull()
		return
	}
	c.app[col].Append(l.Value, 0)
}

func (c *columnsOfRows) batches(s types.Schema, n int) []arrow.RecordBatch {
	for _, a := range c.app {
		a.Finish()
	}
	return []arrow.RecordBatch{columnar.RecordOf(s, c.vecs, columnar.AllRows(n))}
}
