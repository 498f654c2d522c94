package expr

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Comparing texts with a constant by words gives what comparing them byte by byte does.
func TestEqualTextIsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\x00")), 0, 20)
		c := text.Draw(t, "constant")
		v := columnar.Vec{Type: types.Of(types.String), Phys: columnar.PBytes, Off: []int32{3}, Data: []byte("abc")}
		var want []uint64
		n := rapid.IntRange(1, 130).Draw(t, "rows")
		want = make([]uint64, columnar.Words(n))
		sel := columnar.AllRows(n)
		some := rapid.Bool().Draw(t, "some")
		if some {
			sel = columnar.Sel{}
		}
		for i := range n {
			x := c
			if rapid.Bool().Draw(t, "other") {
				x = text.Draw(t, "text")
			}
			v.Data = append(v.Data, x...)
			v.Off = append(v.Off, int32(len(v.Data)))
			if some && rapid.Bool().Draw(t, "left out") {
				continue
			}
			if some {
				sel.Idx, sel.N = append(sel.Idx, int32(i)), sel.N+1
			}
			if bytes.Equal(x, c) {
				columnar.SetBit(want, i)
			}
		}
		v.Len = n
		got := make([]uint64, len(want))
		equalText(got, &v, c, sel)
		for w := range want {
			if got[w] != want[w] {
				t.Fatalf("word %d: %x, want %x", w, got[w], want[w])
			}
		}
	})
}
