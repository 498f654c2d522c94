package expr

import (
	"fmt"
	"strings"
	"testing"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// column makes a vector of a type from texts; "null" is null.
func column(t *testing.T, typ types.DataType, texts ...string) *columnar.Vec {
	t.Helper()
	v := columnar.NewVec(types.Of(types.String), len(texts))
	for i, s := range texts {
		if s == "null" {
			SetNull(v, i)
		}
		v.Data = append(v.Data, s...)
		v.Off[i+1] = int32(len(v.Data))
	}
	cast, err := NewCast(&Column{0, types.Field{Name: "x", Type: v.Type, Nullable: true}}, typ, Explicit, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]Expr{cast}, types.Schema{{Name: "x", Type: v.Type, Nullable: true}}, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Eval([]columnar.Vec{*v}, columnar.AllRows(len(texts)))
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// aggregate folds the columns into one group in two halves, merges them and prints the result.
func aggregate(t *testing.T, call *Call, vs []*columnar.Vec) string {
	t.Helper()
	call.Conf = Conf{ANSI: true}
	a, err := BuildAggregate(call)
	if err != nil {
		return err.Error()
	}
	in := make([]columnar.Vec, len(vs))
	schema := types.Schema{}
	n := 0
	for i, v := range vs {
		in[i] = *v
		n = v.Len
		schema = append(schema, types.Field{Name: fmt.Sprintf("c%d", i), Type: v.Type, Nullable: true})
	}
	p, err := Compile(a.Args, schema, call.Conf)
	if err != nil {
		t.Fatal(err)
	}
	agg := a.New()
	r1, r2 := columnar.NewRecords(8+agg.Width()), columnar.NewRecords(8+agg.Width())
	r1.Add()
	r2.Add()
	for half, r := range []*columnar.Records{r1, r2} {
		var idx []int32
		for i := half * (n / 2); i < n/2+half*(n-n/2); i++ {
			idx = append(idx, int32(i))
		}
		sel := columnar.Sel{Idx: idx, N: len(idx)}
		args, err := p.Eval(in, sel)
		if err == nil {
			err = agg.Update(r, 8, make([]uint32, len(idx)), args, sel)
		}
		if err != nil {
			return err.Error()
		}
	}
	if err := agg.Merge(r1, 8, []uint32{0}, r2, 8, []uint32{0}); err != nil {
		return err.Error()
	}
	var out columnar.Vec
	if err := agg.Result(r1, 8, []uint32{0}, &out); err != nil {
		return err.Error()
	}
	if !out.Type.Equal(a.Out) {
		t.Errorf("%s: result is %s, not %s", a.Text, out.Type, a.Out)
	}
	return string(AppendText(nil, &out, 0, nil, CastStyle))
}

func TestAggregates(t *testing.T) {
	ints := column(t, types.Of(types.Int), "1", "2", "null", "3", "7", "3")
	strs := column(t, types.Of(types.String), "x", "y", "null", "z", "x", "y")
	nums := column(t, types.Of(types.Double), "1.5", "2.5", "null", "-1.0", "4.0", "0.5")
	decs := column(t, types.DecimalOf(3, 2), "2.50", "3.25", "null", "0.75", "9.99", "1.00")
	vs := []*columnar.Vec{ints, strs, nums, decs}
	col := func(i int) Expr {
		return &Column{i, types.Field{Name: fmt.Sprintf("c%d", i), Type: vs[i].Type, Nullable: true}}
	}
	for _, c := range []struct {
		call *Call
		want string
	}{
		{&Call{Name: "count", Args: []Expr{IntLit(1)}}, "6"},
		{&Call{Name: "count", Args: []Expr{col(0)}}, "5"},
		{&Call{Name: "count", Args: []Expr{col(0)}, Distinct: true}, "4"},
		{&Call{Name: "count", Args: []Expr{col(0), col(1)}, Distinct: true}, "5"},
		{&Call{Name: "sum", Args: []Expr{col(0)}}, "16"},
		{&Call{Name: "sum", Args: []Expr{col(0)}, Distinct: true}, "13"},
		{&Call{Name: "sum", Args: []Expr{col(2)}}, "7.5"},
		{&Call{Name: "sum", Args: []Expr{col(3)}}, "17.49"},
		{&Call{Name: "avg", Args: []Expr{col(0)}}, "3.2"},
		{&Call{Name: "avg", Args: []Expr{col(3)}}, "3.498000"},
		{&Call{Name: "min", Args: []Expr{col(1)}}, "x"},
		{&Call{Name: "max", Args: []Expr{col(1)}}, "z"},
		{&Call{Name: "min", Args: []Expr{col(2)}}, "-1.0"},
		{&Call{Name: "max", Args: []Expr{col(3)}}, "9.99"},
		{&Call{Name: "first", Args: []Expr{col(0)}}, "1"},
		{&Call{Name: "last", Args: []Expr{col(1)}}, "y"},
		{&Call{Name: "max_by", Args: []Expr{col(1), col(2)}}, "x"},
		{&Call{Name: "min_by", Args: []Expr{col(1), col(2)}}, "z"},
		{&Call{Name: "max_by", Args: []Expr{col(0), col(2), IntLit(2)}}, "[7, 2]"},
		{&Call{Name: "collect_list", Args: []Expr{col(0)}}, "[1, 2, 3, 7, 3]"},
		{&Call{Name: "collect_set", Args: []Expr{col(1)}}, "[x, y, z]"},
		{&Call{Name: "listagg", Args: []Expr{col(1), StringLit(",")}, WithinGroup: []Ordering{{Child: col(1), Desc: true}}}, "z,y,y,x,x"},
		{&Call{Name: "listagg", Args: []Expr{col(1)}, Distinct: true}, "xyz"},
		{&Call{Name: "bit_xor", Args: []Expr{col(0)}}, "4"},
		{&Call{Name: "stddev_pop", Args: []Expr{col(2)}}, "1.7029386365926402"},
		{&Call{Name: "var_samp", Args: []Expr{col(0)}}, "5.2"},
		{&Call{Name: "corr", Args: []Expr{col(0), col(0)}}, "1.0"},
		{&Call{Name: "percentile", Args: []Expr{col(0), DoubleLit(0.25)}}, "2.0"},
		{&Call{Name: "median", Args: []Expr{col(3)}}, "2.5"},
		{&Call{Name: "percentile_approx", Args: []Expr{col(0), DoubleLit(0.5)}}, "3"},
		{&Call{Name: "percentile_cont", Args: []Expr{DoubleLit(0.25)}, WithinGroup: []Ordering{{Child: col(0), Desc: true}}}, "3.0"},
		{&Call{Name: "mode", Args: []Expr{col(0)}}, "3"},
		{&Call{Name: "histogram_numeric", Args: []Expr{col(0), IntLit(2)}}, "[{2, 4.0}, {7, 1.0}]"},
		{&Call{Name: "approx_top_k", Args: []Expr{col(0), IntLit(1)}}, "[{3, 2}]"},
		{&Call{Name: "approx_count_distinct", Args: []Expr{col(1)}}, "3"},
	} {
		got := aggregate(t, c.call, vs)
		if got != c.want && !strings.HasPrefix(c.want, got[:min(len(got), 14)]) {
			t.Errorf("%s: %s, want %s", aggText(c.call.Name, c.call.Args, c.call.Distinct), got, c.want)
		}
	}
}

func TestApproxCountDistinct(t *testing.T) {
	n := 1000
	ids := columnar.NewVec(types.Of(types.BigInt), n)
	for i := range n {
		ids.I64[i] = int64(i)
	}
	col := &Column{0, types.Field{Name: "id", Type: ids.Type}}
	strs, err := NewCast(col, types.Of(types.String), Explicit, Conf{ANSI: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []Expr
		want string
	}{
		{[]Expr{col}, "1026"}, {[]Expr{col, DoubleLit(0.2)}, "748"}, {[]Expr{strs}, "1034"},
	} {
		if got := aggregate(t, &Call{Name: "approx_count_distinct", Args: c.args}, []*columnar.Vec{ids}); got != c.want {
			t.Errorf("%s: %s, want %s", callText("approx_count_distinct", c.args), got, c.want)
		}
	}
}
