package rate

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
	"streamlab/sql/types"
)

// MicroBatchOptions describes the options of rate-micro-batch.
func MicroBatchOptions() []sources.OptionDoc {
	return []sources.OptionDoc{
		{Name: "rowsPerBatch", Doc: "Rows of every batch; required."},
		{Name: "numPartitions", Doc: "Partitions of a batch; default the parallelism of the session."},
		{Name: "startTimestamp", Default: "0", Doc: "Timestamp of the first batch's rows, ms since the epoch."},
		{Name: "advanceMillisPerBatch", Default: "1000", Doc: "How much later the next batch's rows are."},
	}
}

type microBatch struct {
	rows, start, advance int64
	parts                int
	time, value          bool
	frozen               sources.Offset // the one end of an AvailableNow run; "" before its first answer
	now                  bool           // an AvailableNow run
}

type microOffset struct {
	Offset    int64 `json:"offset"`
	Timestamp int64 `json:"timestamp"`
}

func (o microOffset) text() sources.Offset {
	return sources.Offset(`{"offset":` + strconv.FormatInt(o.Offset, 10) + `,"timestamp":` + strconv.FormatInt(o.Timestamp, 10) + `}`)
}

func parseMicro(o sources.Offset) (m microOffset, err error) {
	if err = json.Unmarshal([]byte(o), &m); err != nil {
		err = errs.New("OFFSET_FORM", "offset", o, "source", "rate-micro-batch")
	}
	return
}

// NewMicroBatch makes a rate-micro-batch source. Errors: INVALID_OPTION, _LEGACY_ERROR_TEMP_2242.
func NewMicroBatch(def sources.Def) (sources.Source, error) {
	if def.Schema != nil {
		return nil, errs.New("_LEGACY_ERROR_TEMP_2242", "provider", "RatePerMicroBatchProvider")
	}
	s := &microBatch{time: true, value: true}
	var err error
	if s.rows, err = atLeast(def.Options, "rowsPerBatch", 0, 1, "must be positive"); err != nil {
		return nil, err
	}
	if s.parts, err = partitions(def); err != nil {
		return nil, err
	}
	if s.start, err = atLeast(def.Options, "startTimestamp", 0, 0, "must be non-negative"); err != nil {
		return nil, err
	}
	if s.advance, err = atLeast(def.Options, "advanceMillisPerBatch", 1000, 0, "must be non-negative"); err != nil {
		return nil, err
	}
	if s.advance > math.MaxInt32 {
		return nil, sources.Invalid("advanceMillisPerBatch", strconv.FormatInt(s.advance, 10), "must fit 32 bits")
	}
	return s, nil
}

func (s *microBatch) Schema() types.Schema { return schema }

func (s *microBatch) InitialOffset(context.Context) (sources.Offset, error) {
	return microOffset{0, s.start}.text(), nil
}

// LatestOffset is one batch behind start; in an AvailableNow run only once.
func (s *microBatch) LatestOffset(ctx context.Context, start sources.Offset, _ sources.ReadLimit) (sources.Offset, error) {
	if start == "" {
		start, _ = s.InitialOffset(ctx)
	}
	if s.now && s.frozen != "" {
		return s.frozen, nil
	}
	o, err := parseMicro(start)
	if err != nil {
		return "", err
	}
	if o.Offset > math.MaxInt64-s.rows {
		return "", errs.New("INTERNAL_ERROR", "message", "rate-micro-batch: the values are used up at "+string(start))
	}
	end := microOffset{o.Offset + s.rows, o.Timestamp + s.advance}.text()
	if s.now {
		s.frozen = end
	}
	return end, nil
}

func (s *microBatch) PrepareAvailableNow(context.Context) error {
	s.now, s.frozen = true, ""
	return nil
}

func (s *microBatch) PlanPartitions(ctx context.Context, start, end sources.Offset) ([]columnar.Partition, error) {
	if start == "" {
		start, _ = s.InitialOffset(ctx)
	}
	a, err := parseMicro(start)
	if err != nil {
		return nil, err
	}
	b, err := parseMicro(end)
	if err != nil || a.Offset == b.Offset {
		return nil, err
	}
	us := a.Timestamp * 1000
	return split(a.Offset, b.Offset, s.parts, s.time, s.value, strconv.FormatInt(us, 10), func(int64) int64 { return us }), nil
}

func (s *microBatch) Prune(columns []int) bool {
	s.time, s.value = needed(columns)
	return true
}

func (s *microBatch) Commit(context.Context, sources.Offset) error { return nil }
func (s *microBatch) Close() error                                 { return nil }

func (s *microBatch) String() string {
	return "RatePerMicroBatchStream[rowsPerBatch=" + strconv.FormatInt(s.rows, 10) + ", numPartitions=" + strconv.Itoa(s.parts) +
		", startTimestamp=" + strconv.FormatInt(s.start, 10) + ", advanceMsPerBatch=" + strconv.FormatInt(s.advance, 10) + "]"
}
