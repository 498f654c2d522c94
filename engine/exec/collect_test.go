package exec

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

var ansi = expr.Conf{ANSI: true}

// schemaOf reads "a BIGINT, b STRING".
func schemaOf(t testing.TB, ddl string) types.Schema {
	t.Helper()
	s, err := types.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rowsOf reads lines of cells between bars; "null" is NULL.
func rowsOf(t testing.TB, s types.Schema, lines ...string) arrow.RecordBatch {
	t.Helper()
	var cells [][]any
	for _, l := range lines {
		var row []any
		for _, c := range strings.Split(l, "|") {
			if c = strings.TrimSpace(c); c == "null" {
				row = append(row, nil)
			} else {
				row = append(row, c)
			}
		}
		cells = append(cells, row)
	}
	rb, err := TextRows(s, cells, ansi)
	if err != nil {
		t.Fatal(err)
	}
	return rb
}

func table1(t testing.TB, ddl string, lines ...string) plan.Node {
	s := schemaOf(t, ddl)
	return &plan.Values{Rows: []arrow.RecordBatch{rowsOf(t, s, lines...)}, Out: s}
}

func col(n plan.Node, name string) expr.Expr {
	s := n.Schema()
	i := s.Index(name)
	return &expr.Column{Index: i, Field: s[i]}
}

// show prints rows as text, a line each.
func show(rbs []arrow.RecordBatch, s types.Schema) []string {
	var out []string
	for _, rb := range rbs {
		vs := columnar.Vectors(rb, s)
		for i := range int(rb.NumRows()) {
			var cells []string
			for c := range vs {
				cells = append(cells, cellText(&vs[c], i))
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	return out
}

func cellText(v *columnar.Vec, i int) string {
	if v.IsNull(i) {
		return "null"
	}
	i = v.Row(i)
	switch v.Phys {
	case columnar.PBool:
		return fmt.Sprint(v.Bool(i))
	case columnar.PI8:
		return fmt.Sprint(v.I8[i])
	case columnar.PI16:
		return fmt.Sprint(v.I16[i])
	case columnar.PI32:
		return fmt.Sprint(v.I32[i])
	case columnar.PI64:
		if v.Type.Kind == types.Timestamp {
			return fmt.Sprintf("%gs", float64(v.I64[i])/1e6)
		}
		return fmt.Sprint(v.I64[i])
	case columnar.PF32:
		return fmt.Sprint(v.F32[i])
	case columnar.PF64:
		return fmt.Sprint(v.F64[i])
	case columnar.PDec:
		return v.Dec[i].ToString(v.Type.Scale)
	case columnar.PBytes:
		return string(v.Bytes(i))
	case columnar.PStruct:
		var cells []string
		for _, k := range v.Kids {
			cells = append(cells, cellText(k, i))
		}
		return "{" + strings.Join(cells, ",") + "}"
	case columnar.PList, columnar.PMap:
		var cells []string
		for j := v.Off[i]; j < v.Off[i+1]; j++ {
			s := ""
			for k, kid := range v.Kids {
				if k > 0 {
					s += ":"
				}
				s += cellText(kid, int(j))
			}
			cells = append(cells, s)
		}
		return "[" + strings.Join(cells, ",") + "]"
	}
	return "?"
}

func expectRows(t *testing.T, what string, n plan.Node, ordered bool, want ...string) {
	t.Helper()
	rbs, s, err := Collect(context.Background(), n, Conf{Expr: ansi})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got := show(rbs, s)
	if !ordered {
		sort.Strings(got)
		sort.Strings(want)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func nullable(s types.Schema) types.Schema {
	out := append(types.Schema{}, s...)
	for i := range out {
		out[i].Nullable = true
	}
	return out
}

func TestJoins(t *testing.T) {
	l := table1(t, "k INT, a STRING", "1|x", "2|y", "2|yy", "null|n", "4|w")
	r := table1(t, "k INT, b STRING", "2|p", "2|q", "3|r", "null|m", "1|s")
	join := func(kind plan.JoinKind, residual expr.Expr) *plan.Join {
		j := &plan.Join{Kind: kind, Left: l, Right: r, LeftKeys: []expr.Expr{col(l, "k")}, RightKeys: []expr.Expr{col(r, "k")},
			Residual: residual}
		switch kind {
		case plan.LeftSemi, plan.LeftAnti:
			j.Out = l.Schema()
		case plan.Existence:
			j.Out = append(append(types.Schema{}, l.Schema()...), types.Field{Name: "exists", Type: types.Of(types.Boolean)})
		default:
			j.Out = nullable(append(append(types.Schema{}, l.Schema()...), r.Schema()...))
		}
		return j
	}
	inner := []string{"1|x|1|s", "2|y|2|p", "2|y|2|q", "2|yy|2|p", "2|yy|2|q"}
	expectRows(t, "inner", join(plan.Inner, nil), false, inner...)
	expectRows(t, "left", join(plan.LeftOuter, nil), false, append([]string{"null|n|null|null", "4|w|null|null"}, inner...)...)
	expectRows(t, "right", join(plan.RightOuter, nil), false, append([]string{"null|null|3|r", "null|null|null|m"}, inner...)...)
	expectRows(t, "full", join(plan.FullOuter, nil), false,
		append([]string{"null|n|null|null", "4|w|null|null", "null|null|3|r", "null|null|null|m"}, inner...)...)
	expectRows(t, "semi", join(plan.LeftSemi, nil), false, "1|x", "2|y", "2|yy")
	expectRows(t, "anti", join(plan.LeftAnti, nil), false, "null|n", "4|w")
	expectRows(t, "existence", join(plan.Existence, nil), false, "1|x|true", "2|y|true", "2|yy|true", "null|n|false", "4|w|false")
	both := append(append(types.Schema{}, l.Schema()...), r.Schema()...)
	cond, err := expr.Build("=", []expr.Expr{&expr.Column{Index: 3, Field: both[3]}, text("q")}, ansi)
	if err != nil {
		t.Fatal(err)
	}
	expectRows(t, "left with residual", join(plan.LeftOuter, cond), false,
		"1|x|null|null", "2|y|2|q", "2|yy|2|q", "null|n|null|null", "4|w|null|null")
	expectRows(t, "semi with residual", join(plan.LeftSemi, cond), false, "2|y", "2|yy")
	cross := &plan.Join{Kind: plan.Inner, Left: l, Right: r, Out: both}
	rbs, _, err := Collect(context.Background(), cross, Conf{Expr: ansi})
	if err != nil || len(rbs) != 1 || rbs[0].NumRows() != 25 {
		t.Errorf("cross: %v rows, %v", rbs, err)
	}
	na := join(plan.LeftAnti, nil)
	na.NullAware = true
	expectRows(t, "not in with a null", na, false)
}

func text(s string) expr.Expr {
	v := columnar.NewVec(types.Of(types.String), 0)
	v.Len, v.Data, v.Off, v.Const = 1, []byte(s), []int32{0, int32(len(s))}, true
	return &expr.Literal{Value: v}
}

func TestSortLimitDedupSetOp(t *testing.T) {
	n := table1(t, "k INT, s STRING", "3|c", "1|a", "null|z", "2|b", "1|a", "2|bb")
	sorted := &plan.Sort{Child: n, Orders: []plan.Ordering{{Child: col(n, "k"), Desc: true, NullsFirst: true}, {Child: col(n, "s")}}}
	expectRows(t, "sort", sorted, true, "null|z", "3|c", "2|b", "2|bb", "1|a", "1|a")
	expectRows(t, "limit", &plan.Limit{Child: sorted, N: 2, Offset: 1}, true, "3|c", "2|b")
	expectRows(t, "dedup", &plan.Dedup{Child: n, Cols: []int{0}}, false, "3|c", "1|a", "null|z", "2|b")
	m := table1(t, "k INT, s STRING", "1|a", "3|c", "9|x")
	set := func(except, all bool) plan.Node {
		return &plan.SetOp{Except: except, All: all, Left: n, Right: m, Out: n.Schema()}
	}
	expectRows(t, "intersect", set(false, false), false, "1|a", "3|c")
	expectRows(t, "intersect all", set(false, true), false, "1|a", "3|c")
	expectRows(t, "except", set(true, false), false, "null|z", "2|b", "2|bb")
	expectRows(t, "except all", set(true, true), false, "null|z", "2|b", "1|a", "2|bb")
	expectRows(t, "union", &plan.Union{Inputs: []plan.Node{m, m}, Out: m.Schema()}, false, "1|a", "3|c", "9|x", "1|a", "3|c", "9|x")
}

func TestTimeWindows(t *testing.T) {
	n := table1(t, "ts TIMESTAMP", "1970-01-01T00:00:27Z", "null", "1970-01-01T00:00:34Z", "1969-12-31T23:59:59.999999Z")
	out := append(types.Schema{}, n.Schema()...)
	win := types.StructOf(types.Field{Name: "start", Type: types.Of(types.Timestamp), Nullable: true},
		types.Field{Name: "end", Type: types.Of(types.Timestamp), Nullable: true})
	out = append(out, types.Field{Name: "window", Type: win})
	const s = 1_000_000
	tw := func(size, slide, start int64) plan.Node {
		return &plan.TimeWindow{Child: n, Time: col(n, "ts"), Size: size * s, Slide: slide * s, Start: start * s, Out: out}
	}
	expectRows(t, "sliding", tw(10, 3, 0), false, "27s|{27s,37s}", "27s|{24s,34s}", "27s|{21s,31s}", "27s|{18s,28s}",
		"34s|{33s,43s}", "34s|{30s,40s}", "34s|{27s,37s}", "-1e-06s|{-3s,7s}", "-1e-06s|{-6s,4s}", "-1e-06s|{-9s,1s}")
	expectRows(t, "tumbling", tw(10, 10, -5), false, "27s|{25s,35s}", "34s|{25s,35s}", "-1e-06s|{-5s,5s}")
}

func TestWindowFunctions(t *testing.T) {
	n := table1(t, "p STRING, v INT", "a|3", "a|1", "a|3", "b|7", "a|null")
	call := func(name string, args ...expr.Expr) *plan.WindowCall {
		return &plan.WindowCall{Name: name, Args: args, Out: types.Of(types.Int), Null: true,
			Frame: plan.Frame{From: plan.Bound{Kind: plan.UnboundedPreceding}, To: plan.Bound{Kind: plan.CurrentRow}}}
	}
	one := columnar.NewVec(types.Of(types.Int), 1)
	one.I32[0], one.Const = 1, true
	lit := &expr.Literal{Value: one}
	w := &plan.Window{Child: n, Partition: []expr.Expr{col(n, "p")}, Order: []plan.Ordering{{Child: col(n, "v"), NullsFirst: true}},
		Calls: []*plan.WindowCall{call("row_number"), call("rank"), call("dense_rank"), call("lag", col(n, "v"), lit, lit)}}
	w.Out = append(types.Schema{}, n.Schema()...)
	for _, c := range w.Calls {
		w.Out = append(w.Out, types.Field{Name: c.Name, Type: c.Out, Nullable: true})
	}
	expectRows(t, "window", w, true, "a|null|1|1|1|1", "a|1|2|2|2|null", "a|3|3|3|3|1", "a|3|4|3|3|3", "b|7|1|1|1|1")
}

func TestGenerate(t *testing.T) {
	s := schemaOf(t, "k INT, l ARRAY<INT>")
	l := columnar.NewVec(s[1].Type, 3)
	l.Off = []int32{0, 2, 2, 2}
	l.Kids[0] = &columnar.Vec{Type: types.Of(types.Int), Phys: columnar.PI32, Len: 2, I32: []int32{10, 20}}
	l.MakeValid(3)
	columnar.ClearBit(l.Valid, 1)
	k := &columnar.Vec{Type: types.Of(types.Int), Phys: columnar.PI32, Len: 3, I32: []int32{1, 2, 3}}
	n := &plan.Values{Rows: []arrow.RecordBatch{columnar.RecordOf(s, []*columnar.Vec{k, l}, columnar.AllRows(3))}, Out: s}
	g := &plan.Generate{Child: n, Kind: "posexplode", Args: []expr.Expr{col(n, "l")}, Out: append(append(types.Schema{}, s...),
		types.Field{Name: "pos", Type: types.Of(types.Int), Nullable: true}, types.Field{Name: "col", Type: types.Of(types.Int), Nullable: true})}
	expectRows(t, "posexplode", g, false, "1|[10,20]|0|10", "1|[10,20]|1|20")
	outer := *g
	outer.Outer = true
	expectRows(t, "posexplode outer", &outer, false, "1|[10,20]|0|10", "1|[10,20]|1|20", "2|null|null|null", "3|[]|null|null")
}
