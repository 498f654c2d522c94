package plan

import (
	"slices"
	"strings"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// maxFunctionDepth bounds functions that call functions.
const maxFunctionDepth = 50

// inside makes the analyzer of a function's body: parameters are names of its outermost scope.
func (a *analyzer) inside(at sql.Node, f *catalog.Function, args []expr.Expr) *analyzer {
	b := &analyzer{cat: a.cat, conf: a.conf, text: f.Text, spans: map[expr.Expr]sql.Span{}, function: f.Name, depth: a.depth + 1,
		args: map[string]expr.Expr{}}
	if b.depth > maxFunctionDepth {
		a.fail(at, "RECURSIVE_VIEW", "viewIdent", types.Quote(f.Name), "newPath", types.Quote(f.Name))
	}
	b.conf.Params, b.conf.Positional = nil, nil
	for i, p := range f.Params {
		b.args[strings.ToLower(p.Name)] = args[i]
	}
	return b
}

// functionBody is the value of a scalar function for arguments.
func (a *analyzer) functionBody(at sql.Node, f *catalog.Function, args []expr.Expr) expr.Expr {
	b := a.inside(at, f, args)
	one := newScope(&OneRow{}, nil, nil)
	var e expr.Expr
	if body, ok := f.Body.(sql.Expr); ok {
		e = (&resolver{a: b, sc: one}).expr(body)
	} else if q, ok := f.Query.(*sql.Query); ok {
		e = (&resolver{a: b, sc: one}).expr(&sql.Scalar{Span: q.Span, Query: q})
	}
	a.temps = append(a.temps, b.temps...)
	if f.Typed && !e.Type().Equal(f.Returns) {
		r, err := expr.NewCast(e, f.Returns, expr.Explicit, a.conf.Expr)
		a.check(at, err)
		e = r
	}
	return e
}

// functionQuery is the rows of a table function for arguments.
func (a *analyzer) functionQuery(at sql.Node, f *catalog.Function, args []expr.Expr) Node {
	b := a.inside(at, f, args)
	q, ok := f.Query.(*sql.Query)
	if !ok {
		a.fail(at, "INTERNAL_ERROR", "message", "the function "+f.Name+" has no query")
	}
	n := b.query(q, newScope(&OneRow{}, nil, nil))
	a.temps = append(a.temps, b.temps...)
	if f.Table == nil {
		return n
	}
	if len(f.Table) != len(n.Schema()) {
		a.fail(at, "USER_DEFINED_FUNCTIONS.RETURN_COLUMN_COUNT_MISMATCH", "name", types.Quote(f.Name), "outputSize", len(n.Schema()), "returnParamSize", len(f.Table))
	}
	es := allColumns(n)
	for i, c := range f.Table {
		if !es[i].Type().Equal(c.Type) {
			r, err := expr.NewCast(es[i], c.Type, expr.Explicit, a.conf.Expr)
			a.check(at, err)
			es[i] = r
		}
	}
	return newProject(n, es, f.Table.Names())
}

// argument is the value of a parameter inside of a function's body: what stands in a subquery refers to
// columns of the call from one scope further in.
func (x *resolver) argument(n *sql.Name) expr.Expr {
	if x.a.args == nil {
		return nil
	}
	parts := n.Parts
	if len(parts) > 1 && strings.EqualFold(parts[0], x.a.function) {
		parts = parts[1:]
	}
	e, ok := x.a.args[strings.ToLower(parts[0])]
	if !ok {
		return nil
	}
	if x.sc.parent != nil {
		e = transform(e, func(y expr.Expr) expr.Expr {
			if c, ok := y.(*expr.Column); ok {
				return &outerRef{c}
			}
			return y
		})
	}
	return x.fields(n, &named{e, parts[0]}, parts[1:])
}

// userFunction resolves a call of a function of the catalog; nil if there is none of the name.
func (x *resolver) userFunction(f *sql.FuncCall) expr.Expr {
	fn, ok := x.a.cat.Function(f.Name)
	if !ok {
		return nil
	}
	x.a.usedFunction(fn)
	if fn.Class != "" {
		x.fail(f, "CANNOT_LOAD_FUNCTION_CLASS", "className", fn.Class, "functionName", x.a.routineName(fn, f.Name))
	}
	if fn.IsTable {
		x.fail(f, "NOT_A_SCALAR_FUNCTION", "functionName", x.a.routineName(fn, f.Name))
	}
	args, given := x.a.callArguments(x, f, fn)
	var shown []string
	last := slices.Index(given, true) // a default shows where a given argument follows
	for i := range given {
		if given[i] {
			last = i
		}
	}
	for _, e := range args[:last+1] {
		shown = append(shown, e.String())
	}
	for i, p := range fn.Params {
		args[i] = x.a.argumentOf(f, args[i], p.Type)
	}
	e := x.a.functionBody(f, fn, args)
	name := fn.Name
	if !fn.Temporary {
		name = "spark_catalog." + fn.Database + "." + fn.Name
	}
	return &named{e, name + "(" + strings.Join(shown, ", ") + ")"}
}

func (a *analyzer) usedFunction(fn *catalog.Function) {
	if fn.Temporary {
		a.used("FUNCTION", []string{fn.Name})
	}
}

// argumentOf casts an argument to its parameter's type.
func (a *analyzer) argumentOf(at sql.Node, e expr.Expr, t types.DataType) expr.Expr {
	if e.Type().Equal(t) {
		return e
	}
	r, err := expr.NewCast(e, t, expr.Explicit, a.conf.Expr)
	a.check(at, err)
	if a.text != "" {
		pos, _ := a.placed(at.Pos())
		expr.SetPos(r, pos)
	}
	return r
}

// callArguments puts arguments, some of them named, into the order of the parameters; what is left out has
// its default.
// given says which of them the call gives.
func (a *analyzer) callArguments(x *resolver, f *sql.FuncCall, fn *catalog.Function) (out []expr.Expr, given []bool) {
	name := a.routineName(fn, f.Name)
	out, given = make([]expr.Expr, len(fn.Params)), make([]bool, len(fn.Params))
	if len(f.Args) > len(fn.Params) {
		a.wrongArity(f, name, len(fn.Params))
	}
	for i, arg := range f.Args {
		at := i
		if i < len(f.ArgNames) && f.ArgNames[i] != "" {
			at = -1
			for k, p := range fn.Params {
				if strings.EqualFold(p.Name, f.ArgNames[i]) {
					at = k
				}
			}
			if at < 0 {
				var names []string
				for _, p := range fn.Params {
					names = append(names, types.Quote(p.Name))
				}
				a.fail(f, "UNRECOGNIZED_PARAMETER_NAME", "routineName", name, "argumentName", types.Quote(f.ArgNames[i]), "proposal", strings.Join(names, " "))
			}
			if out[at] != nil {
				a.fail(f, "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE", "routineName", name, "parameterName", types.Quote(fn.Params[at].Name))
			}
		}
		out[at], given[at] = x.expr(arg), true
	}
	for k, p := range fn.Params {
		if out[k] != nil {
			continue
		}
		d, ok := p.Default.(sql.Expr)
		if !ok || d == nil {
			if hasNames(f) {
				a.fail(f, "REQUIRED_PARAMETER_NOT_FOUND", "routineName", name, "parameterName", types.Quote(p.Name), "index", k)
			}
			a.wrongArity(f, name, len(fn.Params))
		}
		b := &analyzer{cat: a.cat, conf: a.conf, text: fn.Text, spans: map[expr.Expr]sql.Span{}}
		out[k] = (&resolver{a: b, sc: newScope(&OneRow{}, nil, nil)}).expr(d)
	}
	return out, given
}

func hasNames(f *sql.FuncCall) bool {
	for _, n := range f.ArgNames {
		if n != "" {
			return true
		}
	}
	return false
}

func (a *analyzer) wrongArity(f *sql.FuncCall, name string, want int) {
	a.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", name, "expectedNum", want, "actualNum", len(f.Args), "docroot", docroot)
}

// userTable resolves a table function of the catalog in FROM; nil if there is none of the name. Arguments
// see the columns of left, of which LATERAL gives the scope; nil without it.
func (a *analyzer) userTable(t *sql.TableFunc, left *scope, outer *scope) *scope {
	fn, ok := a.cat.Function(t.Func.Name)
	if !ok {
		return nil
	}
	a.usedFunction(fn)
	if !fn.IsTable {
		a.fail(t, "NOT_A_TABLE_FUNCTION", "functionName", a.routineName(fn, t.Func.Name))
	}
	sc := left
	if sc == nil {
		sc = newScope(&OneRow{}, nil, outer)
	}
	args, _ := a.callArguments(&resolver{a: a, sc: sc}, t.Func, fn)
	for i, p := range fn.Params {
		args[i] = a.argumentOf(t.Func, args[i], p.Type)
	}
	n := a.functionQuery(t, fn, args)
	return newScope(n, columnsOf(n, []string{fn.Name}), outer)
}

// variableRef is a session variable as a value; nil if there is none of the name.
func (x *resolver) variableRef(n *sql.Name) expr.Expr {
	for q := min(len(n.Parts), 3); q >= 1; q-- {
		name, ok := variableName(n.Parts[:q])
		if !ok {
			continue
		}
		v, ok := x.a.cat.Variable(name)
		if !ok {
			continue
		}
		x.a.used("VARIABLE", []string{v.Name})
		if e, ok := x.a.pending[strings.ToLower(v.Name)]; ok {
			return x.fields(n, &named{e, strings.ToLower(v.Name)}, n.Parts[q:])
		}
		l, ok := v.Value.(*expr.Literal)
		if !ok {
			x.failWith(n, errs.New("INTERNAL_ERROR", "message", "the variable "+v.Name+" has no value"))
		}
		return x.fields(n, &named{l, "variablereference(system.session." + strings.ToLower(v.Name) + "=" + sqlText(l) + ")"}, n.Parts[q:])
	}
	return nil
}

func elementTexts(v *columnar.Vec, from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, sqlText(expr.LitOf(v, i)))
	}
	return out
}

// sqlText is a literal as SQL writes it.
func sqlText(l *expr.Literal) string {
	if l.Value.IsNull(0) {
		if l.Type().Kind == types.Null {
			return "NULL"
		}
		return "CAST(NULL AS " + l.Type().SQL() + ")"
	}
	switch l.Type().Kind {
	case types.String:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(string(l.Value.Bytes(0)), `\`, `\\`), "'", `\'`) + "'"
	case types.Date:
		return "DATE '" + l.String() + "'"
	case types.Timestamp:
		return "TIMESTAMP '" + l.String() + "'"
	case types.TinyInt:
		return l.String() + "Y"
	case types.SmallInt:
		return l.String() + "S"
	case types.BigInt:
		return l.String() + "L"
	case types.Double:
		return l.String() + "D"
	case types.Decimal:
		return l.String() + "BD"
	case types.Array:
		return "ARRAY(" + strings.Join(elementTexts(l.Value.Kids[0], int(l.Value.Off[0]), int(l.Value.Off[1])), ", ") + ")"
	}
	return l.String()
}
