package sources

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/types"
)

// Keyed is implemented by partitions whose rows are told by a key: two partitions with equal keys give equal rows in
// the same order, for as long as the source holds them. "" is a partition that must be read for itself, because
// reading it has effects (counters) or because what it holds may change.
type Keyed interface{ ContentKey() string }

// sharedBytes bounds what a Shared keeps; what has been read longest ago goes first.
const sharedBytes = 64 << 20

// turn is how many blocks are read before those that wait for them are told.
const turn = 8

// Shared is one physical read for several queries of one source. Each query has a source and offsets of its
// own; what they have in common are partitions with equal keys, whose rows are kept until all of them have had them.
// A partition is read on by whichever query is first to want more of it, so that none waits for what another does
// with its rows. Texts are numbered once for all. Nothing of this is in a checkpoint, and a query that is behind or
// ahead of the others only reads for itself. Safe for concurrent use.
type Shared struct {
	schema  types.Schema // of the source
	columns []int        // the columns that any of the queries needs, ascending; nil is all
	readers int
	words   []columnar.Dictionary // by column of the source

	mu      sync.Mutex
	entries map[string]*sharedRead
	oldest  []*sharedRead
	bytes   int64
	began   int64
	free    []*block

	reads, hits atomic.Int64
}

// NewShared makes a shared read of a source with a schema for a number of queries that need the columns (ascending
// positions, nil is all of them) between them.
func NewShared(schema types.Schema, columns []int, readers int) *Shared {
	return &Shared{schema: schema, columns: columns, readers: readers, words: make([]columnar.Dictionary, len(schema)),
		entries: map[string]*sharedRead{}}
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

// block is some rows.
type block struct {
	cols  []*columnar.Vec
	codes []columnar.Coded
	n     int
	bytes int64
	own   bool // the memory is the block's
}

// sharedRead is the rows of one partition, as far as they were read.
type sharedRead struct {
	key     string
	list    []*block
	first   int // blocks that were there before list
	bytes   int64
	state   readState
	busy    bool                         // somebody reads on
	next    func() (*block, error, bool) // nil before the first turn
	stop    func()
	cancel  func()
	changed chan struct{} // closed and replaced when something changes
	had     int           // queries that have read it to the end
	inside  int           // queries that are at it
	lost    bool          // rows were given to somebody who may keep them
}

type readState uint8

const (
	reading readState = iota
	whole
	given // up: whoever wants more reads for itself
)

// enter finds the read of a key; made is true for the caller that begins it. Whoever enters has to leave.
func (s *Shared) enter(key string) (e *sharedRead, made bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		e = &sharedRead{key: key, changed: make(chan struct{})}
		s.entries[key] = e
		s.oldest = append(s.oldest, e)
	}
	e.inside++
	return e, !ok
}

// leave ends what enter began. A read that nobody is at any more is not gone on with.
func (s *Shared) leave(e *sharedRead) {
	s.mu.Lock()
	e.inside--
	var stop func()
	if e.inside == 0 && e.state == reading {
		stop = e.end(given)
		s.drop(e)
	}
	s.recycle(e)
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// end gives what has to be called, without the lock, to end the reading.
func (e *sharedRead) end(state readState) (stop func()) {
	e.state = state
	next, cancel := e.stop, e.cancel
	e.next, e.stop, e.cancel = nil, nil, nil
	e.wake()
	if next == nil {
		return nil
	}
	return func() {
		cancel()
		next()
	}
}

// wake tells those that wait.
func (e *sharedRead) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// drop forgets a read; who is at it keeps what there is.
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
	s.bytes -= e.bytes
	s.recycle(e)
}

// recycle takes the memory of a read that nobody can come to any more.
func (s *Shared) recycle(e *sharedRead) {
	if e.inside > 0 || e.lost || s.entries[e.key] == e {
		return
	}
	for _, b := range e.list {
		if b.own && len(s.free) < sharedBytes/2/max(1, int(b.bytes)) {
			s.free = append(s.free, b)
		}
	}
	e.list = nil
}

// add keeps blocks that were read.
func (s *Shared) add(e *sharedRead, blocks []*block) {
	n := int64(0)
	for _, b := range blocks {
		n += b.bytes
	}
	e.list = append(e.list, blocks...)
	e.bytes += n
	if s.entries[e.key] == e {
		s.bytes += n
	}
	if e.bytes > sharedBytes/2 { // too large to be kept: only those that are at it go on together
		s.drop(e)
		for e.bytes > sharedBytes/2 && len(e.list) > 1 {
			e.bytes -= e.list[0].bytes
			e.list, e.first = e.list[1:], e.first+1
		}
	}
	for s.bytes > sharedBytes && len(s.oldest) > 0 && s.oldest[0] != e {
		s.drop(s.oldest[0])
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

// Rows gives the rows as record batches, whose memory is not used for others then.
func (p *sharedPartition) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var schema *arrow.Schema
		stopped := false
		err := p.each(ctx, true, func(b *block) error {
			cols := p.cut(b.cols)
			if schema == nil {
				s, err := p.schema(len(b.cols))
				if err != nil {
					return err
				}
				if p.project != nil {
					var some types.Schema
					for _, c := range p.project {
						some = append(some, s[c])
					}
					s = some
				}
				schema = s.Arrow()
			}
			if stopped = !yield(columnar.Record(schema, cols, columnar.AllRows(b.n)), nil); stopped {
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// Lend shows the rows; their memory is used again when all queries have had them.
func (p *sharedPartition) Lend(ctx context.Context, give func(cols []*columnar.Vec, n int) error) error {
	return p.each(ctx, false, func(b *block) error { return give(p.cut(b.cols), b.n) })
}

var errStopped = errs.New("INTERNAL_ERROR", "message", "nobody wants more rows of a shared read")

// each gives the blocks in order. keeps says that whoever gets them may keep them.
func (p *sharedPartition) each(ctx context.Context, keeps bool, give func(b *block) error) error {
	if p.key == "" {
		return p.alone(ctx, 0, keeps, give)
	}
	s := p.s
	e, made := s.enter(p.key)
	defer s.leave(e)
	if made {
		s.reads.Add(1)
	}
	rows := 0
	for i := 0; ; {
		s.mu.Lock()
		e.lost = e.lost || keeps
		if at := i - e.first; at >= 0 && at < len(e.list) {
			list := e.list[at:]
			s.mu.Unlock()
			for _, b := range list {
				if err := give(b); err != nil {
					return err
				}
				rows += b.n
				i++
			}
			continue
		} else if at < 0 || e.state == given {
			s.mu.Unlock()
			return p.alone(ctx, rows, keeps, give)
		}
		if e.state == whole {
			if e.had++; e.had >= s.readers {
				s.drop(e)
			}
			s.mu.Unlock()
			if !made {
				s.hits.Add(1)
			}
			return nil
		}
		if e.busy {
			changed := e.changed
			s.mu.Unlock()
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		e.busy = true
		s.mu.Unlock()
		if err := p.more(ctx, e); err != nil {
			return err
		}
	}
}

// more reads on, for all. What it reads outlives ctx, but is given up if ctx ends while it waits.
func (p *sharedPartition) more(ctx context.Context, e *sharedRead) (err error) {
	s := p.s
	if e.next == nil {
		through, cancel := context.WithCancel(context.WithoutCancel(ctx))
		e.next, e.stop = iter.Pull2(p.blocks(through, true))
		e.cancel = cancel
	}
	unheard := context.AfterFunc(ctx, e.cancel)
	var got []*block
	state := given // also when the reader panics
	defer func() {
		if !unheard() && err == nil && state == reading {
			state = given // its context has been ended meanwhile
		}
		s.mu.Lock()
		e.busy = false
		s.add(e, got)
		var stop func()
		if state == reading {
			e.wake()
		} else if stop = e.end(state); state == given {
			s.drop(e)
		}
		s.mu.Unlock()
		if stop != nil {
			stop()
		}
	}()
	for len(got) < turn {
		b, err, more := e.next()
		if err != nil {
			return err
		}
		if !more {
			state = whole
			return nil
		}
		got = append(got, b)
	}
	state = reading
	return nil
}

// blocks reads the partition; kept says that the blocks are to stay as they are.
func (p *sharedPartition) blocks(ctx context.Context, kept bool) iter.Seq2[*block, error] {
	return func(yield func(*block, error) bool) {
		if l, ok := p.Partition.(columnar.Lender); ok {
			stopped := false
			err := l.Lend(ctx, func(cols []*columnar.Vec, n int) error {
				b := &block{cols: cols, n: n}
				if kept {
					var err error
					if b, err = p.copied(cols, n); err != nil {
						return err
					}
				}
				if stopped = !yield(b, nil); stopped {
					return errStopped
				}
				return nil
			})
			if err != nil && !stopped {
				yield(nil, err)
			}
			return
		}
		for rb, err := range p.Partition.Rows(ctx) {
			var b *block
			if err == nil {
				b, err = p.seen(rb)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// schema is that of blocks with so many columns.
func (p *sharedPartition) schema(columns int) (types.Schema, error) {
	if columns == len(p.s.schema) {
		return p.s.schema, nil
	}
	if columns != len(p.s.columns) {
		return nil, errs.New("INTERNAL_ERROR", "message", "a shared read has other columns than were asked for")
	}
	var out types.Schema
	for _, c := range p.s.columns {
		out = append(out, p.s.schema[c])
	}
	return out, nil
}

// seen is a record batch as a block.
func (p *sharedPartition) seen(rb arrow.RecordBatch) (*block, error) {
	schema, err := p.schema(int(rb.NumCols()))
	if err != nil {
		return nil, err
	}
	vs := columnar.Vectors(rb, schema)
	b := &block{n: int(rb.NumRows()), codes: make([]columnar.Coded, len(vs))}
	for i := range vs {
		b.cols = append(b.cols, &vs[i])
	}
	p.number(b)
	return b, nil
}

// copied is lent rows as a block with memory of its own.
func (p *sharedPartition) copied(cols []*columnar.Vec, n int) (*block, error) {
	schema, err := p.schema(len(cols))
	if err != nil {
		return nil, err
	}
	s := p.s
	s.mu.Lock()
	var b *block
	if k := len(s.free); k > 0 {
		b, s.free = s.free[k-1], s.free[:k-1]
	}
	s.mu.Unlock()
	if b == nil || len(b.cols) != len(cols) {
		b = &block{own: true, cols: make([]*columnar.Vec, len(cols)), codes: make([]columnar.Coded, len(cols))}
		for i := range b.cols {
			b.cols[i] = new(columnar.Vec)
		}
	}
	for i, c := range cols {
		columnar.Copy(b.cols[i], c, n)
		b.cols[i].Type = schema[i].Type
	}
	b.n = n
	p.number(b)
	return b, nil
}

// number has the texts of a block numbered when a query asks for it, and measures the block.
func (p *sharedPartition) number(b *block) {
	b.bytes = 0
	for i, c := range b.cols {
		b.bytes += c.MemoryBytes()
		at := i
		if len(b.cols) != len(p.s.schema) {
			at = p.s.columns[i]
		}
		if c.Coded == nil {
			p.s.words[at].Code(c, &b.codes[i])
		}
	}
}

// alone reads the partition without keeping anything, from row skip on.
func (p *sharedPartition) alone(ctx context.Context, skip int, keeps bool, give func(b *block) error) error {
	p.s.reads.Add(1)
	for b, err := range p.blocks(ctx, keeps) {
		if err != nil {
			return err
		}
		if skip >= b.n {
			skip -= b.n
			continue
		}
		if skip > 0 {
			rest := &block{n: b.n - skip}
			for _, c := range b.cols {
				v := c.View(skip, b.n)
				rest.cols = append(rest.cols, &v)
			}
			b, skip = rest, 0
		}
		if err := give(b); err != nil {
			return err
		}
	}
	return nil
}

// cut leaves the columns that the scan wants.
func (p *sharedPartition) cut(cols []*columnar.Vec) []*columnar.Vec {
	if p.project == nil {
		return cols
	}
	out := make([]*columnar.Vec, len(p.project))
	for i, c := range p.project {
		out[i] = cols[c]
	}
	return out
}
