package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"streamlab/engine"
	"streamlab/errs"
	"streamlab/internal/broker"
)

// A mortal broker can be ended without warning and comes back on its port with what it had acknowledged.
type mortal struct {
	addr string
	kill func(t *testing.T)
	back func(t *testing.T)
}

// mortals are the one in this process and, where STREAMLAB_KAFKA_OWN names a folder for it, a real Kafka in a
// process of its own, which gets SIGKILL.
func mortals(t *testing.T, each func(t *testing.T, m *mortal)) {
	t.Run("embedded", func(t *testing.T) {
		port, dir := freePort(t), t.TempDir()
		b := startBroker(t, broker.Port(port), broker.Folder(dir))
		defer func() { b.Close() }()
		each(t, &mortal{addr: b.Addr(), kill: func(*testing.T) { b.Close() },
			back: func(t *testing.T) { b = startBroker(t, broker.Port(port), broker.Folder(dir)) }})
	})
	t.Run("Kafka", func(t *testing.T) {
		dir := os.Getenv("STREAMLAB_KAFKA_OWN")
		if dir == "" {
			t.Skip("STREAMLAB_KAFKA_OWN names no folder for a Kafka of its own")
		}
		port := strconv.Itoa(freePort(t))
		if p, _ := strconv.Atoi(port); p >= 65535 {
			t.Fatal("no room for the controller's port")
		}
		start := func(t *testing.T, env ...string) string {
			cmd := exec.Command("../.ci/kafka", "start", dir, port)
			cmd.Env = append(os.Environ(), env...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("Kafka: %v", err)
			}
			return strings.TrimSpace(string(out))
		}
		m := &mortal{addr: start(t)}
		defer func() { _ = exec.Command("../.ci/kafka", "stop", dir).Run() }()
		m.kill = func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		m.back = func(t *testing.T) { start(t, "KAFKA_KEEP=1") }
		each(t, m)
	})
}

// distinct drops repetitions from a sorted list.
func distinct(sorted []string) []string {
	var out []string
	for _, v := range sorted {
		if len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}

// wantAll waits until every number below n has come, some perhaps twice.
func (c *collected) wantAll(t *testing.T, n int) []string {
	t.Helper()
	for least := n; ; {
		got := c.want(t, least)
		if len(distinct(got)) >= n {
			return got
		}
		least = len(got) + 1
	}
}

// The broker is ended in the middle of two queries, one that copies from topic to topic and one that reads the
// copy, and comes back: both wait and go on. Nothing is lost; what the copy holds twice is what a producer may
// repeat whose answer was lost.
func TestQueriesFromTopicToTopicOutliveTheirBroker(t *testing.T) {
	mortals(t, func(t *testing.T, m *mortal) {
		makeTopic(t, m.addr, "t")
		makeTopic(t, m.addr, "out")
		send(t, m.addr, "t", 0, 2000)
		_, df := kafkaQuery(t, m.addr, map[string]string{"maxOffsetsPerTrigger": "100", "fetchOffset.retryIntervalMs": "10"})
		copied, err := df.SelectExpr("v AS value").WriteStream().Format("kafka").Option("kafka.bootstrap.servers", m.addr).
			Option("topic", "out").Option("checkpointLocation", t.TempDir()).Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		c := &collected{come: make(chan struct{}, 1)}
		read := topicReader(t, m.addr, "out", c)
		c.want(t, 200)
		m.kill(t)
		m.back(t)
		send(t, m.addr, "t", 2000, 2500)
		got := c.wantAll(t, 2500)
		for _, q := range []*engine.StreamingQuery{copied, read} {
			if err := q.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := q.Exception(); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range distinct(got) {
			if v != fmt.Sprintf("%05d", i) {
				t.Fatalf("row %d is %s", i, v)
			}
		}
		if again := len(got) - 2500; again > 200 {
			t.Errorf("%d rows came again: more than one micro-batch", again)
		}
	})
}

func topicReader(t *testing.T, addr, topic string, c *collected) *engine.StreamingQuery {
	t.Helper()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	q, err := s.ReadStream().Format("kafka").Option("kafka.bootstrap.servers", addr).Option("subscribe", topic).
		Option("startingOffsets", "earliest").Load().SelectExpr("CAST(value AS STRING) AS v").WriteStream().EachBatch(c.take).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// A broker that stays away longer than the waiting times ends a writing query by name; a start after it has
// come back sends what is missing.
func TestABrokerThatStaysAwayEndsTheWriterByName(t *testing.T) {
	mortals(t, func(t *testing.T, m *mortal) {
		makeTopic(t, m.addr, "out")
		s, err := engine.NewSession(engine.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		chk := t.TempDir()
		lines := t.TempDir()
		start := func() *engine.StreamingQuery {
			q, err := s.ReadStream().Format("text").Option("maxFilesPerTrigger", "1").Load(lines).WriteStream().Format("kafka").
				Option("kafka.bootstrap.servers", m.addr).Option("topic", "out").Option("kafka.delivery.timeout.ms", "500").
				Option("kafka.max.block.ms", "500").Option("checkpointLocation", chk).Start(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		put := func(from, until int) {
			var b strings.Builder
			for i := from; i < until; i++ {
				fmt.Fprintf(&b, "%05d\n", i)
			}
			f := filepath.Join(lines, fmt.Sprintf("%05d", from))
			if err := os.WriteFile(f+"._COPYING_", []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(f+"._COPYING_", f); err != nil {
				t.Fatal(err)
			}
		}
		put(0, 100)
		c := &collected{come: make(chan struct{}, 1)}
		q := start()
		read := topicReader(t, m.addr, "out", c)
		c.wantAll(t, 100)
		if err := read.Stop(); err != nil {
			t.Fatal(err)
		}
		m.kill(t)
		put(100, 200)
		if err := q.AwaitTermination(context.Background()); !errs.Has(err, "STREAM_FAILED") || !errs.Has(err, "SINK_UNAVAILABLE") {
			t.Fatalf("ended with %v", err)
		}
		m.back(t)
		q = start()
		c = &collected{come: make(chan struct{}, 1)}
		read = topicReader(t, m.addr, "out", c)
		got := c.wantAll(t, 200)
		for _, q := range []*engine.StreamingQuery{q, read} {
			if err := q.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		sort.Strings(got)
		for i, v := range distinct(got) {
			if v != fmt.Sprintf("%05d", i) {
				t.Fatalf("row %d is %s", i, v)
			}
		}
	})
}
