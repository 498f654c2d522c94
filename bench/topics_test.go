package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamlab/engine"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
)

// BenchmarkTopics is W11: W1's query from a topic of four partitions to nothing and to another topic, the broker
// inside the program. It reports records per second; with -benchtime 1x a run is one pass over a million records.
func BenchmarkTopics(b *testing.B) {
	const records = 1_000_000
	server, err := broker.Start(broker.CreateTopics())
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	fillTopic(b, server.Addr(), records)
	for _, out := range []bool{false, true} {
		name := "in"
		if out {
			name = "in-out"
		}
		b.Run(name, func(b *testing.B) {
			for n := range b.N {
				began := time.Now()
				runTopics(b, server.Addr(), out, fmt.Sprintf("out%d", n), records)
				b.ReportMetric(records/time.Since(began).Seconds(), "records/s")
			}
		})
	}
}

func fillTopic(b *testing.B, addr string, records int) {
	c := wire.New(wire.Config{Servers: []string{addr}})
	defer c.Close()
	if err := c.CreateTopic(context.Background(), "in", 4); err != nil {
		b.Fatal(err)
	}
	kinds := []string{"purchase", "view", "click", "cart"}
	for p := range int32(4) {
		var x wire.Builder
		flush := func() {
			raw, err := x.Finish(0)
			if err == nil {
				_, err = c.Produce(context.Background(), wire.TopicPartition{Topic: "in", Partition: p}, raw, -1, time.Minute)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		for i := int(p); i < records; i += 4 {
			x.Add(nil, fmt.Appendf(nil, `{"event_id":%d,"user_id":%d,"event_type":"%s","price":%d.25,"ts":"2026-01-01T00:00:%02d.000Z","country":"de","ok":true}`,
				i, i%10_000, kinds[i/4%4], i%400, i/4%60), nil, 1_767_225_600_000)
			if x.Size() > 800<<10 {
				flush()
			}
		}
		if x.Len() > 0 {
			flush()
		}
	}
}

func runTopics(b *testing.B, addr string, out bool, topic string, records int64) {
	s, err := engine.NewSession(engine.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	source := s.ReadStream().Format("kafka").Option("kafka.bootstrap.servers", addr).Option("subscribe", "in").
		Option("startingOffsets", "earliest").Option("maxOffsetsPerTrigger", 500_000).Load().
		SelectExpr("from_json(CAST(value AS STRING), '" + eventSchema + "') AS e").SelectExpr("e.*")
	if err := source.CreateOrReplaceTempView("events"); err != nil {
		b.Fatal(err)
	}
	df, err := s.SQL(context.Background(), strings.ReplaceAll(queryW1, "\n", " "))
	if err != nil {
		b.Fatal(err)
	}
	w := df.WriteStream().Format("noop")
	if out {
		w = df.SelectExpr("to_json(struct(*)) AS value").WriteStream().Format("kafka").Option("kafka.bootstrap.servers", addr).Option("topic", topic)
	}
	q, err := w.Trigger(engine.AvailableNow()).Option("checkpointLocation", b.TempDir()).Start(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if err := q.AwaitTermination(context.Background()); err != nil {
		b.Fatal(err)
	}
	var rows int64
	for _, p := range q.RecentProgress() {
		rows += p.NumInputRows
	}
	if rows != records {
		b.Fatalf("%d records were read, not %d", rows, records)
	}
}
