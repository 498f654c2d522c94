package kafka

import (
	"context"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sql/catalog"
	"streamlab/sql/types"
)

// readTable is topics read in full, or between the starting and ending options. Where they lie is found out
// by every scan.
type readTable struct{ *settings }

// NewTable reads topics as a table. All that is wrong with the options comes from here.
func NewTable(_ context.Context, def sources.Def) (catalog.Table, error) {
	s, err := define(def, table)
	if err != nil {
		return nil, err
	}
	if err := s.complete(def.Options, table); err != nil {
		return nil, err
	}
	return &readTable{s}, nil
}

func (t *readTable) Schema() types.Schema { return t.schema() }

func (t *readTable) Scan(ctx context.Context, scan catalog.Scan) ([]columnar.Partition, error) {
	r := &reader{settings: t.settings, cluster: wire.New(t.conf)}
	if err := t.compare(); err != nil {
		return nil, err
	}
	from, err := r.resolve(ctx, t.start, false)
	if err != nil {
		return nil, err
	}
	until, err := r.resolve(ctx, t.end, true)
	if err != nil {
		return nil, err
	}
	if !sameSet(from.sorted(), until) {
		return nil, errs.New("MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET",
			"tpsForStartOffset", from.set(), "tpsForEndOffset", until.set())
	}
	var ranges []span
	for _, tp := range until.sorted() {
		if from[tp] > until[tp] {
			return nil, errs.New("RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET", "startOffset", from[tp], "endOffset", until[tp],
				"topic", tp.Topic, "partition", tp.Partition)
		}
		ranges = append(ranges, span{tp, from[tp], until[tp]})
	}
	return r.parts(ranges, scan.Columns), nil
}

// compare finds starts behind their ends before anything is asked.
func (s *settings) compare() error {
	check := func(kind string, a, b offsets) error {
		for _, tp := range a.sorted() {
			if end, ok := b[tp]; ok && end >= 0 && a[tp] > end {
				return errs.New("UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET", "offsetType", kind, "startOffset", a[tp],
					"endOffset", end, "topic", tp.Topic, "partition", tp.Partition)
			}
		}
		return nil
	}
	if err := check("offset", s.start.exact, s.end.exact); err != nil {
		return err
	}
	return check("timestamp", s.start.times, s.end.times)
}
