package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// routine is the name of a function as errors show it.
func (r *statement) routine(parts []string, temporary bool) string {
	if temporary {
		return types.Quote(parts[len(parts)-1])
	}
	db, name, ok := r.s.catalog.Place(parts)
	if !ok {
		return quoteParts(parts)
	}
	return types.Quote(db) + "." + types.Quote(name)
}

func (s *Session) createFunction(c *plan.CreateFunction) (*DataFrame, error) {
	r := &statement{s: s}
	f := c.Function
	if f.Temporary {
		old, ok := s.catalog.Function([]string{"session", f.Name})
		if ok && old.Temporary && !c.Replace {
			if c.IfNotExists {
				return s.answer(nil, nil)
			}
			return nil, errs.New("ROUTINE_ALREADY_EXISTS", "routineName", types.Quote(f.Name), "newRoutineType", "routine", "existingRoutineType", "routine")
		}
		s.catalog.PutFunction(f)
		return s.answer(nil, nil)
	}
	db, name, err := s.place(c.Parts)
	if err != nil {
		return nil, err
	}
	f.Database, f.Name = db, name
	if old, ok := s.catalog.Function([]string{"spark_catalog", db, name}); ok && !old.Temporary && !c.Replace {
		if c.IfNotExists {
			return s.answer(nil, nil)
		}
		return nil, errs.New("ROUTINE_ALREADY_EXISTS", "routineName", r.routine(c.Parts, false), "newRoutineType", "routine", "existingRoutineType", "routine")
	}
	s.catalog.PutFunction(f)
	return s.answer(nil, nil)
}

func (r *statement) dropFunction(c *sql.Drop) (*DataFrame, error) {
	f, ok := r.s.catalog.Function(c.Name)
	if ok && f.Temporary != c.Temporary {
		ok = false
		if !c.Temporary { // a persistent one may hide behind the temporary one
			db, name, _ := r.s.catalog.Place(c.Name)
			f, ok = r.s.catalog.Function([]string{"spark_catalog", db, name})
		}
	}
	switch {
	case ok:
		r.s.catalog.DropFunction(f)
	case builtin(c.Name):
		return nil, errs.New("FORBIDDEN_OPERATION", "statement", "DROP", "objectType", "FUNCTION", "objectName", quoteParts(c.Name))
	case !c.IfExists:
		return nil, errs.New("ROUTINE_NOT_FOUND", "routineName", r.routine(c.Name, c.Temporary))
	}
	return r.none()
}

func builtin(parts []string) bool {
	if len(parts) != 1 {
		return false
	}
	_, ok := expr.Lookup(strings.ToLower(parts[0]))
	return ok
}

func (r *statement) describeFunction(c *sql.Describe) (*DataFrame, error) {
	schema := types.Schema{text("function_desc")}
	f, ok := r.s.catalog.Function(c.Name)
	if !ok || builtin(c.Name) {
		if len(c.Name) == 1 {
			if b, ok := expr.Lookup(strings.ToLower(c.Name[0])); ok {
				return r.s.answer(schema, [][]any{{"Function: " + strings.ToLower(c.Name[0])}, {"Usage: " + b.Doc}})
			}
		}
		return nil, r.fail(c.NameSpan, "UNRESOLVED_ROUTINE", "routineName", quoteParts(c.Name), "searchPath", plan.SearchPath(r.s.catalog))
	}
	name := f.Name
	if !f.Temporary {
		name = "spark_catalog." + f.Database + "." + f.Name
	}
	pad := 10
	if c.Extended {
		pad = 15
	}
	label := func(key, value string) []any { return []any{fmt.Sprintf("%-*s%s", pad, key, value)} }
	kind, returns := "SCALAR", f.Returns.SQL()
	if f.IsTable {
		kind, returns = "TABLE", ddlOf(f.Table)
	}
	rows := [][]any{label("Function:", name), label("Type:", kind)}
	if f.Class != "" {
		return r.s.answer(schema, [][]any{{"Function: " + name}, {"Class: " + f.Class}, {"Usage: N/A."}})
	}
	key := "Input:"
	for _, p := range f.Params {
		line := p.Name + " " + p.Type.SQL()
		if e, ok := p.Default.(sql.Expr); ok && e != nil {
			line += " DEFAULT " + f.Text[e.Pos().Start:e.Pos().End]
		}
		rows = append(rows, label(key, line))
		key = ""
	}
	rows = append(rows, label("Returns:", returns))
	if c.Extended {
		if f.Comment != "" {
			rows = append(rows, label("Comment:", f.Comment))
		}
		var body sql.Node
		if e, ok := f.Body.(sql.Expr); ok {
			body = e
		} else if q, ok := f.Query.(*sql.Query); ok {
			body = q
		}
		if body != nil {
			rows = append(rows, label("Body:", f.Text[body.Pos().Start:body.Pos().End]))
		}
	}
	return r.s.answer(schema, rows)
}

func ddlOf(s types.Schema) string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Name + " " + f.Type.SQL()
	}
	return strings.Join(out, ", ")
}

// ---- variables

func (s *Session) declare(ctx context.Context, c *plan.Declare) (*DataFrame, error) {
	for _, n := range c.Names {
		if _, ok := s.catalog.Variable(n); ok && !c.Replace {
			return nil, errs.New("VARIABLE_ALREADY_EXISTS", "variableName", "`system`.`session`."+types.Quote(strings.ToLower(n)))
		}
	}
	values, err := s.row(ctx, c.Value)
	if err != nil {
		return nil, err
	}
	for _, n := range c.Names {
		s.catalog.PutVariable(&catalog.Variable{Name: n, Type: c.Type, Value: values[0], Default: c.Default})
	}
	return s.answer(nil, nil)
}

// row computes the one row of a plan as literals: nulls if there is none, an error if there are more.
func (s *Session) row(ctx context.Context, n plan.Node) ([]*expr.Literal, error) {
	rows, schema, err := s.collect(ctx, plan.Optimize(n))
	if err != nil {
		return nil, err
	}
	return s.oneRow(rows, schema)
}

func (s *Session) oneRow(rows []arrow.RecordBatch, schema types.Schema) ([]*expr.Literal, error) {
	out := make([]*expr.Literal, len(schema))
	for i, f := range schema {
		out[i] = expr.NullLit(f.Type)
	}
	if countRows(rows) > 1 {
		return nil, errs.New("ROW_SUBQUERY_TOO_MANY_ROWS")
	}
	for _, rb := range rows {
		if rb.NumRows() == 0 {
			continue
		}
		vs := columnar.Vectors(rb, schema)
		for i := range vs {
			out[i] = expr.LitOf(&vs[i], 0)
		}
	}
	return out, nil
}

func (s *Session) setVariable(ctx context.Context, c *plan.SetVariable) (*DataFrame, error) {
	values, err := s.row(ctx, c.Values)
	if err != nil {
		return nil, err
	}
	s.assign(c.Names, values)
	return s.answer(nil, nil)
}

func (s *Session) assign(names []string, values []*expr.Literal) {
	for i, n := range names {
		if v, ok := s.catalog.Variable(n); ok {
			next := *v
			next.Value = values[i]
			s.catalog.PutVariable(&next)
		}
	}
}

func (r *statement) dropVariable(c *sql.Drop) (*DataFrame, error) {
	q := strings.ToLower(strings.Join(c.Name[:len(c.Name)-1], "."))
	name := c.Name[len(c.Name)-1]
	if q != "" && q != "session" && q != "system.session" {
		return nil, r.fail(c.NameSpan, "UNRESOLVED_VARIABLE", "variableName", quoteParts(c.Name), "searchPath", "[`system`.`session`]")
	}
	if !r.s.catalog.DropVariable(name) && !c.IfExists {
		return nil, errs.New("VARIABLE_NOT_FOUND", "variableName", "`system`.`session`."+types.Quote(name))
	}
	return r.none()
}

// execute carries out EXECUTE IMMEDIATE.
func (s *Session) execute(ctx context.Context, c *plan.Execute) (*DataFrame, error) {
	code, err := s.row(ctx, c.Code)
	if err != nil {
		return nil, err
	}
	if code[0].Value.IsNull(0) {
		return nil, errs.New("NULL_QUERY_STRING_EXECUTE_IMMEDIATE", "varName", c.CodeText)
	}
	text := string(code[0].Value.Bytes(0))
	st, named, _, err := planConf(s.conf).Parser().ParseMarked(text)
	if err != nil {
		return nil, err
	}
	args, err := s.row(ctx, c.Args)
	if err != nil {
		return nil, err
	}
	conf := planConf(s.conf)
	conf.Text = text
	if named {
		conf.Params = map[string]expr.Expr{}
		var without []string
		for i, n := range c.Names {
			if n == "" {
				without = append(without, c.Texts[i])
				continue
			}
			conf.Params[n] = args[i]
		}
		if len(without) > 0 {
			return nil, errs.New("ALL_PARAMETERS_MUST_BE_NAMED", "exprs", strings.Join(without, ", "))
		}
	} else {
		for _, a := range args {
			conf.Positional = append(conf.Positional, a)
		}
	}
	if c.Into == nil {
		return s.analysed(ctx, st, conf)
	}
	if _, ok := st.(*sql.Query); !ok {
		return nil, errs.New("INVALID_STATEMENT_FOR_EXECUTE_INTO", "sqlString", strings.ToUpper(text))
	}
	n, err := plan.Analyze(st, s.catalog, conf)
	if err != nil {
		return nil, err
	}
	if len(n.Schema()) != len(c.Into) {
		return nil, errs.New("ASSIGNMENT_ARITY_MISMATCH", "numTarget", len(c.Into), "numExpr", len(n.Schema()))
	}
	var ts []types.DataType
	for _, name := range c.Into {
		v, ok := s.catalog.Variable(name)
		if !ok {
			return nil, errs.New("VARIABLE_NOT_FOUND", "variableName", "`system`.`session`."+types.Quote(name))
		}
		ts = append(ts, v.Type)
	}
	n, err = plan.CastColumns(n, ts, conf)
	if err != nil {
		return nil, err
	}
	values, err := s.row(ctx, n)
	if err != nil {
		return nil, err
	}
	s.assign(c.Into, values)
	return s.answer(nil, nil)
}

// analysed analyses a statement and carries it out.
func (s *Session) analysed(ctx context.Context, st sql.Statement, conf plan.Conf) (*DataFrame, error) {
	if v, ok := st.(*sql.CreateView); ok && v.Using != "" {
		return s.viewUsing(ctx, v)
	}
	n, err := plan.Analyze(st, s.catalog, conf)
	if err != nil {
		return nil, err
	}
	return s.command(ctx, n)
}
