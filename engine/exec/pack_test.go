package exec

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/types"
)

func TestPackedColumnsComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spans := []uint64{0, 1, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1 << 63, ^uint64(0)}
		base := rapid.Uint64().Draw(r, "base")
		span := rapid.SampledFrom(spans).Draw(r, "span")
		scale := rapid.SampledFrom([]uint64{1, 1, 2, 1000, 1 << 40}).Draw(r, "scale")
		steps := rapid.Bool().Draw(r, "steps")
		vs := make([]uint64, rapid.IntRange(0, 40).Draw(r, "rows"))
		for i := range vs {
			x := base
			if span > 0 {
				x += rapid.Uint64Range(0, span).Draw(r, "v")
			}
			if vs[i] = x * scale; steps && i > 0 {
				vs[i] += vs[i-1]
			}
		}
		want := slices.Clone(vs)
		b := append(packColumn([]byte("x"), vs), "tail"...)
		if whole := 1 + 1 + 8*len(vs); len(b)-len("tail") > max(whole, 1+9) {
			r.Fatalf("%d values take %d bytes", len(vs), len(b))
		}
		got := make([]uint64, len(vs))
		rest, ok := unpackColumn(got, b[1:], true)
		if !ok || string(rest) != "tail" || !slices.Equal(got, want) {
			r.Fatalf("%v %q %v, want %v", ok, rest, got, want)
		}
		for n := range len(b) - len("tail") - 1 {
			if _, ok := unpackColumn(got, b[1:1+n], true); ok {
				r.Fatalf("%d of %d bytes were enough", n, len(b)-len("tail")-1)
			}
		}
	})
	for _, c := range []struct {
		bytes int
		at    func(i int) uint64
	}{{17, func(i int) uint64 { return 7 + 3*uint64(i) }}, {9, func(int) uint64 { return 5 }}, {17 + 2*100, func(i int) uint64 { return uint64(i*7919%1000) * 1_000_000 }},
		{9 + 100, func(i int) uint64 { return uint64(i * 7919 % 200) }}} {
		vs := make([]uint64, 100)
		for i := range vs {
			vs[i] = c.at(i)
		}
		if n := len(packColumn(nil, vs)); n != c.bytes && n != c.bytes+8 {
			t.Errorf("%d, %d, … take %d bytes, want %d", c.at(0), c.at(1), n, c.bytes)
		}
	}
	if _, ok := unpackColumn(make([]uint64, 1), make([]byte, 40), true); !ok {
		t.Error("a column of one zero is refused")
	}
	if _, ok := unpackColumn(make([]uint64, 1), append([]byte{3}, make([]byte, 40)...), true); ok {
		t.Error("width 3 is taken")
	}
}

// Segments that were written before columns were packed are still read.
func TestPlainSegments(t *testing.T) {
	lay := newLayout([]types.DataType{types.Of(types.BigInt)}, true)
	src, dst := newTable(lay, 8), newTable(lay, 8)
	e := newEncoder(lay)
	v := columnar.NewVec(types.Of(types.BigInt), 3)
	copy(v.I64, []int64{7, -1, 1 << 40})
	groups := make([]uint32, 3)
	e.encode([]*columnar.Vec{v}, columnar.AllRows(3))
	src.upsert(e, groups)
	var b []byte
	for _, n := range []uint32{0, 3, uint32(lay.words), 1} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for k, g := range groups {
		*(*int64)(src.rec.Ptr(g, src.extraAt())) = int64(k * 100)
		b = binary.LittleEndian.AppendUint64(b, e.hash[k])
	}
	for w := range lay.words {
		for k := range groups {
			b = binary.LittleEndian.AppendUint64(b, e.words[k*lay.words+w])
		}
	}
	for k := range groups {
		b = binary.LittleEndian.AppendUint64(b, uint64(k*100))
	}
	r := segmentReader{e: newEncoder(lay)}
	if err := r.apply(dst, b); err != nil {
		t.Fatal(err)
	}
	found := make([]uint32, 3)
	dst.find(e, found)
	for k, g := range found {
		if g == noGroup || *(*int64)(dst.rec.Ptr(g, dst.extraAt())) != int64(k*100) {
			t.Errorf("row %d: group %d", k, g)
		}
	}
	if err := r.apply(dst, b[:len(b)-1]); err == nil {
		t.Error("a segment that is cut off is taken")
	}
}
