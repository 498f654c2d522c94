package plan

import (
	"slices"
	"sort"
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// command analyses the statements that have expressions or queries inside; others are Raw.
func (a *analyzer) command(c *sql.Command) Node {
	switch d := c.Detail.(type) {
	case *sql.CreateFlow:
		return a.createFlow(c, d)
	case *sql.CreateFunction:
		return a.createFunction(c, d)
	case *sql.Declare:
		return a.declare(c, d)
	case *sql.SetVariable:
		return a.setVariable(c, d)
	case *sql.Execute:
		return a.execute(d)
	case *sql.Cache:
		if d.Query != nil {
			q := a.query(d.Query, nil)
			a.noStream(c, q)
			return &CacheTable{Name: c.Name[len(c.Name)-1], Query: q, Text: a.textOf(d.Query)}
		}
	case *sql.Alter:
		if d.Action == "AS" {
			return a.alterView(c, d)
		}
	}
	return &Raw{Stmt: c, Text: a.text}
}

// textOf is the text of a part of the statement.
func (a *analyzer) textOf(n sql.Node) string {
	s := n.Pos()
	if s.End > len(a.text) || s.Start > s.End {
		return ""
	}
	return a.text[s.Start:s.End]
}

// temporaries are the temporary objects that a statement used, in the order of their first use.
type temporaries []temporary

type temporary struct{ kind, name string }

// used notes a temporary object.
func (a *analyzer) used(kind string, parts []string) {
	a.temps = append(a.temps, temporary{kind, quoteParts(parts)})
}

// permanent fails if a persistent object would refer to a temporary one.
func (a *analyzer) permanent(at sql.Node, kind string, parts []string) {
	if len(a.temps) > 0 {
		t := a.temps[0]
		full := a.qualifiedName(parts)
		if kind == "FUNCTION" {
			full = full[1:]
		}
		a.fail(nil, "INVALID_TEMP_OBJ_REFERENCE", "obj", kind, "objName", quoteParts(full), "tempObj", t.kind, "tempObjName", t.name)
	}
}

// qualifiedName puts catalog and current database before a name.
func (a *analyzer) qualifiedName(parts []string) []string {
	if db, name, ok := a.cat.Place(parts); ok {
		return []string{"spark_catalog", db, name}
	}
	return parts
}

func (a *analyzer) createView(v *sql.CreateView) Node {
	n := &CreateView{Parts: v.Name, Replace: v.Replace, Temporary: v.Temporary, Global: v.Global, IfNotExists: v.IfNotExists}
	last := v.Name[len(v.Name)-1]
	if v.Replace && v.IfNotExists {
		a.fail(v, "CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE", "viewName", strings.Join(v.Name, "."))
	}
	if v.Temporary && v.IfNotExists && !v.Global {
		a.fail(v, "_LEGACY_ERROR_TEMP_0053")
	}
	if v.Temporary && len(v.Name) > 1 {
		q := v.Name[:len(v.Name)-1]
		session := !v.Global && (strings.EqualFold(strings.Join(q, "."), "session") || strings.EqualFold(strings.Join(q, "."), "system.session"))
		if !session && !(v.Global && strings.EqualFold(strings.Join(q, "."), "global_temp")) {
			a.fail(v, "INVALID_TEMP_OBJ_QUALIFIER", "objectName", types.Quote(last), "objectType", "VIEW", "qualifier", quoteParts(q))
		}
	}
	n.View = a.view(v, v.Name, v.Temporary, v.Columns, v.Comments, v.Query, v.QueryText)
	n.View.Comment, n.View.Properties = v.Comment, options(v.Properties)
	return n
}

// view analyses the query of a view and gives its columns names.
func (a *analyzer) view(at sql.Node, name []string, temporary bool, columns, comments []string, q *sql.Query, text string) *catalog.View {
	a.temps = nil
	self := a.qualifiedName(name)
	if temporary {
		self = name[len(name)-1:]
	}
	a.views = []string{quoteParts(self)}
	n := a.query(q, nil)
	s := append(types.Schema{}, n.Schema()...)
	shown := quoteParts(name)
	if !temporary {
		shown = quoteParts(a.qualifiedName(name))
	}
	if len(columns) > 0 && len(columns) != len(s) {
		kind := "NOT_ENOUGH_DATA_COLUMNS"
		if len(columns) < len(s) {
			kind = "TOO_MANY_DATA_COLUMNS"
		}
		a.fail(nil, "CREATE_VIEW_COLUMN_ARITY_MISMATCH."+kind, "viewName", shown, "viewColumns", quoteList(columns), "dataColumns", quoteList(s.Names()))
	}
	v := &catalog.View{SQL: text, Database: a.cat.Current(), Params: a.boundParams(), Source: s.Names()}
	if !temporary {
		a.permanent(at, "VIEW", name)
		if len(columns) == 0 {
			a.namedColumns(q, n, shown)
		}
	}
	for i := range s {
		s[i].DelayMicros = 0
		if len(columns) > 0 {
			s[i].Name = columns[i]
		}
		if i < len(comments) && comments[i] != "" {
			s[i].Metadata = map[string]string{catalog.Comment: comments[i]}
		}
	}
	a.uniqueNames(nil, s)
	v.Columns = s
	parsed, err := a.conf.Parser().ParseQuery(text)
	a.check(nil, err)
	v.Query = parsed
	return v
}

// namedColumns: a persistent view has no column whose name is made from its expression.
func (a *analyzer) namedColumns(q *sql.Query, n Node, shown string) {
	s, ok := q.Body.(*sql.Select)
	if !ok {
		return
	}
	for _, it := range s.Items {
		e := it.Expr
		for {
			p, ok := e.(*sql.Paren)
			if !ok {
				break
			}
			e = p.X
		}
		switch e.(type) {
		case *sql.Name, *sql.Star, *sql.Literal, *sql.Field:
			continue
		}
		if it.Alias == "" && len(it.Aliases) == 0 && len(s.Items) == len(n.Schema()) {
			name := n.Schema()[indexOfItem(s.Items, it)].Name
			a.fail(nil, "CREATE_PERMANENT_VIEW_WITHOUT_ALIAS", "name", shown, "attr", `"`+name+`"`)
		}
	}
}

func indexOfItem(items []sql.SelectItem, it sql.SelectItem) int {
	for i := range items {
		if items[i].Span == it.Span {
			return i
		}
	}
	return 0
}

// uniqueNames fails if two columns have one name.
func (a *analyzer) uniqueNames(at sql.Node, s types.Schema) {
	seen := map[string]bool{}
	for _, f := range s {
		k := strings.ToLower(f.Name)
		if seen[k] {
			a.fail(at, "COLUMN_ALREADY_EXISTS", "columnName", types.Quote(k))
		}
		seen[k] = true
		a.uniqueFields(at, f.Type)
	}
}

// uniqueFields is uniqueNames for the structs in a type.
func (a *analyzer) uniqueFields(at sql.Node, t types.DataType) {
	a.uniqueNames(at, t.Fields)
	for _, part := range []*types.DataType{t.Key, t.Elem} {
		if part != nil {
			a.uniqueFields(at, *part)
		}
	}
}

// boundParams keeps the values of markers for a view's text; nil if there are none.
func (a *analyzer) boundParams() any {
	if len(a.conf.Params) == 0 && len(a.conf.Positional) == 0 {
		return nil
	}
	return viewParams{a.conf.Params, a.conf.Positional}
}

type viewParams struct {
	named      map[string]expr.Expr
	positional []expr.Expr
}

func (a *analyzer) alterView(c *sql.Command, d *sql.Alter) Node {
	r, ok := a.cat.Find(c.Name)
	if !ok {
		a.fail(c.NameSpan, "TABLE_OR_VIEW_NOT_FOUND", "relationName", quoteParts(c.Name), "searchPath", a.commandPath())
	}
	if r.View == nil {
		a.fail(c.NameSpan, "EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE", "tableName", quoteParts(a.fullName(r, c.Name)), "operation", "ALTER VIEW ... AS")
	}
	n := &CreateView{Parts: c.Name, Replace: true, Alter: true, Temporary: r.Temporary, Global: strings.EqualFold(r.Database, "global_temp")}
	n.View = a.view(c, c.Name, r.Temporary, nil, nil, d.Query, d.QueryText)
	n.View.Comment, n.View.Properties = r.View.Comment, r.View.Properties
	return n
}

// commandPath is where statements about tables look for names.
func (a *analyzer) commandPath() string { return CommandPath(a.cat) }

// CommandPath is the search path of statements about tables, as errors show it.
func CommandPath(c *catalog.Catalog) string {
	return "[`system`.`session`, `spark_catalog`." + types.Quote(c.Current()) + "]"
}

// SearchPath is the search path of queries, as errors show it.
func SearchPath(c *catalog.Catalog) string {
	return "[`system`.`builtin`, `system`.`session`, `spark_catalog`." + types.Quote(c.Current()) + "]"
}

func (a *analyzer) createTable(t *sql.CreateTable) Node {
	n := &CreateTable{Parts: t.Name, NameSpan: t.NameSpan, Replace: t.Replace, IfNotExists: t.IfNotExists, Like: t.Like, LikeSpan: t.LikeSpan, Clone: t.Clone, Text: a.text}
	d := &n.Def
	d.Provider, d.Comment, d.Location, d.External = t.Using, t.Comment, t.Location, t.Location != ""
	d.Properties, d.Options, d.ClusterBy = options(t.Properties), options(t.Options), t.ClusterBy
	for _, c := range t.Cols {
		d.Columns = append(d.Columns, a.columnField(c))
	}
	for _, k := range t.Constraints {
		d.Checks = append(d.Checks, catalog.Check{Name: k.Name, Text: k.Text})
	}
	d.PartitionBy = t.PartitionBy
	if t.Query != nil {
		n.Query = a.query(t.Query, nil)
		a.noStream(t, n.Query)
		if d.Columns == nil {
			for _, f := range plainSchema(n.Query.Schema()) {
				f.Nullable, f.Metadata = true, nil
				d.Columns = append(d.Columns, f)
			}
		}
	}
	a.uniqueNames(nil, d.Columns)
	return n
}

// columnField is a column definition as a field, with what the definition says in its metadata.
func (a *analyzer) columnField(c sql.ColumnDef) types.Field {
	t, err := types.ParseType(c.Type.Text)
	if k := errs.As(err); k != nil { // placed within the type's text
		d := *k
		d.Pos = errs.Pos{}
		a.failWith(c.Type, &d)
	}
	a.check(c.Type, err)
	if expr.HasTime(t) && !a.conf.Expr.TimeType {
		a.failWith(nil, errs.New("UNSUPPORTED_TIME_TYPE"))
	}
	f := types.Field{Name: c.Name[len(c.Name)-1], Type: t, Nullable: !c.NotNull}
	set := func(k, v string) {
		if f.Metadata == nil {
			f.Metadata = map[string]string{}
		}
		f.Metadata[k] = v
	}
	if c.Comment != "" {
		set(catalog.Comment, c.Comment)
	}
	if c.Default != nil {
		set(catalog.Default, a.textOf(c.Default))
	}
	if c.Generated != nil {
		set(catalog.Generation, a.textOf(c.Generated))
	}
	if c.Identity != "" {
		start, step := c.Start, c.Step
		if start == "" {
			start = "1"
		}
		if step == "" {
			step = "1"
		}
		set(catalog.Identity, c.Identity+" "+start+" "+step)
	}
	return f
}

// Field is the column of a definition in ALTER TABLE; text is the statement's.
func Field(c sql.ColumnDef, text string) (f types.Field, err error) {
	a := &analyzer{text: text, spans: map[expr.Expr]sql.Span{}}
	defer a.recover(&err)
	return a.columnField(c), nil
}

// CheckDefaults verifies that the defaults of columns are constants that their columns can store. statement
// is as errors name it: CREATE TABLE, ALTER TABLE ADD COLUMNS, ….
func CheckDefaults(s types.Schema, statement string, c *catalog.Catalog, conf Conf) (err error) {
	for _, f := range s {
		text := f.Metadata[catalog.Default]
		if text == "" {
			continue
		}
		e, perr := conf.Parser().ParseExpr(text)
		if perr != nil {
			return perr
		}
		b := &analyzer{cat: c, conf: conf, text: text, spans: map[expr.Expr]sql.Span{}}
		var v expr.Expr
		inner := func() (err error) {
			defer b.recover(&err)
			v = strip((&resolver{a: b, sc: newScope(&OneRow{}, nil, nil)}).expr(e))
			return nil
		}()
		bad := func(kind string, params ...any) error {
			b := &analyzer{}
			return b.place(sql.Span{}, errorOf("INVALID_DEFAULT_VALUE."+kind, append([]any{"statement", statement, "colName", types.Quote(f.Name), "defaultValue", text}, params...)...))
		}
		switch {
		case errs.Has(inner, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"):
			return bad("NOT_CONSTANT")
		case inner != nil:
			return bad("UNRESOLVED_EXPRESSION")
		case hasSubquery(v):
			return bad("SUBQUERY_EXPRESSION")
		case !expr.Foldable(v):
			return bad("NOT_CONSTANT")
		case unstorable(v.Type(), f.Type, false, nil) != nil:
			return bad("DATA_TYPE", "expectedType", `"`+f.Type.SQL()+`"`, "actualType", `"`+v.Type().SQL()+`"`)
		}
	}
	return nil
}

func (a *analyzer) createFlow(c *sql.Command, d *sql.CreateFlow) Node {
	i := d.Insert
	a.target(&sql.TableName{Span: i.Span, NameSpan: i.TableSpan, Parts: i.Table, Ident: i.Ident}, "INSERT")
	q := a.query(i.Query, nil)
	a.noStream(c, q)
	a.fail(nil, "UNSUPPORTED_FEATURE.CREATE_FLOW_QUERY_EXECUTION")
	return nil
}

// ---- functions

func (a *analyzer) createFunction(c *sql.Command, d *sql.CreateFunction) Node {
	f := &catalog.Function{Temporary: d.Temporary, Name: c.Name[len(c.Name)-1], Comment: d.Comment, Text: a.text, Class: d.Class, IsTable: d.IsTable}
	n := &CreateFunction{Parts: c.Name, Replace: d.Replace, IfNotExists: d.IfNotExists, Function: f}
	if d.Temporary && len(c.Name) > 1 {
		a.fail(c, "INVALID_TEMP_OBJ_QUALIFIER", "objectName", types.Quote(f.Name), "objectType", "FUNCTION", "qualifier", quoteParts(c.Name[:len(c.Name)-1]))
	}
	if d.Class != "" {
		return n
	}
	seen := map[string]bool{}
	var twice []string
	for _, p := range d.Params {
		field := a.columnField(p)
		k := strings.ToLower(field.Name)
		if seen[k] {
			twice = append(twice, types.Quote(k))
		}
		seen[k] = true
		f.Params = append(f.Params, catalog.Param{Name: field.Name, Type: field.Type, Default: p.Default, Comment: p.Comment})
		if p.Default == nil {
			f.Params[len(f.Params)-1].Default = nil
		}
	}
	if len(twice) > 0 {
		sort.Strings(twice)
		a.fail(nil, "DUPLICATE_ROUTINE_PARAMETER_NAMES", "routineName", strings.Join(c.Name, "."), "names", strings.Join(twice, ", "))
	}
	if d.Returns != "" {
		t, err := types.ParseType(d.Returns)
		a.check(c, err)
		f.Returns, f.Typed = t, true
	}
	for _, col := range d.Table {
		f.Table = append(f.Table, a.columnField(col))
	}
	if d.Body != nil {
		f.Body = d.Body
	}
	if d.Query != nil {
		f.Query = d.Query
	}
	a.temps = nil
	args := make([]expr.Expr, len(f.Params))
	for i, p := range f.Params {
		args[i] = &expr.LambdaVar{Name: p.Name, Field: types.Field{Name: p.Name, Type: p.Type, Nullable: true}}
	}
	if f.IsTable {
		out := a.functionQuery(c, f, args)
		if f.Table == nil {
			f.Table = plainSchema(out.Schema())
		}
	} else {
		body := a.functionBody(c, f, args)
		if hasAggregate(body) || hasWindow(body) {
			a.fail(c, "USER_DEFINED_FUNCTIONS.CANNOT_CONTAIN_COMPLEX_FUNCTIONS", "queryText", a.textOf(d.Body))
		}
		if !f.Typed {
			f.Returns = body.Type()
		}
	}
	if !d.Temporary {
		a.permanent(c, "FUNCTION", c.Name)
	}
	return n
}

func (a *analyzer) routineName(f *catalog.Function, parts []string) string {
	if f.Temporary {
		return types.Quote(f.Name)
	}
	return quoteParts(a.qualifiedName(parts))
}

// ---- variables

// variableName is the last part of a variable's name; ok is false if the parts before it are not the
// session's.
func variableName(parts []string) (string, bool) {
	q := strings.ToLower(strings.Join(parts[:len(parts)-1], "."))
	return parts[len(parts)-1], q == "" || q == "session" || q == "system.session"
}

func (a *analyzer) declare(c *sql.Command, d *sql.Declare) Node {
	n := &Declare{Replace: d.Replace}
	seen := map[string]bool{}
	for _, parts := range d.Names {
		name, ok := variableName(parts)
		if !ok {
			a.fail(c.NameSpan, "UNRESOLVED_VARIABLE", "variableName", quoteParts(parts), "searchPath", "[`system`.`session`]")
		}
		if seen[strings.ToLower(name)] {
			a.fail(nil, "DUPLICATE_VARIABLE_NAME_INSIDE_DECLARE", "variableName", "`system`.`session`."+types.Quote(strings.ToLower(name)))
		}
		seen[strings.ToLower(name)] = true
		n.Names = append(n.Names, name)
	}
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	var v expr.Expr = expr.NullLit(types.Of(types.Null))
	if d.Default != nil {
		v = x.expr(d.Default)
		n.Default = a.textOf(d.Default)
		if hasSubquery(v) {
			a.fail(nil, "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION", "statement", "DECLARE VARIABLE", "colName",
				"`system`.`session`."+types.Quote(strings.ToLower(n.Names[0])), "defaultValue", n.Default)
		}
	}
	if d.Type == "" {
		n.Type = v.Type()
	} else {
		t, err := types.ParseType(d.Type)
		a.check(c, err)
		n.Type = t
	}
	v = a.assignable(c, v, n.Type, d.Default)
	n.Value = a.oneRow([]expr.Expr{v}, []string{"value"})
	return n
}

// assignable casts a value to the type of a variable.
func (a *analyzer) assignable(at sql.Node, v expr.Expr, t types.DataType, src sql.Expr) expr.Expr {
	if v.Type().Equal(t) {
		return v
	}
	e, err := expr.NewCast(v, t, expr.Explicit, a.conf.Expr)
	a.check(at, err)
	if a.text != "" {
		pos, _ := a.placed(at.Pos())
		expr.SetPos(e, pos)
	}
	return e
}

// oneRow computes expressions, perhaps with subqueries, over one row.
func (a *analyzer) oneRow(es []expr.Expr, names []string) Node {
	return a.projected(&OneRow{}, es, names)
}

func (a *analyzer) variable(at sql.Node, parts []string) *catalog.Variable {
	name, ok := variableName(parts)
	if ok {
		if v, ok := a.cat.Variable(name); ok {
			return v
		}
	}
	a.fail(at, "UNRESOLVED_VARIABLE", "variableName", quoteParts(parts), "searchPath", SearchPath(a.cat))
	return nil
}

func (a *analyzer) setVariable(c *sql.Command, d *sql.SetVariable) Node {
	n := &SetVariable{}
	var vars []*catalog.Variable
	seen := map[string]bool{}
	name := func(at *sql.Name) {
		v := a.variable(at, at.Parts)
		if seen[strings.ToLower(v.Name)] {
			a.fail(nil, "DUPLICATE_ASSIGNMENTS", "nameList", types.Quote(v.Name))
		}
		seen[strings.ToLower(v.Name)] = true
		vars = append(vars, v)
		n.Names = append(n.Names, v.Name)
	}
	var q Node
	if d.Query != nil {
		for _, at := range d.Names {
			name(at)
		}
		q = a.query(d.Query, nil)
		if len(q.Schema()) != len(vars) {
			a.fail(nil, "ASSIGNMENT_ARITY_MISMATCH", "numTarget", len(vars), "numExpr", len(q.Schema()))
		}
	} else {
		x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
		var es []expr.Expr
		for _, as := range d.Set {
			name(as.Column)
			v := vars[len(vars)-1]
			if k, ok := as.Value.(*sql.Name); ok && len(k.Parts) == 1 && strings.EqualFold(k.Parts[0], "DEFAULT") {
				es = append(es, a.variableDefault(v))
				continue
			}
			e := x.expr(as.Value)
			es = append(es, e)
			if a.pending == nil {
				a.pending = map[string]expr.Expr{}
			}
			a.pending[strings.ToLower(v.Name)] = a.assignable(c, e, v.Type, nil) // the assignments behind see it
		}
		q = a.oneRow(es, n.Names)
	}
	es := allColumns(q)
	for i := range es {
		es[i] = a.assignable(c, es[i], vars[i].Type, nil)
	}
	n.Values = newProject(q, es, n.Names)
	return n
}

// variableDefault is what SET VAR v = DEFAULT sets.
func (a *analyzer) variableDefault(v *catalog.Variable) expr.Expr {
	if v.Default == "" {
		return expr.NullLit(v.Type)
	}
	e, err := a.conf.Parser().ParseExpr(v.Default)
	a.check(nil, err)
	b := &analyzer{cat: a.cat, conf: a.conf, text: v.Default, spans: map[expr.Expr]sql.Span{}}
	return (&resolver{a: b, sc: newScope(&OneRow{}, nil, nil)}).expr(e)
}

func (a *analyzer) execute(d *sql.Execute) Node {
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	n := &Execute{CodeText: a.textOf(d.Code)}
	code := x.expr(d.Code)
	if code.Type().Kind != types.String {
		a.fail(nil, "INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE", "exprType", `"`+code.Type().SQL()+`"`)
	}
	n.Code = a.oneRow([]expr.Expr{code}, []string{"code"})
	var es []expr.Expr
	for _, it := range d.Using {
		es = append(es, x.expr(it.Expr))
		if hasSubquery(es[len(es)-1]) {
			a.fail(it, "UNSUPPORTED_EXPR_FOR_PARAMETER", "invalidExprSql", `"`+es[len(es)-1].String()+`"`)
		}
		if it.Alias != "" && slices.Contains(n.Names, it.Alias) {
			a.fail(it, "EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES", "aliases", types.Quote(it.Alias))
		}
		n.Names = append(n.Names, it.Alias)
	}
	n.Args = a.oneRow(es, make([]string, len(es)))
	seen := map[string]bool{}
	for _, at := range d.Into {
		if name, ok := variableName(at.Parts); !ok {
			a.failWith(at, unresolvedColumn(at.Parts, nil))
		} else if _, ok := a.cat.Variable(name); !ok {
			a.failWith(at, unresolvedColumn(at.Parts, nil))
		}
		v := a.variable(at, at.Parts)
		if seen[strings.ToLower(v.Name)] {
			a.fail(nil, "DUPLICATE_ASSIGNMENTS", "nameList", types.Quote(v.Name))
		}
		seen[strings.ToLower(v.Name)] = true
		n.Into = append(n.Into, v.Name)
	}
	for _, e := range es {
		n.Texts = append(n.Texts, `"`+e.String()+`"`)
	}
	return n
}
