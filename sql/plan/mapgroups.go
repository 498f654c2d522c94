package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql/types"
)

// GroupsKind is which of Spark's operators over groups with arbitrary state a MapGroups is.
type GroupsKind uint8

// The kinds.
const (
	MapGroupsKind GroupsKind = iota // one row per call
	FlatMapGroupsKind
	TransformKind // transformWithState
)

// Timing is which clock the timeouts or timers of a MapGroups follow.
type Timing uint8

// The clocks.
const (
	NoTime Timing = iota
	ProcessingTime
	EventTime
)

// String is the clock as Spark names it.
func (t Timing) String() string { return [...]string{"None", "ProcessingTime", "EventTime"}[t] }

// MapGroups hands the rows of each value of Keys, with the state of that value, to code written in Go. Code is
// of the executor's type; the plan only passes it on.
type MapGroups struct {
	Child  Node
	Keys   []int // positions in the child
	Values []int // what the code sees of a row, likewise
	Kind   GroupsKind
	Mode   string // the operator's own output mode: append or update
	Time   Timing
	Code   any
	// Initial is a static relation with the state to begin with; nil if there is none. Its columns are the keys, then
	// what the code takes.
	Initial Node
	Out     types.Schema
}

// Schema is what the code gives.
func (n *MapGroups) Schema() types.Schema { return n.Out }

// Children is the input, then the initial state.
func (n *MapGroups) Children() []Node {
	if n.Initial != nil {
		return []Node{n.Child, n.Initial}
	}
	return []Node{n.Child}
}

// Streaming as the input.
func (n *MapGroups) Streaming() bool { return n.Child.Streaming() }

func (n *MapGroups) describe() string {
	s := n.Child.Schema()
	names := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		names[i] = s[k].Name
	}
	kind := [...]string{"MapGroupsWithState", "FlatMapGroupsWithState", "TransformWithState"}[n.Kind]
	return kind + " [" + strings.Join(names, ", ") + "] " + n.Mode + ", time " + n.Time.String()
}

// with gives a copy over other children.
func (n *MapGroups) with(cs []Node) Node {
	c := *n
	c.Child = cs[0]
	if len(cs) > 1 {
		c.Initial = cs[1]
	}
	return &c
}

// AssignEventTime makes a column of the code's rows the event time of a transformWithState's output, with the
// delay of the watermark below. Errors: CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK, UNRESOLVED_COLUMN.*,
// EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE.
func (n *MapGroups) AssignEventTime(column string) error {
	delay := int64(0)
	for _, f := range n.Child.Schema() {
		delay = max(delay, f.DelayMicros)
	}
	if delay == 0 {
		return errs.New("CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK")
	}
	i := n.Out.Index(column)
	if i < 0 {
		return proposalError(column, n.Out)
	}
	if n.Out[i].Type.Kind != types.Timestamp {
		return errs.New("EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE", "eventName", types.Quote(column), "eventType", `"`+n.Out[i].Type.SQL()+`"`)
	}
	n.Out = append(types.Schema{}, n.Out...)
	n.Out[i].DelayMicros = delay
	return nil
}

// groups lists the (flat)mapGroupsWithState over streams in a plan.
func (c *streamCheck) groups(n Node) (out []*MapGroups) {
	if m, ok := n.(*MapGroups); ok && m.Streaming() && m.Kind != TransformKind {
		out = append(out, m)
	}
	for _, k := range n.Children() {
		out = append(out, c.groups(k)...)
	}
	return out
}

// severalGroups makes the checks that come before all others: how many operators there may be.
func (c *streamCheck) severalGroups(n Node) error {
	all := c.groups(n)
	if len(all) < 2 {
		return nil
	}
	maps, appends := 0, 0
	for _, m := range all {
		if m.Kind == MapGroupsKind {
			maps++
		} else if m.Mode == "append" {
			appends++
		}
	}
	switch {
	case maps >= 2:
		return refused("Multiple mapGroupsWithStates are not supported on a streaming DataFrames/Datasets")
	case maps > 0:
		return refused("Mixing mapGroupsWithStates and flatMapGroupsWithStates are not supported on a streaming DataFrames/Datasets")
	case appends < len(all) || c.mode != "append":
		return refused("Multiple flatMapGroupsWithStates are not supported when they are not all in append mode or the output mode is not append")
	}
	return nil
}

// mapGroups checks one operator.
func (c *streamCheck) mapGroups(m *MapGroups) error {
	if !m.Streaming() {
		return nil
	}
	if m.Initial != nil && m.Initial.Streaming() {
		return refused("The initial state of an operator with state cannot be a streaming DataFrame/Dataset")
	}
	switch {
	case m.Kind == TransformKind:
		return nil
	case m.Kind == MapGroupsKind && c.mode != "update":
		return refused("mapGroupsWithState is not supported with the mode " + title(c.mode) + " of a streaming DataFrame/Dataset")
	case m.Kind == FlatMapGroupsKind && len(c.aggs) > 0 && m.Mode == "update":
		return refused("flatMapGroupsWithState in update mode is not supported with aggregation on a streaming DataFrame/Dataset")
	case m.Kind == FlatMapGroupsKind && len(c.aggs) == 0 && m.Mode != c.mode:
		return refused("flatMapGroupsWithState in " + m.Mode + " mode is not supported with the mode " + title(c.mode) + " on a streaming DataFrame/Dataset")
	}
	if m.Time == EventTime && !hasEventTime(m.Child.Schema()) {
		return refused("Watermark must be specified in the query using withWatermark for using event-time timeout in a [map|flatMap]GroupsWithState")
	}
	return nil
}

// timeouts reports a (flat)mapGroupsWithState with event-time timeouts in n: it may emit rows behind the watermark.
func (c *streamCheck) timeouts(n Node) bool {
	for _, m := range c.groups(n) {
		if m.Time == EventTime {
			return true
		}
	}
	return false
}
