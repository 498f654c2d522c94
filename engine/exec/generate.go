package exec

import (
	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// generate appends the rows that a generator makes of each row.
type generate struct {
	child    operator
	node     *plan.Generate
	in       types.Schema
	programs perWorker[*expr.Program]
	pos      bool // a position comes first
	stack    int  // rows of stack(); 0 for other generators
}

func newGenerate(child operator, n *plan.Generate, c expr.Conf) (operator, error) {
	o := &generate{child: child, node: n, in: n.Child.Schema()}
	args := n.Args
	switch n.Kind {
	case "explode", "inline":
	case "posexplode":
		o.pos = true
	case "stack":
		l, ok := args[0].(*expr.Literal)
		if !ok || l.Value.IsNull(0) || l.Value.Phys != columnar.PI32 {
			return nil, refuse("stack with a row count that is no INT literal")
		}
		o.stack, args = int(l.Value.I32[0]), args[1:]
	case "json_tuple":
		return newJSONTuple(child, n, c)
	default:
		return nil, refuse("generator " + n.Kind)
	}
	o.programs.make = func() (*expr.Program, error) { return expr.Compile(args, o.in, c) }
	_, err := o.programs.get(0)
	return o, err
}

// newJSONTuple projects the fields: one row for a row.
func newJSONTuple(child operator, n *plan.Generate, c expr.Conf) (operator, error) {
	in := n.Child.Schema()
	var es []expr.Expr
	for i, f := range in {
		es = append(es, &expr.Column{Index: i, Field: f})
	}
	root := columnar.NewVec(types.Of(types.String), 0)
	root.Len, root.Data, root.Off, root.Const = 1, []byte("$."), []int32{0, 2}, true
	for _, field := range n.Args[1:] {
		path, err := expr.Build("concat", []expr.Expr{&expr.Literal{Value: root}, field}, c)
		if err != nil {
			return nil, err
		}
		e, err := expr.Build("get_json_object", []expr.Expr{n.Args[0], path}, c)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	return newProject(child, es, in, c)
}

func (o *generate) open(r *run) (int, error) { return o.child.open(r) }

func (o *generate) part(r *run, w, p int, to emit) error {
	x, err := o.programs.get(w)
	if err != nil {
		return err
	}
	prog := *x
	prog.Begin(r.exprTask(p))
	g := &generated{o: o, out: make([]columnar.Vec, len(o.node.Out)), to: to}
	return o.child.part(r, w, p, func(c *chunk) error {
		args, err := prog.Eval(c.cols, c.sel)
		if err != nil {
			return err
		}
		if o.stack > 0 {
			return g.stack(c, args)
		}
		return g.explode(c, args[0])
	})
}

// generated collects pairs of an input row and an element and pushes them in slices.
type generated struct {
	o     *generate
	out   []columnar.Vec
	to    emit
	rows  []int32
	elems []int32
	pos   []int32
}

func (g *generated) explode(c *chunk, list *columnar.Vec) error {
	for k := range c.sel.N {
		i := c.sel.At(k)
		from, to := int32(0), int32(0)
		if !list.IsNull(i) && list.Phys != columnar.PNull {
			at := list.Row(i)
			from, to = list.Off[at], list.Off[at+1]
		}
		if from == to && g.o.node.Outer {
			if err := g.add(c, list, int32(i), -1, -1); err != nil {
				return err
			}
		}
		for j := from; j < to; j++ {
			if err := g.add(c, list, int32(i), j, j-from); err != nil {
				return err
			}
		}
	}
	return g.flush(c, list)
}

func (g *generated) add(c *chunk, list *columnar.Vec, row, elem, pos int32) error {
	g.rows, g.elems, g.pos = append(g.rows, row), append(g.elems, elem), append(g.pos, pos)
	if len(g.rows) < columnar.Slice {
		return nil
	}
	return g.flush(c, list)
}

func (g *generated) flush(c *chunk, list *columnar.Vec) error {
	n := len(g.rows)
	if n == 0 {
		return nil
	}
	for i := range c.cols {
		gatherRows(&g.out[i], &c.cols[i], g.rows)
	}
	at := len(c.cols)
	if g.o.pos {
		v := columnar.NewVec(types.Of(types.Int), n)
		copy(v.I32, g.pos)
		for k, p := range g.pos {
			if p < 0 {
				expr.SetNull(v, k)
				v.I32[k] = 0
			}
		}
		g.out[at] = *v
		at++
	}
	switch {
	case list.Phys == columnar.PNull:
		for ; at < len(g.out); at++ {
			g.out[at] = *nullVec(g.o.node.Out[at].Type, n)
		}
	case g.o.node.Kind == "inline":
		for i, k := range list.Kids[0].Kids {
			columnar.GatherIdx(&g.out[at+i], k, g.elems)
		}
		if s := list.Kids[0]; s.Valid != nil { // a null struct gives a row of nulls
			for i := range s.Kids {
				for k, e := range g.elems {
					if e >= 0 && s.IsNull(int(e)) {
						expr.SetNull(&g.out[at+i], k)
					}
				}
			}
		}
	default:
		for i, k := range list.Kids {
			columnar.GatherIdx(&g.out[at+i], k, g.elems)
		}
	}
	rows := g.rows
	g.rows, g.elems, g.pos = g.rows[:0], g.elems[:0], g.pos[:0]
	return g.to(&chunk{cols: g.out, sel: columnar.AllRows(n), from: rows})
}

// stack lays its arguments out as rows, filled up with nulls.
func (g *generated) stack(c *chunk, args []*columnar.Vec) error {
	width := len(g.o.node.Out) - len(c.cols)
	buf := newRowsBuffer(g.o.node.Out)
	one := columnar.Sel{Idx: []int32{0}, N: 1}
	null := columnar.Vec{Phys: columnar.PNull, Len: 1}
	var from []int32
	for k := range c.sel.N {
		one.Idx[0] = int32(c.sel.At(k))
		for row := range g.o.stack {
			for i := range c.cols {
				appendVec(buf.cols[i], &c.cols[i], one)
			}
			for j := range width {
				v := &null
				if a := row*width + j; a < len(args) {
					v = args[a]
				}
				if v.Phys == columnar.PNull {
					appendVec(buf.cols[len(c.cols)+j], &null, columnar.AllRows(1))
				} else {
					appendVec(buf.cols[len(c.cols)+j], v, one)
				}
			}
			buf.n++
			from = append(from, one.Idx[0])
		}
	}
	return pushRows(buf.vecs(), buf.n, func(c *chunk) error {
		c.from, from = from[:c.sel.N], from[c.sel.N:]
		return g.to(c)
	})
}
