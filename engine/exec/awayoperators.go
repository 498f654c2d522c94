package exec

import "streamlab/columnar"

// need has the buckets that a batch touches in memory.
func (o *stateAggregate) need(r *run, a *aggregateRange, i int, ps []*partialFold) error {
	if !o.demand.asks(a.t) {
		return nil
	}
	set := uint32(0)
	for _, p := range ps {
		for _, g := range p.byRange[i] {
			set |= 1 << bucketOf(p.t.hash(g))
		}
		if p.raw[i] != nil && p.raw[i].n > 0 {
			set = allBuckets // there are many of them
		}
	}
	var err error
	a.t, err = o.demand.need(r, o, a.t, i, set)
	return err
}

// demanded is nil where groups leave by time, and where each batch gives all of them out.
func (o *stateAggregate) demanded() *demand {
	if o.time != nil || o.paned != nil || o.mode == "complete" || o.tap != nil {
		return nil
	}
	return &o.demand
}

func (o *stateAggregate) at(i int) (**table, *segmentStats) {
	return &o.ranges[i].t, &o.ranges[i].stats
}

func (o *stateAggregate) debt() *int64 { return &o.owed }

// need has the buckets that a batch touches in memory.
func (o *dedup) need(r *run, i int) error {
	a := o.ranges[i]
	if !o.demand.asks(a.t) {
		return nil
	}
	set := uint32(0)
	for _, p := range o.parts[:o.taken] {
		for k, c := range o.keys {
			a.cols[k] = p.buf.cols[c]
		}
		for rows := p.by[i]; len(rows) > 0 && set != allBuckets; {
			n := min(len(rows), columnar.Slice)
			a.e.encode(a.cols, columnar.Sel{Idx: rows[:n], N: n})
			set |= bucketsOf(a.e.hash[:n])
			rows = rows[n:]
		}
	}
	var err error
	a.t, err = o.demand.need(r, o, a.t, i, set)
	return err
}

// demanded is nil where keys leave by time.
func (o *dedup) demanded() *demand {
	if o.within || o.key != nil || o.tap != nil || o.fleeting {
		return nil
	}
	return &o.demand
}

func (o *dedup) at(i int) (**table, *segmentStats) { return &o.ranges[i].t, &o.ranges[i].stats }

func (o *dedup) debt() *int64 { return &o.owed }
