package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// A FetchRequest asks for records of one partition from an offset on.
type FetchRequest struct {
	Partition TopicPartition
	Offset    int64
	MinBytes  int32
	MaxBytes  int32 // at least one batch comes, however large it is
	MaxWait   time.Duration
	Committed bool // read_committed
}

// A Fetched is an answer. Records are whole record batches, the last one perhaps cut off, beginning perhaps
// before the offset asked for; they alias Buffer, which the next Fetch with it overwrites. Err is nil or a
// kafka.Error, of which OffsetOutOfRange comes with LogStart and HighWatermark set.
type Fetched struct {
	Err           error
	HighWatermark int64
	LastStable    int64
	LogStart      int64
	Aborted       []Aborted
	Records       []byte
	Buffer        []byte
}

// Aborted is a transaction whose records are not to be read: those of the producer from First on, up to its
// marker.
type Aborted struct{ Producer, First int64 }

// Fetch asks the leader of a partition for records; buf is a buffer to use, may be nil. The error is one of
// the way there or of the request as a whole; what the broker says of the partition is in the answer.
func (c *Cluster) Fetch(ctx context.Context, q FetchRequest, buf []byte) (f Fetched, err error) {
	a, err := c.leader(ctx, q.Partition)
	if err != nil {
		return f, err
	}
	err = c.with(ctx, a, func(x *conn) error {
		v, err := x.version(protocol.Fetch, 11)
		if err != nil {
			return err
		}
		body, err := x.raw(ctx, q.MaxWait, buf, fetchFrame(q, v, x.client))
		if err != nil {
			return err
		}
		f, err = readFetched(body, v)
		f.Buffer = body
		return err
	})
	if refused(f, err) {
		c.forget(q.Partition)
	}
	return f, err
}

// refused says that the leader may be another one now.
func refused(f Fetched, err error) bool {
	var k kafka.Error
	return err != nil || errors.As(f.Err, &k) && k != kafka.OffsetOutOfRange
}

// frame begins a request: size and correlation id are filled in later.
func frame(key protocol.ApiKey, version int16, client string) []byte {
	b := make([]byte, 12, 128)
	binary.BigEndian.PutUint16(b[4:], uint16(key))
	binary.BigEndian.PutUint16(b[6:], uint16(version))
	return text(b, client)
}

func text(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func fetchFrame(q FetchRequest, v int16, client string) []byte {
	be := binary.BigEndian
	b := frame(protocol.Fetch, v, client)
	b = be.AppendUint32(b, 0xffffffff) // a consumer, no replica
	b = be.AppendUint32(b, uint32(q.MaxWait.Milliseconds()))
	b = be.AppendUint32(b, uint32(q.MinBytes))
	b = be.AppendUint32(b, uint32(q.MaxBytes))
	isolation := byte(0)
	if q.Committed {
		isolation = 1
	}
	b = append(b, isolation)
	if v >= 7 {
		b = be.AppendUint32(b, 0)          // no fetch session
		b = be.AppendUint32(b, 0xffffffff) // nor one to begin
	}
	b = be.AppendUint32(b, 1)
	b = text(b, q.Partition.Topic)
	b = be.AppendUint32(b, 1)
	b = be.AppendUint32(b, uint32(q.Partition.Partition))
	if v >= 9 {
		b = be.AppendUint32(b, 0xffffffff)
	}
	b = be.AppendUint64(b, uint64(q.Offset))
	if v >= 5 {
		b = be.AppendUint64(b, 0xffffffffffffffff)
	}
	b = be.AppendUint32(b, uint32(q.MaxBytes))
	if v >= 7 {
		b = be.AppendUint32(b, 0)
	}
	if v >= 11 {
		b = text(b, "")
	}
	be.PutUint32(b, uint32(len(b)-4))
	return b
}

var errShort = errors.New("a broken answer: it ends too early")

// cursor reads big-endian fields; after a read past the end bad is set and everything is zero.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad = true
		return make([]byte, 8)
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) i16() int16 { return int16(binary.BigEndian.Uint16(c.take(2))) }
func (c *cursor) i32() int32 { return int32(binary.BigEndian.Uint32(c.take(4))) }
func (c *cursor) i64() int64 { return int64(binary.BigEndian.Uint64(c.take(8))) }

func readFetched(body []byte, v int16) (f Fetched, err error) {
	c := &cursor{b: body}
	c.take(4) // throttle time
	if v >= 7 {
		if code := c.i16(); code != 0 && !c.bad {
			return f, kafka.Error(code)
		}
		c.take(4)
	}
	if n := c.i32(); n != 1 {
		return f, errShort
	}
	c.take(int(c.i16()))
	if n := c.i32(); n != 1 {
		return f, errShort
	}
	c.take(4)
	if code := c.i16(); code != 0 {
		f.Err = kafka.Error(code)
	}
	f.HighWatermark, f.LastStable, f.LogStart = c.i64(), c.i64(), -1
	if v >= 5 {
		f.LogStart = c.i64()
	}
	for n := c.i32(); n > 0 && !c.bad; n-- {
		f.Aborted = append(f.Aborted, Aborted{c.i64(), c.i64()})
	}
	if v >= 11 {
		c.take(4)
	}
	if n := c.i32(); n > 0 {
		f.Records = c.take(int(n))
	}
	if c.bad {
		return f, errShort
	}
	return f, nil
}
