package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

func refused(msg string) error { return errs.New("_LEGACY_ERROR_TEMP_3102", "msg", msg) }

func unsupportedMode(mode, operation string) error {
	return errs.New("STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "outputMode", mode, "operation", operation)
}

// CheckStreaming says whether a streaming query of an output mode (append, update, complete; any case) may
// run the plan, which Analyze gave and Optimize has not seen. It makes Spark's checks in Spark's order; the
// first failure wins. spark.sql.streaming.unsupportedOperationCheck=false allows everything but a plan
// without a stream or an unknown mode.
func CheckStreaming(n Node, mode string, conf Conf) error {
	m := strings.ToLower(mode)
	if m != "append" && m != "update" && m != "complete" {
		return errs.New("STREAMING_OUTPUT_MODE.INVALID", "outputMode", mode)
	}
	if !n.Streaming() {
		return refused("Queries without streaming sources cannot be executed with writeStream.start()")
	}
	if !conf.on("spark.sql.streaming.unsupportedOperationCheck", true) {
		return nil
	}
	c := &streamCheck{mode: m, conf: conf, aggs: aggregatesBelow(n)}
	if err := c.severalGroups(n); err != nil {
		return err
	}
	if err := c.outputMode(); err != nil {
		return err
	}
	if err := c.node(n, nil, nil); err != nil {
		return err
	}
	if conf.on("spark.sql.streaming.statefulOperator.checkCorrectness.enabled", true) {
		return c.chain(n)
	}
	return nil
}

type streamCheck struct {
	mode string
	conf Conf
	aggs []*Aggregate // streaming ones, the one that is asked about first
}

// aggregatesBelow are the aggregations at and below n, outermost first. What is behind a name of WITH is below n only
// if the query that has the name is.
func aggregatesBelow(n Node) []*Aggregate {
	seen, within := map[Node]bool{}, map[*WithQuery]bool{}
	var named func(n Node) []*Aggregate
	var own func(n Node) []*Aggregate
	own = func(n Node) []*Aggregate {
		var out []*Aggregate
		switch x := n.(type) {
		case *Project:
			switch {
			case x.With != nil && x.Named:
				return nil
			case x.With != nil:
				within[x.With] = true
				return append(named(x.Child), own(x.Child)...)
			}
		case *Aggregate:
			if x.Streaming() {
				out = append(out, x)
			}
		}
		for _, k := range n.Children() {
			out = append(out, own(k)...)
		}
		return out
	}
	named = func(n Node) []*Aggregate {
		if x, ok := n.(*Project); ok && x.Named {
			if !within[x.With] || seen[x.Child] {
				return nil
			}
			seen[x.Child] = true
			return append(named(x.Child), own(x.Child)...)
		}
		var out []*Aggregate
		for _, k := range n.Children() {
			out = append(out, named(k)...)
		}
		return out
	}
	return own(n)
}

func (c *streamCheck) outputMode() error {
	if len(c.aggs) == 0 {
		if c.mode == "complete" {
			return unsupportedMode(c.mode, "no streaming aggregations")
		}
		return nil
	}
	a := c.aggs[0]
	switch c.mode {
	case "append":
		if !eventTimeKey(a) {
			return unsupportedMode(c.mode, "streaming aggregations without watermark")
		}
	case "update":
		if a.Session >= 0 {
			return unsupportedMode(c.mode, "session window streaming aggregations")
		}
	}
	return nil
}

// eventTimeKey reports whether a key is an event-time attribute itself.
func eventTimeKey(a *Aggregate) bool {
	for i := range a.Keys {
		if a.Out[i].DelayMicros > 0 {
			return true
		}
	}
	return false
}

func hasEventTime(s types.Schema) bool {
	for _, f := range s {
		if f.DelayMicros > 0 {
			return true
		}
	}
	return false
}

// node checks children before parents. parent is what the columns of n go to (names of window functions),
// above the nodes above it.
func (c *streamCheck) node(n, parent Node, above []Node) error {
	for _, k := range n.Children() {
		if err := c.node(k, n, append(above, n)); err != nil {
			return err
		}
	}
	if err := c.rules(n, parent, above); err != nil {
		return err
	}
	if n.Streaming() {
		for _, e := range nodeExprs(n) {
			if anyExpr(e, func(x expr.Expr) bool {
				s, ok := x.(*expr.Scalar)
				return ok && s.Name == "monotonically_increasing_id"
			}) {
				return refused("Expression(s): monotonically_increasing_id() is not supported with streaming DataFrames/Datasets")
			}
		}
	}
	return nil
}

func (c *streamCheck) rules(n, parent Node, above []Node) error {
	switch x := n.(type) {
	case *Aggregate:
		if !x.Streaming() {
			return nil
		}
		for _, k := range x.Calls {
			if k.Distinct {
				return refused("Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider using approx_count_distinct() instead.")
			}
		}
	case *MapGroups:
		return c.mapGroups(x)
	case *Join:
		return c.join(x)
	case *Dedup:
		if x.WithinWatermark {
			if !x.Streaming() {
				return refused("dropDuplicatesWithinWatermark is not supported with batch DataFrames/DataSets")
			}
			if !hasEventTime(x.Child.Schema()) {
				return refused("dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets without watermark")
			}
		}
	case *Union:
		streams := 0
		for _, k := range x.Inputs {
			if k.Streaming() {
				streams++
			}
		}
		if streams > 0 && streams < len(x.Inputs) {
			return refused("Union between streaming and batch DataFrames/Datasets is not supported")
		}
	case *SetOp:
		if x.Except && x.Right.Streaming() {
			return refused("Except on a streaming DataFrame/Dataset on the right is not supported")
		}
		if !x.Except && x.Streaming() {
			return refused("Intersect of streaming DataFrames/Datasets is not supported")
		}
	case *Limit:
		if !x.Streaming() {
			return nil
		}
		if x.Offset > 0 {
			return refused("Offset is not supported on streaming DataFrames/Datasets")
		}
		if c.mode == "update" {
			return refused("Limits are not supported on streaming DataFrames/Datasets in Update output mode")
		}
	case *Sort:
		if !x.Streaming() {
			return nil
		}
		if c.mode != "complete" || len(aggregatesBelow(x.Child)) == 0 {
			return refused("Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated DataFrame/Dataset in Complete output mode")
		}
	case *Sample:
		if x.Streaming() {
			return refused("Sampling is not supported on streaming DataFrames/Datasets")
		}
	case *Window:
		if x.Streaming() {
			w := x.Calls[0]
			name, _, _ := strings.Cut(w.Text, " OVER ")
			column := name + " OVER " + w.over
			if p, ok := parent.(*Project); ok {
				at := len(x.Child.Schema())
				inside := true // of another expression: then Spark's analysis names the column
				for i, e := range p.Exprs {
					if col, isCol := e.(*expr.Column); isCol && col.Index == at {
						inside = false
						if p.Out[i].Name != w.Text {
							column = p.Out[i].Name
						}
					}
				}
				if inside {
					column = "_we0"
				}
			}
			return errs.New("NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING", "windowFunc", strings.ToUpper(ranked(w, name)),
				"columnName", types.Quote(column), "windowSpec", strings.ToUpper(w.over))
		}
	case *Insert, *CreateTable, *Merge:
		if anyStreaming(n) {
			return refused("commands are not supported with streaming DataFrames/Datasets")
		}
	}
	return nil
}

func anyStreaming(n Node) bool {
	for _, k := range n.Children() {
		if k.Streaming() {
			return true
		}
	}
	return false
}

func (c *streamCheck) join(j *Join) error {
	l, r := j.Left.Streaming(), j.Right.Streaming()
	if !l && !r {
		return nil
	}
	name := j.Kind.String()
	if l && r {
		if c.mode != "append" && !(c.mode == "update" && (j.Kind == Inner || j.Kind == LeftSemi)) {
			return refused(name + " join between two streaming DataFrames/Datasets is not supported in " + title(c.mode) + " output mode, only in Append output mode")
		}
	}
	noWatermark := func() error {
		return refused("Stream-stream " + name + " join between two streaming DataFrame/Datasets is not supported without a watermark in the join keys, or a watermark on the nullable side and an appropriate range condition")
	}
	switch j.Kind {
	case LeftOuter, LeftSemi:
		if !l && r {
			return refused(name + " join with a streaming DataFrame/Dataset on the right and a static DataFrame/Dataset on the left is not supported")
		}
		if l && r && !watermarkedKeys(j) && !c.bounded(j, leftSide) {
			return noWatermark()
		}
	case RightOuter:
		if l && !r {
			return refused("RightOuter join with a streaming DataFrame/Dataset on the left and a static DataFrame/DataSet on the right not supported")
		}
		if l && r && !watermarkedKeys(j) && !c.bounded(j, rightSide) {
			return noWatermark()
		}
	case FullOuter:
		if l && !r {
			return refused("FullOuter joins with streaming DataFrames/Datasets on the left and a static DataFrame/Dataset on the right is not supported")
		}
		if !l && r {
			return refused("FullOuter joins with streaming DataFrames/Datasets on the right and a static DataFrame/Dataset on the left is not supported")
		}
		if !watermarkedKeys(j) && !c.bounded(j, leftSide) && !c.bounded(j, rightSide) {
			return noWatermark()
		}
	case LeftAnti:
		if r {
			return refused("LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported")
		}
	case Existence:
		if r {
			return refused("Join type ExistenceJoin is not supported with streaming DataFrame/Dataset")
		}
	}
	return nil
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// watermarkedKeys reports whether an equality of the join has an event time on a side.
func watermarkedKeys(j *Join) bool {
	for i := range j.LeftKeys {
		if delayOf(j.LeftKeys[i]) > 0 || delayOf(j.RightKeys[i]) > 0 {
			return true
		}
	}
	return false
}

// bounded reports whether the condition bounds a column of one side from below, when the other side has an event
// time.
func (c *streamCheck) bounded(j *Join, which int) bool {
	if j.Residual == nil {
		return false
	}
	n := len(j.Left.Schema())
	other, from := j.Right.Schema(), n
	if which == rightSide {
		other, from = j.Left.Schema(), 0
	}
	own := func(column int) bool { return (column < n) == (which == leftSide) }
	for y, f := range other {
		if f.DelayMicros != 0 && len(StateBounds(expr.Conjuncts(j.Residual), own, from+y, false, c.conf.Expr)) > 0 {
			return true
		}
	}
	return false
}

// correctness is why a chain of stateful operators may lose rows without telling.
const correctness = "An operator below may emit rows that are older than the one global watermark; the stateful operator above would drop them as late. " +
	"If that is acceptable, set `spark.sql.streaming.statefulOperator.checkCorrectness.enabled` to false."

// chain refuses a stateful operator above an aggregation unless the mode is append, and above timeouts by event
// time.
func (c *streamCheck) chain(n Node) error {
	if !n.Streaming() {
		return nil
	}
	if stateful(n) {
		for _, k := range n.Children() {
			if c.mode != "append" && len(aggregatesBelow(k)) > 0 || c.timeouts(k) {
				return refused(correctness)
			}
		}
	}
	for _, k := range n.Children() {
		if err := c.chain(k); err != nil {
			return err
		}
	}
	return nil
}

func stateful(n Node) bool {
	switch x := n.(type) {
	case *Aggregate, *MapGroups:
		return x.Streaming()
	case *Join:
		return x.Left.Streaming() && x.Right.Streaming()
	case *Dedup:
		if x.WithinWatermark {
			return x.Streaming()
		}
		for _, i := range x.Cols {
			if x.Child.Schema()[i].DelayMicros > 0 {
				return x.Streaming()
			}
		}
	}
	return false
}

// ranked is the text of a window function as Spark's analysis has it: ranks have the order keys as arguments.
func ranked(w *WindowCall, text string) string {
	switch strings.ToLower(w.Name) {
	case "rank", "dense_rank", "percent_rank":
		keys := make([]string, len(w.Order))
		for i, o := range w.Order {
			keys[i] = o.Child.String()
		}
		return w.Name + "(" + strings.Join(keys, ", ") + ")"
	}
	return text
}
