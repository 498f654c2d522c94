package engine

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sql/types"
	"streamlab/store"
)

// StreamingQuery is a query that was started. Safe for concurrent use.
type StreamingQuery struct {
	s       *Session
	id      string
	runID   string
	name    string
	driver  *driver
	handle  *safego.Handle
	cancel  context.CancelFunc
	started time.Time

	snap    atomic.Pointer[Snapshot]
	failure atomic.Pointer[Failure]

	recordings recordings

	mu       sync.Mutex
	stopping stopKind
	wake     chan struct{} // buffered by one: the driver should look at stopping, or at its sources
	idle     chan struct{} // closed and replaced at the end of every trigger
	triggers int64         // evaluations so far; for ProcessAllAvailable
	noData   int64         // value of triggers at the last evaluation that constructed nothing
	done     chan struct{} // closed when the query has ended and everyone was told
	err      error         // set before done is closed
}

type stopKind uint8

const (
	keepRunning stopKind = iota
	stopAfterBatch
	stopNow
)

// ID is the query's id: the same over restarts from one checkpoint.
func (q *StreamingQuery) ID() string { return q.id }

// RunID is new at every start.
func (q *StreamingQuery) RunID() string { return q.runID }

// Name is the queryName; "" if none was given.
func (q *StreamingQuery) Name() string { return q.name }

// Snapshot is what can be seen now; never nil, never waits.
func (q *StreamingQuery) Snapshot() *Snapshot { return q.snap.Load() }

// Status is Spark's StreamingQueryStatus.
func (q *StreamingQuery) Status() Status { return q.snap.Load().Status }

// IsActive is true until the query has ended.
func (q *StreamingQuery) IsActive() bool { return q.snap.Load().State != Terminated }

// LastProgress is the newest progress; nil if there is none.
func (q *StreamingQuery) LastProgress() *Progress { return q.snap.Load().Last() }

// RecentProgress is the newest progress reports, oldest first; the slice is shared and not to be changed.
func (q *StreamingQuery) RecentProgress() []Progress { return q.snap.Load().Recent }

// OutputSchema is the columns of the rows that go to the sink.
func (q *StreamingQuery) OutputSchema() types.Schema { return q.driver.p.node.Schema() }

// Explain is the plan as text; before the first batch of the run is planned a line that there is none yet.
func (q *StreamingQuery) Explain() string {
	if s := q.snap.Load(); s.Planned {
		return s.Explain
	}
	return "No physical plan. Waiting for data."
}

// Exception is why the query failed: STREAM_FAILED with the cause inside; nil if it did not.
func (q *StreamingQuery) Exception() error { return q.snap.Load().Exception }

// Checkpoint is the query's checkpoint, for looking; it is closed when the query ends.
func (q *StreamingQuery) Checkpoint() *store.Checkpoint { return q.driver.cp }

// Done is closed when the query has ended.
func (q *StreamingQuery) Done() <-chan struct{} { return q.done }

// AwaitTermination returns when the query has ended, with its exception, or with ctx's error.
func (q *StreamingQuery) AwaitTermination(ctx context.Context) error {
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop abandons the running batch, as Spark's stop() does, and returns when the query has ended; on an ended
// query it does nothing. Errors: STOP_TIMEOUT after spark.sql.streaming.stopTimeout.
func (q *StreamingQuery) Stop() error { return q.stop(stopNow) }

// StopAfterBatch lets the running batch finish and commit first.
func (q *StreamingQuery) StopAfterBatch() error { return q.stop(stopAfterBatch) }

func (q *StreamingQuery) stop(k stopKind) error {
	q.mu.Lock()
	q.stopping = max(q.stopping, k)
	q.mu.Unlock()
	q.signal()
	if k == stopNow {
		q.cancel()
	}
	var timeout <-chan time.Time
	d := q.s.conf.duration(keyStopTimeout)
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-q.done:
		return nil
	case <-timeout:
		return errs.New("STOP_TIMEOUT", "timeoutMs", d.Milliseconds())
	}
}

// RequestStop is Stop or StopAfterBatch without waiting for the end.
func (q *StreamingQuery) RequestStop(afterBatch bool) {
	q.mu.Lock()
	if afterBatch {
		q.stopping = max(q.stopping, stopAfterBatch)
	} else {
		q.stopping = stopNow
	}
	q.mu.Unlock()
	q.signal()
	if !afterBatch {
		q.cancel()
	}
}

func (q *StreamingQuery) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// ProcessAllAvailable returns when an evaluation of the sources that began after the call found nothing to
// do, or the query has ended, with its exception.
func (q *StreamingQuery) ProcessAllAvailable(ctx context.Context) error {
	q.mu.Lock()
	from := q.triggers
	q.mu.Unlock()
	q.signal()
	for {
		q.mu.Lock()
		settled, idle := q.noData > from+1, q.idle
		q.mu.Unlock()
		if settled {
			return nil
		}
		select {
		case <-idle:
		case <-q.done:
			return q.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finishTrigger tells waiters about the end of an evaluation.
func (q *StreamingQuery) finishTrigger(constructed bool) {
	q.mu.Lock()
	q.triggers++
	if !constructed {
		q.noData = q.triggers
	}
	close(q.idle)
	q.idle = make(chan struct{})
	q.mu.Unlock()
}

func (q *StreamingQuery) stopRequested() stopKind {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopping
}

// publish replaces the snapshot by a changed copy. Only the driver calls it.
func (q *StreamingQuery) publish(change func(s *Snapshot)) {
	next := *q.snap.Load()
	next.Version++
	change(&next)
	q.snap.Store(&next)
}

// run is the driver goroutine: it lives from Start to the end of the query.
func (q *StreamingQuery) run(ctx context.Context) error {
	ctx = pprof.WithLabels(ctx, pprof.Labels("query", q.label())) // goroutines started from here have it too
	pprof.SetGoroutineLabels(ctx)
	err := safego.Call("query "+q.label(), func() error { return q.driver.run(ctx) })
	if err != nil && (ctx.Err() != nil || q.stopRequested() == stopNow) {
		err = nil // an interruption while stopping is no failure
	}
	at := q.driver.fail(nil)
	closeErr := safego.Call("closing the query "+q.label(), q.driver.shut) // a panic here must not leave waiters waiting
	if err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		err = q.failed(err)
		at.Cause = err
		q.failure.Store(at)
	}
	q.err = err
	q.publish(func(s *Snapshot) {
		s.State = Terminated
		s.Status = Status{Message: "Stopped"}
		if err != nil {
			s.Exception = err
			s.Status.Message = "Terminated with exception: " + errs.As(err).Params["message"]
		}
	})
	q.s.streams.terminated(q, err)
	e := Event{Time: q.s.now(), Kind: QueryTerminated, ID: q.id, RunID: q.runID, Name: q.name, Text: "terminated"}
	if err != nil {
		e.Exception, e.Condition = err.Error(), innermost(err)
		e.Text = "terminated: " + e.Condition
	}
	q.s.streams.bus.post(e)
	q.driver.dropTemporary(err != nil)
	close(q.done)
	return nil
}

func (q *StreamingQuery) failed(cause error) error {
	message := cause.Error()
	if e := errs.As(cause); e != nil && e == cause {
		message = e.Message()
		if message == "" {
			message = e.Condition
		}
		message = "[" + e.Condition + "] " + message
	}
	return errs.Wrap(cause, "STREAM_FAILED", "id", q.id, "runId", q.runID, "message", message)
}

// innermost is the condition of the deepest *errs.Error in a chain.
func innermost(err error) string {
	c := ""
	for e := errs.As(err); e != nil; e = errs.As(e.Err) {
		c = e.Condition
	}
	return c
}

func (q *StreamingQuery) label() string {
	l := "[id = " + q.id + ", runId = " + q.runID + "]"
	if q.name != "" {
		l = q.name + " " + l
	}
	return l
}

// Schema is the columns of the query's result.
func (q *StreamingQuery) Schema() types.Schema { return q.driver.p.node.Schema() }
