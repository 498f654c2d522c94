package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	kafkago "github.com/segmentio/kafka-go"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
)

// part reads one range.
type part struct {
	*reader
	span
	columns []int
}

func (p *part) String() string { return p.span.String() }

// NumRows is the distance of the offsets: compaction and transactions leave fewer rows.
func (p *part) NumRows() (int64, bool) { return p.size(), false }

// Rows reads the range from the partition's leader. A cluster that is away is waited for up to
// kafkaConsumer.pollTimeoutMs. Errors: SOURCE_UNAVAILABLE, KAFKA_READ_TIMEOUT, KAFKA_DATA_LOSS.…,
// KAFKA_MALFORMED_RECORD_TIMESTAMP.
func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		r := newRows(p.schema(), p.columns, p.tp, min(p.size(), columnar.MaxBatch), p.keys.Load(), p.values.Load())
		r.learned = func(keys, values int) {
			p.keys.Store(int64(keys))
			p.values.Store(int64(values))
		}
		r.full = func() error {
			if !yield(r.flush(), nil) {
				return errDone
			}
			return nil
		}
		b := p.buffers.get()
		err := p.fetch(ctx, r, b)
		p.buffers.put(b)
		if err == nil && r.n > 0 {
			err = r.full()
		}
		if err != nil && err != errDone {
			yield(nil, err)
		}
	}
}

// errDone ends reading because nobody wants more.
var errDone = errors.New("nobody reads on")

// Lend reads as Rows does, columnar.Slice records at a time, in vectors that are kept between parts.
func (p *part) Lend(ctx context.Context, give func(cols []*columnar.Vec, n int) error) error {
	b := p.buffers.get()
	defer p.buffers.put(b)
	r := b.lent(p)
	r.full = func() error {
		err := give(r.vecs(), r.n)
		r.again()
		return err
	}
	err := p.fetch(ctx, r, b)
	if err == nil && r.n > 0 {
		err = r.full()
	}
	return err
}

// ask fetches once, waiting for a cluster that is away.
func (p *part) ask(ctx context.Context, req wire.FetchRequest, buf []byte) (f wire.Fetched, err error) {
	err = p.cluster.Retry(ctx, p.pollTimeout, func() error {
		var err error
		if f, err = p.cluster.Fetch(ctx, req, buf); err == nil && !errors.Is(f.Err, kafkago.OffsetOutOfRange) {
			err = f.Err
		}
		return err
	})
	return f, err
}

// fetch reads the range. The request for what follows an answer is on its way while the answer is worked on, and what
// an answer holds behind the end of the range is left to the range that begins there.
func (p *part) fetch(ctx context.Context, rows *rows, b *buffers) error {
	req := wire.FetchRequest{Partition: p.tp, MinBytes: max(1, p.minBytes), MaxBytes: p.partitionMax, MaxWait: p.maxWait,
		Committed: p.committed}
	var ahead *wire.SentFetch
	defer func() {
		if ahead != nil {
			ahead.Drop()
		}
	}()
	next, progress := p.from, time.Now()
	topic := p.rest.identity(p.tp.Topic)
	f, have := p.rest.take(p.tp, next)
	left, spare := have, f.Buffer // free when f was walked
	for next < p.until {
		var err error
		if !have && ahead != nil && ahead.Offset() == next {
			f, err = ahead.Fetched(ctx, b.answer)
			ahead, b.answer = nil, f.Buffer
			have = err == nil && f.Err == nil
		}
		if !have {
			if ahead != nil {
				ahead.Drop()
				ahead = nil
			}
			req.Offset = next
			if f, err = p.ask(ctx, req, b.answer); err != nil {
				return p.notThere(ctx, next, err)
			}
			b.answer = f.Buffer
		}
		have = false
		if f.Err != nil {
			if next, err = p.outOfRange(ctx, next); err != nil {
				return err
			}
			continue
		}
		if f.LogStart > next { // the answer begins after what was asked for: the rest was deleted
			if err := p.unread(next); err != nil {
				return err
			}
			next = f.LogStart
			continue
		}
		if end, ok := wire.Behind(f.Records); ok && end > next && end < p.until {
			req.Offset = end
			ahead = p.cluster.SendFetch(ctx, req)
		}
		before := next
		var rest []byte
		if next, rest, err = p.walk(f, next, rows, &b.unpacked); err != nil {
			return err
		}
		if next >= p.until && p.rest.keep(p.tp, topic, p.until, f, rest) && !left {
			b.answer, spare = spare, nil // what was left before, unless that is what is left again
		}
		left = false
		if next > before {
			progress = time.Now()
		} else if len(f.Records) > 0 && len(f.Records) >= int(req.MaxBytes) {
			req.MaxBytes = int32(min(2*int64(req.MaxBytes), 1<<30)) // not one whole batch came
		} else if time.Since(progress) > p.pollTimeout {
			return errs.New("KAFKA_READ_TIMEOUT", "topicPartition", p.tp, "offset", next, "endOffset", p.until, "milliseconds", p.pollTimeout.Milliseconds())
		}
	}
	return nil
}

// walk hands the records of an answer on and gives the next offset to ask for. When that is the end of the range, rest
// is what the answer holds from the batch with that offset on.
func (p *part) walk(f wire.Fetched, next int64, rows *rows, space *[]byte) (at int64, rest []byte, err error) {
	var aborted map[int64]bool
	open := f.Aborted
	for b := f.Records; next < p.until; {
		batch, behind, ok, err := wire.NextBatch(b, space)
		if err != nil {
			return next, nil, errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", p.tp, "detail", err.Error())
		}
		if !ok {
			return next, nil, nil
		}
		rest = b
		b = behind
		if p.committed {
			for i := 0; i < len(open); {
				if open[i].First > batch.Last {
					i++
					continue
				}
				if aborted == nil {
					aborted = map[int64]bool{}
				}
				aborted[open[i].Producer] = true
				open = append(open[:i:i], open[i+1:]...)
			}
			if batch.Control && batch.Abort() {
				delete(aborted, batch.Producer)
			}
		}
		if !batch.Control && !(batch.Transactions && aborted[batch.Producer]) {
			if err := rows.add(&batch, next, p.until); err != nil {
				return next, nil, err
			}
		}
		next = max(next, batch.Last+1)
		if next == p.until {
			rest = behind
		}
	}
	return next, rest, nil
}

func (p *part) unread(at int64) error {
	return p.lost("COULD_NOT_READ_OFFSET_RANGE", "startOffset", at, "endOffset", p.until, "topicPartition", p.tp, "groupId", p.group)
}

// outOfRange finds where to go on after the broker does not have the offset (KS-25).
func (p *part) outOfRange(ctx context.Context, at int64) (int64, error) {
	if err := p.unread(at); err != nil {
		return at, err
	}
	var first, last offsets
	err := p.attempt(ctx, func() (err error) {
		tps := []wire.TopicPartition{p.tp}
		if first, err = p.list(ctx, tps, wire.Earliest); err == nil {
			last, err = p.list(ctx, tps, wire.Latest)
		}
		return err
	})
	if err != nil {
		return at, err
	}
	earliest, latest := first[p.tp], last[p.tp]
	switch {
	case at >= latest || earliest >= p.until:
		return p.until, nil
	case at >= earliest:
		return at, nil
	}
	return earliest, nil
}

// notThere turns a topic that vanished while it was read into data loss.
func (p *part) notThere(ctx context.Context, at int64, err error) error {
	if !errors.Is(err, kafkago.UnknownTopicOrPartition) && !errors.Is(err, kafkago.UnknownTopicID) {
		return err
	}
	if loss := p.unread(at); loss != nil {
		return loss
	}
	return nil // go on without the rest
}

// ContentKey is the range of the topic that metadata named last: its records do not change, but those of a topic that was
// made anew under the same name are others. Without an identity of the topic every query reads for itself.
func (p *part) ContentKey() string {
	id := p.rest.identity(p.tp.Topic)
	if id == (wire.TopicID{}) {
		return ""
	}
	return fmt.Sprintf("%x %s", id, p.span)
}
