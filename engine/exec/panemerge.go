package exec

import (
	"cmp"
	"slices"

	"streamlab/columnar"
	"streamlab/sql/expr"
)

// A paneRun is neighbouring panes of a key, oldest first, and windows over them.
type paneRun struct {
	key    uint32
	panes  []uint32
	at     []int64 // their starts
	starts []int64 // of the windows
	lo, hi []int32 // panes [lo, hi) of each window
	sum    int     // of hi-lo
}

func (x *paneRun) begin(key uint32) {
	x.key, x.sum = key, 0
	x.panes, x.at = x.panes[:0], x.at[:0]
	x.starts, x.lo, x.hi = x.starts[:0], x.lo[:0], x.hi[:0]
}

func (x *paneRun) add(pane uint32, at int64) {
	x.panes, x.at = append(x.panes, pane), append(x.at, at)
}

// windows adds those windows that begin between from and to, and hold a pane. They must come in order.
func (x *paneRun) windows(p *panes, from, to int64) {
	l, h, n := 0, 0, len(x.at)
	if k := len(x.lo); k > 0 {
		l, h = int(x.lo[k-1]), int(x.hi[k-1])
	}
	for s := from; s <= to; {
		for l < n && x.at[l] < s {
			l++
		}
		if l == n {
			return
		}
		end := s + p.node.Size - p.width
		if x.at[l] > end {
			s = p.first(x.at[l])
			continue
		}
		for h = max(h, l); h < n && x.at[h] <= end; h++ {
		}
		x.starts, x.lo, x.hi = append(x.starts, s), append(x.lo, int32(l)), append(x.hi, int32(h))
		x.sum += h - l
		s += p.node.Slide
	}
}

// A paneMerge makes windows of panes. A window of few panes is the sum of them. When windows share many panes
// their time is cut into blocks as long as a window, and for every pane the sums up to the end and from the
// beginning of its block are made: a window lies in two blocks at most, so it is the sum of two of these, however
// many panes it has.
type paneMerge struct {
	aggs   []expr.Aggregate
	offs   []int
	size   int64 // of a window
	panes  *columnar.Records
	paneAt int

	acc    *columnar.Records // the windows' aggregates
	keys   []uint32          // of each window
	starts []int64
	to     []uint32 // windows and panes that wait to be added
	from   []uint32

	head, tail      *columnar.Records // by pane of a run: the sum of its block up to it, and from it on
	ids, ids2, ids3 []uint32
	block           []int64
}

// mergeWaits is how many pairs of a window and a pane are added at a time.
const mergeWaits = 4096

func newPaneMerge(g *grouping) *paneMerge {
	width := max(8, g.width)
	return &paneMerge{aggs: g.fresh(), offs: g.offs, acc: columnar.NewRecords(width), head: columnar.NewRecords(width), tail: columnar.NewRecords(width)}
}

// begin forgets the windows of the batch before; panes lie in t.
func (m *paneMerge) begin(t *table, size int64) {
	m.panes, m.paneAt, m.size = t.rec, t.extraAt(), size
	m.acc.Truncate()
	m.keys, m.starts = m.keys[:0], m.starts[:0]
	m.to, m.from = m.to[:0], m.from[:0]
}

// settle gives memory back that the batches no longer need.
func (m *paneMerge) settle() {
	n := len(m.keys)
	if cap(m.keys) > 1<<16 && n < cap(m.keys)/16 {
		m.reset()
	}
}

func (m *paneMerge) reset() {
	m.acc.Reset()
	m.keys, m.starts, m.to, m.from = nil, nil, m.to[:0], m.from[:0]
}

// add makes the windows of a run.
func (m *paneMerge) add(x *paneRun) error {
	n := len(x.starts)
	if n == 0 {
		return nil
	}
	base := uint32(m.acc.Len())
	for range n {
		m.acc.Add()
		m.keys = append(m.keys, x.key)
	}
	m.starts = append(m.starts, x.starts...)
	if x.sum > 4*len(x.panes)+2*n {
		return m.blocks(x, base)
	}
	for i := range n {
		for k := x.lo[i]; k < x.hi[i]; k++ {
			m.to, m.from = append(m.to, base+uint32(i)), append(m.from, x.panes[k])
		}
	}
	if len(m.to) >= mergeWaits {
		return m.flush()
	}
	return nil
}

// flush adds what waits.
func (m *paneMerge) flush() error {
	if len(m.to) == 0 {
		return nil
	}
	err := m.merge(m.acc, m.to, m.panes, m.paneAt, m.from)
	m.to, m.from = m.to[:0], m.from[:0]
	return err
}

// merge adds groups of from to groups of into, pair by pair, in order: a pair may add what one before it made.
func (m *paneMerge) merge(into *columnar.Records, to []uint32, from *columnar.Records, at int, groups []uint32) error {
	for i, a := range m.aggs {
		if err := a.Merge(into, m.offs[i], to, from, at+m.offs[i], groups); err != nil {
			return err
		}
	}
	return nil
}

// blocks makes the windows of a run by the sums of blocks.
func (m *paneMerge) blocks(x *paneRun, base uint32) error {
	n := len(x.panes)
	m.head.Truncate()
	m.tail.Truncate()
	m.block, m.ids = grow(m.block[:0], n), grow(m.ids[:0], n)
	for i := range n {
		m.head.Add()
		m.tail.Add()
		m.ids[i] = uint32(i)
		m.block[i] = (x.at[i] - x.at[0]) / m.size
	}
	if err := m.merge(m.head, m.ids, m.panes, m.paneAt, x.panes); err != nil {
		return err
	}
	if err := m.merge(m.tail, m.ids, m.panes, m.paneAt, x.panes); err != nil {
		return err
	}
	to, from := m.ids2[:0], m.ids3[:0]
	for i := 1; i < n; i++ {
		if m.block[i] == m.block[i-1] {
			to, from = append(to, uint32(i)), append(from, uint32(i-1))
		}
	}
	if err := m.merge(m.head, to, m.head, 0, from); err != nil {
		return err
	}
	to, from = to[:0], from[:0]
	for i := n - 1; i > 0; i-- {
		if m.block[i] == m.block[i-1] {
			to, from = append(to, uint32(i-1)), append(from, uint32(i))
		}
	}
	if err := m.merge(m.tail, to, m.tail, 0, from); err != nil {
		return err
	}
	// A window in two blocks takes the rest of the first from its first pane on, and the beginning of the second. One
	// in a single block takes the beginning of it, or the rest: it ends where the block ends, unless no pane is before.
	to, from = to[:0], from[:0]
	for i, lo := range x.lo {
		if m.block[x.hi[i]-1] != m.block[lo] || lo > 0 && m.block[lo-1] == m.block[lo] {
			to, from = append(to, base+uint32(i)), append(from, uint32(lo))
		}
	}
	if err := m.merge(m.acc, to, m.tail, 0, from); err != nil {
		return err
	}
	to, from = to[:0], from[:0]
	for i, lo := range x.lo {
		if end := x.hi[i] - 1; m.block[end] != m.block[lo] || lo == 0 || m.block[lo-1] != m.block[lo] {
			to, from = append(to, base+uint32(i)), append(from, uint32(end))
		}
	}
	m.ids2, m.ids3 = to, from
	return m.merge(m.acc, to, m.head, 0, from)
}

// lateWindows counts the windows that rows of a batch came too late for, each once.
type lateWindows struct {
	t, keys *table
	e, k    *encoder
	groups  []uint32
	gone    []uint32
	lowest  []int64
}

// take notes the panes of groups that are in windows that have closed, and gives those that are in others.
func (l *lateWindows) take(p *panes, x *paneFold, groups []uint32, bound int64) []uint32 {
	closed := p.closedTo(bound)
	kept := groups[:0]
	l.gone = l.gone[:0]
	for _, g := range groups {
		at := x.pane(g)
		if p.first(at) <= closed {
			l.gone = append(l.gone, g)
		}
		if p.last(at) > closed {
			kept = append(kept, g)
		}
	}
	if len(l.gone) == 0 {
		return kept
	}
	if l.t == nil {
		l.t, l.keys = newTable(p.g.lay, 0), newTable(p.whole.lay, 0)
		l.e, l.k = newEncoder(p.g.lay), newEncoder(p.whole.lay)
	}
	l.e.encodeGroups(x.t, l.gone)
	l.groups = grow(l.groups[:0], len(l.gone))
	l.t.upsert(l.e, l.groups)
	return kept
}

// windows counts, and forgets what was noted.
func (l *lateWindows) windows(p *panes, bound int64) (n int64) {
	if l.t == nil || l.t.live == 0 {
		return 0
	}
	closed := p.closedTo(bound)
	panes := l.t.groups(l.gone[:0])
	l.k.encodePrefix(l.t, panes)
	l.groups = grow(l.groups[:0], len(panes))
	l.keys.upsert(l.k, l.groups)
	l.lowest = grow(l.lowest[:0], l.keys.live)
	for i := range l.lowest {
		l.lowest[i] = closed + p.node.Slide
	}
	at := func(g uint32) int64 { return *(*int64)(l.t.rec.Ptr(g, l.t.extraAt()-8)) }
	slices.SortFunc(panes, func(x, y uint32) int { return cmp.Compare(at(y), at(x)) }) // groups are counted from 0: panes[i] was i
	for _, g := range panes {
		low := &l.lowest[l.groups[g]]
		from, to := p.first(at(g)), min(p.last(at(g)), *low-p.node.Slide)
		if from <= to {
			n += (to-from)/p.node.Slide + 1
		}
		*low = min(*low, from)
	}
	l.gone = panes
	l.t.truncate()
	l.keys.truncate()
	return n
}
