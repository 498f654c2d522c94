package conformance

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A kafkaBroker is what the steps with `kafka` are played on. Topics come and go at once: a call returns when
// its effect can be seen.
type kafkaBroker interface {
	Server() string // host:port
	Create(topic string, partitions int, config map[string]string) error
	Delete(topic string) error
	Grow(topic string, partitions int) error // to that many
	Produce(records []kafkaRecord) error
	Transaction(records []kafkaRecord, commit bool) error
	Trim(topic string, partition int, first int64) error // deletes what is before first
	Topics() ([]string, error)
	Close() error
}

type kafkaRecord struct {
	Topic      string
	Partition  int
	Key, Value []byte // nil is null
	Timestamp  int64  // ms
	Headers    []kafkaHeader
}

type kafkaHeader struct {
	Key   string
	Value []byte // nil is null
}

// newBroker makes a broker: that at STREAMLAB_KAFKA, or one in this process. A nil newBroker plays no
// scenario with Kafka.
var newBroker func(server string) (kafkaBroker, error)

// openBroker gives a scenario its broker, if it names one.
func (p *player) openBroker() error {
	if !strings.Contains(fmt.Sprint(p.scenario), "$KAFKA") {
		return nil
	}
	if newBroker == nil {
		return harness("needs Kafka")
	}
	b, err := newBroker(os.Getenv("STREAMLAB_KAFKA"))
	if err != nil {
		return harness("the broker: %v", err)
	}
	p.broker, p.prefix = b, "t"+uuid.NewString()[:8]+"-"
	return nil
}

// closeBroker deletes what the scenario left, which matters on a shared broker.
func (p *player) closeBroker() {
	if p.broker == nil {
		return
	}
	if names, err := p.broker.Topics(); err == nil {
		for _, n := range names {
			if strings.HasPrefix(n, p.prefix) {
				_ = p.broker.Delete(n)
			}
		}
	}
	_ = p.broker.Close()
}

// playKafka plays a step's `kafka`, in the order that the format says.
func (p *player) playKafka(script doc) error {
	if script == nil {
		return nil
	}
	if p.broker == nil {
		return harness("needs Kafka")
	}
	b := p.broker
	for _, t := range texts(get(script, "delete")) {
		if err := b.Delete(p.here(t)); err != nil {
			return harness("delete %s: %v", t, err)
		}
	}
	for _, e := range asMap(get(script, "create")) {
		partitions, config := whole(e.Value, 1), map[string]string{}
		if m := asMap(e.Value); m != nil {
			partitions = whole(get(m, "partitions"), 1)
			for _, c := range asMap(get(m, "config")) {
				config[str(c.Key)] = str(c.Value)
			}
		}
		if err := b.Create(p.here(str(e.Key)), int(partitions), config); err != nil {
			return harness("create %v: %v", e.Key, err)
		}
	}
	for _, e := range asMap(get(script, "partitions")) {
		if err := b.Grow(p.here(str(e.Key)), int(whole(e.Value, 1))); err != nil {
			return harness("partitions of %v: %v", e.Key, err)
		}
	}
	for _, e := range asMap(get(script, "produce")) {
		records, err := recordsOf(p.here(str(e.Key)), e.Value)
		if err == nil {
			err = b.Produce(records)
		}
		if err != nil {
			return harness("produce to %v: %v", e.Key, err)
		}
	}
	for _, t := range asList(get(script, "transactions")) {
		var all []kafkaRecord
		for _, e := range asMap(get(t, "produce")) {
			records, err := recordsOf(p.here(str(e.Key)), e.Value)
			if err != nil {
				return harness("transaction: %v", err)
			}
			all = append(all, records...)
		}
		if err := b.Transaction(all, str(get(t, "end")) != "abort"); err != nil {
			return harness("transaction: %v", err)
		}
	}
	for _, e := range asMap(get(script, "trim")) {
		for _, o := range asMap(e.Value) {
			partition, err := strconv.Atoi(str(o.Key))
			if err == nil {
				err = b.Trim(p.here(str(e.Key)), partition, whole(o.Value, 0))
			}
			if err != nil {
				return harness("trim %v: %v", e.Key, err)
			}
		}
	}
	return nil
}

func recordsOf(topic string, rows any) (out []kafkaRecord, err error) {
	for _, r := range asList(rows) {
		row := asMap(r)
		if row == nil {
			row = doc{{Key: "value", Value: r}}
		}
		k := kafkaRecord{Topic: topic, Partition: int(whole(get(row, "partition"), 0)),
			Timestamp: whole(get(row, "timestamp"), epoch2026*1000)}
		if k.Key, err = kafkaBytes(get(row, "key")); err != nil {
			return nil, err
		}
		if k.Value, err = kafkaBytes(get(row, "value")); err != nil {
			return nil, err
		}
		for _, h := range asList(get(row, "headers")) {
			pair := asList(h)
			if len(pair) != 2 {
				return nil, fmt.Errorf("a header is a key and a value")
			}
			v, err := kafkaBytes(pair[1])
			if err != nil {
				return nil, err
			}
			k.Headers = append(k.Headers, kafkaHeader{Key: str(pair[0]), Value: v})
		}
		out = append(out, k)
	}
	// the broker gets one partition after the other, each in the order of the file
	sort.SliceStable(out, func(i, j int) bool { return out[i].Partition < out[j].Partition })
	return out, nil
}

func kafkaBytes(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	if m := asMap(v); m != nil {
		b, err := decodeHex(str(get(m, "hex")))
		if b == nil {
			b = []byte{}
		}
		return b, err
	}
	return []byte(str(v)), nil
}
