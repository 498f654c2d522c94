package wire

import (
	"context"
	"errors"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/deletetopics"
)

// CreateTopic makes a topic with one replica of each partition and waits until it is led; one that is there
// already stays as it is. The cluster must have one broker only, as embedded ones have.
func (c *Cluster) CreateTopic(ctx context.Context, name string, partitions int32) error {
	m, err := c.ask(ctx, &createtopics.Request{TimeoutMs: 10_000,
		Topics: []createtopics.RequestTopic{{Name: name, NumPartitions: partitions, ReplicationFactor: 1}}})
	if err != nil {
		return err
	}
	for _, t := range m.(*createtopics.Response).Topics {
		if e := kafka.Error(t.ErrorCode); t.ErrorCode != 0 && !errors.Is(e, kafka.TopicAlreadyExists) {
			return e
		}
	}
	return c.Retry(ctx, 10*time.Second, func() error {
		_, err := c.leader(ctx, TopicPartition{name, 0})
		if errors.Is(err, kafka.UnknownTopicOrPartition) {
			return kafka.LeaderNotAvailable // not yet
		}
		return err
	})
}

// DeleteTopic removes a topic of a cluster of one broker; the broker may take its time.
func (c *Cluster) DeleteTopic(ctx context.Context, name string) error {
	m, err := c.ask(ctx, &deletetopics.Request{TimeoutMs: 10_000, TopicNames: []string{name}})
	if err != nil {
		return err
	}
	for _, t := range m.(*deletetopics.Response).Responses {
		if t.ErrorCode != 0 {
			return kafka.Error(t.ErrorCode)
		}
	}
	return nil
}
