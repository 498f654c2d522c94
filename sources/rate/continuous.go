package rate

import (
	"context"
	"encoding/json"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sources"
)

// A spot is how far one partition of a continuous run is: its last value, and the time of that row in ms.
// The offset of such a run lists them by partition, {"0":{"value":4,"runTimeMs":…},…}, as Spark's does; partition p of n
// makes the values p, p+n, p+2n, … and stands at p-n before the first.
type spot struct {
	Value     int64 `json:"value"`
	RunTimeMs int64 `json:"runTimeMs"`
}

func isSpots(o sources.Offset) bool { return strings.HasPrefix(string(o), "{") }

func parseSpots(o sources.Offset) ([]spot, error) {
	var m map[string]spot
	bad := func() error { return errs.New("OFFSET_FORM", "offset", o, "source", "rate") }
	if json.Unmarshal([]byte(o), &m) != nil || len(m) == 0 {
		return nil, bad()
	}
	out := make([]spot, len(m))
	for k, v := range m {
		n, err := strconv.Atoi(k)
		if err != nil || n < 0 || n >= len(out) {
			return nil, bad()
		}
		out[n] = v
	}
	return out, nil
}

func formatSpots(list []spot) sources.Offset {
	keys := make([]string, len(list))
	at := map[string]spot{}
	for i, s := range list {
		keys[i] = strconv.Itoa(i)
		at[keys[i]] = s
	}
	sort.Strings(keys)
	var b strings.Builder
	for i, k := range keys {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(`"` + k + `":{"value":` + strconv.FormatInt(at[k].Value, 10) + `,"runTimeMs":` + strconv.FormatInt(at[k].RunTimeMs, 10) + "}")
	}
	return sources.Offset(b.String() + "}")
}

// spots gives the places of an offset of either form: whole seconds have made a known number of rows.
func (s *source) spots(o sources.Offset) ([]spot, error) {
	if isSpots(o) {
		list, err := parseSpots(o)
		if err == nil && len(list) != s.parts {
			err = errs.New("INCORRECT_NUMBER_OF_PARTITIONS", "stored", len(list), "current", s.parts)
		}
		return list, err
	}
	sec := int64(0)
	if o != "" {
		var err error
		if sec, err = parse(o); err != nil {
			return nil, err
		}
	}
	made, n := s.opts.valueAt(sec), int64(s.parts)
	list := make([]spot, s.parts)
	for p := range list {
		// the last value below made that is p modulo n
		last := int64(p) - n
		if made > int64(p) {
			last += ((made-1-int64(p))/n + 1) * n
		}
		list[p] = spot{last, s.created + sec*1000}
	}
	return list, nil
}

// timeOf is the time in ms of the k-th row (from 1) behind a spot. The ramp is not heeded, as in Spark.
func (s *source) timeOf(from spot, k int64) int64 {
	return from.RunTimeMs + int64(math.Floor(float64(k)*1000*float64(s.parts)/float64(s.opts.rps)))
}

// due is how many rows behind a spot are there at a time.
func (s *source) due(from spot, now int64) int64 {
	k := int64(float64(now-from.RunTimeMs) * float64(s.opts.rps) / 1000 / float64(s.parts))
	for k = max(k-1, 0); s.timeOf(from, k+1) <= now; {
		k++
	}
	return k
}

// advance gives the spots of now.
func (s *source) advance(list []spot, now int64) []spot {
	out := make([]spot, len(list))
	for p, at := range list {
		out[p] = at
		if k := s.due(at, now); k > 0 {
			out[p] = spot{at.Value + k*int64(s.parts), s.timeOf(at, k)}
		}
	}
	return out
}

// spotRange is the rows of one partition between two spots.
func (s *source) spotRange(p int, from spot, rows int64) columnar.Partition {
	n := int64(s.parts)
	return &part{first: from.Value + n, end: from.Value + rows*n + 1, stride: n, time: s.needTime, value: s.needVal,
		at: func(v int64) int64 { return s.timeOf(from, (v-from.Value)/n) * 1000 }}
}

func (s *source) planSpots(start, end sources.Offset) ([]columnar.Partition, error) {
	a, err := s.spots(start)
	if err != nil {
		return nil, err
	}
	b, err := s.spots(end)
	if err != nil {
		return nil, err
	}
	var out []columnar.Partition
	for p := range a {
		if rows := (b[p].Value - a[p].Value) / int64(s.parts); rows > 0 {
			out = append(out, s.spotRange(p, a[p], rows))
		}
	}
	return out, nil
}

// Readers makes one reader per partition. Values go on where start ends, and so does their time.
func (s *source) Readers(_ context.Context, start sources.Offset) ([]sources.Reader, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	list, err := s.spots(start)
	if err != nil {
		return nil, err
	}
	out := make([]sources.Reader, len(list))
	for p, at := range list {
		out[p] = &reader{s: s, part: p, at: at}
	}
	return out, nil
}

// Merge lists the places by partition.
func (s *source) Merge(places []sources.Place) (sources.Offset, error) {
	list := make([]spot, len(places))
	for i, p := range places {
		if err := json.Unmarshal([]byte(p), &list[i]); err != nil {
			return "", err
		}
	}
	return formatSpots(list), nil
}

// Repartitioned is false: the number of partitions is an option.
func (s *source) Repartitioned(context.Context) (bool, error) { return false, nil }

type reader struct {
	s    *source
	part int
	at   spot
}

func (r *reader) place() sources.Place {
	raw, _ := json.Marshal(r.at)
	return sources.Place(raw)
}

func (r *reader) Start() sources.Place { return r.place() }

func (r *reader) Close() error { return nil }

// Next waits for the time of the next row and gives all rows whose time has come.
func (r *reader) Next(ctx context.Context) (arrow.RecordBatch, sources.Place, error) {
	for {
		now := r.s.now().UnixMilli()
		if k := min(r.s.due(r.at, now), columnar.MaxBatch); k > 0 {
			rows := r.s.spotRange(r.part, r.at, k)
			r.at = spot{r.at.Value + k*int64(r.s.parts), r.s.timeOf(r.at, k)}
			for rb, err := range rows.Rows(ctx) {
				return rb, r.place(), err
			}
			return nil, "", ctx.Err() // not reached: the range has rows
		}
		t := time.NewTimer(time.Duration(r.s.timeOf(r.at, 1)-now) * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, "", ctx.Err()
		}
	}
}
