package exec

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// A StateImage is the rows of one store of a stateful operator, for looking at. Places count in the order of
// the keys. An image shares nothing with the plan it was read by and never changes: it may be used by many
// goroutines.
type StateImage struct {
	Keys, Values types.Schema

	cols    []columnar.Vec // of the keys, then of the values; rows in the order in which they were read
	n       int
	order   []uint32 // place → row; nil: rows are not sorted
	keys    []byte   // the rows' encoded keys
	ends    []uint32 // where each ends
	batches []int64  // per row the batch that wrote it, complemented if it is an upper bound; nil: not known
}

// loadNotes is what a table notes while it is loaded to be looked at.
type loadNotes struct {
	batches []int64 // by group; a complemented one is that of a base
	gone    *table  // removed keys go here; nil: they are removed
}

func (n *loadNotes) note(groups []uint32, p store.Piece) {
	batch := p.Batch
	if p.Kind == store.KindBase {
		batch = ^batch
	}
	for _, g := range groups {
		for int(g) >= len(n.batches) {
			n.batches = append(n.batches, 0)
		}
		n.batches[g] = batch
	}
}

// tabular is an operator whose rows lie in tables, and are shown in the order of their groups.
type tabular interface {
	stateTables(storeName string) []**table
}

func (o *stateAggregate) stateTables(string) (ts []**table) {
	if o.inPanes {
		return nil // its rows are made of others
	}
	for _, a := range o.ranges {
		ts = append(ts, &a.t)
	}
	return ts
}

func (o *dedup) stateTables(string) (ts []**table) {
	for _, a := range o.ranges {
		ts = append(ts, &a.t)
	}
	return ts
}

func (o *streamLimit) stateTables(string) []**table      { return []**table{&o.t} }
func (o *sessionAggregate) stateTables(string) []**table { return []**table{&o.sessions} }

// dated is an operator that notes which batch wrote each row, in the order in which stateRows shows them.
type dated interface {
	note()
	noted(storeName string) []int64
}

func (o *streamJoin) note() {
	for _, a := range o.ranges {
		for _, st := range a.sides {
			st.batches = []int64{}
		}
	}
}

func (o *streamJoin) noted(name string) (out []int64) {
	i := o.side(name)
	for _, a := range o.ranges {
		st := a.sides[i]
		for _, g := range st.rows.groups() {
			if int(g) >= len(st.batches) { // of an earlier version
				return nil
			}
			out = append(out, st.batches[g])
		}
	}
	return out
}

// StateStores names the stores of an operator that can be looked at: "default", "left" and "right" of a join,
// or the variables that the operator has as of the view; nil if there are none.
func (p *Plan) StateStores(v *store.View, operator int) (names []string, err error) {
	if operator < 0 || operator >= len(p.stateful) {
		return nil, nil
	}
	in, ok := p.stateful[operator].(inspected)
	if !ok {
		return nil, nil
	}
	if o, ok := in.(*mapGroups); ok {
		o.view(v, operator)
		if o.kind == plan.TransformKind {
			for row, err := range o.st.s.Range([]byte{stateMeta}, []byte{stateMeta + 1}) {
				if err != nil {
					return nil, err
				}
				names = append(names, string(row.Key[1:]))
			}
			return names, nil
		}
	}
	for _, name := range []string{"default", sideNames[0], sideNames[1]} {
		if _, _, ok := in.stateSchema(name); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// look reads a view into an operator of the plan. With apart, keys that a piece removes are collected instead
// of being removed; told is false if the operator cannot tell them. With first, tables that can keep to the rows with the
// least keys do, and have a front then.
func (p *Plan) look(v *store.View, operator int, storeName string, apart bool, first int) (in inspected, ts []**table, told bool, err error) {
	if operator < 0 || operator >= len(p.stateful) {
		return nil, nil, false, errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "operatorId", "message", "the query has no such stateful operator")
	}
	s := p.stateful[operator]
	in, ok := s.(inspected)
	if !ok {
		return nil, nil, false, refuse("showing the state of " + s.Name())
	}
	if o, ok := s.(interface {
		view(v *store.View, number int)
	}); ok {
		o.view(v, operator)
	}
	if _, _, ok := in.stateSchema(storeName); !ok {
		return nil, nil, false, errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "storeName", "message",
			"the operator has no store "+storeName)
	}
	if _, ok := s.(*mapGroups); !ok {
		s.reset()
	}
	if o, ok := s.(tabular); ok {
		for _, t := range o.stateTables(storeName) {
			told = true
			(*t).notes = &loadNotes{}
			if first > 0 && fronted(s) {
				(*t).front = newFront((*t).lay, first)
			}
			if apart {
				(*t).notes.gone = newTable((*t).lay, (*t).rec.Stride()-(*t).extraAt())
			}
			ts = append(ts, t)
		}
	}
	if o, ok := s.(dated); ok {
		o.note()
	}
	return in, ts, told, s.load(v, operator)
}

// StateImage reads the state of an operator as of a view, sorted by key if asked. storeName is one of
// StateStores, or the name of a variable. It loads the view into the plan's tables: use a plan built for the
// purpose, not one that runs.
func (p *Plan) StateImage(v *store.View, operator int, storeName string, sorted bool) (*StateImage, error) {
	in, ts, _, err := p.look(v, operator, storeName, false, 0)
	if err != nil {
		return nil, err
	}
	m, err := imageOf(in, storeName)
	if err != nil {
		return nil, err
	}
	m.date(in, ts, storeName)
	if sorted {
		m.sort()
	}
	return m, nil
}

// date notes which batch wrote each row, where that is known.
func (m *StateImage) date(in inspected, ts []**table, storeName string) {
	for _, t := range ts {
		for _, g := range (*t).groups(nil) {
			m.batches = append(m.batches, (*t).notes.batches[g])
		}
	}
	if o, ok := in.(dated); ok {
		m.batches = o.noted(storeName)
	}
	if len(m.batches) != m.n {
		m.batches = nil
	}
}

// StateChanges reads what one batch wrote, from a view of ChangesOf: the rows as it left them, and the keys
// that it removed, whose values mean nothing. told is false if the operator cannot tell removed keys.
func (p *Plan) StateChanges(v *store.View, operator int, storeName string) (changed, removed *StateImage, told bool, err error) {
	in, ts, told, err := p.look(v, operator, storeName, true, 0)
	if o, ok := in.(*dedup); ok && (o.within || o.key != nil) { // keys leave by time
		told = false
	}
	if err != nil || !told {
		return nil, nil, false, err
	}
	if changed, err = imageOf(in, storeName); err != nil {
		return nil, nil, true, err
	}
	for _, t := range ts {
		*t = (*t).notes.gone // until the next reset
	}
	removed, err = imageOf(in, storeName)
	changed.sort()
	if removed != nil {
		removed.sort()
	}
	return changed, removed, true, err
}

// imageOf collects the rows of a loaded operator.
func imageOf(in inspected, storeName string) (*StateImage, error) {
	keys, values, _ := in.stateSchema(storeName)
	buf := newRowsBuffer(append(append(types.Schema{}, keys...), values...))
	if err := in.stateRows(storeName, func(c *chunk) error { buf.add(c.cols, c.sel); return nil }); err != nil {
		return nil, err
	}
	m := &StateImage{Keys: keys, Values: values, cols: buf.vecs(), n: buf.n, ends: make([]uint32, buf.n)}
	for i := range m.n {
		for k := range keys {
			m.keys = AppendKey(m.keys, &m.cols[k], i)
		}
		m.ends[i] = uint32(len(m.keys))
	}
	return m, nil
}

func (m *StateImage) rowKey(row uint32) []byte {
	from := uint32(0)
	if row > 0 {
		from = m.ends[row-1]
	}
	return m.keys[from:m.ends[row]:m.ends[row]]
}

// sort orders the places by key: by eight bytes behind what all keys have in common, and where these are equal
// by all.
func (m *StateImage) sort() {
	common := 0
	if m.n > 1 {
		first := m.rowKey(0)
		common = len(first)
		for r := 1; r < m.n && common > 0; r++ {
			k := m.rowKey(uint32(r))
			common = min(common, len(k))
			for i := range common {
				if k[i] != first[i] {
					common = i
					break
				}
			}
		}
	}
	list := make([]entry, m.n)
	for r := range list {
		var head [8]byte
		copy(head[:], m.rowKey(uint32(r))[common:])
		list[r] = entry{binary.BigEndian.Uint64(head[:]), uint32(r)}
	}
	list = radixSort(list)
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].head == list[from].head {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(list[from:to], func(a, b entry) int {
				return bytes.Compare(m.rowKey(a.row)[common:], m.rowKey(b.row)[common:])
			})
		}
		from = to
	}
	m.order = make([]uint32, m.n)
	for i, e := range list {
		m.order[i] = e.row
	}
}

// Len is the number of rows.
func (m *StateImage) Len() int { return m.n }

// Row is the position in Columns of the row at a place.
func (m *StateImage) Row(place int) int {
	if m.order == nil {
		return place
	}
	return int(m.order[place])
}

// Columns are the vectors of the keys, then of the values. They are not to be changed.
func (m *StateImage) Columns() []columnar.Vec { return m.cols }

// Key is the encoded key at a place; see AppendKey.
func (m *StateImage) Key(place int) []byte { return m.rowKey(uint32(m.Row(place))) }

// AppendValue appends an encoding of the values at a place, equal for equal values.
func (m *StateImage) AppendValue(b []byte, place int) []byte {
	row := m.Row(place)
	for k := len(m.Keys); k < len(m.cols); k++ {
		b = AppendKey(b, &m.cols[k], row)
	}
	return b
}

// Batch is the batch that last wrote the row at a place, or an upper bound of it; -1 if it is not known.
func (m *StateImage) Batch(place int) (batch int64, atMost bool) {
	if m.batches == nil {
		return -1, false
	}
	if b := m.batches[m.Row(place)]; b < 0 {
		return ^b, true
	} else {
		return b, false
	}
}

// Bytes is what key and values at a place take as plain values.
func (m *StateImage) Bytes(place int) int { return rowSize(m.cols, m.Row(place)) }

// Search gives the places whose keys begin with a prefix, from inclusive, to exclusive. The image must be
// sorted.
func (m *StateImage) Search(prefix []byte) (from, to int) {
	from = sort.Search(m.n, func(i int) bool { return bytes.Compare(m.Key(i), prefix) >= 0 })
	to = from + sort.Search(m.n-from, func(i int) bool { return !bytes.HasPrefix(m.Key(from+i), prefix) })
	return from, to
}

// Find gives the place of a key. In an image that is not sorted it looks at every row.
func (m *StateImage) Find(key []byte) (place int, ok bool) {
	if m.order != nil {
		place = sort.Search(m.n, func(i int) bool { return bytes.Compare(m.Key(i), key) >= 0 })
		return place, place < m.n && bytes.Equal(m.Key(place), key)
	}
	for i := range m.n {
		if bytes.Equal(m.Key(i), key) {
			return i, true
		}
	}
	return 0, false
}

// TellsRemoved says whether StateChanges can tell the keys that a batch removed.
func (p *Plan) TellsRemoved(operator int) bool {
	_, ok := p.stateful[operator].(tabular)
	o, isAggregate := p.stateful[operator].(*stateAggregate)
	return ok && !(isAggregate && o.inPanes)
}

// None is an image of the same columns without rows.
func (m *StateImage) None() *StateImage { return m.keep(nil) }

// Except is the rows whose keys other does not have, or, with values, has with other values. Both must be
// sorted.
func (m *StateImage) Except(other *StateImage, values bool) *StateImage {
	var places []uint32
	var a, b []byte
	for i := range m.n {
		at, ok := other.Find(m.Key(i))
		if ok && values {
			a, b = m.AppendValue(a[:0], i), other.AppendValue(b[:0], at)
			ok = bytes.Equal(a, b)
		}
		if !ok {
			places = append(places, uint32(i))
		}
	}
	return m.keep(places)
}

// keep is the image of some places, which share the columns.
func (m *StateImage) keep(places []uint32) *StateImage {
	out := *m
	out.n, out.order = len(places), make([]uint32, len(places))
	for i, p := range places {
		out.order[i] = uint32(m.Row(int(p)))
	}
	return &out
}

// Awaits says whether some operator of a plan that has run nothing waits for a batch, when the last batch
// released what was behind evictMs and the watermark is watermarkMs now (engine.md MB-15).
func (p *Plan) Awaits(evictMs, watermarkMs int64) bool {
	if watermarkMs <= evictMs {
		return false
	}
	for _, s := range p.stateful {
		if s.needsBatch(watermarkMs * 1000) {
			return true
		}
	}
	return false
}
