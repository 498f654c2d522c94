package exec

import (
	"bytes"
	"iter"
	"math"
	"sort"

	"streamlab/columnar"
	"streamlab/sql/plan"
	"streamlab/store"
)

// What operators that collect their input tell their taps. All of it is about the chunk that is being pushed
// to the operator, unless it says otherwise.

// toSink is the end of a traced plan: its rows are those that the sink gets.
type toSink struct{ child operator }

func (o *toSink) open(r *run) (int, error)             { return o.child.open(r) }
func (o *toSink) part(r *run, w, p int, to emit) error { return o.child.part(r, w, p, to) }

// number gives the stages the numbers of their stateful operators.
func (t *tracer) number(stateful []Stateful) {
	for _, p := range t.taps {
		for i, s := range stateful {
			if o, ok := s.(operator); ok && o == p.child {
				p.Operator = i
			}
		}
	}
}

// queueRows says that rows of the chunk will leave, in this order.
func (p *tap) queueRows(sel columnar.Sel) {
	src := p.t.pushing
	for k := range sel.N {
		p.queue = append(p.queue, origin{a: src.row(sel.At(k)), b: noRow})
	}
}

// passOn is queueRows for rows that go on as they are.
func (p *tap) passOn(sel columnar.Sel) {
	p.queueRows(sel)
	for k := range sel.N {
		p.t.pushing.happened(sel.At(k), FatePassed)
	}
}

// took appends the rows of the chunk to a list and sets their fate.
func (p *tap) took(list []rowID, sel columnar.Sel, f Fate) []rowID {
	src := p.t.pushing
	for k := range sel.N {
		i := sel.At(k)
		src.happened(i, f)
		list = append(list, src.row(i))
	}
	return list
}

// reordered says that rows that were taken will leave in the order of idx.
func (p *tap) reordered(rows []rowID, idx []int32) {
	for _, i := range idx {
		p.queue = append(p.queue, origin{a: rows[i], b: noRow})
	}
}

func (o *sorter) traced(t *tap)      { o.tap = t }
func (o *streamLimit) traced(t *tap) { o.tap = t }
func (o *dedup) traced(t *tap)       { o.tap = t }
func (o *hashJoin) traced(t *tap)    { o.tap = t }
func (o *streamJoin) traced(t *tap)  { o.tap = t }
func (o *mapGroups) traced(t *tap)   { o.tap = t }

// traceRows looks the rows of the chunk that is being pushed up, which lie in a part from position at on, and
// says which are first of their key, and of which row the others are duplicates.
func (o *dedup) traceRows(in *dedupPart, at int, sel columnar.Sel) {
	src := o.tap.t.pushing
	if o.firsts == nil {
		o.firsts = map[dedupKey]rowID{}
	}
	keys, first := make([]dedupKey, sel.N), make([]bool, sel.N)
	for i := range ranges {
		rows := in.by[i]
		for len(rows) > 0 && int(rows[0]) < at {
			rows = rows[1:]
		}
		for _, row := range rows {
			had := len(in.first[i])
			o.takePart(i, in, []int32{row})
			k := int(row) - at
			keys[k], first[k] = dedupKey{i, o.ranges[i].groups[0]}, len(in.first[i]) > had
		}
	}
	for k := range sel.N {
		i := sel.At(k)
		if first[k] {
			o.tap.queueRows(columnar.Sel{Idx: []int32{int32(i)}, N: 1})
			n := src.happened(i, FatePassed)
			o.firsts[keys[k]] = src.row(i)
			if until, ok := o.expires(o.ranges[keys[k].at], keys[k].group); ok {
				src.setUntil(n, until)
			}
			continue
		}
		n := src.happened(i, FateDuplicate)
		row, ok := o.firsts[keys[k]]
		if !ok {
			row = storedRow
		}
		src.setInto(n, row)
		src.note(i)
	}
}

// passed is what happened to the probe rows that a chunk of results is made of.
func (o *hashJoin) passed(c *chunk) Fate {
	switch {
	case c.with != nil || o.node.Kind == plan.LeftSemi:
		return FateMatched
	case c.from != nil || o.node.Kind == plan.LeftAnti:
		return FateUnmatched
	}
	return FatePassed
}

// partners names build rows; nil if the join is not traced.
func (o *hashJoin) partners(rows []int32) []rowID {
	if o.tap == nil {
		return nil
	}
	out := make([]rowID, len(rows))
	for k, b := range rows {
		out[k] = noRow
		if int(b) < len(o.builtOf) && b >= 0 {
			out[k] = o.builtOf[b]
		}
	}
	return out
}

// rowOf names a stored row.
func (st *joinStore) rowOf(g uint32) rowID {
	if r, ok := st.came[g]; ok {
		return r
	}
	return storedRow
}

// tracePairs says which pairs of a row of the chunk and a stored one will leave: those of sel.
func (o *streamJoin) tracePairs(theirs *joinStore, rows []int32, partners []uint32, sel columnar.Sel) {
	t := o.tap.t
	src := t.pushing
	for k := range sel.N {
		x := sel.At(k)
		partner := theirs.rowOf(partners[x])
		t.claim(partner, FateMatched)
		src.happened(int(rows[x]), FateMatched)
		o.tap.queue = append(o.tap.queue, origin{a: src.row(int(rows[x])), b: partner})
	}
}

// unmatched gives rows without a partner a fate, before those that are stored get theirs.
func (p *tap) unmatched(sel columnar.Sel, hit []bool) {
	for k := range sel.N {
		if i := sel.At(k); !hit[k] {
			p.t.pushing.happened(i, FateUnmatched)
			p.t.pushing.note(i)
		}
	}
}

// traceStored remembers which rows of the chunk have just been stored and until when they wait for a partner.
func (o *streamJoin) traceStored(s *joinSide, st *joinStore, at []int32, stored []link) {
	src := o.tap.t.pushing
	for k, x := range at {
		g := stored[k].row()
		st.came[g] = src.row(int(x))
		n := src.ids[x]
		if src.fate[n] == FateUnmatched {
			src.fate[n] = FateWaiting
		}
		src.setUntil(n, s.until(st.rows.time(g)))
	}
}

// until is the watermark that lets a row with a time go.
func (s *joinSide) until(us int64) int64 {
	if !s.expires || us == never {
		return Never
	}
	w := int64(math.MinInt64)
	for _, b := range s.bounds {
		if b.Moves {
			w = max(w, us-b.Offset)
		} else if b.Offset < us {
			return Never
		}
	}
	return w
}

// traceLone says that stored rows leave without a partner.
func (o *streamJoin) traceLone(st *joinStore, rows []uint32) {
	for _, g := range rows {
		r := st.rowOf(g)
		o.tap.t.claim(r, FateUnmatched)
		o.tap.queue = append(o.tap.queue, origin{a: r, b: noRow})
	}
}

// traceCall says of which rows the results of the next call of a key's code are made.
func (o *mapGroups) traceCall(g groupRows) {
	if o.tap == nil {
		return
	}
	o.tap.calling = origin{a: noRow, b: noRow}
	var rows []rowID
	for n := g.first; n != 0; n = o.rows[n-1].next {
		rows = append(rows, o.came[n-1])
	}
	if len(rows) > 0 {
		o.tap.calling.more = rows
	}
}

// overlay is the state of a batch that changes nothing: what it writes lies over what was stored.
type overlay struct {
	below *store.State
	rows  passing // nil is deleted
}

func (s *overlay) Get(key []byte) ([]byte, bool, error) {
	if v, ok := s.rows.rows[string(key)]; ok {
		return v, v != nil, nil
	}
	return s.below.Get(key)
}

func (s *overlay) Put(key, value []byte) {
	v := bytes.Clone(value)
	if v == nil {
		v = []byte{}
	}
	s.rows.rows[string(key)] = v
}

func (s *overlay) Delete(key []byte) { s.rows.rows[string(key)] = nil }

func (s *overlay) Range(from, to []byte) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		var all []store.Row
		for row, err := range s.below.Range(from, to) {
			if err != nil {
				yield(store.Row{}, err)
				return
			}
			if _, over := s.rows.rows[string(row.Key)]; !over {
				all = append(all, row)
			}
		}
		for row := range s.rows.Range(from, to) {
			if row.Value != nil {
				all = append(all, row)
			}
		}
		sort.Slice(all, func(x, y int) bool { return bytes.Compare(all[x].Key, all[y].Key) < 0 })
		for _, row := range all {
			if !yield(row, nil) {
				return
			}
		}
	}
}
