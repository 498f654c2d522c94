package exec

import (
	"encoding/binary"
	"encoding/json"
	"iter"
	"strings"

	"streamlab/errs"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// A Processor is the code of a transformWithState. In every micro-batch it is called in this order: Init; in
// batch 0 Initial per row of the initial state; Rows per key with input; Expired per timer whose time has
// come; Close. Everything that it remembers is in variables of the handle.
type Processor interface {
	Init(h *Handle) error
	Initial(h *Handle, key, row []byte) error
	Rows(h *Handle, key []byte, rows iter.Seq[[]byte], emit func(row []byte)) error
	Expired(h *Handle, key []byte, expiryMs int64, emit func(row []byte)) error
	Close(h *Handle) error
}

// handlePhase is how far the calls of a micro-batch are, under Spark's names.
type handlePhase string

const (
	phaseCreated       handlePhase = "CREATED"
	phaseInitialized   handlePhase = "INITIALIZED"
	phaseDataProcessed handlePhase = "DATA_PROCESSED"
	phaseTimers        handlePhase = "TIMER_PROCESSED"
	phaseClosed        handlePhase = "CLOSED"
)

// Handle gives a processor its variables and timers. It is valid during the micro-batch, on the goroutine of
// the calls.
type Handle struct {
	o        *mapGroups
	phase    handlePhase
	key      []byte // of the current call; nil outside
	vars     map[string]bool
	counts   map[string]int64
	declared map[string]int64 // kinds declared: they count once per partition
}

// variableMeta is what a checkpoint remembers of a variable.
type variableMeta struct {
	Kind  string `json:"kind"`
	Key   string `json:"key,omitempty"` // of map variables
	Value string `json:"value"`
	TTL   bool   `json:"ttl,omitempty"`
	DDL   string `json:"ddl"` // of key and value, for looking at the state
}

// The kinds of variables.
const (
	ValueVariable = "ValueState"
	ListVariable  = "ListState"
	MapVariable   = "MapState"
)

// TimeMode is the clock of timers.
func (h *Handle) TimeMode() plan.Timing { return h.o.time }

// Mode is the operator's output mode.
func (h *Handle) Mode() string { return h.o.mode }

// NowMs is the time of the micro-batch.
func (h *Handle) NowMs() int64 { return h.o.task.NowMicros / 1000 }

// WatermarkMs is the watermark that fires timers; 0 is none yet.
func (h *Handle) WatermarkMs() int64 { return h.o.mark.at(h.o.task.evictUs) / 1000 }

func (h *Handle) wrongPhase(operation string) error {
	return errs.New("STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE", "operationType", operation, "handleState", string(h.phase))
}

// Variable declares a variable; only Init may. key is the type of a map's keys. ttlMs 0 is none. Errors:
// STATEFUL_PROCESSOR_*, STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE, STATE_STORE_*_SCHEMA_NOT_COMPATIBLE.
func (h *Handle) Variable(kind, name string, key, value types.DataType, ttlMs int64) (*Variable, error) {
	operation := "get_" + map[string]string{ValueVariable: "value", ListVariable: "list", MapVariable: "map"}[kind] + "_state"
	if h.phase != phaseCreated {
		return nil, h.wrongPhase(operation)
	}
	switch {
	case ttlMs < 0:
		return nil, errs.New("STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE", "operationType", operation, "stateName", name)
	case ttlMs > 0 && h.o.time != plan.ProcessingTime:
		return nil, errs.New("STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL", "stateName", name, "timeMode", h.o.time.String())
	case h.vars[name]:
		return nil, errs.New("STATEFUL_PROCESSOR_DUPLICATE_STATE_VARIABLE_DEFINED", "stateVarName", name)
	}
	h.vars[name] = true
	m := variableMeta{Kind: kind, Value: value.Simple(), TTL: ttlMs > 0}
	fields := types.Schema{{Name: "value", Type: value, Nullable: true}}
	if kind == MapVariable {
		m.Key = key.Simple()
		fields = append(types.Schema{{Name: "key", Type: key, Nullable: true}}, fields...)
	}
	m.DDL = fields.DDL()
	counter := "num" + kind + "Vars"
	if m.TTL {
		counter = "num" + kind + "WithTTLVars"
	}
	h.declared[counter]++
	if err := h.remember(name, m); err != nil {
		return nil, err
	}
	v := &Variable{h: h, name: name, kind: kind, ttl: ttlMs}
	v.prefix = binary.AppendUvarint([]byte{stateRow}, uint64(len(name)))
	v.prefix = append(v.prefix, name...)
	return v, nil
}

// remember compares a declaration with what the checkpoint knows of the name.
func (h *Handle) remember(name string, m variableMeta) error {
	o := h.o
	if was, ok := o.meta[name]; ok && was == m {
		return nil
	}
	at := append([]byte{stateMeta}, name...)
	raw, had, err := o.st.get(at)
	if err != nil {
		return err
	}
	if had {
		var was variableMeta
		if json.Unmarshal(raw, &was) != nil {
			return corrupt("variable " + name)
		}
		switch {
		case was.Kind != m.Kind:
			return errs.New("STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE", "stateVarName", name, "newType", m.Kind, "oldType", was.Kind)
		case was.Key != m.Key:
			return errs.New("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "storedKeySchema", was.Key, "newKeySchema", m.Key)
		case was.Value != m.Value:
			return errs.New("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "storedValueSchema", was.Value, "newValueSchema", m.Value)
		}
	}
	raw, err = json.Marshal(m)
	if err != nil {
		return err
	}
	if o.meta == nil {
		o.meta = map[string]variableMeta{}
	}
	o.meta[name] = m
	return o.st.put(at, raw)
}

// Delete forgets a variable of all keys; only Init may.
func (h *Handle) Delete(name string) error {
	if h.phase != phaseCreated {
		return h.wrongPhase("delete_if_exists")
	}
	st := h.o.st
	if had, err := st.remove(append([]byte{stateMeta}, name...)); err != nil || !had {
		return err
	}
	prefix := append(binary.AppendUvarint([]byte{stateRow}, uint64(len(name))), name...)
	rows, err := st.list(prefix, after(prefix))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := h.drop(r.Key, r.Value); err != nil {
			return err
		}
	}
	delete(h.o.meta, name)
	h.counts["numDeletedStateVars"]++
	return nil
}

// drop removes a row and its place in the order of expiry.
func (h *Handle) drop(key, value []byte) error {
	if len(value) < 8 {
		return corrupt("value of a variable")
	}
	if t := int64(binary.LittleEndian.Uint64(value)); t != 0 {
		if _, err := h.o.st.remove(append(timeKeyBytes(stateTTL, t), key...)); err != nil {
			return err
		}
	}
	_, err := h.o.st.remove(key)
	return err
}

func (h *Handle) timers(operation string) error {
	if h.o.time == plan.NoTime {
		return errs.New("STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE", "operationType", operation, "timeMode", h.o.time.String())
	}
	if h.phase != phaseInitialized && h.phase != phaseDataProcessed || h.key == nil {
		return h.wrongPhase(operation)
	}
	return nil
}

func (h *Handle) timerKey(ms int64) []byte {
	k := append([]byte{stateTimer}, h.key...)
	return binary.BigEndian.AppendUint64(k, uint64(ms)^1<<63)
}

// RegisterTimer calls Expired for the current key when the clock is at ms or past it. A second timer of the
// same time changes nothing.
func (h *Handle) RegisterTimer(ms int64) error {
	if err := h.timers("register_timer"); err != nil {
		return err
	}
	if _, had, err := h.o.st.get(h.timerKey(ms)); err != nil || had {
		return err
	}
	h.counts["numRegisteredTimers"]++
	if err := h.o.st.put(h.timerKey(ms), nil); err != nil {
		return err
	}
	return h.o.st.put(append(timeKeyBytes(stateTimeout, ms), h.key...), nil)
}

// DeleteTimer takes a timer of the current key away; it need not be there.
func (h *Handle) DeleteTimer(ms int64) error {
	if err := h.timers("delete_timer"); err != nil {
		return err
	}
	return h.deleteTimer(ms)
}

func (h *Handle) deleteTimer(ms int64) error {
	had, err := h.o.st.remove(h.timerKey(ms))
	if err != nil || !had {
		return err
	}
	h.counts["numDeletedTimers"]++
	_, err = h.o.st.remove(append(timeKeyBytes(stateTimeout, ms), h.key...))
	return err
}

// ListTimers gives the current key's timers, earliest first; during Expired also the one that fired.
func (h *Handle) ListTimers() ([]int64, error) {
	if err := h.timers("list_timers"); err != nil {
		return nil, err
	}
	prefix := append([]byte{stateTimer}, h.key...)
	rows, err := h.o.st.list(prefix, after(prefix))
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = int64(binary.BigEndian.Uint64(r.Key[len(r.Key)-8:]) ^ 1<<63)
	}
	return out, nil
}

// transform is one micro-batch of a transformWithState.
func (o *mapGroups) transform(r *run) error {
	h := &Handle{o: o, phase: phaseCreated, vars: map[string]bool{}, counts: map[string]int64{}, declared: map[string]int64{}}
	p := o.code.Processor
	if err := p.Init(h); err != nil {
		return err
	}
	h.phase = phaseInitialized
	began := r.now()
	err := o.initialRows(r, func(key, row []byte) error {
		h.key = append([]byte(nil), key...)
		return p.Initial(h, h.key, row)
	})
	if err != nil {
		return err
	}
	h.counts["initialStateProcessingTimeMs"] = r.now().Sub(began).Milliseconds()
	o.sorted()
	for _, g := range o.groups {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		h.key = []byte(g.key)
		if err := p.Rows(h, h.key, o.rowsOf(g), o.emit); err != nil {
			return err
		}
	}
	h.phase = phaseDataProcessed
	began = r.now()
	if err := h.fire(p); err != nil {
		return err
	}
	h.counts["timerProcessingTimeMs"] = r.now().Sub(began).Milliseconds()
	h.phase, h.key = phaseTimers, nil
	began = r.now()
	if err := h.expire(); err != nil {
		return err
	}
	o.count.AllRemovalsTimeMs = r.now().Sub(began).Milliseconds()
	err = p.Close(h)
	h.phase = phaseClosed
	o.count.CustomMetrics = h.metrics()
	return err
}

// fire calls Expired for the timers whose time has come when the input is done, in their order. A timer that
// Expired registers waits for a later batch.
func (h *Handle) fire(p Processor) error {
	o := h.o
	if o.time == plan.NoTime || o.fleeting {
		return nil
	}
	limit := h.NowMs()
	if o.time == plan.EventTime {
		limit = h.WatermarkMs()
	}
	due, err := o.st.list([]byte{stateTimeout}, timeKeyBytes(stateTimeout, limit+1))
	if err != nil {
		return err
	}
	for _, row := range due {
		ms, key := timeOfKey(row.Key)
		if _, still, err := o.st.get(row.Key); err != nil {
			return err
		} else if !still {
			continue // another timer's call deleted it
		}
		h.key = append([]byte(nil), key...)
		o.traceCall(groupRows{})
		if err := p.Expired(h, h.key, ms, o.emit); err != nil {
			return err
		}
		h.counts["numExpiredTimers"]++
		if err := h.deleteTimer(ms); err != nil {
			return err
		}
	}
	return nil
}

// expire removes the values whose time to live is over.
func (h *Handle) expire() error {
	o := h.o
	if o.time != plan.ProcessingTime {
		return nil
	}
	due, err := o.st.list([]byte{stateTTL}, timeKeyBytes(stateTTL, h.NowMs()+1))
	if err != nil {
		return err
	}
	for _, row := range due {
		_, key := timeOfKey(row.Key)
		if _, err := o.st.remove(key); err != nil {
			return err
		}
		if _, err := o.st.remove(row.Key); err != nil {
			return err
		}
		o.count.NumRowsRemoved++
		h.counts["numValuesRemovedDueToTTLExpiry"]++
	}
	return nil
}

// metrics are Spark's custom metrics: declarations count once per partition.
func (h *Handle) metrics() map[string]int64 {
	out := map[string]int64{}
	for _, kind := range []string{ValueVariable, ListVariable, MapVariable} {
		for _, suffix := range []string{"Vars", "WithTTLVars"} {
			name := "num" + kind + suffix
			out[name] = h.declared[name] * h.o.stores
		}
	}
	for _, name := range []string{"initialStateProcessingTimeMs", "timerProcessingTimeMs", "numDeletedStateVars", "numRegisteredTimers",
		"numDeletedTimers", "numExpiredTimers", "numValuesRemovedDueToTTLExpiry"} {
		out[name] = h.counts[name]
	}
	return out
}

// variables reads the declarations from the state, for looking at it.
func (o *mapGroups) variable(name string) (variableMeta, bool) {
	var m variableMeta
	if o.st == nil {
		return m, false
	}
	raw, ok, err := o.st.get(append([]byte{stateMeta}, name...))
	return m, err == nil && ok && json.Unmarshal(raw, &m) == nil
}

// variableSchema is the schema of a variable's rows; the store's name is the variable's.
func (o *mapGroups) variableSchema(name string, keys types.Schema) (types.Schema, types.Schema, bool) {
	m, ok := o.variable(name)
	if !ok {
		return nil, nil, false
	}
	fields, err := types.ParseDDL(m.DDL)
	if err != nil {
		return nil, nil, false
	}
	if m.Kind == MapVariable {
		keys = append(keys[:len(keys):len(keys)], types.Field{Name: "userMapKey", Type: fields[0].Type, Nullable: true})
		fields = fields[1:]
	}
	if m.TTL {
		fields = append(fields, types.Field{Name: "ttlExpirationMs", Type: types.Of(types.BigInt), Nullable: true})
	}
	return keys, fields, true
}

func (o *mapGroups) variableRows(name string, s types.Schema, to emit) error {
	m, ok := o.variable(name)
	if !ok {
		return nil
	}
	prefix := append(binary.AppendUvarint([]byte{stateRow}, uint64(len(name))), name...)
	buf := newRowsBuffer(s)
	for row, err := range o.st.s.Range(prefix, after(prefix)) {
		if err != nil {
			return err
		}
		rest := row.Key[len(prefix):]
		n := len(o.keys)
		if m.Kind == MapVariable {
			n++
		}
		for i := range n {
			rest = readCell(buf.cols[i], rest)
		}
		readCell(buf.cols[n], row.Value[8:])
		if m.TTL {
			ttl := []byte{0}
			if strings.Trim(string(row.Value[:8]), "\x00") != "" {
				ttl = append([]byte{1}, row.Value[:8]...)
			}
			readCell(buf.cols[n+1], ttl)
		}
		buf.n++
	}
	return pushRows(buf.vecs(), buf.n, to)
}

// Variable is a state variable of the current key.
type Variable struct {
	h      *Handle
	name   string
	kind   string
	ttl    int64
	prefix []byte
}

// Name is the variable's.
func (v *Variable) Name() string { return v.name }

func (v *Variable) at(more []byte) ([]byte, error) {
	if v.h.key == nil || v.h.phase == phaseClosed {
		return nil, errs.New("STATE_STORE_HANDLE_NOT_INITIALIZED")
	}
	k := append(append([]byte{}, v.prefix...), v.h.key...)
	return append(k, more...), nil
}

// cells gives what a row holds if its time is not over.
func (v *Variable) cells(raw []byte) ([]byte, bool) {
	if len(raw) < 8 {
		return nil, false
	}
	t := int64(binary.LittleEndian.Uint64(raw))
	return raw[8:], t == 0 || v.h.NowMs() < t
}

func (v *Variable) set(key, cells []byte) error {
	if len(cells) == 0 || cells[0] == 0 {
		return errs.New("ILLEGAL_STATE_STORE_VALUE.NULL_VALUE", "stateName", v.name)
	}
	st := v.h.o.st
	if old, had, err := st.get(key); err != nil {
		return err
	} else if had && len(old) >= 8 {
		if t := int64(binary.LittleEndian.Uint64(old)); t != 0 {
			if _, err := st.remove(append(timeKeyBytes(stateTTL, t), key...)); err != nil {
				return err
			}
		}
	}
	t := int64(0)
	if v.ttl > 0 {
		t = v.h.NowMs() + v.ttl
		if err := st.put(append(timeKeyBytes(stateTTL, t), key...), nil); err != nil {
			return err
		}
	}
	v.h.o.count.NumRowsUpdated++
	return st.put(key, append(binary.LittleEndian.AppendUint64(nil, uint64(t)), cells...))
}

// Get reads a value variable, or a map variable's value under the cells of a key.
func (v *Variable) Get(mapKey []byte) (cells []byte, ok bool, err error) {
	k, err := v.at(mapKey)
	if err != nil {
		return nil, false, err
	}
	raw, ok, err := v.h.o.st.get(k)
	if err != nil || !ok {
		return nil, false, err
	}
	cells, ok = v.cells(raw)
	return cells, ok, nil
}

// Put sets a value variable, or a map variable's value under a key.
func (v *Variable) Put(mapKey, cells []byte) error {
	if v.kind == MapVariable && (len(mapKey) == 0 || mapKey[0] == 0) {
		return errs.New("ILLEGAL_STATE_STORE_VALUE.NULL_VALUE", "stateName", v.name)
	}
	k, err := v.at(mapKey)
	if err != nil {
		return err
	}
	return v.set(k, cells)
}

// Remove takes one row away: of a value variable, or under a map's key.
func (v *Variable) Remove(mapKey []byte) error {
	k, err := v.at(mapKey)
	if err != nil {
		return err
	}
	raw, had, err := v.h.o.st.get(k)
	if err != nil || !had {
		return err
	}
	v.h.o.count.NumRowsRemoved++
	return v.h.drop(k, raw)
}

// Rows lists the rows of a list or map variable whose time is not over: what stands in their keys behind the
// grouping key, and their cells.
func (v *Variable) Rows() ([]store.Row, error) {
	rows, err := v.all()
	if err != nil {
		return nil, err
	}
	n := len(v.prefix) + len(v.h.key)
	out := rows[:0]
	for _, r := range rows {
		if cells, ok := v.cells(r.Value); ok {
			out = append(out, store.Row{Key: r.Key[n:], Value: cells})
		}
	}
	return out, nil
}

func (v *Variable) all() ([]store.Row, error) {
	k, err := v.at(nil)
	if err != nil {
		return nil, err
	}
	return v.h.o.st.list(k, after(k))
}

// Clear takes all rows of the current key away.
func (v *Variable) Clear() error {
	rows, err := v.all()
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := v.h.drop(r.Key, r.Value); err != nil {
			return err
		}
		v.h.o.count.NumRowsRemoved++
	}
	return nil
}

// Append adds elements to a list variable. Errors: ILLEGAL_STATE_STORE_VALUE.*.
func (v *Variable) Append(list [][]byte) error {
	if len(list) == 0 {
		return errs.New("ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE", "stateName", v.name)
	}
	rows, err := v.all()
	if err != nil {
		return err
	}
	next := uint32(0)
	if n := len(rows); n > 0 {
		last := rows[n-1].Key
		next = binary.BigEndian.Uint32(last[len(last)-4:]) + 1
	}
	for _, cells := range list {
		k, err := v.at(binary.BigEndian.AppendUint32(nil, next))
		if err != nil {
			return err
		}
		if err := v.set(k, cells); err != nil {
			return err
		}
		next++
	}
	return nil
}

// Replace makes a list variable hold just these elements. Errors: ILLEGAL_STATE_STORE_VALUE.*.
func (v *Variable) Replace(list [][]byte) error {
	if len(list) == 0 {
		return errs.New("ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE", "stateName", v.name)
	}
	rows, err := v.all()
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := v.h.drop(r.Key, r.Value); err != nil {
			return err
		}
	}
	return v.Append(list)
}
