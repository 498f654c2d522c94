package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// typeFunctions are types that may be called: int(x) is a cast.
var typeFunctions = map[string]types.Kind{"boolean": types.Boolean, "tinyint": types.TinyInt, "smallint": types.SmallInt,
	"int": types.Int, "bigint": types.BigInt, "float": types.Float, "double": types.Double, "decimal": types.Decimal,
	"date": types.Date, "timestamp": types.Timestamp, "binary": types.Binary, "string": types.String}

// windowOnly are functions that need OVER; true: they need an order.
var windowOnly = map[string]bool{"row_number": true, "rank": true, "dense_rank": true, "percent_rank": true,
	"cume_dist": true, "ntile": true, "lag": true, "lead": true, "nth_value": true}

// functionName is the called name without the system's qualifiers; "" if a qualifier is unknown.
func functionName(parts []string) string {
	l := make([]string, len(parts))
	for i, p := range parts {
		l[i] = strings.ToLower(p)
	}
	switch {
	case len(l) == 1, len(l) == 2 && l[0] == "builtin", len(l) == 3 && l[0] == "system" && l[1] == "builtin":
		return l[len(l)-1]
	}
	return ""
}

func (x *resolver) unknownRoutine(f *sql.FuncCall) {
	if len(f.Name) > 2 {
		x.fail(f, "REQUIRES_SINGLE_PART_NAMESPACE", "sessionCatalog", "spark_catalog", "identifier", quoteParts(f.Name))
	}
	x.fail(f, "UNRESOLVED_ROUTINE", "routineName", quoteParts(f.Name), "searchPath", SearchPath(x.a.cat))
}

// call resolves a function call.
func (x *resolver) call(f *sql.FuncCall) expr.Expr {
	name := functionName(f.Name)
	if f.Ident != nil {
		for _, e := range f.Args {
			if _, ok := e.(*sql.Star); ok { // stars are expanded before the name is known
				x.fail(nil, "INVALID_USAGE_OF_STAR_OR_REGEX", "elem", "'*'", "prettyName", "expression `expressionwithunresolvedidentifier`")
			}
		}
		g := *f
		g.Ident, g.Name = nil, x.identifier(f.Ident)
		return x.call(&g)
	}
	if name == "identifier" && len(f.Args) == 1 {
		return x.name(&sql.Name{Span: f.Span, Parts: x.identifier(f.Args[0])})
	}
	if f.Over != nil {
		return x.over(f, name)
	}
	switch name {
	case "__named__":
		return &expr.Alias{Child: x.expr(f.Args[0]), Name: f.ArgNames[0]}
	case "window":
		return x.timeWindow(f)
	case "session_window":
		return x.sessionWindow(f)
	case "window_time":
		return x.windowTime(f)
	case "current_path":
		if len(f.Args) == 0 {
			return &named{expr.StringLit("system.builtin,system.session,spark_catalog." + x.a.cat.Current()), "current_path()"}
		}
	case "current_database", "current_schema":
		if len(f.Args) == 0 {
			return &named{expr.StringLit(x.a.cat.Current()), "current_schema()"}
		}
	case "grouping", "grouping_id":
		args := x.exprs(f.Args)
		if name == "grouping" && len(args) != 1 {
			x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`grouping`", "expectedNum", 1,
				"actualNum", len(args), "docroot", docroot)
		}
		return &groupingCall{id: name == "grouping_id", args: args, text: callText(name, args)}
	}
	if e := x.fileFunction(f, name); e != nil {
		return e
	}
	if windowOnly[name] {
		x.withoutOver(f, name)
	}
	if g := generatorKind(name); g != "" {
		if _, ok := expr.Lookup(name); !ok || generatorNames[name] != "" {
			if x.inKeys {
				text := callText(name, x.exprs(f.Args))
				x.a.late = append(x.a.late, func() {
					x.fail(f, "UNSUPPORTED_EXPR_FOR_OPERATOR", "invalidExprSqls", `"`+text+`"`)
				})
				return &named{expr.NullLit(types.Of(types.Null)), text}
			}
			if x.inWhere || !x.lateral {
				x.fail(f, "UNSUPPORTED_GENERATOR.OUTSIDE_SELECT", "plan", "")
			}
			return x.generator(f) // items refuses it where it is nested
		}
	}
	if tableFunctions[name] {
		x.fail(f, "NOT_A_SCALAR_FUNCTION", "functionName", types.Quote(name))
	}
	fn, ok := expr.Lookup(name)
	if (name == "timestampadd" || name == "timestampdiff") && f.Syntax != "UNIT" { // only the parser makes them
		ok = false
	}
	if !ok || name == "" {
		if e := x.userFunction(f); e != nil {
			return e
		}
		if k, isType := typeFunctions[name]; isType && len(f.Args) == 1 {
			r, err := expr.NewCast(x.expr(f.Args[0]), types.Of(k), expr.Explicit, x.a.conf.Expr)
			x.a.check(f, err)
			x.place(f, r)
			return r
		}
		if name == "cast" { // known by name, so its arguments are looked at first
			x.exprs(f.Args)
		}
		x.unknownRoutine(f)
	}
	if fn.Kind == expr.AggregateFunction {
		return x.aggregate(f, name)
	}
	call := x.arguments(f, name, fn)
	if len(f.WithinGroup) > 0 {
		call.WithinGroup = x.orderings(f.WithinGroup)
	}
	if f.Filter != nil {
		call.Filter = x.expr(f.Filter)
	}
	r, err := expr.BuildCall(call)
	x.a.check(f, err)
	x.place(f, r)
	return r
}

const docroot = "https://spark.apache.org/docs/latest"

func callText(name string, args []expr.Expr) string {
	c := expr.Call{Name: name, Args: args}
	return c.Text()
}

// arguments resolves arguments: stars are expanded, names of struct fields kept, lambdas bound.
func (x *resolver) arguments(f *sql.FuncCall, name string, fn *expr.Function) *expr.Call {
	c := &expr.Call{Name: name, Distinct: f.Distinct, IgnoreNulls: f.IgnoreNulls, Conf: x.a.conf.Expr}
	if f.ArgNames != nil && name != "struct" {
		if fn.Params == nil {
			x.fail(f, "NAMED_PARAMETERS_NOT_SUPPORTED", "functionName", types.Quote(name))
		}
		f = x.byPlace(f, name, fn.Params, 1)
	}
	var lambdas []int
	for i, a := range f.Args {
		switch n := a.(type) {
		case *sql.Star:
			if name == "count" {
				if n.Qualifier != nil {
					x.fail(f, "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT", "tableName", quoteParts(n.Qualifier))
				}
				if !f.Distinct && len(f.Args) == 1 {
					c.Args = append(c.Args, expr.IntLit(1))
					continue
				}
			}
			for _, it := range x.star(n) {
				c.Args = append(c.Args, it.e)
			}
			continue
		case *sql.Lambda:
			if fn.LambdaParams == nil || len(c.Args) == 0 {
				x.fail(n, "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION", "class", name)
			}
			lambdas = append(lambdas, len(c.Args))
			c.Args = append(c.Args, nil)
			continue
		}
		e := x.expr(a)
		if f.ArgNames != nil && f.ArgNames[i] != "" {
			e = &expr.Alias{Child: e, Name: f.ArgNames[i]}
		}
		c.Args = append(c.Args, e)
	}
	if len(lambdas) > 0 {
		plain := append([]expr.Expr{}, c.Args...)
		for k, i := range lambdas {
			l := nthLambda(f, k)
			params, err := fn.LambdaParams(plain, i, len(l.Params))
			if err != nil { // the error shows the lambdas as they are written
				for n, j := range lambdas {
					plain[j] = x.unboundLambda(nthLambda(f, n))
				}
				_, err = fn.LambdaParams(plain, i, len(l.Params))
			}
			x.a.check(f, err)
			c.Args[i] = x.lambda(l, params)
		}
	}
	return c
}

func nthLambda(f *sql.FuncCall, k int) *sql.Lambda {
	for _, a := range f.Args {
		if l, ok := a.(*sql.Lambda); ok {
			if k == 0 {
				return l
			}
			k--
		}
	}
	return nil
}

// unboundLambda is a lambda whose parameters have no types, for errors to show.
func (x *resolver) unboundLambda(l *sql.Lambda) expr.Expr {
	out := &expr.Lambda{}
	n := len(x.lambdas)
	for _, name := range l.Params {
		v := &expr.LambdaVar{Name: name, Field: types.Field{Name: name, Nullable: true}, Unbound: true}
		out.Params = append(out.Params, v)
		x.lambdas = append(x.lambdas, v)
	}
	out.Body = x.expr(l.Body)
	x.lambdas = x.lambdas[:n]
	return out
}

func (x *resolver) lambda(l *sql.Lambda, params []types.Field) expr.Expr {
	if len(params) != len(l.Params) {
		x.fail(l, "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH", "expectedNumArgs", len(l.Params), "actualNumArgs", len(params))
	}
	out := &expr.Lambda{}
	n := len(x.lambdas)
	for i, name := range l.Params {
		for _, p := range l.Params[:i] {
			if strings.EqualFold(p, name) {
				x.fail(l, "INVALID_LAMBDA_FUNCTION_CALL.DUPLICATE_ARG_NAMES", "args", strings.Join(l.Params, ", "), "caseSensitiveConfig", `"spark.sql.caseSensitive"`)
			}
		}
		v := &expr.LambdaVar{Name: name, Field: params[i]}
		out.Params = append(out.Params, v)
		x.lambdas = append(x.lambdas, v)
	}
	out.Body = x.expr(l.Body)
	x.lambdas = x.lambdas[:n]
	return out
}

// aggregate resolves a use of an aggregate function.
func (x *resolver) aggregate(f *sql.FuncCall, name string) expr.Expr {
	if x.inAggregate && !x.inWindow {
		x.fail(f, "NESTED_AGGREGATE_FUNCTION")
	}
	fn, _ := expr.Lookup(name)
	window, generators := x.inWindow, x.generators
	x.inAggregate, x.inWindow = !window, false
	call := x.arguments(f, name, fn)
	if f.Filter != nil {
		x.inAggregate = false
		call.Filter = x.expr(f.Filter)
		if hasAggregate(call.Filter) {
			x.fail(f, "INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE", "filterExpr", `"`+call.Filter.String()+`"`, "aggExpr", `"`+firstAggregate(call.Filter).String()+`"`)
		}
	}
	if e := call.Filter; e != nil {
		switch {
		case hasWindow(e):
			x.fail(f, "INVALID_AGGREGATE_FILTER.CONTAINS_WINDOW_FUNCTION", "filterExpr", `"`+e.String()+`"`, "windowExpr", `"`+firstWindow(e).String()+`"`)
		case !expr.Deterministic(e):
			x.fail(f, "INVALID_AGGREGATE_FILTER.NON_DETERMINISTIC", "filterExpr", `"`+e.String()+`"`)
		}
	}
	if len(f.WithinGroup) > 0 {
		call.WithinGroup = x.orderings(f.WithinGroup)
	}
	x.inAggregate, x.generators = false, generators
	for i, a := range call.Args {
		if hasWindow(a) && !window {
			x.fail(nil, "_LEGACY_ERROR_TEMP_1031")
		}
		if !expr.Deterministic(a) {
			at := sql.Node(f)
			if i < len(f.Args) {
				at = f.Args[i]
			}
			x.fail(at, "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION", "sqlExpr", `"`+callText(name, call.Args)+`"`)
		}
	}
	if call.Filter != nil && call.Filter.Type().Kind != types.Boolean {
		x.fail(f, "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN", "filterExpr", `"`+call.Filter.String()+`"`)
	}
	c, err := expr.BuildAggregate(call)
	x.a.check(f, err)
	x.a.spans[c] = f.Span
	x.place(f, c)
	return c
}

func firstWindow(e expr.Expr) (out expr.Expr) {
	expr.Walk(e, func(k expr.Expr) bool {
		if _, ok := k.(*WindowCall); ok && out == nil {
			out = k
		}
		return out == nil
	})
	return out
}

func firstAggregate(e expr.Expr) (out expr.Expr) {
	expr.Walk(e, func(k expr.Expr) bool {
		if _, ok := k.(*expr.AggregateCall); ok && out == nil {
			out = k
		}
		return out == nil
	})
	return out
}

func (x *resolver) orderings(items []sql.OrderItem) []expr.Ordering {
	out := make([]expr.Ordering, len(items))
	for i, it := range items {
		out[i] = ordering(x.expr(it.Expr), it)
	}
	return out
}

// ordering gives the direction of a sort key: ascending has nulls first, descending nulls last.
func ordering(e expr.Expr, it sql.OrderItem) expr.Ordering {
	return expr.Ordering{Child: e, Desc: it.Desc, NullsFirst: it.Nulls == "FIRST" || it.Nulls == "" && !it.Desc}
}

// identifier is the argument of IDENTIFIER as parts of a name.
func (x *resolver) identifier(e sql.Expr) []string {
	v := x.expr(e)
	l, err := expr.Const(v, x.a.conf.Expr)
	x.a.check(e, err)
	switch {
	case l == nil:
		x.fail(e, "NOT_A_CONSTANT_STRING.NOT_CONSTANT", "name", "IDENTIFIER", "expr", x.a.qualified(v, x.sc))
	case l.Type().Kind != types.String:
		x.fail(e, "NOT_A_CONSTANT_STRING.WRONG_TYPE", "name", "IDENTIFIER", "expr", v.String(), "dataType", l.Type().Simple())
	case l.Value.IsNull(0):
		x.fail(e, "NOT_A_CONSTANT_STRING.NULL", "name", "IDENTIFIER", "expr", v.String())
	}
	n, err := x.a.conf.Parser().ParseExpr(string(l.Value.Bytes(0)))
	if name, ok := n.(*sql.Name); err == nil && ok {
		return name.Parts
	}
	if k := errs.As(err); k != nil {
		k.Pos = errs.Pos{}
		x.failWith(e, k)
	}
	x.failWith(e, errs.New("IDENTIFIER_TOO_MANY_NAME_PARTS", "identifier", l.String()))
	return nil
}

// star expands * to items.
func (x *resolver) star(s *sql.Star) []*item {
	var out []*item
	add := func(c column) {
		f := c.field
		f.Name = c.name
		col := &expr.Column{Index: c.index, Field: f}
		x.a.spans[col] = s.Span
		out = append(out, &item{e: col, name: c.name, span: s.Span, star: true, qual: c.qual})
	}
	if s.Qualifier == nil {
		for _, c := range x.sc.cols {
			if !c.hidden {
				add(c)
			}
		}
	} else {
		found := false
		for _, c := range x.sc.cols {
			if len(c.qual) > 0 && qualifies(s.Qualifier, c.qual) {
				add(c)
				found = true
			}
		}
		if !found {
			out = x.structStar(s)
		}
	}
	if len(s.Except) > 0 {
		out = x.except(s, out)
	}
	return out
}

func (x *resolver) structStar(s *sql.Star) []*item {
	n := &sql.Name{Span: s.Span, Parts: s.Qualifier}
	var base expr.Expr
	if c, _ := x.match(n, x.sc); c != nil {
		base = x.column(n, x.sc)
	}
	if base == nil && x.sc.windowIndex >= 0 {
		base = x.windowColumn(n)
	}
	if base == nil {
		var names []string
		for _, c := range x.sc.cols {
			names = append(names, types.Quote(c.name))
		}
		sortStrings(names)
		x.fail(s, "CANNOT_RESOLVE_STAR_EXPAND", "targetString", quoteParts(s.Qualifier), "columns", strings.Join(names, ", "))
	}
	if base.Type().Kind != types.Struct {
		x.fail(s, "_LEGACY_ERROR_TEMP_1050", "attributes", "List("+strings.Join(s.Qualifier, ".")+")")
	}
	var out []*item
	for _, f := range base.Type().Fields {
		g, err := expr.NewGetField(base, f.Name, x.a.conf.Expr)
		x.a.check(s, err)
		out = append(out, &item{e: g, name: f.Name, span: s.Span, star: true})
	}
	return out
}

// except drops columns, or fields inside them.
func (x *resolver) except(s *sql.Star, items []*item) []*item {
	seen := map[string]bool{}
	var shown []string
	for _, e := range s.Except {
		shown = append(shown, strings.Join(e.Parts, "."))
	}
	for _, e := range s.Except {
		at := -1
		rest := e.Parts
		for q := len(e.Parts) - 1; q >= 0 && at < 0; q-- {
			for i, it := range items {
				if it != nil && strings.EqualFold(it.name, e.Parts[q]) && qualifies(e.Parts[:q], it.qual) {
					at, rest = i, e.Parts[q+1:]
					break
				}
			}
		}
		k := strings.ToLower(strings.Join(e.Parts, "."))
		if seen[k] {
			x.fail(s, "EXCEPT_OVERLAPPING_COLUMNS", "columns", strings.Join(shown, ", "))
		}
		seen[k] = true
		if at < 0 {
			var cols []column
			for _, it := range items {
				if it != nil {
					cols = append(cols, column{name: it.name, qual: it.qual})
				}
			}
			x.fail(s, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "objectName", quoteParts(e.Parts), "proposal", proposal(e.Parts, cols, false))
		}
		if len(rest) == 0 {
			items[at] = nil
			continue
		}
		items[at] = &item{e: x.withoutField(s, items[at].e, rest), name: items[at].name, span: s.Span, star: true, qual: items[at].qual}
	}
	var out []*item
	for _, it := range items {
		if it != nil {
			out = append(out, it)
		}
	}
	return out
}

func (x *resolver) withoutField(at sql.Node, e expr.Expr, path []string) expr.Expr {
	if e.Type().Kind != types.Struct {
		x.fail(at, "INVALID_EXTRACT_BASE_FIELD_TYPE", "base", `"`+e.String()+`"`, "other", `"`+e.Type().SQL()+`"`)
	}
	var args []expr.Expr
	found := false
	for _, f := range e.Type().Fields {
		hit := strings.EqualFold(f.Name, path[0])
		found = found || hit
		if hit && len(path) == 1 {
			continue
		}
		g, err := expr.NewGetField(e, f.Name, x.a.conf.Expr)
		x.a.check(at, err)
		if hit {
			g = x.withoutField(at, g, path[1:])
		}
		args = append(args, expr.StringLit(f.Name), g)
	}
	if !found {
		var names []string
		for _, f := range e.Type().Fields {
			names = append(names, types.Quote(f.Name))
		}
		x.fail(at, "FIELD_NOT_FOUND", "fieldName", types.Quote(path[0]), "fields", strings.Join(names, ", "))
	}
	return x.build(at, "named_struct", args...)
}
