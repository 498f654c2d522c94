package plan

import (
	"fmt"
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// over resolves a window function.
func (x *resolver) over(f *sql.FuncCall, name string) expr.Expr {
	a := x.a
	if x.inAggregate {
		x.fail(f, "_LEGACY_ERROR_TEMP_1031")
	}
	spec := f.Over
	if spec.Name != "" && len(spec.PartitionBy) == 0 && len(spec.OrderBy) == 0 && spec.Frame == nil {
		named, ok := x.windows[strings.ToLower(spec.Name)]
		if !ok {
			x.fail(f, "MISSING_WINDOW_SPECIFICATION", "windowName", spec.Name, "docroot", docroot)
		}
		for named.Name != "" {
			next, ok := x.windows[strings.ToLower(named.Name)]
			if !ok || next == named {
				x.fail(f, "MISSING_WINDOW_SPECIFICATION", "windowName", named.Name, "docroot", docroot)
			}
			named = next
		}
		spec = named
	}
	w := &WindowCall{Name: name, IgnoreNulls: f.IgnoreNulls}
	w.Partition = x.exprs(spec.PartitionBy)
	for i, p := range w.Partition {
		if !orderable(p.Type()) {
			x.fail(spec.PartitionBy[i], "EXPRESSION_TYPE_IS_NOT_ORDERABLE", "expr", `"`+p.String()+`"`, "exprType", `"`+p.Type().SQL()+`"`)
		}
	}
	w.Order = x.orderings(spec.OrderBy)
	for i, o := range w.Order {
		x.a.orderable(&spec.OrderBy[i], o.Child)
	}
	text := ""
	ordered := false
	ranked := false
	switch {
	case windowOnly[name]:
		x.refuseWindowClauses(f, name)
		args := x.exprs(f.Args)
		text, ordered, ranked = x.windowFunction(f, w, args)
		if f.IgnoreNulls && name == "nth_value" {
			text += " ignore nulls"
		}
	case generatorKind(name) != "":
		g := *f
		g.Over = nil
		y := *x
		text = y.generator(&g).String()
		w.Frame = x.frame(f, w, spec, false, false)
		x.fail(nil, "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", "expression", `"`+text+" OVER "+x.overText(w)+`"`)
	default:
		fn, ok := expr.Lookup(name)
		if !ok {
			x.unknownRoutine(f)
		}
		if fn.Kind != expr.AggregateFunction {
			g := *f
			g.Over = nil
			x.fail(f, "UNSUPPORTED_EXPR_FOR_WINDOW", "sqlExpr", `"`+x.call(&g).String()+`"`)
		}
		g := *f
		g.Over = nil
		x.inWindow = true
		c := x.aggregate(&g, name).(*expr.AggregateCall)
		x.inWindow = false
		w.Aggregate, w.Out, w.Null, text = c, c.Type(), c.Nullable(), c.String()
		if f.IgnoreNulls && (name == "first_value" || name == "last_value") {
			text = strings.Replace(text, "_value(", "(", 1)
		}
		if (name == "percentile_cont" || name == "percentile_disc") && len(f.WithinGroup) > 0 && (len(spec.OrderBy) > 0 || spec.Frame != nil) {
			order := x.orderings(f.WithinGroup)
			x.fail(f, "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC", "aggFunc",
				`"`+callText(name, append([]expr.Expr{order[0].Child}, x.exprs(f.Args)...))+`"`)
		}
	}
	w.Frame = x.frame(f, w, spec, ordered, ranked)
	over := x.overText(w)
	w.Text = text + " OVER " + over
	w.over = x.qualifiedOver(w)
	if f.Distinct {
		x.fail(f, "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED", "windowExpr", `"`+w.Text+`"`)
	}
	if ordered && len(w.Order) == 0 {
		shown := text
		if len(w.Args) > 0 && name != "ntile" {
			var args []string
			for i, arg := range w.Args {
				if args = append(args, x.a.qualified(arg, x.sc)); i == 2 && arg.Type().Kind != types.String {
					args[i] = arg.String()
				}
			}
			shown = name + "(" + strings.Join(args, ", ") + ")"
		}
		x.fail(nil, "WINDOW_FUNCTION_FRAME_NOT_ORDERED", "wf_name", name, "wf_expr", shown)
	}
	a.spans[w] = f.Span
	return w
}

// windowFunction checks the arguments of a function that exists only with OVER.
func (x *resolver) windowFunction(f *sql.FuncCall, w *WindowCall, args []expr.Expr) (text string, ordered, fixed bool) {
	arity := func(lo, hi int) {
		if len(args) < lo || len(args) > hi {
			want := itoa(lo)
			if hi > lo {
				var l []string
				for i := lo; i <= hi; i++ {
					l = append(l, itoa(i))
				}
				want = "[" + strings.Join(l, ", ") + "]"
			}
			x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", types.Quote(w.Name), "expectedNum", want, "actualNum", len(args), "docroot", docroot)
		}
	}
	unfoldable := func(what, shown string) {
		x.fail(f, "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", `"`+text+`"`, "inputName", "`"+what+"`",
			"inputType", `"INT"`, "inputExpr", `"`+shown+`"`)
	}
	constant := func(e expr.Expr, what string) *expr.Literal {
		cast := expr.CastTo(e, types.Of(types.Int), x.a.conf.Expr)
		if cast != e {
			x.place(f, cast)
		}
		l, err := expr.Const(cast, x.a.conf.Expr)
		x.a.check(f, err)
		if l == nil {
			shown := e.String()
			if w.Name == "lag" {
				shown = "(- " + shown + ")"
			}
			unfoldable(what, shown)
		}
		return l
	}
	text = callText(w.Name, args)
	switch w.Name {
	case "row_number":
		arity(0, 0)
		w.Out = types.Of(types.Int)
		return text, true, true
	case "rank", "dense_rank":
		arity(0, 0)
		w.Out = types.Of(types.Int)
		return strings.ToUpper(w.Name) + "()", true, true
	case "percent_rank", "cume_dist":
		arity(0, 0)
		w.Out = types.Of(types.Double)
		if w.Name == "percent_rank" {
			text = "PERCENT_RANK()"
		}
		return text, true, true
	case "ntile":
		arity(0, 1)
		if len(args) == 0 {
			args = []expr.Expr{expr.IntLit(1)}
		}
		text = callText(w.Name, args)
		if t := args[0].Type(); t.Kind != types.Int {
			x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"`+text+`"`, "paramIndex", "first",
				"requiredType", `"INT"`, "inputSql", `"`+args[0].String()+`"`, "inputType", `"`+t.SQL()+`"`)
		}
		l := constant(args[0], "buckets")
		if l.Value.IsNull(0) || l.Value.I32[0] <= 0 {
			x.fail(f, "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", `"`+text+`"`, "exprName", "buckets",
				"valueRange", "(0, 2147483647]", "currentValue", l.String())
		}
		w.Args, w.Out = []expr.Expr{l}, types.Of(types.Int)
		return text, true, true
	case "lag", "lead":
		arity(1, 3)
		t := args[0].Type()
		for len(args) < 3 {
			if len(args) == 1 {
				args = append(args, expr.IntLit(1))
			} else {
				args = append(args, expr.NullLit(types.Of(types.Null)))
			}
		}
		text = callText(w.Name, args)
		def, ok := expr.ImplicitCast(args[2], t, x.a.conf.Expr)
		if !ok {
			x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"`+text+`"`, "paramIndex", "third",
				"requiredType", `"`+t.SQL()+`"`, "inputSql", `"`+args[2].String()+`"`, "inputType", `"`+args[2].Type().SQL()+`"`)
		}
		if def != args[2] {
			x.place(f, def)
		}
		offset := constant(args[1], "offset")
		if offset.Value.IsNull(0) { // as Spark has it: the frame that a null makes is not the function's
			x.fail(nil, "_LEGACY_ERROR_TEMP_1035", "prettyName", w.Name)
		}
		w.Args = []expr.Expr{args[0], offset, def}
		w.Out, w.Null = t, args[0].Nullable() || def.Nullable()
		return text, true, false
	}
	arity(2, 3)
	l := constant(args[1], "offset")
	if l.Value.IsNull(0) || l.Value.I32[0] <= 0 {
		value := "0L"
		if !l.Value.IsNull(0) {
			value = l.String() + "L"
		}
		x.fail(f, "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", `"`+text+`"`, "exprName", "offset",
			"valueRange", "(0, 9223372036854775807]", "currentValue", value)
	}
	if len(args) == 3 {
		flag, err := expr.Const(args[2], x.a.conf.Expr)
		x.a.check(f, err)
		if flag == nil || flag.Type().Kind != types.Boolean || flag.Value.IsNull(0) {
			x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"`+text+`"`, "paramIndex", "third",
				"requiredType", `"BOOLEAN"`, "inputSql", `"`+args[2].String()+`"`, "inputType", `"`+args[2].Type().SQL()+`"`)
		}
		w.IgnoreNulls = w.IgnoreNulls || flag.Value.Bool(0)
		text = callText(w.Name, args[:2])
	}
	w.Args, w.Out, w.Null = []expr.Expr{args[0], l}, args[0].Type(), true
	return text, true, false
}

// refuseWindowClauses refuses the clauses of aggregates on functions that exist only with OVER.
func (x *resolver) refuseWindowClauses(f *sql.FuncCall, name string) {
	syntax := ""
	switch {
	case f.Distinct:
		syntax = "DISTINCT"
	case f.Filter != nil:
		syntax = "FILTER CLAUSE"
	case len(f.WithinGroup) > 0:
		syntax = "WITHIN GROUP (ORDER BY ...)"
	case f.IgnoreNulls && name != "lag" && name != "lead" && name != "nth_value":
		syntax = "IGNORE NULLS"
	default:
		return
	}
	x.fail(f, "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "prettyName", types.Quote(name), "syntax", syntax)
}

// withoutOver says that a function needs OVER, in the words of its call with all defaults.
func (x *resolver) withoutOver(f *sql.FuncCall, name string) {
	text, _, _ := x.windowFunction(f, &WindowCall{Name: name}, x.exprs(f.Args))
	x.fail(x.at, "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", "funcName", `"`+text+`"`)
}

var boundKinds = map[string]BoundKind{"UNBOUNDED PRECEDING": UnboundedPreceding, "PRECEDING": Preceding,
	"CURRENT ROW": CurrentRow, "FOLLOWING": Following, "UNBOUNDED FOLLOWING": UnboundedFollowing}

// frame resolves the frame, or gives the default.
func (x *resolver) frame(f *sql.FuncCall, w *WindowCall, spec *sql.WindowSpec, ordered, fixed bool) Frame {
	running := Frame{Rows: true, From: Bound{Kind: UnboundedPreceding}, To: Bound{Kind: CurrentRow}}
	shift := w.Name == "lag" || w.Name == "lead"
	if spec.Frame == nil {
		switch {
		case fixed:
			running.Rows = w.Name != "cume_dist"
			return running
		case shift:
			n := w.Args[1].(*expr.Literal)
			off := n.Value.I32[0]
			if w.Name == "lag" {
				off = -off
			}
			b := Bound{Kind: Following, Offset: expr.IntLit(off)}
			return Frame{Rows: true, From: b, To: b}
		case len(w.Order) > 0:
			running.Rows = false
			return running
		}
		return Frame{Rows: true, From: Bound{Kind: UnboundedPreceding}, To: Bound{Kind: UnboundedFollowing}}
	}
	fr := Frame{Rows: spec.Frame.Rows}
	fr.From = x.bound(f, w, spec.Frame, spec.Frame.From)
	fr.To = x.bound(f, w, spec.Frame, spec.Frame.To)
	if fr.From.Kind == UnboundedFollowing || fr.To.Kind == UnboundedPreceding {
		x.fail(spec, "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_INVALID_BOUND", "sqlExpr", `"`+frameText(fr)+`"`,
			"upper", `"`+boundText(fr.To)+`"`, "lower", `"`+boundText(fr.From)+`"`)
	}
	for _, b := range []struct {
		bound    Bound
		location string
	}{{fr.From, "lower"}, {fr.To, "upper"}} {
		if o := b.bound.Offset; fr.Rows && o != nil && o.Type().Kind != types.Int {
			x.fail(spec, "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", "sqlExpr", `"`+frameText(fr)+`"`,
				"location", b.location, "exprType", `"`+o.Type().SQL()+`"`, "expectedType", `"INT"`)
		}
	}
	if wrongOrder(fr) {
		x.fail(spec, "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", "sqlExpr", `"`+frameText(fr)+`"`, "comparison", "less than or equal")
	}
	if !fr.Rows && len(w.Order) == 1 {
		k := w.Order[0].Child.Type()
		for i, b := range []Bound{fr.From, fr.To} {
			if b.Offset == nil {
				continue
			}
			t := b.Offset.Type()
			fits := k.IsNumeric() && t.IsNumeric() || k.Kind == types.Date && (t.IsIntegral() || t.IsInterval()) ||
				(k.Kind == types.Timestamp || k.Kind == types.TimestampNTZ) && t.IsInterval() || k.IsInterval() && t.Kind == k.Kind
			if fits {
				continue
			}
			if k.IsDatetime() {
				x.fail(spec, "DATATYPE_MISMATCH.RANGE_FRAME_INVALID_TYPE", "sqlExpr", `"`+x.overWith(w, fr)+`"`,
					"orderSpecType", `"`+k.SQL()+`"`, "valueBoundaryType", `"`+t.SQL()+`"`)
			}
			x.fail(spec, "DATATYPE_MISMATCH.SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", "sqlExpr", `"`+negatedFrameText(fr)+`"`,
				"location", [...]string{"lower", "upper"}[i], "exprType", `"`+k.SQL()+`"`, "expectedType", `("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")`)
		}
	}
	if shift {
		x.fail(nil, "_LEGACY_ERROR_TEMP_1035", "prettyName", w.Name)
	}
	running.Rows = w.Name != "cume_dist"
	if fixed && (fr.Rows != running.Rows || fr.From.Kind != UnboundedPreceding || fr.To.Kind != CurrentRow) {
		x.fail(nil, "_LEGACY_ERROR_TEMP_1036", "wf", treeText(fr), "required", treeText(running))
	}
	if !fr.Rows && (fr.From.Offset != nil || fr.To.Offset != nil) {
		switch {
		case len(w.Order) == 0:
			x.fail(spec, "DATATYPE_MISMATCH.RANGE_FRAME_WITHOUT_ORDER", "sqlExpr", `"`+x.overWith(w, fr)+`"`)
		case len(w.Order) > 1:
			var order []string
			for _, o := range w.Order {
				order = append(order, orderingText(o))
			}
			x.fail(spec, "DATATYPE_MISMATCH.RANGE_FRAME_MULTI_ORDER", "sqlExpr", `"`+x.overWith(w, fr)+`"`, "orderSpec", strings.Join(order, ","))
		}
	}
	return fr
}

// wrongOrder reports a frame that ends before it begins.
func wrongOrder(f Frame) bool {
	if f.From.Offset == nil || f.To.Offset == nil { // CURRENT ROW AND 1 PRECEDING is an empty frame
		return f.From.Kind > f.To.Kind && f.From.Kind != CurrentRow && f.To.Kind != CurrentRow
	}
	if f.From.Kind > f.To.Kind {
		return true
	}
	if f.From.Kind != f.To.Kind || f.From.Offset == nil {
		return false
	}
	l, ok := f.From.Offset.(*expr.Literal)
	r, ok2 := f.To.Offset.(*expr.Literal)
	if !ok || !ok2 || l.Type().Kind != types.Int || r.Type().Kind != types.Int || l.Value.IsNull(0) || r.Value.IsNull(0) {
		return false
	}
	if f.From.Kind == Preceding {
		return l.Value.I32[0] < r.Value.I32[0]
	}
	return l.Value.I32[0] > r.Value.I32[0]
}

func (x *resolver) bound(f *sql.FuncCall, w *WindowCall, fr *sql.Frame, b sql.Bound) Bound {
	out := Bound{Kind: boundKinds[b.Kind]}
	if b.Expr == nil {
		return out
	}
	e := x.expr(b.Expr)
	l, err := expr.Const(e, x.a.conf.Expr)
	x.a.check(b.Expr, err)
	if l == nil {
		x.fail(b.Span, "_LEGACY_ERROR_TEMP_0064", "msg", "Frame bound value must be a literal.")
	}
	want := types.Of(types.Int)
	if !fr.Rows && len(w.Order) == 1 {
		k := w.Order[0].Child.Type()
		switch {
		case k.IsNumeric():
			want = k
		case k.Kind == types.Date && l.Type().IsIntegral():
		default:
			want = l.Type()
		}
	}
	if fr.Rows {
		want = l.Type() // frame refuses what is not INT
	}
	in := expr.Expr(l)
	if out.Kind == Preceding && want.IsNumeric() && l.Type().Kind == types.String { // what is negated is a DOUBLE
		in = expr.CastTo(l, types.Of(types.Double), x.a.conf.Expr)
		x.place(b.Span, in)
	}
	c := expr.CastTo(in, want, x.a.conf.Expr)
	if c != expr.Expr(l) {
		x.place(b.Span, c)
	}
	if r, err := expr.Const(c, x.a.conf.Expr); err == nil && r != nil {
		r.Text = l.Text
		out.Offset = r
	} else {
		out.Offset = c
	}
	switch kind := out.Kind; {
	case kind == Preceding && c != expr.Expr(l): // the cast stands around the negation and hides it
		out.text = "(- " + e.String() + ") FOLLOWING"
	case kind == Preceding:
		out.text = e.String() + " PRECEDING"
	default:
		out.text = e.String() + " FOLLOWING"
	}
	return out
}

func boundText(b Bound) string {
	switch b.Kind {
	case UnboundedPreceding:
		return "UNBOUNDED PRECEDING"
	case CurrentRow:
		return "CURRENT ROW"
	case UnboundedFollowing:
		return "UNBOUNDED FOLLOWING"
	}
	if b.text != "" {
		return b.text
	}
	if b.Kind == Preceding {
		return b.Offset.String() + " PRECEDING"
	}
	return b.Offset.String() + " FOLLOWING"
}

func frameText(f Frame) string {
	unit := "RANGE"
	if f.Rows {
		unit = "ROWS"
	}
	return fmt.Sprintf("%s BETWEEN %s AND %s", unit, boundText(f.From), boundText(f.To))
}

// negatedFrameText is frameText after the analyser made n PRECEDING the following rows from -n on.
func negatedFrameText(f Frame) string {
	text := frameText(f)
	for _, b := range []Bound{f.From, f.To} {
		if b.Kind == Preceding && !strings.HasPrefix(b.text, "(- ") {
			text = strings.Replace(text, boundText(b), "(- "+b.Offset.String()+") FOLLOWING", 1)
		}
	}
	return text
}

// treeText is a frame as Spark prints its tree, in errors that name it so.
func treeText(f Frame) string {
	bound := func(b Bound) string {
		switch b.Kind {
		case UnboundedPreceding:
			return "unboundedpreceding$()"
		case CurrentRow:
			return "currentrow$()"
		case UnboundedFollowing:
			return "unboundedfollowing$()"
		case Preceding:
			return "-" + b.Offset.String()
		}
		return b.Offset.String()
	}
	kind := "RangeFrame"
	if f.Rows {
		kind = "RowFrame"
	}
	return "specifiedwindowframe(" + kind + ", " + bound(f.From) + ", " + bound(f.To) + ")"
}

func (x *resolver) overText(w *WindowCall) string { return x.overWith(w, w.Frame) }

func (x *resolver) overWith(w *WindowCall, f Frame) string {
	var parts []string
	if len(w.Partition) > 0 {
		var l []string
		for _, p := range w.Partition {
			l = append(l, p.String())
		}
		parts = append(parts, "PARTITION BY "+strings.Join(l, ", "))
	}
	if len(w.Order) > 0 {
		var l []string
		for _, o := range w.Order {
			l = append(l, orderingText(o))
		}
		parts = append(parts, "ORDER BY "+strings.Join(l, ", "))
	}
	return "(" + strings.Join(append(parts, frameText(f)), " ") + ")"
}

// qualifiedOver is overText with qualified columns, as errors print it.
func (x *resolver) qualifiedOver(w *WindowCall) string {
	q := *w
	q.Partition = make([]expr.Expr, len(w.Partition))
	for i, p := range w.Partition {
		q.Partition[i] = &named{p, x.a.qualified(p, x.sc)}
	}
	q.Order = append([]Ordering{}, w.Order...)
	for i := range q.Order {
		q.Order[i].Child = &named{q.Order[i].Child, x.a.qualified(q.Order[i].Child, x.sc)}
	}
	return x.overWith(&q, w.Frame)
}

func orderingText(o Ordering) string {
	dir, nulls := "ASC", "LAST"
	if o.Desc {
		dir = "DESC"
	}
	if o.NullsFirst {
		nulls = "FIRST"
	}
	return o.Child.String() + " " + dir + " NULLS " + nulls
}

// windows puts Window nodes below the block's expressions and rewrites the functions to their columns.
// Functions inside arguments of others are computed first.
func (b *block) windows() {
	for round := 0; round < 20; round++ {
		type group struct {
			calls []*WindowCall
			ids   map[string]int
		}
		groups := map[string]*group{}
		var order []string
		for _, s := range b.slots(false) {
			expr.Walk(*s, func(e expr.Expr) bool {
				w, ok := e.(*WindowCall)
				if !ok {
					return true
				}
				for _, in := range windowInputs(w) {
					if hasWindow(in) {
						return true
					}
				}
				k := windowKey(w)
				g := groups[k]
				if g == nil {
					g = &group{ids: map[string]int{}}
					groups[k] = g
					order = append(order, k)
				}
				if _, ok := g.ids[windowID(w)]; !ok {
					g.ids[windowID(w)] = len(g.calls)
					g.calls = append(g.calls, w)
				}
				return false
			})
		}
		if len(order) == 0 {
			return
		}
		for _, k := range order {
			g := groups[k]
			base := len(b.sc.node.Schema())
			n := newWindow(b.sc.node, g.calls)
			b.sc.node = n
			for _, s := range b.slots(false) {
				*s = replaceWindows(*s, func(w *WindowCall) expr.Expr {
					if windowKey(w) != k {
						return nil
					}
					i, ok := g.ids[windowID(w)]
					if !ok {
						return nil
					}
					return columnAt(n, base+i)
				})
			}
		}
	}
}

func replaceWindows(e expr.Expr, f func(*WindowCall) expr.Expr) expr.Expr {
	if w, ok := e.(*WindowCall); ok {
		if r := f(w); r != nil {
			return r
		}
	}
	return mapKids(e, func(c expr.Expr) expr.Expr { return replaceWindows(c, f) })
}

func newWindow(child Node, calls []*WindowCall) *Window {
	w := &Window{Child: child, Out: append(types.Schema{}, child.Schema()...)}
	for i, c := range calls {
		d := *c
		d.Args = stripAll(c.Args)
		d.Partition = stripAll(c.Partition)
		d.Order = append([]Ordering{}, c.Order...)
		for k := range d.Order {
			d.Order[k].Child = strip(d.Order[k].Child)
		}
		if c.Aggregate != nil {
			g := *c.Aggregate
			g.Args = stripAll(g.Args)
			if g.Filter != nil {
				g.Filter = strip(g.Filter)
			}
			d.Aggregate = &g
		}
		if i == 0 {
			w.Partition, w.Order = d.Partition, d.Order
		}
		w.Calls = append(w.Calls, &d)
		w.Out = append(w.Out, types.Field{Name: c.Text, Type: c.Out, Nullable: c.Null})
	}
	return w
}

func stripAll(es []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = strip(e)
	}
	return out
}

func windowKey(w *WindowCall) string {
	s := ""
	for _, p := range w.Partition {
		s += identity(p) + ";"
	}
	s += "|"
	for _, o := range w.Order {
		s += identity(o.Child) + fmt.Sprint(o.Desc, o.NullsFirst) + ";"
	}
	return s
}

func windowID(w *WindowCall) string {
	s := w.Name + frameText(w.Frame) + fmt.Sprint(w.IgnoreNulls)
	if w.Aggregate != nil {
		s += identity(w.Aggregate)
	}
	for _, a := range w.Args {
		s += ";" + identity(a)
	}
	return s
}
