// Package rate makes rows from nothing but the offset: a timestamp and a growing number. "rate" follows the
// clock (its offset is whole seconds since the source's first start, kept in entry 0 of its log);
// "rate-micro-batch" makes the same number of rows for every batch.
package rate

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/types"
)

var schema = types.Schema{
	{Name: "timestamp", Type: types.Of(types.Timestamp), Nullable: true},
	{Name: "value", Type: types.Of(types.BigInt), Nullable: true},
}

// Options describes the options of rate.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "rowsPerSecond", Default: "1", Doc: "Rows made for each second."},
		{Name: "rampUpTime", Default: "0s", Doc: "How long the rate grows until it is rowsPerSecond; whole seconds."},
		{Name: "numPartitions", Doc: "Partitions of a batch; default the parallelism of the session."},
	}
}

type source struct {
	told     sources.Offset // by LatestOffset
	opts     ramp
	parts    int
	now      func() time.Time
	began    func(ms int64) int64 // of the queries that share the source; may be nil
	log      sources.Log
	created  int64 // ms; set by open
	opened   bool
	latest   int64 // largest time seen, ms
	frozen   int64 // seconds; -1: not frozen
	needTime bool
	needVal  bool
}

// New makes the source. Errors: INVALID_OPTION, _LEGACY_ERROR_TEMP_2242 for a schema.
func New(def sources.Def) (sources.Source, error) {
	if def.Schema != nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", "RateStreamProvider")
	}
	rps, err := atLeast(def.Options, "rowsPerSecond", 1, 1, "must be positive")
	if err != nil {
		return nil, err
	}
	up, err := def.Options.Duration("rampUpTime", 0, time.Second)
	if err != nil {
		return nil, err
	}
	if up < 0 {
		return nil, sources.Invalid("rampUpTime", strconv.FormatInt(int64(up/time.Second), 10), "must not be negative")
	}
	parts, err := partitions(def)
	if err != nil {
		return nil, err
	}
	now := def.Now
	if now == nil {
		now = time.Now
	}
	return &source{opts: ramp{rps: rps, up: int64(up / time.Second)}, parts: parts, now: now, began: def.Began, log: def.Log, frozen: -1,
		needTime: true, needVal: true}, nil
}

func atLeast(o sources.Options, name string, def, least int64, requirement string) (int64, error) {
	n, err := o.Int(name, def, math.MinInt64)
	if err == nil && n < least {
		err = sources.Invalid(name, strconv.FormatInt(n, 10), requirement)
	}
	return n, err
}

func partitions(def sources.Def) (int, error) {
	n := int64(runtime.GOMAXPROCS(0))
	if def.Conf != nil {
		if v, err := strconv.ParseInt(def.Conf("spark.default.parallelism"), 10, 32); err == nil && v > 0 {
			n = v
		}
	}
	n, err := atLeast(def.Options, "numPartitions", n, 1, "must be positive")
	if err == nil && n > 100_000 {
		err = sources.Invalid("numPartitions", strconv.FormatInt(n, 10), "must be at most 100000")
	}
	return int(n), err
}

// ramp is the value as a function of time.
type ramp struct{ rps, up int64 }

// valueAt is the number of rows made until second s.
func (r ramp) valueAt(s int64) int64 {
	d := r.rps / (r.up + 1)
	if s <= r.up {
		// one of the two factors is even, so halving first does not lose anything
		a, b := s, s+1
		if a%2 == 0 {
			a /= 2
		} else {
			b /= 2
		}
		return d * a * b
	}
	return r.valueAt(r.up) + (s-r.up)*r.rps
}

func (s *source) Schema() types.Schema { return schema }

// open finds or makes the creation time.
func (s *source) open() error {
	if s.opened {
		return nil
	}
	if limit := math.MaxInt64 / s.opts.rps; s.opts.up > limit {
		return errs.New("INCORRECT_RAMP_UP_RATE", "rowsPerSecond", s.opts.rps, "maxSeconds", limit, "rampUpTimeSeconds", s.opts.up)
	}
	s.created = s.now().UnixMilli()
	if s.began != nil {
		s.created = s.began(s.created)
	}
	if s.log != nil {
		entry, ok, err := s.log.Get(0)
		if err != nil {
			return err
		}
		if ok {
			text, found := strings.CutPrefix(string(entry), "v1\n")
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if !found || err != nil {
				return errs.New("OFFSET_FORM", "offset", string(entry), "source", "rate")
			}
			s.created = n
		} else if err := s.log.Add(0, []byte("v1\n"+strconv.FormatInt(s.created, 10))); err != nil {
			return err
		}
	}
	s.latest, s.opened = s.created, true
	return nil
}

func (s *source) InitialOffset(context.Context) (sources.Offset, error) {
	return "0", s.open()
}

func (s *source) seconds() int64 {
	s.latest = max(s.latest, s.now().UnixMilli())
	return (s.latest - s.created) / 1000
}

func (s *source) LatestOffset(_ context.Context, start sources.Offset, _ sources.ReadLimit) (sources.Offset, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	sec := s.seconds()
	if s.frozen >= 0 {
		sec = s.frozen
	}
	if isSpots(start) { // a continuous run began it
		list, err := s.spots(start)
		if err != nil {
			return "", err
		}
		return formatSpots(s.advance(list, s.created+sec*1000)), nil
	}
	if start != "" {
		from, err := parse(start)
		if err != nil {
			return "", err
		}
		sec = max(sec, from)
	}
	s.told = sources.Offset(strconv.FormatInt(sec, 10))
	return s.told, nil
}

// ReportLatestOffset is the last answer of LatestOffset: a rate has no end beyond it.
func (s *source) ReportLatestOffset() sources.Offset { return s.told }

func (s *source) PrepareAvailableNow(context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	s.frozen = s.seconds()
	return nil
}

func parse(o sources.Offset) (int64, error) {
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil {
		return 0, errs.New("OFFSET_FORM", "offset", o, "source", "rate")
	}
	return n, nil
}

func (s *source) PlanPartitions(_ context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if isSpots(start) || isSpots(end) {
		return s.planSpots(start, end)
	}
	a, b := int64(0), int64(0)
	var err error
	if start != "" {
		if a, err = parse(start); err != nil {
			return nil, err
		}
	}
	if b, err = parse(end); err != nil {
		return nil, err
	}
	if limit := math.MaxInt64 / s.opts.rps; b > limit {
		return nil, errs.New("INTERNAL_ERROR", "message",
			"rate: with rowsPerSecond "+strconv.FormatInt(s.opts.rps, 10)+" the values end at second "+strconv.FormatInt(limit, 10))
	}
	s.latest = max(s.latest, s.created+b*1000) // the clock never goes back behind a planned end
	first, last := s.opts.valueAt(a), s.opts.valueAt(b)
	if first == last {
		return nil, nil
	}
	base := (s.created + a*1000) * 1000
	step := float64(b-a) * 1000 / float64(last-first)
	clock := fmt.Sprint(base, " ", a, " ", b)
	return split(first, last, s.parts, s.needTime, s.needVal, clock, func(v int64) int64 {
		return base + int64(math.Floor(float64(v-first)*step+0.5))*1000
	}), nil
}

func (s *source) Prune(columns []int) bool {
	s.needTime, s.needVal = needed(columns)
	return true
}

func needed(columns []int) (time, value bool) {
	for _, c := range columns {
		time = time || c == 0
		value = value || c == 1
	}
	return
}

func (s *source) Commit(context.Context, sources.Offset) error { return nil }
func (s *source) Close() error                                 { return nil }

func (s *source) String() string {
	return "RateStreamV2[rowsPerSecond=" + strconv.FormatInt(s.opts.rps, 10) + ", rampUpTimeSeconds=" +
		strconv.FormatInt(s.opts.up, 10) + ", numPartitions=" + strconv.Itoa(s.parts)
}
