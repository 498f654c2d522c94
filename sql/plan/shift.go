package plan

import (
	"streamlab/sql/expr"
)

// withChildren gives a copy of n over other children of the same schemas; n itself if nothing changed.
func withChildren(n Node, cs []Node) Node {
	old := n.Children()
	same := len(old) == len(cs)
	for i := range cs {
		same = same && old[i] == cs[i]
	}
	if same {
		return n
	}
	switch x := n.(type) {
	case *Project:
		c := *x
		c.Child = cs[0]
		return &c
	case *Filter:
		c := *x
		c.Child = cs[0]
		return &c
	case *Aggregate:
		c := *x
		c.Child = cs[0]
		return &c
	case *Join:
		c := *x
		c.Left, c.Right = cs[0], cs[1]
		return &c
	case *Dedup:
		c := *x
		c.Child = cs[0]
		return &c
	case *Window:
		c := *x
		c.Child = cs[0]
		return &c
	case *TimeWindow:
		c := *x
		c.Child = cs[0]
		return &c
	case *SessionWindow:
		c := *x
		c.Child = cs[0]
		return &c
	case *Watermark:
		c := *x
		c.Child = cs[0]
		return &c
	case *Union:
		c := *x
		c.Inputs = cs
		return &c
	case *Sort:
		c := *x
		c.Child = cs[0]
		return &c
	case *Limit:
		c := *x
		c.Child = cs[0]
		return &c
	case *Generate:
		c := *x
		c.Child = cs[0]
		return &c
	case *Expand:
		c := *x
		c.Child = cs[0]
		return &c
	case *SetOp:
		c := *x
		c.Left, c.Right = cs[0], cs[1]
		return &c
	case *Sample:
		c := *x
		c.Child = cs[0]
		return &c
	case *Observe:
		c := *x
		c.Child = cs[0]
		return &c
	case *SingleRow:
		c := *x
		c.Child = cs[0]
		return &c
	case *MapGroups:
		return x.with(cs)
	case *Insert:
		c := *x
		c.Query = cs[0]
		return &c
	case *Merge:
		c := *x
		c.Source = cs[0]
		return &c
	}
	return n
}

// mapExprs gives a copy of n whose own expressions are rewritten by f. right tells f that an expression is
// bound to the right side of a join (its keys only).
func mapExprs(n Node, f func(e expr.Expr, right bool) expr.Expr) Node {
	one := func(e expr.Expr) expr.Expr {
		if e == nil {
			return nil
		}
		return f(e, false)
	}
	list := func(es []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(es))
		for i, e := range es {
			out[i] = one(e)
		}
		return out
	}
	orders := func(os []Ordering) []Ordering {
		out := append([]Ordering{}, os...)
		for i := range out {
			out[i].Child = one(out[i].Child)
		}
		return out
	}
	switch x := n.(type) {
	case *Project:
		c := *x
		c.Exprs = list(x.Exprs)
		return &c
	case *Filter:
		c := *x
		c.Cond = one(x.Cond)
		return &c
	case *Aggregate:
		c := *x
		c.Keys = list(x.Keys)
		c.Calls = make([]*expr.AggregateCall, len(x.Calls))
		for i, k := range x.Calls {
			d := *k
			d.Args, d.Filter = list(k.Args), one(k.Filter)
			c.Calls[i] = &d
		}
		return &c
	case *Observe:
		c := *x
		c.Calls = make([]*expr.AggregateCall, len(x.Calls))
		for i, k := range x.Calls {
			d := *k
			d.Args = list(k.Args)
			c.Calls[i] = &d
		}
		return &c
	case *Join:
		c := *x
		c.LeftKeys = list(x.LeftKeys)
		c.RightKeys = make([]expr.Expr, len(x.RightKeys))
		for i, e := range x.RightKeys {
			c.RightKeys[i] = f(e, true)
		}
		c.Residual = one(x.Residual)
		return &c
	case *Window:
		c := *x
		c.Partition, c.Order = list(x.Partition), orders(x.Order)
		c.Calls = make([]*WindowCall, len(x.Calls))
		for i, w := range x.Calls {
			d := *w
			d.Args, d.Partition, d.Order = list(w.Args), list(w.Partition), orders(w.Order)
			if w.Aggregate != nil {
				g := *w.Aggregate
				g.Args, g.Filter = list(g.Args), one(g.Filter)
				d.Aggregate = &g
			}
			c.Calls[i] = &d
		}
		return &c
	case *TimeWindow:
		c := *x
		c.Time = one(x.Time)
		return &c
	case *SessionWindow:
		c := *x
		c.Time, c.Gap = one(x.Time), one(x.Gap)
		return &c
	case *Sort:
		c := *x
		c.Orders = orders(x.Orders)
		return &c
	case *Generate:
		c := *x
		c.Args = list(x.Args)
		return &c
	case *Expand:
		c := *x
		c.Projections = make([][]expr.Expr, len(x.Projections))
		for i, p := range x.Projections {
			c.Projections[i] = list(p)
		}
		return &c
	}
	return n
}

// nodeExprs lists the expressions of a node itself.
func nodeExprs(n Node) []expr.Expr {
	var out []expr.Expr
	mapExprs(n, func(e expr.Expr, _ bool) expr.Expr {
		out = append(out, e)
		return e
	})
	return out
}

// mapOuter rewrites the references to the query around in a whole plan.
func mapOuter(n Node, f func(*outerRef) expr.Expr) Node {
	cs := n.Children()
	if len(cs) > 0 {
		out := make([]Node, len(cs))
		for i, c := range cs {
			out[i] = mapOuter(c, f)
		}
		n = withChildren(n, out)
	}
	if !ownOuter(n) {
		return n
	}
	return mapExprs(n, func(e expr.Expr, _ bool) expr.Expr {
		return transform(e, func(x expr.Expr) expr.Expr {
			if o, ok := x.(*outerRef); ok {
				return f(o)
			}
			return x
		})
	})
}

func ownOuter(n Node) bool {
	for _, e := range nodeExprs(n) {
		if hasOuter(e) {
			return true
		}
	}
	return false
}

func nodeHasOuter(n Node) bool {
	if ownOuter(n) {
		return true
	}
	for _, c := range n.Children() {
		if nodeHasOuter(c) {
			return true
		}
	}
	return false
}
