package exec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"streamlab/store"
)

// TestAwayIsAsPresent plays random streams twice: with all state in memory, and with state that is away after each
// restart, leaves after some batches and is fetched after others. Rows, counters and the state itself must agree.
func TestAwayIsAsPresent(t *testing.T) {
	queries := []query{
		{sql: "SELECT k, v % 50 AS m, count(*), sum(v), max(k) FROM a GROUP BY k, v % 50", mode: "update"},
		{sql: "SELECT concat(k, '-a text that is longer than sixteen bytes-', v) AS t, collect_list(v), min(k) FROM a GROUP BY ALL", mode: "update"},
		{sql: "SELECT count(*), sum(v) FROM a", mode: "update"},
		{sql: "SELECT k, v FROM da", mode: "append", dedup: []string{"k", "v"}},
		{sql: "SELECT v FROM da", mode: "append", dedup: []string{"v"}},
	}
	came, left, fetched := 0, int64(0), 0
	property(t, func(t *rapid.T) {
		defer basesOften(0)()
		scarce, usual := rapid.Bool().Draw(t, "memory is scarce"), leaveAt
		if scarce {
			leaveAt = 0
		}
		defer func() { leaveAt = usual }()
		q := rapid.SampledFrom(queries).Draw(t, "query")
		open := func() *store.Checkpoint {
			cp, err := store.Open("", store.Options{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			return cp
		}
		present, away := newSim(t, q, open(), true), &sim{t: t, q: q, cp: open(), keep: true, away: true}
		away.build()
		defer present.cp.Close()
		defer away.cp.Close()
		demanded := func() demanding {
			for _, s := range away.p.Stateful() {
				if o, ok := s.(demanding); ok && o.demanded() != nil {
					return o
				}
			}
			t.Fatal("no operator has a demand")
			return nil
		}
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			var in []event
			for range rapid.IntRange(0, 12).Draw(t, "rows") {
				in = append(in, event{k: rapid.SampledFrom([]string{"", "x", "y", "a key that is longer than sixteen bytes"}).Draw(t, "k"),
					t: 1, v: int32(rapid.IntRange(0, 200).Draw(t, "v"))})
			}
			if scarce {
				away.p.SetBudget(1<<40, 0)
			}
			before := demanded().demanded().missing.Load()
			want, got := present.run(in), away.run(in)
			if !slices.Equal(want, got) {
				t.Fatalf("batch %d: %v, not %v", away.batch-1, got, want)
			}
			a, b := present.last.Operators[0], away.last.Operators[0]
			if a.NumRowsTotal != b.NumRowsTotal || a.NumRowsUpdated != b.NumRowsUpdated {
				t.Fatalf("batch %d: %+v, not %+v", away.batch-1, b, a)
			}
			o := demanded()
			if o.demanded().missing.Load() < before {
				came++
			}
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				away.p.Leave()
				away.build()
			case 1:
				left += o.demanded().release(o, away.batch-int64(rapid.IntRange(0, 2).Draw(t, "idle")))
				o.measure()
			case 2:
				more, err := away.p.Fetch()
				if err != nil {
					t.Fatal(err)
				}
				if more {
					fetched++
				}
			}
			if n := o.counters().NumRowsTotal; n != a.NumRowsTotal {
				t.Fatalf("batch %d: %d rows after it, not %d", away.batch-1, n, a.NumRowsTotal)
			}
		}
		if want, got := stateOf(present), stateOf(away); want != got {
			t.Fatalf("the state is %s, not %s", got, want)
		}
		away.p.Leave()
	})
	if came == 0 || left == 0 || fetched == 0 {
		t.Errorf("%d batches asked for what was away, %d groups left, %d times a bucket was fetched", came, left, fetched)
	}
}

// stateOf shows the state that a sim has committed, in an order of its own.
func stateOf(x *sim) string {
	p, err := Build(x.q.node(x.t), Conf{Expr: ansi, Mode: x.q.mode, ShufflePartitions: 2})
	if err != nil {
		x.t.Fatal(err)
	}
	v := x.cp.At(x.batch - 1)
	defer v.Close()
	rows, schema, err := p.StateTable(v, 0, "default")
	if err != nil {
		x.t.Fatal(err)
	}
	out := show(rows, schema)
	slices.Sort(out)
	return fmt.Sprint(len(out), " ", strings.Join(out, " "))
}
