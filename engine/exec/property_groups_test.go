package exec

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// textCell is a text as cells.
func textCell(s string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{1}, uint32(len(s)))
	return append(b, s...)
}

func keyOf(cells []byte) string {
	if cells[0] == 0 {
		return ""
	}
	return string(cells[5:])
}

func intOf(cells []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(cells[1:]))) }

// State of a function over groups, with timeouts by either clock, against a map, over restarts. A row's v says
// what it does: below 0 removes the state, above 0 adds to it and asks for a timeout v seconds ahead, 0 looks.
func TestGroupsWithStateAgainstAModel(t *testing.T) {
	property(t, func(t *rapid.T) {
		byEvent := rapid.Bool().Draw(t, "event time")
		timing := plan.ProcessingTime
		if byEvent {
			timing = plan.EventTime
		}
		code := &Groups{Value: types.Of(types.BigInt), Function: func(s *GroupState, key []byte, rows iter.Seq[[]byte], emit func([]byte)) error {
			sum := int64(0)
			if cells, ok := s.Value(); ok {
				sum = int64(binary.LittleEndian.Uint64(cells[1:]))
			}
			if s.TimedOut() {
				emit(textCell(fmt.Sprint(keyOf(key), " out ", sum)))
				s.Remove()
				return nil
			}
			last := int64(0)
			for r := range rows {
				switch last = intOf(r); {
				case last < 0:
					sum = 0
					s.Remove()
				case last > 0:
					sum += last
					s.Update(binary.LittleEndian.AppendUint64([]byte{1}, uint64(sum)))
				}
			}
			emit(textCell(fmt.Sprint(keyOf(key), " has ", sum)))
			if last <= 0 {
				return nil
			}
			if !byEvent {
				return s.SetTimeoutDuration(last * 1000)
			}
			w, err := s.WatermarkMs()
			if err != nil {
				return err
			}
			return s.SetTimeoutTimestamp(w + last*1000)
		}}
		q := query{sql: "SELECT k, v, ts FROM a", mode: "append", delay: int64(rapid.IntRange(1, 9).Draw(t, "delay")), over: func(n plan.Node) plan.Node {
			return &plan.MapGroups{Child: n, Keys: []int{0}, Values: []int{1}, Kind: plan.FlatMapGroupsKind, Mode: "append", Time: timing, Code: code,
				Out: types.Schema{{Name: "r", Type: types.Of(types.String)}}}
		}}
		cp, err := store.Open("", store.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer cp.Close()
		type entry struct{ sum, timeout int64 }
		state := map[string]*entry{}
		x := newSim(t, q, cp, true)
		x.now = 1000
		for _, p := range append(cut(t, events(t, "rows", 0)), nil, nil) {
			x.now += int64(rapid.IntRange(0, 3000).Draw(t, "pause"))
			if rapid.Bool().Draw(t, "restart") {
				x.build()
			}
			late, evict := x.prev, x.w
			rows := map[string][]int32{}
			dropped, updated, removed := 0, 0, 0
			for _, r := range p {
				if byEvent && late > 0 && r.t*1000 <= late {
					dropped++
					continue
				}
				rows[r.k] = append(rows[r.k], r.v)
			}
			var want []string
			for k, vs := range rows {
				e := state[k]
				had := e != nil
				if !had {
					e = &entry{timeout: noTimeout}
				}
				old := e.timeout
				e.timeout = noTimeout
				did := "nothing"
				for _, v := range vs {
					switch {
					case v < 0:
						e.sum, did = 0, "removed"
					case v > 0:
						e.sum, did = e.sum+int64(v), "updated"
					}
				}
				want = append(want, fmt.Sprint(k, " has ", e.sum))
				if last := int64(vs[len(vs)-1]); last > 0 {
					e.timeout = x.now + last*1000
					if byEvent {
						e.timeout = evict + last*1000
					}
				}
				switch {
				case did == "removed" && e.timeout == noTimeout:
					removed++
					delete(state, k)
				case did != "nothing" || e.timeout != old:
					updated++
					state[k] = e
				}
			}
			limit := x.now
			if byEvent {
				limit = evict
			}
			for k, e := range state {
				if e.timeout != noTimeout && e.timeout < limit {
					want = append(want, fmt.Sprint(k, " out ", e.sum))
					removed++
					delete(state, k)
				}
			}
			sort.Strings(want)
			got := x.run(p)
			counters := fmt.Sprint("flatMapGroupsWithState", len(state), updated, removed, dropped, ";")
			if !slices.Equal(got, want) || x.counters() != counters {
				t.Fatalf("batch %d at %d, watermark %d: %v\ngot  %v %s\nwant %v %s", x.batch-1, x.now, evict, p, got, x.counters(), want, counters)
			}
		}
	})
}

// recorder is a processor with a list that expires and timers, against slices.
type recorder struct{ list *Variable }

func (p *recorder) Init(h *Handle) (err error) {
	p.list, err = h.Variable(ListVariable, "list", types.DataType{}, types.Of(types.BigInt), 4000)
	return err
}

func (p *recorder) Initial(*Handle, []byte, []byte) error { return nil }
func (p *recorder) Close(*Handle) error                   { return nil }

func (p *recorder) elements() ([]int64, error) {
	rows, err := p.list.Rows()
	var out []int64
	for _, r := range rows {
		out = append(out, int64(binary.LittleEndian.Uint64(r.Value[1:])))
	}
	return out, err
}

func (p *recorder) Rows(h *Handle, key []byte, rows iter.Seq[[]byte], emit func([]byte)) error {
	for r := range rows {
		v := intOf(r)
		var err error
		switch {
		case v < -1:
			err = p.list.Clear()
		case v == -1:
			err = h.DeleteTimer(h.NowMs()/1000*1000 + 2000)
		case v == 0:
			err = h.RegisterTimer(h.NowMs()/1000*1000 + 2000)
		default:
			err = p.list.Append([][]byte{binary.LittleEndian.AppendUint64([]byte{1}, uint64(v))})
		}
		if err != nil {
			return err
		}
	}
	list, err := p.elements()
	emit(textCell(fmt.Sprint(keyOf(key), " has ", list)))
	return err
}

func (p *recorder) Expired(h *Handle, key []byte, ms int64, emit func([]byte)) error {
	list, err := p.elements()
	emit(textCell(fmt.Sprint(keyOf(key), " at ", ms, " ", list)))
	return err
}

func TestProcessorsAgainstAModel(t *testing.T) {
	property(t, func(t *rapid.T) {
		q := query{sql: "SELECT k, v FROM a", mode: "append", over: func(n plan.Node) plan.Node {
			return &plan.MapGroups{Child: n, Keys: []int{0}, Values: []int{1}, Kind: plan.TransformKind, Mode: "append", Time: plan.ProcessingTime,
				Code: &Groups{Processor: &recorder{}}, Out: types.Schema{{Name: "r", Type: types.Of(types.String)}}}
		}}
		cp, err := store.Open("", store.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer cp.Close()
		type element struct{ v, until int64 }
		lists := map[string][]element{}
		timers := map[string]map[int64]bool{}
		x := newSim(t, q, cp, true)
		x.now = 10_000
		show := func(k string) string {
			var out []int64
			for _, e := range lists[k] {
				if x.now < e.until {
					out = append(out, e.v)
				}
			}
			return fmt.Sprint(out)
		}
		for _, p := range append(cut(t, events(t, "rows", 0)), nil, nil) {
			x.now += int64(rapid.IntRange(0, 3).Draw(t, "pause")) * 500
			if rapid.Bool().Draw(t, "restart") {
				x.build()
			}
			updated, removed := 0, 0
			var want []string
			seen := map[string]bool{}
			var keys []string
			for _, r := range p {
				if !seen[r.k] {
					seen[r.k] = true
					keys = append(keys, r.k)
				}
				at := x.now/1000*1000 + 2000
				switch {
				case r.v < -1:
					removed += len(lists[r.k])
					lists[r.k] = nil
				case r.v == -1:
					delete(timers[r.k], at)
				case r.v == 0:
					if timers[r.k] == nil {
						timers[r.k] = map[int64]bool{}
					}
					timers[r.k][at] = true
				default:
					updated++
					lists[r.k] = append(lists[r.k], element{int64(r.v), x.now + 4000})
				}
			}
			for _, k := range keys {
				want = append(want, fmt.Sprint(k, " has ", show(k)))
			}
			for k, ts := range timers {
				for at := range ts {
					if at <= x.now {
						want = append(want, fmt.Sprint(k, " at ", at, " ", show(k)))
						delete(ts, at)
					}
				}
			}
			total := 0
			for k, l := range lists {
				kept := l[:0:0]
				for _, e := range l {
					if x.now >= e.until {
						removed++
						continue
					}
					kept = append(kept, e)
				}
				lists[k] = kept
				total += len(kept)
			}
			sort.Strings(want)
			got := x.run(p)
			counters := fmt.Sprint("transformWithStateExec", total, updated, removed, 0, ";")
			if !slices.Equal(got, want) || x.counters() != counters {
				t.Fatalf("batch %d at %d: %v\ngot  %v %s\nwant %v %s", x.batch-1, x.now, p, got, x.counters(), want, counters)
			}
		}
	})
}
