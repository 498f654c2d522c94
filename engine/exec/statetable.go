package exec

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
	"streamlab/store"
)

// inspected is a stateful operator whose state can be shown: columns of keys, then columns of values.
type inspected interface {
	stateSchema(storeName string) (keys, values types.Schema, ok bool)
	stateRows(storeName string, to emit) error
}

// StateTable gives the state of an operator as of a view, as Spark's statestore format shows it: a struct
// "key" and a struct "value" per row, in the order of first touch. Values of aggregates are results, not
// buffers. storeName is "default", or "left" and "right" for joins. It loads the view into the plan's tables:
// use a plan built for the purpose, not one that runs.
func (p *Plan) StateTable(v *store.View, operator int, storeName string) ([]arrow.RecordBatch, types.Schema, error) {
	if operator < 0 || operator >= len(p.stateful) {
		return nil, nil, errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "operatorId", "message", "the query has no such stateful operator")
	}
	s := p.stateful[operator]
	in, ok := s.(inspected)
	if !ok {
		return nil, nil, refuse("showing the state of " + s.Name())
	}
	if o, ok := s.(interface {
		view(v *store.View, number int)
	}); ok {
		o.view(v, operator)
	}
	keys, values, ok := in.stateSchema(storeName)
	if !ok {
		return nil, nil, errs.New("STDS_INVALID_OPTION_VALUE.WITH_MESSAGE", "optionName", "storeName", "message",
			"the operator has no store "+storeName)
	}
	if _, ok := s.(*mapGroups); !ok {
		s.reset()
	}
	if err := s.load(v, operator); err != nil {
		return nil, nil, err
	}
	schema := types.Schema{{Name: "key", Type: types.StructOf(keys...)}, {Name: "value", Type: types.StructOf(values...)}}
	as := schema.Arrow()
	buf := newRowsBuffer(schema)
	var out []arrow.RecordBatch
	err := in.stateRows(storeName, func(c *chunk) error {
		nk := len(keys)
		kv := [2]columnar.Vec{}
		for i, part := range [2][]columnar.Vec{c.cols[:nk], c.cols[nk:]} {
			kv[i] = columnar.Vec{Type: schema[i].Type, Phys: columnar.PStruct, Len: c.sel.N}
			for k := range part {
				kv[i].Kids = append(kv[i].Kids, &part[k])
			}
		}
		buf.add(kv[:], c.sel)
		if buf.n >= columnar.MaxBatch-columnar.Slice {
			out = append(out, buf.record(as))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if buf.n > 0 {
		out = append(out, buf.record(as))
	}
	return out, schema, nil
}

func isDefault(storeName string) bool {
	return storeName == "" || strings.EqualFold(storeName, "default")
}

func (o *stateAggregate) stateSchema(name string) (types.Schema, types.Schema, bool) {
	k := len(o.g.keys)
	return o.schema[:k], o.schema[k:], isDefault(name)
}

func (o *stateAggregate) stateRows(name string, to emit) error {
	if o.inPanes {
		return o.paned.rows(to)
	}
	for _, a := range o.ranges {
		if err := o.g.push(a.t, a.aggs, a.t.groups(nil), to); err != nil {
			return err
		}
	}
	return nil
}

func (o *dedup) stateSchema(name string) (keys, values types.Schema, ok bool) {
	for _, k := range o.keys {
		keys = append(keys, o.in[k])
	}
	if o.within {
		values = types.Schema{{Name: "expiresAtMicros", Type: types.Of(types.BigInt)}}
	}
	return keys, values, isDefault(name)
}

func (o *dedup) stateRows(name string, to emit) error {
	for _, a := range o.ranges {
		err := pushTable(a.t, a.t.groups(nil), func(gs []uint32) []columnar.Vec {
			cols := decodeAll(o.lay, a.t, gs, 0)
			if o.within {
				v := columnar.NewVec(types.Of(types.BigInt), len(gs))
				for k, g := range gs {
					v.I64[k], _ = o.expires(a, g)
				}
				cols = append(cols, *v)
			}
			return cols
		}, to)
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeAll decodes the key columns of groups from column from on.
func decodeAll(l *layout, t *table, gs []uint32, from int) []columnar.Vec {
	cols := make([]columnar.Vec, len(l.top)-from)
	for i := range cols {
		cols[i].Reset(l.fields[l.top[i+from]].t, 0)
		l.decode(t.rec, gs, recKey, i+from, &cols[i])
	}
	return cols
}

func pushTable(t *table, gs []uint32, cols func(gs []uint32) []columnar.Vec, to emit) error {
	for len(gs) > 0 {
		n := min(len(gs), columnar.Slice)
		if err := to(&chunk{cols: cols(gs[:n]), sel: columnar.AllRows(n)}); err != nil {
			return err
		}
		gs = gs[n:]
	}
	return nil
}

func (o *streamLimit) stateSchema(name string) (keys, values types.Schema, ok bool) {
	return nil, types.Schema{{Name: "count", Type: types.Of(types.BigInt)}}, isDefault(name)
}

func (o *streamLimit) stateRows(name string, to emit) error {
	if o.t.live == 0 {
		return nil
	}
	v := columnar.NewVec(types.Of(types.BigInt), 1)
	v.I64[0] = *o.passed()
	return to(&chunk{cols: []columnar.Vec{*v}, sel: columnar.AllRows(1)})
}

func (o *sessionAggregate) stateSchema(name string) (keys, values types.Schema, ok bool) {
	for _, k := range o.restKeys {
		keys = append(keys, o.schema[k])
	}
	win := o.g.keys[o.session].Type().Fields
	keys = append(keys, types.Field{Name: "sessionStartTime", Type: win[0].Type})
	values = append(types.Schema{{Name: "sessionEndTime", Type: win[1].Type}}, o.schema[len(o.g.keys):]...)
	return keys, values, isDefault(name)
}

func (o *sessionAggregate) stateRows(name string, to emit) error {
	t := o.sessions
	var failed error
	err := pushTable(t, t.groups(nil), func(gs []uint32) []columnar.Vec {
		cols := decodeAll(o.sessLay, t, gs, 0)
		end := columnar.NewVec(o.g.keys[o.session].Type().Fields[1].Type, len(gs))
		for k, g := range gs {
			end.I64[k] = *o.end(g)
		}
		cols = append(cols, *end)
		for i, a := range o.aggs {
			var v columnar.Vec
			if err := a.Result(t.rec, t.extraAt()+sessAggs+o.g.offs[i], gs, &v); err != nil {
				failed = err
			}
			cols = append(cols, v)
		}
		return cols
	}, to)
	if failed != nil {
		return failed
	}
	return err
}

func (o *streamJoin) side(name string) int {
	for i, n := range sideNames {
		if strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

func (o *streamJoin) stateSchema(name string) (keys, values types.Schema, ok bool) {
	i := o.side(name)
	if i < 0 {
		return nil, nil, false
	}
	return types.Schema{{Name: "row", Type: types.Of(types.BigInt)}},
		append(append(types.Schema{}, o.sides[i].in...), types.Field{Name: "matched", Type: types.Of(types.Boolean)}), true
}

func (o *streamJoin) stateRows(name string, to emit) error {
	i := o.side(name)
	for _, a := range o.ranges {
		st := a.sides[i]
		for gs := st.rows.groups(); len(gs) > 0; {
			part := gs[:min(len(gs), columnar.Slice)]
			gs = gs[len(part):]
			number := columnar.NewVec(types.Of(types.BigInt), len(part))
			matched := columnar.NewVec(types.Of(types.Boolean), len(part))
			for k, g := range part {
				number.I64[k] = st.rows.number(g)
				if *st.rows.meta(g)&rowMatched != 0 {
					columnar.SetBit(matched.Bits, k)
				}
			}
			cols := append(append([]columnar.Vec{*number}, st.columns(o.sides[i], part)...), *matched)
			if err := to(&chunk{cols: cols, sel: columnar.AllRows(len(part))}); err != nil {
				return err
			}
		}
	}
	return nil
}
