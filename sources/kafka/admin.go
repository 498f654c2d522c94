package kafka

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"streamlab/errs"
	"streamlab/internal/wire"
)

// reader asks the cluster about partitions and offsets.
type reader struct {
	*settings
	cluster      *wire.Cluster
	keys, values atomic.Int64 // how long those of the records read last were in the mean: room for the next
	buffers      bufferPool
	rest         leftovers
}

// attempt runs f until it succeeds, at most as often as fetchOffset.numRetries says (KS-7). A cluster that
// cannot be reached is waited for inside an attempt and ends them all.
func (r *reader) attempt(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := r.cluster.Retry(ctx, 0, f)
		if err == nil || n >= r.attempts || errs.Has(err, "SOURCE_UNAVAILABLE") || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, r.pause); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// partitions lists what the strategy names now, sorted. Internal topics are never among them (KS-2).
func (r *reader) partitions(ctx context.Context) ([]wire.TopicPartition, error) {
	names := r.read.topics
	if r.read.assign != nil {
		seen := map[string]bool{}
		for _, tp := range r.read.assign {
			if !seen[tp.Topic] {
				seen[tp.Topic] = true
				names = append(names, tp.Topic)
			}
		}
	}
	if len(names) == 0 && r.read.pattern == nil {
		return nil, nil
	}
	topics, err := r.cluster.Metadata(ctx, names)
	if err != nil {
		return nil, err
	}
	r.rest.see(topics)
	there := offsets{}
	var missing []string
	for _, t := range topics {
		switch {
		case r.read.pattern != nil && !r.read.pattern.MatchString(t.Name), t.Internal:
		case errors.Is(t.Err, kafkago.UnknownTopicOrPartition):
			missing = append(missing, t.Name)
		case t.Err != nil && r.read.pattern == nil:
			return nil, t.Err
		default:
			for _, p := range t.Partitions {
				there[wire.TopicPartition{Topic: t.Name, Partition: p}] = 0
			}
		}
	}
	if len(missing) > 0 && r.read.pattern == nil {
		return nil, errs.New("KAFKA_TOPIC_NOT_FOUND", "topics", strings.Join(missing, ", "))
	}
	if r.read.assign == nil {
		return there.sorted(), nil
	}
	wanted := offsets{}
	for _, tp := range r.read.assign {
		if _, ok := there[tp]; ok {
			wanted[tp] = 0
		} else if !r.compat { // Spark leaves it out without a word (KS-5)
			missing = append(missing, tp.String())
		}
	}
	if len(missing) > 0 {
		return nil, errs.New("KAFKA_PARTITION_NOT_FOUND", "partitions", strings.Join(missing, ", "))
	}
	return wanted.sorted(), nil
}

func (r *reader) list(ctx context.Context, tps []wire.TopicPartition, when int64) (offsets, error) {
	at := make(map[wire.TopicPartition]int64, len(tps))
	for _, tp := range tps {
		at[tp] = when
	}
	if len(at) == 0 {
		return offsets{}, nil
	}
	m, err := r.cluster.ListOffsets(ctx, at, r.committed)
	return m, err
}

// latest is the end of every partition. An end below a position already read is asked for again, because a
// broker may be behind; in the end it is taken as it is (KS-15).
func (r *reader) latest(ctx context.Context, known offsets) (offsets, error) {
	var out offsets
	for n := 1; ; n++ {
		err := r.attempt(ctx, func() error {
			tps, err := r.partitions(ctx)
			if err == nil {
				out, err = r.list(ctx, tps, wire.Latest)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		behind := false
		for tp, o := range out {
			behind = behind || o < known[tp]
		}
		if !behind || n >= r.attempts {
			return out, nil
		}
		if err := pause(ctx, r.pause); err != nil {
			return nil, err
		}
	}
}

// earliest is the beginning of the given partitions; those that are gone are left out.
func (r *reader) earliest(ctx context.Context, tps []wire.TopicPartition) (offsets, error) {
	if len(tps) == 0 {
		return offsets{}, nil
	}
	var out offsets
	err := r.attempt(ctx, func() error {
		now, err := r.partitions(ctx)
		if err != nil {
			return err
		}
		there := offsets{}
		for _, tp := range now {
			there[tp] = 0
		}
		var left []wire.TopicPartition
		for _, tp := range tps {
			if _, ok := there[tp]; ok {
				left = append(left, tp)
			}
		}
		out, err = r.list(ctx, left, wire.Earliest)
		return err
	})
	return out, err
}

// resolve turns a position into offsets. ending says which end of a range it is, for messages.
func (r *reader) resolve(ctx context.Context, p position, ending bool) (offsets, error) {
	var out offsets
	err := r.attempt(ctx, func() error {
		tps, err := r.partitions(ctx)
		if err != nil {
			return err
		}
		switch {
		case p.name == "earliest":
			out, err = r.list(ctx, tps, wire.Earliest)
		case p.name == "latest":
			out, err = r.list(ctx, tps, wire.Latest)
		case p.exact != nil:
			out, err = r.resolveExact(ctx, tps, p.exact)
		default:
			out, err = r.resolveTimes(ctx, tps, p, ending)
		}
		return err
	})
	return out, err
}

func sameSet(tps []wire.TopicPartition, o offsets) bool {
	if len(tps) != len(o) {
		return false
	}
	for _, tp := range tps {
		if _, ok := o[tp]; !ok {
			return false
		}
	}
	return true
}

func (r *reader) resolveExact(ctx context.Context, tps []wire.TopicPartition, exact offsets) (offsets, error) {
	if !sameSet(tps, exact) {
		return nil, errs.New("KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED", "specifiedPartitions", exact.set(), "assignedPartitions", setOf(tps))
	}
	at := map[wire.TopicPartition]int64{}
	out := offsets{}
	for tp, o := range exact {
		if o == wire.Latest || o == wire.Earliest {
			at[tp] = o
		} else {
			out[tp] = o // not compared with the log: reading finds out (KS-10)
		}
	}
	if len(at) == 0 {
		return out, nil
	}
	found, err := r.cluster.ListOffsets(ctx, at, r.committed)
	for tp, o := range found {
		out[tp] = o
	}
	return out, err
}

func (r *reader) resolveTimes(ctx context.Context, tps []wire.TopicPartition, p position, ending bool) (offsets, error) {
	times := p.times
	if p.global {
		times = offsets{}
		for _, tp := range tps {
			times[tp] = p.time
		}
	}
	if !sameSet(tps, times) {
		where := "start"
		if ending {
			where = "end"
		}
		return nil, errs.New("KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED", "position", where,
			"specifiedPartitions", times.set(), "assignedPartitions", setOf(tps))
	}
	if len(times) == 0 {
		return offsets{}, nil
	}
	out, err := r.cluster.ListOffsets(ctx, times, r.committed)
	if err != nil {
		return nil, err
	}
	var none []wire.TopicPartition
	for _, tp := range tps {
		if out[tp] < 0 { // no record is that late
			if !ending && !r.orLatest {
				return nil, errs.New("KAFKA_NO_OFFSET_FOR_TIMESTAMP", "topicPartition", tp, "timestamp", times[tp])
			}
			none = append(none, tp)
		}
	}
	ends, err := r.list(ctx, none, wire.Latest)
	for tp, o := range ends {
		out[tp] = o
	}
	return out, err
}
