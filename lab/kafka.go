package lab

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strconv"
	"strings"
	"time"

	"streamlab/errs"
	"streamlab/internal/broker"
	"streamlab/internal/wire"
)

// SeedTopic is what a topic of the embedded broker holds from the start.
type SeedTopic struct {
	Topic string
	Rows  []SeedRow
}

// SeedRow is one record. Nil keys and values are null.
type SeedRow struct {
	Key, Value []byte
	Partition  int32
	Timestamp  int64 // ms; 0: the time of writing
	Headers    []wire.Header
}

// seed reads topic → rows; a row is a value, or a mapping with key, value, partition, timestamp and headers.
// A value that is a mapping or a list becomes JSON.
func (d *decoder) seed(to *[]SeedTopic) func(*value) {
	return func(v *value) {
		if v.kind != mapKind {
			d.fail(v.pos, "LAB_VALUE", "key", "seed", "expected", "a mapping of topics to rows")
			return
		}
		for _, e := range v.keys {
			t := SeedTopic{Topic: e.key}
			if e.val.kind != listKind {
				d.fail(e.val.pos, "LAB_VALUE", "key", "seed."+e.key, "expected", "a list of rows")
				continue
			}
			for _, r := range e.val.list {
				t.Rows = append(t.Rows, d.seedRow(r))
			}
			*to = append(*to, t)
		}
	}
}

func (d *decoder) seedRow(v *value) (r SeedRow) {
	if v.kind == scalarKind {
		r.Value = seedBytes(v)
		return r
	}
	number := func(key string, bits int, set func(int64)) func(*value) {
		return func(v *value) {
			n, err := strconv.ParseInt(v.scalar, 10, bits)
			if err != nil {
				d.fail(v.pos, "LAB_VALUE", "key", key, "expected", "a number")
				return
			}
			set(n)
		}
	}
	d.fields("row of a topic", v, map[string]func(*value){
		"key":       func(v *value) { r.Key = seedBytes(v) },
		"value":     func(v *value) { r.Value = seedBytes(v) },
		"partition": number("partition", 32, func(n int64) { r.Partition = int32(n) }),
		"timestamp": func(v *value) {
			if t, err := time.Parse(time.RFC3339Nano, strings.Replace(v.scalar, " ", "T", 1)); err == nil {
				r.Timestamp = t.UnixMilli()
				return
			}
			number("timestamp", 64, func(n int64) { r.Timestamp = n })(v)
		},
		"headers": func(v *value) {
			for _, e := range v.keys {
				r.Headers = append(r.Headers, wire.Header{Key: e.key, Value: seedBytes(e.val)})
			}
		},
	})
	return r
}

func seedBytes(v *value) []byte {
	if v.isNull {
		return nil
	}
	if v.kind == scalarKind {
		return []byte(v.scalar)
	}
	return appendJSON(nil, v)
}

// appendJSON writes a YAML value as JSON in the order of the file; what is not quoted and reads as a number,
// true, false or null stays that.
func appendJSON(b []byte, v *value) []byte {
	switch v.kind {
	case listKind:
		b = append(b, '[')
		for i, x := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, x)
		}
		return append(b, ']')
	case mapKind:
		b = append(b, '{')
		for i, e := range v.keys {
			if i > 0 {
				b = append(b, ',')
			}
			name, _ := json.Marshal(e.key)
			b = appendJSON(append(append(b, name...), ':'), e.val)
		}
		return append(b, '}')
	}
	if v.isNull {
		return append(b, "null"...)
	}
	if !v.quoted && json.Valid([]byte(v.scalar)) {
		return append(b, v.scalar...)
	}
	text, _ := json.Marshal(v.scalar)
	return append(b, text...)
}

const bootstrap = "kafka.bootstrap.servers"

// embed starts the embedded broker if the lab asks for it, makes the topics that the lab names, fills those
// that are new, and returns the lab with the broker's address in the place of `embedded`. The lab itself stays
// as it is.
func (l *Lab) embed(ctx context.Context) (*Lab, error) {
	asks := false
	for _, o := range l.kafkaOptions() {
		asks = asks || embeds(*o)
	}
	if !asks {
		return l, nil
	}
	b, err := broker.For(l.File)
	if err != nil {
		return nil, err
	}
	out := *l
	out.Sources = append([]Source(nil), l.Sources...)
	out.Tables = append([]Table(nil), l.Tables...)
	out.Queries = append([]Query(nil), l.Queries...)
	for i := range out.Queries {
		q := &out.Queries[i]
		q.Statements = append(q.Statements[:0:0], q.Statements...)
	}
	topics := map[string]int32{}
	for _, o := range out.kafkaOptions() {
		if !embeds(*o) {
			continue
		}
		resolved := map[string]Text{}
		for k, t := range *o {
			switch strings.ToLower(k) {
			case bootstrap:
				t.Value = b.Addr()
			case "subscribe":
				for _, n := range strings.Split(t.Value, ",") {
					grow(topics, strings.TrimSpace(n), 1)
				}
			case "topic":
				grow(topics, strings.TrimSpace(t.Value), 1)
			case "assign":
				var parts map[string][]int32
				if json.Unmarshal([]byte(t.Value), &parts) == nil {
					for n, ps := range parts {
						for _, p := range ps {
							grow(topics, n, p+1)
						}
					}
				}
			}
			resolved[k] = t
		}
		*o = resolved
	}
	for _, s := range out.Sources {
		for _, t := range s.Seed {
			for _, r := range t.Rows {
				grow(topics, t.Topic, r.Partition+1)
			}
		}
	}
	c := wire.New(wire.Config{Servers: []string{b.Addr()}, ClientID: "streamlab-lab"})
	defer c.Close()
	return &out, l.fill(ctx, c, topics)
}

func grow(topics map[string]int32, name string, partitions int32) {
	if name != "" {
		topics[name] = max(topics[name], partitions)
	}
}

// fill makes the topics that are not there and writes their seeds.
func (l *Lab) fill(ctx context.Context, c *wire.Cluster, topics map[string]int32) error {
	there := map[string]bool{}
	list, err := c.Metadata(ctx, nil)
	if err != nil {
		return err
	}
	for _, t := range list {
		there[t.Name] = true
	}
	names := make([]string, 0, len(topics))
	for n := range topics {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if there[n] {
			continue
		}
		if err := c.CreateTopic(ctx, n, topics[n]); err != nil {
			return errs.Wrap(err, "EMBEDDED_BROKER_FAILED", "message", "the topic "+n+": "+err.Error())
		}
	}
	for _, s := range l.Sources {
		for _, t := range s.Seed {
			if !there[t.Topic] {
				if err := produce(ctx, c, t.Topic, t.Rows); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// produce writes rows in order, one record batch per partition.
func produce(ctx context.Context, c *wire.Cluster, topic string, rows []SeedRow) error {
	builders := map[int32]*wire.Builder{}
	var order []int32
	now := time.Now().UnixMilli()
	for _, r := range rows {
		b := builders[r.Partition]
		if b == nil {
			b = &wire.Builder{}
			builders[r.Partition] = b
			order = append(order, r.Partition)
		}
		at := r.Timestamp
		if at == 0 {
			at = now
		}
		b.Add(r.Key, r.Value, r.Headers, at)
	}
	for _, p := range order {
		batch, err := builders[p].Finish(0)
		if err != nil {
			return err
		}
		err = c.Retry(ctx, 10*time.Second, func() error {
			_, err := c.Produce(ctx, wire.TopicPartition{Topic: topic, Partition: p}, batch, -1, 10*time.Second)
			return err
		})
		if err != nil {
			return errs.Wrap(err, "EMBEDDED_BROKER_FAILED", "message", "the topic "+topic+": "+err.Error())
		}
	}
	return nil
}

// kafkaOptions are the options of everything in the lab that reads or writes Kafka.
func (l *Lab) kafkaOptions() (out []*map[string]Text) {
	for i := range l.Sources {
		if strings.EqualFold(l.Sources[i].Format.Value, "kafka") {
			out = append(out, &l.Sources[i].Options)
		}
	}
	for i := range l.Tables {
		if strings.EqualFold(l.Tables[i].Format.Value, "kafka") {
			out = append(out, &l.Tables[i].Options)
		}
	}
	for i := range l.Queries {
		q := &l.Queries[i]
		if strings.EqualFold(q.Format.Value, "kafka") {
			out = append(out, &q.Options)
		}
		for j := range q.Statements {
			if strings.EqualFold(q.Statements[j].Format.Value, "kafka") {
				out = append(out, &q.Statements[j].Options)
			}
		}
	}
	return out
}

func embeds(o map[string]Text) bool {
	for k, t := range o {
		if strings.EqualFold(k, bootstrap) && broker.Asked(t.Value) {
			return true
		}
	}
	return false
}

// feedTopic writes rows of a lesson to a Kafka source of the lab: [topic, key, value], perhaps with partition
// and timestamp in ms behind; true if the source is one.
func (w *Workbench) feedTopic(ctx context.Context, source string, rows [][]any) (bool, error) {
	for _, s := range w.Lab.Sources {
		if s.Name.Value != source || !strings.EqualFold(s.Format.Value, "kafka") {
			continue
		}
		conf, err := wire.ReadConfig(func(name string) (string, bool) {
			for k, t := range s.Options {
				if strings.EqualFold(k, name) {
					return t.Value, true
				}
			}
			return "", false
		})
		if err != nil {
			return true, err
		}
		c := wire.New(conf)
		defer c.Close()
		for _, row := range rows {
			topic, r, err := fedRow(row)
			if err != nil {
				return true, err
			}
			if err := produce(ctx, c, topic, []SeedRow{r}); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	return false, nil
}

func fedRow(row []any) (topic string, r SeedRow, err error) {
	bad := func() error {
		return errs.New("LAB_VALUE", "key", "rows", "expected", "rows of topic, key, value, and perhaps partition and timestamp in ms")
	}
	text := func(i int) []byte {
		s, ok := row[i].(string)
		if !ok {
			if row[i] != nil {
				err = bad()
			}
			return nil
		}
		return []byte(s)
	}
	if len(row) < 3 || len(row) > 5 {
		return "", r, bad()
	}
	topic, r.Key, r.Value = string(text(0)), text(1), text(2)
	if len(row) > 3 {
		n, e := strconv.ParseInt(string(text(3)), 10, 32)
		err = errors.Join(err, e)
		r.Partition = int32(n)
	}
	if len(row) > 4 {
		n, e := strconv.ParseInt(string(text(4)), 10, 64)
		err = errors.Join(err, e)
		r.Timestamp = n
	}
	if err != nil || topic == "" {
		return "", r, bad()
	}
	return topic, r, nil
}
