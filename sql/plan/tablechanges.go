package plan

import (
	"strings"

	"streamlab/sql"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// changesOf analyses table_changes(name, start[, end]) and table_changes_by_path(path, start[, end]): the
// change rows of a table between two versions or times, both included.
func (a *analyzer) changesOf(f *sql.FuncCall) Node {
	name := functionName(f.Name)
	if len(f.Args) < 2 || len(f.Args) > 3 {
		a.fail(f, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "functionName", types.Quote(name), "expectedNum", "[2, 3]", "actualNum", len(f.Args), "docroot", docroot)
	}
	x := &resolver{a: a, sc: newScope(&OneRow{}, nil, nil)}
	constant := func(i int) *expr.Literal {
		l, err := expr.Const(x.expr(f.Args[i]), a.conf.Expr)
		a.check(f.Args[i], err)
		if l == nil || l.Value.IsNull(0) {
			a.fail(f.Args[i], "UNEXPECTED_INPUT_TYPE", "functionName", types.Quote(name), "paramIndex", ordinalWord(i), "requiredType", `"BIGINT"`,
				"inputSql", `"NULL"`, "inputType", `"VOID"`)
		}
		return l
	}
	which := constant(0)
	if which.Type().Kind != types.String {
		a.fail(f.Args[0], "UNEXPECTED_INPUT_TYPE", "functionName", types.Quote(name), "paramIndex", "first", "requiredType", `"STRING"`,
			"inputSql", `"`+which.String()+`"`, "inputType", `"`+which.Type().SQL()+`"`)
	}
	text := string(which.Value.Bytes(0))
	var r catalog.Relation
	ok := false
	if name == "table_changes_by_path" {
		t, found, err := a.cat.File("delta", text)
		a.check(f.Args[0], err)
		r, ok = catalog.Relation{Name: text, Table: t}, found
	} else {
		e, err := sql.ParseExpr(text)
		a.check(f.Args[0], err)
		parts := strings.Split(text, ".")
		if n, plain := e.(*sql.Name); plain {
			parts = n.Parts
		}
		if r, ok = a.find(f.Args[0], parts); !ok {
			a.notFound(f.Args[0], parts)
		}
	}
	cr, can := r.Table.(catalog.ChangeReader)
	if !ok || !can {
		a.fail(f, "DELTA_TABLE_ONLY_OPERATION", "tableName", text, "operation", name)
	}
	bound := func(i int, end bool) int64 {
		l := constant(i)
		if l.Type().Kind == types.Null {
			a.fail(f.Args[i], "DELTA_CDC_READ_NULL_RANGE_BOUNDARY")
		}
		if l.Type().IsIntegral() {
			n, err := expr.Const(expr.CastTo(l, types.Of(types.BigInt), a.conf.Expr), a.conf.Expr)
			a.check(f.Args[i], err)
			return n.Value.I64[0]
		}
		at, err := expr.Const(expr.CastTo(l, types.Of(types.Timestamp), a.conf.Expr), a.conf.Expr)
		a.check(f.Args[i], err)
		c, timed := r.Table.(catalog.VersionClock)
		if !timed || at == nil || at.Value.IsNull(0) {
			a.fail(f.Args[i], "DELTA_TIMESTAMP_INVALID", "expr", l.String())
		}
		v, err := c.VersionFor(at.Value.I64[0], end)
		a.check(f.Args[i], err)
		return v
	}
	from, to := bound(1, false), int64(-1)
	if len(f.Args) == 3 {
		to = bound(2, true)
	}
	t, err := cr.Changes(from, to)
	a.check(f, err)
	return &Scan{Name: text, Table: t, Out: plainSchema(t.Schema())}
}
