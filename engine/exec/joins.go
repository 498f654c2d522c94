package exec

import (
	"streamlab/sql/plan"
)

func (b *builder) join(x *plan.Join) (operator, error) {
	ls, rs := x.Left.Streaming() && b.conf.Mode != "", x.Right.Streaming() && b.conf.Mode != ""
	if ls && rs {
		return b.streamJoin(x)
	}
	x = b.byTheRow(x)
	l, err := b.build(x.Left)
	if err != nil {
		return nil, err
	}
	r, err := b.build(x.Right)
	if err != nil {
		return nil, err
	}
	flipped := rs || !ls && x.Kind == plan.RightOuter
	o, err := newHashJoin(l, r, x, flipped, b.conf.Expr)
	if err != nil {
		return nil, err
	}
	side, keys := x.Right, x.RightKeys
	if flipped {
		side, keys = x.Left, x.LeftKeys
	}
	o.version = versionOf(side)
	for _, k := range keys {
		if !lasting(k) {
			o.version = nil
		}
	}
	return b.pass(o, l, r), nil
}
