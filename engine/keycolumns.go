package engine

import (
	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// KeyColumns are the columns of the DataFrame that hold the grouping keys of its outermost aggregation, as they
// are: together they name a row of the result. nil if a key is not among the columns, or there is no aggregation.
func (d *DataFrame) KeyColumns() []string {
	if d.err != nil {
		return nil
	}
	n := d.node
	at := make([]int, len(n.Schema())) // of each column: its place below, -1 if it was computed
	for i := range at {
		at[i] = i
	}
	for {
		switch x := n.(type) {
		case *plan.Project:
			for i, k := range at {
				at[i] = -1
				if k >= 0 {
					e := x.Exprs[k]
					if a, ok := e.(*expr.Alias); ok {
						e = a.Child
					}
					if c, ok := e.(*expr.Column); ok {
						at[i] = c.Index
					}
				}
			}
			n = x.Child
		case *plan.Filter:
			n = x.Child
		case *plan.Sort:
			n = x.Child
		case *plan.Aggregate:
			found := map[int]bool{}
			var names []string
			for i, k := range at {
				if k >= 0 && k < len(x.Keys) && !found[k] {
					found[k] = true
					names = append(names, d.node.Schema()[i].Name)
				}
			}
			if len(found) < len(x.Keys) {
				return nil
			}
			return names
		default:
			return nil
		}
	}
}
