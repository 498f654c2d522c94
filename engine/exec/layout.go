package exec

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// A layout packs the values of some columns into a fixed number of 8-byte words: first the null bits, then
// the fields. Numbers and times take one word, decimals two, everything else three: a head word with the
// length, then 16 bytes that hold a short value itself or a Ref to a long one. The head of a long value also
// carries 32 bits of its hash, so that unequal long values are told apart without touching the arena.
//
// A normal layout is for keys: equal values have equal words (one NaN, no negative zero).
//
// A struct is spread over its fields; only its null bit stays.
type layout struct {
	fields []layoutField
	top    []int // the field of each column
	nulls  int   // words of null bits
	words  int   // all words
	normal bool
	// tail says that the last word has no part in the bits of the hash that choose the range of state: what
	// differs in that word alone is in one range.
	tail bool
}

type layoutField struct {
	t    types.DataType
	phys columnar.Physical
	at   int  // first word
	long bool // three words
	cell bool // value is a cell: lists and maps
	kids []int
	end  int // first word behind the field and its kids
}

// shortBytes is the longest value that a record holds itself.
const shortBytes = 16

func newLayout(ts []types.DataType, normal bool) *layout {
	l := &layout{normal: normal}
	n := 0
	for _, t := range ts {
		n += countFields(t)
	}
	l.nulls = max(1, (n+63)/64)
	l.words = l.nulls
	for _, t := range ts {
		l.top = append(l.top, l.add(t))
	}
	return l
}

func countFields(t types.DataType) int {
	n := 1
	for _, k := range structFields(t) {
		n += countFields(k)
	}
	return n
}

// structFields lists the types below a struct as its vectors lie; nil for other types.
func structFields(t types.DataType) []types.DataType {
	var out []types.DataType
	switch t.Kind {
	case types.Struct:
		for _, f := range t.Fields {
			out = append(out, f.Type)
		}
	case types.Calendar:
		out = []types.DataType{types.Of(types.Int), types.Of(types.Int), types.Of(types.BigInt)}
	}
	return out
}

func (l *layout) add(t types.DataType) int {
	c := len(l.fields)
	l.fields = append(l.fields, layoutField{t: t, phys: columnar.PhysicalOf(t), at: l.words})
	f := &l.fields[c]
	switch f.phys {
	case columnar.PStruct:
		var kids []int
		for _, k := range structFields(t) {
			kids = append(kids, l.add(k))
		}
		f = &l.fields[c] // the slice may have moved
		f.kids = kids
	case columnar.PDec:
		l.words += 2
	case columnar.PBytes:
		f.long, l.words = true, l.words+3
	case columnar.PList, columnar.PMap:
		f.long, f.cell, l.words = true, true, l.words+3
	default:
		l.words++
	}
	f.end = l.words
	return c
}

// An encoder turns rows of vectors into words. It belongs to one worker and is reused.
type encoder struct {
	lay   *layout
	n     int
	words []uint64 // row by row
	hash  []uint64
	long  []longValues
	// anyLong says that some row holds a long value: its middle word is then an index into long.
	anyLong bool
	idx     []int32
	pos     []uint32 // of table.probe: the first slot of each row
	touch   uint64   // of table.probe: keeps its loads
}

type longValues struct {
	src  *columnar.Vec
	cell columnar.Vec // encoded nested values, by row of the encoder
}

func newEncoder(l *layout) *encoder { return &encoder{lay: l, long: make([]longValues, len(l.fields))} }

// key is the words of row k.
func (e *encoder) key(k int) []uint64 { w := e.lay.words; return e.words[k*w : k*w+w : k*w+w] }

// encode fills words and hashes with the selected rows of vs, which lie under the layout's fields.
func (e *encoder) encode(vs []*columnar.Vec, sel columnar.Sel) {
	n, w := sel.N, e.lay.words
	e.n = n
	e.words = grow(e.words[:0], n*w)
	clear(e.words)
	e.hash = grow(e.hash[:0], n)
	e.anyLong = false
	if n == 0 {
		return
	}
	idx := sel.Idx
	if sel.All {
		for len(e.idx) < n {
			e.idx = append(e.idx, int32(len(e.idx)))
		}
		idx = e.idx
	}
	idx = idx[:n]
	for i, c := range e.lay.top {
		e.encodeField(c, vs[i], idx)
	}
	e.hashRows()
}

func (e *encoder) encodeField(c int, v *columnar.Vec, idx []int32) {
	f := &e.lay.fields[c]
	w, at := e.lay.words, f.at
	if v.Const {
		idx = make([]int32, len(idx))
	}
	if v.Phys == columnar.PNull || f.phys == columnar.PNull {
		for k := range idx {
			e.words[k*w+c>>6] |= 1 << (uint(c) & 63)
		}
		return
	}
	ws := e.words[at:]
	switch f.phys {
	case columnar.PStruct:
		for i, k := range f.kids {
			e.encodeField(k, v.Kids[i], idx)
		}
	case columnar.PBool:
		for k, i := range idx {
			ws[k*w] = v.Bits[i>>6] >> (uint(i) & 63) & 1
		}
	case columnar.PI8:
		packInts(ws, w, v.I8, idx)
	case columnar.PI16:
		packInts(ws, w, v.I16, idx)
	case columnar.PI32:
		packInts(ws, w, v.I32, idx)
	case columnar.PI64:
		packInts(ws, w, v.I64, idx)
	case columnar.PF32:
		for k, i := range idx {
			ws[k*w] = uint64(f32bits(v.F32[i], e.lay.normal))
		}
	case columnar.PF64:
		for k, i := range idx {
			ws[k*w] = f64bits(v.F64[i], e.lay.normal)
		}
	case columnar.PDec:
		for k, i := range idx {
			ws[k*w], ws[k*w+1] = v.Dec[i].LowBits(), uint64(v.Dec[i].HighBits())
		}
	case columnar.PBytes:
		e.packBytes(c, ws, v, idx)
	default:
		cell := &e.long[c].cell
		cell.Off = append(cell.Off[:0], 0)
		cell.Data = cell.Data[:0]
		for _, i := range idx {
			if !v.IsNull(int(i)) {
				cell.Data = appendCell(cell.Data, v, int(i), e.lay.normal)
			}
			cell.Off = append(cell.Off, int32(len(cell.Data)))
		}
		cell.Phys = columnar.PBytes
		seq := make([]int32, len(idx))
		for k := range seq {
			seq[k] = int32(k)
		}
		e.packBytes(c, ws, cell, seq)
	}
	if v.Valid != nil {
		for k, i := range idx {
			if v.Valid[i>>6]>>(uint(i)&63)&1 == 0 {
				row := e.words[k*w : k*w+w : k*w+w]
				clear(row[f.at:f.end])
				e.lay.clearNulls(row, f)
				row[c>>6] |= 1 << (uint(c) & 63)
			}
		}
	}
}

// clearNulls takes back the null bits below a struct that is null itself.
func (l *layout) clearNulls(row []uint64, f *layoutField) {
	for _, k := range f.kids {
		row[k>>6] &^= 1 << (uint(k) & 63)
		l.clearNulls(row, &l.fields[k])
	}
}

func packInts[T int8 | int16 | int32 | int64](ws []uint64, w int, vals []T, idx []int32) {
	for k, i := range idx {
		ws[k*w] = uint64(int64(vals[i]))
	}
}

func (e *encoder) packBytes(c int, ws []uint64, v *columnar.Vec, idx []int32) {
	w := e.lay.words
	e.long[c].src = v
	data := v.Data
	for k, i := range idx {
		from, to := v.Off[i], v.Off[i+1]
		n := to - from
		o := k * w
		switch {
		case n <= 0:
		case n <= shortBytes:
			lo, hi := load16(data, int(from), int(n))
			ws[o], ws[o+1], ws[o+2] = uint64(n), lo, hi
		default:
			h := columnar.HashBytes(data[from:to])
			ws[o], ws[o+1] = uint64(n)|h&^0xffffffff, uint64(i)
			e.anyLong = true
		}
	}
}

// load16 is the n (1 to 16) bytes at from as two little-endian words, zero behind them.
func load16(b []byte, from, n int) (lo, hi uint64) {
	if from+16 <= len(b) {
		p := b[from : from+16 : from+16]
		lo, hi = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		if n < 8 {
			return lo & (1<<(uint(n)*8) - 1), 0
		}
		return lo, hi & (1<<(uint(n-8)*8) - 1)
	}
	var t [16]byte
	copy(t[:], b[from:from+n])
	return binary.LittleEndian.Uint64(t[:]), binary.LittleEndian.Uint64(t[8:])
}

const (
	mulA = 0x9E3779B97F4A7C15
	mulB = 0xD6E8FEB86659FD93
)

func mix(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w^mulA, mulB^w<<32|mulB&0xffffffff)
	return hi ^ lo
}

func (e *encoder) hashRows() {
	w := e.lay.words
	n := w
	if e.lay.tail {
		n--
	}
	for k := range e.hash {
		h := uint64(mulB)
		row := e.words[k*w : k*w+w : k*w+w]
		for _, x := range row[:n] {
			hi, lo := bits.Mul64(h^x, mulA)
			h = hi ^ lo ^ bits.RotateLeft64(h, 29)
		}
		e.hash[k] = h
	}
	if e.anyLong { // the index in the middle word is not part of the value
		for k := range e.hash {
			h := uint64(mulB)
			row := e.words[k*w : k*w+w : k*w+w]
			for c := range e.lay.fields {
				f := &e.lay.fields[c]
				if f.long && uint32(row[f.at]) > shortBytes {
					h = mix(h, row[f.at])
				}
			}
			skip := -1
			for x, v := range row[:n] {
				if x == skip {
					continue
				}
				if e.isLongHead(row, x) {
					skip = x + 1
				}
				hi, lo := bits.Mul64(h^v, mulA)
				h = hi ^ lo ^ bits.RotateLeft64(h, 29)
			}
			e.hash[k] = h
		}
	}
	if e.lay.tail {
		const top uint64 = (ranges - 1) << (64 - rangeBits)
		for k, h := range e.hash {
			hi, lo := bits.Mul64(h^e.words[k*w+n], mulA)
			e.hash[k] = h&top | (hi^lo^bits.RotateLeft64(h, 29))&^top
		}
	}
}

func (e *encoder) isLongHead(row []uint64, x int) bool {
	for c := range e.lay.fields {
		f := &e.lay.fields[c]
		if f.long && f.at == x {
			return uint32(row[x]) > shortBytes
		}
	}
	return false
}

// store writes row k into the words of record g from byte off on; long values go to the arena.
func (e *encoder) store(r *columnar.Records, g uint32, off, k int) {
	rec := r.At(g)
	dst := unsafe.Slice((*uint64)(unsafe.Pointer(&rec[off])), e.lay.words)
	row := e.key(k)
	copy(dst, row)
	if !e.anyLong {
		return
	}
	for c := range e.lay.fields {
		f := &e.lay.fields[c]
		if f.long && uint32(row[f.at]) > shortBytes {
			dst[f.at+1], dst[f.at+2] = 0, 0
			r.Store(rec, off+(f.at+1)*8, e.long[c].src.Bytes(int(row[f.at+1])))
		}
	}
}

// equal compares row k with the words of record g.
func (e *encoder) equal(r *columnar.Records, g uint32, off, k int) bool {
	row := e.key(k)
	p := unsafe.Slice((*uint64)(r.Ptr(g, off)), len(row))
	if !e.anyLong {
		for i, w := range row {
			if p[i] != w {
				return false
			}
		}
		return true
	}
	for x := range e.lay.nulls {
		if p[x] != row[x] {
			return false
		}
	}
	for c := range e.lay.fields {
		f := &e.lay.fields[c]
		if f.phys == columnar.PStruct {
			continue
		}
		if p[f.at] != row[f.at] {
			return false
		}
		switch {
		case f.long && uint32(row[f.at]) > shortBytes:
			have := r.Load(r.At(g), off+(f.at+1)*8)
			if string(have) != string(e.long[c].src.Bytes(int(row[f.at+1]))) {
				return false
			}
		case f.long:
			if p[f.at+1] != row[f.at+1] || p[f.at+2] != row[f.at+2] {
				return false
			}
		case f.phys == columnar.PDec:
			if p[f.at+1] != row[f.at+1] {
				return false
			}
		}
	}
	return true
}

// decode appends column i of the given records, whose words begin at byte off, to out.
func (l *layout) decode(r *columnar.Records, groups []uint32, off, i int, out *columnar.Vec) {
	l.decodeField(r, groups, off, l.top[i], out)
}

func (l *layout) decodeField(r *columnar.Records, groups []uint32, off, c int, out *columnar.Vec) {
	f := &l.fields[c]
	if f.phys == columnar.PNull {
		out.Len += len(groups)
		return
	}
	if f.cell {
		l.decodeCells(r, groups, off, c, out)
		return
	}
	n := out.Len
	out.Len += len(groups)
	nullOff, bit := off+c>>6*8, uint(c)&63
	anyNull := false
	at := off + f.at*8
	switch f.phys {
	case columnar.PStruct:
		for i, k := range f.kids {
			l.decodeField(r, groups, off, k, out.Kids[i])
		}
	case columnar.PBool:
		out.Bits = growBits(out.Bits, out.Len)
		for k, g := range groups {
			out.Bits[(n+k)>>6] |= *(*uint64)(r.Ptr(g, at)) << (uint(n+k) & 63)
		}
	case columnar.PI8:
		out.I8 = unpackInts(out.I8, r, groups, at)
	case columnar.PI16:
		out.I16 = unpackInts(out.I16, r, groups, at)
	case columnar.PI32:
		out.I32 = unpackInts(out.I32, r, groups, at)
	case columnar.PI64:
		out.I64 = unpackInts(out.I64, r, groups, at)
	case columnar.PF32:
		for _, g := range groups {
			out.F32 = append(out.F32, *(*float32)(r.Ptr(g, at)))
		}
	case columnar.PF64:
		for _, g := range groups {
			out.F64 = append(out.F64, *(*float64)(r.Ptr(g, at)))
		}
	case columnar.PDec:
		for _, g := range groups {
			p := (*[2]uint64)(r.Ptr(g, at))
			out.Dec = append(out.Dec, decimal128.New(int64(p[1]), p[0]))
		}
	case columnar.PBytes:
		for _, g := range groups {
			out.Data = append(out.Data, l.bytes(r, g, off, f)...)
			out.Off = append(out.Off, int32(len(out.Data)))
		}
	}
	for _, g := range groups {
		if *(*uint64)(r.Ptr(g, nullOff))>>bit&1 != 0 {
			anyNull = true
			break
		}
	}
	if !anyNull && out.Valid == nil {
		return
	}
	had := out.Valid
	out.Valid = growBits(had, out.Len)
	if had == nil {
		for k := range n {
			columnar.SetBit(out.Valid, k)
		}
	}
	for k, g := range groups {
		if *(*uint64)(r.Ptr(g, nullOff))>>bit&1 == 0 {
			columnar.SetBit(out.Valid, n+k)
		}
	}
}

func unpackInts[T int8 | int16 | int32 | int64](dst []T, r *columnar.Records, groups []uint32, at int) []T {
	n := len(dst)
	dst = grow(dst, n+len(groups))
	out := dst[n:]
	for k, g := range groups {
		out[k] = T(*(*int64)(r.Ptr(g, at)))
	}
	return dst
}

// bytes is the value of a long field; it aliases the record or the arena.
func (l *layout) bytes(r *columnar.Records, g uint32, off int, f *layoutField) []byte {
	rec := r.At(g)
	n := *(*uint32)(unsafe.Pointer(&rec[off+f.at*8]))
	p := off + (f.at+1)*8
	if n > shortBytes {
		return r.Load(rec, p)
	}
	return rec[p : p+int(n)]
}

func (l *layout) decodeCells(r *columnar.Records, groups []uint32, off, c int, out *columnar.Vec) {
	f := &l.fields[c]
	null := []byte{0}
	for _, g := range groups {
		b := l.bytes(r, g, off, f)
		if len(b) == 0 {
			b = null
		}
		readCell(out, b)
	}
}

// isNull reports whether field c (not column) of a record is null.
func (l *layout) isNull(r *columnar.Records, g uint32, off, c int) bool {
	return *(*uint64)(r.Ptr(g, off+c>>6*8))>>(uint(c)&63)&1 != 0
}

// encodeGroups fills the encoder with the keys of groups of a table of the same layout.
func (e *encoder) encodeGroups(t *table, groups []uint32) {
	e.encodeWords(t, groups)
	for k, g := range groups {
		e.hash[k] = t.hash(g)
	}
}

// encodePrefix fills the encoder with the first columns of the keys of groups of a table whose layout begins
// as the encoder's.
func (e *encoder) encodePrefix(t *table, groups []uint32) {
	e.encodeWords(t, groups)
	e.hashRows()
}

// encodeWords is encodeGroups without hashes.
func (e *encoder) encodeWords(t *table, groups []uint32) {
	n, w := len(groups), e.lay.words
	e.n, e.anyLong = n, false
	e.words, e.hash = grow(e.words[:0], n*w), grow(e.hash[:0], n)
	for k, g := range groups { // few words: a loop lets the loads of several records overlap
		src := unsafe.Slice((*uint64)(t.rec.Ptr(g, recKey)), w)
		for i, x := range src {
			e.words[k*w+i] = x
		}
	}
	for c := range e.lay.fields {
		f := &e.lay.fields[c]
		if !f.long {
			continue
		}
		cell := &e.long[c].cell
		cell.Phys, cell.Off, cell.Data = columnar.PBytes, append(cell.Off[:0], 0), cell.Data[:0]
		for k, g := range groups {
			if uint32(e.words[k*w+f.at]) <= shortBytes {
				continue
			}
			cell.Data = append(cell.Data, e.lay.bytes(t.rec, g, recKey, f)...)
			e.words[k*w+f.at+1], e.words[k*w+f.at+2] = uint64(len(cell.Off)-1), 0
			cell.Off = append(cell.Off, int32(len(cell.Data)))
			e.anyLong = true
		}
		e.long[c].src = cell
	}
}
