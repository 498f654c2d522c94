package exec

import "streamlab/sql/expr"

// hashAggregate groups static rows.
type hashAggregate struct {
	child   operator
	g       *grouping
	partial []*partialFold
	m       *merger
	aggs    []expr.Aggregate
	t       *table
	groups  []uint32
}

func (o *hashAggregate) open(r *run) (int, error) {
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	units := r.units(parts)
	if o.g.hasDistinct() {
		units = 1
		o.partial = nil // sets of values seen are made anew
	}
	ps, err := o.g.foldAll(r, o.child, &o.partial, parts, units, false)
	if err != nil {
		return 0, err
	}
	if len(o.g.keys) == 0 {
		ps[0].f.global(ps[0])
	}
	if o.m == nil {
		o.m, o.aggs = o.g.newMerger(), o.g.fresh()
	}
	o.t = ps[0].t
	if len(ps) > 1 {
		for _, p := range ps[1:] {
			if err := o.m.merge(o.t, p.t, p.t.groups(nil), nil); err != nil {
				return 0, err
			}
		}
	}
	o.groups = o.t.groups(o.groups[:0])
	return 1, nil
}

func (o *hashAggregate) part(r *run, w, p int, to emit) error {
	return o.g.push(o.t, o.aggs, o.groups, to)
}
