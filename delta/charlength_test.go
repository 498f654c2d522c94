package delta

import (
	"testing"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

func TestDeclaredLengths(t *testing.T) {
	text := func(kind string) types.Field {
		f := types.Field{Name: "c", Type: types.Of(types.String), Nullable: true}
		return with(f, keyCharVarchar, kind)
	}
	v := &columnar.Vec{Type: types.Of(types.String), Phys: columnar.PBytes, Len: 3, Off: []int32{0, 3, 5, 5}, Data: []byte("abcé"), Valid: []uint64{3}}
	for _, c := range []struct {
		kind string
		char int
		err  bool
	}{{"char(3)", 3, false}, {"varchar(3)", 0, false}, {"char(2)", 2, true}, {"VARCHAR(2)", 0, true}, {"char(x)", 0, false}, {"struct<c:char(1)>", 0, false}} {
		if n := charLength(text(c.kind)); n != c.char {
			t.Errorf("%s has length %d", c.kind, n)
		}
		if err := checkLengths(types.Schema{text(c.kind)}, []*columnar.Vec{v}); errs.Has(err, "DELTA_EXCEED_CHAR_VARCHAR_LIMIT") != c.err {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
	p := padded(v, 4)
	if string(p.Bytes(0)) != "abc " || string(p.Bytes(1)) != "é   " || !p.IsNull(2) {
		t.Errorf("padded: %q %q", p.Bytes(0), p.Bytes(1))
	}
	if padded(v, 1) != v {
		t.Error("nothing is short, but the vector is copied")
	}
}
