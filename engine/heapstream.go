package engine

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// AsStream reads a heap table as a stream: the rows that are there, then those that INSERT INTO appends. A
// table of files is a stream of its files. Of a table in memory whose rows are replaced, queries that have
// read it fail: their offset lies behind.
func (h *heap) AsStream(options map[string]string) (*catalog.Stream, error) {
	if h.dir != nil {
		d := h.Definition()
		if _, err := h.dir.table(context.Background(), d); err != nil {
			return nil, err
		}
		r := h.dir.s.ReadStream().Format(d.Provider).Named(d.Name).Options(d.Options).Options(options)
		r.schema = d.Columns
		return r.stream(d.Location)
	}
	open := &opening{format: "table", open: func(sources.Def) (sources.Source, error) { return &heapSource{h: h}, nil }}
	return catalog.NewStream(h.id, h.Definition().Name, "table", h.Schema(), open), nil
}

// heapSource counts record batches: its offset is their number.
type heapSource struct {
	h   *heap
	end int // of an AvailableNow run; 0 is none
}

func (s *heapSource) Schema() types.Schema { return s.h.Schema() }

func (s *heapSource) InitialOffset(context.Context) (sources.Offset, error) { return "0", nil }

func (s *heapSource) LatestOffset(_ context.Context, start sources.Offset, _ sources.ReadLimit) (sources.Offset, error) {
	n := len(s.h.batches())
	if s.end > 0 {
		n = min(n, s.end)
	}
	return sources.Offset(strconv.Itoa(n)), nil
}

func (s *heapSource) PrepareAvailableNow(context.Context) error {
	s.end = max(1, len(s.h.batches()))
	return nil
}

func (s *heapSource) PlanPartitions(_ context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	from, _ := strconv.Atoi(string(start))
	to, err := strconv.Atoi(string(end))
	rows := s.h.batches()
	if err != nil || from > to || to > len(rows) {
		return nil, errs.New("STREAMING_TABLE_REPLACED", "table", s.h.fullName(), "from", string(start), "to", string(end), "have", len(rows))
	}
	return []columnar.Partition{columnar.Batches{Name: s.h.Definition().Name, List: rows[from:to]}}, nil
}

func (s *heapSource) Commit(context.Context, sources.Offset) error { return nil }

func (s *heapSource) Close() error { return nil }

func (h *heap) batches() []arrow.RecordBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows[:len(h.rows):len(h.rows)]
}
