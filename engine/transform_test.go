package engine

import (
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/store"
)

// tape is a processor made of functions.
type tape struct {
	init  func(h *StatefulProcessorHandle) error
	rows  func(key string, rows []int64, t TimerValues, emit func(string)) error
	timer func(key string, t TimerValues, at int64, emit func(string)) error
	h     *StatefulProcessorHandle
}

func (p *tape) Init(h *StatefulProcessorHandle, _ sinks.OutputMode, _ TimeMode) error {
	p.h = h
	return p.init(h)
}

func (p *tape) HandleInputRows(key string, rows iter.Seq[struct{ V int64 }], t TimerValues, emit func(string)) error {
	var list []int64
	for r := range rows {
		list = append(list, r.V)
	}
	return p.rows(key, list, t, emit)
}

func (p *tape) HandleExpiredTimer(key string, t TimerValues, e ExpiredTimerInfo, emit func(string)) error {
	if p.timer == nil {
		return nil
	}
	return p.timer(key, t, e.ExpiryTimeMs(), emit)
}

func transformed(w *workbench, c TransformConf, p *tape) *DataFrame {
	return TransformWithState[string, struct{ V int64 }, string](w.stream().WithWatermark("ts", "10 seconds").GroupBy("user"), c, p)
}

const tapeDDL = "user STRING, ts TIMESTAMP, v BIGINT"

func TestVariablesOfAllKindsOverRestarts(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	var sum *ValueState[int64]
	var all *ListState[int64]
	var by *MapState[int64, string]
	p := &tape{init: func(h *StatefulProcessorHandle) (err error) {
		sum, _ = GetValueState[int64](h, "sum")
		all, _ = GetListState[int64](h, "all")
		by, err = GetMapState[int64, string](h, "by")
		return err
	}, rows: func(key string, rows []int64, _ TimerValues, emit func(string)) error {
		for _, v := range rows {
			if v < 0 {
				_ = sum.Clear()
				_ = all.Clear()
				return by.Clear()
			}
			n, _, _ := sum.Get()
			_ = sum.Update(n + v)
			_ = all.AppendValue(v)
			if has, _ := by.ContainsKey(v); !has {
				_ = by.UpdateValue(v, key)
			} else {
				_ = by.RemoveKey(v)
			}
		}
		n, _, _ := sum.Get()
		list, _ := all.Get()
		emit(fmt.Sprint(key, n, list, by.Keys(), by.Values()))
		return nil
	}}
	df := transformed(w, TransformConf{}, p)
	w.run(df, AvailableNow(), []any{"a", nil, 3}, []any{"a", nil, 4}, []any{"b", nil, 1})
	w.want("a7 [3 4] [3 4] [a a], b1 [1] [1] [b]", 5+3, 6+3, 0)
	w.run(df, AvailableNow(), []any{"a", nil, 3})
	w.want("a10 [3 4 3] [4] [a]", 5+3, 2, 1)
	w.run(df, AvailableNow(), []any{"a", nil, -1})
	w.want("", 3, 0, 5)
	m := w.last.StateOperators[0].CustomMetrics
	if m["numValueStateVars"] != 2 || m["numListStateVars"] != 2 || m["numMapStateVars"] != 2 || w.last.StateOperators[0].OperatorName != "transformWithStateExec" {
		t.Errorf("%v", m)
	}
	// a list that is put anew, and one variable less
	p.init = func(h *StatefulProcessorHandle) (err error) {
		_ = h.DeleteIfExists("by")
		all, err = GetListState[int64](h, "all")
		return err
	}
	p.rows = func(key string, rows []int64, _ TimerValues, emit func(string)) error {
		_ = all.Put(append(rows, 9))
		list, err := all.Get()
		emit(fmt.Sprint(key, list))
		return err
	}
	w.run(df, AvailableNow(), []any{"b", nil, 5})
	w.want("b[5 9]", 3, 2, 0)
	p.init = func(h *StatefulProcessorHandle) error {
		_, err := GetValueState[int64](h, "all")
		return err
	}
	w.run(df, AvailableNow(), []any{"b", nil, 5})
	if !errs.Has(w.err, "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE") {
		t.Error(w.err)
	}
	p.init = func(h *StatefulProcessorHandle) error {
		_, err := GetListState[string](h, "all")
		return err
	}
	w.run(df, AvailableNow(), []any{"b", nil, 5})
	if !errs.Has(w.err, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE") {
		t.Error(w.err)
	}
}

func TestTimersFireInOrderAtTheirTime(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	p := &tape{init: func(h *StatefulProcessorHandle) error { return nil }}
	p.rows = func(key string, rows []int64, c TimerValues, emit func(string)) error {
		for _, v := range rows {
			if v < 0 {
				_ = p.h.DeleteTimer(c.CurrentProcessingTimeMs())
				continue
			}
			_ = p.h.RegisterTimer(1_000_000 + v)
			_ = p.h.RegisterTimer(1_000_000 + v) // a set: nothing happens
		}
		return nil
	}
	p.timer = func(key string, c TimerValues, at int64, emit func(string)) error {
		list, err := p.h.ListTimers()
		emit(fmt.Sprint(key, at-1_000_000, len(list)))
		if at == 1_000_020 {
			_ = p.h.RegisterTimer(1_000_001) // in the past: a later batch
		}
		return err
	}
	df := transformed(w, TransformConf{TimeMode: TimeModeProcessingTime}, p)
	w.run(df, AvailableNow(), []any{"a", nil, 10}, []any{"b", nil, 20}, []any{"a", nil, 30}, []any{"c", nil, 0})
	w.want("c0 1", 0, 0, 0) // not after: at
	w.clock.now = w.clock.now.Add(20 * time.Millisecond)
	w.run(df, AvailableNow(), []any{"c", nil, 90})
	w.want("a10 2, b20 1", 0, 0, 0)
	if m := w.last.StateOperators[0].CustomMetrics; m["numExpiredTimers"] != 2 || m["numDeletedTimers"] != 2 || m["numRegisteredTimers"] != 2 {
		t.Errorf("%v", m)
	}
	w.clock.now = w.clock.now.Add(10 * time.Millisecond)
	w.run(df, AvailableNow(), []any{"a", nil, -1}) // a's timer of now
	w.want("b1 1", 0, 0, 0)
}

func TestEventTimersFollowTheWatermarkAndLateRowsGo(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	p := &tape{init: func(h *StatefulProcessorHandle) error { return nil }}
	p.rows = func(key string, rows []int64, c TimerValues, emit func(string)) error {
		emit(fmt.Sprint(key, rows))
		return p.h.RegisterTimer(rows[0] * 1000)
	}
	p.timer = func(key string, c TimerValues, at int64, emit func(string)) error {
		emit(fmt.Sprint(key, " at ", at/1000, " of ", c.CurrentWatermarkMs()/1000))
		return nil
	}
	df := transformed(w, TransformConf{TimeMode: TimeModeEventTime}, p)
	at := func(sec int) string { return time.Unix(int64(sec), 0).UTC().Format("2006-01-02 15:04:05") }
	w.run(df, AvailableNow(), []any{"a", at(100), 90}, []any{"b", at(100), 91})
	w.want("a at 90 of 90, a[90], b[91]", 0, 0, 0)
	w.run(df, AvailableNow(), []any{"c", at(90), 1}, []any{"d", at(102), 200})
	w.want("b at 91 of 92, d[200]", 0, 0, 0)
}

func TestValuesGoWhenTheirTimeToLiveIsOver(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	var v *ValueState[int64]
	var l *ListState[int64]
	var m *MapState[string, int64]
	p := &tape{init: func(h *StatefulProcessorHandle) (err error) {
		v, _ = GetValueState[int64](h, "v", 10*time.Millisecond)
		l, _ = GetListState[int64](h, "l", 20*time.Millisecond)
		m, err = GetMapState[string, int64](h, "m", 30*time.Millisecond)
		return err
	}, rows: func(key string, rows []int64, _ TimerValues, emit func(string)) error {
		one, ok, _ := v.Get()
		list, _ := l.Get()
		emit(fmt.Sprint(one, ok, list, m.Keys()))
		if rows[0] == 0 {
			return nil
		}
		_ = v.Update(rows[0])
		_ = l.AppendValue(rows[0])
		return m.UpdateValue(fmt.Sprint("k", rows[0]), rows[0])
	}}
	df := transformed(w, TransformConf{TimeMode: TimeModeProcessingTime}, p)
	w.run(df, AvailableNow(), []any{"a", nil, 1})
	w.want("0 false [] []", 3, 3, 0)
	w.clock.now = w.clock.now.Add(9 * time.Millisecond)
	w.run(df, AvailableNow(), []any{"a", nil, 2})
	w.want("1 true [1] [k1]", 5, 3, 0)
	w.clock.now = w.clock.now.Add(10 * time.Millisecond) // 19: the value of 2 is over, exactly
	w.run(df, AvailableNow(), []any{"a", nil, 0})
	w.want("0 false [1 2] [k1 k2]", 4, 0, 1)
	w.clock.now = w.clock.now.Add(time.Millisecond)
	w.run(df, AvailableNow(), []any{"a", nil, 0})
	w.want("0 false [2] [k1 k2]", 3, 0, 1)
	w.clock.now = w.clock.now.Add(time.Hour)
	w.run(df, AvailableNow(), []any{"b", nil, 0})
	w.want("0 false [] []", 0, 0, 3)
	if n := w.last.StateOperators[0].CustomMetrics["numValuesRemovedDueToTTLExpiry"]; n != 3 {
		t.Error(n)
	}
}

func TestWhatTheHandleRefuses(t *testing.T) {
	none := func(h *StatefulProcessorHandle) error { return nil }
	for want, c := range map[string]struct {
		conf TransformConf
		p    tape
	}{
		"STATEFUL_PROCESSOR_DUPLICATE_STATE_VARIABLE_DEFINED": {TransformConf{}, tape{init: func(h *StatefulProcessorHandle) error {
			_, _ = GetValueState[int64](h, "v")
			_, _ = GetListState[int64](h, "v") // kept although not looked at
			return nil
		}}},
		"STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL": {TransformConf{TimeMode: TimeModeEventTime}, tape{init: func(h *StatefulProcessorHandle) error {
			_, err := GetValueState[int64](h, "v", time.Second)
			return err
		}}},
		"STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE": {TransformConf{TimeMode: TimeModeProcessingTime}, tape{init: func(h *StatefulProcessorHandle) error {
			_, err := GetValueState[int64](h, "v", -time.Second)
			return err
		}}},
		"STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE": {TransformConf{}, tape{init: none,
			rows: func(string, []int64, TimerValues, func(string)) error { return nil }}},
		"STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE": {TransformConf{}, tape{init: none,
			rows: func(string, []int64, TimerValues, func(string)) error { return nil }}},
		"TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR": {TransformConf{}, tape{init: none,
			rows: func(string, []int64, TimerValues, func(string)) error { return errors.New("no luck") }}},
		"ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE": {TransformConf{}, tape{init: none}},
	} {
		w := newWorkbench(t, tapeDDL, "append")
		p := &c.p
		switch want {
		case "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE":
			p.rows = func(string, []int64, TimerValues, func(string)) error { return p.h.RegisterTimer(1) }
		case "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE":
			p.rows = func(string, []int64, TimerValues, func(string)) error {
				_, err := GetValueState[int64](p.h, "late")
				return err
			}
		case "ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE":
			var l *ListState[int64]
			p.init = func(h *StatefulProcessorHandle) (err error) { l, err = GetListState[int64](h, "l"); return err }
			p.rows = func(string, []int64, TimerValues, func(string)) error { return l.Put(nil) }
		}
		w.run(transformed(w, c.conf, p), AvailableNow(), []any{"a", nil, 1})
		if !errs.Has(w.err, want) {
			t.Errorf("%v, want %s", w.err, want)
		}
	}
}

// stamped is a row with an event time of the processor's making.
type stamped struct {
	User string    `col:"user"`
	At   time.Time `col:"at"`
}

type stamper struct{ back time.Duration }

func (stamper) Init(*StatefulProcessorHandle, sinks.OutputMode, TimeMode) error { return nil }

func (s stamper) HandleInputRows(key string, rows iter.Seq[struct{ Ts time.Time }], t TimerValues, emit func(stamped)) error {
	for r := range rows {
		emit(stamped{key, r.Ts.Add(-s.back)})
	}
	return nil
}

func TestAnOutputEventTimeFeedsAnAggregationAbove(t *testing.T) {
	at := func(sec int) string { return time.Unix(int64(sec), 0).UTC().Format("2006-01-02 15:04:05") }
	chain := func(w *workbench, back time.Duration) *DataFrame {
		return TransformWithState[string, struct{ Ts time.Time }, stamped](w.stream().WithWatermark("ts", "10 seconds").GroupBy("user"),
			TransformConf{TimeMode: TimeModeEventTime, EventTimeColumn: "at"}, stamper{back}).
			GroupBy("window(at, '5 seconds')").Agg("count(*) AS n").SelectExpr("cast(unix_timestamp(window.start) as string) as s", "n")
	}
	w := newWorkbench(t, tapeDDL, "append")
	w.run(chain(w, 0), AvailableNow(), []any{"a", at(100), 0}, []any{"b", at(101), 0}, []any{"b", at(106), 0})
	if w.err != nil || len(w.rows) != 0 {
		t.Fatal(w.rows, w.err)
	}
	w.run(chain(w, 0), AvailableNow(), []any{"a", at(120), 0})
	if got := fmt.Sprint(w.rows); w.err != nil || got != "[100 2 105 1]" {
		t.Error(got, w.err)
	}
	w.run(chain(w, time.Minute), AvailableNow(), []any{"a", at(125), 0})
	if !errs.Has(w.err, "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED") {
		t.Error(w.err)
	}
	none := TransformWithState[string, struct{ Ts time.Time }, stamped](w.stream().GroupBy("user"), TransformConf{EventTimeColumn: "at"}, stamper{})
	if !errs.Has(none.Err(), "CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK") {
		t.Error(none.Err())
	}
	wrong := TransformWithState[string, struct{ Ts time.Time }, stamped](w.stream().WithWatermark("ts", "1 second").GroupBy("user"), TransformConf{EventTimeColumn: "nope"}, stamper{})
	if !errs.Has(wrong.Err(), "UNRESOLVED_COLUMN.WITH_SUGGESTION") {
		t.Error(wrong.Err())
	}
}

// starter begins with counts from elsewhere.
type starter struct{ n *ValueState[int64] }

func (s *starter) Init(h *StatefulProcessorHandle, _ sinks.OutputMode, _ TimeMode) (err error) {
	s.n, err = GetValueState[int64](h, "n")
	return err
}

func (s *starter) HandleInitialState(key string, first visits, _ TimerValues) error {
	n, _, _ := s.n.Get()
	return s.n.Update(n + first.Count)
}

func (s *starter) HandleInputRows(key string, rows iter.Seq[struct{ V int64 }], _ TimerValues, emit func(string)) error {
	n, _, _ := s.n.Get()
	for range rows {
		n++
	}
	emit(fmt.Sprint(key, n))
	return s.n.Update(n)
}

func TestInitialStateOfAProcessorMayHaveSeveralRowsPerKey(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	table, err := w.s.InlineTable("user STRING, count BIGINT", [][]any{{"a", 10}, {"a", 5}, {"q", 7}})
	if err != nil {
		t.Fatal(err)
	}
	initial, err := w.s.over("start", table)
	if err != nil {
		t.Fatal(err)
	}
	df := TransformWithInitialState[string, struct{ V int64 }, string, visits](w.stream().GroupBy("user"), TransformConf{}, initial.GroupBy("user"), &starter{})
	w.run(df, AvailableNow(), []any{"a", nil, 1})
	w.want("a16", 2, 4, 0)
	w.run(df, AvailableNow(), []any{"q", nil, 1}, []any{"a", nil, 1})
	w.want("a17, q8", 2, 2, 0)
}

func TestStateOfGoCodeCanBeLookedAt(t *testing.T) {
	w := newWorkbench(t, tapeDDL, "append")
	df := TransformWithInitialState[string, struct{ V int64 }, string, visits](w.stream().GroupBy("user"), TransformConf{}, emptyVisits(w), &starter{})
	w.run(df, AvailableNow(), []any{"a", nil, 1}, []any{"b", nil, 1}, []any{"b", nil, 1})
	c, err := store.Open(w.dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := c.At(0)
	defer v.Close()
	rbs, schema, err := df.WriteStream().StateTable(v, 0, "n")
	if err != nil || len(rbs) != 1 || rbs[0].NumRows() != 2 {
		t.Fatal(rbs, err)
	}
	if got := schema.Simple() + rbs[0].Column(0).ValueStr(1) + rbs[0].Column(1).ValueStr(1); got != `struct<key:struct<user:string>,value:struct<value:bigint>>{"user":"b"}{"value":2}` {
		t.Error(got)
	}
}

func emptyVisits(w *workbench) *GroupedData {
	table, err := w.s.InlineTable("user STRING, count BIGINT", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	df, err := w.s.over("none", table)
	if err != nil {
		w.t.Fatal(err)
	}
	return df.GroupBy("user")
}
