package kafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	kafkago "github.com/segmentio/kafka-go"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sql/types"
)

// writer sends the rows of one micro-batch.
type writer struct {
	*sink
	ctx    context.Context
	batch  int64
	live   bool // nothing waits for a full record batch
	schema types.Schema
	open   map[wire.TopicPartition]*outbox
	rows   int64
	turn   int64 // where records without a key go next
	moment int64 // the time of records that bring none, ms
	last   *outbox
	header []wire.Header
}

// outbox is what waits for one partition: records are collected while those before them are on their way.
type outbox struct {
	tp      wire.TopicPartition
	builder wire.Builder
	spare   wire.Builder // its bytes are on their way
	batch   []byte       // those; nil: nothing is on its way
	sent    *wire.SentProduce
	begun   time.Time
}

// add sends the rows of a record batch.
func (w *writer) add(rb arrow.RecordBatch) error {
	vs := columnar.Vectors(rb, w.schema)
	col := func(i int) *columnar.Vec {
		if i < 0 {
			return nil
		}
		return &vs[i]
	}
	key, value, topics, parts, headers, when := col(w.columns.key), col(w.columns.value), col(w.columns.topic), col(w.columns.partition),
		col(w.columns.headers), col(w.columns.when)
	topic := w.topic
	for i := range int(rb.NumRows()) {
		if topics != nil {
			if topics.IsNull(i) {
				return errs.New("KAFKA_NULL_TOPIC_IN_DATA")
			}
			if b := topics.Bytes(i); string(b) != topic {
				topic = string(b)
			}
		}
		k := bytesAt(key, i)
		box, err := w.outbox(topic, k, parts, i)
		if err != nil {
			return err
		}
		at := w.moment
		if when != nil && !when.IsNull(i) {
			at = floorDiv(when.I64[when.Row(i)], 1000)
		}
		named, err := w.headers(headers, i)
		if err != nil {
			return err
		}
		box.builder.Add(k, bytesAt(value, i), named, at)
		w.rows++
		if box.builder.Size() >= w.size {
			if err := w.send(box); err != nil {
				return err
			}
			if k == nil {
				w.turn++ // records without a key stay together until a record batch is full
			}
		}
	}
	if w.live {
		w.moment = w.now().UnixMilli()
		return w.flush()
	}
	return nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// bytesAt is a value; nil is null, empty values are not nil.
func bytesAt(v *columnar.Vec, i int) []byte {
	if v == nil || v.IsNull(i) {
		return nil
	}
	b := v.Bytes(i)
	if b == nil {
		return []byte{}
	}
	return b
}

// headers lists the headers of row i; their names must not be null. Valid until the next call.
func (w *writer) headers(v *columnar.Vec, i int) ([]wire.Header, error) {
	w.header = w.header[:0]
	if v != nil && !v.IsNull(i) {
		r := v.Row(i)
		item := v.Kids[0]
		for j := int(v.Off[r]); j < int(v.Off[r+1]); j++ {
			if item.IsNull(j) || item.Kids[0].IsNull(j) {
				return nil, errs.New("KAFKA_NULL_HEADER_KEY")
			}
			w.header = append(w.header, wire.Header{Key: string(bytesAt(item.Kids[0], j)), Value: bytesAt(item.Kids[1], j)})
		}
	}
	if w.dedup {
		w.header = append(w.header, wire.Header{Key: "streamlab-query", Value: []byte(w.query)},
			wire.Header{Key: "streamlab-batch", Value: strconv.AppendInt(nil, w.batch, 10)},
			wire.Header{Key: "streamlab-seq", Value: strconv.AppendInt(nil, w.rows, 10)})
	}
	return w.header, nil
}

// outbox chooses the partition of a record (KK-5): the column, the key's hash, else in turn.
func (w *writer) outbox(topic string, key []byte, parts *columnar.Vec, i int) (*outbox, error) {
	if parts != nil && !parts.IsNull(i) {
		n := parts.I32[parts.Row(i)]
		tp := wire.TopicPartition{Topic: topic, Partition: n}
		if w.open[tp] == nil {
			there := func(list []int32) bool { return n >= 0 && int(n) < len(list) }
			if _, err := w.partitions(w.ctx, topic, there, func() error { return missingPartition(topic, int64(n)) }); err != nil {
				return nil, err
			}
		}
		return w.box(tp), nil
	}
	list, ok := w.known[topic]
	if !ok {
		var err error
		list, err = w.partitions(w.ctx, topic, func([]int32) bool { return true }, func() error { return nil })
		if err != nil {
			return nil, err
		}
	}
	n := int32(len(list))
	var p int32
	switch {
	case w.spread == "random":
		p = rand.Int32N(n)
	case w.spread == "roundrobin":
		p = int32(w.turn % int64(n))
		w.turn++
	case key != nil:
		p = wire.Partition(key, n)
	default:
		p = int32(w.turn % int64(n))
	}
	return w.box(wire.TopicPartition{Topic: topic, Partition: p}), nil
}

func (w *writer) box(tp wire.TopicPartition) *outbox {
	if w.last != nil && w.last.tp == tp {
		return w.last
	}
	b := w.open[tp]
	if b == nil {
		b = &outbox{tp: tp}
		w.open[tp] = b
	}
	w.last = b
	return b
}

// send puts the collected records on their way, after those before them have arrived: one request per
// partition at a time keeps the order.
func (w *writer) send(b *outbox) error {
	if err := w.arrived(b); err != nil {
		return err
	}
	if b.builder.Len() == 0 {
		return nil
	}
	b.builder, b.spare = b.spare, b.builder
	var err error
	if b.batch, err = b.spare.Finish(w.codec); err != nil {
		return err
	}
	b.begun = time.Now()
	b.sent = w.cluster.SendProduce(w.ctx, b.tp, b.batch, w.acks, w.delivery)
	return nil
}

// arrived waits for what is on its way, and sends it again if it did not arrive.
func (w *writer) arrived(b *outbox) error {
	if b.batch == nil {
		return nil
	}
	batch := b.batch
	b.batch = nil
	sent := 0
	var gaveUp error
	err := w.cluster.Retry(w.ctx, max(1, w.delivery-time.Since(b.begun)), func() error {
		var err error
		if s := b.sent; s != nil {
			b.sent = nil
			_, err = s.Produced(w.ctx)
		} else {
			_, err = w.cluster.Produce(w.ctx, b.tp, batch, w.acks, w.delivery)
		}
		if sent++; sent > w.retries && wire.Transient(err) {
			gaveUp = errs.Wrap(err, "KAFKA_RETRIES_EXHAUSTED", "topicPartition", b.tp.String(), "count", sent)
			return nil
		}
		return err
	})
	if gaveUp != nil {
		return gaveUp
	}
	if errors.Is(err, kafkago.MessageSizeTooLarge) || errors.Is(err, kafkago.RecordListTooLarge) {
		return errs.Wrap(err, "KAFKA_RECORD_TOO_LARGE", "topicPartition", b.tp.String(), "bytes", len(batch))
	}
	return w.away(err, w.delivery)
}

// flush sends what is left and waits for everything.
func (w *writer) flush() error {
	for _, b := range w.open {
		if err := w.send(b); err != nil {
			return err
		}
	}
	for _, b := range w.open {
		if err := w.arrived(b); err != nil {
			return err
		}
	}
	return nil
}

// stop waits for requests that an error left behind, so that none outlives the batch.
func (w *writer) stop() {
	for _, b := range w.open {
		if b.sent != nil {
			_, _ = b.sent.Produced(w.ctx)
			b.sent = nil
		}
	}
}
