package plan

import (
	"streamlab/sql/expr"
)

// A rule rewrites a node whose children are rewritten already; it returns the node itself where it does not
// apply. Rules never change the schema of a node.
type rule struct {
	name  string
	apply func(Node) Node
}

// rules run together until nothing changes.
var rules = []rule{
	{"CombineFilters", combineFilters},
	{"PushFilterThroughProject", pushThroughProject},
	{"PushFilterThroughUnary", pushThroughUnary},
	{"PushFilterThroughUnion", pushThroughUnion},
	{"PushFilterIntoJoin", pushIntoJoin},
	{"EliminateOuterJoin", eliminateOuterJoin},
	{"PushConditionIntoSides", pushConditionIntoSides},
	{"CombineProjects", combineProjects},
	{"RemoveNoopProject", removeNoopProject},
}

// maxRounds bounds the fixed point; plans need two or three.
const maxRounds = 30

// Optimize rewrites an analysed plan: filters move towards the sources (not past what defines an event time
// that they read), conditions that equalities imply are added, unused columns are dropped. Constants are
// folded when expressions are compiled.
func Optimize(n Node) Node {
	n = rewrite(n, streamingExcept)
	n = fixedPoint(n)
	n = rewrite(n, inferConditions)
	n = fixedPoint(n)
	n = pruneAll(n)
	return fixedPoint(n)
}

func fixedPoint(n Node) Node {
	for range maxRounds {
		changed := false
		n = rewrite(n, func(x Node) Node {
			for _, r := range rules {
				if y := r.apply(x); y != x {
					changed, x = true, y
				}
			}
			return x
		})
		if !changed {
			break
		}
	}
	return n
}

// rewrite applies f from the leaves up.
func rewrite(n Node, f func(Node) Node) Node {
	cs := n.Children()
	if len(cs) == 0 {
		return f(n)
	}
	out := make([]Node, len(cs))
	for i, c := range cs {
		out[i] = rewrite(c, f)
	}
	return f(withChildren(n, out))
}

// streamingExcept turns EXCEPT over a stream into what Spark makes of it: distinct rows of an anti join.
func streamingExcept(n Node) Node {
	s, ok := n.(*SetOp)
	if !ok || !s.Except || s.All || !s.Streaming() {
		return n
	}
	j := &Join{Kind: LeftAnti, Left: s.Left, Right: s.Right, Out: joinSchema(LeftAnti, s.Left, s.Right)}
	j.LeftKeys, j.RightKeys = allColumns(s.Left), allColumns(s.Right)
	for range j.LeftKeys {
		j.NullSafe = append(j.NullSafe, true)
	}
	return distinct(j)
}

func combineFilters(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	g, ok := f.Child.(*Filter)
	if !ok || !expr.Deterministic(f.Cond) || !expr.Deterministic(g.Cond) {
		return n
	}
	return &Filter{Child: g.Child, Cond: and(g.Cond, f.Cond)}
}

func columnsIn(e expr.Expr, f func(*expr.Column)) {
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			f(c)
		}
		return true
	})
}

// substitute replaces columns by the expressions that a projection computes for them.
func substitute(e expr.Expr, es []expr.Expr) expr.Expr {
	return transform(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			return es[c.Index]
		}
		return x
	})
}

func allDeterministic(es []expr.Expr) bool {
	for _, e := range es {
		if !expr.Deterministic(e) {
			return false
		}
	}
	return true
}

// Timeless reports that an expression gives the same value in every micro-batch.
func Timeless(e expr.Expr) bool {
	return expr.Deterministic(e) && !anyExpr(e, func(x expr.Expr) bool {
		s, ok := x.(*expr.Scalar)
		return ok && s.PerBatch
	})
}

// combineProjects merges two projections unless an expression would be computed twice.
func combineProjects(n Node) Node {
	p, ok := n.(*Project)
	if !ok {
		return n
	}
	q, ok := p.Child.(*Project)
	if !ok || !allDeterministic(q.Exprs) {
		return n
	}
	uses := make([]int, len(q.Exprs))
	for _, e := range p.Exprs {
		columnsIn(e, func(c *expr.Column) { uses[c.Index]++ })
	}
	for i, e := range q.Exprs {
		if uses[i] > 1 && !cheap(e) {
			return n
		}
	}
	c := *p
	c.Child = q.Child
	c.Exprs = make([]expr.Expr, len(p.Exprs))
	for i, e := range p.Exprs {
		c.Exprs[i] = substitute(e, q.Exprs)
	}
	return &c
}

func cheap(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Column, *expr.Literal:
		return true
	}
	return false
}

func removeNoopProject(n Node) Node {
	p, ok := n.(*Project)
	if !ok {
		return n
	}
	s := p.Child.Schema()
	if len(s) != len(p.Exprs) {
		return n
	}
	for i, e := range p.Exprs {
		c, ok := e.(*expr.Column)
		if !ok || c.Index != i || s[i].Name != p.Out[i].Name || s[i].Nullable != p.Out[i].Nullable || s[i].DelayMicros != p.Out[i].DelayMicros {
			return n
		}
	}
	return p.Child
}

var nullRejecting = map[string]bool{"=": true, "<": true, "<=": true, ">": true, ">=": true}
