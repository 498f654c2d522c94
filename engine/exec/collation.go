package exec

import (
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// byCollationKeys rewrites a grouping of static rows by texts whose collation is not UTF8_BINARY: rows are grouped
// by the keys of the collation, and a group shows the text of its first row. Nil if there is no such key.
func byCollationKeys(x *plan.Aggregate, c expr.Conf) (plan.Node, error) {
	var firsts []*expr.AggregateCall
	inner := &plan.Aggregate{Child: x.Child, Session: x.Session}
	n := len(x.Keys)
	out := make([]expr.Expr, len(x.Out))
	for i, k := range x.Keys {
		t := k.Type()
		if expr.BinaryComparable(t) {
			inner.Keys = append(inner.Keys, k)
			out[i] = &expr.Column{Index: i, Field: x.Out[i]}
			continue
		}
		if t.Kind != types.String {
			return nil, refuse("grouping by " + t.SQL())
		}
		inner.Keys = append(inner.Keys, expr.CollationKey(k))
		first, err := expr.BuildAggregate(&expr.Call{Name: "first", Args: []expr.Expr{k}, Conf: c})
		if err != nil {
			return nil, err
		}
		out[i] = &expr.Column{Index: n + len(x.Calls) + len(firsts), Field: x.Out[i]}
		firsts = append(firsts, first)
	}
	if firsts == nil {
		return nil, nil
	}
	for i, k := range inner.Keys {
		f := x.Out[i]
		f.Type, f.Nullable = k.Type(), k.Nullable()
		inner.Out = append(inner.Out, f)
	}
	inner.Calls = append(append([]*expr.AggregateCall{}, x.Calls...), firsts...)
	for i := range x.Calls {
		f := x.Out[n+i]
		inner.Out = append(inner.Out, f)
		out[n+i] = &expr.Column{Index: n + i, Field: f}
	}
	for _, f := range firsts {
		inner.Out = append(inner.Out, types.Field{Name: f.String(), Type: f.Type(), Nullable: true})
	}
	return &plan.Project{Child: inner, Exprs: out, Out: x.Out}, nil
}
