package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"streamlab/codec"
	"streamlab/columnar"
	"streamlab/engine"
	"streamlab/errs"
	"streamlab/sinks"
	"streamlab/store"
	"time"
)

// watched is a query over hand-fed sources a and b whose state is looked at.
type watched struct {
	t *testing.T
	s *engine.Session
	w *engine.DataStreamWriter
	q *engine.StreamingQuery
	x *engine.Inspector
}

// watch runs a query over random rows for some batches and leaves it running.
func watch(t *testing.T, seed uint64, query, mode string, batches int, retain int) *watched {
	t.Helper()
	s, err := engine.NewSession(engine.Config{Dir: t.TempDir(), Conf: map[string]string{"streamlab.durability": "process",
		"spark.sql.streaming.minBatchesToRetain": fmt.Sprint(retain)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	x := &watched{t: t, s: s}
	for _, n := range []string{"a", "b"} {
		df := s.ReadStream().Format("memory").Schema("ts TIMESTAMP, k STRING, v INT").Load().WithWatermark("ts", "20 seconds")
		if err := df.CreateOrReplaceTempView(n); err != nil {
			t.Fatal(err)
		}
		if n == "b" {
			continue
		}
		if err := df.DropDuplicates("ts", "k").CreateOrReplaceTempView("d"); err != nil {
			t.Fatal(err)
		}
		if err := df.DropDuplicatesWithinWatermark("k", "v").CreateOrReplaceTempView("e"); err != nil {
			t.Fatal(err)
		}
	}
	x.w = must(t, s, query).WriteStream().OutputMode(mode).Option("checkpointLocation", t.TempDir()+"/c").
		EachBatch(func(context.Context, sinks.Batch) error { return nil })
	if x.q, err = x.w.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for range batches {
		for _, n := range []string{"a", "b"} {
			if r.IntN(5) == 0 {
				continue
			}
			var rows [][]any
			for range r.IntN(7) {
				ts := at.Add(time.Duration(r.IntN(40)-20) * time.Second)
				rows = append(rows, []any{ts.Format("2006-01-02 15:04:05"), fmt.Sprint("k", r.IntN(5)), fmt.Sprint(r.IntN(100))})
			}
			if len(rows) > 0 {
				if err := s.Feed(n, rows); err != nil {
					t.Fatal(err)
				}
			}
		}
		at = at.Add(15 * time.Second)
		if err := x.q.ProcessAllAvailable(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if x.x, err = x.w.Inspect(); err != nil {
		t.Fatal(err)
	}
	return x
}

// table is the whole state after a batch, read the plain way: values by key, both printed.
func (x *watched) table(batch int64, operator int, storeName string) map[string]string {
	x.t.Helper()
	v := x.q.Checkpoint().At(batch)
	defer v.Close()
	rows, schema, err := x.w.StateTable(v, operator, storeName)
	if err != nil {
		x.t.Fatal(err)
	}
	out := map[string]string{}
	for _, rb := range rows {
		vs := columnar.Vectors(rb, schema)
		for i := range int(rb.NumRows()) {
			var key []string
			for _, k := range vs[0].Kids {
				if f := k.Type.Fields; len(f) == 2 && f[0].Name == "start" {
					k = k.Kids[0]
				}
				key = append(key, string(codec.AppendDisplay(nil, k, i, time.UTC)))
			}
			var value []string
			for _, k := range vs[1].Kids {
				value = append(value, string(codec.AppendDisplay(nil, k, i, time.UTC)))
			}
			out[strings.Join(key, ", ")] = strings.Join(value, "|")
		}
	}
	return out
}

func joined(vs []engine.StateValue) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Text)
	}
	return strings.Join(out, "|")
}

var stateQueries = []struct{ name, query, mode string }{
	{"windows", "SELECT window(ts, '10 seconds') AS w, k, count(*) AS n, sum(v) AS s FROM a GROUP BY 1, 2", "append"},
	{"groups", "SELECT k, count(*) AS n, max(v) AS m, collect_list(v) AS l FROM a GROUP BY k", "complete"},
	{"one row", "SELECT count(*) AS n FROM a", "update"},
	{"sessions", "SELECT session_window(ts, '10 seconds') AS w, k, count(*) AS n FROM a GROUP BY 1, 2", "append"},
	{"join", "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL 10 SECONDS AND b.ts + INTERVAL 10 SECONDS", "append"},
	{"duplicates", "SELECT k, v FROM d", "append"},
	{"duplicates for a while", "SELECT k, v FROM e", "append"},
	{"limit", "SELECT k FROM a LIMIT 9", "append"},
	{"chain", "SELECT window(w, '60 seconds') AS u, count(*) AS c FROM (SELECT window(ts, '10 seconds') AS w, k, count(*) AS n FROM a GROUP BY 1, 2) GROUP BY 1", "append"},
}

// Pages, the history of every key and the difference of any two batches equal what comparing whole states
// gives.
func TestInspectorAgainstWholeStates(t *testing.T) {
	ctx := context.Background()
	for i, c := range stateQueries {
		t.Run(c.name, func(t *testing.T) {
			retain := 100
			if i%2 == 1 {
				retain = 3
			}
			x := watch(t, uint64(i), c.query, c.mode, 10, retain)
			cp := x.q.Checkpoint()
			from, to := cp.Retained()
			if retain < 9 && from == 0 {
				t.Fatal("nothing left the retained range")
			}
			stores, err := x.x.Stores(cp, to)
			if err != nil || len(stores) == 0 {
				t.Fatalf("%v, %v", stores, err)
			}
			for _, s := range stores {
				states := map[int64]map[string]string{-1: {}}
				for n := from; n <= to; n++ {
					states[n] = x.table(n, s.Operator, s.Store)
					x.checkPages(ctx, cp, n, s, states[n])
				}
				x.checkHistories(ctx, cp, s, states, from, to)
				for a := from; a <= to; a++ {
					for b := a; b <= to; b++ {
						x.checkDiff(ctx, cp, s, a, b, states)
					}
				}
				if from == 0 {
					x.checkDiff(ctx, cp, s, -1, to, states)
				}
			}
		})
	}
}

func (x *watched) checkPages(ctx context.Context, cp *store.Checkpoint, n int64, s engine.StateStore, want map[string]string) {
	x.t.Helper()
	got := map[string]string{}
	last := ""
	for from := 0; ; from += 3 {
		p, err := x.x.Page(ctx, cp, engine.StateQuery{Batch: n, Operator: s.Operator, Store: s.Store, From: from, N: 3})
		if err != nil {
			x.t.Fatal(err)
		}
		if p.Total != len(want) || p.Matches != len(want) {
			x.t.Fatalf("batch %d: %d of %d rows, want %d", n, p.Matches, p.Total, len(want))
		}
		if len(p.Rows) == 0 {
			break
		}
		for _, r := range p.Rows {
			if string(r.Key) <= last && last != "" {
				x.t.Errorf("batch %d: %s is out of order", n, r.KeyText)
			}
			last = string(r.Key)
			got[r.KeyText] = joined(r.Values)
			if r.Batch > n || r.Batch < 0 || r.Bytes <= 0 && r.KeyText != "" {
				x.t.Errorf("batch %d: %+v", n, r)
			}
		}
	}
	if !equalStates(got, want) {
		x.t.Errorf("batch %d %v:\n got %v\nwant %v", n, s, got, want)
	}
}

func equalStates(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func (x *watched) checkHistories(ctx context.Context, cp *store.Checkpoint, s engine.StateStore, states map[int64]map[string]string, from, to int64) {
	x.t.Helper()
	keys := map[string][]byte{}
	for n := from; n <= to; n++ {
		p, err := x.x.Page(ctx, cp, engine.StateQuery{Batch: n, Operator: s.Operator, Store: s.Store, N: 1000})
		if err != nil {
			x.t.Fatal(err)
		}
		for _, r := range p.Rows {
			keys[r.KeyText] = r.Key
			found, err := x.x.Match(ctx, cp, s.Operator, s.Store, r.KeyJSON)
			if err != nil || string(found.Key) != string(r.Key) {
				x.t.Errorf("%s is not found by %s: %v, %v", r.KeyText, r.KeyJSON, found.KeyText, err)
			}
		}
	}
	for text, key := range keys {
		seen := map[int64]engine.KeyVersion{}
		last := to + 1
		for v, err := range x.x.History(ctx, cp, s.Operator, s.Store, key) {
			if err != nil {
				x.t.Fatal(err)
			}
			if v.Batch >= last {
				x.t.Errorf("%s: batch %d after %d", text, v.Batch, last)
			}
			last = v.Batch
			seen[v.Batch] = v
		}
		// Between two versions the value stays; each version has the value of its batch.
		value, have := "", false
		known := from == 0
		for n := int64(0); n <= to; n++ {
			if v, ok := seen[n]; ok {
				value, have, known = joined(v.Row.Values), !v.Removed, true
			}
			if n < from || !known && n == from {
				if n == from && !known { // nothing is said of the time before: then there was no such key
					value, have, known = "", false, true
				} else {
					continue
				}
			}
			want, is := states[n][text]
			if is != have || is && want != value {
				x.t.Errorf("%s after batch %d: history says %q (%v), it is %q (%v)", text, n, value, have, want, is)
			}
		}
	}
}

func (x *watched) checkDiff(ctx context.Context, cp *store.Checkpoint, s engine.StateStore, a, b int64, states map[int64]map[string]string) {
	x.t.Helper()
	d, err := x.x.Diff(ctx, cp, a, b)
	if err != nil {
		x.t.Fatal(err)
	}
	var want []string
	for k, v := range states[b] {
		if w, ok := states[a][k]; !ok {
			want = append(want, "added "+k+" -> "+v)
		} else if w != v {
			want = append(want, "changed "+k+" "+w+" -> "+v)
		}
	}
	for k, v := range states[a] {
		if _, ok := states[b][k]; !ok {
			want = append(want, "removed "+k+" "+v+" -> ")
		}
	}
	var got []string
	for _, sd := range d.Stores {
		if sd.StateStore != s {
			continue
		}
		if sd.Before != len(states[a]) || sd.After != len(states[b]) || sd.Added+sd.Removed+sd.Changed != sd.Len() {
			x.t.Errorf("%d to %d: %+v", a, b, sd)
		}
		for from := 0; from < sd.Len(); from += 2 {
			for _, r := range sd.Rows(from, 2) {
				text := r.Change + " " + r.KeyText + " "
				if r.Before != nil {
					text += joined(r.Before) + " "
				}
				got = append(got, text+"-> "+joined(r.After))
			}
		}
	}
	sort.Strings(want)
	sort.Strings(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		x.t.Errorf("%d to %d %v:\n got %q\nwant %q", a, b, s, got, want)
	}
	if a == b && !d.Same() {
		x.t.Errorf("batch %d differs from itself", a)
	}
}

// Rows are found by the beginning of a key, by a text in it and by a condition.
func TestStateFilters(t *testing.T) {
	x := watch(t, 3, "SELECT window(ts, '10 seconds') AS w, k, count(*) AS n, sum(v) AS s FROM a GROUP BY 1, 2", "update", 14, 100)
	cp := x.q.Checkpoint()
	_, to := cp.Retained()
	ctx := context.Background()
	all, err := x.x.Page(ctx, cp, engine.StateQuery{Batch: to, Store: "default", N: 1000})
	if err != nil || len(all.Rows) < 3 {
		t.Fatalf("%d rows, %v", len(all.Rows), err)
	}
	one := all.Rows[1]
	start := strings.SplitN(one.KeyJSON, `"`, 5)[3] // of the window
	for filter, keep := range map[string]func(engine.StateRow) bool{
		`["` + start + `"]`:   func(r engine.StateRow) bool { return strings.Contains(r.KeyJSON, `"start":"`+start) },
		`["` + start + `","k`: func(r engine.StateRow) bool { return strings.Contains(r.KeyJSON, `"start":"`+start) },
		`["` + start + `","k1"]`: func(r engine.StateRow) bool {
			return strings.Contains(r.KeyJSON, start) && strings.Contains(r.KeyJSON, `"k1"`) && strings.Index(r.KeyJSON, start) < 14
		},
		"k2":              func(r engine.StateRow) bool { return strings.HasSuffix(r.KeyText, ", k2") },
		"2026-01-05":      func(r engine.StateRow) bool { return true },
		"`count(1)` >= 2": func(r engine.StateRow) bool { return r.Values[0].Text != "1" },
		"k IN ('k1', 'k3')": func(r engine.StateRow) bool {
			return strings.HasSuffix(r.KeyText, "k1") || strings.HasSuffix(r.KeyText, "k3")
		},
		"window.start = '" + one.KeyText[:19] + "'": func(r engine.StateRow) bool { return r.KeyText[:19] == one.KeyText[:19] },
		"zzz": func(engine.StateRow) bool { return false },
	} {
		p, err := x.x.Page(ctx, cp, engine.StateQuery{Batch: to, Store: "default", Filter: filter, N: 1000})
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		var want []string
		for _, r := range all.Rows {
			if keep(r) {
				want = append(want, r.KeyText)
			}
		}
		var got []string
		for _, r := range p.Rows {
			got = append(got, r.KeyText)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || p.Matches != len(want) || p.Total != len(all.Rows) {
			t.Errorf("%s:\n got %q\nwant %q", filter, got, want)
		}
	}
	for filter, condition := range map[string]string{
		`["no time"]`:               "STATE_KEY_MALFORMED",
		`["` + start + `","k",1,2]`: "STATE_KEY_MALFORMED",
		`[1`:                        "STATE_KEY_MALFORMED",
		"nosuch = 1":                "UNRESOLVED_COLUMN.WITH_SUGGESTION",
	} {
		if _, err := x.x.Page(ctx, cp, engine.StateQuery{Batch: to, Store: "default", Filter: filter}); !errs.Has(err, condition) {
			t.Errorf("%s: %v", filter, err)
		}
	}
	if _, err := x.x.Match(ctx, cp, 0, "default", `["`+start+`"]`); err == nil || errs.Has(err, "STATE_KEY_MALFORMED") {
		t.Logf("one key begins so: %v", err)
	}
	if _, err := x.x.Match(ctx, cp, 0, "default", `["1999-01-01T00:00:00Z","x"]`); !errs.Has(err, "STATE_KEY_NOT_FOUND") {
		t.Error(err)
	}
}
