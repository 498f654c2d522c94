package plan

import (
	"streamlab/sql/expr"
)

func pushThroughProject(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	p, ok := f.Child.(*Project)
	if !ok || !allDeterministic(p.Exprs) || !expr.Deterministic(f.Cond) {
		return n
	}
	c := *p
	c.Child = &Filter{Child: p.Child, Cond: substitute(f.Cond, p.Exprs)}
	return &c
}

// pushThroughUnary moves conjuncts below nodes that do not change what they read.
func pushThroughUnary(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	var below func(e expr.Expr) (expr.Expr, bool)
	width := 0
	if cs := f.Child.Children(); len(cs) == 1 {
		width = len(cs[0].Schema())
	}
	plain := func(e expr.Expr) (expr.Expr, bool) {
		fits := expr.Deterministic(e)
		columnsIn(e, func(c *expr.Column) { fits = fits && c.Index < width })
		return e, fits
	}
	switch x := f.Child.(type) {
	case *Sort:
		below = plain
	case *Generate, *TimeWindow, *SessionWindow:
		below = plain
	case *Expand:
		below = func(e expr.Expr) (expr.Expr, bool) {
			_, fits := plain(e)
			columnsIn(e, func(c *expr.Column) { fits = fits && passedOn(x, c.Index) })
			return e, fits
		}
	case *Watermark:
		below = func(e expr.Expr) (expr.Expr, bool) {
			fits := Timeless(e)
			columnsIn(e, func(c *expr.Column) { fits = fits && c.Index != x.Column })
			return e, fits
		}
	case *Aggregate:
		if len(x.Keys) == 0 || !allDeterministic(x.Keys) {
			return n
		}
		below = func(e expr.Expr) (expr.Expr, bool) {
			fits, any := expr.Deterministic(e), false
			columnsIn(e, func(c *expr.Column) {
				fits = fits && c.Index < len(x.Keys) && c.Index != x.Session
				any = true
			})
			if !fits || !any {
				return nil, false
			}
			return substitute(e, x.Keys), true
		}
	default:
		return n
	}
	var push, keep expr.Expr
	for _, c := range expr.Conjuncts(f.Cond) {
		if e, ok := below(c); ok {
			push = and(push, e)
		} else {
			keep = and(keep, c)
		}
	}
	if push == nil {
		return n
	}
	child := f.Child.Children()[0]
	out := withChildren(f.Child, []Node{&Filter{Child: child, Cond: push}})
	if keep != nil {
		out = &Filter{Child: out, Cond: keep}
	}
	return out
}

// passedOn reports that column i of an Expand is column i of its child in every copy.
func passedOn(x *Expand, i int) bool {
	for _, p := range x.Projections {
		c, ok := p[i].(*expr.Column)
		if !ok || c.Index != i {
			return false
		}
	}
	return true
}

func pushThroughUnion(n Node) Node {
	f, ok := n.(*Filter)
	if !ok || !expr.Deterministic(f.Cond) {
		return n
	}
	u, ok := f.Child.(*Union)
	if !ok {
		return n
	}
	c := *u
	c.Inputs = make([]Node, len(u.Inputs))
	for i, in := range u.Inputs {
		c.Inputs[i] = &Filter{Child: in, Cond: f.Cond}
	}
	return &c
}

// pushIntoJoin moves conjuncts above a join to the sides that they read, and equalities of an inner join
// into its condition.
func pushIntoJoin(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	j, ok := f.Child.(*Join)
	if !ok {
		return n
	}
	w := len(j.Left.Schema())
	var left, right, both, keep expr.Expr
	for _, c := range expr.Conjuncts(f.Cond) {
		s := side(c, w)
		switch {
		case !expr.Deterministic(c) || s == noSide:
			keep = and(keep, c)
		case s == leftSide && j.Kind != RightOuter && j.Kind != FullOuter:
			left = and(left, c)
		case s == rightSide && (j.Kind == Inner || j.Kind == RightOuter):
			right = and(right, moved(c, -w))
		case j.Kind == Inner && Timeless(c):
			both = and(both, c)
		default:
			keep = and(keep, c)
		}
	}
	if left == nil && right == nil && both == nil {
		return n
	}
	l, r := j.Left, j.Right
	if left != nil {
		l = &Filter{Child: l, Cond: left}
	}
	if right != nil {
		r = &Filter{Child: r, Cond: right}
	}
	c := *j
	c.Left, c.Right = l, r
	if both != nil {
		more := newJoin(Inner, l, r, both)
		c.NullSafe = append(safeFlags(&c), safeFlags(more)...)
		c.LeftKeys = append(append([]expr.Expr{}, j.LeftKeys...), more.LeftKeys...)
		c.RightKeys = append(append([]expr.Expr{}, j.RightKeys...), more.RightKeys...)
		c.Residual = and(j.Residual, more.Residual)
		if !anyTrue(c.NullSafe) {
			c.NullSafe = nil
		}
	}
	var out Node = &c
	if keep != nil {
		out = &Filter{Child: out, Cond: keep}
	}
	return out
}

func anyTrue(bs []bool) bool {
	for _, b := range bs {
		if b {
			return true
		}
	}
	return false
}

func safeFlags(j *Join) []bool {
	out := make([]bool, len(j.LeftKeys))
	copy(out, j.NullSafe)
	return out
}

// pushConditionIntoSides moves conjuncts of a join's condition that read one side below the join where that
// does not change which rows come out.
func pushConditionIntoSides(n Node) Node {
	j, ok := n.(*Join)
	if !ok || j.Residual == nil || j.NullAware {
		return n
	}
	w := len(j.Left.Schema())
	var left, right, keep expr.Expr
	for _, c := range expr.Conjuncts(j.Residual) {
		s := side(c, w)
		switch {
		case !Timeless(c):
			keep = and(keep, c)
		case s == leftSide && (j.Kind == Inner || j.Kind == LeftSemi || j.Kind == RightOuter):
			left = and(left, c)
		case s == rightSide && (j.Kind == Inner || j.Kind == LeftSemi || j.Kind == LeftOuter || j.Kind == LeftAnti || j.Kind == Existence):
			right = and(right, moved(c, -w))
		default:
			keep = and(keep, c)
		}
	}
	if left == nil && right == nil {
		return n
	}
	c := *j
	c.Residual = keep
	if left != nil {
		c.Left = &Filter{Child: j.Left, Cond: left}
	}
	if right != nil {
		c.Right = &Filter{Child: j.Right, Cond: right}
	}
	return &c
}
