package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/store"
)

// The continuous and the real-time trigger run here. Readers, one goroutine per partition of a source, hand over rows
// as they come; the query's goroutine pushes them through the plan and on to the sink at once. What
// micro-batches are elsewhere are epochs: they end when the trigger's interval does. An epoch's sink call lasts as
// long as the epoch, since the sink pulls its rows from a partition that ends with it. At the end the places
// of all readers become the offsets of the epoch: logged first, then the sink commits, then the epoch.
//
// Rows are delivered at least once: an epoch that was not logged is read again. One that was logged and not
// committed is run again as the micro-batch it was, with exactly its rows, so a sink that knows epochs by
// number keeps its promise. (Spark forgets the logged offsets.) Unlike Spark, every epoch gives a progress report.

// arrival is what a reader delivered.
type arrival struct {
	from  *reading
	rb    arrow.RecordBatch
	place sources.Place
	err   error
}

// reading is one reader of one source.
type reading struct {
	source int
	reader sources.Reader
	place  sources.Place // behind the last row that went through the plan
	handle *safego.Handle
}

// epochs runs a query whose readers do not end.
type epochs struct {
	d        *driver
	readings []*reading
	arrivals chan arrival
	cancel   context.CancelFunc
	runs     int64 // of the plan: numbers its tasks
	ends     time.Time
	eager    bool // the interval is 0: an epoch ends with its first rows
	ended    bool
	task     *exec.Task
}

// runEpochs is the loop of the triggers continuous and realTime.
func (d *driver) runEpochs(ctx context.Context) error {
	if err := d.checkEpochs(); err != nil {
		return err
	}
	for _, x := range d.sources {
		if _, ok := x.src.(sources.Continuous); !ok {
			return errs.New("_LEGACY_ERROR_TEMP_2253", "sourceName", x.stream.Format)
		}
	}
	if err := d.resume(); err != nil {
		return err
	}
	e := &epochs{d: d}
	defer func() { e.close() }()
	done := 0
	more := func() bool {
		done++
		return d.q.stopRequested() == keepRunning && (d.p.w.maxBatches == 0 || done < d.p.w.maxBatches)
	}
	if d.constructed { // logged by an earlier run
		if _, err := d.once(ctx); err != nil || !more() {
			return err
		}
	}
	for {
		if e.readings == nil {
			if err := e.open(ctx); err != nil {
				return err
			}
		}
		if err := e.run(ctx); err != nil || !more() {
			return err
		}
		if err := e.reopen(ctx); err != nil {
			return err
		}
	}
}

// open starts the readers behind the last committed offsets.
func (e *epochs) open(ctx context.Context) error {
	rctx, cancel := context.WithCancel(ctx)
	e.cancel, e.arrivals = cancel, make(chan arrival)
	for k, x := range e.d.sources {
		start := x.committed
		if start == "" {
			o, err := x.src.InitialOffset(ctx)
			if err != nil {
				return err
			}
			start = o
		}
		rs, err := x.src.(sources.Continuous).Readers(ctx, start)
		if err != nil {
			return err
		}
		for _, r := range rs {
			e.readings = append(e.readings, &reading{source: k, reader: r, place: r.Start()})
		}
	}
	for _, r := range e.readings {
		r.handle = safego.Go("reader of "+describe(e.d.sources[r.source].src), func() error { return r.deliver(rctx, e.arrivals) })
	}
	return nil
}

// deliver hands over what the reader gives until ctx is done or there is an error.
func (r *reading) deliver(ctx context.Context, to chan<- arrival) error {
	for {
		a := arrival{from: r}
		a.err = safego.Call("source", func() (err error) {
			a.rb, a.place, err = r.reader.Next(ctx)
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		select {
		case to <- a:
		case <-ctx.Done():
			return nil
		}
		if a.err != nil {
			return nil
		}
	}
}

// close ends the readers; what they have read and not delivered is read again.
func (e *epochs) close() {
	if e.cancel == nil {
		return
	}
	e.cancel()
	for _, r := range e.readings {
		if r.handle != nil {
			_ = r.handle.Wait()
		}
		_ = r.reader.Close()
	}
	e.readings, e.cancel = nil, nil
}

// reopen ends the readers if a source has more partitions than they cover; open starts others.
func (e *epochs) reopen(ctx context.Context) error {
	for _, x := range e.d.sources {
		more, err := x.src.(sources.Continuous).Repartitioned(ctx)
		if err != nil {
			return err
		}
		if more {
			e.close()
			return nil
		}
	}
	return nil
}

// run is one epoch.
func (e *epochs) run(ctx context.Context) error {
	d := e.d
	d.lastTrigger, d.trigger = d.trigger, d.s.now()
	d.durations = map[string]int64{}
	d.timestamp = max(d.timestamp, d.trigger.UnixMilli())
	e.eager = d.p.w.trigger.every == 0
	if d.p.w.trigger.kind == realTime {
		e.ends = d.trigger.Add(d.p.w.trigger.every)
	} else {
		e.ends = d.p.w.trigger.next(d.trigger)
	}
	e.ended = false
	for _, x := range d.sources {
		x.start, x.end, x.latest, x.rows = x.committed, x.committed, "", 0
	}
	d.status("Running", nil)
	flow := &epochRows{e}
	err := d.timed("addBatch", func() error {
		err := d.sink.AddBatch(ctx, sinks.Batch{ID: d.batch, Live: true, QueryID: d.q.id, RunID: d.q.runID, QueryName: d.q.name, Mode: d.p.mode,
			Schema: d.p.node.Schema(), Parts: d.samples.wrap(d.batch, d.p.node.Schema(), []columnar.Partition{flow})})
		if err != nil {
			return err
		}
		for _, err := range flow.Rows(ctx) { // what the sink did not wait for
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.status("Committing epoch "+strconv.FormatInt(d.batch, 10), nil)
	err = d.timed("commitOffsets", func() error {
		if err := d.cp.Begin(d.slot()).Commit(store.CommitEntry{Sent: d.samples.sent(d.batch)}, nil); err != nil {
			return err
		}
		for _, x := range d.sources {
			if x.end == "" {
				continue
			}
			if err := x.src.Commit(ctx, x.end); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.durations["triggerExecution"] = d.s.now().Sub(d.trigger).Milliseconds()
	if e.task == nil { // no row came: the report wants counters
		if err := d.plan.Bind(&exec.Task{Batch: e.runs}); err != nil {
			return err
		}
	}
	e.task = nil
	d.reportBatch()
	moved := false
	for _, x := range d.sources {
		moved = moved || x.end != x.committed
		x.committed = x.end
	}
	d.batch++
	d.ran = true
	d.q.publish(func(s *Snapshot) { s.Status = Status{Message: "Running"} })
	d.q.finishTrigger(moved)
	return nil
}

// log makes the readers' places the epoch's offsets.
func (e *epochs) log() error {
	d := e.d
	places := make([][]sources.Place, len(d.sources))
	for _, r := range e.readings {
		places[r.source] = append(places[r.source], r.place)
	}
	for k, x := range d.sources {
		o, err := x.src.(sources.Continuous).Merge(places[k])
		if err != nil {
			return err
		}
		x.end = o
	}
	e.ended = true
	return d.timed("walCommit", func() error { return d.cp.LogOffsets(d.slot(), d.entry()) })
}

// through pushes one arrival through the plan.
func (e *epochs) through(ctx context.Context, a arrival) (rows []arrow.RecordBatch, err error) {
	d := e.d
	e.runs++
	inputs := make([][]columnar.Partition, len(d.scans))
	for i, k := range d.scans {
		if k == a.from.source {
			inputs[i] = []columnar.Partition{columnar.Batches{Name: "reader", List: []arrow.RecordBatch{a.rb}}}
		}
	}
	e.task = &exec.Task{Batch: e.runs, Inputs: inputs, NowMicros: d.timestamp * 1000}
	if err := d.plan.Bind(e.task); err != nil {
		return nil, err
	}
	for _, p := range d.plan.Partitions(ctx, e.task) {
		for rb, err := range p.Rows(ctx) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, rb)
		}
	}
	if err := d.plan.Finish(ctx, e.task); err != nil {
		return nil, err
	}
	for i, k := range d.scans {
		d.sources[k].rows += e.task.Counters.ScanRows[i]
	}
	a.from.place = a.place
	return rows, nil
}

// epochRows is the rows of an epoch as they come. It is read once; reading it again goes on where the
// first reader stopped.
type epochRows struct{ e *epochs }

func (p *epochRows) String() string { return "epoch " + strconv.FormatInt(p.e.d.batch, 10) }

// Rows ends when the epoch does.
func (p *epochRows) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		e := p.e
		for !e.ended {
			rows, err := e.next(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rb := range rows {
				if !yield(rb, nil) {
					return
				}
			}
		}
	}
}

// next waits for rows or the end of the epoch, whichever comes first.
func (e *epochs) next(ctx context.Context) ([]arrow.RecordBatch, error) {
	if e.d.q.stopRequested() == stopAfterBatch {
		return nil, e.log()
	}
	left := e.ends.Sub(e.d.s.now())
	if e.eager {
		left = time.Hour
	}
	if left <= 0 {
		return nil, e.log()
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case a := <-e.arrivals:
		if a.err != nil {
			return nil, a.err
		}
		rows, err := e.through(ctx, a)
		if err == nil && e.eager {
			err = e.log()
		}
		return rows, err
	case <-t.C:
		return nil, nil
	case <-e.d.q.wake:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
