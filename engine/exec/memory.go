package exec

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
)

// Memory is what a plan holds at a moment, in bytes by capacity.
type Memory struct {
	Input    int64 // record batches that are being read
	Exchange int64 // rows and groups between two stages of a batch
	State    int64 // tables, indexes and arenas that live with the run
	Result   int64 // rows that are kept until the sink has them
	Away     int64 // rows of state, not bytes, that are on disk only
	Largest  string
	Most     int64 // of the operator that holds most
}

// Total is all of it.
func (m Memory) Total() int64 { return m.Input + m.Exchange + m.State + m.Result }

// A meter counts what a plan holds, and says when that is more than it may. Its counters are added to by the workers
// of a batch. Operators add what they hold between two looks at their tables and take it back.
type meter struct {
	limit         atomic.Int64 // 0: none
	beside        atomic.Int64 // what the query holds outside of the plan
	input, result atomic.Int64
	early         atomic.Int64    // of the input of the next batch, which is read ahead
	ops           []operatorMeter // as Plan.Stateful lists them; the last is for operators without state
}

// operatorMeter counts for one operator.
type operatorMeter struct {
	name            string
	state, exchange atomic.Int64
}

// begin forgets what a batch held, but for what is read ahead of the next one.
func (m *meter) begin(ops []Stateful, ahead bool) {
	if len(m.ops) != len(ops)+1 {
		m.ops = make([]operatorMeter, len(ops)+1)
		for i, s := range ops {
			m.ops[i].name = fmt.Sprintf("%s (operator %d)", s.Name(), i)
		}
		m.ops[len(ops)].name = "the stages without state"
	}
	if !ahead {
		m.input.Store(0)
	}
	m.result.Store(0)
	for i := range m.ops {
		m.ops[i].exchange.Store(0)
	}
}

// of is the meter of an operator.
func (m *meter) of(p *Plan, s Stateful) *operatorMeter {
	for i, x := range p.stateful {
		if x == s {
			return &m.ops[i]
		}
	}
	return &m.ops[len(m.ops)-1]
}

// exchange counts what an operator holds of its input.
func (r *run) exchange(of Stateful) *atomic.Int64 {
	if r.early {
		return &r.p.meter.early
	}
	return &r.p.meter.of(r.p, of).exchange
}

func (m *meter) memory() Memory {
	out := Memory{Input: m.input.Load(), Exchange: m.early.Load(), Result: m.result.Load()}
	for i := range m.ops {
		o := &m.ops[i]
		s, x := o.state.Load(), o.exchange.Load()
		out.State, out.Exchange = out.State+s, out.Exchange+x
		if s+x > out.Most {
			out.Largest, out.Most = o.name, s+x
		}
	}
	return out
}

// over is how much more is held than may be; 0 or less if there is room.
func (m *meter) over() int64 {
	limit := m.limit.Load()
	if limit == 0 {
		return 0
	}
	return m.memory().Total() + m.beside.Load() - limit
}

// share is how much of what may be held the state takes together with some more bytes, in hundredths; 0 without a
// limit.
func (m *meter) share(more int64) int64 {
	limit := m.limit.Load()
	if limit == 0 {
		return 0
	}
	return (m.memory().State + m.beside.Load() + more) * 100 / limit
}

// room refuses to go on when there is none. Errors: BATCH_TOO_LARGE.
func (m *meter) room() error {
	if m.over() <= 0 {
		return nil
	}
	now := m.memory()
	if now.Largest == "" {
		now.Largest, now.Most = "the rows that are read and kept for the sink", now.Input+now.Result
	}
	return errs.New("BATCH_TOO_LARGE", "operator", now.Largest, "bytes", now.Most, "total", now.Total()+m.beside.Load(), "budget", m.limit.Load())
}

// Memory is what the plan holds now. It may be called while a batch runs.
func (p *Plan) Memory() Memory {
	m := p.meter.memory()
	for _, s := range p.stateful {
		if o, ok := s.(demanding); ok && o.demanded() != nil {
			m.Away += o.demanded().missing.Load()
		}
	}
	return m
}

// SetBudget says how much the query may hold, in bytes, and what it holds beside the plan. It is called between
// two batches; 0 is no limit.
func (p *Plan) SetBudget(limit, beside int64) {
	p.meter.limit.Store(limit)
	p.meter.beside.Store(beside)
}

// measureState takes the sizes of the tables over, which operators know when they are done with a batch.
func (p *Plan) measureState() {
	for i, s := range p.stateful {
		p.meter.ops[i].state.Store(s.counters().MemoryUsedBytes)
		p.meter.ops[i].exchange.Store(0)
	}
}

func (b *rowsBuffer) bytes() (n int64) {
	for _, c := range b.cols {
		n += c.MemoryBytes()
	}
	return n
}

// bytes is what a partial fold holds.
func (p *partialFold) bytes() int64 {
	n := p.t.bytes()
	for i := range p.raw {
		n += int64(cap(p.byRange[i])) * 4
		if p.raw[i] != nil {
			n += p.raw[i].bytes()
		}
	}
	return n
}

// recordBytes is the memory of a record batch, of which slices share buffers.
func recordBytes(rb arrow.RecordBatch) (n int64) {
	for i := range int(rb.NumCols()) {
		n += arrayBytes(rb.Column(i).Data())
	}
	return n
}

func arrayBytes(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, k := range d.Children() {
		n += arrayBytes(k)
	}
	return n
}
