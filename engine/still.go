package engine

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// Still is a session over the same names in which every stream is a table of the rows that its source holds
// now: the beginning of the source up to its end at the moment of the scan. Statements over streams then have
// a finite answer. A source that follows the clock shows what it makes in rateSpan. Nothing that the session
// does is seen by queries that run; temporary views it makes go with it. It is not closed.
func (s *Session) Still() (*Session, error) { return s.still(false) }

// FirstBatch is Still with the rows that the first micro-batch of a query would read.
func (s *Session) FirstBatch() (*Session, error) { return s.still(true) }

// rateSpan is how much of a source without a past is shown.
const rateSpan = 10 * time.Second

func (s *Session) still(first bool) (*Session, error) {
	c := s.child()
	table := func(st *catalog.Stream) catalog.Table { return stillTable{st, first} }
	for _, r := range s.catalog.List("") {
		switch {
		case r.Stream != nil:
			if _, err := c.over(r.Name, table(r.Stream)); err != nil {
				return c, err
			}
		case r.View != nil:
			if n, ok := r.View.Plan.(plan.Node); ok && n.Streaming() {
				v := *r.View
				v.Plan = plan.Still(n, table)
				c.catalog.Register(r.Name, catalog.Relation{View: &v})
			}
		}
	}
	return c, nil
}

// stillTable reads a stream as a table.
type stillTable struct {
	st    *catalog.Stream
	first bool
}

func (t stillTable) Schema() types.Schema { return t.st.Schema() }

// Hidden columns can be named as in the stream.
func (t stillTable) Hidden() types.Schema { return t.st.Hidden }

// Scan opens the source for itself; it is closed when ctx ends.
func (t stillTable) Scan(ctx context.Context, _ catalog.Scan) ([]columnar.Partition, error) {
	o, ok := t.st.Open.(*opening)
	if !ok {
		return nil, errs.New("INTERNAL_ERROR", "message", "the stream "+t.st.Name+" was not opened by a session")
	}
	def := o.def
	def.Log = &memoryLog{keys: map[string][]byte{}}
	began := false
	switch o.format {
	case "socket":
		return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "Reading a socket, which keeps nothing, as a table")
	case "kafka":
		if _, set := def.Options.Get("startingOffsets"); !set { // a table begins at the beginning, as in Spark
			m := sources.Options{"startingOffsets": "earliest"}
			for k, v := range def.Options {
				m[k] = v
			}
			def.Options = m
		}
	case "rate":
		now := def.Now
		if now == nil {
			now = time.Now
		}
		def.Now = func() time.Time {
			if began {
				return now()
			}
			return now().Add(-rateSpan)
		}
	}
	src, err := o.open(def)
	if err != nil {
		return nil, err
	}
	parts, err := func() ([]columnar.Partition, error) {
		start, err := src.InitialOffset(ctx)
		if err != nil {
			return nil, err
		}
		began = true
		var limit sources.ReadLimit
		if d, ok := src.(sources.DefaultLimit); ok && t.first {
			limit = d.DefaultReadLimit()
			limit.MinRows, limit.MaxDelay = 0, 0
		}
		end, err := src.LatestOffset(ctx, start, limit)
		if err != nil || end == start || end == "" {
			return nil, err
		}
		return src.PlanPartitions(ctx, start, end)
	}()
	if err != nil || len(parts) == 0 {
		if e := src.Close(); err == nil {
			err = e
		}
		return nil, err
	}
	// Partitions that were handed out may be read late or never: the source closes with the context.
	context.AfterFunc(ctx, func() { _ = safego.Call("close "+t.st.Name, src.Close) })
	return parts, nil
}

// memoryLog is the log of a source that is opened for looking.
type memoryLog struct {
	mu      sync.Mutex
	entries [][]byte
	first   int64
	keys    map[string][]byte
}

func (l *memoryLog) Add(n int64, entry []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		l.first = n
	}
	for int64(len(l.entries)) <= n-l.first {
		l.entries = append(l.entries, nil)
	}
	l.entries[n-l.first] = entry
	return nil
}

func (l *memoryLog) Get(n int64) ([]byte, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := n - l.first; i >= 0 && i < int64(len(l.entries)) && l.entries[i] != nil {
		return l.entries[i], true, nil
	}
	return nil, false, nil
}

func (l *memoryLog) Latest() (int64, []byte, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.entries); n > 0 {
		return l.first + int64(n) - 1, l.entries[n-1], true, nil
	}
	return 0, nil, false, nil
}

func (l *memoryLog) From(n int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		l.mu.Lock()
		list, first := l.entries[:len(l.entries):len(l.entries)], l.first
		l.mu.Unlock()
		for i, e := range list {
			if at := first + int64(i); at >= n && e != nil && !yield(at, e) {
				return
			}
		}
	}
}

func (l *memoryLog) PutKey(key string, value []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key] = value
	return nil
}

func (l *memoryLog) Key(key string) ([]byte, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.keys[key]
	return v, ok, nil
}

// Head is Collect of the first n rows; reading ends when there are enough.
func (d *DataFrame) Head(ctx context.Context, n int) ([]arrow.RecordBatch, types.Schema, error) {
	if d.err != nil {
		return nil, nil, d.err
	}
	return (&DataFrame{s: d.s, node: &plan.Limit{Child: d.node, N: int64(n)}}).Collect(ctx)
}
