package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"

	"streamlab/errs"
	"streamlab/internal/broker"
)

func finish(t *testing.T, b *Builder, c compress.Compression) []byte {
	t.Helper()
	raw, err := b.Finish(c)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func sum(raw []byte) { binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[crcFrom:], castagnoli)) }

func TestBatchesComeBackAsTheyWereWritten(t *testing.T) {
	for c := compress.None; c <= compress.Zstd; c++ {
		var b Builder
		for round := range 2 { // a builder is used again
			b.Add([]byte("k"), nil, nil, 1000)
			b.Add(nil, []byte{}, []Header{{"a", nil}, {"a", []byte{}}, {"", []byte("x")}}, 990)
			b.Add([]byte{}, bytes.Repeat([]byte("v"), 300), nil, 5000)
			raw := finish(t, &b, c)
			var space []byte
			x, rest, ok, err := NextBatch(append(raw, "cut off"...), &space)
			if err != nil || !ok || string(rest) != "cut off" {
				t.Fatalf("%v %d: %v %v %q", c, round, ok, err, rest)
			}
			if x.Count != 3 || x.Last != 2 || x.Max != 5000 {
				t.Fatalf("%v: %+v", c, x)
			}
			var r Record
			next := func() {
				if ok, err := x.Next(&r); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			next()
			if string(r.Key) != "k" || r.Value != nil || r.Timestamp != 1000 || r.Headers != 0 {
				t.Errorf("%+v", r)
			}
			next()
			if r.Key != nil || r.Value == nil || r.Offset != 1 || r.Timestamp != 990 || r.Headers != 3 {
				t.Errorf("%+v", r)
			}
			for i, want := range []*Header{{"a", nil}, {"a", []byte{}}, {"", []byte("x")}} {
				k, v, err := r.Header()
				if err != nil || string(k) != want.Key || (v == nil) != (want.Value == nil) || !bytes.Equal(v, want.Value) {
					t.Errorf("header %d: %q %q %v", i, k, v, err)
				}
			}
			next()
			if r.Key == nil || len(r.Value) != 300 {
				t.Errorf("%+v", r)
			}
			if ok, err := x.Next(&r); ok || err != nil {
				t.Error("there is a fourth record", err)
			}
		}
	}
}

func TestTimesOfTheBrokerAreThoseOfTheBatch(t *testing.T) {
	var b Builder
	b.Add(nil, []byte("x"), nil, 1)
	raw := finish(t, &b, 0)
	raw[22] |= 8
	binary.BigEndian.PutUint64(raw[35:], 777)
	sum(raw)
	x, _, ok, err := NextBatch(raw, new([]byte))
	var r Record
	if _, e := x.Next(&r); !ok || err != nil || e != nil || !x.AppendTime || r.Timestamp != 777 {
		t.Errorf("%+v %+v %v %v", x, r, err, e)
	}
}

func TestDamagedBatchesAreTold(t *testing.T) {
	var b Builder
	b.Add([]byte("key"), []byte("value"), []Header{{"h", []byte("v")}}, 1)
	good := bytes.Clone(finish(t, &b, 0))
	if _, _, ok, err := NextBatch(good[:len(good)-1], new([]byte)); ok || err != nil {
		t.Error("a batch that is cut off is no damage", ok, err)
	}
	for i := 16; i < len(good); i++ {
		bad := bytes.Clone(good)
		bad[i] ^= 0xff
		if _, _, ok, err := NextBatch(bad, new([]byte)); ok && err == nil {
			t.Errorf("byte %d is wrong and nobody says so", i)
		}
	}
	for i := batchHeader; i < len(good); i++ { // right sums over wrong records must not panic
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] = v
			sum(bad)
			x, _, ok, err := NextBatch(bad, new([]byte))
			for ok && err == nil {
				var r Record
				if ok, err = x.Next(&r); ok {
					for range r.Headers {
						if _, _, err = r.Header(); err != nil {
							break
						}
					}
				}
			}
		}
	}
}

func FuzzFetched(f *testing.F) {
	var b Builder
	b.Add([]byte("key"), []byte("value"), []Header{{"h", []byte("v")}}, 1)
	raw, _ := b.Finish(0)
	f.Add(raw, int16(11))
	f.Fuzz(func(t *testing.T, data []byte, v int16) {
		_, _ = readFetched(data, v)
		x, _, ok, err := NextBatch(data, new([]byte))
		for n := 0; ok && err == nil && n < 1000; n++ {
			var r Record
			ok, err = x.Next(&r)
		}
	})
}

// Known answers of Kafka's own clients.
func TestKeysGoWhereJavaPutsThem(t *testing.T) {
	for key, want := range map[string]int32{"a": 0, "b": 0, "c": 2, "d": 1, "key-17": 0, "é": 3, "": 1} {
		if p := Partition([]byte(key), 4); p != want {
			t.Errorf("%q goes to %d, not %d", key, p, want)
		}
	}
}

func TestClientSettings(t *testing.T) {
	read := func(m map[string]string) (Config, error) {
		return ReadConfig(func(k string) (string, bool) { v, ok := m[k]; return v, ok })
	}
	c, err := read(map[string]string{"kafka.bootstrap.servers": " a:1, ,b:2", "kafka.security.protocol": "sasl_plaintext",
		"kafka.sasl.mechanism": "SCRAM-SHA-512", "kafka.sasl.jaas.config": `org.x.ScramLoginModule required username="u" password='p"\'x';`})
	if err != nil || strings.Join(c.Servers, "|") != "a:1|b:2" || c.SASL == nil || c.SASL.Name() != "SCRAM-SHA-512" || c.TLS != nil {
		t.Errorf("%+v %v", c, err)
	}
	for _, m := range []map[string]string{
		{"kafka.security.protocol": "SSH"},
		{"kafka.security.protocol": "SASL_SSL"}, // GSSAPI by default
		{"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"},
		{"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "OAUTHBEARER", "kafka.sasl.jaas.config": "username=u password=p"},
		{"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "/x.jks"},
		{"kafka.security.protocol": "SSL", "kafka.ssl.truststore.certificates": "none"},
		{"kafka.request.timeout.ms": "soon"},
	} {
		if _, err := read(m); errs.As(err) == nil {
			t.Errorf("%v: %v", m, err)
		}
	}
	for line, want := range map[string]string{`username="a\"b";`: `a"b`, `x username = u;`: "u", `myusername=no username=yes`: "yes", `username=`: "", `y`: ""} {
		if got := jaasField(line, "username"); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestLoginsAreAcceptedOrRefusedAtOnce(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		b, err := broker.Start(broker.Login(mechanism, "ann", "secret"))
		if err != nil {
			t.Fatal(err)
		}
		for password, fits := range map[string]bool{"secret": true, "wrong": false} {
			c, err := ReadConfig(func(k string) (string, bool) {
				v, ok := map[string]string{"kafka.bootstrap.servers": b.Addr(), "kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": mechanism,
					"kafka.sasl.jaas.config": `M required username="ann" password="` + password + `";`}[k]
				return v, ok
			})
			if err != nil {
				t.Fatal(err)
			}
			x := New(c)
			begin := time.Now()
			err = x.Retry(context.Background(), 0, func() error { _, err := x.Metadata(context.Background(), nil); return err })
			if (err == nil) != fits || time.Since(begin) > 20*time.Second {
				t.Errorf("%s with %s: %v after %v", mechanism, password, err, time.Since(begin))
			}
			x.Close()
		}
		b.Close()
	}
}

func TestWritingAndReading(t *testing.T) {
	ctx := context.Background()
	b, err := broker.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := New(Config{Servers: []string{b.Addr()}})
	defer c.Close()
	if err := c.CreateTopic(ctx, "t", 2); err != nil {
		t.Fatal(err)
	}
	tp := TopicPartition{"t", 1}
	for i := range 3 {
		var x Builder
		x.Add(nil, []byte{byte(i)}, nil, int64(i)*1000)
		base, err := c.Produce(ctx, tp, finish(t, &x, compress.Zstd), -1, time.Second)
		if err != nil || base != int64(i) {
			t.Fatal(base, err)
		}
	}
	for at, want := range map[int64]int64{Latest: 3, Earliest: 0, 1: 1, 1000: 1, 2001: -1} {
		if got, err := c.ListOffsets(ctx, map[TopicPartition]int64{tp: at}, false); err != nil || got[tp] != want {
			t.Errorf("%d: %v %v", at, got, err)
		}
	}
	f, err := c.Fetch(ctx, FetchRequest{Partition: tp, Offset: 1, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Second}, nil)
	if err != nil || f.Err != nil || f.HighWatermark != 3 {
		t.Fatalf("%+v %v", f, err)
	}
	if f, err := c.Fetch(ctx, FetchRequest{Partition: tp, Offset: 9, MinBytes: 1, MaxBytes: 1 << 20}, nil); err != nil || !errors.Is(f.Err, kafka.OffsetOutOfRange) {
		t.Errorf("%+v %v", f, err)
	}
	if _, err := c.Fetch(ctx, FetchRequest{Partition: TopicPartition{"none", 0}, MaxBytes: 1}, nil); !errors.Is(err, kafka.UnknownTopicOrPartition) {
		t.Error(err)
	}
	stopped, cancel := context.WithCancel(ctx)
	time.AfterFunc(20*time.Millisecond, cancel)
	begin := time.Now()
	if _, err := c.Fetch(stopped, FetchRequest{Partition: tp, Offset: 3, MinBytes: 1, MaxBytes: 1, MaxWait: time.Minute}, nil); !errors.Is(err, context.Canceled) || time.Since(begin) > 10*time.Second {
		t.Error("a fetch that waits does not end with its context", err)
	}
}
