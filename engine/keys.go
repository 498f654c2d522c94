package engine

import (
	"sort"

	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// groupingKeys gives the columns of a plan's rows that tell groups apart: two rows with the same values in
// them are two states of one group. nil if the plan does not end in an aggregation, or hides one of its keys.
func groupingKeys(n plan.Node) []int {
	of, keys := keyColumns(n)
	if keys == 0 {
		return nil
	}
	found := map[int]int{} // key -> first column that has it
	for col, key := range of {
		if at, ok := found[key]; !ok || col < at {
			found[key] = col
		}
	}
	if len(found) != keys {
		return nil
	}
	out := make([]int, 0, keys)
	for _, col := range found {
		out = append(out, col)
	}
	sort.Ints(out)
	return out
}

// keyColumns maps columns of n to the keys of the aggregation below, and tells how many keys it has.
func keyColumns(n plan.Node) (of map[int]int, keys int) {
	switch x := n.(type) {
	case *plan.Aggregate:
		of = map[int]int{}
		for i := range x.Keys {
			of[i] = i
		}
		return of, len(x.Keys)
	case *plan.Project:
		below, keys := keyColumns(x.Child)
		of = map[int]int{}
		for i, e := range x.Exprs {
			if c := keyColumn(e); c != nil {
				if k, ok := below[c.Index]; ok {
					of[i] = k
				}
			}
		}
		return of, keys
	case *plan.Filter, *plan.Watermark, *plan.Sort:
		return keyColumns(n.Children()[0])
	}
	return nil, 0
}

// keyColumn is the column that an expression is, or tells apart as well as the column itself: the bounds of a
// window do.
func keyColumn(e expr.Expr) *expr.Column {
	switch x := e.(type) {
	case *expr.Column:
		return x
	case *expr.Scalar:
		if x.Name != "getfield" {
			return nil
		}
		c, ok := x.Args[0].(*expr.Column)
		if !ok || c.Field.Type.Kind != types.Struct || len(c.Field.Type.Fields) != 2 {
			return nil
		}
		if f := c.Field.Type.Fields; f[0].Name == "start" && f[1].Name == "end" {
			return c
		}
	}
	return nil
}
