package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"pgregory.net/rapid"

	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
	"streamlab/sql/catalog"
)

func topic(t *testing.T, name string, partitions int32) (string, *wire.Cluster) {
	t.Helper()
	b, err := broker.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c := wire.New(wire.Config{Servers: []string{b.Addr()}})
	t.Cleanup(c.Close)
	if err := c.CreateTopic(context.Background(), name, partitions); err != nil {
		t.Fatal(err)
	}
	return b.Addr(), c
}

func write(t *testing.T, c *wire.Cluster, name string, partition int32, from, until int) {
	t.Helper()
	var x wire.Builder
	for i := from; i < until; i++ {
		x.Add(nil, fmt.Appendf(nil, "%d", i), nil, int64(i))
	}
	raw, err := x.Finish(compress.Lz4)
	if err == nil {
		_, err = c.Produce(context.Background(), wire.TopicPartition{Topic: name, Partition: partition}, raw, -1, time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Small answers, several of them under way: every record of the range comes once and in order, in any cut.
func TestKafkaRangesAreReadOnceAndInOrder(t *testing.T) {
	addr, c := topic(t, "t", 1)
	for i := range 40 {
		write(t, c, "t", 0, i*25, i*25+25)
	}
	for _, o := range []sources.Options{{}, {"kafka.max.partition.fetch.bytes": "300"}, {"kafka.max.partition.fetch.bytes": "1", "minPartitions": "7"},
		{"maxRecordsPerPartition": "333", "kafka.isolation.level": "read_committed"}} {
		o["kafka.bootstrap.servers"], o["subscribe"] = addr, "t"
		s, err := New(sources.Def{Options: o, Log: sourcetest.NewLog()})
		if err != nil {
			t.Fatal(err)
		}
		s.(*source).Prune([]int{1})
		parts, err := s.PlanPartitions(context.Background(), `{"t":{"0":13}}`, `{"t":{"0":987}}`)
		if err != nil {
			t.Fatal(err)
		}
		rows := sourcetest.Rows(t, columns[1:2], parts)
		if len(rows) != 974 {
			t.Fatalf("%v: %d rows", o, len(rows))
		}
		for i, r := range rows {
			if r != fmt.Sprintf("[% X]", fmt.Sprint(i+13)) {
				t.Fatalf("%v: row %d is %s", o, i, r)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKafkaReadingEndsWithItsContext(t *testing.T) {
	addr, c := topic(t, "t", 1)
	write(t, c, "t", 0, 0, 5)
	s, err := New(sources.Def{Options: sources.Options{"kafka.bootstrap.servers": addr, "subscribe": "t"}, Log: sourcetest.NewLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	parts, err := s.PlanPartitions(context.Background(), `{"t":{"0":0}}`, `{"t":{"0":9}}`) // four records never come
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(30*time.Millisecond, cancel)
	var last error
	for _, err := range parts[0].Rows(ctx) {
		last = err
	}
	if last == nil || ctx.Err() == nil {
		t.Errorf("ended with %v", last)
	}
}

func TestKafkaRecordsThatNeverComeEndByName(t *testing.T) {
	addr, c := topic(t, "t", 1)
	write(t, c, "t", 0, 0, 5)
	s, err := New(sources.Def{Options: sources.Options{"kafka.bootstrap.servers": addr, "subscribe": "t", "kafkaConsumer.pollTimeoutMs": "50", "kafka.fetch.max.wait.ms": "10"}, Log: sourcetest.NewLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	parts, err := s.PlanPartitions(context.Background(), `{"t":{"0":0}}`, `{"t":{"0":9}}`)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range parts[0].Rows(context.Background()) {
		last = err
	}
	if !errs.Has(last, "KAFKA_READ_TIMEOUT") {
		t.Error(last)
	}
}

func TestKafkaTablesBeginAndEndWhereAsked(t *testing.T) {
	addr, c := topic(t, "t", 2)
	write(t, c, "t", 1, 0, 10)
	table, err := NewTable(context.Background(), sources.Def{Options: sources.Options{"kafka.bootstrap.servers": addr, "assign": `{"t":[1]}`,
		"startingTimestamp": "3", "endingOffsets": `{"t":{"1":7}}`}})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := table.Scan(context.Background(), catalog.Scan{Columns: []int{4}})
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Join(sourcetest.Rows(t, columns[4:5], parts), " "); rows != "3 4 5 6" {
		t.Error(rows)
	}
}

func TestOffsetsAsText(t *testing.T) {
	o, err := parseOffsets(`{"b": {"10": 1, "2": 5}, "a": {"0": -2}}`)
	if err != nil || o.json() != `{"a":{"0":-2},"b":{"2":5,"10":1}}` {
		t.Error(o.json(), err)
	}
	if (offsets{}).json() != "{}" {
		t.Error((offsets{}).json())
	}
	for _, bad := range []string{"", "x", "null", "[]", `{"a":1}`, `{"a":{"x":1}}`, `{"a":{"0":"1"}}`, `{"a":{"0":1}} x`} {
		if _, err := parseOffsets(bad); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// What is divided is never more than there is, sums to the limit, and leaves nobody out while it allows.
func TestLimitsAreDividedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), 1, 20).Draw(t, "sizes")
		limit := rapid.Int64Range(0, 1<<41).Draw(t, "limit")
		turn := rapid.Int64Range(0, 1000).Draw(t, "turn")
		takes := shares(limit, sizes)
		rotate(takes, sizes, limit, turn)
		var sum, total int64
		for i := range sizes {
			sum, total = sum+takes[i], total+sizes[i]
			if takes[i] < 0 || takes[i] > sizes[i] || takes[i] == 0 && limit >= int64(len(sizes)) {
				t.Fatalf("%v of %v", takes, sizes)
			}
		}
		if sum != min(limit, total) {
			t.Fatalf("%d of %d: %v of %v", sum, limit, takes, sizes)
		}
	})
}

// Cutting keeps every offset of every range, once and in order.
func TestCutsCoverTheirRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &settings{minParts: rapid.IntRange(0, 40).Draw(t, "minPartitions"), maxRecords: rapid.Int64Range(0, 50).Draw(t, "maxRecords")}
		var ranges []span
		var want int64
		for i, n := range rapid.SliceOfN(rapid.Int64Range(0, 500), 0, 8).Draw(t, "sizes") {
			ranges = append(ranges, span{wire.TopicPartition{Topic: "t", Partition: int32(i)}, 100, 100 + n})
			want += n
		}
		at := map[wire.TopicPartition]int64{}
		var got int64
		for _, r := range s.cut(ranges) {
			if from, ok := at[r.tp]; ok && from != r.from || !ok && r.from != 100 || r.size() <= 0 || s.maxRecords > 0 && r.size() > s.maxRecords {
				t.Fatalf("%v of %v", r, ranges)
			}
			at[r.tp] = r.until
			got += r.size()
		}
		if got != want {
			t.Fatalf("%d offsets of %d", got, want)
		}
	})
}
