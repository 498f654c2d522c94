package exec

import (
	"context"

	"streamlab/columnar"
	"streamlab/errs"
)

const (
	lentRows  = 4096 // that are gathered before they are shown
	lentWhole = 512  // chunks of so many rows are shown as they are
)

// Lend shows the rows of the part as they come, see columnar.Lender, and keeps none of them: of a plan with state
// they can be had once. Where parts are computed before they are asked for, those are shown.
func (x *result) Lend(ctx context.Context, give func(cols []*columnar.Vec, n int) error) error {
	if x.err != nil {
		return x.err
	}
	ptrs := make([]*columnar.Vec, len(x.p.schema))
	if x.p.early != nil || x.done {
		for rb, err := range x.Rows(ctx) {
			if err != nil {
				return err
			}
			vs := columnar.Vectors(rb, x.p.schema)
			for i := range vs {
				ptrs[i] = &vs[i]
			}
			if err := give(ptrs, int(rb.NumRows())); err != nil {
				return err
			}
		}
		return nil
	}
	x.lent = true
	r := *x.r
	r.ctx = ctx
	w := x.p.acquire()
	defer x.p.release(w)
	b, err := x.p.lending.get(w)
	if err != nil {
		return err
	}
	buf := *b
	defer buf.clear()
	buf.clear()
	flush := func() error {
		if buf.n == 0 {
			return nil
		}
		err := give(buf.cols, buf.n)
		buf.clear()
		return err
	}
	err = x.p.root.part(&r, w, x.part, func(c *chunk) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.sel.N >= lentWhole && x.p.plain(c) {
			if err := flush(); err != nil {
				return err
			}
			for i := range ptrs {
				ptrs[i] = &c.cols[i]
			}
			return give(ptrs, c.sel.N)
		}
		if buf.add(c.cols, c.sel); buf.n < lentRows {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		x.done = true
	}
	return err
}

// plain says that all rows of a chunk are there as vectors.
func (p *Plan) plain(c *chunk) bool {
	if !c.sel.All {
		return false
	}
	for i := range p.schema {
		v := &c.cols[i]
		if v.Const || v.Phys != columnar.PhysicalOf(p.schema[i].Type) || v.Len != c.sel.N {
			return false
		}
	}
	return true
}

func errLent() error {
	return errs.New("INTERNAL_ERROR", "message", "rows that were lent are asked for again")
}
