package plan

import (
	"streamlab/sql/expr"
)

// inferConditions adds to the sides of a join what its equalities imply: keys are not null, and a condition
// on one key holds for the other.
func inferConditions(n Node) Node {
	j, ok := n.(*Join)
	if !ok || j.NullAware || j.subquery {
		return n
	}
	toLeft := j.Kind == Inner || j.Kind == LeftSemi || j.Kind == RightOuter
	toRight := j.Kind == Inner || j.Kind == LeftSemi || j.Kind == LeftOuter || j.Kind == LeftAnti
	if !toLeft && !toRight {
		return n
	}
	leftKnown, rightKnown := conditionsOf(j.Left), conditionsOf(j.Right)
	fromLeft, fromRight := leftKnown, rightKnown
	if w := len(j.Left.Schema()); j.Residual != nil {
		for _, c := range expr.Conjuncts(j.Residual) {
			switch side(c, w) {
			case leftSide:
				fromLeft = append(fromLeft[:len(fromLeft):len(fromLeft)], c)
			case rightSide:
				fromRight = append(fromRight[:len(fromRight):len(fromRight)], moved(c, -w))
			}
		}
	}
	var left, right []expr.Expr
	for i := range j.LeftKeys {
		if len(j.NullSafe) > i && j.NullSafe[i] {
			continue
		}
		l, r := j.LeftKeys[i], j.RightKeys[i]
		if toLeft {
			left = append(left, notNull(l)...)
			left = append(left, carried(fromRight, r, l)...)
		}
		if toRight {
			right = append(right, notNull(r)...)
			right = append(right, carried(fromLeft, l, r)...)
		}
	}
	w := len(j.Left.Schema())
	if j.Residual != nil {
		for _, c := range expr.Conjuncts(j.Residual) {
			s, ok := c.(*expr.Scalar)
			if !ok || !nullRejecting[s.Name] {
				continue
			}
			columnsIn(c, func(col *expr.Column) {
				if !strictAbove(c, col) {
					return
				}
				if col.Index < w && toLeft {
					left = append(left, notNull(col)...)
				}
				if col.Index >= w && toRight {
					right = append(right, notNull(moved(col, -w))...)
				}
			})
		}
	}
	c := *j
	c.Left = withConditions(j.Left, left, leftKnown)
	c.Right = withConditions(j.Right, right, rightKnown)
	if c.Left == j.Left && c.Right == j.Right {
		return n
	}
	return &c
}

// notIntolerant are functions that are null where an argument is, without Spark knowing it of them.
var notIntolerant = map[string]bool{"bround": true, "btrim": true, "concat": true, "date_trunc": true, "locate": true,
	"ltrim": true, "position": true, "round": true, "rtrim": true, "to_unix_timestamp": true, "trim": true,
	"trunc": true, "unix_timestamp": true, "||": true}

// strictAbove reports that a null in col makes the comparison null: only functions that are null where an
// argument is stand between.
func strictAbove(e expr.Expr, col *expr.Column) bool {
	if e == expr.Expr(col) {
		return true
	}
	switch x := e.(type) {
	case *expr.Scalar:
		if !x.NullIfAnyNull || notIntolerant[x.Name] {
			return false
		}
	case *expr.Cast:
	default:
		return false
	}
	for _, k := range e.Children() {
		if strictAbove(k, col) {
			return true
		}
	}
	return false
}

// NotNullColumns are the conditions that columns are not null without which e would be null, or, if e is itself such
// a condition, false; none where the columns cannot be null.
func NotNullColumns(e expr.Expr) []expr.Expr {
	if s, ok := e.(*expr.Scalar); ok && s.Name == "isnotnull" {
		e = s.Args[0]
	}
	return notNull(e)
}

func notNull(e expr.Expr) []expr.Expr {
	if !e.Nullable() {
		return nil
	}
	var out []expr.Expr
	columnsIn(e, func(c *expr.Column) {
		if !c.Nullable() || !strictAbove(e, c) {
			return
		}
		if x, err := expr.Build("isnotnull", []expr.Expr{c}, expr.Conf{ANSI: true}); err == nil {
			out = append(out, x)
		}
	})
	return out
}

// conditionsOf lists the conditions that hold for the rows of a node, over its columns.
func conditionsOf(n Node) []expr.Expr {
	switch x := n.(type) {
	case *Filter:
		return append(expr.Conjuncts(x.Cond), conditionsOf(x.Child)...)
	case *Watermark:
		return conditionsOf(x.Child)
	case *Project:
		back := map[int]int{} // child column → own column
		for i, e := range x.Exprs {
			if c, ok := e.(*expr.Column); ok {
				if _, ok := back[c.Index]; !ok {
					back[c.Index] = i
				}
			}
		}
		var out []expr.Expr
		for _, c := range conditionsOf(x.Child) {
			whole := true
			columnsIn(c, func(col *expr.Column) {
				_, ok := back[col.Index]
				whole = whole && ok
			})
			if whole {
				out = append(out, mapColumns(c, func(i int) int { return back[i] }))
			}
		}
		return out
	}
	return nil
}

// carried rewrites conditions on one key alone to the other key.
func carried(known []expr.Expr, from, to expr.Expr) []expr.Expr {
	f, ok := from.(*expr.Column)
	if !ok {
		return nil
	}
	var out []expr.Expr
	for _, c := range known {
		only, any := Timeless(c), false
		columnsIn(c, func(col *expr.Column) {
			any = true
			only = only && col.Index == f.Index
		})
		if only && any {
			out = append(out, transform(c, func(x expr.Expr) expr.Expr {
				if _, ok := x.(*expr.Column); ok {
					return to
				}
				return x
			}))
		}
	}
	return out
}

func withConditions(n Node, add, known []expr.Expr) Node {
	seen := map[string]bool{}
	for _, k := range known {
		seen[identity(k)] = true
	}
	var cond expr.Expr
	for _, c := range add {
		id := identity(c)
		if seen[id] {
			continue
		}
		seen[id] = true
		cond = and(cond, c)
	}
	if cond == nil {
		return n
	}
	return &Filter{Child: n, Cond: cond}
}

// ---- unused columns
