package exec

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// What a directory finds is what the table would have found by the hashes, with new groups in the same order.
func TestDirectoryFindsWhatHashesFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]types.DataType{types.Of(types.TinyInt), types.Of(types.SmallInt), types.Of(types.Int), types.Of(types.BigInt)}).Draw(t, "type")
		l := newLayout([]types.DataType{number, types.Of(types.Timestamp)}, true)
		l.tail = true
		width := rapid.SampledFrom([]int64{1, 7, 2_000_000, 1 << 60}).Draw(t, "width")
		d := &directory{width: width}
		got, want := newTable(l, 8), newTable(l, 8)
		eg, ew := newEncoder(l), newEncoder(l)
		found := 0
		for range rapid.IntRange(1, 6).Draw(t, "chunks") {
			if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				got.truncate()
				want.truncate()
			}
			spread := rapid.SampledFrom([]int64{1, 50, 5_000, 1 << 30, math.MaxInt64}).Draw(t, "spread")
			base := rapid.Int64().Draw(t, "base")
			panes := rapid.SampledFrom([]int64{1, 2, 6, 1 << 14}).Draw(t, "panes")
			stay := rapid.IntRange(0, 60).Draw(t, "stay")
			n := rapid.IntRange(1, 600).Draw(t, "rows")
			seed := rapid.Uint64().Draw(t, "seed")
			next := func(n int64) int64 {
				seed = seed*6364136223846793005 + 1442695040888963407
				return int64(seed>>1) % n
			}
			key := columnar.Vec{Type: number, Phys: columnar.PhysicalOf(number), Len: n}
			starts := columnar.Vec{Type: types.Of(types.Timestamp), Phys: columnar.PI64, Len: n}
			at := next(panes)
			for i := range n {
				if i%(stay+1) == 0 {
					at = next(panes)
				}
				starts.I64 = append(starts.I64, (at-panes/2)*width) // wraps for the widest
				v := base + next(spread)
				key.I8, key.I16, key.I32, key.I64 = append(key.I8, int8(v)), append(key.I16, int16(v)), append(key.I32, int32(v)), append(key.I64, v)
			}
			sel := columnar.AllRows(n)
			if rapid.Bool().Draw(t, "some") {
				sel = columnar.Sel{}
				for i := range n {
					if next(4) > 0 || i == n-1 {
						sel.Idx = append(sel.Idx, int32(i))
					}
				}
				sel.N = len(sel.Idx)
			}
			keys := []*columnar.Vec{&key, &starts}
			a, b := make([]uint32, sel.N), make([]uint32, sel.N)
			if d.find(got, eg, keys, sel, a) {
				found++
			} else {
				eg.encode(keys, sel)
				got.upsert(eg, a)
			}
			ew.encode(keys, sel)
			want.upsert(ew, b)
			for k := range a {
				if a[k] != b[k] {
					t.Fatalf("row %d of %d: group %d, by the hash %d", k, sel.N, a[k], b[k])
				}
			}
			if len(got.dirty) != len(want.dirty) || got.live != want.live {
				t.Fatalf("%d groups of which %d are touched, by the hashes %d and %d", got.live, len(got.dirty), want.live, len(want.dirty))
			}
			if d.held > mostNumbered+2048 || len(d.panes) > mostPanes {
				t.Fatalf("room for %d groups in %d panes", d.held, len(d.panes))
			}
		}
	})
}

// Rows that lie close together are numbered, so that the test above tests something.
func TestDirectoryIsUsed(t *testing.T) {
	l := newLayout([]types.DataType{types.Of(types.BigInt), types.Of(types.Timestamp)}, true)
	d, tb, e := &directory{width: 10}, newTable(l, 8), newEncoder(l)
	n := 1024
	key := columnar.Vec{Phys: columnar.PI64, Len: n, I64: make([]int64, n)}
	starts := columnar.Vec{Phys: columnar.PI64, Len: n, I64: make([]int64, n)}
	for i := range n {
		key.I64[i], starts.I64[i] = int64(i%50), int64(i/300*10)
	}
	out := make([]uint32, n)
	for range 2 {
		if !d.find(tb, e, []*columnar.Vec{&key, &starts}, columnar.AllRows(n), out) {
			t.Fatal("not numbered")
		}
	}
	if d.pause != 0 || tb.live != 4*50 {
		t.Fatalf("pauses for %d, %d groups", d.pause, tb.live)
	}
}
