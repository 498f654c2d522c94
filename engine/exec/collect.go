package exec

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// Collect runs a static plan and gives all of its rows, in order. c.Mode is ignored.
func Collect(ctx context.Context, n plan.Node, c Conf) ([]arrow.RecordBatch, types.Schema, error) {
	parts, err := Partitions(ctx, n, c)
	if err != nil {
		return nil, nil, err
	}
	var out []arrow.RecordBatch
	for _, p := range parts {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return nil, nil, err
			}
			out = append(out, rb)
		}
	}
	return out, n.Schema(), nil
}

// Partitions runs a static plan up to its last stage; reading the partitions does the rest.
func Partitions(ctx context.Context, n plan.Node, c Conf) ([]columnar.Partition, error) {
	c.Mode = ""
	p, err := Build(n, c)
	if err != nil {
		return nil, err
	}
	t := &Task{NowMicros: c.NowMicros}
	if err := p.Bind(t); err != nil {
		return nil, err
	}
	parts := p.Partitions(ctx, t)
	for _, x := range parts {
		if r, ok := x.(*result); ok && r.err != nil {
			return nil, r.err
		}
	}
	return parts, nil
}

// TextRows makes a record batch of texts, one a cell: each is cast to its column's type, or parsed as JSON
// for nested columns. A nil cell is NULL; other cells are strings. Texts that do not fit are errors if c
// says ANSI, else NULL.
func TextRows(s types.Schema, cells [][]any, c expr.Conf) (arrow.RecordBatch, error) {
	in := make(types.Schema, len(s))
	es := make([]expr.Expr, len(s))
	for i, f := range s {
		in[i] = types.Field{Name: f.Name, Type: types.Of(types.String), Nullable: true}
		col := &expr.Column{Index: i, Field: in[i]}
		var err error
		switch f.Type.Kind {
		case types.String:
			es[i] = col
			if f.Type.Length > 0 || f.Type.Collation != "" {
				es[i], err = expr.NewCast(col, f.Type, expr.Explicit, c)
			}
		case types.Array, types.Map, types.Struct, types.Variant:
			es[i], err = fromJSON(col, f.Type, c)
		default:
			es[i], err = expr.NewCast(col, f.Type, expr.Explicit, c)
		}
		if err != nil {
			return nil, err
		}
	}
	cols := make([]columnar.Vec, len(s))
	for i := range cols {
		v := columnar.NewVec(types.Of(types.String), 0)
		v.Len = len(cells)
		for k, row := range cells {
			if text, ok := row[i].(string); ok {
				v.Data = append(v.Data, text...)
			} else if v.Valid == nil {
				v.MakeValid(len(cells))
			}
			if row[i] == nil {
				columnar.ClearBit(v.Valid, k)
			}
			v.Off = append(v.Off, int32(len(v.Data)))
		}
		cols[i] = *v
	}
	p, err := expr.Compile(es, in, c)
	if err != nil {
		return nil, err
	}
	p.Begin(expr.Task{})
	sel := columnar.AllRows(len(cells))
	vs, err := p.Eval(cols, sel)
	if err != nil {
		return nil, err
	}
	buf := newRowsBuffer(s)
	for i, v := range vs {
		appendVec(buf.cols[i], v, sel)
	}
	buf.n = len(cells)
	return buf.record(s.Arrow()), nil
}

// fromJSON parses text into a nested type.
func fromJSON(col expr.Expr, t types.DataType, c expr.Conf) (expr.Expr, error) {
	if t.Kind == types.Variant {
		return expr.Build("parse_json", []expr.Expr{col}, c)
	}
	ddl := columnar.NewVec(types.Of(types.String), 0)
	text := t.SQL()
	ddl.Len, ddl.Data, ddl.Off, ddl.Const = 1, []byte(text), []int32{0, int32(len(text))}, true
	return expr.Build("from_json", []expr.Expr{col, &expr.Literal{Value: ddl, Text: text}}, c)
}
