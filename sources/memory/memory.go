// Package memory is the source whose rows a program pushes: for tests and lab files. An offset is the number
// of the last push, from 0; a query reads whole pushes. Pushes live as long as the process.
package memory

import (
	"context"
	"reflect"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/types"
)

// A Stream is the pushes of one definition, shared by all queries that read it. Safe for concurrent use.
type Stream struct {
	schema  types.Schema
	options sources.Options // keeps the map alive: its address is the stream's name
	mu      sync.Mutex
	pushes  []arrow.RecordBatch
	readers map[*source]struct{}
}

var registry = struct {
	sync.Mutex
	m map[uintptr]*Stream
}{m: map[uintptr]*Stream{}}

// Of gives the stream of a definition. Definitions are the same if they share one map of options, so a copy
// of a Def, as every query of a session gets it, reads the same pushes.
func Of(def sources.Def) (*Stream, error) {
	if def.Schema == nil {
		return nil, errs.New("MISSING_OPTION", "format", "memory", "option", "schema")
	}
	if def.Options == nil {
		return nil, errs.New("INTERNAL_ERROR", "message", "memory source: the definition has no options")
	}
	key := reflect.ValueOf(def.Options).Pointer()
	registry.Lock()
	defer registry.Unlock()
	s := registry.m[key]
	if s == nil {
		s = &Stream{schema: def.Schema, options: def.Options, readers: map[*source]struct{}{}}
		registry.m[key] = s
	}
	return s, nil
}

// Add pushes the rows of rb, which lie under the definition's schema, as one block.
func Add(def sources.Def, rb arrow.RecordBatch) error {
	s, err := Of(def)
	if err != nil {
		return err
	}
	s.Add(rb)
	return nil
}

// Forget drops the pushes of a definition; sources that are open keep theirs.
func Forget(def sources.Def) {
	registry.Lock()
	delete(registry.m, reflect.ValueOf(def.Options).Pointer())
	registry.Unlock()
}

// Add pushes one block of rows and returns its offset. rb must not be changed afterwards.
func (s *Stream) Add(rb arrow.RecordBatch) sources.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes = append(s.pushes, rb)
	for r := range s.readers {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}
	return offset(len(s.pushes) - 1)
}

func (s *Stream) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pushes)
}

func offset(n int) sources.Offset { return sources.Offset(strconv.Itoa(n)) }

func parse(o sources.Offset) (int, error) {
	if o == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(string(o))
	if err != nil {
		return 0, errs.New("OFFSET_FORM", "offset", o, "source", "MemoryStream")
	}
	return n, nil
}

// New makes a source that reads the pushes of the definition.
func New(def sources.Def) (sources.Source, error) {
	s, err := Of(def)
	if err != nil {
		return nil, err
	}
	r := &source{stream: s, changed: make(chan struct{}, 1), frozen: -1}
	s.mu.Lock()
	s.readers[r] = struct{}{}
	s.mu.Unlock()
	return r, nil
}

// Options describes maxPushesPerTrigger.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{{Name: "maxPushesPerTrigger", Doc: "Pushes that a micro-batch reads at most; 1 where a lab file lists rows by micro-batch."}}
}

type source struct {
	stream  *Stream
	changed chan struct{}
	frozen  int // pushes that an AvailableNow run reads; -1: all
}

func (r *source) Schema() types.Schema { return r.stream.schema }

func (r *source) InitialOffset(context.Context) (sources.Offset, error) { return "", nil }

// DefaultReadLimit is the option maxPushesPerTrigger, which counts as files do elsewhere.
func (r *source) DefaultReadLimit() sources.ReadLimit {
	v, _ := r.stream.options.Get("maxPushesPerTrigger")
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return sources.ReadLimit{}
	}
	return sources.ReadLimit{MaxFiles: n}
}

func (r *source) LatestOffset(_ context.Context, start sources.Offset, limit sources.ReadLimit) (sources.Offset, error) {
	n := r.stream.len()
	if r.frozen >= 0 {
		n = r.frozen
	}
	at, err := parse(start)
	if err != nil {
		return "", err
	}
	if n-1 <= at {
		return start, nil
	}
	if limit.MaxFiles > 0 {
		n = int(min(int64(n), int64(at)+1+limit.MaxFiles))
	}
	return offset(n - 1), nil
}

func (r *source) PrepareAvailableNow(context.Context) error {
	r.frozen = r.stream.len()
	return nil
}

func (r *source) PlanPartitions(_ context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	a, err := parse(start)
	if err != nil {
		return nil, err
	}
	b, err := parse(end)
	if err != nil {
		return nil, err
	}
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	if b >= len(r.stream.pushes) {
		return nil, errs.New("OFFSET_FORM", "offset", end, "source", "MemoryStream")
	}
	var parts []columnar.Partition
	for n := a + 1; n <= b; n++ {
		var list []arrow.RecordBatch
		rb := r.stream.pushes[n]
		for from := int64(0); from < rb.NumRows(); from += columnar.MaxBatch {
			list = append(list, rb.NewSlice(from, min(from+columnar.MaxBatch, rb.NumRows())))
		}
		parts = append(parts, block{columnar.Batches{Name: "memory[" + strconv.Itoa(n) + "]", List: list}, rb.NumRows()})
	}
	return parts, nil
}

type block struct {
	columnar.Batches
	rows int64
}

// NumRows is exact.
func (b block) NumRows() (int64, bool) { return b.rows, true }

func (r *source) Commit(context.Context, sources.Offset) error { return nil }

func (r *source) Changed() <-chan struct{} { return r.changed }

func (r *source) String() string { return "MemoryStream" }

func (r *source) Close() error {
	r.stream.mu.Lock()
	delete(r.stream.readers, r)
	r.stream.mu.Unlock()
	return nil
}
