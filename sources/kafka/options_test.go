package kafka

import (
	"strings"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sources/sourcetest"
	"streamlab/sql/types"
)

// known are options that are good in themselves.
func known(more ...string) sources.Options {
	o := sources.Options{"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
	for i := 0; i < len(more); i += 2 {
		if more[i+1] == "-" {
			delete(o, more[i])
		} else {
			o[more[i]] = more[i+1]
		}
	}
	return o
}

// Every option of connectors.md 8.2 and 18.7: the values it takes, and what a wrong one says and when. Those of
// the first part are found when a stream is defined, those of the second when it runs (8.2, O); a check of a lab
// finds both.
func TestKafkaSourceOptions(t *testing.T) {
	const defined, running = "defined", "running"
	for _, x := range []struct {
		options sources.Options
		when    string // "": the options are good
		names   string // what the error names: the option, or its condition
	}{
		{known(), "", ""},
		{known("kafka.bootstrap.servers", "-"), defined, "MISSING_KAFKA_OPTION"},
		{known("kafka.bootstrap.servers", " "), defined, "MISSING_KAFKA_OPTION"},
		{known("subscribe", "-"), defined, "KAFKA_STRATEGY_MISSING"},
		{known("subscribePattern", "x"), defined, "KAFKA_STRATEGY_AMBIGUOUS"},
		{known("assign", `{"t":[0]}`), defined, "KAFKA_STRATEGY_AMBIGUOUS"},
		{known("subscribe", " a , ,b "), "", ""},
		{known("subscribe", " , "), defined, "subscribe"},
		{known("subscribe", "-", "subscribePattern", " ^a.*$ "), "", ""},
		{known("subscribe", "-", "subscribePattern", " "), defined, "subscribePattern"},
		{known("subscribe", "-", "subscribePattern", "a(?=b)"), running, "subscribePattern"}, // KS-3
		{known("subscribe", "-", "subscribePattern", `(a)\1`), running, "subscribePattern"},
		{known("subscribe", "-", "assign", `{"t":[0,1]}`), "", ""},
		{known("subscribe", "-", "assign", `t`), defined, "assign"},
		{known("subscribe", "-", "assign", `{"t":0}`), running, "assign"},
		{known("startingTimestamp", "1000"), "", ""},
		{known("startingTimestamp", "soon"), running, "startingTimestamp"},
		{known("startingOffsetsByTimestamp", `{"t":{"0":1000}}`), "", ""},
		{known("startingOffsetsByTimestamp", `1000`), running, "startingOffsetsByTimestamp"},
		{known("startingOffsets", "EARLIEST"), "", ""},
		{known("startingOffsets", "Latest"), "", ""},
		{known("startingOffsets", `{"t":{"0":23,"1":-1,"2":-2}}`), "", ""},
		{known("startingOffsets", "first"), running, "startingOffsets"},
		{known("startingOffsetsByTimestampStrategy", "LATEST"), "", ""},
		{known("startingOffsetsByTimestampStrategy", "earliest"), running, "startingOffsetsByTimestampStrategy"},
		{known("endingOffsets", "latest"), defined, "endingOffsets"},
		{known("endingOffsetsByTimestamp", "{}"), defined, "endingOffsetsByTimestamp"},
		{known("endingTimestamp", "1"), defined, "endingTimestamp"},
		{known("failOnDataLoss", "FALSE"), "", ""},
		{known("failOnDataLoss", "1"), running, "failOnDataLoss"},
		{known("maxOffsetsPerTrigger", "0"), "", ""},
		{known("maxOffsetsPerTrigger", "1.5"), running, "maxOffsetsPerTrigger"},
		{known("minOffsetsPerTrigger", "5", "maxOffsetsPerTrigger", "5"), "", ""},
		{known("minOffsetsPerTrigger", "6", "maxOffsetsPerTrigger", "5"), defined, "minOffsetsPerTrigger"},
		{known("minOffsetsPerTrigger", "x"), running, "minOffsetsPerTrigger"},
		{known("maxTriggerDelay", "90s"), "", ""},
		{known("maxTriggerDelay", "a while"), running, "maxTriggerDelay"},
		{known("minPartitions", "1"), "", ""},
		{known("minPartitions", "a"), defined, "minPartitions"},
		{known("minPartitions", "1.0"), defined, "minPartitions"},
		{known("minPartitions", "0"), defined, "minPartitions"},
		{known("minPartitions", "-1"), defined, "minPartitions"},
		{known("minPartitions", "3000000000"), defined, "minPartitions"},
		{known("maxRecordsPerPartition", "3000000000"), "", ""},
		{known("maxRecordsPerPartition", "0"), defined, "maxRecordsPerPartition"},
		{known("kafkaConsumer.pollTimeoutMs", "10"), "", ""},
		{known("kafkaConsumer.pollTimeoutMs", "ten"), running, "kafkaConsumer.pollTimeoutMs"},
		{known("fetchOffset.numRetries", "1"), "", ""},
		{known("fetchOffset.numRetries", "-1"), running, "fetchOffset.numRetries"},
		{known("fetchOffset.retryIntervalMs", "0"), "", ""},
		{known("fetchOffset.retryIntervalMs", "x"), running, "fetchOffset.retryIntervalMs"},
		{known("groupIdPrefix", "p"), "", ""},
		{known("includeHeaders", "true"), "", ""},
		{known("includeHeaders", "yes"), defined, "includeHeaders"},
		{known("sparkCompat", "no"), defined, "sparkCompat"},
		{known("kafka.auto.offset.reset", "latest"), defined, "kafka.auto.offset.reset"},
		{known("kafka.key.deserializer", "x"), defined, "kafka.key.deserializer"},
		{known("kafka.value.deserializer", "x"), defined, "kafka.value.deserializer"},
		{known("kafka.enable.auto.commit", "false"), defined, "kafka.enable.auto.commit"},
		{known("kafka.interceptor.classes", "x"), defined, "kafka.interceptor.classes"},
		{known("kafka.group.id", "g"), "", ""},
		{known("kafka.isolation.level", "read_committed"), "", ""},
		{known("kafka.isolation.level", "serializable"), running, "kafka.isolation.level"},
		{known("kafka.fetch.min.bytes", "1000"), "", ""},
		{known("kafka.fetch.min.bytes", "-1"), running, "kafka.fetch.min.bytes"},
		{known("kafka.fetch.min.bytes", "5000000000"), running, "kafka.fetch.min.bytes"},
		{known("kafka.fetch.max.wait.ms", "0"), "", ""},
		{known("kafka.fetch.max.wait.ms", "5000000000"), running, "kafka.fetch.max.wait.ms"},
		{known("kafka.max.partition.fetch.bytes", "1"), "", ""},
		{known("kafka.max.partition.fetch.bytes", "0"), running, "kafka.max.partition.fetch.bytes"},
		{known("kafka.security.protocol", "ssh"), defined, "kafka.security.protocol"},
		{known("kafka.request.timeout.ms", "x"), defined, "kafka.request.timeout.ms"},
		{known("kafka.default.api.timeout.ms", "-1"), defined, "kafka.default.api.timeout.ms"},
	} {
		_, err := New(sources.Def{Options: x.options})
		if (err != nil) != (x.when == defined) {
			t.Errorf("%v, when defined: %v", x.options, err)
		}
		s, err := New(sources.Def{Options: x.options, Log: sourcetest.NewLog()})
		if (err != nil) != (x.when != "") {
			t.Errorf("%v, when it runs: %v", x.options, err)
		}
		checked := Check(sources.Def{Options: x.options})
		if (checked != nil) != (x.when != "") {
			t.Errorf("%v, checked: %v", x.options, checked)
		}
		if err != nil {
			e := errs.As(err)
			if e == nil || e.Condition != x.names && e.Params["option"] != x.names {
				t.Errorf("%v says %v, not %s", x.options, err, x.names)
			}
			continue
		}
		if s != nil {
			_ = s.Close()
		}
	}
	schema := types.Schema{{Name: "a", Type: types.Of(types.String)}}
	if _, err := New(sources.Def{Options: known(), Schema: schema}); err == nil {
		t.Error("a schema is taken")
	}
}

// The defaults of 8.2 and 18.7, and what values become.
func TestKafkaSourceDefaults(t *testing.T) {
	read := func(o sources.Options, use string) *settings {
		s, err := define(sources.Def{Options: o}, use)
		if err == nil {
			err = s.complete(o, use)
		}
		if err != nil {
			t.Fatal(o, err)
		}
		return s
	}
	s := read(known(), stream)
	if s.start.name != "latest" || s.end.name != "latest" || s.orLatest || !s.failOnLoss || s.limit.MaxRows != 0 || s.limit.MinRows != 0 ||
		s.limit.MaxDelay != 15*time.Minute || s.minParts != 0 || s.maxRecords != 0 || s.pollTimeout != 2*time.Minute || s.attempts != 3 ||
		s.pause != time.Second || s.headers || s.committed || s.ownGroup || !strings.HasPrefix(s.group, "spark-kafka-source-") || s.minBytes != 1 ||
		s.maxWait != 500*time.Millisecond || s.conf.Wait != time.Minute || s.conf.Timeout != 30*time.Second || s.conf.TLS != nil || s.conf.SASL != nil {
		t.Errorf("%+v", s)
	}
	if s := read(known(), table); s.start.name != "earliest" || s.end.name != "latest" {
		t.Errorf("a table is read from %s to %s", s.start.name, s.end.name)
	}
	// Names of options have no case, and the first of the three that say where to start wins.
	s = read(known("STARTINGTIMESTAMP", "7", "startingoffsetsbytimestamp", `{"t":{"0":8}}`, "startingOffsets", "earliest", "GroupIdPrefix", "p",
		"maxOffsetsPerTrigger", "0", "fetchOffset.numRetries", "0"), stream)
	if !s.start.global || s.start.time != 7 || !strings.HasPrefix(s.group, "p-") || s.limit.MaxRows != -1 || s.attempts != 1 {
		t.Errorf("%+v", s)
	}
	s = read(known("startingOffsetsByTimestamp", `{"t":{"0":8}}`, "startingOffsets", "earliest", "kafka.group.id", "g", "groupIdPrefix", "p"), stream)
	if s.start.times[wire.TopicPartition{Topic: "t"}] != 8 || s.group != "g" || !s.ownGroup {
		t.Errorf("%+v", s)
	}
	for servers, want := range map[string]string{"a:1": "a:1", " a:1 , b:2,": "a:1|b:2"} {
		if s := read(known("kafka.bootstrap.servers", servers), stream); strings.Join(s.conf.Servers, "|") != want {
			t.Errorf("%q: %v", servers, s.conf.Servers)
		}
	}
	for text, want := range map[string]string{" a , ,b ": "Subscribe[a, b]"} {
		if s := read(known("subscribe", text), stream); s.read.text != want {
			t.Error(s.read.text)
		}
	}
	// What a table does not take (8.2, O).
	for _, o := range []sources.Options{known("startingOffsets", "latest"), known("startingOffsets", `{"t":{"0":-1}}`), known("endingOffsets", "earliest"),
		known("endingOffsets", `{"t":{"0":-2}}`)} {
		s, err := define(sources.Def{Options: o}, table)
		if err == nil {
			err = s.complete(o, table)
		}
		if !errs.Has(err, "INVALID_OPTION") {
			t.Errorf("%v: %v", o, err)
		}
	}
}
