package plan

import (
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

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
