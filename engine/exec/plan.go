package exec

import (
	"context"
	"errors"
	"hash/fnv"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// Conf is what a run needs to know.
type Conf struct {
	Expr              expr.Conf
	Mode              string // "append", "update", "complete"; "" for batch execution
	ShufflePartitions int
	Workers           int    // 0 is GOMAXPROCS
	QueryID           string // of the query: seeds of rand() and uuid()
	// Get asks for a session setting; nil: every setting has its default.
	Get       func(key string) string
	NowMicros int64 // batch time of Collect
	// Now is the clock that durations in counters are taken from; nil is the machine's.
	Now func() time.Time
	// Trace asks for taps; Workers is then 1. nil: none.
	Trace *TraceConf
}

// A ScanNode is one occurrence of a streaming source in the plan.
type ScanNode struct {
	Stream  *catalog.Stream
	Columns []int               // positions that the plan reads, ascending; nil is all. Batches may have just these or all.
	Where   []catalog.Predicate // a hint: rows that fail are dropped above
}

// A WatermarkNode is one withWatermark in the plan.
type WatermarkNode struct {
	Column      string
	DelayMicros int64
}

// A Stateful operator keeps state between batches. Its methods are called by the plan.
type Stateful interface {
	// Name as Spark shows it in progress.
	Name() string
	shape() OperatorShape
	load(v *store.View, number int) error
	save(b *store.Batch, number int) error
	reset()
	needsBatch(w int64) bool // engine.md MB-15; w is the watermark of the next batch in microseconds
	counters() *OperatorCounters
	settle()
}

// Plan is a compiled query.
type Plan struct {
	conf         Conf
	root         operator
	schema       types.Schema
	arrow        *arrow.Schema
	scans        []*scan
	marks        []*watermark
	stateful     []Stateful
	observed     []*observe
	batch        bool // static rows only
	task         *Task
	run          *run
	parts        []*result
	mu           sync.Mutex
	earlyWorkers []int
	early        *ahead[[]arrow.RecordBatch]
	idle         []int // worker numbers that readers of partitions may use
	nextIdle     int
	lengths      [64]atomic.Int64 // rows of the first parts of the result in the batch before
	length       atomic.Int64     // rows of the part that ended last
	seedBase     uint64
	first        error // what Spark finds out in the first batch only
	keys         error // of state that cannot be keys: found before the sink sees a batch
	redefined    bool  // a watermark above another: fails when there is one
	tracer       *tracer
	meter        meter
	lending      perWorker[*rowsBuffer] // rows that a sink has lent
	input        *aheadInput            // of the next batch; nil if none is read
	far          remote
}

// Build compiles a plan. It reads nothing.
func Build(n plan.Node, c Conf) (*Plan, error) {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Plan{conf: c, schema: n.Schema(), arrow: n.Schema().Arrow(), batch: c.Mode == ""}
	p.lending.make = func() (*rowsBuffer, error) { return newRowsBuffer(p.schema), nil }
	h := fnv.New64a()
	h.Write([]byte(c.QueryID))
	p.seedBase = h.Sum64()
	if c.Trace != nil {
		p.conf.Workers, p.tracer = 1, newTracer(*c.Trace, c.Now)
	}
	b := &builder{p: p, conf: p.conf}
	root, err := b.build(n)
	if err != nil {
		return nil, err
	}
	p.root = root
	p.meter.begin(p.stateful, false)
	if p.tracer != nil {
		p.root = b.tap(&toSink{root}, 0, TraceStage{Kind: "sink", Schema: p.schema, Operator: -1})
		p.tracer.number(p.stateful)
	}
	return p, nil
}

func (p *Plan) seed(batch int64) int64 {
	h := fnv.New64a()
	h.Write(strconv.AppendInt(strconv.AppendUint(nil, p.seedBase, 16), batch, 10))
	return int64(h.Sum64() >> 1)
}

// Schema of the result.
func (p *Plan) Schema() types.Schema { return p.schema }

// Scans lists the occurrences of streaming sources, in plan order.
func (p *Plan) Scans() []ScanNode {
	out := make([]ScanNode, len(p.scans))
	for i, s := range p.scans {
		out[i] = ScanNode{Stream: s.stream, Columns: s.columns, Where: s.where}
	}
	return out
}

// EventTimes lists the watermark operators, nearest the sink first.
func (p *Plan) EventTimes() []WatermarkNode {
	out := make([]WatermarkNode, len(p.marks))
	for i, m := range p.marks {
		out[i] = WatermarkNode{Column: m.name, DelayMicros: m.delay}
	}
	return out
}

// Stateful lists the operators with state, nearest the sink first; the place is Spark's operator number.
func (p *Plan) Stateful() []Stateful { return p.stateful }

// Shapes describes the stateful operators in the same order.
func (p *Plan) Shapes() []OperatorShape {
	out := make([]OperatorShape, len(p.stateful))
	for i, s := range p.stateful {
		out[i] = s.shape()
	}
	return out
}

// Load fills the state tables from a committed batch.
func (p *Plan) Load(v *store.View) error {
	for i, s := range p.stateful {
		s.reset()
		if err := s.load(v, i); err != nil {
			return err
		}
	}
	return nil
}

// Reset empties the state tables, after a batch that failed: the caller loads again.
func (p *Plan) Reset() {
	p.stopEarly()
	p.Forgo()
	p.far.forget()
	for _, s := range p.stateful {
		s.reset()
	}
	p.parts, p.run = nil, nil
}

// Bind gives the plan its next micro-batch and makes the task's counters. Its errors are those that Spark
// finds when it plans a micro-batch, before the sink sees it.
func (p *Plan) Bind(t *Task) error {
	if p.keys != nil {
		return p.keys
	}
	if len(t.Inputs) > len(p.scans) {
		return errs.New("INTERNAL_ERROR", "message", "more inputs than scans")
	}
	p.stopEarly()
	if p.input == nil || p.input.r.task != t {
		p.Forgo()
		p.prepare(t)
	}
	p.task, p.parts = t, nil
	p.meter.begin(p.stateful, p.input != nil)
	for _, s := range p.stateful {
		c := s.counters()
		*c = OperatorCounters{Name: s.Name(), SinglePartition: c.SinglePartition, Stores: c.Stores}
	}
	return nil
}

// prepare makes the counters of a task, and what its rows are computed by.
func (p *Plan) prepare(t *Task) {
	t.Counters = &Counters{ScanRows: make([]int64, len(p.scans)), EventTimes: make([]EventTime, len(p.marks))}
	t.lateUs, t.evictUs = t.LateWatermarkMs*1000, t.EvictWatermarkMs*1000
	if p.conf.Get != nil && p.conf.Get("spark.sql.streaming.statefulOperator.allowMultiple") == "false" {
		t.lateUs = t.evictUs // Spark's old rule: one watermark for both
	}
	if p.conf.Mode != "" {
		t.wallUs = p.conf.Now().UnixMicro()
	}
}

// Partitions runs the plan up to the last stage and gives the parts of the result. Reading them does the
// rest; a part may be read again and gives the same rows.
func (p *Plan) Partitions(ctx context.Context, t *Task) []columnar.Partition {
	r := &run{ctx: ctx, task: t, workers: p.conf.Workers, counting: true, now: p.conf.Now, p: p}
	p.run = r
	n, err := 0, p.first
	if err == nil && p.redefined && max(t.EvictWatermarkMs, t.LateWatermarkMs) > 0 {
		err = errs.New("_LEGACY_ERROR_TEMP_3076", "config", "spark.sql.streaming.statefulOperator.allowMultiple")
	}
	if err == nil {
		n, err = p.root.open(r)
	}
	if err == nil {
		p.measureState()
		err = p.meter.room() // before the sink has seen a row
	}
	if err != nil {
		return []columnar.Partition{&result{p: p, err: err}}
	}
	p.stopEarly()
	p.parts = make([]*result, n)
	if !t.Lent && r.units(n) > 1 {
		p.computeEarly(r, n)
	}
	out := make([]columnar.Partition, n)
	for i := range out {
		p.parts[i] = &result{p: p, r: r, part: i, cache: len(p.stateful) > 0}
		out[i] = p.parts[i]
	}
	return out
}

// computeEarly lets the other workers compute parts while the sink takes them one after the other.
func (p *Plan) computeEarly(r *run, parts int) {
	var workers []int
	for range r.workers - 1 {
		workers = append(workers, p.acquire())
	}
	p.early = runAhead("result", parts, workers, func(w, part int) (rows []arrow.RecordBatch, err error) {
		err = p.pull(r, w, part, func(rb arrow.RecordBatch) bool {
			p.meter.result.Add(recordBytes(rb))
			rows = append(rows, rb)
			return true
		})
		return rows, err
	})
	p.earlyWorkers = workers
}

// stopEarly ends what computeEarly began.
func (p *Plan) stopEarly() {
	if p.early == nil {
		return
	}
	p.early.stop()
	for _, w := range p.earlyWorkers {
		p.release(w)
	}
	p.early, p.earlyWorkers = nil, nil
}

// Finish reads what the sink left unread, so that counters are complete, and fills the counters.
func (p *Plan) Finish(ctx context.Context, t *Task) error {
	defer p.stopEarly()
	if len(p.stateful) == 0 && len(p.EventTimes()) == 0 && len(p.observed) == 0 { // what the sink left unread, it skipped
		p.parts = nil
		p.fill()
		return nil
	}
	for _, x := range p.parts {
		if x.done {
			continue
		}
		for _, err := range x.Rows(ctx) {
			if err != nil {
				return err
			}
		}
	}
	p.parts = nil
	p.fill()
	return nil
}

func (p *Plan) fill() {
	p.task.Counters.Operators = make([]OperatorCounters, len(p.stateful))
	for i, s := range p.stateful {
		p.task.Counters.Operators[i] = *s.counters()
	}
}

// Save gives what the batch changed to the checkpoint's batch and ends the batch for the tables.
func (p *Plan) Save(b *store.Batch) error {
	now := p.meter.memory()
	p.far.renew()
	defer p.far.age()
	for i, s := range p.stateful {
		start := p.conf.Now()
		if err := s.save(b, i); err != nil {
			return err
		}
		s.settle()
		s.counters().CommitTimeMs = p.conf.Now().Sub(start).Milliseconds()
	}
	p.measureState()
	p.relieve(p.task.Batch, now.Total()-now.State)
	p.fill()
	return nil
}

// Counters of the last batch; nil before the first.
func (p *Plan) Counters() *Counters {
	if p.task == nil {
		return nil
	}
	return p.task.Counters
}

// NeedsBatch says whether some stateful operator wants a batch without data, if the next batch has this
// watermark.
func (p *Plan) NeedsBatch(watermarkMs int64) bool {
	if p.task == nil || watermarkMs <= p.task.EvictWatermarkMs {
		return false
	}
	for _, s := range p.stateful {
		if s.needsBatch(watermarkMs * 1000) {
			return true
		}
	}
	return false
}

func (p *Plan) acquire() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return w
	}
	p.nextIdle++
	return p.nextIdle - 1
}

func (p *Plan) release(w int) {
	p.mu.Lock()
	p.idle = append(p.idle, w)
	p.mu.Unlock()
}

// A result is one part of a batch's result.
type result struct {
	p     *Plan
	r     *run
	part  int
	cache bool // rows come from state and cannot be computed twice
	err   error
	done  bool // read to the end once
	taken bool // asked for from the workers that compute ahead
	lent  bool // shown, and not kept
	rows  []arrow.RecordBatch
}

func (x *result) String() string { return "part " + strconv.Itoa(x.part) }

// Rows computes the part, or yields what was computed before.
func (x *result) Rows(ctx context.Context) columnar.Rows {
	if a := x.p.early; a != nil && x.err == nil && !x.taken {
		x.taken = true
		w := x.p.acquire()
		rows, mine, err := a.take(w, x.part)
		x.p.release(w)
		if err != nil && columnar.WantsUntilError(ctx) {
			return x.untilError(ctx, 0, err)
		}
		if err != nil {
			return columnar.Fail(err)
		}
		if !mine {
			x.done = true
			if x.cache {
				x.rows = rows
			}
			return columnar.Batches{List: rows}.Rows(ctx)
		}
	}
	if x.err != nil {
		return columnar.Fail(x.err)
	}
	if x.lent && x.cache {
		return columnar.Fail(errLent())
	}
	if x.done && x.cache {
		return columnar.Batches{List: x.rows}.Rows(ctx)
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		r := *x.r
		r.ctx, r.counting = ctx, !x.done
		w := x.p.acquire()
		defer x.p.release(w)
		if x.cache { // complete first, so that a reader who stops early does not split the batch
			var rows []arrow.RecordBatch
			err := x.p.pull(&r, w, x.part, func(rb arrow.RecordBatch) bool {
				x.p.meter.result.Add(recordBytes(rb))
				rows = append(rows, rb)
				return true
			})
			if err != nil {
				yield(nil, err)
				return
			}
			x.rows, x.done = rows, true
			for _, rb := range rows {
				if !yield(rb, nil) {
					return
				}
			}
			return
		}
		stopped := false
		given := int64(0)
		err := x.p.pull(&r, w, x.part, func(rb arrow.RecordBatch) bool {
			given += rb.NumRows()
			stopped = !yield(rb, nil)
			return !stopped
		})
		switch {
		case stopped:
		case err != nil && columnar.WantsUntilError(ctx):
			for rb, err := range x.untilError(ctx, given, err) {
				if !yield(rb, err) {
					return
				}
			}
		case err != nil:
			yield(nil, err)
		default:
			x.done = true
		}
	}
}

// untilError computes the part again, row by row, and yields what comes before the row that fails; the first
// rows, which the reader has, are left out. Rows that meet in one operator, as in a sort, are not told apart.
func (x *result) untilError(ctx context.Context, first int64, failure error) columnar.Rows {
	if x.cache {
		return columnar.Fail(failure)
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		r := *x.r
		r.ctx, r.counting, r.single = ctx, false, true
		w := x.p.acquire()
		defer x.p.release(w)
		buf := newRowsBuffer(x.p.schema)
		err := x.p.root.part(&r, w, x.part, func(c *chunk) error {
			for k := range c.sel.N {
				if first--; first >= 0 {
					continue
				}
				buf.add(c.cols, columnar.Sel{Idx: []int32{int32(c.sel.At(k))}, N: 1})
			}
			return nil
		})
		if err == nil { // it failed once
			err = failure
		}
		if buf.n > 0 && !yield(buf.record(x.p.arrow), nil) {
			return
		}
		yield(nil, err)
	}
}

// errStop and errEnough end a push early; they never reach a user.
var (
	errStop   = errors.New("exec: reader stopped")
	errEnough = errors.New("exec: enough rows")
)

// pull pushes one part of the plan through and packs its chunks into record batches.
func (p *Plan) pull(r *run, w, part int, each func(arrow.RecordBatch) bool) error {
	buf := newRowsBuffer(p.schema)
	rows := int64(0)
	var expected *atomic.Int64 // the part is probably as long as it was in the batch before, or as the part before
	likely := int64(0)
	if part < len(p.lengths) {
		expected = &p.lengths[part]
		likely = expected.Load()
	}
	if likely == 0 {
		likely = p.length.Load()
	}
	err := p.root.part(r, w, part, func(c *chunk) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if c.sel.N == 0 {
			return nil
		}
		if buf.n > 0 && buf.n+c.sel.N > columnar.MaxBatch {
			if !each(buf.record(p.arrow)) {
				return errStop
			}
			if err := p.meter.room(); err != nil {
				return err
			}
		}
		if buf.n == 0 {
			buf.reserve(int(min(likely-rows, columnar.MaxBatch)))
		}
		buf.add(c.cols, c.sel)
		rows += int64(c.sel.N)
		return nil
	})
	if err == errStop {
		return nil
	}
	if err != nil {
		return err
	}
	if expected != nil {
		expected.Store(rows)
	}
	p.length.Store(rows)
	if buf.n > 0 {
		each(buf.record(p.arrow))
	}
	return nil
}
