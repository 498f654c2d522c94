package engine

import (
	"sync"
	"time"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds: Spark's listener events and our own notices.
const (
	QueryStarted    EventKind = "started"
	QueryProgress   EventKind = "progress"
	QueryIdle       EventKind = "idle"
	QueryTerminated EventKind = "terminated"
	Notice          EventKind = "notice" // a warning of the engine: what Spark writes to its log
)

// Event is something that happened to a query. Immutable.
type Event struct {
	Seq       int64 // from 1, without gaps, per session
	Time      time.Time
	Kind      EventKind
	ID        string
	RunID     string
	Name      string
	Text      string    // one line for people
	Progress  *Progress // of QueryProgress events
	Exception string    // of QueryTerminated events; "" is a clean end
	Condition string    // of QueryTerminated events: the innermost condition
}

// ring keeps the newest events. Publishing is a slot in the ring: it cannot block and cannot grow.
type ring struct {
	mu   sync.Mutex
	slot [1024]Event
	next int64 // Seq of the next event
}

func (r *ring) add(e Event) Event {
	r.mu.Lock()
	r.next++
	e.Seq = r.next
	r.slot[r.next%int64(len(r.slot))] = e
	r.mu.Unlock()
	return e
}

// after gives the events with Seq > seq that are still held, oldest first, and the newest Seq.
func (r *ring) after(seq int64) ([]Event, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := max(seq+1, r.next-int64(len(r.slot))+1, 1)
	if from > r.next {
		return nil, r.next
	}
	out := make([]Event, 0, r.next-from+1)
	for s := from; s <= r.next; s++ {
		out = append(out, r.slot[s%int64(len(r.slot))])
	}
	return out, r.next
}

// Listener watches the queries of a session, as Spark's StreamingQueryListener. Functions may be nil.
// Started is called on the goroutine of Start, before Start returns; the others on one goroutine of the
// session, in order. A panic in one is reported as a notice and otherwise ignored.
type Listener struct {
	Started    func(Event)
	Progress   func(Event)
	Idle       func(Event)
	Terminated func(Event)
}

func (l *Listener) call(e Event) {
	f := map[EventKind]func(Event){QueryStarted: l.Started, QueryProgress: l.Progress, QueryIdle: l.Idle,
		QueryTerminated: l.Terminated}[e.Kind]
	if f != nil {
		f(e)
	}
}
