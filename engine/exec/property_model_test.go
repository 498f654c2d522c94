package exec

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// kept is a row in the model's state of a join.
type kept struct {
	event
	matched bool
}

// joinModel is a join of two streams in slices, step by step as Spark does it.
type joinModel struct {
	kind        string
	delay       int64
	keyed       bool  // equal times: the time is a key
	ranged      bool  // b.t between a.t+low and a.t+high
	low, high   int64 // seconds
	extra       bool  // a.v <= b.v
	leftOnly    bool  // a.v > 0, in the condition of an outer join
	left, right []kept
	out         []string
	updated     int
	removed     int
	dropped     int
}

func (m *joinModel) show(e *event) string {
	if e == nil {
		return "-"
	}
	k := e.k
	if k == "" {
		k = "-"
	}
	return fmt.Sprint(k, " ", e.t, " ", e.v)
}

func (m *joinModel) emit(l, r *event) {
	if m.kind == "LEFT SEMI JOIN" {
		m.out = append(m.out, m.show(l))
		return
	}
	m.out = append(m.out, m.show(l)+" and "+m.show(r))
}

func (m *joinModel) matches(l, r event) bool {
	if l.k != r.k || l.k == "" && m.kind != "FULL JOIN" || m.keyed && l.t != r.t || m.leftOnly && l.v <= 0 || m.extra && l.v > r.v {
		return false
	}
	return !m.ranged || r.t >= l.t+m.low && r.t <= l.t+m.high
}

// goes says whether a row of a side is evicted at evict ms.
func (m *joinModel) goes(left bool, t, evict int64) bool {
	switch {
	case evict <= 0:
		return false
	case m.keyed:
		return t*1000 <= evict
	case m.ranged && left && m.leftOnly: // the number that v is compared with bounds the state too, as seconds
		return t*1000 <= min(evict-m.high*1000-1, 0)
	case m.ranged && left:
		return t*1000 <= evict-m.high*1000-1
	case m.ranged:
		return t*1000 <= evict+m.low*1000-1
	}
	return false
}

// onTime applies the filters that Spark infers, and drops late rows.
func (m *joinModel) onTime(rows []event, left bool, late int64) (out []event) {
	for _, r := range rows {
		nullsStay := m.kind == "FULL JOIN" || m.kind == "LEFT JOIN" && left || m.kind == "RIGHT JOIN" && !left
		switch {
		case r.k == "" && !nullsStay:
		case late > 0 && r.t*1000 <= late:
			m.dropped++
		default:
			out = append(out, r)
		}
	}
	return out
}

func (m *joinModel) takeRight(rows []event, late, evict int64) {
	for _, r := range m.onTime(rows, false, late) {
		row := kept{event: r}
		for i := 0; i < len(m.left); i++ {
			if l := &m.left[i]; m.matches(l.event, r) {
				m.emit(&l.event, &r)
				l.matched, row.matched = true, true
				if m.kind == "LEFT SEMI JOIN" {
					m.left = slices.Delete(m.left, i, i+1)
					m.removed++
					i--
				}
			}
		}
		outer := (m.kind == "RIGHT JOIN" || m.kind == "FULL JOIN") && !row.matched
		if outer || !m.goes(false, r.t, evict) {
			m.right = append(m.right, row)
			m.updated++
		}
	}
}

func (m *joinModel) takeLeft(rows []event, late int64) {
	for _, l := range m.onTime(rows, true, late) {
		row := kept{event: l}
		if m.leftOnly && l.v <= 0 {
			if m.kind == "LEFT JOIN" || m.kind == "FULL JOIN" {
				m.emit(&l, nil)
			}
			continue
		}
		for i := range m.right {
			if r := &m.right[i]; m.matches(l, r.event) {
				if m.kind != "LEFT SEMI JOIN" || !row.matched {
					m.emit(&l, &r.event)
				}
				r.matched, row.matched = true, true
			}
		}
		if m.kind == "LEFT SEMI JOIN" && row.matched {
			continue
		}
		m.left = append(m.left, row)
		m.updated++
	}
}

// evictSide removes what goes; null-extended rows come from the preserved side.
func (m *joinModel) evictSide(left bool, evict int64, counted bool) {
	side := &m.right
	if left {
		side = &m.left
	}
	keep := (*side)[:0:0]
	for _, r := range *side {
		if !m.goes(left, r.t, evict) {
			keep = append(keep, r)
			continue
		}
		if counted {
			m.removed++
		}
		if r.matched {
			continue
		}
		e := r.event
		if left && (m.kind == "LEFT JOIN" || m.kind == "FULL JOIN") {
			m.emit(&e, nil)
		}
		if !left && (m.kind == "RIGHT JOIN" || m.kind == "FULL JOIN") {
			m.emit(nil, &e)
		}
	}
	*side = keep
}

func (m *joinModel) run(left, right []event, late, evict int64) (rows []string, counters string) {
	m.out, m.updated, m.removed, m.dropped = nil, 0, 0, 0
	if m.kind == "LEFT SEMI JOIN" {
		m.takeRight(right, late, evict)
		m.takeLeft(left, late)
	} else {
		m.takeLeft(left, late)
		m.takeRight(right, late, evict)
	}
	m.evictSide(true, evict, m.kind != "LEFT JOIN" && m.kind != "FULL JOIN")
	m.evictSide(false, evict, m.kind != "RIGHT JOIN" && m.kind != "FULL JOIN")
	sort.Strings(m.out)
	return m.out, fmt.Sprint("symmetricHashJoin", len(m.left)+len(m.right), m.updated, m.removed, m.dropped, ";")
}

// Late rows, evictions, null rows and all counters of a join of two streams, batch by batch.
func TestStreamJoinAgainstAModel(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		m := &joinModel{kind: rapid.SampledFrom([]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"}).Draw(t, "kind"),
			delay: int64(rapid.IntRange(1, 9).Draw(t, "delay")), low: int64(rapid.IntRange(-4, 2).Draw(t, "low")), high: int64(rapid.IntRange(2, 6).Draw(t, "high")),
			extra: rapid.Bool().Draw(t, "condition")}
		cond := "a.k = b.k"
		switch rapid.SampledFrom([]string{"key", "range", "none"}).Draw(t, "times") {
		case "key":
			m.keyed = true
			cond += " AND a.ts = b.ts"
		case "range":
			m.ranged = true
			cond += fmt.Sprintf(" AND b.ts BETWEEN a.ts + INTERVAL '%d' SECOND AND a.ts + INTERVAL '%d' SECOND", m.low, m.high)
		default:
			m.kind = "JOIN"
		}
		if m.extra {
			cond += " AND a.v <= b.v"
		}
		if (m.kind == "LEFT JOIN" || m.kind == "FULL JOIN") && rapid.Bool().Draw(t, "left condition") {
			m.leftOnly = true
			cond += " AND a.v > 0"
		}
		cell := func(side string) string {
			return "coalesce(" + side + ".k, '-'), cast(unix_seconds(" + side + ".ts) AS string), cast(" + side + ".v AS string)"
		}
		q := query{mode: "append", delay: m.delay}
		q.sql = "SELECT concat_ws(' ', " + cell("a") + ", 'and', " + cell("b") + ") AS r FROM a " + m.kind + " b ON " + cond
		if m.kind == "LEFT SEMI JOIN" {
			q.sql = "SELECT concat_ws(' ', " + cell("a") + ") AS r FROM a " + m.kind + " b ON " + cond
		}
		x := newSim(t, q, cp, false)
		x.hidden = rapid.Bool().Draw(t, "hidden")
		ls, rs := cut(t, events(t, "left", 0)), cut(t, events(t, "right", 0))
		for len(ls)+len(rs) > 0 {
			var in [2][]event
			for i, s := range []*[][]event{&ls, &rs} {
				if len(*s) > 0 && rapid.Bool().Draw(t, "side") {
					in[i], *s = (*s)[0], (*s)[1:]
				}
			}
			late, evict := x.prev, x.w
			rows := x.run(in[0], in[1])
			want, counters := m.run(in[0], in[1], late, evict)
			if !slices.Equal(rows, want) || x.counters() != counters {
				t.Fatalf("%s\nbatch %d, late %d, evict %d: %v %v\ngot  %v %s\nwant %v %s", q.sql, x.batch-1, late, evict, in[0], in[1], rows, x.counters(), want, counters)
			}
		}
	})
}

// sessionModel keeps sessions per key in slices.
type sessionModel struct {
	mode  string
	gap   int64
	state map[string][]session // by start
}

type session struct{ start, end, n int64 }

func (m *sessionModel) run(rows []event, late, evict int64) (out []string, counters string) {
	updated, removed, dropped := 0, 0, 0
	pre := map[event]int64{}
	for _, r := range rows {
		pre[event{k: r.k, t: r.t}]++
	}
	fresh := map[string][]session{}
	for e, n := range pre {
		if late > 0 && (e.t+m.gap)*1000 <= late {
			dropped++
			continue
		}
		fresh[e.k] = append(fresh[e.k], session{e.t, e.t + m.gap, n})
	}
	for k, list := range fresh {
		old := m.state[k]
		all := append(slices.Clone(old), list...)
		sort.Slice(all, func(i, j int) bool { return all[i].start < all[j].start })
		var merged []session
		for _, s := range all {
			if i := len(merged) - 1; i >= 0 && s.start <= merged[i].end {
				merged[i].end = max(merged[i].end, s.end)
				merged[i].n += s.n
				continue
			}
			merged = append(merged, s)
		}
		for _, o := range old {
			if !slices.ContainsFunc(merged, func(s session) bool { return s.start == o.start }) {
				removed++
			}
		}
		updated += len(merged)
		m.state[k] = merged
	}
	total := 0
	for k, list := range m.state {
		var keep []session
		for _, s := range list {
			gone := m.mode == "append" && evict > 0 && s.end*1000 <= evict
			if gone {
				removed++
			} else {
				keep = append(keep, s)
			}
			if gone || m.mode == "complete" {
				out = append(out, fmt.Sprintf("%d|%d|%s|%d", s.start, s.end, k, s.n))
			}
		}
		m.state[k] = keep
		total += len(keep)
	}
	sort.Strings(out)
	return out, fmt.Sprint("sessionWindowStateStoreSaveExec", total, updated, removed, dropped, ";")
}

// Late rows, merges, evictions and all counters of session windows, batch by batch.
func TestSessionsAgainstAModel(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		m := &sessionModel{mode: rapid.SampledFrom([]string{"append", "complete"}).Draw(t, "mode"), gap: int64(rapid.IntRange(1, 9).Draw(t, "gap")), state: map[string][]session{}}
		q := query{mode: m.mode, delay: int64(rapid.IntRange(1, 9).Draw(t, "delay")), sql: fmt.Sprintf("SELECT cast(unix_seconds(session_window.start) AS string) AS s, "+
			"cast(unix_seconds(session_window.end) AS string) AS e, coalesce(k, '') AS k, count(*) AS n FROM a GROUP BY session_window(ts, '%d seconds'), k", m.gap)}
		x := newSim(t, q, cp, false)
		x.hidden = rapid.Bool().Draw(t, "hidden")
		for _, p := range cut(t, events(t, "rows", 0)) {
			for more := true; more; more = rapid.Bool().Draw(t, "empty") {
				late, evict := x.prev, x.w
				rows := x.run(p)
				want, counters := m.run(p, late, evict)
				if !slices.Equal(rows, want) || x.counters() != counters {
					t.Fatalf("%s %s, batch %d, late %d, evict %d: %v\ngot  %v %s\nwant %v %s", q.sql, q.mode, x.batch-1, late, evict, p, rows, x.counters(), want, counters)
				}
				p = nil
			}
		}
	})
}

// Two stateful operators in a row, each late by its own rules: a window of windows against a model of it.
func TestChainedWindowsAgainstAModel(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		size := int64(rapid.IntRange(1, 6).Draw(t, "size"))
		big := size * int64(rapid.IntRange(1, 4).Draw(t, "times"))
		q := query{mode: "append", delay: int64(rapid.IntRange(1, 9).Draw(t, "delay"))}
		q.sql = fmt.Sprintf("SELECT cast(unix_seconds(w2.end) AS string) AS e, coalesce(k, '') AS k, sum(n) AS n FROM (SELECT window(window, '%d seconds') AS w2, k, n FROM "+
			"(SELECT window, k, count(*) AS n FROM a GROUP BY window(ts, '%d seconds'), k)) GROUP BY w2, k", big, size)
		x := newSim(t, q, cp, false)
		inner := &groupModel{mode: "append", size: size, slide: size, state: map[string]int64{}}
		outer := map[string]int64{}
		outerW := int64(0)
		for _, p := range append(cut(t, events(t, "rows", 0)), flush, nil, nil) {
			late, evict := x.prev, x.w
			rows := x.run(p)
			closed, _ := inner.run(p, late, evict)
			var want []string
			for _, c := range closed { // what the inner windows gave is on time above: its watermark lags behind
				f := strings.SplitN(c, "|", 3)
				var end, n int64
				fmt.Sscan(f[0], &end)
				fmt.Sscan(f[2], &n)
				last := end*1000 - 1 // window_time, in ms, floored to seconds below
				start := last / 1000 / big * big
				outer[fmt.Sprintf("%d|%s", start+big, f[1])] += n
			}
			outerW = evict
			for k, n := range outer {
				if inner.end(k)*1000 <= outerW {
					want = append(want, fmt.Sprintf("%s|%d", k, n))
					delete(outer, k)
				}
			}
			sort.Strings(want)
			if !slices.Equal(rows, want) {
				t.Fatalf("%s batch %d, late %d, evict %d: %v\ngot  %v\nwant %v", q.sql, x.batch-1, late, evict, p, rows, want)
			}
		}
	})
}
