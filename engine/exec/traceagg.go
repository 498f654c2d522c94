package exec

import (
	"streamlab/columnar"
	"streamlab/sql/types"
)

// An aggregation's rows, to its tap, are groups: those that rows of the batch belong to, and those that it
// emits. They get their numbers when the batch meets the state; what they were before is read just before
// that, what they are then just after it.

func (o *stateAggregate) traced(t *tap) {
	o.tap, o.g.tap = t, t
	t.groupsOf(len(o.g.keys))
}

func (o *sessionAggregate) traced(t *tap) {
	o.tap, o.g.tap = t, t
	t.groupsOf(len(o.g.keys))
}

// groupsOf says that the rows of the stage are groups with so many key columns.
func (p *tap) groupsOf(keys int) {
	p.Keys = keys
	p.was = newRowsBuffer(nullableAll(p.Schema))
	p.wasOf, p.fresh, p.sent = map[int64]int32{}, map[int64]bool{}, map[int64]bool{}
}

func nullableAll(s types.Schema) types.Schema {
	out := append(types.Schema{}, s...)
	for i := range out {
		out[i].Nullable = true
	}
	return out
}

// folded notes which group of the batch each row of a chunk is in. The chunk is the one being pushed.
func (p *tap) folded(t *table, sel columnar.Sel, groups []uint32) {
	src := p.t.pushing
	for k, g := range groups {
		i := sel.At(k)
		p.fold = append(p.fold, foldedRow{src.row(i), g})
		if us, late := p.lateOf(t, g); late {
			n := src.happened(i, FateLate)
			src.setTime(n, us)
			src.note(i)
		} else {
			src.happened(i, FateMerged)
		}
	}
}

// beginFold forgets the rows of the batch before; late says which groups are dropped.
func (p *tap) beginFold(late func(t *table, g uint32) (int64, bool)) {
	p.fold, p.group, p.lateOf = p.fold[:0], p.group[:0], late
}

// number of a group of the batch, -1 if it has none.
func (p *tap) groupNumber(g uint32) int64 {
	if int(g) < len(p.group) {
		return p.group[g]
	}
	return -1
}

func (p *tap) setGroup(g uint32, n int64) {
	for int(g) >= len(p.group) {
		p.group = append(p.group, -1)
	}
	p.group[g] = n
}

// endFold tells the rows which groups they went into.
func (p *tap) endFold() {
	for _, f := range p.fold {
		if n := p.groupNumber(f.g); n >= 0 {
			ref := f.row.ref()
			p.t.taps[ref.Stage].setInto(ref.N, makeRow(p.Number, n))
		}
	}
	p.fold = nil
}

// keepBefore keeps the values of groups before the batch; cols are theirs.
func (p *tap) keepBefore(ns []int64, cols []columnar.Vec) {
	for k, n := range ns {
		p.wasOf[n] = int32(p.was.n + k)
	}
	p.was.add(cols, columnar.AllRows(len(ns)))
}

// keptBefore is how many groups' earlier values are kept whether they will be shown or not: which groups leave
// is only known after the batch.
const keptBefore = 100_000

// keepGroups keeps the values of groups, and looks for those that are asked for. Of groups that leave as many
// are kept as of the first ones.
func (p *tap) keepGroups(ns []int64, cols []columnar.Vec, leaving bool) {
	all := columnar.AllRows(len(ns))
	var want []int64
	var at []int32
	for k, n := range ns {
		more := leaving && !p.isKept[n] && p.notable < p.t.conf.Rows
		if more {
			p.notable++
		}
		if more || p.wants(n) {
			want, at = append(want, n), append(at, int32(k))
		}
	}
	if len(want) > 0 {
		p.keepRows(want, cols, columnar.Sel{Idx: at, N: len(at)})
	}
	if p.t.conf.Match != nil && !leaving {
		for _, i := range p.t.conf.Match(p.Schema, cols, all) {
			p.t.matched = append(p.t.matched, makeRow(p.Number, ns[i]))
		}
	}
}

// traceLate is how the fold finds late groups.
func (o *stateAggregate) traceLate(late int64) func(t *table, g uint32) (int64, bool) {
	filter := o.time != nil && o.mode != "complete"
	return func(t *table, g uint32) (int64, bool) {
		if !filter {
			return 0, false
		}
		us, ok := o.time.of(t, o.g.lay, g)
		return us, ok && us <= late
	}
}

// rangeTrace is what a tap knows of one range of the state during a batch.
type rangeTrace struct {
	numbers map[uint32]int64 // of groups of the state
	order   []uint32         // those that the batch touched
}

// traceBefore numbers the groups of the batch that are about to be merged into a range.
func (o *stateAggregate) traceBefore(a *aggregateRange, p *partialFold, groups []uint32) {
	t := o.tap
	enc := newEncoder(o.g.lay)
	found := make([]uint32, mergeSlice)
	cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
	for len(groups) > 0 {
		part := groups[:min(len(groups), mergeSlice)]
		groups = groups[len(part):]
		enc.encodeGroups(p.t, part)
		a.t.find(enc, found[:len(part)])
		var ns []int64
		var had []uint32
		for k, g := range part {
			n := t.newGroup()
			t.setGroup(g, n)
			if found[k] == noGroup {
				t.fresh[n] = true
			} else if t.wants(n) || t.was.n < keptBefore {
				ns, had = append(ns, n), append(had, found[k])
			}
		}
		if len(had) > 0 && o.g.results(a.t, a.aggs, had, cols) == nil { // a result that fails is shown as unknown
			t.keepBefore(ns, cols)
		}
	}
}

// traceAfter finds the groups again, now in the state, and keeps what they are.
func (o *stateAggregate) traceAfter(a *aggregateRange, p *partialFold, groups []uint32, x *rangeTrace) {
	t := o.tap
	enc := newEncoder(o.g.lay)
	found := make([]uint32, mergeSlice)
	for len(groups) > 0 {
		part := groups[:min(len(groups), mergeSlice)]
		groups = groups[len(part):]
		enc.encodeGroups(p.t, part)
		a.t.find(enc, found[:len(part)])
		for k, g := range part {
			if found[k] != noGroup {
				x.numbers[found[k]] = t.groupNumber(g)
				x.order = append(x.order, found[k])
			}
		}
	}
	o.traceValues(a, x.order, x, false)
}

// traceValues keeps the values of numbered groups of a range.
func (o *stateAggregate) traceValues(a *aggregateRange, groups []uint32, x *rangeTrace, leaving bool) {
	cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
	for len(groups) > 0 {
		part := groups[:min(len(groups), mergeSlice)]
		groups = groups[len(part):]
		if o.g.results(a.t, a.aggs, part, cols) != nil {
			continue
		}
		ns := make([]int64, len(part))
		for k, g := range part {
			ns[k] = x.numbers[g]
		}
		o.tap.keepGroups(ns, cols, leaving)
	}
}

// traceOut notes which groups of a range will leave, in their order, and until when the others stay.
func (o *stateAggregate) traceOut(a *aggregateRange, x *rangeTrace) {
	t := o.tap
	out := map[uint32]bool{}
	var unknown []uint32
	for _, g := range a.out {
		out[g] = true
		if _, ok := x.numbers[g]; !ok {
			x.numbers[g] = t.newGroup()
			unknown = append(unknown, g)
		}
		t.groups = append(t.groups, x.numbers[g])
	}
	o.traceValues(a, unknown, x, false)
	o.traceValues(a, a.out, x, true)
	if len(unknown) > 0 { // the batch did not change them
		cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
		for len(unknown) > 0 {
			part := unknown[:min(len(unknown), mergeSlice)]
			unknown = unknown[len(part):]
			if o.g.results(a.t, a.aggs, part, cols) != nil {
				continue
			}
			var ns []int64
			for _, g := range part {
				ns = append(ns, x.numbers[g])
			}
			t.keepBefore(ns, cols)
		}
	}
	for _, g := range x.order {
		n := x.numbers[g]
		until := int64(Never)
		if o.time != nil {
			if us, ok := o.time.of(a.t, o.g.lay, g); ok {
				until = us
			}
		}
		t.setUntil(n, until)
		if !out[g] {
			t.fate[n] = FateHeld
		}
	}
}

// tracePiece numbers a merged session; target is its record, touched are the pieces that make it.
func (o *sessionAggregate) traceSession(target uint32, n int64, pieces []piece) {
	for _, q := range pieces {
		if !q.stored {
			o.tap.setGroup(q.g, n)
		}
	}
	o.numbers[target] = n
	o.touched = append(o.touched, target)
}

// traceBefore keeps what the stored session was that a merged one grows from; ok is false if there is none.
func (o *sessionAggregate) traceBefore(n int64, pieces []piece) {
	for _, q := range pieces {
		if !q.stored {
			continue
		}
		if o.tap.wants(n) || o.tap.was.n < keptBefore {
			cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
			if o.results([]uint32{q.g}, cols) == nil {
				o.tap.keepBefore([]int64{n}, cols)
			}
		}
		return
	}
	o.tap.fresh[n] = true
}

// traceValues keeps what sessions are.
func (o *sessionAggregate) traceValues(groups []uint32, leaving bool) {
	cols := make([]columnar.Vec, len(o.g.keys)+len(o.g.calls))
	for len(groups) > 0 {
		part := groups[:min(len(groups), columnar.Slice)]
		groups = groups[len(part):]
		if o.results(part, cols) != nil {
			continue
		}
		ns := make([]int64, len(part))
		for k, g := range part {
			ns[k] = o.numbers[g]
		}
		o.tap.keepGroups(ns, cols, leaving)
	}
}

// traceOut notes which sessions will leave, and until when the others stay.
func (o *sessionAggregate) traceOut() {
	t := o.tap
	out := map[uint32]bool{}
	var unknown []uint32
	for _, g := range o.out {
		out[g] = true
		if _, ok := o.numbers[g]; !ok {
			o.numbers[g] = t.newGroup()
			unknown = append(unknown, g)
		}
		t.groups = append(t.groups, o.numbers[g])
	}
	o.traceValues(unknown, false)
	o.traceValues(o.out, true)
	for _, g := range o.touched {
		n := o.numbers[g]
		t.setUntil(n, *o.end(g))
		if !out[g] {
			t.fate[n] = FateHeld
		}
	}
}
