package engine

import (
	"context"
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
	rows  []arrow.RecordBatch
	total int64
	set   bool
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

func (s *samples) add(batch int64, rb arrow.RecordBatch) {
	s.mu.Lock()
	x := &s.ring[batch%keptBatches]
	if x.set && x.batch == batch {
		if left := keptRows - x.total; left > 0 {
			kept := rb
			if rb.NumRows() > left {
				kept = rb.NewSlice(0, left)
			}
			x.rows = append(x.rows, kept)
		}
		x.total += rb.NumRows()
	}
	s.mu.Unlock()
}

// BatchRows gives the first rows that a recent batch of this run sent to its sink, and how many there were;
// ok is false if the batch is no longer kept.
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
	return x.rows[:len(x.rows):len(x.rows)], x.total, true
}

// tee shows the first reading of a partition to the samples.
type tee struct {
	columnar.Partition
	s      *samples
	batch  int64
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
				t.s.add(t.batch, rb)
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
			t.s.show(t.batch, t.schema, cols, n)
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
func (s *samples) show(batch int64, schema types.Schema, cols []*columnar.Vec, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.ring[batch%keptBatches]
	if !x.set || x.batch != batch {
		return
	}
	if left := min(keptRows-x.total, int64(n)); left > 0 {
		first := make([]int32, left)
		for i := range first {
			first[i] = int32(i)
		}
		kept := make([]*columnar.Vec, len(cols))
		for i, c := range cols {
			kept[i] = columnar.NewVec(schema[i].Type, 0)
			columnar.GatherIdx(kept[i], c, first)
		}
		x.rows = append(x.rows, columnar.RecordOf(schema, kept, columnar.AllRows(len(first))))
	}
	x.total += int64(n)
}

func (s *samples) wrap(batch int64, schema types.Schema, parts []columnar.Partition) []columnar.Partition {
	s.begin(batch)
	out := make([]columnar.Partition, len(parts))
	for i, p := range parts {
		out[i] = &tee{Partition: p, s: s, batch: batch, schema: schema}
	}
	return out
}
