package plan

import (
	"fmt"
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// The types below stand in expressions during analysis only; no node that Analyze returns holds one.

// outerRef is a column of the query around a subquery.
type outerRef struct{ col *expr.Column }

func (o *outerRef) Type() types.DataType  { return o.col.Type() }
func (o *outerRef) Nullable() bool        { return o.col.Nullable() }
func (o *outerRef) Children() []expr.Expr { return nil }
func (o *outerRef) String() string        { return o.col.String() }

// named prints as a name although it is computed: a lateral alias or an output column.
type named struct {
	child expr.Expr
	name  string
}

func (n *named) Type() types.DataType  { return n.child.Type() }
func (n *named) Nullable() bool        { return n.child.Nullable() }
func (n *named) Children() []expr.Expr { return []expr.Expr{n.child} }
func (n *named) String() string        { return n.name }

// subquery kinds.
const (
	scalarQuery = iota
	existsQuery
	inQuery
)

// subquery is a query as a value. Its plan may hold outerRefs of the scope around.
type subquery struct {
	kind int
	not  bool // NOT IN
	node Node
	xs   []expr.Expr // left side of IN
	out  types.DataType
	null bool
	text string
	pos  errs.Pos // of a scalar subquery, zero if unknown
}

func (s *subquery) Type() types.DataType  { return s.out }
func (s *subquery) Nullable() bool        { return s.null }
func (s *subquery) Children() []expr.Expr { return s.xs }
func (s *subquery) String() string        { return s.text }

// generator is a function that yields rows; it stands at the top of a select item.
type generator struct {
	kind  string
	args  []expr.Expr
	outer bool
	out   types.Schema
	text  string
	first *generator // what copies are copies of
}

func (g *generator) Type() types.DataType {
	if len(g.out) == 1 {
		return g.out[0].Type
	}
	return types.StructOf(g.out...)
}
func (g *generator) Nullable() bool        { return true }
func (g *generator) Children() []expr.Expr { return g.args }
func (g *generator) String() string        { return g.text }

// generatedValue is the column of a generator that stands in the same select list, before its Generate node is made.
type generatedValue struct{ of *generator }

func (v *generatedValue) Type() types.DataType  { return v.of.out[0].Type }
func (v *generatedValue) Nullable() bool        { return true }
func (v *generatedValue) Children() []expr.Expr { return nil }
func (v *generatedValue) String() string        { return v.of.text }

// groupingCall is grouping(c), or grouping_id(…) with id.
type groupingCall struct {
	id   bool
	args []expr.Expr
	text string
}

func (g *groupingCall) Type() types.DataType {
	if g.id {
		return types.Of(types.BigInt)
	}
	return types.Of(types.TinyInt)
}
func (g *groupingCall) Nullable() bool        { return false }
func (g *groupingCall) Children() []expr.Expr { return g.args }
func (g *groupingCall) String() string        { return g.text }

// mapKids gives e with f applied to its children; e itself if nothing changed.
func mapKids(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	list := func(es []expr.Expr) ([]expr.Expr, bool) {
		changed := false
		out := make([]expr.Expr, len(es))
		for i, a := range es {
			out[i] = f(a)
			changed = changed || out[i] != a
		}
		return out, changed
	}
	switch x := e.(type) {
	case *named:
		if c := f(x.child); c != x.child {
			return &named{c, x.name}
		}
	case *eventTime:
		if c := f(x.child); c != x.child {
			return &eventTime{c, x.delay}
		}
	case *subquery:
		if xs, ok := list(x.xs); ok {
			c := *x
			c.xs = xs
			return &c
		}
	case *generator:
		if args, ok := list(x.args); ok {
			c := *x
			c.args = args
			return &c
		}
	case *groupingCall:
		if args, ok := list(x.args); ok {
			c := *x
			c.args = args
			return &c
		}
	case *WindowCall:
		c := *x
		changed := false
		if x.Aggregate != nil { // only what is below it: the aggregate itself belongs to the window
			n := mapKids(x.Aggregate, f).(*expr.AggregateCall)
			changed = n != x.Aggregate
			c.Aggregate = n
		}
		var ok bool
		c.Args, ok = list(x.Args)
		changed = changed || ok
		c.Partition, ok = list(x.Partition)
		changed = changed || ok
		c.Order = make([]Ordering, len(x.Order))
		for i, o := range x.Order {
			c.Order[i] = o
			c.Order[i].Child = f(o.Child)
			changed = changed || c.Order[i].Child != o.Child
		}
		if changed {
			return &c
		}
	default:
		return expr.MapChildren(e, f)
	}
	return e
}

// transform rewrites e from the leaves up.
func transform(e expr.Expr, f func(expr.Expr) expr.Expr) expr.Expr {
	return f(mapKids(e, func(c expr.Expr) expr.Expr { return transform(c, f) }))
}

// any reports whether some expression at or below e satisfies f.
func anyExpr(e expr.Expr, f func(expr.Expr) bool) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		found = found || f(x)
		return !found
	})
	return found
}

func hasAggregate(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch w := x.(type) {
		case *expr.AggregateCall, *groupingCall:
			found = true
		case *WindowCall:
			for _, k := range windowInputs(w) {
				found = found || hasAggregate(k)
			}
			return false
		}
		return !found
	})
	return found
}

// windowInputs are the expressions that a window function computes from, without its aggregate itself.
func windowInputs(w *WindowCall) []expr.Expr {
	var out []expr.Expr
	if w.Aggregate != nil {
		out = append(out, w.Aggregate.Children()...)
	}
	out = append(out, w.Args...)
	out = append(out, w.Partition...)
	for _, o := range w.Order {
		out = append(out, o.Child)
	}
	return out
}

func hasWindow(e expr.Expr) bool {
	return anyExpr(e, func(x expr.Expr) bool { _, ok := x.(*WindowCall); return ok })
}

func hasSubquery(e expr.Expr) bool {
	return anyExpr(e, func(x expr.Expr) bool { _, ok := x.(*subquery); return ok })
}

func hasOuter(e expr.Expr) bool {
	return anyExpr(e, func(x expr.Expr) bool { _, ok := x.(*outerRef); return ok })
}

// strip removes names that only printing needed.
func strip(e expr.Expr) expr.Expr {
	return transform(e, func(x expr.Expr) expr.Expr {
		switch n := x.(type) {
		case *named:
			return n.child
		case *eventTime:
			return n.child
		}
		return x
	})
}

var commutative = map[string]bool{"+": true, "*": true, "=": true, "<=>": true, "and": true, "or": true, "&": true,
	"|": true, "^": true}

// identity is equal for expressions that mean the same: names of columns and order of commutative operands
// do not matter.
func identity(e expr.Expr) string {
	var b strings.Builder
	writeIdentity(&b, e)
	return b.String()
}

func writeIdentity(b *strings.Builder, e expr.Expr) {
	kids := e.Children()
	tag := ""
	switch x := e.(type) {
	case *expr.Column:
		fmt.Fprintf(b, "#%d", x.Index)
		return
	case *outerRef:
		fmt.Fprintf(b, "outer#%d", x.col.Index)
		return
	case *named:
		writeIdentity(b, x.child)
		return
	case *eventTime:
		writeIdentity(b, x.child)
		return
	case *expr.Alias:
		writeIdentity(b, x.Child)
		return
	case *expr.Literal:
		fmt.Fprintf(b, "'%s'%s", x.Type().SQL(), literalIdentity(x))
		return
	case *expr.LambdaVar:
		fmt.Fprintf(b, "%p", x)
		return
	case *expr.Lambda:
		fmt.Fprintf(b, "lambda%p", x)
		return
	case *expr.Cast:
		tag = "cast " + x.To.SQL() + fmt.Sprint(x.Mode == expr.Try)
	case *expr.Scalar:
		if x.Nondeterministic {
			fmt.Fprintf(b, "%p", x)
			return
		}
		tag = x.Name + "|" + x.Extra + "|" + x.Out.SQL()
		if x.Type().IsDatetime() && strings.Contains(x.Text, " - ") {
			tag += "-" // sums of times hide their sign in the kernel
		}
		if commutative[strings.ToLower(x.Name)] && len(kids) == 2 {
			tag = "%" + tag
		}
	case *expr.Higher:
		fmt.Fprintf(b, "%p", x)
		return
	case *expr.Lazy:
		tag = fmt.Sprint("lazy", x.Kind, x.Out.SQL())
	case *expr.AggregateCall:
		tag = "agg " + x.Name + fmt.Sprint(x.Distinct, x.Filter != nil) + x.Out.SQL()
		tag += x.Extra
	case *groupingCall:
		tag = x.text
	case *WindowCall:
		tag = x.Text
	default:
		fmt.Fprintf(b, "%p", e)
		return
	}
	parts := make([]string, len(kids))
	for i, k := range kids {
		parts[i] = identity(k)
	}
	if strings.HasPrefix(tag, "%") {
		sort.Strings(parts)
	}
	b.WriteString(tag)
	b.WriteByte('(')
	b.WriteString(strings.Join(parts, ","))
	b.WriteByte(')')
}

func literalIdentity(l *expr.Literal) string {
	if l.Value.IsNull(0) {
		return "null"
	}
	c := *l
	c.Text = ""
	return c.String()
}

// column makes a column of a node's schema.
func columnAt(n Node, i int) *expr.Column { return &expr.Column{Index: i, Field: n.Schema()[i]} }

// allColumns are the columns of a node as expressions.
func allColumns(n Node) []expr.Expr {
	s := n.Schema()
	out := make([]expr.Expr, len(s))
	for i := range s {
		out[i] = &expr.Column{Index: i, Field: s[i]}
	}
	return out
}

// delayOf is the event-time mark of an expression: only a bare column keeps it.
func delayOf(e expr.Expr) int64 {
	switch x := e.(type) {
	case *expr.Column:
		return x.Field.DelayMicros
	case *named:
		return delayOf(x.child)
	case *eventTime:
		return x.delay
	case *expr.Alias:
		return delayOf(x.Child)
	}
	return 0
}

// metadataOf keeps what a bare column says of itself.
func metadataOf(e expr.Expr) map[string]string {
	switch x := e.(type) {
	case *expr.Column:
		return x.Field.Metadata
	case *named:
		return metadataOf(x.child)
	case *expr.Alias:
		return metadataOf(x.Child)
	}
	return nil
}

func fieldOf(name string, e expr.Expr) types.Field {
	return types.Field{Name: name, Type: e.Type(), Nullable: e.Nullable(), DelayMicros: delayOf(e), Metadata: metadataOf(e)}
}

// newProject makes a Project; names are parallel to es.
func newProject(child Node, es []expr.Expr, names []string) *Project {
	p := &Project{Child: child, Exprs: make([]expr.Expr, len(es)), Out: make(types.Schema, len(es))}
	for i, e := range es {
		p.Out[i] = fieldOf(names[i], e)
		e = strip(e)
		if a, ok := e.(*expr.Alias); ok {
			e = a.Child
		}
		p.Exprs[i] = e
	}
	return p
}

func newAggregate(child Node, keys []expr.Expr, names []string, calls []*expr.AggregateCall) *Aggregate {
	a := &Aggregate{Child: child, Calls: calls, Session: -1}
	for i, k := range keys {
		a.Out = append(a.Out, fieldOf(names[i], k))
		a.Keys = append(a.Keys, strip(k))
	}
	for _, c := range calls {
		a.Out = append(a.Out, types.Field{Name: c.String(), Type: c.Type(), Nullable: c.Nullable()})
	}
	return a
}

// distinct removes duplicate rows.
func distinct(n Node) *Aggregate {
	return newAggregate(n, allColumns(n), n.Schema().Names(), nil)
}
