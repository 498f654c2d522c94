package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

var words = types.Schema{{Name: "key", Type: types.Of(types.String), Nullable: true}, {Name: "value", Type: types.Of(types.String), Nullable: true},
	{Name: "partition", Type: types.Of(types.Int), Nullable: true}}

// wordRows has the values from..until-1, keys that are every third null, and no partition but for negative ones.
func wordRows(from, until int, partition int32) []columnar.Partition {
	n := until - from
	k, v, p := columnar.NewVec(words[0].Type, n), columnar.NewVec(words[1].Type, n), columnar.NewVec(words[2].Type, n)
	k.MakeValid(n)
	p.MakeValid(n)
	for i := range n {
		if i%3 == 0 {
			columnar.ClearBit(k.Valid, i)
		} else {
			k.Data = fmt.Append(k.Data, i%5)
		}
		k.Off[i+1] = int32(len(k.Data))
		v.Data = fmt.Append(v.Data, from+i)
		v.Off[i+1] = int32(len(v.Data))
		if p.I32[i] = partition; partition < 0 {
			columnar.ClearBit(p.Valid, i)
		}
	}
	return []columnar.Partition{columnar.Batches{List: []arrow.RecordBatch{columnar.RecordOf(words, []*columnar.Vec{k, v, p}, columnar.AllRows(n))}}}
}

func topicOf(t *testing.T, partitions int32) (string, *wire.Cluster) {
	t.Helper()
	b, err := broker.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c := wire.New(wire.Config{Servers: []string{b.Addr()}})
	t.Cleanup(c.Close)
	if err := c.CreateTopic(context.Background(), "t", partitions); err != nil {
		t.Fatal(err)
	}
	return b.Addr(), c
}

// all reads a partition from its beginning: the records with their headers.
func all(t *testing.T, c *wire.Cluster, partition int32) (out []string) {
	t.Helper()
	f, err := c.Fetch(context.Background(), wire.FetchRequest{Partition: wire.TopicPartition{Topic: "t", Partition: partition}, MaxBytes: 1 << 24}, nil)
	if err != nil || f.Err != nil {
		t.Fatal(err, f.Err)
	}
	var space []byte
	for b := f.Records; ; {
		x, rest, ok, err := wire.NextBatch(b, &space)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		b = rest
		var r wire.Record
		for more, err := x.Next(&r); more; more, err = x.Next(&r) {
			if err != nil {
				t.Fatal(err)
			}
			s := string(r.Value)
			for range r.Headers {
				k, v, err := r.Header()
				if err != nil {
					t.Fatal(err)
				}
				s += fmt.Sprintf(" %s=%s", k, v)
			}
			out = append(out, s)
		}
	}
}

func open(t *testing.T, o sources.Options) sinks.Sink {
	t.Helper()
	s, err := New(sinks.Def{Options: o, Schema: words, QueryID: "q"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Small record batches, every codec and partitioner: each row arrives once, and those of a partition in order.
func TestKafkaRowsArriveOnceAndInOrder(t *testing.T) {
	for _, o := range []sources.Options{{}, {"kafka.batch.size": "200"}, {"kafka.compression.type": "gzip", "kafka.acks": "1"},
		{"kafka.compression.type": "snappy"}, {"kafka.compression.type": "lz4"}, {"kafka.compression.type": "zstd"},
		{"kafka.partitioner.class": "roundrobin"}, {"kafka.partitioner.class": "random", "kafka.batch.size": "0"}} {
		addr, c := topicOf(t, 3)
		o["kafka.bootstrap.servers"], o["topic"] = addr, " t "
		s := open(t, o)
		for id := range 2 {
			if err := s.AddBatch(context.Background(), sinks.Batch{ID: int64(id), Schema: words, Parts: wordRows(id*300, id*300+300, -1)}); err != nil {
				t.Fatal(o, err)
			}
		}
		if n := s.(sinks.Described).NumOutputRows(); n != 300 {
			t.Errorf("%d rows are told", n)
		}
		seen := map[string]bool{}
		for p := range int32(3) {
			last := -1
			for _, v := range all(t, c, p) {
				var n int
				if fmt.Sscan(v, &n); n <= last || seen[v] {
					t.Fatalf("%v: %s comes after %d", o, v, last)
				}
				last, seen[v] = n, true
			}
		}
		if len(seen) != 600 {
			t.Errorf("%v: %d rows", o, len(seen))
		}
	}
}

func TestKafkaHeadersTellRepetitions(t *testing.T) {
	addr, c := topicOf(t, 1)
	s := open(t, sources.Options{"kafka.bootstrap.servers": addr, "topic": "t", "dedupHeader": "true"})
	for range 2 {
		if err := s.AddBatch(context.Background(), sinks.Batch{ID: 7, Schema: words, Parts: wordRows(0, 2, -1)}); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Join(all(t, c, 0), "|")
	once := "0 streamlab-query=q streamlab-batch=7 streamlab-seq=0|1 streamlab-query=q streamlab-batch=7 streamlab-seq=1"
	if got != once+"|"+once {
		t.Error(got)
	}
}

func TestKafkaTargetsThatAreNotThere(t *testing.T) {
	addr, _ := topicOf(t, 2)
	for _, x := range []struct {
		topic     string
		partition int32
		want      string
	}{{"none", -1, "KAFKA_TOPIC_NOT_FOUND"}, {"t", 2, "KAFKA_PARTITION_NOT_FOUND"}} {
		s := open(t, sources.Options{"kafka.bootstrap.servers": addr, "topic": x.topic, "kafka.max.block.ms": "50"})
		if err := s.AddBatch(context.Background(), sinks.Batch{Schema: words, Parts: wordRows(0, 1, x.partition)}); !errs.Has(err, x.want) {
			t.Errorf("%v: %v", x, err)
		}
	}
	b, err := broker.Start()
	if err != nil {
		t.Fatal(err)
	}
	gone := b.Addr()
	b.Close()
	s := open(t, sources.Options{"kafka.bootstrap.servers": gone, "topic": "t", "kafka.max.block.ms": "100"})
	began := time.Now()
	err = s.AddBatch(context.Background(), sinks.Batch{Schema: words, Parts: wordRows(0, 1, -1)})
	if !errs.Has(err, "SINK_UNAVAILABLE") || time.Since(began) > 30*time.Second {
		t.Error(err)
	}
}
