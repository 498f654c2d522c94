package engine

import (
	"iter"
	"strings"
	"time"

	"streamlab/engine/exec"
	"streamlab/errs"
	"streamlab/internal/safego"
	"streamlab/sinks"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// TimeMode is the clock of a stateful processor's timers.
type TimeMode = plan.Timing

// The clocks of timers.
const (
	TimeModeNone           TimeMode = plan.NoTime
	TimeModeProcessingTime TimeMode = plan.ProcessingTime
	TimeModeEventTime      TimeMode = plan.EventTime
)

// A StatefulProcessor is the code of TransformWithState. All that it remembers from one micro-batch to the
// next must be in variables that Init gets from the handle: Init is called at the start of every micro-batch,
// then HandleInputRows for every key with rows. One goroutine makes all calls. An error ends the query:
// TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR.
type StatefulProcessor[K, V, U any] interface {
	Init(h *StatefulProcessorHandle, mode sinks.OutputMode, t TimeMode) error
	HandleInputRows(key K, rows iter.Seq[V], timers TimerValues, emit func(U)) error
}

// ExpiredTimerHandler is implemented by processors with timers. Calls come after those for input, in the
// order of time. The timer is still listed during the call and deleted after it.
type ExpiredTimerHandler[K, U any] interface {
	HandleExpiredTimer(key K, timers TimerValues, expired ExpiredTimerInfo, emit func(U)) error
}

// InitialStateHandler is implemented by processors that begin with state: a call per row, in the first
// micro-batch only, before all others.
type InitialStateHandler[K, I any] interface {
	HandleInitialState(key K, initial I, timers TimerValues) error
}

// ProcessorCloser is implemented by processors that want to know the end of each micro-batch.
type ProcessorCloser interface{ Close() error }

// TimerValues are the clocks of a micro-batch, in milliseconds since 1970.
type TimerValues struct{ h *exec.Handle }

// CurrentProcessingTimeMs is the time of the micro-batch: the same in a re-run.
func (t TimerValues) CurrentProcessingTimeMs() int64 { return t.h.NowMs() }

// CurrentWatermarkMs is the watermark; 0 before there is one.
func (t TimerValues) CurrentWatermarkMs() int64 { return t.h.WatermarkMs() }

// ExpiredTimerInfo is the timer that a call is for.
type ExpiredTimerInfo struct{ expiryMs int64 }

// ExpiryTimeMs is the time that the timer was registered for.
func (e ExpiredTimerInfo) ExpiryTimeMs() int64 { return e.expiryMs }

// TransformConf says how TransformWithState works. The zero value has no timers and output mode append.
type TransformConf struct {
	TimeMode   TimeMode
	OutputMode string // passed to Init: append, update or complete
	// EventTimeColumn makes a field of U the event time of the output; with TimeModeEventTime. Rows behind the
	// watermark then end the query: EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED.
	EventTimeColumn string
}

// TransformWithState runs a processor over groups: Spark's transformWithState. The types K, V and U are as
// for MapGroupsWithState. Errors come from the call that ends the chain:
// CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK and what the types do not fit.
func TransformWithState[K, V, U any](g *GroupedData, c TransformConf, p StatefulProcessor[K, V, U]) *DataFrame {
	return transform[K, V, U, struct{}](g, c, p, nil, nil)
}

// TransformWithInitialState is TransformWithState whose processor gets the rows of a static DataFrame, grouped by the
// same keys, before the first micro-batch.
func TransformWithInitialState[K, V, U, I any](g *GroupedData, c TransformConf, initial *GroupedData, p interface {
	StatefulProcessor[K, V, U]
	InitialStateHandler[K, I]
}) *DataFrame {
	return transform[K, V, U, I](g, c, p, initial, p)
}

func transform[K, V, U, I any](g *GroupedData, c TransformConf, p StatefulProcessor[K, V, U], initial *GroupedData, start InitialStateHandler[K, I]) *DataFrame {
	fail := func(err error) *DataFrame { return &DataFrame{s: g.d.s, err: err} }
	b, err := newGroupCodecs[K, V, U](g)
	if err != nil {
		return fail(err)
	}
	mode := sinks.OutputMode(strings.ToLower(c.OutputMode))
	switch mode {
	case "":
		mode = sinks.Append
	case sinks.Append, sinks.Update, sinks.Complete:
	default:
		return fail(errs.New("STREAMING_OUTPUT_MODE.INVALID", "outputMode", c.OutputMode))
	}
	t := &processor[K, V, U, I]{p: p, start: start, codecs: b}
	node := &plan.MapGroups{Child: b.child, Keys: b.keys, Values: b.values, Kind: plan.TransformKind, Mode: string(mode), Time: c.TimeMode,
		Code: &exec.Groups{Processor: t}, Out: b.out.schema}
	if initial != nil {
		if t.initial, err = goRowOf[I](); err != nil {
			return fail(err)
		}
		row := types.StructOf(t.initial.schema...)
		if t.initial.scalar {
			row = t.initial.schema[0].Type
		}
		if node.Initial, err = b.initialState(initial, row, false); err != nil {
			return fail(err)
		}
	}
	if c.EventTimeColumn != "" {
		if err := node.AssignEventTime(c.EventTimeColumn); err != nil {
			return fail(err)
		}
	}
	return g.d.with(func(plan.Node) (plan.Node, error) { return node, nil })
}

// processor is a StatefulProcessor as the executor calls it.
type processor[K, V, U, I any] struct {
	p       StatefulProcessor[K, V, U]
	start   InitialStateHandler[K, I]
	codecs  *groupCodecs[K, V, U]
	initial *goRow[I]
	handle  *StatefulProcessorHandle
}

func (t *processor[K, V, U, I]) call(function string, f func() error) error {
	err := safego.Call(function, f)
	if t.handle != nil {
		err = firstOf(t.handle.err, err)
	}
	if err == nil {
		return nil
	}
	return userError(err, "TRANSFORM_WITH_STATE_USER_FUNCTION_ERROR", "function", function)
}

func (t *processor[K, V, U, I]) Init(h *exec.Handle) error {
	t.handle = &StatefulProcessorHandle{h: h}
	return t.call("init", func() error { return t.p.Init(t.handle, sinks.OutputMode(h.Mode()), h.TimeMode()) })
}

func (t *processor[K, V, U, I]) Initial(h *exec.Handle, key, row []byte) error {
	k, err := t.codecs.key.decode(key)
	if err != nil {
		return err
	}
	v, err := t.initial.decode(row)
	if err != nil {
		return err
	}
	return t.call("handleInitialState", func() error { return t.start.HandleInitialState(k, v, TimerValues{h}) })
}

func (t *processor[K, V, U, I]) Rows(h *exec.Handle, key []byte, rows iter.Seq[[]byte], emit func([]byte)) error {
	k, err := t.codecs.key.decode(key)
	if err != nil {
		return err
	}
	in := &decoded[V]{from: rows, codec: t.codecs.in}
	return firstOf(t.call("handleInputRows", func() error {
		return t.p.HandleInputRows(k, in.all, TimerValues{h}, t.codecs.emitter(emit))
	}), in.err)
}

func (t *processor[K, V, U, I]) Expired(h *exec.Handle, key []byte, expiryMs int64, emit func([]byte)) error {
	x, ok := t.p.(ExpiredTimerHandler[K, U])
	if !ok {
		return nil
	}
	k, err := t.codecs.key.decode(key)
	if err != nil {
		return err
	}
	return t.call("handleExpiredTimer", func() error {
		return x.HandleExpiredTimer(k, TimerValues{h}, ExpiredTimerInfo{expiryMs}, t.codecs.emitter(emit))
	})
}

func (t *processor[K, V, U, I]) Close(*exec.Handle) error {
	c, ok := t.p.(ProcessorCloser)
	if !ok {
		return nil
	}
	return t.call("close", c.Close)
}

// StatefulProcessorHandle gives a processor its variables and timers. It keeps the first error of what is
// done through it, which ends the query even where it is not looked at.
type StatefulProcessorHandle struct {
	h   *exec.Handle
	err error
}

func (h *StatefulProcessorHandle) keep(err error) error {
	if h.err == nil {
		h.err = err
	}
	return err
}

// RegisterTimer asks for HandleExpiredTimer for the current key when the clock is at ms or past it.
func (h *StatefulProcessorHandle) RegisterTimer(ms int64) error { return h.keep(h.h.RegisterTimer(ms)) }

// DeleteTimer takes a timer of the current key away; it need not be there.
func (h *StatefulProcessorHandle) DeleteTimer(ms int64) error { return h.keep(h.h.DeleteTimer(ms)) }

// ListTimers gives the current key's timers, earliest first.
func (h *StatefulProcessorHandle) ListTimers() ([]int64, error) {
	list, err := h.h.ListTimers()
	return list, h.keep(err)
}

// DeleteIfExists forgets a variable of an earlier version of the processor, with all its values. Only Init may.
func (h *StatefulProcessorHandle) DeleteIfExists(name string) error { return h.keep(h.h.Delete(name)) }

// GetValueState declares a variable of one value per key. Only Init may. ttl, if given and not 0, is how long
// a value lives after it was written; it needs TimeModeProcessingTime.
func GetValueState[S any](h *StatefulProcessorHandle, name string, ttl ...time.Duration) (*ValueState[S], error) {
	c, err := goValueOf[S]()
	if err != nil {
		return nil, h.keep(err)
	}
	v, err := h.h.Variable(exec.ValueVariable, name, types.DataType{}, c.g.t, ttlMs(ttl))
	return &ValueState[S]{h, v, c}, h.keep(err)
}

// GetListState declares a variable of a list per key; ttl counts for each element. See GetValueState.
func GetListState[S any](h *StatefulProcessorHandle, name string, ttl ...time.Duration) (*ListState[S], error) {
	c, err := goValueOf[S]()
	if err != nil {
		return nil, h.keep(err)
	}
	v, err := h.h.Variable(exec.ListVariable, name, types.DataType{}, c.g.t, ttlMs(ttl))
	return &ListState[S]{h, v, c}, h.keep(err)
}

// GetMapState declares a variable of a map per key; ttl counts for each entry. See GetValueState.
func GetMapState[MK, MV any](h *StatefulProcessorHandle, name string, ttl ...time.Duration) (*MapState[MK, MV], error) {
	k, err := goValueOf[MK]()
	if err != nil {
		return nil, h.keep(err)
	}
	c, err := goValueOf[MV]()
	if err != nil {
		return nil, h.keep(err)
	}
	v, err := h.h.Variable(exec.MapVariable, name, k.g.t, c.g.t, ttlMs(ttl))
	return &MapState[MK, MV]{h, v, k, c}, h.keep(err)
}

func ttlMs(ttl []time.Duration) int64 {
	if len(ttl) == 0 || ttl[0] == 0 {
		return 0
	}
	if ms := ttl[0].Milliseconds(); ms != 0 {
		return ms
	}
	if ttl[0] < 0 {
		return -1
	}
	return 1
}

// ValueState is a variable of one value per key.
type ValueState[S any] struct {
	h *StatefulProcessorHandle
	v *exec.Variable
	c *goValue[S]
}

// Exists reports whether the current key has a value.
func (s *ValueState[S]) Exists() (bool, error) {
	_, ok, err := s.v.Get(nil)
	return ok, s.h.keep(err)
}

// Get is the value; ok is false if there is none.
func (s *ValueState[S]) Get() (v S, ok bool, err error) {
	cells, ok, err := s.v.Get(nil)
	if err == nil && ok {
		v, err = s.c.decode(cells)
	}
	return v, ok && err == nil, s.h.keep(err)
}

// Update sets the value.
func (s *ValueState[S]) Update(v S) error { return s.h.keep(s.v.Put(nil, s.c.encode(nil, &v))) }

// Clear takes the value away.
func (s *ValueState[S]) Clear() error { return s.h.keep(s.v.Remove(nil)) }

// ListState is a variable of a list per key.
type ListState[S any] struct {
	h *StatefulProcessorHandle
	v *exec.Variable
	c *goValue[S]
}

// Exists reports whether the current key has elements.
func (s *ListState[S]) Exists() (bool, error) {
	rows, err := s.v.Rows()
	return len(rows) > 0, s.h.keep(err)
}

// Get is the elements in their order; nil if there are none.
func (s *ListState[S]) Get() ([]S, error) {
	rows, err := s.v.Rows()
	if err != nil {
		return nil, s.h.keep(err)
	}
	var out []S
	for _, r := range rows {
		v, err := s.c.decode(r.Value)
		if err != nil {
			return nil, s.h.keep(err)
		}
		out = append(out, v)
	}
	return out, nil
}

func (s *ListState[S]) cells(list []S) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = s.c.encode(nil, &list[i])
	}
	return out
}

// Put replaces the list. Errors: ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE; use Clear.
func (s *ListState[S]) Put(list []S) error { return s.h.keep(s.v.Replace(s.cells(list))) }

// AppendValue adds one element.
func (s *ListState[S]) AppendValue(v S) error { return s.h.keep(s.v.Append(s.cells([]S{v}))) }

// AppendList adds elements. Errors: ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE.
func (s *ListState[S]) AppendList(list []S) error { return s.h.keep(s.v.Append(s.cells(list))) }

// Clear takes all elements away.
func (s *ListState[S]) Clear() error { return s.h.keep(s.v.Clear()) }

// MapState is a variable of a map per key.
type MapState[MK, MV any] struct {
	h *StatefulProcessorHandle
	v *exec.Variable
	k *goValue[MK]
	c *goValue[MV]
}

// Exists reports whether the current key has entries.
func (s *MapState[MK, MV]) Exists() (bool, error) {
	rows, err := s.v.Rows()
	return len(rows) > 0, s.h.keep(err)
}

// ContainsKey reports whether there is an entry.
func (s *MapState[MK, MV]) ContainsKey(k MK) (bool, error) {
	_, ok, err := s.v.Get(s.k.encode(nil, &k))
	return ok, s.h.keep(err)
}

// GetValue is an entry's value; ok is false if there is none.
func (s *MapState[MK, MV]) GetValue(k MK) (v MV, ok bool, err error) {
	cells, ok, err := s.v.Get(s.k.encode(nil, &k))
	if err == nil && ok {
		v, err = s.c.decode(cells)
	}
	return v, ok && err == nil, s.h.keep(err)
}

// UpdateValue sets an entry.
func (s *MapState[MK, MV]) UpdateValue(k MK, v MV) error {
	return s.h.keep(s.v.Put(s.k.encode(nil, &k), s.c.encode(nil, &v)))
}

// RemoveKey takes an entry away.
func (s *MapState[MK, MV]) RemoveKey(k MK) error { return s.h.keep(s.v.Remove(s.k.encode(nil, &k))) }

// Clear takes all entries away.
func (s *MapState[MK, MV]) Clear() error { return s.h.keep(s.v.Clear()) }

// All yields the entries, in an order that does not change from run to run. What the loop changes is not seen by
// it. An error ends it and, with it, the query.
func (s *MapState[MK, MV]) All() iter.Seq2[MK, MV] {
	return func(yield func(MK, MV) bool) {
		rows, err := s.v.Rows()
		for _, r := range rows {
			var k MK
			var v MV
			if k, err = s.k.decode(r.Key); err == nil {
				v, err = s.c.decode(r.Value)
			}
			if err != nil {
				break
			}
			if !yield(k, v) {
				return
			}
		}
		_ = s.h.keep(err)
	}
}

// Keys lists the entries' keys in the order of All.
func (s *MapState[MK, MV]) Keys() (out []MK) {
	for k := range s.All() {
		out = append(out, k)
	}
	return out
}

// Values lists the entries' values in the order of All.
func (s *MapState[MK, MV]) Values() (out []MV) {
	for _, v := range s.All() {
		out = append(out, v)
	}
	return out
}
