package exec

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/store"
)

// few runs a test that draws nothing as rapid does, once.
func few(t *testing.T, f func(t *rapid.T)) {
	t.Helper()
	set := flag.Lookup("rapid.checks")
	old := set.Value.String()
	if err := set.Value.Set("1"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Value.Set(old) }()
	rapid.Check(t, f)
}

func manyEvents(rng *rand.Rand, n int, keys int64, from int64) []event {
	out := make([]event, n)
	for i := range out {
		out[i] = event{k: fmt.Sprintf("a key that is longer than sixteen bytes %d", rng.Int64N(keys)), t: from + rng.Int64N(20), v: int32(rng.IntN(100))}
	}
	return out
}

// Many rows with long values, which make workers start, rows move and bases be written: what comes out is what
// loops over all rows find, whether the plan runs on or is built anew before every batch.
func TestStreamJoinOfManyRows(t *testing.T) {
	for _, kind := range []string{"JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "FULL JOIN"} {
		few(t, func(t *rapid.T) {
			own, err := store.Open("", store.Options{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			q := query{mode: "append", delay: 5}
			row := "concat_ws(' ', coalesce(a.k, '-'), cast(unix_seconds(a.ts) AS string), cast(a.v AS string)"
			if kind != "LEFT SEMI JOIN" {
				row += ", '|', coalesce(b.k, '-'), cast(unix_seconds(b.ts) AS string), cast(b.v AS string)"
			}
			q.sql = "SELECT " + row + ") AS r FROM a " + kind + " b ON concat(a.k, '!') = concat(b.k, '!') AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 7 SECONDS"
			x := newSim(t, q, own, true)
			x.hidden = true
			rng := rand.New(rand.NewPCG(1, 2))
			var left, right, got []string
			var ls, rs []event
			for i := range int64(8) {
				l, r := manyEvents(rng, 2500, 1500, 100+25*i), manyEvents(rng, 2000, 1500, 100+25*i)
				ls, rs = append(ls, l...), append(rs, r...)
				if i%3 == 2 {
					x.build()
				}
				for _, a := range x.p.stateful[0].(*streamJoin).ranges { // bases are due
					a.sides[i%2].stats.delta, a.sides[i%2].written = 1<<30, 1<<30
				}
				got = append(got, x.run(l, r)...)
			}
			got = append(got, x.run([]event{{k: "flush", t: 1000}}, []event{{k: "flush", t: 1000}})...)
			got = append(got, x.run()...)
			text := func(e event) string { return fmt.Sprint(e.k, " ", e.t, " ", e.v) }
			byKey := map[string][]int{}
			for j, r := range rs {
				byKey[r.k] = append(byKey[r.k], j)
			}
			hit := map[int]bool{}
			for _, l := range ls {
				any := false
				for _, j := range byKey[l.k] {
					if r := rs[j]; r.t >= l.t && r.t <= l.t+7 {
						any, hit[j] = true, true
						if kind != "LEFT SEMI JOIN" {
							left = append(left, text(l)+" | "+text(r))
						}
					}
				}
				switch {
				case any && kind == "LEFT SEMI JOIN":
					left = append(left, text(l))
				case !any && (kind == "LEFT JOIN" || kind == "FULL JOIN"):
					left = append(left, text(l)+" | -")
				}
			}
			for j, r := range rs {
				if kind == "FULL JOIN" && !hit[j] {
					right = append(right, "- | "+text(r))
				}
			}
			want := append(left, right...)
			got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "flush") })
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d rows, want %d", kind, len(got), len(want))
			}
			o := x.p.stateful[0].(*streamJoin)
			if n := o.live(); n > 2 {
				t.Fatalf("%s: %d rows are still stored", kind, n)
			}
			for _, a := range o.ranges {
				for _, st := range a.sides {
					if st.rows.live != 0 && st.rows.live != 1 || st.rows.dead != 0 || st.owners.live > 6000 {
						t.Fatalf("%s: %d rows, %d dead, %d keys in a range", kind, st.rows.live, st.rows.dead, st.owners.live)
					}
				}
			}
		})
	}
}

// Earlier versions kept the rows of a side in one table by number. A checkpoint of such a version is read, and
// the next batch writes the rows where they belong.
func TestJoinReadsRowsOfEarlierVersions(t *testing.T) {
	few(t, func(t *rapid.T) {
		own, err := store.Open("", store.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		q := query{mode: "append", delay: 1, sql: "SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 4 SECONDS"}
		p, err := Build(q.node(t), Conf{Expr: ansi, Mode: "append", Workers: 2, ShufflePartitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		s := p.stateful[0].(*streamJoin).sides[0]
		var rows []event
		for i := range 50 {
			rows = append(rows, event{k: fmt.Sprintf("a key that is longer than sixteen bytes %d", i), t: 20, v: int32(i)})
		}
		lay := s.oldLayout()
		old, e := newTable(lay, oldExtra), newEncoder(lay)
		at := map[string]int{"k": 0, "ts": 1, "v": 2}
		vs := columnar.Vectors(batchOf(rows), eventSchema)
		number := columnar.NewVec(lay.fields[0].t, len(rows))
		cols := []*columnar.Vec{number}
		for _, f := range s.in {
			cols = append(cols, &vs[at[f.Name]])
		}
		for i := range number.I64 {
			number.I64[i] = int64(i)
		}
		e.encode(cols, columnar.AllRows(len(rows)))
		gs := make([]uint32, len(rows))
		old.upsert(e, gs)
		for i, g := range gs {
			*(*int64)(old.rec.Ptr(g, old.extraAt()+oldTime)) = 20_000_000
			if i == 7 { // a partner came
				*(*uint64)(old.rec.Ptr(g, old.extraAt()+oldMatched-4)) = 1 << 32
			}
		}
		b := own.Begin(0)
		saveDelta(b, store.Shard{Store: "left"}, old, nil, &segmentStats{})
		if err := own.LogOffsets(0, store.OffsetEntry{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(store.CommitEntry{}, nil); err != nil {
			t.Fatal(err)
		}
		x := newSim(t, q, own, true)
		x.batch = 1
		x.build()
		if n := x.p.stateful[0].(*streamJoin).live(); n != 50 {
			t.Fatalf("%d rows were read", n)
		}
		if got := x.run(nil, []event{{k: rows[3].k, t: 21, v: 5}}); !slices.Equal(got, []string{rows[3].k + "|3|5"}) {
			t.Fatalf("got %v", got)
		}
		for i := range x.marks {
			x.marks[i] = 0
		}
		x.build() // from what the batch wrote
		x.run([]event{{k: "flush", t: 100}}, []event{{k: "flush", t: 100}})
		x.build()
		var lone int
		for _, r := range x.run() {
			if !strings.HasSuffix(r, "|null") || strings.HasPrefix(r, rows[3].k+"|") || strings.HasPrefix(r, rows[7].k+"|") {
				t.Fatalf("got %s", r)
			}
			lone++
		}
		if lone != 48 {
			t.Fatalf("%d rows came out alone, want 48", lone)
		}
	})
}

// A probe passes by what its condition cannot reach, if that follows from sums and comparisons alone, and if the
// times that are compared are those that rows lie by.
func TestProbesEndAtTheTimeBound(t *testing.T) {
	few(t, func(t *rapid.T) {
		for cond, want := range map[string]string{
			"b.ts BETWEEN a.ts AND a.ts + INTERVAL 7 SECONDS":   "-7001000 true -1000 true",
			"b.ts >= a.ts AND b.ts < a.ts + INTERVAL 7 SECONDS": "-7000000 true -1000 true",
			"b.ts > a.ts - INTERVAL 3 SECONDS":                  "0 false -3000000 true",
			"b.ts > least(a.ts, TIMESTAMP'2026-01-01')":         "0 false 0 false",
			"b.ts > date_trunc('hour', a.ts)":                   "0 false 0 false",
			"a.v < b.v":                                         "0 false 0 false",
			"b.ts >= a.ts AND b.ts > a.ts + INTERVAL 2 SECONDS AND a.ts > b.ts - INTERVAL 9 SECONDS": "-9000000 true 2000000 true",
		} {
			q := query{mode: "append", delay: 5, sql: "SELECT a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND " + cond}
			p, err := Build(q.node(t), Conf{Expr: ansi, Mode: "append"})
			if err != nil {
				t.Fatal(err)
			}
			o := p.stateful[0].(*streamJoin)
			l, r := o.sides[0], o.sides[1]
			if got := fmt.Sprint(l.reach, l.reaches, r.reach, r.reaches); got != want {
				t.Errorf("%s: %s, want %s", cond, got, want)
			}
		}
	})
}
