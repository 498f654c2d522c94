package engine

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/sinks/memory"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// memoryTable is what a memory sink holds, as a relation of the session: the view that Spark makes under the
// query's name. Every scan sees the batches that are committed by then.
type memoryTable struct {
	s      *Session
	name   string
	schema types.Schema
}

func (m *memoryTable) Schema() types.Schema { return m.schema }

func (m *memoryTable) Scan(ctx context.Context, _ catalog.Scan) ([]columnar.Partition, error) {
	a, err := memory.Door(m.s.workspace).Query(ctx, `SELECT * FROM "`+strings.ReplaceAll(m.name, `"`, `""`)+`"`, 0)
	if err != nil {
		return nil, err
	}
	cells := make([][]any, len(a.Rows))
	for i, r := range a.Rows {
		cells[i] = make([]any, len(r))
		for j, c := range r {
			if !c.Null {
				cells[i][j] = c.Text
			}
		}
	}
	rb, err := exec.TextRows(m.schema, cells, exprConf(m.s.conf))
	if err != nil {
		return nil, err
	}
	return []columnar.Partition{columnar.Batches{Name: m.name, List: []arrow.RecordBatch{rb}}}, nil
}

// showMemory makes the view of a memory sink. A name that stands for something else keeps its meaning.
func (s *Session) showMemory(name string, schema types.Schema) error {
	if r, ok := s.catalog.Lookup(name); ok && !isMemoryView(r) {
		return nil
	}
	_, err := s.over(name, &memoryTable{s: s, name: name, schema: schema})
	return err
}

func isMemoryView(r catalog.Relation) bool {
	if r.View == nil {
		return false
	}
	n, _ := r.View.Plan.(plan.Node)
	for n != nil {
		if sc, ok := n.(*plan.Scan); ok {
			_, ok := sc.Table.(*memoryTable)
			return ok
		}
		kids := n.Children()
		if len(kids) != 1 {
			return false
		}
		n = kids[0]
	}
	return false
}
