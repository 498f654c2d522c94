package exec

import (
	"cmp"
	"slices"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// sessionDistinct groups static rows by sessions where an aggregate is DISTINCT. The values that such an
// aggregate has seen belong to a session, and which session a row falls into is known only when all rows are:
// two sessions that a third row joins may have counted the same value twice. So the rows are kept, each gets
// its final session as its key, and then they are grouped like any others (Spark's UpdatingSessionsExec).
type sessionDistinct struct {
	child   operator
	g       *grouping
	session int // place of the window among the keys
	rest    []int

	t      *table
	f      *folder
	groups []uint32
}

func (o *sessionDistinct) open(r *run) (int, error) {
	parts, err := o.child.open(r)
	if err != nil {
		return 0, err
	}
	if o.f, err = o.g.newFolder(); err != nil { // sets of values seen are made anew
		return 0, err
	}
	o.t = o.g.newTable()
	s := make(types.Schema, len(o.g.exprs))
	for i, e := range o.g.exprs {
		s[i].Type = e.Type()
	}
	rows := newRowsBuffer(s)
	for part := range parts {
		o.f.prog.Begin(r.exprTask(part))
		err := o.child.part(r, 0, part, func(c *chunk) error {
			vs, err := o.f.prog.Eval(c.cols, c.sel)
			if err != nil {
				return err
			}
			for i, v := range vs {
				appendVec(rows.cols[i], v, c.sel)
			}
			rows.n += c.sel.N
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	o.widen(rows)
	vs := make([]*columnar.Vec, len(rows.cols))
	err = pushRows(rows.vecs(), rows.n, func(c *chunk) error {
		for i := range vs {
			vs[i] = &c.cols[i]
		}
		return o.f.foldValues(o.t, vs, c.sel)
	})
	if err != nil {
		return 0, err
	}
	o.groups = o.t.groups(o.groups[:0])
	return 1, nil
}

// widen gives each row the start and end of the session that its key's rows make of it.
func (o *sessionDistinct) widen(rows *rowsBuffer) {
	var ts []types.DataType
	var rest []*columnar.Vec
	for _, k := range o.rest {
		ts = append(ts, o.g.keys[k].Type())
		rest = append(rest, rows.cols[k])
	}
	l := newLayout(ts, true)
	enc, keys := newEncoder(l), newTable(l, 0)
	owners := make([]uint32, rows.n)
	enc.encode(rest, columnar.AllRows(rows.n))
	keys.upsert(enc, owners)
	win := rows.cols[o.session]
	starts, ends := win.Kids[0].I64, win.Kids[1].I64
	order := make([]int32, rows.n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := cmp.Compare(owners[a], owners[b]); c != 0 {
			return c
		}
		return cmp.Compare(starts[a], starts[b])
	})
	for len(order) > 0 {
		first := order[0]
		end, k := ends[first], 1
		for k < len(order) && owners[order[k]] == owners[first] && starts[order[k]] <= end {
			end = max(end, ends[order[k]])
			k++
		}
		start := starts[first]
		for _, i := range order[:k] {
			starts[i], ends[i] = start, end
		}
		order = order[k:]
	}
}

func (o *sessionDistinct) part(r *run, w, p int, to emit) error {
	return o.g.push(o.t, o.g.fresh(), o.groups, to)
}
