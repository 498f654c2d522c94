package exec

import (
	"regexp"
	"strings"

	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// appliesFilters are formats whose streams leave rows out while they parse; Parquet and tables only skip parts
// without any row that passes.
func appliesFilters(s *catalog.Stream) bool { return s.Format == "json" || s.Format == "csv" }

// below gives what a scan may skip by: conditions with the relation's positions instead of the scan's.
func (b *builder) below(x *plan.Scan) []catalog.Predicate {
	if len(x.Filters) == 0 {
		return nil
	}
	out := plan.Predicates(and(x.Filters), b.conf.Expr)
	for i := range out {
		if x.Columns != nil {
			out[i].Column = x.Columns[out[i].Column]
		}
	}
	return out
}

// pushDown notes the simple ones of conditions on the rows of n, if n is a scan that makes use of them.
func (b *builder) pushDown(n plan.Node, conditions []expr.Expr) plan.Node {
	s, ok := n.(*plan.Scan)
	if !ok || len(s.Filters) > 0 || s.Stream != nil && !appliesFilters(s.Stream) && s.Stream.Format != "parquet" && s.Stream.Format != "delta" {
		return n
	}
	if s.Stream != nil && s.Stream.Format != "delta" && !b.pushes(s.Stream) {
		return n
	}
	c := *s
	for _, e := range conditions {
		if s.Stream != nil && reads(e, func(i int) bool { return fileFunction(s, i) }) {
			continue
		}
		c.Filters = append(c.Filters, scanConditions(e, b.conf.Expr)...)
	}
	if len(c.Filters) == 0 {
		return n
	}
	if es := b.byRow[s]; es != nil {
		b.byRow[&c] = es
	}
	return &c
}

// notNull is the condition that a generator implies: a null list gives no row.
func notNull(x *plan.Generate) []expr.Expr {
	if x.Outer || len(x.Args) == 0 || x.Kind == "stack" || x.Kind == "json_tuple" {
		return nil
	}
	if _, ok := x.Args[0].(*expr.Column); !ok {
		return nil
	}
	e, err := expr.Build("isnotnull", x.Args[:1], expr.Conf{})
	if err != nil {
		return nil
	}
	return []expr.Expr{e}
}

// fileFunction reports that column i of a scan is what input_file_name or its kin give, which Spark computes above the
// scan.
func fileFunction(s *plan.Scan, i int) bool {
	at := i
	if s.Columns != nil {
		at = s.Columns[i]
	}
	return at >= len(s.Stream.Schema()) && plan.IsFileFunction(s.Out[i].Name)
}

// scanConditions are what a scan is asked for because of a condition above it: the condition itself if it is simple,
// a LIKE as what it says of beginning and end, and that columns are not null where the condition would be null
// otherwise (Spark's LikeSimplification, BooleanSimplification and InferFiltersFromConstraints).
func scanConditions(e expr.Expr, c expr.Conf) []expr.Expr {
	e = plain(e, c)
	if plan.Timeless(e) { // what is false now may be true in a later micro-batch
		if l, err := expr.Const(e, c); err == nil && l != nil {
			if l.Value.IsNull(0) || !l.Value.Bool(0) {
				return []expr.Expr{expr.BoolLit(false)} // no row is read at all
			}
			return nil
		}
	}
	if not, ok := negated(e); ok {
		if z, ok := not.(*expr.Lazy); ok && z.Kind == expr.LazyOr {
			var out []expr.Expr
			for _, a := range z.Args {
				if n, err := expr.Build("not", []expr.Expr{a}, c); err == nil {
					out = append(out, scanConditions(n, c)...)
				}
			}
			return out
		}
	}
	if parts := ofLike(e, c); len(parts) > 1 {
		return append(parts, plan.NotNullColumns(e)...)
	}
	several := false // a LIKE inside is a conjunction
	e = expr.Transform(e, func(x expr.Expr) expr.Expr {
		switch parts := ofLike(x, c); len(parts) {
		case 0:
			return plain(x, c)
		case 1:
			return parts[0]
		}
		several = true
		return x
	})
	switch {
	case simpleCondition(e):
		return []expr.Expr{e}
	case several:
		return nil
	}
	return plan.NotNullColumns(e)
}

// plain is a condition without the comparison with TRUE or FALSE that may be around it.
func plain(e expr.Expr, c expr.Conf) expr.Expr {
	s, ok := e.(*expr.Scalar)
	if !ok || s.Name != "=" && s.Name != "==" || len(s.Args) != 2 {
		return e
	}
	for i, a := range s.Args {
		l, ok := a.(*expr.Literal)
		if !ok || l.Type().Kind != types.Boolean || l.Value.IsNull(0) {
			continue
		}
		x := plain(s.Args[1-i], c)
		if l.Value.Bool(0) {
			return x
		}
		if n, ok := negated(x); ok {
			return n
		}
		if n, err := expr.Build("not", []expr.Expr{x}, c); err == nil {
			return n
		}
	}
	return e
}

// negated gives what NOT stands before.
func negated(e expr.Expr) (expr.Expr, bool) {
	s, ok := e.(*expr.Scalar)
	if !ok || s.Name != "not" && s.Name != "!" {
		return nil, false
	}
	return s.Args[0], true
}

// likeShape divides the patterns of LIKE that are no more than a beginning, an end, both, or a part.
var likeShape = regexp.MustCompile(`^(%*)([^_%]*)(%*)([^_%]*)$`)

// ofLike gives what a LIKE with a simple pattern says of a text; nil if e is none.
func ofLike(e expr.Expr, c expr.Conf) []expr.Expr {
	s, ok := e.(*expr.Scalar)
	if !ok || s.Name != "like" || len(s.Args) != 2 {
		return nil
	}
	l, ok := s.Args[1].(*expr.Literal)
	if !ok || l.Value.IsNull(0) || strings.Contains(string(l.Value.Bytes(0)), s.Extra) {
		return nil
	}
	m := likeShape.FindSubmatch(l.Value.Bytes(0))
	if m == nil {
		return nil
	}
	before, first, after, last := len(m[1]) > 0, string(m[2]), len(m[3]) > 0, string(m[4])
	var out []expr.Expr
	says := func(name, text string) {
		if x, err := expr.Build(name, []expr.Expr{s.Args[0], expr.StringLit(text)}, c); err == nil {
			out = append(out, x)
		}
	}
	switch {
	case !before && !after:
		says("=", first)
	case before && after && last == "" && first != "":
		says("contains", first)
	case before && !after && first != "":
		says("endswith", first)
	case !before && after && first != "" && last == "":
		says("startswith", first)
	case !before && after && first != "":
		says("startswith", first)
		says("endswith", last)
	}
	return out
}

// timesToScans tells the scans below n that rows without a time are in no window.
func (b *builder) timesToScans(n plan.Node, time expr.Expr) plan.Node {
	for _, e := range plan.NotNullColumns(time) {
		n = b.toScans(n, e)
	}
	return n
}

// unwrapped is a column that is only widened to be compared with a number, or made a date or an instant: a scan
// compares it as it is (Spark's UnwrapCastInBinaryComparison).
func unwrapped(e expr.Expr) expr.Expr {
	child, to := e, e.Type()
	switch x := e.(type) {
	case *expr.Cast:
		child = x.Child
	case *expr.Scalar: // to_date(t) and its kin
		if strings.HasPrefix(x.Name, expr.CastAs) {
			child = x.Args[0]
		}
	}
	col, ok := child.(*expr.Column)
	if !ok {
		return e
	}
	from := col.Field.Type
	switch {
	case from.Kind == types.Timestamp && to.Kind == types.Date, from.Kind == types.Date && to.Kind == types.Timestamp:
		return col
	case from.Kind == types.Decimal && to.Kind == types.Decimal && to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale:
		return col
	}
	if from.IsIntegral() && to.IsNumeric() && to.Kind > from.Kind && !(from.Kind == types.BigInt && to.Kind >= types.Float) {
		return col
	}
	return e
}

// simpleCondition reports comparisons of a top-level column of an atomic type with constants, null tests,
// and AND, OR and NOT of them.
func simpleCondition(e expr.Expr) bool {
	var kids []expr.Expr
	switch x := e.(type) {
	case *expr.Literal:
		return x.Type().Kind == types.Boolean
	case *expr.Column:
		return x.Field.Type.Kind == types.Boolean
	case *expr.Lazy:
		if x.Kind != expr.LazyAnd && x.Kind != expr.LazyOr {
			return false
		}
		kids = x.Args
	case *expr.Scalar:
		switch strings.ToLower(x.Name) {
		case "not", "!":
			kids = x.Args
		case "=", "==", "<", "<=", ">", ">=", "<=>", "isnull", "isnotnull", "in", "startswith", "endswith", "contains":
			columns := 0
			for _, a := range x.Args {
				a = unwrapped(a)
				if c, ok := a.(*expr.Column); ok && (c.Field.Type.IsAtomic() || len(x.Args) == 1) {
					columns++
					continue
				}
				if !expr.Foldable(a) || !plan.Timeless(a) {
					return false
				}
			}
			return columns == 1
		default:
			return false
		}
	default:
		return false
	}
	for _, k := range kids {
		if !simpleCondition(k) {
			return false
		}
	}
	return true
}
