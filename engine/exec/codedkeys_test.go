package exec

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// codedTexts is a column of random values of a dictionary, some of whose values are the same.
func codedTexts(r *rand.Rand, words []string, n int, dictionary uint64) columnar.Vec {
	v := columnar.Vec{Type: types.Of(types.String), Phys: columnar.PBytes, Len: n, Off: []int32{0}}
	c := &columnar.Coded{Values: len(words), Dictionary: dictionary}
	for range n {
		k := r.Intn(len(words))
		v.Data = append(v.Data, words[k]...)
		v.Off = append(v.Off, int32(len(v.Data)))
		c.Codes = append(c.Codes, uint32(k))
	}
	c.Off, v.Coded = v.Off, c
	return v
}

// TestCodedKeysFindTheSameGroups folds the same rows with and without the numbers of their texts, over dictionaries
// that change, selections, and tables that are emptied between.
func TestCodedKeysFindTheSameGroups(t *testing.T) {
	s := schemaOf(t, "a STRING, b STRING")
	scan := &plan.Scan{Stream: catalog.NewStream(1, "s", "memory", s, nil), Out: s}
	cnt, err := expr.BuildAggregate(&expr.Call{Name: "count", Args: []expr.Expr{intLit(1)}, Conf: ansi})
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]expr.Expr{{col(scan, "b")}, {col(scan, "a"), col(scan, "b")}} {
		g := newGrouping(keys, []*expr.AggregateCall{cnt}, s, ansi)
		coded, err := g.newFolder()
		if err != nil {
			t.Fatal(err)
		}
		plain, err := g.newFolder()
		if err != nil {
			t.Fatal(err)
		}
		ct, pt := g.newTable(), g.newTable()
		r := rand.New(rand.NewSource(3))
		known := 0
		for round := range 60 {
			var words [2][]string
			for i := range words {
				for k := range 1 + r.Intn(12) {
					words[i] = append(words[i], fmt.Sprintf("%d word that is rather long %d", r.Intn(3), k/2)[r.Intn(2)*20:])
				}
			}
			rows := 300
			cols := []columnar.Vec{codedTexts(r, words[0], rows, columnar.NextDictionary()), codedTexts(r, words[1], rows, columnar.NextDictionary())}
			for from := 0; from < rows; from += 60 {
				views := []columnar.Vec{cols[0].View(from, from+60), cols[1].View(from, from+60)}
				sel := columnar.AllRows(60)
				if r.Intn(2) == 0 {
					var idx []int32
					for i := range int32(60) {
						if r.Intn(3) > 0 {
							idx = append(idx, i)
						}
					}
					sel = columnar.Sel{Idx: idx, N: len(idx)}
				}
				if r.Intn(8) == 0 { // one with a null has no numbers
					views[1].MakeValid(60)
					columnar.ClearBit(views[1].Valid, r.Intn(60))
				}
				if err := coded.fold(ct, &chunk{cols: views, sel: sel}); err != nil {
					t.Fatal(err)
				}
				if coded.coded.learned {
					known++
				}
				for i := range views {
					views[i].Coded = nil
				}
				if err := plain.fold(pt, &chunk{cols: views, sel: sel}); err != nil {
					t.Fatal(err)
				}
			}
			out := func(t_ *table, f *folder) []string {
				vs := make([]columnar.Vec, len(keys)+1)
				for i := range vs {
					vs[i] = *columnar.NewVec(types.Of(types.String), 0)
				}
				vs[len(keys)] = *columnar.NewVec(cnt.Out, 0)
				groups := t_.groups(nil)
				if err := g.results(t_, f.aggs, groups, vs); err != nil {
					t.Fatal(err)
				}
				var rows []string
				for i := range groups {
					row := fmt.Sprint(slices.Contains(t_.dirty, groups[i]))
					for k := range vs {
						row += " " + cellText(&vs[k], i)
					}
					rows = append(rows, row)
				}
				return rows
			}
			if got, want := out(ct, coded), out(pt, plain); !slices.Equal(got, want) {
				t.Fatalf("round %d: %v, want %v", round, got, want)
			}
			switch r.Intn(3) {
			case 0:
				ct.truncate()
				pt.truncate()
			case 1:
				ct.settle()
				pt.settle()
			}
		}
		if known < 100 {
			t.Errorf("only %d chunks had numbers", known)
		}
	}
}
