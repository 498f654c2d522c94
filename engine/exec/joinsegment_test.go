package exec

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// oldSegment encodes all rows as segments that begin with joinWords are.
func oldSegment(s *joinRows, rows []uint32) []byte {
	var b []byte
	for _, v := range []uint32{joinWords, 0, 0, uint32(len(rows)), uint32(s.lay.words)} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	none := int64(noBound)
	b = binary.LittleEndian.AppendUint64(b, uint64(none))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.next))
	b = packColumn(packColumn(b, nil), nil)
	column := func(of func(g uint32) uint64) {
		vs := make([]uint64, len(rows))
		for k, g := range rows {
			vs[k] = of(g)
		}
		b = packColumn(b, vs)
	}
	column(func(g uint32) uint64 { return uint64(s.number(g)) })
	column(func(g uint32) uint64 { return uint64(s.time(g)) })
	column(func(g uint32) uint64 { return *s.meta(g) & rowMatched })
	for w := range s.lay.words {
		column(func(g uint32) uint64 {
			head, isRef := s.lay.refWord(w)
			if isRef && *(*uint32)(s.rec.Ptr(g, rowWords+head*8)) > shortBytes {
				return 0
			}
			return *(*uint64)(s.rec.Ptr(g, rowWords+w*8))
		})
	}
	for f := range s.lay.fields {
		if f := &s.lay.fields[f]; f.long {
			for _, g := range rows {
				if v := s.lay.bytes(s.rec, g, rowWords, f); len(v) > shortBytes {
					b = append(b, v...)
				}
			}
		}
	}
	return b
}

// Rows come back from segments of this form and of the one before, whatever their texts are like.
func TestJoinSegments(t *testing.T) {
	str := types.Of(types.String)
	lay := newLayout([]types.DataType{types.Of(types.BigInt), str, types.ArrayOf(str, true), str}, false)
	texts := [][]string{{"short", ""}, {strings.Repeat("the same again ", 40), "a text that does not fit into a record"}, {"sixteen bytes ..", strings.Repeat("x", 17)}}
	from := newJoinRows(lay, 1000)
	e := newEncoder(lay)
	const n = 3000
	ids, a, l, z := columnar.NewVec(lay.fields[0].t, 0), columnar.NewVec(str, 0), columnar.NewVec(types.ArrayOf(str, true), 0), columnar.NewVec(str, 0)
	put := func(v *columnar.Vec, s string) {
		v.Data = append(v.Data, s...)
		v.Off = append(v.Off, int32(len(v.Data)))
		v.Len++
	}
	for i := range n {
		ids.I64 = append(ids.I64, int64(i)*7)
		put(a, texts[i%3][0])
		put(l.Kids[0], texts[i%3][1])
		l.Off = append(l.Off, int32(l.Kids[0].Len))
		put(z, fmt.Sprint("number ", i, " of many rows"))
	}
	ids.Len, l.Len = n, n
	z.Valid = make([]uint64, columnar.Words(n))
	for i := range n {
		if i%5 > 0 {
			columnar.SetBit(z.Valid, i)
		}
	}
	e.encode([]*columnar.Vec{ids, a, l, z}, columnar.AllRows(n))
	var rows []uint32
	for i := range n {
		g := from.add(int64(i), uint64(i)<<rowFlags|uint64(i%2)).row()
		e.store(from.rec, g, rowWords, i)
		rows = append(rows, g)
	}
	from.next = n
	var segments [][]byte
	from.encode(joinChange{bound: noBound, rows: rows}, &joinScratch{}, func(b []byte) { segments = append(segments, b) })
	size := 0
	for _, b := range segments {
		size += len(b)
	}
	if before := len(oldSegment(from, rows)); size > before/4 {
		t.Errorf("segments of %d bytes, %d before", size, before)
	}
	for name, list := range map[string][][]byte{"new": segments, "old": {oldSegment(from, rows)}} {
		t.Run(name, func(t *testing.T) {
			r := joinLoader{s: newJoinRows(lay, 1000), e: newEncoder(lay)}
			for _, b := range list {
				if err := r.apply(b, 1); err != nil {
					t.Fatal(err)
				}
				for cut := joinHead; cut < len(b); cut += 1 + len(b)/50 {
					short := joinLoader{s: newJoinRows(lay, 1000), e: newEncoder(lay)}
					if err := short.apply(b[:cut], 1); err == nil {
						t.Errorf("%d of %d bytes are taken for a segment", cut, len(b))
					}
				}
			}
			if r.s.live != n || r.s.next != n {
				t.Fatalf("%d rows, next %d", r.s.live, r.s.next)
			}
			for i, link := range r.links {
				g := link.row()
				if r.s.time(g) != int64(i) || *r.s.meta(g) != *from.meta(rows[i]) {
					t.Fatalf("row %d has time %d and meta %x", i, r.s.time(g), *r.s.meta(g))
				}
			}
			for i, link := range r.links {
				for c := range lay.fields {
					f := &lay.fields[c]
					same := lay.isNull(r.s.rec, link.row(), rowWords, c) == lay.isNull(from.rec, rows[i], rowWords, c)
					if f.long {
						same = same && string(lay.bytes(r.s.rec, link.row(), rowWords, f)) == string(lay.bytes(from.rec, rows[i], rowWords, f))
					}
					if !same {
						t.Fatalf("row %d differs in column %d", i, c)
					}
				}
			}
			for i, link := range r.links { // what is compared as words must be the same words
				p, q := r.s.rec.At(link.row()), from.rec.At(rows[i])
				if x, y := binary.LittleEndian.Uint64(p[rowWords+lay.fields[lay.top[1]].at*8:]), binary.LittleEndian.Uint64(q[rowWords+lay.fields[lay.top[1]].at*8:]); x != y {
					t.Fatalf("row %d: head %x, not %x", i, x, y)
				}
			}
		})
	}
}
