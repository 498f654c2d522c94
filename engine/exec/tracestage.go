package exec

import (
	"fmt"
	"strings"

	"streamlab/sql/expr"
	"streamlab/sql/plan"
)

// stageText names a node for people who look at a trace.
func stageText(n plan.Node) (kind, detail string) {
	line, _, _ := strings.Cut(plan.Explain(n), "\n")
	_, rest, _ := strings.Cut(line, " ")
	switch x := n.(type) {
	case *plan.Scan:
		if x.Stream != nil {
			return "source", strings.TrimSpace(x.Stream.Format + " " + x.Name)
		}
		return "table", x.Name
	case *plan.OneRow, *plan.Values, *plan.Range:
		return "rows", line
	case *plan.Project:
		return "select", exprTexts(x.Exprs)
	case *plan.Filter:
		return "filter", x.Cond.String()
	case *plan.Aggregate:
		var calls []expr.Expr
		for _, c := range x.Calls {
			calls = append(calls, c)
		}
		keys := exprTexts(x.Keys)
		if len(calls) > 0 && keys != "" {
			keys += ": "
		}
		return "aggregate", keys + exprTexts(calls)
	case *plan.Join:
		kind := strings.ToLower(x.Kind.String())
		var on []string
		for i := range x.LeftKeys {
			on = append(on, x.LeftKeys[i].String()+" = "+x.RightKeys[i].String())
		}
		return "join", strings.TrimSpace(kind + " " + strings.Join(on, ", "))
	case *plan.Dedup:
		var names []string
		for _, c := range x.Cols {
			names = append(names, x.Child.Schema()[c].Name)
		}
		within := ""
		if x.WithinWatermark {
			within = "within the watermark "
		}
		return "dedup", within + strings.Join(names, ", ")
	case *plan.Watermark:
		return "event time", x.Out[x.Column].Name + ", delay " + span(x.DelayMicros)
	case *plan.TimeWindow:
		text := x.Time.String() + ", " + span(x.Size)
		if x.Slide != x.Size {
			text += " every " + span(x.Slide)
		}
		return "window", text
	case *plan.SessionWindow:
		return "session", rest
	case *plan.Sort:
		return "sort", strings.Trim(rest, "[]")
	case *plan.Limit:
		return "limit", rest
	case *plan.Generate:
		return "generate", rest
	case *plan.MapGroups:
		return "code", rest
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan.")), rest
}

// span prints microseconds as people say them: 10 s, 6 h, 90 m.
func span(us int64) string {
	for _, u := range []struct {
		us   int64
		name string
	}{{24 * 3600e6, "d"}, {3600e6, "h"}, {60e6, "m"}, {1e6, "s"}, {1e3, "ms"}} {
		if us >= u.us && us%u.us == 0 {
			return fmt.Sprintf("%d %s", us/u.us, u.name)
		}
	}
	if us%1e6 == 0 || us == 0 {
		return fmt.Sprintf("%d s", us/1e6)
	}
	return fmt.Sprintf("%d µs", us)
}

func exprTexts(es []expr.Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.String()
	}
	return strings.Join(out, ", ")
}

// stateRows is how many rows an operator has stored, and the watermark that reaches it; -1 without state.
func stateRows(o operator) (rows int64, mark inMark) {
	switch x := o.(type) {
	case *stateAggregate:
		for _, a := range x.ranges {
			rows += int64(a.t.live)
		}
		return rows, x.mark
	case *sessionAggregate:
		if !x.fleeting {
			return int64(x.sessions.live), x.mark
		}
	case *dedup:
		if !x.fleeting {
			return int64(x.live()), x.mark
		}
	case *streamJoin:
		return x.live(), x.mark
	case *streamLimit:
		return int64(x.t.live), inMark{}
	case *mapGroups:
		if x.known { // before the first batch of a run nothing is counted
			return x.rowsN, x.mark
		}
		return -1, x.mark
	}
	return -1, inMark{}
}
