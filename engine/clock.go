package engine

import (
	"context"
	"time"
)

// Clock is the time a session lives by; tests drive their own.
type Clock interface {
	Now() time.Time
	// Wait returns after d, when wake is signalled, or with ctx's error. wake may be nil.
	Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
