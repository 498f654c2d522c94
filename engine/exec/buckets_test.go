package exec

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/sql/types"
	"streamlab/store"
)

// basesOften makes tables divide early and write bases in nearly every batch, until what it gives is called.
func basesOften(after int) (undo func()) {
	d, b, n := divideAfter, baseAfterBytes, baseAfterDeltas
	divideAfter, baseAfterBytes, baseAfterDeltas = after, 1, 2
	return func() { divideAfter, baseAfterBytes, baseAfterDeltas = d, b, n }
}

// Whatever bases of which buckets have been written when, by tables that were divided or not, every batch that is
// kept can be read as it was, and a restart goes on from the last one.
func TestBasesOfBuckets(t *testing.T) {
	lay := newLayout([]types.DataType{types.Of(types.BigInt), types.Of(types.String)}, true)
	refs := []int{8}
	rapid.Check(t, func(r *rapid.T) {
		defer basesOften(rapid.SampledFrom([]int{0, 5, 20, 1000}).Draw(r, "divide after"))()
		cp, err := store.Open("", store.Options{InMemory: true})
		if err != nil {
			r.Fatal(err)
		}
		defer cp.Close()
		tab, st := newTable(lay, 24), &segmentStats{}
		at := tab.extraAt()
		model := map[string]string{}
		var kept []map[string]string
		check := func(batch int64, name string, x *table) {
			if got := x.contents(at); !maps.Equal(got, kept[batch]) || x.live != len(got) {
				r.Fatalf("%s after batch %d: %d groups (%d live), not %d", name, batch, len(got), x.live, len(kept[batch]))
			}
		}
		for batch := range int64(rapid.IntRange(1, 25).Draw(r, "batches")) {
			n := rapid.IntRange(0, 40).Draw(r, "rows")
			ints, texts := make([]int64, n), make([]string, n)
			for i := range n {
				ints[i] = rapid.Int64Range(0, 60).Draw(r, "k")
				texts[i] = rapid.SampledFrom([]string{"", "a key that is longer than a record"}).Draw(r, "s")
			}
			e := newEncoder(lay)
			e.encode(keyVectors(ints, texts), columnar.AllRows(n))
			groups := make([]uint32, n)
			tab.upsert(e, groups)
			for i, g := range groups {
				*(*int64)(tab.rec.Ptr(g, at)) += batch + 1
				v := *(*int64)(tab.rec.Ptr(g, at))
				long := fmt.Sprint("value ", v)
				tab.rec.Store(tab.rec.At(g), at+8, []byte(long))
				model[fmt.Sprint(ints[i], "|", texts[i])] = fmt.Sprint(v, "|", long)
			}
			part := rapid.SampledFrom([]int64{0, 0, 3, 60}).Draw(r, "removed")
			for _, g := range tab.groups(nil) {
				a := columnar.NewVec(types.Of(types.BigInt), 0)
				if lay.decode(tab.rec, []uint32{g}, recKey, 0, a); a.I64[0] < part {
					tab.unlink(g)
				}
			}
			maps.DeleteFunc(model, func(k, _ string) bool {
				var n int64
				_, _ = fmt.Sscanf(k, "%d|", &n)
				return n < part
			})
			kept = append(kept, maps.Clone(model))
			b := cp.Begin(batch)
			if err := saveTable(b, store.Shard{}, tab, refs, st, batch); err != nil {
				r.Fatal(err)
			}
			if err := cp.LogOffsets(batch, store.OffsetEntry{}); err != nil {
				r.Fatal(err)
			}
			if err := b.Commit(store.CommitEntry{}, nil); err != nil {
				r.Fatal(err)
			}
			tab.settle()
			if tab.undivided() || rapid.IntRange(0, 5).Draw(r, "pack") == 0 {
				tab = tab.pack(refs)
			}
			check(batch, "the table", tab)
			for back := range min(4, batch+1) {
				v := cp.At(batch - back)
				again, stats := newTable(lay, 24), &segmentStats{}
				err := loadTable(v, store.Shard{}, again, refs, stats)
				v.Close()
				if err != nil {
					r.Fatal(err)
				}
				check(batch-back, "what is read", again)
				if back == 0 && rapid.IntRange(0, 3).Draw(r, "restart") == 0 {
					tab, st = again, stats
				}
			}
		}
	})
}
