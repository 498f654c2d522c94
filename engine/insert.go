package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

func sortRows(rows []uint32) { slices.Sort(rows) }

func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a text always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *Session) insert(ctx context.Context, n *plan.Insert) (*DataFrame, error) {
	in, ok := n.Table.(catalog.Inserter)
	if !ok {
		return nil, errs.New("UNSUPPORTED_INSERT.NOT_ALLOWED", "relationId", n.Name)
	}
	rows, schema, err := s.collect(ctx, plan.Optimize(n.Query))
	if err != nil {
		return nil, err
	}
	parts := []columnar.Partition{columnar.Batches{Name: "insert", List: rows}}
	if !n.Overwrite || n.Replace == nil && n.Dynamic == nil {
		tag, err := s.writeTag()
		if err != nil {
			return nil, err
		}
		if n.Inline && countRows(rows) > 1 {
			parts = halves(rows, schema)
		}
		add := catalog.Insertion{Tag: tag, Rows: parts, Overwrite: n.Overwrite}
		if text := s.conf.Get(keyUserMetadata); text != "" {
			add.Options = map[string]string{"userMetadata": text}
		}
		if err := in.Insert(ctx, add); err != nil {
			return nil, err
		}
		return s.answer(nil, nil)
	}
	if s.whereText != "" {
		n.ReplaceText = s.whereText
	}
	c, err := s.begin(ctx, n.Name, n.Table, catalog.Intent{Operation: "WRITE", Where: plan.Predicates(n.Replace, exprConf(s.conf)), Predicate: n.ReplaceText})
	if err != nil {
		return nil, err
	}
	defer c.tx.Abort()
	if n.IfNotExists {
		old, err := c.collect(ctx, plan.Keep(c.rows(), n.Replace))
		if err != nil || countRows(old) > 0 {
			return s.answer(nil, nil)
		}
	}
	if n.Where {
		if err := c.fits(ctx, rows, schema, n); err != nil {
			return nil, err
		}
	}
	if n.Dynamic != nil {
		err = c.deletePartitions(ctx, n, rows, schema)
	} else {
		_, err = c.deleteWhere(ctx, n.Replace)
	}
	if err != nil {
		return nil, err
	}
	count := c.add("insert", rows)
	c.change("insert", rows, schema)
	if err := c.commit(ctx, map[string]int64{"numOutputRows": count}); err != nil {
		return nil, err
	}
	return s.answer(nil, nil)
}

// halves divides the rows of VALUES as Spark's two tasks do: Delta tables get a file of each, and what later
// statements count in the history depends on it.
func halves(rows []arrow.RecordBatch, schema types.Schema) []columnar.Partition {
	half := int(countRows(rows)) / 2
	at := 0
	first := without(rows, schema, func([]columnar.Vec, int) bool { at++; return at > half })
	at = 0
	second := without(rows, schema, func([]columnar.Vec, int) bool { at++; return at <= half })
	return []columnar.Partition{columnar.Batches{Name: "insert", List: first}, columnar.Batches{Name: "insert", List: second}}
}

// fits checks that new rows satisfy the condition of REPLACE WHERE.
func (c *changing) fits(ctx context.Context, rows []arrow.RecordBatch, schema types.Schema, n *plan.Insert) error {
	kept, err := c.collect(ctx, plan.Keep(inMemory(schema, rows), n.Replace))
	if err != nil {
		return err
	}
	if countRows(kept) != countRows(rows) {
		return errs.New("DELTA_REPLACE_WHERE_MISMATCH", "replaceWhere", n.ReplaceText, "message", "")
	}
	return nil
}

func countRows(rows []arrow.RecordBatch) (n int64) {
	for _, rb := range rows {
		n += rb.NumRows()
	}
	return n
}

// deletePartitions removes the rows of the partitions that new rows are in.
func (c *changing) deletePartitions(ctx context.Context, n *plan.Insert, rows []arrow.RecordBatch, schema types.Schema) error {
	keyOf := func(vs []columnar.Vec, i int) string {
		var k []byte
		for _, at := range n.Dynamic {
			k = expr.EncodeKey(k, &vs[at], i)
		}
		return string(k)
	}
	written := map[string]bool{}
	for _, rb := range rows {
		vs := columnar.Vectors(rb, schema)
		for i := range int(rb.NumRows()) {
			written[keyOf(vs, i)] = true
		}
	}
	all := c.rows()
	old, err := c.collect(ctx, all)
	if err != nil {
		return err
	}
	gone := without(old, all.Schema(), func(vs []columnar.Vec, i int) bool { return !written[keyOf(vs, i)] })
	c.change("delete", gone, all.Schema())
	w := len(c.schema)
	c.remove(gone, all.Schema(), w, w+1)
	return nil
}
