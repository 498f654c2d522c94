package expr

import (
	"testing"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// build makes nested calls for tests.
func build(t testing.TB, name string, args ...Expr) Expr {
	t.Helper()
	e, err := Build(name, args, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func intColumn(i int, name string) *Column {
	return &Column{i, types.Field{Name: name, Type: types.Of(types.BigInt), Nullable: true}}
}

func bigints(n int, f func(i int) int64) columnar.Vec {
	v := columnar.NewVec(types.Of(types.BigInt), n)
	for i := range n {
		v.I64[i] = f(i)
	}
	return *v
}

func TestSelectIsEvalOfConjuncts(t *testing.T) {
	a, b := intColumn(0, "a"), intColumn(1, "b")
	n := 3000
	in := []columnar.Vec{bigints(n, func(i int) int64 { return int64(i % 100) }), bigints(n, func(i int) int64 { return int64(i % 7) })}
	SetNull(&in[1], 13)
	// b <> 0 guards the division: rows where it does not hold must not divide.
	cond := build(t, "and", build(t, "!=", b, IntLit(0)),
		build(t, "and", build(t, ">", build(t, "div", a, b), IntLit(3)), build(t, "<", build(t, "+", a, b), IntLit(90))))
	p, err := Compile([]Expr{cond}, types.Schema{a.Field, b.Field}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, sel := range []columnar.Sel{columnar.AllRows(n), {Idx: []int32{1, 5, 13, 64, 100, 2999}, N: 6}} {
		got, err := p.Select(in, sel)
		if err != nil {
			t.Fatal(err)
		}
		kept := map[int]bool{}
		for k := range got.N {
			kept[got.At(k)] = true
		}
		vs, err := p.Eval(in, sel)
		if err != nil {
			t.Fatal(err)
		}
		for k := range sel.N {
			i := sel.At(k)
			x, y := in[0].I64[i], in[1].I64[i]
			want := i != 13 && y != 0 && x/y > 3 && x+y < 90
			if kept[i] != want {
				t.Fatalf("row %d (%d, %d): selected %v", i, x, y, kept[i])
			}
			if have := !vs[0].IsNull(i) && vs[0].Bool(i); have != want {
				t.Fatalf("row %d (%d, %d): evaluated %v", i, x, y, have)
			}
		}
	}
}

func TestErrorsOnlyForSelectedRows(t *testing.T) {
	a := intColumn(0, "a")
	in := []columnar.Vec{bigints(70, func(i int) int64 { return int64(i) })}
	in[0].I64[66] = 1<<63 - 1
	p, err := Compile([]Expr{build(t, "+", a, IntLit(1))}, types.Schema{a.Field}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(in, columnar.AllRows(66)); err != nil {
		t.Error(err)
	}
	if _, err := p.Eval(in, columnar.AllRows(70)); !errs.Has(err, "ARITHMETIC_OVERFLOW") {
		t.Errorf("overflow gave %v", err)
	}
	SetNull(&in[0], 66)
	if _, err := p.Eval(in, columnar.AllRows(70)); err != nil {
		t.Errorf("overflow under a null: %v", err)
	}
}

func TestCaseMergesStrings(t *testing.T) {
	a := intColumn(0, "a")
	in := []columnar.Vec{bigints(200, func(i int) int64 { return int64(i % 3) })}
	text, err := NewCast(a, types.Of(types.String), Explicit, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewCase([]Branch{{build(t, "=", a, IntLit(0)), StringLit("zero")}, {build(t, "=", a, IntLit(1)), text}}, nil, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]Expr{e, e}, types.Schema{a.Field}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // buffers are used again
		vs, err := p.Eval(in, columnar.AllRows(200))
		if err != nil {
			t.Fatal(err)
		}
		if vs[0] != vs[1] {
			t.Error("equal expressions do not share a register")
		}
		for i := range 200 {
			want := []string{"zero", "1", "null"}[i%3]
			if got := string(AppendText(nil, vs[0], i, nil, CastStyle)); got != want {
				t.Fatalf("row %d: %s, want %s", i, got, want)
			}
		}
	}
}

func TestRowCodec(t *testing.T) {
	typ, err := types.ParseType("STRUCT<a: INT, b: ARRAY<STRING>, c: MAP<STRING, DECIMAL(20,3)>, d: STRUCT<e: DOUBLE, f: BOOLEAN>>")
	if err != nil {
		t.Fatal(err)
	}
	v := &columnar.Vec{Type: typ}
	a := NewAppender(v)
	a.AppendNull()
	a.Kid(0).AppendI32(7)
	a.Kid(1).Kid(0).AppendBytes([]byte("x"))
	a.Kid(1).Kid(0).AppendNull()
	a.Kid(1).End()
	a.Kid(2).AppendNull()
	a.Kid(3).Kid(0).AppendF64(1.5)
	a.Kid(3).Kid(1).AppendNull()
	a.Kid(3).End()
	a.End()
	a.Finish()
	w := &columnar.Vec{Type: typ}
	b := NewAppender(w)
	for i := range v.Len {
		enc := EncodeValue(nil, v, i)
		rest, err := b.Decode(enc)
		if err != nil || len(rest) != 0 {
			t.Fatalf("decode: %v, %d bytes left", err, len(rest))
		}
		for cut := range enc { // cut short: an error, never a panic
			_, _ = NewAppender(&columnar.Vec{Type: typ}).Decode(enc[:cut])
		}
	}
	b.Finish()
	for i := range v.Len {
		if x, y := string(AppendText(nil, v, i, nil, CastStyle)), string(AppendText(nil, w, i, nil, CastStyle)); x != y {
			t.Errorf("row %d: %s became %s", i, x, y)
		}
		if Compare(v, w, i, i) != 0 {
			t.Errorf("row %d differs", i)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	a, c := intColumn(0, "a"), intColumn(1, "b")
	n := columnar.Slice
	in := []columnar.Vec{bigints(n, func(i int) int64 { return int64(i * 7919 % 1000) }), bigints(n, func(i int) int64 { return int64(i % 13) })}
	cond := build(b, ">", build(b, "+", build(b, "*", a, BigIntLit(3)), c), BigIntLit(1500))
	p, err := Compile([]Expr{cond}, types.Schema{a.Field, c.Field}, Conf{ANSI: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Select(in, columnar.AllRows(n)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkSum(b *testing.B) {
	n := columnar.Slice
	v := bigints(n, func(i int) int64 { return int64(i) })
	call, err := BuildAggregate(&Call{Name: "sum", Args: []Expr{intColumn(0, "a")}, Conf: Conf{ANSI: true}})
	if err != nil {
		b.Fatal(err)
	}
	agg := call.New()
	r := columnar.NewRecords(agg.Width())
	groups := make([]uint32, n)
	for i := range groups {
		groups[i] = uint32(i % 1000)
	}
	for range 1000 {
		r.Add()
	}
	for b.Loop() {
		if err := agg.Update(r, 0, groups, []*columnar.Vec{&v}, columnar.AllRows(n)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func TestThreeValuedLogic(t *testing.T) {
	bools := types.Of(types.Boolean)
	a := &Column{0, types.Field{Name: "a", Type: bools, Nullable: true}}
	b := &Column{1, types.Field{Name: "b", Type: bools, Nullable: true}}
	values := []string{"true", "false", "null"}
	var left, right []string
	for i := range 90 { // all pairs, over more than one word
		left, right = append(left, values[i%3]), append(right, values[i/3%3])
	}
	in := []columnar.Vec{*column(t, bools, left...), *column(t, bools, right...)}
	and := map[string]string{"truetrue": "true", "truenull": "null", "nulltrue": "null", "nullnull": "null"}
	or := map[string]string{"falsefalse": "false", "falsenull": "null", "nullfalse": "null", "nullnull": "null"}
	p, err := Compile([]Expr{build(t, "and", a, b), build(t, "or", a, b), build(t, "and", a, BoolLit(true)),
		build(t, "or", NullLit(bools), b)}, types.Schema{a.Field, b.Field}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, sel := range []columnar.Sel{columnar.AllRows(90), {Idx: []int32{0, 3, 4, 5, 8, 63, 64, 71, 89}, N: 9}} {
		vs, err := p.Eval(in, sel)
		if err != nil {
			t.Fatal(err)
		}
		for k := range sel.N {
			i := sel.At(k)
			l, r := left[i], right[i]
			want := func(m map[string]string, l, r, other string) string {
				if w, ok := m[l+r]; ok {
					return w
				}
				return other
			}
			for j, w := range []string{want(and, l, r, "false"), want(or, l, r, "true"), want(and, l, "true", "false"), want(or, "null", r, "true")} {
				if got := string(AppendText(nil, vs[j], i, nil, CastStyle)); got != w {
					t.Errorf("%d: row %d (%s, %s): %s, want %s", j, i, l, r, got, w)
				}
			}
		}
	}
}

func TestCaseMergesArrays(t *testing.T) {
	a := intColumn(0, "a")
	in := []columnar.Vec{bigints(200, func(i int) int64 { return int64(i % 3) })}
	one, two := build(t, "array", a), build(t, "array", a, BigIntLit(9))
	e, err := NewCase([]Branch{{build(t, "=", a, IntLit(0)), one}, {build(t, "=", a, IntLit(1)), two}}, nil, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	item, err := NewGetItem(e, IntLit(0), Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]Expr{e, item, build(t, "isnull", e)}, types.Schema{a.Field}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, sel := range []columnar.Sel{columnar.AllRows(200), {Idx: []int32{1, 2, 66, 70}, N: 4}} {
		vs, err := p.Eval(in, sel)
		if err != nil {
			t.Fatal(err)
		}
		for k := range sel.N {
			i := sel.At(k)
			want := [][3]string{{"[0]", "0", "false"}, {"[1, 9]", "1", "false"}, {"null", "null", "true"}}[i%3]
			for j, w := range want {
				if got := string(AppendText(nil, vs[j], i, nil, CastStyle)); got != w {
					t.Fatalf("%d: row %d: %s, want %s", j, i, got, w)
				}
			}
		}
	}
}
