package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/types"
)

// samples keeps the first rows of the newest batches, as they went to the sink, for whoever looks. Keeping
// costs a reference per record batch; nothing is copied.
type samples struct {
	mu   sync.Mutex
	ring [keptBatches]sample
}

type sample struct {
	batch int64
	rows  []sampled // in the order of the partitions, not of their arrival
	total int64
	set   bool
}

// sampled is rows of one partition. Those that were lent are copied as vectors: nobody may ever ask for the record.
type sampled struct {
	part   int
	n      int64
	rb     arrow.RecordBatch // nil: it is to be made of cols
	schema types.Schema
	cols   []*columnar.Vec
}

// record gives the rows.
func (r *sampled) record() arrow.RecordBatch {
	switch {
	case r.rb == nil:
		r.rb = columnar.RecordOf(r.schema, r.cols, columnar.AllRows(int(r.n)))
		r.cols = nil
	case r.rb.NumRows() > r.n:
		r.rb = r.rb.NewSlice(0, r.n)
	}
	return r.rb
}

const (
	keptBatches = 32
	keptRows    = 1000
)

func (s *samples) begin(batch int64) {
	s.mu.Lock()
	s.ring[batch%keptBatches] = sample{batch: batch, set: true}
	s.mu.Unlock()
}

func (s *samples) add(batch int64, part int, rb arrow.RecordBatch) {
	s.mu.Lock()
	x := &s.ring[batch%keptBatches]
	if x.set && x.batch == batch {
		if left := x.room(part); left > 0 && rb.NumRows() > 0 {
			x.put(sampled{part: part, n: min(left, rb.NumRows()), rb: rb})
		}
		x.total += rb.NumRows()
	}
	s.mu.Unlock()
}

// room is how many more rows of a partition are among the first. Partitions are read beside each other, so that
// which of them comes first says nothing; what is kept must be the same in every run all the same.
func (x *sample) room(part int) int64 {
	left := int64(keptRows)
	for _, r := range x.rows {
		if r.part > part {
			break
		}
		left -= r.n
	}
	return left
}

// put takes rows that have room, and drops those of later partitions that have none any more.
func (x *sample) put(rows sampled) {
	at := len(x.rows)
	for at > 0 && x.rows[at-1].part > rows.part {
		at--
	}
	x.rows = slices.Insert(x.rows, at, rows)
	left := int64(keptRows)
	for i := range x.rows {
		r := &x.rows[i]
		r.n = min(r.n, left)
		if left -= r.n; left == 0 {
			clear(x.rows[i+1:])
			x.rows = x.rows[:i+1]
			break
		}
	}
}

// BatchRows gives the first rows that a recent batch of this run sent to its sink, in the order of the plan's
// partitions, and how many there were; ok is false if the batch is no longer kept.
func (q *StreamingQuery) BatchRows(batch int64) (rows []arrow.RecordBatch, total int64, ok bool) {
	s := &q.driver.samples
	s.mu.Lock()
	defer s.mu.Unlock()
	if batch < 0 {
		return nil, 0, false
	}
	x := s.ring[batch%keptBatches]
	if !x.set || x.batch != batch {
		return nil, 0, false
	}
	for i := range x.rows {
		rows = append(rows, x.rows[i].record())
	}
	return rows, x.total, true
}

// sent is how many rows of a batch the sink has read; nil if the batch is no longer kept.
func (s *samples) sent(batch int64) *int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.ring[batch%keptBatches]
	if !x.set || x.batch != batch {
		return nil
	}
	n := x.total
	return &n
}

// tee shows the first reading of a partition to the samples.
type tee struct {
	columnar.Partition
	s      *samples
	batch  int64
	part   int
	schema types.Schema
	seen   bool
}

func (t *tee) Rows(ctx context.Context) columnar.Rows {
	if t.seen {
		return t.Partition.Rows(ctx)
	}
	t.seen = true
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb, err := range t.Partition.Rows(ctx) {
			if err == nil {
				t.s.add(t.batch, t.part, rb)
			}
			if !yield(rb, err) {
				return
			}
		}
	}
}

// Lend shows rows as the partition does; the samples get copies.
func (t *tee) Lend(ctx context.Context, give func(cols []*columnar.Vec, n int) error) error {
	l, ok := t.Partition.(columnar.Lender)
	if !ok {
		for rb, err := range t.Rows(ctx) {
			if err != nil {
				return err
			}
			if err := give(pointers(columnar.Vectors(rb, t.schema)), int(rb.NumRows())); err != nil {
				return err
			}
		}
		return nil
	}
	seen := t.seen
	t.seen = true
	return l.Lend(ctx, func(cols []*columnar.Vec, n int) error {
		if !seen {
			t.s.show(t.batch, t.part, t.schema, cols, n)
		}
		return give(cols, n)
	})
}

func pointers(vs []columnar.Vec) []*columnar.Vec {
	out := make([]*columnar.Vec, len(vs))
	for i := range vs {
		out[i] = &vs[i]
	}
	return out
}

// show is add for rows that are lent: those that are kept are copied.
func (s *samples) show(batch int64, part int, schema types.Schema, cols []*columnar.Vec, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.ring[batch%keptBatches]
	if !x.set || x.batch != batch {
		return
	}
	if left := min(x.room(part), int64(n)); left > 0 {
		first := make([]int32, left)
		for i := range first {
			first[i] = int32(i)
		}
		kept := make([]*columnar.Vec, len(cols))
		for i, c := range cols {
			kept[i] = columnar.NewVec(schema[i].Type, 0)
			columnar.GatherIdx(kept[i], c, first)
		}
		x.put(sampled{part: part, n: left, schema: schema, cols: kept})
	}
	x.total += int64(n)
}

func (s *samples) wrap(batch int64, schema types.Schema, parts []columnar.Partition) []columnar.Partition {
	s.begin(batch)
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		out[i] = &tee{Partition: p, s: s, batch: batch, part: i, schema: schema}
	}
	return out
}
