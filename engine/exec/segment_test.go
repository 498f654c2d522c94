package exec

import (
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// refWord says whether word w may be part of a Ref, and which head word tells.
func (l *layout) refWord(w int) (head int, ok bool) {
	for c := range l.fields {
		if f := &l.fields[c]; f.long && (w == f.at+1 || w == f.at+2) {
			return f.at, true
		}
	}
	return 0, false
}

// BenchmarkEncodeSegments saves 32,768 groups that lie anywhere in a table of a million.
func BenchmarkEncodeSegments(b *testing.B) {
	const n, changed = 1 << 20, 1 << 15
	lay := newLayout([]types.DataType{types.Of(types.BigInt)}, true)
	t, e := newTable(lay, 24), newEncoder(lay)
	v := columnar.NewVec(types.Of(types.BigInt), columnar.Slice)
	groups := make([]uint32, columnar.Slice)
	for from := 0; from < n; from += columnar.Slice {
		for i := range v.I64 {
			v.I64[i] = int64(from+i) * 7919 % n
		}
		e.encode([]*columnar.Vec{v}, columnar.AllRows(columnar.Slice))
		t.upsert(e, groups)
	}
	dirty := make([]uint32, changed)
	for b.Loop() {
		for i := range dirty {
			dirty[i] = uint32(i*514229+b.N) % n
		}
		encodeSegments(t, nil, nil, dirty, func([]byte) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/changed, "ns/group")
}
