package plan

import (
	"fmt"
	"strings"

	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// Explain prints a plan as a tree, one node a line.
func Explain(n Node) string {
	var b strings.Builder
	explain(&b, n, "", "")
	return b.String()
}

func explain(b *strings.Builder, n Node, first, rest string) {
	b.WriteString(first + describe(n) + "\n")
	cs := n.Children()
	for i, c := range cs {
		if i == len(cs)-1 {
			explain(b, c, rest+"+- ", rest+"   ")
		} else {
			explain(b, c, rest+":- ", rest+":  ")
		}
	}
}

func list(es []expr.Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = positioned(e)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// positioned prints an expression; a bare column with its position.
func positioned(e expr.Expr) string {
	if c, ok := e.(*expr.Column); ok {
		return fmt.Sprintf("%s#%d", c.Field.Name, c.Index)
	}
	return e.String()
}

func orderList(os []Ordering) string {
	out := make([]string, len(os))
	for i, o := range os {
		out[i] = orderingText(o)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

var joinNames = [...]string{"Inner", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi", "LeftAnti", "Existence"}

func (k JoinKind) String() string { return joinNames[k] }

func describe(n Node) string {
	switch x := n.(type) {
	case *MapGroups:
		return x.describe()
	case *Scan:
		kind := "Scan"
		if x.Stream != nil {
			kind = "StreamScan"
		}
		s := kind + " " + x.Name + " [" + strings.Join(x.Out.Names(), ", ") + "]"
		if len(x.Filters) > 0 {
			s += " filters " + list(x.Filters)
		}
		return s
	case *OneRow:
		return "OneRow"
	case *Values:
		rows := int64(0)
		for _, r := range x.Rows {
			rows += r.NumRows()
		}
		return fmt.Sprintf("Values %d rows [%s]", rows, strings.Join(x.Out.Names(), ", "))
	case *Range:
		return fmt.Sprintf("Range (%d, %d, step=%d)", x.Start, x.End, x.Step)
	case *Project:
		out := make([]string, len(x.Exprs))
		for i, e := range x.Exprs {
			out[i] = positioned(e)
			if c, ok := e.(*expr.Column); !ok && e.String() != x.Out[i].Name || ok && c.Field.Name != x.Out[i].Name {
				out[i] += " AS " + x.Out[i].Name
			}
		}
		return "Project [" + strings.Join(out, ", ") + "]"
	case *Filter:
		return "Filter " + x.Cond.String()
	case *Aggregate:
		calls := make([]string, len(x.Calls))
		for i, c := range x.Calls {
			calls[i] = c.String()
		}
		s := "Aggregate " + list(x.Keys) + ", [" + strings.Join(calls, ", ") + "]"
		if x.Session >= 0 {
			s += fmt.Sprintf(" session#%d", x.Session)
		}
		return s
	case *Join:
		s := "Join " + x.Kind.String()
		if len(x.LeftKeys) > 0 {
			s += " " + list(x.LeftKeys) + " = " + list(x.RightKeys)
		}
		if x.Residual != nil {
			s += ", " + x.Residual.String()
		}
		if x.NullAware {
			s += ", null aware"
		}
		return s
	case *Observe:
		calls := make([]string, len(x.Exprs))
		for i := range x.Exprs {
			calls[i] = x.Out[i].Name
		}
		return "CollectMetrics " + x.Name + ", [" + strings.Join(calls, ", ") + "]"
	case *Dedup:
		names := make([]string, len(x.Cols))
		for i, c := range x.Cols {
			names[i] = x.Child.Schema()[c].Name
		}
		s := "Deduplicate"
		if x.WithinWatermark {
			s += "WithinWatermark"
		}
		return s + " [" + strings.Join(names, ", ") + "]"
	case *Window:
		calls := make([]string, len(x.Calls))
		for i, c := range x.Calls {
			calls[i] = c.String()
		}
		return "Window [" + strings.Join(calls, ", ") + "]"
	case *TimeWindow:
		return fmt.Sprintf("TimeWindow %s size %s slide %s start %s", x.Time, micros(x.Size), micros(x.Slide), micros(x.Start))
	case *SessionWindow:
		return fmt.Sprintf("SessionWindow %s gap %s", x.Time, x.Gap)
	case *Watermark:
		return fmt.Sprintf("EventTimeWatermark %s#%d, delay %s", x.Out[x.Column].Name, x.Column, micros(x.DelayMicros))
	case *Union:
		return "Union"
	case *Sort:
		if x.Local {
			return "SortWithinPartitions " + orderList(x.Orders)
		}
		return "Sort " + orderList(x.Orders)
	case *Limit:
		s := "Limit"
		if x.N >= 0 {
			s += fmt.Sprintf(" %d", x.N)
		}
		if x.Offset > 0 {
			s += fmt.Sprintf(" offset %d", x.Offset)
		}
		return s
	case *Generate:
		s := "Generate " + x.Kind + list(x.Args)
		if x.Outer {
			s += " outer"
		}
		return s
	case *Expand:
		return fmt.Sprintf("Expand %d copies", len(x.Projections))
	case *SetOp:
		s := "Intersect"
		if x.Except {
			s = "Except"
		}
		if x.All {
			s += " All"
		}
		return s
	case *Sample:
		return fmt.Sprintf("Sample %v to %v", x.Low, x.High)
	case *SingleRow:
		return "SingleRow"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan.")
}

func micros(us int64) string { return expr.IntegralLit(us, types.DayTime).String() }
