package wire

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// A request that is on its way costs nobody a goroutine: it is written by the caller, the broker works on it while the
// caller does something else, its answer gathers in the socket, and the caller reads it when there is need of it. A
// goroutine that waits for the answer would be woken as late as the scheduler pleases when every core computes.

// A SentFetch is a fetch request whose answer was not read yet. It belongs to one goroutine, which calls Fetched or Drop
// once.
type SentFetch struct {
	c *Cluster
	x *conn // in use until the answer is read
	q FetchRequest
	v int16
}

// SendFetch sends a request; nil if that failed, which Fetch then finds the reason of.
func (c *Cluster) SendFetch(ctx context.Context, q FetchRequest) *SentFetch {
	a, err := c.leader(ctx, q.Partition)
	if err != nil {
		return nil
	}
	x, _, err := c.take(ctx, a)
	if err != nil {
		return nil
	}
	v, err := x.version(protocol.Fetch, 11)
	if err == nil {
		err = x.within(ctx, q.MaxWait, func() error { return x.send(fetchFrame(q, v, x.client)) })
	}
	if err != nil {
		x.close()
		return nil
	}
	return &SentFetch{c, x, q, v}
}

// Offset is what was asked for.
func (s *SentFetch) Offset() int64 { return s.q.Offset }

// Fetched gives the answer as Fetch does, in buf if it fits. After an error Fetch asks again.
func (s *SentFetch) Fetched(ctx context.Context, buf []byte) (f Fetched, err error) {
	body := buf
	err = s.x.within(ctx, s.q.MaxWait, func() error {
		body, err = s.x.receive(buf)
		return err
	})
	if err == nil {
		f, err = readFetched(body, s.v)
	}
	s.c.release(s.x, err)
	f.Buffer = body
	if refused(f, err) {
		s.c.forget(s.q.Partition)
	}
	return f, err
}

// Drop gives the answer up.
func (s *SentFetch) Drop() { s.x.close() }

// A SentProduce is a record batch on its way. It belongs to one goroutine, which calls Produced or Drop once.
type SentProduce struct {
	c     *Cluster
	x     *conn
	old   bool
	tp    TopicPartition
	batch []byte
	acks  int16
	wait  time.Duration
}

// SendProduce sends a record batch, which must stay as it is until Produced; nil if that failed, which Produce then
// finds the reason of.
func (c *Cluster) SendProduce(ctx context.Context, tp TopicPartition, batch []byte, acks int16, wait time.Duration) *SentProduce {
	a, err := c.leader(ctx, tp)
	if err != nil {
		return nil
	}
	x, old, err := c.take(ctx, a)
	if err != nil {
		return nil
	}
	head, err := produceFrame(x, tp, len(batch), acks, wait)
	if err == nil {
		err = x.within(ctx, wait, func() error { return x.send(head, batch) })
	}
	if err != nil {
		x.close()
		return nil
	}
	return &SentProduce{c, x, old, tp, batch, acks, wait}
}

// Produced waits for the answer as Produce does. As there, a connection that was idle and is found dead does not
// count: then the batch is sent once more.
func (s *SentProduce) Produced(ctx context.Context) (base int64, err error) {
	var body []byte
	err = s.x.within(ctx, s.wait, func() error {
		body, err = s.x.receive(nil)
		return err
	})
	if err == nil {
		base, err = readProduced(body)
	}
	s.c.release(s.x, err)
	if err != nil && s.old && ctx.Err() == nil && !isAnswer(err) && broken(err) {
		return s.c.Produce(ctx, s.tp, s.batch, s.acks, s.wait)
	}
	if err != nil {
		s.c.forget(s.tp)
	}
	return base, err
}

// Drop gives the answer up: whether the batch was written stays open.
func (s *SentProduce) Drop() { s.x.close() }
