package exec

import (
	"streamlab/columnar"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

func (b *builder) limit(x *plan.Limit) (operator, error) {
	streaming := x.Streaming() && b.conf.Mode != ""
	if !streaming || b.conf.Mode == "complete" && aggregates(x.Child) {
		child, err := b.build(x.Child)
		if err != nil {
			return nil, err
		}
		return b.pass(&limit{child: child, n: x.N, skip: x.Offset}, child), nil
	}
	if x.Offset > 0 {
		return nil, refuse("OFFSET of a stream")
	}
	if x.N == 0 {
		if _, err := b.build(x.Child); err != nil {
			return nil, err
		}
		return &values{}, nil
	}
	n, below := x.N, x.Child
	for { // adjacent limits are one
		l, ok := below.(*plan.Limit)
		if !ok || l.Offset > 0 || l.N < 0 {
			break
		}
		n, below = min(n, l.N), l.Child
	}
	number := b.addStateful()
	child, err := b.build(below)
	if err != nil {
		return nil, err
	}
	if s := scanBelow(child); s != nil {
		child = b.pass(&localLimit{child: child, n: n, scan: s}, child)
	}
	o := &streamLimit{child: child, n: n, schema: x.Schema()}
	o.reset()
	b.p.stateful[number] = o
	return b.pass(o, child), nil
}

// aggregates reports a streaming aggregation in n.
func aggregates(n plan.Node) bool {
	if a, ok := n.(*plan.Aggregate); ok && a.Streaming() {
		return true
	}
	for _, c := range n.Children() {
		if aggregates(c) {
			return true
		}
	}
	return false
}

// scanBelow finds the scan whose chunks come up to o with their positions; nil if something else is between.
func scanBelow(o operator) *scan {
	for {
		switch x := o.(type) {
		case *scan:
			x.limited = true
			x.chunks.make = func() (*columnar.Sel, error) { return &columnar.Sel{}, nil }
			return x
		case *project:
			o = x.child
		case *filter:
			o = x.child
		case *tap:
			o = x.child
		default:
			return nil
		}
	}
}

// localLimit passes the first n rows of each part and reads no further, so that what is counted as input is
// what Spark counts.
type localLimit struct {
	child operator
	n     int64
	scan  *scan
}

func (o *localLimit) open(r *run) (int, error) { return o.child.open(r) }

func (o *localLimit) part(r *run, w, p int, to emit) error {
	left := o.n
	err := o.child.part(r, w, p, func(c *chunk) error {
		if int64(c.sel.N) < left {
			left -= int64(c.sel.N)
			return to(c)
		}
		sel := c.sel
		sel.N = int(left)
		if !sel.All {
			sel.Idx = sel.Idx[:sel.N]
		}
		if err := o.scan.unread(r, w, sel.At(sel.N-1)); err != nil {
			return err
		}
		if err := to(&chunk{cols: c.cols, sel: sel}); err != nil {
			return err
		}
		return errEnough
	})
	if err == errEnough {
		return nil
	}
	return err
}

// streamLimit passes the first n rows of the query's life. Its state is one record: how many have passed.
type streamLimit struct {
	child  operator
	n      int64
	schema types.Schema
	t      *table
	buf    *rowsBuffer
	count  OperatorCounters
	stats  segmentStats
	batch  int64
	tap    *tap // nil: untraced
}

func (o *streamLimit) passed() *int64 {
	if o.t.live == 0 {
		g := o.t.add(0)
		o.t.link(g)
	}
	return (*int64)(o.t.rec.Ptr(0, o.t.extraAt()))
}

func (o *streamLimit) open(r *run) (int, error) {
	o.batch = r.task.Batch
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	o.buf = newRowsBuffer(o.schema)
	had := int64(0)
	if o.t.live > 0 {
		had = *o.passed()
	}
	left := o.n - had
	// all input is consumed: state below must be complete
	err = r.inOrder(o.child, o.schema, parts, func(p int, c *chunk) error {
		sel := c.sel
		sel.N = int(min(int64(sel.N), left))
		if sel.N > 0 {
			left -= int64(sel.N)
			if !sel.All {
				sel.Idx = sel.Idx[:sel.N]
			}
			o.buf.add(c.cols, sel)
			if o.tap != nil {
				o.tap.passOn(sel)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if o.buf.n > 0 {
		*o.passed() += int64(o.buf.n)
		o.t.mark(0)
		o.count.NumRowsUpdated = 1
	}
	o.count.NumRowsTotal, o.count.MemoryUsedBytes = int64(o.t.live), o.t.bytes()
	return 1, nil
}

func (o *streamLimit) part(r *run, w, p int, to emit) error {
	return pushRows(o.buf.vecs(), o.buf.n, to)
}

func (o *streamLimit) Name() string                { return "globalLimit" }
func (o *streamLimit) counters() *OperatorCounters { return &o.count }
func (o *streamLimit) needsBatch(w int64) bool     { return false }
func (o *streamLimit) settle()                     { o.t.settle() }

func (o *streamLimit) reset() {
	o.t = newTable(newLayout(nil, true), 8)
	o.count.SinglePartition = true
	o.stats = segmentStats{}
}

func (o *streamLimit) shape() OperatorShape {
	return newShape(o.Name(), nil, types.Schema{{Name: "count", Type: types.Of(types.BigInt), Nullable: true}})
}

func (o *streamLimit) save(b *store.Batch, number int) error {
	return saveTable(b, store.Shard{Operator: number}, o.t, nil, &o.stats, o.batch)
}

func (o *streamLimit) load(v *store.View, number int) error {
	return loadTable(v, store.Shard{Operator: number}, o.t, nil, &o.stats)
}
