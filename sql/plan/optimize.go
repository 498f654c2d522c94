package plan

import (
	"streamlab/sql/expr"
	"streamlab/sql/types"
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

// timeless reports that an expression gives the same value in every micro-batch.
func timeless(e expr.Expr) bool {
	return expr.Deterministic(e) && !anyExpr(e, func(x expr.Expr) bool {
		s, ok := x.(*expr.Scalar)
		return ok && s.PerBatch
	})
}

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
			fits := timeless(e)
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
		case j.Kind == Inner && timeless(c):
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
		case !timeless(c):
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

var nullRejecting = map[string]bool{"=": true, "<": true, "<=": true, ">": true, ">=": true}

// strictAbove reports that a null in col makes the comparison null: only functions that are null where an
// argument is stand between.
func strictAbove(e expr.Expr, col *expr.Column) bool {
	if e == expr.Expr(col) {
		return true
	}
	switch x := e.(type) {
	case *expr.Scalar:
		if !x.NullIfAnyNull {
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
		only, any := timeless(c), false
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

func pruneAll(n Node) Node {
	switch n.(type) {
	case *Insert, *Merge:
		out := make([]Node, len(n.Children()))
		for i, c := range n.Children() {
			out[i] = pruneAll(c)
		}
		return withChildren(n, out)
	}
	m, _ := prune(n, everything(len(n.Schema())))
	return m
}

func everything(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

func want(need []bool, es ...expr.Expr) {
	for _, e := range es {
		if e != nil {
			columnsIn(e, func(c *expr.Column) { need[c.Index] = true })
		}
	}
}

// only reduces a pruned node to exactly the wanted columns, where it yields more.
func only(n Node, at []int, need []bool) (Node, []int) {
	count := 0
	for _, b := range need {
		if b {
			count++
		}
	}
	if count == len(n.Schema()) {
		return n, at
	}
	to := make([]int, len(at))
	var es []expr.Expr
	var names []string
	for i := range at {
		to[i] = -1
		if need[i] {
			to[i] = len(es)
			es = append(es, columnAt(n, at[i]))
			names = append(names, n.Schema()[at[i]].Name)
		}
	}
	return newProject(n, es, names), to
}

func relocate(e expr.Expr, at []int) expr.Expr {
	if e == nil {
		return nil
	}
	return mapColumns(e, func(i int) int { return at[i] })
}

func relocateAll(es []expr.Expr, at []int) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = relocate(e, at)
	}
	return out
}

// prune drops the columns of n that are not needed, as far as that saves something. at tells where the
// columns of n are now; -1 for those that are gone.
func prune(n Node, need []bool) (out Node, at []int) {
	same := func(n Node) (Node, []int) {
		at := make([]int, len(n.Schema()))
		for i := range at {
			at[i] = i
		}
		return n, at
	}
	pass := func(child Node, extra ...expr.Expr) (Node, []int) {
		below := append([]bool{}, need...)
		want(below, extra...)
		return prune(child, below)
	}
	switch x := n.(type) {
	case *Scan:
		c := *x
		c.Columns, c.Out = nil, nil
		at = make([]int, len(x.Out))
		for i := range x.Out {
			at[i] = -1
			if !need[i] {
				continue
			}
			at[i] = len(c.Out)
			col := i
			if x.Columns != nil {
				col = x.Columns[i]
			}
			c.Columns = append(c.Columns, col)
			c.Out = append(c.Out, x.Out[i])
		}
		if len(c.Out) == len(x.Out) {
			return same(n)
		}
		if c.Columns == nil {
			c.Columns = []int{}
		}
		return &c, at
	case *Project:
		below := make([]bool, len(x.Child.Schema()))
		at = make([]int, len(x.Exprs))
		c := Project{}
		for i, e := range x.Exprs {
			at[i] = -1
			if need[i] {
				at[i] = len(c.Exprs)
				c.Exprs = append(c.Exprs, e)
				c.Out = append(c.Out, x.Out[i])
				want(below, e)
			}
		}
		child, m := prune(x.Child, below)
		c.Child, c.Exprs = child, relocateAll(c.Exprs, m)
		return &c, at
	case *Filter:
		child, m := pass(x.Child, x.Cond)
		return &Filter{Child: child, Cond: relocate(x.Cond, m)}, m
	case *Sort:
		var es []expr.Expr
		for _, o := range x.Orders {
			es = append(es, o.Child)
		}
		child, m := pass(x.Child, es...)
		c := *x
		c.Child = child
		c.Orders = append([]Ordering{}, x.Orders...)
		for i := range c.Orders {
			c.Orders[i].Child = relocate(c.Orders[i].Child, m)
		}
		return &c, m
	case *Limit, *Sample:
		child, m := pass(n.Children()[0])
		return withChildren(n, []Node{child}), m
	case *Watermark:
		below := append([]bool{}, need...)
		below[x.Column] = true
		child, m := prune(x.Child, below)
		c := *x
		c.Child, c.Column = child, m[x.Column]
		c.Out = plainSchema(child.Schema())
		c.Out[c.Column].DelayMicros = x.DelayMicros + 1
		return &c, m
	case *Observe:
		below := append([]bool{}, need...)
		for _, k := range x.Calls {
			want(below, k.Args...)
		}
		child, m := prune(x.Child, below)
		c := *x
		c.Child = child
		return mapExprs(&c, func(e expr.Expr, _ bool) expr.Expr { return relocate(e, m) }), m
	case *Dedup:
		below := append([]bool{}, need...)
		for _, i := range x.Cols {
			below[i] = true
		}
		if x.WithinWatermark {
			for i, f := range x.Child.Schema() {
				below[i] = below[i] || f.DelayMicros > 0
			}
		}
		child, m := prune(x.Child, below)
		child, m = only(child, m, below)
		c := *x
		c.Child, c.Cols = child, nil
		for _, i := range x.Cols {
			c.Cols = append(c.Cols, m[i])
		}
		return &c, m
	case *Aggregate:
		below := make([]bool, len(x.Child.Schema()))
		want(below, x.Keys...)
		c := Aggregate{Session: x.Session}
		c.Out = append(types.Schema{}, x.Out[:len(x.Keys)]...)
		at = make([]int, len(x.Out))
		for i := range x.Keys {
			at[i] = i
		}
		for i, k := range x.Calls {
			o := len(x.Keys) + i
			at[o] = -1
			if need[o] {
				at[o] = len(c.Out)
				c.Out = append(c.Out, x.Out[o])
				c.Calls = append(c.Calls, k)
				want(below, append([]expr.Expr{k.Filter}, k.Args...)...)
			}
		}
		child, m := prune(x.Child, below)
		c.Child = child
		c.Keys = x.Keys
		moved := mapExprs(&c, func(e expr.Expr, _ bool) expr.Expr { return relocate(e, m) })
		return moved, at
	case *Join:
		return pruneJoin(x, need)
	case *Union:
		c := *x
		c.Inputs = make([]Node, len(x.Inputs))
		for i, in := range x.Inputs {
			k, m := prune(in, need)
			c.Inputs[i], _ = only(k, m, need)
		}
		c.Out = nil
		for i, f := range x.Out {
			if need[i] {
				c.Out = append(c.Out, f)
			}
		}
		to := 0
		at = make([]int, len(x.Out))
		for i := range x.Out {
			at[i] = -1
			if need[i] {
				at[i] = to
				to++
			}
		}
		return &c, at
	case *TimeWindow, *SessionWindow, *Generate, *Window:
		child := n.Children()[0]
		w := len(child.Schema())
		below := append([]bool{}, need[:w]...)
		want(below, nodeExprs(n)...)
		k, m := prune(child, below)
		moved := withChildren(mapExprs(n, func(e expr.Expr, _ bool) expr.Expr { return relocate(e, m) }), []Node{k})
		at = append([]int{}, m...)
		s := append(types.Schema{}, k.Schema()...)
		for i := w; i < len(need); i++ {
			at = append(at, len(s))
			s = append(s, n.Schema()[i])
		}
		switch y := moved.(type) {
		case *TimeWindow:
			y.Out = s
		case *SessionWindow:
			y.Out = s
		case *Generate:
			y.Out = s
		case *Window:
			y.Out = s
		}
		return moved, at
	case *Expand:
		below := make([]bool, len(x.Child.Schema()))
		c := Expand{}
		at = make([]int, len(x.Out))
		for i, f := range x.Out {
			at[i] = -1
			if need[i] {
				at[i] = len(c.Out)
				c.Out = append(c.Out, f)
			}
		}
		for _, p := range x.Projections {
			var row []expr.Expr
			for i, e := range p {
				if need[i] {
					row = append(row, e)
					want(below, e)
				}
			}
			c.Projections = append(c.Projections, row)
		}
		child, m := prune(x.Child, below)
		c.Child = child
		return mapExprs(&c, func(e expr.Expr, _ bool) expr.Expr { return relocate(e, m) }), at
	}
	cs := n.Children()
	if len(cs) > 0 {
		kids := make([]Node, len(cs))
		for i, k := range cs {
			kids[i], _ = prune(k, everything(len(k.Schema())))
		}
		n = withChildren(n, kids)
	}
	return same(n)
}

func pruneJoin(x *Join, need []bool) (Node, []int) {
	lw := len(x.Left.Schema())
	rw := len(x.Right.Schema())
	pair := x.Kind != LeftSemi && x.Kind != LeftAnti && x.Kind != Existence
	both := make([]bool, lw+rw)
	copy(both, need[:lw])
	if pair {
		copy(both[lw:], need[lw:])
	}
	want(both, x.LeftKeys...)
	for _, k := range x.RightKeys {
		want(both[lw:], k)
	}
	want(both, x.Residual)
	l, lm := prune(x.Left, both[:lw])
	l, lm = only(l, lm, both[:lw])
	r, rm := prune(x.Right, both[lw:])
	r, rm = only(r, rm, both[lw:])
	nl := len(l.Schema())
	where := append([]int{}, lm...)
	for _, i := range rm {
		if i >= 0 {
			i += nl
		}
		where = append(where, i)
	}
	c := *x
	c.Left, c.Right = l, r
	c.LeftKeys = relocateAll(x.LeftKeys, lm)
	c.RightKeys = relocateAll(x.RightKeys, rm)
	c.Residual = relocate(x.Residual, where)
	c.Out = joinSchema(x.Kind, l, r)
	switch {
	case pair:
		return &c, where
	case x.Kind == Existence:
		return &c, append(append([]int{}, lm...), nl)
	}
	return &c, lm
}
