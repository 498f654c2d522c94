package exec

import (
	"context"
	"strings"

	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// versionOf gives a function that tells whether the rows of a static plan are those of an earlier batch, as a
// text that is equal then; nil if that cannot be told: a table without versions, an expression that is new in
// every batch.
func versionOf(n plan.Node) func(ctx context.Context) (string, error) {
	var tables []catalog.Versioned
	if !versioned(n, &tables) {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		var b strings.Builder
		for _, t := range tables {
			v, err := t.Version(ctx)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
			b.WriteByte(0)
		}
		return b.String(), nil
	}
}

func versioned(n plan.Node, tables *[]catalog.Versioned) bool {
	var es []expr.Expr
	switch x := n.(type) {
	case *plan.Scan:
		t, ok := x.Table.(catalog.Versioned)
		if !ok {
			return false
		}
		*tables = append(*tables, t)
	case *plan.Values, *plan.OneRow, *plan.Range, *plan.Union, *plan.Dedup:
	case *plan.Project:
		es = x.Exprs
	case *plan.Filter:
		es = []expr.Expr{x.Cond}
	case *plan.Aggregate:
		es = append(es, x.Keys...)
		for _, c := range x.Calls {
			es = append(append(es, c.Args...), c.Filter)
		}
	default:
		return false
	}
	for _, e := range es {
		if !lasting(e) {
			return false
		}
	}
	for _, c := range n.Children() {
		if !versioned(c, tables) {
			return false
		}
	}
	return true
}

// lasting reports that an expression has the same value in every batch.
func lasting(e expr.Expr) bool {
	if e == nil {
		return true
	}
	ok := expr.Deterministic(e)
	expr.Walk(e, func(x expr.Expr) bool {
		s, isScalar := x.(*expr.Scalar)
		ok = ok && !(isScalar && s.PerBatch)
		return ok
	})
	return ok
}
