// Package safego starts goroutines that recover and report. A bare go statement elsewhere fails a test:
// a panic in a goroutine nobody watches would end the process with every query in it.
package safego

import (
	"fmt"
	"runtime/debug"

	"streamlab/errs"
)

// A Handle is a running goroutine. Whoever starts one waits for it.
type Handle struct {
	done chan struct{} // closed by the goroutine when it ends
	err  error         // set before done is closed
}

// Go runs fn on a goroutine of its own. A panic becomes an INTERNAL_ERROR that carries name and stack.
func Go(name string, fn func() error) *Handle {
	h := &Handle{done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.err = Call(name, fn)
	}()
	return h
}

// Call runs fn on the caller's goroutine, with a panic turned into an error as in Go.
func Call(name string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			cause, ok := p.(error)
			if !ok {
				cause = fmt.Errorf("%v", p)
			}
			err = errs.Wrap(cause, "INTERNAL_ERROR",
				"message", fmt.Sprintf("panic in %s: %v\n%s", name, p, debug.Stack()))
		}
	}()
	return fn()
}

// Done is closed when the goroutine has ended.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Wait blocks until the goroutine has ended and returns its error.
func (h *Handle) Wait() error {
	<-h.done
	return h.err
}
