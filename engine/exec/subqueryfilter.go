package exec

import (
	"errors"
	"strings"

	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// A scalar subquery that takes nothing from around is a join with its only row, and a condition that compares
// with its value is a condition of that join. In every batch the row is there before the stream is read, so
// that a format that leaves rows out while it parses can go by the value, as Spark's scans do: what fails
// the condition is no input row. The join keeps its condition; the scan only applies it once more.

// theRow is the row of a scalar subquery; the operator is set when it is built.
type theRow struct{ at *singleRow }

// rowValue stands in conditions for a column of that row until the row is known.
type rowValue struct {
	row   *theRow
	index int
	field types.Field
}

func (v *rowValue) Type() types.DataType  { return v.field.Type }
func (v *rowValue) Nullable() bool        { return true }
func (v *rowValue) Children() []expr.Expr { return nil }
func (v *rowValue) String() string        { return v.field.Name }

// withRows puts the values of the batch into a condition.
func withRows(e expr.Expr) expr.Expr {
	return expr.Transform(e, func(e expr.Expr) expr.Expr {
		if v, ok := e.(*rowValue); ok {
			return expr.LitOf(v.row.at.buf.cols[v.index], 0)
		}
		return e
	})
}

// byTheRow hands the conditions of a join with a scalar subquery's row to the scans on its left that apply
// them, and gives the join with that left side.
func (b *builder) byTheRow(x *plan.Join) *plan.Join {
	if x.Kind != plan.Inner || x.Residual == nil || b.conf.Mode == "" || !x.Left.Streaming() || x.Right.Streaming() {
		return x
	}
	sub, values := theRowOf(x.Right)
	if sub == nil {
		return x
	}
	width, left := len(x.Left.Schema()), x.Left
	for _, e := range expr.Conjuncts(x.Residual) {
		if expr.Deterministic(e) {
			left = b.toScans(left, expr.Transform(e, func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok && c.Index >= width {
					return values[c.Index-width]
				}
				return e
			}))
		}
	}
	if left == x.Left {
		return x
	}
	if b.rows == nil {
		b.rows = map[*plan.SingleRow]*theRow{}
	}
	b.rows[sub] = values[0].(*rowValue).row
	c := *x
	c.Left = left
	return &c
}

// theRowOf finds the subquery that gives the only row of n, below conditions that the optimizer put there, and
// the values of its columns; nil if n is none.
func theRowOf(n plan.Node) (*plan.SingleRow, []expr.Expr) {
	switch x := n.(type) {
	case *plan.Filter:
		return theRowOf(x.Child)
	case *plan.SingleRow:
		row, values := &theRow{}, make([]expr.Expr, len(x.Out))
		for i, f := range x.Out {
			values[i] = &rowValue{row, i, f}
		}
		if len(values) > 0 {
			return x, values
		}
	}
	return nil, nil
}

// toScans notes a condition on the rows of n for the scans below that may apply it: it passes what a filter
// passes on its way to the sources. Nodes on the way to a scan that takes it are copied.
func (b *builder) toScans(n plan.Node, e expr.Expr) plan.Node {
	switch x := n.(type) {
	case *plan.Scan:
		if x.Stream == nil || !appliesFilters(x.Stream) || !b.pushes(x.Stream) || !comparesRow(e) {
			return n
		}
		c := *x
		if b.byRow == nil {
			b.byRow = map[*plan.Scan][]expr.Expr{}
		}
		b.byRow[&c] = append(append([]expr.Expr{}, b.byRow[x]...), e)
		return &c
	case *plan.Filter:
		if child := b.toScans(x.Child, e); child != x.Child && expr.Deterministic(x.Cond) {
			c := *x
			c.Child = child
			return &c
		}
	case *plan.Project:
		for _, p := range x.Exprs {
			if !expr.Deterministic(p) {
				return n
			}
		}
		if child := b.toScans(x.Child, over(e, x.Exprs)); child != x.Child {
			c := *x
			c.Child = child
			return &c
		}
	case *plan.Watermark:
		if reads(e, func(i int) bool { return i == x.Column }) {
			return n
		}
		if child := b.toScans(x.Child, e); child != x.Child {
			c := *x
			c.Child = child
			return &c
		}
	case *plan.Aggregate:
		if reads(e, func(i int) bool { return i >= len(x.Keys) || i == x.Session }) {
			return n
		}
		for _, k := range x.Keys {
			if !expr.Deterministic(k) {
				return n
			}
		}
		if child := b.toScans(x.Child, over(e, x.Keys)); child != x.Child {
			c := *x
			c.Child = child
			return &c
		}
	case *plan.Union:
		c := *x
		c.Inputs = append([]plan.Node{}, x.Inputs...)
		taken := false
		for i, in := range x.Inputs {
			c.Inputs[i] = b.toScans(in, e)
			taken = taken || c.Inputs[i] != in
		}
		if taken {
			return &c
		}
	case *plan.Join:
		width := len(x.Left.Schema())
		if x.Kind == plan.RightOuter || x.Kind == plan.FullOuter || reads(e, func(i int) bool { return i >= width }) {
			return n
		}
		if left := b.toScans(x.Left, e); left != x.Left {
			c := *x
			c.Left = left
			return &c
		}
	}
	return n
}

// over replaces columns by what a node computes for them.
func over(e expr.Expr, es []expr.Expr) expr.Expr {
	return expr.Transform(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return es[c.Index]
		}
		return e
	})
}

// reads reports that e reads a column for which is holds.
func reads(e expr.Expr, is func(i int) bool) bool {
	found := false
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok && is(c.Index) {
			found = true
		}
		return !found
	})
	return found
}

// comparesRow reports simple conditions that compare columns with values of the row as they are: Spark does
// not compute with the value before it gives it to the scan.
func comparesRow(e expr.Expr) bool {
	direct, all := 0, 0
	expr.Walk(e, func(e expr.Expr) bool {
		if _, ok := e.(*rowValue); ok {
			all++
		}
		if s, ok := e.(*expr.Scalar); ok && !strings.EqualFold(s.Name, "not") && s.Name != "!" {
			for _, a := range s.Args {
				if _, ok := a.(*rowValue); ok {
					direct++
				}
			}
		}
		return true
	})
	return direct == all && simpleCondition(expr.Transform(e, func(e expr.Expr) expr.Expr {
		if v, ok := e.(*rowValue); ok {
			return expr.NullLit(v.field.Type)
		}
		return e
	}))
}

// pushes says whether the settings let a format's scans filter.
func (b *builder) pushes(s *catalog.Stream) bool {
	if b.conf.Get == nil {
		return true
	}
	key := "spark.sql." + s.Format + ".filterPushdown"
	return b.conf.Get(key+".enabled") != "false" && b.conf.Get(key) != "false"
}

// subqueryError is an error of a scalar subquery, which has its value before the rows of the batch are asked
// for.
type subqueryError struct{ err error }

func (e *subqueryError) Error() string { return e.err.Error() }
func (e *subqueryError) Unwrap() error { return e.err }

// BeforeRows reports errors of a batch that Spark meets before the first row is asked for: those of scalar
// subqueries that take nothing from around. What is done with the rows is not to blame for them.
func BeforeRows(err error) bool {
	var e *subqueryError
	return errors.As(err, &e)
}
