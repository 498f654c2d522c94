package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sql/plan"
)

// unrolled runs the recursions of a plan and puts their rows in their place.
func (s *Session) unrolled(ctx context.Context, n plan.Node) (plan.Node, error) {
	if !plan.HasRecursion(n) {
		return n, nil
	}
	return plan.Unroll(n, -1, func(r *plan.Recursion, limit int64) (plan.Node, error) {
		last, _, err := s.collect(ctx, plan.Optimize(r.Anchor))
		if err != nil {
			return nil, err
		}
		all := append([]arrow.RecordBatch{}, last...)
		count := countRows(last)
		for level := 1; countRows(last) > 0 && (limit < 0 || count < limit); level++ {
			if r.MaxLevel >= 0 && level > r.MaxLevel {
				return nil, errs.New("RECURSION_LEVEL_LIMIT_EXCEEDED", "levelLimit", r.MaxLevel)
			}
			if r.MaxRows >= 0 && count > r.MaxRows {
				return nil, errs.New("RECURSION_ROW_LIMIT_EXCEEDED", "rowLimit", r.MaxRows)
			}
			step := plan.Fill(r.Step, r.Hole, inMemory(r.Hole.Out, last))
			if last, _, err = s.collect(ctx, plan.Optimize(step)); err != nil {
				return nil, err
			}
			all = append(all, last...)
			count += countRows(last)
		}
		return inMemory(r.Out, all), nil
	})
}
