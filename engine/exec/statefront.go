package exec

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"streamlab/columnar"
	"streamlab/store"
)

// A front makes a table take only the rows with the least keys while it is loaded, so that the first page of a
// large state costs a look at its keys instead of a table of them. Whenever twice as many rows are there as are
// wanted, the greatest leave and the bound becomes that of the greatest that stays; rows beyond the bound are not
// even looked up. So at the end all live rows that are not beyond the bound are there, in their newest version.
//
// Keys are compared by the words in which segments have them, in the order of AppendKey. Of a long text only the
// first sixteen bytes count: rows that agree in them count as equal, and are never beyond each other.
type front struct {
	marks []mark64
	want  int
	most  int      // rows from which on some leave
	bound []uint64 // by mark; nil: nothing has left
}

// A mark64 is a number made of the words of a key, such that keys are in the order of their first unequal one.
type mark64 struct {
	kind  markKind
	field int
	at    int // word; of a null bit, the word in which it is
	bit   uint
}

type markKind uint8

const (
	markPresent markKind = iota // 0 of a null
	markSigned
	markWord // as it is: a boolean, the lower half of a decimal
	markFloat
	markDouble
	markText  // its first eight bytes
	markText8 // its next eight
	markEnd   // its length; longText stands for all long ones
)

const longText = shortBytes + 1

// newFront bounds tables of a layout to want rows; nil if the layout's keys cannot be compared so.
func newFront(l *layout, want int) *front {
	f := &front{want: want, most: 2 * want}
	for _, c := range l.top {
		if !f.add(l, c) {
			break
		}
	}
	if len(f.marks) == 0 {
		return nil
	}
	return f
}

// add appends the marks of a field; false ends the comparison before it.
func (f *front) add(l *layout, c int) bool {
	x := &l.fields[c]
	if x.cell || x.phys == columnar.PNull {
		return false
	}
	add := func(kind markKind, at int) { f.marks = append(f.marks, mark64{kind: kind, field: c, at: at}) }
	f.marks = append(f.marks, mark64{kind: markPresent, at: c >> 6, bit: uint(c) & 63})
	switch x.phys {
	case columnar.PStruct:
		for _, k := range x.kids {
			if !f.add(l, k) {
				return false
			}
		}
	case columnar.PBool:
		add(markWord, x.at)
	case columnar.PF32:
		add(markFloat, x.at)
	case columnar.PF64:
		add(markDouble, x.at)
	case columnar.PDec:
		add(markSigned, x.at+1)
		add(markWord, x.at)
	case columnar.PBytes:
		add(markText, x.at)
		add(markText8, x.at)
		add(markEnd, x.at)
	default:
		add(markSigned, x.at)
	}
	return true
}

// keyWords are the words of keys, word by word or key by key, and their long texts.
type keyWords struct {
	words    []uint64
	by, step int // from a word to the next, and from a key to the next
	long     func(field, k int) []byte
}

func (m *mark64) of(w *keyWords, k int) uint64 {
	v := w.words[m.at*w.by+k*w.step]
	switch m.kind {
	case markPresent:
		return v>>m.bit&1 ^ 1
	case markSigned:
		return v ^ 1<<63
	case markFloat:
		if uint32(v)>>31 != 0 {
			return uint64(^uint32(v))
		}
		return v | 1<<31
	case markDouble:
		if v>>63 != 0 {
			return ^v
		}
		return v | 1<<63
	case markText, markText8:
		i := 1
		if m.kind == markText8 {
			i = 2
		}
		if uint32(v) <= shortBytes {
			return bits.ReverseBytes64(w.words[(m.at+i)*w.by+k*w.step])
		}
		return binary.BigEndian.Uint64(w.long(m.field, k)[8*(i-1):])
	case markEnd:
		return uint64(min(uint32(v), longText))
	}
	return v
}

// beyond says that a key is greater than the bound.
func (f *front) beyond(w *keyWords, k int) bool {
	for i := range f.marks {
		m := &f.marks[i]
		switch x := m.of(w, k); {
		case x != f.bound[i]:
			return x > f.bound[i]
		case m.kind == markEnd && x == longText:
			return false
		}
	}
	return false
}

// within lists the rows of a segment's key columns, of n rows, that are not beyond the bound.
func (f *front) within(keys []uint64, n, from, to int, long []columnar.Vec) []int32 {
	w := &keyWords{words: keys, by: n, step: 1, long: func(c, k int) []byte { return long[c].Bytes(k) }}
	out := make([]int32, 0, min(to-from, 64))
	first := markPresent
	if len(f.marks) > 1 && f.marks[0].kind == markPresent && f.bound != nil && f.bound[0] == 1 {
		first = f.marks[1].kind
	}
	if first == markSigned { // most rows are told by it
		m := &f.marks[1]
		nulls, bit := keys[f.marks[0].at*n:f.marks[0].at*n+n], f.marks[0].bit
		most := int64(f.bound[1] ^ 1<<63)
		for k, v := range keys[m.at*n+from : m.at*n+to] {
			if int64(v) > most && nulls[from+k]>>bit&1 == 0 || f.beyond(w, from+k) {
				continue
			}
			out = append(out, int32(from+k))
		}
		return out
	}
	for k := from; k < to; k++ {
		if f.bound == nil || !f.beyond(w, k) {
			out = append(out, int32(k))
		}
	}
	return out
}

func (t *table) keyOf(g uint32) *keyWords {
	return &keyWords{words: unsafe.Slice((*uint64)(t.rec.Ptr(g, recKey)), t.lay.words), by: 1,
		long: func(c, _ int) []byte { return t.lay.bytes(t.rec, g, recKey, &t.lay.fields[c]) }}
}

// narrow lets the greatest rows of a table leave if it has many. The table must be settled.
func (f *front) narrow(t *table) {
	if t.live <= f.most {
		return
	}
	type row struct {
		g     uint32
		marks []uint64
	}
	var rows []row
	for _, g := range t.groups(nil) {
		w := t.keyOf(g)
		marks := make([]uint64, len(f.marks))
		for i := range marks {
			marks[i] = f.marks[i].of(w, 0)
		}
		rows = append(rows, row{g, marks})
	}
	compare := func(a, b row) int { return f.compare(a.marks, b.marks) }
	slices.SortFunc(rows, compare)
	stay := f.want
	for stay < len(rows) && compare(rows[stay], rows[f.want-1]) == 0 {
		stay++
	}
	f.bound = rows[f.want-1].marks
	for _, r := range rows[stay:] {
		t.unlink(r.g)
	}
	t.settle()
	f.most = max(f.most, 2*t.live) // equal ones cannot leave
}

func (f *front) compare(a, b []uint64) int {
	for i := range f.marks {
		switch {
		case a[i] < b[i]:
			return -1
		case a[i] > b[i]:
			return 1
		case f.marks[i].kind == markEnd && a[i] == longText:
			return 0
		}
	}
	return 0
}

// fronted says that an operator loads its tables row by row, so that rows may be left out.
func fronted(s Stateful) bool {
	switch o := s.(type) {
	case *stateAggregate:
		return true
	case *dedup:
		return !o.within && o.key == nil
	}
	return false
}

// StateFront reads the rows of a state with the least keys, sorted: n at least, or all there are. ok is false if the
// operator's state has to be read whole, by StateImage, for that.
func (p *Plan) StateFront(v *store.View, operator int, storeName string, n int) (m *StateImage, ok bool, err error) {
	in, ts, _, err := p.look(v, operator, storeName, false, n)
	if err != nil || len(ts) == 0 || (*ts[0]).front == nil {
		return nil, false, err
	}
	var bound []uint64
	f := (*ts[0]).front
	for _, t := range ts {
		if b := (*t).front.bound; b != nil && (bound == nil || f.compare(b, bound) < 0) {
			bound = b
		}
	}
	if f.bound = bound; bound != nil {
		for _, t := range ts {
			for _, g := range (*t).groups(nil) {
				if f.beyond((*t).keyOf(g), 0) {
					(*t).takeOut(g)
				}
			}
		}
	}
	if m, err = imageOf(in, storeName); err != nil || bound != nil && m.n < n {
		return nil, false, err
	}
	m.date(in, ts, storeName)
	m.sort()
	return m, true, nil
}

// radixSort orders entries by their heads, byte by byte from the last one that differs.
func radixSort(list []entry) []entry {
	if len(list) < 2 {
		return list
	}
	differ := uint64(0)
	for _, e := range list {
		differ |= e.head ^ list[0].head
	}
	to := make([]entry, len(list))
	for shift := uint(0); shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var at [257]int
		for _, e := range list {
			at[e.head>>shift&0xff+1]++
		}
		for i := 1; i < len(at); i++ {
			at[i] += at[i-1]
		}
		for _, e := range list {
			b := e.head >> shift & 0xff
			to[at[b]] = e
			at[b]++
		}
		list, to = to, list
	}
	return list
}

// An entry is a row with eight bytes of its key.
type entry struct {
	head uint64
	row  uint32
}
