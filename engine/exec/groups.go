package exec

import (
	"bytes"
	"encoding/binary"
	"iter"
	"sort"

	"streamlab/columnar"
	"streamlab/errs"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// Groups is the code of a plan.MapGroups, written in Go: Function for (flat)mapGroupsWithState, Processor for
// transformWithState. Keys, rows and values of state travel as cells: for each column a byte 0 for null, else 1
// and the value, little endian; texts and binaries with a uint32 length, lists and maps with a uint32 count and
// then their cells, structs as the cells of their fields.
type Groups struct {
	Function  GroupFunction
	Value     types.DataType // of the function's state
	Processor Processor
	// Quiet leaves out the calls for keys that only the initial state has.
	Quiet bool
}

// A GroupFunction is called with one key, its rows in this micro-batch (none after a timeout) and its state.
type GroupFunction func(s *GroupState, key []byte, rows iter.Seq[[]byte], emit func(row []byte)) error

// groupRow is a row on its way to its key.
type groupRow struct {
	from, to int // in the arena
	next     int // row of the same key + 1
}

type groupRows struct {
	key         string
	first, last int // rows + 1
}

// mapGroups collects a batch's rows by key and calls the code: first for keys with rows, in the order of their
// bytes, then for what the time has come of. One worker does it all, since the code is the user's.
type mapGroups struct {
	child    operator
	initial  operator
	in       types.Schema
	first    types.Schema // of the initial state
	keys     []int
	values   []int
	schema   types.Schema
	kind     plan.GroupsKind
	mode     string
	time     plan.Timing
	code     *Groups
	timeCol  int // event-time column of the input, -1
	outTime  int // event-time column of the output, -1
	mark     inMark
	fleeting bool
	stores   int64 // partitions that Spark would have

	st     *trackedState
	rows   []groupRow
	arena  []byte
	groups []groupRows
	byKey  map[string]int
	out    *rowsBuffer
	count  OperatorCounters
	task   *Task
	lastE  int64
	failed error // of emit, which has no way to return it
	meta   map[string]variableMeta
	tap    *tap    // nil: untraced
	came   []rowID // of rows, if traced
	known  bool    // st has been counted
	rowsN  int64
	bytesN int64
}

func (b *builder) mapGroups(x *plan.MapGroups) (operator, error) {
	code, ok := x.Code.(*Groups)
	if !ok {
		return nil, refuse("code of a group that is no exec.Groups")
	}
	streaming := x.Streaming() && b.conf.Mode != ""
	number := -1
	if streaming {
		number = b.addStateful()
	}
	child, err := b.build(x.Child)
	if err != nil {
		return nil, err
	}
	o := &mapGroups{child: child, in: x.Child.Schema(), keys: x.Keys, values: x.Values, schema: x.Out, kind: x.Kind, mode: x.Mode,
		time: x.Time, code: code, timeCol: -1, outTime: -1, mark: b.mark(child), fleeting: !streaming, stores: int64(max(1, b.conf.ShufflePartitions))}
	if x.Initial != nil {
		o.first = x.Initial.Schema()
		if o.initial, err = b.build(x.Initial); err != nil {
			return nil, err
		}
	}
	if x.Time == plan.EventTime {
		o.timeCol, _ = eventTime(o.in)
	}
	o.outTime, _ = eventTime(x.Out)
	if number < 0 {
		return o, nil
	}
	b.p.stateful[number] = o
	var keys types.Schema
	for _, k := range x.Keys {
		keys = append(keys, o.in[k])
	}
	b.first(checkKeys(keys))
	b.first(checkTimes(o.in))
	if x.Kind == plan.TransformKind && x.Time != plan.ProcessingTime {
		return b.pass(o, child), nil
	}
	return o, nil // no watermark leaves it
}

func (o *mapGroups) open(r *run) (int, error) {
	began := r.now()
	o.task, o.failed = r.task, nil
	if err := o.openState(r); err != nil {
		return 0, err
	}
	if err := o.collect(r); err != nil {
		return 0, err
	}
	o.out = newRowsBuffer(o.schema)
	o.lastE = o.mark.at(r.task.evictUs)
	var err error
	if o.kind == plan.TransformKind {
		err = o.transform(r)
	} else {
		err = o.callAll(r)
	}
	if err == nil {
		err = o.failed
	}
	if err != nil {
		return 0, err
	}
	o.measure()
	o.count.AllUpdatesTimeMs = r.now().Sub(began).Milliseconds() - o.count.AllRemovalsTimeMs
	o.rows, o.arena, o.groups, o.byKey, o.came = o.rows[:0], o.arena[:0], nil, nil, nil
	return 1, nil
}

// openState takes the state of the micro-batch; the first time in a run its rows are counted.
func (o *mapGroups) openState(r *run) error {
	if o.fleeting {
		o.st = &trackedState{o: o, s: &passing{rows: map[string][]byte{}}}
		o.rowsN, o.bytesN = 0, 0
		return nil
	}
	shard := store.Shard{Operator: o.number(r)}
	switch {
	case r.task.Past != nil:
		o.st = &trackedState{o: o, s: &overlay{below: r.task.Past.State(shard), rows: passing{map[string][]byte{}}}}
	case r.task.State == nil:
		return errs.New("INTERNAL_ERROR", "message", "a micro-batch with state of Go code has no change set")
	default:
		o.st = &trackedState{o: o, s: r.task.State.State(shard)}
	}
	if o.known {
		return nil
	}
	o.rowsN, o.bytesN = 0, 0
	for row, err := range o.st.s.Range([]byte{stateRow}, []byte{stateRow + 1}) {
		if err != nil {
			return err
		}
		o.rowsN++
		o.bytesN += int64(len(row.Key) + len(row.Value))
	}
	o.known = true
	return nil
}

func (o *mapGroups) number(r *run) int {
	for i, s := range r.p.stateful {
		if s == Stateful(o) {
			return i
		}
	}
	return 0
}

func (o *mapGroups) measure() {
	o.count.NumRowsTotal, o.count.MemoryUsedBytes = o.rowsN, o.bytesN
}

// collect reads the input and puts each row's cells to its key.
func (o *mapGroups) collect(r *run) error {
	parts, err := o.child.open(r)
	if err != nil {
		return err
	}
	o.byKey = map[string]int{}
	late := o.mark.at(r.task.lateUs)
	var key []byte
	var idx []int32
	return r.inOrder(o.child, o.in, parts, func(_ int, c *chunk) error {
		sel := c.sel
		if o.timeCol >= 0 && !o.fleeting {
			v := &c.cols[o.timeCol]
			if o.in[o.timeCol].Type.Kind == types.Struct && v.Phys == columnar.PStruct {
				v = v.Kids[1]
			}
			sel = onTime(v, sel, late, &idx)
			o.count.NumRowsDroppedByWatermark += int64(c.sel.N - sel.N)
			if o.tap != nil {
				o.tap.dropped(c.sel, sel, FateLate, v)
			}
		}
		if o.tap != nil {
			o.came = o.tap.took(o.came, sel, FateGiven)
		}
		for k := range sel.N {
			i := sel.At(k)
			key = key[:0]
			for _, c2 := range o.keys {
				key = appendCell(key, &c.cols[c2], i, true)
			}
			from := len(o.arena)
			for _, c2 := range o.values {
				o.arena = appendCell(o.arena, &c.cols[c2], i, false)
			}
			g, ok := o.byKey[string(key)]
			if !ok {
				g = o.addKey(string(key))
			}
			o.rows = append(o.rows, groupRow{from: from, to: len(o.arena)})
			at := &o.groups[g]
			if at.first == 0 {
				at.first = len(o.rows)
			} else {
				o.rows[at.last-1].next = len(o.rows)
			}
			at.last = len(o.rows)
		}
		return nil
	})
}

func (o *mapGroups) addKey(key string) int {
	o.byKey[key] = len(o.groups)
	o.groups = append(o.groups, groupRows{key: key})
	return len(o.groups) - 1
}

// sorted orders the keys by their bytes, so that a re-run calls the code in the same order.
func (o *mapGroups) sorted() {
	sort.Slice(o.groups, func(a, b int) bool { return o.groups[a].key < o.groups[b].key })
}

// rowsOf yields the cells of a key's rows.
func (o *mapGroups) rowsOf(g groupRows) iter.Seq[[]byte] {
	o.traceCall(g)
	return func(yield func([]byte) bool) {
		for n := g.first; n != 0; n = o.rows[n-1].next {
			w := o.rows[n-1]
			if !yield(o.arena[w.from:w.to:w.to]) {
				return
			}
		}
	}
}

// emit takes one row of the result.
func (o *mapGroups) emit(row []byte) {
	for _, c := range o.out.cols {
		row = readCell(c, row)
	}
	o.out.n++
	if o.tap != nil {
		o.tap.queue = append(o.tap.queue, o.tap.calling)
	}
	if o.outTime >= 0 && o.failed == nil && !o.fleeting {
		late := o.mark.at(o.task.lateUs)
		v := o.out.cols[o.outTime]
		if i := o.out.n - 1; late > 0 && !v.IsNull(i) && v.I64[i] <= late {
			o.failed = errs.New("EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED", "currentWatermark", late/1000, "emittedRowEventTime", v.I64[i])
		}
	}
}

// initialRows calls to for each row of the initial state: in batch 0 only, never after a restart.
func (o *mapGroups) initialRows(r *run, to func(key, row []byte) error) error {
	if o.initial == nil || r.task.Batch != 0 && !o.fleeting {
		return nil
	}
	parts, err := o.initial.open(r)
	if err != nil {
		return err
	}
	var key, row []byte
	return r.inOrder(o.initial, o.first, parts, func(_ int, c *chunk) error {
		for k := range c.sel.N {
			i := c.sel.At(k)
			key, row = key[:0], row[:0]
			for j := range c.cols {
				if j < len(o.keys) {
					key = appendCell(key, &c.cols[j], i, true)
				} else {
					row = appendCell(row, &c.cols[j], i, false)
				}
			}
			if err := to(key, row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *mapGroups) part(r *run, w, p int, to emit) error { return pushRows(o.out.vecs(), o.out.n, to) }

// Name is Spark's.
func (o *mapGroups) Name() string {
	if o.kind == plan.TransformKind {
		return "transformWithStateExec"
	}
	return "flatMapGroupsWithState"
}

func (o *mapGroups) counters() *OperatorCounters { return &o.count }

func (o *mapGroups) needsBatch(w int64) bool {
	return (o.time == plan.EventTime || o.kind == plan.TransformKind && o.time == plan.NoTime) && o.mark.has && o.mark.at(w) > o.lastE
}

// due reports a timeout, a timer or a value whose time by the clock has come.
func (o *mapGroups) due(nowMs int64) bool {
	if o.time != plan.ProcessingTime || o.st == nil {
		return false
	}
	limit := nowMs // timeouts fire strictly before it
	if o.kind == plan.TransformKind {
		limit++
	}
	for _, prefix := range []byte{stateTimeout, stateTTL} {
		for range o.st.s.Range([]byte{prefix}, timeKeyBytes(prefix, limit)) {
			return true
		}
	}
	return false
}

func (o *mapGroups) shape() OperatorShape {
	var keys, values types.Schema
	for _, k := range o.keys {
		keys = append(keys, o.in[k])
	}
	if o.kind != plan.TransformKind {
		values = types.Schema{{Name: "groupState", Type: o.code.Value, Nullable: true},
			{Name: "timeoutTimestamp", Type: types.Of(types.BigInt)}}
		if o.time == plan.NoTime {
			values = values[:1]
		}
	}
	return newShape(o.Name(), keys, values)
}

// The state itself lives in the checkpoint's ordered map and leaves with the micro-batch's change set.
func (o *mapGroups) load(*store.View, int) error  { return nil }
func (o *mapGroups) save(*store.Batch, int) error { return nil }
func (o *mapGroups) settle()                      {}
func (o *mapGroups) reset()                       { o.known, o.st, o.meta = false, nil, nil }

// First bytes of the keys in the ordered map.
const (
	stateMeta    = 'm' // name → what a variable of a processor is
	stateRow     = 's' // rows that count: of a key, or of a variable of a key
	stateTimeout = 't' // time, key: a timeout or timer, in the order of time
	stateTimer   = 'u' // key, time: timers of a key
	stateTTL     = 'x' // time, key of a row: when a value goes
)

// keyedState is the part of store.State that operators use.
type keyedState interface {
	Get(key []byte) ([]byte, bool, error)
	Put(key, value []byte)
	Delete(key []byte)
	Range(from, to []byte) iter.Seq2[store.Row, error]
}

// trackedState counts the rows that count.
type trackedState struct {
	o *mapGroups
	s keyedState
}

func (t *trackedState) get(key []byte) ([]byte, bool, error) { return t.s.Get(key) }

func (t *trackedState) put(key, value []byte) error {
	if key[0] == stateRow {
		old, had, err := t.s.Get(key)
		if err != nil {
			return err
		}
		if had {
			t.o.bytesN -= int64(len(key) + len(old))
		} else {
			t.o.rowsN++
		}
		t.o.bytesN += int64(len(key) + len(value))
	}
	t.s.Put(key, value)
	return nil
}

// remove reports whether the key was there.
func (t *trackedState) remove(key []byte) (bool, error) {
	old, had, err := t.s.Get(key)
	if err != nil || !had {
		return false, err
	}
	if key[0] == stateRow {
		t.o.rowsN--
		t.o.bytesN -= int64(len(key) + len(old))
	}
	t.s.Delete(key)
	return true, nil
}

// list copies the keys and values of a range: the caller may change what it goes through.
func (t *trackedState) list(from, to []byte) ([]store.Row, error) {
	var out []store.Row
	for row, err := range t.s.Range(from, to) {
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// timeKeyBytes begins a key that sorts by time; times before 1970 come first.
func timeKeyBytes(prefix byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefix}, uint64(ms)^1<<63)
}

func timeOfKey(key []byte) (ms int64, rest []byte) {
	return int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63), key[9:]
}

// after is the first key behind all keys with a prefix; nil if there is none.
func after(prefix []byte) []byte {
	out := bytes.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] != 0xff {
			out[i]++
			return out[:i+1]
		}
	}
	return nil
}

// passing is the state of a batch query: it lasts for one execution.
type passing struct{ rows map[string][]byte }

func (p *passing) Get(key []byte) ([]byte, bool, error) {
	v, ok := p.rows[string(key)]
	return v, ok, nil
}

func (p *passing) Put(key, value []byte) { p.rows[string(key)] = bytes.Clone(value) }

func (p *passing) Delete(key []byte) { delete(p.rows, string(key)) }

func (p *passing) Range(from, to []byte) iter.Seq2[store.Row, error] {
	var keys []string
	for k := range p.rows {
		if k >= string(from) && (to == nil || k < string(to)) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return func(yield func(store.Row, error) bool) {
		for _, k := range keys {
			if !yield(store.Row{Key: []byte(k), Value: p.rows[k]}, nil) {
				return
			}
		}
	}
}

// TimersDue reports whether an operator with timeouts or timers by the clock has something to do now. Spark runs a batch at
// every trigger for such operators; here one runs when a time has come.
func (p *Plan) TimersDue(nowMs int64) bool {
	for _, s := range p.stateful {
		if o, ok := s.(*mapGroups); ok && o.due(nowMs) {
			return true
		}
	}
	return false
}
