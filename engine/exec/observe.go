package exec

import (
	"maps"
	"slices"
	"sync"

	"streamlab/columnar"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// observe passes rows on and folds them into aggregates without keys, a table for each part. A part that is
// read again replaces its table, so that its rows count once however often the sink reads them.
type observe struct {
	child operator
	g     *grouping
	name  string
	exprs []expr.Expr
	out   types.Schema

	mu    sync.Mutex
	parts map[int]*table
	free  []*folder
}

func newObserve(child operator, x *plan.Observe, c expr.Conf) (*observe, error) {
	o := &observe{child: child, g: newGrouping(nil, x.Calls, x.Child.Schema(), c), name: x.Name, exprs: x.Exprs, out: x.Out}
	f, err := o.g.newFolder()
	if err != nil {
		return nil, err
	}
	o.free = append(o.free, f)
	return o, nil
}

func (o *observe) open(r *run) (int, error) {
	o.parts = map[int]*table{}
	return o.child.open(r)
}

func (o *observe) part(r *run, w, p int, to emit) error {
	f, err := o.folder()
	if err != nil {
		return err
	}
	t := o.g.newTable()
	f.prog.Begin(r.exprTask(p))
	err = o.child.part(r, w, p, func(c *chunk) error {
		if err := f.fold(t, c); err != nil {
			return err
		}
		return to(c)
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = append(o.free, f)
	if err == nil {
		o.parts[p] = t
	}
	return err
}

// folder gives one that no other worker uses.
func (o *observe) folder() (*folder, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.free); n > 0 {
		f := o.free[n-1]
		o.free = o.free[:n-1]
		return f, nil
	}
	return o.g.newFolder()
}

// metrics merges the parts and gives the one row of results. Parts merge in their order, so that sums of a
// re-run are the same to the last digit.
func (o *observe) metrics() (Metrics, error) {
	f, err := o.folder()
	if err != nil {
		return Metrics{}, err
	}
	p := &partialFold{f: f, t: o.g.newTable()}
	f.global(p)
	m := o.g.newMerger()
	for _, i := range slices.Sorted(maps.Keys(o.parts)) { // a LIMIT above may have left parts unread
		t := o.parts[i]
		if err := m.merge(p.t, t, t.groups(nil), nil); err != nil {
			return Metrics{}, err
		}
	}
	cols := make([]columnar.Vec, len(o.g.calls))
	if err := o.g.results(p.t, o.g.fresh(), p.t.groups(nil), cols); err != nil {
		return Metrics{}, err
	}
	s := make(types.Schema, len(o.g.calls))
	in := make([]columnar.Vec, len(cols))
	for i, c := range o.g.calls {
		s[i] = types.Field{Name: c.Text, Type: c.Type(), Nullable: true}
		in[i] = cols[i]
	}
	prog, err := expr.Compile(o.exprs, s, o.g.conf)
	if err != nil {
		return Metrics{}, err
	}
	row, err := prog.Eval(in, columnar.AllRows(1))
	o.free = append(o.free, f)
	return Metrics{o.name, o.out, row}, err
}

// Metrics is one row of observed aggregates.
type Metrics struct {
	Name   string
	Schema types.Schema
	Row    []*columnar.Vec // one value each
}

// Metrics gives what was observed in the batch, nearest the sink first; nil if the plan observes nothing. It is
// to be asked after Finish.
func (p *Plan) Metrics() (out []Metrics, err error) {
	for _, o := range p.observed {
		m, err := o.metrics()
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}
