package exec

import (
	"fmt"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// reused reports that both sides are the same plan with the same keys.
func reused(x *plan.Join) bool {
	if !sameStreams(x.Left, x.Right) || plan.Explain(x.Left) != plan.Explain(x.Right) {
		return false
	}
	for i := range x.LeftKeys {
		if keyText(x.LeftKeys[i]) != keyText(x.RightKeys[i]) {
			return false
		}
	}
	return true
}

// keyText is an expression as text, with the places of its columns.
func keyText(e expr.Expr) string {
	s := e.String()
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok {
			s += fmt.Sprintf(" #%d", c.Index)
		}
		return true
	})
	return s
}

// sameStreams reports that two plans of one form read the same relations.
func sameStreams(a, b plan.Node) bool {
	if x, ok := a.(*plan.Scan); ok {
		y, ok := b.(*plan.Scan)
		return ok && x.Table == y.Table && x.Stream == y.Stream
	}
	p, q := a.Children(), b.Children()
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !sameStreams(p[i], q[i]) {
			return false
		}
	}
	return true
}

// relink builds the chains and the expiry from the stored rows.
func (s *joinSide) relink() error {
	s.owners = newTable(s.keyLay, 8)
	s.x.reset()
	gs := s.rows.groups(nil)
	owners := make([]uint32, columnar.Slice)
	cols := make([]columnar.Vec, len(s.in))
	ids := columnar.NewVec(types.Of(types.BigInt), 0)
	for len(gs) > 0 {
		part := gs[:min(len(gs), columnar.Slice)]
		gs = gs[len(part):]
		for k := range cols {
			cols[k].Reset(s.in[k].Type, 0)
			s.rowLay.decode(s.rows.rec, part, recKey, k+1, &cols[k])
		}
		ids.Reset(types.Of(types.BigInt), 0)
		s.rowLay.decode(s.rows.rec, part, recKey, 0, ids)
		sel := columnar.AllRows(len(part))
		ks, err := s.keys.Eval(cols, sel)
		if err != nil {
			return err
		}
		s.ek.encode(ks, sel)
		s.owners.upsert(s.ek, owners[:len(part)])
		for k, g := range part {
			s.next = max(s.next, ids.I64[k]+1)
			s.attach(g, owners[k])
		}
	}
	s.owners.settle()
	return nil
}

var sideNames = [2]string{"left", "right"}

func (o *streamJoin) save(b *store.Batch, number int) error {
	for i, s := range o.sides {
		if err := saveTable(b, store.Shard{Operator: number, Store: sideNames[i]}, s.rows, nil, &s.stats, o.batch); err != nil {
			return err
		}
	}
	return nil
}

func (o *streamJoin) load(v *store.View, number int) error {
	for i, s := range o.sides {
		if err := loadTable(v, store.Shard{Operator: number, Store: sideNames[i]}, s.rows, nil, &s.stats); err != nil {
			return err
		}
		if err := s.relink(); err != nil {
			return err
		}
	}
	o.measure()
	return nil
}

func (o *streamJoin) shape() OperatorShape {
	var keys types.Schema
	for _, k := range o.node.LeftKeys {
		keys = append(keys, types.Field{Name: k.String(), Type: k.Type(), Nullable: k.Nullable()})
	}
	return newShape(o.Name(), keys, append(append(types.Schema{}, o.sides[0].in...), o.sides[1].in...))
}
