package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
)

// Where HAVING needs an aggregate or a grouping column that the select list lacks, Spark computes it beside the
// list and drops it again with a projection. ORDER BY then stands over that projection: it reaches the select
// list and the grouping columns, but no aggregate.

// beyondItems reports whether a condition holds aggregates or grouping columns that are no items of the select
// list.
func (b *block) beyondItems(cond expr.Expr, keys map[string]int) bool {
	found := false
	expr.Walk(cond, func(e expr.Expr) bool {
		if found || b.isItem(e) {
			return false
		}
		_, key := keys[identity(e)]
		_, call := e.(*expr.AggregateCall)
		found = key || call
		return !found
	})
	return found
}

// orderOverItems refuses aggregates in ORDER BY.
func (b *block) orderOverItems(keys map[string]int) {
	for i, o := range b.sort {
		if at, ok := b.sortAt[i].(sql.Expr); b.orderAll || !ok {
			continue
		} else if _, ordinal := b.a.ordinal(at, "spark.sql.orderByOrdinal"); ordinal {
			continue
		}
		expr.Walk(o.Child, func(e expr.Expr) bool {
			if _, alias := e.(*named); alias && b.isItem(e) {
				return false
			}
			c, ok := e.(*expr.AggregateCall)
			if !ok {
				return true
			}
			columnsIn(c, func(col *expr.Column) {
				if _, key := keys[identity(col)]; !key && !b.isItem(col) {
					b.a.failWith(b.a.spans[col], unresolvedColumn([]string{col.Field.Name}, b.outputColumns()))
				}
			})
			b.a.fail(b.orderAt, "UNSUPPORTED_EXPR_FOR_OPERATOR", "invalidExprSqls", `"`+c.String()+`"`)
			return false
		})
	}
}

// outputColumns are the items as columns that errors propose: plain ones keep the name of their relation.
func (b *block) outputColumns() []column {
	var out []column
	for i, it := range b.items {
		c := column{name: it.name, index: i}
		if col, plain := it.e.(*expr.Column); plain && !it.aliased {
			for _, k := range b.sc.cols {
				if k.index == col.Index && strings.EqualFold(k.name, it.name) {
					c.qual = k.qual
				}
			}
		}
		out = append(out, c)
	}
	return out
}
