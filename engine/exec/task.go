package exec

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"streamlab/columnar"
	"streamlab/internal/safego"
	"streamlab/sources"
	"streamlab/sql/expr"
	"streamlab/store"
)

// Task is what one micro-batch gives the plan.
type Task struct {
	Batch            int64
	Inputs           [][]columnar.Partition // by scan occurrence, as Plan.Scans lists them; nil is no rows
	NowMicros        int64                  // current_timestamp(): the same on a re-run
	LateWatermarkMs  int64                  // W(N-1): rows at or before it are late
	EvictWatermarkMs int64                  // W(N): state at or before it goes
	Counters         *Counters              // set by Bind
	State            *store.Batch           // change set of the batch; nil if no operator has state of Go code
	Lent             bool                   // the sink has rows lent: no part is computed before it is asked for
	Past             *store.View            // instead of State: the batch is run to be looked at, and changes nothing
	lateUs, evictUs  int64
	wallUs           int64 // when the batch was bound; 0 without a stream
}

// Counters are what a micro-batch did, complete after Finish and Save.
type Counters struct {
	ScanRows   []int64 // by scan occurrence
	EventTimes []EventTime
	Operators  []OperatorCounters // as Plan.Stateful lists them
	OutputRows int64
}

// EventTime is what a watermark operator saw. Times are in microseconds; a null counts as 0, as in Spark.
type EventTime struct {
	Max, Min, Count int64
	AvgMs           float64 // of milliseconds, as a running mean
}

func (e *EventTime) merge(f EventTime) {
	if f.Count == 0 {
		return
	}
	if e.Count == 0 {
		*e = f
		return
	}
	e.Max, e.Min = max(e.Max, f.Max), min(e.Min, f.Min)
	e.Count += f.Count
	e.AvgMs += (f.AvgMs - e.AvgMs) * float64(f.Count) / float64(e.Count)
}

// OperatorCounters is the state part of a progress report under Spark's names.
type OperatorCounters struct {
	Name                      string
	NumRowsTotal              int64
	NumRowsUpdated            int64
	NumRowsRemoved            int64
	NumRowsDroppedByWatermark int64
	AllUpdatesTimeMs          int64
	AllRemovalsTimeMs         int64
	CommitTimeMs              int64
	MemoryUsedBytes           int64
	SinglePartition           bool // one partition whatever the settings say
	Stores                    int  // state stores per partition
	CustomMetrics             map[string]int64
}

// A chunk is some rows on their way through a pipeline. It belongs to the operator that pushes it and is
// valid until the call returns.
type chunk struct {
	cols []columnar.Vec
	sel  columnar.Sel
	// from says which row of the child's chunk each row was made of, by position; nil: the one at the same
	// position. Only tracing looks at it, and at with: a second row that it was made of.
	from []int32
	with []rowID
}

type emit func(c *chunk) error

// An operator is a compiled node of the plan; it lives as long as the run. In every batch open runs what
// must be complete before the first row (state, builds, sorts) and says how many parts the rows have; part
// then pushes the rows of one part. Parts may be pushed at the same time by different workers, and again
// with the same rows. Several open calls on one operator in a batch do not happen: plans are trees.
type operator interface {
	open(r *run) (parts int, err error)
	part(r *run, w, p int, to emit) error
}

// A run is one execution of a plan or a part of it.
type run struct {
	ctx      context.Context
	task     *Task
	workers  int
	counting bool // false when rows are read again
	single   bool // scans push one row at a time
	now      func() time.Time
	p        *Plan
	early    bool // the input of a batch that has not begun is read
}

func (r *run) exprTask(part int) expr.Task {
	return expr.Task{NowMicros: r.task.NowMicros, WallMicros: r.task.wallUs, Seed: r.p.seed(r.task.Batch), Partition: part}
}

// smallRows is the number of rows below which a batch is not worth a goroutine.
const smallRows = 4096

// units is how many pieces, each a run of neighbouring parts, work on an operator's parts is cut into: one
// if the rows are known to be few. The cut depends on input and settings only, so that a re-run merges in
// the same order.
func (r *run) units(parts int) int {
	if parts <= 1 || r.workers <= 1 || r.small() {
		return 1
	}
	return min(parts, 2*r.workers)
}

func (r *run) small() bool {
	total := int64(0)
	for _, in := range r.task.Inputs {
		for _, p := range in {
			n := int64(smallRows)
			switch x := p.(type) {
			case columnar.Batches:
				n = 0
				for _, rb := range x.List {
					n += rb.NumRows()
				}
			case sources.Counter:
				if m, exact := x.NumRows(); exact || m > 0 {
					n = m
				}
			}
			if total += n; total >= smallRows {
				return false
			}
		}
	}
	return total > 0 || len(r.task.Inputs) > 0
}

// parallel runs fn for 0..n-1 on the workers; with one unit or one worker on the calling goroutine. The
// first error is returned after all have ended.
func (r *run) parallel(name string, n int, fn func(w, i int) error) error {
	if n <= 1 || r.workers <= 1 {
		return spread(name, r.workers, n, fn)
	}
	// Profiles tell by the label which part of a query their samples are of; that of the query comes with the context.
	labelled := pprof.WithLabels(r.ctx, pprof.Labels("operator", name))
	return spread(name, r.workers, n, func(w, i int) error {
		pprof.SetGoroutineLabels(labelled)
		return fn(w, i)
	})
}

// spread is parallel without a run.
func spread(name string, workers, n int, fn func(w, i int) error) error {
	if n <= 1 || workers <= 1 {
		for i := range n {
			if err := fn(0, i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var failed atomic.Bool
	hs := make([]*safego.Handle, min(workers, n))
	for w := range hs {
		hs[w] = safego.Go(fmt.Sprintf("%s %d", name, w), func() error {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := fn(w, i); err != nil {
					failed.Store(true)
					return err
				}
			}
			return nil
		})
	}
	var first error
	for _, h := range hs {
		if err := h.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// perWorker makes one of something for each worker when it first asks.
type perWorker[T any] struct {
	mu   sync.Mutex
	make func() (T, error)
	list []*T
}

func (p *perWorker[T]) get(w int) (*T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.list) <= w {
		p.list = append(p.list, nil)
	}
	if p.list[w] == nil {
		x, err := p.make()
		if err != nil {
			return nil, err
		}
		p.list[w] = &x
	}
	return p.list[w], nil
}
