// Package kafka reads topics of a Kafka cluster, as a stream and as a table.
//
// An offset of the stream is Spark's: {"topic":{"0":23}}, the next offset to read of each partition. Where a
// query begins is decided once and kept in entry 0 of the source's log; partitions that come later are read
// from their beginning. Partitions are read by number, never through a consumer group: nothing is committed
// to Kafka, and two queries never disturb each other.
//
// The rules are those of Spark's source; KS-… in comments are their numbers in the project's specification.
package kafka

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sql/types"
)

// Options describes the options of the source; those that begin with "kafka." are the client's.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "kafka.bootstrap.servers", Doc: "host:port of brokers, separated by commas; in a lab `embedded` is the broker inside the program."},
		{Name: "kafka.sasl.jaas.config", Doc: "User name and password of SASL as a JAAS line.", Secret: true},
		{Name: "kafka.ssl.keystore.key", Doc: "The private key as PEM text.", Secret: true},
		{Name: "kafka.ssl.key.password", Doc: "Not supported: the key must not be encrypted.", Secret: true},
		{Name: "subscribe", Doc: "Topics, separated by commas."},
		{Name: "subscribePattern", Doc: "A regular expression that is searched for in the names of topics."},
		{Name: "assign", Doc: `Partitions as JSON: {"topic":[0,1]}.`},
		{Name: "startingOffsets", Default: "latest", Doc: `earliest, latest or JSON {"topic":{"0":23,"1":-1,"2":-2}}; -1 is latest, -2 earliest. A table begins at earliest.`},
		{Name: "startingTimestamp", Doc: "Begin at the first record at or after this time in ms."},
		{Name: "startingOffsetsByTimestamp", Doc: `The same per partition: {"topic":{"0":1767225600000}}.`},
		{Name: "startingOffsetsByTimestampStrategy", Default: "error", Doc: "What to do where no record is that late: error or latest."},
		{Name: "endingOffsets", Default: "latest", Doc: "Tables only: where to end."},
		{Name: "endingTimestamp", Doc: "Tables only: end before the first record at or after this time in ms."},
		{Name: "endingOffsetsByTimestamp", Doc: "Tables only: the same per partition."},
		{Name: "failOnDataLoss", Default: "true", Doc: "Whether records that are gone before they were read end the query."},
		{Name: "maxOffsetsPerTrigger", Doc: "Records of a micro-batch at most."},
		{Name: "minOffsetsPerTrigger", Doc: "Records that are waited for before a micro-batch runs."},
		{Name: "maxTriggerDelay", Default: "15m", Doc: "How long they are waited for."},
		{Name: "minPartitions", Doc: "Parts that a micro-batch is read in at least."},
		{Name: "maxRecordsPerPartition", Doc: "Records of such a part at most."},
		{Name: "includeHeaders", Default: "false", Doc: "Adds the column headers."},
		{Name: "groupIdPrefix", Default: "spark-kafka-source", Doc: "Begins the group id that is made for each start."},
		{Name: "kafkaConsumer.pollTimeoutMs", Default: "120000", Doc: "How long reading waits for the cluster before the query fails."},
		{Name: "fetchOffset.numRetries", Default: "3", Doc: "Attempts to find offsets."},
		{Name: "fetchOffset.retryIntervalMs", Default: "1000", Doc: "Pause between them."},
		{Name: "sparkCompat", Default: "false", Doc: "Divide maxOffsetsPerTrigger as Spark does, with its rounding."},
	}
}

var columns = types.Schema{
	{Name: "key", Type: types.Of(types.Binary), Nullable: true},
	{Name: "value", Type: types.Of(types.Binary), Nullable: true},
	{Name: "topic", Type: types.Of(types.String), Nullable: true},
	{Name: "partition", Type: types.Of(types.Int), Nullable: true},
	{Name: "offset", Type: types.Of(types.BigInt), Nullable: true},
	{Name: "timestamp", Type: types.Of(types.Timestamp), Nullable: true},
	{Name: "timestampType", Type: types.Of(types.Int), Nullable: true},
}

var withHeaders = append(columns[:len(columns):len(columns)], types.Field{Name: "headers", Nullable: true, Type: types.DataType{
	Kind: types.Array, ContainsNull: true, Elem: &types.DataType{Kind: types.Struct, Fields: []types.Field{
		{Name: "key", Type: types.Of(types.String), Nullable: true},
		{Name: "value", Type: types.Of(types.Binary), Nullable: true}}}}})

// strategy says which partitions are read.
type strategy struct {
	topics  []string              // subscribe
	pattern *regexp.Regexp        // subscribePattern
	assign  []wire.TopicPartition // assign, in the order of the option
	text    string                // as progress shows it
}

// position is where reading begins or ends.
type position struct {
	name   string  // "earliest", "latest", or "" with one of the others
	exact  offsets // offsets by partition
	times  offsets // times by partition
	global bool    // time holds for every partition
	time   int64
}

// settings are the options, read.
type settings struct {
	conf         wire.Config
	read         strategy
	start, end   position
	orLatest     bool // startingOffsetsByTimestampStrategy is latest
	failOnLoss   bool
	limit        sources.ReadLimit
	minParts     int
	maxRecords   int64
	headers      bool
	committed    bool // kafka.isolation.level is read_committed
	group        string
	ownGroup     bool
	pollTimeout  time.Duration
	attempts     int
	pause        time.Duration
	compat       bool
	minBytes     int32
	maxWait      time.Duration
	partitionMax int32
}

const (
	stream = "stream"
	table  = "table"
)

// define reads what is wrong already when a source is defined; the rest is read by complete when it runs, as
// Spark does it (8.2).
func define(def sources.Def, use string) (*settings, error) {
	o := def.Options
	if def.Schema != nil {
		return nil, sources.Invalid("schema", def.Schema.Simple(), "cannot be given: a Kafka source has its own")
	}
	s := &settings{}
	if err := s.readStrategy(o); err != nil {
		return nil, err
	}
	for _, name := range []string{"auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit", "interceptor.classes"} {
		if v, ok := o.Get("kafka." + name); ok {
			return nil, sources.Invalid("kafka."+name, v, "cannot be set: the source decides it")
		}
	}
	if use == stream {
		for _, name := range []string{"endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"} {
			if v, ok := o.Get(name); ok {
				return nil, sources.Invalid(name, v, "ends a table, a stream has no end")
			}
		}
	}
	if v, ok := o.Get("kafka.bootstrap.servers"); !ok || strings.TrimSpace(v) == "" {
		return nil, errs.New("MISSING_KAFKA_OPTION", "option", "bootstrap.servers")
	}
	n, err := o.Int32("minPartitions", 0, 1)
	if err != nil {
		return nil, err
	}
	s.minParts = int(n)
	if s.maxRecords, err = o.Int("maxRecordsPerPartition", 0, 1); err != nil {
		return nil, err
	}
	if s.headers, err = o.Bool("includeHeaders", false); err != nil {
		return nil, err
	}
	if s.compat, err = o.Bool("sparkCompat", false); err != nil {
		return nil, err
	}
	low, ok := o.Get("minOffsetsPerTrigger")
	high, both := o.Get("maxOffsetsPerTrigger")
	if ok && both {
		a, e1 := strconv.ParseInt(low, 10, 64)
		b, e2 := strconv.ParseInt(high, 10, 64)
		if e1 == nil && e2 == nil && a > b {
			return nil, sources.Invalid("minOffsetsPerTrigger", low, "is above maxOffsetsPerTrigger, "+high)
		}
	}
	s.conf, err = wire.ReadConfig(o.Get)
	return s, err
}

func (s *settings) schema() types.Schema {
	if s.headers {
		return withHeaders
	}
	return columns
}

// complete reads the options that are looked at when the source runs.
func (s *settings) complete(o sources.Options, use string) (err error) {
	if err := s.completeStrategy(o); err != nil {
		return err
	}
	first := "latest"
	if use == table {
		first = "earliest"
	}
	if s.start, err = readPosition(o, "starting", first); err != nil {
		return err
	}
	if s.end, err = readPosition(o, "ending", "latest"); err != nil {
		return err
	}
	if use == table {
		if err := s.checkTable(); err != nil {
			return err
		}
	}
	switch v := strings.ToLower(o.Text("startingOffsetsByTimestampStrategy", "error")); v {
	case "error", "latest":
		s.orLatest = v == "latest"
	default:
		return sources.Invalid("startingOffsetsByTimestampStrategy", v, "must be error or latest")
	}
	if s.failOnLoss, err = o.Bool("failOnDataLoss", true); err != nil {
		return err
	}
	if v, ok := o.Get("maxOffsetsPerTrigger"); ok {
		n, err := o.Int("maxOffsetsPerTrigger", 0, -1<<63)
		if err != nil {
			return sources.Invalid("maxOffsetsPerTrigger", v, "must be a number")
		}
		if s.limit.MaxRows = n; n <= 0 {
			s.limit.MaxRows = -1 // nothing at all, which is not "no limit"
		}
	}
	if s.limit.MinRows, err = o.Int("minOffsetsPerTrigger", 0, -1<<63); err != nil {
		return err
	}
	if s.limit.MaxDelay, err = o.Duration("maxTriggerDelay", 15*time.Minute, time.Millisecond); err != nil {
		return err
	}
	poll, err := o.Int("kafkaConsumer.pollTimeoutMs", 120_000, 0)
	if err != nil {
		return err
	}
	s.pollTimeout = time.Duration(poll) * time.Millisecond
	attempts, err := o.Int("fetchOffset.numRetries", 3, 0)
	if err != nil {
		return err
	}
	s.attempts = max(1, int(attempts))
	pause, err := o.Int("fetchOffset.retryIntervalMs", 1000, 0)
	if err != nil {
		return err
	}
	s.pause = time.Duration(pause) * time.Millisecond
	return s.readClient(o)
}

func (s *settings) readClient(o sources.Options) error {
	switch v := o.Text("kafka.isolation.level", "read_uncommitted"); v {
	case "read_uncommitted":
	case "read_committed":
		s.committed = true
	default:
		return sources.Invalid("kafka.isolation.level", v, "must be read_uncommitted or read_committed")
	}
	if s.group, s.ownGroup = o.Get("kafka.group.id"); !s.ownGroup {
		s.group = o.Text("groupIdPrefix", "spark-kafka-source") + "-" + uuid.NewString()
	}
	for _, x := range []struct {
		name  string
		def   int64
		least int64
		set   func(int64)
	}{
		{"kafka.fetch.min.bytes", 1, 0, func(n int64) { s.minBytes = int32(n) }},
		{"kafka.fetch.max.wait.ms", 500, 0, func(n int64) { s.maxWait = time.Duration(n) * time.Millisecond }},
		{"kafka.max.partition.fetch.bytes", 4 << 20, 1, func(n int64) { s.partitionMax = int32(min(n, 1<<29)) }},
	} {
		n, err := o.Int32(x.name, x.def, x.least)
		if err != nil {
			return err
		}
		x.set(n)
	}
	return nil
}

func (s *settings) readStrategy(o sources.Options) error {
	var given []string
	for _, n := range []string{"subscribe", "subscribePattern", "assign"} {
		if _, ok := o.Get(n); ok {
			given = append(given, n)
		}
	}
	switch len(given) {
	case 0:
		return errs.New("KAFKA_STRATEGY_MISSING")
	case 1:
	default:
		return errs.New("KAFKA_STRATEGY_AMBIGUOUS", "options", strings.Join(given, ", "))
	}
	raw, _ := o.Get(given[0])
	switch given[0] {
	case "subscribe":
		for _, t := range strings.Split(raw, ",") {
			if t = strings.TrimSpace(t); t != "" {
				s.read.topics = append(s.read.topics, t)
			}
		}
		if s.read.topics == nil {
			return sources.Invalid("subscribe", raw, "must name a topic")
		}
		s.read.text = "Subscribe[" + strings.Join(s.read.topics, ", ") + "]"
	case "subscribePattern":
		p := strings.TrimSpace(raw)
		if p == "" {
			return sources.Invalid("subscribePattern", raw, "must not be empty")
		}
		s.read.text = "SubscribePattern[" + p + "]"
	case "assign":
		if !strings.HasPrefix(strings.TrimSpace(raw), "{") {
			return sources.Invalid("assign", raw, `must be JSON like {"topic":[0,1]}`)
		}
		s.read.text = "Assign[" + raw + "]"
	}
	return nil
}

// completeStrategy reads what Spark reads when the query runs: the expression, the JSON.
func (s *settings) completeStrategy(o sources.Options) error {
	if raw, ok := o.Get("subscribePattern"); ok {
		p := strings.TrimSpace(raw)
		re, err := regexp.Compile(p)
		if err != nil {
			return errs.Wrap(err, "INVALID_OPTION", "option", "subscribePattern", "value", p,
				"requirement", "must be a regular expression without look-around and back-references")
		}
		s.read.pattern = re
	}
	if raw, ok := o.Get("assign"); ok {
		list, err := readAssign(raw)
		if err != nil {
			return errs.Wrap(err, "INVALID_OPTION", "option", "assign", "value", raw, "requirement", `must be JSON like {"topic":[0,1]}`)
		}
		s.read.assign = list
		var names []string
		for _, tp := range list {
			names = append(names, tp.String())
		}
		s.read.text = "Assign[" + strings.Join(names, ", ") + "]"
	}
	return nil
}

// readAssign keeps the order of topics and partitions.
func readAssign(raw string) ([]wire.TopicPartition, error) {
	var byTopic map[string][]int32
	if err := json.Unmarshal([]byte(raw), &byTopic); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(raw)))
	out := []wire.TopicPartition{}
	seen := map[string]bool{}
	for depth := 0; ; {
		t, err := dec.Token()
		if err != nil {
			break // the end; the text was read once already
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if name, ok := t.(string); ok && depth == 1 && !seen[name] {
			seen[name] = true
			for _, p := range byTopic[name] {
				out = append(out, wire.TopicPartition{Topic: name, Partition: p})
			}
		}
	}
	return out, nil
}

// readPosition reads the three options that say where to start or end; the first that is set wins.
func readPosition(o sources.Options, prefix, def string) (position, error) {
	if v, ok := o.Get(prefix + "Timestamp"); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return position{}, sources.Invalid(prefix+"Timestamp", v, "must be a time in ms since 1970")
		}
		return position{global: true, time: n}, nil
	}
	if v, ok := o.Get(prefix + "OffsetsByTimestamp"); ok {
		p, err := parseOffsets(v)
		if err != nil {
			return position{}, sources.Invalid(prefix+"OffsetsByTimestamp", v, `must be JSON like {"topic":{"0":1767225600000}}`)
		}
		return position{times: p}, nil
	}
	v := strings.TrimSpace(o.Text(prefix+"Offsets", def))
	switch l := strings.ToLower(v); l {
	case "earliest", "latest":
		return position{name: l}, nil
	}
	p, err := parseOffsets(v)
	if err != nil {
		return position{}, sources.Invalid(prefix+"Offsets", v, `must be earliest, latest or JSON like {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}`)
	}
	return position{exact: p}, nil
}

// checkTable refuses positions that make no sense for a table.
func (s *settings) checkTable() error {
	if s.start.name == "latest" {
		return sources.Invalid("startingOffsets", "latest", "must not be latest for a table")
	}
	if s.end.name == "earliest" {
		return sources.Invalid("endingOffsets", "earliest", "must not be earliest for a table")
	}
	for _, tp := range s.start.exact.sorted() {
		if s.start.exact[tp] == wire.Latest {
			return sources.Invalid("startingOffsets", tp.String(), "must not be latest (-1) for a table")
		}
	}
	for _, tp := range s.end.exact.sorted() {
		if s.end.exact[tp] == wire.Earliest {
			return sources.Invalid("endingOffsets", tp.String(), "must not be earliest (-2) for a table")
		}
	}
	return nil
}

// offsets is a number for each of some partitions.
type offsets map[wire.TopicPartition]int64

func parseOffsets(text string) (offsets, error) {
	var m map[string]map[string]int64
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&m); err != nil {
		return nil, err
	}
	if dec.More() || m == nil {
		return nil, errs.New("OFFSET_FORM", "offset", text, "source", "kafka")
	}
	out := offsets{}
	for topic, ps := range m {
		for p, n := range ps {
			i, err := strconv.ParseInt(p, 10, 32)
			if err != nil {
				return nil, err
			}
			out[wire.TopicPartition{Topic: topic, Partition: int32(i)}] = n
		}
	}
	return out, nil
}

func (o offsets) sorted() []wire.TopicPartition {
	l := make([]wire.TopicPartition, 0, len(o))
	for tp := range o {
		l = append(l, tp)
	}
	sort.Slice(l, func(i, j int) bool { return l[i].Compare(l[j]) < 0 })
	return l
}

// json is the offset as text: topics by name, partitions by number, no spaces (KS-8).
func (o offsets) json() sources.Offset {
	b := []byte{'{'}
	topic := ""
	for i, tp := range o.sorted() {
		if i == 0 || tp.Topic != topic {
			if i > 0 {
				b = append(b, "},"...)
			}
			topic = tp.Topic
			name, _ := json.Marshal(topic) // topic names are letters, digits, dots, underscores and hyphens
			b = append(append(b, name...), ":{"...)
		} else {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(tp.Partition), 10)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, o[tp], 10)
	}
	if len(o) > 0 {
		b = append(b, '}')
	}
	return sources.Offset(append(b, '}'))
}

// set prints partitions as Spark's messages do.
func (o offsets) set() string { return setOf(o.sorted()) }

func setOf(l []wire.TopicPartition) string {
	names := make([]string, len(l))
	for i, tp := range l {
		names[i] = tp.String()
	}
	return "Set(" + strings.Join(names, ", ") + ")"
}
