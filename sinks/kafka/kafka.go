// Package kafka writes rows to topics: the columns value, key, topic, partition, headers and timestamp become
// records, other columns are dropped.
//
// At least once: a micro-batch is done when every record of it is acknowledged, but one that comes again, or a
// request whose answer was lost, is sent again. With the option dedupHeader records say which query, batch and
// row they are, so that a reader can tell repetitions. The order of a partition of the input is kept within
// each partition of a topic. KK-… in comments are the numbers of rules in the project's specification.
package kafka

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/fault"
	"streamlab/internal/wire"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Options describes the options of the sink; those that begin with "kafka." are the client's.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "kafka.bootstrap.servers", Doc: "host:port of brokers, separated by commas; in a lab `embedded` is the broker inside the program."},
		{Name: "kafka.sasl.jaas.config", Doc: "User name and password of SASL as a JAAS line.", Secret: true},
		{Name: "kafka.ssl.keystore.key", Doc: "The private key as PEM text.", Secret: true},
		{Name: "kafka.ssl.key.password", Doc: "Not supported: the key must not be encrypted.", Secret: true},
		{Name: "topic", Doc: "The topic of all rows; wins over a column of that name."},
		{Name: "includeHeaders", Default: "false", Doc: "Taken for Spark's sake: a column headers is always written."},
		{Name: "dedupHeader", Default: "false", Doc: "Adds the headers streamlab-query, streamlab-batch and streamlab-seq to every record."},
		{Name: "checkpointLocation", Doc: "The folder of the checkpoint."},
	}
}

type sink struct {
	cluster *wire.Cluster
	columns columns
	topic   string // of the option; "" means the column
	query   string
	dedup   bool
	now     func() time.Time
	rows    int64

	acks     int16
	codec    compress.Compression
	size     int           // bytes of a record batch
	blocked  time.Duration // how long a topic or partition that is not there is waited for
	delivery time.Duration // how long a record batch may take
	retries  int           // how often one is sent again
	spread   string        // the partitioner
	known    map[string][]int32
}

// New makes the sink. Errors: MISSING_KAFKA_OPTION, INVALID_OPTION, _LEGACY_ERROR_TEMP_3080 for columns.
func New(def sinks.Def) (sinks.Sink, error) {
	s, err := newSink(def.Options, def.Schema, def.QueryID)
	if err != nil {
		return nil, err // not s: a nil pointer in an interface is not nil
	}
	return s, nil
}

// Write appends finite rows to topics, at least once. Errors: those of New and of AddBatch.
func Write(ctx context.Context, def sinks.Def, parts []columnar.Partition) error {
	s, err := newSink(def.Options, def.Schema, "")
	if err != nil {
		return err
	}
	defer s.cluster.Close()
	return s.AddBatch(ctx, sinks.Batch{Schema: def.Schema, Parts: parts})
}

func newSink(o sources.Options, schema types.Schema, query string) (*sink, error) {
	if v, ok := o.Get("kafka.bootstrap.servers"); !ok || strings.TrimSpace(v) == "" {
		return nil, errs.New("MISSING_KAFKA_OPTION", "option", "bootstrap.servers")
	}
	for _, name := range []string{"key.serializer", "value.serializer"} {
		if v, ok := o.Get("kafka." + name); ok {
			return nil, sources.Invalid("kafka."+name, v, "cannot be set: the sink decides it")
		}
	}
	for _, name := range []string{"enable.idempotence", "transactional.id"} {
		if v, ok := o.Get("kafka." + name); ok && !strings.EqualFold(v, "false") {
			return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "The Kafka producer option "+name)
		}
	}
	s := &sink{query: query, topic: strings.TrimSpace(o.Text("topic", "")), now: time.Now, known: map[string][]int32{}}
	var err error
	if s.columns, err = readColumns(schema, s.topic != ""); err != nil {
		return nil, err
	}
	if s.dedup, err = o.Bool("dedupHeader", false); err != nil {
		return nil, err
	}
	switch v := strings.ToLower(o.Text("kafka.acks", "all")); v {
	case "all", "-1":
		s.acks = -1
	case "1":
		s.acks = 1
	default:
		return nil, sources.Invalid("kafka.acks", v, "must be all or 1: with less a batch could be lost")
	}
	compression := strings.ToLower(o.Text("kafka.compression.type", "none"))
	if err := s.codec.UnmarshalText([]byte(compression)); err != nil || compression == "" || compression[0] < 'a' {
		return nil, sources.Invalid("kafka.compression.type", compression, "must be none, gzip, snappy, lz4 or zstd")
	}
	for _, x := range []struct {
		name       string
		def, least int64
		set        func(int64)
	}{
		{"kafka.batch.size", 512 << 10, 0, func(n int64) { s.size = int(n) }},
		{"kafka.max.block.ms", 60_000, 0, func(n int64) { s.blocked = time.Duration(n) * time.Millisecond }},
		{"kafka.delivery.timeout.ms", 120_000, 1, func(n int64) { s.delivery = time.Duration(n) * time.Millisecond }},
		{"kafka.retries", math.MaxInt32, 0, func(n int64) { s.retries = int(n) }},
		{"kafka.linger.ms", 0, 0, func(int64) {}}, // a micro-batch leaves when it is full or at its end: nothing lingers
	} {
		n, err := o.Int32(x.name, x.def, x.least)
		if err != nil {
			return nil, err
		}
		x.set(n)
	}
	switch s.spread = strings.ToLower(o.Text("kafka.partitioner.class", "murmur2")); s.spread {
	case "murmur2", "roundrobin", "random":
	default:
		return nil, sources.Invalid("kafka.partitioner.class", s.spread, "must be murmur2, roundrobin or random")
	}
	conf, err := wire.ReadConfig(o.Get)
	if err != nil {
		return nil, err
	}
	s.cluster = wire.New(conf)
	return s, nil
}

func (s *sink) Description() string {
	if s.topic == "" {
		return "kafka"
	}
	return "kafka[" + s.topic + "]"
}

func (s *sink) NumOutputRows() int64 { return s.rows }

func (s *sink) Close() error {
	s.cluster.Close()
	return nil
}

// AddBatch sends every row and returns when all are acknowledged. Errors: KAFKA_NULL_TOPIC_IN_DATA,
// KAFKA_TOPIC_NOT_FOUND, KAFKA_PARTITION_NOT_FOUND, SINK_UNAVAILABLE, the broker's own.
func (s *sink) AddBatch(ctx context.Context, b sinks.Batch) error {
	s.rows = 0
	clear(s.known) // topics may have grown
	w := &writer{sink: s, ctx: ctx, batch: b.ID, live: b.Live, schema: b.Schema, open: map[wire.TopicPartition]*outbox{}, turn: b.ID, moment: s.now().UnixMilli()}
	if err := fault.Point("sink.stage.begin"); err != nil {
		return err
	}
	first := true
	err := sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
		err := w.add(rb)
		if err == nil && first && rb.NumRows() > 0 {
			first = false
			err = fault.Point("sink.stage.mid")
		}
		return err
	})
	if err == nil {
		err = fault.Point("sink.commit.before")
	}
	if err == nil {
		err = w.flush()
	}
	w.stop()
	if err != nil {
		return err
	}
	if err := fault.Point("sink.commit.after"); err != nil {
		return err
	}
	s.rows = w.rows
	return nil
}

// partitions lists the partitions of a topic, waiting for a topic that is not there yet, as Kafka's producer
// does (KK-8); enough says whether those that are there will do.
func (s *sink) partitions(ctx context.Context, topic string, enough func([]int32) bool, missing func() error) ([]int32, error) {
	if p, ok := s.known[topic]; ok && enough(p) {
		return p, nil
	}
	until := time.Now().Add(s.blocked)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		var found []int32
		err := s.cluster.Retry(ctx, s.blocked, func() error {
			ts, err := s.cluster.Want(ctx, topic)
			if err != nil {
				return err
			}
			for _, t := range ts {
				if t.Err != nil && !errors.Is(t.Err, kafkago.UnknownTopicOrPartition) {
					return t.Err
				}
				found = t.Partitions
			}
			return nil
		})
		if err != nil {
			return nil, s.away(err, s.blocked)
		}
		if len(found) > 0 && enough(found) {
			s.known[topic] = found
			return found, nil
		}
		if time.Now().Add(wait).After(until) {
			if len(found) == 0 {
				return nil, errs.New("KAFKA_TOPIC_NOT_FOUND", "topics", topic)
			}
			return nil, missing()
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
	}
}

// away names the sink in the error of a cluster that could not be reached.
func (s *sink) away(err error, waited time.Duration) error {
	if errs.Has(err, "SOURCE_UNAVAILABLE") {
		return errs.Wrap(errs.As(err).Err, "SINK_UNAVAILABLE", "sink", s.Description(), "seconds", int(waited.Seconds()))
	}
	return err
}

func missingPartition(topic string, n int64) error {
	return errs.New("KAFKA_PARTITION_NOT_FOUND", "partitions", topic+"-"+strconv.FormatInt(n, 10))
}

// columns are the positions of the columns that make a record; -1: there is none.
type columns struct{ key, value, topic, partition, headers, when int }

func column(msg string) error { return errs.New("_LEGACY_ERROR_TEMP_3080", "msg", msg) }

// readColumns finds them by name, in exactly this spelling (KK-1), and looks at their types (KK-2).
func readColumns(s types.Schema, hasTopic bool) (c columns, err error) {
	at := func(name string, text string, ok func(types.DataType) bool) int {
		for i, f := range s {
			if f.Name == name {
				if !ok(f.Type) && err == nil {
					err = column(name + " attribute unsupported type " + f.Type.Simple() + ". " + name + " must be a(n) " + text)
				}
				return i
			}
		}
		return -1
	}
	kind := func(ks ...types.Kind) func(types.DataType) bool {
		return func(t types.DataType) bool {
			for _, k := range ks {
				if t.Kind == k {
					return true
				}
			}
			return false
		}
	}
	c.topic = -1
	if !hasTopic {
		if c.topic = at("topic", "string", kind(types.String)); c.topic < 0 {
			return c, column("topic option required when no 'topic' attribute is present. Use the topic option for setting a topic.")
		}
	}
	c.key = at("key", "string or binary", kind(types.String, types.Binary))
	c.value = at("value", "string or binary", kind(types.String, types.Binary))
	if c.value < 0 && err == nil {
		err = column("Required attribute 'value' not found")
		for _, f := range s {
			if strings.EqualFold(f.Name, "value") {
				err = errs.As(err).WithHint("The name must be spelled value, not " + f.Name + ".")
			}
		}
	}
	c.headers = at("headers", "array<struct<key:string,value:binary>>", func(t types.DataType) bool {
		return t.Kind == types.Array && t.Elem.Kind == types.Struct && len(t.Elem.Fields) == 2 &&
			t.Elem.Fields[0].Name == "key" && t.Elem.Fields[0].Type.Kind == types.String &&
			t.Elem.Fields[1].Name == "value" && t.Elem.Fields[1].Type.Kind == types.Binary
	})
	c.partition = at("partition", "int", kind(types.Int))
	c.when = -1
	for i, f := range s {
		if f.Name == "timestamp" && f.Type.Kind == types.Timestamp {
			c.when = i // KK-6: the record's time, where Spark takes the clock
		}
	}
	return c, err
}
