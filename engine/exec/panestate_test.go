package exec

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"streamlab/columnar"
	"streamlab/store"
)

// inWindows lets a plan that has run nothing keep windows, as plans did before there were panes.
func inWindows(p *Plan) {
	o := p.stateful[0].(*stateAggregate)
	o.g.panes, o.paned, o.inPanes, o.panesFit = nil, nil, false, false
}

// image reads the state behind a sim's last batch.
func (x *sim) image() *StateImage {
	p, err := Build(x.q.node(x.t), Conf{Expr: ansi, Mode: x.q.mode, ShufflePartitions: 2})
	if err != nil {
		x.t.Fatal(err)
	}
	v := x.cp.At(x.batch - 1)
	defer v.Close()
	m, err := p.StateImage(v, 0, "default", true)
	if err != nil {
		x.t.Fatal(err)
	}
	return m
}

// without is the rows of a that b does not have.
func without(a, b []string) (out []string) {
	for _, r := range a {
		if !slices.Contains(b, r) {
			out = append(out, r)
		}
	}
	return out
}

func ownStore(t *rapid.T) *store.Checkpoint {
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

// State in panes tells the windows that state in windows has, also after a restart, and state that was kept in
// windows goes on.
func TestPanesShowWindows(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 40).Draw(t, "size")
		slide := rapid.IntRange(1, min(size-1, 8)).Draw(t, "slide")
		start := rapid.IntRange(0, slide-1).Draw(t, "start")
		q := query{mode: rapid.SampledFrom([]string{"append", "update"}).Draw(t, "mode"), delay: int64(rapid.IntRange(1, 9).Draw(t, "delay"))}
		if q.mode == "update" && rapid.Bool().Draw(t, "no watermark") {
			q.delay = 0
		}
		key := rapid.SampledFrom([]string{"k", "v, k", "v"}).Draw(t, "key")
		q.sql = fmt.Sprintf("SELECT window, %s, count(*) AS n, sum(v) AS t, min(k) AS lo, max(ts) AS last FROM a GROUP BY %s, window(ts, '%d seconds', '%d seconds', '%d seconds')", key, key, size, slide, start)
		own := ownStore(t)
		defer own.Close()
		x, y := newSim(t, q, own, true), newSim(t, q, cp, false)
		inWindows(y.p)
		if rapid.Bool().Draw(t, "began in windows") {
			inWindows(x.p)
		}
		for _, p := range append(cut(t, events(t, "rows", 0)), nil) {
			if rapid.Bool().Draw(t, "restart") {
				x.build()
			}
			rows, a := y.run(p), x.run(p)
			if !slices.Equal(a, rows) || x.counters() != y.counters() {
				t.Fatalf("%s\nonly panes\n%v %s\nonly windows\n%v %s", q.sql, without(a, rows), x.counters(), without(rows, a), y.counters())
			}
		}
		// What is shown are windows, whatever they are kept in.
		shown, ranges := x.image(), y.p.stateful[0].(*stateAggregate)
		want, err := imageOf(ranges, "default")
		if err != nil {
			t.Fatal(err)
		}
		want.sort()
		if shown.Len() != want.Len() {
			t.Fatalf("%s: state shows %d rows of %d", q.sql, shown.Len(), want.Len())
		}
		for i := range want.Len() {
			if !bytes.Equal(shown.Key(i), want.Key(i)) || !bytes.Equal(shown.AppendValue(nil, i), want.AppendValue(nil, i)) {
				t.Fatalf("%s: row %d of the state is %q %q, should be %q %q", q.sql, i, shown.Key(i), shown.AppendValue(nil, i), want.Key(i), want.AppendValue(nil, i))
			}
		}
	})
}

// What a batch changes in state does not depend on how many windows its rows are in.
func TestPanesChangeRowsNotWindows(t *testing.T) {
	for _, size := range []int{2, 600} {
		q := query{mode: "append", delay: 1, sql: fmt.Sprintf("SELECT window, k, count(*) AS n FROM a GROUP BY window(ts, '%d seconds', '1 second'), k", size)}
		p, err := Build(q.node(t), Conf{Expr: ansi, Mode: q.mode})
		if err != nil {
			t.Fatal(err)
		}
		in := batchOf([]event{{k: "x", t: 1000}, {k: "x", t: 1001}, {k: "x", t: 1001}, {k: "y", t: 1002}})
		task := &Task{Inputs: [][]columnar.Partition{{columnar.Batches{Name: "in", List: []arrow.RecordBatch{in}}}}}
		if err := p.Bind(task); err != nil {
			t.Fatal(err)
		}
		p.Partitions(context.Background(), task)
		changed := 0
		for _, a := range p.stateful[0].(*stateAggregate).paned.ranges {
			changed += len(a.t.dirty)
		}
		if changed != 3 {
			t.Errorf("%d seconds: %d groups changed", size, changed)
		}
		if c := p.stateful[0].counters(); c.NumRowsTotal != int64(2*size+1) || c.NumRowsUpdated != c.NumRowsTotal {
			t.Errorf("%d seconds: %d windows, %d updated", size, c.NumRowsTotal, c.NumRowsUpdated)
		}
	}
}
