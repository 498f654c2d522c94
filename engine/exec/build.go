package exec

import (
	"fmt"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// builder compiles nodes. What it numbers it numbers on the way down, so that stateful operators and
// watermarks count from the sink.
type builder struct {
	p     *Plan
	conf  Conf
	taps  []*tap              // of the nodes that are built and have no node above them yet, if traced
	marks map[operator]inMark // watermark that leaves an operator
	// byRow are conditions of scans that compare with the value of a scalar subquery.
	byRow map[*plan.Scan][]expr.Expr
	rows  map[*plan.SingleRow]*theRow // of these subqueries
}

func (b *builder) mark(o operator) inMark { return b.marks[o] }

// pass notes that the watermark leaves o as it leaves from.
func (b *builder) pass(o operator, from ...operator) operator {
	ms := make([]inMark, len(from))
	for i, f := range from {
		ms[i] = b.marks[f]
	}
	b.marks[o] = lowest(ms...)
	return o
}

// addStateful reserves an operator number; the operator is set when it is built.
func (b *builder) addStateful() int {
	b.p.stateful = append(b.p.stateful, nil)
	return len(b.p.stateful) - 1
}

func (b *builder) build(n plan.Node) (operator, error) {
	if b.marks == nil {
		b.marks = map[operator]inMark{}
	}
	if b.conf.Trace != nil {
		return b.tapped(n)
	}
	return b.node(n)
}

// node compiles a node; the nodes below it come from build.
func (b *builder) node(n plan.Node) (operator, error) {
	switch x := n.(type) {
	case *plan.Scan:
		return b.scan(x)
	case *plan.OneRow:
		return &values{n: 1}, nil
	case *plan.Values:
		buf := newRowsBuffer(x.Out)
		for _, rb := range x.Rows {
			buf.add(columnar.Vectors(rb, x.Out), columnar.AllRows(int(rb.NumRows())))
		}
		return &values{cols: buf.vecs(), n: buf.n}, nil
	case *plan.Range:
		return newRangeScan(x.Start, x.End, x.Step), nil
	case *plan.Project:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		o, err := newProject(child, x.Exprs, x.Child.Schema(), b.conf.Expr)
		if err == nil {
			o, err = o.overFilter(x.Exprs)
		}
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.Filter:
		child, err := b.build(b.pushDown(x.Child, expr.Conjuncts(x.Cond)))
		if err != nil {
			return nil, err
		}
		o, err := newFilter(child, x.Cond, x.Child.Schema(), b.conf.Expr)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.Watermark:
		o := &watermark{column: x.Column, name: x.Out[x.Column].Name, delay: x.DelayMicros, number: len(b.p.marks)}
		if x.Streaming() && b.conf.Mode != "" {
			b.p.marks = append(b.p.marks, o)
		}
		child, err := b.build(x.Child)
		if err != nil || !x.Streaming() || b.conf.Mode == "" {
			return child, err
		}
		o.child = child
		b.p.redefined = b.p.redefined || b.mark(child).has
		b.marks[o] = inMark{has: true}
		return o, nil
	case *plan.Aggregate:
		return b.aggregate(x)
	case *plan.Observe:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		o, err := newObserve(child, x, b.conf.Expr)
		if err != nil {
			return nil, err
		}
		b.p.observed = append(b.p.observed, o)
		return b.pass(o, child), nil
	case *plan.Dedup:
		return b.dedup(x)
	case *plan.Union:
		o := &union{}
		for _, in := range x.Inputs {
			k, err := b.build(in)
			if err != nil {
				return nil, err
			}
			o.kids = append(o.kids, k)
		}
		return b.pass(o, o.kids...), nil
	case *plan.TimeWindow:
		child, err := b.build(b.timesToScans(x.Child, x.Time))
		if err != nil {
			return nil, err
		}
		o, err := newTimeWindow(child, x, b.conf.Expr)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.SessionWindow:
		child, err := b.build(b.timesToScans(x.Child, x.Time))
		if err != nil {
			return nil, err
		}
		o, err := newSessionStart(child, x, b.conf.Expr)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.Sort:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		o, err := newSorter(child, x.Orders, x.Child.Schema(), b.conf.Expr, x.Local)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.Limit:
		return b.limit(x)
	case *plan.Join:
		return b.join(x)
	case *plan.Generate:
		child, err := b.build(b.pushDown(x.Child, notNull(x)))
		if err != nil {
			return nil, err
		}
		o, err := newGenerate(child, x, b.conf.Expr)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.Expand:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		o, err := newExpand(child, x.Projections, x.Child.Schema(), b.conf.Expr)
		if err != nil {
			return nil, err
		}
		return b.pass(o, child), nil
	case *plan.SetOp:
		if x.Streaming() && b.conf.Mode != "" {
			return b.streamSetOp(x)
		}
		l, err := b.build(x.Left)
		if err != nil {
			return nil, err
		}
		r, err := b.build(x.Right)
		if err != nil {
			return nil, err
		}
		for _, f := range x.Out {
			if !expr.BinaryComparable(f.Type) {
				return nil, refuse("INTERSECT or EXCEPT of " + f.Type.SQL())
			}
		}
		return newSetOp(l, r, x), nil
	case *plan.Sample:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		return b.pass(&sample{child: child, low: x.Low, high: x.High, seed: x.Seed}, child), nil
	case *plan.SingleRow:
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		o := &singleRow{child: child, schema: x.Out, pos: x.Pos}
		if row := b.rows[x]; row != nil {
			row.at = o
		}
		return o, nil
	case *plan.Window:
		return b.window(x)
	case *plan.MapGroups:
		return b.mapGroups(x)
	}
	return nil, refuse(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."))
}

func (b *builder) scan(x *plan.Scan) (operator, error) {
	if x.Stream != nil {
		if b.conf.Mode == "" {
			return nil, errs.New("_LEGACY_ERROR_TEMP_3102", "msg", "A query that reads a stream is started with writeStream; it has no finite answer.")
		}
		s := &scan{stream: x.Stream, number: len(b.p.scans)}
		s.reader.set(x, len(x.Stream.Schema()), len(x.Stream.Hidden))
		s.where = b.below(x)
		if len(x.Filters) > 0 && appliesFilters(x.Stream) {
			s.filters.make = func() (*expr.Program, error) { return expr.Compile([]expr.Expr{and(x.Filters)}, x.Out, b.conf.Expr) }
			s.filtered = true
			if _, err := s.filters.get(0); err != nil {
				return nil, err
			}
		}
		if es := b.byRow[x]; es != nil {
			if s.filtered {
				es = append(append([]expr.Expr{}, x.Filters...), es...)
			}
			s.byRow = func() (*expr.Program, error) {
				return expr.Compile([]expr.Expr{withRows(and(es))}, x.Out, b.conf.Expr)
			}
		}
		b.p.scans = append(b.p.scans, s)
		return s, nil
	}
	table := x.Table
	if t, ok := table.(catalog.Snapshotter); ok && b.conf.Mode != "" {
		var err error
		if table, err = t.Snapshot(); err != nil {
			return nil, err
		}
	}
	s := &tableScan{table: table, where: b.below(x)}
	s.reader.set(x, len(x.Table.Schema()), 0)
	return s, nil
}

// eventTime finds the column of a schema that is an event time, and its delay; -1 if there is none.
func eventTime(s types.Schema) (column int, delay int64) {
	for i, f := range s {
		if f.DelayMicros > 0 {
			return i, f.DelayMicros - 1
		}
	}
	return -1, 0
}

func (b *builder) aggregate(x *plan.Aggregate) (operator, error) {
	streaming := x.Streaming() && b.conf.Mode != ""
	number := -1
	if streaming {
		number = b.addStateful()
	}
	if !streaming {
		if y, err := byCollationKeys(x, b.conf.Expr); y != nil || err != nil {
			if err != nil {
				return nil, err
			}
			return b.build(y)
		}
	}
	child, err := b.build(x.Child)
	if err != nil {
		return nil, err
	}
	in := x.Child.Schema()
	if x.Session >= 0 {
		return b.session(x, child, number)
	}
	g := newGrouping(x.Keys, x.Calls, in, b.conf.Expr)
	if _, err := g.newFolder(); err != nil {
		return nil, err
	}
	panes := newPanes(x, child, b.conf.Expr)
	if b.conf.Trace == nil {
		g.panes = panes
	}
	if !streaming {
		return b.pass(&hashAggregate{child: child, g: g}, child), nil
	}
	if g.hasDistinct() {
		return nil, refuse("DISTINCT aggregates of a stream")
	}
	keys := x.Out[:len(x.Keys)]
	b.unkeyable(checkKeys(keys))
	if b.conf.Mode != "complete" {
		b.first(checkTimes(keys))
	}
	col, delay := eventTime(keys)
	if col < 0 && b.conf.Mode == "append" {
		b.first(errs.New("UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK", "outputMode", "append",
			"statefulOperator", "aggregations"))
	}
	o := newStateAggregate(child, g, b.conf.Mode, col, delay, b.mark(child))
	o.schema = x.Out
	o.setPanes(panes, b.conf.Trace != nil)
	b.p.stateful[number] = o
	return b.pass(o, child), nil
}

func (b *builder) dedup(x *plan.Dedup) (operator, error) {
	streaming := x.Streaming() && b.conf.Mode != ""
	number := -1
	if streaming {
		number = b.addStateful()
	}
	child, err := b.build(x.Child)
	if err != nil {
		return nil, err
	}
	in := x.Child.Schema()
	col, delay := eventTime(in)
	if !streaming {
		if x.WithinWatermark {
			return nil, errs.New("_LEGACY_ERROR_TEMP_3102", "msg", "dropDuplicatesWithinWatermark is not supported with batch DataFrames/DataSets")
		}
		col = -1
	}
	o := newDedup(child, in, x.Cols, x.WithinWatermark, col, delay, b.mark(child))
	if streaming {
		b.p.stateful[number] = o
		var keys types.Schema
		for _, k := range x.Cols {
			keys = append(keys, in[k])
		}
		b.unkeyable(checkKeys(keys))
		b.first(checkTimes(in))
	} else {
		o.fleeting = true
	}
	return b.pass(o, child), nil
}

// first notes an error that Spark raises when the first batch is planned, not when the query starts.
func (b *builder) first(err error) {
	if b.p.first == nil {
		b.p.first = err
	}
}

// unkeyable notes keys that state cannot have, which Spark finds before the sink sees the first batch.
func (b *builder) unkeyable(err error) {
	if b.p.keys == nil {
		b.p.keys = err
	}
}

func and(es []expr.Expr) expr.Expr {
	out := es[0]
	for _, e := range es[1:] {
		if a, err := expr.Build("and", []expr.Expr{out, e}, expr.Conf{}); err == nil {
			out = a
		}
	}
	return out
}
