package kafka

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/internal/wire"
	"streamlab/sources"
	"streamlab/sql/types"
)

type source struct {
	reader
	log     sources.Log
	now     func() time.Time
	initial offsets // nil until known
	columns []int   // positions that are read; nil is all

	latest      offsets // what was there at the last trigger; nil if it was not asked
	availOnly   bool
	frozen      offsets // the end of an availableNow run; nil until its first trigger
	lastTrigger time.Time
	followed    offsets // the partitions that Readers read
}

// New makes the source. What is wrong with the options in themselves comes from here; what Spark finds only
// when the query runs comes when there is a log.
func New(def sources.Def) (sources.Source, error) {
	s, err := define(def, stream)
	if err != nil {
		return nil, err
	}
	src := &source{reader: reader{settings: s, cluster: wire.New(s.conf)}, log: def.Log, now: def.Now}
	src.rest.most = mostLeft
	if src.now == nil {
		src.now = time.Now
	}
	if def.Log != nil {
		if err := s.complete(def.Options, stream); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// Check finds what New leaves to the running query.
func Check(def sources.Def) error {
	s, err := define(def, stream)
	if err != nil {
		return err
	}
	return s.complete(def.Options, stream)
}

func (s *source) Schema() types.Schema { return s.schema() }
func (s *source) String() string       { return "KafkaV2[" + s.read.text + "]" }
func (s *source) Close() error         { s.cluster.Close(); return nil }

func (s *source) DefaultReadLimit() sources.ReadLimit { return s.limit }

func (s *source) Prune(columns []int) bool {
	s.columns = append([]int{}, columns...)
	return true
}

// entry 0 of the log holds the initial offsets in Spark's form: a zero byte, the version, the JSON (KS-12).
const logHead = "\x00v1\n"

// InitialOffset is where the query began: it is decided once, by the starting options.
func (s *source) InitialOffset(ctx context.Context) (sources.Offset, error) {
	if s.initial != nil {
		return s.initial.json(), nil
	}
	entry, ok, err := s.log.Get(0)
	if err != nil {
		return "", err
	}
	if ok {
		if s.initial, err = readEntry(string(entry)); err != nil {
			return "", err
		}
		return s.initial.json(), nil
	}
	first, err := s.resolve(ctx, s.start, false)
	if err != nil {
		return "", err
	}
	if err := s.log.Add(0, []byte(logHead+string(first.json()))); err != nil {
		return "", err
	}
	s.initial = first
	return first.json(), nil
}

func readEntry(text string) (offsets, error) {
	text = strings.TrimPrefix(text, "\x00")
	version, rest, ok := strings.Cut(text, "\n")
	if !ok { // as Spark before 2.1 wrote it: the JSON alone
		version, rest = "v1", text
	}
	var v int
	if _, err := fmt.Sscanf(version, "v%d", &v); err != nil {
		return nil, errs.New("OFFSET_FORM", "offset", text, "source", "kafka")
	}
	if v > 1 {
		return nil, errs.New("KAFKA_LOG_VERSION", "maxVersion", 1, "version", v)
	}
	return parse(sources.Offset(strings.TrimSpace(rest)))
}

func parse(o sources.Offset) (offsets, error) {
	if o == "" {
		return offsets{}, nil
	}
	p, err := parseOffsets(string(o))
	if err != nil {
		return nil, errs.Wrap(err, "OFFSET_FORM", "offset", o, "source", "kafka")
	}
	return p, nil
}

// PrepareAvailableNow fixes the end at the next trigger: a batch that was begun before is run again first, and
// partitions that were added meanwhile are not part of it (KS-20).
func (s *source) PrepareAvailableNow(context.Context) error {
	s.availOnly = true
	return nil
}

func (s *source) LatestOffset(ctx context.Context, start sources.Offset, limit sources.ReadLimit) (sources.Offset, error) {
	from, err := parse(start)
	if err != nil {
		return "", err
	}
	if s.frozen != nil {
		s.latest = s.frozen
	} else if s.latest, err = s.reader.latest(ctx, from); err != nil {
		return "", err
	}
	if s.availOnly {
		s.frozen = s.latest
	}
	end := s.latest
	switch {
	case limit.MinRows > 0 && s.wait(limit, from):
		end = from
	case limit.MaxRows != 0:
		if end, err = s.divide(ctx, max(0, limit.MaxRows), from); err != nil {
			return "", err
		}
	}
	if len(end) == 0 {
		return "", nil // nothing is stored of an empty set of partitions (KS-19)
	}
	return end.json(), nil
}

// wait says that fewer than MinRows wait and the last trigger is not MaxDelay ago (KS-16).
func (s *source) wait(limit sources.ReadLimit, from offsets) bool {
	now := s.now()
	if now.Sub(s.lastTrigger) < limit.MaxDelay {
		var fresh int64
		for tp, o := range s.latest {
			fresh += o - from[tp]
		}
		if fresh < limit.MinRows {
			return true
		}
	}
	s.lastTrigger = now
	return false
}

// divide shares maxOffsetsPerTrigger among the partitions (KS-17).
func (s *source) divide(ctx context.Context, limit int64, from offsets) (offsets, error) {
	var added []wire.TopicPartition
	for _, tp := range s.latest.sorted() {
		if _, ok := from[tp]; !ok {
			added = append(added, tp)
		}
	}
	first, err := s.earliest(ctx, added)
	if err != nil {
		return nil, err
	}
	for tp, o := range from {
		first[tp] = o
	}
	var list []wire.TopicPartition
	var sizes []int64
	for _, tp := range s.latest.sorted() {
		if begin, ok := first[tp]; ok && s.latest[tp] > begin {
			list, sizes = append(list, tp), append(sizes, s.latest[tp]-begin)
		}
	}
	takes := shares(limit, sizes)
	if s.compat {
		takes = sparkShares(limit, sizes)
	} else {
		var turn int64
		for _, o := range from {
			turn += o
		}
		rotate(takes, sizes, limit, turn)
	}
	end := offsets{}
	for tp, o := range s.latest {
		end[tp] = o
	}
	for i, tp := range list {
		end[tp] = min(s.latest[tp], addCapped(first[tp], takes[i]))
	}
	return end, nil
}

func (s *source) ReportLatestOffset() sources.Offset {
	if len(s.latest) == 0 {
		return ""
	}
	return s.latest.json()
}

// Metrics is how far the batch that ends at end is behind the partitions' ends (KS-34).
func (s *source) Metrics(end sources.Offset) map[string]string {
	done, err := parse(end)
	if err != nil || len(done) == 0 || len(s.latest) == 0 {
		return nil
	}
	var low, high, sum int64
	for i, tp := range s.latest.sorted() {
		behind := s.latest[tp] - done[tp]
		if i == 0 || behind < low {
			low = behind
		}
		if i == 0 || behind > high {
			high = behind
		}
		sum += behind
	}
	return map[string]string{"minOffsetsBehindLatest": fmt.Sprint(low), "maxOffsetsBehindLatest": fmt.Sprint(high),
		"avgOffsetsBehindLatest": big.NewRat(sum, int64(len(s.latest))).FloatString(1)}
}

// PlanPartitions gives the ranges between two offsets, after a look at what was lost meanwhile (8.7).
func (s *source) PlanPartitions(ctx context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	from, err := parse(start)
	if err != nil {
		return nil, err
	}
	until, err := parse(end)
	if err != nil {
		return nil, err
	}
	if s.frozen != nil {
		if err := s.checkFrozen(ctx, until); err != nil {
			return nil, err
		}
	}
	var added, gone []wire.TopicPartition
	for _, tp := range until.sorted() {
		if _, ok := from[tp]; !ok {
			added = append(added, tp)
		}
	}
	for _, tp := range from.sorted() {
		if _, ok := until[tp]; !ok {
			gone = append(gone, tp)
		}
	}
	first, err := s.earliest(ctx, added)
	if err != nil {
		return nil, err
	}
	if len(first) != len(added) {
		var lost []wire.TopicPartition
		for _, tp := range added {
			if _, ok := first[tp]; !ok {
				lost = append(lost, tp)
			}
		}
		if err := s.lost("INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", "partitions", setOf(lost)); err != nil {
			return nil, err
		}
	}
	for _, tp := range first.sorted() {
		if o := first[tp]; o != 0 {
			if err := s.lost("ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO", "topicPartition", tp, "startOffset", o); err != nil {
				return nil, err
			}
		}
	}
	if len(gone) > 0 {
		condition := "PARTITIONS_DELETED"
		if s.ownGroup {
			condition = "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT"
		}
		if err := s.lost(condition, "partitions", setOf(gone), "groupIdConfig", "group.id"); err != nil {
			return nil, err
		}
	}
	for tp, o := range from {
		first[tp] = o
	}
	var ranges []span
	for _, tp := range until.sorted() {
		o, ok := first[tp]
		if !ok {
			continue
		}
		if until[tp] < o {
			if err := s.lost("PARTITION_OFFSET_CHANGED", "topicPartition", tp, "prevOffset", o, "newOffset", until[tp]); err != nil {
				return nil, err
			}
		}
		ranges = append(ranges, span{tp, o, until[tp]})
	}
	return s.parts(ranges, s.columns), nil
}

// lost reports data loss: an error, unless the query goes on without the data.
func (s *settings) lost(condition string, params ...any) error {
	if !s.failOnLoss {
		return nil
	}
	return errs.New("KAFKA_DATA_LOSS."+condition, params...)
}

// checkFrozen holds the end of a batch against the end of an availableNow run, whatever failOnDataLoss says.
func (s *source) checkFrozen(ctx context.Context, until offsets) error {
	if !sameSet(until.sorted(), s.frozen) {
		return errs.New("MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED", "tpsForPrefetched", s.frozen.set(), "tpsForEndOffset", until.set())
	}
	for _, tp := range until.sorted() {
		if until[tp] > s.frozen[tp] {
			return errs.New("END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED", "prefetchedOffset", s.frozen.json(), "endOffset", until.json())
		}
	}
	now, err := s.reader.latest(ctx, nil)
	if err != nil {
		return err
	}
	for _, tp := range until.sorted() {
		o, ok := now[tp]
		if !ok {
			return errs.New("LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW", "tpsForLatestOffset", now.set(), "tpsForEndOffset", until.set())
		}
		if until[tp] > o {
			return errs.New("END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW", "latestOffset", now.json(), "endOffset", until.json())
		}
	}
	return nil
}

// Commit does nothing: offsets are kept in the checkpoint, not in Kafka (KS-14).
func (s *source) Commit(context.Context, sources.Offset) error { return nil }
