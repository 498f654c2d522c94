package expr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// costly is a call that says for how many rows it was computed, and fails for the value bad.
func costly(a Expr, rows *int, bad int64) *Scalar {
	s := NewScalar("costly", types.Of(types.String), true, []Expr{a}, "", func(_ *EvalContext, dst *columnar.Vec, args []*columnar.Vec, sel columnar.Sel) error {
		for k := range sel.N {
			i := sel.At(k)
			*rows++
			v := args[0].I64[args[0].Row(i)]
			if v == bad {
				return errors.New("computed for a row that does not need it")
			}
			dst.Data = fmt.Appendf(dst.Data, "<%d>", v)
			dst.Off[i+1] = int32(len(dst.Data))
		}
		return nil
	})
	s.NullIfAnyNull = true
	return s
}

func caseOf(t testing.TB, orElse Expr, parts ...Expr) Expr {
	t.Helper()
	var bs []Branch
	for i := 0; i < len(parts); i += 2 {
		bs = append(bs, Branch{parts[i], parts[i+1]})
	}
	e, err := NewCase(bs, orElse, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A call in a branch of the condition and in a branch of the result is computed once, for the rows that reach it, and
// anew only if the result needs more rows.
func TestConditionAndResultComputeOnce(t *testing.T) {
	a, b := intColumn(0, "a"), intColumn(1, "b")
	const n = 1000
	in := []columnar.Vec{bigints(n, func(i int) int64 { return int64(i) }), bigints(n, func(i int) int64 { return int64(i % 10) })}
	rows := 0
	f := func() Expr { return costly(a, &rows, 7) } // row 7 is one that no branch reaches
	less := func(m int32) Expr { return build(t, "<", b, IntLit(m)) }
	all := build(t, "or", build(t, "=", b, IntLit(7)), build(t, "isnotnull", f()))
	for _, c := range []struct {
		what string
		cond Expr
		es   []Expr
		want int
	}{
		{"the same rows", all, []Expr{caseOf(t, f(), build(t, "=", b, IntLit(7)), StringLit("seven"))}, 900},
		{"fewer rows", all, []Expr{caseOf(t, StringLit("x"), less(3), f())}, 900},
		{"two results", all, []Expr{caseOf(t, StringLit("x"), less(3), f()), caseOf(t, StringLit("y"), less(4), f())}, 900},
		{"more rows", build(t, "or", less(2), build(t, "or", build(t, "=", b, IntLit(7)), build(t, "=", f(), StringLit("<12>")))),
			[]Expr{caseOf(t, StringLit("x"), less(3), f())}, 700 + 201},
		{"results alone", build(t, "=", build(t, "abs", b), IntLit(1)), []Expr{build(t, "abs", b), caseOf(t, StringLit("x"), less(3), f()),
			caseOf(t, StringLit("x"), less(2), f())}, 100},
	} {
		rows = 0
		p, err := CompileFiltered(c.cond, c.es, types.Schema{a.Field, b.Field}, Conf{ANSI: true})
		if err != nil || p == nil {
			t.Fatal(c.what, p, err)
		}
		sel, err := p.Select(in, columnar.AllRows(n))
		if err == nil {
			_, err = p.Passed(sel)
		}
		if err != nil || rows != c.want {
			t.Errorf("%s: %d rows computed, not %d; %v", c.what, rows, c.want, err)
		}
	}
	random, err := Build("rand", nil, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for what, es := range map[string][]Expr{"nothing in common": {b}, "rand": {f(), random}} {
		if p, err := CompileFiltered(build(t, "isnotnull", f()), es, types.Schema{a.Field, b.Field}, Conf{ANSI: true}); p != nil && what == "rand" || err != nil {
			t.Error(what, p != nil, err)
		}
	}
	if p, err := CompileFiltered(less(3), []Expr{f()}, types.Schema{a.Field, b.Field}, Conf{ANSI: true}); p != nil || err != nil {
		t.Error("a program of what has nothing in common", err)
	}
}

// A struct that condition and result take fields out of is made once with the fields of both, unless the result needs
// many more.
func TestStructOfConditionAndResultIsMadeOnce(t *testing.T) {
	col := &Column{Index: 0, Field: types.Field{Name: "v", Type: types.Of(types.String), Nullable: true}}
	field := func(name string) Expr {
		e, err := NewGetField(build(t, "from_json", col, StringLit(plainSchema)), name, Conf{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	in := []columnar.Vec{texts([]string{`{"a":1,"c":"x","b":0.5}`, `{"a":2,"c":"y"}`, `{`, `{"a":3,"c":"z","g":7,"h":1}`})}
	for names, want := range map[string]int{"a": 1, "a b c": 1, "b c d e f": 1, "b c d e f g": 2} {
		var es []Expr
		for _, n := range strings.Fields(names) {
			es = append(es, field(n))
		}
		p, err := CompileFiltered(build(t, ">", field("a"), IntLit(1)), es, types.Schema{col.Field}, Conf{ANSI: true})
		if err != nil || p == nil {
			t.Fatal(names, p, err)
		}
		steps := p.steps
		for _, f := range p.filters {
			steps = append(steps[:len(steps):len(steps)], f.steps...)
		}
		made := 0
		for _, s := range steps {
			if k, ok := s.(*kernelStep); ok && k.e.Name == "from_json" {
				made++
			}
		}
		if made != want {
			t.Errorf("%s: made %d times", names, made)
		}
		sel, err := p.Select(in, columnar.AllRows(4))
		if err != nil || sel.N != 2 || sel.At(0) != 1 || sel.At(1) != 3 {
			t.Fatal(names, sel, err)
		}
		vs, err := p.Passed(sel)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Compile(es, types.Schema{col.Field}, Conf{ANSI: true})
		if err != nil {
			t.Fatal(err)
		}
		ws, err := alone.Eval(in, columnar.AllRows(4))
		if err != nil {
			t.Fatal(err)
		}
		for k := range vs {
			for _, i := range []int{1, 3} {
				if g, w := show(vs[k], i), show(ws[k], i); g != w {
					t.Errorf("%s of row %d is %s, not %s", es[k], i, g, w)
				}
			}
		}
	}
}

// Whatever is shared, a row gets the values that it gets alone.
func TestSharedValuesAreThoseOfEachRow(t *testing.T) {
	a, b := intColumn(0, "a"), intColumn(1, "b")
	schema := types.Schema{a.Field, b.Field}
	const n = 300
	rng := rand.New(rand.NewPCG(1, 2))
	rows := 0
	var text func(deep int) Expr
	cond := func(deep int) Expr {
		c := build(t, []string{"<", "=", ">"}[rng.IntN(3)], []Expr{a, b}[rng.IntN(2)], IntLit(rng.Int32N(8)))
		switch {
		case deep == 0 || rng.IntN(3) == 0:
			return c
		case rng.IntN(3) == 0:
			return build(t, "isnotnull", text(deep-1))
		}
		return build(t, []string{"and", "or"}[rng.IntN(2)], c, build(t, []string{"<", "="}[rng.IntN(2)], text(deep-1), StringLit("<5>")))
	}
	text = func(deep int) Expr {
		switch k := rng.IntN(6); {
		case deep == 0 || k < 2:
			return costly([]Expr{a, b}[rng.IntN(2)], &rows, -1)
		case k == 2:
			return build(t, "upper", text(deep-1))
		case k == 3:
			return build(t, "coalesce", text(deep-1), text(deep-1))
		}
		return caseOf(t, text(deep-1), cond(deep-1), text(deep-1), cond(deep-1), text(deep-1))
	}
	shared := 0
	for range 300 {
		where, es := cond(3), []Expr{text(3), text(3), cond(2)}
		p, err := CompileFiltered(where, es, schema, Conf{ANSI: true})
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue
		}
		shared++
		alone, err := Compile(append([]Expr{where}, es...), schema, Conf{ANSI: true})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			in := []columnar.Vec{bigints(n, func(int) int64 { return rng.Int64N(9) }), bigints(n, func(int) int64 { return rng.Int64N(9) })}
			for i := range n {
				if rng.IntN(10) == 0 {
					SetNull(&in[rng.IntN(2)], i)
				}
			}
			sel, err := p.Select(in, columnar.AllRows(n))
			if err != nil {
				t.Fatal(err)
			}
			vs, err := p.Passed(sel)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for i := range n {
				one, err := alone.Eval(in, columnar.Sel{Idx: []int32{int32(i)}, N: 1})
				if err != nil {
					t.Fatal(err)
				}
				passes := !one[0].IsNull(i) && one[0].Bool(one[0].Row(i))
				if kept := at < sel.N && sel.At(at) == i; kept != passes {
					t.Fatalf("row %d: kept %v, %s is %v", i, kept, where, passes)
				}
				if !passes {
					continue
				}
				at++
				for k, e := range es {
					if got, want := show(vs[k], i), show(one[k+1], i); got != want {
						t.Fatalf("row %d: %s is %s, not %s, where %s", i, e, got, want, where)
					}
				}
			}
		}
	}
	if shared < 50 {
		t.Errorf("%d programs only", shared)
	}
}

func show(v *columnar.Vec, i int) string { return string(AppendText(nil, v, i, nil, CastStyle)) }
