package engine_test

import (
	"context"
	"fmt"
	"net"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
	"streamlab/sinks"
)

// collected gathers the first column of every row.
type collected struct {
	mu   sync.Mutex
	rows []string
	come chan struct{} // buffered by one
}

func (c *collected) take(ctx context.Context, b sinks.Batch) error {
	return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		col := rb.Column(0).(*array.String)
		for i := range col.Len() {
			c.rows = append(c.rows, strings.Clone(col.Value(i)))
		}
		select {
		case c.come <- struct{}{}:
		default:
		}
		return nil
	})
}

// want waits until n rows are there and gives them sorted.
func (c *collected) want(t *testing.T, n int) []string {
	t.Helper()
	limit := time.After(60 * time.Second)
	for {
		c.mu.Lock()
		got := append([]string(nil), c.rows...)
		c.mu.Unlock()
		if len(got) >= n {
			sort.Strings(got)
			return got
		}
		select {
		case <-c.come:
		case <-limit:
			t.Fatalf("%d rows came, not %d", len(got), n)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startBroker(t *testing.T, o ...broker.Option) *broker.Broker {
	t.Helper()
	b, err := broker.Start(o...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func send(t *testing.T, addr, topic string, from, until int) {
	t.Helper()
	c := wire.New(wire.Config{Servers: []string{addr}})
	defer c.Close()
	for p := range int32(2) {
		var b wire.Builder
		for i := from; i < until; i++ {
			if int32(i%2) == p {
				b.Add(nil, fmt.Appendf(nil, "%05d", i), nil, 1)
			}
		}
		raw, err := b.Finish(0)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Retry(context.Background(), 20*time.Second, func() error {
			_, err := c.Produce(context.Background(), wire.TopicPartition{Topic: topic, Partition: p}, raw, -1, time.Second)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func makeTopic(t *testing.T, addr, topic string) {
	t.Helper()
	c := wire.New(wire.Config{Servers: []string{addr}})
	defer c.Close()
	if err := c.CreateTopic(context.Background(), topic, 2); err != nil {
		t.Fatal(err)
	}
}

func kafkaQuery(t *testing.T, addr string, options map[string]string) (*engine.Session, *engine.DataFrame) {
	t.Helper()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	df := s.ReadStream().Format("kafka").Option("kafka.bootstrap.servers", addr).Option("subscribe", "t").
		Option("startingOffsets", "earliest").Options(options).Load().SelectExpr("CAST(value AS STRING) AS v")
	return s, df
}

// The broker goes away while a query runs and comes back: the query waits, goes on, and has every record once.
func TestAQueryOutlivesItsBroker(t *testing.T) {
	port, dir := freePort(t), t.TempDir()
	b := startBroker(t, broker.Port(port), broker.Folder(dir))
	makeTopic(t, b.Addr(), "t")
	send(t, b.Addr(), "t", 0, 1000)
	c := &collected{come: make(chan struct{}, 1)}
	_, df := kafkaQuery(t, b.Addr(), map[string]string{"maxOffsetsPerTrigger": "100", "fetchOffset.retryIntervalMs": "10"})
	q, err := df.WriteStream().EachBatch(c.take).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c.want(t, 200)
	b.Close() // in the middle of the work
	b = startBroker(t, broker.Port(port), broker.Folder(dir))
	defer b.Close()
	send(t, b.Addr(), "t", 1000, 1500)
	got := c.want(t, 1500)
	if err := q.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := q.Exception(); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != fmt.Sprintf("%05d", i) {
			t.Fatalf("row %d is %s: a record was lost or read twice", i, v)
		}
	}
}

// A broker that stays away ends the query by name, and a start afterwards goes on without a loss.
func TestABrokerThatStaysAwayEndsTheQueryByName(t *testing.T) {
	port, dir, chk := freePort(t), t.TempDir(), t.TempDir()
	b := startBroker(t, broker.Port(port), broker.Folder(dir))
	makeTopic(t, b.Addr(), "t")
	send(t, b.Addr(), "t", 0, 10)
	c := &collected{come: make(chan struct{}, 1)}
	s, df := kafkaQuery(t, b.Addr(), map[string]string{"kafka.default.api.timeout.ms": "300", "kafkaConsumer.pollTimeoutMs": "300"})
	_ = s
	start := func() *engine.StreamingQuery {
		q, err := df.WriteStream().Option("checkpointLocation", chk).EachBatch(c.take).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := start()
	c.want(t, 10)
	b.Close()
	if err := q.AwaitTermination(context.Background()); !errs.Has(err, "STREAM_FAILED") || !errs.Has(err, "SOURCE_UNAVAILABLE") {
		t.Fatalf("ended with %v", err)
	}
	b = startBroker(t, broker.Port(port), broker.Folder(dir))
	defer b.Close()
	send(t, b.Addr(), "t", 10, 20)
	q = start()
	if got := c.want(t, 20); got[19] != "00019" || len(got) != 20 {
		t.Errorf("%v", got)
	}
	if err := q.Stop(); err != nil {
		t.Fatal(err)
	}
}

// The continuous trigger from topic to topic: rows leave as they come, a restart goes on behind the last epoch.
func TestContinuousFromTopicToTopic(t *testing.T) {
	b := startBroker(t)
	defer b.Close()
	makeTopic(t, b.Addr(), "t")
	makeTopic(t, b.Addr(), "out")
	chk := t.TempDir()
	_, df := kafkaQuery(t, b.Addr(), nil)
	copied := df.SelectExpr("concat('c', v) AS value")
	c := &collected{come: make(chan struct{}, 1)}
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	look, err := s.ReadStream().Format("kafka").Option("kafka.bootstrap.servers", b.Addr()).Option("subscribe", "out").
		Option("startingOffsets", "earliest").Load().SelectExpr("CAST(value AS STRING) AS v").WriteStream().EachBatch(c.take).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer look.Stop()
	every, err := engine.ParseTrigger("continuous", "100 milliseconds")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		q, err := copied.WriteStream().Format("kafka").Option("kafka.bootstrap.servers", b.Addr()).Option("topic", "out").
			Option("checkpointLocation", chk).Trigger(every).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		send(t, b.Addr(), "t", round*100, round*100+100)
		c.want(t, round*100+100)
		if err := q.StopAfterBatch(); err != nil {
			t.Fatal(err)
		}
		if err := q.Exception(); err != nil {
			t.Fatal(err)
		}
	}
	got := c.want(t, 200)
	for i, v := range got {
		if v != fmt.Sprintf("c%05d", i) {
			t.Fatalf("row %d is %s of %d", i, v, len(got))
		}
	}
}

// An answer of the broker that serves several micro-batches keeps its records: the buffers of one partition are not
// those that another one reads into. The records of one partition are longer, so that its answers end earlier.
func TestOneAnswerServesManyMicroBatches(t *testing.T) {
	b := startBroker(t, broker.Port(freePort(t)), broker.Folder(t.TempDir()))
	defer b.Close()
	makeTopic(t, b.Addr(), "t")
	const rows = 6000
	value := func(i int) string { return fmt.Sprintf("%05d", i) + strings.Repeat("x", i%2*50) }
	cl := wire.New(wire.Config{Servers: []string{b.Addr()}})
	defer cl.Close()
	for first := 0; first < rows; first += 300 {
		for p := range 2 {
			var records wire.Builder
			for i := first + p; i < first+300; i += 2 {
				records.Add(nil, []byte(value(i)), nil, 1)
			}
			raw, err := records.Finish(0)
			if err == nil {
				_, err = cl.Produce(context.Background(), wire.TopicPartition{Topic: "t", Partition: int32(p)}, raw, -1, time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c := &collected{come: make(chan struct{}, 1)}
	_, df := kafkaQuery(t, b.Addr(), map[string]string{"maxOffsetsPerTrigger": "40", "kafka.max.partition.fetch.bytes": "30000"})
	q, err := df.WriteStream().EachBatch(c.take).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := c.want(t, rows)
	if err := q.Stop(); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != value(i) {
			t.Fatalf("row %d is %s: a record was lost or read twice", i, v)
		}
	}
}
