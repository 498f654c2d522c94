package engine

import (
	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sources/memory"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// A StreamScan is a stream that a DataFrame reads.
type StreamScan struct {
	Name   string // as it was registered
	Format string
	Schema types.Schema
}

// StreamScans lists the streams below a DataFrame, each once, in the order of the plan.
func (d *DataFrame) StreamScans() []StreamScan {
	if d.err != nil {
		return nil
	}
	var out []StreamScan
	seen := map[int64]bool{}
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if s, ok := n.(*plan.Scan); ok && s.Stream != nil && !seen[s.Stream.ID] {
			seen[s.Stream.ID] = true
			out = append(out, StreamScan{s.Stream.Name, s.Stream.Format, s.Stream.Schema()})
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(d.node)
	return out
}

// FeedRecord is Feed of rows that are columns already: those of a source of the same schema. rb must not be
// changed afterwards. Errors: NOT_A_MEMORY_SOURCE.
func (s *Session) FeedRecord(source string, rb arrow.RecordBatch) error {
	stream := s.fed(source)
	if stream == nil {
		return errs.New("NOT_A_MEMORY_SOURCE", "name", source)
	}
	return memory.Add(stream.Open.(*opening).def, rb)
}

// GroupColumns says of every column of the result whether it is made of the keys of the aggregation alone; nil
// if the result does not come from one. Rows that agree in these columns are answers for one group.
func (d *DataFrame) GroupColumns() []bool {
	if d.err != nil {
		return nil
	}
	return groupColumns(d.node)
}

func groupColumns(n plan.Node) []bool {
	switch n := n.(type) {
	case *plan.Aggregate:
		out := make([]bool, len(n.Out))
		for i := range n.Keys {
			out[i] = true
		}
		return out
	case *plan.Project:
		child := groupColumns(n.Child)
		if child == nil {
			return nil
		}
		out := make([]bool, len(n.Exprs))
		for i, e := range n.Exprs {
			some, other := false, false
			expr.Walk(e, func(e expr.Expr) bool {
				if c, ok := e.(*expr.Column); ok {
					some, other = true, other || !child[c.Index]
				}
				return true
			})
			out[i] = some && !other
		}
		return out
	case *plan.Filter, *plan.Sort, *plan.Limit:
		return groupColumns(n.Children()[0])
	}
	return nil
}
