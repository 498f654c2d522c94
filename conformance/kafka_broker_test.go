package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"streamlab/internal/broker"
	"streamlab/internal/wire"
)

func init() { newBroker = dialBroker }

// dialedBroker plays the steps with another client than the one under test.
type dialedBroker struct {
	server string
	client *kgo.Client
}

// embedded is the broker of this process, shared by all scenarios: their topics have prefixes of their own.
var embedded = sync.OnceValues(func() (*broker.Broker, error) { return broker.Start() })

func dialBroker(server string) (kafkaBroker, error) {
	if server == "" {
		b, err := embedded()
		if err != nil {
			return nil, err
		}
		server = b.Addr()
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(server), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(10*time.Millisecond),
		kgo.DisableIdempotentWrite()) // a purged topic begins its sequence anew, which brokers take for a repetition
	if err != nil {
		return nil, err
	}
	return &dialedBroker{server, c}, nil
}

func (b *dialedBroker) Server() string { return b.server }

func (b *dialedBroker) Close() error {
	b.client.Close()
	return nil
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

// partitions counts the partitions that every broker's metadata shows; -1: there is no such topic.
func (b *dialedBroker) partitions(ctx context.Context, topic string) (int, error) {
	r := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	r.Topics = append(r.Topics, t)
	m, err := r.RequestWith(ctx, b.client)
	if err != nil {
		return 0, err
	}
	switch err := kerr.ErrorForCode(m.Topics[0].ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return -1, nil
	case err != nil && !kerr.IsRetriable(err):
		return 0, err
	}
	for _, p := range m.Topics[0].Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return 0, nil
		}
	}
	return len(m.Topics[0].Partitions), nil
}

// until asks for metadata again and again, until a topic has so many partitions that are led.
func (b *dialedBroker) until(ctx context.Context, topic string, partitions int) error {
	for {
		n, err := b.partitions(ctx, topic)
		if err != nil || n == partitions {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s has %d partitions, not %d", topic, n, partitions)
		}
	}
}

func (b *dialedBroker) Create(topic string, partitions int, config map[string]string) error {
	ctx, cancel := within()
	defer cancel()
	r := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), 1
	for k, v := range config {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		t.Configs = append(t.Configs, c)
	}
	r.Topics = append(r.Topics, t)
	m, err := r.RequestWith(ctx, b.client)
	if err == nil {
		err = kerr.ErrorForCode(m.Topics[0].ErrorCode)
	}
	if err != nil {
		return err
	}
	return b.until(ctx, topic, partitions)
}

func (b *dialedBroker) Delete(topic string) error {
	ctx, cancel := within()
	defer cancel()
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.TopicNames = []string{topic}
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	r.Topics = append(r.Topics, t)
	m, err := r.RequestWith(ctx, b.client)
	if err == nil {
		err = kerr.ErrorForCode(m.Topics[0].ErrorCode)
	}
	if err != nil {
		return err
	}
	b.client.PurgeTopicsFromClient(topic)
	return b.until(ctx, topic, -1)
}

func (b *dialedBroker) Grow(topic string, partitions int) error {
	ctx, cancel := within()
	defer cancel()
	r := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, int32(partitions)
	r.Topics = append(r.Topics, t)
	m, err := r.RequestWith(ctx, b.client)
	if err == nil {
		err = kerr.ErrorForCode(m.Topics[0].ErrorCode)
	}
	if err != nil {
		return err
	}
	b.client.PurgeTopicsFromClient(topic)
	return b.until(ctx, topic, partitions)
}

func sent(records []kafkaRecord) []*kgo.Record {
	var out []*kgo.Record
	for _, r := range records {
		x := &kgo.Record{Topic: r.Topic, Partition: int32(r.Partition), Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.Timestamp)}
		for _, h := range r.Headers {
			x.Headers = append(x.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		out = append(out, x)
	}
	return out
}

func (b *dialedBroker) Produce(records []kafkaRecord) error {
	ctx, cancel := within()
	defer cancel()
	return b.client.ProduceSync(ctx, sent(records)...).FirstErr()
}

func (b *dialedBroker) Transaction(records []kafkaRecord, commit bool) error {
	ctx, cancel := within()
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.server), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.TransactionalID(uuid.NewString()))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.BeginTransaction(); err != nil {
		return err
	}
	if err := c.ProduceSync(ctx, sent(records)...).FirstErr(); err != nil {
		return err
	}
	if err := c.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		return err
	}
	return b.decided(ctx, records)
}

// decided waits until the markers of a transaction are in its partitions: a broker writes them after it has
// answered.
func (b *dialedBroker) decided(ctx context.Context, records []kafkaRecord) error {
	c := wire.New(wire.Config{Servers: []string{b.server}})
	defer c.Close()
	ends := map[wire.TopicPartition]int64{}
	for _, r := range records {
		ends[wire.TopicPartition{Topic: r.Topic, Partition: int32(r.Partition)}] = wire.Latest
	}
	for {
		all, err := c.ListOffsets(ctx, ends, false)
		if err != nil {
			return err
		}
		stable, err := c.ListOffsets(ctx, ends, true)
		if err != nil || maps.Equal(all, stable) {
			return err
		}
	}
}

func (b *dialedBroker) Trim(topic string, partition int, first int64) error {
	ctx, cancel := within()
	defer cancel()
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = 10_000
	t, p := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = int32(partition), first
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	m, err := r.RequestWith(ctx, b.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(m.Topics[0].Partitions[0].ErrorCode)
}

func (b *dialedBroker) Topics() ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	m, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, b.client)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range m.Topics {
		if t.Topic != nil {
			out = append(out, *t.Topic)
		}
	}
	return out, nil
}

// The broker that scenarios are played on must do what they ask of it, else they prove nothing.
func TestBrokerPlaysWhatScenariosAsk(t *testing.T) {
	b, err := dialBroker("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	topic := "t" + uuid.NewString()[:8]
	if err := b.Create(topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Grow(topic, 2); err != nil {
		t.Fatal(err)
	}
	if err := b.Produce([]kafkaRecord{{Topic: topic, Partition: 1, Value: []byte("x"), Timestamp: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Transaction([]kafkaRecord{{Topic: topic, Value: []byte("y"), Timestamp: 1}}, false); err != nil {
		t.Fatal(err)
	}
	if err := b.Trim(topic, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(topic); err != nil {
		t.Fatal(err)
	}
	if names, err := b.Topics(); err != nil || contains(names, topic) {
		t.Fatalf("%v, %v", names, err)
	}
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}
