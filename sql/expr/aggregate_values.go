package expr

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"

	"github.com/zeebo/xxh3"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func compareBytes(a, b []byte) int { return bytes.Compare(a, b) }

// skipLength is the width of the uvarint at the start of b.
func skipLength(b []byte) int {
	_, n := binary.Uvarint(b)
	return n
}

// ---- first and last

func buildFirstLast(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 2); err != nil {
		return nil, err
	}
	ignore := c.IgnoreNulls
	if len(c.Args) == 2 {
		l, ok := c.Args[1].(*Literal)
		if !ok || l.Type().Kind != types.Boolean || l.Value.IsNull(0) {
			return nil, errs.New("_LEGACY_ERROR_TEMP_1210", "funcName", c.Name)
		}
		ignore = l.Value.Bool(0)
	}
	x := c.Args[0]
	t := x.Type()
	a := c.aggregate(c.Args[:1], t, true, func() Aggregate {
		return &firstLast{t: t, last: c.Name == "last" || c.Name == "last_value", ignoreNulls: ignore}
	})
	name := c.Name
	if c.IgnoreNulls { // the clause, not the flag
		name = strings.TrimSuffix(name, "_value")
		if c.Name == "any_value" {
			name = c.Name
		}
	}
	a.Text = aggText(name, c.Args[:1], c.Distinct)
	if ignore {
		a.Extra = "ignore nulls "
	}
	return a, nil
}

// firstLast keeps the encoded value in the arena; a null that counts is kept, too.
type firstLast struct {
	t                 types.DataType
	last, ignoreNulls bool
	buf               []byte
}

func (*firstLast) Width() int  { return columnar.RefWidth }
func (*firstLast) Refs() []int { return []int{0} }

func (a *firstLast) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v := args[0]
	for k := range sel.N {
		i := sel.At(k)
		if a.ignoreNulls && v.IsNull(i) {
			continue
		}
		rec := r.At(groups[k])
		if !a.last && r.Load(rec, off) != nil {
			continue
		}
		a.buf = EncodeValue(a.buf[:0], v, i)
		r.Store(rec, off, a.buf)
	}
	return nil
}

func (a *firstLast) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		b := from.Load(from.At(fromGroups[k]), fromOff)
		rec := into.At(g)
		if b == nil || !a.last && into.Load(rec, off) != nil {
			continue
		}
		a.buf = append(a.buf[:0], b...)
		into.Store(rec, off, a.buf)
	}
	return nil
}

func (a *firstLast) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return resultOfRefs(a.t, r, off, groups, out)
}

// ---- max_by and min_by

func buildMinMaxBy(c *Call) (*AggregateCall, error) {
	if err := c.Arity(2, 3); err != nil {
		return nil, err
	}
	text := aggText(c.Name, c.Args, c.Distinct)
	t, kt := c.Args[0].Type(), c.Args[1].Type()
	if !Orderable(kt) {
		return nil, errs.New("DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "sqlExpr", quoted(text),
			"functionName", "`"+c.Name+"`", "dataType", quoted(kt.SQL()))
	}
	want := -1
	if c.Name == "max_by" {
		want = 1
	}
	args := c.Args[:2]
	if len(c.Args) == 3 {
		n, err := constantInt(c.Args[2], text, "k", "`k`", 1, 100000, "[1, 100000]", c.Conf)
		if err != nil {
			return nil, err
		}
		a := c.aggregate(args, types.ArrayOf(t, true), true, func() Aggregate {
			return &topBy{list: rowList{ts: []types.DataType{t, kt}}, k: int(n), want: want}
		})
		a.Text = text
		return a, nil
	}
	return c.aggregate(args, t, true, func() Aggregate { return &maxBy{t: t, kt: kt, want: want, cur: newScratch(kt)} }), nil
}

// constantInt reads a constant integral argument within a range.
func constantInt(e Expr, text, plain, name string, lo, hi int64, valueRange string, c Conf) (int64, error) {
	if !Foldable(e) {
		return 0, nonFoldable(text, "`"+plain+"`", `"INT"`, e)
	}
	l, err := Const(CastTo(e, types.Of(types.BigInt), c), c)
	if err != nil {
		return 0, err
	}
	if l.Value.IsNull(0) {
		return 0, unexpectedNull(text, name)
	}
	n := l.Value.I64[0]
	if n < lo || n > hi {
		return 0, valueOutOfRange(text, name, valueRange, e.String())
	}
	return n, nil
}

// maxBy: Ref of the encoded key, Ref of the encoded value.
type maxBy struct {
	t, kt types.DataType
	want  int
	cur   *scratch
	buf   []byte
}

func (*maxBy) Width() int  { return 2 * columnar.RefWidth }
func (*maxBy) Refs() []int { return []int{0, columnar.RefWidth} }

// better reports whether row i of key beats what the group has; of equals the later wins.
func (a *maxBy) better(old []byte, key *columnar.Vec, i int) (bool, error) {
	if old == nil {
		return true, nil
	}
	cur, err := a.cur.decode(old)
	if err != nil {
		return false, err
	}
	c := Compare(key, cur, i, 0)
	return c == a.want || c == 0, nil
}

func (a *maxBy) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	v, key := args[0], args[1]
	for k := range sel.N {
		i := sel.At(k)
		if key.IsNull(i) {
			continue
		}
		rec := r.At(groups[k])
		ok, err := a.better(r.Load(rec, off), key, i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		a.buf = EncodeValue(a.buf[:0], key, i)
		r.Store(rec, off, a.buf)
		a.buf = EncodeValue(a.buf[:0], v, i)
		r.Store(rec, off+columnar.RefWidth, a.buf)
	}
	return nil
}

func (a *maxBy) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	other := newScratch(a.kt)
	for k, g := range groups {
		src := from.At(fromGroups[k])
		b := from.Load(src, fromOff)
		if b == nil {
			continue
		}
		key, err := other.decode(b)
		if err != nil {
			return err
		}
		rec := into.At(g)
		ok, err := a.better(into.Load(rec, off), key, 0)
		if err != nil {
			return err
		}
		if ok {
			into.Store(rec, off, append([]byte(nil), b...))
			into.Store(rec, off+columnar.RefWidth, append([]byte(nil), from.Load(src, fromOff+columnar.RefWidth)...))
		}
	}
	return nil
}

func (a *maxBy) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return resultOfRefs(a.t, r, off+columnar.RefWidth, groups, out)
}

// ---- lists of rows

// rowList keeps encoded rows one behind the other in the arena: a Ref, then the number of rows. It is the
// part of aggregates that need all their rows.
type rowList struct {
	ts  []types.DataType
	buf []byte
}

func (*rowList) Width() int  { return columnar.RefWidth + 8 }
func (*rowList) Refs() []int { return []int{0} }

func (l *rowList) add(r *columnar.Records, off int, g uint32, args []*columnar.Vec, i int) {
	l.buf = EncodeRow(l.buf[:0], args[:len(l.ts)], i)
	r.Extend(r.At(g), off, l.buf)
	*i64p(r, g, off+columnar.RefWidth)++
}

func (l *rowList) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	for k, g := range groups {
		if b := from.Load(from.At(fromGroups[k]), fromOff); b != nil {
			into.Extend(into.At(g), off, append([]byte(nil), b...))
			*i64p(into, g, off+columnar.RefWidth) += *i64p(from, fromGroups[k], fromOff+columnar.RefWidth)
		}
	}
	return nil
}

// rows decodes the rows of a group into one vector a column.
func (l *rowList) rows(r *columnar.Records, off int, g uint32) ([]*columnar.Vec, int, error) {
	n := int(*i64p(r, g, off+columnar.RefWidth))
	vs := make([]*columnar.Vec, len(l.ts))
	as := make([]*Appender, len(l.ts))
	for c, t := range l.ts {
		vs[c] = &columnar.Vec{Type: t}
		as[c] = NewAppender(vs[c])
	}
	b := r.Load(r.At(g), off)
	for range n {
		var err error
		if b, err = DecodeRow(as, b); err != nil {
			return nil, 0, err
		}
	}
	for _, a := range as {
		a.Finish()
	}
	return vs, n, nil
}

// topBy is max_by and min_by with k.
type topBy struct {
	list rowList
	k    int
	want int
}

func (a *topBy) Width() int  { return a.list.Width() }
func (a *topBy) Refs() []int { return a.list.Refs() }

func (a *topBy) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		if i := sel.At(k); !args[1].IsNull(i) {
			a.list.add(r, off, groups[k], args, i)
		}
	}
	return nil
}

func (a *topBy) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	return a.list.Merge(into, off, groups, from, fromOff, fromGroups)
}

func (a *topBy) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: types.ArrayOf(a.list.ts[0], true)}
	ap := NewAppender(out)
	for _, g := range groups {
		vs, n, err := a.list.rows(r, off, g)
		if err != nil {
			return err
		}
		idx := sortedRows(n, func(x, y int) int {
			if c := Compare(vs[1], vs[1], x, y); c != 0 {
				return -a.want * c
			}
			return y - x // of equals the later row comes first
		})
		for _, i := range idx[:min(n, a.k)] {
			ap.Kid(0).Append(vs[0], i)
		}
		ap.End()
	}
	ap.Finish()
	return nil
}

func sortedRows(n int, cmp func(x, y int) int) []int {
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	sort.SliceStable(idx, func(x, y int) bool { return cmp(idx[x], idx[y]) < 0 })
	return idx
}

// ---- collect_list and collect_set

func buildCollect(c *Call) (*AggregateCall, error) {
	if err := c.Arity(1, 1); err != nil {
		return nil, err
	}
	name := c.Name
	if name == "array_agg" {
		name = "collect_list"
	}
	t := c.Args[0].Type()
	out := types.ArrayOf(t, false)
	text := aggText(name, c.Args, c.Distinct)
	if name == "collect_set" && containsMap(t) {
		return nil, errs.New("DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE", "sqlExpr", quoted(text),
			"functionName", "`collect_set`", "dataType", `"MAP" or "COLLATED STRING"`)
	}
	a := c.aggregate(c.Args, out, false, func() Aggregate {
		if name == "collect_set" {
			return newDistinct(&collect{rowList{ts: []types.DataType{t}}}, []types.DataType{t})
		}
		return &collect{rowList{ts: []types.DataType{t}}}
	})
	a.Text = text
	return a, nil
}

func containsMap(t types.DataType) bool {
	switch t.Kind {
	case types.Map:
		return true
	case types.Array:
		return containsMap(*t.Elem)
	case types.Struct:
		for _, f := range t.Fields {
			if containsMap(f.Type) {
				return true
			}
		}
	}
	return false
}

type collect struct{ rowList }

func (a *collect) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	for k := range sel.N {
		if i := sel.At(k); !args[0].IsNull(i) {
			a.add(r, off, groups[k], args, i)
		}
	}
	return nil
}

func (a *collect) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	*out = columnar.Vec{Type: types.ArrayOf(a.ts[0], false)}
	ap := NewAppender(out)
	for _, g := range groups {
		b := r.Load(r.At(g), off)
		for range *i64p(r, g, off+columnar.RefWidth) {
			var err error
			if b, err = ap.Kid(0).Decode(b); err != nil {
				return err
			}
		}
		ap.End()
	}
	ap.Finish()
	return nil
}

// ---- DISTINCT

// distinct folds only rows that are new to the group into another aggregate. Its part is that of a set of
// encoded rows (entries, table, count), then the inner part.
type distinct struct {
	inner Aggregate
	ts    []types.DataType
	set   rowSet
	sel   []int32
	gs    []uint32
}

func newDistinct(inner Aggregate, ts []types.DataType) *distinct {
	return &distinct{inner: inner, ts: ts}
}

func (a *distinct) Width() int { return rowSetWidth + a.inner.Width() }

func (a *distinct) Refs() []int {
	out := []int{0, columnar.RefWidth}
	for _, r := range a.inner.Refs() {
		out = append(out, rowSetWidth+r)
	}
	return out
}

func (a *distinct) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	a.sel, a.gs = a.sel[:0], a.gs[:0]
	for k := range sel.N {
		i := sel.At(k)
		if anyNull(args, i) {
			continue
		}
		a.set.buf = EncodeKeyRow(a.set.buf[:0], args, i)
		if a.set.insert(r, off, groups[k], a.set.buf) {
			a.sel, a.gs = append(a.sel, int32(i)), append(a.gs, groups[k])
		}
	}
	return a.inner.Update(r, off+rowSetWidth, a.gs, args, columnar.Sel{Idx: a.sel, N: len(a.sel)})
}

func (a *distinct) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	vs := make([]*columnar.Vec, len(a.ts))
	as := make([]*Appender, len(a.ts))
	for c, t := range a.ts {
		vs[c] = &columnar.Vec{Type: t}
		as[c] = NewAppender(vs[c])
	}
	a.gs = a.gs[:0]
	for k, g := range groups {
		for e := range a.set.entries(from, fromOff, fromGroups[k]) {
			if a.set.insert(into, off, g, e) {
				if _, err := DecodeRow(as, e); err != nil {
					return err
				}
				a.gs = append(a.gs, g)
			}
		}
	}
	for _, x := range as {
		x.Finish()
	}
	return a.inner.Update(into, off+rowSetWidth, a.gs, vs, columnar.AllRows(len(a.gs)))
}

func (a *distinct) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	return a.inner.Result(r, off+rowSetWidth, groups, out)
}

// rowSet is a set of byte strings in a record: Ref of the entries (length u32, payload u64, bytes), Ref of an open
// addressing table of entry positions + 1, number of entries.
type rowSet struct {
	buf   []byte
	table []byte
}

const rowSetWidth = 2*columnar.RefWidth + 8

const entryHeader = 12

// find gives the position of an entry in the entries; -1 if there is none, and the slot to put it in.
func (s *rowSet) find(entries, table, key []byte) (pos int, slot int) {
	n := len(table) / 4
	if n == 0 {
		return -1, -1
	}
	slot = int(xxh3.Hash(key)) & (n - 1)
	for {
		p := binary.LittleEndian.Uint32(table[slot*4:])
		if p == 0 {
			return -1, slot
		}
		e := entries[p-1:]
		l := int(binary.LittleEndian.Uint32(e))
		if l == len(key) && bytes.Equal(e[entryHeader:entryHeader+l], key) {
			return int(p - 1), slot
		}
		slot = (slot + 1) & (n - 1)
	}
}

// insert adds a key; false if it was there.
func (s *rowSet) insert(r *columnar.Records, off int, g uint32, key []byte) bool {
	_, isNew := s.locate(r, off, g, key)
	return isNew
}

// locate finds or adds a key and gives the position of its entry.
func (s *rowSet) locate(r *columnar.Records, off int, g uint32, key []byte) (pos int, isNew bool) {
	rec := r.At(g)
	entries, table := r.Load(rec, off), r.Load(rec, off+columnar.RefWidth)
	count := i64p(r, g, off+2*columnar.RefWidth)
	pos, slot := s.find(entries, table, key)
	if pos >= 0 {
		return pos, false
	}
	if n := len(table) / 4; int(*count)*2 >= n { // grow: at most half full
		n = max(8, 2*n)
		if cap(s.table) < n*4 {
			s.table = make([]byte, n*4)
		}
		t := s.table[:n*4]
		clear(t)
		for p := 0; p < len(entries); {
			l := int(binary.LittleEndian.Uint32(entries[p:]))
			h := int(xxh3.Hash(entries[p+entryHeader:p+entryHeader+l])) & (n - 1)
			for binary.LittleEndian.Uint32(t[h*4:]) != 0 {
				h = (h + 1) & (n - 1)
			}
			binary.LittleEndian.PutUint32(t[h*4:], uint32(p+1))
			p += entryHeader + l
		}
		r.Store(rec, off+columnar.RefWidth, t)
		table = r.Load(rec, off+columnar.RefWidth)
		_, slot = s.find(entries, table, key)
	}
	pos = len(entries)
	var head [entryHeader]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(key)))
	r.Extend(rec, off, head[:])
	r.Extend(rec, off, key)
	binary.LittleEndian.PutUint32(table[slot*4:], uint32(pos+1))
	*count++
	return pos, true
}

// payload points to the 8 bytes that an entry carries besides its key.
func (s *rowSet) payload(r *columnar.Records, off int, g uint32, pos int) []byte {
	return r.Load(r.At(g), off)[pos+4 : pos+entryHeader]
}

// entries yields the keys in the order of their insertion.
func (s *rowSet) entries(r *columnar.Records, off int, g uint32) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		b := r.Load(r.At(g), off)
		for len(b) > 0 {
			l := int(binary.LittleEndian.Uint32(b))
			if !yield(b[entryHeader : entryHeader+l]) {
				return
			}
			b = b[entryHeader+l:]
		}
	}
}
