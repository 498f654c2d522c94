package exec

import (
	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// streamSetOp rewrites INTERSECT and EXCEPT of a stream with a table as Spark does: the distinct forms are a
// semi or anti join below a DISTINCT, EXCEPT ALL counts rows, those of the table negatively, and repeats.
func (b *builder) streamSetOp(x *plan.SetOp) (operator, error) {
	if x.Right.Streaming() {
		return nil, refuse("INTERSECT and EXCEPT with a stream on the right")
	}
	if !x.All {
		j := &plan.Join{Kind: plan.LeftSemi, Left: x.Left, Right: x.Right, Out: x.Left.Schema()}
		if x.Except {
			j.Kind = plan.LeftAnti
		}
		for i := range x.Out {
			j.LeftKeys = append(j.LeftKeys, &expr.Column{Index: i, Field: x.Left.Schema()[i]})
			j.RightKeys = append(j.RightKeys, &expr.Column{Index: i, Field: x.Right.Schema()[i]})
			j.NullSafe = append(j.NullSafe, true)
		}
		return b.build(&plan.Aggregate{Child: j, Keys: j.LeftKeys, Session: -1, Out: x.Out})
	}
	if !x.Except {
		return nil, refuse("INTERSECT ALL of a stream")
	}
	n := len(x.Out)
	counted := append(append(types.Schema{}, x.Out...), types.Field{Name: "vcol", Type: types.Of(types.BigInt)})
	u := &plan.Union{Out: counted}
	for side, in := range []plan.Node{x.Left, x.Right} {
		p := &plan.Project{Child: in, Out: counted}
		for i, f := range in.Schema() {
			p.Exprs = append(p.Exprs, &expr.Column{Index: i, Field: f})
		}
		one := columnar.NewVec(types.Of(types.BigInt), 1)
		one.I64[0], one.Const = int64(1-2*side), true
		p.Exprs = append(p.Exprs, &expr.Literal{Value: one})
		u.Inputs = append(u.Inputs, p)
	}
	sum, err := expr.BuildAggregate(&expr.Call{Name: "sum", Args: []expr.Expr{&expr.Column{Index: n, Field: counted[n]}}, Conf: b.conf.Expr})
	if err != nil {
		return nil, err
	}
	agg := &plan.Aggregate{Child: u, Session: -1, Calls: []*expr.AggregateCall{sum},
		Out: append(append(types.Schema{}, x.Out...), types.Field{Name: "sum", Type: sum.Out, Nullable: true})}
	for i := range x.Out {
		agg.Keys = append(agg.Keys, &expr.Column{Index: i, Field: counted[i]})
	}
	child, err := b.build(agg)
	if err != nil {
		return nil, err
	}
	return b.pass(&repeatRows{child: child}, child), nil
}

// repeatRows yields each row as often as its last column says, without that column.
type repeatRows struct{ child operator }

func (o *repeatRows) open(r *run) (int, error) { return o.child.open(r) }

func (o *repeatRows) part(r *run, w, p int, to emit) error {
	var idx []int32
	return o.child.part(r, w, p, func(c *chunk) error {
		last := len(c.cols) - 1
		n := &c.cols[last]
		push := func() error {
			if len(idx) == 0 {
				return nil
			}
			out := make([]columnar.Vec, last)
			for i := range out {
				gatherRows(&out[i], &c.cols[i], idx)
			}
			from := idx
			idx = idx[:0]
			return to(&chunk{cols: out, sel: columnar.AllRows(len(from)), from: from})
		}
		for k := range c.sel.N {
			i := c.sel.At(k)
			if n.IsNull(i) {
				continue
			}
			for range n.I64[n.Row(i)] {
				if idx = append(idx, int32(i)); len(idx) == columnar.Slice {
					if err := push(); err != nil {
						return err
					}
				}
			}
		}
		return push()
	})
}
