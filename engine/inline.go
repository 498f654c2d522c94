package engine

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources/memory"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// InlineTable makes a table of rows that stand in a lab file or test: a row is a list of nil, texts, numbers,
// booleans, lists and maps, one a column of the DDL; texts are cast as SQL casts them.
func (s *Session) InlineTable(ddl string, rows [][]any) (catalog.Table, error) {
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		return nil, err
	}
	rb, err := s.InlineRows(schema, rows)
	if err != nil {
		return nil, err
	}
	return &catalog.Memory{S: schema, List: columnar.Batches{Name: "rows", List: []arrow.RecordBatch{rb}}}, nil
}

// Feed adds one micro-batch of rows to a memory source of the catalog, which may have got a watermark since.
// Errors: NOT_A_MEMORY_SOURCE.
func (s *Session) Feed(source string, rows [][]any) error {
	stream := s.fed(source)
	if stream == nil {
		return errs.New("NOT_A_MEMORY_SOURCE", "name", source)
	}
	rb, err := s.InlineRows(stream.Schema(), rows)
	if err != nil {
		return err
	}
	return memory.Add(stream.Open.(*opening).def, rb)
}

// fed is the memory source of a name; nil if it is none.
func (s *Session) fed(source string) *catalog.Stream {
	r, ok := s.catalog.Lookup(source)
	stream := r.Stream
	if ok && stream == nil && r.View != nil {
		stream = watermarked(r.View.Plan)
	}
	if stream == nil || stream.Format != "memory" {
		return nil
	}
	return stream
}

// watermarked is the stream below a view's watermarks and columns; nil if something else is between.
func watermarked(view any) *catalog.Stream {
	switch n := view.(type) {
	case *plan.Watermark:
		return watermarked(n.Child)
	case *plan.Project:
		return watermarked(n.Child)
	case *plan.Scan:
		return n.Stream
	}
	return nil
}

// InlineRows reads rows under a schema: each cell as text through a cast, lists and maps as JSON. Errors:
// INLINE_ROW_WIDTH, those of casts.
func (s *Session) InlineRows(schema types.Schema, rows [][]any) (arrow.RecordBatch, error) {
	text := make(types.Schema, len(schema))
	in := make([]columnar.Vec, len(schema))
	for j, f := range schema {
		text[j] = types.Field{Name: f.Name, Type: types.Of(types.String), Nullable: true}
		v := columnar.NewVec(text[j].Type, len(rows))
		v.MakeValid(len(rows))
		in[j] = *v
	}
	for i, row := range rows {
		if len(row) != len(schema) {
			return nil, errs.New("INLINE_ROW_WIDTH", "row", i+1, "have", len(row), "want", len(schema))
		}
		for j, c := range row {
			v := &in[j]
			switch x := c.(type) {
			case nil:
				columnar.ClearBit(v.Valid, i)
			case string:
				v.Data = append(v.Data, x...)
			case []any, map[string]any:
				raw, err := json.Marshal(x)
				if err != nil {
					return nil, err
				}
				v.Data = append(v.Data, raw...)
			default:
				v.Data = fmt.Append(v.Data, x)
			}
			v.Off[i+1] = int32(len(v.Data))
		}
	}
	conf := exprConf(s.conf)
	es := make([]expr.Expr, len(schema))
	for j, f := range schema {
		col := &expr.Column{Index: j, Field: text[j]}
		var err error
		if f.Type.IsAtomic() {
			es[j], err = expr.NewCast(col, f.Type, expr.Explicit, conf)
		} else {
			es[j], err = expr.Build("from_json", []expr.Expr{col, expr.StringLit(f.Type.SQL())}, conf)
		}
		if err != nil {
			return nil, err
		}
	}
	prog, err := expr.Compile(es, text, conf)
	if err != nil {
		return nil, err
	}
	sel := columnar.AllRows(len(rows))
	out, err := prog.Eval(in, sel)
	if err != nil {
		return nil, err
	}
	return columnar.RecordOf(schema, out, sel), nil
}
