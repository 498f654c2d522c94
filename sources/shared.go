package sources

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/columnar"
)

// Keyed is implemented by partitions whose rows are told by a key: two partitions with equal keys give equal
// batches, cut at the same rows, for as long as the source holds them. "" is a partition that must be read
// for itself, because reading it has effects (counters) or because what it holds may change.
type Keyed interface{ ContentKey() string }

// sharedBytes bounds what a Shared keeps; what has been read longest ago goes first.
const sharedBytes = 64 << 20

// patience is how long a reader waits for the one it follows before it reads on by itself.
const patience = 100 * time.Millisecond

// Shared is one physical read for several queries of one source. Each query has a source and offsets of its
// own; what they have in common are partitions with equal keys, which are read by the query that comes first
// and kept until the others have had them. Nothing of this is in a checkpoint, and a query that is behind or
// ahead of the others only reads for itself. Safe for concurrent use.
type Shared struct {
	columns []int // the columns that any of the queries needs, ascending; nil is all
	readers int

	mu      sync.Mutex
	entries map[string]*sharedRead
	oldest  []*sharedRead
	bytes   int64
	began   int64

	reads, hits atomic.Int64
}

// NewShared makes a shared read for a number of queries that need the columns (ascending positions, nil is
// all of them) between them.
func NewShared(columns []int, readers int) *Shared {
	return &Shared{columns: columns, readers: readers, entries: map[string]*sharedRead{}}
}

// together is how far apart queries may start and still count as started at one time.
const together = 1000

// Began gives queries that are started for the first time within a second of each other one moment, the first
// one's, in ms: rows that depend on it are the same for all of them then. A later one begins with its own.
func (s *Shared) Began(now int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now - s.began; d < 0 || d > together {
		s.began = now
	}
	return s.began
}

// Columns are the columns that the batches of shared partitions have; nil is all.
func (s *Shared) Columns() []int { return s.columns }

// Counts says how many partitions were read from the source, and how many were had from another query.
func (s *Shared) Counts() (reads, hits int64) { return s.reads.Load(), s.hits.Load() }

// Wrap gives partitions that share their rows; those without a key stay as they are, but for their columns.
// need are the columns that the caller's scan wants, a subset of Columns; nil is all of Columns.
func (s *Shared) Wrap(parts []columnar.Partition, need []int) []columnar.Partition {
	var project []int
	if need != nil && len(need) != len(s.columns) {
		project = positions(s.columns, need)
	}
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		key := ""
		if k, ok := p.(Keyed); ok {
			key = k.ContentKey()
		}
		out[i] = &sharedPartition{Partition: p, s: s, key: key, project: project}
	}
	return out
}

// positions finds the places of need in have; with have nil a column stands at its own position.
func positions(have, need []int) []int {
	out := make([]int, len(need))
	for i, c := range need {
		out[i] = c
		for j, h := range have {
			if h == c {
				out[i] = j
			}
		}
	}
	return out
}

// sharedRead is the batches of one partition, as far as they were read.
type sharedRead struct {
	key string

	mu      sync.Mutex
	list    []arrow.RecordBatch
	bytes   int64
	state   readState
	changed chan struct{} // closed and replaced when list or state changes
	had     int           // queries that have read it to the end
}

type readState uint8

const (
	reading readState = iota
	whole
	given // up: whoever follows reads for itself
)

// begin finds the read of a key; lead is true for the caller that has to do it.
func (s *Shared) begin(key string) (e *sharedRead, lead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok {
		return e, false
	}
	e = &sharedRead{key: key, changed: make(chan struct{})}
	s.entries[key] = e
	s.oldest = append(s.oldest, e)
	return e, true
}

// add keeps one more batch; false if the read has become too large to keep.
func (s *Shared) add(e *sharedRead, rb arrow.RecordBatch) bool {
	n := sizeOf(rb)
	e.mu.Lock()
	e.list = append(e.list, rb)
	e.bytes += n
	large := e.bytes > sharedBytes/2
	e.wake()
	e.mu.Unlock()
	s.mu.Lock()
	s.bytes += n
	for s.bytes > sharedBytes && len(s.oldest) > 0 && s.oldest[0] != e {
		s.drop(s.oldest[0])
	}
	s.mu.Unlock()
	return !large
}

// wake tells the followers; the caller holds mu.
func (e *sharedRead) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func (s *Shared) end(e *sharedRead, state readState) {
	e.mu.Lock()
	e.state = state
	e.wake()
	e.mu.Unlock()
	if state == given {
		s.mu.Lock()
		s.drop(e)
		s.mu.Unlock()
	}
}

// drop forgets a read; who follows it keeps what it has. The caller holds mu.
func (s *Shared) drop(e *sharedRead) {
	if s.entries[e.key] != e {
		return
	}
	delete(s.entries, e.key)
	for i, x := range s.oldest {
		if x == e {
			s.oldest = append(s.oldest[:i], s.oldest[i+1:]...)
			break
		}
	}
	e.mu.Lock()
	s.bytes -= e.bytes
	e.mu.Unlock()
}

// had counts a query that is through; after the last one the rows go.
func (s *Shared) had(e *sharedRead) {
	e.mu.Lock()
	e.had++
	over := e.had >= s.readers
	e.mu.Unlock()
	if over {
		s.mu.Lock()
		s.drop(e)
		s.mu.Unlock()
	}
}

type sharedPartition struct {
	columnar.Partition
	s       *Shared
	key     string
	project []int
}

// NumRows is that of the partition, if it knows.
func (p *sharedPartition) NumRows() (n int64, exact bool) {
	if c, ok := p.Partition.(Counter); ok {
		return c.NumRows()
	}
	return 0, false
}

func (p *sharedPartition) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if p.key == "" {
			p.alone(ctx, 0, yield)
			return
		}
		e, lead := p.s.begin(p.key)
		if lead {
			p.lead(ctx, e, yield)
		} else {
			p.follow(ctx, e, yield)
		}
	}
}

// alone reads the partition without keeping anything, from the batch with number skip on.
func (p *sharedPartition) alone(ctx context.Context, skip int, yield func(arrow.RecordBatch, error) bool) {
	p.s.reads.Add(1)
	for rb, err := range p.Partition.Rows(ctx) {
		if err == nil && skip > 0 {
			skip--
			continue
		}
		if !yield(p.cut(rb), err) {
			return
		}
	}
}

func (p *sharedPartition) lead(ctx context.Context, e *sharedRead, yield func(arrow.RecordBatch, error) bool) {
	p.s.reads.Add(1)
	state, keep := given, true
	defer func() { p.s.end(e, state) }() // also when the reader below panics
	for rb, err := range p.Partition.Rows(ctx) {
		if err == nil && keep && !p.s.add(e, rb) {
			keep = false
			p.s.end(e, given)
		}
		if !yield(p.cut(rb), err) || err != nil {
			return
		}
	}
	if keep {
		state = whole
		p.s.had(e)
	}
}

func (p *sharedPartition) follow(ctx context.Context, e *sharedRead, yield func(arrow.RecordBatch, error) bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for i := 0; ; {
		e.mu.Lock()
		list, state, changed := e.list, e.state, e.changed
		e.mu.Unlock()
		if i == len(list) {
			switch state {
			case whole:
				p.s.hits.Add(1)
				p.s.had(e)
				return
			case given:
				p.alone(ctx, i, yield)
				return
			}
			timer.Reset(patience)
			select {
			case <-changed:
			case <-timer.C:
				p.alone(ctx, i, yield)
				return
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			continue
		}
		for ; i < len(list); i++ {
			if !yield(p.cut(list[i]), nil) {
				return
			}
		}
	}
}

// cut leaves the columns that the scan wants.
func (p *sharedPartition) cut(rb arrow.RecordBatch) arrow.RecordBatch {
	if rb == nil || p.project == nil {
		return rb
	}
	fields := make([]arrow.Field, len(p.project))
	columns := make([]arrow.Array, len(p.project))
	for i, c := range p.project {
		fields[i], columns[i] = rb.Schema().Field(c), rb.Column(c)
	}
	md := rb.Schema().Metadata()
	return array.NewRecordBatch(arrow.NewSchema(fields, &md), columns, rb.NumRows())
}

// sizeOf is about how many bytes the buffers of a batch hold.
func sizeOf(rb arrow.RecordBatch) (n int64) {
	var of func(d arrow.ArrayData)
	of = func(d arrow.ArrayData) {
		for _, b := range d.Buffers() {
			if b != nil {
				n += int64(b.Len())
			}
		}
		for _, c := range d.Children() {
			of(c)
		}
	}
	for _, c := range rb.Columns() {
		of(c.Data())
	}
	return n
}
