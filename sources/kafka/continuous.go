package kafka

import (
	"context"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	kafkago "github.com/segmentio/kafka-go"

	"streamlab/internal/wire"
	"streamlab/sources"
)

// RealTime says that the real-time trigger may read Kafka.
func (s *source) RealTime() {}

// Readers reads every partition from start on; partitions that start does not know are read from their
// beginning.
func (s *source) Readers(ctx context.Context, start sources.Offset) ([]sources.Reader, error) {
	from, err := parse(start)
	if err != nil {
		return nil, err
	}
	now, err := s.reader.latest(ctx, nil)
	if err != nil {
		return nil, err
	}
	var added, gone []wire.TopicPartition
	for _, tp := range now.sorted() {
		if _, ok := from[tp]; !ok {
			added = append(added, tp)
		}
	}
	for _, tp := range from.sorted() {
		if _, ok := now[tp]; !ok {
			gone = append(gone, tp)
			delete(from, tp)
		}
	}
	if len(gone) > 0 {
		if err := s.lost("PARTITIONS_DELETED", "partitions", setOf(gone)); err != nil {
			return nil, err
		}
	}
	first, err := s.earliest(ctx, added)
	if err != nil {
		return nil, err
	}
	for tp, o := range first {
		from[tp] = o
	}
	s.followed, s.latest = from, nil
	var out []sources.Reader
	for _, tp := range from.sorted() {
		p := &part{reader: &s.reader, span: span{tp, from[tp], math.MaxInt64}, columns: s.columns}
		out = append(out, &follower{part: p, next: from[tp], rows: newRows(s.schema(), s.columns, tp, 1024, 0, 0)})
	}
	return out, nil
}

// Merge joins the places of the readers.
func (s *source) Merge(places []sources.Place) (sources.Offset, error) {
	all := offsets{}
	for _, p := range places {
		o, err := parse(sources.Offset(p))
		if err != nil {
			return "", err
		}
		for tp, n := range o {
			all[tp] = n
		}
	}
	return all.json(), nil
}

// Repartitioned says that partitions came or went.
func (s *source) Repartitioned(ctx context.Context) (bool, error) {
	var now []wire.TopicPartition
	err := s.attempt(ctx, func() (err error) {
		now, err = s.partitions(ctx)
		return err
	})
	return err == nil && !sameSet(now, s.followed), err
}

// follower reads one partition without end.
type follower struct {
	*part
	next  int64
	rows  *rows
	f     wire.Fetched
	space []byte
	ready []delivery
}

type delivery struct {
	rb    arrow.RecordBatch
	place int64
}

func (r *follower) place(o int64) sources.Place { return sources.Place(offsets{r.tp: o}.json()) }

func (r *follower) Start() sources.Place { return r.place(r.next) }
func (r *follower) Close() error         { return nil }

// Next waits for records. A cluster that is away is waited for up to kafkaConsumer.pollTimeoutMs.
func (r *follower) Next(ctx context.Context) (arrow.RecordBatch, sources.Place, error) {
	req := wire.FetchRequest{Partition: r.tp, MinBytes: 1, MaxBytes: r.partitionMax, MaxWait: r.maxWait, Committed: r.committed}
	for {
		if len(r.ready) > 0 {
			d := r.ready[0]
			r.ready = r.ready[1:]
			return d.rb, r.place(d.place), nil
		}
		req.Offset = r.next
		err := r.cluster.Retry(ctx, r.pollTimeout, func() error {
			var err error
			if r.f, err = r.cluster.Fetch(ctx, req, r.f.Buffer); err == nil && !errors.Is(r.f.Err, kafkago.OffsetOutOfRange) {
				err = r.f.Err
			}
			return err
		})
		if err != nil {
			return nil, "", err
		}
		if r.f.Err != nil {
			if r.next, err = r.resume(ctx); err != nil {
				return nil, "", err
			}
			continue
		}
		before := r.next
		r.rows.full = func() error {
			rb := r.rows.flush()
			r.ready = append(r.ready, delivery{rb, r.rows.last + 1})
			return nil
		}
		r.next, _, err = r.walk(r.f, r.next, r.rows, &r.space)
		if err != nil {
			return nil, "", err
		}
		if r.rows.n > 0 {
			r.ready = append(r.ready, delivery{r.rows.flush(), r.next})
		} else if r.next == before && len(r.f.Records) >= int(req.MaxBytes) {
			req.MaxBytes = int32(min(2*int64(req.MaxBytes), 1<<30))
		}
	}
}

// resume finds where to go on when the broker does not have the next offset any more.
func (r *follower) resume(ctx context.Context) (int64, error) {
	if err := r.unread(r.next); err != nil {
		return 0, err
	}
	o, err := r.list(ctx, []wire.TopicPartition{r.tp}, wire.Earliest)
	return o[r.tp], err
}
