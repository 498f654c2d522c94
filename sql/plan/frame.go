package plan

import (
	"strings"

	"streamlab/errs"
	"streamlab/sql"
	"streamlab/sql/expr"
	"streamlab/sql/types"
)

// The functions of this file build plans as DataFrame methods do.

// WithWatermark marks a top-level column as the event time; rows may be late by at most delay, an interval
// text. On a plan without streams it checks its arguments only.
func WithWatermark(n Node, column, delay string) (Node, error) {
	us, err := parseDelay(delay)
	if err != nil {
		if e := errs.As(err); e.Condition == "CANNOT_PARSE_INTERVAL" {
			err = errs.New("CANNOT_PARSE_INTERVAL", "intervalString", "'"+delay+"'")
		}
		return nil, err
	}
	i := n.Schema().Index(strings.Trim(column, "`"))
	if i < 0 {
		e, perr := sql.ParseExpr(column)
		if name, ok := e.(*sql.Name); perr == nil && ok && len(name.Parts) > 1 {
			if k := n.Schema().Index(name.Parts[0]); k >= 0 {
				return nil, errs.New("EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN", "eventExpr", strings.Join(name.Parts, "."))
			}
		}
		return nil, proposalError(column, n.Schema())
	}
	w, err := watermark(n, i, us)
	if err != nil {
		return nil, err
	}
	if !n.Streaming() {
		return n, nil
	}
	return w, nil
}

// DropDuplicates keeps the first row of each value of columns; none is all columns.
func DropDuplicates(n Node, columns []string) (Node, error) { return dedup(n, columns, false) }

// DropDuplicatesWithinWatermark is DropDuplicates that forgets a value when the watermark passes the event
// time of its first row plus the delay.
func DropDuplicatesWithinWatermark(n Node, columns []string) (Node, error) {
	return dedup(n, columns, true)
}

func dedup(n Node, columns []string, within bool) (Node, error) {
	d := &Dedup{Child: n, WithinWatermark: within}
	s := n.Schema()
	if len(columns) == 0 {
		for i := range s {
			d.Cols = append(d.Cols, i)
		}
		return d, nil
	}
	seen := map[int]bool{}
	for _, c := range columns {
		found := false
		for i, f := range s { // all columns of the name
			if strings.EqualFold(f.Name, c) {
				found = true
				if !seen[i] {
					seen[i] = true
					d.Cols = append(d.Cols, i)
				}
			}
		}
		if !found {
			return nil, errs.New("UNRESOLVED_COLUMN_AMONG_FIELD_NAMES", "colName", `"`+c+`"`, "fieldNames", strings.Join(s.Names(), ", "))
		}
	}
	for _, i := range d.Cols {
		if t := s[i].Type; holdsMap(t) {
			return nil, errs.New("UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE", "colName", types.Quote(s[i].Name),
				"dataType", `"`+t.SQL()+`"`)
		}
	}
	return d, nil
}

// frame analyses something over the columns of a plan.
func frame[T any](n Node, conf Conf, f func(a *analyzer, x *resolver) T) (out T, err error) {
	a := &analyzer{conf: conf, spans: map[expr.Expr]sql.Span{}}
	defer a.recover(&err)
	return f(a, &resolver{a: a, sc: newScope(n, columnsOf(n, nil), nil)}), nil
}

// AnalyzeExprs resolves expressions over the columns of a plan, without aggregates and subqueries. Names are
// those that Spark would give.
func AnalyzeExprs(texts []string, n Node, conf Conf) (es []expr.Expr, names []string, err error) {
	for _, t := range texts {
		it, err := sql.ParseItem(t)
		if err != nil {
			return nil, nil, err
		}
		conf.Text = t
		one, err := frame(n, conf, func(a *analyzer, x *resolver) *item {
			a.text = t
			return x.items([]sql.SelectItem{it})[0]
		})
		if err != nil {
			return nil, nil, err
		}
		es = append(es, strip(one.e))
		names = append(names, one.name)
	}
	return es, names, nil
}

// Select computes columns: texts as in selectExpr.
func Select(n Node, texts []string, conf Conf) (Node, error) {
	es, names, err := AnalyzeExprs(texts, n, conf)
	if err != nil {
		return nil, err
	}
	return newProject(n, es, names), nil
}

// Where keeps the rows for which a condition holds.
func Where(n Node, condition string, conf Conf) (Node, error) {
	e, err := sql.ParseExpr(condition)
	if err != nil {
		return nil, err
	}
	return frame(n, conf, func(a *analyzer, x *resolver) Node {
		a.text = condition
		a.where(x.sc, e, e)
		return x.sc.node
	})
}

// UnionAll yields the rows of both plans, by position.
func UnionAll(l, r Node, conf Conf) (Node, error) {
	if len(l.Schema()) != len(r.Schema()) {
		return nil, errs.New("NUM_COLUMNS_MISMATCH", "operator", "UNION", "firstNumColumns", len(l.Schema()),
			"invalidOrdinalNum", "second", "invalidNumColumns", len(r.Schema()))
	}
	return frame(l, conf, func(a *analyzer, x *resolver) Node {
		ts := make([]types.DataType, len(l.Schema()))
		out := append(types.Schema{}, l.Schema()...)
		for i, f := range l.Schema() {
			g := r.Schema()[i]
			t, ok := expr.CommonTypeOf(f.Type, g.Type, conf.Expr)
			if !ok {
				a.fail(nil, "INCOMPATIBLE_COLUMN_TYPE", "operator", "UNION", "columnOrdinalNumber", ordinalWord(i),
					"tableOrdinalNumber", "second", "dataType1", `"`+g.Type.SQL()+`"`, "dataType2", `"`+f.Type.SQL()+`"`, "hint", "")
			}
			ts[i] = t
			out[i].Type, out[i].Nullable = t, f.Nullable || g.Nullable
		}
		return &Union{Inputs: []Node{a.castTo(l, ts), a.castTo(r, ts)}, Out: out}
	})
}

// LimitTo yields at most k rows.
func LimitTo(n Node, k int64) Node { return &Limit{Child: n, N: k} }

// holdsMap reports a MAP anywhere in a type.
func holdsMap(t types.DataType) bool {
	if t.Kind == types.Map || t.Elem != nil && holdsMap(*t.Elem) {
		return true
	}
	for _, f := range t.Fields {
		if holdsMap(f.Type) {
			return true
		}
	}
	return false
}
