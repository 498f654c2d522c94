package exec

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"streamlab/columnar"
	"streamlab/sql/catalog"
	"streamlab/sql/expr"
	"streamlab/sql/plan"
	"streamlab/sql/types"
	"streamlab/store"
)

// player runs a plan batch by batch, as the driver does, with a watermark and a checkpoint.
type player struct {
	t       *testing.T
	node    plan.Node
	conf    Conf
	cp      *store.Checkpoint
	p       *Plan
	batch   int64
	prev, w int64 // watermarks in ms
	restart bool  // load the state anew before every batch
	alone   bool  // do not also run every batch traced
	trace   *Trace
}

func newPlayer(t *testing.T, n plan.Node, mode string, restart bool) *player {
	t.Helper()
	cp, err := store.Open("", store.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	x := &player{t: t, node: n, conf: Conf{Expr: ansi, Mode: mode, Workers: 2}, cp: cp, restart: restart}
	x.build()
	return x
}

func (x *player) build() {
	x.t.Helper()
	p, err := Build(x.node, x.conf)
	if err != nil {
		x.t.Fatal(err)
	}
	if x.batch > 0 {
		v := x.cp.At(x.batch - 1)
		if err := p.Load(v); err != nil {
			x.t.Fatal(err)
		}
		v.Close()
	}
	x.p = p
}

// run plays one batch: rows per scan, then what came out and the counters.
func (x *player) run(inputs ...arrow.RecordBatch) (rows []string, c *Counters) {
	x.t.Helper()
	if x.restart {
		x.build()
	}
	t := &Task{Batch: x.batch, LateWatermarkMs: x.prev, EvictWatermarkMs: x.w}
	for _, rb := range inputs {
		if rb == nil {
			t.Inputs = append(t.Inputs, nil)
			continue
		}
		t.Inputs = append(t.Inputs, []columnar.Partition{columnar.Batches{Name: "in", List: []arrow.RecordBatch{rb}}})
	}
	again, trace := rows, x.trace
	if !x.alone {
		again, trace = x.traced(t, TraceConf{})
		checkTrace(x.t, trace)
	}
	x.trace = trace
	defer func() {
		if !x.alone && strings.Join(again, " ") != strings.Join(rows, " ") {
			x.t.Errorf("batch %d: traced it gives %v, it gave %v", t.Batch, again, rows)
		}
	}()
	if err := x.p.Bind(t); err != nil {
		x.t.Fatal(err)
	}
	for _, p := range x.p.Partitions(context.Background(), t) {
		var reads [2][]string // a sink may read a part again
		for i := range reads {
			for rb, err := range p.Rows(context.Background()) {
				if err != nil {
					x.t.Fatal(err)
				}
				reads[i] = append(reads[i], show([]arrow.RecordBatch{rb}, x.p.Schema())...)
			}
		}
		if strings.Join(reads[0], " ") != strings.Join(reads[1], " ") {
			x.t.Errorf("batch %d: read again gives %v, first gave %v", x.batch, reads[1], reads[0])
		}
		rows = append(rows, reads[0]...)
	}
	if err := x.p.Finish(context.Background(), t); err != nil {
		x.t.Fatal(err)
	}
	if err := x.cp.LogOffsets(x.batch, store.OffsetEntry{BatchWatermarkMs: x.w}); err != nil {
		x.t.Fatal(err)
	}
	b := x.cp.Begin(x.batch)
	if err := x.p.Save(b); err != nil {
		x.t.Fatal(err)
	}
	if err := b.Commit(store.CommitEntry{}, nil); err != nil {
		x.t.Fatal(err)
	}
	x.batch++
	x.prev = x.w
	low := int64(0)
	for i, e := range t.Counters.EventTimes {
		m := int64(0)
		if e.Count > 0 {
			m = floorDiv(e.Max, 1000) - x.p.EventTimes()[i].DelayMicros/1000
		}
		if i == 0 || m < low {
			low = m
		}
	}
	x.w = max(x.w, low)
	sort.Strings(rows)
	return rows, t.Counters
}

// expect runs a batch and compares rows and "total updated removed dropped" of the first operator.
func (x *player) expect(counters string, in arrow.RecordBatch, want ...string) {
	x.t.Helper()
	n := x.batch
	rows, c := x.run(in)
	x.check(n, counters, rows, c, want)
}

func (x *player) check(n int64, counters string, rows []string, c *Counters, want []string) {
	x.t.Helper()
	sort.Strings(want)
	if strings.Join(rows, " ") != strings.Join(want, " ") {
		x.t.Errorf("%s batch %d: rows %v, want %v", x.conf.Mode, n, rows, want)
	}
	o := c.Operators[0]
	if got := fmt.Sprint(o.NumRowsTotal, o.NumRowsUpdated, o.NumRowsRemoved, o.NumRowsDroppedByWatermark); got != counters {
		x.t.Errorf("%s batch %d: counters %s, want %s", x.conf.Mode, n, got, counters)
	}
}

func stream(t *testing.T, id int64, ddl string) *plan.Scan {
	s := schemaOf(t, ddl)
	return &plan.Scan{Name: "s", Stream: catalog.NewStream(id, "s", "memory", s, nil), Out: s}
}

func withWatermark(n plan.Node, column string, seconds int64) *plan.Watermark {
	out := append(types.Schema{}, n.Schema()...)
	i := out.Index(column)
	out[i].DelayMicros = seconds*1_000_000 + 1
	return &plan.Watermark{Child: n, Column: i, DelayMicros: seconds * 1_000_000, Out: out}
}

func windowType() types.DataType {
	return types.StructOf(types.Field{Name: "start", Type: types.Of(types.Timestamp), Nullable: true},
		types.Field{Name: "end", Type: types.Of(types.Timestamp), Nullable: true})
}

func tumbling(n plan.Node, column string, seconds int64) *plan.TimeWindow {
	f := col(n, column).(*expr.Column).Field
	out := append(append(types.Schema{}, n.Schema()...),
		types.Field{Name: "window", Type: windowType(), DelayMicros: f.DelayMicros})
	return &plan.TimeWindow{Child: n, Time: col(n, column), Size: seconds * 1_000_000, Slide: seconds * 1_000_000, Out: out}
}

func aggregateOf(t *testing.T, n plan.Node, keys []expr.Expr, session int, calls ...*expr.Call) *plan.Aggregate {
	t.Helper()
	a := &plan.Aggregate{Child: n, Keys: keys, Session: session}
	for _, k := range keys {
		a.Out = append(a.Out, k.(*expr.Column).Field)
	}
	for _, c := range calls {
		c.Conf = ansi
		x, err := expr.BuildAggregate(c)
		if err != nil {
			t.Fatal(err)
		}
		a.Calls = append(a.Calls, x)
		a.Out = append(a.Out, types.Field{Name: x.Text, Type: x.Out, Nullable: true})
	}
	return a
}

func count() *expr.Call { return &expr.Call{Name: "count", Args: []expr.Expr{intLit(1)}} }

func intLit(n int32) expr.Expr {
	v := columnar.NewVec(types.Of(types.Int), 1)
	v.I32[0], v.Const = n, true
	return &expr.Literal{Value: v}
}

func times(t *testing.T, s types.Schema, lines ...string) arrow.RecordBatch {
	for i, l := range lines {
		cells := strings.Split(l, "|")
		for j := range cells {
			if s[j].Type.Kind == types.Timestamp && cells[j] != "null" {
				var sec float64
				fmt.Sscan(cells[j], &sec)
				cells[j] = fmt.Sprintf("1970-01-01T00:%02d:%09.6fZ", int(sec)/60, sec-float64(int(sec)/60*60))
			}
		}
		lines[i] = strings.Join(cells, "|")
	}
	return rowsOf(t, s, lines...)
}

// The worked examples of Spark's three modes over one input.
func TestWindowedCount(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := stream(t, 1, "ts TIMESTAMP")
		w := tumbling(withWatermark(s, "ts", 10), "ts", 5)
		n := aggregateOf(t, w, []expr.Expr{col(w, "window")}, -1, count())
		in := func(lines ...string) arrow.RecordBatch { return times(t, s.Out, lines...) }
		x := newPlayer(t, n, "append", restart)
		x.expect("2 2 0 0", in("12", "14", "18"))
		x.expect("2 0 0 0", nil)
		x.expect("3 1 0 0", in("26"))
		x.expect("2 0 1 0", nil, "{10s,15s}|2")
		x.expect("2 1 0 1", in("13", "27"))
		x.expect("2 0 0 0", nil)
		x.expect("3 1 0 0", in("40"))
		x.expect("1 0 2 0", nil, "{15s,20s}|1", "{25s,30s}|2")
		x = newPlayer(t, n, "update", restart)
		x.expect("2 2 0 0", in("12", "14", "18"), "{10s,15s}|2", "{15s,20s}|1")
		x.expect("2 0 0 0", nil)
		x.expect("3 1 0 0", in("26"), "{25s,30s}|1")
		x.expect("2 0 1 0", nil)
		x.expect("2 1 0 1", in("13", "27"), "{25s,30s}|2")
		x = newPlayer(t, n, "complete", restart)
		x.expect("2 2 0 0", in("12", "14", "18"), "{10s,15s}|2", "{15s,20s}|1")
		x.expect("3 1 0 0", in("26"), "{10s,15s}|2", "{15s,20s}|1", "{25s,30s}|1")
		x.expect("3 2 0 0", in("13", "27"), "{10s,15s}|3", "{15s,20s}|1", "{25s,30s}|2")
		// back to back: late by the older watermark only
		x = newPlayer(t, n, "append", restart)
		x.expect("2 2 0 0", in("12", "14", "18"))
		x.expect("3 1 0 0", in("26"))
		x.expect("2 2 1 0", in("13", "27"), "{10s,15s}|3")
		x.expect("3 1 0 0", in("40"))
		x.expect("1 0 2 0", nil, "{15s,20s}|1", "{25s,30s}|2")
	}
}

func TestGlobalAggregateHasOneRowAlways(t *testing.T) {
	s := stream(t, 1, "v INT")
	n := aggregateOf(t, s, nil, -1, count(), &expr.Call{Name: "sum", Args: []expr.Expr{col(s, "v")}})
	x := newPlayer(t, n, "update", true)
	x.expect("1 1 0 0", nil, "0|null")
	x.expect("1 1 0 0", rowsOf(t, s.Out, "4", "5"), "2|9")
	x.expect("1 1 0 0", nil, "2|9")
}

func TestSessions(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := stream(t, 1, "k STRING, ts TIMESTAMP")
		w := withWatermark(s, "ts", 20)
		gap := columnar.NewVec(types.Of(types.Calendar), 1)
		gap.Const = true
		gap.Kids[2].I64[0] = 10_000_000
		sw := &plan.SessionWindow{Child: w, Time: col(w, "ts"), Gap: &expr.Literal{Value: gap},
			Out: append(append(types.Schema{}, w.Out...), types.Field{Name: "session_window", Type: windowType(), DelayMicros: w.Out[1].DelayMicros})}
		n := aggregateOf(t, sw, []expr.Expr{col(sw, "session_window"), col(sw, "k")}, 0, count())
		in := func(lines ...string) arrow.RecordBatch { return times(t, s.Out, lines...) }
		x := newPlayer(t, n, "append", restart)
		x.expect("2 2 0 0", in("u|30", "u|40", "u|51"))
		x.expect("2 0 0 0", nil)
		x.expect("3 1 0 0", in("v|65"))
		x.expect("3 0 0 0", nil)
		x.expect("3 2 0 1", in("u|33", "u|61"))
		x.expect("4 2 0 0", in("v|95"))
		x.expect("1 0 3 0", nil, "{30s,50s}|u|2", "{51s,71s}|u|2", "{65s,75s}|v|1")
	}
}

func TestDedup(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := stream(t, 1, "id STRING, ts TIMESTAMP")
		w := withWatermark(s, "ts", 5)
		in := func(lines ...string) arrow.RecordBatch { return times(t, s.Out, lines...) }
		x := newPlayer(t, &plan.Dedup{Child: w, Cols: []int{0}}, "append", restart)
		x.expect("2 2 0 0", in("a|10", "a|11", "b|10"), "a|10s", "b|10s")
		x.expect("2 0 0 0", nil)
		x.expect("3 1 0 0", in("c|20"), "c|20s")
		x.expect("3 0 0 0", nil)
		x.expect("4 1 0 1", in("d|15", "e|16", "a|21"), "e|16s")
		x = newPlayer(t, &plan.Dedup{Child: w, Cols: []int{0}, WithinWatermark: true}, "append", restart)
		x.expect("1 1 0 0", in("a|10"), "a|10s")
		x.expect("1 0 0 0", nil)
		x.expect("1 0 0 0", in("a|14"))
		x.expect("1 0 0 0", nil)
		x.expect("2 1 0 0", in("b|20"), "b|20s")
		x.expect("1 0 1 0", nil)
		x.expect("2 1 0 0", in("a|16"), "a|16s")
	}
}

func TestStreamLimit(t *testing.T) {
	s := stream(t, 1, "v INT")
	x := newPlayer(t, &plan.Limit{Child: s, N: 3}, "append", true)
	x.expect("1 1 0 0", rowsOf(t, s.Out, "1", "2"), "1", "2")
	x.expect("1 1 0 0", rowsOf(t, s.Out, "3", "4"), "3")
	x.expect("1 0 0 0", rowsOf(t, s.Out, "5"))
}

// The worked example of a left outer join over a time range.
func TestLeftOuterStreamJoin(t *testing.T) {
	for _, restart := range []bool{false, true} {
		a, b := stream(t, 1, "k STRING, t TIMESTAMP"), stream(t, 2, "k STRING, t TIMESTAMP")
		l, r := withWatermark(a, "t", 5), withWatermark(b, "t", 5)
		both := append(append(types.Schema{}, l.Out...), r.Out...)
		lt, rt := &expr.Column{Index: 1, Field: both[1]}, &expr.Column{Index: 3, Field: both[3]}
		gap := columnar.NewVec(types.Of(types.DayTime), 1)
		gap.I64[0], gap.Const = 10_000_000, true
		sum, err := expr.Build("+", []expr.Expr{lt, &expr.Literal{Value: gap}}, ansi)
		if err != nil {
			t.Fatal(err)
		}
		cond, err := expr.Build("between", []expr.Expr{rt, lt, sum}, ansi)
		if err != nil {
			t.Fatal(err)
		}
		n := &plan.Join{Kind: plan.LeftOuter, Left: l, Right: r, LeftKeys: []expr.Expr{col(l, "k")}, RightKeys: []expr.Expr{col(r, "k")},
			Residual: cond, Out: nullable(both)}
		x := newPlayer(t, n, "append", restart)
		step := func(counters string, left, right []string, want ...string) {
			t.Helper()
			var in [2]arrow.RecordBatch
			for i, lines := range [][]string{left, right} {
				if lines != nil {
					in[i] = times(t, a.Out, lines...)
				}
			}
			id := x.batch
			rows, c := x.run(in[0], in[1])
			x.check(id, counters, rows, c, want)
		}
		step("2 2 0 0", []string{"x|20", "y|22"}, nil)
		step("3 1 0 0", nil, []string{"x|25"}, "x|20s|x|25s")
		x.w = 17000 // per-side watermarks are the driver's: this player forgets those of earlier batches
		step("3 0 0 0", nil, nil)
		step("5 2 0 0", []string{"z|50"}, []string{"z|52"}, "z|50s|z|52s")
		step("2 0 1 0", nil, nil, "y|22s|null|null")
		step("3 1 0 1", []string{"q|44"}, []string{"q|46"})
		step("5 2 0 0", []string{"w|70"}, []string{"w|70"}, "w|70s|w|70s")
		step("2 0 2 0", nil, nil)
	}
}

func TestExceptAllOfATable(t *testing.T) {
	s := stream(t, 1, "k INT")
	d := table1(t, "k INT", "1", "2")
	x := newPlayer(t, &plan.SetOp{Except: true, All: true, Left: s, Right: d, Out: s.Out}, "update", true)
	x.expect("3 3 0 0", rowsOf(t, s.Out, "1", "2", "2", "3"), "2", "3")
	x.expect("3 3 0 0", rowsOf(t, s.Out, "1", "3"), "3", "3")
	x.expect("3 2 0 0", rowsOf(t, s.Out, "2", "2"), "2")
}

// After many small deltas the state is written as a base; a restart reads that and what came after.
func TestBases(t *testing.T) {
	s := stream(t, 1, "k INT")
	n := aggregateOf(t, s, []expr.Expr{col(s, "k")}, -1, count())
	x := newPlayer(t, n, "update", false)
	for i := range baseAfterDeltas + 30 {
		x.run(rowsOf(t, s.Out, fmt.Sprint(max(0, 3-i))))
	}
	written := 0
	for r := range ranges {
		v := x.cp.At(x.batch - 1)
		for p, err := range v.Pieces(store.Shard{Range: r}) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind == store.KindBase {
				written++
			}
		}
		v.Close()
	}
	x.restart = true
	x.expect("4 3 0 0", rowsOf(t, s.Out, "0", "1", "2"), fmt.Sprint("0|", baseAfterDeltas+28), "1|2", "2|2")
	if written != 1 {
		t.Errorf("%d bases, want 1", written)
	}
}
