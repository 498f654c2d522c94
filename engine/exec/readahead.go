package exec

import (
	"context"
	"runtime/pprof"
	"sync/atomic"

	"streamlab/internal/safego"
)

// An inputReader is an operator with state that takes its whole input in before it looks at its state. So the input
// of the next batch can be read while this one is saved and its commit record is written, which leaves a core idle
// and waits for the disk.
type inputReader interface {
	operator
	// below lists the operators that the input comes from.
	below() []operator
	// openInput opens the input and says in how many pieces it is read, and how one is. Neither may touch what saving
	// and settling the batch before look at.
	openInput(r *run) (pieces int, read func(w, piece int) error, err error)
}

// An aheadInput is the input of a batch that is read before the batch begins.
type aheadInput struct {
	r       *run
	of      inputReader
	pieces  int
	read    func(w, piece int) error
	next    atomic.Int64
	stopped atomic.Bool
	hs      []*safego.Handle
	cancel  context.CancelFunc
}

// ReadAhead begins to read the input of the batch after the running one, of which the task is complete but for what
// Bind adds, if the plan can do so. It is called between Finish and Save; Bind with the same task goes on with
// it, and Forgo or any other task drops it. What it finds wrong is found again, and said, by the batch itself.
func (p *Plan) ReadAhead(ctx context.Context, t *Task) {
	p.Forgo()
	if p.tracer != nil || p.conf.Workers < 2 || len(p.stateful) != 1 || p.keys != nil || p.first != nil || p.redefined ||
		len(t.Inputs) > len(p.scans) {
		return
	}
	o, ok := p.stateful[0].(inputReader)
	if !ok {
		return
	}
	for _, x := range o.below() {
		if !repeatable(x) {
			return
		}
	}
	p.prepare(t)
	ctx, cancel := context.WithCancel(ctx)
	r := &run{ctx: ctx, task: t, workers: p.conf.Workers, counting: true, now: p.conf.Now, p: p, early: true}
	n, read, err := o.openInput(r)
	if err != nil || r.units(n) == 1 {
		cancel()
		return
	}
	a := &aheadInput{r: r, of: o, pieces: n, read: read, cancel: cancel}
	labelled := pprof.WithLabels(ctx, pprof.Labels("operator", "read ahead"))
	for k := range p.conf.Workers - 1 { // one core is left to the commit
		a.hs = append(a.hs, safego.Go("read ahead", func() error {
			pprof.SetGoroutineLabels(labelled)
			return a.work(p.conf.Workers + k) // those below may be needed for saving
		}))
	}
	p.input = a
}

// repeatable says that rows of an operator can be had by reading its scans, again and again, and by nothing else.
func repeatable(o operator) bool {
	switch x := o.(type) {
	case *scan:
		return x.byRow == nil && !x.limited
	case *project:
		return repeatable(x.child)
	case *filter:
		return repeatable(x.child)
	case *watermark:
		return repeatable(x.child)
	case *timeWindow:
		return repeatable(x.child)
	case *union:
		for _, k := range x.kids {
			if !repeatable(k) {
				return false
			}
		}
		return true
	}
	return false
}

func (a *aheadInput) work(w int) error {
	for !a.stopped.Load() {
		i := int(a.next.Add(1)) - 1
		if i >= a.pieces {
			return nil
		}
		if err := a.read(w, i); err != nil {
			a.stopped.Store(true)
			return err
		}
	}
	return nil
}

// finish reads what is left, with the core that waited for the commit, and waits for the rest.
func (a *aheadInput) finish() error {
	first := a.work(0)
	for _, h := range a.hs {
		if err := h.Wait(); err != nil && first == nil {
			first = err
		}
	}
	a.cancel()
	return first
}

// Forgo drops what ReadAhead has begun, and returns when nothing of it runs.
func (p *Plan) Forgo() {
	a := p.input
	if a == nil {
		return
	}
	p.input = nil
	a.stopped.Store(true)
	a.cancel()
	for _, h := range a.hs {
		_ = h.Wait() // nobody wants to know
	}
	p.meter.early.Store(0)
}

// takeInput reads the input of an operator, or what is left of it if it was read ahead: by the workers, or one piece
// after the other if the rows are few or must come in order.
func (r *run) takeInput(name string, o inputReader, inOrder bool) error {
	if a := r.p.input; a != nil && a.of == o && a.r.task == r.task {
		r.p.input = nil
		err := a.finish()
		held := r.p.meter.early.Swap(0)
		if err == nil {
			r.p.meter.of(r.p, r.p.stateful[0]).exchange.Add(held)
			return nil
		}
		clear(r.task.Counters.ScanRows)
		clear(r.task.Counters.EventTimes) // it is read anew, with the memory that the batch before has given back
	}
	n, read, err := o.openInput(r)
	if err != nil {
		return err
	}
	return r.readInboxes(name, n, inOrder, read)
}
