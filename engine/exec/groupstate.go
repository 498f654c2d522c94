package exec

import (
	"encoding/binary"
	"time"

	"streamlab/errs"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// GroupState is the state of one key during one call of a GroupFunction. Times are milliseconds since 1970.
type GroupState struct {
	o        *mapGroups
	value    []byte // nil: none
	updated  bool
	removed  bool
	timeout  int64 // noTimeout: none
	timedOut bool
}

const noTimeout = -1

// Value is the state's cells; ok is false if the key has none.
func (s *GroupState) Value() (cells []byte, ok bool) { return s.value, s.value != nil }

// Update sets the state.
func (s *GroupState) Update(cells []byte) { s.value, s.updated, s.removed = cells, true, false }

// Remove takes the state away; a timeout that is set stays set.
func (s *GroupState) Remove() { s.value, s.updated, s.removed = nil, false, true }

// TimedOut reports that the call is for a timeout.
func (s *GroupState) TimedOut() bool { return s.timedOut }

// NowMs is the time of the micro-batch: the same in a re-run.
func (s *GroupState) NowMs() int64 { return s.o.task.NowMicros / 1000 }

// WatermarkMs is the watermark that evicts. Errors: _LEGACY_ERROR_TEMP_2204 if the input has no event time.
func (s *GroupState) WatermarkMs() (int64, error) {
	if col, _ := eventTime(s.o.in); col < 0 {
		return 0, errs.New("_LEGACY_ERROR_TEMP_2204")
	}
	if s.o.fleeting {
		return noTimeout, nil
	}
	return s.o.mark.at(s.o.task.evictUs) / 1000, nil
}

// SetTimeoutDuration calls the function again when the time of a micro-batch is past this one's by more than
// ms. Errors: _LEGACY_ERROR_TEMP_2203, INVALID_TIMEOUT.
func (s *GroupState) SetTimeoutDuration(ms int64) error {
	if s.o.time != plan.ProcessingTime {
		return errs.New("_LEGACY_ERROR_TEMP_2203")
	}
	if ms <= 0 {
		return errs.New("INVALID_TIMEOUT", "timeout", ms, "requirement", "a duration must be positive")
	}
	s.timeout = s.NowMs() + ms
	return nil
}

// SetTimeoutTimestamp calls the function again when the watermark is past ms. Errors:
// _LEGACY_ERROR_TEMP_2205, INVALID_TIMEOUT.
func (s *GroupState) SetTimeoutTimestamp(ms int64) error {
	if s.o.time != plan.EventTime {
		return errs.New("_LEGACY_ERROR_TEMP_2205")
	}
	if ms <= 0 {
		return errs.New("INVALID_TIMEOUT", "timeout", ms, "requirement", "a time must be positive")
	}
	if w, err := s.WatermarkMs(); err == nil && ms < w {
		return errs.New("INVALID_TIMEOUT", "timeout", ms, "requirement", "a time must not lie before the watermark "+
			time.UnixMilli(w).UTC().Format(time.RFC3339Nano))
	}
	s.timeout = ms
	return nil
}

// stateKey is the key of a row of state.
func stateKey(key []byte) []byte { return append([]byte{stateRow}, key...) }

// A row of state: the timeout in 8 bytes, then the cells, none if the state is null.
func (o *mapGroups) read(key []byte) (value []byte, timeout int64, err error) {
	raw, ok, err := o.st.get(stateKey(key))
	if err != nil || !ok {
		return nil, noTimeout, err
	}
	if len(raw) < 8 {
		return nil, 0, corrupt("state of a group")
	}
	if len(raw) > 8 {
		value = raw[8:]
	}
	return value, int64(binary.LittleEndian.Uint64(raw)), nil
}

func (o *mapGroups) write(key, value []byte, timeout int64) error {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(timeout))
	return o.st.put(stateKey(key), append(raw, value...))
}

// call runs the function for one key and writes what it did to the state (operators.md 8, rule 7).
func (o *mapGroups) call(g groupRows, timedOut bool) error {
	key := []byte(g.key)
	value, old, err := o.read(key)
	if err != nil {
		return err
	}
	s := &GroupState{o: o, value: value, timeout: noTimeout, timedOut: timedOut}
	if o.fleeting {
		s.value = nil
	}
	if err := o.code.Function(s, key, o.rowsOf(g), o.emit); err != nil {
		return err
	}
	if o.fleeting {
		return nil
	}
	if old != noTimeout && old != s.timeout {
		if _, err := o.st.remove(append(timeKeyBytes(stateTimeout, old), key...)); err != nil {
			return err
		}
	}
	switch {
	case s.removed && s.timeout == noTimeout:
		_, err := o.st.remove(stateKey(key))
		o.count.NumRowsRemoved++
		return err
	case s.updated || s.removed || s.timeout != old:
		if err := o.write(key, s.value, s.timeout); err != nil {
			return err
		}
		o.count.NumRowsUpdated++
		if s.timeout != noTimeout && s.timeout != old {
			return o.st.put(append(timeKeyBytes(stateTimeout, s.timeout), key...), nil)
		}
	}
	return nil
}

// callAll calls the function for every key with rows, then for those whose timeout has come.
func (o *mapGroups) callAll(r *run) error {
	seen := map[string]bool{}
	err := o.initialRows(r, func(key, row []byte) error {
		if seen[string(key)] {
			return errs.New("FLATMAPGROUPSWITHSTATE_USER_FUNCTION_ERROR", "reason", "the initial state has several rows of one key")
		}
		seen[string(key)] = true
		if _, ok := o.byKey[string(key)]; !ok && !o.code.Quiet {
			o.addKey(string(key))
		}
		return o.write(key, row, noTimeout)
	})
	if err != nil {
		return err
	}
	o.sorted()
	for _, g := range o.groups {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := o.call(g, false); err != nil {
			return err
		}
	}
	if o.time == plan.NoTime || o.fleeting {
		return nil
	}
	began := r.now()
	limit := r.task.NowMicros / 1000
	if o.time == plan.EventTime {
		limit = o.mark.at(r.task.evictUs) / 1000
	}
	due, err := o.st.list([]byte{stateTimeout}, timeKeyBytes(stateTimeout, limit))
	if err != nil {
		return err
	}
	for _, row := range due {
		_, key := timeOfKey(row.Key)
		if err := o.call(groupRows{key: string(key)}, true); err != nil {
			return err
		}
	}
	o.count.AllRemovalsTimeMs = r.now().Sub(began).Milliseconds()
	return nil
}

// view loads the state for looking.
func (o *mapGroups) view(v *store.View, number int) {
	o.st = &trackedState{o: o, s: v.State(store.Shard{Operator: number})}
}

func (o *mapGroups) stateSchema(name string) (keys, values types.Schema, ok bool) {
	for _, k := range o.keys {
		keys = append(keys, o.in[k])
	}
	if o.kind == plan.TransformKind {
		return o.variableSchema(name, keys)
	}
	values = types.Schema{{Name: "groupState", Type: o.code.Value, Nullable: true},
		{Name: "timeoutTimestamp", Type: types.Of(types.BigInt), Nullable: true}}
	return keys, values, isDefault(name)
}

func (o *mapGroups) stateRows(name string, to emit) error {
	keys, values, _ := o.stateSchema(name)
	if o.kind == plan.TransformKind {
		return o.variableRows(name, append(append(types.Schema{}, keys...), values...), to)
	}
	buf := newRowsBuffer(append(append(types.Schema{}, keys...), values...))
	for row, err := range o.st.s.Range([]byte{stateRow}, []byte{stateRow + 1}) {
		if err != nil {
			return err
		}
		rest := row.Key[1:]
		for i := range keys {
			rest = readCell(buf.cols[i], rest)
		}
		state, timeout := []byte{0}, []byte{0}
		if len(row.Value) > 8 {
			state = row.Value[8:]
		}
		if t := int64(binary.LittleEndian.Uint64(row.Value)); t != noTimeout {
			timeout = append([]byte{1}, row.Value[:8]...)
		}
		readCell(buf.cols[len(keys)], state)
		readCell(buf.cols[len(keys)+1], timeout)
		buf.n++
	}
	return pushRows(buf.vecs(), buf.n, to)
}
