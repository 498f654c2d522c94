package engine

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/sources/memory"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// InlineTable makes a table of rows that stand in a lab file or test: a row is a list of nil, texts, numbers,
// booleans, lists and maps, read by the schema as the JSON source reads them.
func (s *Session) InlineTable(ddl string, rows [][]any) (catalog.Table, error) {
	schema, err := types.ParseDDL(ddl)
	if err != nil {
		return nil, err
	}
	rb, err := s.inlineRows(schema, rows)
	if err != nil {
		return nil, err
	}
	return &catalog.Memory{S: schema, List: columnar.Batches{Name: "rows", List: []arrow.RecordBatch{rb}}}, nil
}

// Feed adds one micro-batch of rows to a memory source of the catalog.
func (s *Session) Feed(source string, rows [][]any) error {
	r, ok := s.catalog.Lookup(source)
	if !ok || r.Stream == nil || r.Stream.Format != "memory" {
		return errs.New("NOT_A_MEMORY_SOURCE", "name", source)
	}
	rb, err := s.inlineRows(r.Stream.Schema(), rows)
	if err != nil {
		return err
	}
	return memory.Add(r.Stream.Open.(*opening).def, rb)
}

// inlineRows reads rows by casting a text per cell, or JSON for nested cells.
func (s *Session) inlineRows(schema types.Schema, rows [][]any) (arrow.RecordBatch, error) {
	cells := make([][]any, len(rows))
	for i, row := range rows {
		if len(row) != len(schema) {
			return nil, errs.New("INLINE_ROW_WIDTH", "row", i+1, "have", len(row), "want", len(schema))
		}
		cells[i] = make([]any, len(row))
		for j, c := range row {
			switch v := c.(type) {
			case nil:
			case string:
				cells[i][j] = v
			case []any, map[string]any:
				raw, err := json.Marshal(v)
				if err != nil {
					return nil, err
				}
				cells[i][j] = string(raw)
			default:
				cells[i][j] = fmt.Sprint(v)
			}
		}
	}
	return exec.TextRows(schema, cells, exprConf(s.conf))
}
