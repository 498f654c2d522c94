package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"streamlab/errs"
)

// A TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name as Kafka prints it: topic-0.
func (t TopicPartition) String() string { return t.Topic + "-" + strconv.Itoa(int(t.Partition)) }

// Compare orders by topic, then by number.
func (t TopicPartition) Compare(o TopicPartition) int {
	if c := strings.Compare(t.Topic, o.Topic); c != 0 {
		return c
	}
	return int(t.Partition) - int(o.Partition)
}

// A Cluster is a set of brokers with the connections to them.
type Cluster struct {
	conf Config

	mu      sync.Mutex
	idle    map[string][]*conn // by address, the one used last at the end
	sweeper *time.Timer        // closes connections that nobody used for a while
	brokers map[int32]string   // as the last metadata said
	leaders map[TopicPartition]int32
	closed  bool
}

// New describes a cluster; nothing is opened.
func New(conf Config) *Cluster {
	if conf.Wait == 0 {
		conf.Wait = 60 * time.Second
	}
	return &Cluster{conf: conf, idle: map[string][]*conn{}, brokers: map[int32]string{}, leaders: map[TopicPartition]int32{}}
}

// Close ends the idle connections; those in use end when their requests do.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.sweeper != nil {
		c.sweeper.Stop()
	}
	for _, l := range c.idle {
		for _, x := range l {
			x.close()
		}
	}
	c.idle = nil
}

// take gives a connection to addr to the caller alone: an idle one, which may have died unnoticed, or a new one.
func (c *Cluster) take(ctx context.Context, addr string) (x *conn, old bool, err error) {
	c.mu.Lock()
	if l := c.idle[addr]; len(l) > 0 {
		x, c.idle[addr] = l[len(l)-1], l[:len(l)-1]
	}
	c.mu.Unlock()
	if x != nil {
		return x, true, nil
	}
	x, err = dial(ctx, addr, c.conf)
	return x, false, err
}

// release keeps a connection for others, if the exchange that ended with err left it as it was.
func (c *Cluster) release(x *conn, err error) {
	if err != nil && !isAnswer(err) {
		x.close()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		x.close()
		return
	}
	x.used = time.Now()
	c.idle[x.addr] = append(c.idle[x.addr], x)
	if c.sweeper == nil {
		c.sweeper = time.AfterFunc(idleTime, c.sweep)
	}
}

// with runs f on a connection to addr. A connection that was idle may have died unnoticed, so that f is run
// once more on a fresh one if the first was old.
func (c *Cluster) with(ctx context.Context, addr string, f func(*conn) error) error {
	for {
		x, old, err := c.take(ctx, addr)
		if err != nil {
			return err
		}
		err = f(x)
		c.release(x, err)
		if err == nil || isAnswer(err) || !old || ctx.Err() != nil || !broken(err) {
			return err
		}
	}
}

// idleTime is how long a connection is kept that nobody uses.
const idleTime = 20 * time.Second

// sweep closes such connections, so that a Cluster that is not closed leaves nothing behind.
func (c *Cluster) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweeper = nil
	left := false
	for addr, l := range c.idle {
		for len(l) > 0 && time.Since(l[0].used) >= idleTime {
			l[0].close()
			l = l[1:]
		}
		c.idle[addr] = l
		left = left || len(l) > 0
	}
	if left {
		c.sweeper = time.AfterFunc(idleTime, c.sweep)
	}
}

// isAnswer tells what a broker answered from what went wrong on the way: the connection is as good as before.
func isAnswer(err error) bool {
	var k kafka.Error
	return errors.As(err, &k)
}

// broken is a connection that did not deliver: the broker is away, or was.
func broken(err error) bool {
	var n net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n)
}

// Transient says that the same request may succeed later: the broker is away, a leader moves, replicas lag.
func Transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !broken(err) {
		return false
	}
	var a *AuthError
	if errors.As(err, &a) {
		return false
	}
	var k kafka.Error
	if errors.As(err, &k) {
		switch k {
		case kafka.LeaderNotAvailable, kafka.NotLeaderForPartition, kafka.RequestTimedOut, kafka.BrokerNotAvailable,
			kafka.ReplicaNotAvailable, kafka.NetworkException, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend,
			kafka.NotController, kafka.KafkaStorageError, kafka.FencedLeaderEpoch, kafka.UnknownLeaderEpoch,
			kafka.OffsetNotAvailable, kafka.ListenerNotFound:
			return true
		}
		return false
	}
	return broken(err)
}

// Retry runs f until it succeeds, fails for good, or the cluster's waiting time since the last call of
// progress is over. Pauses grow from 50 ms to 1 s. The last error then comes as SOURCE_UNAVAILABLE.
func (c *Cluster) Retry(ctx context.Context, wait time.Duration, f func() error) error {
	if wait == 0 {
		wait = c.conf.Wait
	}
	begin, pause := time.Now(), 50*time.Millisecond
	for {
		err := f()
		if err == nil || !Transient(err) {
			return err
		}
		if time.Since(begin)+pause > wait {
			return errs.Wrap(err, "SOURCE_UNAVAILABLE", "source", "Kafka at "+strings.Join(c.conf.Servers, ","),
				"seconds", int(wait.Seconds()))
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, time.Second)
	}
}

// ask sends a request that every broker answers.
func (c *Cluster) ask(ctx context.Context, m protocol.Message) (answer protocol.Message, err error) {
	err = c.anywhere(ctx, func(x *conn) error {
		var err error
		answer, err = x.call(ctx, m, 0)
		return err
	})
	return answer, err
}

// anywhere runs an exchange that every broker serves: with the servers configured, then with the brokers known.
func (c *Cluster) anywhere(ctx context.Context, f func(x *conn) error) (err error) {
	addrs := append([]string(nil), c.conf.Servers...)
	c.mu.Lock()
	for _, a := range c.brokers {
		addrs = append(addrs, a)
	}
	c.mu.Unlock()
	seen := map[string]bool{}
	for _, a := range addrs {
		if seen[a] {
			continue
		}
		seen[a] = true
		if err = c.with(ctx, a, f); err == nil || ctx.Err() != nil || !broken(err) {
			return err
		}
	}
	return err
}

// A Topic is what metadata says of one; Err is nil or a kafka.Error such as UnknownTopicOrPartition.
type Topic struct {
	Name       string
	ID         TopicID
	Internal   bool
	Err        error
	Partitions []int32 // sorted
}

// Metadata asks for topics by name, or for all with nil, sorted by name. It also learns where partitions are
// led. Topics are never created by asking.
func (c *Cluster) Metadata(ctx context.Context, topics []string) ([]Topic, error) {
	return c.metadata(ctx, &metadata.Request{TopicNames: topics})
}

// Want is Metadata of one topic, which a cluster that creates topics on first use then creates.
func (c *Cluster) Want(ctx context.Context, topic string) ([]Topic, error) {
	return c.metadata(ctx, &metadata.Request{TopicNames: []string{topic}, AllowAutoTopicCreation: true})
}

// learn notes the brokers and leaders of an answer and gives its topics.
func (c *Cluster) learn(r *metadata.Response, ids map[string]TopicID) []Topic {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(r.Brokers) > 0 {
		c.brokers = map[int32]string{}
	}
	for _, b := range r.Brokers {
		c.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	out := make([]Topic, 0, len(r.Topics))
	for _, t := range r.Topics {
		x := Topic{Name: t.Name, ID: ids[t.Name], Internal: t.IsInternal}
		if t.ErrorCode != 0 {
			x.Err = kafka.Error(t.ErrorCode)
		}
		for _, p := range t.Partitions {
			x.Partitions = append(x.Partitions, p.PartitionIndex)
			tp := TopicPartition{t.Name, p.PartitionIndex}
			if p.ErrorCode == 0 || p.LeaderID >= 0 {
				c.leaders[tp] = p.LeaderID
			} else {
				delete(c.leaders, tp)
			}
		}
		sort.Slice(x.Partitions, func(i, j int) bool { return x.Partitions[i] < x.Partitions[j] })
		out = append(out, x)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// leader is the address of the broker that leads a partition; metadata is asked for if it is not known.
func (c *Cluster) leader(ctx context.Context, tp TopicPartition) (string, error) {
	find := func() (string, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		id, ok := c.leaders[tp]
		if !ok {
			return "", false
		}
		a, ok := c.brokers[id]
		return a, ok
	}
	if a, ok := find(); ok {
		return a, nil
	}
	topics, err := c.Metadata(ctx, []string{tp.Topic})
	if err != nil {
		return "", err
	}
	if a, ok := find(); ok {
		return a, nil
	}
	for _, t := range topics {
		if t.Name == tp.Topic && t.Err != nil {
			return "", t.Err
		}
		for _, p := range t.Partitions {
			if p == tp.Partition {
				return "", kafka.LeaderNotAvailable
			}
		}
	}
	return "", kafka.UnknownTopicOrPartition
}

// forget makes the next request for tp look for its leader again.
func (c *Cluster) forget(tp TopicPartition) {
	c.mu.Lock()
	delete(c.leaders, tp)
	c.mu.Unlock()
}

// Special times of ListOffsets.
const (
	Latest   int64 = -1
	Earliest int64 = -2
)

// ListOffsets finds, for each partition, the first offset whose record is not before a time in ms, or the
// ends of the partition; -1 is a time after every record. With committed the end is that of the last
// transaction that is decided. Partitions of one broker travel in one request.
func (c *Cluster) ListOffsets(ctx context.Context, at map[TopicPartition]int64, committed bool) (map[TopicPartition]int64, error) {
	byBroker := map[string]map[string][]listoffsets.RequestPartition{}
	for tp, when := range at {
		a, err := c.leader(ctx, tp)
		if err != nil {
			return nil, err
		}
		if byBroker[a] == nil {
			byBroker[a] = map[string][]listoffsets.RequestPartition{}
		}
		byBroker[a][tp.Topic] = append(byBroker[a][tp.Topic], listoffsets.RequestPartition{Partition: tp.Partition,
			CurrentLeaderEpoch: -1, Timestamp: when})
	}
	out := make(map[TopicPartition]int64, len(at))
	for a, topics := range byBroker {
		req := &listoffsets.Request{ReplicaID: -1}
		if committed {
			req.IsolationLevel = 1
		}
		for name, ps := range topics {
			req.Topics = append(req.Topics, listoffsets.RequestTopic{Topic: name, Partitions: ps})
		}
		err := c.with(ctx, a, func(x *conn) error {
			m, err := x.call(ctx, req, 0)
			if err != nil {
				return err
			}
			for _, t := range m.(*listoffsets.Response).Topics {
				for _, p := range t.Partitions {
					if p.ErrorCode != 0 {
						return kafka.Error(p.ErrorCode)
					}
					out[TopicPartition{t.Topic, p.Partition}] = p.Offset
				}
			}
			return nil
		})
		if err != nil {
			for name, ps := range topics {
				for _, p := range ps {
					c.forget(TopicPartition{name, p.Partition})
				}
			}
			return nil, err
		}
	}
	return out, nil
}
