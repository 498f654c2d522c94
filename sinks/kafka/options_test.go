package kafka

import (
	"context"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sinks"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Every option of connectors.md 11 and 18.7 for the sink: the values it takes, and what a wrong one says.
func TestKafkaSinkOptions(t *testing.T) {
	for _, x := range []struct {
		name, value string
		fails       string // condition; "": the value is good
	}{
		{"kafka.bootstrap.servers", "a:1, b:2", ""},
		{"kafka.bootstrap.servers", "", "MISSING_KAFKA_OPTION"},
		{"topic", " t ", ""},
		{"includeHeaders", "true", ""},
		{"dedupHeader", "TRUE", ""},
		{"dedupHeader", "1", "INVALID_OPTION"},
		{"kafka.key.serializer", "x", "INVALID_OPTION"},
		{"kafka.value.serializer", "x", "INVALID_OPTION"},
		{"kafka.enable.idempotence", "false", ""},
		{"kafka.enable.idempotence", "true", "UNSUPPORTED_FEATURE"},
		{"kafka.transactional.id", "x", "UNSUPPORTED_FEATURE"},
		{"kafka.acks", "all", ""},
		{"kafka.acks", "-1", ""},
		{"kafka.acks", "1", ""},
		{"kafka.acks", "0", "INVALID_OPTION"},
		{"kafka.acks", "2", "INVALID_OPTION"},
		{"kafka.compression.type", "none", ""},
		{"kafka.compression.type", "gzip", ""},
		{"kafka.compression.type", "Snappy", ""},
		{"kafka.compression.type", "lz4", ""},
		{"kafka.compression.type", "zstd", ""},
		{"kafka.compression.type", "brotli", "INVALID_OPTION"},
		{"kafka.compression.type", "1", "INVALID_OPTION"},
		{"kafka.compression.type", "", "INVALID_OPTION"},
		{"kafka.linger.ms", "5", ""},
		{"kafka.linger.ms", "-1", "INVALID_OPTION"},
		{"kafka.linger.ms", "x", "INVALID_OPTION"},
		{"kafka.batch.size", "0", ""},
		{"kafka.batch.size", "x", "INVALID_OPTION"},
		{"kafka.batch.size", "5000000000", "INVALID_OPTION"},
		{"kafka.max.block.ms", "0", ""},
		{"kafka.max.block.ms", "-1", "INVALID_OPTION"},
		{"kafka.delivery.timeout.ms", "1", ""},
		{"kafka.delivery.timeout.ms", "0", "INVALID_OPTION"},
		{"kafka.retries", "0", ""},
		{"kafka.retries", "2147483647", ""},
		{"kafka.retries", "-1", "INVALID_OPTION"},
		{"kafka.retries", "many", "INVALID_OPTION"},
		{"kafka.partitioner.class", "murmur2", ""},
		{"kafka.partitioner.class", "RoundRobin", ""},
		{"kafka.partitioner.class", "random", ""},
		{"kafka.partitioner.class", "com.example.Mine", "INVALID_OPTION"},
		{"kafka.metadata.max.age.ms", "1000", ""},
		{"kafka.request.timeout.ms", "x", "INVALID_OPTION"},
		{"kafka.default.api.timeout.ms", "x", "INVALID_OPTION"},
		{"kafka.security.protocol", "x", "INVALID_OPTION"},
		{"kafka.security.protocol", "SASL_SSL", "UNSUPPORTED_FEATURE"}, // Kerberos is what Kafka takes without a mechanism
	} {
		o := sources.Options{"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", x.name: x.value}
		s, err := newSink(o, words, "q")
		if x.fails == "" {
			if err != nil {
				t.Errorf("%s = %q: %v", x.name, x.value, err)
			} else {
				s.cluster.Close()
			}
			continue
		}
		e := errs.As(err)
		if e == nil || e.Condition != x.fails || x.fails == "INVALID_OPTION" && e.Params["option"] != x.name {
			t.Errorf("%s = %q: %v", x.name, x.value, err)
		}
	}
	s, err := newSink(sources.Options{"kafka.bootstrap.servers": "127.0.0.1:1", "topic": " t "}, words, "q")
	if err != nil {
		t.Fatal(err)
	}
	if s.topic != "t" || s.acks != -1 || s.codec != 0 || s.spread != "murmur2" || s.dedup || s.blocked != time.Minute ||
		s.delivery != 2*time.Minute || s.size > 1<<20 { // brokers take 1 MiB unless told otherwise
		t.Errorf("%+v", s)
	}
}

// Every column of 11.1: which types it may have, and what is said of others.
func TestKafkaSinkColumns(t *testing.T) {
	text, bytes, number := types.Of(types.String), types.Of(types.Binary), types.Of(types.BigInt)
	headers := types.ArrayOf(types.StructOf(types.Field{Name: "key", Type: text, Nullable: true}, types.Field{Name: "value", Type: bytes, Nullable: true}), true)
	other := types.ArrayOf(types.StructOf(types.Field{Name: "k", Type: text, Nullable: true}, types.Field{Name: "value", Type: bytes, Nullable: true}), true)
	for _, x := range []struct {
		topic  string // option
		schema types.Schema
		fails  bool
	}{
		{"t", types.Schema{{Name: "value", Type: text}}, false},
		{"t", types.Schema{{Name: "value", Type: bytes}}, false},
		{"t", types.Schema{{Name: "value", Type: number}}, true},
		{"t", types.Schema{{Name: "Value", Type: text}}, true}, // KK-1
		{"t", types.Schema{{Name: "key", Type: text}}, true},
		{"t", types.Schema{{Name: "key", Type: bytes}, {Name: "value", Type: text}}, false},
		{"t", types.Schema{{Name: "key", Type: number}, {Name: "value", Type: text}}, true},
		{"", types.Schema{{Name: "value", Type: text}}, true},
		{" ", types.Schema{{Name: "value", Type: text}}, true},
		{"", types.Schema{{Name: "topic", Type: text}, {Name: "value", Type: text}}, false},
		{"", types.Schema{{Name: "topic", Type: number}, {Name: "value", Type: text}}, true},
		{"t", types.Schema{{Name: "topic", Type: number}, {Name: "value", Type: text}}, false}, // KK-2, O
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "partition", Type: types.Of(types.Int)}}, false},
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "partition", Type: number}}, true},
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "headers", Type: headers}}, false},
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "headers", Type: other}}, true},
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "headers", Type: text}}, true},
		{"t", types.Schema{{Name: "value", Type: text}, {Name: "anything", Type: number}}, false},
	} {
		s, err := New(sinks.Def{Options: sources.Options{"kafka.bootstrap.servers": "127.0.0.1:1", "topic": x.topic}, Schema: x.schema})
		if x.fails != errs.Has(err, "_LEGACY_ERROR_TEMP_3080") || !x.fails && err != nil {
			t.Errorf("topic %q, %s: %v", x.topic, x.schema.DDL(), err)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}

// kafka.retries counts how often a record batch is sent again.
func TestKafkaRetriesEndByName(t *testing.T) {
	s, err := newSink(sources.Options{"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", "kafka.retries": "1"}, words, "q")
	if err != nil {
		t.Fatal(err)
	}
	defer s.cluster.Close()
	w := &writer{sink: s, ctx: context.Background(), open: map[wire.TopicPartition]*outbox{}}
	w.box(wire.TopicPartition{Topic: "t"}).builder.Add(nil, []byte("x"), nil, 0)
	err = w.flush()
	if e := errs.As(err); e == nil || e.Condition != "KAFKA_RETRIES_EXHAUSTED" || e.Params["count"] != "2" {
		t.Error(err)
	}
}
