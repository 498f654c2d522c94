package exec

import (
	"fmt"
	"sync"

	"streamlab/internal/safego"
	"streamlab/sql/types"
)

// ahead computes the parts of something on other goroutines before they are asked for, in order, a bounded
// number of parts in front of the reader. A part that nobody has begun is left to its reader, so parts may be
// asked for in any order. A reader whose part is not done computes others while it waits, so that its core
// works too.
type ahead[T any] struct {
	compute func(w, p int) (T, error)

	mu       sync.Mutex
	moved    *sync.Cond
	parts    []aheadPart[T]
	next     int // no idle part before it
	consumed int
	window   int
	stopped  bool
	hs       []*safego.Handle
}

type aheadPart[T any] struct {
	claimed, done bool
	out           T
	err           error
}

// runAhead starts a goroutine for each of the workers' numbers.
func runAhead[T any](name string, parts int, workers []int, compute func(w, p int) (T, error)) *ahead[T] {
	a := &ahead[T]{compute: compute, parts: make([]aheadPart[T], parts), window: 2 * (len(workers) + 1)}
	a.moved = sync.NewCond(&a.mu)
	for _, w := range workers {
		a.hs = append(a.hs, safego.Go(fmt.Sprintf("%s %d", name, w), func() error { return a.work(w) }))
	}
	return a
}

func (a *ahead[T]) work(w int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for a.next < len(a.parts) && a.parts[a.next].claimed {
			a.next++
		}
		if a.stopped || a.next == len(a.parts) {
			return nil
		}
		if a.next >= a.consumed+a.window {
			a.moved.Wait()
			continue
		}
		a.run(w, a.next)
	}
}

// run computes part n, which nobody has begun. The caller holds the lock, which is free meanwhile.
func (a *ahead[T]) run(w, n int) {
	p := &a.parts[n]
	p.claimed = true
	a.mu.Unlock()
	var out T
	err := safego.Call("part", func() (err error) {
		out, err = a.compute(w, n)
		return err
	})
	a.mu.Lock()
	p.out, p.err, p.done = out, err, true
	a.moved.Broadcast()
}

// take gives part n if it was computed or is being computed; otherwise mine says that the caller does it. Until
// it is done the caller computes other parts as worker w. A part is given once.
func (a *ahead[T]) take(w, n int) (out T, mine bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.consumed++
	a.moved.Broadcast()
	p := &a.parts[n]
	if !p.claimed {
		p.claimed = true
		return out, true, nil
	}
	for !p.done {
		for a.next < len(a.parts) && a.parts[a.next].claimed {
			a.next++
		}
		if a.stopped || a.next == len(a.parts) || a.next >= a.consumed+a.window {
			a.moved.Wait()
			continue
		}
		a.run(w, a.next)
	}
	out, err = p.out, p.err
	var none T
	p.out = none
	return out, false, err
}

// stop ends the goroutines and waits for them.
func (a *ahead[T]) stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.stopped = true
	a.moved.Broadcast()
	a.mu.Unlock()
	for _, h := range a.hs {
		_ = h.Wait() // work reports through parts
	}
}

// inOrder hands the chunks of all parts of child to fn on the calling goroutine, in order; other workers
// compute parts ahead if there are enough rows.
func (r *run) inOrder(child operator, s types.Schema, parts int, fn func(p int, c *chunk) error) error {
	if r.units(parts) == 1 {
		for p := range parts {
			if err := child.part(r, 0, p, func(c *chunk) error { return fn(p, c) }); err != nil {
				return err
			}
		}
		return nil
	}
	var others []int
	for w := 1; w < r.workers; w++ {
		others = append(others, w)
	}
	a := runAhead("read", parts, others, func(w, p int) (*rowsBuffer, error) {
		buf := newRowsBuffer(s)
		err := child.part(r, w, p, func(c *chunk) error {
			buf.add(c.cols, c.sel)
			return nil
		})
		return buf, err
	})
	defer a.stop()
	for p := range parts {
		buf, mine, err := a.take(0, p)
		switch {
		case err != nil:
		case mine:
			err = child.part(r, 0, p, func(c *chunk) error { return fn(p, c) })
		default:
			err = pushRows(buf.vecs(), buf.n, func(c *chunk) error { return fn(p, c) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
