package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
)

// The rows of a source that gives them only once can be traced if they are kept while their batch runs: the
// batch that follows TraceNext records what its scans read, and Replay then takes the recording for the source.
// The batch itself pays a reference per record batch.

// recordedRows bounds a recording.
const recordedRows = 2 << 20

// keptRecordings is how many a query keeps, the newest ones.
const keptRecordings = 8

// recordings are the recordings of one query. Safe for concurrent use.
type recordings struct {
	wanted atomic.Bool
	mu     sync.Mutex
	list   []*recording
}

// recording is what the scans of one batch read.
type recording struct {
	batch int64
	mu    sync.Mutex
	parts [][]*recordedPart // by scan
	rows  int64
}

type recordedPart struct {
	columnar.Partition
	of   *recording
	list []arrow.RecordBatch
	seen bool
}

// TraceNext asks for the next batch to be recorded, so that Replay can trace it whatever its sources are.
func (q *StreamingQuery) TraceNext() { q.recordings.wanted.Store(true) }

// Traced lists the batches that are recorded, oldest first.
func (q *StreamingQuery) Traced() []int64 {
	r := &q.recordings
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []int64
	for _, x := range r.list {
		out = append(out, x.batch)
	}
	return out
}

func (r *recordings) of(batch int64) *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.batch == batch {
			return x
		}
	}
	return nil
}

// wrap records the inputs of a batch, if that was asked for. Scans of one source share its partitions.
func (r *recordings) wrap(batch int64, inputs [][]columnar.Partition) *recording {
	if !r.wanted.Swap(false) {
		return nil
	}
	x := &recording{batch: batch, parts: make([][]*recordedPart, len(inputs))}
	for i, in := range inputs {
		out := make([]columnar.Partition, len(in))
		for k, p := range in {
			rp := &recordedPart{Partition: p, of: x}
			x.parts[i], out[k] = append(x.parts[i], rp), rp
		}
		if in != nil {
			inputs[i] = out
		}
	}
	return x
}

// keep adds a recording whose batch is committed.
func (r *recordings) keep(x *recording) {
	if x == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
	if over := len(r.list) - keptRecordings; over > 0 {
		r.list = append([]*recording(nil), r.list[over:]...)
	}
}

// NumRows is the partition's own.
func (p *recordedPart) NumRows() (int64, bool) {
	switch x := p.Partition.(type) {
	case sources.Counter:
		return x.NumRows()
	case columnar.Batches:
		n := int64(0)
		for _, rb := range x.List {
			n += rb.NumRows()
		}
		return n, true
	}
	return 0, false
}

// Rows records the first reading.
func (p *recordedPart) Rows(ctx context.Context) columnar.Rows {
	p.of.mu.Lock()
	first := !p.seen
	p.seen = true
	p.of.mu.Unlock()
	if !first {
		return p.Partition.Rows(ctx)
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rb, err := range p.Partition.Rows(ctx) {
			if err == nil {
				p.of.mu.Lock()
				if p.of.rows += rb.NumRows(); p.of.rows <= recordedRows {
					p.list = append(p.list, rb)
				} else {
					p.list = nil
				}
				p.of.mu.Unlock()
			}
			if !yield(rb, err) {
				return
			}
		}
	}
}

// inputs gives the recorded partitions. Errors: TRACE_TOO_LARGE.
func (x *recording) inputs() ([][]columnar.Partition, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rows > recordedRows {
		return nil, errs.New("TRACE_TOO_LARGE", "batch", x.batch, "rows", x.rows, "limit", int64(recordedRows))
	}
	out := make([][]columnar.Partition, len(x.parts))
	for i, ps := range x.parts {
		for _, p := range ps {
			out[i] = append(out[i], columnar.Batches{Name: "recorded", List: p.list})
		}
	}
	return out, nil
}
