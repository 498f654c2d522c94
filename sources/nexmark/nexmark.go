// Package nexmark makes the events of the Nexmark benchmark: an auction house where people register, open
// auctions and bid. Of fifty events one is a person, three are auctions and forty-six are bids. Everything
// about event n follows from n and the seed, so that the source can be read again from any offset and gives
// the same rows on every machine.
//
// The offset is the number of events so far.
package nexmark

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

// Options describes the options of the source.
func Options() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "rowsPerSecond", Default: "10000", Doc: "Events for each second since the first start; also how dense their times are."},
		{Name: "rowsPerBatch", Doc: "Events of each micro-batch, as fast as batches run; instead of rowsPerSecond events a second."},
		{Name: "numEvents", Doc: "Where the source ends; default: never."},
		{Name: "seed", Default: "42", Doc: "Events of another seed differ."},
		{Name: "startTimestamp", Default: "1767225600000", Doc: "The time of the first event in ms (2026-01-01)."},
		{Name: "numPartitions", Doc: "Partitions of a batch; default the parallelism of the session."},
	}
}

func field(name string, k types.Kind) types.Field {
	return types.Field{Name: name, Type: types.Of(k), Nullable: true}
}

var personType = types.StructOf(field("id", types.BigInt), field("name", types.String), field("emailAddress", types.String),
	field("creditCard", types.String), field("city", types.String), field("state", types.String), field("dateTime", types.Timestamp),
	field("extra", types.String))

var auctionType = types.StructOf(field("id", types.BigInt), field("itemName", types.String), field("description", types.String),
	field("initialBid", types.BigInt), field("reserve", types.BigInt), field("dateTime", types.Timestamp), field("expires", types.Timestamp),
	field("seller", types.BigInt), field("category", types.BigInt), field("extra", types.String))

var bidType = types.StructOf(field("auction", types.BigInt), field("bidder", types.BigInt), field("price", types.BigInt),
	field("channel", types.String), field("url", types.String), field("dateTime", types.Timestamp), field("extra", types.String))

var schema = types.Schema{
	field("event_type", types.Int), // 0 person, 1 auction, 2 bid
	{Name: "person", Type: personType, Nullable: true},
	{Name: "auction", Type: auctionType, Nullable: true},
	{Name: "bid", Type: bidType, Nullable: true},
	field("dateTime", types.Timestamp),
}

type source struct {
	g       generator
	perSec  int64
	perStep int64 // rowsPerBatch; 0: by the clock
	end     int64 // numEvents
	parts   int
	now     func() time.Time
	log     sources.Log
	created int64 // ms; 0 until open
	avail   bool
	frozen  int64 // -1: not yet
	columns []int
}

// New makes the source. Errors: INVALID_OPTION, _LEGACY_ERROR_TEMP_2242 for a schema.
func New(def sources.Def) (sources.Source, error) {
	if def.Schema != nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", "nexmark")
	}
	s := &source{now: def.Now, log: def.Log, frozen: -1}
	if s.now == nil {
		s.now = time.Now
	}
	for _, x := range []struct {
		name       string
		def, least int64
		to         *int64
	}{
		{"rowsPerSecond", 10_000, 1, &s.perSec},
		{"rowsPerBatch", 0, 1, &s.perStep},
		{"numEvents", math.MaxInt64 / 2, 0, &s.end},
		{"seed", 42, math.MinInt64, &s.g.seed},
		{"startTimestamp", 1_767_225_600_000, 0, &s.g.start},
	} {
		n, err := def.Options.Int(x.name, x.def, x.least)
		if err != nil {
			return nil, err
		}
		*x.to = n
	}
	if s.perSec > 1_000_000_000 {
		return nil, sources.Invalid("rowsPerSecond", strconv.FormatInt(s.perSec, 10), "must be at most a billion")
	}
	if s.g.start > math.MaxInt64/4000 {
		return nil, sources.Invalid("startTimestamp", strconv.FormatInt(s.g.start, 10), "is too late")
	}
	s.g.start *= 1000
	s.g.gap = 1e6 / float64(s.perSec)
	parts, err := def.Options.Int("numPartitions", int64(runtime.GOMAXPROCS(0)), 1)
	if err != nil {
		return nil, err
	}
	s.parts = int(min(parts, 10_000))
	return s, nil
}

func (s *source) Schema() types.Schema { return schema }

func (s *source) String() string { return fmt.Sprintf("Nexmark[seed=%d]", s.g.seed) }

func (s *source) Prune(columns []int) bool {
	s.columns = append([]int{}, columns...)
	return true
}

// open finds or makes the time of the first start, entry 0 of the log.
func (s *source) open() error {
	if s.created != 0 || s.perStep > 0 {
		return nil
	}
	created := s.now().UnixMilli()
	if s.log != nil {
		entry, ok, err := s.log.Get(0)
		if err != nil {
			return err
		}
		if ok {
			text, found := strings.CutPrefix(string(entry), "v1\n")
			if created, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64); err != nil || !found {
				return errs.New("OFFSET_FORM", "offset", string(entry), "source", "nexmark")
			}
		} else if err := s.log.Add(0, []byte("v1\n"+strconv.FormatInt(created, 10))); err != nil {
			return err
		}
	}
	s.created = created
	return nil
}

func parse(o sources.Offset) (int64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 {
		return 0, errs.New("OFFSET_FORM", "offset", o, "source", "nexmark")
	}
	return n, nil
}

func (s *source) InitialOffset(context.Context) (sources.Offset, error) { return "0", s.open() }

// PrepareAvailableNow ends the run with the events that are due at its first batch; a source by batches gives
// one batch, or all of them if it has an end.
func (s *source) PrepareAvailableNow(context.Context) error {
	s.avail = true
	return nil
}

func (s *source) LatestOffset(_ context.Context, start sources.Offset, limit sources.ReadLimit) (sources.Offset, error) {
	if err := s.open(); err != nil {
		return "", err
	}
	from, err := parse(start)
	if err != nil {
		return "", err
	}
	end := from
	switch {
	case s.perStep > 0:
		end = from + s.perStep
	default:
		end = (s.now().UnixMilli() - s.created) * s.perSec / 1000
	}
	end = max(from, min(end, s.end))
	if s.avail && !(s.perStep > 0 && s.end < math.MaxInt64/2) {
		if s.frozen < 0 {
			s.frozen = end
		}
		end = max(from, min(end, s.frozen))
	}
	if limit.MaxRows > 0 {
		end = min(end, from+limit.MaxRows)
	}
	return sources.Offset(strconv.FormatInt(end, 10)), nil
}

func (s *source) PlanPartitions(_ context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	from, err := parse(start)
	if err != nil {
		return nil, err
	}
	until, err := parse(end)
	if err != nil {
		return nil, err
	}
	columns := s.columns
	if columns == nil {
		columns = []int{0, 1, 2, 3, 4}
	}
	var out []columnar.Partition
	n := int64(s.parts)
	for i, at := int64(0), from; i < n; i++ {
		size := (until - from + n - 1 - i) / n // contiguous, the first ones larger by one
		if size > 0 {
			out = append(out, &part{g: s.g, from: at, until: at + size, columns: columns})
		}
		at += size
	}
	return out, nil
}

func (s *source) Commit(context.Context, sources.Offset) error { return nil }
func (s *source) Close() error                                 { return nil }
