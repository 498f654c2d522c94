package engine

import (
	"strings"
	"time"

	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// Outline is the plan in the order that rows pass it, an operator a line, sources first; "└ " stands before
// what takes rows from the lines above it. Operators that keep state say so. depth is the indentation of a
// line that would follow: the sink.
func (d *DataFrame) Outline() (lines []string, depth int) {
	if d.err != nil {
		return []string{d.err.Error()}, 1
	}
	depth = outline(plan.Optimize(d.node), &lines)
	return lines, depth + 1
}

func outline(n plan.Node, lines *[]string) int {
	depth := -1
	for _, c := range n.Children() {
		depth = max(depth, outline(c, lines))
	}
	text := operatorLine(n)
	if text == "" {
		return depth
	}
	depth++
	*lines = append(*lines, Indented(depth, text))
	return depth
}

// Indented is a line of an Outline.
func Indented(depth int, text string) string {
	if depth <= 0 {
		return text
	}
	return strings.Repeat("  ", depth-1) + "└ " + text
}

// operatorLine is an operator in a line; "" for one that only rearranges columns.
func operatorLine(n plan.Node) string {
	state := ""
	if n.Streaming() {
		state = "  [state]"
	}
	switch x := n.(type) {
	case *plan.Scan:
		kind := "table"
		if x.Stream != nil {
			kind = "source " + x.Stream.Format
		}
		return kind + " " + x.Name + "  (" + strings.Join(x.Out.Names(), ", ") + ")"
	case *plan.Filter:
		return "filter  " + x.Cond.String()
	case *plan.Project:
		var made []string
		for i, e := range x.Exprs {
			if _, ok := e.(*expr.Column); !ok {
				made = append(made, x.Out[i].Name+" = "+e.String())
			}
		}
		if len(made) == 0 {
			return ""
		}
		return "compute  " + strings.Join(made, ", ")
	case *plan.Aggregate:
		var keys, calls []string
		for _, k := range x.Keys {
			keys = append(keys, k.String())
		}
		for _, c := range x.Calls {
			calls = append(calls, c.String())
		}
		if len(calls) == 0 {
			return "distinct  " + strings.Join(keys, ", ") + state
		}
		return strings.TrimSpace("aggregate  "+strings.Join(keys, ", ")+" → "+strings.Join(calls, ", ")) + state
	case *plan.Watermark:
		return "watermark  " + x.Schema()[x.Column].Name + "  delay " + micros(x.DelayMicros)
	case *plan.TimeWindow:
		text := "window  " + x.Time.String() + "  " + micros(x.Size)
		if x.Slide != x.Size {
			text += " every " + micros(x.Slide)
		}
		return text
	case *plan.Dedup:
		return headOf(n) + state
	case *plan.Join:
		if !x.Left.Streaming() || !x.Right.Streaming() {
			state = ""
		}
		return headOf(n) + state
	}
	return headOf(n)
}

func micros(n int64) string { return (time.Duration(n) * time.Microsecond).String() }

// headOf is an operator as Explain writes it.
func headOf(n plan.Node) string {
	head, _, _ := strings.Cut(plan.Explain(n), "\n")
	return head
}
