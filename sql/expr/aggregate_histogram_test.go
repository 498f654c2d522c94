package expr

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// TestHistogramAsSpark compares histograms of one part and of several merged parts with what Spark 4.2 gave for
// the same values in the same partitions.
func TestHistogramAsSpark(t *testing.T) {
	series := func(n int, f func(i int) float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		bins   int32
		parts  int
		want   string
	}{
		{series(50, func(i int) float64 { return float64(i) }), 4, 1,
			"5 11, 18.999999999999996 17, 35.5 16, 46.5 6"},
		{series(60, func(i int) float64 { return float64(i*7%11) / 3 }), 5, 1,
			"0.15151515151515155 11, 0.9999999999999999 16, 1.8484848484848484 11, 2.4848484848484853 11, 3.181818181818181 11"},
		{series(40, func(i int) float64 { return float64(i % 5) }), 3, 1, "0 8, 1.5 16, 3.5 16"},
		{series(20, func(i int) float64 { return float64(i % 5) }), 8, 2,
			"0 2, 0 2, 1 2, 1 2, 2 4, 3 4, 4 2, 4 2"},
		{series(30, func(i int) float64 { return float64(i % 7) }), 5, 2,
			"0.5 10, 2.3333333333333335 6, 3.5 4, 4.5 4, 5.666666666666666 6"},
		{[]float64{1, nan, 2, nan, 5, math.Copysign(0, -1), 0}, 3, 2, "1.6 5, NaN 1, NaN 1"},
		{nil, 3, 2, ""},
	} {
		col := &Column{Index: 0, Field: types.Field{Name: "x", Type: types.Of(types.Double)}}
		call, err := BuildAggregate(&Call{Name: "histogram_numeric", Args: []Expr{col, IntLit(c.bins)}})
		if err != nil {
			t.Fatal(err)
		}
		a := call.New()
		total := columnar.NewRecords(a.Width())
		total.Add()
		for p := range c.parts {
			from, to := p*len(c.values)/c.parts, (p+1)*len(c.values)/c.parts
			part := columnar.NewRecords(a.Width())
			part.Add()
			v := columnar.NewVec(types.Of(types.Double), to-from)
			copy(v.F64, c.values[from:to])
			sel := columnar.AllRows(to - from)
			if err := a.Update(part, 0, make([]uint32, to-from), []*columnar.Vec{v}, sel); err != nil {
				t.Fatal(err)
			}
			if err := a.Merge(total, 0, []uint32{0}, part, 0, []uint32{0}); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		b := bins(total.Load(total.At(0), 0))
		for i := range b.Len() {
			got = append(got, fmt.Sprint(b.x(i), b.y(i)))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%d bins of %d parts: %s, want %s", c.bins, c.parts, s, c.want)
		}
	}
}
