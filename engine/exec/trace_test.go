package exec

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
)

// traced runs the player's next batch by a plan with taps, from the state before it, and gives the rows and
// what the taps saw. The checkpoint stays as it is.
func (x *player) traced(t *Task, c TraceConf) ([]string, *Trace) {
	x.t.Helper()
	conf := x.conf
	conf.Trace = &c
	p, err := Build(x.node, conf)
	if err != nil {
		x.t.Fatal(err)
	}
	v := x.cp.At(x.batch - 1)
	defer v.Close()
	if err := p.Load(v); err != nil {
		x.t.Fatal(err)
	}
	task := &Task{Batch: t.Batch, Inputs: t.Inputs, LateWatermarkMs: t.LateWatermarkMs, EvictWatermarkMs: t.EvictWatermarkMs, Past: v}
	if err := p.Bind(task); err != nil {
		x.t.Fatal(err)
	}
	var rows []string
	for _, part := range p.Partitions(context.Background(), task) {
		for rb, err := range part.Rows(context.Background()) {
			if err != nil {
				x.t.Fatal(err)
			}
			rows = append(rows, show([]arrow.RecordBatch{rb}, p.Schema())...)
		}
	}
	if err := p.Finish(context.Background(), task); err != nil {
		x.t.Fatal(err)
	}
	sort.Strings(rows)
	return rows, p.Trace()
}

// checkTrace holds a trace against what must be true of every trace.
func checkTrace(t interface{ Errorf(string, ...any) }, tr *Trace) {
	for _, s := range tr.Stages {
		total := int64(0)
		for f, n := range s.Fates {
			if f == FateNone && n > 0 {
				t.Errorf("stage %d %s: nothing is known of %d rows", s.Number, s.Kind, n)
			}
			total += n
		}
		if total < s.Out {
			t.Errorf("stage %d %s: %d rows with a fate, %d left", s.Number, s.Kind, total, s.Out)
		}
		if s.Values != nil && int(s.Values.NumRows()) != len(s.Rows) {
			t.Errorf("stage %d %s: %d values of %d rows", s.Number, s.Kind, s.Values.NumRows(), len(s.Rows))
		}
		for _, r := range s.Rows {
			for _, f := range r.From {
				if f.Stage >= s.Number {
					t.Errorf("stage %d row %d is made of a row of stage %d", s.Number, r.N, f.Stage)
				}
			}
		}
	}
}

// story prints a trace: a line a kept row.
func story(tr *Trace) string {
	var b strings.Builder
	for _, s := range tr.Stages {
		fmt.Fprintf(&b, "%d %s in %d out %d\n", s.Number, s.Kind, s.In, s.Out)
		if s.Values == nil {
			continue
		}
		cells := show([]arrow.RecordBatch{s.Values}, s.Schema)
		for i, r := range s.Rows {
			fmt.Fprintf(&b, "  %d: %s %s", r.N, cells[i], r.Fate)
			for _, f := range r.From {
				fmt.Fprintf(&b, " <%d.%d", f.Stage, f.N)
			}
			if r.Into.Stage >= 0 {
				fmt.Fprintf(&b, " >%d.%d", r.Into.Stage, r.Into.N)
			}
			if r.Time != 0 {
				fmt.Fprintf(&b, " time %d", r.Time/1e6)
			}
			if r.Until != 0 && r.Until != Never {
				fmt.Fprintf(&b, " until %d", r.Until/1e6)
			}
			if s.Keys > 0 {
				switch {
				case r.New:
					b.WriteString(" new")
				case s.Before != nil:
					b.WriteString(" was " + show([]arrow.RecordBatch{s.Before}, nullableAll(s.Schema))[i])
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// What happens to each row of an aggregation with a watermark, of a deduplication and of a join.
func TestTraceTellsWhatHappened(t *testing.T) {
	check := func(x *player, want string) {
		t.Helper()
		if got := story(x.trace); got != strings.TrimLeft(want, "\n") {
			t.Errorf("got\n%s\nwant%s", got, want)
		}
	}
	s := stream(t, 1, "ts TIMESTAMP")
	w := tumbling(withWatermark(s, "ts", 10), "ts", 5)
	in := func(lines ...string) arrow.RecordBatch { return times(t, s.Out, lines...) }
	x := newPlayer(t, aggregateOf(t, w, []expr.Expr{col(w, "window")}, -1, count()), "append", true)
	x.run(in("12", "14", "18"))
	x.run(in("26", "13"))
	x.run(in("13", "4", "27"))
	check(x, `
0 source in 0 out 3
  0: 13s kept
  1: 4s kept
  2: 27s kept
1 event time in 3 out 3
  0: 13s kept <0.0
  1: 4s kept <0.1
  2: 27s kept <0.2
2 window in 3 out 3
  0: 13s|{10s,15s} merged <1.0 >3.0
  1: 4s|{0s,5s} late <1.1 time 5
  2: 27s|{25s,30s} merged <1.2 >3.1
3 aggregate in 3 out 1
  0: {10s,15s}|4 kept <2.0 until 15 was {10s,15s}|3
  1: {25s,30s}|2 held back <2.2 until 30 was {25s,30s}|1
4 sink in 1 out 1
  0: {10s,15s}|4 sent <3.0
`)
	if got := fmt.Sprint(x.trace.Follow(Ref{3, 0})); got != "map[0:map[0:true] 1:map[0:true] 2:map[0:true] 3:map[0:true] 4:map[0:true]]" {
		t.Errorf("followed: %s", got)
	}
	if got := fmt.Sprint(x.trace.Follow(Ref{0, 2})); got != "map[0:map[2:true] 1:map[2:true] 2:map[2:true] 3:map[1:true]]" {
		t.Errorf("followed: %s", got)
	}
	s = stream(t, 1, "id STRING, ts TIMESTAMP")
	d := withWatermark(s, "ts", 5)
	x = newPlayer(t, &plan.Dedup{Child: d, Cols: []int{0}}, "append", true)
	x.run(in("a|10", "a|11", "b|10"))
	x.run(in("c|20"))
	x.run(nil)
	x.run(in("d|15", "e|16", "e|17", "a|21"))
	check(x, `
0 source in 0 out 4
  0: d|15s kept
  1: e|16s kept
  2: e|17s kept
  3: a|21s kept
1 event time in 4 out 4
  0: d|15s late <0.0 time 15
  1: e|16s kept <0.1
  2: e|17s duplicate <0.2 >1.1
  3: a|21s duplicate <0.3
2 dedup in 4 out 1
  0: e|16s kept <1.1
3 sink in 1 out 1
  0: e|16s sent <2.0
`)
	a, b := stream(t, 1, "k STRING, t TIMESTAMP"), stream(t, 2, "k STRING, u TIMESTAMP")
	l, r := withWatermark(a, "t", 5), withWatermark(b, "u", 5)
	x = newPlayer(t, &plan.Join{Kind: plan.Inner, Left: l, Right: r, LeftKeys: []expr.Expr{col(l, "k")}, RightKeys: []expr.Expr{col(r, "k")},
		Out: append(append(types.Schema{}, l.Out...), r.Out...)}, "append", true)
	x.run(times(t, a.Out, "x|20", "y|22"), nil)
	x.run(times(t, a.Out, "z|30", "null|31"), times(t, b.Out, "x|25", "z|26", "w|27"))
	check(x, `
0 source in 0 out 2
  0: z|30s kept
  1: null|31s kept
1 event time in 2 out 2
  0: z|30s matched <0.0
  1: null|31s null key <0.1
2 source in 0 out 3
  0: x|25s kept
  1: z|26s kept
  2: w|27s kept
3 event time in 3 out 3
  0: x|25s matched <2.0
  1: z|26s matched <2.1
  2: w|27s waiting <2.2
4 join in 5 out 2
  0: x|20s|x|25s kept <3.0 <-1.0
  1: z|30s|z|26s kept <3.1 <1.0
5 sink in 2 out 2
  0: x|20s|x|25s sent <4.0
  1: z|30s|z|26s sent <4.1
`)
}
