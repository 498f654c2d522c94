package exec

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"streamlab/columnar"
)

// Folding by panes gives the rows, the state and the counters of folding row by row.
func TestPanesAgainstRowByRow(t *testing.T) {
	cp := lender(t)
	property(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 12).Draw(t, "size")
		slide := rapid.IntRange(1, size-1).Draw(t, "slide")
		start := rapid.IntRange(0, slide-1).Draw(t, "start")
		q := query{mode: rapid.SampledFrom([]string{"append", "update", "complete"}).Draw(t, "mode"), delay: int64(rapid.IntRange(1, 9).Draw(t, "delay"))}
		q.sql = fmt.Sprintf("SELECT window, k, count(*) AS n, count(v) FILTER (WHERE v > 0) AS p, sum(v) AS t, min(k) AS lo, max(v) AS hi, avg(v) AS m, bool_or(v > 1) AS b, "+
			"approx_count_distinct(v) AS d FROM a GROUP BY window(if(v = 3, NULL, ts), '%d seconds', '%d seconds', '%d seconds'), k", size, slide, start)
		if q.mode == "append" {
			q.sql = fmt.Sprintf("SELECT window, k, count(*) AS n, sum(v) AS t, min(k) AS lo FROM a GROUP BY window(ts, '%d seconds', '%d seconds', '%d seconds'), k", size, slide, start)
		}
		x, y := newSim(t, q, cp, false), newSim(t, q, cp, false)
		o := y.p.stateful[0].(*stateAggregate)
		if o.g.panes == nil {
			t.Fatal("no panes for " + q.sql)
		}
		o.g.panes, o.paned, o.inPanes = nil, nil, false
		x.hidden = rapid.Bool().Draw(t, "hidden")
		y.hidden = x.hidden
		for _, p := range cut(t, events(t, "rows", 0)) {
			a, b := x.run(p), y.run(p)
			if !slices.Equal(a, b) || x.counters() != y.counters() {
				t.Fatalf("%s\npanes\n%v %s\nrows\n%v %s", q.sql, a, x.counters(), b, y.counters())
			}
		}
	})
}

func TestWhatPanesDoNotDo(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT window, count(*) FROM a GROUP BY window(ts, '10 seconds', '2 seconds')":                        true,
		"SELECT window, count(*) FROM a GROUP BY window(ts, '10 seconds')":                                     false,
		"SELECT window, collect_list(v) FROM a GROUP BY window(ts, '10 seconds', '2 seconds')":                 false,
		"SELECT window, sum(unix_seconds(window.start)) FROM a GROUP BY window(ts, '10 seconds', '2 seconds')": false,
	} {
		q := query{sql: sql, mode: "update", delay: 1}
		p, err := Build(q.node(t), Conf{Expr: ansi, Mode: q.mode})
		if err != nil {
			t.Fatal(sql, err)
		}
		if got := p.stateful[0].(*stateAggregate).g.panes != nil; got != want {
			t.Errorf("%s: panes %v", sql, got)
		}
	}
}

// BenchmarkSliding is a batch of 100,000 rows of 1,000 keys over ten seconds, into windows that overlap much or
// little.
func BenchmarkSliding(b *testing.B) {
	for _, c := range []struct{ size, slide int }{{10, 10}, {10, 2}, {60, 1}, {600, 1}} {
		b.Run(fmt.Sprintf("%d-%d", c.size, c.slide), func(b *testing.B) { benchSliding(b, c.size, c.slide) })
	}
}

func benchSliding(b *testing.B, size, slide int) {
	const n = 100_000
	rows := make([]event, n)
	for i := range rows {
		rows[i] = event{k: fmt.Sprint("key ", i*7919%1000), t: 100_000 + int64(i)*10/n, v: int32(i % 10)}
	}
	q := query{mode: "update", delay: 5, sql: fmt.Sprintf("SELECT window, k, count(*) AS n, sum(v) AS t FROM a GROUP BY window(ts, '%d seconds', '%d seconds'), k", size, slide)}
	p, err := Build(q.node(b), Conf{Expr: ansi, Mode: q.mode, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	parts := []columnar.Partition{columnar.Batches{Name: "in", List: []arrow.RecordBatch{batchOf(rows)}}}
	i := int64(0)
	for b.Loop() {
		runOnce(b, p, i, parts)
		i++
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
