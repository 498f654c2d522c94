package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
)

// A Builder collects the records of one record batch. The zero value is ready.
type Builder struct {
	buf   []byte // header, then records
	tmp   []byte
	first int64
	max   int64
	count int32
}

// A Header is a named value of a record; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Add appends a record with a time in ms. Nil keys and values are null, empty ones are empty.
func (b *Builder) Add(key, value []byte, headers []Header, when int64) {
	if b.count == 0 {
		b.buf = append(b.buf[:0], make([]byte, batchHeader)...)
		b.first, b.max = when, when
	}
	b.max = max(b.max, when)
	t := append(b.tmp[:0], 0)
	t = binary.AppendVarint(t, when-b.first)
	t = binary.AppendVarint(t, int64(b.count))
	t = appendCounted(t, key)
	t = appendCounted(t, value)
	t = binary.AppendVarint(t, int64(len(headers)))
	for _, h := range headers {
		t = binary.AppendVarint(t, int64(len(h.Key)))
		t = append(t, h.Key...)
		t = appendCounted(t, h.Value)
	}
	b.tmp = t
	b.buf = binary.AppendVarint(b.buf, int64(len(t)))
	b.buf = append(b.buf, t...)
	b.count++
}

func appendCounted(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	b = binary.AppendVarint(b, int64(len(v)))
	return append(b, v...)
}

// Len is the number of records, Size that of bytes before compression.
func (b *Builder) Len() int { return int(b.count) }

// Size is the number of bytes so far, before compression.
func (b *Builder) Size() int { return len(b.buf) }

// Finish gives the encoded batch; it aliases the builder, which begins anew with the next Add.
func (b *Builder) Finish(c compress.Compression) ([]byte, error) {
	out := b.buf
	if codec := c.Codec(); codec != nil {
		var z bytes.Buffer
		z.Write(make([]byte, batchHeader))
		w := codec.NewWriter(&z)
		if _, err := w.Write(out[batchHeader:]); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		out = z.Bytes()
	}
	be := binary.BigEndian
	be.PutUint32(out[8:], uint32(len(out)-12))
	be.PutUint32(out[12:], 0xffffffff) // no leader epoch
	out[16] = 2
	be.PutUint16(out[21:], uint16(c))
	be.PutUint32(out[23:], uint32(b.count-1))
	be.PutUint64(out[27:], uint64(b.first))
	be.PutUint64(out[35:], uint64(b.max))
	be.PutUint64(out[43:], 0xffffffffffffffff) // no producer id: retries may duplicate
	be.PutUint16(out[51:], 0xffff)
	be.PutUint32(out[53:], 0xffffffff)
	be.PutUint32(out[57:], uint32(b.count))
	be.PutUint32(out[17:], crc32.Checksum(out[crcFrom:], castagnoli))
	b.count = 0
	return out, nil
}

// Produce writes one record batch to a partition and waits for acks replicas: -1 for all in sync, 1 for the
// leader. It gives the offset of the first record. A lost answer leaves open whether the batch was written.
func (c *Cluster) Produce(ctx context.Context, tp TopicPartition, batch []byte, acks int16, wait time.Duration) (base int64, err error) {
	a, err := c.leader(ctx, tp)
	if err != nil {
		return 0, err
	}
	err = c.with(ctx, a, func(x *conn) error {
		head, err := produceFrame(x, tp, len(batch), acks, wait)
		if err != nil {
			return err
		}
		body, err := x.raw(ctx, wait, nil, head, batch)
		if err != nil {
			return err
		}
		base, err = readProduced(body)
		return err
	})
	if err != nil {
		c.forget(tp)
	}
	return base, err
}

// produceFrame is the request without the record batch of so many bytes, which follows it.
func produceFrame(x *conn, tp TopicPartition, size int, acks int16, wait time.Duration) ([]byte, error) {
	v, err := x.version(protocol.Produce, 8)
	if err != nil {
		return nil, err
	}
	if v < 3 {
		return nil, fmt.Errorf("the broker %s is older than Kafka 0.11", x.addr)
	}
	be := binary.BigEndian
	head := frame(protocol.Produce, v, x.client)
	head = be.AppendUint16(head, 0xffff) // no transaction
	head = be.AppendUint16(head, uint16(acks))
	head = be.AppendUint32(head, uint32(wait.Milliseconds()))
	head = be.AppendUint32(head, 1)
	head = text(head, tp.Topic)
	head = be.AppendUint32(head, 1)
	head = be.AppendUint32(head, uint32(tp.Partition))
	head = be.AppendUint32(head, uint32(size))
	be.PutUint32(head, uint32(len(head)+size-4))
	return head, nil
}

// readProduced gives the offset of the first record.
func readProduced(body []byte) (base int64, err error) {
	r := &cursor{b: body}
	if n := r.i32(); n != 1 {
		return 0, errShort
	}
	r.take(int(r.i16()))
	if n := r.i32(); n != 1 {
		return 0, errShort
	}
	r.take(4)
	code := r.i16()
	base = r.i64()
	if r.bad {
		return 0, errShort
	}
	if code != 0 {
		return base, kafka.Error(code)
	}
	return base, nil
}

// Partition is the partition that Java's default partitioner gives a key: murmur2, made positive.
func Partition(key []byte, partitions int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % partitions
}

// murmur2 is the 32-bit hash that Kafka's clients share, with their seed.
func murmur2(b []byte) uint32 {
	const m = 0x5bd1e995
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
