package engine

import (
	"context"
	"fmt"
	"sync"

	"streamlab/errs"
	"streamlab/internal/safego"
)

// Streams manages the queries of a session (Spark's StreamingQueryManager). Safe for concurrent use.
type Streams struct {
	s   *Session
	bus *bus

	mu     sync.Mutex
	active []*StreamingQuery
	marker termination   // sticky, see AwaitAnyTermination
	wake   chan struct{} // closed and replaced when marker changes
}

type termination struct {
	any bool
	err error // of the last failure since the marker was reset
}

// activeRuns are the running queries of the process by id and by checkpoint: one run each, over all
// sessions.
var activeRuns = struct {
	sync.Mutex
	byID map[string]*StreamingQuery
}{byID: map[string]*StreamingQuery{}}

func newStreams(s *Session) *Streams {
	return &Streams{s: s, bus: newBus(s), wake: make(chan struct{})}
}

// Active lists the queries that have not ended, in the order of their starts.
func (m *Streams) Active() []*StreamingQuery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*StreamingQuery(nil), m.active...)
}

// Get finds an active query by id; nil if there is none.
func (m *Streams) Get(id string) *StreamingQuery {
	for _, q := range m.Active() {
		if q.id == id {
			return q
		}
	}
	return nil
}

// AddListener makes l hear of the session's queries from now on.
func (m *Streams) AddListener(l *Listener) { m.bus.add(l) }

// RemoveListener ends that.
func (m *Streams) RemoveListener(l *Listener) { m.bus.remove(l) }

// AwaitAnyTermination returns when a query of the session has ended since the session began or the last
// ResetTerminated, at once if one already has. The error is that of a query that failed: a later clean end
// does not clear it.
func (m *Streams) AwaitAnyTermination(ctx context.Context) error {
	for {
		m.mu.Lock()
		t, wake := m.marker, m.wake
		m.mu.Unlock()
		if t.any {
			return t.err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ResetTerminated forgets past ends, for the next AwaitAnyTermination.
func (m *Streams) ResetTerminated() {
	m.mu.Lock()
	m.marker = termination{}
	m.mu.Unlock()
}

// register makes q an active query. Errors: QUERY_NAME_ALREADY_ACTIVE.
func (m *Streams) register(q *StreamingQuery) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.active {
		if q.name != "" && a.name == q.name {
			return errs.New("QUERY_NAME_ALREADY_ACTIVE", "name", q.name)
		}
	}
	m.active = append(m.active, q)
	return nil
}

func (m *Streams) checkName(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.active {
		if name != "" && a.name == name {
			return errs.New("QUERY_NAME_ALREADY_ACTIVE", "name", name)
		}
	}
	return nil
}

func (m *Streams) terminated(q *StreamingQuery, err error) {
	activeRuns.Lock()
	if activeRuns.byID[q.id] == q {
		delete(activeRuns.byID, q.id)
	}
	activeRuns.Unlock()
	m.mu.Lock()
	for i, a := range m.active {
		if a == q {
			m.active = append(m.active[:i:i], m.active[i+1:]...)
			break
		}
	}
	m.marker.any = true
	if err != nil {
		m.marker.err = err
	}
	close(m.wake)
	m.wake = make(chan struct{})
	m.mu.Unlock()
}

// bus hands events to listeners on a goroutine of its own, so that a slow listener costs no query
// anything; what it falls behind by more than the ring holds, it misses.
type bus struct {
	s         *Session
	mu        sync.Mutex
	listeners []*Listener
	signal    chan struct{} // buffered by one: there is something new, or closed is set
	closed    bool
	handle    *safego.Handle // nil until the first listener
	seen      int64
}

func newBus(s *Session) *bus { return &bus{s: s, signal: make(chan struct{}, 1)} }

func (b *bus) add(l *Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = append(b.listeners[:len(b.listeners):len(b.listeners)], l)
	if b.handle == nil && !b.closed {
		_, b.seen = b.s.events.after(1 << 62)
		b.handle = safego.Go("listeners", b.run)
	}
}

func (b *bus) remove(l *Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.listeners {
		if x == l {
			b.listeners = append(b.listeners[:i:i], b.listeners[i+1:]...)
			return
		}
	}
}

func (b *bus) post(e Event) {
	e = b.s.events.add(e)
	if e.Kind == QueryStarted { // synchronous, before Start returns
		b.mu.Lock()
		ls := b.listeners
		b.mu.Unlock()
		for _, l := range ls {
			b.call(l, e)
		}
	}
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *bus) call(l *Listener, e Event) {
	if err := safego.Call("listener", func() error { l.call(e); return nil }); err != nil {
		b.s.events.add(Event{Time: e.Time, Kind: Notice, ID: e.ID, RunID: e.RunID, Name: e.Name,
			Text: fmt.Sprintf("a listener failed: %v", errs.As(err).Err)})
	}
}

func (b *bus) run() error {
	for range b.signal {
		b.drain()
		b.mu.Lock()
		done := b.closed
		b.mu.Unlock()
		if done {
			b.drain()
			return nil
		}
	}
	return nil
}

func (b *bus) drain() {
	events, newest := b.s.events.after(b.seen)
	b.seen = newest
	b.mu.Lock()
	ls := b.listeners
	b.mu.Unlock()
	for _, e := range events {
		if e.Kind == QueryStarted {
			continue
		}
		for _, l := range ls {
			b.call(l, e)
		}
	}
}

func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	h := b.handle
	b.mu.Unlock()
	if h == nil {
		return
	}
	select {
	case b.signal <- struct{}{}:
	default:
	}
	_ = h.Wait()
}
