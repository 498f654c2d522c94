package exec

import (
	"sort"

	"streamlab/columnar"
)

// Trace gives what the taps saw; nil if the plan was built without them. It is called once, when all parts of
// the result have been read.
func (p *Plan) Trace() *Trace {
	if p.tracer == nil {
		return nil
	}
	out := &Trace{taps: p.tracer.taps, Stages: p.tracer.stages(newInverse(p.tracer.taps))}
	for _, r := range p.tracer.matched {
		out.Matched = append(out.Matched, r.ref())
	}
	return out
}

// tell gives Partial what was seen until now.
func (t *tracer) tell() {
	if t.conf.Partial == nil || t.now().Sub(t.told) < t.conf.Every {
		return
	}
	t.conf.Partial(&Trace{Stages: t.stages(&inverse{})})
	t.told = t.now()
}

func (t *tracer) stages(inverse *inverse) (out []TraceStage) {
	for _, p := range t.taps {
		s := p.TraceStage
		for _, b := range p.below {
			s.In += b.Out
		}
		s.State, _ = stateRows(p.child)
		s.Fates = map[Fate]int64{}
		for _, f := range p.fate {
			s.Fates[f]++
		}
		p.rows(&s, inverse)
		out = append(out, s)
	}
	return out
}

// rows puts the kept rows in order.
func (p *tap) rows(s *TraceStage, inverse *inverse) {
	order := make([]int, len(p.kept))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(x, y int) bool { return p.kept[order[x]] < p.kept[order[y]] })
	at := make([]int32, len(order))
	was := make([]int32, len(order))
	for i, k := range order {
		n := p.kept[k]
		at[i], was[i] = int32(k), -1
		r := TraceRow{N: n, Emitted: p.sent == nil || p.sent[n], New: p.fresh[n], Fate: p.fate[n], Into: Ref{Stage: -1},
			Time: p.times[n], Until: p.until[n]}
		if p.into != nil {
			r.Into = p.into[n].ref()
		}
		r.From, r.FromAll = p.origins(n, inverse, fromLimit)
		j, ok := p.wasOf[n]
		if ok {
			was[i], r.Known = j, true
		}
		s.Rows = append(s.Rows, r)
	}
	if len(order) == 0 {
		return
	}
	arrow := s.Schema.Arrow()
	s.Values = columnar.Record(arrow, p.values.cols, columnar.Sel{Idx: at, N: len(at)})
	if p.was != nil {
		cols := make([]*columnar.Vec, len(p.was.cols))
		for i, c := range p.was.cols {
			cols[i] = columnar.NewVec(c.Type, 0)
			columnar.GatherIdx(cols[i], c, was)
		}
		s.Before = columnar.Record(nullableAll(s.Schema).Arrow(), cols, columnar.AllRows(len(was)))
	}
}

// origins lists rows that a row was made of, at most limit, and says how many there are.
func (p *tap) origins(n int64, inverse *inverse, limit int) (out []Ref, all int64) {
	add := func(r rowID) {
		if r == noRow {
			return
		}
		if all++; len(out) < limit {
			out = append(out, r.ref())
		}
	}
	add(p.from[n])
	for _, r := range p.more[n] {
		add(r)
	}
	for _, r := range inverse.of(makeRow(p.Number, n)) {
		add(r)
	}
	return out, all
}

// inverse finds the rows that went into a group.
type inverse struct{ members map[rowID][]rowID }

func newInverse(taps []*tap) *inverse {
	x := &inverse{members: map[rowID][]rowID{}}
	for _, t := range taps {
		for n, to := range t.into {
			if to >= 0 && t.fate[n] == FateMerged {
				x.members[to] = append(x.members[to], makeRow(t.Number, int64(n)))
			}
		}
	}
	return x
}

func (x *inverse) of(r rowID) []rowID { return x.members[r] }

// Follow gives the rows that some rows were made of, however far below, and those that were made of them: by
// stage and number. The rows themselves are among them; the partners of a join that a descendant has are not.
// A partial trace follows nothing.
func (t *Trace) Follow(rows ...Ref) map[int]map[int64]bool {
	out := map[int]map[int64]bool{}
	if t.taps == nil {
		return out
	}
	add := func(r rowID) bool {
		if r < 0 {
			return false
		}
		ref := r.ref()
		if out[ref.Stage] == nil {
			out[ref.Stage] = map[int64]bool{}
		}
		was := out[ref.Stage][ref.N]
		out[ref.Stage][ref.N] = true
		return !was
	}
	inverse := newInverse(t.taps)
	var down func(r rowID)
	down = func(r rowID) {
		ref := r.ref()
		p := t.taps[ref.Stage]
		origins := append(append([]rowID{p.from[ref.N]}, p.more[ref.N]...), inverse.of(r)...)
		for _, o := range origins {
			if add(o) {
				down(o)
			}
		}
	}
	above := map[rowID]bool{} // the rows and what is made of them
	for _, r := range rows {
		if r.Stage < 0 || r.Stage >= len(t.taps) || r.N < 0 || r.N >= int64(len(t.taps[r.Stage].from)) {
			continue
		}
		id := makeRow(r.Stage, r.N)
		above[id] = true
		add(id)
		down(id)
	}
	for _, p := range t.taps { // a row stands in a later stage than what it was made of
		for n := range p.from {
			id := makeRow(p.Number, int64(n))
			if above[id] {
				if p.into != nil && p.into[n] >= 0 && p.fate[n] == FateMerged {
					above[p.into[n]] = true
					add(p.into[n])
				}
				continue
			}
			hit := above[p.from[n]]
			for _, o := range p.more[int64(n)] {
				hit = hit || above[o]
			}
			if hit {
				above[id] = true
				add(id)
				if p.into != nil && p.into[n] >= 0 && p.fate[n] == FateMerged {
					above[p.into[n]] = true
					add(p.into[n])
				}
			}
		}
	}
	return out
}
