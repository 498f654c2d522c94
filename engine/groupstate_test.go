package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/errs"
	"streamlab/sinks"
)

// handClock is a clock that tests move.
type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	return systemClock{}.Wait(ctx, time.Millisecond, wake)
}

// bench is a session with a memory source and a clock, and a query that is run batch by batch, each run a restart.
type workbench struct {
	t     *testing.T
	s     *Session
	clock *handClock
	dir   string
	mode  string
	rows  []string // of the last run, sorted
	last  *Progress
	err   error
}

func newWorkbench(t *testing.T, ddl, mode string) *workbench {
	t.Helper()
	w := &workbench{t: t, clock: &handClock{time.UnixMilli(1_000_000)}, dir: filepath.Join(t.TempDir(), "chk"), mode: mode}
	s, err := NewSession(Config{Dir: t.TempDir(), Out: io.Discard, Clock: w.clock, Conf: map[string]string{keyDurability: "process", keyPartitions: "2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w.s = s
	s.ReadStream().Format("memory").Schema(ddl).Register("m")
	return w
}

func (w *workbench) stream() *DataFrame {
	df, err := w.s.Table("m")
	if err != nil {
		w.t.Fatal(err)
	}
	return df
}

// run feeds rows, runs df over what is there, and collects what came out.
func (w *workbench) run(df *DataFrame, tr Trigger, rows ...[]any) {
	w.t.Helper()
	if len(rows) > 0 {
		if err := w.s.Feed("m", rows); err != nil {
			w.t.Fatal(err)
		}
	}
	w.rows, w.last = nil, nil
	q, err := df.WriteStream().Trigger(tr).OutputMode(w.mode).Option("checkpointLocation", w.dir).
		EachBatch(func(ctx context.Context, b sinks.Batch) error {
			return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
				for i := range int(rb.NumRows()) {
					var cells []string
					for _, c := range rb.Columns() {
						cells = append(cells, c.ValueStr(i))
					}
					w.rows = append(w.rows, strings.Join(cells, " "))
				}
				return nil
			})
		}).Start(context.Background())
	if err == nil {
		err = q.AwaitTermination(context.Background())
		if p := q.LastProgress(); p != nil {
			w.last = p
		}
	}
	w.err = err
	sort.Strings(w.rows)
}

func (w *workbench) want(rows string, total, updated, removed int64) {
	w.t.Helper()
	if w.err != nil {
		w.t.Fatal(w.err)
	}
	if got := strings.Join(w.rows, ", "); got != rows {
		w.t.Errorf("rows %q, want %q", got, rows)
	}
	o := w.last.StateOperators[0]
	if o.NumRowsTotal != total || o.NumRowsUpdated != updated || o.NumRowsRemoved != removed {
		w.t.Errorf("state total %d updated %d removed %d, want %d %d %d", o.NumRowsTotal, o.NumRowsUpdated, o.NumRowsRemoved, total, updated, removed)
	}
}

type visit struct {
	User string
	Ms   int64
}

type visits struct{ Count int64 }

func TestMapGroupsWithStateCountsOverRestartsAndForgets(t *testing.T) {
	w := newWorkbench(t, "user STRING, ms INT", "update")
	df := MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(user string, rows iter.Seq[visit], s *GroupState[visits]) (visits2, error) {
		v, _ := s.Get()
		end := false
		for r := range rows {
			v.Count++
			end = end || r.Ms < 0
		}
		if end {
			s.Remove()
		} else if err := s.Update(v); err != nil {
			return visits2{}, err
		}
		return visits2{user, v.Count}, nil
	})
	w.run(df, AvailableNow(), []any{"a", 1}, []any{"b", 1}, []any{"a", 2})
	w.want("a 2, b 1", 2, 2, 0)
	w.run(df, AvailableNow(), []any{"a", 1})
	w.want("a 3", 2, 1, 0)
	w.run(df, AvailableNow(), []any{"a", -1}, []any{"c", 1})
	w.want("a 4, c 1", 2, 1, 1)
	w.run(df, AvailableNow(), []any{"a", 1})
	w.want("a 1", 3, 1, 0)
	if o := w.last.StateOperators[0]; o.OperatorName != "flatMapGroupsWithState" || o.NumShufflePartitions != 2 {
		t.Errorf("%+v", o)
	}
}

type visits2 struct {
	User  string `col:"user"`
	Count int64
}

// timeouts emits the rows of a key, and its state when it times out.
func timeouts(w *workbench, c GroupStateConf, set func(s *GroupState[[]int64], ms int64) error) *DataFrame {
	return FlatMapGroupsWithState(w.stream().WithWatermark("ts", "10 seconds").GroupBy("user"), c,
		func(user *string, rows iter.Seq[struct{ V int64 }], s *GroupState[[]int64], emit func(string)) error {
			name := "null"
			if user != nil {
				name = *user
			}
			if s.HasTimedOut() {
				v, _ := s.Get()
				emit(fmt.Sprint(name, " out ", v))
				s.Remove()
				return nil
			}
			v, _ := s.Get()
			last := int64(0)
			for r := range rows {
				v, last = append(v, r.V), r.V
			}
			slices.Sort(v)
			if err := s.Update(v); err != nil {
				return err
			}
			return set(s, last)
		})
}

func TestProcessingTimeTimeoutsFireStrictlyAfterTheirTime(t *testing.T) {
	w := newWorkbench(t, "user STRING, ts TIMESTAMP, v BIGINT", "append")
	df := timeouts(w, GroupStateConf{Timeout: ProcessingTimeTimeout}, func(s *GroupState[[]int64], ms int64) error {
		if ms == 0 {
			return nil // every call clears the timeout
		}
		return s.SetTimeoutDuration(time.Duration(ms) * time.Millisecond)
	})
	w.run(df, AvailableNow(), []any{"a", nil, 100}, []any{nil, nil, 50}, []any{"c", nil, 0})
	w.want("", 3, 3, 0)
	w.clock.now = w.clock.now.Add(50 * time.Millisecond)
	w.run(df, AvailableNow(), []any{"b", nil, 1000})
	w.want("", 4, 1, 0) // 50 is not before 50
	w.clock.now = w.clock.now.Add(51 * time.Millisecond)
	w.run(df, AvailableNow(), []any{"a", nil, 0})
	w.want("null out [50]", 3, 1, 1) // a had rows: its old timeout is gone
	w.clock.now = w.clock.now.Add(time.Hour)
	w.run(df, AvailableNow(), []any{"z", nil, 0})
	w.want("b out [1000]", 3, 1, 1)
}

func TestProcessingTimeTimeoutsRunABatchOfTheirOwn(t *testing.T) {
	w := newWorkbench(t, "user STRING, ts TIMESTAMP, v BIGINT", "append")
	df := timeouts(w, GroupStateConf{Timeout: ProcessingTimeTimeout}, func(s *GroupState[[]int64], ms int64) error {
		return s.SetTimeoutDuration(time.Duration(ms) * time.Millisecond)
	})
	if err := w.s.Feed("m", [][]any{{"a", nil, 5}}); err != nil {
		t.Fatal(err)
	}
	g := make(chan string, 10)
	q, err := df.WriteStream().Option("checkpointLocation", w.dir).EachBatch(func(ctx context.Context, b sinks.Batch) error {
		w.clock.now = w.clock.now.Add(time.Minute)
		return sinks.Each(ctx, b, func(_ int, rb arrow.RecordBatch) error {
			for i := range int(rb.NumRows()) {
				g <- rb.Column(0).ValueStr(i)
			}
			return nil
		})
	}).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := <-g; got != "a out [5]" {
		t.Error(got)
	}
	if err := q.StopAfterBatch(); err != nil || q.Exception() != nil {
		t.Fatal(err, q.Exception())
	}
	if p := q.LastProgress(); p.BatchID != 1 || p.NumInputRows != 0 {
		t.Errorf("batch %d, %d rows", p.BatchID, p.NumInputRows)
	}
}

func TestEventTimeTimeoutsFollowTheWatermark(t *testing.T) {
	w := newWorkbench(t, "user STRING, ts TIMESTAMP, v BIGINT", "append")
	df := timeouts(w, GroupStateConf{Timeout: EventTimeTimeout}, func(s *GroupState[[]int64], ms int64) error {
		if wm, err := s.CurrentWatermarkMs(); err != nil || wm%1000 != 0 {
			return fmt.Errorf("watermark %d, %w", wm, err)
		}
		return s.SetTimeoutTimestamp(ms)
	})
	at := func(sec int) string { return time.Unix(int64(sec), 0).UTC().Format("2006-01-02 15:04:05") }
	w.run(df, AvailableNow(), []any{"a", at(100), 95_000}, []any{"b", at(101), 90_000})
	w.want("b out [90000]", 1, 0, 1) // the batch without data, at 91 s
	w.run(df, AvailableNow(), []any{"c", at(80), 99_000}, []any{"d", at(105), 95_000})
	w.want("", 2, 0, 0)
	if d := w.last.StateOperators[0].NumRowsDroppedByWatermark; d != 0 {
		t.Errorf("the batch without data dropped %d", d)
	}
	w.run(df, AvailableNow(), []any{"e", at(106), 1_000_000})
	w.want("a out [95000], d out [95000]", 1, 0, 2) // 95 s is before 96 s
	w.run(df, AvailableNow(), []any{"f", at(106), 1000})
	if !errs.Has(w.err, "INVALID_TIMEOUT") {
		t.Error(w.err)
	}
}

func TestTimeoutsOfTheWrongKindAreRefused(t *testing.T) {
	for _, c := range []struct {
		timeout GroupStateTimeout
		set     func(s *GroupState[[]int64], ms int64) error
		want    string
	}{
		{NoTimeout, func(s *GroupState[[]int64], ms int64) error { _ = s.SetTimeoutDuration(time.Second); return nil }, "_LEGACY_ERROR_TEMP_2203"},
		{ProcessingTimeTimeout, func(s *GroupState[[]int64], ms int64) error { return s.SetTimeoutTimestamp(1) }, "_LEGACY_ERROR_TEMP_2205"},
		{ProcessingTimeTimeout, func(s *GroupState[[]int64], ms int64) error { return s.SetTimeoutDuration(0) }, "INVALID_TIMEOUT"},
		{NoTimeout, func(s *GroupState[[]int64], ms int64) error { return s.Update(nil) }, "ILLEGAL_STATE_STORE_VALUE.NULL_VALUE"},
		{NoTimeout, func(s *GroupState[[]int64], ms int64) error { return errors.New("no luck") }, "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR"},
		{NoTimeout, func(s *GroupState[[]int64], ms int64) error { panic("no luck") }, "FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR"},
	} {
		w := newWorkbench(t, "user STRING, ts TIMESTAMP, v BIGINT", "append")
		w.run(timeouts(w, GroupStateConf{Timeout: c.timeout}, c.set), AvailableNow(), []any{"a", "1970-01-02 00:00:00", 1})
		if !errs.Has(w.err, c.want) {
			t.Errorf("%v, want %s", w.err, c.want)
		}
	}
}

func TestWhereGroupsWithStateMayStand(t *testing.T) {
	w := newWorkbench(t, "user STRING, ts TIMESTAMP, v BIGINT", "append")
	flat := func(df *DataFrame, mode string, timeout GroupStateTimeout) *DataFrame {
		return FlatMapGroupsWithState(df.GroupBy("user"), GroupStateConf{OutputMode: mode, Timeout: timeout},
			func(k string, rows iter.Seq[struct{ V int64 }], s *GroupState[int64], emit func(struct {
				User string `col:"user"`
				V    int64  `col:"v"`
				Ts   time.Time
			})) error {
				return nil
			})
	}
	mapped := func(df *DataFrame) *DataFrame {
		return MapGroupsWithState(df.GroupBy("user"), GroupStateConf{}, func(k string, rows iter.Seq[struct{ V int64 }], s *GroupState[int64]) (struct {
			User string `col:"user"`
			V    int64  `col:"v"`
		}, error) {
			return struct {
				User string `col:"user"`
				V    int64  `col:"v"`
			}{}, nil
		})
	}
	base := w.stream()
	wm := base.WithWatermark("ts", "1 second")
	agg := func(df *DataFrame) *DataFrame { return df.GroupBy("user").Agg("count(*) AS v") }
	for i, c := range []struct {
		df                       *DataFrame
		append, update, complete string
	}{
		{mapped(base), "_LEGACY_ERROR_TEMP_3102", "", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"},
		{agg(mapped(base)), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "", "_LEGACY_ERROR_TEMP_3102"},
		{mapped(agg(base)), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{flat(base, "append", NoTimeout), "", "_LEGACY_ERROR_TEMP_3102", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"},
		{flat(base, "update", NoTimeout), "_LEGACY_ERROR_TEMP_3102", "", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"},
		{agg(flat(base, "append", NoTimeout)), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "", ""},
		{agg(flat(base, "update", NoTimeout)), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{flat(base, "append", EventTimeTimeout), "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"},
		{flat(wm, "append", EventTimeTimeout), "", "_LEGACY_ERROR_TEMP_3102", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"},
		{agg(flat(wm, "append", EventTimeTimeout)), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{flat(flat(base, "append", NoTimeout), "append", NoTimeout), "", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{flat(mapped(base), "append", NoTimeout), "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{mapped(mapped(base)), "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102", "_LEGACY_ERROR_TEMP_3102"},
		{flat(wm, "append", NoTimeout).WithWatermark("Ts", "1 second").GroupBy("window(Ts, '5 seconds')").Agg("count(*)"), "", "", ""},
	} {
		if c.df.Err() != nil {
			t.Fatal(i, c.df.Err())
		}
		for m, want := range map[string]string{"append": c.append, "update": c.update, "complete": c.complete} {
			err := c.df.WriteStream().Format("console").OutputMode(m).Check()
			if want == "" && err != nil || want != "" && !errs.Has(err, want) {
				t.Errorf("case %d, %s: %v, want %q", i, m, err, want)
			}
		}
	}
}

func TestInitialStateIsThereInTheFirstBatchOnly(t *testing.T) {
	w := newWorkbench(t, "user STRING, ms INT", "update")
	table, err := w.s.InlineTable("user STRING, count BIGINT", [][]any{{"a", 10}, {"q", 7}})
	if err != nil {
		t.Fatal(err)
	}
	initial, err := w.s.over("start", table)
	if err != nil {
		t.Fatal(err)
	}
	df := MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{InitialState: initial.GroupBy("user")},
		func(user string, rows iter.Seq[visit], s *GroupState[visits]) (visits2, error) {
			v, _ := s.Get()
			for range rows {
				v.Count++
			}
			return visits2{user, v.Count}, s.Update(v)
		})
	w.run(df, AvailableNow(), []any{"a", 1})
	w.want("a 11, q 7", 2, 2, 0)
	w.run(df, AvailableNow(), []any{"q", 1})
	w.want("q 8", 2, 1, 0)
}

func TestGoTypesMustFitTheColumns(t *testing.T) {
	w := newWorkbench(t, "user STRING, ms BIGINT", "update")
	type narrow struct{ Ms int32 }
	type missing struct{ Msec int64 }
	for want, df := range map[string]*DataFrame{
		"CANNOT_UP_CAST_DATATYPE":           MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(string, iter.Seq[narrow], *GroupState[int64]) (int64, error) { return 0, nil }),
		"UNRESOLVED_COLUMN.WITH_SUGGESTION": MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(string, iter.Seq[missing], *GroupState[int64]) (int64, error) { return 0, nil }),
		"GROUP_KEYS_DO_NOT_FIT":             MapGroupsWithState(w.stream().GroupBy("user", "ms"), GroupStateConf{}, func(string, iter.Seq[visit], *GroupState[int64]) (int64, error) { return 0, nil }),
		"UNSUPPORTED_GO_TYPE":               MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(string, iter.Seq[visit], *GroupState[chan int]) (int64, error) { return 0, nil }),
	} {
		if !errs.Has(df.Err(), want) {
			t.Errorf("%v, want %s", df.Err(), want)
		}
	}
	df := MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(string, iter.Seq[visit], *GroupState[int64]) (int64, error) { return 0, nil })
	w.run(df, AvailableNow(), []any{nil, 1})
	if !errs.Has(w.err, "NOT_NULL_ASSERT_VIOLATION") {
		t.Error(w.err)
	}
}

func TestStateOfAnotherTypeIsRefused(t *testing.T) {
	w := newWorkbench(t, "user STRING, ms BIGINT", "update")
	w.run(MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(_ string, _ iter.Seq[visit], s *GroupState[int64]) (int64, error) {
		return 0, s.Update(1)
	}), AvailableNow(), []any{"a", 1})
	w.want("0", 1, 1, 0)
	w.run(MapGroupsWithState(w.stream().GroupBy("user"), GroupStateConf{}, func(_ string, _ iter.Seq[visit], s *GroupState[string]) (int64, error) {
		return 0, s.Update("x")
	}), AvailableNow(), []any{"a", 1})
	if !errs.Has(w.err, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE") {
		t.Error(w.err)
	}
}

func TestAStaticDataFrameCallsTheFunctionOncePerKey(t *testing.T) {
	w := newWorkbench(t, "user STRING", "append")
	table, err := w.s.InlineTable("user STRING, ms BIGINT", [][]any{{"a", 1}, {"b", 2}, {"a", 3}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.s.over("fixed", table)
	if err != nil {
		t.Fatal(err)
	}
	df := MapGroupsWithState(in.GroupBy("user"), GroupStateConf{}, func(k string, rows iter.Seq[visit], s *GroupState[int64]) (visits2, error) {
		n := int64(0)
		for r := range rows {
			n += r.Ms
		}
		if s.Exists() {
			return visits2{}, errors.New("a batch query has no state")
		}
		return visits2{k, n}, s.Update(n)
	})
	rbs, _, err := df.Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rb := range rbs {
		for i := range int(rb.NumRows()) {
			got = append(got, rb.Column(0).ValueStr(i)+rb.Column(1).ValueStr(i))
		}
	}
	if s := strings.Join(got, " "); s != "a4 b2" {
		t.Error(s)
	}
}
