package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"streamlab/columnar"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
)

// lent reads parts as the engine does, one value a row.
func lent(t *testing.T, parts []columnar.Partition) (values []string) {
	t.Helper()
	for _, p := range parts {
		err := p.(columnar.Lender).Lend(context.Background(), func(cols []*columnar.Vec, n int) error {
			for i := range n {
				values = append(values, string(cols[0].Bytes(i)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// Micro-batches that follow each other use what the answers before them held behind their ends; one that is read
// again, or begins elsewhere, gives its own records nevertheless.
func TestKafkaBatchesShareAnswers(t *testing.T) {
	addr, c := topic(t, "t", 1)
	for i := range 40 {
		write(t, c, "t", 0, i*250, i*250+250)
	}
	for _, o := range []sources.Options{{}, {"kafka.max.partition.fetch.bytes": "5000"}, {"minPartitions": "3", "kafka.isolation.level": "read_committed"}} {
		o["kafka.bootstrap.servers"], o["subscribe"] = addr, "t"
		src, err := New(sources.Def{Options: o, Log: sourcetest.NewLog()})
		if err != nil {
			t.Fatal(err)
		}
		s := src.(*source)
		s.Prune([]int{1})
		for _, span := range [][2]int{{0, 2600}, {2600, 5100}, {2600, 5100}, {5100, 5101}, {7, 9000}, {9000, 10_000}, {9_999, 10_000}} {
			parts, err := s.PlanPartitions(context.Background(), sources.Offset(fmt.Sprintf(`{"t":{"0":%d}}`, span[0])),
				sources.Offset(fmt.Sprintf(`{"t":{"0":%d}}`, span[1])))
			if err != nil {
				t.Fatal(err)
			}
			got := lent(t, parts)
			if len(got) != span[1]-span[0] {
				t.Fatalf("%v %v: %d records", o, span, len(got))
			}
			for i, v := range got {
				if v != fmt.Sprint(span[0]+i) {
					t.Fatalf("%v %v: record %d is %s", o, span, i, v)
				}
			}
			if rows := sourcetest.Rows(t, columns[1:2], parts); len(rows) != len(got) {
				t.Fatalf("%v %v: %d rows, %d lent", o, span, len(rows), len(got))
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is left of answers is found only where it ends, once, while it is young, and never grows beyond its bound.
func TestLeftoversOfAnswers(t *testing.T) {
	a, b := wire.TopicPartition{Topic: "t"}, wire.TopicPartition{Topic: "t", Partition: 1}
	raw := recordBatch(t, 5, 3, nil)
	answer := func(n int) wire.Fetched { return wire.Fetched{Records: raw, Buffer: make([]byte, n)} }
	l := leftovers{most: 1000}
	one := wire.TopicID{1}
	l.see([]wire.Topic{{Name: "t", ID: one}})
	if !l.keep(a, one, 5, answer(600), raw) || l.keep(b, one, 5, answer(600), raw) || !l.keep(b, one, 5, answer(400), raw) || !l.keep(a, one, 5, answer(500), raw) {
		t.Error("not as much as there is room for")
	}
	if f, ok := l.take(a, 5); !ok || len(f.Records) != len(raw) || l.held != 400 {
		t.Error(ok, l.held)
	}
	if _, ok := l.take(a, 5); ok {
		t.Error("given twice")
	}
	if _, ok := l.take(b, 6); ok || l.held != 0 {
		t.Error("records of another offset", l.held)
	}
	undone := answer(10)
	undone.Aborted = []wire.Aborted{{Producer: 1}}
	if l.keep(a, one, 5, undone, raw) || l.keep(a, one, 5, answer(10), raw[:len(raw)-1]) || l.keep(a, one, 5, answer(10), nil) {
		t.Error("kept what is of no use")
	}
	l.keep(a, one, 5, answer(10), raw)
	x := l.list[a]
	x.since = time.Now().Add(-2 * leftTime)
	l.list[a] = x
	if _, ok := l.take(a, 5); ok {
		t.Error("older than what is trusted")
	}
	for what, topics := range map[string][]wire.Topic{"made anew": {{Name: "t", ID: wire.TopicID{2}}}, "gone": nil,
		"without identity": {{Name: "t"}}, "in error": {{Name: "t", ID: one, Err: kafkago.LeaderNotAvailable}}} {
		l.see([]wire.Topic{{Name: "t", ID: one}})
		if !l.keep(a, one, 5, answer(10), raw) {
			t.Fatal("nothing is kept")
		}
		l.see(topics)
		if _, ok := l.take(a, 5); ok || l.held != 0 {
			t.Errorf("records of a topic that is %s", what)
		}
		if l.keep(a, one, 5, answer(10), raw) {
			t.Errorf("kept for a topic that is %s", what)
		}
	}
}

// A topic that is deleted and made anew while its query runs gives its own records, not those that answers of the old
// one held beyond the end of a micro-batch.
func TestTopicMadeAnewGivesItsOwnRecords(t *testing.T) {
	addr, c := topic(t, "t", 1)
	write(t, c, "t", 0, 0, 500)
	src, err := New(sources.Def{Options: sources.Options{"kafka.bootstrap.servers": addr, "subscribe": "t", "startingOffsets": "earliest"},
		Log: sourcetest.NewLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s := src.(*source)
	s.Prune([]int{1})
	ctx := context.Background()
	key := ""
	batch := func(from, until int) []string {
		t.Helper()
		start := sources.Offset(fmt.Sprintf(`{"t":{"0":%d}}`, from))
		if _, err := s.LatestOffset(ctx, start, sources.ReadLimit{}); err != nil {
			t.Fatal(err)
		}
		parts, err := s.PlanPartitions(ctx, start, sources.Offset(fmt.Sprintf(`{"t":{"0":%d}}`, until)))
		if err != nil {
			t.Fatal(err)
		}
		key = parts[0].(sources.Keyed).ContentKey()
		return lent(t, parts)
	}
	batch(0, 100)
	old := key
	if len(s.rest.list) != 1 {
		t.Fatal("nothing is left of the answer: the test shows nothing")
	}
	if err := c.DeleteTopic(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic(ctx, "t", 1); err != nil {
		t.Fatal(err)
	}
	write(t, c, "t", 0, 10_000, 10_400)
	for i, v := range batch(100, 400) {
		if v != fmt.Sprint(10_100+i) {
			t.Fatalf("record %d is %s, of the topic before", 100+i, v)
		}
	}
	// Nor are they those that another query keeps of a shared read.
	if batch(0, 100); key == old || key == "" {
		t.Errorf("the same range is %q in the topic before and %q in this one", old, key)
	}
	if (&part{reader: new(reader), span: span{until: 1}}).ContentKey() != "" {
		t.Error("a range of a topic without identity is shared")
	}
}
