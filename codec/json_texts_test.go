package codec

import (
	"fmt"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// Texts that are written alike are read in groups, nearly all of them; and those that are not, by a PlainJSON without
// many attempts.
func TestTextsWrittenAlikeAreReadInGroups(t *testing.T) {
	schema, err := types.ParseDDL("a BIGINT, b DOUBLE, c STRING, d TIMESTAMP")
	if err != nil {
		t.Fatal(err)
	}
	read := func(record func(i int) string) (grouped, alone, lessons int) {
		v := columnar.NewVec(types.Of(types.String), 0)
		v.Off = []int32{0}
		for i := range 5000 {
			v.Data = append(v.Data, record(i)...)
			v.Off = append(v.Off, int32(len(v.Data)))
		}
		v.Len = 5000
		x := NewJSONTexts(schema)
		for k := 0; k < v.Len; {
			n := x.Read(v, columnar.AllRows(v.Len), k)
			if n == 0 {
				if x.lesson {
					lessons++
				}
				if !x.One(v.Bytes(k)) {
					t.Fatalf("%s is not plain", v.Bytes(k))
				}
				alone, k = alone+1, k+1
				continue
			}
			for r := range n {
				if got := x.Column(0).I64[r]; got != int64(k+r) {
					t.Fatalf("row %d is %d", k+r, got)
				}
			}
			x.Done()
			grouped, k = grouped+n, k+n
		}
		return grouped, alone, lessons
	}
	if g, a, _ := read(func(i int) string {
		return fmt.Sprintf(`{"a":%d,"x":[%d],"b":%d.25,"c":"t%d","d":"2026-01-01T00:00:%02d.000Z"}`, i, i, i, i, i%60)
	}); g < 4900 {
		t.Errorf("%d in groups, %d alone", g, a)
	}
	if g, a, l := read(func(i int) string {
		if i%2 == 0 {
			return fmt.Sprintf(`{"a":%d,"c":"x"}`, i)
		}
		return fmt.Sprintf(`{"c":"x","a":%d}`, i)
	}); l > 1000 {
		t.Errorf("of two forms in turn: %d in groups, %d alone, %d lessons", g, a, l)
	}
}
