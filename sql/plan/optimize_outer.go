package plan

import (
	"streamlab/sql/expr"
)

// eliminateOuterJoin makes an outer join an inner one, or a full one a left or right one, where the filter above
// takes none of the rows that it fills with nulls (Spark's EliminateOuterJoin).
func eliminateOuterJoin(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	j, ok := f.Child.(*Join)
	if !ok || j.subquery || j.Kind != LeftOuter && j.Kind != RightOuter && j.Kind != FullOuter {
		return n
	}
	w := len(j.Left.Schema())
	var left, right bool // rows with nulls for the side are not taken
	for _, c := range expr.Conjuncts(f.Cond) {
		for _, e := range append(NotNullColumns(c), c) {
			switch side(e, w) {
			case leftSide:
				left = left || rejectsNulls(e)
			case rightSide:
				right = right || rejectsNulls(e)
			}
		}
	}
	kind := j.Kind
	switch {
	case kind == FullOuter && left && right, kind == LeftOuter && right, kind == RightOuter && left:
		kind = Inner
	case kind == FullOuter && left:
		kind = LeftOuter
	case kind == FullOuter && right:
		kind = RightOuter
	default:
		return n
	}
	c := *j
	c.Kind = kind
	return &Filter{Child: &c, Cond: f.Cond}
}

// rejectsNulls reports that a condition is not true when all of its columns are null.
func rejectsNulls(e expr.Expr) bool {
	if !expr.Deterministic(e) {
		return false
	}
	nulls := transform(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			return expr.NullLit(c.Field.Type)
		}
		return x
	})
	l, err := expr.Const(nulls, expr.Conf{ANSI: true})
	return err == nil && l != nil && (l.Value.IsNull(0) || !l.Value.Bool(0))
}
