package plan

import (
	"fmt"
	"strings"

	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// generatorNames gives the kind of each generator function.
var generatorNames = map[string]string{"explode": "explode", "posexplode": "posexplode", "inline": "inline",
	"stack": "stack", "json_tuple": "json_tuple", "variant_explode": "variant_explode",
	"explode_outer": "explode", "posexplode_outer": "posexplode", "inline_outer": "inline",
	"variant_explode_outer": "variant_explode"}

// generatorParams name the parameters of those that may be called by name.
var generatorParams = map[string][]string{"explode": {"collection"}, "posexplode": {"collection"}, "variant_explode": {"input"}}

// tableFunctions stand in FROM only.
var tableFunctions = map[string]bool{"range": true, "sql_keywords": true, "collations": true}

func generatorKind(name string) string { return generatorNames[name] }

// generator resolves a call of a generator; nil if the function is none.
func (x *resolver) generator(f *sql.FuncCall) expr.Expr {
	name := functionName(f.Name)
	kind := generatorKind(name)
	if kind == "" || f.Over != nil {
		return nil
	}
	if params := generatorParams[kind]; params != nil {
		f = x.byPlace(f, name, params, 1)
	}
	switch {
	case name == "variant_explode" || name == "variant_explode_outer":
		if x.generators && x.lateral {
			x.fail(f, "NOT_A_SCALAR_FUNCTION", "functionName", types.Quote(name))
		}
	case f.Distinct:
		x.fail(f, "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "prettyName", types.Quote(name), "syntax", "DISTINCT")
	case f.Filter != nil:
		x.fail(f, "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "prettyName", types.Quote(name), "syntax", "FILTER CLAUSE")
	}
	y := *x
	y.generators = false
	var args []expr.Expr
	for _, a := range f.Args {
		args = append(args, y.expr(a))
	}
	x.sc = y.sc
	g := &generator{kind: kind, args: args, outer: strings.HasSuffix(name, "_outer"), text: callText(name, args)}
	g.first = g
	arity := func(n int) {
		if len(args) != n {
			x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", types.Quote(name), "expectedNum", n, "actualNum", len(args), "docroot", docroot)
		}
	}
	wrong := func(required string) {
		text := strings.Replace(strings.Replace(g.text, "explode_outer(", "explode(", 1), "inline_outer(", "inline(", 1)
		x.fail(f, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sqlExpr", `"`+text+`"`, "paramIndex", "first",
			"requiredType", required, "inputSql", `"`+args[0].String()+`"`, "inputType", `"`+args[0].Type().SQL()+`"`)
	}
	nullable := func(n bool) bool { return n || g.outer }
	switch kind {
	case "explode", "posexplode":
		arity(1)
		t := args[0].Type()
		if kind == "posexplode" {
			g.out = append(g.out, types.Field{Name: "pos", Type: types.Of(types.Int), Nullable: g.outer})
		}
		switch t.Kind {
		case types.Array:
			g.out = append(g.out, types.Field{Name: "col", Type: *t.Elem, Nullable: nullable(t.ContainsNull)})
		case types.Map:
			g.out = append(g.out, types.Field{Name: "key", Type: *t.Key, Nullable: g.outer},
				types.Field{Name: "value", Type: *t.Elem, Nullable: nullable(t.ContainsNull)})
		default:
			wrong(`("ARRAY" or "MAP")`)
		}
	case "inline":
		arity(1)
		t := args[0].Type()
		if t.Kind != types.Array || t.Elem.Kind != types.Struct {
			wrong(`"ARRAY<STRUCT>"`)
		}
		for _, sf := range t.Elem.Fields {
			sf.Nullable = sf.Nullable || t.ContainsNull || g.outer
			g.out = append(g.out, sf)
		}
	case "stack":
		if len(args) < 2 {
			x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`stack`", "expectedNum", "> 1", "actualNum", len(args), "docroot", docroot)
		}
		if k := args[0].Type().Kind; k != types.Int && k != types.Null {
			wrong(`"INT"`)
		}
		l, err := expr.Const(args[0], x.a.conf.Expr)
		x.a.check(f, err)
		if l == nil || l.Value.IsNull(0) || l.Type().Kind != types.Int {
			x.fail(f, "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "sqlExpr", `"`+g.text+`"`, "inputName", "`n`", "inputType", `"INT"`, "inputExpr", `"`+args[0].String()+`"`)
		}
		rows := int(l.Value.I32[0])
		if rows <= 0 {
			x.fail(f, "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "sqlExpr", `"`+g.text+`"`, "exprName", "`n`", "valueRange", "(0, 2147483647]", "currentValue", l.String())
		}
		args[0] = l
		width := (len(args) - 1 + rows - 1) / rows
		for c := 0; c < width; c++ {
			t := types.Of(types.Null)
			first := 0
			null := (len(args)-1)%width != 0 || (len(args)-1)/width < rows
			for i := 1 + c; i < len(args); i += width {
				u := args[i].Type()
				null = null || args[i].Nullable()
				switch {
				case t.Kind == types.Null:
					t, first = u, i
				case u.Kind != types.Null && !u.Equal(t):
					x.fail(f, "DATATYPE_MISMATCH.STACK_COLUMN_DIFF_TYPES", "sqlExpr", `"`+g.text+`"`, "columnIndex", c,
						"leftParamIndex", first, "leftType", `"`+t.SQL()+`"`, "rightParamIndex", i, "rightType", `"`+u.SQL()+`"`)
				}
			}
			for i := 1 + c; i < len(args); i += width {
				args[i] = expr.CastTo(args[i], t, x.a.conf.Expr)
			}
			g.out = append(g.out, types.Field{Name: "col" + itoa(c), Type: t, Nullable: null})
		}
	case "json_tuple":
		for _, a := range args {
			if k := a.Type().Kind; k != types.String && k != types.Null {
				x.fail(f, "DATATYPE_MISMATCH.NON_STRING_TYPE", "sqlExpr", `"`+g.text+`"`, "funcName", "`json_tuple`")
			}
		}
		if len(args) < 2 {
			x.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`json_tuple`", "expectedNum", "> 1", "actualNum", len(args), "docroot", docroot)
		}
		for _, a := range args {
			if a.Type().Kind != types.String {
				x.fail(f, "DATATYPE_MISMATCH.NON_STRING_TYPE", "sqlExpr", `"`+g.text+`"`, "funcName", "`json_tuple`")
			}
		}
		for i := range args[1:] {
			g.out = append(g.out, types.Field{Name: "c" + itoa(i), Type: types.Of(types.String), Nullable: true})
		}
	case "variant_explode":
		arity(1)
		v, ok := expr.ImplicitCast(args[0], types.Of(types.Variant), x.a.conf.Expr)
		if !ok || args[0].Type().Kind != types.Variant && args[0].Type().Kind != types.Null {
			wrong(`"VARIANT"`)
		}
		g.kind, g.args = "inline", []expr.Expr{expr.VariantEntries(v)}
		for _, f := range g.args[0].Type().Elem.Fields {
			f.Nullable = f.Nullable || g.outer
			g.out = append(g.out, f)
		}
	}
	return g
}

// generatorNames checks the aliases of a generator in the select list.
func (x *resolver) generatorNames(it *sql.SelectItem, n *item, g *generator) {
	names := it.Aliases
	if it.Alias != "" {
		names = []string{it.Alias}
	}
	if len(names) == 0 {
		return
	}
	if len(names) != len(g.out) {
		x.fail(it, "UDTF_ALIAS_NUMBER_MISMATCH", "aliasesSize", len(g.out), "aliasesNames", strings.Join(names, ","))
	}
	n.names = names
}

// generate computes the select items over n; generators among them become Generate nodes.
func (b *block) generate(n Node) (Node, []expr.Expr, []string) {
	var es []expr.Expr
	var names []string
	places := map[*generator]int{}
	known := func(e expr.Expr) expr.Expr { // values of generators are columns now
		return transform(e, func(e expr.Expr) expr.Expr {
			if v, ok := e.(*generatedValue); ok {
				at, ok := places[v.of.first]
				if !ok {
					panic("plan: a generator is used before it is made")
				}
				return columnAt(n, at)
			}
			return e
		})
	}
	for _, it := range b.items {
		g, ok := it.e.(*generator)
		if !ok {
			es = append(es, it.e)
			names = append(names, it.name)
			continue
		}
		base := len(n.Schema())
		places[g.first] = base
		made := *g
		if len(places) > 1 {
			made.args = append([]expr.Expr{}, g.args...)
			for i := range made.args {
				made.args[i] = known(made.args[i])
			}
		}
		n = newGenerate(n, &made, g.outer, it.names)
		for i := range g.out {
			es = append(es, columnAt(n, base+i))
			names = append(names, n.Schema()[base+i].Name)
		}
		if len(g.out) == 1 {
			it.e = columnAt(n, base)
		}
	}
	if len(places) > 0 {
		for i := range es {
			es[i] = known(es[i])
		}
	}
	for i := range b.sort { // ORDER BY of a generated column
		b.sort[i].Child = transform(b.sort[i].Child, func(e expr.Expr) expr.Expr {
			if g, ok := e.(*generator); ok {
				for _, it := range b.items {
					if c, isCol := it.e.(*expr.Column); isCol && len(g.out) == 1 && c.Field.Type.Equal(g.out[0].Type) && c.Index >= len(b.sc.node.Schema()) {
						return c
					}
				}
			}
			return e
		})
	}
	return n, es, names
}

func newGenerate(n Node, g *generator, outer bool, names []string) *Generate {
	out := append(types.Schema{}, n.Schema()...)
	for i, f := range g.out {
		if i < len(names) {
			f.Name = names[i]
		}
		f.Nullable = f.Nullable || outer
		out = append(out, f)
	}
	args := make([]expr.Expr, len(g.args))
	for i, a := range g.args {
		args[i] = strip(a)
	}
	return &Generate{Child: n, Kind: g.kind, Args: args, Outer: outer || g.outer, Out: out}
}

// lateralView appends the rows of a generator to a scope.
func (a *analyzer) lateralView(sc *scope, v *sql.LateralView) {
	x := &resolver{a: a, sc: sc, generators: true}
	g := x.generator(v.Func)
	if g == nil {
		name := functionName(v.Func.Name)
		if _, ok := expr.Lookup(name); ok {
			a.fail(v, "UNSUPPORTED_GENERATOR.NOT_GENERATOR", "functionName", types.Quote(name), "classCanonicalName", "")
		}
		a.fail(v, "ROUTINE_NOT_FOUND", "routineName", "`default`."+types.Quote(name))
	}
	if len(v.Columns) > 0 && len(v.Columns) != len(g.(*generator).out) {
		a.fail(v, "UDTF_ALIAS_NUMBER_MISMATCH", "aliasesSize", len(g.(*generator).out), "aliasesNames", strings.Join(v.Columns, ","))
	}
	next := a.generated(v, sc, g.(*generator), v.Outer, sql.Alias{Name: v.Table, Columns: v.Columns})
	sc.node, sc.cols = next.node, next.cols
}

// generated puts a Generate over a scope.
func (a *analyzer) generated(at sql.Node, sc *scope, g *generator, outer bool, al sql.Alias) *scope {
	if len(al.Columns) > 0 && len(al.Columns) != len(g.out) {
		a.fail(at, "ASSIGNMENT_ARITY_MISMATCH", "numExpr", len(al.Columns), "numTarget", len(g.out))
	}
	base := len(sc.node.Schema())
	n := newGenerate(sc.node, g, outer, al.Columns)
	cols := append([]column{}, sc.cols...)
	var qual []string
	if al.Name != "" {
		qual = []string{al.Name}
	}
	for i := range g.out {
		f := n.Out[base+i]
		cols = append(cols, column{qual: qual, name: f.Name, index: base + i, field: f})
	}
	return newScope(n, cols, sc.parent)
}

// tableFunction resolves a function in FROM.
func (a *analyzer) tableFunction(t *sql.TableFunc, outer *scope) *scope {
	name := functionName(t.Func.Name)
	one := newScope(&OneRow{}, nil, outer)
	if name == "range" {
		n := a.rangeOf(t.Func)
		return newScope(n, columnsOf(n, nil), outer)
	}
	if name == "sql_keywords" {
		n := a.keywordsOf(t.Func)
		return newScope(n, columnsOf(n, nil), outer)
	}
	if name == "collations" {
		n := a.collationsOf(t.Func)
		return newScope(n, columnsOf(n, nil), outer)
	}
	if name == "table_changes" || name == "table_changes_by_path" {
		n := a.changesOf(t.Func)
		return newScope(n, columnsOf(n, nil), outer)
	}
	x := &resolver{a: a, sc: one, generators: true}
	if g := x.generator(t.Func); g != nil {
		return a.generated(t, one, g.(*generator), false, sql.Alias{})
	}
	if sc := a.userTable(t, nil, outer); sc != nil {
		return sc
	}
	if _, ok := expr.Lookup(name); ok {
		a.fail(t, "NOT_A_TABLE_FUNCTION", "functionName", types.Quote(name))
	}
	a.fail(t, "UNRESOLVABLE_TABLE_VALUED_FUNCTION", "name", quoteParts(t.Func.Name))
	return nil
}

func (a *analyzer) rangeOf(f *sql.FuncCall) Node {
	if len(f.Args) < 1 || len(f.Args) > 4 {
		a.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", "`range`", "expectedNum", "[1, 2, 3, 4]", "actualNum", len(f.Args), "docroot", docroot)
	}
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	var v []int64
	for i, e := range f.Args {
		r := x.expr(e)
		if k := r.Type(); !k.IsNumeric() && k.Kind != types.String {
			at := i
			if len(f.Args) == 1 {
				at = 1 // the only argument is the end
			}
			a.fail(f, "UNEXPECTED_INPUT_TYPE", "functionName", "`range`", "paramIndex", ordinalWord(at), "requiredType", `"BIGINT"`,
				"inputSql", `"`+r.String()+`"`, "inputType", `"`+k.SQL()+`"`)
		}
		l, err := expr.Const(expr.CastTo(r, types.Of(types.BigInt), a.conf.Expr), a.conf.Expr)
		a.check(f, err)
		if l == nil || l.Value.IsNull(0) {
			a.fail(e, "DATATYPE_MISMATCH.UNEXPECTED_NULL", "sqlExpr", `"range(…)"`, "exprName", "range")
		}
		v = append(v, l.Value.I64[0])
	}
	r := &Range{Step: 1, Out: types.Schema{{Name: "id", Type: types.Of(types.BigInt)}}}
	switch len(v) {
	case 1:
		r.End = v[0]
	default:
		r.Start, r.End = v[0], v[1]
	}
	if len(v) > 2 {
		r.Step = v[2]
	}
	if len(v) > 3 {
		if r.Parts = int(v[3]); r.Parts <= 0 {
			a.fail(f, "UNSUPPORTED_FEATURE", "feature", "a range in "+fmt.Sprint(r.Parts)+" partitions")
		}
	}
	if r.Step == 0 {
		a.fail(f, "FAILED_FUNCTION_CALL", "funcName", "`range`")
	}
	return r
}
