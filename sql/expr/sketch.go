package expr

import (
	"slices"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// A sketch is the state of an aggregate that does not fit a fixed width: it is decoded once for a batch of
// rows and encoded behind them.
type sketch interface {
	update(v *columnar.Vec, i int) error
	merge(s sketch) error
	encode(dst []byte) []byte
}

// sketchAgg keeps an encoded sketch a group in the arena. NULLs are skipped.
type sketchAgg struct {
	out    types.DataType
	empty  func() sketch
	decode func(b []byte) (sketch, error)
	// result appends what the sketch stands for; s is an empty one for a group without rows.
	result func(s sketch, a *Appender) error
	open   map[uint32]sketch
	buf    []byte
}

func (*sketchAgg) Width() int  { return columnar.RefWidth }
func (*sketchAgg) Refs() []int { return []int{0} }

func (a *sketchAgg) get(r *columnar.Records, off int, g uint32) (sketch, error) {
	if s := a.open[g]; s != nil {
		return s, nil
	}
	s := a.empty()
	if b := r.Load(r.At(g), off); b != nil {
		var err error
		if s, err = a.decode(b); err != nil {
			return nil, err
		}
	}
	if a.open == nil {
		a.open = map[uint32]sketch{}
	}
	a.open[g] = s
	return s, nil
}

// flush stores what the batch opened, in the order of groups.
func (a *sketchAgg) flush(r *columnar.Records, off int) {
	groups := make([]uint32, 0, len(a.open))
	for g := range a.open {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, g := range groups {
		a.buf = a.open[g].encode(a.buf[:0])
		r.Store(r.At(g), off, a.buf)
	}
	clear(a.open)
}

func (a *sketchAgg) Update(r *columnar.Records, off int, groups []uint32, args []*columnar.Vec, sel columnar.Sel) error {
	defer a.flush(r, off)
	for k := range sel.N {
		i := sel.At(k)
		if args[0].IsNull(i) {
			continue
		}
		s, err := a.get(r, off, groups[k])
		if err == nil {
			err = s.update(args[0], i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *sketchAgg) Merge(into *columnar.Records, off int, groups []uint32, from *columnar.Records, fromOff int, fromGroups []uint32) error {
	defer a.flush(into, off)
	for k, g := range groups {
		b := from.Load(from.At(fromGroups[k]), fromOff)
		if b == nil {
			continue
		}
		other, err := a.decode(b)
		if err != nil {
			return err
		}
		s, err := a.get(into, off, g)
		if err == nil {
			err = s.merge(other)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *sketchAgg) Result(r *columnar.Records, off int, groups []uint32, out *columnar.Vec) error {
	out.Reset(a.out, 0)
	app := NewAppender(out)
	for _, g := range groups {
		s := a.empty()
		if b := r.Load(r.At(g), off); b != nil {
			var err error
			if s, err = a.decode(b); err != nil {
				return err
			}
		}
		if err := a.result(s, app); err != nil {
			return err
		}
	}
	app.Finish()
	return nil
}

// sketchFunction makes an aggregate of the function table whose state is a sketch.
func sketchFunction(signature, doc string, build func(c *Call) (*AggregateCall, error)) Function {
	f := fn(signature, doc, nil)
	f.Kind, f.BuildAggregate = AggregateFunction, func(c *Call) (*AggregateCall, error) { return finishAggregate(c, build) }
	return f
}

// encoded gives the sketch itself as BINARY.
func encoded(s sketch, a *Appender) error {
	a.AppendBytes(s.encode(nil))
	return nil
}
