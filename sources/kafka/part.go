package kafka

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	kafkago "github.com/segmentio/kafka-go"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/internal/wire"
	"streamlab/sql/types"
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

// flushBytes is about how many bytes of keys, values and headers a record batch holds.
const flushBytes = 16 << 20

// Rows reads the range from the partition's leader. A cluster that is away is waited for up to
// kafkaConsumer.pollTimeoutMs. Errors: SOURCE_UNAVAILABLE, KAFKA_READ_TIMEOUT, KAFKA_DATA_LOSS.…,
// KAFKA_MALFORMED_RECORD_TIMESTAMP.
func (p *part) Rows(ctx context.Context) columnar.Rows {
	return func(yield func(arrow.RecordBatch, error) bool) {
		b := newRows(p.schema(), p.columns, p.tp, min(p.size(), columnar.MaxBatch), p.keys.Load(), p.values.Load())
		b.learned = func(keys, values int) {
			p.keys.Store(int64(keys))
			p.values.Store(int64(values))
		}
		err := p.fetch(ctx, b, yield)
		if err == nil && b.n > 0 {
			yield(b.flush(), nil)
		}
		if err != nil && err != errDone {
			yield(nil, err)
		}
	}
}

// errDone ends reading because nobody wants more.
var errDone = errors.New("nobody reads on")

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

// asked is a fetch that runs while the answer before it is worked on.
type asked struct {
	offset int64
	f      wire.Fetched
	handle *safego.Handle
}

func (p *part) askAhead(ctx context.Context, req wire.FetchRequest, buf []byte) *asked {
	a := &asked{offset: req.Offset}
	a.handle = safego.Go("kafka "+p.tp.String(), func() (err error) {
		a.f, err = p.ask(ctx, req, buf)
		return err
	})
	return a
}

func (p *part) fetch(ctx context.Context, rows *rows, yield func(arrow.RecordBatch, error) bool) error {
	req := wire.FetchRequest{Partition: p.tp, MinBytes: max(1, p.minBytes), MaxBytes: p.partitionMax, MaxWait: p.maxWait,
		Committed: p.committed}
	ctx, cancel := context.WithCancel(ctx)
	var ahead *asked
	defer func() {
		cancel()
		if ahead != nil {
			_ = ahead.handle.Wait()
		}
	}()
	var f wire.Fetched
	var spare, space []byte // the buffer that is not f's; room for decompression
	next, progress := p.from, time.Now()
	for next < p.until {
		var err error
		used := f.Buffer
		if ahead != nil {
			err = ahead.handle.Wait()
		}
		if ahead != nil && ahead.offset == next {
			f, spare = ahead.f, used
		} else {
			req.Offset = next
			f, err = p.ask(ctx, req, used)
		}
		ahead = nil
		if err != nil {
			return p.notThere(ctx, next, err)
		}
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
			ahead = p.askAhead(ctx, req, spare)
		}
		before := next
		if next, err = p.walk(f, next, rows, &space, yield); err != nil {
			return err
		}
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

// walk hands the records of an answer on and gives the next offset to ask for.
func (p *part) walk(f wire.Fetched, next int64, rows *rows, space *[]byte, yield func(arrow.RecordBatch, error) bool) (int64, error) {
	var aborted map[int64]bool
	open := f.Aborted
	for b := f.Records; next < p.until; {
		batch, rest, ok, err := wire.NextBatch(b, space)
		if err != nil {
			return next, errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", p.tp, "detail", err.Error())
		}
		if !ok {
			return next, nil
		}
		b = rest
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
			if err := rows.add(&batch, next, p.until, yield); err != nil {
				return next, err
			}
		}
		next = max(next, batch.Last+1)
	}
	return next, nil
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

// rows collects records into record batches of the columns that are wanted.
type rows struct {
	schema  types.Schema
	arrow   *arrow.Schema
	tp      wire.TopicPartition
	want    [8]*columnar.Vec // by position in the schema; nil: not read
	n       int
	last    int64 // offset of the record added last
	bytes   int
	room    int
	columns []int
	learned func(keys, values int) // told the mean lengths, rounded up; may be nil
}

// newRows has room for so many rows, and for so many bytes of the key and the value of each.
func newRows(s types.Schema, columns []int, tp wire.TopicPartition, room, key, value int64) *rows {
	if columns == nil {
		for i := range s {
			columns = append(columns, i)
		}
	}
	r := &rows{tp: tp, columns: columns, room: int(room)}
	for _, c := range columns {
		r.schema = append(r.schema, s[c])
	}
	r.arrow = r.schema.Arrow()
	r.begin(int(room*key), int(room*value))
	return r
}

// begin makes vectors for the next record batch; keys and values are the bytes to expect.
func (r *rows) begin(keys, values int) {
	for i, c := range r.columns {
		v := columnar.NewVec(r.schema[i].Type, 0)
		switch c {
		case 0, 1, 2:
			v.Off = append(make([]int32, 0, r.room+1), 0)
			v.Data = make([]byte, 0, min([3]int{keys, values, 0}[c], flushBytes))
		case 3, 6:
			v.I32 = make([]int32, 0, r.room)
		case 4, 5:
			v.I64 = make([]int64, 0, r.room)
		}
		r.want[c] = v
	}
	r.n, r.bytes = 0, 0
}

// add takes the records of a batch that lie in [from, until).
func (r *rows) add(b *wire.Batch, from, until int64, yield func(arrow.RecordBatch, error) bool) error {
	var rec wire.Record
	key, value, topic, part, offset, when, kind, headers := r.want[0], r.want[1], r.want[2], r.want[3], r.want[4], r.want[5], r.want[6], r.want[7]
	timeKind := int32(0)
	if b.AppendTime {
		timeKind = 1
	}
	for {
		ok, err := b.Next(&rec)
		if err != nil {
			return errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", r.tp, "detail", err.Error())
		}
		if !ok || rec.Offset >= until {
			return nil
		}
		if rec.Offset < from {
			continue
		}
		if r.n == columnar.MaxBatch || r.bytes >= flushBytes {
			if !yield(r.flush(), nil) {
				return errDone
			}
			key, value, topic, part, offset, when, kind, headers = r.want[0], r.want[1], r.want[2], r.want[3], r.want[4], r.want[5], r.want[6], r.want[7]
		}
		if key != nil {
			appendBytes(key, r.n, rec.Key)
		}
		if value != nil {
			appendBytes(value, r.n, rec.Value)
		}
		if topic != nil {
			topic.Data = append(topic.Data, r.tp.Topic...)
			topic.Off = append(topic.Off, int32(len(topic.Data)))
		}
		if part != nil {
			part.I32 = append(part.I32, r.tp.Partition)
		}
		if offset != nil {
			offset.I64 = append(offset.I64, rec.Offset)
		}
		if when != nil {
			if rec.Timestamp > math.MaxInt64/1000 || rec.Timestamp < math.MinInt64/1000 {
				return errs.New("KAFKA_MALFORMED_RECORD_TIMESTAMP", "topic", r.tp.Topic, "partition", r.tp.Partition,
					"offset", rec.Offset, "timestamp", rec.Timestamp)
			}
			when.I64 = append(when.I64, rec.Timestamp*1000)
		}
		if kind != nil {
			kind.I32 = append(kind.I32, timeKind)
		}
		if headers != nil {
			if err := r.addHeaders(headers, &rec); err != nil {
				return errs.Wrap(err, "KAFKA_BAD_RECORDS", "topicPartition", r.tp, "detail", err.Error())
			}
		}
		r.n++
		r.last = rec.Offset
		r.bytes += len(rec.Key) + len(rec.Value)
	}
}

// appendBytes adds row i to a column of bytes; nil is null.
func appendBytes(v *columnar.Vec, i int, b []byte) {
	if b == nil {
		setNull(v, i)
	} else if v.Valid != nil {
		setValid(v, i)
	}
	v.Data = append(v.Data, b...)
	v.Off = append(v.Off, int32(len(v.Data)))
}

func setNull(v *columnar.Vec, i int) {
	if v.Valid == nil {
		v.MakeValid(i)
	}
	for len(v.Valid) < columnar.Words(i+1) {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	columnar.ClearBit(v.Valid, i)
}

func setValid(v *columnar.Vec, i int) {
	for len(v.Valid) < columnar.Words(i+1) {
		v.Valid = append(v.Valid, ^uint64(0))
	}
	columnar.SetBit(v.Valid, i)
}

// addHeaders adds a list of (key, value); a record without headers has null, not an empty list.
func (r *rows) addHeaders(v *columnar.Vec, rec *wire.Record) error {
	if rec.Headers == 0 {
		setNull(v, r.n)
	} else if v.Valid != nil {
		setValid(v, r.n)
	}
	item := v.Kids[0]
	names, values := item.Kids[0], item.Kids[1]
	for range rec.Headers {
		k, b, err := rec.Header()
		if err != nil {
			return err
		}
		appendBytes(names, item.Len, k)
		appendBytes(values, item.Len, b)
		item.Len++
		names.Len, values.Len = item.Len, item.Len
		r.bytes += len(k) + len(b)
	}
	v.Off = append(v.Off, int32(item.Len))
	return nil
}

// flush gives what was collected and begins anew.
func (r *rows) flush() arrow.RecordBatch {
	vs := make([]*columnar.Vec, len(r.columns))
	for i, c := range r.columns {
		vs[i] = r.want[c]
		vs[i].Len = r.n
	}
	rb := columnar.Record(r.arrow, vs, columnar.AllRows(r.n))
	keys, values := 0, 0
	if v := r.want[0]; v != nil {
		keys = len(v.Data)
	}
	if v := r.want[1]; v != nil {
		values = len(v.Data)
	}
	if r.learned != nil && r.n >= 1024 {
		r.learned((keys+r.n-1)/r.n, (values+r.n-1)/r.n)
	}
	r.begin(keys, values)
	return rb
}

// ContentKey is the range: records of a topic do not change.
func (p *part) ContentKey() string { return p.span.String() }
