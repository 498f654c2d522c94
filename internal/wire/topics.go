package wire

import (
	"context"
	"encoding/binary"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// A TopicID tells a topic from another one that had its name before it was deleted. Brokers before 2.8 know of none:
// theirs is zero.
type TopicID [16]byte

// withIDs is the first version of the metadata request whose answer has the identities of topics; kafka-go does not
// speak it. Its lists and texts are compact: their length plus one comes as a varint, zero is null.
const (
	withIDs    = 10
	newestMeta = 12
)

// described asks one broker for topics, as kafka-go's request does. ids is nil where the broker knows of none.
func (c *conn) described(ctx context.Context, q *metadata.Request) (r *metadata.Response, ids map[string]TopicID, err error) {
	if v, err := c.version(protocol.Metadata, newestMeta); err == nil && v >= withIDs {
		body, err := c.raw(ctx, 0, nil, metadataFrame(q, v, c.client))
		if err != nil {
			return nil, nil, err
		}
		return readMetadata(body, v)
	}
	m, err := c.call(ctx, q, 0)
	if err != nil {
		return nil, nil, err
	}
	return m.(*metadata.Response), nil, nil
}

func metadataFrame(q *metadata.Request, v int16, client string) []byte {
	b := append(frame(protocol.Metadata, v, client), 0)
	if q.TopicNames == nil {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(len(q.TopicNames))+1)
	}
	for _, name := range q.TopicNames {
		b = append(b, make([]byte, len(TopicID{}))...) // asked for by name
		b = binary.AppendUvarint(b, uint64(len(name))+1)
		b = append(append(b, name...), 0)
	}
	create := byte(0)
	if q.AllowAutoTopicCreation {
		create = 1
	}
	b = append(b, create, 0)
	if v == withIDs {
		b = append(b, 0)
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// uvarint reads a number of at most five bytes.
func (c *cursor) uvarint() int {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > 1<<31 {
		c.bad = true
		return 0
	}
	c.b = c.b[n:]
	return int(v)
}

// list reads how many elements of at least one byte follow; null is none.
func (c *cursor) list() int {
	n := c.uvarint() - 1
	if n > len(c.b) {
		c.bad = true
	}
	if n < 0 || c.bad {
		return 0
	}
	return n
}

func (c *cursor) compactText() string { return string(c.take(c.list())) }

func (c *cursor) numbers() {
	for n := c.list(); n > 0 && !c.bad; n-- {
		c.take(4)
	}
}

// tags are fields that later versions may add: not one of them is known.
func (c *cursor) tags() {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		c.uvarint()
		c.take(c.uvarint())
	}
}

func readMetadata(body []byte, v int16) (*metadata.Response, map[string]TopicID, error) {
	c := &cursor{b: body}
	r, ids := &metadata.Response{}, map[string]TopicID{}
	c.tags()
	c.take(4) // throttle time
	for n := c.list(); n > 0 && !c.bad; n-- {
		b := metadata.ResponseBroker{NodeID: c.i32(), Host: c.compactText(), Port: c.i32()}
		b.Rack = c.compactText()
		c.tags()
		r.Brokers = append(r.Brokers, b)
	}
	r.ClusterID = c.compactText()
	r.ControllerID = c.i32()
	for n := c.list(); n > 0 && !c.bad; n-- {
		t := metadata.ResponseTopic{ErrorCode: c.i16(), Name: c.compactText()}
		var id TopicID
		if at := c.take(len(id)); !c.bad {
			copy(id[:], at)
		}
		t.IsInternal = c.take(1)[0] != 0
		for k := c.list(); k > 0 && !c.bad; k-- {
			p := metadata.ResponsePartition{ErrorCode: c.i16(), PartitionIndex: c.i32(), LeaderID: c.i32(), LeaderEpoch: c.i32()}
			c.numbers() // replicas
			c.numbers() // those in sync
			c.numbers() // those offline
			c.tags()
			t.Partitions = append(t.Partitions, p)
		}
		c.take(4) // what one may do with the topic
		c.tags()
		r.Topics = append(r.Topics, t)
		ids[t.Name] = id
	}
	if v == withIDs {
		c.take(4)
	}
	if c.bad {
		return nil, nil, errShort
	}
	return r, ids, nil
}

// metadata asks for topics and learns where their partitions are led.
func (c *Cluster) metadata(ctx context.Context, req *metadata.Request) ([]Topic, error) {
	var r *metadata.Response
	var ids map[string]TopicID
	err := c.anywhere(ctx, func(x *conn) (err error) {
		r, ids, err = x.described(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.learn(r, ids), nil
}
