package lab

import (
	"context"
	"errors"
	"sort"
	"sync"
	"sync/atomic"

	"streamlab/engine"
	"streamlab/errs"
)

// Workbench is a lab that can run: a session, and a streaming query for every query of the lab that was
// started. Safe for concurrent use.
type Workbench struct {
	Lab *Lab // as it was opened; see Current
	// Trusted lets queries run the commands of their foreach. Set it before the first Start.
	Trusted bool
	s       *engine.Session

	clock *Clock // of labs whose steps move it; nil else

	adopted atomic.Pointer[Lab] // by Adopt; nil: none

	mu    sync.Mutex
	stale map[string]bool                   // queries that run otherwise than they are defined
	runs  map[string]*engine.StreamingQuery // newest run by queryName
	last  map[string]error                  // why a start was refused
}

// Open makes a lab ready to run; it starts nothing. Errors: every problem of sources, tables and views.
func Open(ctx context.Context, l *Lab, c engine.Config) (*Workbench, error) {
	var clock *Clock
	if c.Clock == nil && l.movesClock() {
		clock = NewClock()
		c.Clock = clock
	}
	l, err := l.embed(ctx)
	if err != nil {
		return nil, err
	}
	s, _, problems := l.build(ctx, c, false)
	if len(problems) > 0 {
		if s != nil {
			problems = append(problems, s.Close())
		}
		return nil, errors.Join(problems...)
	}
	l.share(ctx, s)
	return &Workbench{Lab: l, s: s, clock: clock, runs: map[string]*engine.StreamingQuery{}, last: map[string]error{}}, nil
}

// Session is the lab's session.
func (w *Workbench) Session() *engine.Session { return w.s }

// Current is the lab as it is defined now: Lab, or what Adopt has made of it since. It is not changed any more.
func (w *Workbench) Current() *Lab {
	if l := w.adopted.Load(); l != nil {
		return l
	}
	return w.Lab
}

// Names lists the queries in file order.
func (w *Workbench) Names() []string {
	var out []string
	for _, q := range w.Current().Queries {
		out = append(out, q.Name.Value)
	}
	return out
}

// Query is the newest run of a query; nil if it was never started.
func (w *Workbench) Query(name string) *engine.StreamingQuery {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[name]
}

// Refused is why the last start of a query was refused; nil if it was not.
func (w *Workbench) Refused(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[name]
}

// Find is the definition of a query. Errors: LAB_NO_QUERY with the nearest name.
func (w *Workbench) Find(name string) (Query, error) {
	for _, q := range w.Current().Queries {
		if q.Name.Value == name {
			return q, nil
		}
	}
	e := errs.New("LAB_NO_QUERY", "name", name)
	if n := nearest(name, w.Names()); n != "" {
		e = e.WithHint("Did you mean `" + n + "`?")
	}
	return Query{}, e
}

// StartOptions change how a query is started; the zero value changes nothing.
type StartOptions struct {
	Trigger    *engine.Trigger // instead of the file's
	MaxBatches int             // end after so many micro-batches
}

// Start starts a query. A query that runs already is left alone.
func (w *Workbench) Start(ctx context.Context, name string, o StartOptions) (*engine.StreamingQuery, error) {
	q, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.runs[name]; r != nil && r.IsActive() {
		return r, nil
	}
	run, err := func() (*engine.StreamingQuery, error) {
		if err := w.shared(q); err != nil {
			return nil, err
		}
		if q.Command != nil && !w.Trusted {
			return nil, w.Current().locate(errs.New("LAB_NOT_TRUSTED", "command", q.Command[0]), q.sinkPos)
		}
		dw, path, err := w.Current().writer(ctx, w.s, q)
		if err != nil {
			return nil, err
		}
		if o.Trigger != nil {
			dw = dw.Trigger(*o.Trigger)
		}
		dw = dw.MaxBatches(o.MaxBatches)
		var r *engine.StreamingQuery
		if q.ToTable.Value != "" {
			r, err = dw.ToTable(ctx, q.ToTable.Value)
		} else {
			r, err = dw.Start(ctx, pathOf(path)...)
		}
		if err != nil {
			return nil, w.Current().locate(err, w.Current().blame(q, err))
		}
		return r, nil
	}()
	w.last[name] = err
	if err != nil {
		return nil, err
	}
	w.runs[name] = run
	delete(w.stale, name)
	return run, nil
}

// shared refuses a query whose checkpoint another query of the lab has used in this session: it would go on
// where the other one stopped. The caller holds mu.
func (w *Workbench) shared(q Query) error {
	cp := w.Current().checkpointOf(w.s, q)
	if cp == "" {
		return nil
	}
	for _, o := range w.Current().Queries {
		if o.Name.Value != q.Name.Value && w.runs[o.Name.Value] != nil && w.Current().checkpointOf(w.s, o) == cp {
			return w.Current().locate(errs.New("LAB_CHECKPOINT_SHARED", "first", o.Name.Value, "second", q.Name.Value), q.Name.Pos)
		}
	}
	return nil
}

// StartAll starts every query that the file does not hold back, in file order; refusals are joined, and the
// other queries start all the same.
func (w *Workbench) StartAll(ctx context.Context, o StartOptions) error {
	var problems []error
	for _, q := range w.Current().Queries {
		if !q.Start {
			continue
		}
		if _, err := w.Start(ctx, q.Name.Value, o); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Checkpoint is where a query keeps its checkpoint: that of its newest run, else where it would be. "" is a
// temporary one that does not exist yet.
func (w *Workbench) Checkpoint(name string) (string, error) {
	q, err := w.Find(name)
	if err != nil {
		return "", err
	}
	if r := w.Query(name); r != nil {
		return r.Snapshot().Checkpoint, nil
	}
	return w.Current().checkpointOf(w.s, q), nil
}

// Writer describes a query as Start would start it.
func (w *Workbench) Writer(ctx context.Context, name string) (*engine.DataStreamWriter, error) {
	q, err := w.Find(name)
	if err != nil {
		return nil, err
	}
	dw, _, err := w.Current().writer(ctx, w.s, q)
	return dw, err
}

// Checkpoints lists the locations of all queries that have a lasting checkpoint, by queryName.
func (w *Workbench) Checkpoints() map[string]string {
	m := map[string]string{}
	for _, q := range w.Current().Queries {
		if c := w.Current().checkpointOf(w.s, q); c != "" {
			m[q.Name.Value] = c
		}
	}
	return m
}

// Running lists the names of queries that are active, sorted.
func (w *Workbench) Running() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for n, r := range w.runs {
		if r.IsActive() {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// Close stops everything.
func (w *Workbench) Close() error { return w.s.Close() }
