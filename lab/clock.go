package lab

import (
	"context"
	"sync"
	"time"
)

// Clock is the system's clock, moved on by hand: the step advanceClock needs it. Safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	moved chan struct{} // closed and replaced when the clock is moved
}

// NewClock is a clock that agrees with the system's.
func NewClock() *Clock { return &Clock{moved: make(chan struct{})} }

// Now is the system's time and what was added to it.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance moves the clock on; whoever waits for a time that has come by it returns at once.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.ahead += d
	close(c.moved)
	c.moved = make(chan struct{})
	c.mu.Unlock()
}

// Wait returns after d on this clock, when wake is signalled, or with ctx's error.
func (c *Clock) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	until := c.Now().Add(d)
	for {
		c.mu.Lock()
		left, moved := until.Sub(time.Now().Add(c.ahead)), c.moved
		c.mu.Unlock()
		t := time.NewTimer(max(left, 0))
		select {
		case <-t.C:
			return nil
		case <-moved:
		case <-wake:
			t.Stop()
			return nil
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		t.Stop()
	}
}
